"""The part of an RDF description that is the model of the identifier system: what section 2.7 of the ontology demands.

It defines the qualities that are managed and how, the attributes that are registered, the encoding and serialisation
schemes of names, and the actions with their inputs, their results and those who may perform them.
"""

from __future__ import annotations

from ..minter.qualities import QUALITIES as VERIFIED_QUALITIES
from ..minter.qualities import STATABLE
from .actions import KINDS
from .vocabulary import ACTIONS, ACTS, CURATORIAL, QUALITIES, part_iri

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .facts import MinterFacts
    from .graph import GraphBuilder
    from .minter_rdf import MinterWriter

_ATTRIBUTES = (
    ("circulation record", "when and by whom it was issued, queued or held"),
    ("state", "reserved, published or withdrawn, and since when"),
    ("target", "where it leads: one or several addresses, the first of which is the usual one"),
    ("elements", "any further names and values that are bound to it"),
    ("custodians", "who answers for it, for which purpose, and since when"),
    ("relations", "what other names are to it, according to whom, and for which time"),
    ("tombstone", "when and why it was withdrawn, and what to use instead"),
)
_BY_STATE = {"published": "publish", "registered": "mint", "reserved": "reserve", "withdrawn": "withdraw"}
_SEVERAL_TARGETS = (
    "Several targets of a name are places where one thing can be had. A reader is sent to the first; the others are "
    "named beside it as duplicates, and shown by the description of the name."
)

# The forms of names: what serialises label and context, and what encodes the result for a medium.
_SERIALISATIONS = ("canonical", "ark", "hdl", "doi", "info", "urn", "web")
_ENCODINGS = (
    ("url", "pil:WebEncodingScheme", "pil:Web", "octets as percent sign and two hexadecimal digits"),
    ("print", "pil:TypographicEncodingScheme", "pil:Print", "printed letters, a link in angle brackets"),
    ("speech", "pil:EncodingScheme", "pil:Speech", "every character by its name, as on a telephone"),
)
_CONVENTIONS = ("web", "print", "speech", "html", "markdown")


class ModelWriter:
    """Adds the model of the identifier system to a graph that has its minter."""

    __slots__ = ("_builder", "_facts", "_minter", "_model")

    def __init__(self, builder: GraphBuilder, minter: MinterWriter, facts: MinterFacts) -> None:
        self._builder = builder
        self._minter = minter
        self._facts = facts
        self._model = part_iri(minter.iri, "model")

    def write(self) -> None:
        builder, minter = self._builder, self._minter
        builder.node(self._model, "pil:IdentifierSystemModel", "pil:InformationModel")
        builder.node(minter.system, "pil:IdentifierSystem")
        builder.link(self._model, "pil:describesSystem", minter.system)
        builder.link_term(self._model, "pil:expressedUsing", "pil:IdentifierSystemsOntology")
        # What the ontology lists and this system does not do: nothing is erased, and names are not encrypted.
        for term in ("pil:Destroy", "pil:Encryption"):
            builder.link_term(self._model, "noid:excludes", term)
        self._write_boundaries()
        self._write_schemes()
        self._write_qualities()
        self._write_attributes()
        self._write_actions()

    def _write_boundaries(self) -> None:
        """Where the data are, who reaches them, and how membership of a label is found out."""
        builder, minter = self._builder, self._minter
        store = builder.node(part_iri(minter.iri, "store"), "pil:DataSource")
        builder.link(minter.system, "pil:comprises", store)
        access = builder.node(part_iri(minter.iri, "access-boundary"), "pil:AccessBoundary")
        builder.link(minter.system, "pil:hasAccessBoundary", access)
        builder.link(store, "pil:insideBoundary", access)
        curation = builder.node(part_iri(minter.iri, "curation-boundary"), "pil:CurationBoundary")
        builder.link(minter.system, "pil:hasCurationBoundary", curation)
        administrators = builder.node(part_iri(minter.iri, "administrators"), "pil:Party", "pil:Administrator")
        builder.text(administrators, "rdfs:label", b"whoever is admitted to the classes mint, bind and admin")
        builder.link(administrators, "pil:administers", minter.system)
        builder.link(administrators, "pil:insideCuration", curation)
        membership = builder.node(part_iri(minter.iri, "label-membership"), "pil:LabelMembershipFunction")
        builder.text(membership, "rdfs:label", b"noid validate - Id, and noid verify Id --quality registered")
        builder.link(minter.iri, "pil:hasMembershipFunction", membership)
        trusting = [stated.by for stated in self._facts.qualities if stated.quality == "trusted" and stated.holds]
        if trusting:
            builder.node(store, "pil:Registry", "pil:Trusted")
            builder.link(store, "pil:trustedByParty", *(minter.party(by) for by in trusting))

    def _write_schemes(self) -> None:
        builder, minter = self._builder, self._minter
        for name, kind, medium, text in _ENCODINGS:
            scheme = builder.node(part_iri(minter.iri, f"encoding-{name}"), kind, "pil:EncodingScheme")
            builder.text(scheme, "rdfs:label", text.encode())
            builder.link_term(scheme, "pil:suitsMedium", medium)
            builder.type_term(medium, "pil:Medium")
            builder.link(self._model, "noid:definesScheme", scheme)
        builder.type_term("pil:URLEncoding", "pil:WebEncodingScheme")
        for name in _SERIALISATIONS:
            scheme = builder.node(part_iri(minter.iri, f"serialisation-{name}"), "pil:SerialisationScheme")
            builder.text(scheme, "rdfs:label", name.encode())
            builder.link(self._model, "noid:definesScheme", scheme)
        for name in _CONVENTIONS:
            convention = builder.node(part_iri(minter.iri, f"convention-{name}"), "pil:CitationConvention")
            builder.text(convention, "rdfs:label", f"the form {name} of noid cite".encode())
            builder.link(self._model, "noid:definesConvention", convention)

    def _write_qualities(self) -> None:
        """Which qualities are managed, and how."""
        builder = self._builder
        rules = {quality.name: quality for quality in VERIFIED_QUALITIES}
        for name, term in QUALITIES.items():
            node = builder.node(part_iri(self._minter.iri, f"managed-{name}"), "noid:QualityManagement")
            builder.link_term(node, "noid:managedQuality", term)
            builder.type_term(term, "pil:Quality")
            ways = []
            if name in _BY_STATE:
                ways.append(f"noid {_BY_STATE[name]}")
            if name in rules:
                ways.append(f"noid verify: {rules[name].rule}")
            if name in STATABLE:
                ways.append("an authority, by noid quality")
            builder.text(node, "noid:managedBy", "; ".join(ways or ["what is known of the name"]).encode())
            builder.link(self._model, "noid:manages", node)

    def _write_attributes(self) -> None:
        builder = self._builder
        for name, text in _ATTRIBUTES:
            node = part_iri(self._minter.iri, f"attribute-{name.replace(' ', '-')}")
            builder.node(node, "noid:AttributeDefinition")
            builder.text(node, "rdfs:label", name.encode())
            builder.text(node, "noid:meaning", text.encode())
            builder.link(self._model, "noid:definesAttribute", node)

    def _write_actions(self) -> None:
        """What each action is applied to, what it gives back, and who may perform it."""
        builder, audiences = self._builder, dict(self._facts.audiences)
        for name, kind in KINDS.items():
            node = builder.node(part_iri(self._minter.iri, f"definition-{name}"), "noid:ActionDefinition")
            builder.link_term(node, "noid:definedAction", ACTIONS[name])
            for general in _general_terms(name):
                builder.link_term(node, "noid:generalAction", general)
            for term in kind.inputs:
                builder.link_term(node, "noid:inputClass", term)
            for term in kind.results:
                builder.link_term(node, "noid:resultClass", term)
            builder.text(node, "noid:accessClass", kind.access.encode())
            builder.text(node, "noid:permittedTo", audiences.get(kind.access, "whom the files admit").encode())
            if name == "resolve":
                builder.text(node, "noid:meaning", _SEVERAL_TARGETS.encode())
            builder.link(self._model, "noid:definesAction", node)


def _general_terms(action: str) -> tuple[str, ...]:
    """The classes of actions that an action belongs to."""
    if action in CURATORIAL:
        return "pil:Action", "pil:CuratorialAction"
    return ("pil:Action", "pil:NonCuratorialAction", *(("pil:Act",) if action in ACTS else ()))
