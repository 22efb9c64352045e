"""The whole web interface as one WSGI application.

Commands are at …/noidu and …/noidu_NAME, the interfaces that other software speaks at paths of their own, and names at
all other paths.
"""

from __future__ import annotations

from functools import partial

from .commands import BASIC, CommandApplication
from .request import LARGEST_BODY, Request, Trust, is_for_commands
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
        """What a class in INTERFACES is: it is made from `Minters` and the challenge for users who must log in."""

        def claims(self, request: Request) -> bool:
            """Whether a request is one of this interface, by its path and its query."""

        def respond(self, request: Request) -> Response:
            """The response to a request; it raises nothing."""

# The modules and classes of the interfaces beside commands and names, by what `noid serve --interfaces` calls them.
INTERFACES = {"json": "json_api:JsonApi", "console": "console:Console", "arklet": "arklet:Arklet",
              "ezid": "ezid:Ezid", "n2t": "n2t:N2t", "handle": "handle:HandleApi"}
USUAL_INTERFACES = ("json", "console")
# Those that have all paths below one, and are loaded by the first request to it: they need much that a resolver does
# not, and a server starts faster without.
_BELOW = {"json": "/api/v1", "console": "/console"}


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
        self._interfaces = [_interface(name, minters, slots, challenge) for name in interfaces]

    def __call__(self, environ: Environ, start_response: Any) -> Iterable[bytes]:
        for_commands = is_for_commands(environ, self._command_folder)
        request = Request(environ, self._trust)
        interface = next((one for one in self._interfaces if one.claims(request)), None)
        application: Callable[..., Iterable[bytes]] = self._commands if for_commands else self._names
        if interface is not None:
            application = partial(_speak, interface, request)
        if self._metrics is None:
            return application(environ, start_response)
        return self._metrics.measure(application, environ, start_response, for_commands=for_commands)


def _speak(interface: Interface, request: Request, environ: Environ, start_response: Any) -> Iterable[bytes]:
    return send(interface.respond(request), request.method, start_response)


def _interface(name: str, minters: MinterFolder, slots: WriterSlots | None, challenge: str) -> Interface:
    make = partial(_load, name, minters, slots, challenge)
    return _LoadedLater(_BELOW[name], make) if name in _BELOW else make()


class _LoadedLater:
    """An interface with all paths below one, loaded by the first request to it."""

    def __init__(self, path: str, load: Callable[[], Interface]) -> None:
        self._path = path
        self._load = load
        self._loaded: Interface | None = None

    def claims(self, request: Request) -> bool:
        return request.path == self._path or request.path.startswith(f"{self._path}/")

    def respond(self, request: Request) -> Response:
        if self._loaded is None:
            self._loaded = self._load()
        return self._loaded.respond(request)


def _load(name: str, minters: MinterFolder, slots: WriterSlots | None, challenge: str) -> Interface:
    from .access import Minters

    module, _, kind = INTERFACES[name].partition(":")
    found: type[Any] = getattr(__import__(f"{__package__}.{module}", fromlist=[kind]), kind)
    interface: Interface = found(Minters(minters, slots), challenge)
    return interface
