"""Minters of a server, which stay open from one request to the next: all those in one folder, or a single one."""

from __future__ import annotations

import errno
import os
import threading
from contextlib import contextmanager, suppress
from copy import copy

from ..errors import NoidError, NoMinterError, NotFoundError, StoreError
from ..store import ensure_folder_name, exists
from ..store.folders import ensure_own
from . import Minter, location_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# What the last part of an address begins with at which a minter takes commands.
COMMAND_PATH = "noidu"

# The file that marks a folder as served, and how the programs begin that web servers start beside the minters.
_MARK = ".noid-served"
_PROGRAMS = (COMMAND_PATH, "noidr")

# Seconds for which a request waits for a writer: a server has few threads, and its client can ask again.
_WRITER_SECONDS = 2.0

# What looking at a file fails with where there may be one.
_CANNOT_LOOK = (errno.EACCES, errno.EPERM, errno.EIO, errno.ESTALE)


class MinterFolder:
    """The minters in the subfolders of a folder, by the names of the subfolders."""

    # Whether the minters are opened to be resolved only: see `open_store`.
    _resolving = False

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        # Open minters with the identities of their databases, by their folders.
        self._known: dict[str, tuple[object, Minter]] = {}

    def for_resolving(self) -> MinterFolder:
        """The same minters, opened by a resolver, which may read replicas."""
        other = copy(self)
        other._lock, other._known, other._resolving = threading.Lock(), {}, True
        return other

    def find(self, path: str) -> Minter:
        """The minter at a path of a URL: `…/noidu_kt5` is kt5.  Raises NotFoundError if there is none."""
        command, underscore, name = path.rpartition("/")[2].partition("_")
        if command != COMMAND_PATH or not underscore or not _is_folder_name(name):
            raise NotFoundError(f"no minter is here: a minter's address ends in {COMMAND_PATH}_NAME")
        return self.open(os.path.join(self.folder, name), name)

    def dbdirs(self) -> list[tuple[str, str]]:
        """The names and folders of all minters, also of those that cannot be opened.

        Raises StoreError if the folder cannot be read.
        """
        ensure_folder_name(self.folder)
        try:
            names = sorted(os.listdir(self.folder))
        except OSError as error:
            raise StoreError(f"the folder of minters {self.folder} cannot be read: {error.strerror}") from None
        folders = [(name, os.path.join(self.folder, name)) for name in names if name[0] != "."]
        return [(name, dbdir) for name, dbdir in folders if exists(location_of(dbdir)) or _is_damaged(dbdir)]

    def open(self, dbdir: str, name: str) -> Minter:
        """The minter in a folder.  After its database was replaced by another, a new Minter is returned."""
        known = self._known.get(dbdir)
        if known is not None and _identity(known[1]) == known[0]:
            return known[1]
        with self._lock:
            return self._open(dbdir, name)

    def _open(self, dbdir: str, name: str) -> Minter:
        known = self._known.get(dbdir)
        if not exists(location_of(dbdir)):
            if known is not None:
                known[1].store.suspend()  # so that the disk space of the deleted database is freed
            if _is_damaged(dbdir):
                raise StoreError(f"{location_of(dbdir)} has no database that this process can read: change the owner "
                                 "or the permissions, or restore a backup")
            raise NotFoundError(f"there is no minter {name[:60]!a} here")
        if known is None:
            minter = Minter(dbdir, resolving=self._resolving)
        else:
            if _identity(known[1]) == known[0]:
                return known[1]  # another thread opened it while this one waited
            minter = Minter(dbdir, store=known[1].store)
        minter.timeout = _WRITER_SECONDS
        self._known[dbdir] = (minter.store.identity(), minter)
        return minter


def _identity(minter: Minter) -> object | None:
    """The identity of the database of a minter, None if there is none any more."""
    try:
        return minter.store.identity()
    except NoMinterError:
        return None


class SingleMinter(MinterFolder):
    """A single minter, found at `…/noidu` and, if NAME is that of its folder, at `…/noidu_NAME`; with `anywhere` at any
    path, where the configuration of the web server decides."""

    def __init__(self, dbdir: str, *, anywhere: bool = False) -> None:
        super().__init__(dbdir)
        self.name = os.path.basename(os.path.abspath(dbdir))
        self._anywhere = anywhere

    def find(self, path: str) -> Minter:
        last = path.rpartition("/")[2]
        if not self._anywhere and last not in ("", COMMAND_PATH, f"{COMMAND_PATH}_{self.name}"):
            raise NotFoundError(f"nothing is here: the minter's address is /{COMMAND_PATH}")
        return self.open(self.folder, self.name)

    def dbdirs(self) -> list[tuple[str, str]]:
        ensure_folder_name(self.folder)
        return [(self.name, self.folder)]


@contextmanager
def existing_folder(folder: str) -> Iterator[None]:
    """Make a folder if there is none, and remove it again if the `with` block raises.

    Raises StoreError if it cannot be made, or if this is root and the place belongs to somebody else.
    """
    ensure_folder_name(folder)
    ensure_own(folder)
    made = True
    try:
        os.mkdir(folder)
    except FileExistsError:
        made = False
    except OSError as error:
        raise StoreError(f"the folder {folder} cannot be made: {error.strerror}") from None
    try:
        yield
    except BaseException:
        if made:
            with suppress(OSError):  # somebody else has put something there
                os.rmdir(folder)
        raise


def mark_served(folder: str) -> None:
    """Leave a mark that the minters in a folder are served together, if this process may write there."""
    try:
        os.close(os.open(os.path.join(folder, _MARK), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644))
    except OSError:
        return  # it is there, or a link in its place; without it, minters with the same prefix are only warned of


def is_served(folder: str) -> bool:
    """Whether the minters in a folder are served together: it has the mark, or links to programs for web servers."""
    try:
        names = os.listdir(folder)
    except OSError:
        return False
    return any(name == _MARK or name.startswith(_PROGRAMS) for name in names)


def minters_with_prefix(folder: str, prefix: bytes) -> list[str]:
    """The names of the minters in a folder whose identifiers begin with a NAAN and a prefix."""
    found = []
    try:
        dbdirs = MinterFolder(folder).dbdirs()
    except StoreError:
        return []
    for name, dbdir in dbdirs:
        try:
            minter = Minter(dbdir)
        except NoidError:
            continue  # what it mints cannot be known
        if minter.settings["naan"] and minter.scheme.namespace_prefix == prefix:
            found.append(name)
        minter.close()
    return found


def _is_damaged(dbdir: str) -> bool:
    """Whether something lies where the database should be, or this process cannot look there."""
    try:
        os.lstat(location_of(dbdir))
    except OSError as error:
        return error.errno in _CANNOT_LOOK
    return not exists(location_of(dbdir))


def _is_folder_name(name: str) -> bool:
    return bool(name) and name[0] != "." and "/" not in name and "\0" not in name
