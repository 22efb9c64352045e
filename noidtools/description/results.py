"""Results of operations on names, and events: typed values like those of facts.py, which the interfaces share."""

from __future__ import annotations

from dataclasses import dataclass
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
class Transition:
    """The state of an identifier before and after; `unqueued` is whether it was removed from the queue."""

    identifier: str
    before: str | None
    after: str
    unqueued: bool


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """A withdrawn identifier.  `minted` is None for one that never was; `reason` and `successor` may be empty."""

    identifier: str
    date: datetime
    minted: datetime | None
    reason: str
    successor: str


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


# -- events ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ValueDigest:
    """What is recorded of a value that is too long to record whole: its size in bytes, and its SHA-256 in hex."""

    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class ChangedValue:
    """The change of one property or element in an event.

    identifier  whose it is; None where it is the minter's, or alike for all identifiers of the event
    what        a property such as state or hold, or the name of an element
    is_element  whether `what` is the name of an element
    before      the value before; None if there was none
    after       the value after; None if it was removed
    """

    identifier: str | None
    what: str
    is_element: bool
    before: str | ValueDigest | None
    after: str | ValueDigest | None


@dataclass(frozen=True, slots=True)
class MintCount:
    """How many identifiers an event minted, of how many requested; the first and the last of them."""

    made: int
    requested: int
    first: str
    last: str


@dataclass(frozen=True, slots=True)
class HistoryEvent:
    """An event: a change of the minter.

    number       events are numbered from 1 on
    date         when
    who          by whom
    interface    through which interface: python, shell, or one of the web
    action       the command, such as mint or bind set
    identifiers  which it concerned; empty for mintings, which have `minted` instead
    changes      what became of each thing that it changed
    minted       for a minting, how many were made
    details      further words, in no particular form
    bindings     for a change of many names at once, how many bindings it changed; else None
    """

    number: int
    date: datetime
    who: str
    interface: str
    action: str
    identifiers: tuple[str, ...]
    changes: tuple[ChangedValue, ...]
    minted: MintCount | None
    details: tuple[str, ...]
    bindings: int | None = None
