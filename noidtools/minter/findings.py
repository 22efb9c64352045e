"""Qualities of identifiers that can be verified, and the results of the last verification of each identifier.

Sections are those of the PILIN ontology of identifier systems.

The findings about an identifier are stored in two parts: the one about the address, which needs the network and is
verified less often, and all others.  Each part is the date and the codes of the findings, followed by their details.
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
    """A quality that an identifier has or has not.

    letter   its code in the database
    section  the section of the ontology that defines it
    rule     what it demands
    """

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
    """The result of verifying one quality of one identifier.

    verdict  HOLDS, FAILS or UNKNOWN
    detail   why, in words; may be empty
    date     when it was stored, empty if it is not stored yet
    common   whether it is the same for all identifiers, because it follows from the minter's settings and policies
    code     quality and verdict in two bytes
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
        self.code = quality.letter + _SIGNS[verdict]

    def line(self) -> bytes:
        """The verdict, the section of the rule, and the detail."""
        text = f"{self.verdict} ({self.quality.section})" + (f": {self.detail}" if self.detail else "")
        return text.encode("utf-8", "surrogateescape")

    def data(self) -> dict[str, object]:
        """The finding for JSON."""
        facts: dict[str, object] = {
            "quality": self.quality.name, "verdict": self.verdict, "section": self.quality.section,
        }
        if self.detail:
            facts["detail"] = self.detail.encode("utf-8", "surrogateescape")
        if self.date:
            facts["date"] = self.date
        return facts


def verdicts(codes: bytes) -> list[tuple[str, str]]:
    """Names of qualities and their verdicts, from concatenated codes of findings."""
    return [
        (_BY_LETTER[codes[place : place + 1]].name, _VERDICTS[codes[place + 1 : place + 2]])
        for place in range(0, len(codes), 2)
    ]


def has_failure(codes: bytes) -> bool:
    """Whether any of the findings with these codes fails."""
    return _SIGNS[FAILS] in codes


class VerifiedIdentifier:
    """The findings about one identifier, to be stored.

    findings  all findings but that about the address
    codes     their codes, concatenated
    link      the finding about the address; None if it was not verified
    """

    __slots__ = ("identifier", "codes", "findings", "link")

    def __init__(self, identifier: bytes, codes: bytes, findings: list[Finding], link: Finding | None) -> None:
        self.identifier = identifier
        self.codes = codes
        self.findings = findings
        self.link = link


def save_findings(writer: Writer, date: bytes, results: list[VerifiedIdentifier]) -> None:
    """Store the findings about many identifiers.  An earlier finding about the address stays if there is no new one."""
    before = writer.get_many([(VERIFIED, result.identifier) for result in results])
    writer.put_many(VERIFIED, sorted(
        (result.identifier, _pack_findings(date, result.codes, result.findings, result.link, packed))
        for result, packed in zip(results, before, strict=True)
    ))


def _pack_findings(
    date: bytes, codes: bytes, findings: list[Finding], link: Finding | None, before: bytes | None
) -> bytes:
    parts = unpack(before) if before and is_sound(before) else [b"", b""]
    # The details of unknown findings are not stored: most are the same for all identifiers, and verifying shows them.
    parts[0] = _pack_part(date + codes, ["" if finding.verdict == UNKNOWN else finding.detail for finding in findings])
    if link is not None:
        parts[1] = _pack_part(date + link.code, [link.detail])
    return pack(parts)


def _pack_part(head: bytes, texts: list[str]) -> bytes:
    details = [text.encode("utf-8", "surrogateescape") for text in texts]
    while details and not details[-1]:
        details.pop()
    return pack((head, *details))


def is_sound(packed: bytes) -> bool:
    """Whether stored findings can be read: two parts, each a date, codes of two bytes and details, or empty."""
    try:
        parts = unpack(packed)
        heads = [unpack(part)[0] for part in parts if part]
        whole = pack(parts) == packed and all(pack(unpack(part)) == part for part in parts if part)
    except IndexError:
        return False
    return whole and len(parts) == 2 and all(
        head[:14].isdigit() and len(head) >= 14 and not len(head) % 2
        and all(head[place : place + 1] in _VERDICTS for place in range(15, len(head), 2)) for head in heads)


def last_findings(reader: Reader, identifier: bytes) -> list[Finding]:
    """The stored findings about an identifier, in the order of QUALITIES; none if it was never verified."""
    packed = reader.get(VERIFIED, identifier)
    if packed is None:
        return []
    findings = [finding for part in unpack(packed) if part for finding in _findings(part)]
    return sorted(findings, key=lambda finding: QUALITIES.index(finding.quality))


def _findings(part: bytes) -> Iterable[Finding]:
    head, *details = unpack(part)
    date, codes = head[:14], head[14:]
    for place in range(0, len(codes), 2):
        # A later release may know more qualities than this one.
        quality, verdict = _BY_LETTER.get(codes[place : place + 1]), _VERDICTS.get(codes[place + 1 : place + 2])
        detail = details[place // 2] if place // 2 < len(details) else b""
        if quality is not None and verdict is not None:
            yield Finding(quality, verdict, detail.decode("utf-8", "surrogateescape"), date)
