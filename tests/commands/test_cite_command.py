"""cite, same and context through the shell and the URL door."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from url_support import USER, Web

from noidtools.minter import Minter


@pytest.fixture
def f5(noid):
    noid("dbcreate", "f5.reedeedk", "long", "13030", "cdlib.org", "oac/cmp")
    noid("mint", "1")
    return noid


@pytest.fixture
def web(tmp_path, noid):
    folder = tmp_path / "kt5"
    folder.mkdir()
    noid("-f", "kt5", "dbcreate", "--label", "ark:/", "kt5.reeded", "medium", "13030", "a", "b")
    noid("-f", "kt5", "mint", "1")
    return Web(tmp_path)


def forms(text: str) -> list[tuple[str, str]]:
    return [tuple(line.split(": ", 1)) for line in text.splitlines() if line]


# -- cite --------------------------------------------------------------------------------------------------------


def test_a_name_is_cited_in_all_its_forms(f5):
    f5("context", "resolver", "https://id.example.org", "https://n2t.net/")
    assert forms(f5("cite", "13030/f54x54g11")) == [
        ("canonical", "ark:/13030/f54x54g11"),
        ("ark", "ark:13030/f54x54g11"),
        ("info", "info:ark/13030/f54x54g11"),
        ("web", "https://id.example.org/ark:/13030/f54x54g11"),
        ("web", "https://n2t.net/ark:/13030/f54x54g11"),
        ("encoded", "ark%3A%2F13030%2Ff54x54g11"),
        ("print", "<https://id.example.org/ark:/13030/f54x54g11>"),
        ("check", "the last character, 1, is a check character and shows when another was miscopied"),
        ("speech", "alfa, romeo, kilo, colon, slash, one (digit), three, zero (digit), three, zero (digit), slash, "
                   "foxtrot, five, four, xray, five, four, golf, one (digit), one (digit)"),
        ("html", '<a href="https://id.example.org/ark:/13030/f54x54g11">ark:/13030/f54x54g11</a>'),
        ("markdown", "[ark:/13030/f54x54g11](<https://id.example.org/ark:/13030/f54x54g11>)"),
    ]


@pytest.mark.parametrize("spelling", [
    "ark:/13030/f54x54g11", "ark:13030/f54x54g11", "ARK:/13030/f5-4x5-4g11", "ark%3A%2F13030%2Ff54x54g11",
    "https://n2t.net/ark:/13030/f54x54g11", "<ark:/13030/f54x54g11>", "info:ark/13030/f54x54g11",
])
def test_every_spelling_of_a_name_is_cited_alike(f5, spelling):
    assert f5("cite", spelling) == f5("cite", "13030/f54x54g11")


def test_every_form_of_a_citation_is_the_same_name(f5):
    f5("context", "resolver", "https://id.example.org/r")
    for form, text in forms(f5("cite", "13030/f54x54g11")):
        if form not in ("check", "speech", "html", "markdown"):
            assert "same: yes" in f5("same", "13030/f54x54g11", text), form


def test_names_of_other_minters_are_cited_in_their_own_context(noid):
    noid("dbcreate", "--label", "hdl:102.100.272/", ".zd")
    assert ("info", "info:hdl/102.100.272/7") in forms(noid("cite", "7"))
    assert ("canonical", "ark:13030/x") in forms(noid("cite", "ark:/13030/x"))
    assert ("urn", "urn:nbn:de-x") in forms(noid("cite", "URN:NBN:de-x"))


def test_a_minter_of_anything_cites_anything(noid):
    noid("dbcreate")
    noid("bind", "set", b"caf\xc3\xa9 \"x\"", "a", "b")
    assert dict(forms(noid("cite", b"caf\xc3\xa9 \"x\"")))["encoded"] == "caf%C3%A9%20%22x%22"
    shown = noid("cite", b"\xff<script>")
    assert dict(forms(shown))["encoded"] == "%FF%3Cscript%3E"
    assert "canonical: ark:13030/x" in noid("cite", "ark:/13030/x")


def test_a_handle_minter_needs_no_label_to_cite_handles(noid):
    noid("dbcreate", "--scheme", "pilin", "--prefix", "102.100.272")
    (made,) = noid.ids(1)
    assert ("hdl", "hdl:" + made) in forms(noid("cite", made.lower()))


def test_a_mistyped_name_is_not_cited(f5):
    assert "wrong check character" in f5.refused("cite", "13030/f54x54g12", status=1)
    assert "wrong check character" in f5.refused("cite", "ark:/13030/f54x45g11", status=1)
    assert "empty" in f5.refused("cite", "", status=1)


def test_a_pepper_is_not_cited(noid):
    noid("dbcreate", "kt5.reedk")
    secret = noid("peppermint", "1").split()[1]
    assert "!" in secret
    assert "!" not in noid("cite", secret)
    assert "exclamation" not in noid("cite", secret)


@pytest.mark.parametrize("words", [[], ["a", "b"], ["--qr"], ["13030/f54x54g11", "--what", "x"]])
def test_wrong_words_for_cite(f5, words):
    f5.refused("cite", *words, status=2)


def test_a_qr_code_is_written_as_svg_and_png(f5):
    f5("context", "resolver", "https://id.example.org/")
    assert forms(f5("cite", "13030/f54x54g11", "--qr", "code.svg", "--qr=code.png"))[-2:] == [
        ("qr", "code.svg"), ("qr", "code.png"),
    ]
    assert ET.parse(f5.folder / "code.svg").getroot().tag.endswith("svg")
    assert (f5.folder / "code.png").read_bytes().startswith(b"\x89PNG")
    assert ".svg or .png" in f5.refused("cite", "13030/f54x54g11", "--qr", "code.gif", status=2)
    assert "cannot be written" in f5.refused("cite", "13030/f54x54g11", "--qr", "nowhere/code.svg", status=2)


# -- same --------------------------------------------------------------------------------------------------------


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


def test_the_context_a_name_leaves_unsaid_is_the_minters(f5):
    shown = f5("same", "13030/f54x54g11", "ark:13030/f5-4x54-g11")
    assert shown.startswith("same: yes\n") and "leaves its context unsaid, which here is ark:/" in shown


@pytest.mark.parametrize("words", [[], ["a"], ["a", "b", "c"]])
def test_wrong_words_for_same(noid, words):
    noid.refused("same", *words, status=2)


# -- context -----------------------------------------------------------------------------------------------------


def test_what_is_said_about_the_context_is_shown_and_can_be_taken_back(noid):
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
        from noidtools.minter.tables import EVENTS

        last = minter.read(lambda reader: reader.last(EVENTS))
        assert b"context-alias/a b c" in last[1]
    finally:
        minter.close()


@pytest.mark.parametrize(("words", "said"), [
    (["alias", "a", "a", "--authority", "x"], "no alias for itself"),
    (["alias", "a b", "c", "--authority", "x"], "no blanks"),
    (["alias", "", "c", "--authority", "x"], "1 to 200 characters"),
    (["alias", "a" * 201, "c", "--authority", "x"], "1 to 200 characters"),
    (["alias", "a", "c", "--authority", " "], "an authority is named"),
    (["alias", "a", "c", "--authority", "x\ny"], "an authority is named"),
    (["alias", b"\xff", "c", "--authority", "x"], "not valid UTF-8"),
    (["alias", "a", "c"], "say context"),
    (["alias", "a", "--authority", "x"], "say context"),
    (["alias", "a", "c", "--authority", "x", "--authority", "y"], "say context"),
    (["alias", "--remove", "a", "c", "--authority", "x"], "x does not claim that a is an alias for c"),
    (["resolver"], "say context"),
    (["resolver", "https://example.org/", "--remove"], "say context"),
    (["resolver", "ftp://example.org/"], "a web address"),
    (["resolver", "https://example.org/?x="], "a web address"),
    (["resolver", "https://example.org/ x"], "a web address"),
    (["resolver", "javascript:alert(1)"], "a web address"),
    (["nonsense"], "say context"),
])
def test_what_cannot_be_said_about_a_context(noid, words, said):
    noid("dbcreate", ".zd")
    assert said in noid.refused("context", *words)
    assert "nothing is said" in noid("context")


def test_the_same_claim_is_made_once(noid):
    noid("dbcreate", ".zd")
    noid("context", "alias", "a", "b", "--authority", "c")
    assert "claims that already" in noid.refused("context", "alias", "a", "b", "--authority", "c", status=1)


# -- the web -----------------------------------------------------------------------------------------------------


def test_citing_and_comparing_through_the_web(web):
    reply = web("cite+13030/kt54x551")
    assert reply.status == 200 and reply.text.startswith("canonical: ark:/13030/kt54x551\n")
    reply = web("cite+ark:13030/kt5-4x551", accept="application/json")
    assert reply.json["records"][0] == {"form": "canonical", "text": "ark:/13030/kt54x551"}
    reply = web("same+hdl:1.2/x+info:hdl:1.2/x")
    assert reply.status == 200 and reply.text.startswith("same: yes\n")
    reply = web("same+hdl:1.2/x+hdl:1.2/y", accept="application/json")
    assert reply.json["failed"] is True and reply.json["records"][0]["same"] is False
    assert reply.json["records"][0]["why"]


def test_contexts_are_for_administrators(web):
    assert web("context+resolver+https://id.example.org/").status == 401
    assert web("context+resolver+https://id.example.org/", user=USER).status == 200
    reply = web("context", user=USER, accept="application/json")
    assert reply.json["records"] == [{"labels": ["ark:/"], "resolvers": ["https://id.example.org/"], "aliases": []}]


def test_the_web_writes_no_files(web, tmp_path):
    before = sorted(path.name for path in tmp_path.rglob("*"))
    reply = web("cite+13030/kt5+--qr+/tmp/code.svg", user=USER)
    assert reply.status == 403 and "for the shell" in reply.text
    reply = web.post("cite 13030/kt5 --qr code.svg\n")
    assert "for the shell" in reply.text
    assert sorted(path.name for path in tmp_path.rglob("*")) == before
