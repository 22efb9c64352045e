"""Lists in values: items separated by `|`, as several targets are in the element of targets.

A `|` within an item is stored as `%7C`, so that splitting the value at each `|` always gives the items; a `%7C` that
was in the item is stored as `%257C`, that as `%25257C` and so on, so that each item is read as it was given.  Other
escapes stay as they are.

An item that is an address is stored and read as an address: in a URL `%7C` is the escape of `|`, and a target must not
be changed.
"""

from __future__ import annotations

import re

from ..errors import InvalidError

_SEPARATOR, _ESCAPED = b"|", b"%7C"
_AMBIGUOUS = re.compile(rb"%((?:25)*7C)")
# A web address or a path, with a redirect code before it or not.
_ADDRESS = re.compile(rb"(?:\d{3}\s+)?(?:[A-Za-z][A-Za-z0-9+.-]*://|mailto:|/)")


def split_items(value: bytes) -> list[bytes]:
    """The items of a value, in order, as they were given; none for an empty value."""
    return [_decoded(item) for item in _split(value)]


def count_items(value: bytes) -> int:
    """How many items a value has."""
    return len(_split(value))


def append_item(value: bytes, item: bytes) -> bytes:
    """The value with one more item, the last; raises InvalidError for an empty item."""
    return _SEPARATOR.join((*_split(value), _encoded(item)))


def prepend_item(value: bytes, item: bytes) -> bytes:
    """The value with one more item, the first; raises InvalidError for an empty item."""
    return _SEPARATOR.join((_encoded(item), *_split(value)))


def _split(value: bytes) -> list[bytes]:
    return value.split(_SEPARATOR) if value else []


def _encoded(item: bytes) -> bytes:
    if not item:
        raise InvalidError("an item of a list may not be empty")
    if not _ADDRESS.match(item):
        item = _AMBIGUOUS.sub(rb"%25\1", item)
    return item.replace(_SEPARATOR, _ESCAPED)


def _decoded(item: bytes) -> bytes:
    if _ADDRESS.match(item):
        return item
    return _AMBIGUOUS.sub(lambda match: b"%" + match[1][2:] if match[0] != _ESCAPED else _SEPARATOR, item)
