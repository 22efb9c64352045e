"""A minter, binder and resolver of persistent identifiers.

from noidtools import Actor, Call, Minter, NoidError, Session, run

session = Session("kt5", Actor(b"me", b"script"))
for record in run(Call(session, [b"mint", b"1"])).records:
    print(record.data())
"""

from __future__ import annotations

from .version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .commands import Call, Session, run
    from .errors import NoidError
    from .minter import Minter
    from .minter.events import Actor

__all__ = ["Actor", "Call", "Minter", "NoidError", "Session", "__version__", "run"]
_HOMES = {
    "Actor": "minter.events", "Call": "commands", "Minter": "minter", "NoidError": "errors", "Session": "commands",
    "run": "commands",
}


def __getattr__(name: str) -> object:
    # On first use only: the shell's door starts a process for each command and pays for every import.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(__import__(f"{__name__}.{_HOMES[name]}", fromlist=[name]), name)
