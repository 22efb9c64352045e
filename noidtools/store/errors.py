"""What the engine and the system raise, said as one sentence."""

from __future__ import annotations

import os

import lmdb

from ..exceptions import NoidError, NoMinterError, StoreError

LOCK = "lock.mdb"
_LITTLE_ROOM = 1 << 20


class Mapped:
    """Turns what LMDB and the system raise into StoreErrors that say what to do."""

    __slots__ = ("_folder",)

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, (lmdb.Error, OSError)) and not isinstance(error, NoidError):
            missing = isinstance(error, (FileNotFoundError, NotADirectoryError))
            if missing or "No such file" in str(error) or "Not a directory" in str(error):
                raise NoMinterError(
                    f"there is no minter in {self._folder}: create one with 'noid dbcreate', or name its folder with -f"
                ) from error
            raise StoreError(self._sentence(error)) from error

    def _sentence(self, error: Exception) -> str:
        folder, text = self._folder, str(error)
        if isinstance(error, PermissionError) or "Permission denied" in text:
            return (f"no permission to use the database in {folder}: even readers must be able to write "
                    f"{LOCK} there; change the owner or the permissions")
        if "No space left" in text or "Disk quota" in text or ("Input/output" in text and self._no_room()):
            return f"the disk under {folder} is full: nothing was changed; make room and try again"
        if isinstance(error, (lmdb.InvalidError, lmdb.VersionMismatchError, lmdb.NotFoundError)):
            return f"{folder} does not hold a database of noidtools: check the path"
        if isinstance(error, (lmdb.CorruptedError, lmdb.PageNotFoundError, lmdb.PanicError)):
            return f"the database in {folder} is damaged ({text}): restore it from a backup"
        return f"the database in {folder} could not be used: {text}"

    def _no_room(self) -> bool:
        # A write that was cut short by a full disk reaches us as an input/output error.
        try:
            free = os.statvfs(self._folder)
        except OSError:
            return False
        return free.f_bavail * free.f_frsize < _LITTLE_ROOM
