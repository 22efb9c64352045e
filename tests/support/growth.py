"""Whether the time of a function grows in proportion to its input."""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable, Iterator

# The length in bytes at which a function is measured, and how many times longer it may take for four times that:
# 4 times would be in proportion, 16 times the square.
SIZE = 1 << 14
_MOST_TIMES_LONGER = 7.0

# What takes less is quick enough: a step for each byte that looks at all the others takes longer.
_QUICK_SECONDS = 0.004
_SLOW_SECONDS = 0.25
_ATTEMPTS = 4


def seconds(work: Callable[[], object]) -> float:
    """Processor time of this thread, which other processes do not prolong."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        started = time.thread_time()
        work()
        return time.thread_time() - started
    finally:
        if collecting:
            gc.enable()


def growth(function: Callable[[bytes], object], make: Callable[[int], bytes]) -> float:
    """How many times longer the function takes for an input 4 times as long; 0 where that is no cause for doubt."""
    # What is imported or compiled at the first call is not measured.
    function(make(SIZE // 64))
    size = SIZE
    short = make(size)
    shorter = seconds(lambda: function(short))
    if shorter < _QUICK_SECONDS:
        return 0.0
    if shorter > _SLOW_SECONDS:
        size = SIZE // 4
        short = make(size)
        shorter = seconds(lambda: function(short))
    long = make(4 * size)
    ratios = []
    for _ in range(_ATTEMPTS):
        longer = seconds(lambda: function(long))
        ratios.append(longer / max(shorter, 1e-6))
        if ratios[-1] < _MOST_TIMES_LONGER:
            return 0.0
        shorter = seconds(lambda: function(short))
    return min(ratios)


# Units that a hostile text repeats: everything that means something to a parser, alone and in pairs.
_UNITS = (
    b"a", b"1", b" ", b"\n", b"\r", b" c\n", b"a: b\n", b'"', b"'", b"\\a", b'\\"', b'"" ', b"a ", b"+", b"%", b"%41",
    b"%E2%80%90", b"-", b"./", b"?", b":", b"| ", b"302 ", b"${1}", b"$+{", b"/ark:", b"@", b"\0", b"\xff", b"a;q=1,",
    b"1.1.1.1,", "\u2028".encode(),
)
_BEGINNINGS = (b"", b"ark:/13030/", b"hdl:10.1/", b"doi:10.1/", b"urn:a:", b"http://ark:/", b"<http://", b'"', b"kt")
_ENDS = (b"", b'"', b">", b"x")


def texts() -> Iterator[tuple[bytes, bytes, bytes]]:
    """Beginning, repeated unit and end of hostile texts: units alone and with some beginning and end, in turn."""
    for number, unit in enumerate(_UNITS):
        if number % 2:
            yield b"", unit, b""
            continue
        yield _BEGINNINGS[number % len(_BEGINNINGS)], unit, _ENDS[number % len(_ENDS)]


def random_texts(seed: str, count: int) -> Iterator[tuple[bytes, bytes, bytes]]:
    """As `texts`, with repeated units that are put together of several; the same ones for the same seed."""
    dice = random.Random(seed)
    for _ in range(count):
        unit = b"".join(dice.choices(_UNITS, k=dice.randint(2, 5)))
        yield dice.choice(_BEGINNINGS), unit, dice.choice(_ENDS)


def maker(beginning: bytes, unit: bytes, end: bytes) -> Callable[[int], bytes]:
    return lambda size: beginning + unit * (size // len(unit)) + end
