"""The manual page noid(1), made from the Command objects: `noid help --man`."""

from __future__ import annotations

from ..version import __version__
from .command import wrapped_usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from .command import Command

_WIDTH = 72  # of a usage, which man does not fill: 80 columns without the margin

_HEAD = r"""
.TH NOID 1 "" "noidtools VERSION" "User Commands"
.SH NAME
noid \- mint, bind and resolve persistent identifiers
.SH SYNOPSIS
.B noid
.RB [ \-f
.IR Dbdir ]
.I Command Words\fR\|.\|.\|.
.br
.B noid \-
.SH DESCRIPTION
.B noid
makes identifiers, stores what is bound to them, and resolves them.
With
.B \-
it runs the commands on standard input, one per line.
.PP
In a usage, a word that begins with a capital letter stands for one of yours, and every other word for itself.
.B a|b
is a choice, brackets enclose what may be left out, and
.B …
repeats the word before it.
Options are written
.B \-\-name value
or
.BR \-\-name=value ;
.B \-\-
ends them.
.SH OPTIONS
.TP
.BI \-f " Dbdir"
The folder of the minter.
Without it the environment variable
.B NOID
names the folder, and without that it is the current one.
.TP
.B \-v
Print the version.
.TP
.BR \-h ", " \-\-help
Explain the command, and run nothing.
"""
_TAIL = r"""
.SH EXIT STATUS
0 if it was done, 1 if it was refused or the answer is no, and 2 if the words are wrong.
.SH ENVIRONMENT
.TP
.B NOID
The folder of the minter.
.SH FILES
.TP
.I Dbdir/NOID
The minter.
"""


def man_page(tasks: Mapping[str, list[Command]]) -> str:
    """The page in the macros of man(7), with the commands of each task."""
    parts = [_HEAD.strip().replace("VERSION", __version__)]
    for task, commands in tasks.items():
        parts += [f".SH {_escaped(task.upper())}", *map(_section, commands)]
    return "\n".join([*parts, _TAIL.strip()]) + "\n"


def _section(command: Command) -> str:
    usages = "".join(wrapped_usage(f"noid {usage}", _WIDTH) for usage in command.usages())
    lines = [f".SS {_escaped(command.name)}", _text(command.sentence), ".PP", ".nf",
             *(f"\\fB{_escaped(line)}\\fR" for line in usages.splitlines()), ".fi"]
    for paragraph in command.about.strip().split("\n\n"):
        if paragraph:
            lines += [".PP", _text(paragraph)]
    for option in command.shown_options():
        lines += [".TP", f"\\fB{_escaped(option.usage)}\\fR", _text(option.about)]
    if command.fails:
        lines += [".PP", _text(f"The exit status is 1 if {command.fails}.")]
    if command.example:
        lines += [".PP", ".EX", *map(_line, command.example.strip().split("\n")), ".EE"]
    return "\n".join(lines)


def _text(text: str) -> str:
    """A paragraph in one line."""
    return _line(" ".join(text.split()))


def _line(line: str) -> str:
    """A line that is not taken for a macro."""
    return f"\\&{_escaped(line)}" if line.startswith(".") else _escaped(line)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\e").replace("-", "\\-").replace("^", "\\(ha").replace("~", "\\(ti").replace(
        "`", "\\(ga").replace("'", "\\(aq")
