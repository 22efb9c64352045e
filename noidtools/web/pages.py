"""The pages of the web resolver: HTML by Jinja2, every value escaped, no scripts, nothing loaded from elsewhere."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources

import jinja2
from markupsafe import Markup

from ..codec import encode_text
from ..description.formats import KERNEL, displayed_elements, finding_text, other_relations, support_pairs
from ..minter.relations import REALISED_BY, WORDS
from ..names import targets
from ..names.citation import public_address
from ..times import display_datetime
from .response import HttpError, Response

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

    from ..description.facts import NameDescription

    # The path of a name under this resolver.
    PathOf = Callable[[str | bytes], bytes]

_CONTENT_TYPE = "text/html; charset=utf-8"
_SUPPORT = {
    "state": "State", "minted": "Minted", "date": "Date", "authority": "Responsible", "custodian": "Custodian",
    "contact": "Contact", "rule": "Computed by the rule",
}
_ON_TOMBSTONE = {
    "minted": "First issued", "date": "Withdrawn", "authority": "Responsible", "custodian": "Custodian",
    "contact": "Contact",
}
_DATES = ("date", "minted")


def name_page(
    status: int, facts: NameDescription, address: str, path_of: PathOf, headers: list[tuple[str, str]], note: str = ""
) -> Response:
    """The page that describes a name; `address` is its URL at this resolver, `note` is printed above all else."""
    if facts.abstract is not None:
        return _response(status, _abstract_page(facts, path_of), headers)
    if facts.elsewhere:
        return _response(status, _elsewhere_page(facts, path_of), headers)
    template = "tombstone.html" if facts.state in ("withdrawn", "unavailable") else "name.html"
    labels = _ON_TOMBSTONE if facts.state == "withdrawn" else _SUPPORT
    page = _render(
        template, facts=facts, address=address, path_of=path_of, note=note, finding_text=finding_text,
        elements=_elements(facts), support=_support(facts, labels), related=other_relations(facts),
    )
    return _response(status, page, headers)


def _elsewhere_page(facts: NameDescription, path_of: PathOf) -> bytes:
    return _render(
        "elsewhere.html", facts=facts, path_of=path_of, related=other_relations(facts),
        address=public_address(encode_text(facts.name)),
    )


def _abstract_page(facts: NameDescription, path_of: PathOf) -> bytes:
    realised_by = WORDS[REALISED_BY]
    related = other_relations(facts)
    return _render(
        "abstract.html", facts=facts, path_of=path_of,
        realisations=[other for other in related if other.relation == realised_by],
        others=[other for other in related if other.relation != realised_by],
    )


def missing_page(
    name: bytes, sentences: Iterable[str], suggestion: bytes | None, home: bytes, path_of: PathOf,
    headers: list[tuple[str, str]],
) -> Response:
    """The page for a name that does not resolve; `suggestion` is the name that was probably meant."""
    page = _render("missing.html", name=name, sentences=sentences, suggestion=suggestion, home=home, path_of=path_of)
    return _response(404, page, headers)


def confirmation_page(command: str, words: list[bytes], user: bytes, token: bytes, mints: int) -> Response:
    """For a command that changes something and came without a token: a form that gives it with one.

    The status is that of a refusal, because nothing was done.
    """
    page = _render("confirmation.html", command=command, words=words, user=user, token=token, mints=mints)
    return Response(405, _CONTENT_TYPE, page, [("Allow", "POST"), *_headers_of_form()])


def result_page(
    lines: list[tuple[bytes, bytes]], *, mints: int, replayed: str, refusal: str, token: bytes
) -> Response:
    """What a confirmed command answered, by labels and values, with a form that mints again if it minted.

    `replayed` is the time at which it was done if it was done before, else empty; `refusal` ended it, if not empty.
    """
    only_ids = all(label == b"id" for label, _ in lines)
    page = _render("result.html", lines=lines, only_ids=only_ids, mints=mints, replayed=replayed, refusal=refusal,
                   token=token)
    headers = [("Idempotency-Replayed", "true")] if replayed else []
    return Response(200, _CONTENT_TYPE, page, [*headers, *_headers_of_form()])


def refusal_page(refusal: HttpError) -> Response:
    """Why a confirmed command was refused."""
    return _response(refusal.status, _render("refusal.html", message=refusal.message), refusal.headers)


def _headers_of_form() -> list[tuple[str, str]]:
    # With no-referrer, the form itself would come with `Origin: null`, like one of another site.
    headers = [header for header in _security_headers() if header[0] != "Referrer-Policy"]
    return [("Referrer-Policy", "same-origin"), *headers]


def api_page(root: str, about: str, described: Iterable[tuple[object, object]]) -> Response:
    """The page that describes the JSON API."""
    return _response(200, _render("api.html", root=root, about=about, described=described), [])


def home_page(home: bytes, headers: list[tuple[str, str]]) -> Response:
    """The page with a form to enter a name."""
    return _response(200, _render("home.html", home=home), headers)


def _elements(facts: NameDescription) -> list[tuple[str, str]]:
    """Labels and values, the elements of a citation first."""
    values = displayed_elements(facts)
    kernel = [(name.capitalize(), values.pop(name)) for name in KERNEL if name in values]
    return kernel + list(values.items())


def _support(facts: NameDescription, labels: dict[str, str]) -> list[tuple[str, str]]:
    return [(labels[key], display_datetime(value.encode()) if key in _DATES else value)
            for key, value in support_pairs(facts) if key in labels]


# -- templates -------------------------------------------------------------------------------------------------------


def _response(status: int, page: bytes, headers: list[tuple[str, str]]) -> Response:
    return Response(status, _CONTENT_TYPE, page, [*headers, *_security_headers()])


def _render(template: str, **values: object) -> bytes:
    return _environment().get_template(template).render(values).encode("utf-8", "replace")


@cache
def _environment() -> jinja2.Environment:
    """The Jinja2 environment, which compiles each template once in a process."""
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_read), autoescape=True, auto_reload=False, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, finalize=_as_text,
    )
    environment.filters["location"] = _location
    environment.filters["day"] = _day
    environment.globals["style"] = Markup(_style())
    return environment


def _as_text(value: object) -> object:
    """Bytes, and text that has surrogate escapes, as text that can be written; the template escapes it."""
    if type(value) is str:
        value = encode_text(value)
    return value.decode("utf-8", "backslashreplace").replace("\0", "\ufffd") if isinstance(value, bytes) else value


def _location(url: str | bytes) -> bytes | None:
    """An address that a browser may follow; None if it is none."""
    return targets.location(encode_text(url) if isinstance(url, str) else url)


def _day(moment: datetime) -> str:
    return moment.date().isoformat()


def _read(template: str) -> str:
    return resources.files(__package__).joinpath("templates", template).read_text("utf-8")


@cache
def _style() -> str:
    return "\n" + _read("style.css")


@cache
def _security_headers() -> tuple[tuple[str, str], ...]:
    """Headers that restrict a page to its own style and to links, whatever was bound to a name."""
    digest = base64.b64encode(hashlib.sha256(_style().encode()).digest()).decode()
    policy = (f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; "
              "form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
    return ("Content-Security-Policy", policy), ("Referrer-Policy", "no-referrer")
