"""Recognising a minter's own identifiers in whatever spelling they come."""

from __future__ import annotations

from . import bindings, names, subjects
from .exceptions import InvalidError
from .tables import ALIASES, IDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .minter import Minter
    from .names import Name
    from .store import Reader


def labels_of(minter: Minter) -> tuple[bytes, ...]:
    """The labels of a minter's context.  Where none was given, the form of its names may still tell the first."""
    if minter.labels:
        return tuple(minter.labels)
    return minter.implied_labels[:1]


def shown(minter: Minter, key: bytes) -> bytes:
    """A stored name as people write it: the minter's label belongs before its own names only."""
    if key.startswith(bindings.RULE_MARK) or b"://" in key or names.parse(key).scheme:
        return key
    return minter.shown(key)


def own_identifier(minter: Minter, reader: Reader, given: bytes) -> bytes | None:
    """The identifier of this minter that a text spells, None if it is a name from elsewhere.

    One that is known here goes before one that only has the form; and a mistyped one is refused.
    """
    plain = subjects.to_read(minter, reader, given)
    labels = labels_of(minter)
    name = names.parse(plain, labels)
    spellings = [minter.scheme.canonical(key) for key in (plain, *names.candidates(name, labels))]
    for key in spellings:
        if is_known(reader, key):
            return key
    if minter.scheme.free:
        # Anything could be this minter's; what says that it belongs elsewhere is taken at its word.
        return None if name.scheme else names.stored(name, labels)
    for key in spellings:
        try:
            minter.ensure_valid(reader, key)
        except InvalidError:
            continue
        return key
    _ensure_not_mistyped(minter, reader, name)
    return None


def is_known(reader: Reader, identifier: bytes) -> bool:
    """Whether anything at all is kept about an identifier."""
    if reader.get(IDS, identifier) is not None or reader.get(ALIASES, identifier) is not None:
        return True
    return next(bindings.elements_of(reader, identifier), None) is not None


def _ensure_not_mistyped(minter: Minter, reader: Reader, name: Name) -> None:
    from .mistyped import fault_of

    fault = fault_of(minter, reader, name)
    if fault is not None:
        raise InvalidError(fault)
