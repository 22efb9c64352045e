"""Minting with a folder for each identifier."""

from __future__ import annotations

import os

from ..minter import minting
from ..minter.identifier_folders import FolderMaker
from .name_records import IdsWithFolders

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..minter.identifier_folders import IdentifierFolder
    from .answers import Record
    from .call import Call


def mint_with_folders(
    call: Call, count: int, options: minting.MintOptions, patience: int | None
) -> Iterator[Record]:
    """Mint identifiers, each with its folder below the one that the option --folders names."""
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
