"""What is stored once for a minter: its format and settings, the state of the generator, and counters."""

from __future__ import annotations

import os

from ..errors import StoreError, printable
from .tables import FORMAT, META

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..schemes import Generator, Scheme
    from ..schemes.settings import Settings
    from ..store import Reader, Writer

_FORMAT, _SETTINGS, _STATE = b"format", b"settings", b"state"
# Default access rules (see policies.py); absent in minters of release 0.1.0.
_ACCESS = b"access"
_BACKUP = b"backup"
ACCESS_PLACE = (META, _ACCESS)
_HELD, _QUEUED, _RULES = b"held", b"queue sequence", b"rules"
_EVENT_NAME, _OPEN = b"event name ", b"open change "
_FOREIGN = b"foreign"
_RECORD_BEFORE = b"open record "


def write_settings(writer: Writer, settings: Settings) -> None:
    """Write the format and the settings of a new minter into an empty store."""
    copy_settings(writer, settings)
    writer.put(META, _ACCESS, b"2")


def copy_settings(writer: Writer, settings: Settings) -> None:
    """Write the format and the settings of a minter of which all else is copied, the kind of its access rules, too."""
    writer.put(META, _FORMAT, b"%d" % FORMAT)
    writer.put(META, _SETTINGS, settings.packed())


def packed_settings(reader: Reader, location: str) -> bytes:
    """The settings with which the minter was created.  Raises StoreError if this is no minter of a known format."""
    version, packed = reader.get_many(((META, _FORMAT), (META, _SETTINGS)))
    if version is None or not version.isdigit():
        raise StoreError(f"{location} is a database, but not a minter's: check the path")
    if int(version) > FORMAT:
        raise StoreError(f"{location} was written by a newer release of noidtools (format {int(version)}, "
                         f"this one knows {FORMAT}): install that release")
    return packed or b""


def format_version(reader: Reader) -> bytes:
    """The version of the format of the database, in digits."""
    return reader.get(META, _FORMAT) or b""


def generator_state(reader: Reader) -> bytes | None:
    """What the generator stored last, None if nothing was minted yet.  Its form is up to the scheme."""
    return reader.get(META, _STATE)


def generator_of(scheme: Scheme, reader: Reader) -> Generator:
    """The generator as it was left by the last transaction that minted."""
    return scheme.generator(generator_state(reader))


def save_generator(writer: Writer, generator: Generator) -> bytes:
    """Store the state of the generator, for the next transaction that mints; returns the state."""
    state = generator.state()
    writer.put(META, _STATE, state)
    return state


def held_count(reader: Reader) -> int:
    """How many identifiers are on hold.  Raises StoreError if the count is damaged."""
    return _sound(stored_held_count(reader), "the count of identifiers on hold")


def stored_held_count(reader: Reader) -> int | None:
    """The same; None if the count is damaged."""
    return _number(reader.get(META, _HELD))


def set_held_count(writer: Writer, count: int) -> None:
    writer.put(META, _HELD, b"%d" % count)


def _number(stored: bytes | None) -> int | None:
    """A number as stored, 0 where there is none; None if it is damaged."""
    if stored is None:
        return 0
    return int(stored) if stored.isdigit() and len(stored) < 20 else None


def _sound(number: int | None, what: str) -> int:
    if number is None:
        raise StoreError(f"{what} is damaged: 'noid check --repair' mends what can be mended")
    return number


def add_to_held_count(writer: Writer, change: int) -> None:
    """Change the number of identifiers that are on hold; `change` may be negative."""
    if change:
        set_held_count(writer, held_count(writer) + change)


def last_backup(reader: Reader) -> bytes:
    """When the last backup was written, in fourteen digits; empty if none is known."""
    return reader.get(META, _BACKUP) or b""


def set_last_backup(writer: Writer, date: bytes) -> None:
    writer.put(META, _BACKUP, date)


def next_queue_number(writer: Writer) -> int:
    """A number greater than all that were returned before."""
    number = _sound(last_queue_number(writer), "the number of the last entry of the queue") + 1
    writer.put(META, _QUEUED, b"%d" % number)
    return number


def last_queue_number(reader: Reader) -> int | None:
    """The number that `next_queue_number` returned last, 0 if none; None if it is damaged."""
    return _number(reader.get(META, _QUEUED))


def raise_queue_number(writer: Writer, number: int) -> None:
    """Have `next_queue_number` return only numbers greater than this one."""
    last = last_queue_number(writer)
    if last is None or number > last:
        writer.put(META, _QUEUED, b"%d" % number)


def rules_version(reader: Reader) -> bytes | None:
    """Equal versions mean equal rules; None when no rule was ever bound."""
    return reader.get(META, _RULES)


def renew_rules_version(writer: Writer) -> None:
    """Make caches of rules obsolete; must be called whenever a rule is changed."""
    writer.put(META, _RULES, os.urandom(8))


def has_foreign(reader: Reader) -> bool:
    """Whether identifiers of foreign origin were ever imported."""
    return reader.get(META, _FOREIGN) is not None


def note_foreign(writer: Writer) -> None:
    writer.put(META, _FOREIGN, b"1")


# -- bulk changes (see bulk_changes.py) ------------------------------------------------------------------------------


def named_event(reader: Reader, name: bytes) -> int:
    """The number of the event of that name, 0 if there is none."""
    return _sound(_number(reader.get(META, _EVENT_NAME + name)), f"the name {printable(name)!r} of an event")


def name_event(writer: Writer, name: bytes, number: int) -> None:
    writer.put(META, _EVENT_NAME + name, b"%d" % number)


def forget_event_name(writer: Writer, name: bytes) -> None:
    writer.delete(META, _EVENT_NAME + name)


def open_change(reader: Reader, parameters: bytes) -> int:
    """The number of the event of the command with these parameters, if that runs or was interrupted; else 0."""
    stored = reader.get(META, _OPEN + parameters)
    if stored is None:
        return 0
    return _sound(_number(stored.partition(b" ")[0]), "what is stored about an interrupted change")


def save_open_change(writer: Writer, parameters: bytes, number: int) -> None:
    """Store that the command with these parameters has not come to its end."""
    # Earlier versions stored how far it came behind the space.
    writer.put(META, _OPEN + parameters, b"%d " % number)


def open_changes(reader: Reader) -> list[tuple[bytes, int]]:
    """All commands that run or were interrupted: their parameters, and the numbers of their events."""
    return [(key.removeprefix(_OPEN), _number(stored.partition(b" ")[0]) or 0)
            for key, stored in reader.scan(META, _OPEN)]


def close_change(writer: Writer, parameters: bytes) -> None:
    writer.delete(META, _OPEN + parameters)


def close_changes_of(writer: Writer, number: int) -> None:
    """Forget that the command of an event was interrupted, because the event is taken back."""
    mark = b"%d " % number
    for key, stored in list(writer.scan(META, _OPEN)):
        if stored.startswith(mark):
            writer.delete(META, key)


def save_record_before(writer: Writer, number: int, key: bytes, packed: bytes) -> None:
    """Store the circulation record that an identifier had before an event, until the event comes to its end."""
    writer.put(META, b"%b%d %b" % (_RECORD_BEFORE, number, key), packed)


def record_before(reader: Reader, number: int, key: bytes) -> bytes | None:
    return reader.get(META, b"%b%d %b" % (_RECORD_BEFORE, number, key))


def forget_records_before(writer: Writer, number: int) -> None:
    writer.delete_prefix(META, b"%b%d " % (_RECORD_BEFORE, number))


def event_references(reader: Reader) -> Iterator[tuple[str, int | None]]:
    """Everything here that refers to an event: in words, and the number of the event; None if that is damaged."""
    for key, stored in reader.scan(META, _EVENT_NAME):
        yield f"the name {printable(key.removeprefix(_EVENT_NAME))!r}", _number(stored)
    for _, stored in reader.scan(META, _OPEN):
        yield "a change that was interrupted", _number(stored.partition(b" ")[0])
