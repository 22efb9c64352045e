"""The reference of all commands, made from the commands themselves.

    python -m tests.support.command_reference

prints it; docs/site_pages.py puts it on the site.
"""

from __future__ import annotations

import sys

from noidtools.commands import all_commands
from noidtools.commands.command import Command, Form, wrapped_usage
from noidtools.commands.help import by_task

_WIDTH = 118
_INTRODUCTION = """\
# Commands

Every command by task: what `noid help COMMAND` prints, and the access class that it needs on the web.

In a usage, a word that begins with a capital letter stands for one of yours, and every other word for itself. `a|b` is
a choice, brackets enclose what may be left out, and `…` repeats the word before it. Options may stand anywhere, as
`--name value` or `--name=value`, and `--` ends them; those of `mint`, `bind` and other commands that take any text
stand before the other words.

The exit status is 0 if it was done; 1 if it was refused, for the reason on standard error, or done with the answer no,
where the help says so; and 2 if the words are wrong. `policy` says who has which access class. Commands of the class
shell work on files of the server, and do not exist on the web.

"""


def reference() -> str:
    """The page, in Markdown."""
    parts = []
    for task, commands in by_task(all_commands()).items():
        parts += [f"## {task}\n", *map(_section, commands)]
    return _INTRODUCTION + "\n".join(parts)


def access_class(form: Form) -> str:
    return "shell" if form.shell_only else " and ".join(form.access)


def _section(command: Command) -> str:
    classes = [access_class(form) for form, _ in command.shown_forms()]
    differ = len(set(classes)) > 1
    lines = [wrapped_usage(usage, _WIDTH - 36, "") for usage in command.usages()]
    if differ:
        lines = [f"{line.splitlines()[0]}    # {word}\n" + "".join(line.splitlines(keepends=True)[1:])
                 for line, word in zip(lines, classes, strict=True)]
    parts = [f"### {command.name}", f"{command.sentence}{'' if differ else f' Access: {classes[0]}.'}",
             f"```text\n{''.join(lines)}```", command.about.rstrip(), _options(command), _notes(command),
             f"```console\n{command.example}```" if command.example else ""]
    return "\n\n".join(part for part in parts if part) + "\n"


def _options(command: Command) -> str:
    if not command.options:
        return ""
    rows = [f"| `{_cell(option.usage)}` | {_cell(option.about)} |" for option in command.options]
    return "\n".join(["| option | what it does |", "|---|---|", *rows])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _notes(command: Command) -> str:
    """The exit status and links."""
    links = [f"[{name}](#{name})" for name in command.also]
    if command.see:
        links.append(f"[{command.see.partition('.')[0].replace('-', ' ')}]({command.see})")
    fails = f"The exit status is 1 if {command.fails}." if command.fails else ""
    return "\n\n".join(filter(None, [fails, f"See also: {', '.join(links)}." if links else ""]))


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    sys.stdout.write(reference())
