"""Folders for identifiers: each that is minted gets the folder that `noid path` prints, below a folder of one's choice.

The folders are made before the transaction of the minting is committed, so that every identifier that was given has its
folder.  What a transaction that fails has made is removed again.
"""

from __future__ import annotations

import os

from ..errors import NotFoundError, StoreError, printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..schemes import Scheme

CREATED, EMPTIED, KEPT = "created", "emptied", "kept"

# The folders of longer identifiers lie below that of a shorter one with which they begin.  Their names have at most
# two characters; what has a longer name belongs to the identifier itself.
_LONGEST_PART = 2


class IdentifierFolder:
    """The folder of one identifier.

    status  created: it is new; emptied: it was there without files, and its sub-folders were removed; kept: it was
            there with files, or a link leads there, which counts as a file; nothing was changed
    """

    __slots__ = ("path", "status")

    def __init__(self, path: bytes, status: str) -> None:
        self.path = path
        self.status = status


class FolderMaker:
    """Makes the folders of the identifiers of one minting, below the folder `base`."""

    __slots__ = ("_base", "_scheme", "_new")

    def __init__(self, base: bytes, scheme: Scheme) -> None:
        """Raises NotFoundError if there is no folder `base`."""
        if not os.path.isdir(base):
            raise NotFoundError(f"there is no folder {printable(base)!r}: make it first, or correct its name")
        self._base = base
        self._scheme = scheme
        self._new: list[bytes] = []  # in the order in which they were made

    def make(self, identifiers: list[bytes]) -> list[IdentifierFolder]:
        """Make a folder for each identifier; raises StoreError if one cannot be made."""
        return [self._make(identifier) for identifier in identifiers]

    def keep(self) -> None:
        """What was made is for good: its transaction was committed."""
        self._new.clear()

    def undo(self) -> None:
        """Remove the folders that were made since `keep`, because their transaction was not committed."""
        while self._new:
            try:
                os.rmdir(self._new.pop())
            except OSError:  # somebody has put something there, or removed it
                continue

    def _make(self, identifier: bytes) -> IdentifierFolder:
        path = os.path.join(self._base, self._scheme.path(identifier))
        try:
            if not os.path.isdir(path):
                self._make_all(path)
                return IdentifierFolder(path, CREATED)
            if self._is_elsewhere(path) or _has_files(path):
                return IdentifierFolder(path, KEPT)
            for folder in _own_folders(path):
                _remove_folders(folder)
            return IdentifierFolder(path, EMPTIED)
        except OSError as error:
            reason = error.strerror or str(error)
            raise StoreError(
                f"the folder {printable(path)} cannot be made ({reason}), so its identifier was not minted"
            ) from None

    def _is_elsewhere(self, path: bytes) -> bool:
        """Whether a symbolic link below `base` leads to this folder: what is there is not ours to remove."""
        below = path[len(self._base) :].strip(b"/")
        return os.path.realpath(path) != os.path.join(os.path.realpath(self._base), below)

    def _make_all(self, path: bytes) -> None:
        parent = self._base
        for part in path[len(self._base) :].strip(b"/").split(b"/"):
            parent = os.path.join(parent, part)
            if not os.path.isdir(parent):
                os.mkdir(parent)
                self._new.append(parent)


def _own_folders(path: bytes) -> list[bytes]:
    """The sub-folders that cannot be parts of the path of a longer identifier."""
    with os.scandir(path) as entries:
        return [entry.path for entry in entries
                if entry.is_dir(follow_symlinks=False) and len(entry.name) > _LONGEST_PART]


def _has_files(path: bytes) -> bool:
    """Whether the folder or one of its own sub-folders has anything but folders."""
    with os.scandir(path) as entries:
        if any(not entry.is_dir(follow_symlinks=False) for entry in entries):
            return True
    return any(names for folder in _own_folders(path) for names in _files_below(folder))


def _files_below(folder: bytes) -> list[list[bytes]]:
    """The names of what is not a folder, for each folder from this one down; a link is no folder."""
    return [
        files + [name for name in folders if os.path.islink(os.path.join(parent, name))]
        for parent, folders, files in os.walk(folder)
    ]


def _remove_folders(folder: bytes) -> None:
    """Remove a folder that has nothing but folders."""
    for parent, _, _ in os.walk(folder, topdown=False):
        os.rmdir(parent)
