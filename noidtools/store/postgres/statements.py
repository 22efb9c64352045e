"""The SQL of the PostgreSQL engine: its tables, and the statements that read and write them.

Nothing here is refused by CockroachDB or YugabyteDB: no extensions, no stored procedures, no advisory locks.  All
statements name the minter by its name and return its number and version, so that each tells of which moment it is.
"""

from __future__ import annotations

from ..sql_tables import TABLES
from .connection import BYTEA, BYTEA_ARRAY, INT8, TEXT, SqlStatement

# A table of the store in which commits are listed, by their versions; minters use letters.
COMMITS = b"\0"

CREATE = tuple(SqlStatement(sql) for sql in TABLES.split(";\n") if sql)
HAS_TABLES = SqlStatement("SELECT count(*) FROM information_schema.tables "
                       "WHERE table_name IN ('noid_minters', 'noid_data')")

# -- sessions and transactions ---------------------------------------------------------------------------------------

READ_ONLY = SqlStatement("SELECT current_setting('transaction_read_only')")
# Ends the transaction of a process that is stopped or unreachable, whose lock would keep all others from writing; and
# nothing may be acknowledged that is not on disk.
SET_UP = (
    SqlStatement("SET idle_in_transaction_session_timeout = 60000"),
    # Waiting for a lock has a limit of its own, and so has every answer.
    SqlStatement("SET statement_timeout = 0"),
    SqlStatement("SELECT set_config('synchronous_commit', 'on', false) "
              "WHERE current_setting('synchronous_commit') = 'off'"),
    READ_ONLY,
)
BEGIN_SNAPSHOT = SqlStatement("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
# Reads block nobody, so that there is no limit of time for an idle one.
NO_LIMIT = SqlStatement("SET LOCAL idle_in_transaction_session_timeout = 0")
BEGIN_WRITE = SqlStatement("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
COMMIT, ROLLBACK = SqlStatement("COMMIT"), SqlStatement("ROLLBACK")
LOCK_TIMEOUT = SqlStatement("SELECT set_config('lock_timeout', $1, true)", TEXT)
LOCK = SqlStatement("SELECT id, version FROM noid_minters WHERE name = $1 FOR UPDATE", TEXT)
LOCK_NUMBER = SqlStatement("SELECT id, version FROM noid_minters WHERE id = $1::integer FOR UPDATE", INT8)
LISTEN = SqlStatement("LISTEN noidtools")
NOTIFY = SqlStatement("SELECT pg_notify('noidtools', $1)", TEXT)
# Readers look for themselves within a second, so this one needs no disk.  Without BEGIN, the statements that are sent
# together are a transaction that ends by itself, also if the second fails, as it does where nothing can be announced.
WITHOUT_DISK = SqlStatement("SELECT set_config('synchronous_commit', 'off', true)")

# -- reading ---------------------------------------------------------------------------------------------------------

VERSION = SqlStatement("SELECT id, version FROM noid_minters WHERE name = $1", TEXT)


def _get(count: int) -> SqlStatement:
    """Reads some places, whose values are columns of one row."""
    values = ", ".join(f"(SELECT value FROM noid_data WHERE minter = m.id AND tbl = ${2 * number} AND "
                       f"key = ${2 * number + 1})" for number in range(1, count + 1))
    return SqlStatement(f"SELECT m.id, m.version, {values} FROM noid_minters m WHERE m.name = $1",
                     TEXT, *[BYTEA] * (2 * count))


# By the number of places.
GET = {count: _get(count) for count in range(1, 9)}
# Subqueries make the server look each key up in the index, however wrong its statistics are.
GET_MANY = SqlStatement("""\
SELECT m.id, m.version, (SELECT d.value FROM noid_data d
                         WHERE d.minter = m.id AND d.tbl = p.tbl AND d.key = p.key)
FROM noid_minters m, unnest($2::bytea[], $3::bytea[]) WITH ORDINALITY AS p (tbl, key, n)
WHERE m.name = $1 ORDER BY p.n""", TEXT, BYTEA_ARRAY, BYTEA_ARRAY)


def _scan(condition: str, direction: str, *types: int) -> SqlStatement:
    return SqlStatement(f"""\
SELECT m.id, m.version, d.key, d.value FROM noid_minters m LEFT JOIN LATERAL (
    SELECT key, value FROM noid_data
    WHERE minter = m.id AND tbl = $2 AND key >= $3 {condition}
    ORDER BY minter {direction}, tbl {direction}, key {direction} LIMIT $4
) d ON true WHERE m.name = $1""", TEXT, BYTEA, BYTEA, INT8, *types)


# By whether the scan has an end, and whether it goes backwards.  The parameters are the table, the least key, the
# number of rows, and the key before which the scan ends.
SCAN = {
    (ended, reverse): _scan("AND key < $5" if ended else "", "DESC" if reverse else "ASC", *[BYTEA] * ended)
    for ended in (False, True) for reverse in (False, True)
}
SIZE = SqlStatement("SELECT pg_total_relation_size('noid_data') + pg_total_relation_size('noid_minters')")

# -- what the server says of itself ----------------------------------------------------------------------------------

SERVER = SqlStatement("""\
SELECT m.id, m.version, current_setting('server_version'), current_setting('transaction_read_only'),
    current_setting('synchronous_standby_names'), current_setting('synchronous_commit'),
    (SELECT count(*)::text FROM pg_stat_replication)
FROM noid_minters m WHERE m.name = $1""", TEXT)
# If all that was received is replayed, the standby is not behind as far as it knows; else it is behind by the age of
# the last transaction that was replayed.
STANDBY = SqlStatement("""\
SELECT m.id, m.version, CASE WHEN pg_is_in_recovery() THEN 'on' ELSE 'off' END,
    CASE WHEN pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() AND r.receivers > 0 THEN '0'
         ELSE coalesce(extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()), 0)::text END,
    r.receivers::text
FROM noid_minters m, (SELECT count(*) AS receivers FROM pg_stat_wal_receiver) r WHERE m.name = $1""", TEXT)

# -- writing ---------------------------------------------------------------------------------------------------------

PUT = SqlStatement("""\
INSERT INTO noid_data (minter, tbl, key, value) VALUES ($1::bigint, $2, $3, $4)
ON CONFLICT (minter, tbl, key) DO UPDATE SET value = excluded.value""", INT8, BYTEA, BYTEA, BYTEA)
PUT_MANY = SqlStatement("""\
INSERT INTO noid_data (minter, tbl, key, value)
SELECT $1::bigint, p.tbl, p.key, p.value FROM unnest($2::bytea[], $3::bytea[], $4::bytea[]) AS p (tbl, key, value)
ON CONFLICT (minter, tbl, key) DO UPDATE SET value = excluded.value""", INT8, BYTEA_ARRAY, BYTEA_ARRAY, BYTEA_ARRAY)
DELETE = SqlStatement("DELETE FROM noid_data WHERE minter = $1::integer AND tbl = $2 AND key = $3", INT8, BYTEA, BYTEA)
DELETE_MANY = SqlStatement("""\
DELETE FROM noid_data d USING unnest($2::bytea[], $3::bytea[]) AS p (tbl, key)
WHERE d.minter = $1::integer AND d.tbl = p.tbl AND d.key = p.key""", INT8, BYTEA_ARRAY, BYTEA_ARRAY)
TOKEN = SqlStatement("SELECT value FROM noid_data WHERE minter = $1::integer AND tbl = $2 AND key = $3",
                  INT8, BYTEA, BYTEA)
DELETE_COMMITS = SqlStatement("DELETE FROM noid_data WHERE minter = $1::integer AND tbl = $2 AND key < $3",
                           INT8, BYTEA, BYTEA)
SET_VERSION = SqlStatement("UPDATE noid_minters SET version = $2 WHERE id = $1::integer", INT8, INT8)
INSERT_MINTER = SqlStatement("INSERT INTO noid_minters (name, id, version) VALUES ($1, $2, 0)", TEXT, INT8)
RENAME_NUMBER = SqlStatement("UPDATE noid_minters SET name = $2 WHERE id = $1::integer", INT8, TEXT)
RENAME = SqlStatement("UPDATE noid_minters SET name = $2 WHERE name = $1", TEXT, TEXT)
# Of a minter whose row is locked, so that its name cannot be given to another one meanwhile.
DELETE_MINTER = (
    SqlStatement("DELETE FROM noid_data WHERE minter = $1::integer", INT8),
    SqlStatement("DELETE FROM noid_minters WHERE id = $1::integer", INT8),
)
# All items of a minter behind a table and a key, but those of one table.
DUMP = SqlStatement("""\
SELECT tbl, key, value FROM noid_data WHERE minter = $1::integer AND (tbl, key) > ($2, $3) AND tbl <> $4
ORDER BY minter, tbl, key LIMIT $5""", INT8, BYTEA, BYTEA, BYTEA, INT8)


def savepoints(level: int) -> tuple[SqlStatement, SqlStatement, SqlStatement]:
    """To set, to undo and to release the savepoint of a level."""
    if level not in _savepoints:
        _savepoints[level] = (
            SqlStatement(f"SAVEPOINT s{level}"), SqlStatement(f"ROLLBACK TO SAVEPOINT s{level}"),
            SqlStatement(f"RELEASE SAVEPOINT s{level}"),
        )
    return _savepoints[level]


_savepoints: dict[int, tuple[SqlStatement, SqlStatement, SqlStatement]] = {}
