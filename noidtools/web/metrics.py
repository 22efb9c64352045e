"""Metrics by prometheus_client: counts and durations of requests, and figures of minters.

Requests are counted in the multiprocess mode: the worker processes of `noid serve` share a folder of counts.
"""

from __future__ import annotations

import os
import re
import time

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from ..codec import PATH, percent_encode
from ..commands.call import is_command
from ..console import log_line, write_error
from ..version import __version__
from .request import Request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from prometheus_client import Metric

    from .request import Environ, Trust

_PAGES = ("healthz", "readyz", "metrics")
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5, 10.0)

# What may be a pepper, of sixteen characters, however these are escaped or quoted: up to the end of the word.
_PEPPER = re.compile(r"(!|%21|%2521)[^+&/?#\s]{16,}", re.IGNORECASE)

# Figures of a minter: name in minter/report.py, name for Prometheus, type, explanation.
_OF_MINTER = (
    ("drawn", "minted", "counter", "Identifiers drawn so far: minted, or skipped for good"),
    ("left", "identifiers_left", "gauge", "Identifiers left in the namespace"),
    ("total", "namespace_size", "gauge", "Size of the namespace"),
    ("held", "held", "gauge", "Identifiers on hold"),
    ("queued", "queued", "gauge", "Identifiers in the queue"),
    ("events", "events", "counter", "Changes recorded"),
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

_LABELS = ("interface", "command", "status")

# The variable of prometheus_client that names the folder of the counts of several processes.
_FOLDER = "PROMETHEUS_MULTIPROC_DIR"


# -- requests --------------------------------------------------------------------------------------------------------


class RequestMetrics:
    """Counts the requests of this process; logs those that take longer than `slow` seconds."""

    def __init__(self, slow: float, trust: Trust) -> None:
        self._slow = slow
        self._trust = trust
        self._requests = Counter("noid_requests", "Requests answered", _LABELS, registry=None)
        self._seconds = Histogram("noid_request_seconds", "Durations of requests", _LABELS, buckets=_BUCKETS,
                                  registry=None)
        self._names = Counter("noid_names", "Names asked for, by how they were resolved", ("by",), registry=None)
        self._bulk = Counter("noid_bulk_commands", "Commands in bulk requests", ("command", "outcome"), registry=None)
        self._starts = Counter("noid_worker_starts", "Worker processes started", registry=None)
        self._starts.inc()

    def register(self, registry: CollectorRegistry) -> None:
        """Add the counts of all worker processes; without a folder for them those of this process."""
        if _FOLDER in os.environ:
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
            return
        for metric in (self._requests, self._seconds, self._names, self._bulk, self._starts):
            registry.register(metric)

    def count_name(self, by: str) -> None:
        """Count a name that was asked for."""
        self._names.labels(by).inc()

    def count_bulk_command(self, command: str, *, refused: bool) -> None:
        """Count a command of a bulk request."""
        self._bulk.labels(command, "refused" if refused else "done").inc()

    def measure(self, application: Callable[..., Iterable[bytes]], environ: Environ, start_response: Any, *,
                for_commands: bool) -> Iterable[bytes]:
        """Call the application, and count its request when the answer was sent."""
        started = time.perf_counter()
        status = ""
        environ["wsgi.errors"] = _SERVICE_LOG

        def start(line: str, headers: list[tuple[str, str]], *rest: Any) -> Any:
            nonlocal status
            status = line[:3]
            return start_response(line, headers, *rest)

        def end() -> None:
            self._count(environ, for_commands, status, time.perf_counter() - started)

        body = application(environ, start)
        if isinstance(body, list):
            end()
            return body
        return _MeasuredBody(body, end)

    def _count(self, environ: Environ, for_commands: bool, status: str, seconds: float) -> None:
        interface, command = _interface_and_command(environ, for_commands)
        self._requests.labels(interface, command, status).inc()
        self._seconds.labels(interface, command, status).observe(seconds)
        if seconds > self._slow:
            request = Request(environ, self._trust)
            # With its escapes: a blank would look like the end of the path.
            path = percent_encode(request.path.encode("utf-8", "surrogateescape"), PATH).decode()
            path = without_peppers(path) + (f"?{command}" if command else "")
            log_line("noid", f"a request took {seconds:.1f} seconds: {request.method} {path}, status {status}, from "
                             f"{request.address}")


def without_peppers(text: str) -> str:
    """A path in which no pepper can be read."""
    return _PEPPER.sub(r"\1...", text)


def _interface_and_command(environ: Environ, for_commands: bool) -> tuple[str, str]:
    """The interface, which is commands, bulk, names, or a page of the service; and the name of the command, empty if
    there is none, and `other` for what is no command: a client must not be able to make up labels."""
    if for_commands:
        word = environ.get("QUERY_STRING", "").partition("+")[0]
        if word == "-":
            return "bulk", ""
        return "commands", word if not word or is_command(word) else "other"
    page = environ.get("PATH_INFO", "").strip("/")
    return page if page in _PAGES else "names", ""


class _MeasuredBody:
    """A body that is made while it is sent.  The server closes it in any case, whether it has sent it or not."""

    __slots__ = ("_body", "_end")

    def __init__(self, body: Iterable[bytes], end: Callable[[], None]) -> None:
        self._body = body
        self._end = end

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._body)

    def close(self) -> None:
        try:
            if hasattr(self._body, "close"):
                self._body.close()
        finally:
            self._end()


class _ServiceLog:
    """What the application writes to wsgi.errors goes to the service's own log, whatever the transport."""

    def write(self, text: str) -> None:
        for line in text.splitlines():
            write_error(line)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Do nothing: lines are written at once."""


_SERVICE_LOG = _ServiceLog()


# -- /metrics --------------------------------------------------------------------------------------------------------


class _MinterFigures(Collector):
    """The figures of minters, by the names of the minters."""

    def __init__(self, figures: dict[str, dict[str, float]]) -> None:
        self._figures = figures

    def collect(self) -> Iterator[Metric]:
        release = GaugeMetricFamily("noid_build_info", "The release of noidtools", labels=["version"])
        release.add_metric([__version__], 1)
        yield release
        for key, name, kind, explanation in _OF_MINTER:
            family = (CounterMetricFamily if kind == "counter" else GaugeMetricFamily)(
                f"noid_{name}", explanation, labels=["minter"])
            for minter, figures in self._figures.items():
                if key in figures:
                    family.add_metric([minter.encode("utf-8", "replace").decode()], figures[key])
            if family.samples:
                yield family


def exposition(figures: dict[str, dict[str, float]], requests: RequestMetrics | None) -> tuple[str, bytes]:
    """The media type and the text for Prometheus: figures of minters and, where they are counted, of requests."""
    registry = CollectorRegistry()
    if requests is not None:
        requests.register(registry)
    registry.register(_MinterFigures(figures))
    return CONTENT_TYPE_LATEST, generate_latest(registry)
