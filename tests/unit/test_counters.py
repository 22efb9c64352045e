"""Counters that processes share."""

from __future__ import annotations

import os
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from noidtools.web.counters import SharedCounters

KEYS = st.tuples(st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=20),
                 st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=5))


@given(st.lists(st.tuples(st.integers(0, 3), KEYS, st.integers(0, 1 << 40))))
def test_the_total_of_a_key_is_the_sum_over_all_parts(added):
    counters = SharedCounters(3)
    expected: Counter = Counter()
    for part, key, amount in added:
        counters.attach(part)
        counters.add(key, (amount, 1))
        expected[key] += amount
    assert {key: numbers[0] for key, numbers in counters.totals().items()} == dict(expected)


def test_processes_add_at_once_and_a_successor_goes_on_with_the_part_of_a_dead_one():
    counters = SharedCounters(2)
    for _ in range(2):
        children = []
        for part in (1, 2):
            child = os.fork()
            if not child:
                counters.attach(part)
                for number in range(1000):
                    counters.add(("x", str(number % 7)), (1, 2))
                os._exit(0)
            children.append(child)
        for child in children:
            assert os.waitpid(child, 0)[1] == 0
    totals = counters.totals()
    assert sum(numbers[0] for numbers in totals.values()) == 4000
    assert sum(numbers[1] for numbers in totals.values()) == 8000 and len(totals) == 7


def test_a_part_that_is_full_counts_what_it_knows_and_no_more():
    counters = SharedCounters(1)
    for number in range(20_000):
        counters.add((f"{number:0100d}",), (1,))
    counters.add((f"{0:0100d}",), (1,))
    assert counters.totals()[(f"{0:0100d}",)] == [2] and 1000 < len(counters.totals()) < 20_000
