"""BagIt bags in one tar archive (RFC 8493): a payload in data/, and SHA-256 digests of every file.

The archive is not compressed, so that a damaged byte damages one file, and the digests name it.  Files are never
unpacked under the names that an archive gives them.
"""

from __future__ import annotations

import os
import shutil
import tarfile
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO, RawIOBase

from ..errors import InvalidError, StoreError, printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO

    from _typeshed import WriteableBuffer

_DECLARATION = b"BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n"
_BAGIT, _MANIFEST, _TAG_MANIFEST = "bagit.txt", "manifest-sha256.txt", "tagmanifest-sha256.txt"
_PIECE = 1 << 20
_BLOCK = tarfile.BLOCKSIZE


class BagWriter:
    """Writes a bag to an open file: `name` is its folder in the archive, `time` that of its files, in seconds."""

    def __init__(self, file: IO[bytes], name: str, time: int) -> None:
        self._file = file
        self._name = name
        self._time = time
        self._sums: list[str] = []
        self._size = 0

    def add_file(self, path: str, source: str) -> None:
        """Add a file to the payload; its path is the one in data/."""
        digest = sha256()
        with open(source, "rb") as file:
            while piece := file.read(_PIECE):
                digest.update(piece)
            size = file.tell()
            file.seek(0)
            self._add(f"data/{path}", size, file)
        self._sums.append(f"{digest.hexdigest()}  data/{path}\n")
        self._size += size

    def add_folder(self, path: str, source: str) -> None:
        """Add all files in a folder to the payload.  Links are left out: a bag has none."""
        for folder, folders, files in os.walk(source):
            folders.sort()
            inside = os.path.join(path, os.path.relpath(folder, source)) if folder != source else path
            for name in sorted(files):
                if not os.path.islink(os.path.join(folder, name)):
                    self.add_file(f"{inside}/{name}", os.path.join(folder, name))

    def add_text(self, path: str, content: bytes) -> None:
        """Add a file with this content to the payload."""
        self._add(f"data/{path}", len(content), BytesIO(content))
        self._sums.append(f"{sha256(content).hexdigest()}  data/{path}\n")
        self._size += len(content)

    def close(self, about: list[tuple[str, str]]) -> None:
        """Add the digests, and what is said about the bag, by label."""
        pairs = [*about, ("Payload-Oxum", f"{self._size}.{len(self._sums)}")]
        info = "".join(f"{label}: {' '.join(value.split())}\n" for label, value in pairs if value)
        tags = {_BAGIT: _DECLARATION, "bag-info.txt": info.encode("utf-8", "replace"),
                _MANIFEST: "".join(sorted(self._sums, key=lambda line: line[66:])).encode()}
        tags[_TAG_MANIFEST] = "".join(f"{sha256(content).hexdigest()}  {path}\n"
                                      for path, content in tags.items()).encode()
        for path, content in tags.items():
            self._add(path, len(content), BytesIO(content))
        self._file.write(bytes(2 * _BLOCK))

    def _add(self, path: str, size: int, content: IO[bytes]) -> None:
        # A TarFile would keep what it has written of each file in memory.
        member = tarfile.TarInfo(f"{self._name}/{path}")
        member.size, member.mtime, member.mode = size, self._time, 0o644
        self._file.write(member.tobuf(tarfile.PAX_FORMAT))
        shutil.copyfileobj(content, self._file)
        self._file.write(bytes(-size % _BLOCK))


@dataclass(frozen=True, slots=True)
class Bag:
    """A bag that was found complete and unchanged: its folder in the archive, and how many files it has."""

    name: str
    files: int


def verify_bag(path: str) -> Bag:
    """Read a bag to its end; raises InvalidError that names the first file that is missing, added or changed."""
    sums: dict[str, str] = {}
    tags: dict[str, bytearray] = {}
    name = ""
    for member, content in _members(path):
        first, _, inside = member.name.partition("/")
        name = name or first
        if first != name or not inside or not member.isfile() or inside in sums:
            raise _differs(path, member.name, "is not part of a bag")
        digest = sha256()
        kept = tags.setdefault(inside, bytearray()) if inside in (_BAGIT, _MANIFEST, _TAG_MANIFEST) else None
        while piece := content.read(_PIECE):
            digest.update(piece)
            if kept is not None:
                kept += piece
        sums[inside] = digest.hexdigest()
    if tags.get(_BAGIT, b"")[:14] != _DECLARATION[:14]:
        raise InvalidError(f"{path} is no bundle: it has no bagit.txt")
    expected = {**_manifest(path, tags, _TAG_MANIFEST), **_manifest(path, tags, _MANIFEST)}
    for inside, said in expected.items():
        if sums.get(inside) != said:
            raise _differs(path, inside, "is missing or damaged" if inside not in sums else "was changed")
    for inside in sums:
        if inside not in expected and inside != _TAG_MANIFEST:
            raise _differs(path, inside, "was added")
    return Bag(name, len(sums))


@contextmanager
def opened_file(path: str, inside: str) -> Iterator[RawIOBase]:
    """A file of the payload, opened for reading."""
    for member, content in _members(path):
        if member.name.partition("/")[2] == f"data/{inside}":
            yield content
            return
    raise InvalidError(f"{path} has no file {inside}: it is no bundle of a minter")


def _members(path: str) -> Iterator[tuple[tarfile.TarInfo, _Part]]:
    """The files of an archive in their order, each to be read before the next."""
    last = ""
    try:
        with open(path, "rb") as raw, tarfile.open(fileobj=raw, mode="r:") as tar:
            size, end = os.path.getsize(path), 0
            raw.seek(0)
            while (head := raw.read(_BLOCK)).strip(b"\0"):
                raw.seek(-len(head), os.SEEK_CUR)
                # TarFile.next would keep every file in memory.
                member = tarfile.TarInfo.fromtarfile(tar)
                last, end = member.name, member.offset_data + member.size
                if member.size < 0 or end > size:
                    raise _differs(path, last, "is cut off")
                raw.seek(member.offset_data - _BLOCK)
                if not all(map(_has_plain_checksum, (head, raw.read(_BLOCK)))):
                    raise _differs(path, last, "has a damaged header")
                member.name = member.name.removeprefix("./")
                if not member.isdir():  # which tar adds if a bag is packed again
                    yield member, _Part(raw, member.offset_data, member.size)
                raw.seek(end)
                if raw.read(-end % _BLOCK).strip(b"\0"):
                    raise _differs(path, last, "is followed by what is no part of it")
            while rest := raw.read(_PIECE):
                if rest.strip(b"\0"):
                    raise _differs(path, last, "is followed by what is no part of it")
    # A header may say any size, and headers may follow each other without end.
    except (tarfile.TarError, EOFError, ValueError, OverflowError, MemoryError, RecursionError) as error:
        after = f" after {printable(last.encode('utf-8', 'replace'))}" if last else ""
        reason = error if isinstance(error, tarfile.TarError) else "a header is impossible"
        raise InvalidError(f"{path} is no bundle, or it is damaged{after}: {reason}") from None
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror or error}") from None


def _has_plain_checksum(header: bytes) -> bool:
    """Whether the checksum in a header is written as every tar writes it; tarfile reads others as well."""
    return header[148:156] == b"%06o\0 " % (256 + sum(header) - sum(header[148:156]))


class _Part(RawIOBase):
    """A file in an archive, for reading from its beginning to its end."""

    def __init__(self, raw: IO[bytes], start: int, size: int) -> None:
        self._raw = raw
        self._place = start
        self._end = start + size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer).cast("B")
        self._raw.seek(self._place)
        piece = self._raw.read(min(len(view), self._end - self._place))
        view[: len(piece)] = piece
        self._place += len(piece)
        return len(piece)


def _manifest(path: str, tags: dict[str, bytearray], name: str) -> dict[str, str]:
    """The digests of a manifest, by file."""
    if name not in tags:
        raise _differs(path, name, "is missing or damaged")
    lines = tags[name].decode("utf-8", "replace").splitlines()
    return {line[66:]: line[:64] for line in lines}


def _differs(path: str, inside: str, how: str) -> InvalidError:
    return InvalidError(f"{path}: {printable(inside.encode('utf-8', 'replace'))} {how}: use another copy of the bundle")
