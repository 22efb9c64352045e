"""Commands that mint identifiers."""

from __future__ import annotations

import os

from ..errors import ForbiddenError
from ..minter import minting
from ..minter.policies import BIND, MINT
from .answers import Answer, Ids, IdsWithFolders
from .command import Command, Form, Option, as_count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..minter.identifier_folders import IdentifierFolder
    from .answers import Record
    from .call import Call, Invocation

# Calls for fewer identifiers share transactions with calls of other users; more would make these wait.
_FEW = 1000
_LONGEST_COUNT = 18


# -- mint ------------------------------------------------------------------------------------------------------------


def _mint(call: Call) -> Answer:
    count, options, patience = as_count(call.words[0]), _mint_options(call), _patience(call)
    if call.flag("folders"):
        _ensure_local(call)

        return Answer(stream=_mint_with_folders(call, count, options, patience), spaced=True)

    def records() -> Iterator[Record]:
        for ids in minting.mint(call.minter, call.actor, count, options, patience=patience):
            yield Ids(ids, peppered=options.peppered)

    return Answer(stream=records(), spaced=True)


def _mint_with_folders(
    call: Call, count: int, options: minting.MintOptions, patience: int | None
) -> Iterator[Record]:
    """Mint identifiers, each with its folder below the one that the option --folders names."""
    from ..minter.identifier_folders import FolderMaker

    minter = call.minter
    maker = FolderMaker(os.fsencode(call.option("folders") or ""), minter.scheme)
    folders: list[IdentifierFolder] = []

    def make_folders(ids: list[bytes]) -> None:
        maker.undo()
        names = [display.rpartition(b"!")[0] if options.peppered else display for display in ids]
        folders[:] = maker.make([minter.namespace.literal_key(name) for name in names])

    try:
        for ids in minting.mint(minter, call.actor, count, options, patience=patience, on_minted=make_folders):
            maker.keep()
            yield IdsWithFolders(ids, folders.copy(), peppered=options.peppered)
    finally:
        maker.undo()


def _ensure_local(call: Call) -> None:
    if call.flag("folders") and not call.session.local:
        raise ForbiddenError(f"{call.command.name} --folders makes folders on the server: it is for the shell, not for "
                             "the web")


def _mint_options(call: Call) -> minting.MintOptions:
    peppered = call.command is PEPPERMINT
    if len(call.words) == 1:
        return minting.MintOptions(peppered=peppered)
    return minting.MintOptions(peppered=peppered, element=call.words[1], value=call.words[2])


def _patience(call: Call) -> int | None:
    text = call.option("patience")
    if text is None:
        return None
    from ..schemes.timed import parse_patience

    return parse_patience(text.encode())


def _is_long_mint(call: Invocation) -> bool:
    """Whether it takes several transactions, or may wait for as long as its option --patience allows."""
    return bool(call.options) or _requested(call) > minting.CHUNK


def _is_short_mint(call: Invocation) -> bool:
    return 0 <= _requested(call) < _FEW


def _requested(call: Invocation) -> int:
    """How many identifiers are requested, -1 if the word is not a number."""
    word = call.words[0] if call.words else b""
    return int(word) if word.isdigit() and len(word) <= _LONGEST_COUNT else -1


def _mint_command(name: str, summary: str, about: str, example: str, see: str) -> Command:
    return Command(
        name, summary,
        Form("[--patience S] [--folders Dir] N", _mint, MINT, streams=_is_long_mint, batches=_is_short_mint),
        Form("[--patience S] [--folders Dir] N Element Value", _mint, MINT, BIND, streams=_is_long_mint,
             batches=_is_short_mint, too_few="an Element needs a Value"),
        options=(Option("--patience S", "where labels are made from the time, wait up to S seconds for each"),
                 Option("--folders Dir", "make the folder of each identifier, as path prints it, below Dir")),
        options_first=True, about=about, example=example, see=see,
    )


PEPPERMINT = _mint_command(
    "peppermint", "make N identifiers, each with a secret that later changes need",
    """\
As mint, and to each identifier a pepper is added: ID!PEPPER. It is printed this once, and stored only as a digest. Who
wants to change the identifier later must write it with its pepper; for reading it is not needed.
""",
    """\
$ noid peppermint 1
id: 13030/ktrn327!…

""",
    "tutorial.md#identifiers-with-a-secret",
)


# -- the commands ----------------------------------------------------------------------------------------------------

COMMANDS = (
    _mint_command(
        "mint", "make N identifiers, each with Element bound to Value if given",
        """\
First come those that are due in the queue, then new ones. Many are minted in several transactions, and printed as they
are committed. If no identifier is left, those that were minted are printed before the refusal.

With --folders each identifier has its folder before it is given; if the folder cannot be made, the identifier is not
minted. A folder that is there already is emptied of folders if it has no files, else left as it is; a note says so.
""",
        """\
$ noid mint 2
id: 13030/kt4x551
id: 13030/kt154d9

$ noid mint 1 status draft
id: 13030/ktwd3s9

""",
        "tutorial.md#mint-bind-fetch",
    ),
    PEPPERMINT,
)
