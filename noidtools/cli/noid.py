"""The shell's interface: `noid [-f Dbdir] [-vh] Command Arguments`."""

from __future__ import annotations

import fcntl
import gc
import os
import select
import sys

from ..commands import Call, Session, command_for
from ..commands.answers import anvl, mark_break
from ..commands.command import did_you_mean
from ..commands.lines import LONGEST_LINE, LineSource
from ..console import ProgressBar, WaitIndicator, write_error
from ..errors import NoidError, StoreError, UsageError, printable
from ..minter import default_dbdir
from ..minter.events import Actor, process_owner
from ..times import Clock
from ..version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..commands.answers import Answer
    from ..times import OnWait

DONE, REFUSED, WRONG_USAGE = 0, 1, 2

_PIECE = 1 << 16  # bytes of standard input that are read at once


def main(argv: list[str] | None = None) -> int:
    arguments = sys.argv if argv is None else argv
    out = _Output()
    try:
        _ensure_standard_files()
        status = _main(arguments[0], [os.fsencode(word) for word in arguments[1:]], out)
        out.flush()
        return status
    except NoidError as error:
        out.flush_what_can_be()
        write_error(f"error: {error.message}")
        return WRONG_USAGE if isinstance(error, UsageError) else REFUSED
    except KeyboardInterrupt:
        write_error("error: interrupted")
        return REFUSED
    except Exception as error:  # noqa: BLE001 - the last resort: a person gets a sentence, never a traceback
        out.flush_what_can_be()
        write_error(f"error: a fault in noidtools itself ({type(error).__name__}: {error}): please report it")
        return REFUSED


def _ensure_standard_files() -> None:
    """Open standard files that are closed: else the database could become one of them and be printed to."""
    closed = []
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            closed.append(descriptor)
            os.dup2(os.open(os.devnull, os.O_RDWR), descriptor)
    if 1 in closed:
        raise StoreError("standard output is closed, so no answer could be given: nothing was done")


def _main(program: str, words: list[bytes], out: _Output) -> int:
    dbdir, words = _options(program, words)
    if words[:1] == [b"-v"]:
        out.write(f"noid {__version__}\n".encode())
        words = words[1:]
        if not words:
            return DONE
    nothing_given = not words
    if nothing_given:
        words = [b"help"]
    if words != [b"-"] and (command := command_for(words)).process:
        _collect_garbage()
        return _PROCESSES[command.name](dbdir, words[1:])
    progress = ProgressBar(2) if os.isatty(2) else None
    session = Session(dbdir, Actor(process_owner(), b"shell", _clock()), local=True, progress=progress,
                      columns=_columns())
    try:
        if words == [b"-"]:
            _collect_garbage()
            return _bulk(session, out)
        call = Call(session, words)
        if call.reads_input:
            call.read_elements(FileSource(0).read_line)
        if call.form.takes_file:
            call.file = open(0, "rb", closefd=False)  # noqa: SIM115 - closed by the command, which closes no descriptor
        if call.form.interrupted:
            _run_until_interrupted(lambda: out.answer(call.run()), call.form.interrupted)
        else:
            # Ctrl-C ends the process at once.
            out.answer(call.run())
        if nothing_given:
            return WRONG_USAGE
        return REFUSED if out.failed else DONE
    finally:
        session.close()


def _serve(dbdir: str, words: list[bytes]) -> int:
    from ..server.serve import serve

    return serve(dbdir, words)


def _resolve_loop(dbdir: str, words: list[bytes]) -> int:
    from .noidr import run

    return run(dbdir, words)


# What runs the commands that are processes of their own.
_PROCESSES = {"serve": _serve, "resolve-loop": _resolve_loop}


def _run_until_interrupted(work: Callable[[], None], sentence: str) -> None:
    """Run work that removes what it has begun after Ctrl-C or SIGTERM, which is a KeyboardInterrupt in it; the second
    signal ends the process.  Raises NoidError with the sentence if `work` does not say more itself."""
    import signal

    def interrupt(_: int, __: object) -> None:
        for number in signals:
            signal.signal(number, signal.SIG_DFL)
        raise KeyboardInterrupt

    signals = signal.SIGINT, signal.SIGTERM
    before = {number: signal.signal(number, interrupt) for number in signals}
    try:
        work()
    except KeyboardInterrupt:
        raise NoidError(f"interrupted: {sentence}") from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _collect_garbage() -> None:
    """Collect it as often as Python does by default.  The executable puts this off, as suits a short command."""
    gc.set_threshold(700)


def _options(program: str, words: list[bytes]) -> tuple[str, list[bytes]]:
    """Dbdir and the words of the command; -v and help are among them where they were given as options.

    As in the original, -f and -h may stand after the command as well.  `--` ends them, so that any word can be given.
    """
    folder = b""
    version = explained = False
    command: list[bytes] = []
    pending = words[::-1]
    while pending:
        word = pending.pop()
        name, equals, value = word.partition(b"=")
        if word == b"--":
            command += [word, *pending[::-1]] if command else pending[::-1]
            break
        if name in (b"-f", b"--f"):
            if not equals and not pending:
                raise UsageError("option -f needs a folder")
            folder = value if equals else pending.pop()
        elif word in (b"-h", b"--help"):
            explained = True
        elif command or not word.startswith(b"-") or word == b"-":
            command.append(word)
        elif word.startswith(b"-f"):
            folder = word[2:]
        elif word in (b"-v", b"--version"):
            version = True
            break
        elif word in (b"-vh", b"-hv"):
            version = explained = True
        else:
            remedy = did_you_mean(printable(word), ("--help", "--version")) or "run 'noid -h'"
            raise UsageError(f"there is no option {printable(word)}: {remedy}")
    if explained:
        command = [b"help", *[word for word in command if not word.startswith(b"-")][:2]]
    dbdir = os.fsdecode(folder) or default_dbdir(program, os.environ.get("NOID", ""), "")
    return dbdir, [b"-v", *command] if version else command


def _columns() -> int:
    """The width of the terminal: the environment variable COLUMNS, else that of standard output, else 80."""
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given):
        return int(given)
    return os.get_terminal_size(1).columns if os.isatty(1) else 80


def _clock() -> Clock:
    """The system clock, which shows waits on a terminal; or, for tests, the clock in the file $NOIDTOOLS_CLOCK."""
    file = os.environ.get("NOIDTOOLS_CLOCK")
    terminal = os.isatty(2)
    if not file and not terminal:
        return Clock(on_notice=_write_note)
    progress = WaitIndicator(2) if terminal else None
    if not file:
        return Clock(progress, _write_note)
    return FileClock(file, progress, _write_note)


def _write_note(sentence: str) -> None:
    write_error(f"note: {sentence}")


def _bulk(session: Session, out: _Output) -> int:
    from ..commands.bulk import run_lines

    status = DONE
    for result in run_lines(session, FileSource(0)):
        for record in result.records:
            out.write(mark_break(record, anvl(record)))
            for message in record.errors:
                write_error(f"error: line {result.line}: {message}")
        if result.error is not None:
            out.write(f"error: {result.error.message}\n".encode("utf-8", "surrogateescape"))
            write_error(f"error: line {result.line}: {result.error.message}")
        if not result.more:
            out.write(b"\n")
        out.flush()
        if result.failed:
            status = REFUSED
    return status


class _Output:
    """Standard output in bytes; a closed pipe and a full disk are reported as refusals."""

    def __init__(self) -> None:
        self.failed = False

    def answer(self, answer: Answer) -> None:
        for record in answer.records:
            if record.errors:
                for message in record.errors:
                    write_error(f"error: {message}")
                continue
            self.write(anvl(record))
            self.flush()
        if answer.spaced:
            self._write_blank_line()
        self.failed = answer.failed

    def _write_blank_line(self) -> None:
        """Write the blank line after an answer; nothing is lost if its reader, such as `head -1`, has gone by then."""
        try:
            sys.stdout.buffer.write(b"\n")
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            self._discard()
        except (OSError, ValueError) as error:
            raise self._lost(error) from None

    def write(self, data: bytes) -> None:
        try:
            sys.stdout.buffer.write(data)
        except (OSError, ValueError) as error:
            raise self._lost(error) from None

    def flush(self) -> None:
        try:
            sys.stdout.buffer.flush()
        except (OSError, ValueError) as error:
            raise self._lost(error) from None

    def flush_what_can_be(self) -> None:
        if sys.stdout is None:
            return  # it was closed when we started
        try:
            self.flush()
        except StoreError as error:
            write_error(f"error: {error.message}")

    @staticmethod
    def _discard() -> None:
        # Python would try to flush once more at exit, and print a message of its own.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

    def _lost(self, error: Exception) -> StoreError:
        self._discard()
        reason = getattr(error, "strerror", None) or str(error)
        return StoreError(f"the answer could not be written to standard output: {reason}")


class FileSource(LineSource):
    """Lines from a file descriptor."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._buffer = bytearray()
        self._ended = False

    def read_line(self) -> bytes:
        searched = 0
        while True:
            end = self._buffer.find(b"\n", searched)
            if end >= 0 or self._ended:
                cut = end + 1 if end >= 0 else len(self._buffer)
                line = bytes(self._buffer[:cut])
                del self._buffer[:cut]
                return line
            searched = len(self._buffer)
            if searched > LONGEST_LINE:
                self._skip_line()
                raise UsageError(f"the line is longer than {LONGEST_LINE} bytes")
            piece = os.read(self._descriptor, _PIECE)
            self._ended = not piece
            self._buffer += piece

    def _skip_line(self) -> None:
        """Leave out the rest of a line, so that it is not taken for the next one."""
        while not self._ended:
            piece = os.read(self._descriptor, _PIECE)
            self._ended = not piece
            _, newline, self._buffer = bytearray(piece).partition(b"\n")
            if newline:
                return
        self._buffer = bytearray()

    def ready(self) -> bool:
        # A sender that waits for its answer before it sends the next command must not be made to wait.
        return b"\n" in self._buffer or self._ended or bool(select.select([self._descriptor], [], [], 0)[0])


class FileClock(Clock):
    """Shows the seconds since 1970 that stand in a file, for tests: waiting for them moves them on, in no time.

    Several processes may share the file.
    """

    __slots__ = ("_path",)

    def __init__(
        self, path: str, on_wait: OnWait | None = None, on_notice: Callable[[str], None] | None = None
    ) -> None:
        super().__init__(on_wait, on_notice)
        self._path = path

    def __call__(self) -> int:
        return self._moved(0)

    def sleep(self, nanoseconds: int) -> None:
        self._moved(nanoseconds)

    def _moved(self, nanoseconds: int) -> int:
        try:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:
            raise StoreError(f"the file of the clock, {self._path}, cannot be used: {error.strerror}") from None
        from ..schemes.timed import Date, parse_date

        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            shown = parse_date(os.read(descriptor, 200).strip()).floor(9)
            if nanoseconds:
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, bytes(Date(shown + nanoseconds, 9)), 0)
            return shown + nanoseconds
        except NoidError as error:
            raise StoreError(f"the file of the clock, {self._path}: {error.message}") from None
        finally:
            os.close(descriptor)
