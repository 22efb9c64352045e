"""Results of operations, and the properties of a minter, as the Python interface returns them; see also facts.py."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from .facts import QualityFinding, RedirectTarget


@dataclass(frozen=True, slots=True)
class Binding:
    """The result of one binding: the length of the new value, and that of the value bound before, in bytes."""

    identifier: str
    element: str
    how: str
    written: int
    before: int


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
    identifier  the stored identifier that decided, else the name in normal form
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
class NameRecord:
    """An identifier with its elements.

    identifier   as the minter writes it
    state        reserved, published or withdrawn; None for a name that has no state, such as a rule
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
    label_format             which labels there can be
    association              on what things identifiers may stand for; empty if nothing is stated
    persistence              the promise that names last; None if none is made
    """

    read: tuple[str, ...]
    mint: tuple[str, ...]
    bind: tuple[str, ...]
    admin: tuple[str, ...]
    minting: str
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
