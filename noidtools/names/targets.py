"""Targets: where a name leads, parsed from a bound value and written as a Location header.

A bound value may hold several targets separated by `|`, each of which may begin
with its own redirect code: `303 https://example.org/a|https://mirror.example/a`.
Only the first line is used, so that a target never becomes more than one line.
"""

from __future__ import annotations

from ..codec import UNRESERVED, normalize_escapes, percent_decode
from ..errors import InvalidError, printable

CODES = (b"301", b"302", b"303", b"307", b"308")
USUAL_CODE = 302

# The variables of a target without their dollar sign, each with the attribute of TemplateValues that it stands for.
# Those of the whole name include what a longer name has beyond the bound one.
_WHOLE = {b"{content}": "content", b"{value}": "value", b"{pid}": "pid", b"{name}": "pid", b"{suffix}": "suffix"}
_PARTS = {b"{identifier}": "identifier", b"{prefix}": "prefix", b"{scheme}": "scheme"}

# The URI schemes to which a reader may be redirected.  Other values (javascript:, data:, file:, a sentence) are
# displayed instead.
HIERARCHICAL = (b"http", b"https", b"ftp", b"ftps")
SCHEMES = (*HIERARCHICAL, b"mailto")
_LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

# RFC 3986, 2.2 and 2.3: the characters of a URI, except the percent sign of escapes.
_URI = UNRESERVED + b":/?#[]@!$&'()*+,;="
_CONTROLS = bytes(range(0x20)) + b"\x7f"

# Tables for bytes.translate, the quickest way to find octets of a kind: they change all octets but those of a URI; or
# change all controls.
_URI_CHECK = bytes(octet if octet in _URI else octet ^ 0x80 for octet in range(256))
_CONTROLS_CHECK = bytes(octet ^ 0x80 if octet in _CONTROLS else octet for octet in range(256))

# What a segment of the path begins with at which a minter takes commands.  Servers may undo escapes more than once.
_COMMANDS = b"noidu"
_MOST_DECODINGS = 4
_IGNORED = _CONTROLS + b" "

# What may follow the name of a host in a URL; nothing may, too.
_AFTER_HOST = (b"", b"/", b"?", b"#", b":", b"|", b" ", b"\n", b"\r")

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
    line = value.strip()
    if b"|" not in line and line[:1] != b"3" and b"\n" not in line and b"\r" not in line:
        return [Target(line)] if line else []  # as nearly all are
    return [Target(value[start:end], code) for start, end, code in _spans(value)]


def _spans(value: bytes) -> list[tuple[int, int, int]]:
    """Of each target in a bound value where its URL starts and ends, and its code."""
    at = len(value) - len(value.lstrip())
    line = value.strip()
    if b"\n" in line or b"\r" in line:
        line = line.splitlines()[0]
    found = []
    for part in line.split(b"|"):
        url, code = part.strip(), 0
        if url[:3] in CODES and url[3:4].isspace():
            url, code = url[4:].lstrip(), int(url[:3])
        if url:
            end = at + len(part.rstrip())
            found.append((end - len(url), end, code))
        at += len(part) + 1
    return found


def replace_beginning(value: bytes, old: bytes, new: bytes) -> bytes:
    """A bound value in which `new` takes the place of `old` in every target that begins with it; codes stay.

    If `new` begins with `old`, targets that begin with `new` stay, too, so that doing it again changes nothing.  If
    `old` ends within the name of a host, what follows it must not belong to that name: https://a.example is not the
    beginning of https://a.example.org/.
    """
    if old not in value:
        return value
    whole_host = b"/" not in old.partition(b"://")[2] and b"?" not in old and b"://" in old
    is_extended = new.startswith(old)
    out, place = [], 0
    for start, _, _ in _spans(value):
        end = start + len(old)
        if (value.startswith(old, start) and not (whole_host and value[end : end + 1] not in _AFTER_HOST)
                and not (is_extended and value.startswith(new, start))):
            out += [value[place:start], new]
            place = end
    return b"".join((*out, value[place:]))


# -- targets computed by rules and suffixes --------------------------------------------------------------------------

_HOST_OCTETS = frozenset(_LETTERS + b"0123456789-.")
_SCHEME_OCTETS = _LETTERS + b"0123456789+-."


def stays(value: bytes, written: bytes) -> bool:
    """Whether the author of a rule chose the site of every target that the rule computed.

    `written` has a byte for each of the value: 1 if the author wrote it, 0 if it comes from the name that a reader
    asked for.
    """
    return all(_is_authors(value[start:end], written[start:end]) for start, end, _ in _spans(value))


def _is_authors(url: bytes, written: bytes) -> bool:
    """Whether the author wrote all that decides to which site a URL leads."""
    if b"\0" not in written:
        return True
    if url[:1] in (b"/", b"\\"):
        # A path on this server, but two slashes name a host; browsers take a backslash for a slash.
        return url[1:2] not in (b"/", b"\\") or _is_authors_host(url, written, 2)
    scheme, colon, rest = url.partition(b":")
    if not colon or not scheme or scheme.translate(None, _SCHEME_OCTETS):
        return True  # not a URL: nobody is redirected to it
    start = len(scheme) + 1
    if b"\0" in written[:start]:
        return False
    if scheme.lower() == b"mailto":
        return _is_authors_mailbox(rest, written[start:])
    if scheme.lower() in HIERARCHICAL or rest[:2] == b"//":
        return rest[:2] == b"//" and _is_authors_host(url, written, start + 2)
    return True


def _is_authors_host(url: bytes, written: bytes, start: int) -> bool:
    """Whether the author wrote the host that starts here, or at least the domain at its end: https://$1.example.org/

    A backslash does not end a host: in a header it is an escaped character, which may be part of a user's name.
    """
    end = min((end for end in (url.find(mark, start) for mark in (b"/", b"?", b"#")) if end >= 0), default=len(url))
    if start == end or b"\0" in written[:start]:
        return False
    host, own = url[start:end], written[start:end]
    if b"\0" not in own:
        return True
    tail = host[own.rfind(b"\0") + 1 :]
    domain = tail[tail.find(b".") :] if b"." in tail else b""
    return domain.count(b".") > 1 and _HOST_OCTETS.issuperset(host)


def _is_authors_mailbox(rest: bytes, written: bytes) -> bool:
    """Whether the author wrote where a mail goes: a reader's letters may come before the `@` or after the `?`."""
    read = bytes(octet for octet, own in zip(rest, written, strict=True) if not own)
    address = rest.partition(b"?")[0]
    domain = address.rfind(b"@")
    return domain >= 0 and b"\0" not in written[domain : len(address)] and not read.translate(None, UNRESERVED)


class TemplateValues:
    """What the variables of a target stand for, for the name ark:/12345/x6np1/c3 where 12345/x6np1 is bound.

    identifier  ark:/12345/x6np1, the bound name
    suffix      /c3, what the name has beyond it, with its query
    pid         the whole name as it was asked for
    scheme, prefix, value   ark, 12345 and x6np1/c3
    content     12345/x6np1/c3
    """

    __slots__ = ("scheme", "content", "pid", "identifier", "suffix")

    def __init__(self, suffix: bytes, content: bytes = b"", *, scheme: bytes = b"", pid: bytes = b"",
                 identifier: bytes = b"") -> None:
        self.suffix = suffix
        self.content = content
        self.scheme = scheme
        self.pid = pid
        self.identifier = identifier

    @property
    def prefix(self) -> bytes:
        return self.content.partition(b"/")[0] if b"/" in self.content else b""

    @property
    def value(self) -> bytes:
        return self.content.partition(b"/")[2] or self.content


def has_variables(url: bytes) -> bool:
    """Whether a target has variables."""
    return any(_variable(piece)[0] for piece in url.split(b"$")[1:])


def _variable(piece: bytes) -> tuple[str, int]:
    """What the variable stands for that begins a piece of a target after a dollar sign, and its length; empty if there
    is none."""
    if piece[:1] == b"{":
        word = piece[: piece.find(b"}") + 1]
        return _WHOLE.get(word) or _PARTS.get(word, ""), len(word)
    is_id = piece[:2] == b"id" and not (piece[2:3].isalnum() or piece[2:3] == b"_")
    return ("content" if is_id else ""), 2


def extended(url: bytes, values: TemplateValues) -> bytes | None:
    """The target with its variables replaced, and the suffix of a longer name at its end, unless a variable has it.

    What a reader adds is always placed after the host, so that it cannot change the site to which the target leads.
    Returns None if the target has a variable in its host, if what the reader adds contains `..` and the target is a
    path on this server, or if the target is the address of a mailbox.
    """
    start, suffix = _path_start(url), values.suffix
    if suffix and url[:7].lower() == b"mailto:":
        return None
    first, *pieces = url.split(b"$")
    out, place, inserted = [first], len(first), list[bytes]()
    for piece in pieces:
        stands_for, length = _variable(piece)
        if not stands_for:
            out.append(b"$" + piece)
        elif place < start:
            return None
        else:
            inserted.append(getattr(values, stands_for))
            out += (inserted[-1], piece[length:])
            if stands_for in _WHOLE.values():
                suffix = b""
        place += len(piece) + 1
    if url[:1] == b"/" and any(map(_climbs, (*inserted, suffix))):
        return None
    longer = b"".join(out)
    if suffix:
        longer = _with_suffix(longer, suffix)
    return _on_same_site(url, longer) if suffix or inserted else url


def _with_suffix(url: bytes, suffix: bytes) -> bytes:
    """A target with what a longer name has beyond the bound one."""
    base, mark, fragment = url.partition(b"#")
    if _path_start(url) == len(base) and suffix[:1] not in (b"/", b"?", b"#"):
        base += b"/"
    if suffix[:1] == b"/" and base[-1:] == b"/":
        suffix = suffix[1:]
    elif suffix[:1] == b"?" and b"?" in base:
        suffix = b"&" + suffix[1:]
    return base + suffix + mark + fragment


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


def site_of(url: bytes) -> bytes:
    """Host and port of a URL, in lower case and without the usual ports; empty if it has no host."""
    _, mark, rest = url[: _path_start(url)].partition(b"://")
    site = rest.rpartition(b"@")[2].lower().removesuffix(b":80").removesuffix(b":443")
    return site.rstrip(b".") if mark else b""


def host_of(url: bytes) -> bytes:
    """The host of a URL, in lower case; empty if it has none."""
    site = site_of(url)
    return (site.partition(b"]")[0] + b"]" if site[:1] == b"[" else site.partition(b":")[0]).rstrip(b".")


# -- targets in headers ----------------------------------------------------------------------------------------------


def location(url: bytes) -> bytes | None:
    """The target for a Location header; None if a reader must not or cannot be redirected there."""
    if not may_be_followed(url):
        return None
    if url.translate(_URI_CHECK) == url:
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
    raise InvalidError(f"{printable(host[:_LONGEST_HOST])} is not a valid host name: {text[:1].lower() + text[1:]}")


def may_be_followed(url: bytes) -> bool:
    """Whether a reader may be redirected to the target, judged by its scheme and its path."""
    if leads_to_commands(url):
        return False
    if url[:1] == b"/":
        return url[1:2] not in (b"/", b"\\")
    scheme, colon, rest = url.partition(b":")
    scheme = scheme.lower()
    if not colon or scheme not in SCHEMES:
        return False
    return scheme not in HIERARCHICAL or (rest[:2] == b"//" and rest[2:3] not in (b"", b"/", b"\\", b"?", b"#"))


def leads_to_commands(url: bytes) -> bool:
    """Whether a part of the path begins with `noidu`, as the addresses do at which minters take commands.

    A reader who is redirected there would give the command that the author of the target chose, with the reader's own
    login.  Under which host names a server is known cannot be seen here, so this holds for every host.
    """
    if b"%" not in url and _COMMANDS not in url.lower():
        return False  # as nearly all are
    start = _path_start(url)
    if not start and url[:1] not in (b"/", b"\\"):
        return False
    path = url[start:].partition(b"#")[0].partition(b"?")[0]
    for _ in range(_MOST_DECODINGS):
        decoded = percent_decode(path)
        if decoded == path:
            break
        path = decoded
    return any(part.lstrip(_IGNORED).startswith(_COMMANDS) for part in path.lower().replace(b"\\", b"/").split(b"/"))


def one_line(text: bytes) -> bytes:
    """The text with control characters percent-encoded."""
    if text.translate(_CONTROLS_CHECK) == text:
        return text
    return b"".join(b"%%%02X" % octet if octet in _CONTROLS else bytes((octet,)) for octet in text)
