"""Peppered identifiers: changed only by who knows the pepper."""

from __future__ import annotations

import re


def test_peppered_identifiers_change_only_with_their_pepper(noid):
    noid("dbcreate", "p.rddd")
    (line,) = [text for text in noid("peppermint", "1", "t", "first").splitlines() if text]
    peppered = line.removeprefix("id: ")
    bare, _, pepper = peppered.partition("!")
    assert re.fullmatch(r"[0-9bcdfghjkmnpqrstvwxz]{16}", pepper)
    assert noid("get", bare, "t") == "first\n" == noid("get", peppered, "t")
    for words in (["bind", "set", bare, "t", "x"], ["bind", "purge", bare, "t"], ["hold", "set", bare],
                  ["queue", "now", bare], ["hold", "release", f"{bare}!wrong"], ["bind", "set", f"{bare}!", "t", "x"]):
        assert "pepper" in noid.refused(*words, status=1)
    noid("bind", "set", peppered, "t", "second")
    assert noid("get", bare, "t") == "second\n"
    assert noid("hold", "set", peppered) == "ok: 1 hold placed\n\n"
    assert pepper not in noid("dbinfo", "dump"), "a pepper must not be stored in the clear"
    bound = noid("bind", "peppermint", "new", "t", "v")
    made = re.search(r"^Id: +(\S+)$", bound, re.M)[1]
    assert "!" in made and noid("get", made.partition("!")[0], "t") == "v\n"


def test_an_exclamation_mark_alone_is_no_pepper(noid):
    noid("dbcreate")
    noid("bind", "set", "wow!", "e", "1")
    noid("bind", "set", "wow!much", "e", "2")
    assert noid("get", "wow!much", "e") == "2\n"


def test_an_identifier_with_an_exclamation_mark_of_its_own_is_itself(noid):
    noid("dbcreate", ".zc")
    noid("peppermint", "3")
    ids = noid.ids(200)
    assert '"!' in ids
    noid("bind", "set", '"!', "e", "v")
    assert noid("get", '"!', "e") == "v\n"


def test_a_path_does_not_show_a_pepper(noid):
    noid("dbcreate", ".sdddd")
    peppered = noid("peppermint", "1").removeprefix("id: ").strip()
    assert noid("path", peppered) == noid("path", peppered.partition("!")[0]) == "00/00/\n"


def test_relations_and_custodians_of_a_peppered_identifier_need_its_pepper(noid):
    noid("dbcreate", ".sdd")
    peppered = noid("peppermint", "1").removeprefix("id: ").strip()
    for words in (["custodian", "set", "Bob"], ["alias", "--remove"], ["withdraw"], ["reserve"], ["publish"]):
        assert "pepper" in noid.refused(*words, "00", status=1) or words[0] == "alias"
    assert "pepper" in noid.refused("synonym", "00", "x", "--authority", "a", status=1)
    noid("synonym", peppered, "x", "--authority", "a")
    assert "pepper" in noid.refused("prefer", "00", "--authority", "a", status=1)
    noid("custodian", "set", "Bob", peppered)
    assert "Custodian: Bob" in noid("custodian", "00")
