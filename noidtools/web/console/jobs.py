"""Work that takes longer than a request: it is checked first, shown, and then done in the background.

A job is a folder beside the minter's database, with what was uploaded, what is known of it, and what came of it.  Every
process of the service can show it.  The process that works on it holds a lock: if that process ends, the lock ends with
it, and anybody who may can let the work go on.  What a job does can be repeated: an identifier that a row has got, or a
value that is bound, stays as it is.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime, timezone
from typing import IO

import msgspec

from ...console import log_line
from ...errors import ConflictError, NoidError, NotFoundError, StoreError
from ...minter import Minter
from ...store.locks import lock_file
from ..response import internal_error, public_message

_FOLDER = "console-jobs"
_RECORD, _LOCK, UPLOAD, RESULT, PROBLEMS = "job.json", "lock", "upload.csv", "result.csv", "problems.csv"
_MOST = 100
_KEPT_SECONDS = 7 * 86_400
_DIGITS = 12
_PIECE = 1 << 20
# How often progress is written, in seconds.
_PAUSE = 0.5

# Where a job is: being checked, waiting for its user, at work, and at its end.
CHECKING, CHECKED, RUNNING, DONE, FAILED = "checking", "checked", "running", "done", "failed"


class JobRecord(msgspec.Struct):
    """What is known of a job.

    kind        mint, change, retarget or undo
    owner       the user who made it
    settings    what its form said
    phase       where it is; `before` is the phase in which it failed
    done, total how far it is; the total is 0 if it is not known
    message     why it failed, or a remark about the progress
    facts       what was found or done, in numbers
    problems    the first lines or names that are left out, each with the reason; all of them are in a file
    """

    kind: str
    owner: str
    created: float
    settings: dict[str, str] = {}
    phase: str = CHECKING
    before: str = ""
    done: int = 0
    total: int = 0
    message: str = ""
    facts: dict[str, int] = {}
    problems: list[tuple[str, str]] = []


class Job:
    """A job of a minter.

    number  its name in addresses
    record  what is known of it, as it was when it was read
    """

    def __init__(self, minter: Minter, number: str) -> None:
        self.minter = minter
        self.number = number
        self._folder = os.path.join(_folder(minter), number)
        try:
            with open(self.path(_RECORD), "rb") as file:
                self.record = msgspec.json.decode(file.read(), type=JobRecord)
        except (OSError, msgspec.MsgspecError):
            raise NotFoundError("there is no such job: it may have been deleted, or was kept for its seven days"
                                ) from None

    @classmethod
    def create(cls, minter: Minter, kind: str, owner: str, settings: dict[str, str], upload: IO[bytes] | None) -> Job:
        """Make a job; raises ConflictError if the owner has too many, StoreError if there is no room for it."""
        _remove_old(minter)
        if sum(job.record.owner == owner for job in jobs_of(minter)) >= _MOST:
            raise ConflictError(f"you have {_MOST} uploads and changes here already: delete one that is done")
        number = secrets.token_hex(_DIGITS)
        folder = os.path.join(_folder(minter), number)
        try:
            os.makedirs(folder, mode=0o700)
            if upload is not None:
                settings = {**settings, "sha256": _copy(upload, os.path.join(folder, UPLOAD))}
            _write(os.path.join(folder, _RECORD), JobRecord(kind, owner, time.time(), settings))
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise StoreError(f"the upload could not be stored: {error.strerror}") from None
        return cls(minter, number)

    @property
    def created(self) -> datetime:
        return datetime.fromtimestamp(self.record.created, timezone.utc)

    def earlier(self) -> Job | None:
        """A job of the same kind that was begun with the same file; None if there is none."""
        digest = self.record.settings.get("sha256")
        same = (job for job in jobs_of(self.minter) if job.number != self.number and job.record.kind == self.record.kind
                and digest and job.record.settings.get("sha256") == digest)
        return next((job for job in same if job.record.phase in (RUNNING, DONE)), None)

    def path(self, name: str) -> str:
        """The path of one of its files."""
        return os.path.join(self._folder, name)

    def has(self, name: str) -> bool:
        return os.path.exists(self.path(name))

    def delete(self) -> None:
        """Delete it; raises ConflictError while it is at work."""
        if self.is_active():
            raise ConflictError("the job is still running: wait until it is done")
        shutil.rmtree(self._folder, ignore_errors=True)

    # -- work ------------------------------------------------------------------------------------------

    def is_active(self) -> bool:
        """Whether some process works on it."""
        lock = self._take_lock(shared=True)
        if lock is not None:
            os.close(lock)
        return lock is None

    def _take_lock(self, *, shared: bool = False) -> int | None:
        """The descriptor of the lock, None if another has it."""
        try:
            return lock_file(self.path(_LOCK), shared=shared)
        except OSError as error:
            raise StoreError(f"the job cannot be written: {error.strerror}") from None

    def start(self, phase: str, work: Callable[[Job], None]) -> None:
        """Let `work` do what the phase is for, in a thread of its own; nothing if it is being done already."""
        lock = self._take_lock()
        if lock is None:
            return
        record = self.record
        record.phase, record.done, record.total, record.message, record.problems = phase, 0, 0, "", []
        try:
            self.save()
            threading.Thread(target=self._run, args=(phase, work, lock), daemon=True).start()
        except BaseException:
            os.close(lock)
            raise

    def _run(self, phase: str, work: Callable[[Job], None], lock: int) -> None:
        record = self.record
        try:
            work(self)
            record.phase = CHECKED if phase == CHECKING else DONE
        except NoidError as error:
            record.phase, record.before, record.message = FAILED, phase, public_message(error)
        except Exception as error:  # noqa: BLE001 - there is nobody above but the thread
            log_line("noid", f"a job of the console failed: {type(error).__name__}: {error}")
            record.phase, record.before, record.message = FAILED, phase, internal_error().message
        finally:
            with suppress(NoidError):
                self.save()
            os.close(lock)

    def progress(self) -> Callable[[int, int, str], None]:
        """What takes note of the progress, every now and then."""
        last = time.monotonic()

        def show(done: int, total: int, _: str) -> None:
            nonlocal last
            if time.monotonic() - last > _PAUSE:
                last = time.monotonic()
                self.record.done, self.record.total = done, total
                self.save()

        return show

    def save(self) -> None:
        """Store what is known of it."""
        try:
            _write(self.path(_RECORD), self.record)
        except OSError as error:
            raise StoreError(f"the job cannot be written: {error.strerror}") from None


def jobs_of(minter: Minter) -> Iterator[Job]:
    """The jobs of a minter, the newest first."""
    with suppress(FileNotFoundError):
        found = []
        for number in os.listdir(_folder(minter)):
            with suppress(NotFoundError):
                found.append(Job(minter, number))
        yield from sorted(found, key=lambda job: -job.record.created)


def find_job(minter: Minter, number: str) -> Job:
    """The job of this number; raises NotFoundError if there is none."""
    if len(number) != 2 * _DIGITS or number.strip("0123456789abcdef"):
        raise NotFoundError("there is no such job")
    return Job(minter, number)


def _folder(minter: Minter) -> str:
    return os.path.join(minter.store.location, _FOLDER)


def _remove_old(minter: Minter) -> None:
    for job in jobs_of(minter):
        if job.record.created < time.time() - _KEPT_SECONDS:
            with suppress(ConflictError):
                job.delete()


def _copy(upload: IO[bytes], path: str) -> str:
    """Write an upload to a new file; returns its SHA-256."""
    digest = hashlib.sha256()
    with open(path, "xb") as file:
        while piece := upload.read(_PIECE):
            digest.update(piece)
            file.write(piece)
    return digest.hexdigest()


def _write(path: str, record: JobRecord) -> None:
    """Write a record, which takes the place of the one before when it is complete."""
    fresh = f"{path}.{os.getpid()}.{threading.get_ident()}"
    with open(fresh, "wb") as file:
        file.write(msgspec.json.encode(record))
    os.replace(fresh, path)
