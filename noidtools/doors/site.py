"""All that is on the web, as one WSGI application: commands at …/noidu and …/noidu_NAME, names everywhere else."""

from __future__ import annotations

from .resolver import Resolver
from .url import Application

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from .requests import Environ

_DOOR = "noidu"


class Site:
    def __init__(self, commands: Application, names: Resolver) -> None:
        self._commands = commands
        self._names = names

    def __call__(self, environ: Environ, start_response: Any) -> Iterable[bytes]:
        if is_for_commands(environ):
            return self._commands(environ, start_response)
        return self._names(environ, start_response)

    def prepare(self, environs: list[Environ]) -> None:
        """Those requests for commands that can share a transaction (see url.py)."""
        self._commands.prepare([environ for environ in environs if is_for_commands(environ)])


def is_for_commands(environ: Environ) -> bool:
    path: str = environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")
    last = path.rpartition("/")[2]
    return last == _DOOR or last.startswith(f"{_DOOR}_")
