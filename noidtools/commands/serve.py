"""The command that serves minters on the web.  It is run by the shell's interface itself."""

from __future__ import annotations

from ..errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .answers import Answer
    from .session import Call


def serve(call: Call) -> Answer:
    raise UsageError("serve runs until it is stopped, so it is given on its own at the shell: noid serve")
