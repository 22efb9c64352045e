"""A line of words, split as a shell splits it, in bytes."""

from __future__ import annotations

from .exceptions import UsageError

_SPACES = b" \t\r\n\v\f"
# Inside double quotes a backslash keeps its meaning only before these.
_ESCAPABLE = b'"\\$`\n'
# 1 for each byte that means something, so that long stretches of others can be jumped over.
_MARKED = bytes(byte in _SPACES + b"'\"\\" for byte in range(256))


def split(line: bytes) -> list[bytes]:
    """Quotes and backslashes as in a POSIX shell, and nothing else of it: no variables, no patterns, no comments."""
    words: list[bytes] = []
    word: bytearray | None = None
    special = line.translate(_MARKED)
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
            end = special.find(1, place)
            end = len(line) if end < 0 else end
            word += line[place:end]
            place = end
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
    while True:
        quote = line.find(b'"', place)
        if quote < 0:
            raise UsageError("a double quote is opened but not closed")
        escape = line.find(b"\\", place, quote)
        if escape < 0:
            word += line[place:quote]
            return quote + 1
        word += line[place:escape]
        # A backslash before anything else stands for itself.
        place = escape + 1 if line[escape + 1] in _ESCAPABLE else escape
        word.append(line[place])
        place += 1
