"""The part of a description that is about one identifier."""

from __future__ import annotations

from noidtools.exceptions import InvalidError
from noidtools.ontology.iris import address, name_iri, part_iri
from noidtools.ontology.vocabulary import BY_STATE, QUALITIES, STATES, word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from noidtools.ontology.facts import Facts
    from noidtools.ontology.minter import MinterDescription
    from noidtools.ontology.scribe import Scribe


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
