"""The commands bind and get."""

from __future__ import annotations

import os

import pytest


def test_a_value_that_looks_like_an_option_is_a_value(noid):
    noid("dbcreate")
    for value in ("-v", "--draft", "+1", "-", "--"):
        noid("bind", "set", "x", "e", value)
        assert noid("get", "x", "e") == f"{value}\n"


def test_after_two_hyphens_every_word_stands_for_itself(noid):
    noid("dbcreate")
    for value in ("--help", "-h", "-f", "--f=x", "-f=x"):
        noid("bind", "--", "set", "x", "e", value)
        assert noid("get", "x", "e") == f"{value}\n"
    noid("bind", "--", "set", "-f", "--seed", "-h")
    assert noid("get", "--", "-f", "--seed") == "-h\n"
    noid("bind", "--", "set", "y", ":", stdin=b"title: -h\n\n")
    assert noid("get", "y", "title") == "-h\n"


def test_with_a_template_only_its_identifiers_are_bound(noid):
    noid("dbcreate", "fk.redek")
    assert "check character" in noid.refused("bind", "set", "fk491g", "e", "v", status=1)
    noid("bind", "set", ":idmap/^fk", "e", "replaced")
    assert noid("get", "fk491f", "e") == "replaced491f\n"


def test_names_values_and_identifiers_are_bytes_as_given(noid):
    noid("dbcreate")
    odd = [b"\xff\xfe", "é 漢".encode(), b"tab\there", b"colon: and | bar", b"\x01\x7f", b":/c", b"0/:/oacounter", b"m"]
    for identifier in odd:
        for element in odd:
            noid("bind", "set", identifier, element, identifier + b"=" + element)
    for identifier in odd:
        for element in odd:
            assert noid.run("get", identifier, element).stdout == identifier + b"=" + element + b"\n"
    assert noid("mint", "1") == "id: 0\n\n"


@pytest.mark.slow
def test_long_names_and_huge_values_work(noid):
    noid("dbcreate")
    element, identifier = "e" * 2000, "i" * 3000
    noid("bind", "set", identifier, element, "long")
    noid("bind", "set", identifier, element + "x", "longer")
    assert noid("get", identifier, element, element + "x") == "long\n\nlonger\n"
    huge = b"x" + os.urandom(1 << 20) * 100  # of which no blank is first, as it would not belong to the value
    noid("bind", "set", "big", ":-", stdin=b"value:" + huge)
    assert noid.run("get", "big", "value").stdout == huge + b"\n"
    assert noid("bind", "append", "big", "value", "tail").endswith(
        f"4 bytes written to the end of {len(huge)} bytes\n\n")


def test_binding_refuses_what_has_no_name(noid):
    noid("dbcreate")
    assert "empty" in noid.refused("bind", "set", "", "e", "v")
    assert "empty" in noid.refused("bind", "set", "x", "", "v")
    assert "takes no Value" in noid.refused("bind", "delete", "x", "e", "v", status=2)
    assert "word new" in noid.refused("bind", "mint", "x", "e", "v", status=2)


def test_an_element_named_twice_is_refused(noid):
    noid("dbcreate")
    noid("bind", "set", "1", "e", "v")
    assert "named twice" in noid.refused("get", "1", "e", "e", status=2)


# -- identifiers that the minter did not generate --------------------------------------------------------------------


@pytest.mark.parametrize("name", ["13030/kt639k9", "ark:/13030/kt639k9", "ISBN 0596000278", "kt12", "http://purl.org/1/3"])
def test_an_identifier_that_the_minter_did_not_generate_can_be_bound(noid, name):
    noid("dbcreate", "kt.reeded")
    bound = noid("bind", "set", name, "myGoto", "http://foo.ucsd.edu/")
    assert bound.startswith(f"Id:      {name}\nElement: myGoto\nBind:    set\n"
                            "Status:  ok, 20 bytes written, replacing 0 bytes\n")
    assert f"\nNote:    {name} is not one of this minter's identifiers: it is recorded as foreign, and " in bound
    assert noid("get", name, "myGoto") == "http://foo.ucsd.edu/\n"
    assert "Note:" not in noid("bind", "set", name, "title", "T")
    circulation = noid("fetch", name).splitlines()[1]
    assert circulation.startswith("Circ:  f|")
    assert "never minted here" in noid.refused("queue", "now", name, status=1)
    assert "nothing is wrong" in noid("check")


def test_what_was_bound_outside_the_template_is_skipped_when_the_mask_grows_to_it(noid):
    noid("dbcreate", "--at-last", "add1", "x.sd")
    for command in (("bind", "set", "x12", "e", "v"), ("hold", "set", "x13"), ("reserve", "x14")):
        noid(*command)
    noid("hold", "release", "x12", "x13")
    minted = noid.ids(30)
    assert {"x11", "x15"} < set(minted) and not {"x12", "x13", "x14"} & set(minted) and len(set(minted)) == 30
    assert noid("get", "x12", "e") == "v\n"
    assert "nothing is wrong" in noid("check")


def test_in_a_long_term_minter_a_foreign_identifier_is_bound_after_a_hold(noid):
    noid("dbcreate", "f5.reedeedk", "long", "13030", "cdlib.org", "oac/cmp")
    refusal = noid.refused("bind", "set", "13030/kt639k9", "a", "b", status=1)
    assert refusal == ("13030/kt639k9 is not one of this minter's identifiers: place a hold on it before binding; run "
                       "'noid hold set 13030/kt639k9'")
    assert noid("hold", "set", "13030/kt639k9") == "ok: 1 hold placed\n\n"
    noid("bind", "set", "ark:/13030/kt639k9", "a", "b")
    assert noid("get", "13030/kt639k9", "a") == "b\n"
    assert "nothing is wrong" in noid("check")


@pytest.mark.parametrize(("name", "fault"), [
    ("13030/f54x54g12", "wrong check character"), ("new", "'noid bind mint new …'"), ("a\nb", "control character"),
])
def test_what_is_mistyped_or_no_name_is_not_bound_as_foreign(noid, name, fault):
    noid("dbcreate", "f5.reedeedk", "medium", "13030")
    for words in (("bind", "set", name, "a", "b"), ("hold", "set", name), ("reserve", name)):
        assert fault in noid.refused(*words, status=1)
    assert "f|" not in noid("dbinfo", "full") and "Held: 0" in noid("dbinfo")


@pytest.mark.parametrize("words", [(), ("kt.reeded",)], ids=["anything", "template"])
def test_words_with_a_meaning_are_neither_elements_nor_identifiers(noid, words):
    noid("dbcreate", *words)
    for element in (":", ":-"):
        assert f"no element can be named '{element}'" in noid.refused("bind", "set", "kt4x551", element, "v")
        for words in (("bind", "set", element, "e", "v"), ("hold", "set", element)):
            assert f"no identifier can be named '{element}'" in noid.refused(*words, status=1)
    assert noid.refused("bind", "set", ":idmap", "e", "v") == "a rule is bound to a pattern: write :idmap/PATTERN"


def test_a_binding_to_an_alias_says_that_the_alias_resolves_elsewhere(noid):
    noid("dbcreate", "kt.reeded")
    (target,) = noid.ids(1)
    noid("bind", "set", target, "_t", "https://target.example/")
    noid("alias", "old", target)
    bound = noid("bind", "set", "old", "_t", "https://other.example/")
    assert f"\nNote:    old is an alias: it resolves as {target} does, whatever is bound to it\n" in bound
    assert noid("resolve", "old") == "https://target.example/\n"
