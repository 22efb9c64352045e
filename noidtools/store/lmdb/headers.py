"""The headers of a data file, by which a process learns quickest that nothing was committed.

The first two pages are headers, and each commit writes one of them, by turns, before it returns.  A header ends with
the number of its transaction.  LMDB tells the number of the last one, too, but to begin a transaction for that takes
longer than all else that a resolver does for a name which it has cached.
"""

from __future__ import annotations

import mmap
import os
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    import lmdb

    # A version of the store, which ends with the number of a transaction; the words of the headers; and the place among
    # them where a greater number is found as soon as another transaction is the last one.
    Watched = tuple[tuple[int, int], memoryview, int]

# What a header begins with, after the 16 bytes that are the same for all pages: LMDB's mark, and the version of the
# format, of which this module knows one.
_PAGE_HEAD, _BEGINNING = 16, struct.pack("=II", 0xBEEFC0DE, 1)

# The number of the transaction, in words of eight bytes from the start of the page.
_NUMBER = 18


class Headers:
    """The two headers of the data file of an environment; they cannot be watched if the file has another format, cannot
    be mapped, or is not the one that was opened.

    file  device and inode of the file that was opened, and more
    """

    __slots__ = ("_words", "_page")

    def __init__(self, path: str, file: tuple[int, ...] | None, environment: lmdb.Environment | None) -> None:
        size = 0 if environment is None else int(environment.stat()["psize"])
        self._words = None if file is None else _mapped(path, file[:2], size)
        self._page = size // 8

    def watch(self, version: tuple[int, int]) -> Watched | None:
        """How to see whether something was committed after this version, which is the last one by LMDB's lock file;
        None if the headers do not agree, as after a writer was killed between writing the header and the lock file."""
        words, number = self._words, version[1]
        if words is None:
            return None
        this, other = (_NUMBER + (number + turn) % 2 * self._page for turn in (0, 1))
        return (version, words, other) if words[other] < words[this] == number else None


def _mapped(path: str, file: tuple[int, ...], page: int) -> memoryview | None:
    """The pages with the headers, as words of eight bytes."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        found = os.fstat(descriptor)
        if (found.st_dev, found.st_ino) != file:
            return None
        memory = mmap.mmap(descriptor, 2 * page, prot=mmap.PROT_READ)
    except (OSError, ValueError):
        return None
    finally:
        os.close(descriptor)
    starts = (_PAGE_HEAD, page + _PAGE_HEAD)
    known = all(memory[start : start + len(_BEGINNING)] == _BEGINNING for start in starts)
    return memoryview(memory).cast("Q") if known else None
