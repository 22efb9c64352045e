"""The part of an RDF description that is about qualities: what was verified, and what is stated."""

from __future__ import annotations

from ..errors import InvalidError
from ..minter.qualities import HOLDS, STATABLE, UNKNOWN
from .vocabulary import BY_STATE, QUALITIES, name_iri, part_iri, term_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..minter.qualities import Finding
    from .facts import NameFacts, QualityStatement
    from .graph import GraphBuilder
    from .minter_rdf import MinterWriter


def write_statements(
    builder: GraphBuilder, minter: MinterWriter, subject: str, statements: tuple[QualityStatement, ...]
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

    def write(self, facts: NameFacts) -> None:
        """What was verified of a name, and what is stated of it."""
        findings = [finding for finding in facts.findings if finding.verdict != UNKNOWN]
        described = [(finding.quality.name, b"") for finding in findings]
        described += [(statement.quality, statement.by) for statement in facts.statements]
        for quality in described:
            if described.count(quality) > 1:
                raise InvalidError(
                    f"There are two statements of the quality {quality[0]}; a description holds one of each."
                )
        for finding in findings:
            self._write_finding(finding)
        for statement in facts.statements:
            self.write_statement(statement)

    def _write_finding(self, finding: Finding) -> None:
        """A quality that was verified: confirmed, or refuted."""
        builder, quality = self._builder, finding.quality
        if not finding.date:
            raise InvalidError(f"The quality {quality.name} needs both the date of its verification and the outcome.")
        confirmed = finding.verdict == HOLDS
        node = self._write_quality(quality.name, stated=True)
        builder.node(node, "pil:Verifiable")
        builder.flag(node, "noid:confirmed", confirmed)
        builder.date(node, "noid:verifiedAt", finding.date)
        builder.text(node, "noid:rule", f"section {quality.section}: {quality.rule}".encode())
        if confirmed:
            builder.node(node, "pil:Verified")
            self._write_membership(quality.name)

    def write_statement(self, statement: QualityStatement) -> None:
        """A quality that is stated without being verified, by an authority or because it is so of itself."""
        builder = self._builder
        node = self._write_quality(statement.quality, stated=statement.holds, by=statement.by)
        if statement.by:
            builder.link(self._minter.party(statement.by), "pil:claims", node)
        if statement.start:
            span = builder.timespan(part_iri(node, "timespan"), statement.start, statement.until)
            builder.link(node, "noid:during", span)
        if statement.holds:
            self._write_membership(statement.quality, statement, node)

    def _write_quality(self, name: str, *, stated: bool, by: bytes = b"") -> str:
        """The statement that the subject has a quality, or lacks it; returns its node."""
        builder = self._builder
        term = term_for(QUALITIES, name, "quality of the ontology")
        # What an authority states is another statement than what was verified.
        by = by if name in STATABLE else b""
        node = builder.node(part_iri(self._iri, f"quality-{name}", by), "pil:QualityStatement")
        subject = part_iri(self._iri, "name") if name == "reserved" else self._iri
        builder.link(subject, "pil:hasQualityStatement", node)
        builder.link(node, "pil:statedOf", subject)
        builder.link_term(node, "pil:statedQuality", term)
        builder.flag(node, "pil:statedValue", stated)
        return node

    def _write_membership(self, name: str, statement: QualityStatement | None = None, node: str = "") -> None:
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
                builder.link_term(iri, "pil:typeOfPersistent", QUALITIES[statement.refinement.decode()])
        elif name in ("trusted", "reliable"):
            if not (statement and statement.by):
                return
            builder.link(iri, "pil:trustedByParty", minter.party(statement.by))
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

    def _context(self, statement: QualityStatement | None) -> str:
        """The context in which an identifier is universal: one that is named, or that of the minter."""
        if statement is None or not statement.refinement:
            return self._minter.iri
        identifier = name_iri(statement.refinement, self._minter.base)
        context = self._builder.node(part_iri(identifier, "context"), "pil:Context")
        self._builder.link(context, "pil:contextIdentifier", identifier)
        return context
