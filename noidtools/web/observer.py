"""Records the requests of the service: counts, durations, an access log, and requests that took long.

An Observer stands between the server and the application.  What it cannot see from outside, such as how a name was
resolved, the application leaves in the environment of the request.
"""

from __future__ import annotations

import time

from ..commands.call import is_command
from ..console import log_line, write_error
from .counters import BULK, RESOLVED_BY, STARTED
from .request import Request, is_for_commands

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from .batch import Application
    from .counters import SharedCounters
    from .rates import RateLimit
    from .request import Environ, Trust

    AccessLog = Callable[["Observation"], None]

_PAGES = ("healthz", "readyz", "metrics")

# The variable of a request that was prepared in which its refusal is, None if it is within the rate.
_REFUSAL = "noidtools.refusal"


class Observation:
    """A request with its answer, when that was sent."""

    __slots__ = ("command", "environ", "headers", "interface", "seconds", "status", "trust")

    def __init__(self, environ: Environ, trust: Trust) -> None:
        self.environ = environ
        self.trust = trust
        self.status = ""
        self.headers: list[tuple[str, str]] = []
        self.seconds = 0.0
        self.interface, self.command = _interface_and_command(environ)

    @property
    def request(self) -> Request:
        return Request(self.environ, self.trust)

    @property
    def size(self) -> int | None:
        """The length of the body, None if it was not known before."""
        return next((int(value) for name, value in self.headers if name == "Content-Length"), None)


def _interface_and_command(environ: Environ) -> tuple[str, str]:
    """The interface, which is commands, bulk, names, or a page of the service; and the name of the command, empty if
    there is none, and `other` for what is no command: whoever sends requests must not be able to make up labels."""
    if is_for_commands(environ):
        word = environ.get("QUERY_STRING", "").partition("+")[0]
        if word == "-":
            return "bulk", ""
        return "commands", word if not word or is_command(word) else "other"
    page = environ.get("PATH_INFO", "").strip("/")
    return page if page in _PAGES else "names", ""


class Observer:
    """Counts and logs the requests of an application.

    counters   where requests are counted, None for nowhere
    slow       a request that takes longer than so many seconds is logged
    access_log called with each request that was answered
    rates      how many requests a client may make, None for any number
    """

    def __init__(self, application: Application, trust: Trust, *, counters: SharedCounters | None = None,
                 slow: float = 5.0, access_log: AccessLog | None = None, rates: RateLimit | None = None) -> None:
        self._application = application
        self._trust = trust
        self._counters = counters
        self._slow = slow
        self._access_log = access_log
        self._rates = rates

    def __call__(self, environ: Environ, start_response: Any) -> Iterable[bytes]:
        started = environ.pop(STARTED, None) or time.perf_counter()
        observation = Observation(environ, self._trust)
        environ["wsgi.errors"] = SERVICE_LOG

        def observed_start(status: str, headers: list[tuple[str, str]], *rest: Any) -> Any:
            observation.status = status[:3]
            observation.headers = headers
            return start_response(status, headers, *rest)

        refusal = self._refusal(environ)
        if refusal is not None:
            body: Iterable[bytes] = refusal(observed_start)
        else:
            body = self._application(environ, observed_start)
        if isinstance(body, list):
            self._end(observation, started)
            return body
        return _ObservedBody(body, lambda: self._end(observation, started))

    def prepare(self, environs: list[Environ]) -> None:
        """Run those of several requests that can share transactions, as `Site.prepare` does."""
        started = time.perf_counter()
        for environ in environs:
            environ[STARTED] = started
            environ["wsgi.errors"] = SERVICE_LOG
        if self._rates is not None:
            # A request beyond the rate must not be run before it is refused.
            for environ in environs:
                environ[_REFUSAL] = self._rates.refusal(Request(environ, self._trust))
            environs = [environ for environ in environs if environ[_REFUSAL] is None]
        self._application.prepare(environs)

    def _refusal(self, environ: Environ) -> Callable[[Any], Iterable[bytes]] | None:
        """What answers a request beyond the rate; it is counted once, also if it was prepared."""
        if self._rates is None:
            return None
        if _REFUSAL in environ:
            refusal: Callable[[Any], Iterable[bytes]] | None = environ.pop(_REFUSAL)
            return refusal
        return self._rates.refusal(Request(environ, self._trust))

    def _end(self, observation: Observation, started: float) -> None:
        observation.seconds = seconds = time.perf_counter() - started
        if self._counters is not None:
            self._count(self._counters, observation)
        if seconds > self._slow:
            from .access_log import without_peppers

            request = observation.request
            command = f"?{observation.command}" if observation.command else ""
            path = without_peppers(request.path)
            log_line("noid", f"a request took {seconds:.1f} seconds: {request.method} {path}{command}, status "
                             f"{observation.status}, from {request.address}")
        if self._rates is not None:
            self._rates.count(observation.request)
        if self._access_log is not None:
            self._access_log(observation)

    def _count(self, counters: SharedCounters, observation: Observation) -> None:
        key = ("request", observation.interface, observation.command, observation.status)
        counters.add_duration(key, observation.seconds)
        environ = observation.environ
        if RESOLVED_BY in environ:
            counters.add(("name", environ[RESOLVED_BY]), (1,))
        if BULK in environ:
            for (command, outcome), number in environ[BULK].items():
                counters.add(("bulk", command, outcome), (number,))


class _ObservedBody:
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


SERVICE_LOG = _ServiceLog()
