"""Lines of input: words split as a shell splits them, and elements for the words `:` and `:-` of the bind command."""

from __future__ import annotations

from abc import ABC, abstractmethod

from ..errors import UsageError, printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    ReadLine = Callable[[], bytes]  # a line with its newline, or nothing at the end

# A longer line is refused, because it would only fill the memory.
LONGEST_LINE = 256 << 20

_SPACES = b" \t\r\n\v\f"

# Inside double quotes a backslash escapes only these.
_ESCAPED = frozenset((b'"', b"\\", b"$", b"`", b"\n"))

# Tables for `translate`: 1 for blanks, quotes and backslashes, 0 for all other bytes, which are copied in one piece.
# The second is for text in double quotes.
_MARKED = bytes(byte in _SPACES + b"'\"\\" for byte in range(256))
_MARKED_IN_QUOTES = bytes(byte in b"\"\\" for byte in range(256))


class LineSource(ABC):
    """A source of lines."""

    @abstractmethod
    def read_line(self) -> bytes:
        """The next line with its newline, or nothing at the end."""

    def ready(self) -> bool:
        """Whether the next line can be read without waiting."""
        return True


def split_words(line: bytes) -> list[bytes]:
    """Split a line into words, with quotes and backslashes as in a POSIX shell; without variables, patterns, comments.

    Raises UsageError for a quote that is not closed and for a backslash at the end.  The time grows in proportion
    to the length of the line, whatever it contains.
    """
    if 0x27 not in line and 0x22 not in line and 0x5C not in line:
        return line.split()  # as nearly all lines are: nothing is quoted
    words: list[bytes] = []
    word: bytearray | None = None
    special, quoted_special = line.translate(_MARKED), line.translate(_MARKED_IN_QUOTES)
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
            place = _double_quoted(line, place + 1, word, quoted_special)
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


def _double_quoted(line: bytes, place: int, word: bytearray, special: bytes) -> int:
    while True:
        end = special.find(1, place)
        if end < 0:
            raise UsageError("a double quote is opened but not closed")
        word += line[place:end]
        if line[end] == 0x22:
            return end + 1
        # A backslash before anything else stands for itself.
        place = end + 1 if line[end + 1 : end + 2] in _ESCAPED else end
        word += line[place : place + 1]
        place += 1


# -- elements --------------------------------------------------------------------------------------------------------


def read_elements(read_line: ReadLine) -> list[tuple[bytes, bytes]]:
    """Read elements for `:`, up to a blank line: `Element: value`, continued on indented lines; `#` begins a comment.

    Raises UsageError for a line of another form, after all lines were read.
    """
    lines = []
    # All lines are read before any is parsed: after an error the rest must not be taken for commands.
    while (line := read_line()).strip():
        lines.append(line)
    return _pairs(lines)


def _pairs(lines: list[bytes]) -> list[tuple[bytes, bytes]]:
    pairs: list[tuple[bytes, list[bytes]]] = []  # each value as the pieces of which it is joined
    for line in lines:
        text = line.rstrip(b"\r\n")
        if text.startswith(b"#"):
            continue
        if text[:1] in b" \t":
            if not pairs:
                raise UsageError("the first line is indented, but there is no element above for it to continue")
            pairs[-1][1].append(text.strip())
        else:
            element, value = _split_element(text)
            pairs.append((element, [value]))
    if not pairs:
        raise UsageError("no element was given: write lines of the form Element: value, then an empty line")
    return [(element, b" ".join(pieces)) for element, pieces in pairs]


def read_one_element(read_line: ReadLine) -> list[tuple[bytes, bytes]]:
    """Read one element for `:-`: its name, a colon, and the rest of the input as its value."""
    while True:
        line = read_line()
        if not line:
            raise UsageError("no element was given: the first line must be of the form Element: value")
        if line.strip() and not line.startswith(b"#"):
            break
    # The rest of the first line belongs to the value with its line break, if anything follows.
    element, value = _split_element(line)
    rest = [value]
    while line := read_line():
        rest.append(line)
    return [(element, b"".join(rest))]


def _split_element(line: bytes) -> tuple[bytes, bytes]:
    element, colon, value = line.partition(b":")
    if not colon or not element.strip():
        raise UsageError(f"{printable(line.strip()[:60])!r} is not of the form Element: value")
    return element.strip(), value.lstrip(b" \t")
