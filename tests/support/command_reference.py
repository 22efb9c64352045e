"""The reference page of all commands, made from the commands themselves.

    python -m tests.support.command_reference > docs/commands.md
"""

from __future__ import annotations

import sys
import textwrap

from noidtools.commands import all_commands
from noidtools.commands.command import Command, Form

_WIDTH = 118
_INTRODUCTION = """\
# Commands

Every command, its forms and its options. `noid help` lists them, and `noid help Command` explains one. This page is
made from the commands themselves: `python -m tests.support.command_reference > docs/commands.md`.

## How commands are given

At the shell, `noid [-f Dbdir] Command Words…` runs one command, and `noid -` runs those on standard input, one a line
(see the [tutorial](tutorial.md#many-commands-at-once)). On the web, `…/noidu_NAME?Command+Words…` runs one, and
`…/noidu_NAME?-` runs those in the body of a POST (see the [web interface](web-interface.md)).

In the usages below a word that begins with a capital letter stands for one of yours, and every other word for itself.
`a|b` is a choice, brackets enclose what may be left out, and `…` means that there may be more of the same. Options may
stand anywhere, as `--name value` or `--name=value`, and `--` ends them; those of `mint` and `peppermint` stand before
the number. A command without options takes words that begin with hyphens as they are.

| exit status | means |
|---|---|
| 0 | done |
| 1 | refused, for the reason on standard error; or carried out with the answer no, where that is said below |
| 2 | the words are wrong |

On the web a command needs its access class, which [`policy`](#policy) grants: `read`, `mint`, `bind` or `admin`. Those
that work on the server's files are for the shell only. The HTTP status of refusals is described with the [web
interface](web-interface.md#answers).

"""


def reference() -> str:
    """The page, in Markdown."""
    commands = all_commands()
    rows = [f"| [`{each.name}`](#{each.name}) | {each.summary} | {_classes(each)} |" for each in commands]
    table = "\n".join(["| command | what it does | access |", "|---|---|---|", *rows])
    return "\n".join([f"{_INTRODUCTION}{table}\n", *map(_section, commands)])


def _classes(command: Command) -> str:
    if command.shell_only:
        return "shell"
    return " or ".join(dict.fromkeys(_classes_of(form) for form in command.forms))


def _classes_of(form: Form) -> str:
    return "shell" if form.shell_only else " and ".join(form.access)


def _differ(command: Command) -> bool:
    """Whether the forms are of different classes."""
    return len({_classes_of(form) for form in command.forms}) > 1


def _section(command: Command) -> str:
    usage = "\n".join(_wrapped_usage(line) for line in command.usage.splitlines())
    parts = [f"## {command.name}", f"```text\n{usage}\n```", f"{_sentence(command.summary)}", command.about.rstrip(),
             _options(command), _forms(command), _notes(command),
             f"```console\n{command.example}```" if command.example else ""]
    return "\n\n".join(part for part in parts if part) + "\n"


def _wrapped_usage(usage: str) -> str:
    """The usage in lines that are not too long, broken before a bracket."""
    first, *rest = usage.split(" [")
    lines = [first]
    for piece in rest:
        if len(lines[-1]) + len(piece) + 2 > _WIDTH:
            lines.append("   ")
        lines[-1] += f" [{piece}"
    return "\n".join(lines)


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _options(command: Command) -> str:
    if not command.options:
        return ""
    rows = [f"| `{_cell(option.usage)}` | {_cell(option.about)} |" for option in command.options]
    return "\n".join(["| option | what it does |", "|---|---|", *rows])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _notes(command: Command) -> str:
    """The access class, the exit status and a link."""
    sentences = [_access_class(command)]
    if command.fails:
        sentences.append(f"The exit status is 1 if {command.fails}.")
    if command.see:
        title = command.see.partition(".")[0].replace("-", " ")
        sentences.append(f"More: [{title}]({command.see}).")
    return textwrap.fill(" ".join(filter(None, sentences)), _WIDTH, break_long_words=False, break_on_hyphens=False)


def _access_class(command: Command) -> str:
    if command.shell_only:
        return "For the shell only."
    return "" if _differ(command) else f"Access class: {_classes(command)}."


def _forms(command: Command) -> str:
    """A table of the classes of the forms, where they differ."""
    if not _differ(command):
        return ""
    rows = [f"| `{_cell(usage)}` | {_classes_of(form)} |"
            for form, usage in zip(command.forms, command.usages(command.forms), strict=True)]
    return "\n".join(["| form | access class |", "|---|---|", *rows])


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    sys.stdout.write(reference())
