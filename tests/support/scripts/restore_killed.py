"""Restores a backup, and is killed at one of its steps: script before|between|after SOURCE, in the minter's folder."""

import os
import signal
import sys

from noidtools.cli.noid import main
from noidtools.store import folders

place, source = sys.argv[1:]
exchange = folders._exchange


def die(one: str, other: str) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def exchange_and_die(one: str, other: str) -> None:
    exchange(one, other)
    die(one, other)


if place == "before":
    os.rename = die  # type: ignore[assignment]
else:
    folders._exchange = die if place == "between" else exchange_and_die
main(["noid", "restore", source])
