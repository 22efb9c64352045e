"""Root opens the files of a store as the account to which their folder belongs.

Whoever may write to a folder can put a symbolic link there, even between a look at a file and its opening.  As the
owner of the folder, root reaches through such a link no more than the owner does; and files that have to be made
belong to the owner, so that its programs can use them.
"""

from __future__ import annotations

import os


class ActingAsOwner:
    """In its `with` block this thread accesses files as the owner of a folder does, if it runs as root.

    The value of the block is the path of the folder to use in it, which need not be reachable for the owner.
    """

    __slots__ = ("_folder", "_descriptor")

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._descriptor = -1

    def __enter__(self) -> str:
        if os.geteuid():
            return self._folder
        self._descriptor = os.open(self._folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        owner = os.fstat(self._descriptor)
        path = f"/proc/self/fd/{self._descriptor}"
        if owner.st_uid and os.path.exists(path) and _access_files_as(owner.st_uid, owner.st_gid):
            return path
        # It is root's own folder; or this root, as in some containers, may not act for others.
        self._close()
        return self._folder

    def __exit__(self, *_: object) -> None:
        if self._descriptor >= 0:
            _access_files_as(0, os.getegid())
            self._close()

    def _close(self) -> None:
        os.close(self._descriptor)
        self._descriptor = -1


def _access_files_as(user: int, group: int) -> bool:
    """Set the identity by which the system judges this thread's access to files, and no other thread's.

    Returns whether that was allowed; if not, the identity is as it was.
    """
    import ctypes

    libc = ctypes.CDLL(None)
    before = libc.setfsgid(group)
    libc.setfsuid(user)
    # Both return what was before, whether they succeed or not; -1 changes nothing.
    if (libc.setfsgid(-1), libc.setfsuid(-1)) == (group, user):
        return True
    libc.setfsuid(os.geteuid())
    libc.setfsgid(before)
    return False
