"""The command relations, and names of other minters."""

from __future__ import annotations


def test_relations_are_made_shown_and_removed_by_commands(noid):
    noid("dbcreate")
    assert noid("alias", "old", "new") == "ok: old stands for new\n\n"
    assert noid("synonym", "new", "hdl:1/2", "--authority", "me", "--from", "2020-01-02", "--until", "2030") == (
        "ok: new and hdl:1/2 are synonyms according to me\n\n")
    noid("bind", "set", "new", "_t", "https://example.org/")
    noid("policy", "persistence", "we keep it")
    assert noid("prefer", "new") == "ok: new is preferred by me\n\n"
    shown = noid("relations", "new")
    assert shown.count("id: new\n") == 3 and shown.endswith("\n\n")
    assert ("relation: synonym\nname: hdl:1/2\nauthority: me\nfrom: 20200102000000\nuntil: 20301231235959\n") in shown
    assert noid("prefer", "--remove", "new") == "ok: new is no longer preferred by me\n\n"
    assert noid("synonym", "--remove", "new", "hdl:1/2") == (
        "ok: new and hdl:1/2 are no longer synonyms according to me\n\n")
    assert noid("alias", "--remove", "old") == "ok: old no longer stands for new\nnote: old stays on hold\n\n"
    assert noid("relations", "new") == "note: new has no relations\n\n"
    noid.refused("alias", "x", status=2)
    noid.refused("relations", status=2)


def test_names_from_elsewhere_keep_their_own_label(noid):
    noid("dbcreate", "--label", "ark:/", "f5.reedk", "long", "99999", "example.org", "demo")
    first, second = noid.ids(2)
    noid("alias", "doi:10.5/a", first)
    assert noid("alias", "hdl:1/x", "doi:10.5/a") == "ok: hdl:1/x stands for doi:10.5/a\n\n"
    assert "id: hdl:1/x\n" in noid("relations", "hdl:1/x")
    assert "Successor: doi:10.5/a\n" in noid("withdraw", second, "--successor", "doi:10.5/a")
