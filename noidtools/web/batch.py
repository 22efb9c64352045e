"""Batches of requests: those that change the same minter at the same time share one transaction.

The slow part of minting is the commit, which waits for the disk.  Requests that arrived at the same time need only one
commit, and each of them still succeeds or fails on its own.
"""

from __future__ import annotations

from ..commands import Invocation
from ..errors import NoidError, OutcomeUnknownError
from ..schemes import NeedsOwnTransaction
from .request import Request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Protocol

    from ..minter import Minter
    from ..minter.folder import MinterFolder
    from ..store import Writer
    from .request import Environ, Trust
    from .response import Response

    class Application(Protocol):
        """A WSGI application that can prepare the responses to several requests in one go."""

        def __call__(self, environ: Environ, start_response: Any) -> Iterable[bytes]: ...

        def prepare(self, environs: list[Environ]) -> None: ...

    class Responder(Protocol):
        """What answers a request with a command; in a shared transaction it may raise NeedsOwnTransaction."""

        minters: MinterFolder
        trust: Trust

        def respond(self, request: Request) -> Response: ...

        def refuse(self, request: Request, error: Exception) -> Response: ...

# The variable of a WSGI environment in which a request that was prepared has its response.
_PREPARED = "noidtools.prepared"


class _Prepared:
    """A request, and its response if it was served together with others."""

    __slots__ = ("request", "response")

    def __init__(self, request: Request) -> None:
        self.request = request
        self.response: Response | None = None


def prepare_batch(responder: Responder, environs: list[Environ]) -> None:
    """Run the requests that can share transactions.

    The application must then be called with each environment, where `take_prepared` finds the response.
    """
    if len(environs) < 2:
        return
    batches: dict[Minter, list[_Prepared]] = {}
    for environ in environs:
        prepared = environ[_PREPARED] = _Prepared(Request(environ, responder.trust))
        minter = _minter_to_change(responder, prepared.request)
        if minter is not None:
            batches.setdefault(minter, []).append(prepared)
    for minter, batch in batches.items():
        if len(batch) > 1:
            _respond_together(responder, minter, batch)


def take_prepared(environ: Environ) -> tuple[Request, Response | None] | None:
    """The request and the response that `prepare_batch` stored in an environment; None if it did not.

    The response is None for a request that could not be run with others.
    """
    prepared: _Prepared | None = environ.pop(_PREPARED, None)
    return None if prepared is None else (prepared.request, prepared.response)


def _minter_to_change(responder: Responder, request: Request) -> Minter | None:
    """The minter, if this is a request that may share a transaction."""
    try:
        if request.method != "GET" or request.is_page_load or not Invocation(request.words).batches:
            return None
        return responder.minters.find(request.path)
    except NoidError:
        return None


def _respond_together(responder: Responder, minter: Minter, batch: list[_Prepared]) -> None:
    def work(_: Writer) -> list[Response | None]:
        return [_respond_in_shared(responder, prepared.request) for prepared in batch]

    try:
        responses = minter.write(work, shared=True)
    except OutcomeUnknownError as error:
        # All of them may have been done: none may be run again.
        responses = [responder.refuse(prepared.request, error) for prepared in batch]
    except NoidError:
        return  # without responses, each request is run on its own
    for prepared, response in zip(batch, responses, strict=True):
        prepared.response = response


def _respond_in_shared(responder: Responder, request: Request) -> Response | None:
    try:
        return responder.respond(request)
    except NeedsOwnTransaction:
        return None
