"""Replies to requests that carried an Idempotency-Key, stored for a day so that the request can be repeated.

A reply is stored in the transaction of the work that it reports.  Of the key and its owner only a digest is stored.  A
reply is stored in the clear, so callers leave out what is secret.
"""

from __future__ import annotations

import hashlib

from ..codec import pack, unpack
from ..errors import ConflictError
from .schema import REPLIES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..store import Reader, Writer

_STORED_SECONDS = 24 * 60 * 60

# Expired replies are deleted a few at a time, with each request that stores one, so that none takes long.
_MOST_CLEARED = 1000

# Kinds of keys in the table: when a key was first used, the same in the order of time, and the parts of its replies.
_USED, _BY_TIME, _PART = b"k", b"t", b"p"

# A stored reply begins with this mark of its format; one without it was stored by another release.
_FORMAT = b"noidtools reply\n"


class KeyReplies:
    """The replies to requests with one Idempotency-Key of one owner; `now` is the time in seconds since 1970."""

    __slots__ = ("_name", "_now")

    def __init__(self, owner: bytes, key: bytes, now: int) -> None:
        self._name = hashlib.sha256(pack([owner, key])).digest()
        self._now = now

    def since(self, reader: Reader) -> int:
        """When the key was first used, in seconds since 1970; 0 if nothing is stored, or no longer."""
        since = int(reader.get(REPLIES, _USED + self._name) or 0)
        return 0 if self._has_expired(since) else since

    def find(self, reader: Reader, line: int) -> tuple[bytes, bytes] | None:
        """The digest of the command in one line of the request, and the packed answer to it; None if none is stored or
        it has expired.

        Raises ConflictError for one that another release stored.
        """
        if not self.since(reader):
            return None
        packed = reader.get(REPLIES, self._place(line))
        if packed is None:
            return None
        if not packed.startswith(_FORMAT):
            raise ConflictError("the reply stored for this Idempotency-Key is in a format that this release does not "
                                "read: find out what was done, and use a new key")
        request, body = unpack(packed[len(_FORMAT) :])
        return request, body

    def store(self, writer: Writer, line: int, request: bytes, body: bytes) -> None:
        """Store the digest of the command in a line, and the packed answer; delete some of those that have expired."""
        self._clear_expired(writer)
        self._remember_key(writer)
        writer.put(REPLIES, self._place(line), _FORMAT + pack([request, body]))

    def _place(self, line: int) -> bytes:
        return _PART + self._name + line.to_bytes(5, "big") + bytes(5)

    def _has_expired(self, since: int) -> bool:
        return since + _STORED_SECONDS <= self._now

    def _remember_key(self, writer: Writer) -> None:
        since = writer.get(REPLIES, _USED + self._name)
        if since is not None and not self._has_expired(int(since)):
            return
        if since is not None:
            # It has expired, but was not deleted yet.
            writer.delete_prefix(REPLIES, _PART + self._name)
            writer.delete(REPLIES, _BY_TIME + since + self._name)
        stamp = b"%020d" % self._now
        writer.put(REPLIES, _USED + self._name, stamp)
        writer.put(REPLIES, _BY_TIME + stamp + self._name, b"")

    def _clear_expired(self, writer: Writer) -> None:
        room = _MOST_CLEARED
        for used in _first_keys(writer, _BY_TIME, room):
            since, name = int(used[1:21]), used[21:]
            if not self._has_expired(since):
                return
            parts = _first_keys(writer, _PART + name, room)
            for part in parts:
                writer.delete(REPLIES, part)
            room -= len(parts)
            if room <= 0:
                return
            writer.delete(REPLIES, _USED + name)
            writer.delete(REPLIES, used)


def reply_faults(reader: Reader) -> Iterator[tuple[str, Callable[[Writer], bool]]]:
    """What is wrong in the table, for `check`: a sentence and what mends it.  Nothing is lost but stored replies."""
    def delete(key: bytes) -> Callable[[Writer], bool]:
        return lambda writer: writer.delete(REPLIES, key)

    for key, _ in reader.scan(REPLIES, _BY_TIME):
        if reader.get(REPLIES, _USED + key[21:]) != key[1:21]:
            yield "an entry in the order of the stored replies belongs to none of them", delete(key)
    for key, stamp in reader.scan(REPLIES, _USED):
        if reader.get(REPLIES, _BY_TIME + stamp + key[1:]) is None:
            yield "a stored reply would never be deleted, and is deleted now", delete(key)
    for key, _ in reader.scan(REPLIES, _PART):
        if reader.get(REPLIES, _USED + key[1:33]) is None:
            yield "a part of a stored reply belongs to none", delete(key)


def _first_keys(reader: Reader, prefix: bytes, most: int) -> list[bytes]:
    """The first keys that begin so, read before any of them is changed."""
    return [key for key, _ in reader.scan(REPLIES, prefix, limit=most)]
