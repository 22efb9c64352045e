"""What is stored once for a minter: its format and settings, the state of the generator, and counters."""

from __future__ import annotations

import os

from ..errors import StoreError
from .tables import FORMAT, META

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..schemes import Generator, Scheme
    from ..schemes.settings import Settings
    from ..store import Reader, Writer

_FORMAT, _SETTINGS, _STATE = b"format", b"settings", b"state"
_HELD, _QUEUED, _RULES = b"held", b"queue sequence", b"rules"


def write_settings(writer: Writer, settings: Settings) -> None:
    """Write the format and the settings of a new minter into an empty store."""
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


def save_generator(writer: Writer, generator: Generator) -> None:
    """Store the state of the generator, for the next transaction that mints."""
    writer.put(META, _STATE, generator.state())


def held_count(reader: Reader) -> int:
    """How many identifiers are on hold."""
    return int(reader.get(META, _HELD) or b"0")


def add_to_held_count(writer: Writer, change: int) -> None:
    """Change the number of identifiers that are on hold; `change` may be negative."""
    if change:
        writer.put(META, _HELD, b"%d" % (held_count(writer) + change))


def next_queue_number(writer: Writer) -> int:
    """A number greater than all that were returned before."""
    number = int(writer.get(META, _QUEUED) or b"0") + 1
    writer.put(META, _QUEUED, b"%d" % number)
    return number


def rules_version(reader: Reader) -> bytes | None:
    """Equal versions mean equal rules; None when no rule was ever bound."""
    return reader.get(META, _RULES)


def renew_rules_version(writer: Writer) -> None:
    """Make caches of rules obsolete; must be called whenever a rule is changed."""
    writer.put(META, _RULES, os.urandom(8))
