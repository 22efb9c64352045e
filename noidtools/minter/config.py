"""Settings that an administrator can change after the minter was created, and notes that administrators keep with it.

Names of settings are words joined by slashes, of which the first is the subject: `policy/mint`, `resolver/fallback`.  A
setting without a value has its default, which the module that uses it decides.
"""

from __future__ import annotations

from ..errors import ConflictError, InvalidError
from ..times import timestamp
from .events import Change, record_event
from .schema import CONFIG, NOTES, generator_of, save_generator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..store import Reader, Writer
    from . import Minter
    from .events import Actor


# -- settings --------------------------------------------------------------------------------------------------------


def value(reader: Reader, name: str) -> bytes | None:
    """The value of a setting, None for its default."""
    return reader.get(CONFIG, name.encode())


def place(name: str) -> tuple[bytes, bytes]:
    """(table, key) of a setting, for use with `get_many`."""
    return CONFIG, name.encode()


def values(reader: Reader, subject: str) -> dict[str, bytes]:
    """All values of one subject, by the rest of their names."""
    prefix = f"{subject}/".encode()
    return {key[len(prefix) :].decode(): stored for key, stored in reader.scan(CONFIG, prefix)}


def change(writer: Writer, actor: Actor, name: str, new: bytes | None) -> None:
    """Set a value, or with None return to the default, and record that with the value before."""
    before = writer.get(CONFIG, name.encode())
    if new is None:
        writer.delete(CONFIG, name.encode())
    else:
        writer.put(CONFIG, name.encode(), new)
    record_event(writer, actor, b"config", changes=[Change(name.encode(), before, new)])


def adjust_generator(minter: Minter, writer: Writer, actor: Actor, name: str, new: bytes) -> tuple[bytes, bytes]:
    """Change the granularity or the patience of a scheme of time; returns the value before and the new one."""
    generator = generator_of(minter.scheme, writer)
    before, after = generator.adjust(name, new)
    save_generator(writer, generator)
    record_event(writer, actor, name.encode(), changes=[Change(name.encode(), before, after)])
    return before, after


def reset_clock(minter: Minter, writer: Writer, actor: Actor) -> tuple[bytes, bytes]:
    """Let a scheme of time continue from now, after labels were made by a clock that ran ahead; returns the time of the
    last of these labels, and this one.

    Every label that this minter has given has a circulation record, by which minting skips it.  Raises ConflictError
    if no label lies in the future, or if the clock shows a time before the minter was created: what was made then, by a
    minter before this one, is not known here.
    """
    generator, now = generator_of(minter.scheme, writer), actor.now()
    before, after = generator.reset_clock(now)
    if timestamp(now).decode() < minter.settings["created"]:
        raise ConflictError(f"the clock shows {after.decode()}, a time before this minter was created: set it right; "
                            "if it had run ahead then, too, make a new minter with another port or prefix")
    save_generator(writer, generator)
    record_event(writer, actor, b"clock reset", changes=[Change(b"clock", before, after)])
    return before, after


# -- notes -----------------------------------------------------------------------------------------------------------

_LONGEST_NAME = 400


def put_note(writer: Writer, actor: Actor, name: bytes, text: bytes) -> None:
    """Store a note, in place of one with the same name, of which the event keeps the text."""
    if not name or len(name) > _LONGEST_NAME or b"\n" in name:
        raise InvalidError(f"the name of a note is one line of 1 to {_LONGEST_NAME} bytes")
    before = writer.get(NOTES, name)
    writer.put(NOTES, name, text)
    record_event(writer, actor, b"note", changes=[Change(name, before, text)])


def all_notes(reader: Reader) -> list[tuple[bytes, bytes]]:
    """Names and texts, in the order of the names."""
    return list(reader.scan(NOTES))
