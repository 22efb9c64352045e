"""The part of an RDF description that is about the minter: its context, system, parties, policies, services, claims."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import quote

from ..codec import encode_text
from ..errors import InvalidError
from .facts import ContextClaim, CustodyPeriod, MinterDescription, NameRelation, OfferedAction, PolicyStatement
from .formats import GraphBuilder
from .vocabulary import ACTIONS, MEDIA, POLICIES, STATES, address, name_iri, part_iri

_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[A-Za-z0-9%?/:@!$&'()*+,;=~._\[\]-]*")


def _iri_or(default: str, iri: str, fact: str) -> str:
    """An IRI among the facts, or the default where there is none; raises InvalidError for a text that is no IRI."""
    if iri and not _IRI.fullmatch(iri):
        raise InvalidError(f"The description of a minter has {fact!r} that is no absolute IRI: {iri!r}.")
    return iri or default


class MinterGraph(GraphBuilder):
    """A graph to which a minter is added and, for whatever belongs to it, parties, claims, policies and services."""

    __slots__ = ("_facts", "base", "iri", "system")

    def __init__(self, facts: MinterDescription) -> None:
        super().__init__()
        self._facts = facts
        self.iri = _iri_or("urn:noid:" + quote(encode_text(facts.name), safe=""), facts.iri, "iri")
        self.base = _iri_or(self.iri + (":" if self.iri.startswith("urn:") else "/"), facts.base, "base")
        self.system = part_iri(self.iri, "system")

    def name_iri(self, name: str) -> str:
        """The IRI of a name in this minter or elsewhere."""
        return name_iri(name, self.base)

    @property
    def context_names(self) -> tuple[str, ...]:
        """The names that identify the minter as a context."""
        return *self._facts.names, self._facts.namespace.rstrip("/")

    def write_minter(self) -> None:
        """The context and its system, as every description needs them."""
        facts = self._facts
        self.node(self.iri, "noid:Minter", "pil:Context", "pil:ConcreteContext", "pil:Concrete",
                  "pil:IdentifierManagementSystemContext",
                  texts={"rdfs:label": facts.name, "noid:namespace": facts.namespace})
        self.optional_text(self.iri, "pil:purpose", facts.purpose)
        if facts.initial_state:
            self.link_term(self.iri, "noid:initialState", STATES[facts.initial_state])
        for name in facts.names:
            self._write_context_name(name)
        self.node(self.system, "pil:IdentifierManagementSystem", links={"pil:definesContext": self.iri})
        self.link_both(self.system, "pil:manages", self.iri, "pil:isManagedBy")
        self.write_custodians(self.system, facts.custodians)
        self.link(self.iri, "pil:hasOwner", *self._present(facts.custodians)[:1])
        policies = self.write_policies(self.iri, facts.policies)
        self.link(self.system, "pil:exposesPolicy", *policies.values())
        # The form of labels and the access to commands are enforced; what is promised is only made known.
        self.link(self.system, "pil:enforcesPolicy", *(
            node for kind, node in policies.items() if kind in ("label-format", "access")
        ))
        # The rules of the access policy: for whom each class of commands is.
        for name, audience in facts.audiences if "access" in policies else ():
            rule = self.node(part_iri(policies["access"], f"rule-{name}"), "pil:Rule",
                             texts={"rdfs:label": f"{name}: {audience}"})
            self.link(policies["access"], "pil:hasRule", rule)

    def _write_context_name(self, name: str) -> None:
        """A name of the context, which is itself a label among the known naming systems (4.1)."""
        identifier = self.name_iri(name)
        label = self.node(part_iri(identifier, "label"), "pil:Label", texts={"pil:symbol": name})
        node = self.node(part_iri(identifier, "name"), "pil:Name", links={"pil:hasLabel": label})
        self.link_term(node, "pil:hasContext", "pil:KnownNamingSystems")
        self.link(identifier, "pil:hasName", node)
        self.link(self.iri, "pil:contextIdentifier", identifier)

    # -- parties -----------------------------------------------------------------------------------

    def party(self, name: str) -> str:
        """The node of a party; the same name within one minter is the same party."""
        if not name:
            raise InvalidError("A party in a description needs a name that is not empty.")
        return self.node(part_iri(self.iri, "party", name), "pil:Party", texts={"rdfs:label": name})

    def write_custodians(self, subject: str, custodians: tuple[CustodyPeriod, ...]) -> None:
        """The parties responsible for a subject now, and the record of all whose time is known."""
        self.link_authorities(subject, [party for party in custodians if not party.element])
        for number, party in enumerate(custodians, 1):
            node = self.party(party.name)
            self.optional_text(node, "noid:contact", party.contact)
            if party.start:
                record = self.node(part_iri(subject, f"custodianship-{number}"), "pil:AccountabilityMetadata",
                                   links={"noid:custodian": node})
                self.optional_text(record, "noid:forPurpose", party.purpose)
                self.link(record, "noid:during", self._timespan(record, party))
                self.link(subject, "pil:accountabilityMetadata", record)

    def link_authorities(self, subject: str, custodians: Iterable[CustodyPeriod]) -> None:
        """Make those of the custodians who are in office responsible for a subject."""
        for custodian in custodians:
            if not custodian.until:
                self.link_authority(subject, self.party(custodian.name))

    def link_authority(self, subject: str, party: str) -> None:
        """Make a party responsible for a subject."""
        self.node(party, "pil:Authority")
        self.link_both(subject, "pil:hasAuthority", party, "pil:responsibleFor")

    def _present(self, custodians: tuple[CustodyPeriod, ...]) -> list[str]:
        return [self.party(party.name) for party in custodians if not party.until]

    # -- policies and services ---------------------------------------------------------------------

    def write_policies(self, subject: str, policies: tuple[PolicyStatement, ...]) -> dict[str, str]:
        """The policies about a subject; returns kind and node of each."""
        nodes: dict[str, str] = {}
        for policy in policies:
            kind = policy.kind
            nodes[kind] = node = self.node(part_iri(subject, f"policy-{kind}"), POLICIES[kind], "pil:Policy",
                                           texts={"noid:text": policy.text})
            self.link_both(subject, "pil:hasPolicy", node, "pil:regards")
            if kind == "label-format":
                self.optional_text(node, "noid:scheme", policy.scheme)
                self.optional_text(node, "noid:template", policy.template)
            if kind == "persistence":
                self.link(node, "noid:during", self._timespan(node, policy))
        return nodes

    def persistence_timespan(self) -> str:
        """The node of the time span of the minter's commitment to persistence; empty if it made none."""
        if not any(policy.kind == "persistence" for policy in self._facts.policies):
            return ""
        return part_iri(part_iri(self.iri, "policy-persistence"), "timespan")

    def write_services(self, subject: str, actions: tuple[OfferedAction, ...]) -> list[str]:
        """The actions that a subject offers, each with its interfaces; returns their nodes."""
        services: list[str] = []
        for action in actions:
            name = action.name
            service = self.node(part_iri(subject, f"action-{name}"), "pil:Service", ACTIONS[name])
            for number, interface in enumerate(action.interfaces, 1):
                self._write_interface(service, part_iri(subject, f"interface-{name}-{number}"), interface)
            self.link(subject, "noid:offers", service)
            if name in MEDIA:
                self.link_term(service, "pil:throughMedium", MEDIA[name])
                self.link_term(service, "pil:toAudience", "noid:Public")
            services.append(service)
        return services

    def _write_interface(self, service: str, node: str, interface: str) -> None:
        self.link(service, "pil:hasInterface", self.node(node, "pil:Interface"))
        url = address(interface) if interface.lower().startswith(("http://", "https://")) else None
        if url is None:
            self.text(node, "noid:command", interface)
        else:
            self.url(node, "noid:url", url)

    # -- claims ------------------------------------------------------------------------------------

    def write_synonymy(self, node: str, claim: NameRelation | ContextClaim, *names: str) -> str:
        """An authority's claim, for a time, that names are synonyms; returns the node of the authority."""
        authority = self.party(claim.authority) if claim.authority else self._present(self._facts.custodians)[0]
        self.node(node, "pil:SynonymyInstance", links={
            "pil:hasSynonymAuthority": authority, "pil:synonymTimespan": self._timespan(node, claim),
        })
        self.link(node, "pil:hasSynonym", *names)
        self.link(authority, "pil:claims", node)
        return authority

    def write_alias(self, node: str, alias: str, target: str, claim: NameRelation | ContextClaim) -> None:
        """An authority's claim that one name follows another."""
        authority = self.write_synonymy(node, claim, alias, target)
        self.node(node, "pil:AliasInstance", links={"pil:hasAlias": alias, "pil:hasAliasTarget": target})
        self.link_both(node, "pil:hasAliasAuthority", authority, "pil:isAliasAuthority")
        self.link(alias, "pil:aliasOf", target)

    def _timespan(self, owner: str, span: CustodyPeriod | PolicyStatement | NameRelation | ContextClaim) -> str:
        return self.timespan(part_iri(owner, "timespan"), span.start, span.until)
