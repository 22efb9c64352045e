"""Checks of what is stated about a minter's identifiers, which need no network."""

from __future__ import annotations

from .. import resolution
from ..errors import InvalidError, printable
from ..minter import circulation, custody, identifiers, lifecycle, policies
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
    UNIQUE,
    UNKNOWN,
    WELL_FORMED,
    Finding,
    has_failure,
)
from ..minter.relations.abstract import abstract_refusal
from ..names import targets
from ..times import display_day

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..minter import Minter
    from ..minter.circulation import Circulation
    from ..minter.custody import Custodian
    from ..minter.qualities import Quality
    from ..resolution import Outcome
    from ..store import Reader


class Statement:
    """Whether something holds, None if that is not known; if not, why; and whether it is so for all identifiers."""

    __slots__ = ("common", "holds", "why")

    def __init__(self, holds: bool | None, why: str = "", *, common: bool = True) -> None:
        self.holds = holds
        self.why = why
        self.common = common


class Statements:
    """What is stated about identifiers, read in one transaction."""

    __slots__ = ("_accountable", "_reader", "_some_have_own")

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._accountable = _accountable(custody.present(custody.custodians_of(reader, custody.MINTER)), common=True)
        # Mostly none has a custodian of its own, and then there is no need to look for each.
        self._some_have_own = custody.has_custodians_of_identifiers(reader)

    def accountable(self, identifier: bytes) -> Statement:
        """Whether somebody who can be reached answers for an identifier."""
        if not self._some_have_own:
            return self._accountable
        own = custody.present(custody.custodians_of(self._reader, identifier))
        return _accountable(own, common=False) if own else self._accountable

    def persistent(self, today: bytes) -> Statement:
        """Whether the time lasts for which identifiers were promised to be kept."""
        promise = policies.persistence(self._reader)
        if promise is None:
            return Statement(None, "nothing was promised: run 'noid policy persistence'")
        if today < promise.start:
            return Statement(None, f"it is promised from {display_day(promise.start)} on")
        if promise.until and today > promise.until:
            return Statement(False, f"it was promised until {display_day(promise.until)} only")
        return Statement(True)


def _accountable(custodians: list[Custodian], *, common: bool) -> Statement:
    if not custodians:
        return Statement(None, "nobody was named to answer for it: run 'noid custodian set'", common=common)
    if not any(custodian.contact for custodian in custodians):
        name = printable(custodians[0].name)
        return Statement(False, f"{name} answers for it, but with no contact", common=common)
    return Statement(True, common=common)


# -- Looking at identifiers: what can be found out about their qualities from the minter itself ----------------------

# Characters that have one spelling only, in every kind of name.
_PLAIN = b"0123456789abcdefghijklmnopqrstuvwxyz"
_RESERVED = "it is reserved, and not yet for the public"
_WITHDRAWN = "it was withdrawn"


class Inspection:
    """The results of verifying one identifier.

    identifier  as stored
    display     as written in answers
    known       whether anything is stored about it
    findings    the findings that need no network
    urls        its targets
    link        the finding about the targets; None if they were not requested
    """

    __slots__ = ("_codes", "findings", "identifier", "known", "link", "display", "urls")

    def __init__(self, identifier: bytes, display: bytes, known: bool = True) -> None:
        self.identifier = identifier
        self.display = display
        self.known = known
        self.findings: list[Finding] = []
        self.urls: list[bytes] = []
        self.link: Finding | None = None
        self._codes = b""

    @property
    def codes(self) -> bytes:
        """Those of the findings, without the link's."""
        if not self._codes:
            self._codes = b"".join([finding.code for finding in self.findings])
        return self._codes

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


_HOLDING = {quality: Finding(quality, HOLDS) for quality in QUALITIES}


class Inspector:
    """Looks at a minter in one moment; `today` is its date, `view` what the user may see."""

    def __init__(self, minter: Minter, reader: Reader, today: bytes, view: str = EVERYTHING) -> None:
        self._minter = minter
        self._view = view
        self._everything = reader
        self._reader = reader = lifecycle.reader_in(view, reader)
        self._form = identifiers.form_checker(minter, reader)
        self._find = resolution.Lookup(minter, self._everything).find
        self._element = printable(resolution.target_element(reader))
        self._labels = minter.namespace.labels
        self._never_twice = "N" in minter.scheme.durability(minter.settings)
        self._stated = Statements(reader)
        self._persistent = _finding_of(PERSISTENT, self._stated.persistent(today))

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
            result = Inspection(given, given, known=False)
            result.findings = [Finding(REGISTERED, FAILS, abstract or "it is no name of this minter")]
            return result
        return self.result(identifier, circulation.find(self._reader, identifier))

    def result(self, identifier: bytes, record: Circulation | None) -> Inspection:
        """What is found about an identifier with this circulation record."""
        if record is not None and record.withdrawn:
            return self._withdrawn(identifier)
        alias = circulation.alias_target(self._reader, identifier)
        outcome = self._outcome(identifier)
        bound = alias is not None or outcome.by in ("stored", "rule") or self._is_bound(identifier)
        result = Inspection(identifier, self._minter.namespace.display(identifier), bound or record is not None)
        if not result.known:
            result.findings = [Finding(REGISTERED, FAILS, "nothing is known of it here"), *self._formed(identifier)]
            return result
        result.findings = [
            _HOLDING[REGISTERED], *self._formed(identifier, alias is not None), self._unique(identifier, record),
            *self._leading(result, self._state(identifier, record, alias, bound), bound, outcome),
            _finding_of(ACCOUNTABLE, self._stated.accountable(identifier)), self._persistent,
        ]
        return result

    def _outcome(self, identifier: bytes) -> Outcome:
        outcome = resolution.follow_aliases(self._find, identifier)
        if self._view == EVERYTHING:
            return outcome
        from ..resolution import outcome_in

        return outcome_in(self._view, self._minter, self._everything, identifier, outcome)

    def _withdrawn(self, identifier: bytes) -> Inspection:
        """A withdrawn identifier is no longer registered, and so has no qualities but the form of its name."""
        display = self._minter.namespace.display(identifier)
        tombstone = tombstone_of(self._reader, identifier)
        why = f"it was withdrawn on {display_day(tombstone.date)}" if tombstone else _WITHDRAWN
        result = Inspection(identifier, display, known=False)
        result.findings = [Finding(REGISTERED, FAILS, why), *self._formed(identifier)]
        return result

    def _is_bound(self, identifier: bytes) -> bool:
        return circulation.is_bound(self._reader, identifier)

    def _formed(self, identifier: bytes, is_alias: bool = False) -> tuple[Finding, ...]:
        fault, sound = self._form.faults(identifier)
        if is_alias and (fault or sound is False):
            return (Finding(WELL_FORMED, UNKNOWN, "it is an alias, which may have any form"),)
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
            why = _RESERVED if state == lifecycle.RESERVED_STATE else _WITHDRAWN
            return (_HOLDING[BOUND] if bound else Finding(BOUND, UNKNOWN, why)), Finding(RESOLVABLE, UNKNOWN, why)
        is_bound = _HOLDING[BOUND] if bound else Finding(BOUND, FAILS, "nothing is bound to it")
        if outcome.kind != resolution.FOUND or outcome.by == "fallback":
            reason = outcome.reason if outcome.kind == resolution.GONE else f"nothing is bound to {self._element}"
            return is_bound, Finding(RESOLVABLE, FAILS, reason)
        followed = [target.url for target in outcome.targets if targets.may_be_followed(target.url)]
        result.urls = [url for url in followed if targets.location(url) is not None]
        if not result.urls:
            reason = _host_fault(followed) or f"what is bound to {self._element} is no address"
            return is_bound, Finding(RESOLVABLE, FAILS, reason)
        return is_bound, _HOLDING[RESOLVABLE]

    def _state(self, identifier: bytes, record: Circulation | None, alias: bytes | None, bound: bool) -> str:
        if record is not None and record.was_issued and not record.reserved and not record.withdrawn and alias is None:
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


def _finding_of(quality: Quality, statement: Statement) -> Finding:
    if statement.holds:
        return _HOLDING[quality]
    verdict = UNKNOWN if statement.holds is None else FAILS
    return Finding(quality, verdict, statement.why, common=statement.common)
