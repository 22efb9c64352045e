"""Base of the schemes that make labels from the time (ibi, ibip, pilin).

A label names a cell of a grid of time.  Cells are used in ascending order and
never twice, whatever the clock does, because the date of the last label is
stored.  If the clock is behind that date, the generator reserves a cell in the
future, and the user waits for it, at most as long as the patience of the minter.
"""

from __future__ import annotations

from abc import abstractmethod

from ..clock import SECOND
from ..codec import pack, unpack
from ..errors import BusyError, ConflictError, InvalidError, UsageError
from .base import LOOK_AHEAD, Generator, MintRequest, NeedsOwnTransaction, Scheme
from .timegrid import Date, Granularity, from_ns, parse_date, parse_granularity, quoted, utc, wait_ns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .base import Pairs
    from .settings import Settings

_PATIENCE = 30 * SECOND
_MOST_PATIENCE = 10**9
_UNITS = ((86400, "day"), (3600, "hour"), (60, "minute"))


def parse_patience(text: bytes) -> int:
    """Nanoseconds from seconds written in decimal."""
    try:
        patience = parse_date(text)
    except InvalidError:
        raise UsageError(f"the patience is a number of seconds such as 30 or 0.5, not {quoted(text)}") from None
    if patience.seconds >= _MOST_PATIENCE:
        raise UsageError(f"the patience is less than {_MOST_PATIENCE} seconds")
    return wait_ns(patience, Date(0))


class TimedScheme(Scheme):
    """Subclasses define which date follows the last one, and how a date is written as a label."""

    __slots__ = ("granularity", "patience", "prefix")

    # The part of a label before the slash, the same for all labels of a minter.
    prefix: bytes
    queue_refusal = "time does not come back, so a label that was passed over cannot be made later"
    timed = True
    has_spellings = True
    fixed_granularity = False

    def __init__(self, settings: Settings) -> None:
        self.granularity = parse_granularity(settings["granularity"].encode())
        self.patience = settings["patience"].encode()

    @classmethod
    def check_settings(cls, settings: Settings) -> Settings:
        if settings["template"] or settings["naan"]:
            raise UsageError(f"scheme {cls.name} has neither template nor NAAN: leave them out, or write - for each")
        if settings["patience"]:
            parse_patience(settings["patience"].encode())
        granularity = parse_granularity((settings["granularity"] or "1").encode())
        return settings.with_(granularity=bytes(granularity).decode())

    @abstractmethod
    def next_date(self, last: Date | None, requested_at: Date, granularity: Granularity) -> Date | None:
        """The date for a request, later than the date `last` drawn before; None when no label is left."""

    @abstractmethod
    def label(self, date: Date) -> bytes:
        """The label of a date."""

    @abstractmethod
    def canonical_label(self, label: bytes) -> bytes:
        """The canonical spelling of a label; raises InvalidError if it is not valid."""

    def canonical(self, identifier: bytes) -> bytes:
        label, mark, pepper = identifier.partition(b"!")
        try:
            return self.canonical_label(label) + mark + pepper
        except InvalidError:
            return identifier

    def ensure_valid(self, identifier: bytes, state: bytes | None = None) -> None:
        if not self.canonical_label(identifier).startswith(self.prefix + b"/"):
            raise InvalidError(f"{quoted(identifier)} is another server's: here all begin with {quoted(self.prefix)}")

    def generator(self, state: bytes | None) -> TimedGenerator:
        return TimedGenerator(self, state)

    @property
    def namespace_prefix(self) -> bytes:
        return self.prefix + b"/"

    def without_prefix(self, identifier: bytes) -> bytes:
        return identifier.removeprefix(self.prefix + b"/")


class TimedGenerator(Generator):
    """Its state: the last date drawn, the latest reading of the clock, the number drawn, granularity and patience."""

    __slots__ = ("_scheme", "_last", "_seen", "_drawn", "_granularity", "_patience", "due", "more_ahead", "notice")

    def __init__(self, scheme: TimedScheme, state: bytes | None) -> None:
        self._scheme = scheme
        last, seen, drawn, granularity, patience = unpack(state) if state else (b"", b"0", b"0", b"", b"")
        self._last = parse_date(last) if last else None
        self._seen = int(seen)
        self._drawn = int(drawn)
        self._granularity = parse_granularity(granularity) if granularity else scheme.granularity
        self._patience = patience or scheme.patience
        self.due = 0
        self.more_ahead = False
        self.notice = ""

    def state(self) -> bytes:
        last = b"" if self._last is None else bytes(self._last)
        return pack([last, b"%d" % self._seen, b"%d" % self._drawn, bytes(self._granularity), self._patience])

    @property
    def drawn(self) -> int:
        return self._drawn

    @property
    def patience(self) -> int:
        """Nanoseconds that one identifier may be waited for; by default at least one cell of the grid."""
        if self._patience:
            return parse_patience(self._patience)
        return max(_PATIENCE, wait_ns(Date(self._granularity.units, self._granularity.places), Date(0)))

    def adjust(self, name: str, value: bytes) -> tuple[bytes, bytes]:
        if name == "granularity":
            if self._scheme.fixed_granularity:
                raise ConflictError(f"the granularity of scheme {self._scheme.name} is part of its form")
            before, self._granularity = bytes(self._granularity), parse_granularity(value)
            return before, bytes(self._granularity)
        before, self._patience = seconds(self.patience), seconds(parse_patience(value))
        return before, self._patience

    def status(self) -> Pairs:
        last = [("Last", utc(self._last))] if self._last is not None else []
        grid = [("Granularity", bytes(self._granularity)), ("Patience", seconds(self.patience))]
        return [("Drawn", b"%d" % self._drawn), *last, *grid]

    def internals(self) -> Pairs:
        return [("Clock-Seen", utc(from_ns(self._seen)))] if self._seen else []

    def draw(self, count: int, request: MintRequest | None = None) -> list[tuple[bytes, int]]:
        assert request is not None, "a label made from the time needs the time of the request"
        now = request.clock()
        # The request may have waited for the write lock.  Cells since the time of the request that are still
        # unused can be given to it at once.
        requested_at, moment = from_ns(min(request.requested_at, now)), from_ns(now)
        patience = self.patience if request.patience is None else request.patience
        reach = min(LOOK_AHEAD, patience)
        self.more_ahead = False
        drawn: list[tuple[bytes, int]] = []
        reserved = 0
        while len(drawn) < count:
            date = self._scheme.next_date(self._last, requested_at, self._granularity)
            if date is None:
                break
            wait = wait_ns(date, moment)
            if wait > reach and not request.whole:
                if request.sharing:
                    raise NeedsOwnTransaction
                if drawn:
                    self.more_ahead = True
                    break
            if wait > patience:
                raise self._too_long(date, now, patience)
            label = self._scheme.label(date)
            self._last = date
            self._drawn += 1
            drawn.append((label, self._drawn))
            reserved = wait
        if reserved and now < self._seen - SECOND // 2:
            self.notice = (f"the clock was set back by {duration(self._seen - now)}; the next free moment is "
                           f"{duration(reserved)} ahead, and is waited for")
        self._seen = max(self._seen, now)
        self.due = now + reserved if reserved else 0
        return drawn

    def _too_long(self, date: Date, now: int, patience: int) -> BusyError:
        wait, moment = duration(wait_ns(date, from_ns(now))), utc(date).decode()
        limit = f"longer than the patience of {duration(patience)}"
        if now < self._seen:
            return BusyError(
                f"the clock was set back by {duration(self._seen - now)}: it shows {utc(from_ns(now)).decode()}, and "
                f"the next free moment is {moment}, {wait} ahead, {limit}; set the clock right, or wait"
            )
        return BusyError(f"the next free moment is {moment}, {wait} ahead, {limit}: ask again later")


def seconds(nanoseconds: int) -> bytes:
    """Seconds in decimal, exactly."""
    return bytes(Date(nanoseconds, 9))


def duration(nanoseconds: int) -> str:
    """A time span in words: its largest unit and the next smaller one."""
    whole = nanoseconds // SECOND
    for place, (size, unit) in enumerate(_UNITS):
        if whole >= size:
            words = [_counted(whole // size, unit)]
            below, name = _UNITS[place + 1] if place + 1 < len(_UNITS) else (1, "second")
            if whole % size // below:
                words.append(_counted(whole % size // below, name))
            return " ".join(words)
    tenths = -(-nanoseconds // (SECOND // 1000))
    text = f"{tenths // 1000}.{tenths % 1000:03}".rstrip("0").rstrip(".")
    return f"{text} second" if text == "1" else f"{text} seconds"


def _counted(number: int, unit: str) -> str:
    return f"{number} {unit}" if number == 1 else f"{number} {unit}s"
