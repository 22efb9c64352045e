"""The commands help, which explains commands, and hello, which tests an interface.

What is printed comes from the Command objects; here is only which task a command belongs to.
"""

from __future__ import annotations

import textwrap

from ..errors import printable
from ..minter.policies import READ
from .answers import Answer, Text
from .command import Command, Form, Option, mistyped_form, wrapped_usage
from .manual import man_page

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .call import Call

# Every command, by the task for which a reader would look for it.
TASKS = {
    "Start": ("dbcreate", "dbinfo", "note", "schemes"),
    "Mint": ("mint", "identify", "peppermint", "hold", "queue", "validate", "path", "route", "granularity", "patience",
             "clock", "decode"),
    "Describe": ("bind", "get", "fetch", "cite", "describe"),
    "Resolve": ("resolve", "site", "resolver", "canary", "context", "naans", "resolve-loop"),
    "Publish and withdraw": ("publish", "reserve", "unavailable", "withdraw", "tombstone"),
    "Relate names": ("alias", "same", "synonym", "prefer", "relate", "relations", "abstract"),
    "Vouch for names": ("promise", "custodian", "verify", "quality"),
    "Find": ("find", "list", "history", "log", "stats"),
    "Move data": ("import", "export", "rebind", "retarget", "undo", "copy", "bundle", "depart", "succeed"),
    "Serve": ("serve", "setup", "policy", "token", "sql"),
    "Look after": ("doctor", "status", "backup", "restore", "check", "links"),
    "Help": ("help", "completion", "hello"),
}

# The commands that nine of ten tasks need, for those who have just installed the program.
FIRST = ("dbcreate", "mint", "bind", "get", "resolve", "withdraw", "find", "import", "export", "serve", "setup",
         "backup", "doctor")

_INDENT = "  "
_NARROWEST, _WIDEST = 40, 100
_THREE_COLUMNS = 64  # the width from which task, command and summary have room side by side
_WIDEST_LEFT = 32  # columns for names of options and commands

_TEMPLATES = """\
A template says what the identifiers of a minter look like: a prefix, a period
and a mask.

Usage:
  noid dbcreate fk4.reedek

The prefix (fk4) begins every identifier and may be empty. The mask (reedek)
begins with a letter for the order:
  r  random: an order that looks random, until all are used
  s  sequential: 0, 1, 2, and so on, until all are used
  z  sequential without end: when all are used, identifiers get longer

Then one letter stands for each further character:
  d  a digit, 0 to 9
  e  a digit or one of the consonants bcdfghjkmnpqrstvwxz
  k  at the end only: a check character, which reveals typing errors

So fk4.reedek mints fk4, then e e d e in random order, then a check character:
29 × 29 × 10 × 29 = 243,890 identifiers. Further letters stand for larger
alphabets: see templates.md in the documentation.

Example:
  $ noid dbcreate fk4.reedek long 99999 example.org books | grep -E 'Size|First'
  Size: 243890
  First: 99999/fk44x67z

See also: noid help dbcreate; noid help validate.
"""


# -- lists of commands -----------------------------------------------------------------------------------------------


def first_help(commands: Iterable[Command], columns: int) -> str:
    """What a newcomer needs: the usage and a few commands by task."""
    known = {command.name: command for command in commands}
    rows = []
    for task, names in TASKS.items():
        first = [name for name in names if name in FIRST]
        rows += [(task if name == first[0] else "", name, known[name].summary) for name in first]
    usage = ("Usage: noid [-f Dbdir] Command Words…\n\n"
             "Dbdir is the folder of the minter: the current folder, unless you name another.")
    more = [("noid help all", "all commands"), ("noid help COMMAND", "explains one, as does noid COMMAND --help"),
            ("noid help templates", "explains what identifiers can look like")]
    width = max(len(task) for task, _, _ in rows)
    listed = [(f"{task.ljust(width)}  {name}", summary) for task, name, summary in rows]
    table = _columns(listed, columns) if columns >= _THREE_COLUMNS else (
        list_commands([known[name] for name in FIRST], columns))
    return f"{_filled(usage, columns)}\n{table}\n{_columns(more, columns)}"


def list_commands(commands: Iterable[Command], columns: int) -> str:
    """All these commands by task, with what they do."""
    groups = by_task(commands)
    widest = max(len(command.name) for group in groups.values() for command in group)
    return "\n".join(
        f"{task}\n" + _columns([(f"{_INDENT}{each.name.ljust(widest)}", each.summary) for each in group], columns)
        for task, group in groups.items()
    )


def by_task(commands: Iterable[Command]) -> dict[str, list[Command]]:
    """The commands of each task."""
    known = {command.name: command for command in commands}
    found = {task: [known[name] for name in names if name in known] for task, names in TASKS.items()}
    return {task: group for task, group in found.items() if group}


# -- one command -----------------------------------------------------------------------------------------------------


class Explanation(Text):
    """What a command does, its usage, its options, an example, and where to read on.

    With `form`, the word with which some forms of the command begin, only the usages and options of these.
    """

    __slots__ = ("command", "usages", "options")

    def __init__(self, command: Command, columns: int, form: str = "") -> None:
        self.command = command
        self.usages, self.options = command.usages(form), command.shown_options(form)
        super().__init__(self._text(columns))

    def _text(self, columns: int) -> str:
        command = self.command
        options = [(f"{_INDENT}{option.usage}", option.about) for option in self.options]
        also = ", ".join(f"noid help {name}" for name in command.also)
        see = [also, f"{command.see} in the documentation" if command.see else ""]
        parts = [
            _filled(command.sentence, columns),
            "Usage:\n" + "".join(wrapped_usage(f"noid {usage}", columns, _INDENT) for usage in self.usages),
            _filled(command.about, columns),
            "Options:\n" + _columns(options, columns) if options else "",
            "Example:\n" + textwrap.indent(command.example, _INDENT) if command.example else "",
            _filled(f"The exit status is 1 if {command.fails}.", columns) if command.fails else "",
            _filled(f"See also: {'; '.join(filter(None, see))}.", columns) if any(see) else "",
        ]
        return "\n".join(f"{part.rstrip()}\n" for part in parts if part)


# -- layout ----------------------------------------------------------------------------------------------------------


def _filled(text: str, columns: int) -> str:
    """Paragraphs, which a blank line separates, in lines of at most this width."""
    return "\n".join(_lines(paragraph, columns) for paragraph in text.strip().split("\n\n") if paragraph)


def _lines(text: str, columns: int, first: str = "", rest: str = "") -> str:
    return textwrap.fill(" ".join(text.split()), columns, initial_indent=first, subsequent_indent=rest,
                         break_long_words=False, break_on_hyphens=False) + "\n"


def _columns(rows: list[tuple[str, str]], columns: int) -> str:
    """Rows of two columns; a left cell that is too long stands on a line of its own."""
    width = max((len(left) for left, _ in rows if len(left) <= _WIDEST_LEFT), default=_WIDEST_LEFT)
    width = min(width, columns // 2)
    indent = " " * (width + 2)
    return "".join(
        _lines(right, columns, left.ljust(width) + "  ", indent) if len(left) <= width
        else f"{left}\n{_lines(right, columns, indent, indent)}" for left, right in rows
    )


# -- the commands ----------------------------------------------------------------------------------------------------


def _width(call: Call) -> int:
    return min(max(call.session.columns, _NARROWEST), _WIDEST)


def _help(call: Call) -> Answer:
    return Answer(Text(first_help(call.all_commands(), _width(call))))


def _help_all(call: Call) -> Answer:
    return Answer(Text(list_commands(call.all_commands(), _width(call))))


def _help_templates(call: Call) -> Answer:
    return Answer(Text(_TEMPLATES))


def _help_man(call: Call) -> Answer:
    return Answer(Text(man_page(by_task(call.all_commands())).rstrip("\n")))


def _help_with(call: Call) -> Answer:
    command, form = call.command_for(call.words), printable(call.words[1])[:60] if call.words[1:] else ""
    guess = mistyped_form(command, form) if form and form not in command.leading_words() else None
    if guess is not None:
        raise guess
    return Answer(Explanation(command, _width(call), form))


def _hello(call: Call) -> Answer:
    return Answer(Text("Hello."), spaced=True)


COMMANDS = (
    Command(
        "help", "explain commands", Form("", _help, READ), Form("all", _help_all, READ),
        Form("templates", _help_templates, READ), Form("--man", _help_man, READ),
        Form("Command [Form]", _help_with, READ),
        about="""\
Without arguments it lists the commands that most tasks need; all lists every command. help bind set explains only the
forms of bind that begin with set. noid COMMAND --help prints the same help and runs nothing.
""",
        example="""\
$ noid help mint | head -n 1
Make identifiers.
""",
        options=(Option("--man", "print the manual page noid(1), which man -l shows"),), also=("completion", "hello"),
    ),
    Command(
        "hello", "answer, to test the connection", Form("", _hello, READ), also=("help",),
        example="""\
$ noid hello
Hello.

""",
    ),
)
