"""Reads all that is known of a name or of a minter, in one read transaction.

Every function here is called inside a read transaction of the minter, and the facts that it returns hold nothing of
that transaction.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from .. import resolution
from ..errors import ForbiddenError, InvalidError, NotFoundError, printable
from ..minter import circulation, contexts, custody, lifecycle, policies
from ..minter.circulation import is_known
from ..minter.events import date_and_actor, read_events
from ..minter.history import numbers_of
from ..minter.identifiers import identify_parsed, own_identifier, parse_name, suggest_correction
from ..minter.lifecycle import tombstone_of
from ..minter.qualities import last_findings
from ..minter.relations import SUCCESSOR, Relation
from ..minter.relations.abstract_names import IDENTIFIER, find_abstraction
from ..minter.relations.abstractions import find_in_path, identify_with_abstract
from ..minter.visibility import everything
from ..names import citation
from .actions import name_actions
from .facts import (
    AbstractFacts,
    Element,
    MinterFacts,
    NameFacts,
    Party,
    PerformedAction,
    QualityStatement,
    RelatedName,
)
from .minter_gatherer import gather_minter, has_present, party_of, stated
from .relation_gatherer import cited_name, cited_other, gather_relations, place_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..minter import Minter
    from ..minter.lifecycle import Tombstone
    from ..minter.relations.abstract_names import Abstraction
    from ..names.targets import Target
    from ..resolution import Outcome
    from ..store import Reader


# Elements that describe in words the thing that is identified, the first that is bound counts.
_THING_ELEMENTS = (b"what", b"title", b"dc.title")

# Forms of a citation that are not spellings of the name.
_NOT_SPELLINGS = ("canonical", "check", "html", "markdown")

# Of so many events of a name, the newest, a description has the actions.
_MOST_EVENTS, _MOST_PUBLIC_EVENTS = 1_000, 50
_A_USER = b"a user of this minter"

# Elements whose names begin so, such as the target, are for programs and not part of a description.
_PRIVATE = b"_"


@dataclass(frozen=True, slots=True)
class Extent:
    """How much of a name is gathered.

    elements       at most so many elements; None is all
    longest_value  of a longer value only the beginning
    relations      at most so many relations, and only those in force; None is all, past ones included
    history        whether its events are read to find out since when it is in its state
    """

    elements: int | None
    longest_value: int
    relations: int | None
    history: bool


SUMMARY = Extent(elements=1_000, longest_value=20_000, relations=200, history=False)
"""For a page that a person reads, however much is bound to the name."""
COMPLETE = Extent(elements=None, longest_value=1 << 20, relations=None, history=True)
"""For a graph.  The limit keeps a document readable as a whole; `get` returns longer values."""


# -- a name ----------------------------------------------------------------------------------------------------------


def gather_text(minter: Minter, reader: Reader, text: bytes, extent: Extent = COMPLETE) -> NameFacts:
    """What is known of the name that a text spells, an alias not followed; raises NotFoundError if it is unknown."""
    # Where a name leads does not depend on who asks: rules are not applied to names hidden from this user.
    find = resolution.Lookup(minter, everything(reader)).find
    identifier = own_identifier(minter, reader, text)
    if identifier is not None and is_known(reader, identifier):
        return _gather(minter, reader, identifier, resolution.follow_aliases(find, identifier), extent)
    abstraction = identify_with_abstract(minter, reader, text)[1]
    if abstraction is not None:
        return _gather_abstract(minter, reader, abstraction, extent.relations)
    outcome = resolution.follow_aliases(find, text)
    if outcome.kind == resolution.FOUND and outcome.by == "rule":
        return _gather(minter, reader, outcome.identifier, outcome, extent)
    facts = _gather_elsewhere(minter, reader, text, extent)
    if facts is None:
        raise NotFoundError(f"there is nothing to describe: {printable(text[:200])} is not known here")
    return facts


def gather_outcome(
    reader: Reader, outcome: Outcome, text: bytes, extent: Extent, *, targets_only: bool = False
) -> NameFacts | None:
    """What is known of the name to which a text was resolved, or else of the known or abstract name that it spells.

    `reader` is of the minter in the outcome.  None if nothing is known.  With `targets_only` the facts are those that
    anybody may know.
    """
    minter = outcome.minter
    if minter is None:
        return None
    if outcome.kind in (resolution.FOUND, resolution.GONE) and outcome.by != "fallback":
        facts = _gather(minter, reader, outcome.identifier, outcome, extent)
        return _targets_only(facts) if targets_only else facts
    identifier = known_identifier(minter, reader, text)
    if identifier is None:
        return None if targets_only else _gather_unregistered(reader, outcome, text, extent)
    unresolved = resolution.Outcome(resolution.NOT_FOUND, minter, identifier)
    facts = _gather(minter, reader, identifier, unresolved, extent)
    return _targets_only(facts) if targets_only else facts


def gather_abstract(minter: Minter, reader: Reader, text: bytes, extent: Extent = SUMMARY) -> NameFacts | None:
    """What is known of something abstract whose name, in the path of a URL, is `text`; None if it is no such name."""
    abstraction = find_in_path(minter, reader, text)
    return None if abstraction is None else _gather_abstract(minter, reader, abstraction, extent.relations)


def _gather_unregistered(reader: Reader, outcome: Outcome, text: bytes, extent: Extent) -> NameFacts | None:
    minter = outcome.minter
    assert minter is not None
    facts = gather_abstract(minter, reader, text, extent)
    if facts is None and outcome.kind == resolution.NOT_FOUND:
        facts = _gather_elsewhere(minter, reader, text, extent)
    return facts


def _gather_elsewhere(minter: Minter, reader: Reader, text: bytes, extent: Extent) -> NameFacts | None:
    """What authorities state here of a name or a context that this minter does not manage; None if nothing."""
    try:
        ref = identify_with_abstract(minter, reader, text)[0]
    except InvalidError:
        return None  # too long, or empty
    relations = gather_relations(minter, reader, ref.key, extent.relations)
    statements = tuple(stated(reader, ref.key))
    if not relations and not statements:
        return None
    return NameFacts(
        name=cited_other(minter, ref.key, ref.display), identifier=ref.key, minter=gather_minter(minter, reader),
        state="", relations=relations, statements=statements, elsewhere=True,
    )


def _targets_only(facts: NameFacts) -> NameFacts:
    """The facts that are for those, too, who may not read: where the name leads, or its tombstone.

    Everything else is left out: what was added to the facts later is not published by oversight.
    """
    withdrawn = facts.state == lifecycle.WITHDRAWN_STATE
    minter = MinterFacts(
        name=facts.minter.name, namespace=facts.minter.namespace, names=facts.minter.names, base=facts.minter.base,
        custodians=(Party(b"unknown", start=facts.minter.custodians[-1].start, appointed=False),),
        policies=tuple(policy for policy in facts.minter.policies if policy.kind == policies.LABEL_FORMAT),
        initial_state=facts.minter.initial_state,
    )
    return NameFacts(
        name=facts.name, identifier=facts.identifier, minter=minter, state=facts.state, label=facts.label,
        state_since=facts.state_since if withdrawn else b"", date=facts.date if withdrawn else b"",
        minted=facts.minted, reason=facts.reason, successor=facts.successor, targets=facts.targets,
        requested_targets=facts.requested_targets, suffix=facts.suffix, statements=facts.statements,
        representations=facts.representations, actions=facts.actions,
    )


def known_identifier(minter: Minter, reader: Reader, text: bytes) -> bytes | None:
    """The identifier that a text spells, with or without its query, if anything is stored about it."""
    name = parse_name(minter, reader, text)
    try:
        ref = identify_parsed(minter, reader, name)
    except ForbiddenError:
        return None  # a wrong pepper
    keys = [ref.key] if ref.known else minter.namespace.without_query(name)
    return next((key for key in keys if is_known(reader, key)), None)


def suggested_name(minter: Minter, reader: Reader, text: bytes) -> bytes | None:
    """The name in circulation that was probably meant by a mistyped one; None if there is none, or several."""
    identifier = suggest_correction(minter, reader, parse_name(minter, reader, text))
    return None if identifier is None else cited_name(minter, identifier)


def _gather(
    minter: Minter, reader: Reader, identifier: bytes, outcome: Outcome, extent: Extent
) -> NameFacts:
    """The facts of an identifier of which this is the outcome, or the outcome of a longer name that extends it."""
    record = circulation.find(reader, identifier)
    state = lifecycle.state_of(reader, identifier, record) or ""
    tombstone = tombstone_of(reader, identifier)
    date = date_and_actor(reader, record.event)[0] if record and record.history else b""
    state_since = lifecycle.state_since(reader, identifier) if extent.history and not tombstone else b""
    # What was bound to a withdrawn name is in its history only.
    elements = () if tombstone else tuple(_elements(reader, identifier, extent))
    own_custodians = custody.custodians_of(reader, identifier)
    requested_targets = () if outcome.by == "fallback" else tuple(outcome.targets)
    forms = citation.representations(
        identifier, labels=minter.namespace.labels, resolvers=contexts.resolvers(reader), has_check=False
    )
    return NameFacts(
        name=cited_name(minter, identifier),
        identifier=identifier,
        minter=gather_minter(minter, reader),
        state=state,
        state_since=tombstone.date if tombstone else state_since,
        date=tombstone.date if tombstone else date,
        minted=tombstone.minted if tombstone else b"",
        reason=tombstone.reason if tombstone else b"",
        successor=_successor(minter, reader, tombstone),
        label=minter.scheme.without_prefix(identifier) or identifier,
        thing=_thing(elements),
        targets=_own_targets(outcome) if outcome.identifier == identifier else requested_targets,
        requested_targets=requested_targets,
        suffix=outcome.suffix,
        pattern=outcome.pattern,
        elements=elements,
        relations=gather_relations(minter, reader, identifier, extent.relations),
        findings=() if tombstone else tuple(last_findings(reader, identifier)),
        statements=(*_statements(forms, state, outcome), *stated(reader, identifier)),
        performed=tuple(_performed(reader, identifier)) if extent.history else (),
        representations=tuple((form, text) for form, text in forms if form not in _NOT_SPELLINGS),
        custodians=tuple(party_of(found) for found in own_custodians) if has_present(own_custodians) else (),
        actions=name_actions(
            minter.namespace.display(identifier), [text for form, text in forms if form == "web"],
            withdrawn=state == lifecycle.WITHDRAWN_STATE, resolves=state in (lifecycle.PUBLISHED_STATE, ""),
        ),
    )


def _gather_abstract(minter: Minter, reader: Reader, abstraction: Abstraction, limit: int | None) -> NameFacts:
    """What is known of something abstract."""
    context = find_abstraction(reader, abstraction.context) if abstraction.context else None
    return NameFacts(
        name=abstraction.display, identifier=abstraction.key, minter=gather_minter(minter, reader), state="",
        label=abstraction.label, thing=abstraction.about if abstraction.kind == IDENTIFIER else b"",
        relations=gather_relations(minter, reader, abstraction.key, limit),
        abstract=AbstractFacts(abstraction.kind, context.display if context else b"", abstraction.about,
                               abstraction.authority, abstraction.since),
    )


def _own_targets(outcome: Outcome) -> tuple[Target, ...]:
    """Where the identifier of an outcome leads, without what the requested name has beyond it."""
    if outcome.by == "fallback":
        return ()
    return tuple(resolution.Outcome(outcome.kind, outcome.minter, outcome.identifier, value=outcome.value).targets)


def _elements(reader: Reader, identifier: bytes, extent: Extent) -> Iterator[Element]:
    public = (pair for pair in circulation.elements_of(reader, identifier) if not pair[0].startswith(_PRIVATE))
    for name, value in islice(public, extent.elements):
        if len(value) > extent.longest_value:
            yield Element(name, value[: extent.longest_value], len(value))
        else:
            yield Element(name, value)


def _thing(elements: tuple[Element, ...]) -> bytes:
    values = {element.name: element.value for element in elements if not element.whole_size}
    return next((values[name] for name in _THING_ELEMENTS if values.get(name)), b"")


def _successor(minter: Minter, reader: Reader, tombstone: Tombstone | None) -> RelatedName | None:
    if tombstone is None or not tombstone.successor:
        return None
    name = cited_other(minter, tombstone.successor_key, tombstone.successor)
    successor = Relation(SUCCESSOR, tombstone.successor_key, tombstone.successor)
    elsewhere, address = place_of(minter, reader, successor)
    return RelatedName("successor", name, tombstone.successor, start=tombstone.date, elsewhere=elsewhere,
                       address=address)


def _statements(forms: list[tuple[str, bytes]], state: str, outcome: Outcome) -> tuple[QualityStatement, ...]:
    """The qualities that a name has because it can be cited in these forms, and because it is public."""
    qualities = ["citable", "print-citable", "speech-citable"]
    web = any(form == "web" for form, _ in forms)
    if web:
        qualities.append("web-citable")
    if state in (lifecycle.PUBLISHED_STATE, ""):
        # Anybody can build on the answers in JSON and RDF.
        qualities += ["actionable", "extensibly-actionable"]
        if web:
            qualities += ["web-actionable", *(("internet-resolvable", "web-resolvable") if outcome.targets else ())]
        if len(outcome.targets) > 1:
            qualities.append("multiply-resolvable")
    return tuple(QualityStatement(quality) for quality in qualities)


def _performed(reader: Reader, identifier: bytes) -> Iterator[PerformedAction]:
    """What was done to an identifier, the newest of very many.

    Whoever may only read learns of the newest few, and not who did it.
    """
    sees_all = everything(reader) is reader
    numbers = numbers_of(reader, identifier)[-(_MOST_EVENTS if sees_all else _MOST_PUBLIC_EVENTS) :]
    for event in read_events(reader, numbers):
        authorities = [change.after for change in event.changes if change.what == b"authority" and not change.element]
        authority = next((after for after in authorities if isinstance(after, bytes)), b"")
        outcome = event.details[0].endswith(b" 0 failing") if event.verb == b"verify" and event.details else None
        yield PerformedAction(event.number, event.verb.decode("utf-8", "replace"), event.who if sees_all else _A_USER,
                              event.interface.decode("utf-8", "replace"), event.date, authority, outcome)
