"""The base class of the schemes that make labels from the time (ibi, ibip, pilin), and exact dates.

Time is divided into cells, whose width is the granularity, and each label is made from the date of a cell.  The date of
the last label is stored, and the next label gets a later cell, so none is used twice even if the clock is set back.  If
that cell is in the future, it is reserved and the user waits for it, but no longer than the patience of the minter.

A date is a whole number of units of 10^-places seconds since 1970-01-01T00:00:00Z (POSIX time, so no leap seconds).
All arithmetic is on integers: a float cannot hold a tenth of a second, and `decimal` takes 10 ms to import.
"""

from __future__ import annotations

from abc import abstractmethod

from ..codec import pack, unpack
from ..errors import BusyError, ConflictError, InvalidError, UsageError
from ..times import SECOND, iso_datetime
from .base import LOOK_AHEAD, Generator, MintRequest, NeedsOwnTransaction, Scheme

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .base import Pairs, Settings


# -- dates, and the temporal distributor of the IBI standard ---------------------------------------------------------

# 10^-30 s is the smallest unit of time that has a name.  The standard sets no limit; this one keeps the parser from
# computing with a label of a million digits.
MAX_PLACES = 30

# About 316 million years, for the same reason.
MAX_SECONDS = 10**16


class Date:
    """An exact moment: `units` / 10^`places` seconds since 1970, without trailing zeros.

    Equal moments are equal objects, with any number of trailing zeros in the arguments.
    """

    __slots__ = ("places", "units")

    def __init__(self, units: int, places: int = 0) -> None:
        while places > 0 and units % 10 == 0:
            units //= 10
            places -= 1
        if not 0 <= places <= MAX_PLACES:
            raise InvalidError(f"a date has at most {MAX_PLACES} decimal places, not {places}")
        if units < 0:
            raise InvalidError("the date lies before 1970, where POSIX time begins")
        if units >= MAX_SECONDS * 10**places:
            raise InvalidError(f"the date lies {MAX_SECONDS} seconds or more after 1970")
        self.units = units
        self.places = places

    @property
    def seconds(self) -> int:
        """The whole seconds since 1970."""
        return self.floor(0)

    @property
    def fraction(self) -> bytes:
        """The digits after the decimal point, leading zeros kept; empty for a whole second."""
        if not self.places:
            return b""
        return b"%0*d" % (self.places, self.units % 10**self.places)

    def floor(self, places: int) -> int:
        """How many whole units of 10^-places seconds have passed since 1970."""
        if places >= self.places:
            return int(self.units * 10 ** (places - self.places))
        return int(self.units // 10 ** (self.places - places))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Date) and (self.units, self.places) == (other.units, other.places)

    def __hash__(self) -> int:
        return hash((self.units, self.places))

    def __lt__(self, other: Date) -> bool:
        places = max(self.places, other.places)
        return self.floor(places) < other.floor(places)

    def __le__(self, other: Date) -> bool:
        return not other < self

    def __bytes__(self) -> bytes:
        """POSIX seconds in decimal, as `parse_date` reads them."""
        return b"%d.%b" % (self.seconds, self.fraction) if self.places else b"%d" % self.units

    def __repr__(self) -> str:
        return f"Date({self.units}, {self.places})"


def quoted(value: bytes) -> str:
    """Untrusted bytes for a message: in quotes, printable, at most 80 of them."""
    return repr(bytes(value[:80]))[1:] + ("..." if len(value) > 80 else "")


def parse_date(text: bytes) -> Date:
    """The date written as POSIX seconds, such as 1287588115.05."""
    units, places = _decimal(text, "a date is a number of seconds such as 1287588115.05")
    return Date(units, places)


def parse_granularity(text: bytes) -> Date:
    """The granularity, the width of the cells in seconds: 60, 1, 0.1, 0.01 and so on."""
    rule = "a granularity is one of 60, 1, 0.1, 0.01, ... seconds"
    units, places = _decimal(text, rule)
    try:
        width = Date(units, places)
    except InvalidError:
        width = Date(0)
    if width.units != 1 and width != Date(60):
        raise InvalidError(f"{rule} (at most {MAX_PLACES} decimal places), not {quoted(text)}")
    return width


def from_ns(nanoseconds: int) -> Date:
    """A date from nanoseconds since 1970, which is what time.time_ns returns."""
    return Date(nanoseconds, 9)


def wait_ns(date: Date, now: Date) -> int:
    """Nanoseconds from `now` until `date` has come, rounded up; 0 if it has."""
    places = max(date.places, now.places, 9)
    left = date.floor(places) - now.floor(places)
    unit: int = 10 ** (places - 9)
    return max(0, -(-left // unit))


def allot(last: Date | None, now: Date, granularity: Date) -> Date:
    """The date of the next label, for a request made at `now`; `last` is the date of the previous label.

    It is later than `last`.  If it is also later than `now`, the request waits until that date.  Where several cells
    are free, the date with the shortest label is chosen.
    """
    places, step = granularity.places, granularity.units
    arrived = now.floor(places) // step * step
    # The last date may be of a finer granularity.  Rounded down to this one, it has the same later dates.
    previous = arrived - step if last is None else last.floor(places) // step * step
    cell = max(previous + step, arrived)
    for width in _widths(places):
        short = cell // width * width
        if short > previous:
            return Date(short, places)
    return Date(cell, places)


def _widths(places: int) -> list[int]:
    """A minute, a second, a tenth and so on, down to ten units; in units of 10^-places seconds."""
    return [60 * 10**places] + [10**power for power in range(places, 0, -1)]


def utc(date: Date) -> bytes:
    """The date as ISO 8601 writes it: 2010-10-20T15:21:55.05Z."""
    return iso_datetime(date.seconds, date.fraction)


def _decimal(text: bytes, rule: str) -> tuple[int, int]:
    """A plain decimal number as (units, places); raises InvalidError with the rule for anything else."""
    whole, point, fraction = text.partition(b".")
    fraction_ok = fraction.isdigit() if point else True
    # The length is checked first, because int() is slow for thousands of digits and then raises ValueError.
    if not whole.isdigit() or not fraction_ok or len(text) > 100:
        raise InvalidError(f"{rule}, not {quoted(text)}")
    return int(whole + fraction), len(fraction)


# -- schemes of time -------------------------------------------------------------------------------------------------

_PATIENCE = 30 * SECOND
# No label is reserved further ahead than this, whatever the patience of the minter.
_FARTHEST = 86400 * SECOND
_MOST_PATIENCE = 10**9
_UNITS = ((86400, "day"), (3600, "hour"), (60, "minute"))


def parse_patience(text: bytes) -> int:
    """The patience in nanoseconds, from a number of seconds such as 30 or 0.5."""
    try:
        patience = parse_date(text)
    except InvalidError:
        raise UsageError(f"the patience is a number of seconds such as 30 or 0.5, not {quoted(text)}") from None
    if patience.seconds >= _MOST_PATIENCE:
        raise UsageError(f"the patience must be less than {_MOST_PATIENCE} seconds")
    return wait_ns(patience, Date(0))


class TimedScheme(Scheme):
    """Subclasses define which date follows the last one, and how to write a date as a label."""

    __slots__ = ("granularity", "patience", "prefix")

    # The part of a label before the slash, the same for all labels of a minter.
    prefix: bytes
    queue_refusal = "time does not come back, so a label that was passed over cannot be made later"
    timed = True
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
    def next_date(self, last: Date | None, requested_at: Date, granularity: Date) -> Date | None:
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
        """How many nanoseconds to wait for one identifier at most; the default is at least one cell."""
        if self._patience:
            return parse_patience(self._patience)
        return max(_PATIENCE, wait_ns(self._granularity, Date(0)))

    def adjust(self, name: str, value: bytes) -> tuple[bytes, bytes]:
        if name == "granularity":
            if self._scheme.fixed_granularity:
                raise ConflictError(f"the granularity of scheme {self._scheme.name} is part of its form")
            before, self._granularity = bytes(self._granularity), parse_granularity(value)
            return before, bytes(self._granularity)
        before, self._patience = seconds(self.patience), seconds(parse_patience(value))
        return before, self._patience

    def reset_clock(self, now: int) -> tuple[bytes, bytes]:
        moment = from_ns(now)
        if self._last is None or self._last <= moment:
            raise ConflictError(f"no identifier lies in the future of the clock, which shows {_time_of(now)}: there is "
                                "nothing to reset")
        before, self._last, self._seen = utc(self._last), moment, now
        return before, _time_of(now).encode()

    def status(self) -> Pairs:
        last = [("Last", utc(self._last))] if self._last is not None else []
        grid = [("Granularity", bytes(self._granularity)), ("Patience", seconds(self.patience))]
        return [("Drawn", b"%d" % self._drawn), *last, *grid]

    def internals(self) -> Pairs:
        return [("Clock-Seen", utc(from_ns(self._seen)))] if self._seen else []

    def draw(self, count: int, request: MintRequest | None = None) -> list[tuple[bytes, int]]:
        assert request is not None, "a label made from the time needs the time of the request"
        now = request.clock()
        # The request may have waited for the write lock.  Cells that have passed unused since then can be used at once.
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
            if wait > min(patience, _FARTHEST):
                raise self._too_long(date, now, min(patience, _FARTHEST))
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

    def _too_long(self, date: Date, now: int, limit: int) -> BusyError:
        wait, moment = duration(wait_ns(date, from_ns(now))), utc(date).decode()
        ahead = f"the next free moment is {moment}, {wait} ahead, longer than the patience of {duration(limit)}"
        if now >= self._seen or self._last is None:
            return BusyError(f"{ahead}: ask again later")
        return BusyError(
            f"the clock was set back by {duration(self._seen - now)}: it shows {_time_of(now)}, and the last "
            f"identifier, {self._scheme.label(self._last).decode()}, lies after that; {ahead}: set the clock right, or "
            "wait", "if it had run ahead and is right now, 'noid clock reset' goes on from here"
        )


def _time_of(now: int) -> str:
    """A time of the clock, in whole seconds."""
    return iso_datetime(now // SECOND).decode()


def seconds(nanoseconds: int) -> bytes:
    """Seconds in decimal, exactly."""
    return bytes(Date(nanoseconds, 9))


def duration(nanoseconds: int) -> str:
    """A duration in words, in its largest unit and the next smaller one: 2 hours 5 minutes."""
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


# -- schemes of a host and a time ------------------------------------------------------------------------------------


def check_port(port: int) -> int:
    """The port itself; raises InvalidError if there is no such port."""
    if not 1 <= port <= 65535:
        raise InvalidError(f"a port is a number from 1 to 65535, not {port}")
    return port


def parse_port(text: bytes) -> int:
    """The port written in decimal."""
    digits = text.lstrip(b"0")
    if not digits.isdigit() or len(digits) > 5:
        raise InvalidError(f"a port is a number from 1 to 65535, not {quoted(text)}")
    return check_port(int(digits))


class HostTimeScheme(TimedScheme):
    """A scheme whose labels have a part for the server and its port, and one for the date; subclasses write both.

    computer  the name or the address of the server, from the setting named in `place`
    """

    __slots__ = ("computer", "port")

    # The setting with the name or the address of the server, its meaning and an example, and the default port.
    place, place_meaning, place_example = "", "", ""
    default_port = 0

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.computer = settings[self.place].encode()
        self.port = int(settings["port"])
        self.prefix = self.encode_place(self.computer, self.port)

    @classmethod
    def check_settings(cls, settings: Settings) -> Settings:
        settings = super().check_settings(settings)
        if not settings[cls.place]:
            raise UsageError(f"scheme {cls.name} needs {cls.place_meaning} as its {cls.place}, such as "
                             f"{cls.place_example}")
        computer = cls.canonical_computer(settings[cls.place].encode())
        port = parse_port(settings["port"].encode()) if settings["port"] else cls.default_port
        return settings.with_(**{cls.place: computer.decode(), "port": str(port)})

    @staticmethod
    @abstractmethod
    def canonical_computer(text: bytes) -> bytes:
        """The canonical spelling of the name or the address; raises InvalidError if it is not valid."""

    @staticmethod
    @abstractmethod
    def encode_place(computer: bytes, port: int) -> bytes:
        """The part of a label before the date."""

    @staticmethod
    @abstractmethod
    def encode_date(date: Date) -> bytes:
        """The part of a label with the date."""

    @classmethod
    def decoded(cls, label: bytes, computer: bytes, port: int, date: Date) -> Pairs:
        """What a label contains, given in its canonical spelling."""
        return [
            ("id", label), ("scheme", cls.name.encode()), (cls.place, computer),
            ("port", b"%d" % port), ("time", utc(date)), ("seconds", bytes(date)),
        ]

    def next_date(self, last: Date | None, requested_at: Date, granularity: Date) -> Date:
        return allot(last, requested_at, granularity)

    def label(self, date: Date) -> bytes:
        return self.prefix + b"/" + self.encode_date(date)
