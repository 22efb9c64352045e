"""The part of a description that is about the minter: its context, system, parties, policies, doors."""

from __future__ import annotations

from urllib.parse import quote

from noidtools.exceptions import InvalidError
from noidtools.ontology.iris import address, name_iri, part_iri
from noidtools.ontology.vocabulary import ACTIONS, ACTS, POLICIES, STATES, word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from noidtools.ontology.facts import Facts
    from noidtools.ontology.scribe import Scribe


class MinterDescription:
    """Writes a minter and, for whatever belongs to it, parties, claims, policies and services."""

    __slots__ = ("_facts", "_scribe", "base", "iri", "system")

    def __init__(self, scribe: Scribe, facts: Facts) -> None:
        self._scribe = scribe
        self._facts = facts
        self.iri = facts.iri("iri", "urn:noid:" + quote(facts.octets("name"), safe=""))
        self.base = facts.iri("base", self.iri + (":" if self.iri.startswith("urn:") else "/"))
        self.system = part_iri(self.iri, "system")

    def write(self) -> None:
        """The context and the system behind it, as every description needs them."""
        scribe, facts = self._scribe, self._facts
        scribe.node(self.iri, "noid:Minter", "pil:Context")
        scribe.say(self.iri, "rdfs:label", facts.octets("name"))
        scribe.say(self.iri, "noid:namespace", facts.octets("namespace"))
        scribe.say(self.iri, "pil:purpose", facts.maybe("purpose"))
        if facts.has("initial_state"):
            scribe.link_term(self.iri, "noid:initialState", word(STATES, facts.text("initial_state"), "state"))
        for identifier in facts.each_octets("identifiers"):
            scribe.link(self.iri, "pil:contextIdentifier", name_iri(identifier, self.base))
        scribe.node(self.system, "pil:IdentifierManagementSystem")
        scribe.link(self.system, "pil:definesContext", self.iri)
        scribe.link(self.iri, "pil:isManagedBy", self.system)
        self.custodians(self.system, facts)
        policies = self.policies(self.iri, facts)
        if "label-format" not in policies:
            raise InvalidError("The description of a minter needs a policy of the kind label-format.")
        scribe.link(self.system, "pil:exposesPolicy", *policies.values())

    def write_model(self) -> None:
        """What only the description of the minter itself adds."""
        scribe = self._scribe
        model = scribe.node(part_iri(self.iri, "model"), "pil:IdentifierSystemModel")
        scribe.link(model, "pil:describesSystem", self.system)
        scribe.link_term(model, "pil:expressedUsing", "pil:IdentifierSystemsOntology")
        scribe.link(self.system, "pil:comprises", scribe.node(part_iri(self.iri, "store"), "pil:DataSource"))
        for service in self.services(self.iri, self._facts):
            scribe.link(self.system, "pil:exposesService", service)
        for number, claim in enumerate(self._facts.each("context_aliases", "an alias of the context"), 1):
            alias, target = (name_iri(claim.octets(key), self.base) for key in ("alias", "target"))
            self.alias(part_iri(self.iri, f"context-alias-{number}"), alias, target, claim)

    def party(self, name: bytes) -> str:
        """A party by its name; the same name within one minter is the same party."""
        return self._write_party(part_iri(self.iri, "party", name), name)

    def authority(self, claim: Facts) -> str:
        """Who claims something: the authority of the claim, else the minter's first custodian."""
        name = claim.maybe("authority")
        return self.party(name) if name is not None else self._current(self._facts)[0]

    def custodians(self, subject: str, facts: Facts) -> None:
        """The parties responsible for a subject now, and the record of all whose time is known."""
        scribe = self._scribe
        scribe.link(subject, "pil:hasAuthority", *self._current(facts))
        for number, party in enumerate(facts.each("custodians", "a party"), 1):
            node = self._party_of(party)
            scribe.say(node, "noid:contact", party.maybe("contact"))
            if party.has("from"):
                record = scribe.node(part_iri(subject, f"custodianship-{number}"), "pil:AccountabilityMetadata")
                span = self._timespan(record, party)
                scribe.link(record, "noid:custodian", node)
                scribe.link(record, "noid:during", span)
                scribe.link(subject, "pil:accountabilityMetadata", record)

    def inherited_custodians(self, subject: str) -> None:
        self._scribe.link(subject, "pil:hasAuthority", *self._current(self._facts))

    def policies(self, subject: str, facts: Facts) -> dict[str, str]:
        """The policies about a subject; returns kind and node of each."""
        scribe, found = self._scribe, {}
        for policy in facts.each("policies", "a policy"):
            kind = policy.text("kind")
            node = scribe.node(part_iri(subject, f"policy-{kind}"), word(POLICIES, kind, "kind of policy"))
            if kind in found:
                raise InvalidError(f"There are two policies of the kind {kind}; a description holds one of each.")
            found[kind] = node
            scribe.link(subject, "pil:hasPolicy", node)
            scribe.say(node, "noid:text", policy.octets("text"))
            if kind == "label-format":
                scribe.say(node, "noid:scheme", policy.maybe("scheme"))
                scribe.say(node, "noid:template", policy.maybe("template"))
            if kind == "persistence":
                scribe.link(node, "noid:during", self._timespan(node, policy))
        return found

    def services(self, subject: str, facts: Facts) -> list[str]:
        """The actions a subject offers, each with its doors."""
        scribe, found = self._scribe, []
        for action in facts.each("actions", "an action on offer"):
            name = action.text("action")
            service = scribe.node(
                part_iri(subject, f"action-{name}"), "pil:Service", word(ACTIONS, name, "action of the ontology")
            )
            if service in found:
                raise InvalidError(f"The action {name} is on offer twice; give all its doors at once.")
            doors = action.each_octets("doors")
            if not doors:
                raise InvalidError(f"The action {name} is on offer without a door.")
            for number, door in enumerate(doors, 1):
                self._door(service, part_iri(subject, f"door-{name}-{number}"), door)
            scribe.link(subject, "noid:offers", service)
            found.append(service)
        return found

    def actionable(self, identifier: str, facts: Facts) -> None:
        """Say which of the services offered make an identifier actionable."""
        for action in facts.each("actions", "an action on offer"):
            name = action.text("action")
            if name in ACTS:
                self._scribe.link(identifier, "pil:actionInActionable", part_iri(identifier, f"action-{name}"))

    def synonymy(self, node: str, claim: Facts, *identifiers: str) -> str:
        """An authority's claim, for a time, that identifiers are synonyms; returns the authority."""
        scribe = self._scribe
        authority = self.authority(claim)
        scribe.node(node, "pil:SynonymyInstance")
        scribe.link(node, "pil:hasSynonym", *identifiers)
        scribe.link(node, "pil:hasSynonymAuthority", authority)
        scribe.link(node, "pil:synonymTimespan", self._timespan(node, claim))
        scribe.link(authority, "pil:claims", node)
        return authority

    def alias(self, node: str, alias: str, target: str, claim: Facts) -> None:
        """An authority's claim that one identifier follows another."""
        scribe = self._scribe
        authority = self.synonymy(node, claim, alias, target)
        scribe.node(node, "pil:AliasInstance")
        scribe.link(node, "pil:hasAlias", alias)
        scribe.link(node, "pil:hasAliasTarget", target)
        scribe.link(node, "pil:hasAliasAuthority", authority)
        scribe.link(alias, "pil:aliasOf", target)

    def persistence(self) -> str | None:
        """The time span of the minter's persistence commitment, if it made one."""
        kinds = [policy.text("kind") for policy in self._facts.each("policies", "a policy")]
        if "persistence" not in kinds:
            return None
        return _timespan_iri(part_iri(self.iri, "policy-persistence"))

    def _current(self, facts: Facts) -> list[str]:
        found = [self._party_of(party) for party in facts.each("custodians", "a party") if not party.has("until")]
        if not found:
            raise InvalidError("A description needs at least one custodian whose time has not ended.")
        return found

    def _party_of(self, facts: Facts) -> str:
        name = facts.octets("name")
        return self._write_party(facts.iri("iri", part_iri(self.iri, "party", name)), name)

    def _write_party(self, node: str, name: bytes) -> str:
        if not name:
            raise InvalidError("A party in a description needs a name that is not empty.")
        self._scribe.say(self._scribe.node(node, "pil:Party"), "rdfs:label", name)
        return node

    def _timespan(self, owner: str, facts: Facts) -> str:
        return self._scribe.timespan(_timespan_iri(owner), facts.moment("from"), facts.maybe_moment("until"))

    def _door(self, service: str, node: str, door: bytes) -> None:
        scribe = self._scribe
        scribe.link(service, "pil:hasInterface", scribe.node(node, "pil:Interface"))
        if door.lower().startswith((b"http://", b"https://")):
            scribe.say_typed(node, "noid:url", address(door), "anyURI")
        else:
            scribe.say(node, "noid:command", door)


def _timespan_iri(owner: str) -> str:
    return owner + "-timespan"
