"""The whole web interface as one WSGI application.

Commands are at …/noidu and …/noidu_NAME, the interfaces that other software speaks at paths of their own, and names at
all other paths.
"""

from __future__ import annotations

from functools import partial

from .access import Minters
from .arklet import Arklet
from .body import LARGEST_BODY
from .commands import BASIC, CommandApplication
from .console import Console
from .ezid import Ezid
from .handle import HandleApi
from .json_api import JsonApi
from .n2t import N2t
from .request import Request, Trust, is_for_commands
from .resolver import Resolver
from .response import send

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from typing import Any, Protocol

    from ..minter.folder import MinterFolder
    from .group_commit import WriterSlots
    from .metrics import RequestMetrics
    from .request import Environ
    from .response import Response

    class Interface(Protocol):
        """An interface beside commands and names."""

        def claims(self, request: Request) -> bool:
            """Whether a request is one of this interface, by its path and its query."""

        def respond(self, request: Request) -> Response | None:
            """The response to a request, None if it is left to the resolver; it raises nothing."""

# The interfaces by what `noid serve --interfaces` calls them.  They are made from the minters and the challenge for
# users who must log in.
INTERFACES: dict[str, Callable[[Minters, str], Interface]] = {
    "json": JsonApi, "console": Console, "arklet": Arklet, "ezid": Ezid, "n2t": N2t, "handle": HandleApi,
}
USUAL_INTERFACES = ("json", "console")


class Site:
    """Serves the commands and the names of the same minters; `metrics` counts the requests.

    `commands` is the path below which commands are answered, None for any; `interfaces` are those of INTERFACES that
    are served; the others are settings of CommandApplication.
    """

    def __init__(self, minters: MinterFolder, *, trust: Trust | None = None, challenge: str = BASIC,
                 largest_body: int = LARGEST_BODY, metrics: RequestMetrics | None = None,
                 commands: str | None = None, slots: WriterSlots | None = None,
                 interfaces: Collection[str] = USUAL_INTERFACES) -> None:
        self._commands = CommandApplication(minters, trust=trust, challenge=challenge, largest_body=largest_body,
                                            metrics=metrics, slots=slots)
        self._names = Resolver(minters, trust=trust, metrics=metrics, challenge=challenge,
                               console="console" in interfaces)
        self._metrics = metrics
        self._command_folder = commands
        self._trust = trust or Trust()
        served = Minters(minters, slots)
        self._interfaces = [INTERFACES[name](served, challenge) for name in interfaces]

    def __call__(self, environ: Environ, start_response: Any) -> Iterable[bytes]:
        for_commands = is_for_commands(environ, self._command_folder)
        request = Request(environ, self._trust)
        interface = next((one for one in self._interfaces if one.claims(request)), None)
        application: Callable[..., Iterable[bytes]] = self._commands if for_commands else self._names
        if interface is not None:
            application = partial(_speak, interface, request, application)
        if self._metrics is None:
            return application(environ, start_response)
        return self._metrics.measure(application, environ, start_response, for_commands=for_commands)


def _speak(interface: Interface, request: Request, otherwise: Callable[..., Iterable[bytes]], environ: Environ,
           start_response: Any) -> Iterable[bytes]:
    response = interface.respond(request)
    return otherwise(environ, start_response) if response is None else send(response, request.method, start_response)
