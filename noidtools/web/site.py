"""All that is on the web, as one WSGI application: commands at …/noidu and …/noidu_NAME, names everywhere else."""

from __future__ import annotations

from .commands import BASIC, CommandApplication
from .request import LARGEST_BODY, Trust
from .resolver import Resolver

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from ..minter.folder import MinterFolder
    from .request import Environ

_DOOR = "noidu"


class Site(CommandApplication):
    def __init__(self, minters: MinterFolder, *, trust: Trust | None = None, challenge: str = BASIC,
                 largest_body: int = LARGEST_BODY) -> None:
        super().__init__(minters, trust=trust, challenge=challenge, largest_body=largest_body)
        self._names = Resolver(minters, trust=trust)

    def __call__(self, environ: Environ, start_response: Any) -> Iterable[bytes]:
        if is_for_commands(environ):
            return super().__call__(environ, start_response)
        return self._names(environ, start_response)

    def prepare(self, environs: list[Environ]) -> None:
        super().prepare([environ for environ in environs if is_for_commands(environ)])


def is_for_commands(environ: Environ) -> bool:
    path: str = environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")
    last = path.rpartition("/")[2]
    return last == _DOOR or last.startswith(f"{_DOOR}_")
