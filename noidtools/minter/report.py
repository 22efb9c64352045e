"""Reports about a minter: its README, what `dbinfo` prints, figures for monitors, and views for a database server.

The views are for people who look at minters with SQL.  They decode what schema.py, circulation.py and events.py
describe, and show no secrets.  Bytes that are not printable ASCII are written as escapes, because a name or a value may
hold any bytes.
"""

from __future__ import annotations

from contextlib import suppress

from ..dates import utc_datetime
from ..schemes.base import DURABILITY_MEANINGS, durability_letters
from ..store.sql_tables import TRUE_ROWS
from . import schema
from .circulation import HELD, RESERVED, UNAVAILABLE, WITHDRAWN
from .events import newest_number, read_event
from .queue import queue_length
from .schema import ALIASES, ELEMENTS, EVENTS, IDS, READABLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..schemes import Scheme
    from ..schemes.base import Settings
    from ..store import Reader
    from . import Minter

_PAGE = 500


def properties(minter: Minter) -> list[tuple[str, bytes]]:
    """The properties that are set at creation: labels and values, in the order in which they are printed."""
    return _properties(minter.settings, minter.scheme)


def _properties(settings: Settings, scheme: Scheme) -> list[tuple[str, bytes]]:
    first = scheme.first()
    durable = durability_letters(scheme.durability(settings))
    about = [("Scheme", scheme.name.encode()), *scheme.form(), ("Term", settings["term"].encode()),
             ("Properties", durable.encode()), *scheme.behaviour()]
    pairs = [
        ("NAAN", settings["naan"]),
        ("NAA", settings["naa"]),
        ("SubNAA", settings["subnaa"]),
        ("Labels", " ".join(settings["labels"].splitlines())),
        ("First", b"".join((*settings.labels[:1], first)).decode() if first is not None else ""),
        ("Created", settings["created"]),
        ("Creator", settings["creator"]),
    ]
    return about + [(name, value.encode()) for name, value in pairs if value]


def creation_report(settings: Settings, scheme: Scheme) -> bytes:
    """The text of NOID/README."""
    lines = [b"This folder is a minter of identifiers, made by noidtools.  Do not edit its files.", b""]
    lines += [f"{name}:".ljust(12).encode() + value for name, value in _properties(settings, scheme)]
    lines += [b"", b"The properties, where their letter is shown:"]
    lines += [f"  {letter}  {meaning}".encode() for letter, meaning in DURABILITY_MEANINGS.items()]
    return b"\n".join(lines) + b"\n"


class MinterState:
    """The present state of a minter: its generator, how many identifiers are held and queued, and the newest event."""

    __slots__ = ("generator", "held", "queued", "newest")

    def __init__(self, minter: Minter, reader: Reader) -> None:
        self.generator = schema.generator_of(minter.scheme, reader)
        self.held = schema.held_count(reader)
        self.queued = queue_length(reader)
        self.newest = read_event(reader, newest_number(reader))


def status(state: MinterState) -> list[tuple[str, bytes]]:
    """The present state of a minter: labels and values, as printed."""
    pairs = [*state.generator.status(), ("Held", b"%d" % state.held), ("Queued", b"%d" % state.queued)]
    if state.newest:
        by = b" by " + state.newest.who if state.newest.who else b""
        pairs.append(("Changed", state.newest.date + by))
    return pairs


def database_status(minter: Minter) -> list[tuple[str, bytes]]:
    """What the database server says of itself, for a minter that is in one: labels and values, as printed."""
    return [(name, value.encode("utf-8", "surrogateescape")) for name, value in minter.store.status().lines]


def internals(minter: Minter, reader: Reader) -> list[tuple[str, bytes]]:
    """Details for diagnosis: the location and the format of the database, and the state of the generator."""
    generator = schema.generator_of(minter.scheme, reader)
    size = minter.store.status().figures.get("size_bytes")
    return [
        ("Folder", minter.store.location.encode("utf-8", "surrogateescape")),
        ("Format", schema.format_version(reader)),
        *([] if size is None else [("Bytes", b"%d" % size)]),
        ("Events", b"%d" % newest_number(reader)),
        *generator.internals(),
    ]


def dump(minter: Minter) -> Iterator[tuple[str, bytes]]:
    """Every entry of the tables in READABLE: table and key, and value.  Odd bytes are percent-encoded.

    The other tables are left out, because they could help to guess a pepper or to use the Idempotency-Key of another.
    """
    for name, table in READABLE.items():
        for key, value in minter.read_pages(lambda reader, after: _page(reader, table, after)):  # noqa: B023
            yield f"{name}/{_plain(key)}", _plain(value).encode()


def _page(reader: Reader, table: bytes, after: bytes | None) -> tuple[list[tuple[bytes, bytes]], bytes | None]:
    items = list(reader.scan(table, after=after, limit=_PAGE))
    return items, items[-1][0] if items else None


def _plain(raw: bytes) -> str:
    return "".join(chr(byte) if 0x20 <= byte < 0x7F and byte != 0x25 else f"%{byte:02X}" for byte in raw)


# -- figures ---------------------------------------------------------------------------------------------------------


def minter_figures(minter: Minter) -> dict[str, float]:
    """Figures about a minter, for those who watch it: numbers by name, read in one transaction.

    drawn          identifiers minted so far, those that were skipped included
    left, total    what is left of the namespace, and its size; absent where it is unlimited
    held, queued   identifiers on hold, and in the queue
    events         changes recorded so far
    last_backup    when the last backup was written, in seconds since 1970; absent if none is known

    and those of its database.
    """
    return minter.read(lambda reader: _figures(minter, reader)) | minter.store.status().figures


def _figures(minter: Minter, reader: Reader) -> dict[str, float]:
    generator = schema.generator_of(minter.scheme, reader)
    found: dict[str, float] = {"drawn": generator.drawn}
    left = dict(generator.status()).get("Left", b"")
    if generator.total is not None and left.isdigit():
        found |= {"left": int(left), "total": generator.total}
    found |= {"held": schema.held_count(reader), "queued": queue_length(reader), "events": newest_number(reader)}
    with suppress(ValueError):  # there is none, or the date is damaged
        found["last_backup"] = int(utc_datetime(schema.last_backup(reader)).timestamp())
    return found


# A backup that is older, in days, is too old: one is made every night, and one night may fail.
_OLD_BACKUP = 2


def backup_warning(what: str, last_backup: float | None, now: float) -> str:
    """What is wrong with the last backup of `what`, from two times in seconds since 1970; empty if nothing is."""
    if last_backup is None:
        return f"no backup of {what} is known"
    days = (now - last_backup) / 86_400
    return f"the last backup of {what} is {days:.0f} days old" if days > _OLD_BACKUP else ""


_UNITS = ("bytes", "kB", "MB", "GB", "TB")


def size_text(size: float) -> str:
    """A number of bytes for people."""
    unit = 0
    while size >= 1000 and unit + 1 < len(_UNITS):
        size, unit = size / 1000, unit + 1
    return f"{size:.0f} {_UNITS[unit]}" if unit == 0 or size >= 100 else f"{size:.1f} {_UNITS[unit]}"


# -- views in SQL ----------------------------------------------------------------------------------------------------


_TEXT = "encode({}, 'escape')"


def _number(column: str, start: int, length: int) -> str:
    """A number of some bytes, most significant first."""
    parts = [f"get_byte({column}, {start + place})::bigint * {256 ** (length - 1 - place)}" for place in range(length)]
    return "(" + " + ".join(parts) + ")"


def _rows(table: bytes) -> str:
    return f"FROM {TRUE_ROWS} d JOIN noid_minters m ON m.id = d.minter WHERE d.tbl = '{table.decode()}'::bytea"


def _flag(flag: int) -> str:
    return f"get_byte(d.value, 0) & {flag} <> 0"


def _pair() -> tuple[str, str]:
    """The two byte strings of a key that `codec.pair` made."""
    separator = "position('\\000\\000'::bytea IN d.key)"
    return (_TEXT.format(f"substring(d.key FROM 1 FOR {separator} - 1)"),
            _TEXT.format(f"substring(d.key FROM {separator} + 2)"))


def _field(source: str, name: str) -> str:
    """A subquery that takes the next of the fields that `codec.pack` joined, of up to 16,383 bytes."""
    short = f"get_byte({source}.rest, 0) < 128"
    length = (f"CASE WHEN {short} THEN get_byte({source}.rest, 0) "
              f"ELSE get_byte({source}.rest, 0) - 128 + 128 * get_byte({source}.rest, 1) END")
    start = f"CASE WHEN {short} THEN 2 ELSE 3 END"
    return (f"LATERAL (SELECT substring({source}.rest FROM {start} FOR {length}) AS field, "
            f"substring({source}.rest FROM {start} + {length}) AS rest) {name}")


VIEWS = f"""\
CREATE OR REPLACE VIEW noid_identifiers AS
SELECT m.name AS minter, {_TEXT.format("d.key")} AS identifier,
    {_flag(HELD)} AS held, {_flag(RESERVED)} AS reserved, {_flag(WITHDRAWN)} AS withdrawn,
    {_flag(UNAVAILABLE)} AS unavailable,
    {_number("d.value", 1, 5)} AS event, {_number("d.value", 6, 6)} AS drawn,
    {_TEXT.format("substring(d.value FROM 13)")} AS history
{_rows(IDS)};
CREATE OR REPLACE VIEW noid_bindings AS
SELECT m.name AS minter, {_pair()[0]} AS identifier, {_pair()[1]} AS element,
    {_TEXT.format("d.value")} AS value
{_rows(ELEMENTS)};
CREATE OR REPLACE VIEW noid_aliases AS
SELECT m.name AS minter, {_TEXT.format("d.key")} AS alias, {_TEXT.format("d.value")} AS identifier
{_rows(ALIASES)};
CREATE OR REPLACE VIEW noid_events AS
SELECT packed.minter, packed.event, {_TEXT.format("f1.field")} AS date, {_TEXT.format("f2.field")} AS who,
    {_TEXT.format("f3.field")} AS interface, {_TEXT.format("f4.field")} AS verb
FROM (SELECT m.name AS minter, {_number("d.key", 0, 5)} AS event, d.value AS rest
      {_rows(EVENTS)}) packed,
    {_field("packed", "f1")},
    {_field("f1", "f2")},
    {_field("f2", "f3")},
    {_field("f3", "f4")};
"""

# Of a role that sees no table, and so no digest of a pepper.
VIEW_ROLES = """\
CREATE ROLE noid_viewer;
GRANT SELECT ON noid_identifiers, noid_bindings, noid_aliases, noid_events TO noid_viewer;
"""
