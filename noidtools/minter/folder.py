"""Minters that stay open from one request to the next: all those in one folder, or a single one."""

from __future__ import annotations

import os
from _thread import allocate_lock

from ..errors import NotFoundError
from . import FOLDER, Minter

# Each open database takes two files and much address space, and a folder may hold thousands of minters.
_MOST_OPEN = 64
_COMMAND_PATH = "noidu"


class MinterFolder:
    """Minters that stay open from one request to the next; those of this class are all in one folder."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._lock = allocate_lock()
        self._known: dict[str, tuple[tuple[int, int], Minter]] = {}
        self._recent: dict[str, None] = {}

    def find(self, path: str) -> Minter:
        door, underscore, name = path.rpartition("/")[2].partition("_")
        if door != _COMMAND_PATH or not underscore or not _is_folder_name(name):
            raise NotFoundError(f"no minter is here: a minter's address ends in {_COMMAND_PATH}_NAME")
        return self.open(os.path.join(self.folder, name), name)

    def open(self, dbdir: str, name: str) -> Minter:
        """The minter in a folder, opened if it was not, and opened anew if another was put in its place."""
        try:
            status = os.stat(os.path.join(dbdir, FOLDER, "data.mdb"))
        except (OSError, ValueError):
            self._forget(dbdir)
            raise NotFoundError(f"there is no minter {name[:60]!a} here") from None
        file = (status.st_dev, status.st_ino)
        with self._lock:
            known = self._known.get(dbdir)
            if known is None or known[0] != file:
                known = (file, Minter(dbdir, store=known[1].store if known else None))
                self._known[dbdir] = known
            self._mark_used(dbdir)
            return known[1]

    def _mark_used(self, dbdir: str) -> None:
        self._recent.pop(dbdir, None)
        self._recent[dbdir] = None
        if len(self._recent) > _MOST_OPEN:
            oldest = next(iter(self._recent))
            del self._recent[oldest]
            # Shut, not forgotten: a database must not be opened twice in one process, and this one opens itself.
            self._known[oldest][1].store.shut_before_fork()

    def _forget(self, dbdir: str) -> None:
        with self._lock:
            if dbdir in self._known:
                # So that the disk gets back the room of what was deleted.
                self._known[dbdir][1].store.shut_before_fork()


class SingleMinter(MinterFolder):
    """A single minter: at `…/noidu`, at `…/noidu_NAME` if NAME is its folder's, or wherever the server says."""

    def __init__(self, dbdir: str, *, anywhere: bool = False) -> None:
        super().__init__(dbdir)
        self.name = os.path.basename(os.path.abspath(dbdir))
        self._anywhere = anywhere

    def find(self, path: str) -> Minter:
        last = path.rpartition("/")[2]
        if not self._anywhere and last not in ("", _COMMAND_PATH, f"{_COMMAND_PATH}_{self.name}"):
            raise NotFoundError(f"nothing is here: the minter's address is /{_COMMAND_PATH}")
        return self.open(self.folder, self.name)


def _is_folder_name(name: str) -> bool:
    return bool(name) and name[0] != "." and "/" not in name and "\0" not in name
