"""A line of words, split as a shell splits it, in bytes."""

from __future__ import annotations

from .exceptions import UsageError

_SPACES = b" \t\r\n\v\f"
# Inside double quotes a backslash keeps its meaning only before these.
_ESCAPABLE = b'"\\$`\n'


def split(line: bytes) -> list[bytes]:
    """Quotes and backslashes as in a POSIX shell, and nothing else of it: no variables, no patterns, no comments."""
    words: list[bytes] = []
    word: bytearray | None = None
    place = 0
    while place < len(line):
        byte = line[place]
        if byte in _SPACES:
            if word is not None:
                words.append(bytes(word))
                word = None
            place += 1
            continue
        if word is None:
            word = bytearray()
        if byte == 0x27:
            place = _single_quoted(line, place + 1, word)
        elif byte == 0x22:
            place = _double_quoted(line, place + 1, word)
        elif byte == 0x5C:
            if place + 1 == len(line):
                raise UsageError("the line ends in a backslash that escapes nothing: write two, or quote it")
            word.append(line[place + 1])
            place += 2
        else:
            word.append(byte)
            place += 1
    if word is not None:
        words.append(bytes(word))
    return words


def _single_quoted(line: bytes, start: int, word: bytearray) -> int:
    end = line.find(b"'", start)
    if end < 0:
        raise UsageError("a single quote is opened but not closed")
    word += line[start:end]
    return end + 1


def _double_quoted(line: bytes, place: int, word: bytearray) -> int:
    while place < len(line):
        byte = line[place]
        if byte == 0x22:
            return place + 1
        if byte == 0x5C and place + 1 < len(line) and line[place + 1] in _ESCAPABLE:
            place += 1
        word.append(line[place])
        place += 1
    raise UsageError("a double quote is opened but not closed")
