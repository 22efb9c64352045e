"""The shell's interface: `noid [-f Dbdir] [-vh] Command Arguments`."""

from __future__ import annotations

import os
import sys

from ..clock import Clock
from ..commands import Call, Invocation, Session
from ..commands.answers import anvl
from ..errors import NoidError, StoreError, UsageError, printable
from ..minter.events import Actor, process_owner
from ..version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..commands.answers import Answer
    from ..commands.session import Progress

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
        _write_error(f"error: {error.message}")
        return WRONG_USAGE if isinstance(error, UsageError) else REFUSED
    except KeyboardInterrupt:
        return REFUSED
    except Exception as error:  # noqa: BLE001 - the last resort: a person gets a sentence, never a traceback
        out.flush_what_can_be()
        _write_error(f"error: a fault in noidtools itself ({type(error).__name__}: {error}): please report it")
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
        return _resolve_loop(dbdir, Invocation(words))
    session = Session(dbdir, Actor(process_owner(), b"shell", _clock()), local=True, progress=_progress())
    try:
        if words == [b"-"]:
            return _bulk(session, out)
        call = Call(session, words)
        if call.reads_input:
            from .input import FileSource

            call.read_elements(FileSource(0).read_line)
        out.answer(call.run())
        return REFUSED if out.failed else DONE
    finally:
        session.close()


def _resolve_loop(dbdir: str, invocation: Invocation) -> int:
    from .noidr import answer_requests

    invocation.ensure_fits()
    element = invocation.option("element")
    return answer_requests(dbdir, None if element is None else element.encode(), codes=invocation.flag("codes"),
                           echo=invocation.flag("echo"))


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
            raise UsageError(f"there is no option {printable(option)}: say noid -h")
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
    if not file:
        return Clock(progress, _write_note)
    from .clock import FileClock

    return FileClock(file, progress, _write_note)


def _write_note(sentence: str) -> None:
    _write_error(f"note: {sentence}")


def _write_error(sentence: str) -> None:
    # Most commands write none, and every process pays for its imports.
    from ..console import write_error

    write_error(sentence)


def _progress() -> Progress | None:
    if not os.isatty(2):
        return None
    from ..console import ProgressBar

    return ProgressBar(2)


def _bulk(session: Session, out: _Output) -> int:
    from ..commands.bulk import run_lines
    from .input import FileSource

    status = DONE
    for result in run_lines(session, FileSource(0)):
        for record in result.records:
            out.write(anvl(record))
        if result.error is not None:
            out.write(f"error: {result.error.message}\n".encode("utf-8", "surrogateescape"))
            _write_error(f"error: line {result.line}: {result.error.message}")
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
            _write_error(f"error: {error.message}")

    def _lost(self, error: Exception) -> StoreError:
        # Python would try once more at exit, and complain in its own words.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        reason = getattr(error, "strerror", None) or str(error)
        return StoreError(f"the answer could not be written to standard output: {reason}")
