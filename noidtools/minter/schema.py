"""The tables of a minter's database, what their keys and values are, and what is stored once for a minter.

The list of tables is the database format.  A change that an older release would read wrongly raises FORMAT, and older
releases then refuse the database.  Stored once: format and settings, the state of the generator, and counters.
"""

from __future__ import annotations

import os

from ..errors import ConflictError, StoreError, printable
from ..times import display_day

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..schemes import Generator, Scheme
    from ..schemes.base import Settings
    from ..store import Reader, Writer

FORMAT = 1
META = b"m"  # name -> value: format, settings, state of the generator, counters (see schema.py, changes.py)
IDS = b"i"  # identifier -> circulation record (see circulation.py)
ELEMENTS = b"e"  # pair(identifier, element) -> value as bound (see circulation.py)
ALIASES = b"a"  # identifier -> the target of an alias (see circulation.py)
RULES = b"r"  # pair(element, pattern) -> replacement (see bindings.py)
QUEUE = b"q"  # date, sequence, padded label -> identifier (see queue.py)
QUEUED = b"Q"  # identifier -> its key in QUEUE
PEPPERS = b"p"  # identifier -> hash of its pepper (see tokens.py)
CHANGES = b"C"  # number of an event, pair(identifier, element) -> values before and after (see changes.py)
EVENTS = b"v"  # number, 5 bytes -> date, who, interface, verb and changes (see events.py)
HISTORY = b"h"  # pair(identifier, number of an event) -> nothing; the newest circulation is not here (see history.py)
TOMBSTONES = b"t"  # identifier -> when and why it was withdrawn, and its successor (see lifecycle.py)
RELATIONS = b"l"  # pair(name, kind and other name) -> authority, from when until when (see relations.py)
CLAIMS = b"L"  # as RELATIONS, for kinds that were added later (see relations/)
ABSTRACT = b"A"  # abstract name -> its kind, context, label and authority (see relations/)
CUSTODY = b"o"  # pair(identifier or nothing for the minter, number) -> a custodian (see custody.py)
OFFICES = b"O"  # as CUSTODY, for custodians with a purpose
STATED = b"y"  # pair(identifier or nothing for the minter, quality and authority) -> a statement (see qualities.py)
VERIFIED = b"V"  # identifier -> the results of its last verification (see qualities.py)
CONFIG = b"c"  # name -> value: settings that can be changed after creation (see config.py)
NOTES = b"n"  # name -> text, for the administrators (see config.py)
REPLIES = b"k"  # replies stored for a day, so that a request can be repeated without harm (see replies.py)
SECRETS = b"s"  # purpose -> random bytes that only this minter's processes know (see tokens.py)
TOKENS = b"T"  # digest of a token's secret -> its name, access classes and times (see tokens.py)

# The tables that `dbinfo dump` prints: all but those with secrets, and with digests of peppers, tokens and
# Idempotency-Keys.
READABLE = {
    "ABSTRACT": ABSTRACT, "ALIASES": ALIASES, "CHANGES": CHANGES, "CLAIMS": CLAIMS, "CONFIG": CONFIG,
    "CUSTODY": CUSTODY, "ELEMENTS": ELEMENTS, "EVENTS": EVENTS, "HISTORY": HISTORY, "IDS": IDS, "META": META,
    "NOTES": NOTES, "OFFICES": OFFICES, "QUEUE": QUEUE, "QUEUED": QUEUED, "RELATIONS": RELATIONS, "RULES": RULES,
    "STATED": STATED, "TOMBSTONES": TOMBSTONES, "VERIFIED": VERIFIED,
}

# Tables whose keys are identifiers, and those whose keys are pairs that begin with an identifier, or in some of them
# with nothing, which stands for the minter.  What they have about a name is hidden with it (see policies.py).
BY_IDENTIFIER = (IDS, ALIASES, QUEUED, PEPPERS, TOMBSTONES, VERIFIED)
BY_PAIR = (ELEMENTS, RELATIONS, CLAIMS, CUSTODY, OFFICES, STATED, HISTORY)

# Every table of this list, for what handles a database as a whole.
ALL_TABLES = tuple(sorted(value for value in vars().values() if isinstance(value, bytes) and len(value) == 1))


# -- what is stored once ---------------------------------------------------------------------------------------------

_FORMAT, _SETTINGS, _STATE = b"format", b"settings", b"state"
# The settings of a minter whose names were handed over (see departure.py): the terms, and where names go on.
DEPARTED, ONWARD = "departure/terms", "resolver/onward"
_BACKUP = b"backup"
_HELD, _QUEUED, _RULES = b"held", b"queue sequence", b"rules"
_FOREIGN = b"foreign"
# Where a minter was moved (see copying.py).
_MOVED = b"moved"


def write_settings(writer: Writer, settings: Settings) -> None:
    """Write the format and the settings of a new minter into an empty store."""
    writer.put(META, _FORMAT, b"%d" % FORMAT)
    writer.put(META, _SETTINGS, settings.packed())


def packed_settings(reader: Reader, location: str) -> bytes:
    """The settings with which the minter was created.  Raises StoreError if this is no minter of a known format."""
    version, packed, moved = reader.get_many(((META, _FORMAT), (META, _SETTINGS), (META, _MOVED)))
    if version is None or not version.isdigit():
        raise StoreError(f"{location} is a database, but not a minter's: check the path")
    if int(version) > FORMAT:
        raise StoreError(f"{location} was written by a newer release of noidtools (format {int(version)}, "
                         f"this one knows {FORMAT}): install that release")
    if moved is not None:
        raise _was_moved(moved, location)
    return packed or b""


def stored_settings(reader: Reader) -> bytes | None:
    """The settings as stored, also those of a minter that was moved."""
    return reader.get(META, _SETTINGS)


def note_move(writer: Writer, destination: bytes | None) -> None:
    """Note that the minter was moved to another folder, after which it is neither opened nor changed; None: it was
    not."""
    if destination is None:
        writer.delete(META, _MOVED)
    else:
        writer.put(META, _MOVED, destination)


def noted_move(reader: Reader) -> bytes | None:
    """Where the minter was moved, None if it was not."""
    return reader.get(META, _MOVED)


def ensure_not_moved(reader: Reader, location: str) -> None:
    """Raise StoreError if the minter was moved.  What most writes need next is read in the same round trip."""
    moved, *_ = reader.get_many(((META, _MOVED), (META, _STATE), (META, _HELD)))
    if moved is not None:
        raise _was_moved(moved, location)


def ensure_not_departed(reader: Reader) -> None:
    """Raise ConflictError, which names the successor, if the names of the minter were handed over."""
    terms = reader.get(CONFIG, DEPARTED.encode())
    if terms is not None:
        successor, contact, _, date, *_ = terms.split(b"\n")
        ask = f", {printable(contact)}" if contact else ""
        raise ConflictError(f"the names of this minter were handed over to {printable(successor)} on "
                            f"{display_day(date)}, and nothing is minted or changed here any more: ask "
                            f"{printable(successor)}{ask}")


class MovedError(StoreError):
    """The minter was moved to another folder, or with `in_place` a copy is about to take its place."""

    in_place = False


def _was_moved(destination: bytes, location: str) -> MovedError:
    source, target = os.path.dirname(os.path.abspath(location)), destination.decode("utf-8", "replace")
    error = MovedError(f"the minter in {location} was moved to {target}",
                       f"if there is none yet, run 'noid copy {source} {target} --move' again to finish it")
    error.in_place = source == target
    return error


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
    return sound_number(stored_held_count(reader), "the count of identifiers on hold")


def stored_held_count(reader: Reader) -> int | None:
    """The same; None if the count is damaged."""
    return stored_number(reader.get(META, _HELD))


def set_held_count(writer: Writer, count: int) -> None:
    writer.put(META, _HELD, b"%d" % count)


def stored_number(stored: bytes | None) -> int | None:
    """A number as stored, 0 where there is none; None if it is damaged."""
    if stored is None:
        return 0
    return int(stored) if stored.isdigit() and len(stored) < 20 else None


def sound_number(number: int | None, what: str) -> int:
    """A stored number; raises StoreError, in which `what` names it, if it is damaged."""
    if number is None:
        raise StoreError(f"{what} is damaged", "'noid check --repair' repairs what can be repaired")
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
    number = sound_number(last_queue_number(writer), "the number of the last entry of the queue") + 1
    writer.put(META, _QUEUED, b"%d" % number)
    return number


def last_queue_number(reader: Reader) -> int | None:
    """The number that `next_queue_number` returned last, 0 if none; None if it is damaged."""
    return stored_number(reader.get(META, _QUEUED))


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
