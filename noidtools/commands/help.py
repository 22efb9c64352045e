"""The commands help, which explains commands, and hello, which tests an interface."""

from __future__ import annotations

from ..minter.policies import READ
from .answers import Answer, Text
from .command import Command, Form

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .call import Call


def list_commands(commands: Iterable[Command], *, on_web: bool = False) -> str:
    """The usage and the summary of each command, with `on_web` without the forms that are for the shell only."""
    out = []
    for command in commands:
        usages = command.usages(command.web_forms if on_web else command.forms)
        out.append("".join(f"  {usage}\n" for usage in usages) + f"{' ' * 6}{command.summary}\n")
    return "".join(out)


def explain(command: Command) -> str:
    """The usage, the summary, the options and the description of a command."""
    names = [option.usage for option in command.options]
    width = max(map(len, names), default=0)
    options = "".join(
        f"  {name.ljust(width)}  {option.about}\n" for name, option in zip(names, command.options, strict=True)
    )
    parts = [f"{command.usage}\n    {command.summary}\n", options, command.about]
    return "\n".join(part for part in parts if part)


def _help(call: Call) -> Answer:
    return Answer(Text("noid [-f Dbdir] [-vh] Command Arguments\n\n" + list_commands(call.all_commands())), spaced=True)


def _help_with(call: Call) -> Answer:
    return Answer(Text(explain(call.command_for(call.words))), spaced=True)


def _hello(call: Call) -> Answer:
    return Answer(Text("Hello."), spaced=True)


COMMANDS = (
    Command(
        "help", "explain commands", Form("", _help, READ), Form("Command", _help_with, READ),
        example="""\
$ noid help path | sed -n 1,2p
path Id
    the folder made of an identifier: its characters two by two, or a repository's four folders
""",
    ),
    Command(
        "hello", "answer, to show that the interface works", Form("", _hello, READ),
        example="""\
$ noid hello
Hello.

""",
    ),
)
