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
    from .counters import SharedCounters
    from .request import Environ

class Site:
    """Serves the commands and the names of the same minters."""

    def __init__(self, minters: MinterFolder, *, trust: Trust | None = None, challenge: str = BASIC,
                 largest_body: int = LARGEST_BODY, counters: SharedCounters | None = None) -> None:
        self._commands = CommandApplication(minters, trust=trust, challenge=challenge, largest_body=largest_body)
        self._names = Resolver(minters, trust=trust, counters=counters)

    def __call__(self, environ: Environ, start_response: Any) -> Iterable[bytes]:
        application = self._commands if is_for_commands(environ) else self._names
        return application(environ, start_response)

    def prepare(self, environs: list[Environ]) -> None:
        """Run those of several requests that can share transactions; the application must still be called for each."""
        self._commands.prepare([environ for environ in environs if is_for_commands(environ)])
