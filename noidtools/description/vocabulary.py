"""The Identifier Systems ontology: its files, IRIs for names and addresses, and its terms for the words of facts.

`identifier-systems.ttl` is the ontology, `shapes.ttl` says what a description must contain, `terms.md` says what the
software does for each term, and `model.ttl` is a template of what a description of a minter says of every minter.
"""

from __future__ import annotations

import re
from importlib import resources
from urllib.parse import quote

from ..codec import encode_text

ONTOLOGY = "identifier-systems.ttl"
SHAPES = "shapes.ttl"
MODEL = "model.ttl"
PIL = "https://w3id.org/noidtools/identifier-systems#"
"""The namespace of the document's terms; prefix `pil`."""
MINTERS = "https://w3id.org/noidtools/minter/"
"""What the IRIs of minters begin with."""
NOID = "https://w3id.org/noidtools/describe#"
"""The namespace of our own terms; prefix `noid`."""


def read(name: str) -> bytes:
    """The content of one of the files that ship with this package, such as `ONTOLOGY` or `SHAPES`."""
    return resources.files(__package__).joinpath(name).read_bytes()


# -- IRIs for identifiers and addresses that may contain any octet ---------------------------------------------------
# A name in a scheme that has its own IRIs (`ark:/13030/x`, `hdl:100/x`) keeps it,
# with whatever an IRI cannot hold percent-encoded, because the URL-encoding of a
# name is a representation of the same name.  Any other name is put after a base,
# with every percent sign encoded too, so that different names get different IRIs.

NAME_SCHEMES = frozenset(("ark", "doi", "hdl", "http", "https", "info", "urn"))
"""Schemes of names that stand as IRIs by themselves."""
ADDRESS_SCHEMES = NAME_SCHEMES | {"ftp", "ftps", "mailto"}
"""Schemes in which a stored target is an address; `javascript:` and the like are not."""

# RFC 3986: unreserved, sub-delims and what pchar adds; then what may also stand in a whole IRI.
_PATH = "-._~!$&'()*+,;=:@/"
_ENCODABLE = re.compile(rb"%(?![0-9A-Fa-f]{2})|[^A-Za-z0-9%?/:@!$&'()*+,;=~._-]")
_IP_LITERAL = re.compile(rb"//(?:[A-Za-z0-9._~-]*@)?\[[0-9A-Fa-f:.]+\](?::[0-9]+)?(?=[/?#]|$)")


def name_iri(name: str, base: str) -> str:
    """The IRI of a name: its own where its scheme has IRIs, else `base` followed by the name."""
    scheme, colon, rest = name.partition(":")
    if colon and rest and scheme.isascii() and scheme.lower() in NAME_SCHEMES:
        return scheme.lower() + ":" + _encode(rest)
    return base + quote(encode_text(name), safe=_PATH)


def address(value: str) -> str | None:
    """The IRI that a stored target is, or None where it is no address."""
    scheme, colon, rest = value.partition(":")
    if not (colon and rest and scheme.isascii() and scheme.lower() in ADDRESS_SCHEMES):
        return None
    body, hash_, fragment = rest.partition("#")
    return scheme.lower() + ":" + _encode(body) + hash_ + _encode(fragment)


def part_iri(whole: str, part: str, detail: str = "") -> str:
    """The IRI of something that belongs to what `whole` names, such as its label."""
    joint = "-" if "#" in whole else "#"
    return whole + joint + part + ("-" + quote(encode_text(detail), safe="") if detail else "")


def _encode(text: str) -> str:
    octets = encode_text(text)
    host = _IP_LITERAL.match(octets)
    literal = host.group() if host else b""
    rest = octets[len(literal) :]
    return (literal + _ENCODABLE.sub(lambda found: b"%%%02X" % found.group()[0], rest)).decode("ascii")


# -- The words of facts and the ontology's terms for them ------------------------------------------------------------

# Words for which the ontology has no term, so that we have one of our own.
_OWN = frozenset(("bound", "check-sound", "well-formed", "withdrawn"))


def _terms(words: str) -> dict[str, str]:
    """The term for each of some words: `pil:PrintCite` for print-cite."""
    return {word: f"{'noid' if word in _OWN else 'pil'}:{word.title().replace('-', '')}" for word in words.split()}


# A name that is unavailable for a while is known to the public all the same.
STATES = _terms("reserved published withdrawn") | {"unavailable": "pil:Published"}
POLICIES = {
    "label-format": "pil:LabelFormatPolicy",
    "access": "pil:AccessPolicy",
    "association": "pil:AssociationPolicy",
    "persistence": "noid:PersistenceCommitment",
}
ACTIONS = _terms(
    "act allocate assign cite create delegate deregister identify print-cite publish query register represent reserve "
    "resolve retrieve speech-cite verify web-cite"
)

# The medium through which a citation goes.
MEDIA = {"print-cite": "pil:Print", "speech-cite": "pil:Speech", "web-cite": "pil:Web"}

# Those of the actions that are an Act, so that offering them makes an identifier actionable (9.8).
ACTS = frozenset(("act", "query", "resolve", "retrieve", "verify"))
QUALITIES = _terms(
    "accountable actionable bound check-sound citable encoded extensibly-actionable internet-resolvable "
    "multiply-resolvable nameable persistent print-citable published registered reliable reserved resolvable "
    "retrievable speech-citable trusted unique universal verifiable verified web-actionable web-citable web-resolvable "
    "well-formed withdrawn"
)

# The state decides about these; a statement of them alone makes nobody a member of the class.
BY_STATE = frozenset(("published", "registered", "reserved", "withdrawn"))
