"""What a name stands for as a work that can be cited: as text, BibTeX, RIS, CSL-JSON, schema.org and meta tags.

The elements may be those of ERC (`who`, `what`, `when`), of Dublin Core, of DataCite, or plain ones such as `title`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ..codec import encode_text
from ..minter.bindings import split_items
from .facts import NameDescription
from .missing import without_code

# What is read before the name of an element.
_PREFIXES = ("erc.", "dc.", "dcterms.", "dc_", "dcterms_", "datacite.")
# Elements of each part of a citation, without prefixes; the first that is bound counts.
_TITLE = ("title", "what")
_CREATOR = ("creator", "who", "author")
_DATE = ("date", "when", "issued", "publicationyear", "datepublished", "year", "created")
_PUBLISHER = ("publisher",)
_TYPE = ("type", "resourcetype", "resourcetypegeneral")
CITED = frozenset(_TITLE + _CREATOR + _DATE + _PUBLISHER + _TYPE)

_DATE_PARTS = re.compile(r"(\d{4})(?:-?(0[1-9]|1[0-2])(?:-?([0-2]\d|3[01]))?)?(?!\d)")
_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")
_BLANK = re.compile(r"[\s\0-\x1f\x7f-\x9f\u2028\u2029]+")
_MOST_CREATORS = 100


class Kind(NamedTuple):
    """A type of works in CSL, RIS, BibTeX and schema.org."""

    csl: str
    ris: str
    bibtex: str
    schema: str


_ANY_KIND = Kind("document", "GEN", "misc", "CreativeWork")
# By a word in the value of the type.
_KINDS = {
    "article": Kind("article-journal", "JOUR", "article", "ScholarlyArticle"),
    "book": Kind("book", "BOOK", "book", "Book"),
    "monograph": Kind("book", "BOOK", "book", "Book"), "thesis": Kind("thesis", "THES", "phdthesis", "Thesis"),
    "dissertation": Kind("thesis", "THES", "phdthesis", "Thesis"),
    "dataset": Kind("dataset", "DATA", "misc", "Dataset"), "report": Kind("report", "RPRT", "techreport", "Report"),
    "software": Kind("software", "COMP", "misc", "SoftwareSourceCode"), "map": Kind("map", "MAP", "misc", "Map"),
    "manuscript": Kind("manuscript", "UNPB", "unpublished", "Manuscript"),
    "photograph": Kind("graphic", "ART", "misc", "Photograph"), "image": Kind("graphic", "ART", "misc", "ImageObject"),
    "video": Kind("motion_picture", "VIDEO", "misc", "VideoObject"),
    "sound": Kind("song", "SOUND", "misc", "AudioObject"), "audio": Kind("song", "SOUND", "misc", "AudioObject"),
    "text": _ANY_KIND,
}


class Creator(NamedTuple):
    """A person by family name and given name, or whoever it is in one text, which is the family name alone."""

    family: str
    given: str = ""

    def __str__(self) -> str:
        return f"{self.family}, {self.given}" if self.given else self.family


@dataclass(frozen=True, slots=True)
class Work:
    """What is cited.

    name      the identifier
    address   where it can be resolved
    title     empty if it is not known
    date      as it was bound; `parts` are year, month and day, as far as they are known
    """

    name: str
    address: str
    title: str
    creators: tuple[Creator, ...]
    date: str
    parts: tuple[int, ...]
    publisher: str
    kind: Kind

    @property
    def year(self) -> str:
        return f"{self.parts[0]:04}" if self.parts else ""

    @property
    def iso_date(self) -> str:
        return "-".join((self.year, *(f"{part:02}" for part in self.parts[1:])))


def work_of(facts: NameDescription, address: str) -> Work:
    """The work for which a name stands, by what is bound to it; of a withdrawn one by what was."""
    elements = _by_plain_name(facts.elements or facts.withdrawn_elements)
    date = _plain(_value(elements, _DATE))
    kind = _plain(_value(elements, _TYPE)).casefold()
    return Work(
        _plain(facts.name), _plain(address), _plain(_value(elements, _TITLE)), _creators(_value(elements, _CREATOR)),
        date, _date_parts(date), _plain(_value(elements, _PUBLISHER)),
        next((found for word, found in _KINDS.items() if word in kind), _ANY_KIND),
    )


def plain_element(element: str) -> str:
    """The name of an element in small letters, without the prefix of a vocabulary: `title` for `dc.title`."""
    small = element.casefold()
    prefix = next((prefix for prefix in _PREFIXES if small.startswith(prefix)), "")
    return small[len(prefix) :]


def title_element(elements: Mapping[str, str]) -> str:
    """The element that holds the title; empty if none does."""
    found = _by_plain_name(elements)
    return next((found[name][0] for name in _TITLE if name in found), "")


def title_of(elements: Mapping[str, str]) -> str:
    """The title in one line; empty if there is none."""
    return _plain(_value(_by_plain_name(elements), _TITLE))


def byline_of(elements: Mapping[str, str]) -> str:
    """Creators and date in one line, as far as they are known."""
    found = _by_plain_name(elements)
    creators = "; ".join(map(str, _creators(_value(found, _CREATOR))))
    return ", ".join(filter(None, (creators, _plain(_value(found, _DATE)))))


def _by_plain_name(elements: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """The elements that have a value, and that value, by their plain names; of several with one name the first."""
    values = ((element, without_code(elements[element])) for element in reversed(list(elements)))
    return {plain_element(element): (element, value) for element, value in values if value.strip()}


def _value(found: Mapping[str, tuple[str, str]], names: tuple[str, ...]) -> str:
    return next((found[name][1] for name in names if name in found), "")


def _plain(text: str) -> str:
    """A text in one line, in characters that every format can hold."""
    return _BLANK.sub(" ", encode_text(text).decode("utf-8", "replace")).strip()


def _creators(value: str) -> tuple[Creator, ...]:
    items = [part for item in split_items(encode_text(value)) for part in item.decode("utf-8", "replace").split(";")]
    found = []
    for name in filter(None, map(_plain, items)):
        family, comma, given = (part.strip() for part in name.partition(","))
        found.append(Creator(family, given) if comma and family and given and "," not in given else Creator(name))
    return tuple(found[:_MOST_CREATORS])


def _date_parts(date: str) -> tuple[int, ...]:
    found = _DATE_PARTS.match(date)
    if found:
        return tuple(int(part) for part in found.groups() if part)
    year = _YEAR.search(date)
    return (int(year[0]),) if year else ()


# -- formats ---------------------------------------------------------------------------------------------------------


def text(work: Work) -> str:
    """`Gibbon, Edward (1781). The Decline and Fall. Strahan & Cadell. https://…`"""
    creators = "; ".join(map(str, work.creators))
    date = f"({work.year or work.date})" if work.year or work.date else ""
    parts = (" ".join(filter(None, (creators, date))), work.title or work.name, work.publisher)
    return " ".join([part if part.endswith((".", "!", "?")) else f"{part}." for part in parts if part] + [work.address])


_BIBTEX = str.maketrans({"\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
                         "_": r"\_", "%": r"\%", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"})
# In an address they would end the field, or begin a comment.
_IN_URL = str.maketrans({"{": "%7B", "}": "%7D", "\\": "%5C"})


def bibtex(work: Work) -> str:
    creators = " and ".join(
        one.family.translate(_BIBTEX) + ", " + one.given.translate(_BIBTEX) if one.given
        else "{" + one.family.translate(_BIBTEX) + "}" for one in work.creators)
    fields = {"title": "{" + (work.title or work.name).translate(_BIBTEX) + "}", "author": creators, "year": work.year,
              "publisher": work.publisher.translate(_BIBTEX), "url": work.address.translate(_IN_URL),
              "note": work.name.translate(_BIBTEX)}
    key = re.sub("[^A-Za-z0-9]+", "-", work.name).strip("-") or "name"
    lines = [f"  {name} = {{{value}}}" for name, value in fields.items() if value]
    return f"@{work.kind.bibtex}{{{key},\n" + ",\n".join(lines) + "\n}\n"


def ris(work: Work) -> str:
    """One reference; its lines end as those of RIS do."""
    date = "/".join((work.iso_date.split("-") + ["", "", ""])[:3]) + "/" if work.parts else ""
    lines = [("TY", work.kind.ris), ("TI", work.title or work.name), *(("AU", str(one)) for one in work.creators),
             ("PY", work.year), ("DA", date), ("PB", work.publisher), ("UR", work.address), ("ID", work.name)]
    return "".join(f"{tag}  - {value}\r\n" for tag, value in lines if value) + "ER  - \r\n"


def csl(work: Work) -> str:
    data: dict[str, object] = {"id": work.name, "type": work.kind.csl, "title": work.title or work.name}
    if work.creators:
        data["author"] = [{"family": one.family, "given": one.given} if one.given else {"literal": one.family}
                          for one in work.creators]
    if work.parts:
        data["issued"] = {"date-parts": [list(work.parts)]}
    elif work.date:
        data["issued"] = {"literal": work.date}
    data |= {"publisher": work.publisher} if work.publisher else {}
    data["URL"] = work.address
    return json.dumps(data, ensure_ascii=False, indent=2) + "\n"


class CitationFormat(NamedTuple):
    """A form of citations: its media type, what it is called, the ending of its files, and how it is written."""

    media_type: str
    label: str
    extension: str
    write: Callable[[Work], str]


FORMATS = {
    "text": CitationFormat("text/x-bibliography", "Text", "txt", text),
    "bibtex": CitationFormat("application/x-bibtex", "BibTeX", "bib", bibtex),
    "ris": CitationFormat("application/x-research-info-systems", "RIS", "ris", ris),
    "csl": CitationFormat("application/vnd.citationstyles.csl+json", "CSL-JSON", "json", csl),
}


def schema_org(work: Work) -> dict[str, object]:
    """The work in the vocabulary of schema.org, as JSON-LD."""
    found: dict[str, object] = {
        "@context": "https://schema.org", "@type": work.kind.schema, "@id": work.address, "identifier": work.name,
        "name": work.title or work.name, "url": work.address,
        # Whether a creator is a person is known of those alone who have a given name.
        "author": [{"@type": "Person", "name": f"{one.given} {one.family}", "familyName": one.family,
                    "givenName": one.given} if one.given else {"name": one.family} for one in work.creators],
        "datePublished": work.iso_date if work.parts else work.date,
        "publisher": {"@type": "Organization", "name": work.publisher} if work.publisher else None,
    }
    return {name: value for name, value in found.items() if value}


def meta_tags(work: Work) -> list[tuple[str, str]]:
    """Names and contents of meta tags, for indexes of scholarly works and for reference managers."""
    pairs = [
        ("citation_title", work.title), *(("citation_author", str(one)) for one in work.creators),
        ("citation_publication_date", work.iso_date.replace("-", "/") if work.parts else ""),
        ("citation_publisher", work.publisher), ("citation_public_url", work.address),
        ("DC.title", work.title), *(("DC.creator", str(one)) for one in work.creators),
        ("DC.date", work.iso_date if work.parts else work.date), ("DC.publisher", work.publisher),
        ("DC.identifier", work.address),
    ]
    return [(name, content) for name, content in pairs if content]
