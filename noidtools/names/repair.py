"""What was probably meant by a name that was pasted with something else, or read wrongly off paper.

Nothing here decides that a name is another one: a resolver offers what it finds under these texts.
"""

from __future__ import annotations

import html
from unicodedata import category, normalize

from ..codec import percent_decode

# What stands around a name in a sentence or in markup.
_AROUND = " \t\r\n.,;:!?'\"()[]{}<>«»‹›“”„‘’*_`|"

# Letters of other alphabets that look like these of ours.
_CYRILLIC = str.maketrans("аеорсухкмтвнАЕОРСУХКМТВНіІјЈѕЅ", "aeopcyxkmtbhAEOPCYXKMTBHiIjJsS")

# Read off paper, a digit may have become a letter; the labels of most minters have none of these letters.
_DIGITS = str.maketrans("oOlIi|", "001111")

_LONGEST = 2000


def repaired(text: bytes) -> list[bytes]:
    """Other texts that may have been meant, the likelier first; none for a name without anything unusual."""
    if len(text) > _LONGEST:
        return []
    plain = percent_decode(text).decode("utf-8", "replace")
    cleaned = normalize("NFKC", html.unescape(html.unescape(plain))).translate(_CYRILLIC)
    # Line breaks and blanks of copying; invisible characters, and those that could not be decoded.
    cleaned = "".join(letter for letter in cleaned
                      if not letter.isspace() and category(letter) not in ("Cc", "Cf") and letter != "\ufffd")
    cleaned = cleaned.strip(_AROUND)
    head, slash, label = cleaned.rpartition("/")
    found = (cleaned, head + slash + label.translate(_DIGITS))
    return [text_.encode() for text_ in dict.fromkeys(found) if text_ and text_ != plain]
