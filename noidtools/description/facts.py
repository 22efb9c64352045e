"""What is known of a name and of a minter, and the results of operations, as typed values.

The module gatherer reads facts from a minter; commands, pages, JSON and RDF write them; the Python interface returns
them.  All are immutable.  Text is str: octets that are not UTF-8 are surrogate escapes, as in `os.fsdecode`.  Dates are
datetimes in UTC.  What is not known is empty, or None for a date.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

# -- parts of what is known ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CustodyPeriod:
    """Who is responsible for an identifier, or for the minter if `identifier` is None, and when.

    until      None for a present custodian
    purpose    for what; empty for all that no other custodian is responsible for
    appointed  false for the authority that stands in where nobody was appointed
    element    the element for whose binding alone it is responsible; empty if that is not so
    """

    name: str
    contact: str = ""
    start: datetime | None = None
    until: datetime | None = None
    identifier: str | None = None
    purpose: str = ""
    appointed: bool = True
    element: str = ""


@dataclass(frozen=True, slots=True)
class PolicyStatement:
    """A policy in words.

    kind             label-format, access, association or persistence
    scheme, template of a label format
    start, until     the time of a commitment to persistence; `until` is None where no end is set
    """

    kind: str
    text: str
    start: datetime | None = None
    until: datetime | None = None
    scheme: str = ""
    template: str = ""


@dataclass(frozen=True, slots=True)
class OfferedAction:
    """What can be done, a key of vocabulary.ACTIONS, and through which interfaces: URLs and commands."""

    name: str
    interfaces: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ContextClaim:
    """`authority` claims that `alias` is another name of the context `target`."""

    alias: str
    target: str
    start: datetime | None
    authority: str = ""
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class NameRelation:
    """A relation of a name to another.

    identifier  the name
    relation    what `name` is to it: alias-of, alias, synonym, successor, predecessor, contains, contained-in,
                realises, realised-by, homologue, homologous-name or equivalent; or preferred, of itself
    name        the other name as it was written when the relation was recorded; empty for preferred
    authority   who claims the relation; may be empty
    start       from when on
    until       the end, None if none is set
    current     whether it is in force now
    event       the number of the event that recorded it; 0 for one that follows from what both names realise
    cited       the other name as it is cited
    abstract    what the other name is, if it is abstract: context, name or identifier
    scopes      the abstract contexts within which homologues are such
    derived     whether nobody claims it, because it follows from other relations
    elsewhere   whether the minter knows nothing of the other name but relations
    address     where a name from elsewhere can be followed, if known
    """

    identifier: str
    relation: str
    name: str
    authority: str = ""
    start: datetime | None = None
    until: datetime | None = None
    current: bool = True
    event: int = 0
    cited: str = ""
    abstract: str = ""
    scopes: tuple[str, ...] = ()
    derived: bool = False
    elsewhere: bool = False
    address: str = ""


@dataclass(frozen=True, slots=True)
class AbstractName:
    """Something abstract.

    kind       context, name or identifier
    context    the abstract context that it is in; empty for a context
    label      its label there; empty for a context
    about      the purpose of a context, or what is identified, in words; may be empty
    authority  who is responsible for it
    since      when it was declared
    """

    name: str
    kind: str
    label: str
    about: str
    authority: str
    since: datetime
    context: str = ""


@dataclass(frozen=True, slots=True)
class QualityClaim:
    """A statement, made without verification, that something has a quality or lacks it.

    identifier    of what it is stated; None for the minter
    quality       a key of vocabulary.QUALITIES
    refinement    the context in which a name is universal, or the quality of it that is persistent
    authority     who states it; empty for what follows from what is known
    start, until  for which time; `until` is None if no end is set
    """

    identifier: str | None
    quality: str
    holds: bool = True
    refinement: str = ""
    authority: str = ""
    start: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class QualityFinding:
    """What a verification found about a quality: the verdict is holds, fails or unknown.

    date     when it was recorded; None if it was not
    section  the section of the PILIN ontology that defines the quality
    rule     what the quality demands
    """

    quality: str
    verdict: str
    detail: str = ""
    date: datetime | None = None
    section: str = ""
    rule: str = ""


@dataclass(frozen=True, slots=True)
class PerformedAction:
    """An action that was performed on a name, as the record of changes has it.

    number     the number of the event
    verb       the command, such as bind set
    who        the user, and through which `interface`
    authority  the authority in whose name it was done, where one is named
    outcome    of a verification, whether it confirmed everything; else None
    """

    number: int
    verb: str
    who: str
    interface: str
    date: datetime | None
    authority: str = ""
    outcome: bool | None = None


@dataclass(frozen=True, slots=True)
class RedirectTarget:
    """An address, and the HTTP status with which a reader is sent there."""

    url: str
    code: int = 302


@dataclass(frozen=True, slots=True)
class CitationForm:
    """One way to write a name: `form` is what it is called, such as canonical, web, html or speech."""

    form: str
    text: str


# -- a minter, a name ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class MinterDescription:
    """What is known of a minter.

    name             its short name, such as `kt5`
    namespace        what its identifiers begin with, such as `ark:/13030/kt`; may be empty
    custodians       oldest first; at least one present one
    authority        naming authority and sub-authority for which it was created
    policies         what it states and promises, at most one policy of each kind; in a complete description a label
                     format is among them, in any other it is only the promise of persistence

    Only in a complete description:

    initial_state    state of what it mints: reserved or published
    names            names of the minter as a context, such as `hdl:102.100.821`
    context_aliases  what else the context is called, and according to whom
    relations        other contexts, and what they are to this one
    actions          what can be done with it
    qualities        what authorities state of it
    audiences        for whom each class of commands is, on the web
    base             what the IRIs of names without a scheme begin with; empty for one made from the minter's IRI
    iri              IRI of the minter; empty for `urn:noid:NAME`
    purpose          what its names are for
    """

    name: str
    namespace: str
    custodians: tuple[CustodyPeriod, ...]
    authority: str = ""
    policies: tuple[PolicyStatement, ...] = ()
    initial_state: str = ""
    names: tuple[str, ...] = ()
    context_aliases: tuple[ContextClaim, ...] = ()
    relations: tuple[NameRelation, ...] = ()
    actions: tuple[OfferedAction, ...] = ()
    qualities: tuple[QualityClaim, ...] = ()
    audiences: tuple[tuple[str, str], ...] = ()
    base: str = ""
    iri: str = ""
    purpose: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NameDescription:
    """What is known of a name.

    name               the name as it is cited, such as `ark:/13030/kt639k9`
    identifier         the same as its minter stores it
    minter             its minter
    state              reserved, published, unavailable or withdrawn; empty if only a rule knows the name
    date               when it was last issued, queued or withdrawn
    changed            when it was last changed in any way
    minted             when a withdrawn name was first issued
    reason             why it was withdrawn
    successor_relation the name to use instead of a withdrawn one; `successor` is that name as text
    label              the identifier without what all of its minter have in common
    thing              what is identified: an address or a text
    targets            where the name leads, the first choice first
    requested_targets  where the requested name leads; it may extend this name by `suffix`
    archived           where copies of that are that the Wayback Machine has made, if the minter offers them; else empty
    pattern            pattern of the rule that computed the targets
    elements           values by element name, without elements whose names begin with _
    withdrawn_elements of a withdrawn name, those that say what it stood for: title, creator, date, publisher and type
    whole_sizes        for each value of which only the beginning is in `elements`, its length in bytes
    relations          other names, and what they are to this one
    findings           results of its last recorded verification
    statements         qualities that it has without verification; `stated` are those that authorities state
    custodians         its own, oldest first; empty where those of its minter are responsible
    abstract           what is known of something abstract; None for a name that a system manages
    elsewhere          whether it is a name or a context of another system, of which only statements of others are known

    Only in a complete description:

    state_since        when it came into its state; of a withdrawn or unavailable name always
    representations    its spellings in citations
    actions            what can be done with it
    performed          what was done to it, oldest first
    """

    name: str
    identifier: str
    minter: MinterDescription
    state: str
    state_since: datetime | None = None
    date: datetime | None = None
    changed: datetime | None = None
    minted: datetime | None = None
    reason: str = ""
    successor_relation: NameRelation | None = None
    label: str = ""
    thing: str = ""
    targets: tuple[RedirectTarget, ...] = ()
    requested_targets: tuple[RedirectTarget, ...] = ()
    archived: str = ""
    suffix: str = ""
    pattern: str = ""
    elements: Mapping[str, str] = field(default_factory=dict, hash=False)
    withdrawn_elements: Mapping[str, str] = field(default_factory=dict, hash=False)
    whole_sizes: Mapping[str, int] = field(default_factory=dict, hash=False)
    relations: tuple[NameRelation, ...] = ()
    findings: tuple[QualityFinding, ...] = ()
    statements: tuple[QualityClaim, ...] = ()
    representations: tuple[CitationForm, ...] = ()
    custodians: tuple[CustodyPeriod, ...] = ()
    actions: tuple[OfferedAction, ...] = ()
    performed: tuple[PerformedAction, ...] = ()
    abstract: AbstractName | None = None
    elsewhere: bool = False

    @property
    def successor(self) -> str:
        """The name to use instead of a withdrawn one; empty if there is none."""
        return self.successor_relation.name if self.successor_relation else ""

    @property
    def stated(self) -> tuple[QualityClaim, ...]:
        """What authorities state of the name."""
        return tuple(claim for claim in self.statements if claim.authority)

    @property
    def custodian(self) -> CustodyPeriod | None:
        """The present custodian who was appointed for the name or for its minter; one without a purpose first."""
        present = [one for one in (*self.custodians, *self.minter.custodians) if one.appointed and not one.until]
        return min(present, key=lambda one: bool(one.purpose), default=None)

# -- results of operations, and the properties of a minter -----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Binding:
    """The result of one binding: the length of the new value, and that of the value bound before, in bytes.

    note  what is unusual about the identifier, in a sentence; else empty
    """

    identifier: str
    element: str
    how: str
    written: int
    before: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class RuleBinding:
    """A rule: where `pattern` matches a name, `replacement` computes its `element`."""

    pattern: str
    element: str
    replacement: str


@dataclass(frozen=True, slots=True)
class Resolution:
    """Where a name leads.

    outcome     found, gone (withdrawn), reserved, abstract, invalid (mistyped) or not found
    identifier  the identifier that decided, else the name in normal form
    target      the address to which a reader is sent first; None unless found
    code        the HTTP status for it; 0 unless found
    step        what decided: stored, rule, passthrough or fallback; empty if nothing did
    targets     all addresses, the first choice first
    reason      why there is no target; empty if there is one
    trace       each step taken and what it found; only if an explanation was requested
    """

    outcome: str
    identifier: str
    target: str | None
    code: int
    step: str
    targets: tuple[RedirectTarget, ...]
    reason: str
    trace: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class HoldResult:
    """How many holds are new, and which identifiers were removed from the queue."""

    placed: int
    unqueued: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Validity:
    """Whether an identifier has the form required; `fault` is a sentence about what is wrong, empty if nothing is."""

    identifier: str
    valid: bool
    fault: str


@dataclass(frozen=True, slots=True)
class AliasLink:
    """An alias and its target, present or former; `unqueued` is whether the alias was removed from the queue."""

    alias: str
    target: str
    unqueued: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """Whether two texts are the same name, and why, in sentences.  True or false as a condition.

    senses  in which other senses they are the same: as alias, synonyms, homologues and so on; empty for one name
    """

    same: bool
    why: tuple[str, ...]
    senses: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.same


@dataclass(frozen=True, slots=True)
class VerifiedName:
    """The result of verifying an identifier; `holds` is whether every quality was confirmed.  True or false as that."""

    identifier: str
    holds: bool
    findings: tuple[QualityFinding, ...]

    def __bool__(self) -> bool:
        return self.holds


@dataclass(frozen=True, slots=True)
class FoundName:
    """A name that was found.

    identifier  as the minter writes it
    state       reserved, published, unavailable or withdrawn; None for a name that has no state
    target      where it leads, as it is bound; empty if it leads nowhere
    elements    values by element name; none of a withdrawn name
    alias_of    the name it stands for, if it is an alias
    """

    identifier: str
    state: str | None
    target: str
    elements: Mapping[str, str] = field(hash=False)
    alias_of: str | None


@dataclass(frozen=True, slots=True)
class NameRecord:
    """An identifier with its elements.

    identifier   as the minter writes it
    state        reserved, published, unavailable or withdrawn; None for a name that has no state, such as a rule
    held         whether it is on hold
    circulation  its circulation record in one line: history, date, actor and number
    elements     values by element name
    computed     for each element that a rule computed, the rule's pattern
    alias_of     the name it stands for, if it is an alias
    """

    identifier: str
    state: str | None
    held: bool
    circulation: str
    elements: Mapping[str, str] = field(hash=False)
    computed: Mapping[str, str] = field(hash=False)
    alias_of: str | None


@dataclass(frozen=True, slots=True)
class PersistencePromise:
    """The promise that names last: in words, and for which time; `until` is None where no end is set."""

    text: str
    start: datetime | None
    until: datetime | None


@dataclass(frozen=True, slots=True)
class MinterPolicy:
    """Who may do what through the web, and what the minter promises.

    read, mint, bind, admin  who may use these classes of commands: `anyone`, `authenticated`, `nobody`, or users
    minting                  publish or reserve: the state of what is minted
    mint_limit               how many identifiers one request through the web may mint
    label_format             which labels there can be
    association              on what things identifiers may stand for; empty if nothing is stated
    persistence              the promise that names last; None if none is made
    """

    read: tuple[str, ...]
    mint: tuple[str, ...]
    bind: tuple[str, ...]
    admin: tuple[str, ...]
    minting: str
    mint_limit: int
    label_format: str
    association: str
    persistence: PersistencePromise | None


@dataclass(frozen=True, slots=True)
class MinterInfo:
    """The properties and the present state of a minter.

    path        its folder
    scheme      how labels are made: noid, ibi, ibip or pilin
    template    Prefix.Mask; empty where anything may be bound, and for other schemes
    term        long, medium or short
    naan, naa, subnaa  the name assigning authority: number, name, and part of it
    labels      what is written before identifiers; the first is added to results
    first       the first identifier, where that is known beforehand
    total       how many identifiers there can be; None if there is no end
    drawn       how many were drawn so far
    held        how many are on hold
    queued      how many are in the queue
    created, creator     when and by whom it was created
    changed, changed_by  when and by whom it was last changed
    notes       the administrators' notes, by name
    details     all that `noid dbinfo` prints, by label
    """

    path: str
    scheme: str
    template: str
    term: str
    naan: str
    naa: str
    subnaa: str
    labels: tuple[str, ...]
    first: str | None
    total: int | None
    drawn: int
    held: int
    queued: int
    created: datetime | None
    creator: str
    changed: datetime | None
    changed_by: str
    notes: Mapping[str, str] = field(hash=False)
    details: Mapping[str, str] = field(hash=False)
