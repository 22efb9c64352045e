"""The facts of a minter and of a name as RDF in the terms of the ontology.

Pure functions from facts to a graph.  Whatever a value contains, it becomes a literal or a percent-encoded IRI.
Parts of a description have IRIs of their own (`…#name`, `…#quality-resolvable`), so that the same facts always give
the same graph.  Facts that make no valid description raise InvalidError.
"""

from __future__ import annotations

from string import Template

from ..errors import InvalidError
from ..minter.qualities import HOLDS, STATABLE, UNKNOWN
from .facts import MinterDescription, NameDescription, PerformedAction, QualityClaim, QualityFinding
from .formats import GraphBuilder, serialize
from .minter_rdf import MinterWriter, iri_or
from .relation_rdf import RelationWriter
from .vocabulary import ACTS, BY_STATE, MODEL, QUALITIES, STATES, address, name_iri, part_iri, read, term_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rdflib import Graph


def minter_document(facts: MinterDescription, form: str) -> bytes:
    """The description of a minter in a format of formats.RDF_FORMATS."""
    return serialize(describe_minter(facts), form)


def name_document(facts: NameDescription, form: str) -> bytes:
    """The description of a name in a format of formats.RDF_FORMATS."""
    return serialize(describe_name(facts), form)


def describe_minter(facts: MinterDescription) -> Graph:
    """The model of the identifier system that a minter is."""
    builder = GraphBuilder()
    minter = MinterWriter(builder, facts)
    minter.write()
    minter.write_model()
    _write_model(builder, minter, facts)
    write_statements(builder, minter, minter.system, facts.qualities)
    RelationWriter(builder, minter).write_context_relations(minter.iri, facts.relations)
    return builder.graph


def describe_name(facts: NameDescription) -> Graph:
    """The description of a name, with as much of its minter as that needs."""
    builder = GraphBuilder()
    minter = MinterWriter(builder, facts.minter)
    minter.write()
    if facts.abstract is not None:
        RelationWriter(builder, minter).write_abstract(facts)
    elif facts.elsewhere:
        iri = RelationWriter(builder, minter).write_elsewhere(facts)
        write_statements(builder, minter, iri, facts.statements)
    else:
        _NameWriter(builder, minter, facts).write()
    return builder.graph


def _write_model(builder: GraphBuilder, minter: MinterWriter, facts: MinterDescription) -> None:
    """The model of the identifier system: what section 2.7 of the ontology demands.

    It defines the qualities that are managed and how, the attributes that are registered, the encoding and
    serialisation schemes of names, and the actions with their inputs, their results and those who may perform them.
    """
    audiences = {f"may_{name}": audience for name, audience in facts.audiences}
    unknown = {f"may_{name}": "whom the files admit" for name in ("read", "mint", "bind", "admin")}
    builder.parse(Template(read(MODEL).decode()).substitute(part=part_iri(minter.iri, ""), **(unknown | audiences)))
    builder.node(minter.system, "pil:IdentifierSystem")
    builder.link(minter.iri, "pil:hasMembershipFunction", part_iri(minter.iri, "label-membership"))
    trusting = [stated.authority for stated in facts.qualities if stated.quality == "trusted" and stated.holds]
    if trusting:
        store = builder.node(part_iri(minter.iri, "store"), "pil:Registry", "pil:Trusted")
        builder.link(store, "pil:trustedByParty", *(minter.party(by) for by in trusting))


# -- a name ----------------------------------------------------------------------------------------------------------

# The forms of a citation that encode the canonical spelling, and the names of their schemes.
_ENCODINGS = {"encoded": "url", "print": "print", "speech": "speech"}


class _NameWriter:
    """Adds a name to a graph that has its minter."""

    __slots__ = ("_builder", "_facts", "_minter", "_name", "iri")

    def __init__(self, builder: GraphBuilder, minter: MinterWriter, facts: NameDescription) -> None:
        self._builder = builder
        self._minter = minter
        self._facts = facts
        self.iri = iri_or(name_iri(facts.name, minter.base), facts.iri, "an identifier", "iri")
        self._name = part_iri(self.iri, "name")

    def write(self) -> None:
        self._write_name()
        self._write_state()
        self._write_thing()
        RelationWriter(self._builder, self._minter).write_name_relations(self.iri, self._facts.relations)
        QualityWriter(self._builder, self._minter, self.iri).write(self._facts)
        self._write_responsibility()
        actions = PerformedActionWriter(self._builder, self._minter, self.iri)
        for action in self._facts.performed:
            actions.write(action)
        whole = (pair for pair in self._facts.elements.items() if pair[0] not in self._facts.whole_sizes)
        for number, (name, value) in enumerate(whole, 1):
            self._write_element(part_iri(self.iri, f"binding-{number}"), name, value)

    def _write_name(self) -> None:
        builder, facts = self._builder, self._facts
        builder.node(self.iri, "pil:Identifier", "pil:Concrete", "pil:ConcreteIdentifier")
        builder.text(self.iri, "rdfs:label", facts.name)
        builder.link(self.iri, "pil:isManagedBy", self._minter.system)
        builder.link(self.iri, "pil:hasName", builder.node(self._name, "pil:Name", "pil:ConcreteName"))
        builder.link(self._name, "pil:hasContext", self._minter.iri)
        label = builder.node(part_iri(self.iri, "label"), "pil:Label")
        builder.text(label, "pil:symbol", facts.label or facts.name)
        builder.link(self._name, "pil:hasLabel", label)
        builder.link(label, "pil:isIn", self._minter.iri)
        builder.link(self._minter.system, "pil:manages", self.iri, self._name)
        self._write_representations()
        for claim in facts.minter.context_aliases:
            # Under another label of the context it is the same name, according to the authority of the claim (10.3).
            if facts.name.startswith(claim.target):
                other = name_iri(claim.alias + facts.name[len(claim.target) :], self._minter.base)
                builder.link(self._name, "pil:same", part_iri(other, "name"))

    def _write_representations(self) -> None:
        """The spellings of the name: label and context put together, and encodings of that."""
        builder, facts = self._builder, self._facts
        forms = [("canonical", facts.name), *((one.form, one.text) for one in facts.representations)]
        if facts.identifier != facts.name:
            forms.append(("stored", facts.identifier))
        canonical = part_iri(self.iri, "representation-1")
        for number, (form, text) in enumerate(forms, 1):
            node = builder.node(part_iri(self.iri, f"representation-{number}"), "pil:Label")
            builder.text(node, "pil:symbol", text)
            builder.text(node, "noid:form", form)
            builder.link(self._name, "pil:nameRepresentation", node)
            builder.link(self.iri, "pil:representation", node)
            if node != canonical:
                builder.link(canonical, "pil:sameRepresentedName", node)
            if form in _ENCODINGS:
                builder.node(node, "pil:Encoded")
                builder.link(canonical, "pil:encode", node)
                scheme = builder.node(part_iri(self._minter.iri, f"encoding-{_ENCODINGS[form]}"), "pil:EncodingScheme")
                builder.link(node, "pil:encodedIn", scheme)
                if form == "encoded":
                    builder.link_term(node, "pil:encodedIn", "pil:URLEncoding")
            else:
                builder.node(node, "pil:Serialisation")
                scheme = part_iri(self._minter.iri, f"serialisation-{form}")
                builder.link(node, "pil:serialisedBy", builder.node(scheme, "pil:SerialisationScheme"))
                # Stored names do not contain their context.
                builder.flag(node, "pil:contextImplicit", form == "stored")

    def _write_state(self) -> None:
        builder, facts = self._builder, self._facts
        # A name that only a rule knows can be resolved by the public.
        state = facts.state or "published"
        term = term_for(STATES, state, "state")
        builder.link_term(self.iri, "noid:state", term)
        builder.date(self.iri, "noid:stateSince", facts.state_since)
        # A name is reserved, an identifier is published or withdrawn (8.9, 8.10).
        builder.node(self._name if state == "reserved" else self.iri, term)
        if state != "withdrawn":
            builder.node(self.iri, "pil:Registered")
            return
        if not facts.state_since:
            raise InvalidError("The description of a withdrawn identifier needs 'state_since', the date of it.")
        builder.optional_text(self.iri, "noid:reason", facts.reason)
        if facts.successor_relation:
            builder.link(self.iri, "noid:successor", name_iri(facts.successor_relation.cited, self._minter.base))

    def _write_thing(self) -> None:
        builder, thing = self._builder, self._facts.thing
        if thing:
            known = address(thing)
            node = known or part_iri(self.iri, "thing")
            builder.link(self.iri, "pil:hasThing", node)
            builder.link(self._name, "pil:identifies", node)
            builder.link(self._name, "pil:associatedWith", node)
            builder.link(node, "pil:isReferentOf", self._name)
            if known is None:
                builder.text(builder.node(node, "pil:Thing"), "rdfs:label", thing)
        for target in self._facts.targets:
            place = address(target.url)
            if place is None:
                builder.text(self.iri, "noid:locatorText", target.url)
            else:
                # What resolving gives back is the key by which the thing can be had (9.10).
                builder.link(self.iri, "pil:locator", builder.node(place, "pil:Locator", "pil:RetrievalKey"))

    # -- responsibility, actions, bindings -----------------------------------------------------------

    def _write_responsibility(self) -> None:
        builder, minter, facts = self._builder, self._minter, self._facts
        if facts.custodians:
            minter.write_custodians(self.iri, facts.custodians)
        if all(party.purpose or party.until for party in facts.custodians):
            # What it has no custodian of its own for, those of the minter answer for.
            minter.write_inherited_custodians(self.iri)
        minter.write_policies(self.iri, facts.policies)
        minter.write_services(self.iri, facts.actions)
        for action in facts.actions:
            # What was withdrawn is not actionable (9.4), although its tombstone can be read.
            if action.name in ACTS and facts.state != "withdrawn":
                builder.link(self.iri, "pil:actionInActionable", part_iri(self.iri, f"action-{action.name}"))

    def _write_element(self, node: str, name: str, value: str) -> None:
        builder = self._builder
        builder.node(node, "noid:Binding", "pil:AssociationData")
        builder.text(node, "noid:element", name)
        builder.text(node, "noid:value", value)
        builder.link(self.iri, "noid:binding", node)
        builder.link(self.iri, "pil:attribute", node)


# -- qualities: what was verified, and what is stated ----------------------------------------------------------------


def write_statements(
    builder: GraphBuilder, minter: MinterWriter, subject: str, statements: tuple[QualityClaim, ...]
) -> None:
    """What authorities state of a subject other than an identifier."""
    writer = QualityWriter(builder, minter, subject)
    for statement in statements:
        writer.write_statement(statement)


class QualityWriter:
    """Adds the qualities of a subject, such as an identifier."""

    __slots__ = ("_builder", "_iri", "_minter")

    def __init__(self, builder: GraphBuilder, minter: MinterWriter, iri: str) -> None:
        self._builder = builder
        self._minter = minter
        self._iri = iri

    def write(self, facts: NameDescription) -> None:
        """What was verified of a name, and what is stated of it."""
        findings = [finding for finding in facts.findings if finding.verdict != UNKNOWN]
        described = [(finding.quality, "") for finding in findings]
        described += [(statement.quality, statement.authority) for statement in facts.statements]
        for quality in described:
            if described.count(quality) > 1:
                raise InvalidError(
                    f"There are two statements of the quality {quality[0]}; a description holds one of each."
                )
        for finding in findings:
            self._write_finding(finding)
        for statement in facts.statements:
            self.write_statement(statement)

    def _write_finding(self, finding: QualityFinding) -> None:
        """A quality that was verified: confirmed, or refuted."""
        builder, quality = self._builder, finding.quality
        if not finding.date:
            raise InvalidError(f"The quality {quality} needs both the date of its verification and the outcome.")
        confirmed = finding.verdict == HOLDS
        node = self._write_quality(quality, stated=True)
        builder.node(node, "pil:Verifiable")
        builder.flag(node, "noid:confirmed", confirmed)
        builder.date(node, "noid:verifiedAt", finding.date)
        builder.text(node, "noid:rule", f"section {finding.section}: {finding.rule}")
        if confirmed:
            builder.node(node, "pil:Verified")
            self._write_membership(quality)

    def write_statement(self, statement: QualityClaim) -> None:
        """A quality that is stated without being verified, by an authority or because it is so of itself."""
        builder = self._builder
        node = self._write_quality(statement.quality, stated=statement.holds, by=statement.authority)
        if statement.authority:
            builder.link(self._minter.party(statement.authority), "pil:claims", node)
        if statement.start:
            span = builder.timespan(part_iri(node, "timespan"), statement.start, statement.until)
            builder.link(node, "noid:during", span)
        if statement.holds:
            self._write_membership(statement.quality, statement, node)

    def _write_quality(self, name: str, *, stated: bool, by: str = "") -> str:
        """The statement that the subject has a quality, or lacks it; returns its node."""
        builder = self._builder
        term = term_for(QUALITIES, name, "quality of the ontology")
        # What an authority states is another statement than what was verified.
        by = by if name in STATABLE else ""
        node = builder.node(part_iri(self._iri, f"quality-{name}", by), "pil:QualityStatement")
        subject = part_iri(self._iri, "name") if name == "reserved" else self._iri
        builder.link(subject, "pil:hasQualityStatement", node)
        builder.link(node, "pil:statedOf", subject)
        builder.link_term(node, "pil:statedQuality", term)
        builder.flag(node, "pil:statedValue", stated)
        return node

    def _write_membership(self, name: str, statement: QualityClaim | None = None, node: str = "") -> None:
        """Make the subject a member of a quality's class, if what the class demands is known."""
        if name in BY_STATE:
            return
        builder, minter, iri = self._builder, self._minter, self._iri
        if name == "persistent":
            timespan = part_iri(node, "timespan") if statement and statement.start else minter.persistence_timespan()
            if not timespan:
                return
            builder.link(iri, "pil:timespanOfPersistent", timespan)
            if statement and statement.refinement:
                builder.link_term(iri, "pil:typeOfPersistent", QUALITIES[statement.refinement])
        elif name in ("trusted", "reliable"):
            if not (statement and statement.authority):
                return
            builder.link(iri, "pil:trustedByParty", minter.party(statement.authority))
        elif name == "unique":
            builder.link(iri, "pil:scopeOfUnique", minter.iri)
        elif name == "universal":
            builder.link(iri, "pil:contextInUniversal", self._context(statement))
        elif name == "accountable":
            builder.link_term(iri, "pil:accountableToParty", "noid:Public")
        elif name in ("internet-resolvable", "web-resolvable"):
            builder.link_term(iri, "pil:protocolInResolvable", "pil:HTTP")
            builder.type_term("pil:HTTP", "pil:WebProtocol", "pil:InternetProtocol", "pil:Protocol")
        elif name == "web-actionable":
            builder.link_term(iri, "pil:protocolInActionable", "pil:HTTP")
        elif name == "actionable":
            builder.link(iri, "pil:systemInActionable", minter.system)
        builder.node(iri, QUALITIES[name])

    def _context(self, statement: QualityClaim | None) -> str:
        """The context in which an identifier is universal: one that is named, or that of the minter."""
        if statement is None or not statement.refinement:
            return self._minter.iri
        identifier = name_iri(statement.refinement, self._minter.base)
        context = self._builder.node(part_iri(identifier, "context"), "pil:Context")
        self._builder.link(context, "pil:contextIdentifier", identifier)
        return context


# -- actions that were performed, as the events have them ------------------------------------------------------------

# The classes of the actions that a command performs, one after the other; those of any other are one curatorial action.
_PERFORMED = {
    "mint": ("Create", "Register"), "peppermint": ("Create", "Register"), "publish": ("Publish",),
    "reserve": ("Reserve",), "withdraw": ("Deregister",), "custodian": ("Assign",), "verify": ("Verify",),
}
_BASIS = {
    "shell": "the permissions of the minter's files", "python": "the permissions of the minter's files",
    "web": "the access policy of the minter",
}


class PerformedActionWriter:
    """Adds the actions that were performed on an identifier."""

    __slots__ = ("_builder", "_iri", "_minter", "_name")

    def __init__(self, builder: GraphBuilder, minter: MinterWriter, iri: str) -> None:
        self._builder = builder
        self._minter = minter
        self._iri = iri
        self._name = part_iri(iri, "name")

    def write(self, action: PerformedAction) -> None:
        """One event: an action, or a composite one where a command performs several."""
        builder = self._builder
        event = part_iri(self._minter.iri, f"event-{action.number}")
        kinds = ("Identify",) if action.verb.startswith("bind ") else _PERFORMED.get(action.verb, ("CuratorialAction",))
        parts = []
        for kind in kinds:
            node = event if len(kinds) == 1 else part_iri(event, kind.lower())
            parts.append(node)
            self._write_one(node, kind, action)
        if len(parts) > 1:
            self._write_common(event, "CompositeAction", action, self._iri)
            builder.link(event, "pil:composedOf", *parts)

    def _write_one(self, node: str, kind: str, action: PerformedAction) -> None:
        builder, iri = self._builder, self._iri
        # Nothing is the input of a creation (9.2); a name and a thing are those of Identify (9.7).
        entity = "" if kind == "Create" else self._name if kind == "Identify" else iri
        self._write_common(node, kind, action, entity)
        if kind == "Identify":
            builder.link(node, "pil:inputName", self._name)
        if kind in ("Create", "Identify"):
            builder.link(node, "pil:hasResult", iri)
            builder.link(iri, "pil:actionResult", node)
        if kind == "Verify" and action.outcome is not None:
            result = "pil:True" if action.outcome else "pil:False"
            builder.link_term(node, "pil:hasResult", result)
            builder.type_term(result, "pil:Boolean")

    def _write_common(self, node: str, kind: str, action: PerformedAction, entity: str) -> None:
        """System, user, time and authorisation, each in both directions."""
        builder, system = self._builder, self._minter.system
        builder.node(node, f"pil:{kind}", "pil:Action")
        builder.text(node, "noid:commandWords", action.verb)
        user = builder.node(self._minter.party(action.who), "pil:Administrator")
        time = builder.moment(part_iri(node, "time"), action.date)
        permission = builder.node(part_iri(node, "authorisation"), "pil:AuthorisationInstance")
        builder.text(permission, "noid:basis", _BASIS.get(action.interface, action.interface))
        if action.authority:
            builder.link(permission, "noid:onBehalfOf", self._minter.party(action.authority))
        inputs = [entity] if entity else []
        for subject, forward, backward, value in (
            (node, "hasSystem", "actionSystem", [system]), (node, "hasUser", "actionUser", [user]),
            (node, "hasTime", "actionTime", [time]), (node, "hasInput", "actionInput", inputs),
            (node, "hasAuthorisation", "actionAuthorisation", [permission]),
            (permission, "authorisesSystem", "systemAuthorised", [system]),
            (permission, "authorisesUser", "userAuthorised", [user]),
            (permission, "authorisesInput", "inputAuthorised", inputs),
        ):
            for other in value:
                builder.link(subject, f"pil:{forward}", other)
                builder.link(other, f"pil:{backward}", subject)
