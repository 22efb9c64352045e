"""Seven letters about how well a minter's identifiers will last: GRANITE, each a hyphen where it does not apply."""

from __future__ import annotations

from .template import RANDOM

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .settings import Settings
    from .template import Template

MEANINGS = {
    "G": "globally unique: the NAAN, the prefix or the server belongs to one authority",
    "R": "random: the order says nothing about the things named",
    "A": "alphabetic runs are too short to form words",
    "N": "never given twice: a long-term minter does not re-issue, and time does not come back",
    "I": "insensitive to hyphens, which line breaks in print may add or drop",
    "T": "transcription errors are caught by a check character",
    "E": "elided vowels: no words appear by accident",
}
_TEST_NAAN = "00000"


def letters(apply: str) -> str:
    """GRANITE, with a hyphen in place of each letter that does not apply."""
    return "".join(letter if letter in apply else "-" for letter in MEANINGS)


def of_template(template: Template, settings: Settings, *, minted_only: bool) -> str:
    """The letters that apply to identifiers of a template; `minted_only` is false where any name may be bound."""
    holds = {
        "G": settings["naan"] not in ("", _TEST_NAAN),
        "R": template.generator == RANDOM,
        "A": minted_only and not _has_word_room(template.prefix, template.mask),
        "N": settings.long_term,
        "I": minted_only and "-" not in template.prefix,
        "T": template.checked,
        "E": not minted_only or not _may_hold_vowels(template.prefix, template.letters),
    }
    return "".join(letter for letter in holds if holds[letter])


def _has_word_room(prefix: str, mask: str) -> bool:
    """Whether three letters can stand side by side."""
    places = ["a" if character.isalpha() else "0" for character in prefix]
    # In an unlimited namespace the first mask character is repeated as labels grow.
    body = mask[1] * 4 + mask[2:] if mask[0] == "z" and mask[1] != "d" else mask[1:]
    places += ["0" if letter in "di" else "a" for letter in body]
    return "aaa" in "".join(places)


def _may_hold_vowels(prefix: str, letters: str) -> bool:
    return any(character in "aeiouyAEIOUY" for character in prefix) or any(letter not in "deiE" for letter in letters)
