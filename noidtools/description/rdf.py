"""The facts of a minter and of a name as RDF in the terms of the ontology.

Pure functions from facts to a graph.  Whatever a value contains, it becomes a literal or a percent-encoded IRI.
Parts of a description have IRIs of their own (`…#name`, `…#quality-resolvable`), so that the same facts always give
the same graph.
"""

from __future__ import annotations

from string import Template

from ..minter.qualities import HOLDS, STATABLE, UNKNOWN
from .facts import MinterDescription, NameDescription, PerformedAction, QualityClaim, QualityFinding
from .formats import serialize
from .minter_rdf import MinterGraph
from .relation_rdf import write_abstract, write_context_relations, write_elsewhere, write_name_relations
from .vocabulary import ACTS, BY_STATE, MODEL, QUALITIES, STATES, address, part_iri, read

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
    graph = MinterGraph(facts)
    graph.write_minter()
    graph.link(graph.system, "pil:exposesService", *graph.write_services(graph.iri, facts.actions))
    for number, claim in enumerate(facts.context_aliases, 1):
        graph.write_alias(part_iri(graph.iri, f"context-alias-{number}"), graph.name_iri(claim.alias),
                          graph.name_iri(claim.target), claim)
    _write_model(graph, facts)
    _write_statements(graph, graph.system, facts.qualities)
    write_context_relations(graph, graph.iri, facts.relations)
    return graph.graph


def describe_name(facts: NameDescription) -> Graph:
    """The description of a name, with as much of its minter as that needs."""
    graph = MinterGraph(facts.minter)
    graph.write_minter()
    if facts.abstract is not None:
        write_abstract(graph, facts)
    elif facts.elsewhere:
        _write_statements(graph, write_elsewhere(graph, facts), facts.statements)
    else:
        _write_identifier(graph, facts)
    return graph.graph


def _write_model(graph: MinterGraph, facts: MinterDescription) -> None:
    """The model of the identifier system: what section 2.7 of the ontology demands.

    It defines the qualities that are managed and how, the attributes that are registered, the encoding and
    serialisation schemes of names, and the actions with their inputs, their results and those who may perform them.
    """
    audiences = dict(facts.audiences)
    permitted = {f"may_{name}": _permitted(audiences.get(name, "")) for name in ("read", "mint", "bind", "admin")}
    graph.parse(Template(read(MODEL).decode()).substitute(part=part_iri(graph.iri, ""), **permitted))
    graph.node(graph.system, "pil:IdentifierSystem")
    graph.link(graph.iri, "pil:hasMembershipFunction", part_iri(graph.iri, "label-membership"))
    trusting = [stated.authority for stated in facts.qualities if stated.quality == "trusted" and stated.holds]
    if trusting:
        store = graph.node(part_iri(graph.iri, "store"), "pil:Registry", "pil:Trusted")
        graph.link(store, "pil:trustedByParty", *map(graph.party, trusting))


def _permitted(audience: str) -> str:
    """Who may perform an action: the audience of its class on the web, and who may use the minter's files."""
    if audience == "anyone":
        return audience
    accounts = "accounts that may use its files, at the shell"
    return f"{accounts}; on the web {audience}" if audience else accounts


# -- a name ----------------------------------------------------------------------------------------------------------

# The forms of a citation that encode the canonical spelling, and the names of their schemes.
_ENCODINGS = {"encoded": "url", "print": "print", "speech": "speech"}


def _write_identifier(graph: MinterGraph, facts: NameDescription) -> None:
    """An identifier of the minter."""
    iri = graph.name_iri(facts.name)
    _write_name(graph, facts, iri)
    _write_representations(graph, facts, iri)
    _write_state(graph, facts, iri)
    _write_thing(graph, facts, iri)
    write_name_relations(graph, iri, facts.relations)
    _write_qualities(graph, facts, iri)
    _write_responsibility(graph, facts, iri)
    for action in facts.performed:
        _write_performed(graph, iri, action)
    whole = (pair for pair in facts.elements.items() if pair[0] not in facts.whole_sizes)
    for number, (name, value) in enumerate(whole, 1):
        node = graph.node(part_iri(iri, f"binding-{number}"), "noid:Binding", "pil:AssociationData",
                          texts={"noid:element": name, "noid:value": value})
        graph.node(iri, links={"noid:binding": node, "pil:attribute": node})
        graph.link_authorities(node, [party for party in facts.custodians if party.element == name])


def _write_name(graph: MinterGraph, facts: NameDescription, iri: str) -> None:
    label = graph.node(part_iri(iri, "label"), "pil:Label", texts={"pil:symbol": facts.label or facts.name},
                       links={"pil:isIn": graph.iri})
    name = graph.node(part_iri(iri, "name"), "pil:Name", "pil:ConcreteName",
                      links={"pil:hasContext": graph.iri, "pil:hasLabel": label})
    graph.node(iri, "pil:Identifier", "pil:Concrete", "pil:ConcreteIdentifier", texts={"rdfs:label": facts.name},
               links={"pil:isManagedBy": graph.system, "pil:hasName": name})
    graph.link(graph.system, "pil:manages", iri, name)
    for claim in facts.minter.context_aliases:
        # Under another label of the context it is the same name, according to the authority of the claim (10.3).
        if facts.name.startswith(claim.target):
            other = graph.name_iri(claim.alias + facts.name[len(claim.target) :])
            graph.link(name, "pil:same", part_iri(other, "name"))


def _write_representations(graph: MinterGraph, facts: NameDescription, iri: str) -> None:
    """The spellings of the name: label and context put together, and encodings of that."""
    forms = [("canonical", facts.name), *((one.form, one.text) for one in facts.representations)]
    if facts.identifier != facts.name:
        forms.append(("stored", facts.identifier))
    canonical = part_iri(iri, "representation-1")
    for number, (form, text) in enumerate(forms, 1):
        node = graph.node(part_iri(iri, f"representation-{number}"), "pil:Label",
                          texts={"pil:symbol": text, "noid:form": form})
        graph.link(part_iri(iri, "name"), "pil:nameRepresentation", node)
        graph.link(iri, "pil:representation", node)
        if node != canonical:
            graph.link(canonical, "pil:sameRepresentedName", node)
        if form in _ENCODINGS:
            scheme = graph.node(part_iri(graph.iri, f"encoding-{_ENCODINGS[form]}"), "pil:EncodingScheme")
            graph.node(node, "pil:Encoded", links={"pil:encodedIn": scheme})
            graph.link(canonical, "pil:encode", node)
            if form == "encoded":
                graph.link_term(node, "pil:encodedIn", "pil:URLEncoding")
        else:
            scheme = graph.node(part_iri(graph.iri, f"serialisation-{form}"), "pil:SerialisationScheme")
            graph.node(node, "pil:Serialisation", links={"pil:serialisedBy": scheme})
            # Stored names do not contain their context.
            graph.flag(node, "pil:contextImplicit", form == "stored")


def _write_state(graph: MinterGraph, facts: NameDescription, iri: str) -> None:
    # A name that only a rule knows can be resolved by the public.
    state = facts.state or "published"
    term = STATES[state]
    graph.link_term(iri, "noid:state", term)
    graph.date(iri, "noid:stateSince", facts.state_since)
    # A name is reserved, an identifier is published or withdrawn (8.9, 8.10).
    graph.node(part_iri(iri, "name") if state == "reserved" else iri, term)
    if state != "withdrawn":
        graph.node(iri, "pil:Registered")
        return
    graph.optional_text(iri, "noid:reason", facts.reason)
    if facts.successor_relation:
        graph.link(iri, "noid:successor", graph.name_iri(facts.successor_relation.cited))


def _write_thing(graph: MinterGraph, facts: NameDescription, iri: str) -> None:
    name, thing = part_iri(iri, "name"), facts.thing
    if thing:
        known = address(thing)
        node = known or graph.node(part_iri(iri, "thing"), "pil:Thing", texts={"rdfs:label": thing})
        graph.link(iri, "pil:hasThing", node)
        graph.node(name, links={"pil:identifies": node, "pil:associatedWith": node})
        graph.link(node, "pil:isReferentOf", name)
    for target in facts.targets:
        place = address(target.url)
        if place is None:
            graph.text(iri, "noid:locatorText", target.url)
        else:
            # What resolving gives back is the key by which the thing can be had (9.10).
            graph.link(iri, "pil:locator", graph.node(place, "pil:Locator", "pil:RetrievalKey"))


def _write_responsibility(graph: MinterGraph, facts: NameDescription, iri: str) -> None:
    """Who is responsible for an identifier, and the actions on offer."""
    if facts.custodians:
        graph.write_custodians(iri, facts.custodians)
    if all(party.purpose or party.until for party in facts.custodians):
        # What it has no custodian of its own for, those of the minter answer for.
        graph.link_authorities(iri, facts.minter.custodians)
    graph.write_services(iri, facts.actions)
    for action in facts.actions:
        # What was withdrawn is not actionable (9.4), although its tombstone can be read.
        if action.name in ACTS and facts.state != "withdrawn":
            graph.link(iri, "pil:actionInActionable", part_iri(iri, f"action-{action.name}"))


# -- qualities: what was verified, and what is stated ----------------------------------------------------------------


def _write_qualities(graph: MinterGraph, facts: NameDescription, iri: str) -> None:
    """What was verified of a name, and what is stated of it."""
    for finding in facts.findings:
        if finding.verdict != UNKNOWN:
            _write_finding(graph, iri, finding)
    _write_statements(graph, iri, facts.statements)


def _write_finding(graph: MinterGraph, iri: str, finding: QualityFinding) -> None:
    """A quality that was verified: confirmed, or refuted."""
    quality = finding.quality
    confirmed = finding.verdict == HOLDS
    node = _write_quality(graph, iri, quality, stated=True)
    graph.node(node, "pil:Verifiable", texts={"noid:rule": f"section {finding.section}: {finding.rule}"})
    graph.flag(node, "noid:confirmed", confirmed)
    graph.date(node, "noid:verifiedAt", finding.date)
    if confirmed:
        graph.node(node, "pil:Verified")
        _write_membership(graph, iri, QualityClaim(None, quality), "")


def _write_statements(graph: MinterGraph, iri: str, statements: tuple[QualityClaim, ...]) -> None:
    """Qualities of a subject that are stated without being verified, by an authority or because it is so of itself."""
    for statement in statements:
        node = _write_quality(graph, iri, statement.quality, stated=statement.holds, by=statement.authority)
        if statement.authority:
            graph.link(graph.party(statement.authority), "pil:claims", node)
        timespan = ""
        if statement.start:
            timespan = graph.timespan(part_iri(node, "timespan"), statement.start, statement.until)
            graph.link(node, "noid:during", timespan)
        if statement.holds:
            _write_membership(graph, iri, statement, timespan)


def _write_quality(graph: MinterGraph, iri: str, name: str, *, stated: bool, by: str = "") -> str:
    """The statement that the subject has a quality, or lacks it; returns its node."""
    # What an authority states is another statement than what was verified.
    by = by if name in STATABLE else ""
    node = graph.node(part_iri(iri, f"quality-{name}", by), "pil:QualityStatement")
    subject = part_iri(iri, "name") if name == "reserved" else iri
    graph.link_both(subject, "pil:hasQualityStatement", node, "pil:statedOf")
    graph.link_term(node, "pil:statedQuality", QUALITIES[name])
    graph.flag(node, "pil:statedValue", stated)
    return node


def _write_membership(graph: MinterGraph, iri: str, claim: QualityClaim, timespan: str) -> None:
    """Make the subject a member of a quality's class, if what the class demands is known."""
    name = claim.quality
    if name in BY_STATE:
        return
    if name == "persistent":
        timespan = timespan or graph.persistence_timespan()
        if not timespan:
            return
        graph.link(iri, "pil:timespanOfPersistent", timespan)
        if claim.refinement:
            graph.link_term(iri, "pil:typeOfPersistent", QUALITIES[claim.refinement])
    elif name in ("trusted", "reliable"):
        if not claim.authority:
            return
        graph.link(iri, "pil:trustedByParty", graph.party(claim.authority))
    elif name == "unique":
        graph.link(iri, "pil:scopeOfUnique", graph.iri)
    elif name == "universal":
        context = graph.iri
        if claim.refinement:
            identifier = graph.name_iri(claim.refinement)
            context = graph.node(part_iri(identifier, "context"), "pil:Context",
                                 links={"pil:contextIdentifier": identifier})
        graph.link(iri, "pil:contextInUniversal", context)
    elif name == "accountable":
        graph.link_term(iri, "pil:accountableToParty", "noid:Public")
    elif name in ("internet-resolvable", "web-resolvable"):
        graph.link_term(iri, "pil:protocolInResolvable", "pil:HTTP")
        graph.type_term("pil:HTTP", "pil:WebProtocol", "pil:InternetProtocol", "pil:Protocol")
    elif name == "web-actionable":
        graph.link_term(iri, "pil:protocolInActionable", "pil:HTTP")
    elif name == "actionable":
        graph.link(iri, "pil:systemInActionable", graph.system)
    graph.node(iri, QUALITIES[name])


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


def _write_performed(graph: MinterGraph, iri: str, action: PerformedAction) -> None:
    """One event of an identifier: an action, or a composite one where a command performs several."""
    event = part_iri(graph.iri, f"event-{action.number}")
    kinds = ("Identify",) if action.verb.startswith("bind ") else _PERFORMED.get(action.verb, ("CuratorialAction",))
    parts = [event] if len(kinds) == 1 else [part_iri(event, kind.lower()) for kind in kinds]
    for node, kind in zip(parts, kinds, strict=True):
        _write_action(graph, iri, node, kind, action)
    if len(parts) > 1:
        _write_common(graph, event, "CompositeAction", action, iri)
        graph.link(event, "pil:composedOf", *parts)


def _write_action(graph: MinterGraph, iri: str, node: str, kind: str, action: PerformedAction) -> None:
    name = part_iri(iri, "name")
    # Nothing is the input of a creation (9.2); a name and a thing are those of Identify (9.7).
    _write_common(graph, node, kind, action, {"Create": "", "Identify": name}.get(kind, iri))
    if kind == "Identify":
        graph.link(node, "pil:inputName", name)
    if kind in ("Create", "Identify"):
        graph.link_both(node, "pil:hasResult", iri, "pil:actionResult")
    if kind == "Verify" and action.outcome is not None:
        result = "pil:True" if action.outcome else "pil:False"
        graph.link_term(node, "pil:hasResult", result)
        graph.type_term(result, "pil:Boolean")


def _write_common(graph: MinterGraph, node: str, kind: str, action: PerformedAction, entity: str) -> None:
    """System, user, time and authorisation, each in both directions."""
    graph.node(node, f"pil:{kind}", "pil:Action", texts={"noid:commandWords": action.verb})
    user = graph.node(graph.party(action.who), "pil:Administrator")
    time = graph.moment(part_iri(node, "time"), action.date)
    permission = graph.node(part_iri(node, "authorisation"), "pil:AuthorisationInstance",
                            texts={"noid:basis": _BASIS.get(action.interface, action.interface)})
    if action.authority:
        graph.link(permission, "noid:onBehalfOf", graph.party(action.authority))
    for subject, forward, backward, other in (
        (node, "hasSystem", "actionSystem", graph.system), (node, "hasUser", "actionUser", user),
        (node, "hasTime", "actionTime", time), (node, "hasInput", "actionInput", entity),
        (node, "hasAuthorisation", "actionAuthorisation", permission),
        (permission, "authorisesSystem", "systemAuthorised", graph.system),
        (permission, "authorisesUser", "userAuthorised", user),
        (permission, "authorisesInput", "inputAuthorised", entity),
    ):
        if other:
            graph.link_both(subject, f"pil:{forward}", other, f"pil:{backward}")
