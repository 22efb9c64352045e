"""Verification: whether the stated qualities of identifiers hold.

The minter is inspected in one read transaction for many identifiers.  Links are
checked after it, with no transaction open, and where findings are recorded, those
of many identifiers are stored in one write transaction.  So neither a slow server
nor a million identifiers block the minter for others.
"""

from __future__ import annotations

import time
from itertools import islice

from ..errors import printable
from ..minter.circulation import all_aliases, bound_identifiers, find_many, in_circulation
from ..minter.events import record_event
from ..minter.policies import EVERYTHING
from ..minter.qualities import FAILS, HOLDS, RETRIEVABLE, UNKNOWN, Finding, VerifiedIdentifier, save_findings, verdicts
from ..times import timestamp
from .inspection import Inspector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..console import Progress
    from ..minter import Minter
    from ..minter.events import Actor
    from ..store import Reader, Writer
    from .inspection import Inspection
    from .links import Link, LinkLimits
    Find = Callable[..., Iterator[bytes]]

# How many identifiers are inspected in one read transaction, and how many results are stored in one write transaction.
_PAGE, _CHUNK = 1000, 10_000

# Checking links takes long, so that results are stored earlier: after this many of them, or this many seconds.
_CHUNK_OF_LINKS, _SECONDS = 500, 5.0


class VerificationCount:
    """How many identifiers were verified, how many of them fail, and how often each combination of verdicts occurred.

    `common` has, by the name of a quality, the detail of a finding that is the same for all identifiers.
    """

    def __init__(self) -> None:
        self.identifiers = 0
        self.failing = 0
        self.common: dict[str, str] = {}
        self._codes: dict[bytes, int] = {}

    def add(self, result: Inspection) -> None:
        self.identifiers += 1
        self.failing += result.failed
        codes = result.codes if result.link is None else result.codes + result.link.code
        if codes not in self._codes:
            self._codes[codes] = 0
            self.common |= {found.quality.name: found.detail for found in result.findings if found.common}
        self._codes[codes] += 1

    @property
    def verdicts(self) -> dict[str, dict[str, int]]:
        """For each quality how often each verdict occurred."""
        counted: dict[str, dict[str, int]] = {}
        for codes, times in self._codes.items():
            for quality, verdict in verdicts(codes):
                counted.setdefault(quality, {HOLDS: 0, FAILS: 0, UNKNOWN: 0})[verdict] += times
        return counted


class Verification:
    """One run over the identifiers `named`, or over all; with `limits` their links are checked too.

    What is found is stored only if `record` is true.  `view` is what the user may see (see minter/visibility.py).
    """

    def __init__(
        self, minter: Minter, actor: Actor, *, named: list[bytes] | None = None, limits: LinkLimits | None = None,
        progress: Progress | None = None, record: bool = False, view: str = EVERYTHING,
    ) -> None:
        self.count = VerificationCount()
        self._minter = minter
        self._actor = actor
        self._named = named
        self._limits = limits
        self._progress = progress
        self._record = record
        self._view = view
        self._total = 0

    def run(self) -> Iterator[list[Inspection]]:
        """The results in chunks, each after it was stored, if that is asked for."""
        self._total = self._count_identifiers() if self._progress else 0
        inspected = self._inspected_by_name() if self._named is not None else self._inspected()
        results = inspected if self._limits is None else self._with_links(inspected, self._limits)
        most = _CHUNK if self._limits is None else _CHUNK_OF_LINKS
        chunk: list[Inspection] = []
        due = time.monotonic() + _SECONDS
        try:
            for result in results:
                self.count.add(result)
                self._report_progress()
                chunk.append(result)
                if len(chunk) >= most or (self._limits is not None and time.monotonic() > due):
                    yield self._stored(chunk)
                    chunk, due = [], time.monotonic() + _SECONDS
            if chunk:
                yield self._stored(chunk)
        finally:
            if self._progress:
                self._progress(1, 1, "")

    def _report_progress(self) -> None:
        if self._progress and (self._limits is not None or self.count.identifiers % _PAGE == 0):
            failing = f"{self.count.failing} failing" if self.count.failing else ""
            self._progress(self.count.identifiers, max(self._total, self.count.identifiers + 1), failing)

    def _count_identifiers(self) -> int:
        if self._named is not None:
            return len(self._named)
        return self._minter.read(lambda reader: sum(1 for _ in in_circulation(reader)))

    # -- inspection of the minter ----------------------------------------------------------------------

    def _inspector(self, reader: Reader) -> Inspector:
        return Inspector(self._minter, reader, timestamp(self._actor.now()), self._view)

    def _inspected_by_name(self) -> Iterator[Inspection]:
        names = list(self._named or ())
        for start in range(0, len(names), _PAGE):
            page = names[start : start + _PAGE]

            def work(reader: Reader, page: list[bytes] = page) -> list[Inspection]:
                inspector = self._inspector(reader)
                return [inspector.named(name) for name in page]

            yield from self._minter.read(work)

    def _inspected(self) -> Iterator[Inspection]:
        """All identifiers: those in circulation, those only bound, those that only stand for others."""
        yield from self._minter.read_pages(self._circulating)
        for find in (bound_identifiers, all_aliases):
            yield from self._minter.read_pages(lambda reader, after: self._others(reader, find, after))  # noqa: B023

    def _circulating(self, reader: Reader, after: bytes | None) -> tuple[list[Inspection], bytes | None]:
        page = list(islice(in_circulation(reader, after=after), _PAGE))
        if not page:
            return [], None
        inspector = self._inspector(reader)
        # What was withdrawn is no longer registered, so that there is nothing to verify.
        return [inspector.result(*item) for item in page if not item[1].withdrawn], page[-1][0]

    def _others(self, reader: Reader, find: Find, after: bytes | None) -> tuple[list[Inspection], bytes | None]:
        """The next of those identifiers that a function finds, as far as they are not in circulation."""
        page = list(islice(find(reader, after=after), _PAGE))
        if not page:
            return [], None
        inspector = self._inspector(reader)
        known = find_many(reader, page)
        others = [identifier for identifier, record in zip(page, known, strict=True) if record is None]
        return [inspector.result(identifier, None) for identifier in others], page[-1]

    # -- links -----------------------------------------------------------------------------------------

    def _with_links(self, inspected: Iterator[Inspection], limits: LinkLimits) -> Iterator[Inspection]:
        """The results with the findings about their links, in the order of completion."""
        from .links import check_links

        found: dict[int, list[tuple[bytes, Link]]] = {}

        def links_of_results() -> Iterator[tuple[tuple[Inspection, bytes], bytes]]:
            for result in inspected:
                # A result without links passes through too, as one empty link, so that results keep flowing.
                for url in dict.fromkeys(result.urls) or (b"",):
                    yield (result, url), url

        for (result, url), link in check_links(links_of_results(), limits):
            links = found.setdefault(id(result), [])
            links.append((url, link))
            if len(links) >= len(set(result.urls)):
                del found[id(result)]
                if result.known:
                    result.link = _retrievable(links)
                yield result

    # -- storing ---------------------------------------------------------------------------------------

    def _stored(self, results: list[Inspection]) -> list[Inspection]:
        known = {result.identifier: result for result in results if result.known and self._record}
        if known:
            self._minter.write(lambda writer: self._store(writer, known))
        return results

    def _store(self, writer: Writer, results: dict[bytes, Inspection]) -> None:
        date = timestamp(self._actor.now())
        save_findings(writer, date, [VerifiedIdentifier(result.identifier, result.codes, result.findings, result.link)
                                     for result in results.values()])
        failing = sum(result.failed for result in results.values())
        summary = b"%d identifier%b, %d failing" % (len(results), b"" if len(results) == 1 else b"s", failing)
        record_event(writer, self._actor, b"verify", summary, ids=results if self._named is not None else ())


def _retrievable(links: list[tuple[bytes, Link]]) -> Finding:
    """The worst finding about any link of a name."""
    url, worst = min(links, key=lambda item: (FAILS, UNKNOWN, HOLDS).index(item[1].verdict))
    if not url:
        return Finding(RETRIEVABLE, UNKNOWN)
    where = "" if len(links) == 1 else f"{printable(url)}: "
    return Finding(RETRIEVABLE, worst.verdict, where + worst.detail)
