"""What a client prefers, by its Accept and Accept-Language headers (RFC 9110, 12.5)."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def prefers_json(accept: str) -> bool:
    """Whether JSON is named in the header and has at least the quality of text."""
    if not names_any(accept, ("application/json",)):
        return False
    ranges = _media_ranges(accept)
    quality = _quality(ranges, "application/json")
    return quality > 0 and quality >= _quality(ranges, "text/plain")


def preferred(accept: str, offered: tuple[str, ...]) -> str:
    """The offered media type of the highest quality: the earlier of several, the first where the client takes none."""
    ranges = _media_ranges(accept or "*/*")
    return max(offered, key=lambda name: _quality(ranges, name))


def accepts_any(accept: str, offered: tuple[str, ...]) -> bool:
    """Whether the client takes one of the offered media types."""
    ranges = _media_ranges(accept or "*/*")
    return any(_quality(ranges, name) > 0 for name in offered)


def names_any(accept: str, media_types: Iterable[str]) -> bool:
    """Whether one of the media types stands in the header; a range such as `*/*` names none."""
    named = {part.partition(";")[0].strip() for part in accept.lower().split(",")}
    return not named.isdisjoint(media_types)


def preferred_language(accept: str, offered: tuple[str, ...], default: str) -> str:
    """The offered language that an Accept-Language header prefers, by their main subtags; the default if it names none.
    """
    qualities: dict[str, float] = {}
    for name, quality in _media_ranges(accept):
        main = name.partition("-")[0]
        qualities[main] = max(quality, qualities.get(main, 0.0))
    best = max(offered, key=lambda name: (qualities.get(name, 0.0), name == default))
    return best if qualities.get(best, 0.0) > 0 else default


def _media_ranges(accept: str) -> list[tuple[str, float]]:
    return [_media_range(part) for part in accept.lower().split(",")]


def _media_range(part: str) -> tuple[str, float]:
    name, *parameters = part.split(";")
    quality = 1.0
    for parameter in parameters:
        key, _, value = parameter.partition("=")
        if key.strip() == "q":
            try:
                quality = min(1.0, max(0.0, float(value)))
            except ValueError:
                quality = 0.0
    return name.strip(), quality


def _quality(ranges: list[tuple[str, float]], wanted: str) -> float:
    """The quality of a media type; the most specific range that covers it decides."""
    for name in (wanted, wanted.partition("/")[0] + "/*", "*/*"):
        found = [quality for known, quality in ranges if known == name]
        if found:
            return max(found)
    return 0.0
