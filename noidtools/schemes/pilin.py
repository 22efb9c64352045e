"""The PILIN scheme: Handles with a suffix of nine characters, one for each millisecond."""

from __future__ import annotations

from ..exceptions import InvalidError, UsageError
from . import pilin_labels
from .timed import TimedScheme
from .timegrid import Date, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..settings import Settings
    from . import Pairs
    from .timegrid import Granularity

_PREFIX = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
_LONGEST_PREFIX = 200
_MILLI = 3


class PilinScheme(TimedScheme):
    """102.100.272/RPLZ54PQH: a Handle prefix, and the milliseconds since 1582 backwards in base 31."""

    __slots__ = ()

    name = "pilin"
    system = b"hdl:"
    summary = "Handles of nine characters, one a millisecond, until the year 2420: --prefix 102.100.272"
    options = ("prefix", "patience")
    fixed_granularity = True

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.prefix = settings["prefix"].encode()

    @classmethod
    def completed(cls, settings: Settings) -> Settings:
        settings = super().completed(settings.with_(granularity="0.001"))
        if not settings["prefix"]:
            raise UsageError("scheme pilin needs a Handle prefix: --prefix 102.100.272")
        _check_prefix(settings["prefix"].encode())
        return settings

    @classmethod
    def decode(cls, label: bytes) -> Pairs:
        prefix, slash, suffix = label.rpartition(b"/")
        pairs = [("scheme", b"pilin")]
        if slash:
            _check_prefix(prefix)
            pairs.append(("prefix", prefix))
        milliseconds = pilin_labels.decode(suffix)
        return [
            ("id", prefix + slash + pilin_labels.canonical(suffix)), *pairs,
            ("time", pilin_labels.utc(milliseconds)), ("milliseconds", b"%d" % milliseconds),
        ]

    def following(self, last: Date | None, asked: Date, granularity: Granularity) -> Date | None:
        milliseconds = asked.floor(_MILLI) if last is None else max(last.floor(_MILLI) + 1, asked.floor(_MILLI))
        return None if pilin_labels.from_unix_ms(milliseconds) >= pilin_labels.TOTAL else Date(milliseconds, _MILLI)

    def label(self, date: Date) -> bytes:
        return self.prefix + b"/" + pilin_labels.encode(pilin_labels.from_unix_ms(date.floor(_MILLI)))

    def spelling(self, label: bytes) -> bytes:
        prefix, slash, suffix = label.rpartition(b"/")
        if not slash or prefix.lower() != self.prefix.lower():
            raise InvalidError(f"{shown(label)} does not begin with the prefix {shown(self.prefix)}")
        return self.prefix + b"/" + pilin_labels.canonical(suffix)

    def form(self) -> Pairs:
        last = pilin_labels.utc(pilin_labels.TOTAL - 1)
        return [("Form", self.prefix + b"/nine characters"), ("Size", b"%d" % pilin_labels.TOTAL), ("Ends", last)]

    def durable(self, settings: Settings) -> str:
        return "GN" + "I" * (b"-" not in self.prefix)

    def exhausted(self) -> str:
        last = pilin_labels.utc(pilin_labels.TOTAL - 1).decode()
        return f"no identifier is left: nine characters end at {last}"


def _check_prefix(prefix: bytes) -> None:
    """Words of letters and digits joined by dots, as the Handle registry gives them out."""
    if len(prefix) > _LONGEST_PREFIX or any(not word or word.translate(None, _PREFIX) for word in prefix.split(b".")):
        raise InvalidError(f"a Handle prefix is words of letters and digits joined by dots, not {shown(prefix)}")
