"""Base of the schemes whose labels name a server and a time (ibi, ibip): a computer, its port and a date."""

from __future__ import annotations

from abc import abstractmethod

from ..errors import InvalidError, UsageError
from .timed import TimedScheme
from .timegrid import Date, Granularity, allot, quoted, utc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .base import Pairs
    from .settings import Settings


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


class PlacedScheme(TimedScheme):
    """Subclasses define how a place and a date are written.

    computer  the name or the address of the server, as in the setting that `place` names
    """

    __slots__ = ("computer", "port")

    # The setting with the name or the address, what that is, an example of it, and the port if none is given.
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
            raise UsageError(f"scheme {cls.name} needs {cls.place_meaning}: --{cls.place} {cls.place_example}")
        computer = cls.canonical_computer(settings[cls.place].encode())
        port = parse_port(settings["port"].encode()) if settings["port"] else cls.default_port
        return settings.with_(**{cls.place: computer.decode(), "port": str(port)})

    @staticmethod
    @abstractmethod
    def canonical_computer(text: bytes) -> bytes:
        """The one spelling of the name or the address; raises InvalidError for what is none."""

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
        """What a label contains, of which this is the canonical spelling."""
        return [
            ("id", label), ("scheme", cls.name.encode()), (cls.place, computer),
            ("port", b"%d" % port), ("time", utc(date)), ("seconds", bytes(date)),
        ]

    def next_date(self, last: Date | None, requested_at: Date, granularity: Granularity) -> Date:
        return allot(last, requested_at, granularity)

    def label(self, date: Date) -> bytes:
        return self.prefix + b"/" + self.encode_date(date)
