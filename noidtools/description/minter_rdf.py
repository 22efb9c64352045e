"""The part of an RDF description that is about the minter: its context, system, parties, policies, services, claims."""

from __future__ import annotations

import re
from urllib.parse import quote

from ..codec import encode_text
from ..errors import InvalidError
from .facts import ContextClaim, CustodyPeriod, MinterDescription, NameRelation, OfferedAction, PolicyStatement
from .formats import GraphBuilder
from .vocabulary import ACTIONS, MEDIA, POLICIES, STATES, address, name_iri, part_iri, term_for

_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[A-Za-z0-9%?/:@!$&'()*+,;=~._\[\]-]*")


def iri_or(default: str, iri: str, subject: str, fact: str) -> str:
    """An IRI among the facts, or the default where there is none; raises InvalidError for a text that is no IRI."""
    if iri and not _IRI.fullmatch(iri):
        raise InvalidError(f"The description of {subject} has {fact!r} that is no absolute IRI: {iri!r}.")
    return iri or default


class MinterWriter:
    """Adds a minter and, for whatever belongs to it, parties, claims, policies and services."""

    __slots__ = ("_builder", "_facts", "base", "iri", "system")

    def __init__(self, builder: GraphBuilder, facts: MinterDescription) -> None:
        self._builder = builder
        self._facts = facts
        self.iri = iri_or("urn:noid:" + quote(encode_text(facts.name), safe=""), facts.iri, "a minter", "iri")
        self.base = iri_or(self.iri + (":" if self.iri.startswith("urn:") else "/"), facts.base, "a minter", "base")
        self.system = part_iri(self.iri, "system")

    @property
    def context_names(self) -> tuple[str, ...]:
        """The names that identify the minter as a context."""
        return *self._facts.names, self._facts.namespace.rstrip("/")

    def write(self) -> None:
        """The context and its system, as every description needs them."""
        builder, facts = self._builder, self._facts
        builder.node(self.iri, "noid:Minter", "pil:Context", "pil:ConcreteContext", "pil:Concrete",
                     "pil:IdentifierManagementSystemContext")
        builder.text(self.iri, "rdfs:label", facts.name)
        builder.text(self.iri, "noid:namespace", facts.namespace)
        builder.optional_text(self.iri, "pil:purpose", facts.purpose)
        if facts.initial_state:
            builder.link_term(self.iri, "noid:initialState", term_for(STATES, facts.initial_state, "state"))
        for name in facts.names:
            self._write_context_name(name)
        builder.node(self.system, "pil:IdentifierManagementSystem")
        builder.link(self.system, "pil:definesContext", self.iri)
        builder.link(self.iri, "pil:isManagedBy", self.system)
        builder.link(self.system, "pil:manages", self.iri)
        self.write_custodians(self.system, facts.custodians)
        builder.link(self.iri, "pil:hasOwner", *self._present(facts.custodians)[:1])
        policies = self.write_policies(self.iri, facts.policies)
        if "label-format" not in policies:
            raise InvalidError("The description of a minter needs a policy of the kind label-format.")
        builder.link(self.system, "pil:exposesPolicy", *policies.values())
        # The form of labels and the access to commands are enforced; what is promised is only made known.
        builder.link(self.system, "pil:enforcesPolicy", *(
            node for kind, node in policies.items() if kind in ("label-format", "access")
        ))
        self._write_rules(policies)

    def _write_context_name(self, name: str) -> None:
        """A name of the context, which is itself a label among the known naming systems (4.1)."""
        builder, identifier = self._builder, name_iri(name, self.base)
        builder.link(self.iri, "pil:contextIdentifier", identifier)
        node = builder.node(part_iri(identifier, "name"), "pil:Name")
        label = builder.node(part_iri(identifier, "label"), "pil:Label")
        builder.text(label, "pil:symbol", name)
        builder.link(node, "pil:hasLabel", label)
        builder.link_term(node, "pil:hasContext", "pil:KnownNamingSystems")
        builder.link(identifier, "pil:hasName", node)

    def _write_rules(self, policies: dict[str, str]) -> None:
        """The rules of the access policy: for whom each class of commands is."""
        builder = self._builder
        for name, audience in self._facts.audiences if "access" in policies else ():
            rule = builder.node(part_iri(policies["access"], f"rule-{name}"), "pil:Rule")
            builder.text(rule, "rdfs:label", f"{name}: {audience}")
            builder.link(policies["access"], "pil:hasRule", rule)

    def write_model(self) -> None:
        """What only the description of the minter itself adds."""
        builder = self._builder
        for service in self.write_services(self.iri, self._facts.actions):
            builder.link(self.system, "pil:exposesService", service)
        for number, claim in enumerate(self._facts.context_aliases, 1):
            alias, target = (name_iri(name, self.base) for name in (claim.alias, claim.target))
            self.write_alias(part_iri(self.iri, f"context-alias-{number}"), alias, target, claim)

    # -- parties -----------------------------------------------------------------------------------

    def party(self, name: str) -> str:
        """The node of a party; the same name within one minter is the same party."""
        return self._write_party(part_iri(self.iri, "party", name), name)

    def write_custodians(self, subject: str, custodians: tuple[CustodyPeriod, ...]) -> None:
        """The parties responsible for a subject now, and the record of all whose time is known."""
        builder = self._builder
        self._link_authorities(subject, self._present(custodians))
        for number, party in enumerate(custodians, 1):
            node = self._party_node(party)
            builder.optional_text(node, "noid:contact", party.contact)
            if party.start:
                record = builder.node(part_iri(subject, f"custodianship-{number}"), "pil:AccountabilityMetadata")
                builder.link(record, "noid:custodian", node)
                builder.optional_text(record, "noid:forPurpose", party.purpose)
                builder.link(record, "noid:during", self._timespan(record, party))
                builder.link(subject, "pil:accountabilityMetadata", record)

    def write_inherited_custodians(self, subject: str) -> None:
        """Make the minter's present custodians responsible for a subject."""
        self._link_authorities(subject, self._present(self._facts.custodians))

    def _link_authorities(self, subject: str, parties: list[str]) -> None:
        for party in parties:
            self._builder.node(party, "pil:Authority")
            self._builder.link(subject, "pil:hasAuthority", party)
            self._builder.link(party, "pil:responsibleFor", subject)

    def _present(self, custodians: tuple[CustodyPeriod, ...]) -> list[str]:
        found = [self._party_node(party) for party in custodians if not party.until]
        if not found:
            raise InvalidError("A description needs at least one custodian whose time has not ended.")
        return found

    def _party_node(self, party: CustodyPeriod) -> str:
        iri = iri_or(part_iri(self.iri, "party", party.name), party.iri, "a party", "iri")
        return self._write_party(iri, party.name)

    def _write_party(self, node: str, name: str) -> str:
        if not name:
            raise InvalidError("A party in a description needs a name that is not empty.")
        self._builder.text(self._builder.node(node, "pil:Party"), "rdfs:label", name)
        return node

    # -- policies and services ---------------------------------------------------------------------

    def write_policies(self, subject: str, policies: tuple[PolicyStatement, ...]) -> dict[str, str]:
        """The policies about a subject; returns kind and node of each."""
        builder = self._builder
        nodes: dict[str, str] = {}
        for policy in policies:
            kind = policy.kind
            term = term_for(POLICIES, kind, "kind of policy")
            node = builder.node(part_iri(subject, f"policy-{kind}"), term, "pil:Policy")
            if kind in nodes:
                raise InvalidError(f"There are two policies of the kind {kind}; a description holds one of each.")
            nodes[kind] = node
            builder.link(subject, "pil:hasPolicy", node)
            builder.link(node, "pil:regards", subject)
            builder.text(node, "noid:text", policy.text)
            if kind == "label-format":
                builder.optional_text(node, "noid:scheme", policy.scheme)
                builder.optional_text(node, "noid:template", policy.template)
            if kind == "persistence":
                builder.link(node, "noid:during", self._timespan(node, policy))
        return nodes

    def persistence_timespan(self) -> str:
        """The node of the time span of the minter's commitment to persistence; empty if it made none."""
        if not any(policy.kind == "persistence" for policy in self._facts.policies):
            return ""
        return _timespan_iri(part_iri(self.iri, "policy-persistence"))

    def write_services(self, subject: str, actions: tuple[OfferedAction, ...]) -> list[str]:
        """The actions that a subject offers, each with its interfaces; returns their nodes."""
        builder = self._builder
        services: list[str] = []
        for action in actions:
            name = action.name
            service = builder.node(
                part_iri(subject, f"action-{name}"), "pil:Service", term_for(ACTIONS, name, "action of the ontology")
            )
            if service in services:
                raise InvalidError(f"The action {name} is on offer twice; give all its interfaces at once.")
            if not action.interfaces:
                raise InvalidError(f"The action {name} is on offer without an interface.")
            for number, interface in enumerate(action.interfaces, 1):
                self._write_interface(service, part_iri(subject, f"interface-{name}-{number}"), interface)
            builder.link(subject, "noid:offers", service)
            self._write_medium(service, name)
            services.append(service)
        return services

    def _write_medium(self, service: str, action: str) -> None:
        medium = MEDIA.get(action)
        if medium:
            self._builder.link_term(service, "pil:throughMedium", medium)
            self._builder.link_term(service, "pil:toAudience", "noid:Public")

    def _write_interface(self, service: str, node: str, interface: str) -> None:
        builder = self._builder
        builder.link(service, "pil:hasInterface", builder.node(node, "pil:Interface"))
        url = address(interface) if interface.lower().startswith(("http://", "https://")) else None
        if url is None:
            builder.text(node, "noid:command", interface)
        else:
            builder.url(node, "noid:url", url)

    # -- claims ------------------------------------------------------------------------------------

    def write_synonymy(self, node: str, claim: NameRelation | ContextClaim, *names: str) -> str:
        """An authority's claim, for a time, that names are synonyms; returns the node of the authority."""
        builder = self._builder
        authority = self.party(claim.authority) if claim.authority else self._present(self._facts.custodians)[0]
        builder.node(node, "pil:SynonymyInstance")
        builder.link(node, "pil:hasSynonym", *names)
        builder.link(node, "pil:hasSynonymAuthority", authority)
        builder.link(node, "pil:synonymTimespan", self._timespan(node, claim))
        builder.link(authority, "pil:claims", node)
        return authority

    def write_alias(self, node: str, alias: str, target: str, claim: NameRelation | ContextClaim) -> None:
        """An authority's claim that one name follows another."""
        builder = self._builder
        authority = self.write_synonymy(node, claim, alias, target)
        builder.node(node, "pil:AliasInstance")
        builder.link(node, "pil:hasAlias", alias)
        builder.link(node, "pil:hasAliasTarget", target)
        builder.link(node, "pil:hasAliasAuthority", authority)
        builder.link(authority, "pil:isAliasAuthority", node)
        builder.link(alias, "pil:aliasOf", target)

    def _timespan(self, owner: str, span: CustodyPeriod | PolicyStatement | NameRelation | ContextClaim) -> str:
        return self._builder.timespan(_timespan_iri(owner), span.start, span.until)


def _timespan_iri(owner: str) -> str:
    return owner + "-timespan"
