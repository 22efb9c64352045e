"""The part of an RDF description that is about the actions that were performed on a name, as its events have them."""

from __future__ import annotations

from .vocabulary import part_iri

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .facts import PerformedAction
    from .graph import GraphBuilder
    from .minter_rdf import MinterWriter

# The classes of the actions that a command performs, one after the other; those of any other are one curatorial action.
_PERFORMED = {
    "mint": ("Create", "Register"), "peppermint": ("Create", "Register"), "publish": ("Publish",),
    "reserve": ("Reserve",), "withdraw": ("Deregister",), "custodian": ("Assign",), "verify": ("Verify",),
}
_BASIS = {
    "shell": b"the permissions of the minter's files", "python": b"the permissions of the minter's files",
    "web": b"the access policy of the minter",
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
        builder.text(node, "noid:commandWords", action.verb.encode())
        user = builder.node(self._minter.party(action.who), "pil:Administrator")
        time = builder.moment(part_iri(node, "time"), action.date)
        permission = builder.node(part_iri(node, "authorisation"), "pil:AuthorisationInstance")
        builder.text(permission, "noid:basis", _BASIS.get(action.interface, action.interface.encode()))
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
