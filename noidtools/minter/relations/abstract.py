"""Abstract contexts, names and identifiers: what names of several systems have in common.

An abstract context, such as a library that runs two identifier systems, is managed by no system: only names that
realise something abstract are registered (PILIN ontology of identifier systems, 6.3 and 7.1).  An abstract name or
identifier is a label in an abstract context, written `CONTEXT:LABEL`.  What realises them is recorded as a claim (see
claims.py).
"""

from __future__ import annotations

from ... import names
from ...codec import percent_decode
from ...errors import ConflictError, InvalidError, NotFoundError, printable
from .. import identifiers, relations
from ..events import property_changes, record_event
from . import (
    CONTEXT,
    LONGEST_NAME,
    Abstraction,
    all_abstractions,
    delete_abstraction,
    find_named,
    find_place,
    has_abstractions,
    put_abstraction,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...store import Reader, Writer
    from .. import Minter
    from ..events import Actor, Change
    from ..identifiers import NameRef


_LONGEST_ABOUT = 4096


def identify_with_abstract(
    minter: Minter, reader: Reader, text: bytes
) -> tuple[NameRef, Abstraction | None]:
    """The name that a text means, as `identifiers.identify`, and what is abstract under that name, if anything is."""
    ref = identifiers.identify(minter, reader, text)
    if ref.known or not has_abstractions(reader):
        return ref, None
    spellings = minter.namespace.spellings(identifiers.parse_name(minter, reader, text))
    for spelled in dict.fromkeys((text.strip(), ref.key, *spellings)):
        key, abstraction = find_named(reader, spelled, spelled)
        if abstraction is not None:
            ref.key, ref.display = key, abstraction.display
            return ref, abstraction
    if b"://" not in ref.key and not names.parse(ref.key).scheme:
        ref.key = find_named(reader, text, ref.key)[0]
    return ref, None


def find_in_path(minter: Minter, reader: Reader, text: bytes) -> Abstraction | None:
    """What is abstract under a name in the path of a URL, which may be percent-encoded; None if nothing is."""
    for spelled in dict.fromkeys((text, percent_decode(text))):
        try:
            abstraction = identify_with_abstract(minter, reader, spelled)[1]
        except InvalidError:
            continue
        if abstraction is not None:
            return abstraction
    return None


def ensure_concrete(minter: Minter, reader: Reader, text: bytes, lack: str) -> None:
    """Raise NotFoundError for the name of something abstract; `lack` says what only a concrete name has."""
    refusal = abstract_refusal(minter, reader, text, lack)
    if refusal:
        raise NotFoundError(refusal)


def abstract_refusal(minter: Minter, reader: Reader, text: bytes, lack: str) -> str:
    """That the name of something abstract lacks what only a concrete name has, and what realises it; empty for any
    other name."""
    if not has_abstractions(reader):
        return ""
    abstraction = identify_with_abstract(minter, reader, text)[1]
    if abstraction is None:
        return ""
    realising = relations.relations_of(reader, abstraction.key, relations.REALISED_BY)
    listed = sorted(printable(relation.display) for relation in realising)
    by = f": {', '.join(listed[:10])} {'realise' if len(listed) > 1 else 'realises'} it" if listed else ""
    return f"{printable(abstraction.display)} is an abstract {abstraction.kind}, which {lack}{by}"


def declare_abstract(
    minter: Minter, writer: Writer, actor: Actor, kind: str, text: bytes, authority: bytes, about: bytes = b""
) -> Abstraction:
    """Declare that a name is that of something abstract; declared again, it gets the new authority and description.

    A name or an identifier is in the abstract context that its name begins with.  Raises ConflictError for a name that
    is registered here or could be minted here, or that is declared as another kind; InvalidError for an unsuitable
    name; NotFoundError if there is no such context.
    """
    relations.ensure_authority(authority)
    _ensure_text("the name of something abstract", text, LONGEST_NAME)
    if about:
        _ensure_text("the description", about, _LONGEST_ABOUT)
    ref, before = identify_with_abstract(minter, writer, text)
    _ensure_may_be_abstract(minter, ref, text)
    if before is not None and before.kind != kind:
        raise ConflictError(f"{printable(before.display)} is an abstract {before.kind}, and no {kind}")
    if kind == CONTEXT:
        ref.key = text.strip()
    context, label = (b"", b"") if kind == CONTEXT else _place(writer, text)
    abstraction = Abstraction(ref.key, kind, text.strip(), context, label, about, authority, actor.date())
    if before is not None:
        abstraction.display, abstraction.since = before.display, before.since
    changes = _changes(ref.key, before, abstraction)
    if changes:
        record_event(writer, actor, b"abstract", ids=[ref.key], changes=changes)
        put_abstraction(writer, abstraction)
    return abstraction


def remove_abstract(minter: Minter, writer: Writer, actor: Actor, text: bytes) -> Abstraction:
    """Declare a name to be abstract no longer.

    Raises NotFoundError if it is not, ConflictError while it has relations or is the context of other names.
    """
    _, abstraction = identify_with_abstract(minter, writer, text)
    if abstraction is None:
        raise NotFoundError(f"nothing abstract is called {printable(text)} here")
    name = printable(abstraction.display)
    if next(relations.relations_of(writer, abstraction.key), None) is not None:
        raise ConflictError(f"{name} has relations: remove them first")
    inner = next((other for other in all_abstractions(writer) if other.context == abstraction.key), None)
    if inner is not None:
        raise ConflictError(f"{printable(inner.display)} is in the context {name}: remove it first")
    changes = _changes(abstraction.key, abstraction, None)
    record_event(writer, actor, b"abstract remove", ids=[abstraction.key], changes=changes)
    delete_abstraction(writer, abstraction.key)
    return abstraction


def _ensure_may_be_abstract(minter: Minter, ref: NameRef, text: bytes) -> None:
    if ref.known:
        raise ConflictError(f"{printable(ref.display)} is registered here, and so is not abstract")
    if names.parse(text).scheme or b"://" in text:
        raise ConflictError(f"{printable(text)} is a name of a system that manages it, and so is not abstract")
    if ref.well_formed and not minter.scheme.free:
        raise ConflictError(f"{printable(ref.display)} has the form of this minter's names, and so is not abstract")


def _place(reader: Reader, text: bytes) -> tuple[bytes, bytes]:
    """The key of the abstract context that a name is in, and its label there."""
    place = find_place(reader, text)
    if place is None:
        raise NotFoundError(f"{printable(text.strip())} begins with no abstract context: write it as CONTEXT:LABEL, "
                            "and declare the context first")
    return place[0].key, place[1]


def _changes(key: bytes, before: Abstraction | None, after: Abstraction | None) -> list[Change]:
    old, new = ({"abstract": each.kind.encode(), "authority": each.authority, "about": each.about} if each else {}
                for each in (before, after))
    return property_changes(key, old, new)


def _ensure_text(what: str, text: bytes, longest: int) -> None:
    if not text.strip() or len(text) > longest or any(byte < 0x20 or byte == 0x7F for byte in text):
        raise InvalidError(f"{what} is one line of 1 to {longest} bytes")
