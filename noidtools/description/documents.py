"""Descriptions of a minter and of its identifiers as documents, in the terms of the ontology."""

from __future__ import annotations

from .. import resolution
from ..errors import NotFoundError, UsageError
from ..minter.identifiers import own_identifier
from ..minter.records import is_known
from . import facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..minter import Minter
    from ..store import Reader
    from .facts import Facts


# By the word for it, and what it is on the web.
MEDIA_TYPES = {"turtle": "text/turtle", "json-ld": "application/ld+json", "xml": "application/rdf+xml"}
FORMATS = tuple(MEDIA_TYPES)


def describe_minter(minter: Minter, form: str) -> bytes:
    """The model of the identifier system that this minter is."""
    from . import rdf

    found = minter.read(lambda reader: facts.of_minter(minter, reader))
    return rdf.serialize(rdf.describe_minter(found), form)


def describe_identifier(minter: Minter, given: bytes, form: str, *, with_bindings: bool = True) -> bytes:
    """All there is to say about an identifier, in whatever spelling it is given."""
    from . import rdf

    def work(reader: Reader) -> Facts:
        identifier = own_identifier(minter, reader, given)
        if identifier is None or not is_known(reader, identifier):
            identifier = _ruled(minter, reader, given)
        if identifier is None:
            shown = given[:200].decode("utf-8", "backslashreplace")
            raise NotFoundError(f"there is nothing to describe: {shown} is not known here")
        found = facts.of_identifier(minter, reader, identifier)
        if not with_bindings:
            del found["bindings"]
            found.pop("thing", None)
        return found

    return rdf.serialize(rdf.describe_identifier(minter.read(work)), form)


def _ruled(minter: Minter, reader: Reader, given: bytes) -> bytes | None:
    """The name, if nothing is kept about it but a rule says where it leads."""
    outcome = resolution.follow_aliases(resolution.Lookup(minter, reader).find, given)
    return outcome.identifier if outcome.kind == resolution.FOUND and outcome.by == "rule" else None


def ensure_format(form: str) -> str:
    if form not in MEDIA_TYPES:
        raise UsageError(f"descriptions are written as {', '.join(FORMATS)}, not as {form[:60]!r}")
    return form
