"""The command language: words in, an Answer out.  What a command means is decided here, for every door."""

from __future__ import annotations

from .session import Call, Session
from .table import COMMANDS, Command, command_for, run

__all__ = ["COMMANDS", "Call", "Command", "Session", "command_for", "run"]
