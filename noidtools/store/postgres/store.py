"""A minter in PostgreSQL as a store: where it is read and written, when work is run again, and its state."""

from __future__ import annotations

import os
import threading
from time import monotonic, sleep
from typing import TYPE_CHECKING

from ...errors import BusyError, NoidError, NoMinterError
from ..base import BaseStore, StoreStatus
from ..folders import readme_of, remove_unfinished
from ..keys import true_item
from ..lmdb.backup import write_backup
from ..locks import TIMEOUT
from ..sql_tables import LONGEST_KEY
from . import sql
from .connection import ServerError, opened_session
from .engine_file import read_engine_file
from .reader import STATEMENT_TIMEOUT, MinterConnection, PostgresReader, StaleSnapshotError
from .writer import PostgresWriter, Savepoint, begin_write, commits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .connection import Row, Step
    from .engine_file import EngineFile
    from .reader import Version

# Seconds that a resolver waits for an answer, for which it tries again, and for which it may use a version again.
_RESOLVER_ANSWER, _RESOLVER_TIMEOUT, _RESOLVER_AGE = 2.0, 6.0, 0.9
# Seconds for which resolvers read the primary after the replica was lost, which takes time to be noticed.
_WITHOUT_REPLICA = 5.0
# Seconds in which a server must say how it is.
_STATUS_TIMEOUT = 2.0
# Seconds from one attempt to the next at most.
_LONGEST_PAUSE = 0.5
# How many rows a backup reads at once, and in how many seconds.
_PAGE, _PAGE_TIMEOUT = 5_000, 120.0

SYNCHRONOUS = "a commit is on the disks of this server and of a standby: a failover loses nothing"
IN_MEMORY = ("a commit is on the disk of this server and in the memory of a standby (synchronous_commit = "
             "remote_write): a failover loses nothing, unless both lose power at once")
ASYNCHRONOUS = ("a commit is on the disk of this server alone: a failover to a standby can lose the last changes, and "
                "identifiers that were given can be given again")
ALONE = "a commit is on the disk of this server, which has no standby"


class _NextRead(threading.local):
    """How a thread runs its next read: in a snapshot; where the last one was not; and where that was."""

    snapshot = False
    elsewhere = False
    last: MinterConnection | None = None


class PostgresStore(BaseStore):
    """A minter in a database server."""

    def __init__(self, location: str, *, resolving: bool = False) -> None:
        """With `resolving` the replica is read, if there is one, and a version may be up to a second old."""
        super().__init__(location)
        self._resolving = resolving
        self._lock = threading.Lock()
        self._file: EngineFile | None = None
        self._primary: MinterConnection | None = None
        self._replica: MinterConnection | None = None
        self._replica_from = 0.0
        self._next = _NextRead()

    # -- opening and closing ---------------------------------------------------------------------------

    def _connections(self) -> tuple[MinterConnection, MinterConnection | None]:
        """Where the minter is written, and its replica; the file that names them is read again if it is another."""
        with self._lock:
            if self._file is None or self._primary is None or not self._file.is_in_place:
                self._disconnect()
                self._file = file = read_engine_file(self.location)
                self._primary = MinterConnection(file.address, file.minter)
                self._replica = MinterConnection(file.read, file.minter, writes=False) if file.read else None
            self.last_used = monotonic()
            return self._primary, self._replica

    def _disconnect(self) -> None:
        connections = self._primary, self._replica
        self._primary = self._replica = self._file = None
        for connection in connections:
            if connection is not None:
                connection.close()

    def suspend(self) -> bool:
        if self._state.reader is not None:
            return False
        self._close()
        return True

    def _close(self) -> None:
        with self._lock:
            self._disconnect()

    def _source(self, *, elsewhere: bool = False) -> MinterConnection:
        """Where the minter is read: a resolver prefers the replica, all others the primary."""
        primary, replica = self._connections()
        prefers_replica = self._resolving and monotonic() >= self._replica_from
        return replica if replica is not None and prefers_replica != elsewhere else primary

    # -- transactions ----------------------------------------------------------------------------------

    def _begin_read(self) -> PostgresReader:
        wanted = self._next
        snapshot, elsewhere = wanted.snapshot, wanted.elsewhere
        wanted.snapshot = wanted.elsewhere = False
        wanted.last = self._source(elsewhere=elsewhere)
        seconds = _RESOLVER_ANSWER if self._resolving else STATEMENT_TIMEOUT
        return PostgresReader(wanted.last, seconds, snapshot=snapshot)

    def _begin_write(self, timeout: float) -> PostgresWriter:
        self._next.last = None
        return begin_write(self._connections()[0], timeout)

    def _retry(self, error: Exception, attempt: int, deadline: float) -> bool:
        if isinstance(error, StaleSnapshotError):
            self._next.snapshot = True
            return True
        if not isinstance(error, ServerError) or not error.may_run_again:
            return False
        last = self._next.last
        if error.lost and last is not None:
            last.pool.drain()
            if last is self._replica:
                self._replica_from = monotonic() + _WITHOUT_REPLICA
        if self._resolving:
            deadline += _RESOLVER_TIMEOUT - TIMEOUT
        pause = min(0.01 * 2**attempt, _LONGEST_PAUSE) if attempt > 1 else 0.0
        if monotonic() + pause >= deadline:
            return False
        sleep(pause)
        # The first connection may have been idle for long; if no other can be made, the replica is read.
        self._next.elsewhere = error.lost and last is self._primary and attempt > 1
        return True

    def _refusal(self, error: Exception) -> NoidError | None:
        if isinstance(error, StaleSnapshotError):
            return BusyError(f"{self.location} was changed by others while it was read: try again")
        if not isinstance(error, ServerError):
            return None
        minter = self._next.last or self._primary
        return error.refusal(minter.pool.address if minter else self.location, "used", TIMEOUT)

    # -- what it is ------------------------------------------------------------------------------------

    def version(self) -> object:
        self._ensure_usable()
        reader = self._state.reader
        if isinstance(reader, PostgresReader):
            return reader.version()
        if isinstance(reader, (PostgresWriter, Savepoint)):
            return reader.version
        latest = self._source().latest if self._resolving else None
        if latest is not None and monotonic() - latest[1] < _RESOLVER_AGE:
            return latest[0]
        return self._read_version()

    def _read_version(self) -> Version:
        return self.read(lambda reader: reader.version())  # type: ignore[attr-defined, no-any-return]

    def identity(self) -> object:
        """The file that names the minter, and the number of its rows as it was read last."""
        self._ensure_usable()
        reader = self._state.reader
        if isinstance(reader, (PostgresWriter, Savepoint)):
            number: int | None = reader.version[0]
        elif isinstance(reader, PostgresReader):
            number = reader.minter.number or reader.version()[0]
        else:
            number = self._source().number or self._read_version()[0]
        return (self._file.inode if self._file else None), number

    @property
    def writable(self) -> bool:
        """Whether the server at the address for writing accepts writes now."""
        try:
            return not _asked(self._connections()[0], sql.IS_READ_ONLY)[1][0]
        except (ServerError, NoidError):
            return False

    def backup(self, destination: str) -> int:
        self._ensure_usable()
        file = read_engine_file(self.location)
        remove_unfinished(os.path.realpath(self.location))  # a killed restore leaves a whole copy
        try:
            return write_backup(destination, _all_items(file), readme_of(self.location))
        except ServerError as error:
            raise error.refusal(file.address, "read", TIMEOUT) from error

    # -- the state of the servers ----------------------------------------------------------------------

    def status(self) -> StoreStatus:
        self._ensure_usable()
        primary, replica = self._connections()
        figures: dict[str, float] = {}
        lines: list[tuple[str, str]] = []
        written: int | None = None
        server = ""
        try:
            server, row = _asked(primary, sql.SERVER, primary.name)
            written = commits(row[0])
            figures["size_bytes"] = float(_asked(primary, sql.SIZE)[1][0])
            role = "a standby, which only reads" if row[2] else "the primary"
            lines.append(("Engine", f"PostgreSQL {row[1]} at {server}, {role}"))
            if not row[2]:
                lines.append(("Durability", durability(*row[3:])))
        except (ServerError, NoMinterError) as error:
            lines.append(("Engine", f"PostgreSQL at {primary.pool.address}, which cannot be reached ({error})"))
        if replica is not None:
            state, seconds = _replica_state(replica, written)
            lines.append(("Replica", state))
            figures |= {} if seconds is None else {"replica_lag_seconds": seconds}
        # The path of a Unix socket begins with a slash.
        return StoreStatus(figures, lines, remote=bool(server) and not server.startswith("/"))


def _all_items(file: EngineFile) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Tables, keys and values of a minter in one transaction of the server."""
    with opened_session(file.address, monotonic() + TIMEOUT) as session:
        begin: list[Step] = [(sql.BEGIN_SNAPSHOT, ()), (sql.NO_IDLE_LIMIT, ()), (sql.VERSION, (file.minter,))]
        found = session.run(begin, _PAGE_TIMEOUT)[-1]
        if not found:
            raise NoMinterError(f"the database at {file.address} has no minter {file.minter!r}")
        number, table, key = found[0][0], b"", b""
        while True:
            rows = session.run([(sql.DUMP, (number, table, key, sql.COMMITS, _PAGE))], _PAGE_TIMEOUT)[0]
            for table, key, value in rows:
                yield (table, *true_item(key, value, LONGEST_KEY))
            if len(rows) < _PAGE:
                return


def durability(standby_names: str, synchronous_commit: str, standbys: int) -> str:
    """What a commit survives, from two settings of the server and the number of its standbys."""
    if standby_names and synchronous_commit not in ("local", "off"):
        return IN_MEMORY if synchronous_commit == "remote_write" else SYNCHRONOUS
    return ASYNCHRONOUS if standbys else ALONE


def _replica_state(replica: MinterConnection, written: int | None) -> tuple[str, float | None]:
    """What is said of a replica, and by how many seconds it is behind; `written` counts the commits at the primary."""
    try:
        server, (version, is_standby, seconds, receivers) = _asked(replica, sql.STANDBY, replica.name)
    except (ServerError, NoMinterError) as error:
        return f"{replica.pool.address} cannot be reached ({error}): the primary is read", None
    if not is_standby:
        return f"{server} is no standby", None
    changes = "" if written is None else f" and {max(0, written - commits(version))} changes"
    state = "" if receivers else ", and not connected to its primary"
    return f"{server} is {seconds:.1f} seconds{changes} behind{state}", seconds


def _asked(minter: MinterConnection, statement: str, *parameters: object) -> tuple[str, Row]:
    """The server that answered, and the first row of a statement."""
    for attempt in (1, 2):
        session = minter.pool.take(monotonic() + _STATUS_TIMEOUT)
        try:
            rows = session.run([(statement, parameters)], _STATUS_TIMEOUT)[0]
            if not rows:
                raise NoMinterError(f"it has no minter {minter.name!r}")
            return session.server, rows[0]
        except ServerError as error:
            minter.pool.drain()
            if attempt == 2 or not error.lost:  # the connection may have been idle for long
                raise
        finally:
            session.end()
    raise AssertionError


