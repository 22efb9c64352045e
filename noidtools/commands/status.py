"""The command that reports how minters and a running service are doing."""

from __future__ import annotations

from ..errors import NoidError
from ..minter.folder import MinterFolder, SingleMinter
from ..minter.report import minter_figures
from ..resolution import wrong_canaries
from ..times import SECOND, iso_datetime
from .answers import Answer, Fields
from .command import Command, Form, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .call import Call


# -- the service -----------------------------------------------------------------------------------------------------


class ServiceStatus:
    """How the service at an address is doing, from its /readyz and /metrics.

    url       its address
    fault     why it is not ready or cannot be asked, empty if it is ready
    requests  how many requests it has answered
    """

    def __init__(self, url: str) -> None:
        from ..verification.http import UnreachableError, text_at

        self.url = url
        self.fault = ""
        self.requests = 0
        try:
            text_at(url, "readyz")
            for line in text_at(url, "metrics").splitlines():
                if line.startswith("noid_requests_total"):
                    self.requests += int(float(line.rpartition(" ")[2]))
        except UnreachableError as error:
            self.fault = error.reason

    def lines(self) -> list[tuple[str, str]]:
        """Labels and texts."""
        if self.fault:
            return [("service", self.url), ("error", f"the service is not ready: {self.fault}")]
        return [("service", self.url), ("ready", "yes"), ("requests", str(self.requests))]


# -- minters ---------------------------------------------------------------------------------------------------------

_UNITS = ("bytes", "kB", "MB", "GB", "TB")


class MinterStatus:
    """How one minter is doing.

    name     that of its folder
    figures  see minter/report.py, with the number of wrong canaries; empty if it cannot be read
    fault    why it cannot be read, empty if it can
    """

    __slots__ = ("name", "figures", "fault")

    def __init__(self, name: str, figures: dict[str, float], fault: str = "") -> None:
        self.name = name
        self.figures = figures
        self.fault = fault


def statuses(dbdir: str, folder: str | None) -> Iterator[MinterStatus]:
    """How the minters in a folder are doing, or the one in `dbdir` if no folder is named."""
    minters = MinterFolder(folder) if folder else SingleMinter(dbdir)
    for name, path in minters.dbdirs():
        try:
            minter = minters.open(path, name)
            yield MinterStatus(name, minter_figures(minter) | {"canaries_wrong": len(wrong_canaries(minter))})
        except NoidError as error:
            yield MinterStatus(name, {}, error.message)


def lines_of(status: MinterStatus, now: float) -> list[tuple[str, str]]:
    """Labels and texts for one minter; `now` is in seconds since 1970."""
    if status.fault:
        return [("minter", status.name), ("error", status.fault)]
    found = status.figures
    lines = [("minter", status.name), ("minted", f"{found['drawn']:.0f}"), ("left", _left_text(found)),
             ("held", f"{found['held']:.0f}"), ("queued", f"{found['queued']:.0f}")]
    if "size_bytes" in found:
        room = f", {size_text(found['free_bytes'])} left on its disk" if "free_bytes" in found else ""
        lines.append(("database", size_text(found["size_bytes"]) + room))
    if "readers" in found:
        oldest = found["oldest_reader_seconds"]
        since = f", the oldest for {oldest:.0f} s" if oldest >= 1 else ""
        lines.append(("readers", f"{found['readers']:.0f}{since}"))
    if "replica_lag_seconds" in found:
        lines.append(("replica", f"{found['replica_lag_seconds']:.1f} s behind"))
    lines.append(("backup", _backup_text(found, now)))
    if found["canaries_wrong"]:
        lines.append(("error", f"{found['canaries_wrong']:.0f} canaries lead elsewhere than they must; say canary"))
    return lines


def _left_text(found: dict[str, float]) -> str:
    if "left" not in found:
        return "unlimited"
    return f"{found['left']:.0f} of {found['total']:.0f} ({100 * found['left'] / max(1, found['total']):.1f} %)"


def _backup_text(found: dict[str, float], now: float) -> str:
    if "last_backup" not in found:
        return "none is known"
    hours = (now - found["last_backup"]) / 3600
    age = f"{hours / 24:.0f} days ago" if hours >= 48 else f"{max(0.0, hours):.1f} hours ago"
    return f"{iso_datetime(int(found['last_backup'])).decode()}, {age}"


def size_text(size: float) -> str:
    """A number of bytes for people."""
    unit = 0
    while size >= 1000 and unit + 1 < len(_UNITS):
        size, unit = size / 1000, unit + 1
    return f"{size:.0f} {_UNITS[unit]}" if unit == 0 or size >= 100 else f"{size:.1f} {_UNITS[unit]}"


def _status(call: Call) -> Answer:
    found = list(statuses(call.session.dbdir, call.option("minters")))
    now = call.actor.now() / SECOND
    records = [Fields(*((label, text.encode("utf-8", "surrogateescape")) for label, text in lines_of(status, now)))
               for status in found]
    failed = any(status.fault or status.figures.get("canaries_wrong") for status in found)
    if not records:
        records = [Fields(("note", b"there is no minter"))]
    service = service_at(call.option("url"))
    if service is not None:
        records.append(Fields(*((label, text.encode("utf-8", "surrogateescape")) for label, text in service.lines())))
        failed = failed or bool(service.fault)
    return Answer(*records, spaced=True, failed=failed)


def service_at(url: str | None) -> ServiceStatus | None:
    """How the service at an address is doing; None if no address is given."""
    if url is None:
        return None

    return ServiceStatus(url)


# -- the commands ----------------------------------------------------------------------------------------------------

COMMANDS = (
    Command(
        "status", "how the minter is doing: what is left, its database, backups, canaries",
        Form("[--minters Dir] [--url Url]", _status, writes=False),
        options=(
            Option("--minters Dir", "all minters in the folders of Dir"),
            Option("--url Url", "also whether the service at this address is ready, and how many requests it has "
                   "answered"),
        ),
        shell_only=True, see="operations.md#watch",
        fails="if a minter or the service cannot be read, or a canary leads elsewhere than it must",
        about="""\
The figures of a service are those of its /metrics, which must be readable for anyone.
""",
        example="""\
$ noid status | grep -E '^(minted|left|backup)'
minted: 4
left: 2438896 of 2438900 (100.0 %)
backup: none is known
""",
    ),
)
