"""Which of several minters a name goes to.

The one whose NAAN and prefix it carries, the longest if several do; else those
that bind anything; else the one that has it as an alias, has imported it or
has declared it to be abstract, since these may have any form; else the
fallback.
"""

from __future__ import annotations

from _thread import allocate_lock
from time import monotonic

from .. import names
from ..console import OccasionalLog
from ..errors import NoidError
from ..minter import Minter, circulation, config, schema
from ..minter.relations.abstract_names import has_abstractions
from . import (
    ABSTRACT,
    ALIAS,
    FALLBACK,
    FOUND,
    INVALID,
    NOT_FOUND,
    Lookup,
    Outcome,
    fallback_target,
    follow_aliases,
    lookup_in,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    from ..minter.folder import MinterFolder
    from ..names import Name
    from ..store import Reader
    from . import Trace
    T = TypeVar("T")


class Domain:
    """The names that one minter is responsible for.  `open` returns the minter."""

    __slots__ = ("name", "open", "_namespace", "anything", "_known")

    def __init__(self, name: str, minter: Minter, open_again: Callable[[], Minter] | None = None) -> None:
        self.name = name
        self.open = open_again or (lambda: minter)
        self._namespace = minter.namespace
        # Without a common prefix any name may be one of this minter's.
        self.anything = not minter.scheme.namespace_prefix
        # The stamp of the store, and what was read of it then: whether there are names of any form, and the fallback.
        self._known: tuple[object, tuple[bool, bytes | None]] = (None, (False, None))

    def has_other(self, text: bytes) -> bool:
        """Whether this minter has the name as an abstract one, or it or a beginning of it as an alias or as one that
        was imported."""
        minter = self.open()
        return self._choices(minter)[0] and minter.read(
            lambda reader: _is_other(reader, Lookup(minter, reader).find(text)))

    def fallback(self, minter: Minter) -> bytes | None:
        """The address of another resolver that this minter names; `minter` is the open one."""
        return self._choices(minter)[1]

    def _choices(self, minter: Minter) -> tuple[bool, bytes | None]:
        """What is asked of all minters for a name that none of them claims.  It is remembered for as long as nothing is
        written, since not all of them can be open at once."""
        stamp, known = minter.store.stamp(), self._known
        if stamp is None or stamp != known[0]:
            self._known = known = stamp, minter.read(_choices)
        return known[1]

    def carried(self, name: Name) -> int:
        """How much of the name is this minter's NAAN and prefix; 0 if it does not carry them."""
        if self.anything:
            return 0
        space = self._namespace
        if space.reads_urls:
            name = space.parse(name.given)
        return max((len(key) - len(space.scheme.without_prefix(key)) for key in space.spellings(name)), default=0)


def _choices(reader: Reader) -> tuple[bool, bytes | None]:
    has_alias = next(circulation.all_aliases(reader), None) is not None
    has_others = has_alias or schema.has_foreign(reader) or has_abstractions(reader)
    return has_others, config.value(reader, FALLBACK)


def _is_other(reader: Reader, outcome: Outcome) -> bool:
    if outcome.kind in (ALIAS, ABSTRACT) or not _is_final(outcome):
        return outcome.kind in (ALIAS, ABSTRACT)
    record = circulation.find(reader, outcome.identifier)
    return record is not None and record.foreign


def select_domains(domains: Sequence[Domain], name: Name) -> list[Domain]:
    """The minters in which to look a name up, in order.  A single minter gets every name."""
    if len(domains) == 1:
        return list(domains)
    lengths = [domain.carried(name) for domain in domains]
    longest = max(lengths, default=0)
    if longest:
        return [domain for domain, length in zip(domains, lengths, strict=True) if length == longest]
    return [domain for domain in domains if domain.anything]


def resolve_among(
    domains: Sequence[Domain], text: bytes, *, element: bytes | None = None, trace: Trace | None = None
) -> Outcome:
    """What becomes of a name among several minters."""
    def look_up(domain: Domain, text: bytes) -> Outcome:
        if trace is not None:
            trace.append(("minter", domain.name.encode("utf-8", "surrogateescape")))
        return lookup_in(domain.open(), text, element, trace)

    return follow_aliases(lambda text: _ask(domains, text, look_up), text, trace)


def resolve_and_gather(
    domains: Sequence[Domain], text: bytes, gather: Callable[[Reader, Outcome], T]
) -> tuple[Outcome, T | None]:
    """As `resolve_among`, with what `gather` reads about the outcome in the transaction that found it.

    `gather` is called for each minter in which the name is looked up, with the outcome there, and may be called again;
    it must have no effects.  Aliases of names of the same minter are followed in one transaction.  No transaction
    begins while one of another minter is open, because two threads could then wait for each other.  The second value
    is None if there is no minter to ask.
    """
    gathered: list[tuple[Outcome, T]] = []

    def look_up(domain: Domain, text: bytes) -> Outcome:
        minter = domain.open()

        def work(reader: Reader) -> tuple[Outcome, T | None]:
            outcome = _follow_within(domains, domain, Lookup(minter, reader), text)
            return outcome, None if outcome.kind == ALIAS else gather(reader, outcome)

        outcome, more = minter.read(work)
        if more is not None:
            gathered.append((outcome, more))
        return outcome

    outcome = follow_aliases(lambda text: _ask(domains, text, look_up), text)
    for known, more in gathered:
        if known is outcome:
            return outcome, more
    if outcome.minter is None:
        return outcome, None
    # The fallback of a minter that is not among the selected, or a circle of aliases through several minters.
    return outcome, outcome.minter.read(lambda reader: gather(reader, outcome))


def _follow_within(domains: Sequence[Domain], domain: Domain, lookup: Lookup, text: bytes) -> Outcome:
    """What a domain answers, after the aliases in it; the first alias if the answer is for others to give."""
    first = lookup.find(text)
    if first.kind != ALIAS:
        return first

    def find(name: bytes) -> Outcome:
        if name == text:
            return first
        if select_domains(domains, names.parse(name))[:1] != [domain]:
            return Outcome(NOT_FOUND, None, name)
        return lookup.find(name)

    outcome = follow_aliases(find, text)
    return outcome if len(domains) == 1 or _is_final(outcome) else first


def _is_final(outcome: Outcome) -> bool:
    """Whether the name need not be looked up in another minter."""
    return outcome.by != "fallback" and outcome.kind not in (INVALID, NOT_FOUND)


def _ask(domains: Sequence[Domain], text: bytes, look_up: Callable[[Domain, bytes], Outcome]) -> Outcome:
    """The first answer of those that may know the name; an alias is not followed."""
    name = names.parse(text)
    selected = select_domains(domains, name)
    outcomes = []
    for domain in selected:
        outcome = look_up(domain, text)
        if _is_final(outcome):
            return outcome
        outcomes.append(outcome)
    if all(domain.anything for domain in selected):
        # No minter's NAAN and prefix claim the name: it may be an alias, imported or abstract, and then of any form.
        for domain in domains:
            if domain not in selected and domain.has_other(text):
                return look_up(domain, text)
    unknown = Outcome(NOT_FOUND, None, names.stored(name), reason="nothing is known of this name")
    return _best_failure(outcomes) or _fallback(domains, selected, name) or [*outcomes, unknown][0]


def _best_failure(outcomes: list[Outcome]) -> Outcome | None:
    """Of answers that did not find the name: where it was mistyped, then who sends it elsewhere."""
    for kind in (INVALID, FOUND):
        for outcome in outcomes:
            if outcome.kind == kind:
                return outcome
    return None


def _fallback(domains: Sequence[Domain], selected: list[Domain], name: Name) -> Outcome | None:
    """The fallback of any other minter; the selected ones have none."""
    for domain in domains:
        if domain in selected:
            continue
        minter = domain.open()
        base = domain.fallback(minter)
        if base is not None:
            value = fallback_target(base, name, minter.namespace.labels)
            return Outcome(FOUND, minter, names.stored(name), by="fallback", value=value)
    return None


# -- the minters that a resolver serves ------------------------------------------------------------------------------

# Seconds after which a minter that was added to the folder is noticed at the latest.
_REFRESH_INTERVAL = 1.0

# Several processes notice the same change within seconds; a later one is logged again.
_log = OccasionalLog(seconds=10.0)


class Catalogue:
    """The minters in a folder, with the names that each is responsible for; read again now and then.

    faults  the minters that cannot be read, and why
    """

    def __init__(self, minters: MinterFolder) -> None:
        self._minters = minters
        self._lock = allocate_lock()
        self._refreshed = -_REFRESH_INTERVAL
        self._domains: dict[str, tuple[Minter, Domain]] = {}
        # What minters were responsible for that could be read before.
        self._former: dict[str, Domain] = {}
        self._logged_prefixes: set[bytes] = set()
        self.faults: dict[str, NoidError] = {}

    def domains(self) -> list[Domain]:
        if self._is_outdated():
            with self._lock:
                if self._is_outdated():  # no other thread refreshed it while this one waited
                    self._refresh()
                    self._refreshed = monotonic()
        return [domain for _, domain in self._domains.values()]

    def _is_outdated(self) -> bool:
        return monotonic() - self._refreshed >= _REFRESH_INTERVAL

    def _refresh(self) -> None:
        """Read the folder.  Other threads use the previous content until the new one is complete."""
        found: dict[str, tuple[Minter, Domain]] = {}
        faults: dict[str, NoidError] = {}
        for name, dbdir in self._minters.dbdirs():
            try:
                minter = self._minters.open(dbdir, name)
            except NoidError as error:
                faults[name] = error
                continue
            known = self._domains.get(name)
            found[name] = known if known and known[0] is minter else (minter, self._domain(name, dbdir, minter))
        self._former |= {name: domain for name, (_, domain) in found.items()}
        self._domains, before, self.faults = found, self.faults, faults
        self._log_changes(before)
        self._log_same_prefixes()

    def _log_changes(self, before: dict[str, NoidError]) -> None:
        """Log why a minter cannot be read, once, and that it can be read again."""
        for name, error in self.faults.items():
            if name not in before or before[name].message != error.message:
                _log.write(f"the minter {name} cannot be read, and its names are answered 503: {error.message}")
        for name in before:
            if name not in self.faults:
                _log.write(f"the minter {name} can be read again" if name in self._domains
                           else f"the minter {name} is no longer there")

    def _log_same_prefixes(self) -> None:
        """Log, once, which minters mint the same names."""
        by_prefix: dict[bytes, list[str]] = {}
        for name, (minter, _) in self._domains.items():
            if minter.settings["naan"]:
                by_prefix.setdefault(minter.scheme.namespace_prefix, []).append(name)
        for prefix, names_ in by_prefix.items():
            if len(names_) > 1 and prefix not in self._logged_prefixes:
                self._logged_prefixes.add(prefix)
                _log.write(f"the minters {', '.join(names_)} have the same NAAN and prefix {prefix.decode()}, so that "
                           "they may mint the same names: keep one of them, or move the others elsewhere")

    def may_lack(self, text: bytes, outcome: Outcome) -> bool:
        """Whether a minter that cannot be read may know more of a name than the outcome says."""
        if not self.faults or _is_final(outcome):
            return False
        name = names.parse(text)
        unread = [self._former.get(minter) for minter in self.faults]
        return any(domain is None or domain.anything or domain.carried(name) for domain in unread)

    def _domain(self, name: str, dbdir: str, minter: Minter) -> Domain:
        return Domain(name, minter, lambda: self._minters.open(dbdir, name))
