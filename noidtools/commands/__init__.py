"""The command language, for every interface: parses words, runs the command, returns an Answer."""

from __future__ import annotations

from .call import Call, Invocation, Session, all_commands, command_for

__all__ = ["Call", "Invocation", "Session", "all_commands", "command_for"]
