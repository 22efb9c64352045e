"""The reference page of the commands is what the commands say of themselves, and leaves none of them out."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from noidtools.commands import all_commands
from noidtools.commands.command import Command
from support.command_reference import reference
from support.project import ROOT

pytestmark = pytest.mark.slow

PAGE = ROOT / "docs" / "commands.md"
COMMANDS = all_commands()


def section(name: str) -> str:
    """The part of the page about one command."""
    (found,) = re.findall(rf"^## {re.escape(name)}\n.*?(?=^## |\Z)", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    return found


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == reference(), (
        "run: python -m tests.support.command_reference > docs/commands.md")


def test_the_page_is_made_by_a_command() -> None:
    done = subprocess.run([sys.executable, "-m", "tests.support.command_reference"], capture_output=True, check=True,
                          cwd=ROOT)
    assert done.stdout == PAGE.read_bytes()


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_command_is_documented(command: Command) -> None:
    text = section(command.name)
    unwrapped = text.replace("\n    [", " [")
    assert all(usage in unwrapped for usage in command.usage.splitlines())
    assert command.summary[1:] in text
    for option in command.options:
        assert f"| `{option.usage}`".replace("|", "\\|")[1:] in text and option.about in text.replace("\\|", "|")
    assert "For the shell only." in text if command.shell_only else "ccess class" in text
    assert "```console\n$ " in text or command.name in ("serve", "reserve"), "it has an example"


def test_what_the_help_says_is_on_the_page() -> None:
    from noidtools.commands.help import explain

    for command in COMMANDS:
        assert command.about.rstrip() in section(command.name) and command.about in explain(command)
