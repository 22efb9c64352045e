"""The identifier a command is about: found for reading, or cleared for change."""

from __future__ import annotations

from .circulation import PEPPERED, find

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .circulation import Circulation
    from .minter import Minter
    from .store import Reader


def to_read(minter: Minter, reader: Reader, given: bytes) -> bytes:
    """The stored identifier.  A pepper that came along is not needed, but a wrong one is refused."""
    identifier = minter.stored(given)
    if b"!" in identifier:
        from . import peppers

        identifier, pepper = peppers.split(reader, identifier)
        if pepper is not None:
            peppers.ensure_matches(reader, identifier, pepper)
    return identifier


def to_change(minter: Minter, reader: Reader, given: bytes) -> tuple[bytes, Circulation | None]:
    """The stored identifier and its circulation, once it is sure that this caller may change it."""
    identifier = to_read(minter, reader, given)
    record = find(reader, identifier)
    if record is None:
        # What has a record is ours, whatever its form: an alias may be a name that no minter could make.
        minter.ensure_valid(reader, identifier)
    if record is not None and record.flags & PEPPERED:
        ensure_pepper_came(minter, reader, identifier, given)
    return identifier, record


def ensure_pepper_came(minter: Minter, reader: Reader, identifier: bytes, given: bytes) -> None:
    """Refuse to change a peppered identifier that was given without its pepper; `to_read` looks at one that came."""
    if identifier == minter.stored(given):
        from . import peppers

        peppers.ensure_matches(reader, identifier, None)
