"""Files of a store, and the file system under them."""

from __future__ import annotations

import os

_LITTLE_ROOM = 1 << 20


def is_writable(path: str, lock: str) -> bool:
    """Whether this process may write to a file and to its lock, which it makes if there is none."""
    return os.access(path, os.W_OK) and os.access(lock if os.path.exists(lock) else os.path.dirname(lock), os.W_OK)


def not_writable(location: str) -> str:
    """The sentence for a store that this process may not write to."""
    if os.statvfs(location).f_flag & os.ST_RDONLY:
        return f"{location} is on a file system that is mounted for reading only: nothing can be changed there"
    return f"{location} cannot be written by this user: change its owner or permissions"


def is_full(location: str) -> bool:
    """Whether there is nearly no room left: a write that a full disk cut short is an input/output error to us."""
    try:
        free = os.statvfs(location)
    except OSError:
        return False
    return free.f_bavail * free.f_frsize < _LITTLE_ROOM


def ensure_allocated(path: str, size: int) -> None:
    """Give a file its place on disk, and make it if there is none: on a full disk a map with holes kills its user."""
    try:
        if os.stat(path).st_blocks * 512 >= size:
            return
    except FileNotFoundError:
        pass
    _allocate(path, 0, size, os.O_CREAT)


def ensure_length(path: str, length: int) -> None:
    """Make an existing file at least so long, so that a map of it can be read to its end."""
    if os.path.getsize(path) < length:
        # Unlike truncate this cannot shorten a file to which another process writes just now.
        _allocate(path, length - 1, 1)


def _allocate(path: str, start: int, length: int, flags: int = 0) -> None:
    descriptor = os.open(path, flags | os.O_RDWR | os.O_CLOEXEC, 0o664)
    try:
        os.posix_fallocate(descriptor, start, length)
    finally:
        os.close(descriptor)
