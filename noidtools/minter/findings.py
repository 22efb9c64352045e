"""Qualities of identifiers that can be verified, the rule each comes from, and what was found when that was last done.

The sections are those of the PILIN ontology of identifier systems.
"""

from __future__ import annotations

from ..codec import pack, unpack
from .tables import VERIFIED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..store import Reader, Writer

HOLDS, FAILS, UNKNOWN = "holds", "fails", "unknown"
_SIGNS = {HOLDS: b"+", FAILS: b"-", UNKNOWN: b"?"}
_VERDICTS = {sign: verdict for verdict, sign in _SIGNS.items()}


class Quality:
    """`letter` stands for it in the database; `section` and `rule` are where it comes from and what it demands."""

    __slots__ = ("letter", "name", "rule", "section")

    def __init__(self, name: str, letter: bytes, section: str, rule: str) -> None:
        self.name = name
        self.letter = letter
        self.section = section
        self.rule = rule
REGISTERED = Quality("registered", b"r", "9.3", "something is kept about the name here")
WELL_FORMED = Quality("well-formed", b"f", "3.7", "the label has the form that its context demands")
CHECK_SOUND = Quality("check-sound", b"c", "3.6", "the check character is the one that the others demand")
UNIQUE = Quality("unique", b"u", "8.4", "the name is kept in one spelling, and was given once where that is promised")
BOUND = Quality("bound", b"b", "9.7", "something is bound to the name, or it stands for another")
RESOLVABLE = Quality("resolvable", b"v", "9.9", "the name leads to an address")
RETRIEVABLE = Quality("retrievable", b"t", "9.10", "the address answers")
ACCOUNTABLE = Quality("accountable", b"a", "8.7", "somebody who can be reached answers for the name")
PERSISTENT = Quality("persistent", b"p", "8.6", "the time for which it was promised has not passed")
QUALITIES = (
    REGISTERED, WELL_FORMED, CHECK_SOUND, UNIQUE, BOUND, RESOLVABLE, RETRIEVABLE, ACCOUNTABLE, PERSISTENT,
)
_BY_LETTER = {quality.letter: quality for quality in QUALITIES}


class Finding:
    """What was found about one quality of one identifier.

    date    when, empty if it is not yet kept
    common  whether it is found of all identifiers alike, since it comes from what the minter says of itself
    """

    __slots__ = ("code", "common", "date", "detail", "quality", "verdict")

    def __init__(
        self, quality: Quality, verdict: str, detail: str = "", date: bytes = b"", *, common: bool = False
    ) -> None:
        self.quality = quality
        self.verdict = verdict
        self.detail = detail
        self.date = date
        self.common = common
        # Quality and verdict in two bytes.
        self.code = quality.letter + _SIGNS[verdict]

    def line(self) -> bytes:
        """The verdict, the section of the rule, and the detail."""
        told = f"{self.verdict} ({self.quality.section})" + (f": {self.detail}" if self.detail else "")
        return told.encode("utf-8", "surrogateescape")

    def data(self) -> dict[str, object]:
        facts: dict[str, object] = {
            "quality": self.quality.name, "verdict": self.verdict, "section": self.quality.section,
        }
        if self.detail:
            facts["detail"] = self.detail.encode("utf-8", "surrogateescape")
        if self.date:
            facts["date"] = self.date
        return facts


def verdicts(codes: bytes) -> list[tuple[str, str]]:
    """Names of qualities and the verdicts on them, from the codes of findings in a row."""
    return [
        (_BY_LETTER[codes[place : place + 1]].name, _VERDICTS[codes[place + 1 : place + 2]])
        for place in range(0, len(codes), 2)
    ]


def has_failure(codes: bytes) -> bool:
    return _SIGNS[FAILS] in codes


# How findings are kept: the one about the address that answers, which costs more and is made less often, apart from
# the others.  Each part is the date and the codes of the findings, and then their details.


class Verified:
    """What was found about one identifier: the codes of the findings, the findings, and that about the address."""

    __slots__ = ("identifier", "codes", "findings", "link")

    def __init__(self, identifier: bytes, codes: bytes, findings: list[Finding], link: Finding | None) -> None:
        self.identifier = identifier
        self.codes = codes
        self.findings = findings
        self.link = link


def save_findings(writer: Writer, date: bytes, found: list[Verified]) -> None:
    """Store what was found about many identifiers on a date; where the web was not asked, what it told stays."""
    before = writer.get_many([(VERIFIED, one.identifier) for one in found])
    writer.put_many(VERIFIED, sorted((one.identifier, _pack_findings(date, one.codes, one.findings, one.link, packed))
                                     for one, packed in zip(found, before, strict=True)))


def _pack_findings(
    date: bytes, codes: bytes, findings: list[Finding], link: Finding | None, before: bytes | None
) -> bytes:
    parts = unpack(before) if before else [b"", b""]
    # Why something is not known is mostly the same for all identifiers, and can be asked again at any time.
    parts[0] = _pack_part(date + codes, ["" if finding.verdict == UNKNOWN else finding.detail for finding in findings])
    if link is not None:
        parts[1] = _pack_part(date + link.code, [link.detail])
    return pack(parts)


def _pack_part(head: bytes, texts: list[str]) -> bytes:
    details = [text.encode("utf-8", "surrogateescape") for text in texts]
    while details and not details[-1]:
        details.pop()
    return pack((head, *details))


def last_findings(reader: Reader, identifier: bytes) -> list[Finding]:
    """What was found when an identifier was last verified, with the date; nothing if it never was."""
    packed = reader.get(VERIFIED, identifier)
    if packed is None:
        return []
    found = [finding for part in unpack(packed) if part for finding in _findings(part)]
    return sorted(found, key=lambda finding: QUALITIES.index(finding.quality))


def _findings(part: bytes) -> Iterable[Finding]:
    head, *details = unpack(part)
    date, codes = head[:14], head[14:]
    for place in range(0, len(codes), 2):
        # A later release may know more qualities than this one.
        quality = _BY_LETTER.get(codes[place : place + 1])
        verdict = _VERDICTS[codes[place + 1 : place + 2]]
        detail = details[place // 2] if place // 2 < len(details) else b""
        if quality is not None:
            yield Finding(quality, verdict, detail.decode("utf-8", "surrogateescape"), date)
