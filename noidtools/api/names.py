"""The Python interface: search, relations between names, qualities, spellings, custodians, and descriptions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Concatenate, overload

from .. import search
from ..codec import decode_text
from ..description import ensure_rdf_format, rdf
from ..description.conversion import (
    abstract_name,
    custody_period,
    gather_relations,
    name_relation,
    quality_claim,
    quality_finding,
    stated_qualities,
)
from ..description.facts import (
    AbstractName,
    AliasLink,
    CitationForm,
    Comparison,
    CustodyPeriod,
    FoundName,
    MinterDescription,
    NameDescription,
    NameRelation,
    QualityClaim,
    VerifiedName,
)
from ..description.gatherer import gather_minter, gather_text
from ..errors import ForbiddenError, InvalidError, UsageError
from ..minter import Minter, aliases, contexts, custody, qualities
from ..minter.aliases import prefer_name, remove_preference
from ..minter.events import Actor
from ..minter.identifiers import NameRef, identify, without_context
from ..minter.relations import ABSTRACT_KINDS, Relation, abstract, all_abstractions, claims
from ..minter.stored import count_names
from ..names import without_inflection
from ..schemes import form_of
from ..store import Reader, Writer
from ..times import timestamp
from ..verification import Verification
from .minter import (
    AbstractKind,
    MinterBase,
    Moment,
    P,
    QualityName,
    RdfFormat,
    RelationName,
    State,
    Text,
    end_timestamp,
    start_timestamp,
    to_bytes,
)


class NameMethods(MinterBase):
    """The methods of a minter about names."""

    # -- relations -------------------------------------------------------------------------------------

    def alias(self, alias: Text, target: Text, *, authority: Text = "") -> AliasLink:
        """Make a name an alias of another, so that it resolves as that one does."""
        return _alias_link(self._change(
            aliases.create_alias, to_bytes(alias), to_bytes(target), to_bytes(authority)))

    def remove_alias(self, alias: Text) -> AliasLink:
        """Remove an alias; the name stays on hold."""
        return _alias_link(self._change(aliases.remove_alias, to_bytes(alias)))

    def synonym(
        self, one: Text, other: Text, *, authority: Text, start: Moment | None = None, until: Moment | None = None
    ) -> NameRelation:
        """Record that an authority claims two names to be synonyms, from now on or for a span of time."""
        return self.relate(one, "synonym", other, authority=authority, start=start, until=until)

    def remove_synonym(self, one: Text, other: Text, *, authority: Text = "") -> NameRelation:
        """Remove a claim of synonyms and return it; the authority may be left out if there is only one."""
        return self.unrelate(one, "synonym", other, authority=authority)

    def relate(
        self, one: Text, relation: RelationName, other: Text, *, authority: Text, start: Moment | None = None,
        until: Moment | None = None,
    ) -> NameRelation:
        """Record what an authority claims of two names, from now on or for a span of time.

        relation  as in `relate("hdl:100", "realises", "Kerry's Library", …)`
        """
        return self._related(
            claims.add_claim, claims.claim_kind(relation), to_bytes(one), to_bytes(other), to_bytes(authority),
            start_timestamp(start), end_timestamp(until))

    def unrelate(self, one: Text, relation: RelationName, other: Text, *, authority: Text = "") -> NameRelation:
        """Remove a claim about two names and return it; the authority may be left out if there is only one."""
        return self._related(
            claims.remove_claim, claims.claim_kind(relation), to_bytes(one), to_bytes(other), to_bytes(authority))

    def declare_abstract(self, kind: AbstractKind, name: Text, *, authority: Text, about: Text = "") -> AbstractName:
        """Declare an abstract context, name or identifier, which names of several systems can realise.

        about  what a context is for, or what an identifier identifies, in words
        """
        minter, text, who, what = self._open, to_bytes(name), to_bytes(authority), to_bytes(about)
        if kind not in ABSTRACT_KINDS:
            raise UsageError(f"{kind!r} is not a kind of abstraction: use one of {', '.join(ABSTRACT_KINDS)}")
        return minter.write(lambda writer: abstract_name(
            writer, abstract.declare_abstract(minter, writer, self._actor, kind, text, who, what)
        ))

    def remove_abstract(self, name: Text) -> AbstractName:
        """Remove the declaration of something abstract and return it; it must have no relations."""
        minter, text = self._open, to_bytes(name)
        return minter.write(lambda writer: abstract_name(
            writer, abstract.remove_abstract(minter, writer, self._actor, text)
        ))

    def abstract_names(self) -> list[AbstractName]:
        """All abstract contexts, names and identifiers."""
        return self._read(lambda reader: [abstract_name(reader, item) for item in all_abstractions(reader)])

    def prefer(self, name: Text, *, authority: Text = "") -> NameRelation:
        """Record that an authority prefers a name among its synonyms."""
        return self._related(prefer_name, to_bytes(name), to_bytes(authority))

    def remove_preference(self, name: Text, *, authority: Text = "") -> NameRelation:
        """Remove a preference and return it."""
        return self._related(remove_preference, to_bytes(name), to_bytes(authority))

    def relations(self, name: Text) -> list[NameRelation]:
        """The aliases, synonyms, realisations and other relations of a name; an empty list if it has none."""
        minter, text = self._open, to_bytes(name)

        def work(reader: Reader) -> tuple[NameRelation, ...]:
            ref = abstract.identify_with_abstract(minter, reader, text)[0]
            return gather_relations(minter, reader, ref.key, ref.display, now=self._now())

        return list(self._read(work))

    def _related(
        self, change: Callable[Concatenate[Minter, Writer, Actor, P], claims.Claim | tuple[NameRef, Relation]],
        *args: P.args, **options: P.kwargs,
    ) -> NameRelation:
        """The relation that a function makes or removes."""
        def work(minter: Minter, writer: Writer, actor: Actor) -> NameRelation:
            done = change(minter, writer, actor, *args, **options)
            ref, relation = (done.first, done.relation) if isinstance(done, claims.Claim) else done
            return name_relation(minter, writer, ref.display, relation, self._now())

        return self._change(work)

    def _now(self) -> bytes:
        return timestamp(self._actor.now())

    # -- qualities -------------------------------------------------------------------------------------

    def state_quality(
        self, quality: QualityName, name: Text | None = None, *, authority: Text, holds: bool = True,
        refinement: Text = "", start: Moment | None = None, until: Moment | None = None,
    ) -> QualityClaim:
        """Record what an authority states of an identifier, or without a name of the minter.

        quality     of the minter only trusted, reliable or nameable
        holds       whether it is stated to hold, or not to
        refinement  the context in which an identifier is universal, or the quality of it that is persistent
        """
        stated = qualities.StatedQuality(
            quality, to_bytes(authority), holds=holds, refinement=to_bytes(refinement), start=start_timestamp(start),
            until=end_timestamp(until),
        )
        return _quality_claim(*self._change(qualities.state_quality, stated, None if name is None else to_bytes(name)))

    def remove_quality(self, quality: QualityName, name: Text | None = None, *, authority: Text = "") -> QualityClaim:
        """Remove what an authority states and return it; the authority may be left out if there is only one."""
        text = None if name is None else to_bytes(name)
        return _quality_claim(*self._change(qualities.remove_quality, quality, text, to_bytes(authority)))

    def qualities(self, name: Text | None = None) -> list[QualityClaim]:
        """What authorities state of an identifier, or without a name of the minter."""
        minter, text = self._open, None if name is None else to_bytes(name)

        def work(reader: Reader) -> tuple[QualityClaim, ...]:
            ref = None if text is None else qualities.identify_subject(minter, reader, text)
            return stated_qualities(reader, ref.key if ref else qualities.MINTER, _display(ref))

        return list(self._read(work))

    # -- form ------------------------------------------------------------------------------------------

    def decode(self, name: Text) -> dict[str, str]:
        """What the label of a scheme of time contains, by property.  Raises InvalidError for any other."""
        label = without_context(without_inflection(self._look(identify, to_bytes(name)).key))
        return {what: decode_text(value) for what, value in form_of(label).decode(label)}

    def path(self, name: Text) -> str:
        """The path of the folder that belongs to an identifier."""
        return decode_text(self._open.scheme.path(self._look(identify, to_bytes(name)).key))

    # -- names -----------------------------------------------------------------------------------------

    def find(
        self, words: str = "", *, elements: Mapping[str, str] | None = None, target: str = "", host: str = "",
        prefix: Text = "", state: State | None = None, changed_since: Moment | None = None,
        changed_until: Moment | None = None, limit: int | None = None,
    ) -> Iterator[FoundName]:
        """The names that fit all that is given, read page by page.

        words          words of the names and of what is bound to them; `"two words"` stand together, `begin*` begins
                       one
        elements       words in the values of these elements
        target         the address to which they lead, or its beginning if it ends in `*`
        host           the host of that address
        changed_since  the first day or moment of their last change
        changed_until  the last day or moment of it
        limit          how many at most
        """
        query = search.Query(
            words=words, elements=dict(elements or {}), target=target, host=host, state=state or "",
            prefix=self._beginning(prefix), changed_since=start_timestamp(changed_since),
            changed_until=end_timestamp(changed_until),
        )
        return search.find_all(self._open, self._view, query, limit)

    def names(self, prefix: Text = "") -> Iterator[str]:
        """All that were minted, held, bound or made aliases, or those that begin with a prefix in any spelling.

        They are in the order of their bytes, and read page by page, so that others can write meanwhile.
        """
        return (found.identifier for found in self.find(prefix=prefix))

    def __iter__(self) -> Iterator[str]:
        return self.names()

    def __contains__(self, name: object) -> bool:
        """Whether a name is one of `names`, in any spelling."""
        if not isinstance(name, (str, bytes)):
            return False
        try:
            return self._look(identify, to_bytes(name)).known
        except (InvalidError, ForbiddenError):  # it is no name, or its pepper is wrong
            return False

    def __len__(self) -> int:
        """How many names there are."""
        return self._read(count_names)

    def __bool__(self) -> bool:
        return True

    # -- spellings -------------------------------------------------------------------------------------

    def cite(self, name: Text) -> list[CitationForm]:
        """The forms in which a name is written, printed, linked and spoken; one form may occur more than once."""
        forms = self._look(contexts.citation_forms, to_bytes(name))
        return [CitationForm(form, decode_text(text)) for form, text in forms]

    def same(self, one: Text, other: Text) -> Comparison:
        """Whether two texts are the same name, in the context of this minter, and why; else in which other senses."""
        same, why, senses = self._look(contexts.compare_names, to_bytes(one), to_bytes(other), self._now())
        return Comparison(same, tuple(why), tuple(senses))

    # -- custodians ------------------------------------------------------------------------------------

    def custodian(self, name: Text | None = None) -> CustodyPeriod:
        """The present custodian of an identifier, or without a name of the minter: the one without a purpose first."""
        return self.present_custodians(name)[0]

    def present_custodians(self, name: Text | None = None) -> list[CustodyPeriod]:
        """All present custodians of an identifier, or of the minter, each for its purpose."""
        minter = self._open
        found = self._read(lambda reader: custody.current_custodians(minter, reader, self._subject(reader, name)))
        return [self._period(custodian) for custodian in found]

    def custodians(self, name: Text | None = None) -> list[CustodyPeriod]:
        """All custodians of an identifier, or of the minter, oldest first.  Raises NotFoundError if none was named."""
        minter = self._open
        stored = self._read(lambda reader: custody.custody_history(minter, reader, self._subject(reader, name)))
        return [self._period(custodian) for custodian in stored]

    def set_custodian(
        self, custodian: Text, name: Text | None = None, *, contact: Text = "", purpose: Text = ""
    ) -> CustodyPeriod:
        """Make somebody the custodian of the minter, or of one identifier, for a purpose or for all else.

        The previous one for that purpose stays in the list.  The purpose `the element NAME` is one binding of the
        identifier.
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
        return custody_period(self._open, custodian)

    # -- descriptions ----------------------------------------------------------------------------------

    @overload
    def describe(self) -> MinterDescription: ...
    @overload
    def describe(self, name: Text) -> NameDescription: ...
    def describe(self, name: Text | None = None) -> MinterDescription | NameDescription:
        """All that is known of a name, or without one of the minter, read in one transaction.

        A value longer than a megabyte is cut off.  Raises NotFoundError for an unknown name.
        """
        return self._minter_facts() if name is None else self._facts(name)

    def describe_rdf(self, name: Text | None = None, *, format: RdfFormat = "turtle") -> str:
        """The same as RDF: turtle, json-ld or xml.  Needs the package rdflib; raises UsageError without it."""
        form = ensure_rdf_format(format)
        if name is None:
            return rdf.minter_document(self._minter_facts(), form).decode()
        return rdf.name_document(self._facts(name), form).decode()

    def verify(self, *names: Text, record: bool = False) -> list[VerifiedName]:
        """Whether the stated qualities of identifiers hold, without asking their targets.

        With `record` what is found is stored with its date, for descriptions to show.
        """
        run = Verification(self._open, self._actor, named=[to_bytes(name) for name in names], record=record,
                           names_at=search.names_at(self._open, many=False))
        return [
            VerifiedName(decode_text(result.display), result.holds, tuple(map(quality_finding, result.all)))
            for results in run.run() for result in results
        ]

    def _minter_facts(self) -> MinterDescription:
        return self._look(gather_minter)

    def _facts(self, name: Text) -> NameDescription:
        return self._look(gather_text, to_bytes(name))


def _alias_link(change: aliases.AliasChange) -> AliasLink:
    return AliasLink(decode_text(change.alias.display), decode_text(change.target.display), change.unqueued)


def _display(ref: NameRef | None) -> str | None:
    return decode_text(ref.display) if ref else None


def _quality_claim(ref: NameRef | None, stated: qualities.StatedQuality) -> QualityClaim:
    return quality_claim(_display(ref), stated)
