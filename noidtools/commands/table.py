"""The table of commands: the module of each.

A module is imported when one of its commands is first called, because most processes run a single command.
"""

from __future__ import annotations

from ..errors import UsageError, printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .command import Command

# Name and module, in the order in which help lists the commands.
_MODULES = {
    "dbcreate": "dbcreate", "mint": "mint", "peppermint": "mint", "bind": "bind", "fetch": "fetch", "get": "fetch",
    "hold": "hold", "queue": "hold", "validate": "validate", "schemes": "schemes", "decode": "schemes",
    "granularity": "schemes", "patience": "schemes", "route": "route", "path": "validate",
    "policy": "policy", "token": "token", "status": "status",
    "publish": "publish", "reserve": "publish", "withdraw": "publish", "tombstone": "publish",
    "alias": "relations", "synonym": "claims", "prefer": "relations", "relate": "claims", "abstract": "abstract",
    "relations": "relations", "quality": "quality", "history": "history", "log": "history", "custodian": "custodian",
    "serve": "serve", "setup": "setup", "resolve": "resolve", "resolver": "resolver", "canary": "resolver",
    "export": "export", "retarget": "retarget", "undo": "retarget", "rebind": "imports",
    "resolve-loop": "resolve", "cite": "cite", "same": "cite", "context": "context", "verify": "verify",
    "describe": "describe", "note": "dbinfo", "dbinfo": "dbinfo",
    "backup": "backup", "restore": "backup", "import": "imports", "copy": "copy", "sql": "sql",
    "check": "check",
    "help": "help", "hello": "help",
}

_loaded: dict[bytes, Command] = {}


def command_for(words: list[bytes]) -> Command:
    """The command that these words call; raises UsageError if there is none of that name."""
    if not words:
        raise UsageError("no command was given: say help for a list")
    known = _loaded.get(words[0])
    if known is not None:
        return known
    name = printable(words[0])
    if name not in _MODULES:
        raise UsageError(f"there is no command {name[:60]!r}: say help for a list")
    return _load(name)


def find_command(name: str) -> Command | None:
    """The command of this name, None if there is none."""
    return _load(name) if name in _MODULES else None


def is_command(name: str) -> bool:
    """Whether there is a command of this name."""
    return name in _MODULES


def all_commands() -> list[Command]:
    """All commands, in the order of the list that help prints."""
    return [_load(name) for name in _MODULES]


def _load(name: str) -> Command:
    # importlib.import_module would do the same, after a millisecond of imports of its own.
    module = __import__(f"{__package__}.{_MODULES[name]}", fromlist=["COMMANDS"])
    commands: tuple[Command, ...] = module.COMMANDS
    _loaded.update((command.name.encode(), command) for command in commands)
    return _loaded[name.encode()]
