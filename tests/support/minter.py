"""The noid command and a minter, used from this process.

`Noid` calls the function that the program `noid` calls, with standard files, environment and working folder as a
process would have them; so what tests expect of it is what they expect of the program, at a fraction of the cost.
Tests of what only a process shows (signals, locks, exit) start one: see process.py.
"""

from __future__ import annotations

import abc
import contextlib
import multiprocessing
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, TypeVar

from noidtools.cli.noid import main
from noidtools.commands import Call, Session
from noidtools.commands.answers import anvl, json_ready
from noidtools.errors import NoidError
from noidtools.minter import Minter, config
from noidtools.minter.events import Actor, Event, newest_number, read_event
from noidtools.minter.folder import MinterFolder
from noidtools.minter.identifiers import identify
from noidtools.minter.lifecycle import state_of
from noidtools.resolution import Outcome, resolve
from noidtools.store import Reader, Writer
from noidtools.times import system_clock
from support.clock import SettableClock

START = "20261116000000"
T = TypeVar("T")


class NoidCommand(abc.ABC):
    """What tests ask of the noid command in a folder, however it is run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @abc.abstractmethod
    def run(
        self, *words: str | bytes, stdin: bytes = b"", env: Mapping[str, str] | None = None
    ) -> CompletedProcess[bytes]:
        """Exit status and output of a command; `env` is added to the environment, in which NOID is not set."""

    def __call__(self, *words: str | bytes, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> str:
        """Standard output of a command that must succeed."""
        done = self.run(*words, stdin=stdin, env=env)
        assert done.returncode == 0, (words, done.returncode, done.stdout[-500:], done.stderr[-500:])
        assert done.stderr == b"", (words, done.stderr)
        return done.stdout.decode("utf-8", "surrogateescape")

    def refused(
        self, *words: str | bytes, stdin: bytes = b"", status: int | None = None, env: Mapping[str, str] | None = None
    ) -> str:
        """The one sentence on standard error with which a command is refused."""
        done = self.run(*words, stdin=stdin, env=env)
        assert done.returncode in ((1, 2) if status is None else (status,)), (words, done)
        assert b"Traceback" not in done.stderr
        sentence = done.stderr.decode("utf-8", "surrogateescape")
        assert sentence.startswith("error: ") and sentence.endswith("\n") and sentence.count("\n") == 1, sentence
        return sentence[len("error: ") :].strip()

    def ids(self, count: int) -> list[str]:
        """Newly minted identifiers."""
        return [line.removeprefix("id: ") for line in self("mint", str(count)).split("\n") if line]


class Noid(NoidCommand):
    """The noid command in this process, and beside it a session that keeps the minter open between commands.

    Called, or through `run`, `refused` and `ids`, it opens and closes the minter as a process does.  `records`,
    `text`, `refusal`, `mint` and what reads the minter use the session; LMDB forbids to open a database twice in
    one process, so the session is closed before a command runs and opened again when it is next needed.  With a
    `clock` both show its time.
    """

    def __init__(self, folder: Path, *, clock: SettableClock | None = None) -> None:
        super().__init__(folder)
        folder.mkdir(exist_ok=True)
        self.clock = clock
        self._session: Session | None = None

    @classmethod
    def created(cls, folder: Path, *words: str, clock: SettableClock | None = None) -> Noid:
        """One with a new minter, made with these words behind dbcreate."""
        made = cls(folder, clock=clock)
        made.records("dbcreate", *words)
        return made

    @classmethod
    def with_clock(cls, folder: Path, *words: str) -> Noid:
        """One with a new minter, and a clock that stands at START."""
        return cls.created(folder, *words, clock=SettableClock.at(START))

    def at(self, seconds: str) -> Noid:
        """Itself, with its clock set to these seconds since 1970."""
        assert self.clock is not None
        self.clock.set_seconds(seconds)
        return self

    # -- as the program ----------------------------------------------------------------------------------------

    def run(
        self, *words: str | bytes, stdin: bytes = b"", env: Mapping[str, str] | None = None
    ) -> CompletedProcess[bytes]:
        self.close()
        variables: dict[str, str | None] = {"NOID": None}
        file = self.folder / "clock"
        if self.clock is not None:
            self.clock.write_to(file)
            variables["NOIDTOOLS_CLOCK"] = str(file)
        variables.update(env or {})
        with _environment(variables), _working_folder(self.folder), _standard_files(stdin) as (stdout, stderr):
            status = main(["noid", *(os.fsdecode(word) for word in words)])
        if self.clock is not None:
            self.clock.read_from(file)
        return CompletedProcess(words, status, _content(stdout), _content(stderr))

    # -- in a session that stays open --------------------------------------------------------------------------

    @property
    def session(self) -> Session:
        if self._session is None:
            self._session = Session(str(self.folder), self._actor())
        return self._session

    @property
    def opened(self) -> Minter:
        """The minter of the session."""
        return self.session.minter

    def read(self, work: Callable[[Reader], T]) -> T:
        return self.opened.read(work)

    def write(self, work: Callable[[Writer], T]) -> T:
        return self.opened.write(work)

    def close(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None

    def share(self, minters: MinterFolder) -> None:
        """Use the minter that a web application has open, because one process must not open it twice."""
        self.close()
        opened = minters.open(str(self.folder), self.folder.name)
        self._session = Session(str(self.folder), self._actor(), minter=opened)

    def _actor(self) -> Actor:
        return Actor(b"me/us", b"shell", self.clock or system_clock)

    def answer(self, *words: str | bytes) -> Any:
        """The answer as the command language gives it."""
        return Call(self.session, [_encoded(word) for word in words]).run()

    def records(self, *words: str | bytes) -> list[dict[str, Any]]:
        """The answer as JSON would have it."""
        found: list[Any] = [json_ready(data) for record in self.answer(*words).records for data in record.data()]
        return found

    def text(self, *words: str | bytes) -> str:
        """The answer as text."""
        written = b"".join(anvl(record) for record in self.answer(*words).records)
        return written.decode("utf-8", "surrogateescape")

    def refusal(self, *words: str | bytes) -> NoidError:
        """The exception with which a command is refused; it must leave no event."""
        before = self.event_count()
        try:
            self.records(*words)
        except NoidError as error:
            assert self.event_count() == before, "a refused command left an event"
            assert error.message and "Traceback" not in error.message
            return error
        raise AssertionError(f"{words} was not refused")

    def mint(self, count: int = 1) -> list[str]:
        return [record["id"] for record in self.records("mint", str(count))]

    def mint_with_target(self, target: str | bytes) -> str:
        """A new identifier with this target."""
        (identifier,) = self.mint()
        self.set_target(identifier, target)
        return identifier

    def set_target(self, identifier: str | bytes, target: str | bytes, element: str = "_t") -> None:
        self.records("bind", "set", identifier, element, target)

    # -- what is stored ----------------------------------------------------------------------------------------

    def state(self, identifier: str) -> str | None:
        def work(reader: Reader) -> str | None:
            ref = identify(self.opened, reader, identifier.encode())
            return state_of(reader, ref.key, ref.record)

        return self.read(work)

    def outcome(self, name: str | bytes, **options: Any) -> Outcome:
        """What resolving a name gives."""
        return resolve(self.opened, _encoded(name), **options)

    def target_of(self, name: str | bytes, **options: Any) -> str | None:
        """The first target to which a name resolves."""
        targets = self.outcome(name, **options).targets
        return targets[0].url.decode() if targets else None

    def resolved(self, name: str) -> str:
        """The first target to which a name resolves, or the kind of outcome if there is none."""
        return self.target_of(name) or self.outcome(name).kind

    def event_count(self) -> int:
        return self.read(newest_number)

    def newest_event(self) -> Event:
        number = self.event_count()
        found = self.read(lambda reader: read_event(reader, number))
        assert found is not None
        return found

    def events_of(self, identifier: str) -> list[str]:
        """What happened to an identifier, in order."""
        return [record["what"] for record in self.records("history", identifier)]


def timed_noid(folder: Path) -> Noid:
    """A noid command whose clock stands at 2010-10-20T15:14:06Z, where the examples of the IBI standard begin."""
    return Noid(folder, clock=SettableClock("1287587646"))


def run_in_child(
    dbdir: Path, *words: str | bytes, after: Callable[[Writer], None] | None = None
) -> list[dict[str, Any]]:
    """What a command answers, as data, when another process runs it: for minters that this one has open.

    `after` is done in a transaction after it.
    """
    context = multiprocessing.get_context("fork")
    receiving, sending = context.Pipe(duplex=False)

    def work() -> None:
        session = Session(str(dbdir), Actor(b"shell", b"shell"))
        records = Call(session, [_encoded(word) for word in words]).run().records
        answer = [data for record in records for data in record.data()]
        if after is not None:
            session.minter.write(after)
        sending.send(answer)
        session.close()

    process = context.Process(target=work)
    process.start()
    sending.close()
    try:
        answer: list[dict[str, Any]] = receiving.recv()
        return answer
    finally:
        process.join()


def create_in_child(dbdir: Path, *words: str) -> None:
    """A new minter, made by another process.  On the web, who has logged in may administer it."""
    def open_admin(writer: Writer) -> None:
        writer.put(*config.place("policy/admin"), b"authenticated")  # without an event, which tests would have to count

    dbdir.mkdir(parents=True, exist_ok=True)
    run_in_child(dbdir, "dbcreate", *words, after=open_admin)


def _encoded(word: str | bytes) -> bytes:
    return word if isinstance(word, bytes) else word.encode("utf-8", "surrogateescape")


# -- what a process has of its own -------------------------------------------------------------------------------


@contextlib.contextmanager
def _environment(variables: Mapping[str, str | None]) -> Iterator[None]:
    """Environment variables set, or taken away where the value is None."""
    before = {name: os.environ.get(name) for name in variables}
    _set_variables(variables)
    try:
        yield
    finally:
        _set_variables(before)


def _set_variables(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


@contextlib.contextmanager
def _working_folder(folder: Path) -> Iterator[None]:
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@contextlib.contextmanager
def _standard_files(stdin: bytes) -> Iterator[tuple[int, int]]:
    """Files 0, 1 and 2 replaced by files in memory; gives the two that hold what was written."""
    before = [os.dup(number) for number in (0, 1, 2)]
    files = [os.memfd_create(name) for name in ("stdin", "stdout", "stderr")]
    streams = sys.stdout, sys.stderr
    with open(files[0], "wb", closefd=False) as writing:
        writing.write(stdin)
    os.lseek(files[0], 0, os.SEEK_SET)
    try:
        for number, file in enumerate(files):
            os.dup2(file, number)
        with open(1, "w", closefd=False) as sys.stdout, open(2, "w", closefd=False) as sys.stderr:
            yield files[1], files[2]
    finally:
        sys.stdout, sys.stderr = streams
        for number, saved in enumerate(before):
            os.dup2(saved, number)
            os.close(saved)
        os.close(files[0])


def _content(file: int) -> bytes:
    """All that a file in memory holds; closes it."""
    os.lseek(file, 0, os.SEEK_SET)
    with open(file, "rb") as reading:
        return reading.read()
