"""The command same: whether two texts are one name."""

from __future__ import annotations

import pytest


@pytest.fixture
def f5(noid):
    noid("dbcreate", "f5.reedeedk", "long", "13030", "cdlib.org", "oac/cmp")
    noid("mint", "1")
    return noid


@pytest.mark.parametrize(("first", "second"), [
    ("hdl:102.100.272/XYZZY", "info:hdl:102.100.272/XYZZY"),
    ("hdl:102.100.272/XYZZY", "info:hdl/102.100.272/XYZZY"),
    ("hdl:102.100.272/XYZZY", "hdl%3A102.100.272%2FXYZZY"),
    ("info:hdl:102.100.272/XYZZY", "info%3Ahdl%3A102.100.272%2FXYZZY"),
    ("hdl:102.100.272/XY/ZZY", "hdl%3A102.100.272%2FXY%2FZZY"),
    ("hdl:102.100.272/XYZZY", "http://resolver.net.au/hdl/102.100.272/XYZZY"),
])
def test_the_documents_representations_of_one_name_are_the_same(noid, first, second):
    """Without a minter too."""
    assert noid("same", first, second).startswith("same: yes\n")
    assert noid("same", second, first).startswith("same: yes\n")


@pytest.mark.parametrize(("first", "second"), [
    ("sid.inpe.br/mtc-m18@80/2009/02.16.17.46", "sid.INPE.br/MTC-m18@80/2009/02.16.17.46"),
    ("sid.inpe.br/mtc-m18@80/2009/02.16.17.46", "sid.inpe.br/mtc-m18/2009/02.16.17.46.00"),
    ("sid.inpe.br./mtc-m18@1905/2009/02.16.17.46", "sid.inpe.br/mtc-m18.1905/2009/02.16.17.46"),
    ("8JMKD3MGP8W/34PGRBS", "8jmkd3mgp8w/34pgrbs"),
    ("http://urlib.net/8JMKD3MGP8W/34PGRBS", "https://urlib.net/8jmkd3mgp8w/34pgrbs"),
    ("http://urlib.net/sid.inpe.br/mtc-m18/2009/02.16.17.46", "sid.inpe.br/mtc-m18/2009/02.16.17.46"),
    ("hdl:102.100.272/Y35XYS0QH", "hdl:102.100.272/y35xys0qh"),
    ("102.100.272/Y35XYS0QH", "102.100.272/y35xys0qh"),
])
@pytest.mark.parametrize("words", [(), ("f5.reedeedk", "long", "13030", "cdlib.org", "oac/cmp"), ("-",)])
def test_the_form_of_a_name_decides_what_is_equal(noid, words, first, second):
    """With a minter of another scheme, and without one."""
    if words:
        noid("dbcreate", *words)
    assert noid("same", first, second).startswith("same: yes\n")
    assert noid("same", second, first).startswith("same: yes\n")


@pytest.mark.parametrize(("first", "second"), [
    ("sid.inpe.br/mtc-m18/2009/02.16.17.46", "sid.inpe.br/mtc-m18.81/2009/02.16.17.46"),
    ("sid.inpe.br/mtc-m18/2009/02.16.17.46", "sid.inpe.br/mtc-m18/2009/02.16.17.46.01"),
    ("8JMKD3MGP8W/34PGRBS", "8JMKD3MGP8W34M/34PGRBS"),
    ("13030/f54x54g11", "13030/F54X54G11"), ("hdl:13030/f54x54g11", "hdl:13030/F54X54G11"),
    ("RPLZ54PQH", "rplz54pqh"), ("sid.inpe.br/a/b/c", "sid.INPE.br/a/b/c"),
])
def test_what_has_no_such_form_is_compared_as_it_is_written(noid, first, second):
    done = noid.run("same", first, second)
    assert done.returncode == 1 and done.stdout.startswith(b"same: no\n")


@pytest.mark.parametrize(("first", "second", "why"), [
    ("http://purl.kerry.org/XYZZY", "hdl:100/XYZZY", "Two systems define two contexts"),
    ("hdl:102.100.272/XYZZY", "hdl:102.100.273/XYZZY", "Their contexts are not the same"),
    ("hdl:102.100.272/XYZZY", "hdl:102.100.272/XYZZX", "different labels in one context"),
])
def test_the_documents_different_names_are_not_the_same(noid, first, second, why):
    done = noid.run("same", first, second)
    assert done.returncode == 1 and done.stderr == b""
    assert done.stdout.startswith(b"same: no\n") and why.encode() in done.stdout


def test_a_claim_about_contexts_makes_names_the_same_according_to_that_authority(noid):
    noid("dbcreate", ".zd")
    names = ("hdl:102.100.archer/XYZZY", "hdl:102.100.821/XYZZY")
    assert noid.run("same", *names).returncode == 1
    noid("context", "alias", "102.100.archer", "102.100.821", "--authority", "the ARCHER project")
    assert "According to the ARCHER project" in noid("same", *names)
    assert "same: yes" in noid("same", "info:hdl:102.100.archer/XYZZY", "hdl%3A102.100.821%2FXYZZY")
    assert noid.run("same", "hdl:102.100.archer/XYZZY", "hdl:102.100.821/XYZZX").returncode == 1
    noid("context", "alias", "--remove", "102.100.archer", "102.100.821", "--authority", "the ARCHER project")
    assert noid.run("same", *names).returncode == 1


def test_a_name_without_context_is_compared_in_the_context_of_the_minter(f5):
    shown = f5("same", "13030/f54x54g11", "ark:13030/f5-4x54-g11")
    assert shown.startswith("same: yes\n") and "leaves its context unsaid, which here is ark:/" in shown


@pytest.mark.parametrize("words", [[], ["a"], ["a", "b", "c"]])
def test_same_refuses_wrong_words(noid, words):
    noid.refused("same", *words, status=2)


@pytest.mark.parametrize("words", [(), ("kt.reeded",), ("f5.reedeedk", "long", "13030", "a", "b")], ids=str)
def test_a_name_without_a_system_is_in_the_context_that_an_authority_names_so(noid, words):
    noid("dbcreate", *words)
    pairs = [("hdl:102.100.archer/XYZZY", "102.100.821/XYZZY"), ("102.100.archer/XYZZY", "hdl:102.100.821/XYZZY")]
    for pair in pairs:
        assert noid.run("same", *pair).returncode == 1
    noid("context", "alias", "102.100.archer", "102.100.821", "--authority", "ARCHER")
    for pair in pairs:
        assert "According to ARCHER their contexts are one" in noid("same", *pair)
    assert noid.run("same", "hdl:102.100.archer/XYZZY", "102.100.822/XYZZY").returncode == 1
    assert noid.run("same", "hdl:102.100.archer/XYZZY", "102.100.821/OTHER").returncode == 1
