"""The items of databases of other noids: read from dumps that Berkeley DB's `db_dump` writes, or from Noid4Php.

A dump is text: header lines `name=value` up to `HEADER=END`; then two lines for each item, its key and its value, each
after one space; then `DATA=END`.  With -p, printable bytes stand for themselves, a backslash is doubled, and every
other byte is a backslash and two hexadecimal digits; without -p, all bytes are hexadecimal.  A dump is read from a file
or a pipe; for a database, `db_dump` is run.

Noid4Php is the original noid in PHP.  It has the same keys and values, but keeps them in the folder NOID in one of
these files:

    noid.lmdb   LMDB, a single file, made by PHP's extension dba
    noid.xml    <noid> with an element <i k="key">value</i> for each item, in any order
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from tempfile import TemporaryFile
from xml.parsers import expat

from ...errors import InvalidError, StoreError, printable
from ...store import foreign_items

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...console import Progress

    ReadLine = Callable[[int], bytes]  # up to this many bytes of the next line, nothing at the end
    Items = Iterator[tuple[int, bytes, bytes]]  # the number of the line of the key, the key, the value

# Longer values are refused, to bound memory.
LONGEST_LINE = 256 << 20

_HEADER_LINES = 50
_ESCAPE = re.compile(rb"\\(?:\\|[0-9a-fA-F]{2})?")
_FORMATS = (b"print", b"bytevalue")


def read_dump(read_line: ReadLine) -> Items:
    """The items of a dump in their order.

    Raises InvalidError, with the number of the line, for what is not a dump of a B-tree in version 3 of the format, is
    damaged, or was cut off: only when the last item has been taken is the dump known to be complete.
    """
    lines = _Lines(read_line)
    decode = _plain if _header(lines) == b"print" else _hexadecimal
    before: bytes | None = None
    while (line := lines.next_line()).startswith(b" "):
        number = lines.number
        key = _decoded(decode, line, number)
        if before is not None and key <= before:
            raise _damaged(number, "the keys of a database are in ascending order, and this one is not: lines were "
                                   "lost, exchanged or put in")
        before = key
        yield number, key, _decoded(decode, lines.next_line(), lines.number)
    if line != b"DATA=END":
        raise _damaged(lines.number, f"{_excerpt(line)} is neither a key nor DATA=END")
    while rest := read_line(LONGEST_LINE):
        lines.number += 1
        if rest.strip(b"\r\n"):
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
    return _ESCAPE.sub(_unescaped, text)


def _unescaped(match: re.Match[bytes]) -> bytes:
    escape = match[0]
    # ValueError for a backslash with neither after it.
    return b"\\" if escape == b"\\\\" else bytes((int(escape[1:], 16),))


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
    """The lines of a dump, without their line breaks, whether of Unix or of Windows.

    number  the number of the line that `next_line` returned last, from 1
    """

    def __init__(self, read_line: ReadLine) -> None:
        self._read_line = read_line
        self.number = 0

    def next_line(self) -> bytes:
        """The next line; raises InvalidError at the end of the file, which comes only after the end of the dump."""
        line = self._read_line(LONGEST_LINE + 1)
        if not line and not self.number:
            raise InvalidError("the dump is empty: run 'db_dump -p noid.bdb > FILE', and import FILE")
        if not line:
            raise InvalidError(f"the dump is cut off after line {self.number}: it does not end in DATA=END, so make it "
                               "again")
        self.number += 1
        if len(line) > LONGEST_LINE:
            raise InvalidError(f"line {self.number} of the dump has more than {LONGEST_LINE >> 20} MB: it is damaged, "
                               "or of another program")
        return line.removesuffix(b"\n").removesuffix(b"\r")


# -- a dump, or a database of Berkeley DB -----------------------------------------------------------------------------

DATABASE = "noid.bdb"

# The name of the program in Debian's package db5.3-util, and its names elsewhere.
PROGRAMS = ("db5.3_dump", "db_dump5.3", "db_dump")
_PACKAGE = "db5.3-util"

# Where the first page of a B-tree of Berkeley DB has its magic number, and that number in either byte order.
_MAGIC = slice(12, 16)
_MAGICS = (b"\x62\x31\x05\x00", b"\x00\x05\x31\x62")
_MEGABYTE = 1 << 20


@contextmanager
def dumped_items(path: str | None, progress: Progress | None = None) -> Iterator[Items]:
    """The items of a dump.  `path` leads to a dump, to noid.bdb or to a folder with it; None is standard input."""
    if path is None:
        with open(0, "rb", closefd=False) as file:
            yield read_dump(_checked(file.readline))
        return
    path = _file_in(path, DATABASE, missing=f"there is no {DATABASE} in {path}: name the file itself, or its dump")
    try:
        file = open(path, "rb")  # noqa: SIM115 - closed below
        status = os.fstat(file.fileno())
        is_file = stat.S_ISREG(status.st_mode)
        is_database = is_file and file.peek(16)[_MAGIC] in _MAGICS
    except OSError as error:
        raise InvalidError(f"{path} cannot be read: {error.strerror}") from None
    with file:
        if is_database:
            with _database_dump(path) as read_line:
                yield read_dump(_checked(read_line, 0, progress))  # the length of the dump is not known
        else:
            yield read_dump(_checked(file.readline, status.st_size if is_file else 0, progress))


def _checked(read_line: ReadLine, size: int = 0, progress: Progress | None = None) -> ReadLine:
    """Read lines, report each megabyte of `size` bytes as progress, and refuse what cannot be read."""
    done = 0

    def read(longest: int) -> bytes:
        nonlocal done
        try:
            line = read_line(longest)
        except OSError as error:
            raise InvalidError(f"the dump cannot be read: {error.strerror}") from None
        before, done = done, done + len(line)
        if progress is not None and before // _MEGABYTE != done // _MEGABYTE:
            progress(done // _MEGABYTE, -(-size // _MEGABYTE), "MB of the dump read")
        return line

    return read


@contextmanager
def _database_dump(path: str) -> Iterator[ReadLine]:
    """Run the program that writes the dump of a database, and read its lines.  Raises InvalidError if it fails."""
    program = next((found for name in PROGRAMS if (found := shutil.which(name))), None)
    if program is None:
        raise StoreError(f"{path} is a database of Berkeley DB, and no program is here that reads it: install the "
                         f"package {_PACKAGE}, or run 'db_dump -p {DATABASE} > FILE' elsewhere, and import FILE")
    with (TemporaryFile() as messages,
          subprocess.Popen([program, "-p", path], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=messages) as process):
        output = process.stdout
        assert output is not None

        def read_line(longest: int) -> bytes:
            line = output.readline(longest)
            if not line and process.wait():
                messages.seek(0)
                why = printable(messages.readline(300).strip()) or "its program gives no reason"
                raise InvalidError(f"the database cannot be dumped: {why}")
            return line

        try:
            yield read_line
        finally:
            process.kill()


def _file_in(path: str, *names: str, missing: str) -> str:
    """The path; if it is that of a folder, the path of the first of these files there is in it or in its folder NOID.

    Raises InvalidError with the message `missing` if there is none.
    """
    if not os.path.isdir(path):
        return path
    paths = [os.path.join(path, *parts) for name in names for parts in ((name,), ("NOID", name))]
    found = next(filter(os.path.exists, paths), None)
    if found is None:
        raise InvalidError(missing)
    return found


# -- a database of Noid4Php --------------------------------------------------------------------------------------------

_LMDB, _XML = "noid.lmdb", "noid.xml"
_XML_BLOCK = 1 << 16


@contextmanager
def noid4php_items(path: str) -> Iterator[Items]:
    """The items of a database of Noid4Php, numbered from 1; `path` leads to its file, or to a folder with it."""
    path = _file_in(path, _LMDB, _XML, missing=f"{path} has neither {_LMDB} nor {_XML}: name the file itself")
    try:
        with open(path, "rb") as file:
            beginning = file.read(512)
    except OSError as error:
        raise InvalidError(f"{path} cannot be read: {error.strerror}") from None
    is_xml = beginning.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")
    items = _xml_items(path) if is_xml else foreign_items(path)
    yield ((number, key, value) for number, (key, value) in enumerate(items, 1))


def _xml_items(path: str) -> Iterator[tuple[bytes, bytes]]:
    """The items of the file, sorted.  All are in memory, as they are in Noid4Php itself."""
    reader = _XmlReader()
    with open(path, "rb") as file:
        reader.parse(file.read)
    yield from sorted(reader.items.items())


class _XmlReader:
    """Collects the items of an XML file; raises InvalidError, with the line, for any other form."""

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
