"""Sessions with a PostgreSQL server: statements sent together in one round trip, waited for until a deadline.

The low-level interface of psycopg is used (`psycopg.pq`, libpq's own functions), because every wait here has a limit,
and because parameters and results are bytes as they are.  A session stays in pipeline mode.
"""

from __future__ import annotations

import select
import struct
from time import monotonic

import psycopg
from psycopg import pq

from ...errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from psycopg.pq.abc import PGconn, PGresult
    Row = tuple[bytes | None, ...]
    Step = tuple["SqlStatement", Sequence[bytes | None]]
    OnFailure = Callable[["SqlError"], None]

# Seconds after which the next of several servers is tried.
CONNECT_TIMEOUT = 3.0

# What libpq is told unless the address says otherwise: to notice within half a minute that a server is unreachable.
_DEFAULTS = {
    "keepalives_idle": "10", "keepalives_interval": "5", "keepalives_count": "3", "tcp_user_timeout": "20000",
    "application_name": "noidtools", "client_encoding": "UTF8",
}

# Parts of the messages with which servers refuse a session for good, so that trying again is useless.
_HOPELESS = ("authentication failed", "authentication method", "pg_hba.conf", "does not exist", "no password supplied",
             "permission denied for", "does not support SSL", "certificate", "service file", "definition of service")

BYTEA, INT8, TEXT, BYTEA_ARRAY = 17, 20, 25, 1001

# Parameters and results are sent in binary form.
_BINARY = 1

# What libpq returns for a statement, as plain numbers: they are compared for every result.
_TUPLES_OK, _COMMAND_OK = int(pq.ExecStatus.TUPLES_OK), int(pq.ExecStatus.COMMAND_OK)
_PIPELINE_SYNC, _PIPELINE_ABORTED = int(pq.ExecStatus.PIPELINE_SYNC), int(pq.ExecStatus.PIPELINE_ABORTED)
_IN_TRANSACTION = (int(pq.TransactionStatus.INTRANS), int(pq.TransactionStatus.INERROR))


class SqlStatement:
    """A statement that a session prepares when it first runs it; `types` are those of its parameters."""

    __slots__ = ("name", "sql", "types", "formats")
    _count = 0

    def __init__(self, sql: str, *types: int) -> None:
        SqlStatement._count += 1
        self.name = b"noid%d" % SqlStatement._count
        self.sql = sql.encode()
        self.types = types
        self.formats = [_BINARY] * len(types)


class SqlError(Exception):
    """A statement failed; `state` is its SQLSTATE."""

    def __init__(self, state: str, message: str) -> None:
        super().__init__(message)
        self.state = state


class LostError(Exception):
    """The server cannot be reached, ended the session, or did not answer in time.  `hopeless`: it never will."""

    def __init__(self, message: str, *, hopeless: bool = False) -> None:
        super().__init__(message)
        self.hopeless = hopeless


class ServerSession:
    """A session with a server.  Any LostError leaves it closed."""

    def __init__(self, address: str, deadline: float, *, writes: bool = True) -> None:
        """Connect to the first of the servers in an address that answers as the address demands.  Raises LostError.

        Where the address has several servers and demands nothing, it is one that can be written to, unless nothing is
        to be written there.
        """
        self._warned = False
        self._prepared: set[bytes] = set()
        # What was sent and is not read yet, each up to its synchronization: the names of statements to be prepared, and
        # what to do if it fails, None if that matters to the statements after it.
        self._unread: list[tuple[list[bytes], OnFailure | None]] = []
        self._pg = _connected(address, deadline, writes=writes)
        self._pg.nonblocking = 1
        self._pg.notice_handler = self._on_notice
        self._pg.enter_pipeline_mode()
        self._descriptor = self._pg.socket
        self._poll = select.poll()
        self._poll.register(self._descriptor, select.POLLIN)

    @property
    def server(self) -> str:
        """The server's address, for people."""
        host = self._pg.host.decode("utf-8", "replace")
        return f"{host}:{self._pg.port.decode()}"

    def take_warning(self) -> bool:
        """Whether the server warned of something since this was called last."""
        warned, self._warned = self._warned, False
        return warned

    def _on_notice(self, result: PGresult) -> None:
        if result.error_field(pq.DiagnosticField.SEVERITY_NONLOCALIZED) == b"WARNING":
            self._warned = True

    def run(self, steps: Sequence[Step], deadline: float) -> list[list[Row]]:
        """Run statements in one round trip; returns the rows of each.

        If one fails those after it are not run, and SqlError is raised; an open transaction is then to be rolled back.
        """
        try:
            self._send(steps)
            if self._pg.flush():
                self._flush(deadline)
            failed = self._skip_unread(deadline) if self._unread else None
            rows, failure = self._read_results(deadline)
        except psycopg.Error as error:
            raise self._lost(str(error)) from None
        except BaseException:
            # An exception in between, such as that of a signal, leaves results unread, which must not be taken for
            # those of the next statement.
            self.close()
            raise
        failed = failed or failure
        if failed is not None:
            if failed.state[:2] in _ENDED or failed.state in _ENDED:
                raise self._lost(str(failed))
            raise failed
        return rows

    def send(self, steps: Sequence[Step], deadline: float, on_failure: OnFailure = lambda error: None) -> None:
        """Send statements whose results do not matter; they are read before those of the next ones.  `on_failure` is
        called then, if they failed."""
        try:
            self._send(steps, on_failure)
            self._unread.append(([], on_failure))
            if self._pg.flush():
                self._flush(deadline)
        except (psycopg.Error, LostError):
            self.close()
        except BaseException:
            self.close()
            raise

    def _send(self, steps: Sequence[Step], on_failure: OnFailure | None = None) -> None:
        pg, prepared = self._pg, self._prepared
        for statement, _ in steps:
            if statement.name not in prepared:
                self._prepare({statement.name: statement for statement, _ in steps}, on_failure)
                break
        for statement, parameters in steps:
            pg.send_query_prepared(statement.name, parameters, statement.formats, _BINARY)
        pg.pipeline_sync()

    def _prepare(self, statements: dict[bytes, SqlStatement], on_failure: OnFailure | None) -> None:
        """Prepare those of some statements that the session does not know yet."""
        new = [name for name in statements if name not in self._prepared]
        for name in new:
            self._pg.send_prepare(name, statements[name].sql, statements[name].types)
        self._pg.pipeline_sync()
        self._unread.append((new, on_failure))
        self._prepared.update(new)

    def _flush(self, deadline: float) -> None:
        """Send what the system did not take at once, and read what the server sends meanwhile."""
        self._poll.modify(self._descriptor, select.POLLIN | select.POLLOUT)
        try:
            while self._pg.flush():
                self._wait(deadline)
                self._pg.consume_input()
        finally:
            self._poll.modify(self._descriptor, select.POLLIN)

    def _skip_unread(self, deadline: float) -> SqlError | None:
        """Read the results that come before the wanted ones; returns why a statement could not be prepared."""
        failed = None
        while self._unread:
            _, failure = self._read_results(deadline)
            prepared, on_failure = self._unread.pop(0)
            if failure is not None:
                self._prepared.difference_update(prepared)
                if on_failure is None:
                    failed = failed or failure
                else:
                    on_failure(failure)
        return failed

    def _read_results(self, deadline: float) -> tuple[list[list[Row]], SqlError | None]:
        """The results up to the next synchronization."""
        pg, rows, failed = self._pg, [], None
        while True:
            while pg.is_busy():
                self._wait(deadline)
                pg.consume_input()
            result = pg.get_result()
            if result is None:
                if pg.status == pq.ConnStatus.BAD:
                    raise self._lost("the server closed the connection")
                continue
            status = result.status
            if status == _TUPLES_OK:
                rows.append(_rows(result))
            elif status == _PIPELINE_SYNC:
                return rows, failed
            elif status == _COMMAND_OK:
                rows.append([])
            elif failed is None and status != _PIPELINE_ABORTED:
                failed = _sql_error(result)

    def _wait(self, deadline: float) -> None:
        """Wait until the server sends more, or during `_flush` takes more."""
        if not self._poll.poll(max(0.0, 1000 * (deadline - monotonic()))):
            raise self._lost("the server did not answer in time")

    def take_notifications(self) -> list[bytes]:
        """What the server announced since this was called last, without waiting.  Raises LostError if it ended the
        session."""
        found = []
        try:
            if self._poll.poll(0):
                self._pg.consume_input()
            while (notification := self._pg.notifies()) is not None:
                found.append(notification.extra)
        except psycopg.Error as error:
            raise self._lost(str(error)) from None
        return found

    def _lost(self, message: str) -> LostError:
        self.close()
        return LostError(_one_line(message))

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open, as far as answers of the server were read."""
        return self._pg.transaction_status in _IN_TRANSACTION

    @property
    def closed(self) -> bool:
        return self._pg.status == pq.ConnStatus.BAD

    def close(self) -> None:
        self._pg.notice_handler = None
        self._pg.finish()


# SQLSTATEs, or their classes, after which a session is of no use: the connection failed, the server shuts down or
# starts up, or it ended the session.
_ENDED = ("08", "57P01", "57P02", "57P03", "57P05", "25P03")


def _rows(result: PGresult) -> list[Row]:
    value, columns = result.get_value, range(result.nfields)
    return [tuple([value(row, column) for column in columns]) for row in range(result.ntuples)]


def _sql_error(result: PGresult) -> SqlError:
    state = (result.error_field(pq.DiagnosticField.SQLSTATE) or b"").decode()
    return SqlError(state, _one_line(result.error_field(pq.DiagnosticField.MESSAGE_PRIMARY) or result.error_message))


def _one_line(message: str | bytes) -> str:
    text = message.decode("utf-8", "replace") if isinstance(message, bytes) else message
    return " ".join(text.split()) or "no reason was given"


# -- connecting ------------------------------------------------------------------------------------------------------


def ensure_no_password(address: str, what: str) -> None:
    """Raise UsageError for an address that is no connection string of PostgreSQL, or holds a password."""
    try:
        options = pq.Conninfo.parse(address.encode("utf-8", "surrogateescape"))
    except psycopg.Error as error:
        raise UsageError(f"the {what} is no address of a PostgreSQL server ({_one_line(str(error))}): write it as in "
                         "postgresql://host/database") from None
    if any(option.keyword in (b"password", b"sslpassword") and option.val for option in options):
        raise UsageError(f"the {what} holds a password, which would be stored in the clear: put it into the file "
                         ".pgpass of the account that uses the minter, and leave it out here")


def has_several_servers(address: str) -> bool:
    """Whether an address names more than one server."""
    try:
        return len({_place(attempt) for attempt in _attempts(address)}) > 1
    except LostError:
        return False


def _place(conninfo: bytes) -> tuple[bytes | None, ...]:
    options = {option.keyword: option.val for option in pq.Conninfo.parse(conninfo)}
    return options[b"host"], options[b"hostaddr"], options[b"port"]


def _connected(address: str, deadline: float, *, writes: bool) -> PGconn:
    failures: list[str] = []
    for conninfo in _attempts(address, writes=writes):
        try:
            return _connect_to(conninfo, min(deadline, monotonic() + CONNECT_TIMEOUT))
        except LostError as error:
            failures.append(str(error))
    hopeless = all(any(part in failure for part in _HOPELESS) for failure in failures)
    raise LostError("; ".join(dict.fromkeys(failures)), hopeless=hopeless)


def _attempts(address: str, *, writes: bool = True) -> Iterator[bytes]:
    """Connection strings, one for each server of an address.

    libpq would try them in turn, but with a limit of time for each only in a function that blocks all threads.
    """
    started = pq.PGconn.connect_start(address.encode("utf-8", "surrogateescape"))
    try:
        # With what the environment and the service file add.
        options = {option.keyword: option.val for option in started.info if option.val}
        failure = started.error_message if not options else b""
    finally:
        started.finish()
    if failure:
        raise LostError(_one_line(failure), hopeless=True)
    given = {option.keyword for option in pq.Conninfo.parse(address.encode("utf-8", "surrogateescape")) if option.val}
    options.update({name.encode(): value.encode() for name, value in _DEFAULTS.items() if name.encode() not in given})
    hosts, addresses, ports = (options.get(name, b"").split(b",") for name in (b"host", b"hostaddr", b"port"))
    count = max(len(hosts), len(addresses))
    wanted = options.get(b"target_session_attrs", b"any")
    if wanted == b"any" and count > 1 and writes:
        wanted = b"read-write"  # else the first that answers would be taken, which may be a standby
    for attrs in _session_attributes(wanted):
        for place in range(count):
            one = {
                b"host": _at(hosts, place), b"hostaddr": _at(addresses, place), b"port": _at(ports, place),
                b"target_session_attrs": attrs,
            }
            yield b" ".join(b"%b='%b'" % (name, value.replace(b"\\", b"\\\\").replace(b"'", b"\\'"))
                            for name, value in (options | one).items() if value)


def _session_attributes(wanted: bytes) -> tuple[bytes, ...]:
    return (b"standby", b"any") if wanted == b"prefer-standby" else (wanted,)


def _at(parts: list[bytes], place: int) -> bytes:
    return parts[place] if place < len(parts) else parts[0] if len(parts) == 1 else b""


def _connect_to(conninfo: bytes, deadline: float) -> PGconn:
    pg = pq.PGconn.connect_start(conninfo)
    try:
        while True:
            if pg.status == pq.ConnStatus.BAD:
                raise LostError(_one_line(pg.error_message))
            state = pg.connect_poll()
            if state == pq.PollingStatus.OK:
                return pg
            if state == pq.PollingStatus.FAILED:
                raise LostError(_one_line(pg.error_message))
            poll = select.poll()
            poll.register(pg.socket, select.POLLIN if state == pq.PollingStatus.READING else select.POLLOUT)
            if not poll.poll(max(0, round(1000 * (deadline - monotonic())))):
                raise LostError("a server did not answer in time")
    except BaseException:
        pg.finish()
        raise


# -- parameters in binary form ---------------------------------------------------------------------------------------


def int8(number: int) -> bytes:
    return number.to_bytes(8, "big", signed=True)


def from_int(value: bytes | None) -> int:
    return int.from_bytes(value or b"", "big", signed=True)


def bytea_array(values: Iterable[bytes]) -> bytes:
    pieces = []
    for value in values:
        pieces.append(len(value).to_bytes(4, "big"))
        pieces.append(value)
    return struct.pack(">iiiii", 1, 0, BYTEA, len(pieces) // 2, 1) + b"".join(pieces)
