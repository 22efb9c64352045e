"""The codes of electronic resource citations (ERC) for values that are missing, such as `(:unkn)` for an unknown one.

A code may be followed by a text: `(:unkn) Anonymous`.  Programs get the value as it was bound.  People read the meaning
of the code instead, and a search by words does not find the code.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

# The code for a value of which nothing was said.
UNAVAILABLE = "(:unav)"

MEANINGS = {
    "unac": "temporarily inaccessible", "unal": "withheld", "unap": "not applicable", "unas": "not assigned",
    "unav": "not available", "unkn": "unknown", "none": "none, and there will be none", "null": "left empty on purpose",
    "tba": "to be announced", "etal": "and others",
}
_CODE = re.compile(rf"\s*\(:({'|'.join(MEANINGS)})\)", re.IGNORECASE)


def without_code(value: str) -> str:
    """A value without the code with which it begins; itself if there is none."""
    found = _CODE.match(value)
    return value if found is None else value[found.end() :].strip()


def readable(value: str, meanings: Mapping[str, str] | None = None) -> str:
    """A value as people read it: the meaning in place of a code, and the text after it in parentheses.

    `meanings` translates the English meanings into another language.
    """
    found = _CODE.match(value)
    if found is None:
        return value
    meaning, text = MEANINGS[found[1].lower()], value[found.end() :].strip()
    meaning = (meanings or {}).get(meaning, meaning)
    return f"{meaning} ({text})" if text else meaning
