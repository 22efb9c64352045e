"""Reads what is known of a name or of a minter, in one transaction.

Every function here that has a reader is called inside a transaction of the minter; what it returns holds nothing of
that transaction.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from uuid import NAMESPACE_URL, uuid5

from .. import names, resolution
from ..codec import decode_text
from ..errors import ForbiddenError, InvalidError, NotFoundError, printable
from ..minter import Minter, circulation, config, contexts, custody, lifecycle, policies, qualities
from ..minter.circulation import is_known
from ..minter.events import date_and_actor, read_events
from ..minter.history import numbers_of
from ..minter.identifiers import identify, identify_parsed, own_identifier, parse_name, resolvers
from ..minter.lifecycle import Tombstone, tombstone_of
from ..minter.policies import PUBLISH, AccessPolicy, everything, minting_policy, sees_all_names
from ..minter.qualities import last_findings
from ..minter.relations import IDENTIFIER, SUCCESSOR, Abstraction, Relation
from ..minter.relations.abstract import find_in_path, identify_with_abstract
from ..names import citation
from ..resolution import Outcome
from ..schemes.base import Settings
from ..store import Reader
from .bibliography import CITED, plain_element
from .conversion import (
    abstract_name,
    cited_other,
    custody_period,
    gather_relations,
    moment,
    name_relation,
    quality_finding,
    redirect_targets,
    stated_qualities,
)
from .facts import (
    CitationForm,
    ContextClaim,
    CustodyPeriod,
    MinterDescription,
    NameDescription,
    NameRelation,
    OfferedAction,
    PerformedAction,
    PolicyStatement,
    QualityClaim,
    RedirectTarget,
)
from .missing import without_code
from .vocabulary import MINTERS

# Elements that describe in words the thing that is identified; the first that is bound counts.
_THING_ELEMENTS = ("what", "title", "dc.title")

# Forms of a citation that are not spellings of the name.
_NOT_SPELLINGS = ("canonical", "check", "html", "markdown")

# A description has the actions of at most this number of events of a name, the newest.
_MOST_EVENTS, _MOST_PUBLIC_EVENTS = 1_000, 50
_A_USER = "a user of this minter"

# Elements whose names begin so, such as the target, are for programs and not part of a description.
_PRIVATE = b"_"


@dataclass(frozen=True, slots=True)
class Extent:
    """How much of a name is gathered.

    elements       at most this number of elements; None is all
    longest_value  of a longer value only the beginning
    relations      at most this number of relations, and only those in force; None is all, past ones included
    complete       whether to gather what only a graph or a program uses, such as its actions, spellings and events, and
                   the policies of its minter
    """

    elements: int | None
    longest_value: int
    relations: int | None
    complete: bool


SUMMARY = Extent(elements=1_000, longest_value=20_000, relations=200, complete=False)
"""For a page that a person reads, however much is bound to the name."""
COMPLETE = Extent(elements=None, longest_value=1 << 20, relations=None, complete=True)
"""For a graph or a program.  The limit keeps a document readable as a whole; `get` returns longer values."""


# -- a name ----------------------------------------------------------------------------------------------------------


def gather_text(minter: Minter, reader: Reader, text: bytes) -> NameDescription:
    """What is known of the name that a text spells, an alias not followed; raises NotFoundError if it is unknown."""
    # Where a name leads does not depend on who asks: rules are not applied to names hidden from this user.
    find = resolution.Lookup(minter, everything(reader)).find
    identifier = own_identifier(minter, reader, text)
    if identifier is not None and is_known(reader, identifier):
        return _gather(minter, reader, identifier, resolution.follow_aliases(find, identifier), COMPLETE)
    abstraction = identify_with_abstract(minter, reader, text)[1]
    if abstraction is not None:
        return _gather_abstract(minter, reader, abstraction, COMPLETE)
    outcome = resolution.follow_aliases(find, text)
    if outcome.kind == resolution.FOUND and outcome.by == "rule":
        return _gather(minter, reader, outcome.identifier, outcome, COMPLETE)
    facts = _gather_elsewhere(minter, reader, text, COMPLETE)
    if facts is None:
        raise NotFoundError(f"there is nothing to describe: {printable(text[:200])} is not known here")
    return facts


def gather_outcome(
    reader: Reader, outcome: Outcome, text: bytes, extent: Extent, *, targets_only: bool = False,
    about: MinterDescription | None = None,
) -> NameDescription | None:
    """What is known of the name to which a text was resolved, or else of the known or abstract name that it spells.

    `reader` is of the minter in the outcome.  None if nothing is known.  With `targets_only` the facts are those that
    anybody may know.  `about` is what is known of the minter, if that was gathered already.
    """
    minter = outcome.minter
    if minter is None:
        return None
    if outcome.by == resolution.DEPARTURE and not is_known(reader, outcome.identifier):
        return None
    if outcome.kind in (resolution.FOUND, resolution.GONE, resolution.UNAVAILABLE) and outcome.by != "fallback":
        resolved = outcome
    elif (identifier := known_identifier(minter, reader, text)) is not None:
        resolved = resolution.Outcome(resolution.NOT_FOUND, minter, identifier)
    elif targets_only:
        return None
    else:
        abstract = gather_abstract(minter, reader, text, extent)
        if abstract is not None or outcome.kind != resolution.NOT_FOUND:
            return abstract
        return _gather_elsewhere(minter, reader, text, extent)
    facts = _gather(minter, reader, resolved.identifier, resolved, extent, about)
    return _targets_only(facts) if targets_only else facts


def gather_abstract(minter: Minter, reader: Reader, text: bytes, extent: Extent) -> NameDescription | None:
    """What is known of something abstract whose name, in the path of a URL, is `text`; None if it is no such name."""
    abstraction = find_in_path(minter, reader, text)
    return None if abstraction is None else _gather_abstract(minter, reader, abstraction, extent)


def _gather_elsewhere(minter: Minter, reader: Reader, text: bytes, extent: Extent) -> NameDescription | None:
    """What authorities state here of a name or a context that this minter does not manage; None if nothing."""
    try:
        ref = identify_with_abstract(minter, reader, text)[0]
    except InvalidError:
        return None  # too long, or empty
    name = cited_other(minter, ref.key, ref.display)
    relations = gather_relations(minter, reader, ref.key, ref.display, extent.relations)
    statements = stated_qualities(reader, ref.key, name)
    if not relations and not statements:
        return None
    return NameDescription(
        name=name, identifier=decode_text(ref.key), minter=gather_minter(minter, reader, complete=extent.complete),
        state="", relations=relations, statements=statements, elsewhere=True,
    )


def _targets_only(facts: NameDescription) -> NameDescription:
    """The facts that are for those, too, who may not read: where the name leads, or its tombstone.

    Everything else is left out: what was added to the facts later is not published by oversight.
    """
    withdrawn = facts.state in (lifecycle.WITHDRAWN_STATE, lifecycle.UNAVAILABLE_STATE)
    minter = MinterDescription(
        iri=facts.minter.iri, name=facts.minter.name,
        namespace=facts.minter.namespace, names=facts.minter.names, base=facts.minter.base,
        custodians=(CustodyPeriod("unknown", start=facts.minter.custodians[-1].start, appointed=False),),
        policies=tuple(policy for policy in facts.minter.policies if policy.kind == policies.LABEL_FORMAT),
        initial_state=facts.minter.initial_state,
    )
    return NameDescription(
        name=facts.name, identifier=facts.identifier, minter=minter, state=facts.state, label=facts.label,
        state_since=facts.state_since if withdrawn else None, date=facts.date if withdrawn else None,
        minted=facts.minted, reason=facts.reason, successor_relation=facts.successor_relation, targets=facts.targets,
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


def _gather(
    minter: Minter, reader: Reader, identifier: bytes, outcome: Outcome, extent: Extent,
    about: MinterDescription | None = None,
) -> NameDescription:
    """The facts of an identifier of which this is the outcome, or the outcome of a longer name that extends it."""
    record = circulation.find(reader, identifier)
    state = lifecycle.state_of(reader, identifier, record) or ""
    name = decode_text(minter.namespace.cite(identifier))
    tombstone = tombstone_of(reader, identifier)
    elements, whole_sizes = _elements(reader, identifier, extent)
    withdrawn, cited = state == lifecycle.WITHDRAWN_STATE, {}
    if withdrawn:
        # All else that was bound to it is in its history only.
        cited = {element: value for element, value in elements.items() if plain_element(element) in CITED}
        elements, whole_sizes = {}, {}
    requested_targets = () if outcome.by == "fallback" else redirect_targets(outcome.targets)
    date = date_and_actor(reader, record.event)[0] if record and record.history else b""
    own_custodians = custody.custodians_of(reader, identifier)
    facts = NameDescription(
        name=name,
        identifier=decode_text(identifier),
        minter=about or gather_minter(minter, reader, complete=extent.complete),
        state=state,
        state_since=moment(tombstone.date) if tombstone else None,
        date=moment(tombstone.date if tombstone and withdrawn else date),
        changed=_last_change(reader, identifier),
        minted=moment(tombstone.minted) if tombstone else None,
        reason=decode_text(tombstone.reason) if tombstone else "",
        successor_relation=_successor(minter, reader, identifier, tombstone),
        label=decode_text(minter.scheme.without_prefix(identifier) or identifier),
        thing=next((elements[key] for key in _THING_ELEMENTS
                    if without_code(elements.get(key, "")) and key not in whole_sizes), ""),
        targets=_own_targets(outcome) if outcome.identifier == identifier else requested_targets,
        requested_targets=requested_targets,
        archived=_archived(reader, state, requested_targets),
        suffix=decode_text(outcome.suffix),
        pattern=decode_text(outcome.pattern),
        elements=elements,
        withdrawn_elements=cited,
        whole_sizes=whole_sizes,
        relations=gather_relations(minter, reader, identifier, minter.namespace.display(identifier), extent.relations),
        findings=() if withdrawn else tuple(map(quality_finding, last_findings(reader, identifier))),
        statements=stated_qualities(reader, identifier, name),
        custodians=tuple(custody_period(minter, one) for one in own_custodians) if custody.present(own_custodians)
        else (),
    )
    return _completed(minter, reader, identifier, outcome, facts) if extent.complete else facts


def _archived(reader: Reader, state: str, found: tuple[RedirectTarget, ...]) -> str:
    """The address of archived copies of the first target of a published name, where the minter offers them."""
    if state != lifecycle.PUBLISHED_STATE or config.value(reader, resolution.WAYBACK) != b"on":
        return ""
    return next((f"https://web.archive.org/web/*/{one.url}" for one in found
                 if one.url.lower().startswith(("http://", "https://"))), "")


def _gather_abstract(minter: Minter, reader: Reader, abstraction: Abstraction, extent: Extent) -> NameDescription:
    """What is known of something abstract."""
    abstract = abstract_name(reader, abstraction)
    return NameDescription(
        name=abstract.name, identifier=decode_text(abstraction.key), state="", label=abstract.label,
        minter=gather_minter(minter, reader, complete=extent.complete),
        thing=abstract.about if abstract.kind == IDENTIFIER else "", abstract=abstract,
        relations=gather_relations(minter, reader, abstraction.key, abstraction.display, extent.relations),
    )


def _last_change(reader: Reader, identifier: bytes) -> datetime | None:
    numbers = numbers_of(reader, identifier)[-1:]
    return moment(date_and_actor(reader, numbers[0])[0]) if numbers else None


def _own_targets(outcome: Outcome) -> tuple[RedirectTarget, ...]:
    """Where the identifier of an outcome leads, without what the requested name has beyond it."""
    if outcome.by == "fallback":
        return ()
    own = resolution.Outcome(outcome.kind, outcome.minter, outcome.identifier, value=outcome.value)
    return redirect_targets(own.targets)


def _elements(reader: Reader, identifier: bytes, extent: Extent) -> tuple[dict[str, str], dict[str, int]]:
    """Values by element, and the lengths of those that were cut."""
    elements, whole_sizes = {}, {}
    public = (pair for pair in circulation.elements_of(reader, identifier) if not pair[0].startswith(_PRIVATE))
    for octets, value in islice(public, extent.elements):
        name = decode_text(octets)
        elements[name] = decode_text(value[: extent.longest_value])
        if len(value) > extent.longest_value:
            whole_sizes[name] = len(value)
    return elements, whole_sizes


def _successor(
    minter: Minter, reader: Reader, identifier: bytes, tombstone: Tombstone | None
) -> NameRelation | None:
    if tombstone is None or not tombstone.successor:
        return None
    relation = Relation(SUCCESSOR, tombstone.successor_key, tombstone.successor, start=tombstone.date)
    return name_relation(minter, reader, minter.namespace.display(identifier), relation, tombstone.date)


# -- what only a complete description has ----------------------------------------------------------------------------


def _completed(
    minter: Minter, reader: Reader, identifier: bytes, outcome: Outcome, facts: NameDescription
) -> NameDescription:
    """The facts with those that only a complete description has."""
    forms = [CitationForm(form, decode_text(text)) for form, text in citation.representations(
        identifier, labels=minter.namespace.labels_of(identifier), resolvers=resolvers(reader), has_check=False
    )]
    addresses = [form.text for form in forms if form.form == "web"]
    public = facts.state in (lifecycle.PUBLISHED_STATE, "")
    found = _qualities(bool(addresses), len(outcome.targets), public)
    return replace(
        facts,
        state_since=facts.state_since or moment(lifecycle.state_since(reader, identifier)),
        statements=(*(QualityClaim(facts.name, quality) for quality in found), *facts.statements),
        representations=tuple(form for form in forms if form.form not in _NOT_SPELLINGS),
        actions=name_actions(decode_text(minter.namespace.display(identifier)), addresses,
                             withdrawn=facts.state == lifecycle.WITHDRAWN_STATE, resolves=public),
        performed=tuple(_performed(reader, identifier)),
    )


def _qualities(web: bool, targets: int, public: bool) -> list[str]:
    """The qualities that a name has because it can be cited, and because it is public."""
    found = ["citable", "print-citable", "speech-citable"]
    if web:
        found.append("web-citable")
    if public:
        # Anybody can build on the answers in JSON and RDF.
        found += ["actionable", "extensibly-actionable"]
        if web:
            found += ["web-actionable", *(("internet-resolvable", "web-resolvable") if targets else ())]
        if targets > 1:
            found.append("multiply-resolvable")
    return found


def _performed(reader: Reader, identifier: bytes) -> Iterator[PerformedAction]:
    """What was done to an identifier: the newest of a great number.

    A user who may only read is shown the newest few.
    """
    sees_all = sees_all_names(reader)
    numbers = numbers_of(reader, identifier)[-(_MOST_EVENTS if sees_all else _MOST_PUBLIC_EVENTS) :]
    for event in read_events(reader, numbers):
        authorities = [change.after for change in event.changes if change.what == b"authority" and not change.element]
        authority = next((after for after in authorities if isinstance(after, bytes)), b"")
        outcome = event.details[0].endswith(b" 0 failing") if event.verb == b"verify" and event.details else None
        yield PerformedAction(
            event.number, decode_text(event.verb), decode_text(event.who) or _A_USER,
            decode_text(event.interface), moment(event.date), decode_text(authority), outcome,
        )


# -- a minter --------------------------------------------------------------------------------------------------------


def gather_minter(minter: Minter, reader: Reader, *, complete: bool = True) -> MinterDescription:
    """What is known of a minter; unless `complete` only its names, its authority and its custodians."""
    settings = minter.settings
    namespace = minter.namespace.cite(minter.scheme.namespace_prefix)
    context = namespace.rstrip(b"/")
    facts = MinterDescription(
        iri=_minter_iri(settings),
        name=os.path.basename(os.path.abspath(minter.dbdir)) or "minter",
        namespace=decode_text(namespace),
        custodians=_minter_custodians(minter, reader),
        authority="/".join(part for part in (settings["naa"], settings["subnaa"]) if part),
        policies=_promises(reader),
    )
    if not complete:
        return facts
    bases = resolvers(reader)
    return replace(
        facts,
        policies=_policies(minter, reader),
        initial_state="reserved" if minting_policy(reader) != PUBLISH else "published",
        names=(decode_text(context),) if names.parse(namespace).scheme else (),
        context_aliases=_context_aliases(minter, reader),
        # The relations of the minter as a context are stored under what its names begin with.
        relations=gather_relations(minter, reader, identify(minter, reader, context).key, context) if context else (),
        actions=minter_actions(),
        qualities=stated_qualities(reader, qualities.MINTER, None),
        audiences=_audiences(reader),
        purpose=decode_text(contexts.purpose(reader)),
        base=bases[0].removesuffix(b"/").decode() + "/" if bases else "",
    )


def _minter_iri(settings: Settings) -> str:
    """The IRI of a minter, the same wherever it is moved or copied; that of an old one is made from its settings."""
    words = (f"{name}={value}" for name, value in sorted(settings.values.items()) if name != "creator")
    return MINTERS + (settings["uuid"] or str(uuid5(NAMESPACE_URL, MINTERS + "\n".join(words))))


def _context_aliases(minter: Minter, reader: Reader) -> tuple[ContextClaim, ...]:
    labels = minter.namespace.labels
    system = names.parse(labels[0] + b"1/x").scheme if labels else b""
    return tuple(
        ContextClaim(_with_scheme(system, claim.alias), _with_scheme(system, claim.target), moment(claim.since),
                     claim.authority)
        for claim in contexts.context_aliases(reader)
    )


def _with_scheme(system: bytes, label: str) -> str:
    """The label of a context, with the scheme of the naming system where it has none."""
    text = label.encode()
    return label if names.parse(text).scheme or ":" in label else decode_text(names.spelled(system, text))


def _minter_custodians(minter: Minter, reader: Reader) -> tuple[CustodyPeriod, ...]:
    """The custodians; where none is responsible for all that has no other, also the authority for which the minter was
    created, or `unknown`.

    The account that created the minter is not published.
    """
    found = tuple(custody_period(minter, one) for one in custody.custodians_of(reader, custody.MINTER))
    if any(not one.until and not one.purpose for one in found):
        return found
    settings = minter.settings
    created = moment(settings["created"].encode())
    return *found, CustodyPeriod(settings["naa"] or "unknown", start=created, appointed=False)


def _audiences(reader: Reader) -> tuple[tuple[str, str], ...]:
    """For whom each class of commands is; which users are admitted is not published, that only some are, is."""
    rules = AccessPolicy.of(reader).rules
    return tuple((name, rule.word.decode() or "certain users") for name, rule in rules.items())


def _policies(minter: Minter, reader: Reader) -> tuple[PolicyStatement, ...]:
    settings = minter.settings
    access = "; ".join(f"{name}: {audience}" for name, audience in _audiences(reader))
    found = [
        PolicyStatement("label-format", decode_text(policies.label_format(minter)), scheme=settings["scheme"],
                        template=settings["template"]),
        PolicyStatement("access", f"through the web, {access}"),
    ]
    association = policies.association(reader)
    if association is not None:
        found.append(PolicyStatement("association", decode_text(association)))
    return *found, *_promises(reader)


def _promises(reader: Reader) -> tuple[PolicyStatement, ...]:
    """What the minter promises about the persistence of its names; empty if it promises nothing."""
    promise = policies.persistence(reader)
    if promise is None:
        return ()
    return PolicyStatement("persistence", decode_text(promise.text), moment(promise.start), moment(promise.until)),


# -- actions ---------------------------------------------------------------------------------------------------------

# The command that performs each action of the ontology, with `Id` for the identifier.
_COMMANDS = {
    "allocate": "custodian set Who", "assign": "custodian set Who Id", "cite": "cite Id", "create": "mint N",
    "delegate": "policy admin User", "deregister": "withdraw Id", "identify": "bind set Id Element Value",
    "print-cite": "cite Id", "publish": "publish Id", "query": "fetch Id", "register": "mint N",
    "represent": "cite Id", "reserve": "reserve Id", "resolve": "resolve Id", "speech-cite": "cite Id",
    "verify": "verify Id", "web-cite": "cite Id",
}
_ON_THE_MINTER = ("allocate", "create", "delegate", "register")
# The name can still be written, and its tombstone be read.
_ON_WITHDRAWN = ("cite", "print-cite", "query", "represent", "speech-cite", "web-cite")


def minter_actions() -> tuple[OfferedAction, ...]:
    """What can be done with a minter and its names."""
    return tuple(OfferedAction(name, (f"noid {command}",)) for name, command in _COMMANDS.items())


def name_actions(
    display: str, addresses: list[str], *, withdrawn: bool, resolves: bool
) -> tuple[OfferedAction, ...]:
    """What can be done with a name; `addresses` are those under which resolvers answer for it."""
    found = []
    for name, command in _COMMANDS.items():
        if name in _ON_THE_MINTER or (withdrawn and name not in _ON_WITHDRAWN) or (name == "resolve" and not resolves):
            continue
        urls = {"query": [f"{url}?info" for url in addresses], "resolve": addresses}.get(name, [])
        found.append(OfferedAction(name, (f"noid {command.replace('Id', shlex.quote(display))}", *urls)))
    if resolves and addresses:
        # Following a link is resolving it and fetching what is there.
        found.append(OfferedAction("retrieve", tuple(addresses)))
    return tuple(found)
