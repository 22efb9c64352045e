"""The Python interface: relations between names, their spellings, and custodians."""

from __future__ import annotations

from ..clock import timestamp
from ..errors import UsageError
from ..minter import aliases, custody, identifiers, spellings
from ..minter.relations import (
    Relation,
    add_synonym,
    prefer_name,
    relations_of,
    remove_preference,
    remove_synonym,
)
from ..store import Reader
from .base import MinterBase
from .text import Moment, Text, end_timestamp, start_timestamp, to_bytes, to_datetime, to_text
from .values import AliasLink, CitationForm, Comparison, CustodyPeriod, NameRelation


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
        minter, first, second, who = self._open, to_bytes(one), to_bytes(other), to_bytes(authority)
        begin, end = start_timestamp(start), end_timestamp(until)
        claim = minter.write(
            lambda writer: add_synonym(minter, writer, self._actor, first, second, who, begin, end)
        )
        return self._relation(claim.first, claim.relation)

    def remove_synonym(self, one: Text, other: Text, *, authority: Text = "") -> NameRelation:
        """Remove a claim of synonyms and return it; the authority may be left out if there is only one."""
        minter, first, second, who = self._open, to_bytes(one), to_bytes(other), to_bytes(authority)
        claim = minter.write(
            lambda writer: remove_synonym(minter, writer, self._actor, first, second, who)
        )
        return self._relation(claim.first, claim.relation)

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
        """The aliases, synonyms, successors and preferences of a name; an empty list if it has none."""
        minter, text = self._open, to_bytes(name)

        def work(reader: Reader) -> tuple[identifiers.NameRef, list[Relation]]:
            ref = identifiers.identify(minter, reader, text)
            return ref, list(relations_of(reader, ref.key))

        ref, stored = minter.read(work)
        return [self._relation(ref, relation) for relation in stored]

    def _relation(self, ref: identifiers.NameRef, relation: Relation) -> NameRelation:
        return NameRelation(
            to_text(ref.display), relation.word, to_text(relation.display), to_text(relation.authority),
            to_datetime(relation.start), to_datetime(relation.until),
            relation.holds_at(timestamp(self._actor.now())), relation.event,
        )

    # -- spellings -------------------------------------------------------------------------------------

    def cite(self, name: Text) -> list[CitationForm]:
        """The forms in which a name is written, printed, linked and spoken; one form may occur more than once."""
        minter, text = self._open, to_bytes(name)
        forms = minter.read(lambda reader: spellings.citation_forms(minter, reader, text))
        return [CitationForm(form, to_text(text)) for form, text in forms]

    def same(self, one: Text, other: Text) -> Comparison:
        """Whether two texts are the same name, in the context of this minter, and why."""
        minter, first, second = self._open, to_bytes(one), to_bytes(other)
        same, why = minter.read(lambda reader: spellings.compare_names(minter, reader, first, second))
        return Comparison(same, tuple(why))

    # -- custodians ------------------------------------------------------------------------------------

    def custodian(self, name: Text | None = None) -> CustodyPeriod:
        """The present custodian of an identifier, or without a name of the minter."""
        minter = self._open
        return self._period(minter.read(
            lambda reader: custody.current_custodian(minter, reader, self._subject(reader, name))
        ))

    def custodians(self, name: Text | None = None) -> list[CustodyPeriod]:
        """All custodians of an identifier, or of the minter, oldest first.  Raises NotFoundError if none was named."""
        minter = self._open
        stored = minter.read(lambda reader: custody.custody_history(minter, reader, self._subject(reader, name)))
        return [self._period(custodian) for custodian in stored]

    def set_custodian(self, custodian: Text, name: Text | None = None, *, contact: Text = "") -> CustodyPeriod:
        """Make somebody the custodian of the minter, or of one identifier; the one before stays in the list."""
        minter, who, how = self._open, to_bytes(custodian), to_bytes(contact)
        return self._period(minter.write(lambda writer: custody.appoint(
            minter, writer, self._actor, who, how, self._subject(writer, name, changing=True)
        )))

    def remove_custodian(self, name: Text) -> CustodyPeriod:
        """Remove the custodian of an identifier, which then has that of the minter; returns the one removed."""
        if name is None:
            raise UsageError("the minter always has a custodian: name the identifier whose own one is to be removed")
        minter = self._open
        return self._period(minter.write(lambda writer: custody.dismiss(
            minter, writer, self._actor, self._subject(writer, name, changing=True)
        )))

    def _subject(self, reader: Reader, name: Text | None, *, changing: bool = False) -> bytes:
        if name is None:
            return custody.MINTER
        return custody.custody_subject(self._open, reader, to_bytes(name), changing=changing)

    def _period(self, custodian: custody.Custodian) -> CustodyPeriod:
        return CustodyPeriod(
            to_text(custodian.name), to_text(custodian.contact), to_datetime(custodian.start),
            to_datetime(custodian.until), self._display(custodian.of) if custodian.of else None,
        )


def _alias_link(change: aliases.AliasChange) -> AliasLink:
    return AliasLink(to_text(change.alias.display), to_text(change.target.display), change.unqueued)
