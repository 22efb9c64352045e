"""Files of a store, and the file system under them."""

from __future__ import annotations

import os
import stat

from ..errors import StoreError

# How a store says which engine it is of, if that is not LMDB: the file in its folder with the name of the engine, and
# the environment variable with the address of the database server in which new stores are made.
ENGINE_FILE = "engine"
ADDRESS_VARIABLE = "NOIDTOOLS_STORE"


def is_writable(path: str, lock: str) -> bool:
    """Whether this process may write to a file and to its lock, which it makes if there is none."""
    if not os.access(path, os.W_OK):
        return False
    return os.access(lock, os.W_OK) or not os.path.exists(lock) and os.access(os.path.dirname(lock), os.W_OK)


def ensure_regular(path: str) -> os.stat_result | None:
    """What the system knows of a file, None if there is none.  Raises StoreError if the path is a link or anything but
    a regular file: another account may have put it there."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        what = "a symbolic link" if stat.S_ISLNK(found.st_mode) else "not a file"
        raise StoreError(f"{path} is {what}, which is not followed: put the file itself there (the folder above it "
                         "may be a link), and find out who made it")
    return found


def ensure_exists(path: str, model: str) -> None:
    """Make a file if there is none, with the owner and the permissions of the file `model`."""
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o664)
    except FileExistsError:
        return  # another process made it just now
    try:
        like = os.stat(model)
        if not os.geteuid():
            os.fchown(descriptor, like.st_uid, like.st_gid)
        os.fchmod(descriptor, like.st_mode & 0o666)
    finally:
        os.close(descriptor)


def ensure_allocated(path: str, size: int) -> None:
    """Make a file of this size, if there is none, with all blocks allocated: to touch a hole in a map kills a process
    (SIGBUS) if the disk is full."""
    try:
        if is_allocated(os.stat(path), size):
            return
    except FileNotFoundError:
        pass
    _allocate(path, 0, size, os.O_CREAT)


def is_allocated(found: os.stat_result, size: int) -> bool:
    """Whether a file has blocks for so many bytes."""
    return found.st_blocks * 512 >= size


def ensure_length(path: str, length: int) -> None:
    """Make an existing file at least so long, so that a map of it can be read to its end."""
    if os.path.getsize(path) < length:
        # Unlike truncate this cannot shorten a file to which another process writes just now.
        _allocate(path, length - 1, 1)


def _allocate(path: str, start: int, length: int, flags: int = 0) -> None:
    descriptor = os.open(path, flags | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o664)
    try:
        os.posix_fallocate(descriptor, start, length)
    finally:
        os.close(descriptor)
