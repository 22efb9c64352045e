"""IRIs for identifiers and addresses that may contain any octet.

A name in a scheme that has its own IRIs (`ark:/13030/x`, `hdl:100/x`) keeps it,
with whatever an IRI cannot hold percent-encoded, because the URL-encoding of a
name is a representation of the same name.  Any other name is put behind a base,
with every percent sign encoded too, so that different names get different IRIs.
"""

from __future__ import annotations

import re
from urllib.parse import quote

NAME_SCHEMES = frozenset((b"ark", b"doi", b"hdl", b"http", b"https", b"info", b"urn"))
"""Schemes of names that stand as IRIs by themselves."""

ADDRESS_SCHEMES = NAME_SCHEMES | {b"ftp", b"ftps", b"mailto"}
"""Schemes in which a stored target is an address; `javascript:` and the like are not."""

# RFC 3986: unreserved, sub-delims and what pchar adds; then what may also stand in a whole IRI.
_PATH = "-._~!$&'()*+,;=:@/"
_ENCODABLE = re.compile(rb"%(?![0-9A-Fa-f]{2})|[^A-Za-z0-9%?/:@!$&'()*+,;=~._-]")
_IP_LITERAL = re.compile(rb"//(?:[A-Za-z0-9._~-]*@)?\[[0-9A-Fa-f:.]+\](?::[0-9]+)?(?=[/?#]|$)")


def name_iri(name: bytes, base: str) -> str:
    """The IRI of a name: its own where its scheme has IRIs, else `base` with the name behind it."""
    scheme, colon, rest = name.partition(b":")
    if colon and rest and scheme.lower() in NAME_SCHEMES:
        return scheme.decode("ascii").lower() + ":" + _encode(rest)
    return base + quote(name, safe=_PATH)


def address(value: bytes) -> str | None:
    """The IRI that a stored target is, or None where it is no address."""
    scheme, colon, rest = value.partition(b":")
    if not (colon and rest and scheme.lower() in ADDRESS_SCHEMES):
        return None
    body, hash_, fragment = rest.partition(b"#")
    return scheme.decode("ascii").lower() + ":" + _encode(body) + (hash_.decode() + _encode(fragment))


def part_iri(whole: str, part: str, detail: bytes = b"") -> str:
    """The IRI of something that belongs to what `whole` names, such as its label."""
    joint = "-" if "#" in whole else "#"
    return whole + joint + part + ("-" + quote(detail, safe="") if detail else "")


def _encode(octets: bytes) -> str:
    host = _IP_LITERAL.match(octets)
    kept = host.group() if host else b""
    return (kept + _ENCODABLE.sub(lambda found: b"%%%02X" % found.group()[0], octets[len(kept) :])).decode("ascii")
