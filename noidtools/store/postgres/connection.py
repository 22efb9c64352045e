"""Connections with PostgreSQL servers: one pool for all minters at an address, statements with a limit of time, and
what the errors of a server mean.  Nothing else in this package handles an exception of psycopg."""

from __future__ import annotations

import logging
import os
import re
import socket
import threading
from contextlib import ExitStack, contextmanager, suppress
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from ...errors import BusyError, NoidError, StoreError, UsageError
from . import sql

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager

    Row = tuple[Any, ...]
    Step = tuple[str, tuple[object, ...]]

# Connections of a process with one address, and how long one that is not needed is kept.
_MOST_CONNECTIONS, _MOST_IDLE_SECONDS = 20, 300.0

# What libpq is told unless the address says otherwise: to try the next server after three seconds, and to notice within
# half a minute that a server is unreachable.
_DEFAULTS = {
    "connect_timeout": "3", "keepalives_idle": "10", "keepalives_interval": "5", "keepalives_count": "3",
    "tcp_user_timeout": "20000", "application_name": "noidtools", "client_encoding": "UTF8",
}

# Parts of the messages with which servers refuse a connection for good, so that trying again is useless.
_HOPELESS = ("authentication failed", "authentication method", "pg_hba.conf", "does not exist", "no password supplied",
             "permission denied for", "does not support SSL", "certificate", "service file", "definition of service")
# What psycopg says where systemd does not let this process use the network, and what is said instead.
_NO_DETAILS, _NO_NETWORK = "no error details available", "this process may not use the network"

# SQLSTATEs: the transaction is to be run again; a lock was not granted in time; the server only reads; the statement
# was cancelled; it is not known whether the transaction was committed.
_RUN_AGAIN, _NOT_LOCKED, _READ_ONLY = ("40001", "40P01"), "55P03", ("25006", "0A000")
_CANCELLED, _OUTCOME_UNKNOWN = "57014", "40003"

_REMEDIES = {
    "42P01": "has no tables of noidtools: create them with the statements of 'noid sql tables'",
    "42501": "does not allow this to the account that uses the minter: grant it the role noid_writer, or to read "
             "noid_reader (see 'noid sql roles')",
    "53100": "has no more room on its disk: nothing was changed; make room and try again",
}

# What looks like a password in an address.  libpq prints the parts that it does not understand, so it is not asked.
_PASSWORD = re.compile(r"//[^@/]*:.*@|password\s*=", re.IGNORECASE | re.DOTALL)

# Seconds from one look at a connection that is being opened, or at statements that run, to the next.
_LOOK = 0.1

# psycopg also logs what is raised here.
logging.getLogger("psycopg").addHandler(logging.NullHandler())


class ServerError(Exception):
    """A statement failed, or a server cannot be used.

    state     the SQLSTATE; empty if the server sent none
    lost      whether the connection was lost, or none was made
    hopeless  whether another attempt would fail in the same way
    """

    def __init__(self, message: str, *, state: str = "", lost: bool = False, hopeless: bool = False) -> None:
        super().__init__(" ".join(message.split()) or "no reason was given")
        self.state = state
        self.lost = lost
        self.hopeless = hopeless

    @property
    def may_run_again(self) -> bool:
        """Whether the same transaction may succeed when it is run again."""
        return self.lost and not self.hopeless or self.state in _RUN_AGAIN or self.is_read_only

    @property
    def is_read_only(self) -> bool:
        return self.state in _READ_ONLY

    @property
    def is_locked(self) -> bool:
        """Whether a lock was not granted in time."""
        return self.state == _NOT_LOCKED

    @property
    def outcome_unknown(self) -> bool:
        """Whether a commit that failed with this error may have taken place."""
        return self.lost or self.state == _OUTCOME_UNKNOWN

    def refusal(self, address: str, verb: str, timeout: float) -> NoidError:
        """The error as a sentence with its remedy; `verb` is what the database could not be, such as 'read'."""
        if _NO_NETWORK in str(self):
            return StoreError(f"the database at {address} cannot be {verb}, because {self}", "if this is the service, "
                              "run 'noid setup --postgres …' again")
        if self.lost:
            message = f"the database at {address} cannot be {verb} now ({self})"
            return StoreError(message) if self.hopeless else BusyError(f"{message}: try again")
        if self.is_locked:
            return BusyError(f"another process has been writing to {address} for over {timeout:g} seconds; try again")
        if self.state == _CANCELLED:
            return BusyError(f"the database at {address} ended a statement ({self}): nothing was changed; try again")
        if self.state in _RUN_AGAIN:
            return BusyError(f"the database at {address} was changed by others again and again ({self}): try again")
        if self.is_read_only:
            return StoreError(f"the database at {address} is a standby, which only reads: write at its primary, or "
                              "name all its servers in the address")
        remedy = _REMEDIES.get(self.state, f"refused a statement ({self}, SQLSTATE {self.state})")
        return StoreError(f"the database at {address} {remedy}")


# -- connections -----------------------------------------------------------------------------------------------------


class _Connection(psycopg.Connection[Any]):
    """A connection of a pool, with why the last one could not be made, by connection strings: the pool only logs it."""

    failures: dict[str, psycopg.Error] = {}

    @classmethod
    def connect(cls, conninfo: str = "", **options: Any) -> _Connection:
        try:
            connection = super().connect(conninfo, **options)
        except psycopg.Error as error:
            cls.failures[conninfo] = error
            raise
        cls.failures.pop(conninfo, None)
        return connection


class Session:
    """A connection that was taken from a pool, to be given back by `end`."""

    def __init__(self, pool: Pool, connection: _Connection) -> None:
        self._pool = pool
        self._connection = connection
        self._warned = False
        # Pipeline mode, in which a session stays once it has sent several statements together.
        self._mode = ExitStack()
        self._pipeline: psycopg.Pipeline | None = None
        connection.add_notice_handler(self._on_notice)

    @property
    def server(self) -> str:
        """The server's address, for people."""
        return f"{self._connection.info.host}:{self._connection.info.port}"

    def _on_notice(self, notice: psycopg.errors.Diagnostic) -> None:
        self._warned = self._warned or notice.severity_nonlocalized == "WARNING"

    def run(self, steps: Sequence[Step], seconds: float, *, large: bool = False) -> list[list[Row]]:
        """Run statements in one round trip of at most some seconds; returns the rows of each.

        Large ones are sent one by one: the sync of a pipeline would wait for results before all was sent.  If one fails
        those after it are not run, and ServerError is raised: the session is of no use then.
        """
        connection = self._connection
        try:
            with self._pool.time_limit(connection, seconds):
                if large:
                    self._mode.close()
                    self._pipeline = None
                elif len(steps) > 1 and self._pipeline is None:
                    self._pipeline = self._mode.enter_context(connection.pipeline())
                cursors = [connection.execute(statement.encode(), parameters, binary=True)
                           for statement, parameters in steps]
                if self._pipeline is not None:
                    self._pipeline.sync()
                return [cursor.fetchall() if cursor.description else [] for cursor in cursors]
        except psycopg.Error as error:
            lost = connection.closed
            self.close()
            raise ServerError(error.diag.message_primary or str(error), state=error.sqlstate or "",
                              lost=lost) from error
        except BaseException:  # an interruption: the answer must not be taken for that of the next statement
            self.close()
            raise

    def commit(self, steps: Sequence[Step], seconds: float, *, large: bool = False) -> list[list[Row]]:
        """Run statements and a commit.  A warning, such as that a standby did not confirm the commit, counts as a lost
        connection."""
        self._warned = False  # earlier warnings do not concern the commit
        rows = self.run([*steps, (sql.COMMIT, ())], seconds, large=large)
        if self._warned:
            self.close()
            raise ServerError("the server warned that the commit may not be safe", lost=True)
        return rows

    @property
    def closed(self) -> bool:
        return bool(self._connection.closed)

    def close(self) -> None:
        """Close the connection: a transaction is rolled back by the server."""
        self._connection.close()

    def end(self) -> None:
        """Give the connection back; to be called once, when no transaction is open or the session is closed.

        psycopg leaves pipeline mode with a Flush after the last Sync.  In a transaction, the server would not notice
        after it that the session is idle, and would never end it.
        """
        try:
            with self._pool.time_limit(self._connection, 1.0):
                self._mode.close()
        except psycopg.Error:
            self.close()
        self._connection.remove_notice_handler(self._on_notice)
        self._pool.give(self._connection)


class Pool:
    """Connections with the servers of an address, shared by all minters of a process that are there."""

    def __init__(self, address: str, *, writes: bool) -> None:
        """With `writes`, one of several servers is used that can be written to, unless the address says otherwise."""
        self.address = address
        self.users = 0
        given = _parsed(address)
        defaults = {name: value for name, value in _DEFAULTS.items() if name not in given}
        hosts = str(given.get("host") or given.get("hostaddr") or os.environ.get("PGHOST", ""))
        self.has_several_servers = "," in hosts
        if writes and self.has_several_servers and given.get("target_session_attrs", "any") == "any":
            defaults["target_session_attrs"] = "read-write"  # else the first that answers is used, perhaps a standby
        self._conninfo = make_conninfo(address, **defaults)
        self._watchdog = _Watchdog()
        # The pool gives up at once where it cannot connect, because its users wait with limits of their own.
        self._connections = ConnectionPool(
            self._conninfo, connection_class=_Connection, kwargs={"autocommit": True}, configure=_configure, min_size=0,
            max_size=_MOST_CONNECTIONS, max_idle=_MOST_IDLE_SECONDS, reconnect_timeout=0, num_workers=1, open=True)

    def take(self, deadline: float) -> Session:
        """A session; it may have been lost meanwhile.  Raises ServerError."""
        while True:
            try:
                return Session(self, self._connections.getconn(max(0.01, min(_LOOK, deadline - monotonic()))))
            except PoolClosed:
                raise ServerError("it was closed by another thread", lost=True) from None
            except PoolTimeout:
                failure = _Connection.failures.pop(self._conninfo, None)
            if failure is not None and _NO_DETAILS in str(failure) and not _may_use_network():
                raise ServerError(_NO_NETWORK, lost=True, hopeless=True)
            if failure is not None:
                raise ServerError(str(failure), lost=True, hopeless=_is_hopeless(str(failure)))
            if monotonic() >= deadline:
                raise ServerError("no connection was made in time", lost=True)

    def give(self, connection: _Connection) -> None:
        self._connections.putconn(connection)

    def drain(self) -> None:
        """Replace all connections, after one of them was lost."""
        self._connections.drain()

    def close(self) -> None:
        self._connections.close()

    def time_limit(self, connection: _Connection, seconds: float) -> AbstractContextManager[None]:
        """Ends the connection if the block takes longer."""
        return self._watchdog.limit(connection, seconds)


def _configure(connection: _Connection) -> None:
    connection.execute(sql.CONFIGURE)


def _is_hopeless(failure: str) -> bool:
    """Whether all servers of an address refused a connection for good; psycopg lists them if there are several."""
    each = [line for line in failure.splitlines() if line.startswith("- ")] or [failure]
    return all(any(part in one for part in _HOPELESS) for one in each)


def _may_use_network() -> bool:
    """Whether this process may make sockets for other machines."""
    try:
        socket.socket(socket.AF_INET, socket.SOCK_STREAM).close()
    except OSError:
        return False
    return True


class _Watchdog:
    """Ends connections whose server does not answer in time; psycopg would wait without a limit.

    A thread looks at the statements that run, and ends when there are none.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._deadlines: dict[_Connection, float] = {}
        self._looks = False

    @contextmanager
    def limit(self, connection: _Connection, seconds: float) -> Iterator[None]:
        with self._lock:
            self._deadlines[connection] = monotonic() + seconds
            begin, self._looks = not self._looks, True
        if begin:
            threading.Thread(target=self._look, name="noidtools-watchdog", daemon=True).start()
        try:
            yield
        finally:
            with self._lock:
                self._deadlines.pop(connection, None)

    def _look(self) -> None:
        while True:
            sleep(_LOOK)
            with self._lock:
                if not self._deadlines:
                    self._looks = False
                    return
                for connection in [each for each, deadline in self._deadlines.items() if deadline < monotonic()]:
                    del self._deadlines[connection]
                    _shut_down(connection)


def _shut_down(connection: _Connection) -> None:
    """End the traffic of a connection, so that the thread that waits for its server goes on with an error."""
    with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(connection.fileno())) as copy:
        copy.shutdown(socket.SHUT_RDWR)


# -- pools and addresses ---------------------------------------------------------------------------------------------

_guard = threading.Lock()
# By process, address and whether it is written: a child must not use the connections of its parent.
_pools: dict[tuple[int, str, bool], Pool] = {}


def open_pool(address: str, *, writes: bool = True) -> Pool:
    """The pool for an address; to be given back by `close_pool`."""
    with _guard:
        key = os.getpid(), address, writes
        if key not in _pools:
            _pools[key] = Pool(address, writes=writes)
        _pools[key].users += 1
        return _pools[key]


def close_pool(pool: Pool) -> None:
    """End the use of a pool; its last user closes it."""
    with _guard:
        pool.users -= 1
        key = next((key for key, known in _pools.items() if known is pool and not pool.users), None)
        if key is None or key[0] != os.getpid():
            return
        del _pools[key]
    pool.close()


@contextmanager
def opened_session(address: str, deadline: float) -> Iterator[Session]:
    """A session for one purpose, which ends with the connection; a transaction that is still open is rolled back."""
    pool = open_pool(address)
    try:
        session = pool.take(deadline)
        try:
            yield session
        finally:
            session.close()
            session.end()
    finally:
        close_pool(pool)


def _parsed(address: str) -> dict[str, Any]:
    try:
        return dict(conninfo_to_dict(address))
    except psycopg.Error as error:
        reason = "it holds a password" if _PASSWORD.search(address) else " ".join(str(error).split())
        raise StoreError(f"the file 'engine' has no address of a PostgreSQL server ({reason}): write it as in "
                         "postgresql://host/database") from None


def ensure_no_password(address: str, what: str) -> None:
    """Raise UsageError for an address that is no connection string of PostgreSQL, or holds a password."""
    try:
        options = {"password": "yes"} if _PASSWORD.search(address) else conninfo_to_dict(address)
    except psycopg.Error as error:
        raise UsageError(f"the {what} is not the address of a PostgreSQL server ({' '.join(str(error).split())}): "
                         "write it as in postgresql://host/database") from None
    if options.get("password") or options.get("sslpassword"):
        raise UsageError(f"the {what} holds a password, which would be stored in the clear: put it into the file "
                         ".pgpass of the account that uses the minter, and leave it out here")
