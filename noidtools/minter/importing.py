"""The writing side of an import: bindings of identifiers that were read from a file, many in one transaction."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..codec import pack, pair, unpack
from ..errors import ConflictError, NoidError, NotFoundError, printable
from . import aliases, circulation, lifecycle, schema
from .changes import Applied, Edit, put_edits, recorded_before
from .circulation import FOREIGN, HELD, RESERVED, Circulation, advanced, ensure_element
from .schema import ELEMENTS, IDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..store import Writer
    from . import Minter
    from .events import Actor


REFUSED = b"refused: "


def refusal_of(status: bytes) -> bytes | None:
    """Why a record was refused, from its status; None if it was not."""
    return status.removeprefix(REFUSED) if status.startswith(REFUSED) else None


@dataclass(slots=True)
class ImportRow:
    """One record of a file: an identifier, and what it is to have.

    line           the number of its first line
    display        the identifier as written in the file; once its `key` is known, as written in answers
    pairs          elements and their values
    state          reserved, unavailable or withdrawn, else empty; reason and successor of one of the last two, since
                   when, and when it was minted, in fourteen digits; the name of which it is an alias
    key            the identifier as stored
    status         what was done, once it was; a record with which nothing is to be done has it from the beginning
    ezid           whether the elements have the names that EZID gives them
    """

    line: int
    display: bytes
    pairs: list[tuple[bytes, bytes]] = field(default_factory=list)
    state: str = ""
    reason: bytes = b""
    successor: bytes = b""
    since: bytes = b""
    minted: bytes = b""
    alias: bytes = b""
    key: bytes = b""
    status: bytes = b""
    ezid: bool = False

    @property
    def size(self) -> int:
        return len(self.key) + sum(len(element) + len(value) for element, value in self.pairs)

    @property
    def weight(self) -> int:
        """How much work it is, in names and bindings."""
        return 1 + len(self.pairs)

    @property
    def is_related(self) -> bool:
        """Whether it is more than bindings: an alias, unavailable or withdrawn.  That is an event of its own."""
        return bool(self.alias) or self.state in ("unavailable", "withdrawn")

    @property
    def is_refused(self) -> bool:
        return refusal_of(self.status) is not None

    def refuse(self, reason: str) -> None:
        self.status = REFUSED + reason.encode("utf-8", "surrogateescape")

    def fields(self) -> tuple[int, int, bytes, bytes]:
        """The row as it is set aside: the line, the weight, the status, and all else; `from_fields` is the inverse."""
        head = (self.key, self.display, self.state.encode(), self.reason, self.successor, self.since, self.minted,
                self.alias)
        return self.line, self.weight, self.status, pack((*head, *(text for both in self.pairs for text in both)))

    @classmethod
    def from_fields(cls, line: int, _: int, status: bytes, packed: bytes) -> ImportRow:
        key, display, state, reason, successor, since, minted, alias, *texts = unpack(packed)
        return cls(line, display, list(zip(texts[::2], texts[1::2], strict=True)), state.decode(), reason, successor,
                   since, minted, alias, key, status)


class ImportPage(Applied):
    """Writes some rows in one transaction, and counts.

    kept, refused   bindings that stayed as they were, and rows that were refused
    partial         rows of which the bindings were written, but not the alias or the tombstone
    repeated        bindings in place of which a later row of the same import put another value
    minted, again   rows whose identifiers were minted, and those of them for which that was done before
    """

    def __init__(
        self, minter: Minter, actor: Actor, on_conflict: str, *, keep_going: bool = False, known_only: bool = False
    ) -> None:
        super().__init__()
        self.rows: list[ImportRow] = []
        self.kept = self.refused = self.partial = self.repeated = self.minted = self.again = 0
        self._minter = minter
        self._actor = actor
        self._on_conflict = on_conflict
        self._keep_going = keep_going
        self._known_only = known_only
        # What is stored, as far as it was looked up, with what this page will write.
        self._values: dict[tuple[bytes, bytes], bytes | None] = {}
        # What was bound before the import, where an earlier line has bound something else.
        self._befores: dict[tuple[bytes, bytes], bytes | None] = {}
        self._records: dict[bytes, Circulation | None] = {}
        self._edits: dict[tuple[bytes, bytes], Edit] = {}
        self._new_records: dict[bytes, Circulation] = {}
        self._new_holds = 0
        self._indexed: set[bytes] = set()

    def write(self, writer: Writer, number: int, rows: list[ImportRow]) -> None:
        """Write the rows under the event with this number.

        A row that is refused raises its refusal with its line; with `keep_going` it only has a status.
        """
        self.rows = rows
        readable = [row for row in rows if not row.status]
        self.refused = sum(row.is_refused for row in rows)
        self._look_up(writer, number, readable)
        for row in readable:
            try:
                self._plan(writer, number, row)
            except NoidError as error:
                self._refuse(row, error)
        self._put(writer, number)
        for row in readable:
            if row.is_related and not row.is_refused:
                self._relate(writer, row)

    def _refuse(self, row: ImportRow, error: NoidError) -> None:
        if not self._keep_going:
            error.message = f"line {row.line}: {error.message}"
            raise error
        row.refuse(error.message)
        self.refused += 1

    def _look_up(self, writer: Writer, number: int, rows: list[ImportRow]) -> None:
        keys = list({row.key for row in rows})
        self._records = dict(zip(keys, circulation.find_many(writer, keys), strict=True))
        places = [(row.key, element) for row in rows for element, _ in row.pairs]
        values = writer.get_many([(ELEMENTS, pair(key, element)) for key, element in places])
        self._values = dict(zip(places, values, strict=True))
        self._befores = recorded_before(writer, number, places)

    def _plan(self, writer: Writer, number: int, row: ImportRow) -> None:
        """Decide about all bindings of a row; nothing of it is done if one is refused."""
        record = self._records[row.key]
        self._ensure_known(writer, row, record)
        planned: dict[tuple[bytes, bytes], Edit] = {}
        same = kept = 0
        for element, value in row.pairs:
            ensure_element(element)
            place = (row.key, element)
            current = self._values[place]
            if current == value:
                same += 1
            elif current is None or self._on_conflict == "replace":
                planned[place] = Edit(row.key, element, self._befores.get(place, current), value)
            elif self._on_conflict == "keep":
                kept += 1
            else:
                raise ConflictError(self._conflict(row, element))
        adding = not (record and (record.was_issued or record.foreign or record.withdrawn))
        if planned or adding:
            _ensure_may_be_bound(row, record)
        if adding:
            self._add_record(writer, number, row, record)
        elif planned:
            self._indexed.add(row.key)
        self._edits.update(planned)
        repeated = sum(place in self._befores for place in planned)
        for place, edit in planned.items():
            self._values[place] = edit.after
            # A binding that an earlier line has changed already is one change, from the value before that line.
            self.changed += place not in self._befores
            self._befores[place] = edit.before
        self.recorded = self.changed
        self.repeated += repeated
        self.same += same
        self.kept += kept
        parts = [(len(planned) - repeated, b"bound"), (repeated, b"bound in place of what an earlier line has"),
                 (same, b"unchanged"), (kept, b"kept")]
        row.status = b", ".join(b"%d %b" % part for part in parts if part[0]) or (
            b"recorded" if adding else b"nothing to bind")

    def _ensure_known(self, writer: Writer, row: ImportRow, record: Circulation | None) -> None:
        if self._known_only and record is None and not circulation.is_known(writer, row.key):
            raise NotFoundError(f"{printable(row.display)} is not known here: it was neither minted nor bound")

    def _add_record(self, writer: Writer, number: int, row: ImportRow, record: Circulation | None) -> None:
        """Record an identifier as one of foreign origin, and hold it, so that it is never minted."""
        known = record or Circulation()
        new = advanced(writer, row.key, known, FOREIGN, number, 0)
        new.flags = known.flags | HELD | (RESERVED if row.state == "reserved" and record is None else 0)
        self._new_holds += not known.held
        self._new_records[row.key] = self._records[row.key] = new
        self.added += 1

    def _conflict(self, row: ImportRow, element: bytes) -> str:
        own = (row.key, element) in self._befores
        where = "an earlier line of the file has bound it to another value" if own else (
            "another value is bound to it already: choose to keep or to replace it on conflict")
        return f"{printable(element)} under {printable(row.display)}: {where}"

    def _put(self, writer: Writer, number: int) -> None:
        put_edits(writer, number, list(self._edits.values()), indexed=self._indexed)
        writer.put_many(IDS, sorted((key, record.packed()) for key, record in self._new_records.items()))
        schema.add_to_held_count(writer, self._new_holds)
        if self._new_records:
            schema.note_foreign(writer)

    def _relate(self, writer: Writer, row: ImportRow) -> None:
        """Make an identifier an alias or unavailable, or withdraw it, as the export of another minter says."""
        try:
            if row.alias:
                if circulation.alias_target(writer, row.key) != row.alias:
                    aliases.create_alias(self._minter, writer, self._actor, row.display, row.alias)
            elif lifecycle.tombstone_of(writer, row.key) is not None or row.key not in self._new_records:
                return
            elif row.state == "unavailable":
                lifecycle.make_unavailable(self._minter, writer, self._actor, row.display, row.reason or None,
                                           since=row.since, minted=row.minted)
            else:
                lifecycle.withdraw(self._minter, writer, self._actor, row.display, row.reason or None,
                                   row.successor or None, since=row.since, minted=row.minted)
        except NoidError as error:
            if not self._keep_going:
                self._refuse(row, error)
            self.partial += 1
            row.status += b"; left out: " + error.message.encode("utf-8", "surrogateescape")


def _ensure_may_be_bound(row: ImportRow, record: Circulation | None) -> None:
    circulation.ensure_not_withdrawn(row.display, record, "bound")
    if record is not None and record.queued:
        raise ConflictError(f"{printable(row.display)} is in the queue to be minted", "take it out first with 'noid "
                            "queue delete'")
