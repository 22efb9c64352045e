"""Creation of minters in PostgreSQL: rows under a new name, and then the folder that names them."""

from __future__ import annotations

import os

from ...errors import UsageError
from ..folders import ENGINE_FILE, create_folder, write_file, write_readme
from .connection import ensure_no_password
from .engine_file import EngineFile, ensure_address
from .minter_rows import create_minter, delete_minter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .. import Readme, Work

ENGINE = "postgres"


def create(
    location: str, address: str, read: str, works: Iterable[Work], readme: Readme,
    write_all: Callable[[str, Iterable[Work]], None],
) -> None:
    """Make a minter in the database at an address, and the folder that names it, which appears last.

    `write_all` has works write to the store in a folder.  If anything is raised, nothing is left; only a process that
    is killed leaves rows that no folder names.
    """
    if not address:
        raise UsageError("the address of the database is missing: write it as in --store postgresql://host/database")
    for text, what in ((address, "address of the store"), (read, "address to read from")):
        ensure_no_password(ensure_address(text, what), what)
    file = EngineFile(ENGINE, new_name(location), address, read)

    begun = False

    def fill_folder(folder: str) -> None:
        nonlocal begun
        begun = True
        write_file(os.path.join(folder, ENGINE_FILE), file.text())
        create_minter(file)
        write_all(folder, works)
        write_readme(folder, readme)

    try:
        create_folder(location, fill_folder)
    except BaseException:
        # Also if another process was quicker to make the folder, or if it is not known whether the minter was made.
        if begun:
            delete_minter(file)
        raise


def new_name(location: str) -> str:
    """A name for a minter that no other in the database has: that of its folder, and something random."""
    folder = os.path.basename(os.path.dirname(os.path.abspath(location)))
    plain = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "._") else "_" for letter in folder)
    return f"{plain[:60] or 'minter'}-{os.urandom(4).hex()}"
