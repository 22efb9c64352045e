"""Import of minters of the original noid, a Perl program, and of Noid4Php, from what their databases hold.

The dump is read once, and the new database is written in chunks, out of sight until all is in it; so a minter of any
size needs little memory.  Of an identifier the original keeps the date and the contact of the newest circulation only.
All identifiers with the same date, contact and letter become one event; the events are numbered by date, which is known
only when all is read, so circulation records are set aside on disk until then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice

from ...codec import pair
from ...dates import to_utc
from ...errors import InvalidError, NoidError, printable
from ...rules import Rule
from ...schemes.base import Settings
from ...schemes.noid import NoidScheme
from ...spool import Spool, storage_errors
from ...store import create_store
from .. import location_of, schema
from ..circulation import HELD, Circulation
from ..events import Actor, Tally, index_event, packed_event, put_events, record_event
from ..report import creation_report
from ..schema import ELEMENTS, IDS, NOTES, RULES
from .minter import ROOT, PerlMinter, QueueImport, damaged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    from ...console import Progress
    from ...store import Store, Work, Writer
    from .dump import Items
    T = TypeVar("T")

# Items and bytes of one transaction.
_ITEMS, _BYTES = 20_000, 16 << 20

# The interface that events of the original name, and their verbs by the letter of the circulation record.
_INTERFACE = b"perl"
_VERBS = {b"i": b"mint", b"q": b"queue", b"u": b"queue delete"}
_CIRCULATION, _HOLD = b":/c", b":/h"

# The date of an entry that was queued as first: it sorts before all others.
_NO_DATE = b"00000000000000"
_CONTROLS = bytes(0x5F if byte < 0x20 or byte == 0x7F else byte for byte in range(256))
_MOST_REMARKS = 20


class DryRunError(Exception):
    """Raised at the end of a dry run, so that nothing of the import is kept."""


@dataclass(slots=True)
class Imported:
    """What an import did, or would do.

    counts   labels and numbers, in the order in which they are printed
    remarks  sentences about what is unusual in the dump, or is not kept as it was
    """

    settings: Settings
    counts: list[tuple[str, int | None]]
    remarks: list[str]


def import_perl(
    dbdir: str, items: Items, actor: Actor, *, source: bytes = b"", dry_run: bool = False, skip_rules: bool = False,
    zone: str = "", address: str = "", progress: Progress | None = None,
) -> Imported:
    """Create a minter in a folder from the items of another one, which it continues.

    source      a name for the dump, for the event that records the import
    dry_run     do all of it but the last step, so that no minter appears
    skip_rules  store rules that cannot be used here as notes; else they are refused
    zone        the time zone in which the original wrote dates, such as Europe/Paris; they become UTC
    address     of the database server that is to hold the minter: see `create_store`
    progress    called with the number of identifiers written, and their total

    Raises InvalidError, with the line, if the items are not those of a minter, ConflictError if the folder has one.
    """
    run = _Import(items, actor, source, skip_rules, to_utc(zone), progress or (lambda *_: None))

    def fill(writer: Writer) -> None:
        run.finish(writer)
        if dry_run:
            raise DryRunError

    try:
        store: Store = create_store(location_of(dbdir), fill, chunks=run.chunks(), readme=run.readme,
                                    address=address)
        store.close()
    except DryRunError:
        pass
    finally:
        run.close()
    return run.imported()


class _CirculationRecords(Spool):
    """What is known of each identifier, kept until all are read and events can be numbered: identifier, flags, stamp,
    number, history.

    A stamp is a date, a letter and a contact; the records with the same stamp belong to one event, and those without
    one, where it is None, to no event.  The events are numbered from 1 on in the order of the stamps.
    """

    def __init__(self) -> None:
        super().__init__(5)

    def events(self) -> Iterator[tuple[bytes, int, bytes, bytes]]:
        """Number the events, and yield them in order: the stamp, how many records it has, and the identifiers with the
        least and the greatest number.  Nothing may be added after this."""
        self._flush()
        with storage_errors():
            for statement in _NUMBERED:
                self._database.execute(statement)
            yield from self._database.execute(_EVENTS)

    def records(self) -> Iterator[tuple[bytes, int, int | None, int, bytes]]:
        """The records in the order in which they were added, with the number of the event in place of the stamp; after
        `events`."""
        with storage_errors():
            yield from self._database.execute(
                "SELECT identifier, flags, event.number, record.number, history "
                "FROM record LEFT JOIN event USING (stamp) ORDER BY place")


_NUMBERED = (
    "CREATE VIEW record AS "
    "SELECT number AS place, c0 AS identifier, c1 AS flags, c2 AS stamp, c3 AS number, c4 AS history FROM rows",
    "CREATE INDEX by_stamp ON rows (c2, c3, c0)",
    "CREATE TABLE event (number INTEGER PRIMARY KEY, stamp BLOB UNIQUE)",
    "INSERT INTO event (stamp) SELECT DISTINCT stamp FROM record WHERE stamp IS NOT NULL ORDER BY stamp",
)
_EVENTS = """
    SELECT stamp, (SELECT count(*) FROM record WHERE record.stamp = event.stamp),
        (SELECT identifier FROM record WHERE record.stamp = event.stamp ORDER BY number LIMIT 1),
        (SELECT identifier FROM record WHERE record.stamp = event.stamp ORDER BY number DESC LIMIT 1)
    FROM event ORDER BY event.number
"""


class _Import:
    """One import, in the order of `chunks` and `finish`."""

    def __init__(
        self, items: Items, actor: Actor, source: bytes, skip_rules: bool, convert: Callable[[bytes], bytes],
        progress: Progress,
    ) -> None:
        self._convert = convert
        self._items = items
        self._actor = actor
        self._source = source
        self._skip_rules = skip_rules
        self._progress = progress
        self._perl = PerlMinter()
        self._counts = {"identifiers": 0, "held": 0, "elements": 0}
        self._newest = self._newest_line = 0  # the greatest number in a circulation record, and its line
        self._oldest = actor.date()  # the date of the oldest one
        self._unqueued = 0
        self._remarks: list[str] = []
        self._records = _CirculationRecords()
        self._queue = Spool(4)

    def close(self) -> None:
        self._records.close()
        self._queue.close()

    def chunks(self) -> Iterator[Work]:
        """What is written before `finish`, in transactions of their own."""
        yield from self._read_all()
        # Before anything else is done: this refuses what is no minter.
        settings = self._perl.settings()
        self.settings = settings.with_(created=self._created(),
                                       creator=self._perl.creator or self._actor.who.decode("utf-8", "replace"))
        scheme = self._scheme = NoidScheme(self.settings)
        self._generator = self._perl.generator(scheme, self._passes())
        if scheme.template.total is not None and self._newest > scheme.template.total:
            raise damaged(self._newest_line, f"number {self._newest} cannot be, because the template has only "
                          f"{scheme.template.total} identifiers")
        self._usable_rules, self._other_rules = self._sorted_rules()
        yield from self._write_events()
        yield from self._write_records()
        queued = QueueImport(scheme, self._queue, self._event, self._generator.drawn)
        yield from queued.chunks(self._queued_records)
        self._queued = queued

    def _created(self) -> str:
        """When the minter was created; if that is not known, the oldest date of a circulation record."""
        try:
            return self._convert(self._perl.created.encode()).decode() if self._perl.created else self._oldest.decode()
        except ValueError:
            return self._oldest.decode()

    # -- reading -------------------------------------------------------------------------------------------------

    def _read_all(self) -> Iterator[Work]:
        """Read the dump: elements are written, everything else is set aside."""
        self._queued_records = 0
        items: list[tuple[bytes, bytes]] = []
        size = 0
        current, circulation, held = b"", b"", False
        at = 0
        for line, key, value in self._items:
            if key.startswith(ROOT):
                entry = self._perl.add(line, key, value)
                if entry is not None:
                    date, number = entry
                    self._queue.add(date if date == _NO_DATE else self._converted(line, date), number, value, line)
                continue
            identifier, _, element = key.partition(b"\t")
            if not identifier or not element:
                raise damaged(line, f"{printable(key[:60])} is not a key of noid: it is of another program")
            if identifier != current:
                if current:
                    self._set_aside(at, current, circulation, held)
                current, circulation, held, at = identifier, b"", False, line
            if element == _CIRCULATION:
                circulation, at = value, line
            elif element == _HOLD:
                held = True  # whatever its value
            elif element.startswith(ROOT):
                raise damaged(line, f"{printable(element[:60])} is not an element of noid: it is of another release")
            else:
                items.append((pair(identifier, element), value))
                size += len(value)
                if len(items) == _ITEMS or size > _BYTES:
                    yield partial(_put_all, ELEMENTS, items)
                    self._counts["elements"] += len(items)
                    items, size = [], 0
        if current:
            self._set_aside(at, current, circulation, held)
        yield partial(_put_all, ELEMENTS, items)
        self._counts["elements"] += len(items)

    def _set_aside(self, line: int, identifier: bytes, circulation: bytes, held: bool) -> None:
        """Keep what is known of an identifier until its event has a number; `circulation` is empty if it has none."""
        # The original never mints what is marked as taken out of the queue; here a hold does that.
        unqueued = not held and circulation.startswith(b"u")
        flags = HELD if held or unqueued else 0
        self._counts["held"] += held
        self._unqueued += unqueued
        if not circulation:
            self._records.add(identifier, flags, None, 0, b"")
            return
        history, _, rest = circulation.partition(b"|")
        date, _, rest = rest.partition(b"|")
        who, _, digits = rest.rpartition(b"|")
        if history.strip(b"iqu") or not history or len(date) != 14 or not date.isdigit() or not digits.isdigit():
            raise damaged(
                line, f"{printable(circulation[:60])} is not a circulation record of {printable(identifier[:40])}"
            )
        number = int(digits)
        if number >> 48:
            raise damaged(line, f"{number} is too great a number for {printable(identifier[:60])}")
        letter = history[:1]
        self._counts["identifiers"] += 1
        self._queued_records += letter == b"q"
        if number > self._newest:
            self._newest, self._newest_line = number, line
        date = self._converted(line, date)
        self._oldest = min(self._oldest, date)
        self._records.add(identifier, flags, date + letter + who, number, history)

    def _converted(self, line: int, date: bytes) -> bytes:
        """A date of the original in UTC."""
        try:
            return self._convert(date)
        except ValueError:
            raise damaged(line, f"{printable(date)} is not a date") from None

    def _passes(self) -> int:
        """How often the original has gone through its namespace before.

        The database does not say.  A short-term minter of the original mints an identifier again whenever it is drawn
        again, even in the same pass.  Here that happens from the second pass on, so such a minter is taken to be in it.
        """
        if self.settings["at-last"] == "wrap":
            return 1 if self._perl.drawn else 0
        if self._newest > self._perl.drawn:
            self._remarks.append(
                f"an identifier was issued as number {self._newest}, but only {self._perl.drawn} were drawn: the "
                "counter was set back, and what was issued is skipped when it is drawn again")
        return 0

    def _sorted_rules(self) -> tuple[list[tuple[bytes, bytes, bytes]], list[tuple[bytes, bytes, bytes]]]:
        """The rules that can be used here, and those that cannot."""
        usable, others = [], []
        for element, pattern, replacement, line in self._perl.rules:
            try:
                Rule(pattern, replacement)
            except NoidError as error:
                if not self._skip_rules:
                    raise InvalidError(
                        f"line {line} of the dump: the rule {printable(pattern[:60])!r} for {printable(element[:60])} "
                        f"cannot be used here: {error.message}; it can be skipped, and stored as a note"
                    ) from None
                others.append((element, pattern, replacement))
            else:
                usable.append((element, pattern, replacement))
        return usable, others

    # -- writing -------------------------------------------------------------------------------------------------

    def _write_events(self) -> Iterator[Work]:
        self._event = 1
        for page in _pages(self._records.events()):
            packed = []
            for stamp, count, first, last in page:
                date, letter, who = stamp[:14], stamp[14:15], stamp[15:]
                tally = Tally(count, count, first, last) if letter == b"i" else None
                details = () if tally else (b"%d identifier%b" % (count, b"" if count == 1 else b"s"),)
                packed.append(packed_event(date, who.translate(_CONTROLS), _INTERFACE, _VERBS[letter], *details,
                                           tally=tally))
            yield partial(put_events, first=self._event, packed=packed)
            self._event += len(packed)

    def _write_records(self) -> Iterator[Work]:
        total, done = len(self._records), 0
        for page in _pages(self._records.records()):
            circulating, others = [], []
            for identifier, flags, event, number, history in page:
                if flags or history:
                    circulating.append((identifier, Circulation(flags, event or 0, number, history).packed()))
                if not event:
                    others.append(identifier)
            yield partial(_put_all, IDS, circulating)
            # Nothing is known of the others but that they were imported.
            if others:
                yield partial(_index_all, event=self._event, identifiers=others)
            done += len(page)
            self._progress(done, total, "identifiers written")

    def finish(self, writer: Writer) -> None:
        """Write what is stored once for a minter, as the last step."""
        perl, queued = self._perl, self._queued
        schema.write_settings(writer, self.settings)
        schema.save_generator(writer, self._generator)
        schema.add_to_held_count(writer, self._held)
        schema.raise_queue_number(writer, max(queued.newest_number, perl.queue_number))
        writer.put_many(RULES, [(pair(element, pattern), value) for element, pattern, value in self._usable_rules])
        if self._usable_rules:
            schema.renew_rules_version(writer)
        writer.put_many(NOTES, [*perl.notes, *(
            (b"rule not used: " + element + b" " + pattern, value) for element, pattern, value in self._other_rules
        )])
        details = (b"from " + self._source,) if self._source else ()
        number = record_event(writer, self._actor, b"import perl", *details,
                              b"%d identifiers, %d elements" % (self._counts["identifiers"], self._counts["elements"]))
        assert number == self._event, "an event was recorded by somebody else"

    def readme(self) -> bytes:
        report = creation_report(self.settings, self._scheme)
        return report + b"\nImported from the original noid, whose own report was:\n\n" + self._perl.report + b"\n"

    def imported(self) -> Imported:
        """What was done."""
        generator, queued, total = self._generator, self._queued, self._generator.total
        counts: list[tuple[str, int | None]] = [
            ("Identifiers", self._counts["identifiers"]), ("Held", self._held),
            ("Queued", queued.length), ("Elements", self._counts["elements"]), ("Rules", len(self._usable_rules)),
            ("Notes", len(self._perl.notes)), ("Drawn", generator.drawn),
            ("Left", None if total is None else max(0, total - generator.order.drawn)),
        ]
        return Imported(self.settings, counts, [*self._remarks, *self._more_remarks(), *queued.remarks()])

    @property
    def _held(self) -> int:
        return self._counts["held"] + self._unqueued + self._queued.newly_held

    def _more_remarks(self) -> Iterator[str]:
        perl = self._perl
        if perl.unfinished:
            yield (f"the counters together are {perl.unfinished} ahead of the overall counter, because the original "
                   "was killed while it minted: the next identifiers are those it would have minted")
        if self._unqueued:
            yield (f"{self._unqueued} identifiers were taken out of the queue, and the original never mints such: they "
                   "are on hold")
        if perl.binds_only:
            yield ("the original did not mint, but only bound; this minter binds anything, and would mint 0, 1, 2 and "
                   "so on")
        stated = perl.stated(b"held")
        if stated is not None and stated != self._counts["held"]:
            yield f"the original counted {stated} holds, but there are {self._counts['held']}"
        for name in perl.unknown[:_MOST_REMARKS]:
            yield f"{ROOT.decode()}{printable(name[:60])} is not known here and was left out"
        for element, pattern, _ in self._other_rules[:_MOST_REMARKS]:
            yield (f"the rule {printable(pattern[:60])!r} for {printable(element[:60])} cannot be used here and was "
                   "stored as a note")


def _put_all(table: bytes, items: list[tuple[bytes, bytes]], writer: Writer) -> None:
    writer.put_many(table, items)


def _index_all(writer: Writer, event: int, identifiers: list[bytes]) -> None:
    for identifier in identifiers:
        index_event(writer, identifier, event)


def _pages(rows: Iterable[T]) -> Iterator[list[T]]:
    """The rows in lists of the size of a transaction."""
    iterator = iter(rows)
    while page := list(islice(iterator, _ITEMS)):
        yield page
