"""The file `engine` in the folder of a store that is in a database server: which engine it is, and where.

    engine: postgres
    minter: kt5-5f2c81d0
    address: postgresql://host1,host2,host3/noid?target_session_attrs=read-write
    read: postgresql:///noid

`minter` is the name of the minter in the database, `address` where it is written and `read` an address at which
resolvers may read, such as a standby beside them; it may be missing.  The file holds no password, so it may be read by
everyone who may use the minter, and copied to every computer that uses it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

from ...errors import NoMinterError, StoreError, UsageError
from ..folders import ENGINE_FILE, ensure_regular

_LARGEST = 10_000


@dataclass(frozen=True, slots=True)
class EngineFile:
    """The content of the file; `path` and `inode` are those of the file that was read."""

    minter: str
    address: str
    read: str = ""
    path: str = ""
    inode: tuple[int, int] = (0, 0)

    @property
    def is_in_place(self) -> bool:
        """Whether the file that was read is still where it was."""
        try:
            found = os.stat(self.path)
        except OSError:
            return False
        return (found.st_dev, found.st_ino) == self.inode

    def text(self) -> bytes:
        lines = ["engine: postgres", f"minter: {self.minter}", f"address: {self.address}"]
        lines += [f"read: {self.read}"] if self.read else []
        return ("\n".join(lines) + "\n").encode("utf-8", "surrogateescape")

    def with_minter(self, minter: str) -> EngineFile:
        """The same for another minter in the same database."""
        return replace(self, minter=minter)


def path_of(location: str) -> str:
    """The path of the file for a store at a location, which is a folder, or the file itself."""
    return os.path.join(location, ENGINE_FILE) if os.path.isdir(location) else location


def read_engine_file(location: str) -> EngineFile:
    """Raises NoMinterError if there is none, StoreError if it cannot be read, lacks a line, or must not be trusted."""
    path = path_of(location)
    try:
        ensure_regular(path)
        with open(path, "rb") as file:
            text, status = file.read(_LARGEST).decode("utf-8", "surrogateescape"), os.fstat(file.fileno())
    except (FileNotFoundError, NotADirectoryError):
        raise NoMinterError(f"there is no minter in {location}",
                            "create one with 'noid dbcreate', or name another folder") from None
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}") from None
    if status.st_uid and not os.geteuid():
        # The owner of this file chooses the server to which libpq sends the password of the account that reads it.
        raise StoreError(f"{path} belongs to another account than root, who would send its own database password to "
                         "the server named there: give the command as that account")
    values = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
    for name in ("engine", "minter", "address"):
        if not values.get(name, "").strip():
            raise StoreError(f"{path} has no line '{name}: …': restore the file from a backup or from another computer "
                             "that uses the minter")
    minter, address, read = (values.get(name, "").strip() for name in ("minter", "address", "read"))
    return EngineFile(minter, address, read, path, (status.st_dev, status.st_ino))


def new_engine_file(location: str, address: str, read: str = "") -> EngineFile:
    """A file for a new minter, whose name no other one in the database has: that of its folder, and something random.

    Raises UsageError for an address that the file must not hold.
    """
    for text, what in ((address, "address of the store"), (read, "address to read from")):
        if not text.isprintable():
            raise UsageError(f"the {what} must be one line of printable text")
        if len(text) > _LARGEST // 4:
            raise UsageError(f"the {what} is longer than {_LARGEST // 4} characters")
    folder = os.path.basename(os.path.dirname(os.path.abspath(location)))
    plain = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "._") else "_" for letter in folder)
    return EngineFile(f"{plain[:60] or 'minter'}-{os.urandom(4).hex()}", address, read)
