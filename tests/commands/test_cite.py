"""The command cite: the forms of a name."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest


@pytest.fixture
def f5(noid):
    noid("dbcreate", "f5.reedeedk", "long", "13030", "cdlib.org", "oac/cmp")
    noid("mint", "1")
    return noid


def forms(text: str) -> list[tuple[str, str]]:
    return [tuple(line.split(": ", 1)) for line in text.splitlines() if line]


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
    assert ("canonical", "ark:/13030/x") in forms(noid("cite", "ark:/13030/x"))
    assert ("urn", "urn:nbn:de-x") in forms(noid("cite", "URN:NBN:de-x"))


@pytest.mark.parametrize(("given", "canonical"), [
    ("http://purl.org/1/321", "http://purl.org/1/321"), ("8JMKD3MGP8W/34PGRBS", "8JMKD3MGP8W/34PGRBS"),
    ("http://urlib.net/LK47B6W/362SFKH", "LK47B6W/362SFKH"), ("ISBN 0596000278", "ISBN 0596000278"),
    ("sid.inpe.br/mtc-m18@80/2009/02.16.17.46", "sid.inpe.br/mtc-m18@80/2009/02.16.17.46"),
    ("shelf/17", "shelf/17"), ("ark:/12345/x", "ark:/12345/x"), ("https://doi.org/10.1000/182", "doi:10.1000/182"),
])
@pytest.mark.parametrize("words", [
    ("f5.reedeedk", "long", "13030", "cdlib.org", "oac/cmp"),
    ("--label", "ark:/", "f5.reedeedk", "long", "13030", "cdlib.org", "oac/cmp"),
    ("--label", "hdl:", "--scheme", "pilin", "--prefix", "102.100.272"), ("kt.reeded",), (),
], ids=" ".join)
def test_a_name_of_another_system_is_not_cited_with_the_label_of_the_minter(noid, words, given, canonical):
    noid("dbcreate", *words)
    cited = dict(forms(noid("cite", given)))
    assert cited["canonical"] == canonical
    assert ("ark" in cited) == canonical.startswith("ark:") and ("hdl" in cited) == canonical.startswith("doi:")
    if not canonical.startswith("http"):
        noid("alias", given, "https://elsewhere.example/")
    assert dict(forms(noid("cite", given)))["canonical"] == canonical


def test_a_minter_without_a_template_puts_its_label_before_all_names_but_those_known_by_their_form(noid):
    noid("dbcreate", "--label", "ark:/")
    for given in ("sid.inpe.br/mtc-m12@80/2011/02.16.17.46", "iconet.com.br/banon/2000/12.31.20.38", "LK47B6W/362SFKH"):
        assert ("canonical", given) in forms(noid("cite", given))
        assert f"Id:      {given}\n" in noid("bind", "set", given, "title", "x")
    for given in ("shelf/17", "lk47b6w/362sfkh", "maps/north/2011/v1.2", "maps/north/2011/1.2"):
        assert ("canonical", "ark:/" + given) in forms(noid("cite", given))


def test_a_minter_of_anything_cites_anything(noid):
    noid("dbcreate")
    noid("bind", "set", b"caf\xc3\xa9 \"x\"", "a", "b")
    assert dict(forms(noid("cite", b"caf\xc3\xa9 \"x\"")))["encoded"] == "caf%C3%A9%20%22x%22"
    shown = noid("cite", b"\xff<script>")
    assert dict(forms(shown))["encoded"] == "%FF%3Cscript%3E"
    assert "canonical: ark:/13030/x" in noid("cite", "ark:/13030/x")


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
def test_cite_refuses_wrong_words(f5, words):
    f5.refused("cite", *words, status=2)


def test_a_qr_code_is_written_as_svg_and_png(f5):
    f5("context", "resolver", "https://id.example.org/")
    assert forms(f5("cite", "13030/f54x54g11", "--qr", "code.svg", "--qr=code.png"))[-2:] == [
        ("qr", "code.svg"), ("qr", "code.png"),
    ]
    assert ET.parse(f5.folder / "code.svg").getroot().tag.endswith("svg")
    assert (f5.folder / "code.png").read_bytes().startswith(b"\x89PNG")
    (f5.folder / "precious").write_text("text")
    (f5.folder / "link.svg").symlink_to("precious")
    f5("cite", "13030/f54x54g11", "--qr", "link.svg", "--qr", "code.svg")
    assert (f5.folder / "precious").read_text() == "text" and not (f5.folder / "link.svg").is_symlink()
    assert ".svg or .png" in f5.refused("cite", "13030/f54x54g11", "--qr", "code.gif", status=2)
    assert "cannot be written" in f5.refused("cite", "13030/f54x54g11", "--qr", "nowhere/code.svg", status=2)
