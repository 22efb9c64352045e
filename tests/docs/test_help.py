"""The help of a command has an example that gives what is printed, and leads on to commands that exist."""

from __future__ import annotations

from pathlib import Path

import pytest

from noidtools.commands import all_commands
from noidtools.commands.command import Command
from noidtools.commands.help import FIRST, TASKS
from support.demo_minter import make_demo_minter
from support.page_examples import Block, Reader, examples_of, matches

pytestmark = pytest.mark.slow

COMMANDS = all_commands()
NAMES = {command.name for command in COMMANDS}


@pytest.mark.only("lmdb")
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_the_example_of_a_command_gives_what_its_help_prints(command: Command, tmp_path: Path) -> None:
    """In the folder of a minter with a few names (see support/demo_minter.py)."""
    reader = Reader(tmp_path)
    make_demo_minter(reader.folder)
    try:
        for example in examples_of(Block("console", command.example, 1)):
            output = reader.type(example)
            assert matches(output, example.output), f"$ {example.command}\n{output}--- printed\n{example.output}"
    finally:
        reader.close()


def test_every_command_belongs_to_one_task() -> None:
    listed = [name for names in TASKS.values() for name in names]
    assert sorted(listed) == sorted(NAMES), "a command is named once in TASKS of commands/help.py"
    assert set(FIRST) <= NAMES


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_a_help_leads_on_to_other_commands(command: Command) -> None:
    assert command.also and set(command.also) <= NAMES - {command.name}
