"""Qualities of names: those that can be verified, with the last results, and those that an authority states.

Sections are those of the PILIN ontology of identifier systems.

The findings about an identifier are stored in two parts: the one about the address, which needs the network and is
verified less often, and all others.  Each part is the date and the codes of the findings, followed by their details.

What no software can find out, an authority states of a name or of the minter.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..codec import pack, pair, pair_end, pair_prefix, split_pair, unpack
from ..errors import InvalidError, NotFoundError, UsageError, printable
from . import identifiers
from .circulation import ensure_not_withdrawn
from .events import property_changes, record_event
from .relations import ensure_authority
from .relations.abstract import identify_with_abstract
from .schema import STATED, VERIFIED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..store import Reader, Writer
    from . import Minter
    from .events import Actor, Change
    from .identifiers import NameRef

    # An identifier, all findings but that about the address, with their codes before them; and that finding, None if
    # it was not verified.
    Verified = tuple[bytes, bytes, list["Finding"], "Finding | None"]


# -- qualities that are verified -------------------------------------------------------------------------------------

HOLDS, FAILS, UNKNOWN = "holds", "fails", "unknown"
_SIGNS = {HOLDS: b"+", FAILS: b"-", UNKNOWN: b"?"}
_VERDICTS = {sign: verdict for verdict, sign in _SIGNS.items()}


@dataclass(frozen=True, slots=True)
class Quality:
    """A quality that an identifier has or has not.

    letter   its code in the database
    section  the section of the ontology that defines it
    rule     what it demands
    """

    name: str
    letter: bytes
    section: str
    rule: str


REGISTERED = Quality("registered", b"r", "9.3", "something is kept about the name here")
WELL_FORMED = Quality("well-formed", b"f", "3.7", "the label has the form that its context demands")
CHECK_SOUND = Quality("check-sound", b"c", "3.6", "the check character is the one that the others demand")
UNIQUE = Quality("unique", b"u", "8.4", "the name is kept in one spelling, and was given once where that is promised")
BOUND = Quality("bound", b"b", "9.7", "something is bound to the name, or it stands for another")
RESOLVABLE = Quality("resolvable", b"v", "9.9", "the name leads to an address")
RETRIEVABLE = Quality("retrievable", b"t", "9.10", "the address answers")
ACCOUNTABLE = Quality("accountable", b"a", "8.7", "somebody who can be reached answers for the name")
PERSISTENT = Quality("persistent", b"p", "8.6", "the time for which it was promised has not passed")
UNIVERSAL = Quality("universal", b"n", "8.5", "no other name here leads to the same address")
QUALITIES = (
    REGISTERED, WELL_FORMED, CHECK_SOUND, UNIQUE, BOUND, RESOLVABLE, RETRIEVABLE, ACCOUNTABLE, PERSISTENT, UNIVERSAL,
)
_BY_LETTER = {quality.letter: quality for quality in QUALITIES}


@dataclass(slots=True)
class Finding:
    """The result of verifying one quality of one identifier.

    verdict  HOLDS, FAILS or UNKNOWN
    detail   why, in words; may be empty
    date     when it was stored, empty if it is not stored yet
    common   whether it is the same for all identifiers, because it follows from the minter's settings and policies
    """

    quality: Quality
    verdict: str
    detail: str = ""
    date: bytes = b""
    common: bool = field(default=False, kw_only=True)

    @property
    def code(self) -> bytes:
        """Quality and verdict in two bytes."""
        return self.quality.letter + _SIGNS[self.verdict]

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


def save_findings(writer: Writer, date: bytes, results: list[Verified]) -> None:
    """Store the findings about many identifiers.  An earlier finding about the address stays if there is no new one."""
    before = writer.get_many([(VERIFIED, identifier) for identifier, *_ in results])
    writer.put_many(VERIFIED, sorted(
        (identifier, _pack_findings(date, codes, findings, link, packed))
        for (identifier, codes, findings, link), packed in zip(results, before, strict=True)
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


# -- qualities that are stated ---------------------------------------------------------------------------------------

# Stands for the minter as a whole; no identifier is empty.
MINTER = b""
_LONGEST_CONTEXT = 1000


@dataclass(frozen=True, slots=True)
class StatableQuality:
    """A quality that can be stated.

    section      the section of the ontology that defines it
    of_minter    whether a minter can have it; an identifier always can
    refined_by   what refines it: `context` (in which context it holds), `quality` (of what it is a quality), or nothing
    """

    name: str
    section: str
    of_minter: bool = False
    refined_by: str = ""


STATABLE = {quality.name: quality for quality in (
    StatableQuality(UNIVERSAL.name, "8.5", refined_by="context"),
    StatableQuality(PERSISTENT.name, "8.6", refined_by="quality"),
    StatableQuality("trusted", "8.8", of_minter=True),
    StatableQuality("reliable", "8.8", of_minter=True),
    StatableQuality("nameable", "8.13", of_minter=True),
)}
_REFINING_QUALITIES = (*(quality.name for quality in QUALITIES), "actionable", *STATABLE)


@dataclass(slots=True)
class StatedQuality:
    """What an authority states of a name, or of the minter.

    quality       one of STATABLE
    authority     who states it
    holds         whether it is stated to hold, or not to
    refinement    the context or the quality that refines it; may be empty
    start, until  dates of fourteen digits; `until` is empty if no end is set
    event         the number of the event that recorded it
    """

    quality: str
    authority: bytes
    holds: bool = True
    refinement: bytes = b""
    start: bytes = b""
    until: bytes = b""
    event: int = 0

    def in_force(self, date: bytes) -> bool:
        """Whether it is stated for a date of fourteen digits."""
        return self.start <= date and (not self.until or date <= self.until)


def stated_qualities(reader: Reader, subject: bytes) -> Iterator[StatedQuality]:
    """What authorities state of a name, as stored, or of the minter."""
    for key, packed in reader.scan(STATED, pair_prefix(subject)):
        quality, authority = split_pair(split_pair(key)[1])
        holds, refinement, start, until, event = unpack(packed)
        # A later release may know more qualities than this one.
        if quality.decode("utf-8", "replace") in STATABLE:
            yield StatedQuality(quality.decode(), authority, holds=holds == b"+", refinement=refinement, start=start,
                                until=until, event=int(event))


def has_stated_of_names(reader: Reader) -> bool:
    """Whether anything is stated of any name."""
    return next(iter(reader.scan(STATED, after=pair_end(MINTER), limit=1)), None) is not None


def identify_subject(minter: Minter, reader: Reader, text: bytes) -> NameRef:
    """The name that a statement is about: one of this minter, of another system, or an abstract one."""
    return identify_with_abstract(minter, reader, text)[0]


def state_quality(
    minter: Minter, writer: Writer, actor: Actor, stated: StatedQuality, text: bytes | None = None
) -> tuple[NameRef | None, StatedQuality]:
    """Record what an authority states of a name, or without one of the minter, in place of what it stated before.

    Without a start it holds from now on.  Raises UsageError for what is no such quality, or for a refinement that does
    not fit; ConflictError for a withdrawn name.
    """
    ensure_authority(stated.authority)
    quality = _statable(stated.quality)
    _ensure_refinement(quality, stated.refinement)
    ref = None
    if text is not None:
        ref = identify_subject(minter, writer, text)
        identifiers.ensure_pepper(writer, ref)
        ensure_not_withdrawn(ref.display, ref.record, f"stated to be {quality.name}")
    elif not quality.of_minter:
        raise UsageError(f"{quality.name} is a quality of identifiers: name one")
    stated.start = stated.start or actor.date()
    if stated.until and stated.until < stated.start:
        raise UsageError(f"the span would end ({stated.until.decode()}) before it begins ({stated.start.decode()})")
    subject = ref.key if ref else MINTER
    before = _find(writer, subject, stated.quality, stated.authority)
    stated.event = _record(writer, actor, b"quality", subject, before, stated)
    fields = (b"+" if stated.holds else b"-", stated.refinement, stated.start, stated.until, b"%d" % stated.event)
    writer.put(STATED, _key(subject, stated), pack(fields))
    return ref, stated


def remove_quality(
    minter: Minter, writer: Writer, actor: Actor, quality: str, text: bytes | None = None, authority: bytes = b""
) -> tuple[NameRef | None, StatedQuality]:
    """Take back what an authority states; `authority` may be empty if only one states it.

    Raises NotFoundError if nobody does, UsageError if several do and none is named, ConflictError for a withdrawn name.
    """
    _statable(quality)
    ref = None
    if text is not None:
        ref = identify_subject(minter, writer, text)
        identifiers.ensure_pepper(writer, ref)
        ensure_not_withdrawn(ref.display, ref.record, "changed")
    subject = ref.key if ref else MINTER
    found = [stated for stated in stated_qualities(writer, subject)
             if stated.quality == quality and authority in (b"", stated.authority)]
    if not found:
        of = printable(ref.display) if ref else "this minter"
        raise NotFoundError(f"nobody states whether {of} is {quality}, or not the one who was named")
    if len(found) > 1:
        raise UsageError(f"{len(found)} authorities state it: name the one whose statement is removed")
    _record(writer, actor, b"quality remove", subject, found[0], None)
    writer.delete(STATED, _key(subject, found[0]))
    return ref, found[0]


def clear_qualities(writer: Writer, subject: bytes) -> list[Change]:
    """Remove all that is stated of an identifier that is minted again.  Returns the changes, for the caller."""
    changes = []
    for stated in list(stated_qualities(writer, subject)):
        writer.delete(STATED, _key(subject, stated))
        changes += _changes(subject, stated, None)
    return changes


def guarantees_persistence(reader: Reader, subject: bytes, authority: bytes, date: bytes) -> bool:
    """Whether an authority states, for a date, that a name is persistent."""
    return any(stated.quality == PERSISTENT.name and stated.holds and stated.authority == authority
               and stated.in_force(date) for stated in stated_qualities(reader, subject))


def _statable(word: str) -> StatableQuality:
    try:
        return STATABLE[word]
    except KeyError:
        raise UsageError(f"{word[:60]!r} is not a quality that can be stated: use one of "
                         f"{', '.join(STATABLE)}") from None


def _ensure_refinement(quality: StatableQuality, refinement: bytes) -> None:
    if not refinement:
        return
    if not quality.refined_by:
        raise UsageError(f"{quality.name} has neither a context nor a kind: leave that out")
    if quality.refined_by == "quality" and printable(refinement) not in _REFINING_QUALITIES:
        raise UsageError(f"{printable(refinement)[:60]!r} is not a quality that persists: use one of "
                         f"{', '.join(dict.fromkeys(_REFINING_QUALITIES))}")
    if len(refinement) > _LONGEST_CONTEXT or any(byte < 0x20 for byte in refinement):
        raise InvalidError(f"a context is named in one line of 1 to {_LONGEST_CONTEXT} bytes")


def _find(reader: Reader, subject: bytes, quality: str, authority: bytes) -> StatedQuality | None:
    return next((stated for stated in stated_qualities(reader, subject)
                 if (stated.quality, stated.authority) == (quality, authority)), None)


def _key(subject: bytes, stated: StatedQuality) -> bytes:
    return pair(subject, pair(stated.quality.encode(), stated.authority))


def _record(
    writer: Writer, actor: Actor, verb: bytes, subject: bytes, before: StatedQuality | None, after: StatedQuality | None
) -> int:
    ids = [] if subject == MINTER else [subject]
    return record_event(writer, actor, verb, ids=ids, changes=_changes(subject, before, after))


def _changes(subject: bytes, before: StatedQuality | None, after: StatedQuality | None) -> list[Change]:
    return property_changes(subject, _properties(before), _properties(after), always=("authority",))


def _properties(stated: StatedQuality | None) -> dict[str, bytes]:
    if stated is None:
        return {}
    return {stated.quality: b"yes" if stated.holds else b"no", "authority": stated.authority,
            "refinement": stated.refinement, "from": stated.start, "until": stated.until}
