"""The IBI scheme by domain name: names of uniform repositories."""

from __future__ import annotations

from ..exceptions import UsageError
from . import ibi_labels
from .timed import TimedScheme
from .timegrid import allot, utc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..settings import Settings
    from . import Pairs
    from .timegrid import Date, Granularity

# Last words of names that belong to nobody, or to everybody (RFC 2606, 6761, 6762 and 9476).
_NOT_GLOBAL = (b"test", b"example", b"invalid", b"localhost", b"local", b"alt", b"internal")


class IbiScheme(TimedScheme):
    """sid.inpe.br/mtc-m18/2009/02.16.17.46: the server's name and port, and a date."""

    __slots__ = ("_computer", "_port")

    name = "ibi"
    summary = "repository names from the server's domain name and the time: --computer Name [--port 80]"
    options = ("computer", "port", "granularity", "patience")

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._computer = settings["computer"].encode()
        self._port = int(settings["port"])
        self.prefix = ibi_labels.prefix(self._computer, self._port)

    @classmethod
    def completed(cls, settings: Settings) -> Settings:
        settings = super().completed(settings)
        if not settings["computer"]:
            raise UsageError("scheme ibi needs the server's name: --computer mtc-m18.sid.inpe.br")
        computer = ibi_labels.computer_name(settings["computer"].encode())
        port = ibi_labels.parse_port(settings["port"].encode()) if settings["port"] else ibi_labels.DEFAULT_PORT
        return settings.with_(computer=computer.decode(), port=str(port))

    @classmethod
    def decode(cls, label: bytes) -> Pairs:
        computer, port, date = ibi_labels.parse(label)
        return [
            ("id", ibi_labels.encode(computer, port, date)), ("scheme", b"ibi"), ("computer", computer),
            ("port", b"%d" % port), ("time", utc(date)), ("seconds", bytes(date)),
        ]

    def following(self, last: Date | None, asked: Date, granularity: Granularity) -> Date:
        return allot(last, asked, granularity)

    def label(self, date: Date) -> bytes:
        return self.prefix + b"/" + ibi_labels.suffix(date)

    def spelling(self, label: bytes) -> bytes:
        return ibi_labels.canonical(label)

    def path(self, identifier: bytes) -> bytes:
        return ibi_labels.path(identifier)

    def form(self) -> Pairs:
        form = self.prefix + b"/year/month.day.hour.minute[.second[.fraction]]"
        return [("Form", form), ("Size", b"unlimited"), ("Computer", self._computer), ("Port", b"%d" % self._port)]

    def durable(self, settings: Settings) -> str:
        in_use = self._computer.rpartition(b".")[2] not in _NOT_GLOBAL
        return "N" + "G" * in_use + "I" * (b"-" not in self._computer)
