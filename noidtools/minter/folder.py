"""Minters of a server, which stay open from one request to the next: all those in one folder, or a single one."""

from __future__ import annotations

import os
from _thread import allocate_lock

from ..errors import NoidError, NotFoundError
from ..store import exists, open_store
from . import Minter, location_of

_COMMAND_PATH = "noidu"


class MinterFolder:
    """The minters in the subfolders of a folder, by the names of the subfolders."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._lock = allocate_lock()
        # Open minters with the identities of their databases, by their folders.
        self._known: dict[str, tuple[object, Minter]] = {}

    def find(self, path: str) -> Minter:
        """The minter at a path of a URL: `…/noidu_kt5` is kt5.  Raises NotFoundError if there is none."""
        command, underscore, name = path.rpartition("/")[2].partition("_")
        if command != _COMMAND_PATH or not underscore or not _is_folder_name(name):
            raise NotFoundError(f"no minter is here: a minter's address ends in {_COMMAND_PATH}_NAME")
        return self.open(os.path.join(self.folder, name), name)

    def dbdirs(self) -> list[tuple[str, str]]:
        """The names and folders of all minters that exist."""
        if not os.path.isdir(self.folder):
            return []
        names = [name for name in sorted(os.listdir(self.folder)) if name[0] != "."]
        folders = [(name, os.path.join(self.folder, name)) for name in names]
        return [(name, dbdir) for name, dbdir in folders if exists(location_of(dbdir))]

    def open(self, dbdir: str, name: str) -> Minter:
        """The minter in a folder.  After its database was replaced by another, a new Minter is returned."""
        known = self._known.get(dbdir)
        if known is not None and known[1].store.identity() == known[0]:
            return known[1]
        with self._lock:
            return self._open(dbdir, name)

    def _open(self, dbdir: str, name: str) -> Minter:
        known = self._known.get(dbdir)
        if not exists(location_of(dbdir)):
            if known is not None:
                known[1].store.suspend()  # so that the disk space of the deleted database is freed
            raise NotFoundError(f"there is no minter {name[:60]!a} here")
        store = known[1].store if known else open_store(location_of(dbdir))
        identity = store.identity()
        if known is not None and known[0] == identity:
            return known[1]  # another thread opened it while this one waited
        try:
            minter = Minter(dbdir, store=store)
        except NoidError:
            if known is None:
                store.close()
            raise
        self._known[dbdir] = (identity, minter)
        return minter


class SingleMinter(MinterFolder):
    """A single minter, found at `…/noidu` and, if NAME is that of its folder, at `…/noidu_NAME`; with `anywhere` at any
    path, where the configuration of the web server decides."""

    def __init__(self, dbdir: str, *, anywhere: bool = False) -> None:
        super().__init__(dbdir)
        self.name = os.path.basename(os.path.abspath(dbdir))
        self._anywhere = anywhere

    def find(self, path: str) -> Minter:
        last = path.rpartition("/")[2]
        if not self._anywhere and last not in ("", _COMMAND_PATH, f"{_COMMAND_PATH}_{self.name}"):
            raise NotFoundError(f"nothing is here: the minter's address is /{_COMMAND_PATH}")
        return self.open(self.folder, self.name)

    def dbdirs(self) -> list[tuple[str, str]]:
        return [(self.name, self.folder)]


def _is_folder_name(name: str) -> bool:
    return bool(name) and name[0] != "." and "/" not in name and "\0" not in name
