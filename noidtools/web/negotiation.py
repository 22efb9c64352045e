"""In which form a client would rather have an answer."""

from __future__ import annotations


def prefers_json(accept: str) -> bool:
    """From an Accept header (RFC 9110, 12.5.1).  Text unless JSON is asked for by name and not valued less."""
    ranges = [_media_range(part) for part in accept.lower().split(",")]
    if not any(name == "application/json" for name, _ in ranges):
        return False
    quality = _quality(ranges, "application/json")
    return quality > 0 and quality >= _quality(ranges, "text/plain")


def preferred(accept: str, offered: tuple[str, ...]) -> str:
    """Of the media types offered the one that is valued most; the earlier if several are, the first if none is."""
    ranges = [_media_range(part) for part in (accept or "*/*").lower().split(",")]
    return max(offered, key=lambda name: _quality(ranges, name))


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
    """The most specific range that covers a type decides."""
    for name in (wanted, wanted.partition("/")[0] + "/*", "*/*"):
        found = [quality for given, quality in ranges if given == name]
        if found:
            return max(found)
    return 0.0
