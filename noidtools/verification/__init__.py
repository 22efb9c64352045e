"""Verification: whether the stated qualities of identifiers hold.

The minter is inspected in one read transaction for many identifiers, which needs no network.  Links are checked after
it, with no transaction open, and where findings are recorded, those of many identifiers are stored in one write
transaction.  So neither a slow server nor a million identifiers block the minter for others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from .. import resolution
from ..errors import InvalidError, printable
from ..minter import Minter, circulation, custody, identifiers, lifecycle, policies
from ..minter.circulation import Circulation, all_aliases, bound_identifiers, find_many, in_circulation
from ..minter.custody import Custodian
from ..minter.events import Actor, record_event
from ..minter.lifecycle import tombstone_of
from ..minter.namespace import LONGEST_IDENTIFIER
from ..minter.policies import EVERYTHING
from ..minter.qualities import (
    ACCOUNTABLE,
    BOUND,
    CHECK_SOUND,
    FAILS,
    HOLDS,
    PERSISTENT,
    QUALITIES,
    REGISTERED,
    RESOLVABLE,
    RETRIEVABLE,
    UNIQUE,
    UNIVERSAL,
    UNKNOWN,
    WELL_FORMED,
    Finding,
    has_failure,
    has_stated_of_names,
    save_findings,
    stated_qualities,
    verdicts,
)
from ..minter.relations.abstract import abstract_refusal
from ..names import targets
from ..resolution import Outcome, outcome_in
from ..store import Reader, Writer
from ..times import display_day, timestamp
from .links import Link, LinkLimits, check_links

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..console import Progress

    Find = Callable[..., Iterator[bytes]]
    # The stored names that lead to an address.
    NamesAt = Callable[[bytes], list[bytes]]

# -- the inspection of one name --------------------------------------------------------------------------------------


_HOLDING = {quality: Finding(quality, HOLDS) for quality in QUALITIES}


def _formless(record: Circulation | None, alias: bytes | None) -> str:
    """Why a name need not have the form of this minter's identifiers; empty if it must."""
    if alias is not None:
        return "it is an alias, which may have any form"
    return "it was made elsewhere, so its form is not known here" if record is not None and record.foreign else ""


def _persistent(promise: policies.Persistence | None, today: bytes) -> Finding:
    """Whether the time lasts for which identifiers were promised to be kept; it is so for all of them."""
    if promise is None:
        return Finding(PERSISTENT, UNKNOWN, "nothing was promised: run 'noid promise persistence'", common=True)
    if today < promise.start:
        return Finding(PERSISTENT, UNKNOWN, f"it is promised from {display_day(promise.start)} on", common=True)
    if promise.until and today > promise.until:
        return Finding(PERSISTENT, FAILS, f"it was promised until {display_day(promise.until)} only", common=True)
    return _HOLDING[PERSISTENT]


def _accountable(custodians: list[Custodian], *, common: bool) -> Finding:
    """Whether somebody who can be reached answers for an identifier, or for all that have no custodian of their own."""
    if not any(custodian.contact for custodian in custodians):
        why = f"{printable(custodians[0].name)} answers for it, but with no contact"
        return Finding(ACCOUNTABLE, FAILS, why, common=common)
    return _HOLDING[ACCOUNTABLE]


# -- Looking at identifiers: what can be found out about their qualities from the minter itself ----------------------

# Characters that have one spelling only, in every kind of name.
_PLAIN = b"0123456789abcdefghijklmnopqrstuvwxyz"
_WITHDRAWN = "it was withdrawn"
_NOT_LEADING = {
    lifecycle.RESERVED_STATE: "it is reserved, and not yet for the public",
    lifecycle.UNAVAILABLE_STATE: "it is unavailable for now", lifecycle.WITHDRAWN_STATE: _WITHDRAWN,
}


@dataclass(slots=True)
class Inspection:
    """The results of verifying one identifier.

    identifier  as stored
    display     as written in answers
    known       whether anything is stored about it
    findings    the findings that need no network
    urls        its targets
    link        the finding about the targets; None if they were not requested
    universal   whether an authority states that it is the only name of its thing
    """

    identifier: bytes
    display: bytes
    known: bool
    findings: list[Finding] = field(default_factory=list)
    urls: list[bytes] = field(default_factory=list)
    link: Finding | None = None
    universal: bool = False

    @property
    def codes(self) -> bytes:
        """Those of the findings, without the link's."""
        return b"".join([finding.code for finding in self.findings])

    @property
    def failed(self) -> bool:
        return has_failure(self.codes) or (self.link is not None and self.link.verdict == FAILS)

    @property
    def holds(self) -> bool:
        """Whether every quality was confirmed: what is unknown was not."""
        return all(finding.verdict == HOLDS for finding in self.all)

    @property
    def all(self) -> list[Finding]:
        return self.findings if self.link is None else [*self.findings, self.link]


class Inspector:
    """Looks at a minter in one moment; `today` is its date, `view` what the user may see."""

    def __init__(self, minter: Minter, reader: Reader, today: bytes, view: str = EVERYTHING) -> None:
        self._minter = minter
        self._view = view
        self._today = today
        self._everything = reader
        self._reader = reader = lifecycle.reader_in(view, reader)
        self._form_faults = identifiers.form_checker(minter, reader)
        self._find = resolution.Lookup(minter, self._everything).find
        self._element = printable(resolution.target_element(reader))
        self._labels = minter.namespace.labels
        self._never_twice = "N" in minter.scheme.durability(minter.settings)
        self._persistent = _persistent(policies.persistence(reader), today)
        self._accountable = self._accountable_for_all(reader)
        # Mostly none has a custodian of its own, and then there is no need to look for each.
        self._some_have_own = custody.has_custodians_of_identifiers(reader)
        self._some_are_stated = has_stated_of_names(reader)

    def named(self, given: bytes) -> Inspection:
        """What is found about a name in whatever spelling it comes."""
        try:
            abstract = abstract_refusal(self._minter, self._reader, given, "is not registered")
            identifier = None if abstract else identifiers.own_identifier(self._minter, self._reader, given)
        except InvalidError as error:
            result = Inspection(given, given, known=False)
            result.findings = [Finding(REGISTERED, FAILS, error.message)]
            if len(given) <= LONGEST_IDENTIFIER:
                result.findings += self._formed(self._minter.namespace.new_key(self._minter.namespace.parse(given)))
            return result
        if identifier is None:
            why = abstract or "it is not a name of this minter"
            return Inspection(given, given, False, [Finding(REGISTERED, FAILS, why)])
        return self.result(identifier, circulation.find(self._reader, identifier))

    def result(self, identifier: bytes, record: Circulation | None) -> Inspection:
        """What is found about an identifier with this circulation record."""
        if record is not None and record.withdrawn:
            return self._withdrawn(identifier)
        alias = circulation.alias_target(self._reader, identifier)
        outcome = self._outcome(identifier)
        bound = alias is not None or outcome.by in ("stored", "rule") or circulation.is_bound(self._reader, identifier)
        result = Inspection(identifier, self._minter.namespace.display(identifier), bound or record is not None)
        if not result.known:
            result.findings = [Finding(REGISTERED, FAILS, "nothing is known of it here"), *self._formed(identifier)]
            return result
        result.findings = [
            _HOLDING[REGISTERED], *self._formed(identifier, _formless(record, alias)), self._unique(identifier, record),
            *self._leading(result, self._state(identifier, record, alias), bound, outcome),
            self._responsible(identifier), self._persistent,
        ]
        result.universal = self._some_are_stated and any(
            stated.quality == UNIVERSAL.name and stated.holds and stated.in_force(self._today)
            for stated in stated_qualities(self._reader, identifier))
        return result

    def _outcome(self, identifier: bytes) -> Outcome:
        outcome = resolution.follow_aliases(self._find, identifier)
        return outcome_in(self._view, self._minter, self._everything, identifier, outcome)

    def _withdrawn(self, identifier: bytes) -> Inspection:
        """A withdrawn identifier is no longer registered, and so has no qualities but the form of its name."""
        display = self._minter.namespace.display(identifier)
        tombstone = tombstone_of(self._reader, identifier)
        why = f"it was withdrawn on {display_day(tombstone.date)}" if tombstone else _WITHDRAWN
        formed = self._formed(identifier, _formless(circulation.find(self._reader, identifier), None))
        return Inspection(identifier, display, False, [Finding(REGISTERED, FAILS, why), *formed])

    def _formed(self, identifier: bytes, formless: str = "") -> tuple[Finding, ...]:
        """Whether the name has the form of this minter's identifiers; `formless` says why it need not."""
        fault, sound = self._form_faults(identifier)
        if formless and (fault or sound is False):
            return (Finding(WELL_FORMED, UNKNOWN, formless),)
        formed = Finding(WELL_FORMED, FAILS, fault) if fault else _HOLDING[WELL_FORMED]
        if sound is None:
            return (formed,)
        wrong = "the check character is wrong: something in the name was mistyped"
        return formed, _HOLDING[CHECK_SOUND] if sound else Finding(CHECK_SOUND, FAILS, wrong)

    def _unique(self, identifier: bytes, record: Circulation | None) -> Finding:
        if self._never_twice and record is not None and record.history.count(b"i") > 1:
            return Finding(UNIQUE, FAILS, f"it was given {record.history.count(b'i')} times")
        if self._labels and identifier.replace(b"/", b"", 1).translate(None, _PLAIN):
            space = self._minter.namespace
            normal = space.new_key(space.parse(self._labels[0] + identifier))
            if normal != identifier and self._is_another(identifier, normal):
                other = printable(space.display(normal))
                return Finding(UNIQUE, FAILS, f"{other}, another spelling of the same name, is kept apart from it")
        return _HOLDING[UNIQUE]

    def _is_another(self, identifier: bytes, normal: bytes) -> bool:
        """Whether something of its own is kept under the other spelling."""
        if any(circulation.alias_target(self._reader, key) is not None for key in (identifier, normal)):
            return False
        return circulation.is_known(self._reader, normal)

    def _leading(self, result: Inspection, state: str, bound: bool, outcome: Outcome) -> tuple[Finding, ...]:
        """Whether the name is bound and resolves; nothing of the kind is stated while it is not published."""
        if state != lifecycle.PUBLISHED_STATE:
            why = _NOT_LEADING[state]
            return (_HOLDING[BOUND] if bound else Finding(BOUND, UNKNOWN, why)), Finding(RESOLVABLE, UNKNOWN, why)
        is_bound = _HOLDING[BOUND] if bound else Finding(BOUND, FAILS, "nothing is bound to it")
        if outcome.kind != resolution.FOUND or outcome.by == "fallback":
            reason = outcome.reason if outcome.kind == resolution.GONE else f"nothing is bound to {self._element}"
            return is_bound, Finding(RESOLVABLE, FAILS, reason)
        followed = [target.url for target in outcome.targets if targets.may_be_followed(target.url)]
        result.urls = [url for url in followed if targets.location(url) is not None]
        if not result.urls:
            reason = _host_fault(followed) or f"what is bound to {self._element} is not an address"
            return is_bound, Finding(RESOLVABLE, FAILS, reason)
        return is_bound, _HOLDING[RESOLVABLE]

    def _accountable_for_all(self, reader: Reader) -> Finding:
        """The finding for all identifiers that have no custodian of their own."""
        appointed = custody.present(custody.custodians_of(reader, custody.MINTER))
        if appointed:
            return _accountable(appointed, common=True)
        (authority,) = custody.current_custodians(self._minter, reader)
        why = (f"{printable(authority.name)} answers for it, for whom the minter was made, but no contact is known: "
               "run 'noid custodian set Name --contact Contact'")
        return Finding(ACCOUNTABLE, UNKNOWN, why, common=True)

    def _responsible(self, identifier: bytes) -> Finding:
        if not self._some_have_own or not custody.present(custody.custodians_of(self._reader, identifier)):
            return self._accountable
        return _accountable(custody.current_custodians(self._minter, self._reader, identifier), common=False)

    def _state(self, identifier: bytes, record: Circulation | None, alias: bytes | None) -> str:
        if record is not None and record.was_issued and not record.unusual and alias is None:
            return lifecycle.PUBLISHED_STATE  # as nearly all are, without further questions
        return lifecycle.state_of(self._reader, identifier, record) or lifecycle.PUBLISHED_STATE


def _host_fault(urls: list[bytes]) -> str:
    """What is wrong with the host of the first of these addresses that has an invalid one."""
    for url in urls:
        try:
            targets.to_uri(url)
        except InvalidError as error:
            return error.message
    return ""


# -- the verification of many ----------------------------------------------------------------------------------------

# How many identifiers are inspected in one read transaction, and how many results are stored in one write transaction.
_PAGE, _CHUNK = 1000, 10_000

# Checking links takes long, so that results are stored earlier: after this many of them, or this many seconds.
_CHUNK_OF_LINKS, _SECONDS = 500, 5.0


class VerificationCount:
    """How many identifiers were verified, how many of them fail, and how often each combination of verdicts occurred.

    `common` has, by the name of a quality, the detail of a finding that is the same for all identifiers.
    """

    def __init__(self) -> None:
        self.identifiers = 0
        self.failing = 0
        self.common: dict[str, str] = {}
        self._codes: dict[bytes, int] = {}

    def add(self, result: Inspection) -> None:
        self.identifiers += 1
        self.failing += result.failed
        codes = result.codes if result.link is None else result.codes + result.link.code
        if codes not in self._codes:
            self._codes[codes] = 0
            self.common |= {found.quality.name: found.detail for found in result.findings if found.common}
        self._codes[codes] += 1

    @property
    def unconfirmed(self) -> int:
        """How many identifiers do not fail, but have a quality that is unknown."""
        return sum(times for codes, times in self._codes.items()
                   if {verdict for _, verdict in verdicts(codes)} - {HOLDS} == {UNKNOWN})

    @property
    def verdicts(self) -> dict[str, dict[str, int]]:
        """For each quality how often each verdict occurred."""
        counted: dict[str, dict[str, int]] = {}
        for codes, times in self._codes.items():
            for quality, verdict in verdicts(codes):
                counted.setdefault(quality, {HOLDS: 0, FAILS: 0, UNKNOWN: 0})[verdict] += times
        return counted


class Verification:
    """One run over the identifiers `named`, or over all; with `limits` their links are checked too.

    What is found is stored only if `record` is true.  `view` is what the user may see (see minter/policies.py).
    `names_at` finds the names that lead to an address.  With it, it is verified that identifiers are universal: those
    of which an authority states so, or with `universal` all.
    """

    def __init__(
        self, minter: Minter, actor: Actor, *, named: list[bytes] | None = None, limits: LinkLimits | None = None,
        progress: Progress | None = None, record: bool = False, view: str = EVERYTHING,
        names_at: NamesAt | None = None, universal: bool = False,
    ) -> None:
        self._names_at = names_at
        self._universal = universal
        self.count = VerificationCount()
        self._minter = minter
        self._actor = actor
        self._named = named
        self._limits = limits
        self._progress = progress
        self._record = record
        self._view = view
        self._total = 0

    def run(self) -> Iterator[list[Inspection]]:
        """The results in chunks, each after it was stored, if that is asked for."""
        self._total = self._count_identifiers() if self._progress else 0
        inspected = self._with_universality(
            self._inspected_by_name() if self._named is not None else self._inspected())
        results = inspected if self._limits is None else self._with_links(inspected, self._limits)
        most = _CHUNK if self._limits is None else _CHUNK_OF_LINKS
        chunk: list[Inspection] = []
        due = time.monotonic() + _SECONDS
        try:
            for result in results:
                self.count.add(result)
                self._report_progress()
                chunk.append(result)
                if len(chunk) >= most or (self._limits is not None and time.monotonic() > due):
                    yield self._stored(chunk)
                    chunk, due = [], time.monotonic() + _SECONDS
            if chunk:
                yield self._stored(chunk)
        finally:
            if self._progress:
                self._progress(1, 1, "")

    def _report_progress(self) -> None:
        if self._progress and (self._limits is not None or self.count.identifiers % _PAGE == 0):
            failing = f"{self.count.failing} failing" if self.count.failing else ""
            self._progress(self.count.identifiers, max(self._total, self.count.identifiers + 1), failing)

    def _count_identifiers(self) -> int:
        if self._named is not None:
            return len(self._named)
        return self._minter.read(lambda reader: sum(1 for _ in in_circulation(reader)))

    # -- inspection of the minter ----------------------------------------------------------------------

    def _inspector(self, reader: Reader) -> Inspector:
        return Inspector(self._minter, reader, timestamp(self._actor.now()), self._view)

    def _inspected_by_name(self) -> Iterator[Inspection]:
        names = list(self._named or ())
        for start in range(0, len(names), _PAGE):
            page = names[start : start + _PAGE]

            def work(reader: Reader, page: list[bytes] = page) -> list[Inspection]:
                inspector = self._inspector(reader)
                return [inspector.named(name) for name in page]

            yield from self._minter.read(work)

    def _inspected(self) -> Iterator[Inspection]:
        """All identifiers: those in circulation, those only bound, those that only stand for others."""
        yield from self._minter.read_pages(self._circulating)
        for find in (bound_identifiers, all_aliases):
            yield from self._minter.read_pages(lambda reader, after: self._others(reader, find, after))  # noqa: B023

    def _circulating(self, reader: Reader, after: bytes | None) -> tuple[list[Inspection], bytes | None]:
        page = list(islice(in_circulation(reader, after=after), _PAGE))
        if not page:
            return [], None
        inspector = self._inspector(reader)
        # What was withdrawn is no longer registered, so that there is nothing to verify.
        return [inspector.result(*item) for item in page if not item[1].withdrawn], page[-1][0]

    def _others(self, reader: Reader, find: Find, after: bytes | None) -> tuple[list[Inspection], bytes | None]:
        """The next of those identifiers that a function finds, as far as they are not in circulation."""
        page = list(islice(find(reader, after=after), _PAGE))
        if not page:
            return [], None
        inspector = self._inspector(reader)
        known = find_many(reader, page)
        others = [identifier for identifier, record in zip(page, known, strict=True) if record is None]
        return [inspector.result(identifier, None) for identifier in others], page[-1]

    # -- other names of the same thing -----------------------------------------------------------------

    def _with_universality(self, inspected: Iterator[Inspection]) -> Iterator[Inspection]:
        for result in inspected:
            if self._names_at is not None and result.known and (self._universal or result.universal):
                result.findings.append(self._universality(result, self._names_at))
            yield result

    def _universality(self, result: Inspection, names_at: NamesAt) -> Finding:
        if not result.urls:
            return Finding(UNIVERSAL, UNKNOWN, "it leads to no address that others could lead to")
        keys = {key for url in result.urls for key in names_at(url)} - {result.identifier}
        others = self._minter.read(lambda reader: self._published(reader, sorted(keys))) if keys else []
        if not others:
            return _HOLDING[UNIVERSAL]
        more = f", and {len(others) - 1} more do" if len(others) > 1 else ""
        return Finding(UNIVERSAL, FAILS, f"{printable(others[0])} leads to the same address{more}")

    def _published(self, reader: Reader, keys: list[bytes]) -> list[bytes]:
        """Those of some names that the user may see and that are published, as written in answers."""
        seen = lifecycle.reader_in(self._view, reader)
        return [self._minter.namespace.display(key) for key in keys
                if lifecycle.state_of(seen, key, circulation.find(seen, key)) == lifecycle.PUBLISHED_STATE]

    # -- links -----------------------------------------------------------------------------------------

    def _with_links(self, inspected: Iterator[Inspection], limits: LinkLimits) -> Iterator[Inspection]:
        """The results with the findings about their links, in the order of completion."""
        found: dict[int, list[tuple[bytes, Link]]] = {}

        def links_of_results() -> Iterator[tuple[tuple[Inspection, bytes], bytes]]:
            for result in inspected:
                # A result without links passes through too, as one empty link, so that results keep flowing.
                for url in dict.fromkeys(result.urls) or (b"",):
                    yield (result, url), url

        for (result, url), link in check_links(links_of_results(), limits):
            links = found.setdefault(id(result), [])
            links.append((url, link))
            if len(links) >= len(set(result.urls)):
                del found[id(result)]
                if result.known:
                    result.link = _retrievable(links)
                yield result

    # -- storing ---------------------------------------------------------------------------------------

    def _stored(self, results: list[Inspection]) -> list[Inspection]:
        known = {result.identifier: result for result in results if result.known and self._record}
        if known:
            self._minter.write(lambda writer: self._store(writer, known))
        return results

    def _store(self, writer: Writer, results: dict[bytes, Inspection]) -> None:
        date = timestamp(self._actor.now())
        save_findings(writer, date, [(result.identifier, result.codes, result.findings, result.link)
                                     for result in results.values()])
        failing = sum(result.failed for result in results.values())
        summary = b"%d identifier%b, %d failing" % (len(results), b"" if len(results) == 1 else b"s", failing)
        record_event(writer, self._actor, b"verify", summary, ids=results if self._named is not None else ())


def _retrievable(links: list[tuple[bytes, Link]]) -> Finding:
    """The worst finding about any link of a name."""
    url, worst = min(links, key=lambda item: (FAILS, UNKNOWN, HOLDS).index(item[1].verdict))
    if not url:
        return Finding(RETRIEVABLE, UNKNOWN)
    where = "" if len(links) == 1 else f"{printable(url)}: "
    return Finding(RETRIEVABLE, worst.verdict, where + worst.detail)
