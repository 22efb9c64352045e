"""The command language: words in, an Answer out.  What a command means is decided here, for every interface."""

from __future__ import annotations

from .call import Call, Invocation, run
from .session import Session
from .table import all_commands, command_for

__all__ = ["Call", "Invocation", "Session", "all_commands", "command_for", "run"]
