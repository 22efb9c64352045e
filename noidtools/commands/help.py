"""Commands that explain commands and show that an interface works."""

from __future__ import annotations

from ..errors import NotFoundError, printable
from .answers import Answer, Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .session import Call


def help(call: Call) -> Answer:
    from .table import COMMANDS

    args = call.need(0, 1, "help [Command]")
    if not args:
        lines = [f"  {command.usage}\n      {command.summary}" for command in COMMANDS.values()]
        return Answer(Text("noid [-f Dbdir] [-vh] Command Arguments\n\n" + "\n".join(lines)), spaced=True)
    name = printable(args[0])
    if name not in COMMANDS:
        raise NotFoundError(f"there is no command {name!r}: say help for a list")
    command = COMMANDS[name]
    return Answer(Text(f"{command.usage}\n    {command.summary}"), spaced=True)


def hello(call: Call) -> Answer:
    call.need(0, 0, "hello")
    return Answer(Text("Hello."), spaced=True)
