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
    huge = os.urandom(1 << 20) * 100
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
