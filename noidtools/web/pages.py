"""The pages of the resolver, for readers (see rendering.py)."""

from __future__ import annotations

from urllib.parse import urlencode

from markupsafe import Markup

from ..codec import decode_text, encode_text
from ..description import bibliography
from ..description.bibliography import CITED, FORMATS, plain_element
from ..description.formats import displayed_elements, has_rdflib, other_relations, promise_of, purposeful_custodians
from ..description.missing import MEANINGS
from ..description.vocabulary import QUALITIES
from ..minter.lifecycle import STATES
from ..minter.relations import REALISED_BY, WORDS
from ..names import targets
from ..names.citation import public_address, qr_svg
from ..times import display_datetime
from .name_request import VARY
from .rendering import heading_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeAlias

    from ..description.bibliography import Work
    from ..description.facts import FoundName, NameDescription, NameRelation
    from ..description.namespaces import NamespaceDescription
    from ..resolution.naans import Authority
    from .name_request import NameRequest
    from .response import Response

    Headers: TypeAlias = list[tuple[str, str]]

# Labels of elements by their names without a prefix; another element is labelled with its own name.
_LABELS = {
    "who": "Creator", "creator": "Creator", "author": "Author", "what": "Title", "title": "Title", "when": "Date",
    "date": "Date", "issued": "Date", "publicationyear": "Year", "year": "Year", "where": "Location",
    "how": "Form", "why": "Purpose", "publisher": "Publisher", "contributor": "Contributor", "type": "Type",
    "resourcetype": "Type", "description": "Description", "abstract": "Abstract", "subject": "Subject",
    "keywords": "Keywords", "language": "Language", "rights": "Rights", "license": "Licence", "licence": "Licence",
    "format": "Format", "source": "Source", "relation": "Relation", "coverage": "Coverage",
    "identifier": "Other identifier", "note": "Note", "collection": "Collection", "shelfmark": "Shelfmark",
}
_FIRST = ("Creator", "Author", "Title", "Date", "Year", "Publisher", "Type", "Description", "Abstract")
_CLOSED = ("withdrawn", "unavailable")


def texts_by_value() -> frozenset[str]:
    """The texts of pages that no template names, because they depend on what is described."""
    words = (word for table in (WORDS.values(), QUALITIES, STATES) for word in table)
    return frozenset((*_LABELS.values(), *MEANINGS.values(), *map(_words, words)))


def name_page(
    request: NameRequest, status: int, facts: NameDescription, address: str, headers: Headers
) -> Response:
    """The page that describes a name; `address` is its URL at this resolver."""
    values: dict[str, object] = {"facts": facts, "path_of": request.path_of, "words": _words,
                                 "related": other_relations(facts)}
    if facts.abstract is not None:
        template = "abstract.html"
        values |= _realisations(facts)
    elif facts.elsewhere:
        template = "elsewhere.html"
        values["address"] = public_address(encode_text(facts.name))
    else:
        template = "tombstone.html" if facts.state in _CLOSED else "name.html"
        values |= _known(request, facts, address)
    return request.renderer.page(request.http, template, values, status=status, headers=headers, translated=True,
                                 scripts=("copy.js",))


def _known(request: NameRequest, facts: NameDescription, address: str) -> dict[str, object]:
    """What the page of a name that is managed here shows."""
    work = bibliography.work_of(facts, address)
    leads_to = any(targets.location(encode_text(target.url)) for target in facts.requested_targets)
    return {
        "address": address, "work": work, "heading": heading_of(work.title or facts.name),
        "elements": _elements(facts, work),
        "leads_to": leads_to, "follow": request.path, "promise": promise_of(facts.minter),
        "keeper": facts.custodian.name if facts.custodian else facts.minter.authority,
        "keepers": purposeful_custodians(facts),
        "contact": facts.custodian.contact if facts.custodian else "",
        "citations": [(name, form.label, form.write(work)) for name, form in FORMATS.items()],
        "formats": (("json", "JSON"), ("text", "ERC"), *((("turtle", "Turtle"),) if has_rdflib() else ())),
        "meta_tags": bibliography.meta_tags(work), "schema_org": bibliography.schema_org(work),
        # What is not public yet, or leads nowhere, is not for search engines.
        "is_indexed": facts.state == "published" and leads_to and facts.suffix == "",
        "qr": Markup(qr_svg(address)),
    }


def _elements(facts: NameDescription, work: Work) -> list[tuple[str, str]]:
    """Labels and values, those of a citation first, without the title if all of it is the heading."""
    if facts.state in _CLOSED:
        stated = facts.withdrawn_elements or facts.elements
        values: Mapping[str, str] = {name: value for name, value in stated.items() if plain_element(name) in CITED}
    else:
        values = displayed_elements(facts)
    heading = bibliography.title_element(values)
    if heading and heading_of(work.title) != work.title:
        heading = ""
    found = [(_label(name), value) for name, value in values.items() if name != heading]
    return sorted(found, key=lambda pair: _FIRST.index(pair[0]) if pair[0] in _FIRST else len(_FIRST))


def _label(element: str) -> str:
    plain = plain_element(element)
    return _LABELS.get(plain) or (_words(plain) if plain.replace("_", "").isalnum() else element)


def _words(word: str) -> str:
    """A word of ours for people: `Alias of` for `alias-of`."""
    text = word.replace("-", " ").replace("_", " ")
    return text[:1].upper() + text[1:]


def _realisations(facts: NameDescription) -> dict[str, list[NameRelation]]:
    realised_by = WORDS[REALISED_BY]
    related = other_relations(facts)
    return {"realisations": [other for other in related if other.relation == realised_by],
            "others": [other for other in related if other.relation != realised_by]}


def missing_page(
    request: NameRequest, name: bytes, code: str, suggestion: bytes | None, authority: Authority | None,
    elsewhere: bytes,
) -> Response:
    """The page for a name that does not resolve.

    code        why: reserved, mistyped-name, unknown-name or unknown-authority
    suggestion  the name that was probably meant; None if that is not known
    authority   whose NAAN it has, if that is not ours
    elsewhere   where a name of somebody else may be known; empty if nowhere
    """
    values = {"name": request.readable(name), "code": code, "suggestion": suggestion, "authority": authority,
              "elsewhere": elsewhere, "path_of": request.path_of}
    return request.renderer.page(request.http, "missing.html", values, status=404, headers=[VARY], translated=True,
                                 leaves_site=True)


def namespace_page(request: NameRequest, facts: NamespaceDescription, address: str, headers: Headers) -> Response:
    """The page that describes a shoulder or a NAAN; `address` is its URL at this resolver."""
    values = {"facts": facts, "address": address, "displayed": lambda date: display_datetime(date.encode())}
    return request.renderer.page(request.http, "namespace.html", values, headers=headers, translated=True)


def home_page(request: NameRequest, *, has_search: bool, shows_console: bool = False) -> Response:
    """The page with a form to enter a name, or words if they may be searched for, and perhaps a link to the console."""
    values = {"has_search": has_search, "shows_console": shows_console, "path_of": request.path_of}
    return request.renderer.page(request.http, "home.html", values, headers=[VARY], translated=True, leaves_site=True)


def results_page(request: NameRequest, words: str, found: list[tuple[str, FoundName]], following: str) -> Response:
    """The names that words find, as they are cited; `following` is the cursor of the next page, or empty."""
    more = f"{decode_text(request.home)}?" + urlencode(
        {"name": words, "from": following}, errors="surrogateescape") if following else ""
    results = [(cited, name, heading_of(bibliography.title_of(name.elements)), bibliography.byline_of(name.elements))
               for cited, name in found]
    values = {"query": words, "results": results, "more": more, "path_of": request.path_of, "words": _words}
    return request.renderer.page(request.http, "results.html", values, headers=[VARY], translated=True,
                                 leaves_site=True)


def trouble_page(request: NameRequest, response: Response) -> Response:
    """The page in place of a response with an error."""
    body = response.body if isinstance(response.body, bytes) else b""
    message = decode_text(body).removeprefix("error: ").strip()
    return request.renderer.page(request.http, "trouble.html", {"status": response.status, "message": message},
                                 status=response.status, headers=response.headers, translated=True)
