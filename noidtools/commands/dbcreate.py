"""The command that creates a minter."""

from __future__ import annotations

from ..minter import creation
from ..minter.report import properties
from .answers import Answer, Fields
from .command import Command, Form, Option, as_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .call import Call

_POSITIONAL = ("template", "term", "naan", "naa", "subnaa")


def _dbcreate(call: Call) -> Answer:
    values = {name: call.option(name) or "" for name in call.options if name != "label"}
    for name, word in zip(_POSITIONAL, call.words, strict=False):
        # A hyphen stands for the default, so that a later word can follow.
        if word not in (b"", b"-"):
            values[name] = as_text(word, f"the {name}")
    settings = creation.new_settings(values, call.values("label"))
    minter = creation.create(call.session.dbdir, settings, call.actor)
    try:
        location = minter.store.location.encode("utf-8", "surrogateescape")
        return Answer(Fields(("Created", location), *properties(minter)), spaced=True)
    finally:
        minter.close()


_OPTIONS = (
    Option("--label Label", "strip this from identifiers that are asked for, and add the first of them to answers"),
    Option("--seed N", "which quasi-random order, a number"),
    Option("--at-last stop|wrap|addN", "what happens when the namespace is used up; addN adds N characters"),
    Option("--scheme noid|ibi|ibip|pilin", "how labels are made"),
    Option("--computer Name", "ibi: the full domain name of the server"),
    Option("--ip Address", "ibip: the address of the server"),
    Option("--port N", "ibi, ibip: the port of the server"),
    Option("--prefix Prefix", "pilin: the Handle prefix"),
    Option("--granularity Seconds", "ibi, ibip: from one label to the next"),
    Option("--patience Seconds", "ibi, ibip, pilin: how long one label may be waited for"),
)
COMMANDS = (
    Command(
        "dbcreate", "create a minter in Dbdir/NOID",
        Form("[Template [Term [NAAN [NAA [SubNAA]]]]] " + " ".join(
            f"[{option.usage}]{'…' if option.name == 'label' else ''}" for option in _OPTIONS
        ), _dbcreate),
        options=_OPTIONS, shell_only=True, see="templates.md",
        about="""\
Makes the folder NOID in Dbdir, whole or not at all. Template says what identifiers look like; without one the minter
binds anything and mints 0, 1, 2, and so on. Term is long, medium (the default) or short. NAAN is the number of the name
assigning authority, NAA its name and SubNAA the part of it that mints; a long-term minter needs all three. A hyphen
leaves a place empty.

Each scheme has its own options, which the command schemes lists.
""",
        example="""\
$ mkdir kt5 && cd kt5
$ noid dbcreate kt.reeded long 13030 cdlib.org dpg | grep -E 'Template|First'
Template: kt.reeded
First: 13030/kt4x551
""",
    ),
)
