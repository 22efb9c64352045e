"""What a minter promises and requires: label format, association policy, persistence, the state of what it mints.

The label format follows from the scheme.  The others are texts and choices that
an administrator sets (see config.py); who may do what is policy.py.
"""

from __future__ import annotations

from . import config
from .clock import stamp
from .exceptions import InvalidError, UsageError
from .minting import INITIAL_STATE, RESERVE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .events import Actor
    from .minter import Minter
    from .store import Reader, Writer

LABEL_FORMAT, ASSOCIATION, PERSISTENCE, MINTING = "label-format", "association", "persistence", "minting"
NAMES = (LABEL_FORMAT, MINTING, ASSOCIATION, PERSISTENCE)
PUBLISH = b"publish"
_LONGEST = 4096
_TEXT, _FROM, _UNTIL = (f"commitment/persistence{part}" for part in ("", "-from", "-until"))
_ASSOCIATION = "commitment/association"


class Persistence:
    """The promise that names last: in words, and for which time.  `until` is empty where no end is set."""

    __slots__ = ("text", "start", "until")

    def __init__(self, text: bytes, start: bytes, until: bytes) -> None:
        self.text = text
        self.start = start
        self.until = until


def persistence(reader: Reader) -> Persistence | None:
    text = config.value(reader, _TEXT)
    if text is None:
        return None
    return Persistence(text, config.value(reader, _FROM) or b"", config.value(reader, _UNTIL) or b"")


def promise(writer: Writer, actor: Actor, text: bytes, start: bytes = b"", until: bytes = b"") -> None:
    """Commit to persistence; what was promised before is kept in the record."""
    _ensure_text(text)
    start = start or stamp(actor.now())
    if until and until < start:
        raise UsageError(f"the time would end ({until.decode()}) before it begins ({start.decode()})")
    for name, value in ((_TEXT, text), (_FROM, start), (_UNTIL, until or None)):
        _change(writer, actor, name, value)


def promise_nothing(writer: Writer, actor: Actor) -> None:
    for name in (_TEXT, _FROM, _UNTIL):
        _change(writer, actor, name, None)


def association(reader: Reader) -> bytes | None:
    """On what things the minter's identifiers may stand for."""
    return config.value(reader, _ASSOCIATION)


def set_association(writer: Writer, actor: Actor, text: bytes | None) -> None:
    if text is not None:
        _ensure_text(text)
    _change(writer, actor, _ASSOCIATION, text)


def minting(reader: Reader) -> bytes:
    """Whether minting publishes at once or reserves."""
    return RESERVE if config.value(reader, INITIAL_STATE) == RESERVE else PUBLISH


def set_minting(writer: Writer, actor: Actor, choice: bytes) -> None:
    if choice not in (PUBLISH, RESERVE):
        shown = choice.decode("utf-8", "backslashreplace")
        raise UsageError(f"minting can publish at once or reserve: say policy minting publish|reserve, not {shown!r}")
    _change(writer, actor, INITIAL_STATE, None if choice == PUBLISH else choice)


def label_format(minter: Minter) -> bytes:
    """Which labels there can be, from the scheme."""
    form = [f"{name.lower()} {value.decode('utf-8', 'replace')}" for name, value in minter.scheme.form()]
    return f"scheme {minter.scheme.name}; {'; '.join(form)}".encode()


def _change(writer: Writer, actor: Actor, name: str, new: bytes | None) -> None:
    if config.value(writer, name) != new:
        config.change(writer, actor, name, new)


def _ensure_text(text: bytes) -> None:
    if not text.strip() or len(text) > _LONGEST:
        raise InvalidError(f"a policy is a text of 1 to {_LONGEST} bytes")
