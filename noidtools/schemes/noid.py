"""The noid scheme: labels from a template, in sequential or quasi-random order.

Sequential order is counting.  Quasi-random order is the original's, number for number: the namespace is cut into at
most 293 counters, and before each draw a 48-bit linear congruential generator, seeded with how many were drawn so far,
picks the counter to advance.  A template therefore always gives the same identifiers in the same order, so that a lost
minter can be rebuilt.
"""

from __future__ import annotations

from functools import partial

from ..codec import pack, pack_numbers, unpack, unpack_numbers
from ..errors import ExhaustedError, InvalidError, UsageError, printable
from .base import Generator, Mistyped, Scheme
from .template import CHECK_ONLY, RANDOM, REPERTOIRES, UNLIMITED, Checker, Template, ensure_form, own_repertoire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .base import FormChecker, MintRequest, Pairs, Settings


# -- the order of the labels -----------------------------------------------------------------------------------------

MOST_COUNTERS = 293

# The original advances one of the counters first and then the overall count.  If it is killed in between, the counters
# are ahead, in minters that were imported from it, too; so often, at most, that it is no sign of damage.
MOST_UNFINISHED = 20

# How many draws are repeated at once to examine the counters.
_REPLAYED_TOGETHER = 100_000

# drand48, the generator of Perl since 5.20.
_MULTIPLIER = 0x5DEECE66D
_INCREMENT = 0xB
_MODULUS_MASK = (1 << 48) - 1
_LOW_STATE = 0x330E
_SEED_MASK = 0xFFFFFFFF
_FRACTION = 2.0**-48

# Spreads small seeds over the range of the generator; seed 0 is the order of the original program.
_SEED_SPREAD = 0x9E3779B1


def per_counter(total: int) -> int:
    """How many numbers one counter covers; the last counter may cover fewer."""
    # The original divides in floating point, so this does too up to the limit of exact integers.
    if total <= 1 << 53:
        return int(total / MOST_COUNTERS + 1)
    return total // MOST_COUNTERS + 1


class QuasiRandom:
    """Counters of one pass through a bounded namespace.

    `values` and the number of draws are the whole state, and all that a minter stores.
    """

    __slots__ = ("total", "size", "values", "drawn", "_offset", "_first", "_active")

    def __init__(
        self, total: int, *, seed: int = 0, drawn: int = 0, values: list[int] | None = None, again: bool = False
    ) -> None:
        self.total = total
        self.size = per_counter(total)
        self.drawn = drawn
        self.values = values if values is not None else [0] * -(-total // self.size)
        self._offset = seed * _SEED_SPREAD
        # When the original starts over, its generator was seeded last with the full count of the pass before.
        self._first = total if again else 0
        self._active = list(range(len(self.values)))
        if max(self.values, default=0) >= self.size:  # which is so near the end of a pass only
            self._active = [n for n in self._active if self.values[n] < self.size]
        # Only the last counter may end before the others do.
        last = len(self.values) - 1
        if self._active and self._active[-1] == last and self.values[last] >= self._top(last):
            self._active.pop()

    def _top(self, counter: int) -> int:
        return min(self.size, self.total - counter * self.size)

    def fault(self, *, imported: bool) -> str:
        """What in the counters cannot be; empty if nothing is wrong.  See `Generator.fault`."""
        tops = [self._top(counter) for counter in range(-(-self.total // self.size))]
        if len(tops) != len(self.values):
            return f"there are {len(self.values)} counters, and {len(tops)} belong to the template"
        for counter, (value, top) in enumerate(zip(self.values, tops, strict=True)):
            if value > top:
                return f"counter {counter} is at {value}, and ends at {top}"
        if not 0 <= sum(self.values) - self.drawn <= (MOST_UNFINISHED if imported else 0):
            return f"the counters add up to {sum(self.values)}, but {self.drawn} were drawn"
        if not imported and self.values != self._replayed():
            return f"the counters are not those that {self.drawn} draws leave"
        return ""

    def _replayed(self) -> list[int]:
        """The counters as all draws of this pass leave them, drawn again."""
        again = QuasiRandom(self.total, drawn=0)
        again._offset, again._first = self._offset, self._first
        for start in range(0, self.drawn, _REPLAYED_TOGETHER):
            again.draw(min(_REPLAYED_TOGETHER, self.drawn - start))
        return again.values

    def state_fields(self) -> list[bytes]:
        """The counters as a minter stores them: packed, and their number."""
        return [pack_numbers(self.values, self.size), b"%d" % len(self.values)]

    def internals(self) -> list[tuple[str, bytes]]:
        """Details for an administrator who looks for the cause of a problem."""
        return [("Counters", b" ".join(b"%d" % value for value in self.values))]

    def draw(self, count: int) -> list[int]:
        """The next numbers, at most `count`; fewer when the namespace ends.  Numbers run from 1 to total."""
        active, values, size, offset = self._active, self.values, self.size, self._offset
        numbers = []
        start = self.drawn
        # The counters may be ahead of `drawn`: see MOST_UNFINISHED.
        for drawn in range(start, start + min(count, self.total - max(start, sum(values)))):
            state = ((((drawn or self._first) + offset) & _SEED_MASK) << 16) + _LOW_STATE
            state = (state * _MULTIPLIER + _INCREMENT) & _MODULUS_MASK
            # Floating point, to round as the original's multiplication does.
            place = int(state * _FRACTION * len(active))
            counter = active[place]
            value = values[counter] + 1
            values[counter] = value
            if value >= size or value >= self._top(counter):
                del active[place]
            numbers.append(value + counter * size)
        self.drawn += len(numbers)
        return numbers


class Sequential:
    """Counting from zero, to the end of the namespace if it has one."""

    __slots__ = ("total", "drawn")

    def __init__(self, total: int | None, *, drawn: int = 0) -> None:
        self.total = total
        self.drawn = drawn

    def fault(self, *, imported: bool) -> str:
        """What in the count cannot be; empty if nothing is wrong.  See `Generator.fault`."""
        if self.drawn < 0 or (self.total is not None and self.drawn > self.total):
            return f"{self.drawn} were drawn of {self.total}"
        return ""

    def state_fields(self) -> list[bytes]:
        """What a minter stores besides the number of draws: nothing."""
        return []

    def internals(self) -> list[tuple[str, bytes]]:
        """Details for an administrator: there are none."""
        return []

    def draw(self, count: int) -> list[int]:
        if self.total is not None:
            count = min(count, self.total - self.drawn)
        numbers = list(range(self.drawn, self.drawn + count))
        self.drawn += len(numbers)
        return numbers


# -- the scheme ------------------------------------------------------------------------------------------------------

# The template of a minter without one, where any name may be bound.
DEFAULT_TEMPLATE = ".zd"
_ORDERS = {RANDOM: "random", UNLIMITED: "sequential, without end"}


class NoidScheme(Scheme):
    """Labels from a template."""

    __slots__ = ("template", "free", "first_part", "lower_case", "seed", "at_last", "_checkers")

    name = "noid"
    summary = "a template's labels in sequential or quasi-random order: dbcreate Template [Term [NAAN NAA SubNAA]]"
    options = ("seed", "at-last")

    def __init__(self, settings: Settings) -> None:
        self.free = not settings["template"]
        self.template = Template(settings["template"] or DEFAULT_TEMPLATE)
        naan = settings["naan"]
        self.first_part = (f"{naan}/" if naan else "") + self.template.prefix
        letters = self.first_part + "".join(self.template.alphabets)
        self.lower_case = not self.free and letters == letters.lower() and letters != letters.upper()
        self.seed = int(settings["seed"])
        # By the text of the template, which may have grown.
        self._checkers: dict[str, Checker] = {}
        self.at_last = settings["at-last"]

    @classmethod
    def check_settings(cls, settings: Settings) -> Settings:
        if settings.long_term and not (settings["naan"] and settings["naa"] and settings["subnaa"]):
            raise UsageError(
                "a long-term minter needs a NAAN, a NAA and a SubNAA: a number, such as 12345, and two names"
            )
        if settings.long_term and not settings["template"]:
            raise UsageError("a long-term minter needs a template")
        scheme = cls(settings)
        template = scheme.template
        if template.checked:
            if template.check_mark == CHECK_ONLY:
                own_repertoire(scheme.first_part, template.letters)
            try:
                template.ensure_checkable(len(scheme.first_part) + len(template.letters) + 1)
            except ExhaustedError as error:
                raise InvalidError(error.message) from None
        return settings.with_(at_last=_checked_at_last(settings, template))

    @property
    def grows(self) -> bool:
        return growth(self.at_last) > 0

    @property
    def namespace_prefix(self) -> bytes:
        return b"" if self.free else self.first_part.encode()

    def owns(self, identifier: bytes) -> bool:
        if self.first_part or self.free:
            return identifier.startswith(self.first_part.encode())
        # Without a common beginning, only the characters tell.
        characters = "".join(self.template.alphabets)
        if self.template.checked:
            characters += REPERTOIRES[self.template.check_letter]
        return not identifier.translate(None, characters.encode())

    def templates(self, state: bytes | None) -> Iterator[Template]:
        """The template, and after it those into which its mask has grown, in that order."""
        for grown in range(1 + (int(unpack(state, most=2)[1]) if state else 0)):
            yield self.grown_template(grown)

    def grown_template(self, times: int) -> Template:
        """The template after its mask has grown this many times."""
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
        return super().form_checker(state) if self.free else _template_checker(self, state)

    def find_mistyped(self, texts: Iterable[bytes], state: bytes | None) -> Mistyped | None:
        if self.free or not self.template.checked:
            return None
        found = None
        templates = list(self.templates(state))
        for text in texts:
            for template in templates:
                surplus = len(text) - len(self.first_part) - len(template.letters) - 1
                if surplus and (surplus < 0 or template.total is not None):
                    continue
                try:
                    ensure_form(template, self.first_part, text)
                except InvalidError as error:
                    found = Mistyped(error.message, partial(corrections, text, template, self.first_part))
                else:
                    return None
        return found

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
        return (f"no identifier is left: all {template.total} of template {template.text} have had their turn; one "
                "that was held then can be released and queued")


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
        self.order = self._start(int(drawn), unpack_numbers(values[0], int(values[1])) if values else None)

    def is_reusable_for(self, scheme: Scheme) -> bool:
        return scheme is self.scheme

    def _start(self, drawn: int, counters: list[int] | None) -> QuasiRandom | Sequential:
        if self.template.generator == RANDOM:
            assert self.template.total is not None
            return QuasiRandom(
                self.template.total, seed=self.scheme.seed, drawn=drawn, values=counters, again=self.passes > 0)
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

    def fault(self, *, imported: bool) -> str:
        at_last = self.scheme.at_last
        if self.passes and at_last != "wrap":
            return f"it has started over {self.passes} times, but a minter that ends with {at_last} never does"
        if self.grown and not self.scheme.grows:
            return f"the mask has grown {self.grown} times, but a minter that ends with {at_last} never does that"
        before = sum(self.scheme.grown_template(times).total or 0 for times in range(self.grown))
        if self._before != before:
            return f"{self._before} were drawn with shorter masks, but these have {before} labels"
        return self.order.fault(imported=imported)

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


def _checked_at_last(settings: Settings, template: Template) -> str:
    """The setting at-last (what happens when the namespace is used up), with its default filled in."""
    at_last = settings["at-last"] or ("wrap" if settings["term"] == "short" else "stop")
    if template.generator == UNLIMITED and settings["at-last"]:
        raise UsageError("at-last is for bounded namespaces: a z template never ends")
    if at_last == "wrap" and settings.long_term:
        raise UsageError("a long-term minter never gives an identifier twice, so at-last cannot be wrap")
    if at_last not in ("stop", "wrap"):
        if not (at_last.startswith("add") and at_last[3:].isdigit() and at_last.isascii() and len(at_last) < 9):
            raise UsageError(f"at-last is stop, wrap or addN (for instance add3), not {at_last!r}")
        template.grown(int(at_last[3:]))
    return at_last


# -- the form of identifiers -----------------------------------------------------------------------------------------


def _template_checker(scheme: NoidScheme, state: bytes | None) -> FormChecker:
    """As `Scheme.form_checker`; what depends on the template alone is computed once."""
    first_part = scheme.first_part
    templates = [(template, scheme.checker(template) if template.checked else None)
                 for template in scheme.templates(state)]

    def faults(identifier: bytes) -> tuple[str, bool | None]:
        text = identifier.decode("utf-8", "replace")
        if not text.startswith(first_part):
            return f"{printable(identifier)} does not begin with {first_part}", None
        own = text[len(first_part) :]
        fault = ""
        sound: bool | None = None
        for template, checker in templates:
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

    return faults


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
