"""The noid scheme: labels from a template, in sequential or quasi-random order."""

from __future__ import annotations

from ..codec import pack, unpack, unpack_numbers
from ..errors import ExhaustedError, InvalidError
from .base import Generator, Scheme
from .sequence import QuasiRandom, Sequential
from .template import RANDOM, REPERTOIRES, UNLIMITED, Checker, Template, ensure_form

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .base import MintRequest, Pairs
    from .form_checks import FormChecker, Mistyped
    from .settings import Settings


# The template of a minter without one, where any name may be bound.
DEFAULT_TEMPLATE = ".zd"
_ORDERS = {RANDOM: "random", UNLIMITED: "sequential, without end"}


class NoidScheme(Scheme):
    """Labels from a template."""

    __slots__ = ("template", "free", "first_part", "seed", "at_last", "_checkers")

    name = "noid"
    summary = "a template's labels in sequential or quasi-random order: dbcreate Template [Term [NAAN NAA SubNAA]]"
    options = ("seed", "at-last")

    def __init__(self, settings: Settings) -> None:
        self.free = not settings["template"]
        self.template = Template(settings["template"] or DEFAULT_TEMPLATE)
        naan = settings["naan"]
        self.first_part = (f"{naan}/" if naan else "") + self.template.prefix
        self.seed = int(settings["seed"])
        # By the text of the template, which may have grown.
        self._checkers: dict[str, Checker] = {}
        self.at_last = settings["at-last"]

    @classmethod
    def check_settings(cls, settings: Settings) -> Settings:
        from .noid_settings import checked_settings

        return checked_settings(cls, settings)

    @property
    def grows(self) -> bool:
        return growth(self.at_last) > 0

    @property
    def namespace_prefix(self) -> bytes:
        return b"" if self.free else self.first_part.encode()

    def templates(self, state: bytes | None) -> Iterator[Template]:
        """The template, and after it those into which its mask has grown, in that order."""
        for grown in range(1 + (int(unpack(state, most=2)[1]) if state else 0)):
            yield self.grown_template(grown)

    def grown_template(self, times: int) -> Template:
        """The template after its mask has grown so many times."""
        template = self.template
        for _ in range(times):
            template = template.grown(growth(self.at_last))
        return template

    def checker(self, template: Template) -> Checker:
        """What computes the check characters of a template into which this scheme's has grown, or of its own."""
        known = self._checkers.get(template.text)
        if known is None:
            known = self._checkers[template.text] = Checker(template, self.first_part)
        return known

    def ensure_valid(self, identifier: bytes, state: bytes | None = None) -> None:
        fault: InvalidError | None = None
        for template in () if self.free else self.templates(state):
            try:
                ensure_form(template, self.first_part, identifier)
                return
            except InvalidError as error:
                fault = error
        if fault is not None:
            raise fault

    def form_checker(self, state: bytes | None) -> FormChecker:
        if self.free:
            return super().form_checker(state)
        from .form_checks import TemplateChecker

        return TemplateChecker(self, state)

    def find_mistyped(self, texts: Iterable[bytes], state: bytes | None) -> Mistyped | None:
        if self.free or not self.template.checked:
            return None
        from .form_checks import mistyped_among

        return mistyped_among(self, texts, state)

    def generator(self, state: bytes | None) -> NoidGenerator:
        return NoidGenerator(self, state)

    def form(self) -> Pairs:
        template = self.template
        return [
            ("Template", (f"none: binds anything, mints {template.text}" if self.free else template.text).encode()),
            ("Size", b"unlimited" if template.total is None else b"%d" % template.total),
            ("Order", _ORDERS.get(template.generator, "sequential").encode()),
        ]

    def behaviour(self) -> Pairs:
        at_last = "never" if self.template.total is None else self.at_last
        seed = [("Seed", b"%d" % self.seed)] if self.seed else []
        return [("At-Last", at_last.encode()), *seed]

    def durability(self, settings: Settings) -> str:
        from .durability import of_template

        return of_template(self.template, settings, minted_only=not self.free)

    def first(self) -> bytes:
        return self.generator(None).draw(1)[0][0]

    def without_prefix(self, identifier: bytes) -> bytes:
        return identifier.removeprefix(self.first_part.encode())

    def exhausted_message(self) -> str:
        template = self.template
        if template.total is None:
            return "no identifier is left: longer ones would not be guarded by their check character"
        return f"no identifier is left: all {template.total} of template {template.text} are minted, held or queued"


def growth(at_last: str) -> int:
    """The N of addN, or 0."""
    return int(at_last[3:]) if at_last.startswith("add") else 0


class NoidGenerator(Generator):
    """Draws the identifiers of a template.  Its state is a few kilobytes at most.

    A *pass* is one run through the namespace.  Short-term minters start another
    when one is over; with addN the mask grows instead and the pass goes on.
    """

    __slots__ = ("scheme", "template", "passes", "grown", "_before", "order")

    def __init__(self, scheme: NoidScheme, state: bytes | None) -> None:
        self.scheme = scheme
        passes, grown, before, drawn, *values = unpack(state) if state else (b"0", b"0", b"0", b"0")
        self.passes, self.grown, self._before = int(passes), int(grown), int(before)
        self.template = scheme.grown_template(self.grown)
        counters, packed = None, b""
        if values:
            packed = values[0]
            counters = unpack_numbers(packed, int(values[1]))
        self.order = self._start(int(drawn), counters, packed)

    def is_reusable_for(self, scheme: Scheme) -> bool:
        return scheme is self.scheme

    def _start(self, drawn: int, counters: list[int] | None, packed: bytes = b"") -> QuasiRandom | Sequential:
        if self.template.generator == RANDOM:
            assert self.template.total is not None
            return QuasiRandom(
                self.template.total, seed=self.scheme.seed, drawn=drawn, values=counters, packed=packed,
                again=self.passes > 0,
            )
        return Sequential(self.template.total or self._checkable_total(), drawn=drawn)

    def continue_from(self, passes: int, drawn: int, counters: list[int] | None) -> None:
        """Adopt the state of another program's generator with the same template: counters only in random order."""
        self.passes = passes
        self.order = self._start(drawn, counters)

    def _checkable_total(self) -> int | None:
        """The size of an unlimited namespace with check characters: it ends where labels get too long for them."""
        template = self.template
        if not template.checked:
            return None
        room = len(REPERTOIRES[template.check_letter]) - len(self.scheme.first_part) - len(template.letters) - 2
        total: int = len(template.alphabets[0]) ** max(0, room)
        for alphabet in template.alphabets:
            total *= len(alphabet)
        return total

    def state(self) -> bytes:
        fields = [b"%d" % n for n in (self.passes, self.grown, self._before, self.order.drawn)]
        return pack(fields + self.order.state_fields())

    @property
    def drawn(self) -> int:
        """How many were drawn in this pass."""
        return self._before + self.order.drawn

    @property
    def total(self) -> int | None:
        return self.template.total

    @property
    def reissues(self) -> bool:
        return self.passes > 0

    def status(self) -> Pairs:
        total = self.template.total
        left = b"unlimited" if total is None else b"%d" % max(0, total - self.order.drawn)
        return [("Drawn", b"%d" % self.drawn), ("Left", left)]

    def internals(self) -> Pairs:
        return [("Passes", b"%d" % self.passes), ("Mask", self.template.mask.encode()), *self.order.internals()]

    def fault(self) -> str:
        return self.order.fault()

    def draw(self, count: int, request: MintRequest | None = None) -> list[tuple[bytes, int]]:
        """Up to `count` identifiers, each with its place in the order; none when the namespace is used up.

        One call stays within one pass, so that the caller can record what it got before any comes again.
        """
        drawn = self.drawn
        numbers = self.order.draw(count)
        if not numbers and self._begin_next():
            drawn = self.drawn
            numbers = self.order.draw(count)
        return list(zip(self._identifiers(numbers), range(drawn + 1, drawn + 1 + len(numbers)), strict=True))

    def _begin_next(self) -> bool:
        if self.scheme.at_last == "wrap":
            self.passes += 1
            self._before = 0
        elif growth(self.scheme.at_last):
            longer = self.template.grown(growth(self.scheme.at_last))
            try:
                longer.ensure_checkable(len(self.scheme.first_part) + len(longer.letters) + 1)
            except ExhaustedError:
                return False
            self._before += self.order.drawn
            self.grown += 1
            self.template = longer
        else:
            return False
        self.order = self._start(0, None)
        return True

    def _identifiers(self, numbers: list[int]) -> list[bytes]:
        first_part, label_of = self.scheme.first_part, self.template.label
        if not self.template.checked:
            return [(first_part + label_of(number)).encode() for number in numbers]
        character = self.scheme.checker(self.template).character
        labels = [label_of(number) for number in numbers]
        return [(first_part + label + character(label)).encode() for label in labels]
