"""What monitors ask the service for: whether it lives, whether it is ready, and its figures for Prometheus.

    /healthz   whether every minter can be read
    /readyz    whether every minter could mint and resolve now, with the reasons if not
    /metrics   figures of the requests, and of those minters that the user may read

Anybody may ask for them, so that they name no minter that the user may not read.
"""

from __future__ import annotations

import threading
import time
from typing import Generic, TypeVar

from ..errors import LoginNeededError, NoidError
from ..minter.policies import READ, AccessPolicy
from ..minter.report import minter_figures
from ..resolution.settings import wrong_canaries
from .response import HttpError, Response

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..minter import Minter
    from ..resolution.catalogue import Catalogue, MinterEntry
    from .metrics import RequestMetrics
    from .request import Request

T = TypeVar("T")
PAGES = (b"healthz", b"readyz", b"metrics")
_TEXT = "text/plain; charset=utf-8"

# A disk with less room than this will be full soon.
_LITTLE_ROOM = 32 << 20

# Results about the minters are cached for a second, and for longer if it took long to find them: there may be many
# minters, readiness takes the writer lock of each, and anybody may ask for them.
_KEPT_SECONDS = 1.0
_KEPT_TIMES = 20
_LOCK_SECONDS = 2.0

_UNREAD = "cannot be read"

# In place of the name of a minter of which it is not known who may read it.
_HIDDEN = "hidden"


class Monitoring:
    """Answers monitors, about the minters of a catalogue."""

    def __init__(self, catalogue: Catalogue, requests: RequestMetrics | None) -> None:
        self._catalogue = catalogue
        self._requests = requests
        # The minters that anyone could read when they were last looked at.
        self._public: set[str] = set()
        self._health = _Kept(self._find_health)
        self._reasons = _Kept(self._find_reasons)
        self._figures = _Kept(self._find_figures)

    def respond(self, name: bytes, request: Request) -> Response:
        """The response to a request for one of these pages; raises HttpError, and what the policy refuses."""
        if name == b"metrics":
            return self._metrics(request)
        if name == b"readyz":
            return self._readiness(request)
        unread = self._health.value()
        if unread:
            raise HttpError(503, "store", unread)
        return Response(200, _TEXT, b"ok\n")

    def _find_health(self) -> str:
        """Why the service is not healthy, empty if it is."""
        entries = self._catalogue.entries()
        unread = len(self._catalogue.faults)
        if not entries and not unread:
            return "there is no minter yet"
        readable = 0
        for entry in entries:
            try:
                self._open(entry)
                readable += 1
            except NoidError:
                unread += 1
        return f"{unread} minters cannot be read, {readable} can" if unread else ""

    def _open(self, entry: MinterEntry) -> Minter:
        """The minter, after its policy was read."""
        minter = entry.open()
        is_public = minter.access_policy().rules[READ].admits(b"")
        (self._public.add if is_public else self._public.discard)(entry.name)
        return minter

    # -- readiness -------------------------------------------------------------------------------------

    def _readiness(self, request: Request) -> Response:
        found = self._reasons.value()
        if not found:
            return Response(200, _TEXT, b"ready\n")
        entries = {entry.name: entry for entry in self._catalogue.entries()}
        lines: dict[str, None] = {}  # in which each line is once
        for name, reasons in found.items():
            is_shown = name in self._public or (name in entries and _may_read(request, entries[name]))
            subject = f"the minter {name} " if is_shown else "a minter " if name else ""
            lines |= dict.fromkeys(f"not ready: {subject}{reason}\n" for reason in reasons)
        return Response(503, _TEXT, "".join(lines).encode("utf-8", "surrogateescape"))

    def _find_reasons(self) -> dict[str, list[str]]:
        """Why the service is not ready, by minter, in sentences that tell nothing about the server's files."""
        entries = self._catalogue.entries()
        found = {name: [_UNREAD] for name in self._catalogue.faults}
        if not entries and not found:
            return {"": ["there is no minter"]}
        for entry in entries:
            try:
                reasons = list(_reasons_of(self._open(entry)))
            except NoidError:
                reasons = [_UNREAD]
            if reasons:
                found[entry.name] = reasons
        return found

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
        figures |= {name if name in self._public else _HIDDEN: {"up": 0.0} for name in self._catalogue.faults}
        content_type, text = metrics.exposition(figures, self._requests)
        return Response(200, content_type, text)

    def _find_figures(self) -> dict[str, dict[str, float]]:
        return {entry.name: self._figures_of(entry) for entry in self._catalogue.entries()}

    def _figures_of(self, entry: MinterEntry) -> dict[str, float]:
        try:
            minter = self._open(entry)
            return minter_figures(minter) | {"canaries_wrong": len(wrong_canaries(minter)), "up": 1}
        except NoidError:
            return {"up": 0}

    def _readable_minters(self, request: Request) -> list[str]:
        """The names of the minters that the user, or a token, may read; raises the refusal if there are others only."""
        if not request.user and not request.token_secret:
            public = [name for name in self._figures.value() if name in self._public]
            if public:
                return public
        found: list[str] = []
        refusal: NoidError | None = None
        is_known = not request.token_secret
        for entry in self._catalogue.entries():
            try:
                minter = entry.open()
            except NoidError:
                continue  # it cannot be read, or is no longer there
            try:
                policy = minter.read(request.policy_in)
                is_known = True
                policy.ensure("metrics", (READ,), request.user)
                found.append(entry.name)
            except NoidError as error:
                refusal = refusal or error
                # A token is of one minter; another may be open to anyone.
                if minter.read(AccessPolicy.of).rules[READ].admits(b""):
                    found.append(entry.name)
            request.token = None
        if refusal is not None and not (found and is_known):
            if isinstance(refusal, LoginNeededError):
                raise LoginNeededError("metrics need read access to a minter")
            raise refusal
        return found


def _may_read(request: Request, entry: MinterEntry) -> bool:
    try:
        policy = entry.open().read(request.policy_in)
        return policy.rules[READ].admits(request.user)
    except NoidError:
        return False  # it cannot be read, or the token is another minter's
    finally:
        request.token = None


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


class _Kept(Generic[T]):
    """What a function returned, for some time.

    One thread at a time calls it: others are answered with what is there meanwhile, and wait only for the first.
    """

    def __init__(self, find: Callable[[], T]) -> None:
        self._find = find
        self._lock = threading.Lock()
        # What was found, and until when it is kept.
        self._found: tuple[float, T] | None = None

    def value(self) -> T:
        found = self._found
        if found is not None and time.monotonic() < found[0]:
            return found[1]
        if self._lock.acquire(blocking=found is None):
            try:
                if self._found is found:  # no other thread has done so meanwhile
                    started = time.monotonic()
                    value = self._find()
                    now = time.monotonic()
                    self._found = now + max(_KEPT_SECONDS, _KEPT_TIMES * (now - started)), value
                found = self._found
            finally:
                self._lock.release()
        assert found is not None
        return found[1]
