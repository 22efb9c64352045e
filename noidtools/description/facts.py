"""The facts of a minter and of an identifier, as a description in the terms of the ontology needs them.

See ontology/describe.py for what each is.
"""

from __future__ import annotations

import os

from .. import codec, names, resolution
from ..minter import contexts, custody, lifecycle, policies, records, relations
from ..minter.custody import Custodian
from ..minter.findings import HOLDS, UNKNOWN, last_findings
from ..minter.identifiers import labels_of
from ..minter.policies import AccessPolicy
from ..minter.records import find
from ..names import citation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..minter import Minter
    from ..minter.relations import Relation
    from ..store import Reader
    Facts = dict[str, object]


# The commands that perform an action, for the minter as a whole and for one identifier.
_ACTIONS = {
    "cite": "cite Id", "create": "mint N", "deregister": "withdraw Id", "identify": "bind set Id Element Value",
    "publish": "publish Id", "query": "fetch Id", "register": "mint N", "represent": "cite Id", "reserve": "reserve Id",
    "resolve": "resolve Id", "verify": "verify Id",
}
_ACTIONS_ON_ONE = ("cite", "deregister", "identify", "publish", "query", "represent", "reserve", "resolve", "verify")

# A withdrawn identifier can be asked about, and that is all.
_ACTIONS_ON_WITHDRAWN = ("cite", "query", "represent", "resolve", "verify")

# Elements that say in words what the thing is, and forms of a citation that are more than the name.
_THING = (b"what", b"title", b"dc.title")
_NOT_SPELLINGS = ("canonical", "check", "html", "markdown")

# Elements whose names begin so are for the machine, such as the target.
_PRIVATE = b"_"

# A larger value is left out of descriptions: they are to be read whole, and `get` gives it.
_LARGEST_VALUE = 1 << 20


def of_minter(minter: Minter, reader: Reader) -> Facts:
    facts: Facts = {
        "name": os.path.basename(os.path.abspath(minter.dbdir)) or "minter",
        "namespace": _namespace(minter),
        "custodians": _custodians(_with_present(minter, custody.custodians_of(reader, custody.MINTER))),
        "policies": _policies(minter, reader),
        "initial_state": "reserved" if policies.minting_policy(reader) != policies.PUBLISH else "published",
        "actions": [_action(action, command) for action, command in _ACTIONS.items()],
    }
    namespace = _namespace(minter)
    if names.parse(namespace).scheme:
        facts["identifiers"] = [namespace.rstrip(b"/")]
    for base in contexts.resolvers(reader)[:1]:
        facts["base"] = (base if base.endswith(b"/") else base + b"/").decode()
    system = names.parse(labels_of(minter)[0] + b"1/x").scheme if labels_of(minter) else b""
    facts["context_aliases"] = [
        {"alias": _in_system(system, claim.alias), "target": _in_system(system, claim.target),
         "authority": claim.authority, "from": claim.since}
        for claim in contexts.context_aliases(reader)
    ]
    return facts


def of_identifier(minter: Minter, reader: Reader, identifier: bytes) -> Facts:
    """The facts of an identifier that is known here."""
    shown = _shown(minter, identifier)
    state = lifecycle.state_of(reader, identifier, find(reader, identifier)) or lifecycle.PUBLISHED_STATE
    forms = citation.representations(
        identifier, labels=labels_of(minter), resolvers=contexts.resolvers(reader), has_check=False
    )
    outcome = resolution.follow_aliases(resolution.Lookup(minter, reader).find, identifier)
    elements = [
        (name, value) for name, value in records.elements_of(reader, identifier)
        if not name.startswith(_PRIVATE) and len(value) <= _LARGEST_VALUE
    ]
    facts: Facts = {
        "id": shown,
        "minter": of_minter(minter, reader),
        "state": state,
        "label": minter.scheme.without_prefix(identifier) or identifier,
        "targets": [] if outcome.by == "fallback" else [target.url for target in outcome.targets],
        "representations": [{"form": form, "text": text} for form, text in forms if form not in _NOT_SPELLINGS],
        "qualities": _qualities(reader, identifier, forms),
        "actions": _actions(minter.shown(identifier), state, forms),
        "bindings": [{"element": name, "value": value} for name, value in elements],
        **_life(minter, reader, identifier, state),
        **_relations(minter, reader, identifier),
    }
    own = custody.custodians_of(reader, identifier)
    if any(not custodian.until for custodian in own):
        facts["custodians"] = _custodians(own)
    things = dict(elements)
    for element in _THING:
        if things.get(element):
            facts["thing"] = things[element]
            break
    return facts


def _shown(minter: Minter, identifier: bytes) -> bytes:
    labels = labels_of(minter)
    return labels[0] + identifier if labels else identifier


def _namespace(minter: Minter) -> bytes:
    """What all identifiers of the minter begin with, as they are shown."""
    scheme = minter.scheme
    first: str | bytes = getattr(scheme, "first_part", b"") or getattr(scheme, "prefix", b"")
    if scheme.free:
        first = b""
    own = first.encode() if isinstance(first, str) else first
    if own and minter.settings["scheme"] != "noid":
        own += b"/"
    return _shown(minter, own)


def _in_system(system: bytes, label: str) -> bytes:
    """The label of a context with the naming system it leaves unsaid."""
    text = label.encode()
    return text if names.parse(text).scheme or b":" in text else names.spelled(system, text)


# -- parties and policies --------------------------------------------------------------------------------------------


def _custodians(custodians: Iterable[Custodian]) -> list[Facts]:
    found = []
    for custodian in custodians:
        party: Facts = {"name": custodian.name}
        for key, value in (("contact", custodian.contact), ("from", custodian.start), ("until", custodian.until)):
            if value:
                party[key] = value
        found.append(party)
    return found


def _with_present(minter: Minter, custodians: list[Custodian]) -> list[Custodian]:
    """The custodians; if none of them is one now, the authority the minter was made for, or nobody that we know of.
    The account that made it is nobody's business."""
    if any(not custodian.until for custodian in custodians):
        return custodians
    settings = minter.settings
    return [*custodians, Custodian(settings["naa"].encode() or b"unknown", b"", settings["created"].encode())]


def _policies(minter: Minter, reader: Reader) -> list[Facts]:
    settings = minter.settings
    rules = AccessPolicy.of(reader).rules
    # Which users are admitted is nobody else's business; that only some are, is.
    access = "; ".join(f"{name}: {rule.word.decode() or 'certain users'}" for name, rule in rules.items())
    form: Facts = {"kind": "label-format", "text": policies.label_format(minter), "scheme": settings["scheme"]}
    if settings["template"]:
        form["template"] = settings["template"]
    found: list[Facts] = [form, {"kind": "access", "text": f"through the web, {access}"}]
    association = policies.association(reader)
    if association is not None:
        found.append({"kind": "association", "text": association})
    promise = policies.persistence(reader)
    if promise is not None:
        found.append({"kind": "persistence", "text": promise.text, "from": promise.start, **_until(promise.until)})
    return found


def _until(date: bytes) -> Facts:
    return {"until": date} if date else {}


# -- the identifier's life, relations and qualities ------------------------------------------------------------------


def _life(minter: Minter, reader: Reader, identifier: bytes, state: str) -> Facts:
    stone = lifecycle.tombstone(reader, identifier)
    if state != lifecycle.WITHDRAWN_STATE or stone is None:
        since = lifecycle.state_since(reader, identifier)
        return {"state_since": since} if since else {}
    facts: Facts = {"state_since": stone.date}
    if stone.reason:
        facts["reason"] = stone.reason
    if stone.successor:
        facts["successor"] = _other(minter, stone.successor_key, stone.successor)
    return facts


def _relations(minter: Minter, reader: Reader, identifier: bytes) -> Facts:
    def told(kind: bytes, key: str) -> list[Facts]:
        return [{key: _other(minter, relation.other, relation.shown), **_claim(relation)}
                for relation in relations.relations_of(reader, identifier, kind)]

    facts: Facts = {
        "aliases": told(relations.ALIAS, "alias"),
        "synonyms": told(relations.SYNONYM, "other"),
        "preferred_by": [
            relation.authority for relation in relations.relations_of(reader, identifier, relations.PREFERRED)
        ],
    }
    for claim in told(relations.ALIAS_OF, "target"):
        facts["alias_of"] = claim
    return facts


def _other(minter: Minter, key: bytes, shown: bytes) -> bytes:
    """Another name, as one of this minter's is shown here if it is one."""
    if shown != minter.shown(key) or b"://" in key or names.parse(key).scheme:
        return shown
    return _shown(minter, key)


def _claim(relation: Relation) -> Facts:
    claim: Facts = {"from": relation.start, **_until(relation.until)}
    if relation.authority:
        claim["authority"] = relation.authority
    return claim


def _qualities(reader: Reader, identifier: bytes, forms: list[tuple[str, bytes]]) -> list[Facts]:
    """What was verified, with its date and rule; and what the representations make it."""
    found: list[Facts] = []
    for finding in last_findings(reader, identifier):
        if finding.verdict != UNKNOWN:
            rule = f"section {finding.quality.section}: {finding.quality.rule}"
            found.append({"quality": finding.quality.name, "value": True, "verified": finding.date,
                          "confirmed": finding.verdict == HOLDS, "rule": rule})
    found += [{"quality": quality} for quality in ("citable", "print-citable", "speech-citable")]
    if any(form == "web" for form, _ in forms):
        found.append({"quality": "web-citable"})
    return found


def _actions(shown: bytes, state: str, forms: list[tuple[str, bytes]]) -> list[Facts]:
    offered = _ACTIONS_ON_WITHDRAWN if state == lifecycle.WITHDRAWN_STATE else _ACTIONS_ON_ONE
    actions = [_action(action, _ACTIONS[action], shown) for action in offered]
    web = [text for form, text in forms if form == "web"]
    for action in actions:
        doors = action["doors"]
        assert isinstance(doors, list)
        if action["action"] == "resolve" and state != lifecycle.RESERVED_STATE:
            doors += web
        elif action["action"] == "query":
            doors += [text + b"?info" for text in web]
    return actions


def _action(action: str, command: str, identifier: bytes = b"Id") -> Facts:
    return {"action": action, "doors": [b"noid " + command.encode().replace(b"Id", _quoted(identifier))]}


def _quoted(word: bytes) -> bytes:
    """A word as a shell takes it for one, whatever is in it."""
    if not word.translate(None, codec.UNRESERVED + b"/:@+,"):
        return word
    return b"'" + word.replace(b"'", b"'\\''") + b"'"
