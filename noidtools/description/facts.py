"""What is known of a name and of a minter, as typed values.

The module gatherer reads them from a minter; the modules formats and rdf, and the pages of the web resolver, write
them.  Names, texts and values are bytes, because a minter may hold any octets.  Dates are timestamps of fourteen
digits.  What is not known is empty.
"""

from __future__ import annotations

from dataclasses import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..minter.qualities import Finding
    from ..names.targets import Target


@dataclass(frozen=True, slots=True)
class Party:
    """A custodian.  `until` is empty for a present one; `appointed` is false for the authority that stands in where
    nobody was appointed; `iri` is the party's own, if it has one; `purpose` is empty for the one who answers for all
    that no other does."""

    name: bytes
    contact: bytes = b""
    start: bytes = b""
    until: bytes = b""
    iri: str = ""
    appointed: bool = True
    purpose: bytes = b""


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy in words.  `kind` is a key of vocabulary.POLICIES; `scheme` and `template` belong to a label format,
    `start` (required) and `until` to a commitment to persistence."""

    kind: str
    text: bytes
    scheme: bytes = b""
    template: bytes = b""
    start: bytes = b""
    until: bytes = b""


@dataclass(frozen=True, slots=True)
class Action:
    """What can be done, a key of vocabulary.ACTIONS, and through which interfaces: URLs and commands."""

    name: str
    interfaces: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class ContextClaim:
    """`authority` claims that `alias` is another name of the context `target`."""

    alias: bytes
    target: bytes
    start: bytes
    authority: bytes = b""
    until: bytes = b""


@dataclass(frozen=True, slots=True)
class RelatedName:
    """Another name, and what it is to the name described: a value of relations.WORDS.

    `name` is the other name as it is cited, empty for `preferred`; `text` is how it was written when the relation was
    recorded, if that differs.  `authority` makes the claim, empty where nobody is named.  `abstract` is what the other
    name is, if it is abstract: context, name or identifier.  `scopes` are the abstract contexts within which homologues
    are such; `derived` is true for a relation that nobody claims but that follows from others.  `elsewhere` is true for
    a name of which the minter knows nothing but relations; `address` is then where it can be followed, if known.
    """

    relation: str
    name: bytes
    text: bytes = b""
    authority: bytes = b""
    start: bytes = b""
    until: bytes = b""
    in_force: bool = True
    abstract: str = ""
    scopes: tuple[bytes, ...] = ()
    derived: bool = False
    elsewhere: bool = False
    address: bytes = b""

    @property
    def display(self) -> bytes:
        return self.text or self.name


@dataclass(frozen=True, slots=True)
class Element:
    """A bound element.  Of a value that is too long only the beginning is kept; `whole_size` is then its length."""

    name: bytes
    value: bytes
    whole_size: int = 0


@dataclass(frozen=True, slots=True)
class QualityStatement:
    """A statement, made without verification, that something has a quality, a key of vocabulary.QUALITIES, or that it
    lacks it.

    by            the authority who states it; empty for what is so of itself
    refinement    the context in which a name is universal, or the quality of it that is persistent
    start, until  for which time it is stated; `until` is empty if no end is set
    """

    quality: str
    holds: bool = True
    by: bytes = b""
    refinement: bytes = b""
    start: bytes = b""
    until: bytes = b""


@dataclass(frozen=True, slots=True)
class PerformedAction:
    """An action that was performed on a name, as the record of changes has it.

    number     the number of the event
    verb       the command, such as bind set
    who        the user, and through which `interface`
    date       when
    authority  the authority in whose name it was done, where one is named
    outcome    of a verification, whether it confirmed everything; else None
    """

    number: int
    verb: str
    who: bytes
    interface: str
    date: bytes
    authority: bytes = b""
    outcome: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MinterFacts:
    """What is known of a minter.

    name             its short name, such as `kt5`
    namespace        what its identifiers begin with, such as `ark:/13030/kt`; may be empty
    custodians       oldest first; at least one present one
    policies         at most one of each kind; a label format is required
    initial_state    state of what it mints: reserved or published
    authority        naming authority and sub-authority for which it was created
    names            names of the minter as a context, such as `hdl:102.100.821`
    context_aliases  what else the context is called, and according to whom
    relations        other contexts, and what they are to this one
    actions          what can be done with it
    qualities        what authorities state of it
    audiences        for whom each class of commands is, on the web
    base             what the IRIs of names without a scheme begin with; empty for one made from the minter's IRI
    iri              IRI of the minter; empty for `urn:noid:NAME`
    purpose          what it is for
    """

    name: bytes
    namespace: bytes
    custodians: tuple[Party, ...]
    policies: tuple[Policy, ...]
    initial_state: str = ""
    authority: str = ""
    names: tuple[bytes, ...] = ()
    context_aliases: tuple[ContextClaim, ...] = ()
    relations: tuple[RelatedName, ...] = ()
    actions: tuple[Action, ...] = ()
    qualities: tuple[QualityStatement, ...] = ()
    audiences: tuple[tuple[str, str], ...] = ()
    base: str = ""
    iri: str = ""
    purpose: bytes = b""


@dataclass(frozen=True, slots=True)
class AbstractFacts:
    """What is known only of something abstract.

    kind       context, name or identifier
    context    the abstract context that it is in, empty for a context
    about      the purpose of a context, or what is identified, in words
    authority  who is responsible for it, since the date `start`
    """

    kind: str
    context: bytes
    about: bytes
    authority: bytes
    start: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class NameFacts:
    """What is known of a name.

    name               the name as it is cited, such as `ark:/13030/kt639k9`
    identifier         the same as its minter stores it
    minter             its minter
    state              reserved, published or withdrawn; empty if only a rule knows the name
    state_since        when it came into that state; not gathered for a SUMMARY unless it was withdrawn
    date               when it was last issued, queued or withdrawn
    minted             when a withdrawn name was first issued
    reason, successor  why it was withdrawn, and the name to use instead
    label              the identifier without what all of its minter have in common
    thing              what is identified: an address or a text
    targets            where the name leads, the first choice first
    requested_targets  where the requested name leads; it may extend this name by `suffix`
    pattern            pattern of the rule that computed the targets
    elements           what is bound to it, without private elements
    relations          other names, and what they are to this one
    findings           results of its last verification
    statements         qualities that it has without verification
    representations    its spellings in citations: the form and the text
    custodians         its own, oldest first; empty where those of its minter are responsible
    policies           its own
    actions            what can be done with it
    performed          what was done to it, oldest first; only for a complete description
    abstract           what is known of something abstract; None for a name that a system manages
    elsewhere          whether it is a name or a context of another system, of which only statements of others are known
    iri                its IRI; empty for one made from the name
    """

    name: bytes
    identifier: bytes
    minter: MinterFacts
    state: str
    state_since: bytes = b""
    date: bytes = b""
    minted: bytes = b""
    reason: bytes = b""
    successor: RelatedName | None = None
    label: bytes = b""
    thing: bytes = b""
    targets: tuple[Target, ...] = ()
    requested_targets: tuple[Target, ...] = ()
    suffix: bytes = b""
    pattern: bytes = b""
    elements: tuple[Element, ...] = ()
    relations: tuple[RelatedName, ...] = ()
    findings: tuple[Finding, ...] = ()
    statements: tuple[QualityStatement, ...] = ()
    representations: tuple[tuple[str, bytes], ...] = ()
    custodians: tuple[Party, ...] = ()
    policies: tuple[Policy, ...] = ()
    actions: tuple[Action, ...] = ()
    performed: tuple[PerformedAction, ...] = ()
    abstract: AbstractFacts | None = None
    elsewhere: bool = False
    iri: str = ""

    @property
    def custodian(self) -> Party | None:
        """The present custodian who was appointed for the name or for its minter; one without a purpose first."""
        parties = (*self.custodians, *self.minter.custodians)
        present = [party for party in parties if party.appointed and not party.until]
        return min(present, key=lambda party: bool(party.purpose), default=None)
