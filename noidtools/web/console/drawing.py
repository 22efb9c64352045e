"""What is drawn on pages, as numbers for SVG: bars by day, and names around a name.

The templates write the SVG, with the same in words for those who do not see it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import ClassVar

DAYS = 30
_GAP = 4

ROW_HEIGHT = 46
RELATIONS_WIDTH = 720
_MOST_DRAWN = 12
_LONGEST_NAME = 34


@dataclass(frozen=True, slots=True)
class Bar:
    """The bar of a day: where it is, and for how many it stands."""

    day: str
    count: int
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Chart:
    """Bars by day, the oldest first, in a picture of this size; `largest` is the count of the highest."""

    width: ClassVar = 600
    height: ClassVar = 120
    bars: list[Bar]
    total: int
    largest: int


def chart(counts: Mapping[date, int]) -> Chart:
    """The bars of these days, the oldest first."""
    largest = max(counts.values())
    step = Chart.width / len(counts)
    bars = []
    for place, (day, number) in enumerate(sorted(counts.items())):
        height = round(Chart.height * number / largest, 1) if largest else 0.0
        # A day on which little happened can be told from one on which nothing did.
        height = max(height, 2.0) if number else 0.0
        bars.append(Bar(day.isoformat(), number, round(place * step, 1), round(Chart.height - height, 1),
                        round(step - _GAP, 1), height))
    return Chart(bars, sum(counts.values()), largest)


@dataclass(frozen=True, slots=True)
class DrawnName:
    """A related name: its row in the picture, what it is to the name of the page, and its text, shortened."""

    y: int
    relation: str
    text: str


def draw_relations(related: Sequence[tuple[str, str]]) -> list[DrawnName]:
    """The rows of a picture of relations and names; of very many only the first."""
    return [DrawnName(place * ROW_HEIGHT, relation, shortened(name, _LONGEST_NAME))
            for place, (relation, name) in enumerate(related[:_MOST_DRAWN])]


def shortened(text: str, longest: int) -> str:
    """A text of at most so many characters."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
