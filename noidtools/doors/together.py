"""Several requests served at once: those that change the same minter share one transaction.

What costs time in minting is the commit, which waits for the disk.  Requests
that are at the door at the same moment need only one, and each still succeeds
or fails by itself.
"""

from __future__ import annotations

from ..commands import command_for
from ..commands.table import MINT, reads_input, writes
from ..exceptions import NoidError
from ..waiting import NotYet
from .requests import REQUEST, RESPONSE, Request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..minter import Minter
    from ..store import Writer
    from .requests import Environ
    from .responses import Response
    from .url import Application

# Up to 999 identifiers are minted in no time; those who want more wait alone.
_FEW_DIGITS = 3


def prepare(application: Application, environs: list[Environ]) -> None:
    """Do what can be done together.  Some of the environments then hold their response, for the call that follows."""
    together: dict[Minter, list[Request]] = {}
    for environ in environs:
        request = environ[REQUEST] = Request(environ, application.trust)
        minter = _changed_quickly(application, request)
        if minter is not None:
            together.setdefault(minter, []).append(request)
    for minter, requests in together.items():
        if len(requests) > 1:
            _respond(application, minter, requests)


def _changed_quickly(application: Application, request: Request) -> Minter | None:
    """The minter, if this is a request that may share a transaction: it writes, little, and has no body."""
    try:
        words = request.words
        command = command_for(words)
        if request.method != "GET" or not writes(words) or reads_input(words):
            return None
        if command.kind == MINT and not (words[1:] and words[1].isdigit() and len(words[1]) <= _FEW_DIGITS):
            return None
        return application.minters.find(request.path)
    except NoidError:
        return None


def _respond(application: Application, minter: Minter, requests: list[Request]) -> None:
    def work(_: Writer) -> list[Response | None]:
        return [_respond_sharing(application, request) for request in requests]

    try:
        responses = minter.write(work)
    except NoidError:
        return  # then each by itself
    for request, response in zip(requests, responses, strict=True):
        request.environ[RESPONSE] = response


def _respond_sharing(application: Application, request: Request) -> Response | None:
    request.sharing = True
    try:
        return application.respond(request)
    except NotYet:
        return None
    finally:
        request.sharing = False
