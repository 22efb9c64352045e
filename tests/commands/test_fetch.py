"""`get` and `fetch`: several elements, elements that are not bound, rules, and identifiers without any element."""

from __future__ import annotations

import json

import pytest

from support.minter import Noid


@pytest.fixture
def bound(noid: Noid) -> Noid:
    """A minter whose identifier kt4x551 has the elements a, with two lines, and b."""
    noid("dbcreate", "kt.reeded")
    noid("mint", "2")
    noid("bind", "set", "kt4x551", "a", "one\ntwo")
    noid("bind", "set", "kt4x551", "b", "three")
    return noid


def test_get_separates_elements_by_a_blank_line(bound):
    assert bound("get", "kt4x551", "a", "b") == "one\ntwo\n\nthree\n"
    assert bound("get", "kt4x551", "b", "a") == "three\n\none\ntwo\n"
    assert bound("get", "kt4x551") == "one\ntwo\n\nthree\n"
    assert bound("get", "kt4x551", "b") == "three\n"
    assert bound("-", stdin=b"get kt4x551 a b\nget kt4x551 b\n") == "one\ntwo\n \nthree\n\nthree\n\n"


def test_bound_elements_are_printed_though_others_are_not_bound(bound):
    done = bound.run("get", "kt4x551", "nix", "b", "nor this", "a")
    assert done.returncode == 1
    assert done.stdout == b"\n\nthree\n\n\n\none\ntwo\n"
    assert done.stderr == (
        b"error: nothing is bound to nix under kt4x551\nerror: nothing is bound to nor this under kt4x551\n"
    )
    done = bound.run("fetch", "kt4x551", "b", "nix")
    assert (done.returncode, done.stderr) == (1, b"error: nothing is bound to nix under kt4x551\n")
    assert done.stdout.splitlines()[0] == b"id:    kt4x551" and done.stdout.endswith(b"b: three\n\n")


def test_one_sentence_refuses_if_none_of_several_elements_is_bound(bound):
    for command in ("get", "fetch"):
        assert bound.refused(command, "kt4x551", "x", "y", status=1) == "nothing is bound to x or y under kt4x551"


def test_in_bulk_an_unbound_element_is_an_error_line_of_its_command(bound):
    done = bound.run("-", stdin=b"get kt4x551 nix b\nget kt4x551 b\n")
    assert done.returncode == 1
    assert done.stdout == b" \n \nthree\n \nerror: nothing is bound to nix under kt4x551\n\nthree\n\n"
    assert done.stderr == b"error: line 1: nothing is bound to nix under kt4x551\n"


def test_an_identifier_without_elements_shows_its_circulation(bound):
    printed = bound("fetch", "kt154d9")
    assert printed.startswith("id:    kt154d9\nCirc:  i|")
    assert printed.endswith("\nnote: no elements bound under kt154d9.\n\n")
    assert bound.refused("get", "kt154d9", status=1).startswith("nothing is bound under kt154d9; its circulation")
    bound("hold", "set", "ktwd3s9")
    assert bound("fetch", "ktwd3s9") == (
        "id:    ktwd3s9 hold\nCirc:  uncirculated\nState: reserved\nnote: no elements bound under ktwd3s9.\n\n")
    for command in ("get", "fetch"):
        assert bound.refused(command, "ktxxxxx", status=1) == (
            "nothing is bound under ktxxxxx, and it was not minted here")


def test_a_line_of_a_value_is_not_taken_for_an_element(bound):
    bound("bind", "set", "kt4x551", "a", "line one\nfake: x\n\nc:\rd: y\nlast")
    printed = bound("fetch", "kt4x551")
    labels = [line.partition(":")[0] for line in printed.splitlines() if ":" in line and line[0] != " "]
    assert labels == ["id", "Circ", "a", "b"]
    assert "\na: line one\n fake: x\n\n c:\r d: y\nlast\nb: three\n" in printed
    assert bound("get", "kt4x551", "a") == "line one\nfake: x\n\nc:\rd: y\nlast\n"


def test_json_at_the_shell_is_exact(bound):
    bound("bind", "set", "kt4x551", "a", "one\nfake: x\n\n")
    bound("bind", "set", "kt4x551", "c", b"\xff")
    (name,) = [json.loads(line) for line in bound("fetch", "--json", "kt4x551").splitlines()]
    assert (name["id"], name["hold"], name["state"]) == ("kt4x551", False, "published")
    assert name["elements"] == [{"name": "a", "value": "one\nfake: x\n\n"}, {"name": "b", "value": "three"},
                                {"name": "c", "value": {"base64": "/w=="}}]
    done = bound.run("get", "--json", "kt4x551", "b", "nix", "a")
    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        {"name": "b", "value": "three"}, {"name": "nix", "error": "nothing is bound to nix under kt4x551"},
        {"name": "a", "value": "one\nfake: x\n\n"}]
    assert (done.returncode, done.stderr) == (1, b"error: nothing is bound to nix under kt4x551\n")
    bound("bind", "set", "kt4x551", "l", "x|y")
    assert json.loads(bound("get", "--items", "--json", "kt4x551", "l")) == {"name": "l", "items": ["x", "y"]}


def test_rules_are_reported_by_their_element(bound):
    bound("bind", "set", ":idmap/^zz", "goto", "late")
    bound("bind", "set", ":idmap/^kt1", "goto", "early")
    bound("bind", "set", ":idmap/^zz", "other", "elsewhere")
    # In the order in which they are tried.
    assert bound("fetch", ":idmap/goto") == "id:    :idmap/goto\nCirc:  rule\n^kt1: early\n^zz: late\n\n"
    assert bound("get", ":idmap/goto") == "early\n\nlate\n"
    assert bound("fetch", ":idmap/other") == "id:    :idmap/other\nCirc:  rule\n^zz: elsewhere\n\n"
    assert bound("fetch", ":idmap") == (
        "id:    :idmap/goto\nCirc:  rule\n^kt1: early\n^zz: late\n\n"
        "id:    :idmap/other\nCirc:  rule\n^zz: elsewhere\n\n"
    )
    assert bound("fetch", ":idmap/^zz") == "id:    :idmap/^zz\nCirc:  rule\ngoto: late\nother: elsewhere\n\n"
    assert bound.refused("fetch", ":idmap/nothing", status=1) == "no rule is bound to :idmap/nothing"


def test_a_rule_by_its_element_and_one_by_its_pattern_are_both_reported(bound):
    bound("bind", "set", ":idmap/^x", "goto", "by element")
    bound("bind", "set", ":idmap/goto", "other", "by pattern")
    assert bound("fetch", ":idmap/goto") == (
        "id:    :idmap/goto\nCirc:  rule\n^x: by element\n\nid:    :idmap/goto\nCirc:  rule\nother: by pattern\n\n"
    )


def test_there_are_no_rules_to_report_at_first(bound):
    assert bound.refused("fetch", ":idmap", status=1) == "no rule is bound to :idmap"


def test_resolving_names_the_rule_that_decided(bound):
    bound("bind", "set", ":idmap/^kt1", "_t", "https://a.example/")
    assert "rule: :idmap/^kt1 makes https://a.example/54d9 of kt154d9\n" in bound("resolve", "--explain", "kt154d9")
