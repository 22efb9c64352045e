"""The alphabets a mask may name, and the check character computed over them.

Each repertoire is an ordered set of characters; a character's ordinal is its
place in that order.  The sizes of those that may carry a check character are
prime, which is what makes the check detect every single-character error and
every transposition, as long as the checked string is shorter than the size.
"""

from __future__ import annotations

from .exceptions import InvalidError

REPERTOIRES = {
    "d": "0123456789",
    "e": "0123456789bcdfghjkmnpqrstvwxz",
    "i": "0123456789x",
    "x": "0123456789abcdef_",
    "v": "0123456789abcdefghijklmnopqrstuvwxyz_",
    "E": "123456789bcdfghjkmnpqrstvwxzBCDFGHJKMNPQRSTVWXZ",
    "l": "0123456789abcdefghijkmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "w": "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ#*+@_",
    "c": "!\"#$&'()*+,0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_`abcdefghijklmnopqrstuvwxyz{|}~",
}

# Smallest first: the check character comes from the first one that will do.
_CHECKING_ORDER = "exvElwc"

# The letters the original knew.  With these alone its stricter rule stays in
# force: the check character is an extended digit, and so is the whole prefix.
ORIGINAL_LETTERS = frozenset("de")


def checking_repertoire(prefix: str, letters: str) -> str:
    """The letter of the repertoire from which identifiers of this form take their check character.

    `letters` are the mask's, without the generator type and without the final `k`.
    """
    if set(letters) <= ORIGINAL_LETTERS:
        stray = sorted(set(prefix) - set(REPERTOIRES["e"]) - {"/"})
        if stray:
            raise InvalidError(
                f"with a check character the prefix may only use {REPERTOIRES['e']} and /, not {stray[0]!r}"
            )
        return "e"
    # Pure digits and `i` are never worth a check repertoire of their own: they count as extended digits.
    needed = set("".join(REPERTOIRES["e" if letter in "di" else letter] for letter in letters))
    # A character in no repertoire at all, such as a slash, has no value and so constrains nothing.
    needed |= set(prefix) & set("".join(REPERTOIRES.values()))
    for letter in _CHECKING_ORDER:
        if needed <= set(REPERTOIRES[letter]):
            return letter
    raise InvalidError("no repertoire holds every character of this prefix and mask: leave out the check character k")


def ordinals(repertoire: str) -> dict[str, int]:
    """Character to value; a character that is absent counts as zero."""
    return {character: value for value, character in enumerate(REPERTOIRES[repertoire])}


def check_character(base: str, repertoire: str = "e") -> str:
    """The Noid Check Digit Algorithm: the sum of value times position (from 1), modulo the size."""
    values = ordinals(repertoire)
    total = 0
    for position, character in enumerate(base, 1):
        total += position * values.get(character, 0)
    return REPERTOIRES[repertoire][total % len(REPERTOIRES[repertoire])]
