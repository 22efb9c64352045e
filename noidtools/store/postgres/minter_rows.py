"""The rows of minters, and their names: made, exchanged and deleted as wholes."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from time import monotonic, sleep

from ...errors import NoidError, NoMinterError, OutcomeUnknownError, StoreError
from ..locks import TIMEOUT
from . import statements as sql
from .commit import UNKNOWN, is_locked, may_run_again, translated
from .connection import LostError, SqlError, from_int, int8
from .source import Pool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .connection import Row, ServerSession, Step
    from .engine_file import EngineFile

_TRIES = 5

# Seconds from one attempt to the next, that a lock is waited for at once, and in which statements must be answered.
_PAUSE, _LOCK_ATTEMPT, _ANSWER = 0.2, 5.0, 10.0


@contextmanager
def _session(address: str, deadline: float) -> Iterator[ServerSession]:
    session = Pool(address).take(deadline)
    try:
        yield session
    finally:
        session.close()


def create_minter(file: EngineFile) -> None:
    """Make a minter without content, and the tables if there are none."""
    deadline = monotonic() + TIMEOUT
    try:
        with _session(file.address, deadline) as session:
            found = session.run([(sql.HAS_TABLES, ())], deadline)[0]
            if from_int(found[0][0]) < 2:
                session.run([(statement, ()) for statement in sql.CREATE], deadline)
            for _ in range(_TRIES):
                number = int.from_bytes(os.urandom(4), "big") >> 1
                try:
                    session.run([(sql.INSERT_MINTER, (file.minter.encode(), int8(number)))], deadline)
                    return
                except SqlError as error:
                    if error.state != "23505":  # the number is taken
                        raise
    except (LostError, SqlError) as error:
        raise translated(error, file.address, "written", TIMEOUT) from None
    raise StoreError(f"the database at {file.address} has no room for another minter")


def delete_minter(file: EngineFile) -> None:
    """Remove what belongs to a minter; an error does not matter, since its rows are not in the way of others."""
    deadline = monotonic() + TIMEOUT
    with suppress(NoidError, LostError, SqlError), _session(file.address, deadline) as session:
        (rows,) = _locked(session, file.minter.encode())
        if rows:
            number = int8(from_int(rows[0][0]))
            session.run([*((statement, (number,)) for statement in sql.DELETE_MINTER), (sql.COMMIT, ())], deadline)


def _locked(session: ServerSession, *names: bytes) -> list[list[Row]]:
    """Begin a transaction, with these minters locked; returns for each its row, if there is one."""
    steps: list[Step] = [(sql.BEGIN_WRITE, ()), (sql.LOCK_TIMEOUT, (b"%dms" % round(1000 * _LOCK_ATTEMPT),))]
    locks: list[Step] = [(sql.LOCK, (name,)) for name in names]
    return session.run([*steps, *locks], monotonic() + _LOCK_ATTEMPT + _ANSWER)[2:]


def exchange_minters(file: EngineFile, new: EngineFile, before: EngineFile) -> None:
    """Give the name of a minter to the rows of a new one, and another name to its own rows, when nobody writes.

    Raises OutcomeUnknownError if the server was lost during the commit, and for too long after it.
    """
    deadline = monotonic() + TIMEOUT
    exchange = _Exchange(file, new, before)
    while True:
        try:
            with _session(file.address, min(deadline, monotonic() + _ANSWER)) as session:
                if exchange.attempt(session):
                    return
        except (LostError, SqlError) as error:
            again = exchange.asked or may_run_again(error) or is_locked(error)
            if not again or monotonic() >= deadline:
                raise exchange.failure(error) from error
        sleep(_PAUSE)


class _Exchange:
    """The exchange of names.  `asked` is whether the server was asked to commit it, and its answer is not known."""

    def __init__(self, file: EngineFile, new: EngineFile, before: EngineFile) -> None:
        self._file, self._new, self._before = file, new, before
        self.asked = False

    def attempt(self, session: ServerSession) -> bool:
        """Whether it is done.  Raises LostError and SqlError, and NoMinterError if one of the two is not there."""
        name, new, before = (of.minter.encode() for of in (self._file, self._new, self._before))
        here, there = _locked(session, new, name)
        # The locks are granted when every earlier attempt has ended, so what is found now is its outcome.
        if self.asked and not here:
            _confirm(session, name)
            return True
        self.asked = False
        if here and not there and session.run([(sql.VERSION, (name,))], monotonic() + _ANSWER)[0]:
            return False  # another restore, for which we waited, gave the name to other rows
        if not here or not there:
            raise NoMinterError(f"the database at {self._file.address} has no minter "
                                f"{(name if here else new).decode()!r} any more: nothing was restored")
        self.asked = True
        try:
            _commit(session, (sql.RENAME, (name, before)), (sql.RENAME, (new, name)))
        except SqlError as error:
            self.asked = error.state == UNKNOWN
            raise
        return True

    def failure(self, error: Exception) -> NoidError:
        if not self.asked:
            return translated(error, self._file.address, "written", TIMEOUT)
        return OutcomeUnknownError(
            f"the connection with the database at {self._file.address} was lost when the restored minter was put in "
            f"place, and it has not become known whether it is: if noid_minters has {self._before.minter!r}, which is "
            f"what was there before, it is; if it has {self._new.minter!r}, restore again")


def _confirm(session: ServerSession, name: bytes) -> None:
    """Commit something, so that what was committed before is confirmed by the standbys that must confirm it."""
    (rows,) = session.run([(sql.LOCK, (name,))], monotonic() + _LOCK_ATTEMPT + _ANSWER)
    if rows:
        _commit(session, (sql.SET_VERSION, (int8(from_int(rows[0][0])), int8(from_int(rows[0][1])))))


def _commit(session: ServerSession, *steps: Step) -> None:
    session.take_warning()  # what came before does not concern the commit
    session.run([*steps, (sql.COMMIT, ())], monotonic() + _ANSWER)
    if session.take_warning():
        raise LostError("the server warned that the commit may not be safe")


def rename_minter(file: EngineFile, moved: EngineFile) -> None:
    """Give a minter another name, so that nobody finds it by files that have the old one."""
    deadline = monotonic() + TIMEOUT
    try:
        with _session(file.address, deadline) as session:
            (rows,) = _locked(session, file.minter.encode())
            if rows:
                _commit(session, (sql.RENAME_NUMBER, (int8(from_int(rows[0][0])), moved.minter.encode())))
    except (LostError, SqlError) as error:
        raise translated(error, file.address, "written", TIMEOUT) from error
