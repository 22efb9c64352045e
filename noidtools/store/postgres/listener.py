"""A session that hears of commits to the minters at an address: one for all of them in a process."""

from __future__ import annotations

from _thread import allocate_lock
from time import monotonic

from . import statements as sql
from .connection import LostError, ServerSession, SqlError

# Seconds in which a listener is begun, and after which it is tried again where that failed.
_BEGIN_TIMEOUT, _PAUSE = 2.0, 10.0


class Listener:
    """Hears what the server announces; used by one thread at a time."""

    def __init__(self, address: str, *, writes: bool) -> None:
        self._address = address
        self._writes = writes
        self._session: ServerSession | None = None
        self._lock = allocate_lock()
        self._begins_from = 0.0
        # How often a session was begun, and how often each minter was announced in it.
        self._epoch = 0
        self._heard: dict[bytes, int] = {}

    def heard(self, minter: bytes) -> tuple[int, int] | None:
        """A value that changes with each commit to a minter that was announced, and when some may have been missed;
        None if the server announces nothing, or another thread is listening right now."""
        taken: list[bool] = []
        try:
            taken += map(self._lock.acquire, (False,))  # in one step: see store/locks.py
            if taken == [False]:
                return None
            if self._session is None:
                if monotonic() < self._begins_from:
                    return None
                self._begins_from = monotonic() + _PAUSE
                self._session = self._begun()
            else:
                for name in self._session.take_notifications():
                    self._heard[name] = self._heard.get(name, 0) + 1
            return None if self._session is None else (self._epoch, self._heard.get(minter, 0))
        except LostError:
            self._session = None
            return None
        except BaseException:  # an interruption: what was announced may be lost
            self._session = None
            raise
        finally:
            if taken == [True]:
                self._lock.release()

    def _begun(self) -> ServerSession | None:
        deadline = monotonic() + _BEGIN_TIMEOUT
        session = None
        try:
            session = ServerSession(self._address, deadline, writes=self._writes)
            session.run([(sql.LISTEN, ())], deadline)
        except (LostError, SqlError):
            # A standby does not announce anything, nor do some databases that speak PostgreSQL's protocol.
            if session is not None:
                session.close()
            return None
        self._epoch += 1
        self._heard.clear()
        return session

    def close(self) -> None:
        with self._lock:
            session, self._session = self._session, None
            if session is not None:
                session.close()
