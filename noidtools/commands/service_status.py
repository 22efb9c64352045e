"""How a running service is doing: what its /metrics tells of its requests, for people."""

from __future__ import annotations

import re
from collections import Counter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    # The labels of a figure, and its value.
    Sample = tuple[dict[str, str], float]

_SAMPLE = re.compile(r"^noid_(\w+?)(?:\{(.*)\})? (\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')

# Of the durations so many, the part that is quicker than the printed bound.
_MOST = 0.95


class ServiceStatus:
    """How the service at an address is doing.

    url    its address
    fault  why its figures cannot be read, empty if they can
    """

    def __init__(self, url: str) -> None:
        from ..verification.http import UnreachableError, text_at

        self.url = url
        self.fault = ""
        self._samples: dict[str, list[Sample]] = {}
        try:
            text = text_at(url, "metrics")
        except UnreachableError as error:
            self.fault = error.reason
            return
        for name, labels, value in _SAMPLE.findall(text):
            self._samples.setdefault(name, []).append((dict(_LABEL.findall(labels)), float(value)))

    def lines(self) -> list[tuple[str, str]]:
        """Labels and texts."""
        if self.fault:
            return [("service", self.url), ("error", f"the figures of the service cannot be read: {self.fault}")]
        return [("service", self.url), *self._lines()]

    def _lines(self) -> Iterator[tuple[str, str]]:
        for labels, _ in self._samples.get("build_info", ()):
            yield "release", labels.get("version", "")
        if "requests_total" not in self._samples:
            yield "requests", "not counted here (mod_wsgi)"
            return
        yield "requests", self._requests()
        yield "outcomes", _counts(self._totals("requests_total", "status"))
        yield "duration", self._durations()
        yield "names", _counts(self._totals("names_total", "by"))
        if bulk := self._totals("bulk_commands_total", "outcome"):
            yield "bulk", _counts(bulk)
        yield "deaths", f"{sum(self._totals('worker_deaths_total', '').values()):.0f} of worker processes"

    def _totals(self, name: str, label: str) -> Counter[str]:
        """The sums of the figures of a name, by the values of a label."""
        found: Counter[str] = Counter()
        for labels, value in self._samples.get(name, ()):
            found[labels.get(label, "")] += int(value)
        return found

    def _requests(self) -> str:
        found = self._totals("requests_total", "interface")
        return f"{sum(found.values())} ({_counts(found)})"

    def _durations(self) -> str:
        count = sum(self._totals("request_seconds_count", "").values())
        if not count:
            return "none yet"
        total = sum(value for _, value in self._samples.get("request_seconds_sum", ()))
        text = f"{1000 * total / count:.1f} ms on average"
        buckets = self._totals("request_seconds_bucket", "le")
        bounds = sorted(float(bound) for bound, number in buckets.items() if number >= _MOST * count)
        if bounds and bounds[0] != float("inf"):
            text += f", {100 * _MOST:.0f} % within {1000 * bounds[0]:g} ms"
        return text


def _counts(found: Counter[str]) -> str:
    return ", ".join(f"{number} {name}" for name, number in found.most_common()) or "none"
