"""What is declared to be abstract, as it is stored: contexts, and names and identifiers in them.

A context is stored under its name as it was declared.  A name or an identifier is written as its context, a separator
and its label; with another separator it is the same one, so that it is stored under a key of context and label.
"""

from __future__ import annotations

from ...codec import pack, unpack
from ..schema import ABSTRACT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...store import Reader, Writer


CONTEXT, NAME, IDENTIFIER = "context", "name", "identifier"
KINDS = (CONTEXT, NAME, IDENTIFIER)
LONGEST_NAME = 1000
_SEPARATORS = (b"::", b":", b"/")
_SEPARATING = b":/"


class Abstraction:
    """Something abstract that has a name here.

    key        under which relations of it are stored
    kind       one of KINDS
    display    its name, as written in answers
    context    the key of the abstract context that it is in; empty for a context
    label      its label there; empty for a context
    about      the purpose of a context, or what an identifier identifies, in words; may be empty
    authority  who is responsible for it
    since      when it was declared, in fourteen digits
    """

    __slots__ = ("about", "authority", "context", "display", "key", "kind", "label", "since")

    def __init__(
        self, key: bytes, kind: str, display: bytes, context: bytes, label: bytes, about: bytes, authority: bytes,
        since: bytes,
    ) -> None:
        self.key = key
        self.kind = kind
        self.display = display
        self.context = context
        self.label = label
        self.about = about
        self.authority = authority
        self.since = since


def find_abstraction(reader: Reader, key: bytes) -> Abstraction | None:
    """What is declared to be abstract under a key; None if nothing is."""
    packed = reader.get(ABSTRACT, key)
    return None if packed is None else _unpacked(key, packed)


def all_abstractions(reader: Reader, kind: str = "") -> Iterator[Abstraction]:
    """All that is declared to be abstract, or those of one kind, in the order of their keys."""
    for key, packed in reader.scan(ABSTRACT):
        abstraction = _unpacked(key, packed)
        if kind in ("", abstraction.kind):
            yield abstraction


def has_abstractions(reader: Reader) -> bool:
    """Whether anything is declared to be abstract."""
    return next(iter(reader.scan(ABSTRACT, limit=1)), None) is not None


def find_named(reader: Reader, text: bytes, key: bytes) -> tuple[bytes, Abstraction | None]:
    """The key under which something abstract with this name is or would be declared, and what is declared there.

    `key` is the key that the name has without regard to what is abstract.
    """
    text = text.strip()
    if len(text) > LONGEST_NAME or not has_abstractions(reader):
        return key, None
    exact = find_abstraction(reader, text)
    if exact is not None:
        return text, exact
    place = find_place(reader, text)
    if place is not None:
        key = key_in(*place)
    return key, find_abstraction(reader, key)


def find_place(reader: Reader, text: bytes) -> tuple[Abstraction, bytes] | None:
    """The longest abstract context that a name begins with, and the label behind it; None if there is none."""
    text = text.strip()
    for end in range(len(text) - 1, 0, -1):
        if text[end] in _SEPARATING:
            context = find_abstraction(reader, text[:end])
            label = _label_behind(text, text[:end])
            if context is not None and context.kind == CONTEXT and label:
                return context, label
    return None


def key_in(context: Abstraction, label: bytes) -> bytes:
    """The key of a name or an identifier in an abstract context."""
    return context.key + b":" + label


def _label_behind(text: bytes, context: bytes) -> bytes:
    """What stands behind a context and a separator; empty if the text does not begin with both."""
    rest = text[len(context) :] if text.startswith(context) else b""
    separator = next((mark for mark in _SEPARATORS if rest.startswith(mark)), b"")
    return rest[len(separator) :] if separator else b""


def put_abstraction(writer: Writer, abstraction: Abstraction) -> None:
    """Store what is declared to be abstract under its key."""
    fields = (abstraction.kind.encode(), abstraction.display, abstraction.context, abstraction.label,
              abstraction.about, abstraction.authority, abstraction.since)
    writer.put(ABSTRACT, abstraction.key, pack(fields))


def delete_abstraction(writer: Writer, key: bytes) -> None:
    writer.delete(ABSTRACT, key)


def _unpacked(key: bytes, packed: bytes) -> Abstraction:
    kind, *rest = unpack(packed)
    display, context, label, about, authority, since = rest
    return Abstraction(key, kind.decode(), display, context, label, about, authority, since)
