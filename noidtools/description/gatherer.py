"""Reads all that is known of a name or of a minter, in one read transaction.

Every function here is called inside a read transaction of the minter, and the facts that it returns hold nothing of
that transaction.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import islice

from .. import codec, names, resolution
from ..clock import system_clock, timestamp
from ..errors import ForbiddenError, NotFoundError, printable
from ..minter import contexts, custody, lifecycle, policies, records, relations
from ..minter.events import date_and_actor
from ..minter.findings import last_findings
from ..minter.identifiers import identify_parsed, own_identifier, suggest_correction
from ..minter.policies import AccessPolicy
from ..minter.records import is_known
from ..names import citation
from .facts import Action, ContextClaim, Element, MinterFacts, NameFacts, Party, Policy, QualityStatement, RelatedName

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..minter import Minter
    from ..minter.custody import Custodian
    from ..minter.lifecycle import Tombstone
    from ..minter.relations import Relation
    from ..names.targets import Target
    from ..resolution import Outcome
    from ..store import Reader


# The commands that perform an action of the ontology, for a minter as a whole and for one identifier.
_COMMANDS = {
    "cite": "cite Id", "create": "mint N", "deregister": "withdraw Id", "identify": "bind set Id Element Value",
    "publish": "publish Id", "query": "fetch Id", "register": "mint N", "represent": "cite Id", "reserve": "reserve Id",
    "resolve": "resolve Id", "verify": "verify Id",
}
_ACTIONS_ON_ONE = ("cite", "deregister", "identify", "publish", "query", "represent", "reserve", "resolve", "verify")
_ACTIONS_ON_WITHDRAWN = ("cite", "query", "represent", "resolve", "verify")

# Elements that describe in words the thing that is identified, the first that is bound counts.
_THING_ELEMENTS = (b"what", b"title", b"dc.title")

# Forms of a citation that are not spellings of the name.
_NOT_SPELLINGS = ("canonical", "check", "html", "markdown")

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
    find = resolution.Lookup(minter, reader).find
    identifier = own_identifier(minter, reader, text)
    if identifier is not None and is_known(reader, identifier):
        return _gather(minter, reader, identifier, resolution.follow_aliases(find, identifier), extent)
    outcome = resolution.follow_aliases(find, text)
    if outcome.kind != resolution.FOUND or outcome.by != "rule":
        raise NotFoundError(f"there is nothing to describe: {printable(text[:200])} is not known here")
    return _gather(minter, reader, outcome.identifier, outcome, extent)


def gather_outcome(
    reader: Reader, outcome: Outcome, text: bytes, extent: Extent, *, with_elements: bool = True
) -> NameFacts | None:
    """What is known of the name to which a text was resolved, or else of the known name that it spells; else None.

    `reader` is of the minter in the outcome.  Without `with_elements` the elements of the name are left out.
    """
    minter = outcome.minter
    if minter is None:
        return None
    if outcome.kind in (resolution.FOUND, resolution.GONE) and outcome.by != "fallback":
        return _gather(minter, reader, outcome.identifier, outcome, extent, with_elements)
    identifier = known_identifier(minter, reader, text)
    if identifier is None:
        return None
    unresolved = resolution.Outcome(resolution.NOT_FOUND, minter, identifier)
    return _gather(minter, reader, identifier, unresolved, extent, with_elements)


def known_identifier(minter: Minter, reader: Reader, text: bytes) -> bytes | None:
    """The identifier that a text spells, with or without its query, if anything is stored about it."""
    name = minter.namespace.parse(text)
    try:
        ref = identify_parsed(minter, reader, name)
    except ForbiddenError:
        return None  # a wrong pepper
    keys = [ref.key] if ref.known else minter.namespace.without_query(name)
    return next((key for key in keys if is_known(reader, key)), None)


def suggested_name(minter: Minter, reader: Reader, text: bytes) -> bytes | None:
    """The name in circulation that was probably meant by a mistyped one; None if there is none, or several."""
    identifier = suggest_correction(minter, reader, minter.namespace.parse(text))
    return None if identifier is None else cited_name(minter, identifier)


def cited_name(minter: Minter, identifier: bytes) -> bytes:
    """An identifier with the first label of its minter, also where that label goes without saying."""
    labels = minter.namespace.labels
    return labels[0] + identifier if labels else identifier


def _gather(
    minter: Minter, reader: Reader, identifier: bytes, outcome: Outcome, extent: Extent, with_elements: bool = True
) -> NameFacts:
    """The facts of an identifier of which this is the outcome, or the outcome of a longer name that extends it."""
    record = records.find(reader, identifier)
    state = lifecycle.state_of(reader, identifier, record) or ""
    tombstone = lifecycle.tombstone_of(reader, identifier)
    date = date_and_actor(reader, record.event)[0] if record and record.history else b""
    state_since = lifecycle.state_since(reader, identifier) if extent.history and not tombstone else b""
    elements = tuple(_elements(reader, identifier, extent)) if with_elements else ()
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
        successor=_successor(minter, tombstone),
        label=minter.scheme.without_prefix(identifier) or identifier,
        thing=_thing(elements),
        targets=_own_targets(outcome) if outcome.identifier == identifier else requested_targets,
        requested_targets=requested_targets,
        suffix=outcome.suffix,
        pattern=outcome.pattern,
        elements=elements,
        relations=tuple(_relations(minter, reader, identifier, extent)),
        findings=tuple(last_findings(reader, identifier)),
        statements=_statements(forms),
        representations=tuple((form, text) for form, text in forms if form not in _NOT_SPELLINGS),
        custodians=tuple(_party(found) for found in own_custodians) if _has_present(own_custodians) else (),
        actions=_name_actions(minter.namespace.display(identifier), state, forms),
    )


def _own_targets(outcome: Outcome) -> tuple[Target, ...]:
    """Where the identifier of an outcome leads, without what the requested name has beyond it."""
    if outcome.by == "fallback":
        return ()
    return tuple(resolution.Outcome(outcome.kind, outcome.minter, outcome.identifier, value=outcome.value).targets)


def _elements(reader: Reader, identifier: bytes, extent: Extent) -> Iterator[Element]:
    public = (pair for pair in records.elements_of(reader, identifier) if not pair[0].startswith(_PRIVATE))
    for name, value in islice(public, extent.elements):
        if len(value) > extent.longest_value:
            yield Element(name, value[: extent.longest_value], len(value))
        else:
            yield Element(name, value)


def _thing(elements: tuple[Element, ...]) -> bytes:
    values = {element.name: element.value for element in elements if not element.whole_size}
    return next((values[name] for name in _THING_ELEMENTS if values.get(name)), b"")


def _relations(minter: Minter, reader: Reader, identifier: bytes, extent: Extent) -> Iterator[RelatedName]:
    now = timestamp(system_clock())
    known = (_related(minter, relation, now) for relation in relations.relations_of(reader, identifier))
    if extent.relations is None:
        return known
    return islice((relation for relation in known if relation.in_force), extent.relations)


def _related(minter: Minter, relation: Relation, now: bytes) -> RelatedName:
    return RelatedName(
        relation.word, _cited_other(minter, relation.other, relation.display), relation.display or relation.other,
        relation.authority, relation.start, relation.until, relation.holds_at(now),
    )


def _successor(minter: Minter, tombstone: Tombstone | None) -> RelatedName | None:
    if tombstone is None or not tombstone.successor:
        return None
    name = _cited_other(minter, tombstone.successor_key, tombstone.successor)
    return RelatedName("successor", name, tombstone.successor, start=tombstone.date)


def _cited_other(minter: Minter, key: bytes, display: bytes) -> bytes:
    """Another name as it is cited; one of this minter gets its label."""
    if not key or display != minter.with_label(key) or b"://" in key or names.parse(key).scheme:
        return display
    return cited_name(minter, key)


def _statements(forms: list[tuple[str, bytes]]) -> tuple[QualityStatement, ...]:
    """The qualities that a name has because it can be cited in these forms."""
    qualities = ["citable", "print-citable", "speech-citable"]
    if any(form == "web" for form, _ in forms):
        qualities.append("web-citable")
    return tuple(QualityStatement(quality) for quality in qualities)


def _name_actions(display: bytes, state: str, forms: list[tuple[str, bytes]]) -> tuple[Action, ...]:
    offered = _ACTIONS_ON_WITHDRAWN if state == lifecycle.WITHDRAWN_STATE else _ACTIONS_ON_ONE
    web = [text for form, text in forms if form == "web"]
    addresses = {"query": [url + b"?info" for url in web]}
    if state != lifecycle.RESERVED_STATE:
        addresses["resolve"] = web
    return tuple(Action(name, (_shell_command(name, display), *addresses.get(name, ()))) for name in offered)


def _shell_command(action: str, identifier: bytes = b"Id") -> bytes:
    return b"noid " + _COMMANDS[action].encode().replace(b"Id", _quoted(identifier))


def _quoted(word: bytes) -> bytes:
    """The word as a shell reads it as one, whatever is in it."""
    if not word.translate(None, codec.UNRESERVED + b"/:@+,"):
        return word
    return b"'" + word.replace(b"'", b"'\\''") + b"'"


_MINTER_ACTIONS = tuple(Action(name, (_shell_command(name),)) for name in _COMMANDS)


# -- a minter --------------------------------------------------------------------------------------------------------


def gather_minter(minter: Minter, reader: Reader) -> MinterFacts:
    """What is known of a minter."""
    settings = minter.settings
    namespace = _namespace(minter)
    bases = contexts.resolvers(reader)
    return MinterFacts(
        name=os.path.basename(os.path.abspath(minter.dbdir)).encode("utf-8", "surrogateescape") or b"minter",
        namespace=namespace,
        custodians=_minter_custodians(minter, reader),
        policies=_policies(minter, reader),
        initial_state="reserved" if policies.minting_policy(reader) != policies.PUBLISH else "published",
        authority="/".join(part for part in (settings["naa"], settings["subnaa"]) if part),
        names=(namespace.rstrip(b"/"),) if names.parse(namespace).scheme else (),
        context_aliases=_context_aliases(minter, reader),
        actions=_MINTER_ACTIONS,
        base=bases[0].removesuffix(b"/").decode() + "/" if bases else "",
    )


def _namespace(minter: Minter) -> bytes:
    """What all identifiers of the minter begin with, as they are cited."""
    return cited_name(minter, minter.scheme.namespace_prefix)


def _context_aliases(minter: Minter, reader: Reader) -> tuple[ContextClaim, ...]:
    labels = minter.namespace.labels
    system = names.parse(labels[0] + b"1/x").scheme if labels else b""
    return tuple(
        ContextClaim(_with_scheme(system, claim.alias), _with_scheme(system, claim.target), claim.since,
                     claim.authority.encode())
        for claim in contexts.context_aliases(reader)
    )


def _with_scheme(system: bytes, label: str) -> bytes:
    """The label of a context, with the scheme of the naming system where it has none."""
    text = label.encode()
    return text if names.parse(text).scheme or b":" in text else names.spelled(system, text)


def _minter_custodians(minter: Minter, reader: Reader) -> tuple[Party, ...]:
    """The custodians; where none is in office, the authority for which the minter was created, or `unknown`.

    The account that created the minter is not published.
    """
    appointed = custody.custodians_of(reader, custody.MINTER)
    parties = tuple(_party(custodian) for custodian in appointed)
    if _has_present(appointed):
        return parties
    settings = minter.settings
    stand_in = Party(settings["naa"].encode() or b"unknown", start=settings["created"].encode(), appointed=False)
    return *parties, stand_in


def _party(custodian: Custodian) -> Party:
    return Party(custodian.name, custodian.contact, custodian.start, custodian.until)


def _has_present(custodians: list[Custodian]) -> bool:
    return any(not custodian.until for custodian in custodians)


def _policies(minter: Minter, reader: Reader) -> tuple[Policy, ...]:
    settings = minter.settings
    # Which users are admitted is not published; that only some are, is.
    rules = AccessPolicy.of(reader).rules
    access = "; ".join(f"{name}: {rule.word.decode() or 'certain users'}" for name, rule in rules.items())
    found = [
        Policy("label-format", policies.label_format(minter), settings["scheme"].encode(),
               settings["template"].encode()),
        Policy("access", f"through the web, {access}".encode()),
    ]
    association = policies.association(reader)
    if association is not None:
        found.append(Policy("association", association))
    promise = policies.persistence(reader)
    if promise is not None:
        found.append(Policy("persistence", promise.text, start=promise.start, until=promise.until))
    return tuple(found)
