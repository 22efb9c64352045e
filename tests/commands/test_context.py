"""The command context: labels, resolvers and aliases of contexts."""

from __future__ import annotations

import pytest

from noidtools.minter import Minter


def forms(text: str) -> list[tuple[str, str]]:
    return [tuple(line.split(": ", 1)) for line in text.splitlines() if line]


def test_statements_about_a_context_are_shown_and_can_be_removed(noid):
    noid("dbcreate", "--label", "hdl:102.100.821/", ".zd")
    assert noid("context") == "label: hdl:102.100.821/\n\n"
    noid("context", "alias", "102.100.archer", "102.100.821", "--authority=ARCHER")
    noid("context", "alias", "102.100.archer", "102.100.821", "--authority", "ANDS of Australia")
    shown = noid("context", "resolver", "https://hdl.handle.net/").splitlines()
    assert shown[:2] == ["label: hdl:102.100.821/", "resolver: https://hdl.handle.net/"]
    assert shown[2].startswith("alias: 102.100.archer is 102.100.821, according to ANDS of Australia since 2")
    assert ("web", "https://hdl.handle.net/102.100.821/7") in forms(noid("cite", "7"))
    noid("context", "alias", "--remove", "102.100.archer", "102.100.821", "--authority", "ARCHER")
    assert "resolver" not in noid("context", "resolver", "-")
    assert noid("context").count("alias:") == 1


def test_each_change_of_the_context_is_one_event(noid):
    noid("dbcreate", ".zd")
    noid("context", "alias", "a", "b", "--authority", "c")
    minter = Minter(str(noid.folder))
    try:
        from noidtools.minter.schema import EVENTS

        ((_, last),) = minter.read(lambda reader: list(reader.scan(EVENTS, limit=1, reverse=True)))
        assert b"context-alias/a b c" in last
    finally:
        minter.close()


@pytest.mark.parametrize(("words", "message"), [
    (["alias", "a", "a", "--authority", "x"], "cannot be its own alias"),
    (["alias", "a b", "c", "--authority", "x"], "no blanks"),
    (["alias", "", "c", "--authority", "x"], "1 to 200 characters"),
    (["alias", "a" * 201, "c", "--authority", "x"], "1 to 200 characters"),
    (["alias", "a", "c", "--authority", " "], "an authority is named"),
    (["alias", "a", "c", "--authority", "x\ny"], "an authority is named"),
    (["alias", b"\xff", "c", "--authority", "x"], "not valid UTF-8"),
    (["alias", "a", "c"], "use context"),
    (["alias", "a", "--authority", "x"], "use context"),
    (["alias", "a", "c", "--authority", "x", "--authority", "y"], "use context"),
    (["alias", "--remove", "a", "c", "--authority", "x"], "x does not claim that a is an alias for c"),
    (["resolver"], "use context"),
    (["resolver", "https://example.org/", "--remove"], "use context"),
    (["resolver", "ftp://example.org/"], "a web address"),
    (["resolver", "https://example.org/?x="], "a web address"),
    (["resolver", "https://example.org/ x"], "a web address"),
    (["resolver", "javascript:alert(1)"], "a web address"),
    (["nonsense"], "use context"),
])
def test_wrong_statements_about_a_context_are_refused(noid, words, message):
    noid("dbcreate", ".zd")
    assert message in noid.refused("context", *words)
    assert "nothing is set" in noid("context")


def test_the_same_claim_is_made_once(noid):
    noid("dbcreate", ".zd")
    noid("context", "alias", "a", "b", "--authority", "c")
    assert "claims that already" in noid.refused("context", "alias", "a", "b", "--authority", "c", status=1)
