"""What monitors ask the service for: whether it lives, whether it is ready, and its figures for Prometheus.

    /healthz   whether every minter can be read; to users who may do more than read, what database servers say of
               themselves
    /readyz    whether every minter could mint and resolve now, with the reasons if not
    /metrics   figures of the requests, and of those minters that the user may read
"""

from __future__ import annotations

import threading
import time
from typing import Generic, TypeVar

from ..errors import LoginNeededError, NoidError
from ..minter.policies import EVERYTHING, READ, AccessPolicy
from ..minter.report import minter_figures
from ..resolution.settings import wrong_canaries
from .response import HttpError, Response

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..minter import Minter
    from ..resolution.catalogue import Catalogue
    from .metrics import RequestMetrics
    from .request import Request

T = TypeVar("T")
PAGES = (b"healthz", b"readyz", b"metrics")
_TEXT = "text/plain; charset=utf-8"

# A disk with less room than this will be full soon.
_LITTLE_ROOM = 32 << 20

# Seconds for which results about the minters are cached: they take long where there are many minters, readiness takes
# the writer lock of each, and anybody may ask for them.
_KEPT_SECONDS = 1.0
_LOCK_SECONDS = 2.0


class Monitoring:
    """Answers monitors, about the minters of a catalogue."""

    def __init__(self, catalogue: Catalogue, requests: RequestMetrics | None) -> None:
        self._catalogue = catalogue
        self._requests = requests
        self._reasons = _Kept(self._find_reasons)
        self._figures = _Kept(self._find_figures)

    def respond(self, name: bytes, request: Request) -> Response:
        """The response to a request for one of these pages; raises HttpError, and what the policy refuses."""
        if name == b"metrics":
            return self._metrics(request)
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
            minter.read(lambda _: None)
            if _sees_everything(request, minter):
                lines += [f"{domain.name}: {name}: {value}" for name, value in minter.store.status().lines]
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

    def _metrics(self, request: Request) -> Response:
        minters = self._readable_minters(request)
        try:
            from . import metrics
        except ModuleNotFoundError:
            raise HttpError(501, "not installed", "metrics need the package prometheus_client: install noidtools[http]"
                            ) from None
        found = self._figures.value()
        figures = {name: found[name] for name in minters if name in found}
        figures |= {name: {"up": 0.0} for name in self._catalogue.faults}
        content_type, text = metrics.exposition(figures, self._requests)
        return Response(200, content_type, text)

    def _find_figures(self) -> dict[str, dict[str, float]]:
        return {domain.name: _figures_of(domain.open()) for domain in self._catalogue.entries()}

    def _readable_minters(self, request: Request) -> list[str]:
        """The names of the minters that the user, or a token, may read; raises the refusal if there are others only."""
        found: list[str] = []
        refusal: NoidError | None = None
        is_known = not request.bearer_secret
        for domain in self._catalogue.entries():
            minter = domain.open()
            try:
                policy = minter.read(request.policy_in)
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
                raise HttpError(401, "login", "the figures are for users who may read a minter: log in or send a token",
                                ("WWW-Authenticate", 'Basic realm="noid"'))
            raise refusal
        return found


def _sees_everything(request: Request, minter: Minter) -> bool:
    """Whether the user may do more than read, and may know of the servers behind this one."""
    try:
        return minter.read(request.policy_in).view(request.user) == EVERYTHING
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
