"""What monitors ask the service for: whether it lives, whether it is ready, and its figures for Prometheus.

    /healthz   whether every minter can be read; to users who may do more than read, what database servers say of
               themselves
    /readyz    whether every minter could mint and resolve now, with the reasons if not
    /metrics   figures of the requests, and of those minters that the user may read
"""

from __future__ import annotations

import threading
import time
from itertools import accumulate
from typing import Generic, TypeVar

from ..errors import LoginNeededError, NoidError
from ..minter.policies import EVERYTHING, READ, AccessPolicy
from ..minter.report import minter_figures
from ..resolution import wrong_canaries
from ..version import __version__
from .authentication import bearer_secret, policy_in
from .counters import BUCKETS
from .response import HttpError, Response

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..minter import Minter
    from ..resolution.catalogue import Catalogue
    from .counters import SharedCounters
    from .request import Request

T = TypeVar("T")
_TEXT = "text/plain; charset=utf-8"
_EXPOSITION = "text/plain; version=0.0.4; charset=utf-8"

# A disk with less room than this will be full soon.
_LITTLE_ROOM = 32 << 20

# Seconds for which results about the minters are cached: they take long where there are many minters, readiness takes
# the writer lock of each, and anybody may ask for them.
_KEPT_SECONDS = 1.0
_LOCK_SECONDS = 2.0

# Figures of a minter: name in report.py, name for Prometheus, type, explanation.
_OF_MINTER = (
    ("drawn", "minted_total", "counter", "Identifiers minted so far"),
    ("left", "identifiers_left", "gauge", "Identifiers left in the namespace"),
    ("total", "namespace_size", "gauge", "Size of the namespace"),
    ("held", "held", "gauge", "Identifiers on hold"),
    ("queued", "queued", "gauge", "Identifiers in the queue"),
    ("events", "events_total", "counter", "Changes recorded"),
    ("last_backup", "last_backup_timestamp_seconds", "gauge", "When the last backup was written"),
    ("size_bytes", "database_bytes", "gauge", "Size of the database on disk"),
    ("free_bytes", "database_free_bytes", "gauge", "Room left on the disk of the database"),
    ("readers", "database_readers", "gauge", "Readers of the database"),
    ("oldest_reader_seconds", "database_oldest_reader_seconds", "gauge", "Age, at least, of the oldest transaction"),
    ("oldest_reader_transactions", "database_oldest_reader_transactions", "gauge", "Commits since that began"),
    ("replica_lag_seconds", "replica_lag_seconds", "gauge", "How far the replica is behind"),
    ("canaries_wrong", "canaries_wrong", "gauge", "Canaries that lead elsewhere than they must"),
    ("up", "minter_up", "gauge", "Whether the minter can be read"),
)


class Monitoring:
    """Answers monitors, about the minters of a catalogue."""

    def __init__(self, catalogue: Catalogue, counters: SharedCounters | None) -> None:
        self._catalogue = catalogue
        self._counters = counters
        self._reasons = _Kept(self._find_reasons)
        self._figures = _Kept(self._find_figures)

    def respond(self, name: bytes, request: Request) -> Response:
        """The response to a request for one of these pages; raises HttpError, and what the policy refuses."""
        if name == b"metrics":
            return Response(200, _EXPOSITION, self._metrics(request).encode())
        return self._readiness() if name == b"readyz" else self._health(request)

    def _health(self, request: Request) -> Response:
        domains = self._catalogue.entries()
        if not self._catalogue.faults and not domains:
            raise HttpError(503, "store", "there is no minter yet")
        if self._catalogue.faults:
            raise HttpError(503, "store", f"{len(self._catalogue.faults)} minters cannot be read, {len(domains)} can")
        lines = ["ok"]
        for domain in domains:
            minter = domain.open()
            minter.read(lambda reader: reader.version())
            if _sees_everything(request, minter):
                lines += [f"{domain.name}: {name}: {value}" for name, value in minter.store.status()]
        return Response(200, _TEXT, "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape"))

    # -- readiness -------------------------------------------------------------------------------------

    def _readiness(self) -> Response:
        reasons = self._reasons.value()
        if reasons:
            return Response(503, _TEXT, "".join(f"not ready: {reason}\n" for reason in reasons).encode())
        return Response(200, _TEXT, b"ready\n")

    def _find_reasons(self) -> list[str]:
        """Why the service is not ready, in sentences that tell nothing about the server's files."""
        domains = self._catalogue.entries()
        reasons = [f"the minter {name} cannot be read" for name in self._catalogue.faults]
        if not domains and not reasons:
            reasons.append("there is no minter")
        for domain in domains:
            try:
                reasons += [f"the minter {domain.name} {reason}" for reason in _reasons_of(domain.open())]
            except NoidError:
                reasons.append(f"the minter {domain.name} cannot be read")
        return reasons

    # -- metrics ---------------------------------------------------------------------------------------

    def _metrics(self, request: Request) -> str:
        minters = self._readable_minters(request)
        exposition = Exposition()
        exposition.family("build_info", "gauge", "The release of noidtools", [({"version": __version__}, 1)])
        if self._counters is not None:
            _write_requests(exposition, self._counters)
        found = self._figures.value()
        figures = {name: found[name] for name in minters if name in found}
        figures |= {name: {"up": 0.0} for name in self._catalogue.faults}
        for key, name, kind, explanation in _OF_MINTER:
            samples = [({"minter": minter}, found[key]) for minter, found in figures.items() if key in found]
            exposition.family(name, kind, explanation, samples)
        return exposition.text()

    def _find_figures(self) -> dict[str, dict[str, float]]:
        return {domain.name: _figures_of(domain.open()) for domain in self._catalogue.entries()}

    def _readable_minters(self, request: Request) -> list[str]:
        """The names of the minters that the user, or a token, may read; raises the refusal if there are others only."""
        found: list[str] = []
        refusal: NoidError | None = None
        is_known = not bearer_secret(request)
        for domain in self._catalogue.entries():
            minter = domain.open()
            try:
                policy = minter.read(lambda reader: policy_in(request, reader))
                is_known = True
                policy.ensure("metrics", (READ,), request.user)
                found.append(domain.name)
            except NoidError as error:
                refusal = refusal or error
                # A token is of one minter; another may be open to anyone.
                if minter.read(AccessPolicy.of).rules[READ].admits(b""):
                    found.append(domain.name)
            request.token_user = b""
        if refusal is not None and not (found and is_known):
            if isinstance(refusal, LoginNeededError):
                raise HttpError(401, "login", "the figures are for who may read a minter: log in, or send a token",
                                ("WWW-Authenticate", 'Basic realm="noid"'))
            raise refusal
        return found


def _sees_everything(request: Request, minter: Minter) -> bool:
    """Whether the user may do more than read, and may know of the servers behind this one."""
    try:
        return minter.read(lambda reader: policy_in(request, reader).view(request.user)) == EVERYTHING
    except HttpError:
        return False  # a token of another minter, or of none
    finally:
        request.token_user = b""


def _reasons_of(minter: Minter) -> Iterable[str]:
    """Why a minter could not mint, or resolves wrongly."""
    found = minter_figures(minter)
    if not minter.store.writable:
        yield "cannot be written by this process"
    elif found.get("free_bytes", _LITTLE_ROOM) < _LITTLE_ROOM:
        yield "has no room left on its disk"
    else:
        try:
            minter.store.write(lambda writer: None, timeout=_LOCK_SECONDS)
        except NoidError:
            yield "is kept busy by another writer, or cannot be written"
    if not found.get("left", 1) + found["queued"] and minter.settings["at-last"] == "stop":
        yield "has no identifiers left"
    wrong = wrong_canaries(minter)
    if wrong:
        yield f"resolves {len(wrong)} canaries wrongly"


def _figures_of(minter: Minter) -> dict[str, float]:
    try:
        return minter_figures(minter) | {"canaries_wrong": len(wrong_canaries(minter)), "up": 1}
    except NoidError:
        return {"up": 0}


class _Kept(Generic[T]):
    """What a function returned, for some seconds.

    One thread at a time calls it: others are answered with what is there meanwhile, and wait only for the first.
    """

    def __init__(self, find: Callable[[], T]) -> None:
        self._find = find
        self._lock = threading.Lock()
        self._found: tuple[float, T] | None = None

    def value(self) -> T:
        found = self._found
        if found is not None and time.monotonic() - found[0] < _KEPT_SECONDS:
            return found[1]
        if self._lock.acquire(blocking=found is None):
            try:
                if self._found is found:  # no other thread has done so meanwhile
                    value = self._find()
                    self._found = time.monotonic(), value
                found = self._found
            finally:
                self._lock.release()
        assert found is not None
        return found[1]


class Exposition:
    """Figures in the text format of Prometheus."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def family(self, name: str, kind: str, explanation: str, samples: list[tuple[dict[str, str], float]]) -> None:
        """Write the figures of one name; none if there are no samples."""
        if samples:
            self._lines += [f"# HELP noid_{name} {explanation}.", f"# TYPE noid_{name} {kind}"]
            self._lines += [self._sample(name, labels, value) for labels, value in samples]

    def histogram(self, name: str, explanation: str, samples: list[tuple[dict[str, str], list[int]]]) -> None:
        """Write durations: of each how many there were, their sum in microseconds, and how many in each bucket."""
        if not samples:
            return
        self._lines += [f"# HELP noid_{name} {explanation}.", f"# TYPE noid_{name} histogram"]
        for labels, (count, total, *buckets) in samples:
            for bound, number in zip(BUCKETS, accumulate(buckets), strict=False):
                self._lines.append(self._sample(f"{name}_bucket", {**labels, "le": f"{bound:g}"}, number))
            self._lines += [self._sample(f"{name}_bucket", {**labels, "le": "+Inf"}, count),
                            self._sample(f"{name}_sum", labels, total / 1e6),
                            self._sample(f"{name}_count", labels, count)]

    def text(self) -> str:
        return "".join(f"{line}\n" for line in self._lines)

    @staticmethod
    def _sample(name: str, labels: dict[str, str], value: float) -> str:
        named = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
        return f"noid_{name}{{{named}}} {value:.15g}" if named else f"noid_{name} {value:.15g}"


def _escaped(text: str) -> str:
    plain = text.encode("utf-8", "replace").decode()
    return plain.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _write_requests(exposition: Exposition, counters: SharedCounters) -> None:
    totals = sorted(counters.totals().items())
    requests = [({"interface": key[1], "command": key[2], "status": key[3]}, numbers)
                for key, numbers in totals if key[0] == "request"]
    exposition.family("requests_total", "counter", "Requests answered",
                      [(labels, numbers[0]) for labels, numbers in requests])
    exposition.histogram("request_seconds", "Durations of requests", requests)
    exposition.family("names_total", "counter", "Names asked for, by how they were resolved",
                      [({"by": key[1]}, numbers[0]) for key, numbers in totals if key[0] == "name"])
    exposition.family("bulk_commands_total", "counter", "Commands in bulk requests",
                      [({"command": key[1], "outcome": key[2]}, numbers[0]) for key, numbers in totals
                       if key[0] == "bulk"])
    deaths = dict(totals).get(("death",), [0])
    exposition.family("worker_deaths_total", "counter", "Worker processes that died", [({}, deaths[0])])
