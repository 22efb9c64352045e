"""The part of a description that is about the minter: its context, system, parties, policies, doors."""

from __future__ import annotations

from urllib.parse import quote

from ..errors import InvalidError
from .vocabulary import ACTIONS, ACTS, BY_STATE, POLICIES, QUALITIES, STATES, address, name_iri, part_iri, word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .rdf import Scribe
    from .reading import Facts



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


# -- The part of a description that is about one identifier ----------------------------------------------------------



class IdentifierDescription:
    """Writes one identifier into a graph that has its minter."""

    __slots__ = ("_facts", "_id", "_minter", "_name", "_scribe", "iri")

    def __init__(self, scribe: Scribe, minter: MinterDescription, facts: Facts) -> None:
        self._scribe = scribe
        self._minter = minter
        self._facts = facts
        self._id = facts.octets("id")
        self.iri = facts.iri("iri", name_iri(self._id, minter.base))
        self._name = part_iri(self.iri, "name")

    def write(self) -> None:
        self._write_name()
        self._write_state()
        self._write_thing()
        self._write_relations()
        told = set()
        for quality in self._facts.each("qualities", "a quality"):
            name = quality.text("quality")
            if name in told:
                raise InvalidError(f"There are two statements of the quality {name}; a description holds one of each.")
            told.add(name)
            self._write_quality(quality)
        self._write_responsibility()
        for number, binding in enumerate(self._facts.each("bindings", "a binding"), 1):
            self._write_binding(part_iri(self.iri, f"binding-{number}"), binding)

    def _write_name(self) -> None:
        scribe = self._scribe
        scribe.node(self.iri, "pil:Identifier")
        scribe.say(self.iri, "rdfs:label", self._id)
        scribe.link(self.iri, "pil:isManagedBy", self._minter.system)
        scribe.link(self.iri, "pil:hasName", scribe.node(self._name, "pil:Name"))
        scribe.link(self._name, "pil:hasContext", self._minter.iri)
        label = scribe.node(part_iri(self.iri, "label"), "pil:Label")
        scribe.say(label, "pil:symbol", self._facts.octets("label") if self._facts.has("label") else self._id)
        scribe.link(self._name, "pil:hasLabel", label)
        self._write_representation(1, b"canonical", self._id)
        for number, given in enumerate(self._facts.each("representations", "a representation"), 2):
            self._write_representation(number, given.octets("form"), given.octets("text"))

    def _write_representation(self, number: int, form: bytes, text: bytes) -> None:
        scribe = self._scribe
        node = scribe.node(part_iri(self.iri, f"representation-{number}"), "pil:Label")
        scribe.say(node, "pil:symbol", text)
        scribe.say(node, "noid:form", form)
        scribe.link(self._name, "pil:nameRepresentation", node)
        scribe.link(self.iri, "pil:representation", node)

    def _write_state(self) -> None:
        scribe, facts = self._scribe, self._facts
        state = facts.text("state")
        term = word(STATES, state, "state")
        scribe.link_term(self.iri, "noid:state", term)
        scribe.say_typed(self.iri, "noid:stateSince", facts.maybe_moment("state_since"), "dateTime")
        # A name is reserved, an identifier is published or withdrawn (8.9, 8.10).
        scribe.node(self._name if state == "reserved" else self.iri, term)
        if state != "withdrawn":
            scribe.node(self.iri, "pil:Registered")
            return
        if not facts.has("state_since"):
            raise InvalidError("The description of a withdrawn identifier needs 'state_since', the date of it.")
        scribe.say(self.iri, "noid:reason", facts.maybe("reason"))
        if facts.has("successor"):
            scribe.link(self.iri, "noid:successor", self._iri_of(facts.octets("successor")))

    def _write_thing(self) -> None:
        scribe, thing = self._scribe, self._facts.maybe("thing")
        if thing is not None:
            known = address(thing)
            node = known or part_iri(self.iri, "thing")
            scribe.link(self.iri, "pil:hasThing", node)
            if known is None:
                scribe.say(scribe.node(node, "pil:Thing"), "rdfs:label", thing)
        for target in self._facts.each_octets("targets"):
            place = address(target)
            if place is None:
                scribe.say(self.iri, "noid:locatorText", target)
            else:
                scribe.link(self.iri, "pil:locator", place)

    def _write_relations(self) -> None:
        scribe, minter = self._scribe, self._minter
        if self._facts.has("alias_of"):
            claim = self._facts.one("alias_of", "an alias")
            node = part_iri(self.iri, "alias")
            minter.alias(node, self.iri, self._iri_of(claim.octets("target")), claim)
            scribe.link(self.iri, "pil:isAlias", node)
        for number, claim in enumerate(self._facts.each("aliases", "an alias"), 1):
            node = part_iri(self.iri, f"alias-{number}")
            minter.alias(node, self._iri_of(claim.octets("alias")), self.iri, claim)
            scribe.link(self.iri, "pil:isAliasTarget", node)
        for number, claim in enumerate(self._facts.each("synonyms", "a synonym"), 1):
            claim.octets("authority")
            other = self._iri_of(claim.octets("other"))
            node = part_iri(self.iri, f"synonym-{number}")
            minter.synonymy(node, claim, self.iri, other)
            scribe.link(self.iri, "pil:isSynonym", node)
            scribe.link(self.iri, "pil:synonymOf", other)
        for name in self._facts.each_octets("preferred_by"):
            scribe.link(self.iri, "pil:preferredBy", minter.party(name))

    def _write_quality(self, facts: Facts) -> None:
        scribe, name = self._scribe, facts.text("quality")
        term = word(QUALITIES, name, "quality of the ontology")
        stated, confirmed, date = facts.flag("value"), facts.flag("confirmed"), facts.maybe_moment("verified")
        if (confirmed is None) != (date is None):
            raise InvalidError(f"The quality {name} needs both the date of its verification and the outcome.")
        node = scribe.node(part_iri(self.iri, f"quality-{name}"), "pil:QualityStatement")
        subject = self._name if name == "reserved" else self.iri
        scribe.link(subject, "pil:hasQualityStatement", node)
        scribe.link(node, "pil:statedOf", subject)
        scribe.link_term(node, "pil:statedQuality", term)
        scribe.say(node, "pil:statedValue", stated is not False)
        scribe.say(node, "noid:confirmed", confirmed)
        scribe.say_typed(node, "noid:verifiedAt", date, "dateTime")
        scribe.say(node, "noid:rule", facts.maybe("rule"))
        if confirmed:
            scribe.node(node, "pil:Verified")
        # A statement put to the test and found wrong makes nobody a member of the class.
        if stated is not False and confirmed is not False and name not in BY_STATE:
            self._write_membership(name, term, facts)

    def _write_membership(self, name: str, term: str, facts: Facts) -> None:
        """Make the identifier a member of a quality's class, if what the class demands is known."""
        scribe, minter = self._scribe, self._minter
        if name == "persistent":
            timespan = minter.persistence()
            if timespan is None:
                return
            scribe.link(self.iri, "pil:timespanOfPersistent", timespan)
        elif name in ("trusted", "reliable"):
            if not facts.has("by"):
                return
            scribe.link(self.iri, "pil:trustedByParty", minter.party(facts.octets("by")))
        elif name == "unique":
            scribe.link(self.iri, "pil:scopeOfUnique", minter.iri)
        elif name == "universal":
            scribe.link(self.iri, "pil:contextInUniversal", minter.iri)
        elif name == "accountable":
            scribe.link_term(self.iri, "pil:accountableToParty", "noid:Public")
        scribe.node(self.iri, term)

    def _write_responsibility(self) -> None:
        minter, facts = self._minter, self._facts
        if facts.has("custodians"):
            minter.custodians(self.iri, facts)
        else:
            minter.inherited_custodians(self.iri)
        minter.policies(self.iri, facts)
        minter.services(self.iri, facts)
        minter.actionable(self.iri, facts)

    def _write_binding(self, node: str, facts: Facts) -> None:
        self._scribe.node(node, "noid:Binding")
        self._scribe.say(node, "noid:element", facts.octets("element"))
        self._scribe.say(node, "noid:value", facts.octets("value"))
        self._scribe.link(self.iri, "noid:binding", node)

    def _iri_of(self, name: bytes) -> str:
        return name_iri(name, self._minter.base)
