"""Verifying: whether what is stated of identifiers is so.

What the minter itself tells is looked at in one read of the database for many
identifiers; whether addresses answer is asked of the web afterwards, with no
transaction open; what was found is kept in one write, again for many.  So
neither a slow server nor a million identifiers keep anybody from the minter.
"""

from __future__ import annotations

import time
from itertools import islice

from ..clock import timestamp
from ..codec import split_pair
from ..minter.events import record_event
from ..minter.findings import FAILS, HOLDS, RETRIEVABLE, UNKNOWN, Finding, pack_findings, verdicts
from ..minter.tables import ALIASES, ELEMENTS, IDS, VERIFIED
from .inspection import Inspector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..minter import Minter
    from ..minter.events import Actor
    from ..store import Reader, Writer
    from .inspection import Inspection
    from .links import Link, LinkLimits
    Progress = Callable[[int, int, str], None]

# Identifiers looked at in one read, and results kept in one write.
_PAGE, _CHUNK = 1000, 10_000

# Asking the web takes its time, so what was found is kept earlier: after so many results, or so many seconds.
_CHUNK_OF_LINKS, _SECONDS = 500, 5.0


class VerificationCount:
    """How many identifiers were verified, how many of them fail, and how often each combination of verdicts was.

    `common` tells by quality what was found of all alike.
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
        """For each quality how often each verdict was."""
        counted: dict[str, dict[str, int]] = {}
        for codes, times in self._codes.items():
            for quality, verdict in verdicts(codes):
                counted.setdefault(quality, {HOLDS: 0, FAILS: 0, UNKNOWN: 0})[verdict] += times
        return counted


class Verification:
    """One run over the identifiers `named`, or over all; with `limits` addresses are asked for too."""

    def __init__(
        self, minter: Minter, actor: Actor, *, named: list[bytes] | None = None, limits: LinkLimits | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.count = VerificationCount()
        self._minter = minter
        self._actor = actor
        self._named = named
        self._limits = limits
        self._progress = progress
        self._total = 0

    def run(self) -> Iterator[list[Inspection]]:
        """Results, as they are kept."""
        self._total = self._how_many() if self._progress else 0
        inspected = self._inspected_by_name() if self._named is not None else self._inspected()
        results = inspected if self._limits is None else self._asked(inspected, self._limits)
        most = _CHUNK if self._limits is None else _CHUNK_OF_LINKS
        chunk: list[Inspection] = []
        due = time.monotonic() + _SECONDS
        try:
            for result in results:
                self.count.add(result)
                self._tell()
                chunk.append(result)
                if len(chunk) >= most or (self._limits is not None and time.monotonic() > due):
                    yield self._kept(chunk)
                    chunk, due = [], time.monotonic() + _SECONDS
            if chunk:
                yield self._kept(chunk)
        finally:
            if self._progress:
                self._progress(1, 1, "")

    def _tell(self) -> None:
        if self._progress and (self._limits is not None or self.count.identifiers % _PAGE == 0):
            failing = f"{self.count.failing} failing" if self.count.failing else ""
            self._progress(self.count.identifiers, max(self._total, self.count.identifiers + 1), failing)

    def _how_many(self) -> int:
        if self._named is not None:
            return len(self._named)
        return self._minter.read(lambda reader: sum(1 for _ in reader.scan(IDS)))

    # -- what the minter tells -------------------------------------------------------------------------

    def _inspector(self, reader: Reader) -> Inspector:
        return Inspector(self._minter, reader, timestamp(self._actor.now()))

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
        for table in (IDS, ELEMENTS, ALIASES):
            page, last = self._next_page(table, None)
            while last is not None:
                yield from page
                page, last = self._next_page(table, last)

    def _next_page(self, table: bytes, after: bytes | None) -> tuple[list[Inspection], bytes | None]:
        return self._minter.read(lambda reader: self._page(reader, table, after))

    def _page(self, reader: Reader, table: bytes, after: bytes | None) -> tuple[list[Inspection], bytes | None]:
        """The results of the next page of a table, and the last key of it, None if there are no more."""
        items = list(islice(reader.scan(table, after=after), _PAGE))
        if not items:
            return [], None
        inspector = self._inspector(reader)
        if table == IDS:
            return [inspector.result(key, packed) for key, packed in items], items[-1][0]
        found = []
        before = split_pair(after)[0] if after is not None and table == ELEMENTS else None
        for key, _ in items:
            identifier = split_pair(key)[0] if table == ELEMENTS else key
            if identifier != before and reader.get(IDS, identifier) is None:
                found.append(inspector.result(identifier, None))
            before = identifier
        return found, items[-1][0]

    # -- what the web tells ----------------------------------------------------------------------------

    def _asked(self, inspected: Iterator[Inspection], limits: LinkLimits) -> Iterator[Inspection]:
        """The results, with what was found about their addresses, in the order in which that is known."""
        from .links import check_links

        found: dict[int, list[tuple[bytes, Link]]] = {}

        def questions() -> Iterator[tuple[tuple[Inspection, bytes], bytes]]:
            for result in inspected:
                # Those that lead nowhere pass through as well, so that they do not pile up.
                for url in dict.fromkeys(result.urls) or (b"",):
                    yield (result, url), url

        for (result, url), link in check_links(questions(), limits):
            links = found.setdefault(id(result), [])
            links.append((url, link))
            if len(links) >= len(set(result.urls)):
                del found[id(result)]
                if result.known:
                    result.link = _retrievable(links)
                yield result

    # -- keeping it ------------------------------------------------------------------------------------

    def _kept(self, results: list[Inspection]) -> list[Inspection]:
        known = {result.identifier: result for result in results if result.known}
        if known:
            self._minter.write(lambda writer: self._keep(writer, known))
        return results

    def _keep(self, writer: Writer, results: dict[bytes, Inspection]) -> None:
        date = timestamp(self._actor.now())
        rows = []
        for identifier, result in sorted(results.items()):
            before = writer.get(VERIFIED, identifier)
            rows.append((identifier, pack_findings(date, result.codes, result.findings, result.link, before)))
        writer.put_many(VERIFIED, rows)
        failing = sum(result.failed for result in results.values())
        told = b"%d identifier%b, %d failing" % (len(results), b"" if len(results) == 1 else b"s", failing)
        record_event(writer, self._actor, b"verify", told, ids=results if self._named is not None else ())


def _retrievable(links: list[tuple[bytes, Link]]) -> Finding:
    """The worst that was found about any address of a name."""
    url, worst = min(links, key=lambda item: (FAILS, UNKNOWN, HOLDS).index(item[1].verdict))
    if not url:
        return Finding(RETRIEVABLE, UNKNOWN)
    where = "" if len(links) == 1 else f"{url.decode('utf-8', 'backslashreplace')}: "
    return Finding(RETRIEVABLE, worst.verdict, where + worst.detail)
