"""Which of several minters a name goes to.

The one whose NAAN and prefix it carries, the longest if several do; else those
that bind anything; else the one that has it as an alias, has imported it or
has declared it to be abstract, since these may have any form; else the one
with a rule that names its NAAN; else the fallback.
"""

from __future__ import annotations

from threading import Lock
from time import monotonic

from .. import names
from ..console import OccasionalLog
from ..errors import NoidError, NotFoundError, StoreError
from ..minter import Minter, circulation, config, schema
from ..minter.identifiers import identify
from ..minter.relations import has_abstractions
from .lookup import (
    ABSTRACT,
    ALIAS,
    FALLBACK,
    FOUND,
    INVALID,
    NOT_FOUND,
    Lookup,
    Outcome,
    authority_elsewhere,
    follow_aliases,
    target_elsewhere,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    from ..minter.folder import MinterFolder
    from ..names import Name
    from ..store import Reader
    T = TypeVar("T")


class MinterEntry:
    """A minter and the names that it is responsible for.

    name              that of its folder
    open              returns the minter, which may have been closed meanwhile
    accepts_any_name  whether its names have no common prefix, so that any name may be one of them
    """

    __slots__ = ("name", "open", "_namespace", "accepts_any_name", "_known")

    def __init__(self, name: str, minter: Minter, open_again: Callable[[], Minter] | None = None) -> None:
        self.name = name
        self.open = open_again or (lambda: minter)
        self._namespace = minter.namespace
        self.accepts_any_name = not minter.scheme.namespace_prefix
        # The version of the store, and what was read of it then: see _fallbacks.
        self._known: tuple[object, tuple[bool, bool, bytes | None]] | None = None

    def knows(self, text: bytes) -> bool:
        """Whether anything is stored about the name."""
        minter = self.open()
        return minter.read(lambda reader: identify(minter, reader, text).known)

    def has_other(self, text: bytes) -> bool:
        """Whether this minter has the name as an abstract one, or it or a beginning of it as an alias or as one that
        was imported."""
        minter = self.open()
        return self._fallbacks(minter)[0] and minter.read(
            lambda reader: _is_other(reader, Lookup(minter, reader).find(text)))

    def hands_on(self, text: bytes, naan: bytes) -> bool:
        """Whether a rule of this minter leads the name elsewhere.  A rule that does not name the NAAN is meant for the
        minter's own names, whatever else it matches."""
        minter = self.open()
        if not naan or not self._fallbacks(minter)[1]:
            return False
        outcome = minter.read(lambda reader: Lookup(minter, reader).find(text))
        return outcome.by == "rule" and naan in outcome.pattern

    def fallback(self, minter: Minter) -> bytes | None:
        """The address of another resolver that this minter names; `minter` is the open one."""
        return self._fallbacks(minter)[2]

    def _fallbacks(self, minter: Minter) -> tuple[bool, bool, bytes | None]:
        """What is asked of all minters for a name that none of them claims.  It is remembered for as long as nothing is
        written, since not all of them can be open at once."""
        known = self._known
        if known is None or known[0] != minter.store.version():
            self._known = known = minter.read(lambda reader: (minter.store.version(), _fallbacks(reader)))
        return known[1]

    def is_home_of(self, name: Name) -> bool:
        """Whether the name has this minter's NAAN or prefix."""
        return self._namespace.is_home_of(name)

    def prefix_length(self, name: Name) -> int:
        """The length of this minter's NAAN and prefix in the name; 0 if the name does not begin with them."""
        if self.accepts_any_name:
            return 0
        space = self._namespace
        if space.reads_urls:
            name = space.parse(name.given)
        return max((len(key) - len(space.scheme.without_prefix(key)) for key in space.spellings(name)), default=0)


def _fallbacks(reader: Reader) -> tuple[bool, bool, bytes | None]:
    """Whether there are names of any form, whether there are rules, and the fallback."""
    has_alias = next(circulation.all_aliases(reader), None) is not None
    has_others = has_alias or schema.has_foreign(reader) or has_abstractions(reader)
    return has_others, schema.rules_version(reader) is not None, config.value(reader, FALLBACK)


def _is_other(reader: Reader, outcome: Outcome) -> bool:
    if outcome.kind in (ALIAS, ABSTRACT) or not _is_final(outcome):
        return outcome.kind in (ALIAS, ABSTRACT)
    record = circulation.find(reader, outcome.identifier)
    return record is not None and record.foreign


def select_entries(entries: Sequence[MinterEntry], name: Name) -> list[MinterEntry]:
    """The minters in which to look a name up, in order.  A single minter gets every name."""
    if len(entries) == 1:
        return list(entries)
    lengths = [entry.prefix_length(name) for entry in entries]
    longest = max(lengths, default=0)
    if longest:
        return [entry for entry, length in zip(entries, lengths, strict=True) if length == longest]
    return [entry for entry in entries if entry.accepts_any_name]


def entry_of(entries: Sequence[MinterEntry], text: bytes) -> MinterEntry | None:
    """The minter to which a name belongs: where names are bound and changed; None if there is none."""
    selected = select_entries(entries, names.parse(text))
    if len(selected) == 1 and not selected[0].accepts_any_name:
        return selected[0]
    owners = (entry for entry in entries if entry not in selected and entry.has_other(text))
    known = (entry for entry in selected if entry.knows(text))
    return next(known, None) or next(owners, None) or next(iter(selected), None)


def resolve_and_gather(
    entries: Sequence[MinterEntry], text: bytes, gather: Callable[[Reader, Outcome], T]
) -> tuple[Outcome, T | None]:
    """What becomes of a name among several minters, with what `gather` reads about it in the transaction that found it.

    `gather` is called for each minter in which the name is looked up, with the outcome there, and may be called again;
    it must have no effects.  Aliases of names of the same minter are followed in one transaction.  No transaction
    begins while one of another minter is open, because two threads could then wait for each other.  The second value
    is None if there is no minter to ask.
    """
    gathered: list[tuple[Outcome, T]] = []

    def look_up(entry: MinterEntry, text: bytes) -> Outcome:
        minter = entry.open()

        def work(reader: Reader) -> tuple[Outcome, T | None]:
            outcome = _follow_within(entries, entry, Lookup(minter, reader), text)
            return outcome, None if outcome.kind == ALIAS else gather(reader, outcome)

        outcome, more = minter.read(work)
        if more is not None:
            gathered.append((outcome, more))
        return outcome

    outcome = follow_aliases(lambda text: _ask(entries, text, look_up), text)
    for known, more in gathered:
        if known is outcome:
            return outcome, more
    if outcome.minter is None:
        return outcome, None
    # The fallback of a minter that is not among the selected, or a circle of aliases through several minters.
    return outcome, outcome.minter.read(lambda reader: gather(reader, outcome))


def _follow_within(entries: Sequence[MinterEntry], entry: MinterEntry, lookup: Lookup, text: bytes) -> Outcome:
    """What a minter answers, after its own aliases; the first alias if another minter has to answer."""
    first = lookup.find(text)
    if first.kind != ALIAS:
        return first

    def find(name: bytes) -> Outcome:
        if name == text:
            return first
        if select_entries(entries, names.parse(name))[:1] != [entry]:
            return Outcome(NOT_FOUND, None, name)
        return lookup.find(name)

    outcome = follow_aliases(find, text)
    return outcome if len(entries) == 1 or _is_final(outcome) else first


def _is_final(outcome: Outcome) -> bool:
    """Whether the name need not be looked up in another minter."""
    return outcome.by != "fallback" and outcome.kind not in (INVALID, NOT_FOUND)


def _ask(entries: Sequence[MinterEntry], text: bytes, look_up: Callable[[MinterEntry, bytes], Outcome]) -> Outcome:
    """The first answer of those that may know the name; an alias is not followed."""
    name = names.parse(text)
    selected = select_entries(entries, name)
    outcomes = []
    for entry in selected:
        outcome = look_up(entry, text)
        if _is_final(outcome):
            return outcome
        outcomes.append(outcome)
    if all(entry.accepts_any_name for entry in selected):
        # No minter's NAAN and prefix claim the name: it may be an alias, imported or abstract, and then of any form; or
        # a rule hands its shoulder or its NAAN on.
        others = [entry for entry in entries if entry not in selected]
        naan = name.body.partition(b"/")[0]
        owner = next((entry for entry in others if entry.has_other(text)), None) or next(
            (entry for entry in others if entry.hands_on(text, naan)), None)
        if owner is not None:
            return look_up(owner, text)
    unknown = Outcome(NOT_FOUND, None, names.stored(name), reason="nothing is known of this name")
    if not any(entry.is_home_of(name) for entry in entries):
        if entries:
            unknown.authority = authority_elsewhere(entries[0].open(), name)
        return _best_failure(outcomes) or _fallback(entries, selected, name) or [*outcomes, unknown][0]
    # Another resolver would send a name of a NAAN that is served here back.
    outcomes = [outcome if outcome.by != "fallback" else
                Outcome(NOT_FOUND, outcome.minter, outcome.identifier, reason=unknown.reason) for outcome in outcomes]
    return _best_failure(outcomes) or [*outcomes, unknown][0]


def _best_failure(outcomes: list[Outcome]) -> Outcome | None:
    """Of answers that did not find the name: where it was mistyped, then who sends it elsewhere."""
    for kind in (INVALID, FOUND):
        for outcome in outcomes:
            if outcome.kind == kind:
                return outcome
    return None


def _fallback(entries: Sequence[MinterEntry], selected: list[MinterEntry], name: Name) -> Outcome | None:
    """The fallback of any other minter; the selected ones have none."""
    for entry in entries:
        if entry in selected:
            continue
        minter = entry.open()
        value = target_elsewhere(minter, name, entry.fallback(minter))
        if value:
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
        self._lock = Lock()
        self._refreshed = -_REFRESH_INTERVAL
        self._entries: dict[str, tuple[Minter, MinterEntry]] = {}
        # What minters were responsible for that could be read before.
        self._former: dict[str, MinterEntry] = {}
        self._logged_prefixes: set[bytes] = set()
        self.faults: dict[str, NoidError] = {}

    def entries(self) -> list[MinterEntry]:
        if self._is_outdated():
            with self._lock:
                if self._is_outdated():  # no other thread refreshed it while this one waited
                    self._refresh()
                    self._refreshed = monotonic()
        return [entry for _, entry in self._entries.values()]

    def resolve_and_gather(self, text: bytes, gather: Callable[[Reader, Outcome], T]) -> tuple[Outcome, T | None]:
        """As the function of this name, among the minters of the catalogue.

        The folder is read again if a minter has gone since: it may have been moved to another folder there.  Raises
        StoreError if another goes meanwhile.
        """
        try:
            return resolve_and_gather(self.entries(), text, gather)
        except NotFoundError:
            self._refreshed = -_REFRESH_INTERVAL
        try:
            return resolve_and_gather(self.entries(), text, gather)
        except NotFoundError as error:
            raise StoreError(f"{error.message}: it was moved or deleted just now") from None

    def _is_outdated(self) -> bool:
        return monotonic() - self._refreshed >= _REFRESH_INTERVAL

    def _refresh(self) -> None:
        """Read the folder.  Other threads use the previous content until the new one is complete."""
        found: dict[str, tuple[Minter, MinterEntry]] = {}
        faults: dict[str, NoidError] = {}
        for name, dbdir in self._minters.dbdirs():
            try:
                minter = self._minters.open(dbdir, name)
            except NoidError as error:
                faults[name] = error
                continue
            known = self._entries.get(name)
            found[name] = known if known and known[0] is minter else (minter, self._entry(name, dbdir, minter))
        self._former |= {name: entry for name, (_, entry) in found.items()}
        self._entries, before, self.faults = found, self.faults, faults
        self._log_changes(before)
        self._log_same_prefixes()

    def _log_changes(self, before: dict[str, NoidError]) -> None:
        """Log why a minter cannot be read, once, and that it can be read again."""
        for name, error in self.faults.items():
            if name not in before or before[name].message != error.message:
                _log.write(f"the minter {name} cannot be read, and its names are answered 503: {error.message}")
        for name in before:
            if name not in self.faults:
                _log.write(f"the minter {name} can be read again" if name in self._entries
                           else f"the minter {name} is no longer there")

    def _log_same_prefixes(self) -> None:
        """Log, once, which minters mint the same names."""
        by_prefix: dict[bytes, list[str]] = {}
        for name, (minter, _) in self._entries.items():
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
        return any(entry is None or entry.accepts_any_name or entry.prefix_length(name) for entry in unread)

    def _entry(self, name: str, dbdir: str, minter: Minter) -> MinterEntry:
        return MinterEntry(name, minter, lambda: self._minters.open(dbdir, name))
