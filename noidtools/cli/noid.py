"""The shell's clocks: one that shows on a terminal how long there is to wait, and one for tests."""

from __future__ import annotations

import fcntl
import os
import select
import sys

from ..clock import Clock
from ..commands import Call, Session, command_for, run
from ..commands.answers import anvl
from ..commands.bulk import LONGEST_LINE
from ..commands.lines import LineSource
from ..commands.table import reads_input
from ..console import write_error
from ..errors import NoidError, StoreError, UsageError
from ..minter.events import Actor, process_owner
from ..schemes.timegrid import Date, parse_date
from ..version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..clock import OnWait
    from ..commands.answers import Answer
    from ..commands.session import Progress



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
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            shown = _nanoseconds(os.read(descriptor, 200).strip(), self._path)
            if nanoseconds:
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, bytes(Date(shown + nanoseconds, 9)), 0)
            return shown + nanoseconds
        finally:
            os.close(descriptor)


def _nanoseconds(text: bytes, path: str) -> int:
    try:
        return parse_date(text).floor(9)
    except NoidError as error:
        raise StoreError(f"the file of the clock, {path}: {error.message}") from None

# -- Lines from a file descriptor, with the knowledge whether the next one is there already --------------------------

_PIECE = 1 << 16


class FileSource(LineSource):
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

# -- The shell's door: `noid [-f Dbdir] [-vh] Command Arguments` -----------------------------------------------------

DONE, REFUSED, WRONG_USAGE = 0, 1, 2


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
        return REFUSED
    except Exception as error:  # noqa: BLE001 - the last resort: a person gets a sentence, never a traceback
        out.flush_what_can_be()
        write_error(f"error: a fault in noidtools itself ({type(error).__name__}: {error}): please report it")
        return REFUSED


def _ensure_standard_files() -> None:
    """A closed standard file would hand its number to the next file opened: our database, and then all we print."""
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
    if words == [b"-v"]:
        out.write(f"noid {__version__}\n".encode())
        return DONE
    if words[:1] == [b"serve"]:
        from ..server.serve import serve

        return serve(dbdir, words[1:])
    if words[:1] == [b"resolve-loop"]:
        from .noidr import run_loop

        return run_loop(dbdir, words[1:])
    session = Session(dbdir, Actor(process_owner(), b"shell", _clock()), local=True, progress=_progress())
    try:
        if words == [b"-"]:
            return _bulk(session, out)
        command_for(words)
        out.answer(run(Call(session, words, _pairs(words))))
        return REFUSED if out.failed else DONE
    finally:
        session.close()


def _options(program: str, words: list[bytes]) -> tuple[str, list[bytes]]:
    """Dbdir and the command's words.  Options end at the command word, so values may look like options."""
    chosen: str | None = None
    while words and words[0].startswith(b"-") and words[0] != b"-":
        option, words = words[0], words[1:]
        if option == b"--":
            break
        if option.startswith(b"-f"):
            value = option[2:]
            if not value:
                if not words:
                    raise UsageError("option -f needs a folder")
                value, words = words[0], words[1:]
            chosen = os.fsdecode(value)
        elif option in (b"-v", b"--version"):
            words = [b"-v"]
            break
        elif option in (b"-h", b"-vh", b"-hv", b"--help"):
            words = [b"help"]
            break
        else:
            raise UsageError(f"there is no option {option.decode('utf-8', 'backslashreplace')}: say noid -h")
    return chosen or dbdir_from(program, os.environ.get("NOID", "")), words or [b"help"]


def dbdir_from(program: str, environment: str) -> str:
    """The minter's folder when none is named: from $NOID, or from the program's name, as noid_kt5 says kt5."""
    if environment:
        return environment
    return os.path.basename(program).partition("_")[2] or "."


def _clock() -> Clock:
    """The computer's, with a word to whoever waits at a terminal; or for tests the one in a file."""
    file = os.environ.get("NOIDTOOLS_CLOCK")
    terminal = os.isatty(2)
    if not file and not terminal:
        return Clock(on_notice=_write_note)
    from ..console import WaitIndicator

    progress = WaitIndicator(2) if terminal else None
    return FileClock(file, progress, _write_note) if file else Clock(progress, _write_note)


def _write_note(sentence: str) -> None:
    write_error(f"note: {sentence}")


def _progress() -> Progress | None:
    if not os.isatty(2):
        return None
    from ..console import ProgressBar

    return ProgressBar(2)


def _pairs(words: list[bytes]) -> list[tuple[bytes, bytes]] | None:
    form = reads_input(words)
    if not form:
        return None
    from ..commands.lines import read_elements, read_one_element

    read_line = FileSource(0).read_line
    return read_elements(read_line) if form == ":" else read_one_element(read_line)


def _bulk(session: Session, out: _Output) -> int:
    from ..commands.bulk import run_lines

    status = DONE
    for result in run_lines(session, FileSource(0)):
        for record in result.records:
            out.write(anvl(record))
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
    """Standard output in bytes; a reader that went away, or a full disk, is a refusal like any other."""

    def __init__(self) -> None:
        self.failed = False

    def answer(self, answer: Answer) -> None:
        for record in answer.records:
            self.write(anvl(record))
            self.flush()
        if answer.spaced:
            self.write(b"\n")
        self.failed = answer.failed

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

    def _lost(self, error: Exception) -> StoreError:
        # Python would try once more at exit, and complain in its own words.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        reason = getattr(error, "strerror", None) or str(error)
        return StoreError(f"the answer could not be written to standard output: {reason}")
