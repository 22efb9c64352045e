"""The file `engine` in the folder of a store that lies in a database server: which engine it is, and where.

    engine: postgres
    minter: kt5-5f2c81d0
    address: postgresql://host1,host2,host3/noid?target_session_attrs=read-write
    read: postgresql:///noid

`minter` is the name of the minter in the database, `address` where it is written and `read` an address at which
resolvers may read, such as a standby beside them; it may be missing.  The file holds no password, so it may be read by
all who may use the minter, and copied to every computer that shall use it.
"""

from __future__ import annotations

import os
from time import monotonic, sleep

from ...errors import NoMinterError, StoreError, UsageError
from ..folders import ENGINE_FILE

_LARGEST = 10_000

# Seconds in which another store is put in the place of one whose name was taken away, and from one look to the next.
_REPLACED_WITHIN, _PAUSE = 1.0, 0.02


class EngineFile:
    """The content of the file."""

    __slots__ = ("engine", "minter", "address", "read", "_path", "_inode")

    def __init__(self, engine: str, minter: str, address: str, read: str = "") -> None:
        self.engine = engine
        self.minter = minter
        self.address = address
        self.read = read
        self._path = ""
        self._inode = (0, 0)

    @property
    def was_replaced(self) -> bool:
        """Whether another store, perhaps of another engine, lies where this one was; not if there is none."""
        try:
            found = os.stat(self._path)
        except (FileNotFoundError, NotADirectoryError):
            return os.path.isdir(os.path.dirname(self._path))
        except OSError:
            return False
        return (found.st_dev, found.st_ino) != self._inode

    def is_replaced_soon(self) -> bool:
        """Whether another store is put in the place of one whose name in the database is gone, as `copy` does right
        after it has taken the name away."""
        deadline = monotonic() + _REPLACED_WITHIN
        while not self.was_replaced:
            if monotonic() >= deadline:
                return False
            sleep(_PAUSE)
        return True

    @property
    def was_taken_away(self) -> bool:
        """Whether the file that was read no longer lies where it was, and another one may be on its way there."""
        try:
            os.stat(self._path)
        except (FileNotFoundError, NotADirectoryError):
            return True
        except OSError:
            return False
        return self.was_replaced

    def read_from(self, path: str, status: os.stat_result) -> EngineFile:
        """Itself, with where it was read."""
        self._path, self._inode = path, (status.st_dev, status.st_ino)
        return self

    def text(self) -> bytes:
        lines = [f"engine: {self.engine}", f"minter: {self.minter}", f"address: {self.address}"]
        lines += [f"read: {self.read}"] if self.read else []
        return ("\n".join(lines) + "\n").encode("utf-8", "surrogateescape")

    def of_minter(self, minter: str) -> EngineFile:
        """The same for another minter in the same database."""
        return EngineFile(self.engine, minter, self.address, self.read)


def path_of(location: str) -> str:
    """The path of the file for a store at a location, which is a folder, or the file itself."""
    return os.path.join(location, ENGINE_FILE) if os.path.isdir(location) else location


def no_minter(location: str) -> NoMinterError:
    return NoMinterError(f"there is no minter in {location}: create one with 'noid dbcreate', or name its folder with "
                         "-f")


def read_engine_file(location: str) -> EngineFile:
    """Raises NoMinterError if there is none, StoreError if it cannot be read, lacks a line, or must not be trusted."""
    path = path_of(location)
    try:
        with open(path, "rb") as file:
            text, status = file.read(_LARGEST).decode("utf-8", "surrogateescape"), os.fstat(file.fileno())
    except (FileNotFoundError, NotADirectoryError):
        raise no_minter(location) from None
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}") from None
    if status.st_uid and not os.geteuid():
        # Whoever writes this file chooses the server to which libpq sends the password of the account that reads it.
        raise StoreError(f"{path} belongs to another account than root, who would send its own database password to "
                         "the server named there: give the command as that account")
    values = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
    for name in ("engine", "minter", "address"):
        if not values.get(name, "").strip():
            raise StoreError(f"{path} has no line '{name}: …': restore the file from a backup or from another computer "
                             "that uses the minter")
    found = EngineFile(*(values.get(name, "").strip() for name in ("engine", "minter", "address", "read")))
    return found.read_from(path, status)


def ensure_address(text: str, what: str) -> str:
    """An address for the file; raises UsageError for what it must not hold."""
    if not text.isprintable():
        raise UsageError(f"the {what} must be one line of printable text")
    if len(text) > _LARGEST // 4:
        raise UsageError(f"the {what} is longer than {_LARGEST // 4} characters")
    return text
