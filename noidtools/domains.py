"""Which of several minters a name goes to.

The one whose NAAN and prefix it carries, the longest if several do; else those
that bind anything; else the fallback.
"""

from __future__ import annotations

from . import config, names
from .recognition import labels_of
from .resolve import FALLBACK, FOUND, INVALID, NOT_FOUND, Outcome, ask_one, fallback_target, follow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .minter import Minter
    from .names import Name
    from .resolve import Trace
    from .schemes import Scheme


class Domain:
    """What one minter answers for; it is opened only when it is asked."""

    __slots__ = ("name", "open", "_scheme", "_labels", "anything")

    def __init__(self, name: str, minter: Minter, open_again: Callable[[], Minter] | None = None) -> None:
        self.name = name
        self.open = open_again or (lambda: minter)
        self._scheme: Scheme = minter.scheme
        self._labels = labels_of(minter)
        # Where all identifiers begin differently, the beginning of a name says nothing.
        self.anything = minter.scheme.free or getattr(minter.scheme, "first_part", None) == ""

    def carried(self, name: Name) -> int:
        """How much of the name is this minter's NAAN and prefix; 0 if it does not carry them."""
        if self.anything:
            return 0
        scheme = self._scheme
        keys = [scheme.canonical(key) for key in names.candidates(name, self._labels)]
        return max((len(key) - len(scheme.own_part(key)) for key in keys), default=0)


def chosen(domains: Sequence[Domain], name: Name) -> list[Domain]:
    """Whom to ask, in order.  A minter that is alone is asked for every name."""
    if len(domains) == 1:
        return list(domains)
    lengths = [domain.carried(name) for domain in domains]
    longest = max(lengths, default=0)
    if longest:
        return [domain for domain, length in zip(domains, lengths, strict=True) if length == longest]
    return [domain for domain in domains if domain.anything]


def resolve(
    domains: Sequence[Domain], given: bytes, *, element: bytes | None = None, trace: Trace | None = None
) -> Outcome:
    """What becomes of a name among several minters."""
    def ask(text: bytes) -> Outcome:
        name = names.parse(text)
        asked = chosen(domains, name)
        outcomes = []
        for domain in asked:
            if trace is not None:
                trace.append(("minter", domain.name.encode("utf-8", "surrogateescape")))
            outcome = ask_one(domain.open(), text, element, trace)
            if outcome.by != "fallback" and outcome.kind not in (INVALID, NOT_FOUND):
                return outcome
            outcomes.append(outcome)
        unknown = Outcome(NOT_FOUND, None, names.stored(name), reason="nothing is known of this name")
        return _best(outcomes) or _fallback(domains, asked, name) or [*outcomes, unknown][0]

    return follow(ask, given, trace)


def _best(outcomes: list[Outcome]) -> Outcome | None:
    """Of answers that did not find the name: where it was mistyped, then who sends it elsewhere."""
    for kind in (INVALID, FOUND):
        for outcome in outcomes:
            if outcome.kind == kind:
                return outcome
    return None


def _fallback(domains: Sequence[Domain], asked: list[Domain], name: Name) -> Outcome | None:
    """The fallback of any of the others; those that were asked have none."""
    for domain in domains:
        if domain in asked:
            continue
        minter = domain.open()
        base = minter.read(lambda reader: config.value(reader, FALLBACK))
        if base is not None:
            value = fallback_target(base, name, labels_of(minter))
            return Outcome(FOUND, minter, names.stored(name), by="fallback", value=value)
    return None
