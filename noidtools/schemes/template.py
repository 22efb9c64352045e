"""Templates `Prefix.Mask`, and the repertoires of characters that a mask may name.

Each repertoire is an ordered set of characters; a character's ordinal is its
place in that order.  The sizes of those that may carry a check character are
prime, which is what makes the check detect every single-character error and
every transposition, as long as the checked string is shorter than the size.
"""

from __future__ import annotations

from ..errors import ExhaustedError, InvalidError, printable

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

# The letters of the original program.  A mask of these alone follows its stricter rule:
# the check character is an extended digit, and so is every character of the prefix.
ORIGINAL_LETTERS = frozenset("de")


def own_repertoire(prefix: str, letters: str) -> str:
    """The letter of the repertoire of a mask that ends in `K`: the one of the mask itself, besides digits.

    Its last character occurs as check character only, so that the others can be fewer than a prime number: ten digits
    with a check character out of eleven.  As in the original, a character of the prefix that is not in it counts as
    zero.  Raises InvalidError for a mask of several repertoires, and for a prefix that has the last character.
    """
    kinds = sorted(set(letters) - {"d"}) or ["i"]
    letter, last = kinds[0], REPERTOIRES[kinds[0]][-1]
    if kinds[1:] or ("d" in letters and not set(REPERTOIRES["d"]) <= set(REPERTOIRES[letter])):
        mixed = " ".join(sorted(set(letters)))
        raise InvalidError(f"a mask that ends in K is of one repertoire, with or without digits (d), not of {mixed}")
    if last in prefix:
        raise InvalidError(f"with K in the mask {last!r} occurs only as check character, so the prefix may not have it")
    return letter


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
    # Digits and `i` have no check repertoire of their own: they count as extended digits.
    needed = set("".join(REPERTOIRES["e" if letter in "di" else letter] for letter in letters))
    # A character in no repertoire at all, such as a slash, has the value zero and so needs no repertoire.
    needed |= set(prefix) & set("".join(REPERTOIRES.values()))
    for letter in _CHECKING_ORDER:
        if needed <= set(REPERTOIRES[letter]):
            return letter
    raise InvalidError("no repertoire holds every character of this prefix and mask: leave out the check character k")


def ordinals(repertoire: str) -> dict[str, int]:
    """Character to value; a character that is absent counts as zero."""
    return {character: value for value, character in enumerate(REPERTOIRES[repertoire])}


# -- Templates: `Prefix.Mask`, the size of the namespace, number to label and back -----------------------------------

# A label here is what follows the prefix: the characters that match the mask,
# without the check character.  The scheme adds prefix, NAAN and check character,
# because the check character is computed over all of them.

RANDOM, SEQUENTIAL, UNLIMITED = "r", "s", "z"
CHECK, CHECK_ONLY = "k", "K"

# Longer labels serve no purpose, and computing with their numbers takes time.  Those of an unlimited namespace grow
# by a character when all shorter ones are used up, so that none ever gets that much longer than its mask.
_LONGEST_MASK = 400
LONGEST_LABEL = 1000


class Template:
    """A parsed template.

    checked      whether identifiers end in a check character
    check_mark   the last letter of the mask if they do: `k`, or `K` where the last character of the repertoire occurs
                 in check characters only
    total        the size of the namespace, None if it is unlimited
    """

    __slots__ = ("text", "prefix", "generator", "letters", "check_mark", "alphabets", "total")

    def __init__(self, text: str) -> None:
        self.text = text
        self.prefix, mask = _split(text)
        self.generator, self.letters, self.check_mark = _parse_mask(mask)
        self.alphabets = [REPERTOIRES[letter] for letter in self.letters]
        if self.check_mark == CHECK_ONLY:
            last = REPERTOIRES[self.check_letter][-1]
            self.alphabets = [alphabet.removesuffix(last) for alphabet in self.alphabets]
        total = 1
        for alphabet in self.alphabets:
            total *= len(alphabet)
        self.total = None if self.generator == UNLIMITED else total

    @property
    def mask(self) -> str:
        return self.generator + self.letters + self.check_mark

    @property
    def checked(self) -> bool:
        return bool(self.check_mark)

    @property
    def check_letter(self) -> str:
        """The repertoire of the check character; only for a template that has one."""
        choose = own_repertoire if self.check_mark == CHECK_ONLY else checking_repertoire
        return choose(self.prefix, self.letters)

    def grown(self, count: int) -> Template:
        """The template that follows this one when its namespace is used up: its first letters repeated."""
        if not 1 <= count <= len(self.letters):
            raise InvalidError(f"a mask can grow by 1 to {len(self.letters)} characters, not by {count}")
        letters = self.letters[:count] + self.letters
        return Template(f"{self.prefix}.{self.generator}{letters}{self.check_mark}")

    def label(self, number: int) -> str:
        """The label of a number.  A bounded namespace is a ring: the number after the last is the first."""
        characters = []
        for alphabet in reversed(self.alphabets):
            number, digit = divmod(number, len(alphabet))
            characters.append(alphabet[digit])
        if number and self.total is None:
            first = self.alphabets[0]
            while number:
                number, digit = divmod(number, len(first))
                characters.append(first[digit])
        return "".join(reversed(characters))

    def number(self, label: str) -> int:
        """The number of a label; the inverse of `label`.  Raises InvalidError for what `label` never returns."""
        self.ensure_label(label)
        number = 0
        for character, alphabet in zip(label, self._alphabets_of(len(label)), strict=True):
            number = number * len(alphabet) + alphabet.find(character)
        return number

    def ensure_label(self, label: str) -> None:
        """Raise InvalidError for what `label` never returns.  Computes no number: those of long labels take long."""
        surplus = len(label) - len(self.alphabets)
        if surplus < 0 or (surplus and self.total is not None):
            raise InvalidError(f"{len(label)} characters after the prefix, the mask wants {self._wanted()}")
        if len(label) > LONGEST_LABEL:
            raise InvalidError(f"{len(label)} characters after the prefix, more than {LONGEST_LABEL}")
        for place, (character, alphabet) in enumerate(zip(label, self._alphabets_of(len(label)), strict=True), 1):
            if character not in alphabet:
                raise InvalidError(f"character {place} after the prefix is {character!r}, not one of {alphabet}")
        if surplus and label[0] == self.alphabets[0][0]:
            raise InvalidError("a label longer than the mask never starts with its first character")

    def _alphabets_of(self, length: int) -> list[str]:
        """The alphabet of each character of a label of this length."""
        return [self.alphabets[0]] * (length - len(self.alphabets)) + self.alphabets

    def _wanted(self) -> str:
        return f"{len(self.alphabets)}{' or more' if self.total is None else ''}"

    def ensure_checkable(self, length: int) -> None:
        """Raise ExhaustedError if identifiers of this length are too long for the guarantee of the check character."""
        if self.checked and length >= len(REPERTOIRES[self.check_letter]):
            limit = len(REPERTOIRES[self.check_letter]) - 1
            raise ExhaustedError(
                f"an identifier of {length} characters is too long for its check character, "
                f"which guards at most {limit}; use a shorter mask or prefix, or a mask with a larger repertoire"
            )


def _split(text: str) -> tuple[str, str]:
    prefix, dot, mask = text.partition(".")
    if not dot:
        raise InvalidError(f"template {text!r} has no mask: write Prefix.Mask, for instance f5.reedeedk or .zd")
    bad = [character for character in prefix if not "!" <= character <= "~"]
    if bad:
        raise InvalidError(f"template prefix may only hold visible ASCII characters, not {bad[0]!r}")
    return prefix, mask


def _parse_mask(mask: str) -> tuple[str, str, str]:
    """The letter of the order, the letters of characters, and that of the check character, empty if there is none."""
    generator, letters = mask[:1], mask[1:]
    if generator not in (RANDOM, SEQUENTIAL, UNLIMITED):
        raise InvalidError(f"mask {mask!r} must begin with r (random), s (sequential) or z (without limit)")
    check_mark = letters[-1:] if letters.endswith((CHECK, CHECK_ONLY)) else ""
    letters = letters.removesuffix(check_mark)
    if not letters:
        raise InvalidError(f"mask {mask!r} needs at least one character after {generator!r} besides a check character")
    if len(letters) > _LONGEST_MASK:
        raise InvalidError(f"mask of {len(letters)} characters is too long, the most is {_LONGEST_MASK}")
    for letter in letters:
        if letter in (CHECK, CHECK_ONLY):
            raise InvalidError(f"mask {mask!r}: {letter}, the check character, may only stand at the end")
        if letter not in REPERTOIRES:
            raise InvalidError(f"mask {mask!r}: {letter!r} is not one of {' '.join(REPERTOIRES)} or a final k or K")
    return generator, letters, check_mark


# -- identifiers: what all of them begin with, a label, and its check character --------------------------------------


class Checker:
    """Computes the check characters of identifiers with a common first part: prefix, and NAAN if there is one.

    The Noid Check Digit Algorithm: the sum of ordinal times position (from 1), modulo the size of the repertoire.
    """

    __slots__ = ("_values", "_alphabet", "_first_sum", "_next_place")

    def __init__(self, template: Template, first_part: str) -> None:
        letter = template.check_letter
        self._values = ordinals(letter)
        self._alphabet = REPERTOIRES[letter]
        self._first_sum = sum(place * self._values.get(c, 0) for place, c in enumerate(first_part, 1))
        self._next_place = len(first_part) + 1

    def character(self, label: str) -> str:
        total, place, values = self._first_sum, self._next_place, self._values
        for character in label:
            total += place * values[character] if character in values else 0
            place += 1
        return self._alphabet[total % len(self._alphabet)]


def ensure_form(template: Template, first_part: str, identifier: bytes) -> None:
    """Raise InvalidError, with the difference, for an identifier that does not match the template."""
    # What is not UTF-8 becomes a character that no template contains.
    text = identifier.decode("utf-8", "replace")
    if not text.startswith(first_part):
        raise InvalidError(f"{printable(identifier)} does not begin with {first_part}")
    label = text[len(first_part) :]
    check = ""
    if template.checked:
        label, check = label[:-1], label[-1:]
    try:
        template.ensure_label(label)
    except InvalidError as error:
        raise InvalidError(f"{printable(identifier)}: {error.message}") from None
    if template.checked:
        checker = Checker(template, first_part)
        if checker.character(label) != check:
            raise InvalidError(f"{printable(identifier)} has a wrong check character: something in it was mistyped")
