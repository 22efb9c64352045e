"""The Python interface: relations between names, their spellings, and custodians."""

from __future__ import annotations

from ..errors import UsageError
from ..minter import aliases, custody, identifiers, qualities, spellings
from ..minter.aliases import prefer_name, remove_preference
from ..minter.relations import Relation, abstract_names, abstractions, claims
from ..minter.relations.homology import all_relations
from ..store import Reader
from ..times import timestamp
from .base import MinterBase
from .text import Moment, Text, end_timestamp, start_timestamp, to_bytes, to_datetime, to_text
from .values import AbstractName, AliasLink, CitationForm, Comparison, CustodyPeriod, NameRelation, QualityClaim


class NameMethods(MinterBase):
    """The methods of a minter about names."""

    # -- relations -------------------------------------------------------------------------------------

    def alias(self, alias: Text, target: Text, *, authority: Text = "") -> AliasLink:
        """Make a name an alias of another, so that it resolves as that one does."""
        minter, name, other, who = self._open, to_bytes(alias), to_bytes(target), to_bytes(authority)
        return _alias_link(minter.write(
            lambda writer: aliases.create_alias(minter, writer, self._actor, name, other, who)
        ))

    def remove_alias(self, alias: Text) -> AliasLink:
        """Remove an alias; the name stays on hold."""
        minter, name = self._open, to_bytes(alias)
        return _alias_link(minter.write(lambda writer: aliases.remove_alias(minter, writer, self._actor, name)))

    def synonym(
        self, one: Text, other: Text, *, authority: Text, start: Moment | None = None, until: Moment | None = None
    ) -> NameRelation:
        """Record that an authority claims two names to be synonyms, from now on or for a span of time."""
        return self.relate(one, "synonym", other, authority=authority, start=start, until=until)

    def remove_synonym(self, one: Text, other: Text, *, authority: Text = "") -> NameRelation:
        """Remove a claim of synonyms and return it; the authority may be left out if there is only one."""
        return self.unrelate(one, "synonym", other, authority=authority)

    def relate(
        self, one: Text, relation: str, other: Text, *, authority: Text, start: Moment | None = None,
        until: Moment | None = None,
    ) -> NameRelation:
        """Record what an authority claims of two names, from now on or for a span of time.

        relation  synonym, contains, contained-in, realises, realised-by, homologue, homologous-name or equivalent:
                  `relate("hdl:100", "realises", "Kerry's Library", …)`
        """
        minter, first, second, who = self._open, to_bytes(one), to_bytes(other), to_bytes(authority)
        kind, begin, end = claims.claim_kind(relation), start_timestamp(start), end_timestamp(until)
        claim = minter.write(
            lambda writer: claims.add_claim(minter, writer, self._actor, kind, first, second, who, begin, end)
        )
        return self._relation(claim.first, claim.relation)

    def unrelate(self, one: Text, relation: str, other: Text, *, authority: Text = "") -> NameRelation:
        """Take back a claim about two names and return it; the authority may be left out if there is only one."""
        minter, first, second, who = self._open, to_bytes(one), to_bytes(other), to_bytes(authority)
        kind = claims.claim_kind(relation)
        claim = minter.write(
            lambda writer: claims.remove_claim(minter, writer, self._actor, kind, first, second, who)
        )
        return self._relation(claim.first, claim.relation)

    def declare_abstract(self, kind: str, name: Text, *, authority: Text, about: Text = "") -> AbstractName:
        """Declare an abstract context, name or identifier, which names of several systems can realise.

        about  what a context is for, or what an identifier identifies, in words
        """
        minter, text, who, what = self._open, to_bytes(name), to_bytes(authority), to_bytes(about)
        if kind not in abstract_names.KINDS:
            raise UsageError(f"{kind!r} is nothing abstract: say one of {', '.join(abstract_names.KINDS)}")
        return _abstract_name(minter.write(
            lambda writer: abstractions.declare_abstract(minter, writer, self._actor, kind, text, who, what)
        ))

    def remove_abstract(self, name: Text) -> AbstractName:
        """Take back that something is abstract and return it; it must have no relations."""
        minter, text = self._open, to_bytes(name)
        return _abstract_name(minter.write(
            lambda writer: abstractions.remove_abstract(minter, writer, self._actor, text)
        ))

    def abstract_names(self) -> list[AbstractName]:
        """All abstract contexts, names and identifiers."""
        return self._read(lambda reader: [_abstract_name(item) for item in abstract_names.all_abstractions(reader)])

    def prefer(self, name: Text, *, authority: Text = "") -> NameRelation:
        """Record that an authority prefers a name among its synonyms."""
        minter, text, who = self._open, to_bytes(name), to_bytes(authority)
        ref, relation = minter.write(
            lambda writer: prefer_name(minter, writer, self._actor, text, who)
        )
        return self._relation(ref, relation)

    def remove_preference(self, name: Text, *, authority: Text = "") -> NameRelation:
        """Remove a preference and return it."""
        minter, text, who = self._open, to_bytes(name), to_bytes(authority)
        ref, relation = minter.write(
            lambda writer: remove_preference(minter, writer, self._actor, text, who)
        )
        return self._relation(ref, relation)

    def relations(self, name: Text) -> list[NameRelation]:
        """The aliases, synonyms, realisations and other relations of a name; an empty list if it has none."""
        minter, text = self._open, to_bytes(name)

        def work(reader: Reader) -> tuple[identifiers.NameRef, list[Relation]]:
            ref = abstractions.identify_with_abstract(minter, reader, text)[0]
            return ref, all_relations(reader, ref.key, timestamp(self._actor.now()))

        ref, stored = minter.read(work)
        return [self._relation(ref, relation) for relation in stored]

    def _relation(self, ref: identifiers.NameRef, relation: Relation) -> NameRelation:
        return NameRelation(
            to_text(ref.display), relation.word, to_text(relation.display), to_text(relation.authority),
            to_datetime(relation.start), to_datetime(relation.until),
            relation.holds_at(timestamp(self._actor.now())), relation.event,
        )

    # -- qualities -------------------------------------------------------------------------------------

    def state_quality(
        self, quality: str, name: Text | None = None, *, authority: Text, holds: bool = True, refinement: Text = "",
        start: Moment | None = None, until: Moment | None = None,
    ) -> QualityClaim:
        """Record what an authority states of an identifier, or without a name of the minter.

        quality     universal, persistent, trusted, reliable or nameable; the last three also of the minter
        holds       whether it is stated to hold, or not to
        refinement  the context in which an identifier is universal, or the quality of it that is persistent
        """
        minter, text = self._open, None if name is None else to_bytes(name)
        stated = qualities.StatedQuality(
            quality, to_bytes(authority), holds=holds, refinement=to_bytes(refinement), start=start_timestamp(start),
            until=end_timestamp(until),
        )
        return _quality_claim(*minter.write(
            lambda writer: qualities.state_quality(minter, writer, self._actor, stated, text)
        ))

    def remove_quality(self, quality: str, name: Text | None = None, *, authority: Text = "") -> QualityClaim:
        """Take back what an authority states and return it; the authority may be left out if there is only one."""
        minter, text, who = self._open, None if name is None else to_bytes(name), to_bytes(authority)
        return _quality_claim(*minter.write(
            lambda writer: qualities.remove_quality(minter, writer, self._actor, quality, text, who)
        ))

    def qualities(self, name: Text | None = None) -> list[QualityClaim]:
        """What authorities state of an identifier, or without a name of the minter."""
        minter, text = self._open, None if name is None else to_bytes(name)

        def work(reader: Reader) -> list[QualityClaim]:
            ref = None if text is None else qualities.identify_subject(minter, reader, text)
            found = qualities.stated_qualities(reader, ref.key if ref else qualities.MINTER)
            return [_quality_claim(ref, stated) for stated in found]

        return minter.read(work)

    # -- spellings -------------------------------------------------------------------------------------

    def cite(self, name: Text) -> list[CitationForm]:
        """The forms in which a name is written, printed, linked and spoken; one form may occur more than once."""
        minter, text = self._open, to_bytes(name)
        forms = minter.read(lambda reader: spellings.citation_forms(minter, reader, text))
        return [CitationForm(form, to_text(text)) for form, text in forms]

    def same(self, one: Text, other: Text) -> Comparison:
        """Whether two texts are the same name, in the context of this minter, and why; else in which other senses."""
        minter, first, second = self._open, to_bytes(one), to_bytes(other)
        now = timestamp(self._actor.now())
        same, why, senses = minter.read(lambda reader: spellings.compare_names(minter, reader, first, second, now))
        return Comparison(same, tuple(why), tuple(senses))

    # -- custodians ------------------------------------------------------------------------------------

    def custodian(self, name: Text | None = None) -> CustodyPeriod:
        """The present custodian of an identifier, or without a name of the minter: the one without a purpose first."""
        minter = self._open
        return self._period(minter.read(
            lambda reader: custody.current_custodians(minter, reader, self._subject(reader, name))[0]
        ))

    def present_custodians(self, name: Text | None = None) -> list[CustodyPeriod]:
        """All present custodians of an identifier, or of the minter, each for its purpose."""
        minter = self._open
        found = minter.read(lambda reader: custody.current_custodians(minter, reader, self._subject(reader, name)))
        return [self._period(custodian) for custodian in found]

    def custodians(self, name: Text | None = None) -> list[CustodyPeriod]:
        """All custodians of an identifier, or of the minter, oldest first.  Raises NotFoundError if none was named."""
        minter = self._open
        stored = minter.read(lambda reader: custody.custody_history(minter, reader, self._subject(reader, name)))
        return [self._period(custodian) for custodian in stored]

    def set_custodian(
        self, custodian: Text, name: Text | None = None, *, contact: Text = "", purpose: Text = ""
    ) -> CustodyPeriod:
        """Make somebody the custodian of the minter, or of one identifier, for a purpose or for all else.

        Whoever was it for the same purpose stays in the list.
        """
        minter, who, how, why = self._open, to_bytes(custodian), to_bytes(contact), to_bytes(purpose)
        return self._period(minter.write(lambda writer: custody.appoint(
            minter, writer, self._actor, who, how, self._subject(writer, name, changing=True), why
        )))

    def remove_custodian(self, name: Text | None = None, *, purpose: Text | None = None) -> CustodyPeriod:
        """Remove a custodian of an identifier, or one for a purpose of the minter; returns the one removed.

        The purpose may be left out if there is only one.
        """
        if name is None and not purpose:
            raise UsageError("the minter always has a custodian: name the identifier whose own one is to be removed")
        minter, why = self._open, None if purpose is None else to_bytes(purpose)
        return self._period(minter.write(lambda writer: custody.dismiss(
            minter, writer, self._actor, self._subject(writer, name, changing=True), why
        )))

    def _subject(self, reader: Reader, name: Text | None, *, changing: bool = False) -> bytes:
        if name is None:
            return custody.MINTER
        return custody.custody_subject(self._open, reader, to_bytes(name), changing=changing)

    def _period(self, custodian: custody.Custodian) -> CustodyPeriod:
        return CustodyPeriod(
            to_text(custodian.name), to_text(custodian.contact), to_datetime(custodian.start),
            to_datetime(custodian.until), self._display(custodian.of) if custodian.of else None,
            to_text(custodian.purpose),
        )


def _alias_link(change: aliases.AliasChange) -> AliasLink:
    return AliasLink(to_text(change.alias.display), to_text(change.target.display), change.unqueued)


def _abstract_name(abstraction: abstract_names.Abstraction) -> AbstractName:
    since = to_datetime(abstraction.since)
    assert since is not None
    return AbstractName(
        to_text(abstraction.display), abstraction.kind, to_text(abstraction.label), to_text(abstraction.about),
        to_text(abstraction.authority), since,
    )


def _quality_claim(ref: identifiers.NameRef | None, stated: qualities.StatedQuality) -> QualityClaim:
    return QualityClaim(
        to_text(ref.display) if ref else None, stated.quality, stated.holds, to_text(stated.refinement),
        to_text(stated.authority), to_datetime(stated.start), to_datetime(stated.until),
    )
