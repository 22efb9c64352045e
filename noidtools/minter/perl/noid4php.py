"""A database of Noid4Php, read as if db_dump had written it.

Noid4Php is the original noid in PHP: its keys and values are the same, but its databases are others.  The file is

    noid.lmdb   LMDB, a single file, made by PHP's extension dba
    noid.xml    <noid> with an element <i k="key">value</i> for each item, in any order

in the folder NOID.
"""

from __future__ import annotations

import os

from ...errors import InvalidError
from ...store.creation import foreign_items

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_LMDB, _XML = "noid.lmdb", "noid.xml"
_HEADER = b"VERSION=3\nformat=bytevalue\ntype=btree\nHEADER=END\n"
_FOOTER = b"DATA=END\n"
_BLOCK = 1 << 16


class Noid4PhpSource:
    """An open database of Noid4Php; `path` is of its file, or of a folder with it."""

    def __init__(self, path: str) -> None:
        path = _file_in(path) if os.path.isdir(path) else path
        try:
            with open(path, "rb") as file:
                beginning = file.read(512)
        except OSError as error:
            raise InvalidError(f"{path} cannot be read: {error.strerror}") from None
        is_xml = beginning.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")
        self._blocks = _dump(_xml_items(path) if is_xml else foreign_items(path))
        self._rest = b""

    def read(self, size: int) -> bytes:
        """Up to so many bytes of the dump, nothing at its end."""
        while not self._rest:
            block = next(self._blocks, None)
            if block is None:
                return b""
            self._rest = block
        taken, self._rest = self._rest[:size], self._rest[size:]
        return taken

    def close(self) -> None:
        self._blocks = iter(())


def _file_in(folder: str) -> str:
    for name in (_LMDB, _XML):
        for path in (os.path.join(folder, name), os.path.join(folder, "NOID", name)):
            if os.path.exists(path):
                return path
    raise InvalidError(f"there is neither {_LMDB} nor {_XML} in {folder}: name the file itself")


def _dump(items: Iterable[tuple[bytes, bytes]]) -> Iterator[bytes]:
    """The items as db_dump writes them, in blocks."""
    lines, size = [_HEADER], 0
    for key, value in items:
        lines.append(b" %b\n %b\n" % (key.hex().encode(), value.hex().encode()))
        size += len(lines[-1])
        if size > _BLOCK:
            yield b"".join(lines)
            lines, size = [], 0
    yield b"".join((*lines, _FOOTER))


def _xml_items(path: str) -> list[tuple[bytes, bytes]]:
    """The items of the file, sorted.  All are in memory, as they are in Noid4Php itself."""
    reader = _XmlReader()
    with open(path, "rb") as file:
        reader.parse(file.read)
    return sorted(reader.items.items())


class _XmlReader:
    """Collects the items of a file of XML; raises InvalidError, with the line, for what is not of that form."""

    def __init__(self) -> None:
        self.items: dict[bytes, bytes] = {}
        self._path: list[str] = []
        self._key: str | None = None
        self._text: list[str] = []

    def parse(self, read: Callable[[int], bytes]) -> None:
        from xml.parsers import expat

        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler = self._text.append
        # A declaration of entities could blow a small file up.
        parser.StartDoctypeDeclHandler = self._refuse_doctype
        try:
            while block := read(_BLOCK):
                parser.Parse(block)
            parser.Parse(b"", True)
        except expat.ExpatError as error:
            why = expat.ErrorString(error.code)
            raise InvalidError(f"line {error.lineno}: this is no XML, or it is cut off ({why})") from None
        except InvalidError as error:
            raise InvalidError(f"line {parser.CurrentLineNumber}: {error.message}") from None

    def _refuse_doctype(self, *_: object) -> None:
        raise InvalidError("a document type has no place here: it is of another program")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._path.append(name)
        if self._path == ["noid"]:
            return
        if self._path != ["noid", "i"] or attributes.keys() != {"k"}:
            raise InvalidError('the items of a minter are <i k="…"> in <noid>: it is of another program')
        self._key = attributes["k"]
        self._text.clear()

    def _end(self, name: str) -> None:
        self._path.pop()
        if name == "i" and self._key is not None:
            key = self._key.encode()
            if key in self.items:
                raise InvalidError(f"the key {self._key[:60]!r} is there twice: it is damaged")
            self.items[key] = "".join(self._text).encode()
            self._key = None
