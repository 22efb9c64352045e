"""Citations of what names stand for, as text, BibTeX, RIS and CSL-JSON."""

from __future__ import annotations

import json

import pytest

from noidtools.description.bibliography import FORMATS, bibtex, csl, ris, text, title_of, work_of
from noidtools.description.facts import MinterDescription, NameDescription

ADDRESS = "https://id.example/ark:/13030/kt4x551"
GIBBON = {"who": "Gibbon, Edward; The Society", "what": "The Decline & Fall", "when": "1781-02-03",
          "dc.publisher": "Strahan", "dc.type": "Book"}


def work(elements, **facts):
    minter = MinterDescription(name="kt5", namespace="", custodians=())
    usual = {"name": "ark:/13030/kt4x551", "state": "published", "elements": elements}
    return work_of(NameDescription(identifier="13030/kt4x551", minter=minter, **usual | facts), ADDRESS)


def test_a_work_is_cited_in_the_usual_forms():
    gibbon = work(GIBBON)
    assert text(gibbon) == f"Gibbon, Edward; The Society (1781). The Decline & Fall. Strahan. {ADDRESS}"
    assert bibtex(gibbon) == f"""\
@book{{ark-13030-kt4x551,
  title = {{{{The Decline \\& Fall}}}},
  author = {{Gibbon, Edward and {{The Society}}}},
  year = {{1781}},
  publisher = {{Strahan}},
  url = {{{ADDRESS}}},
  note = {{ark:/13030/kt4x551}}
}}
"""
    assert ris(gibbon) == (
        "TY  - BOOK\r\nTI  - The Decline & Fall\r\nAU  - Gibbon, Edward\r\nAU  - The Society\r\nPY  - 1781\r\n"
        f"DA  - 1781/02/03/\r\nPB  - Strahan\r\nUR  - {ADDRESS}\r\nID  - ark:/13030/kt4x551\r\nER  - \r\n")
    assert json.loads(csl(gibbon)) == {
        "id": "ark:/13030/kt4x551", "type": "book", "title": "The Decline & Fall",
        "author": [{"family": "Gibbon", "given": "Edward"}, {"literal": "The Society"}],
        "issued": {"date-parts": [[1781, 2, 3]]}, "publisher": "Strahan", "URL": ADDRESS}


@pytest.mark.parametrize("elements", [
    {"title": "T", "what": "W"}, {"erc.what": "T"}, {"dc.title": "T"}, {"datacite.title": "T"}, {"DC.Title": "T"},
    {"title": "(:unav)", "what": "T"}, {"title": " ", "dcterms.title": " T\n "}, {"title": "(:unkn) T"}])
def test_the_title_is_that_of_any_vocabulary(elements):
    assert work(elements).title == title_of(elements) == "T"


@pytest.mark.parametrize(("who", "creators"), [
    ("Gibbon, Edward|Knuth, Donald", ["Gibbon, Edward", "Knuth, Donald"]), ("A%7CB", ["A|B"]), ("", []), ("; ;|", []),
    ("Doe, Jo, Jr.", ["Doe, Jo, Jr."]), ("a\nb", ["a b"]), (",x", [",x"]), ("(:unkn) Anonymous", ["Anonymous"])])
def test_creators_are_the_items_of_a_list(who, creators):
    assert [str(one) for one in work({"who": who}).creators] == creators


@pytest.mark.parametrize(("when", "parts"), [
    ("1781", (1781,)), ("2020-05", (2020, 5)), ("20200506", (2020, 5, 6)), ("c. 1852", (1852,)), ("", ()), ("x", ()),
    ("2020-13", (2020,)), ("99999", ()), ("1776/1788", (1776,))])
def test_a_date_is_read_as_far_as_it_is_known(when, parts):
    assert work({"when": when}).parts == parts


def test_of_a_withdrawn_name_what_it_stood_for_is_cited():
    assert work({}, state="withdrawn", withdrawn_elements=GIBBON).title == "The Decline & Fall"


@pytest.mark.parametrize("value", ["}\n@book{x,", "a\r\nER  - \r\nTY  - BOOK", "\\input{/etc/passwd}",
                                   "\udcff\0\u2028", "%$#_^~", "</script>", "x" * 100_000, "(:unav)"], ids=ascii)
def test_no_value_breaks_out_of_its_field(value):
    hostile = work(dict.fromkeys(("title", "who", "when", "publisher", "type"), value), name=value)
    for form in FORMATS.values():
        form.write(hostile).encode()
    entry = bibtex(hostile)
    assert entry.count("\n@") == 0 and entry.replace("\\{", "").replace("\\}", "").count("{") == entry.replace(
        "\\{", "").replace("\\}", "").count("}")
    assert "\\input" not in entry
    assert ris(hostile).count("\r\nER  - ") == 1 and ris(hostile).count("TY  - ") == 1 + ris(hostile).count(" TY  - ")
    assert json.loads(csl(hostile))
