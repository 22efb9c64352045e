"""The words of a command in a query string."""

from __future__ import annotations

from ..codec import HEX_DIGITS
from ..commands.lines import split_words
from ..errors import UsageError

_QUOTING = b"\"'\\"

# RFC 3986 has no blanks and control characters in a URL.
_NEVER_IN_A_URL = bytes(range(0x21)) + b"\x7f"


def query_words(query: bytes) -> list[bytes]:
    """The words in a query string.

    `+` separates words; quotes and backslashes keep words together as in a shell.  Each word is percent-decoded after
    that, so that an encoded character is always data.  Raises UsageError for a character that cannot be in a URL, for
    a quote that is not closed, and for a wrong escape.
    """
    if len(query) != len(query.translate(None, _NEVER_IN_A_URL)):
        raise UsageError("a blank or a control character stands in the query: write it percent-encoded, a blank as %20")
    if query.translate(None, _QUOTING) == query:
        return [decode_word(word) for word in query.split(b"+") if word]
    return [decode_word(word) for word in split_words(query.replace(b"+", b" "))]


def decode_word(word: bytes) -> bytes:
    """Percent-decode a word; raises UsageError for a `%` without two hexadecimal digits."""
    if b"%" not in word:
        return word
    first, *coded = word.split(b"%")
    out = [first]
    for piece in coded:
        digits = piece[:2]
        if len(digits) < 2 or digits.strip(HEX_DIGITS):
            raise UsageError("a % in the query is not followed by two hexadecimal digits: write a percent sign as %25")
        out.append(bytes((int(digits, 16),)) + piece[2:])
    return b"".join(out)
