"""A minter's rules, compiled once and kept until one of them changes."""

from __future__ import annotations

from . import bindings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .rules import RuleSet
    from .store import Reader


class Rulebook:
    """Knows the rules of one minter by element.

    Rules of an element are tried in the order of their patterns' bytes, as the
    original does; the first that matches is the one.
    """

    __slots__ = ("_known",)

    def __init__(self) -> None:
        # One value, so that threads that see different moments cannot mix them up.
        self._known: tuple[bytes, dict[bytes, RuleSet | None]] = (b"", {})

    def first(self, reader: Reader, element: bytes, identifiers: list[bytes]) -> tuple[bytes, bytes, bytes] | None:
        """The identifier that a rule matches, the rule's pattern, and the value it computes.

        Identifiers are spellings of one name; the first that any rule matches is the one.
        """
        rules = self.rules(reader, element)
        if rules is None:
            return None
        for identifier in identifiers:
            hit = rules.first(identifier)
            if hit is not None:
                return identifier, hit[0].pattern, hit[1]
        return None

    def rules(self, reader: Reader, element: bytes) -> RuleSet | None:
        """The rules that compute this element, None if there are none."""
        mark = bindings.rules_mark(reader)
        if mark is None:
            return _read(reader, element)
        known = self._known
        if mark != known[0]:
            known = self._known = (mark, {})
        sets = known[1]
        if element not in sets:
            # A reader may ask for elements that were never bound, as many as it can think of.
            if len(sets) > 1000:
                sets.clear()
            sets[element] = _read(reader, element)
        return sets[element]


def _read(reader: Reader, element: bytes) -> RuleSet | None:
    pairs = list(bindings.rules_for(reader, element))
    if not pairs:
        return None
    from .rules import RuleSet

    return RuleSet(pairs)
