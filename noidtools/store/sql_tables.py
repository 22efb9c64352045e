"""The tables of minters in a database server, and roles for the accounts that use them.

They are apart from the engine because commands print them and views are made of them, where no psycopg is needed.
"""

from __future__ import annotations

# `tbl` is the byte that names a table of the store.  Rows are found by the number of the minter, so that a restore
# exchanges two minters by exchanging names.
TABLES = """\
CREATE TABLE IF NOT EXISTS noid_minters (
    name text PRIMARY KEY,
    id integer NOT NULL UNIQUE,
    version bigint NOT NULL
);
CREATE TABLE IF NOT EXISTS noid_data (
    minter integer NOT NULL,
    tbl bytea NOT NULL,
    key bytea NOT NULL,
    value bytea NOT NULL,
    PRIMARY KEY (minter, tbl, key)
);
"""

# PostgreSQL's indexes refuse keys over 2,704 bytes.  Keys as long as this or longer are stored shortened, with the true
# key in front of the value: see store/keys.py.
LONGEST_KEY = 1024

_TRUE_LENGTH = " + ".join(f"get_byte(value, {place}) * {256 ** (3 - place)}" for place in range(4))
# The rows of noid_data with their true keys and values.
TRUE_ROWS = f"""\
(SELECT minter, tbl,
    CASE WHEN length(key) < {LONGEST_KEY} THEN key ELSE substring(value FROM 5 FOR {_TRUE_LENGTH}) END AS key,
    CASE WHEN length(key) < {LONGEST_KEY} THEN value ELSE substring(value FROM 5 + {_TRUE_LENGTH}) END AS value
FROM noid_data)"""

# Locking a row needs the right to update it.  Anyone who may read the tables may read digests of peppers.
ROLES = """\
CREATE ROLE noid_reader;
GRANT SELECT ON noid_minters, noid_data TO noid_reader;
CREATE ROLE noid_writer;
GRANT SELECT, INSERT, UPDATE, DELETE ON noid_minters, noid_data TO noid_writer;
"""
