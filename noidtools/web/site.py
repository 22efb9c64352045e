"""The whole web interface as one WSGI application: commands at …/noidu and …/noidu_NAME, names at all other paths."""

from __future__ import annotations

from .commands import BASIC, CommandApplication
from .request import LARGEST_BODY, Trust, is_for_commands
from .resolver import Resolver

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from ..minter.folder import MinterFolder
    from .metrics import RequestMetrics
    from .request import Environ


class Site:
    """Serves the commands and the names of the same minters; `metrics` counts the requests.

    `commands` is the path below which commands are answered, None for any; the others are settings of
    CommandApplication.
    """

    def __init__(self, minters: MinterFolder, *, trust: Trust | None = None, challenge: str = BASIC,
                 largest_body: int = LARGEST_BODY, metrics: RequestMetrics | None = None,
                 commands: str | None = None, threads: int = 0) -> None:
        self._commands = CommandApplication(minters, trust=trust, challenge=challenge, largest_body=largest_body,
                                            metrics=metrics, threads=threads)
        self._names = Resolver(minters, trust=trust, metrics=metrics, challenge=challenge)
        self._metrics = metrics
        self._command_folder = commands

    def __call__(self, environ: Environ, start_response: Any) -> Iterable[bytes]:
        for_commands = is_for_commands(environ, self._command_folder)
        application = self._commands if for_commands else self._names
        if self._metrics is None:
            return application(environ, start_response)
        return self._metrics.measure(application, environ, start_response, for_commands=for_commands)
