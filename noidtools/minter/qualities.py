"""Qualities that an authority states of a name or of the minter, because no software can find them out.

Sections are those of the PILIN ontology of identifier systems.  What can be found out is verified instead: see
findings.py.
"""

from __future__ import annotations

from ..codec import pack, pair, pair_prefix, split_pair, unpack
from ..errors import InvalidError, NotFoundError, UsageError, printable
from ..times import timestamp
from . import findings, identifiers
from .circulation import ensure_not_withdrawn
from .events import Change, record_event
from .relations import abstractions, ensure_authority
from .tables import STATED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..store import Reader, Writer
    from . import Minter
    from .events import Actor
    from .identifiers import NameRef

# Stands for the minter as a whole; no identifier is empty.
MINTER = b""
_LONGEST_CONTEXT = 1000


class StatableQuality:
    """A quality that can be stated.

    section      the section of the ontology that defines it
    of_minter    whether a minter can have it; an identifier always can
    refined_by   what refines it: `context` (in which context it holds), `quality` (of what it is a quality), or nothing
    """

    __slots__ = ("name", "of_minter", "refined_by", "section")

    def __init__(self, name: str, section: str, *, of_minter: bool = False, refined_by: str = "") -> None:
        self.name = name
        self.section = section
        self.of_minter = of_minter
        self.refined_by = refined_by


PERSISTENT = "persistent"
STATABLE = {quality.name: quality for quality in (
    StatableQuality("universal", "8.5", refined_by="context"),
    StatableQuality(PERSISTENT, "8.6", refined_by="quality"),
    StatableQuality("trusted", "8.8", of_minter=True),
    StatableQuality("reliable", "8.8", of_minter=True),
    StatableQuality("nameable", "8.13", of_minter=True),
)}
_REFINING_QUALITIES = (*(quality.name for quality in findings.QUALITIES), "actionable", *STATABLE)


class StatedQuality:
    """What an authority states of a name, or of the minter.

    quality       one of STATABLE
    authority     who states it
    holds         whether it is stated to hold, or not to
    refinement    the context or the quality that refines it; may be empty
    start, until  dates of fourteen digits; `until` is empty if no end is set
    event         the number of the event that recorded it
    """

    __slots__ = ("authority", "event", "holds", "quality", "refinement", "start", "until")

    def __init__(self, quality: str, authority: bytes, *, holds: bool = True, refinement: bytes = b"",
                 start: bytes = b"", until: bytes = b"", event: int = 0) -> None:
        self.quality = quality
        self.authority = authority
        self.holds = holds
        self.refinement = refinement
        self.start = start
        self.until = until
        self.event = event

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


def identify_subject(minter: Minter, reader: Reader, text: bytes) -> NameRef:
    """The name that a statement is about: one of this minter, of another system, or an abstract one."""
    return abstractions.identify_with_abstract(minter, reader, text)[0]


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
    stated.start = stated.start or timestamp(actor.now())
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
        raise UsageError(f"{len(found)} authorities state it: name the one that takes it back with --authority")
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
    return any(stated.quality == PERSISTENT and stated.holds and stated.authority == authority and stated.in_force(date)
               for stated in stated_qualities(reader, subject))


def _statable(word: str) -> StatableQuality:
    try:
        return STATABLE[word]
    except KeyError:
        raise UsageError(f"{word[:60]!r} is no quality that can be stated: say one of {', '.join(STATABLE)}") from None


def _ensure_refinement(quality: StatableQuality, refinement: bytes) -> None:
    if not refinement:
        return
    if not quality.refined_by:
        raise UsageError(f"{quality.name} has neither a context nor a kind: leave that out")
    if quality.refined_by == "quality" and printable(refinement) not in _REFINING_QUALITIES:
        raise UsageError(f"{printable(refinement)[:60]!r} is no quality that persists: say one of "
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
    changes = []
    old, new = _properties(before), _properties(after)
    for what in dict.fromkeys((*old, *new)):
        if old.get(what) != new.get(what) or what == "authority":
            changes.append(Change(what.encode(), old.get(what), new.get(what), subject))
    return changes


def _properties(stated: StatedQuality | None) -> dict[str, bytes]:
    if stated is None:
        return {}
    found = {stated.quality: b"yes" if stated.holds else b"no", "authority": stated.authority,
             "refinement": stated.refinement, "from": stated.start, "until": stated.until}
    return {what: value for what, value in found.items() if value}
