"""The noid scheme: labels from a template, in sequential or quasi-random order."""

from __future__ import annotations

from ..codec import pack, unpack, unpack_numbers
from ..errors import ExhaustedError, InvalidError, UsageError, printable
from .base import FormChecker, Generator, Mistyped, Scheme
from .sequence import QuasiRandom, Sequential
from .template import CHECK_ONLY, RANDOM, REPERTOIRES, UNLIMITED, Checker, Template, ensure_form, own_repertoire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .base import FormChecker, MintRequest, Mistyped, Pairs, Settings
    from .template import Template

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
        return _checked_settings(cls, settings)

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
        return TemplateChecker(self, state)

    def find_mistyped(self, texts: Iterable[bytes], state: bytes | None) -> Mistyped | None:
        if self.free or not self.template.checked:
            return None
        return _mistyped_among(self, texts, state)

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
        return _durability_of(self.template, settings, minted_only=not self.free)

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


# -- settings of a new minter ----------------------------------------------------------------------------------------


def _checked_settings(scheme_class: type[NoidScheme], settings: Settings) -> Settings:
    """As `Scheme.check_settings`."""
    if settings.long_term and not (settings["naan"] and settings["naa"] and settings["subnaa"]):
        raise UsageError(
            "a long-term minter needs a NAAN, a NAA and a SubNAA: dbcreate Template long NAAN NAA SubNAA"
        )
    if settings.long_term and not settings["template"]:
        raise UsageError("a long-term minter needs a template")
    scheme = scheme_class(settings)
    template = scheme.template
    if template.checked:
        if template.check_mark == CHECK_ONLY:
            own_repertoire(scheme.first_part, template.letters)
        try:
            template.ensure_checkable(len(scheme.first_part) + len(template.letters) + 1)
        except ExhaustedError as error:
            raise InvalidError(error.message) from None
    return settings.with_(at_last=_checked_at_last(settings, template))


def _checked_at_last(settings: Settings, template: Template) -> str:
    """The setting at-last (what happens when the namespace is used up), with its default filled in."""
    at_last = settings["at-last"] or ("wrap" if settings["term"] == "short" else "stop")
    if template.generator == UNLIMITED and settings["at-last"]:
        raise UsageError("--at-last is for bounded namespaces: a z template never ends")
    if at_last == "wrap" and settings.long_term:
        raise UsageError("a long-term minter never gives an identifier twice, so --at-last cannot be wrap")
    if at_last not in ("stop", "wrap"):
        if not (at_last.startswith("add") and at_last[3:].isdigit() and at_last.isascii() and len(at_last) < 9):
            raise UsageError(f"--at-last is stop, wrap or addN (for instance add3), not {at_last!r}")
        template.grown(int(at_last[3:]))
    return at_last


# -- the form of identifiers -----------------------------------------------------------------------------------------


class TemplateChecker(FormChecker):
    """Checks many identifiers of a template; what depends on the template alone is computed once."""

    __slots__ = ("_first_part", "_templates")

    def __init__(self, scheme: NoidScheme, state: bytes | None) -> None:
        super().__init__(scheme, state)
        self._first_part = scheme.first_part
        self._templates = [
            (template, scheme.checker(template) if template.checked else None)
            for template in scheme.templates(state)
        ]

    def faults(self, identifier: bytes) -> tuple[str, bool | None]:
        text = identifier.decode("utf-8", "replace")
        if not text.startswith(self._first_part):
            return f"{printable(identifier)} does not begin with {self._first_part}", None
        own = text[len(self._first_part) :]
        fault = ""
        sound: bool | None = None
        for template, checker in self._templates:
            label = own if checker is None else own[:-1]
            try:
                template.ensure_label(label)
            except InvalidError as error:
                fault = fault or error.message
                continue
            if checker is None:
                return "", None
            sound = checker.character(label) == own[-1:]
            if sound:
                return "", True
        return ("", sound) if sound is not None else (fault, None)


def _mistyped_among(scheme: NoidScheme, texts: Iterable[bytes], state: bytes | None) -> Mistyped | None:
    """As `Scheme.find_mistyped`, for a template with a check character."""
    found = None
    first_part, templates = scheme.first_part, list(scheme.templates(state))
    for text in texts:
        for template in templates:
            surplus = len(text) - len(first_part) - len(template.letters) - 1
            if surplus and (surplus < 0 or template.total is not None):
                continue
            try:
                ensure_form(template, first_part, text)
            except InvalidError as error:
                found = _mistyped(text, template, first_part, error.message)
            else:
                return None
    return found


def _mistyped(text: bytes, template: Template, first_part: str, fault: str) -> Mistyped:
    return Mistyped(fault, lambda: corrections(text, template, first_part))


def corrections(text: bytes, template: Template, first_part: str) -> Iterator[bytes]:
    """The well-formed identifiers from which one wrong character, or two neighbours exchanged, make `text`."""
    for corrected in set(_one_error_away(text, len(first_part), template)):
        try:
            ensure_form(template, first_part, corrected)
        except InvalidError:
            continue
        yield corrected


def _one_error_away(text: bytes, start: int, template: Template) -> Iterator[bytes]:
    letters = sorted(set("".join(template.alphabets) + REPERTOIRES[template.check_letter]))
    for place in range(start, len(text)):
        for letter in letters:
            yield text[:place] + letter.encode() + text[place + 1 :]
    for place in range(start, len(text) - 1):
        yield text[:place] + text[place + 1 : place + 2] + text[place : place + 1] + text[place + 2 :]


# -- durability ------------------------------------------------------------------------------------------------------

_TEST_NAAN = "00000"


def _durability_of(template: Template, settings: Settings, *, minted_only: bool) -> str:
    """The letters that apply to identifiers of a template; `minted_only` is false where any name may be bound."""
    holds = {
        "G": settings["naan"] not in ("", _TEST_NAAN),
        "R": template.generator == RANDOM,
        "A": minted_only and not _has_word_room(template.prefix, template.mask),
        "N": settings.long_term,
        "I": minted_only and "-" not in template.prefix,
        "T": template.checked,
        "E": not minted_only or not _may_hold_vowels(template.prefix, template.letters),
    }
    return "".join(letter for letter in holds if holds[letter])


def _has_word_room(prefix: str, mask: str) -> bool:
    """Whether three letters can stand side by side."""
    places = ["a" if character.isalpha() else "0" for character in prefix]
    # In an unlimited namespace the first mask character is repeated as labels grow.
    body = mask[1] * 4 + mask[2:] if mask[0] == "z" and mask[1] != "d" else mask[1:]
    places += ["0" if letter in "di" else "a" for letter in body]
    return "aaa" in "".join(places)


def _may_hold_vowels(prefix: str, letters: str) -> bool:
    return any(character in "aeiouyAEIOUY" for character in prefix) or any(letter not in "deiE" for letter in letters)
