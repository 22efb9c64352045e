"""Targets: where a name leads, parsed from a bound value and written as a Location header.

A bound value may hold several targets separated by `|`, each of which may begin
with its own redirect code: `303 https://example.org/a|https://mirror.example/a`.
Only the first line is used, so that a target never becomes more than one line.
"""

from __future__ import annotations

from ..codec import UNRESERVED, normalize_escapes
from ..errors import InvalidError, printable

CODES = (b"301", b"302", b"303", b"307", b"308")
USUAL_CODE = 302
SUFFIX = b"${suffix}"

# The URI schemes to which a reader may be redirected.  Other values (javascript:, data:, file:, a sentence) are
# displayed instead.
HIERARCHICAL = (b"http", b"https", b"ftp", b"ftps")
SCHEMES = (*HIERARCHICAL, b"mailto")
_LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

# RFC 3986, 2.2 and 2.3: the characters of a URI, except the percent sign of escapes.
_URI = UNRESERVED + b":/?#[]@!$&'()*+,;="
_CONTROLS = bytes(range(0x20)) + b"\x7f"

# RFC 1035, 2.3.4, in bytes; for messages about longer ones.
_LONGEST_HOST = 253


class Target:
    """`code` is the redirect code that was bound with the URL, 0 if there was none."""

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
    """The targets in a bound value, in order; an empty list if it is blank."""
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


# -- targets computed by rules and suffixes --------------------------------------------------------------------------

_HOST_OCTETS = frozenset(_LETTERS + b"0123456789-.")


def stays(url: bytes, fixed: bytes, replacement: bytes) -> bool:
    """Whether the host of a computed target was chosen by the author of the rule, not by the reader.

    `fixed` is the part of the replacement before its first group.
    """
    if url[:2] in (b"//", b"/\\"):
        return fixed[:2] == url[:2] and _host(url[2:]) == _host(fixed[2:])
    scheme, mark, rest = url.partition(b"://")
    if not mark or not scheme.isalnum():
        return True  # a path on this server, or not a URL
    if not fixed.startswith(scheme + mark):
        return False
    named = fixed[len(scheme) + 3 :]
    if _host(named) == _host(rest):
        return True
    # A group may be the first part of a host under a domain that the author wrote, as in https://$1.example.org/
    end = _host(replacement.partition(b"://")[2]).rpartition(b"}" if b"}" in replacement else b"$1")[2]
    owned = not named and end.startswith(b".") and end.count(b".") > 1 and b"$" not in end
    return owned and _host(rest).endswith(end) and not set(_host(rest)) - _HOST_OCTETS


def _host(rest: bytes) -> bytes:
    """The text before the path, the query or the fragment."""
    for mark in (b"/", b"\\", b"?", b"#"):
        rest = rest.partition(mark)[0]
    return rest


def extended(url: bytes, suffix: bytes) -> bytes | None:
    """The target with the suffix of a longer name in place of ${suffix}, else at its end.

    The suffix is always placed after the host, so that it cannot change the site to which the target leads.
    Returns None if the target has ${suffix} in its host, or if the suffix contains `..` and the target is a
    path on this server.
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
    """The index of the end of the host; 0 if the target has no host."""
    start = url.find(b"://") + 3
    if start < 3 or url[: start - 3].translate(None, _LETTERS):
        return 0
    ends = [end for end in (url.find(mark, start) for mark in (b"/", b"?", b"#")) if end >= 0]
    return min(ends, default=len(url))


# -- targets in headers ----------------------------------------------------------------------------------------------


def location(url: bytes) -> bytes | None:
    """The target for a Location header; None if a reader must not or cannot be redirected there."""
    if not may_be_followed(url):
        return None
    if not url.translate(None, _URI):
        return url  # as nearly all are
    try:
        return to_uri(url)
    except InvalidError:
        return None


def to_uri(url: bytes) -> bytes:
    """The target in the characters of a URI: its host by IDNA, everything else percent-encoded.

    Raises InvalidError if the host is not ASCII and not a valid international domain name.
    """
    end = _path_start(url)
    if not url[:end].isascii():
        url = _with_ascii_host(url[:end]) + url[end:]
    return normalize_escapes(url, b"", _URI)


def _with_ascii_host(origin: bytes) -> bytes:
    """Scheme and authority of a URL, with the host by IDNA.  The user part is not changed."""
    start = max(origin.find(b"://") + 3, origin.rfind(b"@") + 1)
    host, colon, port = origin[start:].partition(b":")
    return origin[:start] + (host if host.isascii() else _to_idna(host)) + colon + port


def _to_idna(host: bytes) -> bytes:
    try:
        # The tables of this package take some milliseconds to load.
        import idna

        return idna.encode(host.decode("utf-8"), uts46=True)
    except ModuleNotFoundError:
        reason = "hosts outside ASCII need the package idna, which is not installed"
    except UnicodeDecodeError:
        reason = "it is not UTF-8"
    except UnicodeError as error:  # the base class of idna.IDNAError
        reason = str(error)
    text = printable(reason.encode())
    raise InvalidError(f"{printable(host[:_LONGEST_HOST])} is no valid host name: {text[:1].lower() + text[1:]}")


def may_be_followed(url: bytes) -> bool:
    """Whether a reader may be redirected to the target, judged by its scheme."""
    if url[:1] == b"/":
        return url[1:2] not in (b"/", b"\\")
    scheme, colon, rest = url.partition(b":")
    scheme = scheme.lower()
    if not colon or scheme not in SCHEMES:
        return False
    return scheme not in HIERARCHICAL or (rest[:2] == b"//" and rest[2:3] not in (b"", b"/", b"\\", b"?", b"#"))


def one_line(text: bytes) -> bytes:
    """The text with control characters percent-encoded."""
    if len(text.translate(None, _CONTROLS)) == len(text):
        return text
    return b"".join(b"%%%02X" % octet if octet in _CONTROLS else bytes((octet,)) for octet in text)
