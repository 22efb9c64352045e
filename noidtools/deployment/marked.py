"""The configurations in conf/: real files with example values, edited in marked lines.

A line is marked if it ends in `# edit`, or stands between `---- edit these lines ----` and `---- nothing below`.
"""

from __future__ import annotations

import os
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = os.path.join(os.path.dirname(__file__), "conf")


def shipped(name: str) -> str:
    """The text of a file in conf/, such as `nginx/site.conf`."""
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return file.read()


def marked_lines(text: str) -> list[int]:
    """The numbers of the lines of a shipped configuration that are meant to be edited."""
    found, inside = [], False
    for number, line in enumerate(text.splitlines()):
        if "---- nothing below" in line:
            inside = False
        if (inside and line.strip() and not line.lstrip().startswith("#")) or "# edit" in line:
            found.append(number)
        if "---- edit these lines" in line:
            inside = True
    return found


def edited(text: str, changes: Mapping[str, str]) -> str:
    """The text with words replaced in its marked lines; paths, which begin with a slash, also in its comments.

    All words are replaced in one pass, so that a new value is never changed again.  Raises KeyError for a word that
    is in no marked line.
    """
    lines, marked = text.splitlines(), set(marked_lines(text))
    missing = [word for word in changes if not any(word in lines[number] for number in marked)]
    if missing:
        raise KeyError(missing[0])
    words = _any_of(changes)
    paths = _any_of([word for word in changes if word.startswith("/")])
    for number, line in enumerate(lines):
        pattern = words if number in marked else paths if line.lstrip().startswith("#") else None
        if pattern is not None:
            lines[number] = pattern.sub(lambda found: changes[found[0]], line)
    return "\n".join(lines) + "\n"


def _any_of(words: Mapping[str, str] | list[str]) -> re.Pattern[str] | None:
    """A pattern for any of the words, the longest first."""
    ordered = sorted(words, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, ordered))) if ordered else None
