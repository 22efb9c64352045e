"""Beginning and settling write transactions of PostgreSQL, and what its errors mean."""

from __future__ import annotations

from time import monotonic, sleep

from ...errors import BusyError, NoidError, OutcomeUnknownError, StoreError
from . import statements as sql
from .connection import LostError, SqlError, from_int, int8
from .locked_minter import COMMITS_LISTED, STATEMENT_TIMEOUT, LockedMinter
from .source import commits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .connection import Row, ServerSession, Step
    from .source import Source, Version

# Seconds in which it must become known whether a transaction was committed, and from one attempt to the next.
_SETTLE_TIMEOUT = 60.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.5

# Seconds that one attempt to lock the minter waits, and more until a server that does not answer is given up.
_LOCK_ATTEMPT, _LOCK_ANSWER = 10.0, 2.0

# SQLSTATEs: the statement was cancelled, by a person or by a limit of the server.
_CANCELLED = "57014"
# The transaction is to be run again; the lock was not granted in time; the server only reads; it is not
# known whether the transaction was committed.
_RUN_AGAIN, _NOT_LOCKED, _READ_ONLY, UNKNOWN = ("40001", "40P01"), "55P03", ("25006", "0A000"), "40003"

_MEANINGS = {
    "42P01": "has no tables of noidtools: create them with the statements of 'noid sql tables'",
    "42501": "does not allow this to the account that uses the minter: grant it the role noid_writer, or to read "
             "noid_reader (see 'noid sql roles')",
    "53100": "has no more room on its disk: nothing was changed; make room and try again",
}


def begin_write(source: Source, deadline: float, timeout: float) -> LockedMinter:
    """Begin a transaction with the minter locked.  Raises BusyError when the time, `timeout` seconds, is over."""
    pause = _FIRST_PAUSE
    while True:
        try:
            session = source.pool.take(min(deadline, monotonic() + STATEMENT_TIMEOUT))
            try:
                return LockedMinter(source, session, lock_minter(source, session, deadline))
            except BaseException:
                end_failed(source, session)
                raise
        except (LostError, SqlError) as error:
            if not _may_begin_again(error, source) or monotonic() >= deadline:
                raise translated(error, source.pool.address, "written", timeout) from error
        sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def ensure_nothing_lost(minter: LockedMinter, newest: int) -> None:
    """Raise StoreError if the database lacks the newest version that this process has committed.

    That cannot be seen any more when others have made more commits since than were lost.
    """
    if minter.number == newest or commits(minter.number) > commits(newest):
        return
    raise StoreError(f"the database at {minter.source.pool.address} has lost changes of this minter in a failover: "
                      "identifiers that were given could be given again, so nothing is written; see what is missing, "
                      "and restart this process to go on")


def lock_minter(source: Source, session: ServerSession, deadline: float) -> Version:
    """Begin a transaction and lock the minter, for at most ten seconds; returns its version."""
    lock = (sql.LOCK, (source.name,))
    rows = _locked(source, session, lock, deadline)
    if not rows:
        # A restore, for which we waited, has given the name to another minter.
        (rows,) = session.run([lock], monotonic() + _LOCK_ATTEMPT + _LOCK_ANSWER)
    source.ensure_in_place()
    return source.version_of(rows)


def _locked(source: Source, session: ServerSession, lock: Step, deadline: float) -> list[Row]:
    """Begin a transaction with a lock."""
    wait = max(0.001, min(_LOCK_ATTEMPT, deadline - monotonic()))
    begin: list[Step] = [(sql.BEGIN_WRITE, ()), (sql.LOCK_TIMEOUT, (b"%dms" % round(1000 * wait + 1),)), lock]
    return session.run(begin, monotonic() + wait + _LOCK_ANSWER)[-1]


def end_failed(source: Source, session: ServerSession) -> None:
    """Roll a transaction back, if its session is still there, and give the session back."""
    if session.closed:
        source.pool.clear()
        return
    try:
        session.send([(sql.ROLLBACK, ())], monotonic() + 1)
    except BaseException:  # an interruption
        session.close()
        raise
    source.pool.give(session)


def settle(minter: LockedMinter) -> bool:
    """Whether a transaction was committed, the answer to whose commit was lost.

    The lock of the minter is granted when that transaction has ended, however it ended.  The commit made here is
    confirmed by the standbys that must confirm commits, and with it all that was committed before.  Raises
    OutcomeUnknownError if the server does not answer for a minute.
    """
    source, pause = minter.source, _FIRST_PAUSE
    deadline = monotonic() + _SETTLE_TIMEOUT
    while True:
        try:
            found = _committed(minter, deadline)
            if found is None:
                break
            return found
        except (LostError, SqlError):
            if monotonic() >= deadline:
                break
        sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)
    raise OutcomeUnknownError(f"the connection with the database at {source.pool.address} was lost during a commit, "
                              f"and it has not become known for {_SETTLE_TIMEOUT:g} seconds whether it took place: see "
                              "what is there before you do this again")


def _committed(minter: LockedMinter, deadline: float) -> bool | None:
    """Whether the commit is listed in the database; None if it may have been deleted from the list."""
    source = minter.source
    session = source.pool.take(min(deadline, monotonic() + STATEMENT_TIMEOUT))
    try:
        # By its number, because its name may have been given to another one meanwhile.
        locked = _locked(source, session, (sql.LOCK_NUMBER, (int8(minter.id),)), deadline)
        number = from_int(locked[0][1]) if locked else 0
        session.take_warning()  # what came before does not concern this commit
        rows, _, _ = session.run(
            [(sql.TOKEN, (int8(minter.id), sql.COMMITS, int8(minter.new))),
             (sql.SET_VERSION, (int8(minter.id), int8(number))), (sql.COMMIT, ())], monotonic() + STATEMENT_TIMEOUT)
        if session.take_warning():
            raise LostError("the server warned that the commit may not be safe")
    except BaseException:
        end_failed(source, session)
        raise
    source.pool.give(session)
    source.forget()
    if rows:
        return rows[0][0] == minter.token
    if not locked:
        return None  # it was deleted
    return False if commits(number) - commits(minter.number) < COMMITS_LISTED else None


def may_run_again(error: Exception | None) -> bool:
    """Whether a transaction that failed may succeed when it is run again."""
    if isinstance(error, LostError):
        return not error.hopeless
    return isinstance(error, SqlError) and (error.state in _RUN_AGAIN or error.state in _READ_ONLY)


def is_locked(error: Exception) -> bool:
    """Whether a lock was not granted in time."""
    return isinstance(error, SqlError) and error.state == _NOT_LOCKED


def _may_begin_again(error: Exception, source: Source) -> bool:
    """Whether another attempt to begin a transaction may succeed: the lock may be released, a standby promoted."""
    if isinstance(error, SqlError) and error.state in _READ_ONLY:
        source.pool.clear()
        return source.pool.has_several_servers
    return may_run_again(error) or is_locked(error)


def translated(error: Exception | None, address: str, how: str, timeout: float) -> NoidError:
    """An error of the server as a refusal that says what to do; `how` the database could not be used."""
    if isinstance(error, LostError):
        message = f"the database at {address} cannot be {how} now ({error})"
        return StoreError(message) if error.hopeless else BusyError(f"{message}: try again")
    assert isinstance(error, SqlError)
    if error.state == _NOT_LOCKED:
        return BusyError(f"another process has been writing to {address} for over {timeout:g} seconds; try again")
    if error.state == _CANCELLED:
        return BusyError(f"the database at {address} ended a statement ({error}): nothing was changed; try again")
    if error.state in _RUN_AGAIN:
        return BusyError(f"the database at {address} was changed by others again and again ({error}): try again")
    if error.state in _READ_ONLY:
        return StoreError(f"the database at {address} is a standby, which only reads: write at its primary, or name "
                          "all its servers in the address")
    meaning = _MEANINGS.get(error.state, f"refused a statement ({error}, SQLSTATE {error.state})")
    return StoreError(f"the database at {address} {meaning}")
