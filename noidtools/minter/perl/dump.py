"""Dumps of Berkeley DB databases, as its program `db_dump` writes them, with the option -p or without.

A dump is text: a header of lines `name=value` up to `HEADER=END`; then for each item a line with its key and a line
with its value, each after one space; then `DATA=END`.  With -p printable bytes stand for themselves, a backslash is
doubled, and every other byte is a backslash and two hexadecimal digits; without, all bytes are hexadecimal.
"""

from __future__ import annotations

import re

from ...errors import InvalidError, printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Read = Callable[[int], bytes]  # up to so many bytes, nothing at the end

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
            raise _damaged(lines.number, "something follows behind DATA=END: give the dump of one database")


def _decoded(decode: Callable[[bytes], bytes], line: bytes, number: int) -> bytes:
    try:
        if line[:1] != b" ":
            raise ValueError
        return decode(line[1:])
    except ValueError:
        raise _damaged(number, "a key and a value, each behind one space, are expected here") from None


def _header(lines: _Lines) -> bytes:
    """Read the header; returns the format of the data, one of _FORMATS."""
    found: dict[bytes, bytes] = {}
    while True:
        line = lines.next_line()
        name, equals, value = line.partition(b"=")
        if lines.number == 1 and name != b"VERSION":
            raise InvalidError(f"line 1: this is no dump of a Berkeley DB, which begins with VERSION=3, but "
                               f"{_excerpt(line)}: say db_dump -p noid.bdb > FILE, and import FILE")
        if not equals or lines.number > _HEADER_LINES:
            raise _damaged(lines.number, f"{_excerpt(line)} is no line of a header, which ends in HEADER=END")
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
                raise InvalidError("the dump is empty: say db_dump -p noid.bdb > FILE, and import FILE")
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
