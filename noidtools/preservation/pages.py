"""The static pages of a site: where the page of a name is, and what is on it.

The page of ark:/13030/kt4x551 is in the folder `ark:/13030/kt4x551`, so that a host without any rules finds it by the
path of the link.  A name that cannot be the path of a folder everywhere, because of its characters, its length, or
because it begins with a dot, has its page under the digest of the name.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib import resources
from unicodedata import normalize

import jinja2
from markupsafe import Markup

from ..codec import PATH, decode_text, encode_text, percent_encode
from ..description import bibliography
from ..description.facts import NameDescription
from ..description.formats import KERNEL, displayed_elements, other_relations, promise_of, support_pairs
from ..minter.lifecycle import WITHDRAWN_STATE
from ..names import targets
from ..names.citation import public_address
from ..times import display_datetime

# The folder in a site for all that is no page, and in it the one for pages of names that cannot be a path.
OWN_FOLDER = "noid-site"
OTHER = f"{OWN_FOLDER}/other"
# What a site has beside pages and its own folder; and what hosts of static pages look for.
_TAKEN = (OWN_FOLDER, "index.html", "readme.txt", "sha256sums", "_redirects", "_headers", "cname")
# The files in the folder of a page: the page, and the mark of a name that was withdrawn.
PAGE, GONE_MARK = "index.html", "gone"

# What servers decode, and what ends the path of a URL or separates folders elsewhere.
_NOT_IN_PATHS = frozenset("%?#\\")
_LONGEST_SEGMENT, _LONGEST_PATH = 200, 900

# What supports a description, in the words of the page.
_SUPPORT = {"state": "State", "authority": "Authority", "custodian": "Custodian", "contact": "Contact",
            "rule": "Computed by the rule"}
_ON_TOMBSTONE = {"minted": "First issued", "date": "Withdrawn", **_SUPPORT}
_DATES = ("minted", "date")


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several names that differ in case only, with where it leads; empty if that is nowhere."""

    name: str
    target: bytes


def page_folder(cited: bytes) -> str:
    """The folder in a site that has the page of a name, which is written as it is cited."""
    if is_path(cited):
        return cited.decode()
    digest = sha256(cited).hexdigest()
    return f"{OTHER}/{digest[:2]}/{digest}"


def is_path(cited: bytes) -> bool:
    """Whether a name can be the path of a folder, in a file system and in a URL."""
    text = decode_text(cited)
    segments = text.split("/")
    return (len(cited) <= _LONGEST_PATH and text.isprintable() and not _NOT_IN_PATHS.intersection(text)
            and (text.isascii() or normalize("NFC", text) == text)
            and segments[0].lower() not in _TAKEN and all(map(_is_folder_name, segments)))


def _is_folder_name(segment: str) -> bool:
    return (0 < len(encode_text(segment)) <= _LONGEST_SEGMENT and not segment.startswith(".")
            and segment.lower() not in (PAGE, GONE_MARK))


def folded(cited: bytes) -> str:
    """What the names have in common that are one folder where case does not count."""
    return decode_text(cited).casefold()


def name_page(facts: NameDescription, cited: str, address: str) -> bytes:
    """The page of a name: it leads readers on, describes the name and says how to cite it; or it is its tombstone.

    `cited` is the name of which it is the page, which may be an alias of the one that is described; `address` is that
    of the link.
    """
    found = [target for target in (targets.location(encode_text(one.url)) for one in facts.requested_targets) if target]
    elements = displayed_elements(facts)
    values = [(name.capitalize(), elements.pop(name)) for name in KERNEL if name in elements] + list(elements.items())
    labels = _ON_TOMBSTONE if facts.state == WITHDRAWN_STATE else _SUPPORT
    return _render(
        "page.html", facts=facts, cited=cited, targets=found, elements=values,
        support=[(labels[label], display_datetime(value.encode()) if label in _DATES else value)
                 for label, value in support_pairs(facts) if label in labels],
        promise=promise_of(facts.minter), citation=bibliography.text(bibliography.work_of(facts, address)),
        related=[(one.relation, one.name, public_address(encode_text(one.name))) for one in other_relations(facts)])


def choice_page(choices: list[Choice]) -> bytes:
    """The page of names that differ in case only: some file systems have one folder for all of them."""
    return _render("choice.html", choices=choices)


def address_of(base: bytes, cited: bytes) -> str:
    """The address of a name at a resolver; without one that at a public resolver, or else the name itself."""
    if base:
        return (base.rstrip(b"/") + b"/" + percent_encode(cited, PATH + b"%")).decode()
    return (public_address(cited) or cited).decode("utf-8", "replace")


def site_file(template: str, **values: object) -> bytes:
    """A file about the whole site, such as its README, from a template of its name."""
    return _render(template, **values)


def _render(template: str, **values: object) -> bytes:
    return _environment().get_template(template).render(values).encode("utf-8", "replace")


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_read), autoescape=lambda name: bool(name and name.endswith(".html")),
        auto_reload=False, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True, finalize=_as_text)
    environment.globals["style"] = Markup(_read("style.css"))
    return environment


def _as_text(value: object) -> object:
    """Bytes, and text with surrogate escapes, as text that can be written; the template escapes it."""
    if type(value) is str:
        value = encode_text(value)
    return value.decode("utf-8", "backslashreplace").replace("\0", "\ufffd") if isinstance(value, bytes) else value


def _read(template: str) -> str:
    return resources.files(__package__).joinpath("templates", template).read_text("utf-8")
