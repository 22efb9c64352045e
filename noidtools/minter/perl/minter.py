"""What the original noid, a Perl program, stores once for a minter (settings, counters, rules, notes), and its queue.

All keys of this kind begin with `:/`.  Those that matter here:

    template prefix mask genonly    genonly is 0 for a minter that was created without a template
    longterm wrap                   both empty for the term medium
    naan naa subnaa firstpart       firstpart is what all identifiers begin with
    oacounter oatop total           how many were drawn, and how many can be, -1 without limit
    percounter saclist cN/value cN/top    the counters of the quasi-random order, and which of them are not used up
    idmap/Element TAB Pattern       a rule
    :/Name                          a note
    q/Date/Number/Label             an identifier in the queue

The original leaves traces in its queue: an identifier that is taken out of it stays in it, and gets a second entry;
both are passed over when their turn comes, and it is never drawn by the generator either.  If it is queued again, the
first of its entries is minted and the others are passed over.  One that was put on hold is dropped when its turn comes,
for good.  Here the queue and the circulation records agree, and what the original would never mint is on hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from itertools import islice

from ...errors import InvalidError, NoidError, printable
from ...schemes.base import Settings
from ...schemes.noid import MOST_UNFINISHED, NoidGenerator, NoidScheme, QuasiRandom, per_counter
from ...spool import Spool
from .. import circulation
from ..circulation import HELD, Circulation, advanced, save
from ..creation import new_settings
from ..queue import queue_key
from ..schema import IDS, QUEUE, QUEUED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...store import Work, Writer

ROOT = b":/"
_RULE, _NOTE, _QUEUE = b":/idmap/", b":/:/", b":/q/"
_HOLD = b":/h"
_QUEUE_KEY = re.compile(rb":/q/([0-9]{14})/([0-9]{1,9})/", re.DOTALL)
_COUNTER = re.compile(rb":/c[0-9]{1,3}/(value|top)")
# Of the original, and of Noid4Php: 1.4.0-0.424-php.
_VERSIONS = re.compile(rb"0\.4[0-9]*|[0-9.]{1,20}-0\.4[0-9]*-php")
_CREATED = re.compile(rb"^when:\s*([0-9]{14})\s*$", re.MULTILINE)
_CREATOR = re.compile(rb"^who:\s*(\S.*?)\s*$", re.MULTILINE)
_NEEDED = (b"version", b"template", b"prefix", b"mask", b"generator_type", b"oacounter", b"total", b"longterm", b"wrap")
_OTHERS = frozenset((
    b"addcheckchar", b"erc", b"firstpart", b"fseqnum", b"genonly", b"gseqnum", b"gseqnum_date", b"held", b"naa",
    b"naan", b"oatop", b"padwidth", b"percounter", b"properties", b"queued", b"saclist", b"siclist", b"subnaa",
    # Noid4Php has these, too.
    b"checkalphabet", b"checkrepertoire", b"generator_random", b"pregen_head", b"pregen_tail",
))

# What Noid4Php may draw with so that the order is that of the original; others depend on the release of PHP.
_SAME_ORDER = (b"", b"PerlRandom", b"Perl_Random", b"perl rand()")
_POOL = b":/pregen"

# A minter has at most 293 counters; this many other keys are more than any release wrote.
_MOST_VALUES = 1000
_MOST_RULES = 100_000


class PerlMinter:
    """The values of a minter of the original, filled in by `add` as they are read from a dump.

    rules       element, pattern, replacement, and the line in the dump
    notes       names and texts
    unknown     keys that no known release of the original writes
    unfinished  by how much the counters together are ahead of the overall counter
    """

    def __init__(self) -> None:
        self._values: dict[bytes, bytes] = {}
        self.rules: list[tuple[bytes, bytes, bytes, int]] = []
        self.notes: list[tuple[bytes, bytes]] = []
        self.unknown: list[bytes] = []
        self.unfinished = 0

    def add(self, line: int, key: bytes, value: bytes) -> tuple[bytes, int] | None:
        """Take one item, whose key begins with ROOT.  If it is an entry of the queue, its date and number are returned.
        """
        if key.startswith(_QUEUE):
            entry = _QUEUE_KEY.match(key)
            if entry is None or not value:
                raise damaged(line, f"{printable(key[:60])} is not an entry of a queue")
            # The label is the identifier without `firstpart`, which stands before it in a dump, padded with zeros.
            label = value.removeprefix(self._values.get(b"firstpart", b""))
            if label.lstrip(b"0") != key[entry.end() :].lstrip(b"0"):
                raise damaged(line, f"{printable(value[:60])} is not the identifier of {printable(key[:60])}")
            return entry[1], int(entry[2])
        if key.startswith(_RULE):
            self._add_rule(line, key, value)
        elif key.startswith(_NOTE):
            self.notes.append((key.removeprefix(_NOTE), value))
        elif b"\t" in key:
            raise damaged(line, f"{printable(key[:60])} is not a key of noid")
        elif key.startswith(_POOL) and key.removeprefix(ROOT) not in _OTHERS:
            raise InvalidError(f"line {line} of the dump: there is a pool of identifiers that were made in advance and "
                               "not given yet: mint them with the old program, and import then")
        else:
            name = key.removeprefix(ROOT)
            if name not in _OTHERS and name not in _NEEDED and not _COUNTER.fullmatch(key):
                self.unknown.append(name)
            self._values[name] = value
        if len(self._values) > _MOST_VALUES or len(self.rules) + len(self.notes) > _MOST_RULES:
            raise damaged(line, f"there are too many keys like {printable(key[:60])}, so it is of another program")
        return None

    def _add_rule(self, line: int, key: bytes, value: bytes) -> None:
        element, tab, pattern = key.removeprefix(_RULE).partition(b"\t")
        if not tab or not element or not pattern:
            raise damaged(line, f"{printable(key[:60])} is not a rule")
        # The original puts a hold on the rules of a long-term minter, which means nothing.
        if pattern != _HOLD:
            self.rules.append((element, pattern, value, line))

    # -- settings --------------------------------------------------------------------------------------

    def settings(self) -> Settings:
        """The settings of an equal minter; raises InvalidError if this is no minter of a known release."""
        missing = [name for name in _NEEDED if name not in self._values]
        if missing:
            raise InvalidError(f"this is a database, but not noid's: it has no {ROOT.decode()}{missing[0].decode()}; "
                               "check the path")
        version = self._values[b"version"]
        if not _VERSIONS.fullmatch(version):
            raise InvalidError(f"this minter was made by noid {printable(version[:40])}, and only those of 0.4 to 0.424"
                               " can be read")
        # Not `template`, which may end in letters that the original ignored.
        template = f"{self._text(b'prefix')}.{self._text(b'mask')}"
        values = {
            "scheme": "noid",
            "template": template if self._is_set(b"genonly", b"1") and not self.binds_only else "",
            "term": "long" if self._is_set(b"longterm") else "short" if self._is_set(b"wrap") else "medium",
            "naan": self._text(b"naan"), "naa": self._text(b"naa"), "subnaa": self._text(b"subnaa"),
        }
        try:
            return new_settings(values)
        except NoidError as error:
            raise InvalidError(f"the minter in the dump cannot be made here: {error.message}") from None

    @property
    def binds_only(self) -> bool:
        """Whether it was created with the template `-`, for names that others mint."""
        return not self._values.get(b"mask")

    def _text(self, name: bytes) -> str:
        value = self._values.get(name, b"")
        if not value.isascii():
            raise InvalidError(f"{ROOT.decode()}{name.decode()} in the dump is {printable(value[:60])}, which is not "
                               "ASCII: it is damaged")
        return value.decode()

    def _is_set(self, name: bytes, default: bytes = b"") -> bool:
        """Whether a value is true as Perl sees it."""
        return self._values.get(name, default) not in (b"", b"0")

    @property
    def created(self) -> str:
        """When the minter was created, by its own report; empty if that is not known."""
        found = _CREATED.search(self.report)
        return found[1].decode() if found else ""

    @property
    def creator(self) -> str:
        found = _CREATOR.search(self.report)
        return found[1].decode("utf-8", "replace") if found else ""

    @property
    def report(self) -> bytes:
        """The report that the original made when it created the minter."""
        return self._values.get(b"erc", b"")

    # -- counters --------------------------------------------------------------------------------------

    @property
    def drawn(self) -> int:
        """How many identifiers were drawn in this pass through the namespace."""
        return self._number(b"oacounter")

    @property
    def queue_number(self) -> int:
        """The greatest number that the original has given to an entry of the queue, as far as it is known."""
        return max(self._number(name, 1) - 1 for name in (b"fseqnum", b"gseqnum"))

    def stated(self, name: bytes) -> int | None:
        """A count that the original keeps; None if it has none."""
        return self._number(name) if name in self._values else None

    def _number(self, name: bytes, default: int | None = None) -> int:
        text = self._values.get(name)
        if text is None and default is not None:
            return default
        if text is None or not re.fullmatch(rb"-?[0-9]{1,18}", text):
            raise InvalidError(f"{ROOT.decode()}{name.decode()} in the dump is not a number: it is damaged")
        return int(text)

    def generator(self, scheme: NoidScheme, passes: int) -> NoidGenerator:
        """The generator in the state in which the original left its own, in a later pass if `passes` is not 0.

        Raises InvalidError if the numbers disagree with each other or with the template.
        """
        total, drawn = scheme.template.total, self.drawn
        self._ensure(b"total", -1 if total is None else total, "the template has")
        self._ensure(b"oatop", -1 if total is None else total, "the template has", optional=True)
        if self._values.get(b"firstpart", scheme.first_part.encode()) != scheme.first_part.encode():
            raise InvalidError(f"{ROOT.decode()}firstpart in the dump is not {scheme.first_part}: it is damaged")
        if drawn < 0 or (total is not None and drawn > total):
            raise InvalidError(f"{ROOT.decode()}oacounter in the dump is {drawn}, which cannot be: it is damaged")
        random = self._values[b"generator_type"] == b"random"
        order = self._values.get(b"generator_random", b"")
        if random and order not in _SAME_ORDER:
            raise InvalidError(f"this minter draws its identifiers with {printable(order[:40])}, whose order cannot be "
                               "continued here: create a minter with another prefix, and import the bindings")
        if random != (scheme.template.generator == "r"):
            raise InvalidError(f"{ROOT.decode()}generator_type in the dump does not fit the template: it is damaged")
        generator = NoidGenerator(scheme, None)
        generator.continue_from(passes, drawn, self._counters(total) if random and total is not None else None)
        return generator

    def _counters(self, total: int) -> list[int]:
        size = per_counter(total)
        self._ensure(b"percounter", size, "the template makes it")
        order = QuasiRandom(total)
        count = len(order.values)
        values = [self._number(b"c%d/value" % n) for n in range(count)]
        for n, value in enumerate(values):
            top = min(size, total - n * size)
            self._ensure(b"c%d/top" % n, top, "the template makes it")
            if not 0 <= value <= top:
                raise InvalidError(f"{ROOT.decode()}c{n}/value in the dump is {value}, which cannot be: it is damaged")
        if b"c%d/value" % count in self._values:
            raise InvalidError(f"there are more counters in the dump than the template's {count}: it is damaged")
        self.unfinished = sum(values) - self.drawn
        if not 0 <= self.unfinished <= MOST_UNFINISHED:
            raise InvalidError(f"the counters in the dump add up to {sum(values)}, but {ROOT.decode()}oacounter is "
                               f"{self.drawn}: it is damaged")
        active = [b"c%d" % n for n, value in enumerate(values) if value < min(size, total - n * size)]
        if self._values.get(b"saclist", b"").split() != active:
            raise InvalidError(f"{ROOT.decode()}saclist in the dump does not name the counters that are not used up: "
                               "it is damaged")
        return values

    def _ensure(self, name: bytes, expected: int, why: str, *, optional: bool = False) -> None:
        if optional and name not in self._values:
            return
        found = self._number(name)
        if found != expected:
            raise InvalidError(f"{ROOT.decode()}{name.decode()} in the dump is {found}, but {why} {expected}: it is "
                               "damaged")


def damaged(line: int, why: str) -> InvalidError:
    return InvalidError(f"line {line} of the dump: {why}")


# -- the queue -------------------------------------------------------------------------------------------------------

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
