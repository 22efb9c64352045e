"""The order in which a namespace's numbers are drawn.

Sequential order is counting.  Quasi-random order is the original's, number for
number: the namespace is cut into at most 293 counters, and before each draw a
48-bit linear congruential generator, seeded with how many were drawn so far,
picks the counter to advance.  A template therefore always gives the same
identifiers in the same order, so that a lost minter can be rebuilt.
"""

from __future__ import annotations

from ..codec import pack_numbers, replace_number

MOST_COUNTERS = 293

# The original advances one of the counters first and then the overall count.  If it is killed in between, the counters
# are ahead, in minters that were imported from it, too; so often, at most, that it is no sign of damage.
MOST_UNFINISHED = 20

# After a draw of more than this it is quicker to pack all counters again than to change those that were drawn from.
_FEW = 10

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

    __slots__ = ("total", "size", "values", "drawn", "_packed", "_offset", "_first", "_active")

    def __init__(
        self, total: int, *, seed: int = 0, drawn: int = 0, values: list[int] | None = None, packed: bytes = b"",
        again: bool = False,
    ) -> None:
        """`packed` are the values as they were stored, if they were: a short draw changes few of them."""
        self.total = total
        self.size = per_counter(total)
        self.drawn = drawn
        self.values = values if values is not None else [0] * -(-total // self.size)
        self._packed = packed
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

    def fault(self) -> str:
        """What in the counters cannot be; empty if nothing is wrong."""
        tops = [self._top(counter) for counter in range(-(-self.total // self.size))]
        if len(tops) != len(self.values):
            return f"there are {len(self.values)} counters, and {len(tops)} belong to the template"
        for counter, (value, top) in enumerate(zip(self.values, tops, strict=True)):
            if value > top:
                return f"counter {counter} is at {value}, and ends at {top}"
        if not 0 <= sum(self.values) - self.drawn <= MOST_UNFINISHED:
            return f"the counters add up to {sum(self.values)}, but {self.drawn} were drawn"
        return ""

    def state_fields(self) -> list[bytes]:
        """The counters as a minter stores them: packed, and their number."""
        return [self._packed or pack_numbers(self.values, self.size), b"%d" % len(self.values)]

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
        self._repack(numbers)
        return numbers

    def _repack(self, numbers: list[int]) -> None:
        """Keep the packed counters up to date after a draw; after a long one they are packed anew when needed."""
        packed, values, size = self._packed, self.values, self.size
        if len(numbers) > _FEW:
            packed = b""
        elif packed:
            for counter in {(number - 1) // size for number in numbers}:
                packed = replace_number(packed, len(values), counter, values[counter])
        self._packed = packed


class Sequential:
    """Counting from zero, to the end of the namespace if it has one."""

    __slots__ = ("total", "drawn")

    def __init__(self, total: int | None, *, drawn: int = 0) -> None:
        self.total = total
        self.drawn = drawn

    def fault(self) -> str:
        """What in the count cannot be; empty if nothing is wrong."""
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
