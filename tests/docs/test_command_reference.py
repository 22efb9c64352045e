"""The reference page of the commands is what the commands say of themselves, and leaves none of them out."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from noidtools.commands import all_commands
from noidtools.commands.command import Command
from support.command_reference import access_class, reference
from support.project import ROOT

pytestmark = pytest.mark.slow

COMMANDS = all_commands()


def section(page: str, name: str) -> str:
    """The part of a page about one command."""
    (found,) = re.findall(rf"^### {re.escape(name)}\n.*?(?=^##|\Z)", page, re.M | re.S)
    return found


def test_the_reference_is_printed_by_a_command() -> None:
    done = subprocess.run([sys.executable, "-m", "tests.support.command_reference"], capture_output=True, check=True,
                          cwd=ROOT)
    assert done.stdout.decode() == reference()


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_command_is_documented(command: Command) -> None:
    text = section(reference(), command.name)
    unwrapped = re.sub(r"    # [a-z ]+", "", text).replace("|\n     ", "|").replace("\n     ", " ")
    assert all(f"\n{usage}\n" in unwrapped for usage in command.usages())
    assert command.summary[1:] in text
    assert all(re.search(rf"(Access: |# ){access_class(form)}\b", text) for form in command.forms)


def test_the_page_for_the_built_documentation_has_all_that_help_prints() -> None:
    page = reference()
    for command in COMMANDS:
        text = section(page, command.name)
        assert command.about.rstrip() in text and command.example in text
        for option in command.options:
            assert f"| `{option.usage}` | {option.about} |" in text.replace("\\|", "|")


@pytest.mark.parametrize("page", ["commands.md", "python-reference.md"])
def test_a_reference_is_made_with_the_site_and_not_stored(page: str) -> None:
    """`mkdocs build` makes it from the source (docs/site_pages.py)."""
    assert len((ROOT / "docs" / page).read_text(encoding="utf-8").split()) < 400, f"git checkout main -- docs/{page}"
