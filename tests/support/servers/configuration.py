"""The configurations in conf/, edited in their marked lines as an administrator would edit them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


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


def edited(path: Path, changes: Mapping[str, object]) -> str:
    """A shipped configuration with words changed in its marked lines; each word must be in one of them."""
    text = path.read_text(encoding="utf-8")
    lines, marked = text.splitlines(), marked_lines(text)
    for old, new in changes.items():
        places = [number for number in marked if old in lines[number]]
        assert places, f"{path.name}: {old!r} is in no marked line"
        for number in places:
            lines[number] = lines[number].replace(old, str(new))
    return "\n".join(lines) + "\n"
