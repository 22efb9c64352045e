"""Views for people who look at minters in a database server with SQL.

They decode what schema.py, circulation.py and events.py describe, and show no secrets.  Bytes that are
not printable ASCII are written as escapes, because a name or a value may hold any bytes.
"""

from __future__ import annotations

from ..store.sql_tables import TRUE_ROWS
from .circulation import HELD, RESERVED, WITHDRAWN
from .schema import ALIASES, ELEMENTS, EVENTS, IDS

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
