"""The actions of the ontology that can be performed here: by which command, on what, with what result, and by whom."""

from __future__ import annotations

from .. import codec
from ..minter.policies import ADMIN, BIND, MINT, READ
from .facts import Action

NOTHING = "owl:Nothing"


class ActionKind:
    """An action of the ontology.

    command   the command that performs it, with `Id` for the identifier
    access    the access class of the command
    inputs    the classes of the ontology that it is applied to
    results   the classes of what it gives back
    section   the section of the PILIN ontology that defines it
    """

    __slots__ = ("access", "command", "inputs", "results", "section")

    def __init__(
        self, command: str, access: str, inputs: tuple[str, ...], results: tuple[str, ...], section: str
    ) -> None:
        self.command = command
        self.access = access
        self.inputs = inputs
        self.results = results
        self.section = section


_ENTITY, _NOTHING, _NAME = ("pil:Entity",), (NOTHING,), ("pil:Name",)
KINDS = {
    "allocate": ActionKind("custodian set Who", ADMIN, ("pil:Context",), _NOTHING, "3.6"),
    "assign": ActionKind("custodian set Who Id", ADMIN, _ENTITY, _NOTHING, "9"),
    "cite": ActionKind("cite Id", READ, ("pil:Thing",), _NOTHING, "9.1"),
    "create": ActionKind("mint N", MINT, _NOTHING, ("pil:Thing",), "9.2"),
    "delegate": ActionKind("policy admin User", ADMIN, ("pil:Context",), _NOTHING, "3.6"),
    "deregister": ActionKind("withdraw Id", ADMIN, _ENTITY, _NOTHING, "9.4"),
    "identify": ActionKind("bind set Id Element Value", BIND, ("pil:Name", "pil:Thing"), ("pil:Identifier",), "9.7"),
    "print-cite": ActionKind("cite Id", READ, ("pil:Thing",), _NOTHING, "9.1"),
    "publish": ActionKind("publish Id", BIND, ("pil:Component",), _NOTHING, "9.6"),
    "query": ActionKind("fetch Id", READ, _ENTITY, ("pil:Information",), "9.11"),
    "register": ActionKind("mint N", MINT, _ENTITY, _NOTHING, "9.3"),
    "represent": ActionKind("cite Id", READ, ("pil:RepresentableEntity",), ("pil:Label",), "5.7"),
    "reserve": ActionKind("reserve Id", BIND, _ENTITY, _NOTHING, "9.5"),
    "resolve": ActionKind("resolve Id", READ, _NAME, ("pil:RetrievalKey",), "9.9"),
    "speech-cite": ActionKind("cite Id", READ, ("pil:Thing",), _NOTHING, "9.1"),
    "verify": ActionKind("verify Id", READ, _ENTITY, ("pil:Boolean",), "9.12"),
    "web-cite": ActionKind("cite Id", READ, ("pil:Thing",), _NOTHING, "9.1"),
}

_ON_THE_MINTER = ("allocate", "create", "delegate", "register")
_ON_ONE = tuple(name for name in KINDS if name not in _ON_THE_MINTER)
# The name can still be written, and its tombstone be read.
_ON_WITHDRAWN = ("cite", "print-cite", "query", "represent", "speech-cite", "web-cite")


def minter_actions() -> tuple[Action, ...]:
    """What can be done with a minter and its names."""
    return tuple(Action(name, (_shell_command(name),)) for name in KINDS)


def name_actions(display: bytes, addresses: list[bytes], *, withdrawn: bool, resolves: bool) -> tuple[Action, ...]:
    """What can be done with a name; `addresses` are those under which resolvers answer for it."""
    found = []
    for name in _ON_WITHDRAWN if withdrawn else _ON_ONE:
        if name == "resolve" and not resolves:
            continue
        urls = {"query": [url + b"?info" for url in addresses], "resolve": addresses}.get(name, [])
        found.append(Action(name, (_shell_command(name, display), *urls)))
    if resolves and addresses:
        # Following a link is resolving it and fetching what is there.
        found.append(Action("retrieve", tuple(addresses)))
    return tuple(found)


def _shell_command(action: str, identifier: bytes = b"Id") -> bytes:
    return b"noid " + KINDS[action].command.encode().replace(b"Id", _quoted(identifier))


def _quoted(word: bytes) -> bytes:
    """The word as a shell reads it as one, whatever is in it."""
    if not word.translate(None, codec.UNRESERVED + b"/:@+,"):
        return word
    return b"'" + word.replace(b"'", b"'\\''") + b"'"
