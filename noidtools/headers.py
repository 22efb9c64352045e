"""Elements given as lines of text, for the element names `:` and `:-` of the bind command."""

from __future__ import annotations

from .exceptions import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    ReadLine = Callable[[], bytes]  # a line with its newline, or nothing at the end


def read_block(read_line: ReadLine) -> list[tuple[bytes, bytes]]:
    """For `:`, lines up to a blank one: `Element: value`, continued on indented lines, `#` for comments."""
    lines = []
    # All of them first: a refusal must not leave the rest of the block to be taken for commands.
    while (line := read_line()).strip():
        lines.append(line)
    return _pairs(lines)


def _pairs(lines: list[bytes]) -> list[tuple[bytes, bytes]]:
    pairs: list[tuple[bytes, bytes]] = []
    for line in lines:
        text = line.rstrip(b"\r\n")
        if text.startswith(b"#"):
            continue
        if text[:1] in b" \t":
            if not pairs:
                raise UsageError("the first line is indented, but there is no element above for it to continue")
            element, value = pairs[-1]
            pairs[-1] = (element, value + b" " + text.strip())
        else:
            pairs.append(_split(text))
    if not pairs:
        raise UsageError("no element was given: write lines of the form Element: value, then an empty line")
    return pairs


def read_whole(read_line: ReadLine) -> list[tuple[bytes, bytes]]:
    """For `:-`, one element: its name and a colon first, all the rest of the input is its value."""
    while True:
        line = read_line()
        if not line:
            raise UsageError("no element was given: the first line must be of the form Element: value")
        if line.strip() and not line.startswith(b"#"):
            break
    # The rest of the first line belongs to the value with its line break, if anything follows.
    element, value = _split(line)
    rest = [value]
    while line := read_line():
        rest.append(line)
    return [(element, b"".join(rest))]


def _split(line: bytes) -> tuple[bytes, bytes]:
    element, colon, value = line.partition(b":")
    if not colon or not element.strip():
        shown = line.strip()[:60].decode("utf-8", "backslashreplace")
        raise UsageError(f"{shown!r} is not of the form Element: value")
    return element.strip(), value.lstrip(b" \t")
