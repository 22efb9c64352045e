"""The statements that read and write minters in PostgreSQL; their tables are in store/sql_tables.py.

Nothing here is refused by CockroachDB or YugabyteDB: no extensions, no stored procedures, no advisory locks.
Statements that read name the minter by its name and return its number and its version, so that each tells which state
of the minter it has read.
"""

from __future__ import annotations

# The table of the store that lists commits, by their versions; minters name their tables by letters.
COMMITS = b"\0"

# -- sessions and transactions ---------------------------------------------------------------------------------------

# A process that stops in a transaction loses its lock after a minute.  Statements have a limit of time at the client,
# and waiting for a lock has one of its own.  Nothing is acknowledged that is not on disk.
CONFIGURE = """\
SELECT set_config('idle_in_transaction_session_timeout', '60000', false), set_config('statement_timeout', '0', false),
    set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on'
               ELSE current_setting('synchronous_commit') END, false)"""
BEGIN_SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
# A read blocks nobody, so it may be idle for any time.
NO_IDLE_LIMIT = "SET LOCAL idle_in_transaction_session_timeout = 0"
BEGIN_WRITE = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
COMMIT, ROLLBACK = "COMMIT", "ROLLBACK"
LOCK_TIMEOUT = "SELECT set_config('lock_timeout', %b::text, true)"
LOCK = "SELECT id, version FROM noid_minters WHERE name = %b::text FOR UPDATE"
LOCK_NUMBER = "SELECT id, version FROM noid_minters WHERE id = %b FOR UPDATE"

# -- reading ---------------------------------------------------------------------------------------------------------

VERSION = "SELECT id, version FROM noid_minters WHERE name = %b::text"


def get(count: int) -> str:
    """Reads a few places, whose values are columns of one row; twice as fast as GET_MANY.  Parameters: table and key of
    each, and the name of the minter."""
    value = "(SELECT value FROM noid_data WHERE minter = m.id AND tbl = %b AND key = %b)"
    return f"SELECT m.id, m.version, {', '.join([value] * count)} FROM noid_minters m WHERE m.name = %b::text"


# Many places.  Subqueries make the server look each key up in the index, however wrong its statistics are.
GET_MANY = """\
SELECT m.id, m.version, (SELECT d.value FROM noid_data d WHERE d.minter = m.id AND d.tbl = p.tbl AND d.key = p.key)
FROM noid_minters m, unnest(%b::bytea[], %b::bytea[]) WITH ORDINALITY AS p (tbl, key, n)
WHERE m.name = %b::text ORDER BY p.n"""


def scan(*, ended: bool, reverse: bool) -> str:
    """Reads rows in the order of their keys.  Parameters: the table, the least key, the key before which the scan ends
    (if `ended`), the number of rows, and the name of the minter."""
    condition, direction = "AND key < %b" if ended else "", "DESC" if reverse else "ASC"
    return f"""\
SELECT m.id, m.version, d.key, d.value FROM noid_minters m LEFT JOIN LATERAL (
    SELECT key, value FROM noid_data WHERE minter = m.id AND tbl = %b AND key >= %b {condition}
    ORDER BY minter {direction}, tbl {direction}, key {direction} LIMIT %b
) d ON true WHERE m.name = %b::text"""


# All rows of a minter after a table and a key, but those of one table.
DUMP = """\
SELECT tbl, key, value FROM noid_data WHERE minter = %b AND (tbl, key) > (%b, %b) AND tbl <> %b
ORDER BY minter, tbl, key LIMIT %b"""
SIZE = "SELECT pg_total_relation_size('noid_data') + pg_total_relation_size('noid_minters')"

# -- what the server says of itself ----------------------------------------------------------------------------------

IS_READ_ONLY = "SELECT current_setting('transaction_read_only') = 'on'"
SERVER = """\
SELECT m.version, current_setting('server_version'), current_setting('transaction_read_only') = 'on',
    current_setting('synchronous_standby_names'), current_setting('synchronous_commit'),
    (SELECT count(*) FROM pg_stat_replication)
FROM noid_minters m WHERE m.name = %b::text"""
# If all that was received is replayed, the standby is not behind as far as it knows; else it is behind by the age of
# the last transaction that was replayed.
STANDBY = """\
SELECT m.version, pg_is_in_recovery(),
    CASE WHEN pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() AND r.receivers > 0 THEN 0
         ELSE coalesce(extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()), 0) END::float8,
    r.receivers
FROM noid_minters m, (SELECT count(*) AS receivers FROM pg_stat_wal_receiver) r WHERE m.name = %b::text"""

# -- writing ---------------------------------------------------------------------------------------------------------

PUT_MANY = """\
INSERT INTO noid_data (minter, tbl, key, value)
SELECT %b::integer, p.tbl, p.key, p.value FROM unnest(%b::bytea[], %b::bytea[], %b::bytea[]) AS p (tbl, key, value)
ON CONFLICT (minter, tbl, key) DO UPDATE SET value = excluded.value"""
DELETE_MANY = """\
DELETE FROM noid_data d USING unnest(%b::bytea[], %b::bytea[]) AS p (tbl, key)
WHERE d.minter = %b AND d.tbl = p.tbl AND d.key = p.key"""
TOKEN = "SELECT value FROM noid_data WHERE minter = %b AND tbl = %b AND key = %b"
DELETE_COMMITS = "DELETE FROM noid_data WHERE minter = %b AND tbl = %b AND key < %b"
SET_VERSION = "UPDATE noid_minters SET version = %b WHERE id = %b"

# -- minters as wholes -----------------------------------------------------------------------------------------------

HAS_TABLES = "SELECT count(*) FROM information_schema.tables WHERE table_name IN ('noid_minters', 'noid_data')"
INSERT_MINTER = "INSERT INTO noid_minters (name, id, version) VALUES (%b::text, %b, 0)"
RENAME = "UPDATE noid_minters SET name = %b::text WHERE name = %b::text"
DELETE_ROWS = "DELETE FROM noid_data WHERE minter = %b"
DELETE_MINTER = "DELETE FROM noid_minters WHERE id = %b"
