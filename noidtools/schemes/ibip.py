"""The IBI scheme by address: opaque labels."""

from __future__ import annotations

from ..exceptions import UsageError
from . import ibip_labels
from .ibi_labels import parse_port
from .timed import TimedScheme
from .timegrid import allot, utc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..settings import Settings
    from . import Pairs
    from .timegrid import Date, Granularity


class IbipScheme(TimedScheme):
    """8JMKD3MGP8W/34PGRBS: the server's address and port, and a date, in base 27."""

    __slots__ = ("_ip", "_port")

    name = "ibip"
    summary = "opaque labels from the server's IP address and the time: --ip Address [--port 800]"
    options = ("ip", "port", "granularity", "patience")

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._ip = settings["ip"].encode()
        self._port = int(settings["port"])
        self.prefix = ibip_labels.prefix(self._ip, self._port)

    @classmethod
    def completed(cls, settings: Settings) -> Settings:
        settings = super().completed(settings)
        if not settings["ip"]:
            raise UsageError("scheme ibip needs the server's address: --ip 150.163.34.243")
        ip = ibip_labels.ip_address(settings["ip"].encode())
        port = parse_port(settings["port"].encode()) if settings["port"] else ibip_labels.DEFAULT_PORT
        return settings.with_(ip=ip.decode(), port=str(port))

    @classmethod
    def decode(cls, label: bytes) -> Pairs:
        ip, port, date = ibip_labels.decode(label)
        return [
            ("id", ibip_labels.canonical(label)), ("scheme", b"ibip"), ("ip", ip),
            ("port", b"%d" % port), ("time", utc(date)), ("seconds", bytes(date)),
        ]

    def following(self, last: Date | None, asked: Date, granularity: Granularity) -> Date:
        return allot(last, asked, granularity)

    def label(self, date: Date) -> bytes:
        return self.prefix + b"/" + ibip_labels.suffix(date)

    def spelling(self, label: bytes) -> bytes:
        return ibip_labels.canonical(label)

    def form(self) -> Pairs:
        form = self.prefix + b"/seconds since 1995-08-01[Wfraction], in base 27"
        return [("Form", form), ("Size", b"unlimited"), ("IP", self._ip), ("Port", b"%d" % self._port)]

    def durable(self, settings: Settings) -> str:
        from ipaddress import ip_address

        return "NI" + "G" * ip_address(self._ip.decode()).is_global
