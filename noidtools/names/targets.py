"""Targets: where a name leads, as it was bound and as a header may carry it.

A bound value may hold several targets with `|` between them, each of which may
begin with its own redirect code: `303 https://example.org/a|https://mirror.example/a`.
Only its first line counts, so that a value can never become more than one line.
"""

from __future__ import annotations

from ..codec import UNRESERVED, normalize_escapes

CODES = (b"301", b"302", b"303", b"307", b"308")
USUAL_CODE = 302
SUFFIX = b"${suffix}"

# Where a reader may be sent.  Whatever else is bound (javascript:, data:, file:, a sentence) is shown, not followed.
HIERARCHICAL = (b"http", b"https", b"ftp", b"ftps")
SCHEMES = (*HIERARCHICAL, b"mailto")
_LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

# RFC 3986, 2.2 and 2.3: all that a URI is made of, but for the escapes.
_URI = UNRESERVED + b":/?#[]@!$&'()*+,;="
_CONTROLS = bytes(range(0x20)) + b"\x7f"


class Target:
    """`code` is the redirect code that was bound with it, 0 when none was."""

    __slots__ = ("code", "url")

    def __init__(self, url: bytes, code: int = 0) -> None:
        self.url = url
        self.code = code

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Target) and (self.url, self.code) == (other.url, other.code)

    def __hash__(self) -> int:
        return hash((self.url, self.code))

    def __repr__(self) -> str:
        return f"Target({self.url!r}, {self.code})"


def parse(value: bytes) -> list[Target]:
    """The targets in a bound value, in order; none if it is blank."""
    value = value.strip()
    if b"\n" in value or b"\r" in value:
        value = value.splitlines()[0]
    if b"|" not in value and value[:1] != b"3":
        return [Target(value)] if value else []
    found = []
    for part in value.split(b"|"):
        url, code = part.strip(), 0
        if url[:3] in CODES and url[3:4].isspace():
            url, code = url[4:].lstrip(), int(url[:3])
        if url:
            found.append(Target(url, code))
    return found
_HOST_OCTETS = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.")


def stays(url: bytes, fixed: bytes, replacement: bytes) -> bool:
    """Whether a computed target leads to a host that the rule's author named, not to one of a reader's choice.

    `fixed` is what the replacement begins with, before its first group.
    """
    if url[:2] in (b"//", b"/\\"):
        return fixed[:2] == url[:2] and _host(url[2:]) == _host(fixed[2:])
    scheme, mark, rest = url.partition(b"://")
    if not mark or not scheme.isalnum():
        return True  # a path of this server, or no address at all
    if not fixed.startswith(scheme + mark):
        return False
    named = fixed[len(scheme) + 3 :]
    if _host(named) == _host(rest):
        return True
    # A group may be the beginning of a host whose end is the author's, as in https://$1.example.org/
    end = _host(replacement.partition(b"://")[2]).rpartition(b"}" if b"}" in replacement else b"$1")[2]
    owned = not named and end.startswith(b".") and end.count(b".") > 1 and b"$" not in end
    return owned and _host(rest).endswith(end) and not set(_host(rest)) - _HOST_OCTETS


def _host(rest: bytes) -> bytes:
    """What stands before the path, the query or the fragment."""
    for mark in (b"/", b"\\", b"?", b"#"):
        rest = rest.partition(mark)[0]
    return rest


def extended(url: bytes, suffix: bytes) -> bytes | None:
    """The target with the rest of a longer name put where it says ${suffix}, else at its end.

    Whatever the rest is, it stays behind the host that was bound: it can lead
    deeper into the target's site, but not to another one.  None if the target
    itself wants it in the host, or if the rest would climb out of a folder of the server's own.
    """
    start = _path_start(url)
    if url[:1] == b"/" and _climbs(suffix):
        return None
    if SUFFIX in url:
        if url.find(SUFFIX) < start:
            return None
        return _on_same_site(url, url.replace(SUFFIX, suffix))
    if not suffix:
        return url
    base, mark, fragment = url.partition(b"#")
    if start == len(base) and suffix[:1] not in (b"/", b"?", b"#"):
        base += b"/"
    if suffix[:1] == b"/" and base[-1:] == b"/":
        suffix = suffix[1:]
    elif suffix[:1] == b"?" and b"?" in base:
        suffix = b"&" + suffix[1:]
    return _on_same_site(url, base + suffix + mark + fragment)


def _climbs(suffix: bytes) -> bool:
    segments = suffix.lower().replace(b"%2e", b".").replace(b"%2f", b"/").replace(b"\\", b"/").split(b"/")
    return b".." in segments or b"." in segments


def _on_same_site(url: bytes, longer: bytes) -> bytes:
    # `/` and `/evil.example` together would name a host.
    if url[:1] == b"/" and url[:2] != b"//":
        return b"/" + longer.lstrip(b"/\\")
    return longer


def _path_start(url: bytes) -> int:
    """Where the host is over; 0 when the target has none."""
    start = url.find(b"://") + 3
    if start < 3 or url[: start - 3].translate(None, _LETTERS):
        return 0
    ends = [end for end in (url.find(mark, start) for mark in (b"/", b"?", b"#")) if end >= 0]
    return min(ends, default=len(url))


def location(url: bytes) -> bytes | None:
    """The target as a Location header may carry it; None if a reader must not be sent there."""
    if not may_be_followed(url):
        return None
    return url if not url.translate(None, _URI) else normalize_escapes(url, b"", _URI)


def may_be_followed(url: bytes) -> bool:
    if url[:1] == b"/":
        return url[1:2] not in (b"/", b"\\")
    scheme, colon, rest = url.partition(b":")
    scheme = scheme.lower()
    if not colon or scheme not in SCHEMES:
        return False
    return scheme not in HIERARCHICAL or (rest[:2] == b"//" and rest[2:3] not in (b"", b"/", b"\\", b"?", b"#"))


def one_line(text: bytes) -> bytes:
    """The text without control characters, which are written as escapes."""
    if len(text.translate(None, _CONTROLS)) == len(text):
        return text
    return b"".join(b"%%%02X" % octet if octet in _CONTROLS else bytes((octet,)) for octet in text)
