"""The queue of a minter of the original, brought into a state in which the same identifiers are minted from it.

The original leaves traces in its queue: an identifier that is taken out of it stays in it, and gets a second entry;
both are passed over when their turn comes, and it is never drawn by the generator either.  If it was queued again
meanwhile, the first of its entries is minted and the others are passed over.  One that was put on hold is dropped when
its turn comes, for good.  Here the queue and the circulation records agree, and what the original would never mint is
on hold.
"""

from __future__ import annotations

from functools import partial
from itertools import islice

from ...errors import InvalidError
from .. import circulation
from ..circulation import HELD, Circulation, advanced, save
from ..queue import queue_key
from ..schema import IDS, QUEUE, QUEUED
from .minter import damaged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...schemes.noid import NoidScheme
    from ...spool import Spool
    from ...store import Work, Writer

_ITEMS = 5_000


class QueueImport:
    """Writes the queue, once all circulation records are written.

    length         how many identifiers are in the queue
    newest_number  the greatest number of an entry
    newly_held     how many were put on hold because they are marked as queued, but are not in the queue
    """

    def __init__(self, scheme: NoidScheme, entries: Spool, event: int, drawn: int) -> None:
        """`entries` are date, number, identifier and line of the dump, in order; `event` records what is changed in the
        records."""
        self._scheme = scheme
        self._entries = entries
        self._event = event
        self._drawn = drawn
        self.length = self.newest_number = self.newly_held = 0
        self._in_order = True
        self._counts = {"queued": 0, "matched": 0, "new": 0, "held": 0, "passed over": 0}

    def chunks(self, queued_records: int) -> Iterator[Work]:
        """What is to be written; `queued_records` is how many records say that their identifier is queued."""
        rows = iter(self._entries)
        last = b""
        while page := list(islice(rows, _ITEMS)):
            entries = []
            for date, number, identifier, line in page:
                self._ensure_valid(identifier, line)
                key = queue_key(self._scheme, date, number, identifier)
                self._in_order = self._in_order and key > last
                last = key
                entries.append((key, identifier))
            done: dict[str, int] = {}
            yield partial(self._put_entries, entries, done)
            for name, count in done.items():
                self._counts[name] += count
            self.newest_number = max(self.newest_number, *(number for _, number, *_ in page))
        self.length = self._counts["queued"]
        if self._counts["matched"] != queued_records:
            yield from self._hold_missing()

    def _ensure_valid(self, identifier: bytes, line: int) -> None:
        """Raise InvalidError for what the original would not have queued: it would be minted as it is."""
        try:
            self._scheme.ensure_valid(identifier)
        except InvalidError as error:
            raise damaged(line, f"the queue has an identifier that is none of this minter: {error.message}") from None

    def _put_entries(self, entries: list[tuple[bytes, bytes]], done: dict[str, int], writer: Writer) -> None:
        """Write entries of the queue, keys and identifiers, and count in `done` what was done with them."""
        done |= dict.fromkeys(self._counts, 0)
        found = circulation.find_many(writer, [identifier for _, identifier in entries])
        for (key, identifier), record in zip(entries, found, strict=True):
            if (record is not None and record.history and not record.queued) or writer.get(QUEUED, identifier):
                done["passed over"] += 1
                continue
            if record is None or not record.history:
                # The original would mint it from the queue, too.
                record = Circulation(0 if record is None else record.flags, self._event, self._drawn, b"q")
                done["new"] += 1
                save(writer, identifier, record)
            else:
                done["matched"] += 1
            if record.held:
                done["held"] += 1
                save(writer, identifier, advanced(writer, identifier, record, b"u", self._event, self._drawn))
            else:
                done["queued"] += 1
                writer.put(QUEUE, key, identifier)
                writer.put(QUEUED, identifier, key)

    def _hold_missing(self) -> Iterator[Work]:
        """Put those on hold that are marked as queued but are not in the queue."""
        after: bytes | None = b""
        while after is not None:
            done: list[int] = []
            ends: list[bytes] = []
            yield partial(self._hold_in_page, after, done, ends)
            self.newly_held += sum(done)
            after = ends[-1] if ends else None

    def _hold_in_page(self, after: bytes, done: list[int], ends: list[bytes], writer: Writer) -> None:
        """The same in one page of the records after a key; its last key goes into `ends`."""
        page = list(writer.scan(IDS, after=after, limit=_ITEMS))
        ends[:] = [page[-1][0]] if page else []
        done.clear()
        for identifier, packed in page:
            record = Circulation.unpacked(packed)
            if record.queued and writer.get(QUEUED, identifier) is None:
                new = advanced(writer, identifier, record, b"u", self._event, self._drawn)
                done.append(not new.held)
                new.flags |= HELD
                save(writer, identifier, new)

    def remarks(self) -> Iterator[str]:
        """Sentences about what was not as it should have been."""
        counts = self._counts
        if counts["passed over"]:
            yield (f"{counts['passed over']} entries of the queue were of identifiers that were taken out of it, "
                   "issued since or queued twice: they were left out, as the original would have passed them over")
        if counts["held"]:
            yield (f"{counts['held']} identifiers in the queue are on hold, which the original would have dropped from "
                   "it: they are on hold, and no longer queued")
        if self.newly_held:
            yield (f"{self.newly_held} identifiers are marked as queued but are not in the queue, so that the original "
                   "would never have minted them: they are on hold")
        if not self._in_order:
            yield ("the queue contains identifiers that are longer than those of the template, which the original "
                   "sorts as text: here they come in the order of their values")
        if counts["new"]:
            yield f"{counts['new']} identifiers in the queue had no circulation record, and were given one"
