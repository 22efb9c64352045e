"""The words of a command in the query string of a URL."""

from __future__ import annotations

from ..exceptions import UsageError

_QUOTING = b"\"'\\"
_HEX = b"0123456789abcdefABCDEF"
# RFC 3986 leaves blanks and control characters out of a URL: where one arrives, somebody is trying something.
_NEVER_IN_A_URL = bytes(range(0x21)) + b"\x7f"


def words_of(query: bytes) -> list[bytes]:
    """`+` separates words, quotes and backslashes hold them together as in a shell, and only then is each
    word percent-decoded: what was encoded is data and separates, quotes and escapes nothing."""
    if len(query) != len(query.translate(None, _NEVER_IN_A_URL)):
        raise UsageError("a blank or a control character stands in the query: write it percent-encoded, a blank as %20")
    if query.translate(None, _QUOTING) == query:
        return [decoded(word) for word in query.split(b"+") if word]
    from ..words import split

    return [decoded(word) for word in split(query.replace(b"+", b" "))]


def decoded(word: bytes) -> bytes:
    if b"%" not in word:
        return word
    first, *coded = word.split(b"%")
    out = [first]
    for piece in coded:
        digits = piece[:2]
        if len(digits) < 2 or digits.strip(_HEX):
            raise UsageError("a % in the query is not followed by two hexadecimal digits: write a percent sign as %25")
        out.append(bytes((int(digits, 16),)) + piece[2:])
    return b"".join(out)


def encoded(word: bytes) -> bytes:
    """The inverse for one word: a spelling that `words_of` reads as this word and nothing else."""
    if not word:
        return b"''"
    return b"".join(bytes((byte,)) if byte in _PLAIN else b"%%%02X" % byte for byte in word)


_PLAIN = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/:"
