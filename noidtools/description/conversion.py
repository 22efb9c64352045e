"""From the records of a minter, which are bytes, to typed values, which are text: facts, events, changes of state.

As in facts.py, octets that are not UTF-8 are surrogate escapes, and dates are datetimes in UTC.  A function that has a
reader is called inside a transaction of the minter.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import islice

from ..codec import decode_text
from ..dates import utc_datetime
from ..minter import Minter, config, contexts, qualities
from ..minter.circulation import is_known
from ..minter.custody import Custodian, element_of
from ..minter.events import Change, Digest, Event
from ..minter.identifiers import NameRef, is_well_formed, resolvers
from ..minter.importing import refusal_of
from ..minter.lifecycle import StateChange, Tombstone
from ..minter.qualities import Finding, StatedQuality
from ..minter.relations import HOMOLOGOUS_NAME, HOMOLOGUE, Abstraction, Relation, find_abstraction
from ..minter.relations.claims import all_relations, homology_scopes
from ..names import citation
from ..names.targets import USUAL_CODE, Target
from ..resolution import CACHE, FALLBACK, PASSTHROUGH, USUAL_CACHE, target_element
from ..resolution.settings import canaries
from ..store import Reader
from ..times import system_clock, timestamp
from .facts import (
    AbstractName,
    ContextClaim,
    CustodyPeriod,
    NameRelation,
    QualityClaim,
    QualityFinding,
    RedirectTarget,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..minter.check.examination import Fault, Result
    from ..minter.tokens import Token
    from ..transfer.importer import ImportReport
    from ..transfer.retarget import BulkReport

# -- events and changes of state -------------------------------------------------------------------------------------

# In place of a stored date that is damaged.
_NO_DATE = datetime(1, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True, slots=True)
class Transition:
    """The state of an identifier before and after; `unqueued` is whether it was removed from the queue."""

    identifier: str
    before: str | None
    after: str
    unqueued: bool


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """An identifier that was withdrawn or is unavailable (its `state`) since `date`.

    `minted` is None for one that was never minted; `reason` and `successor` may be empty.
    """

    identifier: str
    date: datetime
    minted: datetime | None
    reason: str
    successor: str
    state: str = "withdrawn"


@dataclass(frozen=True, slots=True)
class ValueDigest:
    """What is recorded of a value that is too long to record whole: its size in bytes, and its SHA-256 in hex."""

    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class ChangedValue:
    """The change of one property or element in an event.

    identifier  whose it is; None where it is the minter's, or alike for all identifiers of the event
    what        a property such as state or hold, or the name of an element
    is_element  whether `what` is the name of an element
    before      the value before; None if there was none
    after       the value after; None if it was removed
    """

    identifier: str | None
    what: str
    is_element: bool
    before: str | ValueDigest | None
    after: str | ValueDigest | None


@dataclass(frozen=True, slots=True)
class MintCount:
    """How many identifiers an event minted, of how many requested; the first and the last of them."""

    made: int
    requested: int
    first: str
    last: str


@dataclass(frozen=True, slots=True)
class HistoryEvent:
    """An event: a change of the minter.

    number       events are numbered from 1 on
    date         when
    who          by whom
    interface    through which interface: python, shell, or one of the web
    action       the command, such as mint or bind set
    identifiers  which it concerned; empty for mintings, which have `minted` instead
    changes      what became of each thing that it changed
    minted       for a minting, how many were made
    details      further words, in no particular form
    bindings     for a change of many names at once, how many bindings it changed; else None
    """

    number: int
    date: datetime
    who: str
    interface: str
    action: str
    identifiers: tuple[str, ...]
    changes: tuple[ChangedValue, ...]
    minted: MintCount | None
    details: tuple[str, ...]
    bindings: int | None = None


# -- changes of many names, and the administration of a minter -------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LeftBinding:
    """A binding that a change of many left as it is, and why."""

    identifier: str
    element: str
    reason: str


@dataclass(frozen=True, slots=True)
class BulkChange:
    """A change of many bindings; of a dry run, what would be done.

    event    the number of its event, by which it can be undone; 0 if nothing was changed
    changed  how many bindings
    left     those that were left as they are although they were meant
    rules    how many rules contain the old address; they are never changed
    """

    event: int
    changed: int
    left: tuple[LeftBinding, ...]
    rules: int = 0


@dataclass(frozen=True, slots=True)
class ImportResult:
    """What an import did, or of a dry run would do.

    event     the number of its event, by which the bindings can be undone; 0 if nothing was changed
    records   how many of the file were imported
    added     how many identifiers were not known before
    bound, same, kept  how many bindings were made, were there already, or were kept in spite of the file
    refused   the records that were left out: the number of the line, and why
    partial   how many were imported without their alias or their tombstone
    left_out  whether the file had something that only a whole minter can have
    """

    event: int
    records: int
    added: int
    bound: int
    same: int
    kept: int
    refused: tuple[tuple[int, str], ...]
    partial: int
    left_out: bool


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What an examination of the database found.  True or false as a condition: whether nothing is wrong.

    items   how many were examined
    faults  what is wrong, in sentences; of more than a thousand only the first, and `more` is the number of the others
    mended  what was wrong and was mended
    """

    items: int
    faults: tuple[str, ...]
    more: int
    mended: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return not self.faults


@dataclass(frozen=True, slots=True)
class AccessToken:
    """A token without its secret: to which access classes it is admitted, until when, and when it was used last.

    most   how many identifiers it may mint in one request; None for what the policy of the minter allows
    total  how many it may mint in all, of which it has `minted` so many; None for any number
    """

    name: str
    classes: tuple[str, ...]
    created: datetime
    expires: datetime | None
    used: datetime | None
    most: int | None
    total: int | None
    minted: int


@dataclass(frozen=True, slots=True)
class ResolverSettings:
    """How the names of a minter are resolved.

    element      the element that holds targets
    fallback     the resolver to which names are sent that do not resolve here; empty if there is none
    passthrough  whether what follows a bound name is added to its target
    canaries     where the names must lead that are checked
    cache        the Cache-Control header of answers about names
    """

    element: str
    fallback: str
    passthrough: bool
    canaries: tuple[tuple[str, str], ...]
    cache: str = ""


@dataclass(frozen=True, slots=True)
class CanaryResult:
    """Where a canary leads, and where it must lead.  True or false as a condition: whether that is the same."""

    name: str
    target: str
    expected: str

    def __bool__(self) -> bool:
        return self.target == self.expected


@dataclass(frozen=True, slots=True)
class NamingContext:
    """The labels of a minter, what its names are for, the web resolvers, and what else its context is called."""

    labels: tuple[str, ...]
    purpose: str
    resolvers: tuple[str, ...]
    aliases: tuple[ContextClaim, ...]


# -- dates -----------------------------------------------------------------------------------------------------------


def moment(stamp: bytes) -> datetime | None:
    """A stored date; None where there is none."""
    return required_moment(stamp) if stamp else None


def required_moment(stamp: bytes) -> datetime:
    """A stored date; the beginning of the year 1 if it is damaged."""
    try:
        return utc_datetime(stamp)
    except ValueError:
        return _NO_DATE


def timestamp_text(moment: datetime | None) -> str:
    """A date in fourteen digits, as it is stored; empty for None."""
    if moment is None:
        return ""
    return moment.isoformat()[:19].replace("-", "").replace(":", "").replace("T", "")


# -- from the records of a minter ------------------------------------------------------------------------------------


def transition(minter: Minter, change: StateChange) -> Transition:
    """The change of the state of an identifier."""
    return Transition(decode_text(minter.namespace.display(change.identifier)), change.before, change.after,
                      change.unqueued)


def withdrawal(ref: NameRef, tombstone: Tombstone) -> Withdrawal:
    """An identifier that was withdrawn or is unavailable."""
    state = "unavailable" if ref.record is not None and ref.record.unavailable else "withdrawn"
    return Withdrawal(
        decode_text(ref.display), required_moment(tombstone.date), moment(tombstone.minted),
        decode_text(tombstone.reason), decode_text(tombstone.successor), state,
    )


def history_event(minter: Minter, event: Event) -> HistoryEvent:
    """An event, with names as the minter writes them."""
    display, tally = minter.namespace.display, event.tally
    minted = None
    if tally is not None:
        minted = MintCount(tally.minted, tally.requested, decode_text(tally.first), decode_text(tally.last))
    return HistoryEvent(
        number=event.number, date=required_moment(event.date), who=decode_text(event.who),
        interface=decode_text(event.interface), action=decode_text(event.verb),
        identifiers=tuple(decode_text(display(identifier)) for identifier in event.ids),
        changes=tuple(_changed_value(minter, event, change) for change in event.changes),
        minted=minted,
        details=tuple(map(decode_text, event.details)), bindings=event.bulk,
    )


def _changed_value(minter: Minter, event: Event, change: Change) -> ChangedValue:
    subject = event.subject(change)
    return ChangedValue(
        decode_text(minter.namespace.display(subject)) if subject else None, decode_text(change.what), change.element,
        _recorded(change.before), _recorded(change.after),
    )


def _recorded(value: bytes | Digest | None) -> str | ValueDigest | None:
    if isinstance(value, Digest):
        return ValueDigest(value.size, value.sha256.hex())
    return None if value is None else decode_text(value)


def bulk_change(minter: Minter, report: BulkReport, *, rules: int = 0) -> BulkChange:
    """What was done to many bindings."""
    display = minter.namespace.display
    return BulkChange(report.number, report.changed, tuple(
        LeftBinding(decode_text(display(key)), decode_text(element), decode_text(reason))
        for key, element, reason in report.left), rules)


def import_result(report: ImportReport) -> ImportResult:
    """What an import did."""
    refused = tuple((line, decode_text(reason)) for line, _, status in report.lines
                    if (reason := refusal_of(status)) is not None)
    return ImportResult(report.number, report.records, report.added, report.bound, report.same, report.kept,
                        refused, report.partial, report.left_out)


def check_result(result: Result, mended: Iterable[Fault] = ()) -> CheckResult:
    """What is wrong in the database, and what was mended."""
    return CheckResult(result.items, tuple(fault.sentence for fault in result.faults), result.more,
                       tuple(fault.sentence for fault in mended))


def access_token(token: Token) -> AccessToken:
    """A token without its secret."""
    return AccessToken(token.name.decode(), token.classes, required_moment(token.created), moment(token.expires),
                       moment(token.used), token.most, token.total, token.minted)


def resolver_settings(reader: Reader) -> ResolverSettings:
    """The settings of a resolver, defaults included."""
    return ResolverSettings(
        decode_text(target_element(reader)), decode_text(config.value(reader, FALLBACK) or b""),
        config.value(reader, PASSTHROUGH) != b"off",
        tuple((name, decode_text(target)) for name, target in canaries(reader).items()),
        decode_text(config.value(reader, CACHE) or USUAL_CACHE))


def naming_context(minter: Minter, reader: Reader) -> NamingContext:
    """What is stated of the context of a minter's names."""
    return NamingContext(
        tuple(map(decode_text, minter.labels)), decode_text(contexts.purpose(reader)),
        tuple(map(decode_text, resolvers(reader))),
        tuple(ContextClaim(claim.alias, claim.target, moment(claim.since), claim.authority)
              for claim in contexts.context_aliases(reader)))


# -- relations, custodians, qualities, targets -----------------------------------------------------------------------


def gather_relations(
    minter: Minter, reader: Reader, key: bytes, display: bytes, limit: int | None = None, *, now: bytes = b""
) -> tuple[NameRelation, ...]:
    """The relations of a name, as stored, with those that follow from them.

    display  the name as written in answers
    limit    at most this number of relations, and only those in force; None is all
    now      the date, if not that of the system's clock
    """
    now = now or timestamp(system_clock())
    found = (name_relation(minter, reader, display, relation, now) for relation in all_relations(reader, key, now)
             if limit is None or relation.holds_at(now))
    return tuple(islice(found, limit))


def name_relation(minter: Minter, reader: Reader, display: bytes, relation: Relation, now: bytes) -> NameRelation:
    """A relation of a name; `display` is the name as written in answers."""
    other = _other(minter, relation)
    abstract = find_abstraction(reader, relation.other)
    scopes: list[Abstraction] = []
    if relation.kind in (HOMOLOGUE, HOMOLOGOUS_NAME):
        scopes = homology_scopes(minter, reader, display, other, now)
    elsewhere = not abstract and bool(relation.other) and _is_elsewhere(minter, reader, relation.other)
    return NameRelation(
        identifier=decode_text(display), relation=relation.word, name=decode_text(other),
        authority=decode_text(relation.authority), start=moment(relation.start), until=moment(relation.until),
        current=relation.holds_at(now), event=relation.event,
        cited=cited_other(minter, relation.other, other), abstract=abstract.kind if abstract else "",
        scopes=tuple(decode_text(scope.display) for scope in scopes), derived=relation.derived, elsewhere=elsewhere,
        address=decode_text(citation.public_address(other)) if elsewhere else "",
    )


def _other(minter: Minter, relation: Relation) -> bytes:
    """The other name of a relation as it was given; releases before 0.2.0 put the label of the minter before it."""
    other = relation.display or relation.other
    with_label = other == minter.with_label(relation.other)
    return minter.namespace.display(relation.other) if with_label else other


def _is_elsewhere(minter: Minter, reader: Reader, key: bytes) -> bool:
    """Whether a name, as stored, is none of this minter."""
    return not is_known(reader, key) and (minter.scheme.free or not is_well_formed(minter, reader, key))


def cited_other(minter: Minter, key: bytes, display: bytes) -> str:
    """Another name as it is cited; one of this minter gets its label."""
    return decode_text(minter.namespace.cite(key) if minter.namespace.owns(key) else display)


def abstract_name(reader: Reader, abstraction: Abstraction) -> AbstractName:
    """Something abstract, with the name of its context."""
    context = find_abstraction(reader, abstraction.context) if abstraction.context else None
    return AbstractName(
        decode_text(abstraction.display), abstraction.kind, decode_text(abstraction.label),
        decode_text(abstraction.about), decode_text(abstraction.authority), required_moment(abstraction.since),
        decode_text(context.display) if context else "",
    )


def custody_period(minter: Minter, custodian: Custodian) -> CustodyPeriod:
    """A custodian of an identifier or of the minter."""
    of = decode_text(minter.namespace.display(custodian.of)) if custodian.of else None
    return CustodyPeriod(
        decode_text(custodian.name), decode_text(custodian.contact), moment(custodian.start), moment(custodian.until),
        of, decode_text(custodian.purpose), element=decode_text(element_of(custodian.purpose)),
    )


def quality_claim(of: str | None, stated: StatedQuality) -> QualityClaim:
    """What an authority states of a name, or of the minter if `of` is None."""
    return QualityClaim(
        of, stated.quality, stated.holds, decode_text(stated.refinement), decode_text(stated.authority),
        moment(stated.start), moment(stated.until),
    )


def stated_qualities(reader: Reader, subject: bytes, of: str | None) -> tuple[QualityClaim, ...]:
    """All that authorities state of a name, or of the minter."""
    return tuple(quality_claim(of, stated) for stated in qualities.stated_qualities(reader, subject))


def quality_finding(finding: Finding) -> QualityFinding:
    """What a verification found."""
    quality = finding.quality
    return QualityFinding(quality.name, finding.verdict, finding.detail, moment(finding.date), quality.section,
                          quality.rule)


def redirect_targets(targets: Iterable[Target]) -> tuple[RedirectTarget, ...]:
    """Targets with the code that is used where none is given."""
    return tuple(RedirectTarget(decode_text(target.url), target.code or USUAL_CODE) for target in targets)
