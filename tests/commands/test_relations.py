"""Aliases, synonyms, preferences: made, followed, refused, taken back, listed."""

from __future__ import annotations

import subprocess

import pytest
from conftest import NOID
from living_support import LONG, START, Room
from url_support import USER, Web, command, create

from noidtools.errors import ConflictError, InvalidError, NotFoundError, UsageError
from noidtools.minter.aliases import LONGEST_CHAIN

A, B = "https://a.example/", "https://b.example/"
KERRY = ["--authority", "Kerry's Library"]


@pytest.fixture
def room(tmp_path):
    """A minter that binds anything."""
    room = Room(tmp_path)
    yield room
    room.close()


@pytest.fixture
def ark(tmp_path):
    """A long-term minter; its first identifiers are 13030/f54x54g11 and 13030/f5154dn7k."""
    room = Room(tmp_path / "ark", *LONG)
    room.mint(2)
    room("bind", "set", "13030/f54x54g11", "_t", A)
    yield room
    room.close()


def related(room: Room, name: str) -> list[tuple]:
    return [(r["relation"], r["name"], r["authority"]) for r in room("relations", name)]


# -- aliases ---------------------------------------------------------------------------------------------------------


def test_an_alias_follows_whatever_its_target_does(ark):
    assert ark("alias", "old/17", "13030/f54x54g11") == [{"ok": "old/17 stands for 13030/f54x54g11"}]
    assert ark.leads("old/17") == A
    ark("bind", "set", "13030/f54x54g11", "_t", B)
    assert ark.leads("old/17") == B and ark.leads("old/17/page") == B + "page"
    ark("reserve", "13030/f54x54g11")
    assert ark.leads("old/17") == "reserved" == ark.state("old/17")
    ark("publish", "13030/f54x54g11")
    assert ark.leads("old/17") == B and ark.state("old/17") == "published"
    ark("withdraw", "13030/f54x54g11")
    assert ark.leads("old/17") == "gone" and ark.state("old/17") == "withdrawn"


def test_a_change_of_the_alias_does_not_change_its_target(ark):
    ark("alias", "13030/f5154dn7k", "13030/f54x54g11")
    ark("bind", "set", "13030/f5154dn7k", "_t", B)
    assert ark.leads("13030/f54x54g11") == ark.leads("13030/f5154dn7k") == A
    assert "Alias: 13030/f54x54g11\n" in ark.text("fetch", "13030/f5154dn7k")
    assert ark("fetch", "13030/f5154dn7k")[0]["alias"] == "13030/f54x54g11"
    ark("alias", "--remove", "13030/f5154dn7k")
    assert ark.leads("13030/f5154dn7k") == B


def test_all_spellings_of_an_alias_and_of_its_target_are_one_name(ark):
    ark("alias", "ark:/99999/Old-Name", "https://n2t.example/ark:13030/f54x-54g11")
    for spelling in ("ark:/99999/OldName", "ark:99999/Old-Name", "ARK:/99999/OldName/", "99999/OldName"):
        assert ark.leads(spelling) == A, spelling
        assert related(ark, spelling) == [("alias-of", "13030/f54x54g11", None)], spelling
    assert "loop" in ark.refused("alias", "ark:13030/f54x-54g11", "ark:/99999/OldName").message
    ark("alias", "--remove", "99999/OldName")
    assert related(ark, "13030/f54x54g11") == []


def test_an_alias_may_stand_for_a_name_elsewhere(ark):
    ark("alias", "old/17", "https://doi.org/10.1000/182")
    assert related(ark, "old/17") == [("alias-of", "doi:10.1000/182", None)]
    assert related(ark, "doi:10.1000/182") == [("alias", "old/17", None)]
    assert ark.state("old/17") == "published"


def test_an_alias_can_be_pointed_elsewhere(room):
    for name, target in (("a", A), ("b", B)):
        room("bind", "set", name, "_t", target)
    room("alias", "x", "a")
    room("alias", "x", "b", "--authority", "the library")
    assert room.leads("x") == B
    assert related(room, "a") == [] and related(room, "b") == [("alias", "x", "the library")]
    assert room("history", "x")[-1]["changes"] == [
        {"id": "x", "what": "alias-of", "before": "a", "after": "b"},
        {"id": "x", "what": "authority", "before": None, "after": "the library"},
    ]


def test_an_alias_is_never_minted_not_even_after_it_was_taken_back(tmp_path):
    room = Room(tmp_path, "--at-last", "add1", "x.sd")
    room("alias", "x3", "doi:10.1000/182")
    room("queue", "now", "x4")
    assert room("alias", "x4", "doi:10.1000/182")[1] == {"note": "x4 taken out of the queue"}
    room("alias", "x07", "doi:10.1000/182")  # it has no form of this minter's until its mask grows
    assert "alias --remove" in room.refused("hold", "release", "x3").message
    room("alias", "--remove", "x3")
    assert "\nHeld: 3\n" in room.text("dbinfo")
    minted = room.mint(30)
    assert not {"x3", "x4", "x07"} & set(minted) and "x08" in minted
    room("hold", "release", "x3")
    room("queue", "now", "x3")
    assert room.mint() == ["x3"]
    room.close()


def test_an_alias_that_was_issued_is_not_issued_again_when_all_is_used_up(tmp_path):
    room = Room(tmp_path, "x.sd", "short")
    room.mint(10)
    room("alias", "x3", "x4")
    assert "x3" not in room.mint(25)
    room.close()


def test_a_loop_of_aliases_is_refused_when_it_is_made(room):
    room("alias", "a", "b")
    room("alias", "b", "c")
    refusal = room.refused("alias", "c", "a")
    assert isinstance(refusal, ConflictError) and "c -> a -> b -> c" in refusal.message
    assert "cannot stand for itself" in room.refused("alias", "a", "a").message
    room("alias", "--remove", "b")
    room("alias", "c", "a")


def test_a_loop_through_extensions_is_refused_in_whatever_order_it_is_made(tmp_path):
    for number, steps in enumerate([
        [("a", "b/x"), ("b", "a")], [("b", "a"), ("a", "b/x")], [("a", "a/x")],
        [("t/s", "k/s"), ("k", "t")], [("k", "t"), ("t/s", "k/s")],
    ]):
        room = Room(tmp_path / str(number))
        for alias, target in steps[:-1]:
            room("alias", alias, target)
        assert "loop" in room.refused("alias", *steps[-1]).message, steps
        room.close()


def test_chains_are_followed_as_far_as_they_may_be_made(tmp_path):
    for number, order in enumerate([range(LONGEST_CHAIN), reversed(range(LONGEST_CHAIN))]):
        room = Room(tmp_path / str(number))
        room("bind", "set", "n0", "_t", A)
        for place in order:
            room("alias", f"n{place + 1}", f"n{place}")
        assert room.leads(f"n{LONGEST_CHAIN}") == A
        assert "chain" in room.refused("alias", f"n{LONGEST_CHAIN + 1}", f"n{LONGEST_CHAIN}").message
        room("alias", f"n{LONGEST_CHAIN + 1}", "n0")
        assert "chain" in room.refused("alias", "n0", "elsewhere").message
        room.close()


def test_two_processes_cannot_make_a_loop_together(noid):
    noid("dbcreate")
    names = [f"n{number}" for number in range(8)]
    processes = [
        subprocess.Popen([*NOID, "alias", name, following], cwd=noid.folder, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
        for name, following in zip(names, [*names[1:], names[0]], strict=True)
    ]
    complaints = [process.communicate()[1] for process in processes]
    assert sorted(process.returncode for process in processes) == [0] * 7 + [1]
    assert sum(b"loop of aliases" in complaint for complaint in complaints) == 1


def test_an_alias_has_no_state_of_its_own(room):
    room("bind", "set", "a", "_t", A)
    room("bind", "set", "r", "_t", B)
    room("alias", "x", "a")
    for words in (["publish", "x"], ["reserve", "x"], ["withdraw", "x"]):
        assert "is an alias and follows a" in room.refused(*words).message
    room("reserve", "r")
    assert "publish it before" in room.refused("alias", "r", "a").message


def test_what_is_no_alias_cannot_be_taken_back(room):
    assert isinstance(room.refused("alias", "--remove", "x"), NotFoundError)
    for words in (["alias"], ["alias", "x"], ["alias", "x", "y", "z"], ["alias", "--remove"], ["alias", "--undo", "x"],
                  ["alias", "--remove=x", "y"], ["alias", "x", "y", "--authority"]):
        assert isinstance(room.refused(*words), UsageError), words
    assert isinstance(room.refused("alias", "", "y"), InvalidError)
    assert isinstance(room.refused("alias", "x", ""), InvalidError)
    assert isinstance(room.refused("alias", "x", "y", "--authority", "a\nb"), InvalidError)


def test_names_that_look_like_options_can_be_related(room):
    room("alias", "--", "--x", "--y")
    assert related(room, "--x") == [("alias-of", "--y", None)]


# -- synonyms --------------------------------------------------------------------------------------------------------


def test_synonyms_are_symmetric_and_told_with_authority_and_time(room):
    room("synonym", "hdl:100/7334", "http://purl.kerry.org/elite", *KERRY, "--from", "2020", "--until", "2126-02")
    facts = {"relation": "synonym", "authority": "Kerry's Library", "from": "20200101000000",
             "until": "21260228235959", "current": True, "event": 2}
    assert room("relations", "info:hdl/100/7334") == [
        {"id": "hdl:100/7334", "name": "http://purl.kerry.org/elite", **facts}]
    assert room("relations", "http://purl.kerry.org/elite") == [
        {"id": "http://purl.kerry.org/elite", "name": "hdl:100/7334", **facts}]
    assert room.whats("hdl:100/7334") == room.whats("http://purl.kerry.org/elite") == ["synonym"]


def test_a_claim_begins_now_unless_said_otherwise_and_ends_with_its_time(room):
    room("synonym", "a", "b", *KERRY, "--until", "2026-11-30")
    (relation,) = room("relations", "a")
    assert (relation["from"], relation["until"], relation["current"]) == (START, "20261130235959", True)
    room.clock.set("20261201000000")
    (relation,) = room("relations", "a")
    assert relation["current"] is False and "not in force now" in room.text("relations", "a")


def test_said_again_a_claim_has_its_new_time(room):
    room("synonym", "a", "b", *KERRY)
    room("synonym", "b", "a", *KERRY, "--from", "2000", "--until", "2030")
    (relation,) = room("relations", "a")
    assert (relation["from"], relation["until"]) == ("20000101000000", "20301231235959")
    changes = room("history", "a")[-1]["changes"]
    assert {"id": "b", "what": "from", "before": START, "after": "20000101000000"} in changes


def test_each_authority_speaks_for_itself(room):
    room("synonym", "a", "b", "--authority", "one")
    room("synonym", "a", "b", "--authority", "two")
    assert related(room, "a") == [("synonym", "b", "one"), ("synonym", "b", "two")]
    assert isinstance(room.refused("synonym", "--remove", "a", "b"), UsageError)
    assert isinstance(room.refused("synonym", "--remove", "a", "b", "--authority", "three"), NotFoundError)
    room("synonym", "--remove", "b", "a", "--authority", "one")
    room("synonym", "--remove", "a", "b")
    assert related(room, "a") == related(room, "b") == []
    assert room.whats("b") == ["synonym", "synonym", "synonym remove", "synonym remove"]


def test_synonyms_need_two_names_and_an_authority(room):
    assert "authority" in room.refused("synonym", "a", "b").message
    assert "same name" in room.refused("synonym", "hdl:1.2/x", "info:hdl/1.2/x", *KERRY).message
    assert "no date" in room.refused("synonym", "a", "b", *KERRY, "--from", "yesterday").message
    assert "before it begins" in room.refused("synonym", "a", "b", *KERRY, "--from", "2030", "--until", "2029").message
    assert isinstance(room.refused("synonym", "a", *KERRY), UsageError)
    assert isinstance(room.refused("synonym", "a", "b", "c", *KERRY), UsageError)
    assert isinstance(room.refused("synonym", "a", "b", "--authority", " "), InvalidError)
    assert isinstance(room.refused("synonym", "--remove", "a", "b"), NotFoundError)
    assert isinstance(room.refused("synonym", "--remove", "a", "b", "--until", "2030"), UsageError)


# -- preferences -----------------------------------------------------------------------------------------------------


def test_one_of_all_synonyms_is_preferred_by_an_authority(room):
    room("synonym", "a", "b", *KERRY)
    room("synonym", "b", "c", *KERRY)
    assert room("prefer", "a") == [{"ok": "a is preferred by Kerry's Library"}]
    room("prefer", "c")
    assert ("preferred", None, "Kerry's Library") in related(room, "c")
    assert ("preferred", None, "Kerry's Library") not in related(room, "a")
    assert room.whats("a") == ["synonym", "prefer", "prefer"]
    assert "already" in room.refused("prefer", "c").message
    room("prefer", "--remove", "c")
    assert isinstance(room.refused("prefer", "--remove", "c"), NotFoundError)


def test_two_preferred_names_do_not_become_synonyms(room):
    room("synonym", "a", "b", *KERRY)
    room("synonym", "c", "d", *KERRY)
    room("prefer", "a")
    room("prefer", "d")
    assert "prefers both a and d" in room.refused("synonym", "b", "c", *KERRY).message
    room("prefer", "--remove", "d")
    room("synonym", "b", "c", *KERRY)


def test_a_preference_needs_a_synonym_and_ends_with_the_last_one(room):
    assert isinstance(room.refused("prefer", "a"), NotFoundError)
    room("synonym", "a", "b", "--authority", "one")
    room("synonym", "a", "c", "--authority", "two")
    assert "one, two" in room.refused("prefer", "a").message
    assert isinstance(room.refused("prefer", "a", "--authority", "three"), NotFoundError)
    room("prefer", "a", "--authority", "two")
    room("synonym", "--remove", "a", "c")
    assert related(room, "a") == [("synonym", "b", "one")]
    assert {"id": "a", "what": "preferred", "before": "two", "after": None} in room("history", "a")[-1]["changes"]
    assert isinstance(room.refused("prefer"), UsageError)


def test_a_withdrawn_name_is_preferred_no_more(ark):
    ark("synonym", "13030/f54x54g11", "doi:10.1000/182", *KERRY)
    ark("prefer", "13030/f54x54g11")
    ark("withdraw", "13030/f54x54g11", "--successor", "13030/f5154dn7k")
    assert [r[0] for r in related(ark, "13030/f54x54g11")] == ["successor", "synonym"]
    assert isinstance(ark.refused("prefer", "13030/f54x54g11"), ConflictError)
    assert related(ark, "13030/f5154dn7k") == [("predecessor", "13030/f54x54g11", None)]


def test_what_was_said_of_a_name_ends_when_it_is_issued_for_something_else(tmp_path):
    room = Room(tmp_path, "x.sd")
    room.mint()
    room("alias", "old", "x0")
    room("synonym", "x0", "doi:10.1000/182", *KERRY)
    room("prefer", "x0")
    room("custodian", "set", "Jane", "x0")
    room("queue", "now", "x0")
    assert room.mint() == ["x0"]
    assert related(room, "doi:10.1000/182") == [] and related(room, "x0") == [("alias", "old", None)]
    assert room("custodian", "x0")[0]["of"] == "this minter"
    cleared = room("history", "x0")[-1]
    assert cleared["what"] == "clear"
    assert {(c["what"], c["before"]) for c in cleared["changes"]} == {
        ("synonym", "doi:10.1000/182"), ("authority", "Kerry's Library"), ("preferred", "Kerry's Library"),
        ("custodian", "Jane")}
    assert room.whats("doi:10.1000/182") == ["synonym", "clear"]
    room.close()


# -- through the doors -----------------------------------------------------------------------------------------------


def test_relations_at_the_shell(noid):
    noid("dbcreate")
    assert noid("alias", "old", "new") == "ok: old stands for new\n\n"
    assert noid("synonym", "new", "hdl:1/2", "--authority", "me", "--from", "2020-01-02", "--until", "2030") == (
        "ok: new and hdl:1/2 are synonyms according to me\n\n")
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


def test_relations_by_url_and_as_json(tmp_path):
    create(tmp_path / "kt5")
    web = Web(tmp_path)
    assert web("alias+old+new").status == 401
    assert web("alias+old+new", user=USER).text == "ok: old stands for new\n\n"
    assert web("alias+new+old", user=USER).status == 409
    assert web("synonym+new+hdl:1/2+--authority+me", user=USER, method="POST", body=b"").status == 200
    assert web("prefer+new", user=USER).status == 200
    reply = web("relations+new", accept="application/json")
    assert [record["relation"] for record in reply.json["records"]] == ["preferred", "synonym", "alias"]
    assert web("relations+nothing", accept="application/json").json == {"records": []}
    assert web("prefer+nothing", user=USER).status == 404
    done = web.post("alias x y\nalias y x\nalias --remove x\n")
    assert "3 commands, 2 done, 1 refused" in done.text
    assert [e["door"] for e in command(tmp_path / "kt5", "history", "old")] == [b"web"]


def test_names_from_elsewhere_keep_their_own_label(noid):
    noid("dbcreate", "--label", "ark:/", "f5.reedk", "long", "99999", "example.org", "demo")
    first, second = noid.ids(2)
    noid("alias", "doi:10.5/a", first)
    assert noid("alias", "hdl:1/x", "doi:10.5/a") == "ok: hdl:1/x stands for doi:10.5/a\n\n"
    assert "id: hdl:1/x\n" in noid("relations", "hdl:1/x")
    assert "Successor: doi:10.5/a\n" in noid("withdraw", second, "--successor", "doi:10.5/a")
