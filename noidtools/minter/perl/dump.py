"""Dumps of the databases of minters, as the program `db_dump` of Berkeley DB writes them, and where they come from.

A dump is text: a header of lines `name=value` up to `HEADER=END`; then for each item a line with its key and a line
with its value, each after one space; then `DATA=END`.  With -p printable bytes stand for themselves, a backslash is
doubled, and every other byte is a backslash and two hexadecimal digits; without, all bytes are hexadecimal.

The dump of a minter comes from a file, from a pipe, from Berkeley DB's program for a database, or from a database of
Noid4Php.  That is the original noid in PHP: its keys and values are the same, but its databases are others, in the
folder NOID:

    noid.lmdb   LMDB, a single file, made by PHP's extension dba
    noid.xml    <noid> with an element <i k="key">value</i> for each item, in any order
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
from tempfile import TemporaryFile
from xml.parsers import expat

from ...errors import InvalidError, StoreError, printable
from ...store.creation import foreign_items

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import IO

    Read = Callable[[int], bytes]  # up to this many bytes, nothing at the end

_BLOCK = 1 << 20

# Longer values are refused, to bound memory.
LONGEST_LINE = 256 << 20

_HEADER_LINES = 50
_ESCAPE = re.compile(rb"\\(\\|[0-9a-fA-F]{2}|)", re.DOTALL)
_FORMATS = (b"print", b"bytevalue")


def read_dump(read: Read) -> Iterator[tuple[int, bytes, bytes]]:
    """The items of a dump in their order: the number of the line of the key, the key and the value.

    Raises InvalidError, with the number of the line, for what is no dump of a B-tree in version 3 of the format, and
    for one that is damaged or was cut off.  It is known to be whole when the last item has been taken.
    """
    lines = _Lines(read)
    plain = _header(lines) == b"print"
    decode = _plain if plain else _hexadecimal
    before: bytes | None = None
    # A key at the end of one block, whose value is in the next.
    key: bytes | None = None
    while True:
        first = lines.number + (1 if key is None else 0)
        block = lines.plain_block() if plain else None
        if block is None:
            line = lines.next_line()
            if line[:1] != b" " and key is None:
                break
            block = [_decoded(decode, line, lines.number)]
        if key is not None:
            block.insert(0, key)
        texts = iter(block)
        for key, value in zip(texts, texts):  # noqa: B905 - the last may be a key without its value
            if before is not None and key <= before:
                raise _damaged(first, "the keys of a database are in ascending order, and this one is not: lines were "
                                      "lost, exchanged or put in")
            before = key
            yield first, key, value
            first += 2
        key = block[-1] if len(block) % 2 else None
    if line != b"DATA=END":
        raise _damaged(lines.number, f"{_excerpt(line)} is neither a key nor DATA=END")
    while not lines.at_end:
        if lines.next_line():
            raise _damaged(lines.number, "something follows DATA=END: give the dump of one database")


def _decoded(decode: Callable[[bytes], bytes], line: bytes, number: int) -> bytes:
    try:
        if line[:1] != b" ":
            raise ValueError
        return decode(line[1:])
    except ValueError:
        raise _damaged(number, "a key and a value, each after one space, are expected here") from None


def _header(lines: _Lines) -> bytes:
    """Read the header; returns the format of the data, one of _FORMATS."""
    found: dict[bytes, bytes] = {}
    while True:
        line = lines.next_line()
        name, equals, value = line.partition(b"=")
        if lines.number == 1 and name != b"VERSION":
            raise InvalidError(f"line 1: this is not a dump of a Berkeley DB, which begins with VERSION=3, but "
                               f"{_excerpt(line)}: run 'db_dump -p noid.bdb > FILE', and import FILE")
        if not equals or lines.number > _HEADER_LINES:
            raise _damaged(lines.number, f"{_excerpt(line)} is not a line of a header, which ends in HEADER=END")
        if line == b"HEADER=END":
            break
        found[name] = value
    number = lines.number
    if found[b"VERSION"] != b"3":
        raise InvalidError(f"line 1: version {_excerpt(found[b'VERSION'])} of the dump format is not known here, "
                           "only 3: make the dump with db_dump of Berkeley DB 3 or later")
    if found.get(b"format") not in _FORMATS:
        raise _damaged(number, "the header names no format, which is print or bytevalue")
    if found.get(b"type") != b"btree":
        raise InvalidError(f"line {number}: this is the dump of a database of type "
                           f"{_excerpt(found.get(b'type', b''))}, but noid's is a btree: it is of another program")
    if b"duplicates" in found and found[b"duplicates"] != b"0":
        raise InvalidError(f"line {number}: this database allows several values for a key, and noid's does not: it is "
                           "of another program")
    return found[b"format"]


def _plain(text: bytes) -> bytes:
    """Decode a line of the format print."""
    if b"\\" not in text:
        return text
    if b"\\\\" not in text:
        # Nearly always the only escape is the tab between an identifier and an element.
        text = text.replace(b"\\09", b"\t")
        if b"\\" not in text:
            return text
    return _ESCAPE.sub(_unescaped, text)


def _unescaped(match: re.Match[bytes]) -> bytes:
    code = match[1]
    return code if code == b"\\" else bytes.fromhex(code.decode()) if code else _fail()


def _fail() -> bytes:
    raise ValueError


def _hexadecimal(text: bytes) -> bytes:
    """Decode a line of the format bytevalue."""
    if b" " in text:
        raise ValueError  # which fromhex would skip
    return bytes.fromhex(text.decode("ascii"))


def _damaged(number: int, why: str) -> InvalidError:
    return InvalidError(f"line {number} of the dump is damaged: {why}")


def _excerpt(line: bytes) -> str:
    return repr(printable(line[:40]))


class _Lines:
    """The lines of a file, without their line breaks, be they those of Unix or of Windows.

    number  the number of the line that `next_line` returned last, from 1
    at_end  whether there is no further line
    """

    __slots__ = ("_read", "_text", "_lines", "_place", "_rest", "_ended", "number")

    def __init__(self, read: Read) -> None:
        self._read = read
        self._text = b""
        self._lines: list[bytes] = []
        self._place = 0
        self._rest = b""
        self._ended = False
        self.number = 0

    def next_line(self) -> bytes:
        """The next line; raises InvalidError at the end of the file, because a dump ends before."""
        place = self._place
        if place == len(self._lines):
            self._fill()
            place = 0
            if not self._lines and not self.number:
                raise InvalidError("the dump is empty: run 'db_dump -p noid.bdb > FILE', and import FILE")
            if not self._lines:
                raise InvalidError(f"the dump is cut off after line {self.number}: it does not end in DATA=END, so "
                                   "make it again")
        self._place = place + 1
        self.number += 1
        line = self._lines[place]
        return line[:-1] if line.endswith(b"\r") else line

    def plain_block(self) -> list[bytes] | None:
        """The next lines, decoded, if all of them hold data of the format print and need little decoding, as is usual;
        else None, and nothing is read."""
        if self._place != len(self._lines):
            return None
        self._fill()
        text = self._text
        if text[:1] != b" " or b"\r" in text or b"\\\\" in text or text.count(b"\n ") != len(self._lines) - 1:
            return None
        text = text.replace(b"\\09", b"\t")
        if b"\\" in text:
            return None
        self._place = len(self._lines)
        self.number += len(self._lines)
        return text[1:].split(b"\n ")

    @property
    def at_end(self) -> bool:
        if self._place == len(self._lines):
            self._fill()
        return not self._lines

    def _fill(self) -> None:
        """Read the lines of the next block, none at the end of the file."""
        self._place = 0
        pieces = [self._rest]
        length = len(self._rest)
        while not self._ended:
            block = self._read(_BLOCK)
            if not block:
                self._ended = True
                break
            pieces.append(block)
            length += len(block)
            if b"\n" in block:
                break
            if length > LONGEST_LINE:
                raise InvalidError(f"line {self.number + 1} of the dump has more than {LONGEST_LINE >> 20} MB: it is "
                                   "damaged, or of another program")
        self._text, newline, self._rest = b"".join(pieces).rpartition(b"\n")
        if self._ended and self._rest:
            self._text, self._rest = self._text + newline + self._rest, b""
        self._lines = self._text.split(b"\n") if self._text or newline else []


# -- a dump, or a database of Berkeley DB -----------------------------------------------------------------------------

DATABASE = "noid.bdb"

# The program of Debian's package db5.3-util, and names that others give it.
PROGRAMS = ("db5.3_dump", "db_dump5.3", "db_dump")
_PACKAGE = "db5.3-util"

# Of the first page of a B-tree of Berkeley DB: where its magic number is, in one order of bytes or the other.
_MAGIC = slice(12, 16)
_MAGICS = (b"\x62\x31\x05\x00", b"\x00\x05\x31\x62")
_MEGABYTE = 1 << 20


class DumpSource:
    """An open source of a dump: `path` is of a dump, of noid.bdb or of a folder with it; None is standard input."""

    def __init__(self, path: str | None, progress: Callable[[int, int, str], None] | None = None) -> None:
        self._progress = progress
        self._process: subprocess.Popen[bytes] | None = None
        self._messages: IO[bytes] | None = None
        self._total = self._done = 0
        if path is None:
            self._file: IO[bytes] = open(0, "rb", closefd=False)  # noqa: SIM115 - `close` closes it
            return
        path = _database_in(path) if os.path.isdir(path) else path
        try:
            self._file = open(path, "rb")  # noqa: SIM115
            status = os.fstat(self._file.fileno())
            is_database = stat.S_ISREG(status.st_mode) and self._file.read(16)[_MAGIC] in _MAGICS
            if stat.S_ISREG(status.st_mode):
                self._total = status.st_size
                self._file.seek(0)
        except OSError as error:
            raise InvalidError(f"{path} cannot be read: {error.strerror}") from None
        if is_database:
            self._file.close()
            self._start(path)

    def _start(self, path: str) -> None:
        """Run the program that writes the dump of a database."""
        program = next((found for name in PROGRAMS if (found := shutil.which(name))), None)
        if program is None:
            raise StoreError(f"{path} is a database of Berkeley DB, and no program is here that reads it: install the "
                             f"package {_PACKAGE}, or run 'db_dump -p {DATABASE} > FILE' elsewhere, and import FILE")
        self._messages = TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen([program, "-p", path], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                         stderr=self._messages)
        assert self._process.stdout is not None
        # The length of the dump is not known.
        self._file, self._total = self._process.stdout, 0

    def read(self, size: int) -> bytes:
        """Up to `size` bytes, nothing at the end.  Raises InvalidError if the program that writes them failed."""
        try:
            block = self._file.read(size)
        except OSError as error:
            raise InvalidError(f"the dump cannot be read: {error.strerror}") from None
        self._done += len(block)
        if self._progress is not None and block:
            self._progress(self._done // _MEGABYTE, -(-self._total // _MEGABYTE), "MB of the dump read")
        if not block and self._process is not None and self._process.wait():
            raise InvalidError(f"the database cannot be dumped: {self._message()}")
        return block

    def _message(self) -> str:
        assert self._messages is not None
        self._messages.seek(0)
        return printable(self._messages.readline(300).strip()) or "its program gives no reason"

    def close(self) -> None:
        self._file.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        if self._messages is not None:
            self._messages.close()


def _database_in(folder: str) -> str:
    for path in (os.path.join(folder, DATABASE), os.path.join(folder, "NOID", DATABASE)):
        if os.path.exists(path):
            return path
    raise InvalidError(f"there is no {DATABASE} in {folder}: name the file itself, or its dump")


# -- a database of Noid4Php --------------------------------------------------------------------------------------------

_LMDB, _XML = "noid.lmdb", "noid.xml"
_HEADER = b"VERSION=3\nformat=bytevalue\ntype=btree\nHEADER=END\n"
_FOOTER = b"DATA=END\n"
_XML_BLOCK = 1 << 16


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
        """Up to `size` bytes of the dump, nothing at its end."""
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
        if size > _XML_BLOCK:
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
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler = self._text.append
        # A declaration of entities could blow a small file up.
        parser.StartDoctypeDeclHandler = self._refuse_doctype
        try:
            while block := read(_XML_BLOCK):
                parser.Parse(block)
            parser.Parse(b"", True)
        except expat.ExpatError as error:
            why = expat.ErrorString(error.code)
            raise InvalidError(f"line {error.lineno}: this is not XML, or it is cut off ({why})") from None
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
