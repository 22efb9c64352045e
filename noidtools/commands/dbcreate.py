"""The command that creates a minter."""

from __future__ import annotations

import os

from ..errors import ConflictError
from ..minter import creation
from ..minter.report import properties
from ..schemes import scheme_for
from .answers import Answer
from .command import Command, Form, Option, as_text
from .records import Fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..schemes.settings import Settings
    from .call import Call

_POSITIONAL = ("template", "term", "naan", "naa", "subnaa")
_STORE_OPTIONS = ("store", "read")
# Options that are no settings of a scheme.
_OTHER_OPTIONS = ("label", "same-prefix", *_STORE_OPTIONS)


def _dbcreate(call: Call) -> Answer:
    values = {name: call.option(name) or "" for name in call.options if name not in _OTHER_OPTIONS}
    for name, word in zip(_POSITIONAL, call.words, strict=False):
        # A hyphen stands for the default, so that a later word can follow.
        if word not in (b"", b"-"):
            values[name] = as_text(word, f"the {name}")
    settings = creation.new_settings(values, call.values("label"))
    if not call.flag("same-prefix"):
        _ensure_own_prefix(call.session.dbdir, settings)
    address, read = (call.address(name) for name in _STORE_OPTIONS)
    minter = creation.create(call.session.dbdir, settings, call.actor, address=address, read=read)
    try:
        location = minter.store.location.encode("utf-8", "surrogateescape")
        return Answer(Fields(("Folder", location), *properties(minter)), spaced=True)
    finally:
        minter.close()


def _ensure_own_prefix(dbdir: str, settings: Settings) -> None:
    """Refuse a minter that would mint the names of another one in the same folder, if that is served."""
    prefix = scheme_for(settings).namespace_prefix
    if not settings["naan"] or not prefix:
        return
    from ..minter.folder import is_served, minters_with_prefix

    folder = os.path.dirname(os.path.abspath(dbdir))
    others = minters_with_prefix(folder, prefix) if is_served(folder) else []
    if others:
        raise ConflictError(f"the minter {others[0]} in the same folder has the NAAN and prefix {prefix.decode()}, "
                            "too, and both would mint the same names: choose another prefix, or say --same-prefix")


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
    Option("--store Address", "keep the minter in a PostgreSQL server, as in postgresql://host/database"),
    Option("--read Address", "with --store: a standby of that server, at which resolvers read"),
    Option("--same-prefix", "create it although another minter that is served with it has the same NAAN and prefix"),
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

In a folder whose minters are served together, two with the same NAAN and prefix would mint the same names; the second
is refused unless --same-prefix is given.

Each scheme has its own options, which the command schemes lists.

With --store the minter lies in a database server, and the folder NOID holds its address: see scale.md.
""",
        example="""\
$ mkdir kt5 && cd kt5
$ noid dbcreate kt.reeded long 13030 cdlib.org dpg | grep -E 'Template|First'
Template: kt.reeded
First: 13030/kt4x551
""",
    ),
)
