"""The facts of a name as text (an electronic resource citation in ANVL) and as data for JSON; the formats of RDF."""

from __future__ import annotations

from .. import codec
from ..errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..minter.qualities import Finding
    from .facts import AbstractFacts, Element, NameFacts, Party, QualityStatement, RelatedName


# The formats of RDF by their names on the command line, with their media types.
RDF_FORMATS = {"turtle": "text/turtle", "json-ld": "application/ld+json", "xml": "application/rdf+xml"}

# The elements of a citation, in their order.
KERNEL = (b"who", b"what", b"when", b"where")

# What may stand in a label of ANVL as it is.
_LABEL = bytes(octet for octet in range(0x20, 0x100) if octet not in b":%\x7f")


def ensure_rdf_format(form: str) -> str:
    if form not in RDF_FORMATS:
        raise UsageError(f"descriptions are written as {', '.join(RDF_FORMATS)}, not as {form[:60]!r}")
    return form


def citation_text(facts: NameFacts, address: bytes) -> bytes:
    """An electronic resource citation: the kernel elements first, then all others, then what supports them.

    `address` is where the name can be resolved.
    """
    elements = {element.name: display_value(element) for element in facts.elements}
    lines = [(b"erc", b"")]
    lines += [(name, elements.pop(name)) for name in KERNEL[:3] if name in elements]
    lines.append((b"where", address))
    lines += elements.items()
    lines += [(b"", b""), (b"erc-support", b""), *support_pairs(facts)]
    return b"".join(_anvl_line(name, value) for name, value in lines)


def _anvl_line(name: bytes, value: bytes) -> bytes:
    if not name:
        return b"\n"
    label = codec.percent_encode(name, _LABEL)
    return label + b":" + (b" " + value.replace(b"\r", b"").replace(b"\n", b"\n ") if value else b"") + b"\n"


def support_pairs(facts: NameFacts) -> list[tuple[bytes, bytes]]:
    """The state of a name, who is responsible for it, where it leads, and results of its verification."""
    if facts.abstract is not None:
        return _abstract_pairs(facts, facts.abstract)
    if facts.elsewhere:
        return [(b"id", facts.name), *_claimed_pairs(facts)]
    custodian = facts.custodian
    pairs = [
        (b"id", facts.name), (b"state", facts.state.encode()), (b"minted", facts.minted), (b"date", facts.date),
        (b"authority", facts.minter.authority.encode()),
        (b"custodian", custodian.name if custodian else b""), (b"contact", custodian.contact if custodian else b""),
        *((b"custodian", party.name + b", for " + party.purpose) for party in purposeful_custodians(facts)),
        *((b"target", target.url) for target in facts.requested_targets),
        (b"rule", b":idmap/" + facts.pattern if facts.pattern else b""),
        (b"reason", facts.reason), (b"successor", facts.successor.display if facts.successor else b""),
        *_claimed_pairs(facts),
        *((finding.quality.name.encode(), finding_text(finding)) for finding in facts.findings),
    ]
    return [(label, value) for label, value in pairs if value]


def _claimed_pairs(facts: NameFacts) -> list[tuple[bytes, bytes]]:
    """What authorities claim of a name and others, and state of it."""
    pairs = [(related.relation.encode(), _claim_text(related)) for related in related_names(facts)]
    return pairs + [(b"stated", statement_text(statement)) for statement in stated_qualities(facts)]


def purposeful_custodians(facts: NameFacts) -> list[Party]:
    """The present custodians of a name who answer for one purpose each; its own before those of its minter."""
    parties = [party for party in (*facts.minter.custodians, *facts.custodians) if party.purpose and not party.until]
    return list({party.purpose: party for party in parties}.values())


def stated_qualities(facts: NameFacts) -> list[QualityStatement]:
    """What authorities state of a name."""
    return [statement for statement in facts.statements if statement.by]


def statement_text(statement: QualityStatement) -> bytes:
    """What an authority states, in words."""
    quality = (b"" if statement.holds else b"not ") + statement.quality.encode()
    refined = b" (" + statement.refinement + b")" if statement.refinement else b""
    return quality + refined + b" according to " + statement.by


def _abstract_pairs(facts: NameFacts, abstract: AbstractFacts) -> list[tuple[bytes, bytes]]:
    pairs = [
        (b"id", facts.name), (b"abstract", abstract.kind.encode()), (b"context", abstract.context),
        (b"label", facts.label), (b"about", abstract.about), (b"authority", abstract.authority),
        *((related.relation.encode(), _claim_text(related)) for related in related_names(facts)),
    ]
    return [(label, value) for label, value in pairs if value]


def _claim_text(related: RelatedName) -> bytes:
    """A related name, and the authority that claims the relation where one is named."""
    claim = b"according to " + related.authority if related.authority else b""
    return b" ".join(part for part in (related.display, claim) if part)


def related_names(facts: NameFacts) -> list[RelatedName]:
    """The relations in force, without the successor of a withdrawn name, which is a fact of its own."""
    return [related for related in facts.relations
            if related.in_force and not (facts.successor and related.relation == facts.successor.relation)]


def display_value(element: Element) -> bytes:
    if not element.whole_size:
        return element.value
    return element.value + b" ... (%d bytes in all)" % element.whole_size


def finding_text(finding: Finding) -> bytes:
    return finding.line() + (b", " + finding.date if finding.date else b"")


def name_data(facts: NameFacts, address: bytes) -> dict[str, object]:
    """The facts as JSON objects hold them, bytes left as they are; empty ones are left out."""
    if facts.abstract is not None:
        return _abstract_data(facts, facts.abstract)
    if facts.elsewhere:
        return {"id": facts.name, "relations": [_relation_data(related) for related in related_names(facts)],
                "stated": [_statement_data(statement) for statement in stated_qualities(facts)]}
    custodian = facts.custodian
    found: dict[str, object] = {
        "id": facts.name, "where": address, "state": facts.state, "date": facts.date,
        "authority": facts.minter.authority,
        "custodian": {"name": custodian.name, "contact": custodian.contact} if custodian else None,
        "targets": [
            {"url": target.url, **({"code": target.code} if target.code else {})} for target in facts.requested_targets
        ],
        "elements": [{"name": element.name, "value": display_value(element)} for element in facts.elements],
        "rule": facts.pattern, "suffix": facts.suffix, "reason": facts.reason,
        "successor": facts.successor.display if facts.successor else b"", "minted": facts.minted,
        "relations": [_relation_data(related) for related in related_names(facts)],
        "custodians": [{"name": party.name, "purpose": party.purpose} for party in purposeful_custodians(facts)],
        "stated": [_statement_data(statement) for statement in stated_qualities(facts)],
        "verified": [
            {"quality": finding.quality.name, "verdict": finding_text(finding)} for finding in facts.findings
        ],
    }
    return {name: fact for name, fact in found.items() if fact or name in ("targets", "elements")}


def _statement_data(statement: QualityStatement) -> dict[str, object]:
    found = {"quality": statement.quality, "holds": statement.holds, "refinement": statement.refinement,
             "authority": statement.by, "from": statement.start, "until": statement.until}
    return {name: fact for name, fact in found.items() if fact != b""}


def _abstract_data(facts: NameFacts, abstract: AbstractFacts) -> dict[str, object]:
    found: dict[str, object] = {
        "id": facts.name, "abstract": abstract.kind, "context": abstract.context, "label": facts.label,
        "about": abstract.about, "authority": abstract.authority,
        "relations": [_relation_data(related) for related in related_names(facts)],
    }
    return {name: fact for name, fact in found.items() if fact}


def _relation_data(related: RelatedName) -> dict[str, object]:
    found = {"relation": related.relation, "name": related.display, "authority": related.authority,
             "from": related.start, "until": related.until, "scopes": list(related.scopes)}
    return {name: fact for name, fact in found.items() if fact}
