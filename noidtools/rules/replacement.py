"""The replacement of a rule: literal text and references to groups, as in the right-hand side of Perl's s///."""

from __future__ import annotations

from ..errors import InvalidError, printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    Part = bytes | int | str  # literal text, a group's number, a group's name

DIGITS = b"0123456789"
LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_ESCAPES = {b"n": b"\n", b"t": b"\t"}


def parse(text: bytes) -> list[Part]:
    parts: list[Part] = []
    literal = bytearray()
    at = 0
    while at < len(text):
        if text[at] == 0x5C:
            literal += _escaped(text[at + 1 : at + 2])
            at += 2
        elif text[at] == 0x24:
            part, at = _parse_reference(text, at)
            parts += [bytes(literal), part] if literal else [part]
            literal.clear()
        else:
            literal.append(text[at])
            at += 1
    if literal:
        parts.append(bytes(literal))
    return parts


def _escaped(character: bytes) -> bytes:
    if not character:
        raise InvalidError("the rule's replacement ends in a backslash: write \\\\ for one")
    if character in DIGITS:
        raise InvalidError(f"the rule's replacement contains \\{character.decode()}: write ${character.decode()}")
    if character in LETTERS and character not in _ESCAPES:
        raise InvalidError(f"the rule's replacement contains \\{character.decode()}: it knows \\n, \\t, \\$ and \\\\")
    return _ESCAPES.get(character, character)


def _parse_reference(text: bytes, at: int) -> tuple[int | str, int]:
    """What the $ at this place refers to, and the place behind it."""
    if text.startswith(b"$&", at):
        return 0, at + 2
    if text.startswith(b"$+{", at):
        end = _closing_brace(text, at)
        return text[at + 3 : end].decode("utf-8", "backslashreplace"), end + 1
    if text.startswith(b"${", at):
        end = _closing_brace(text, at)
        return _group_number(text[at + 2 : end], text, at), end + 1
    end = at + 1
    while text[end : end + 1] and text[end] in DIGITS:
        end += 1
    return _group_number(text[at + 1 : end], text, at), end


def _closing_brace(text: bytes, at: int) -> int:
    end = text.find(b"}", at)
    if end < 0:
        raise InvalidError(f"the rule's replacement opens a brace at byte {at} and does not close it")
    return end


def _group_number(digits: bytes, text: bytes, at: int) -> int:
    if digits.isdigit() and len(digits) <= 2 and not digits.startswith(b"0"):
        return int(digits)
    raise InvalidError(
        f"the rule's replacement contains {printable(text[at : at + 12])!r}, which is none of $1 to $99, ${{1}}, $& "
        "and $+{name}: write \\$ for a dollar sign"
    )
