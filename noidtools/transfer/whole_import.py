"""Makes a minter from a complete export.  For every command it is the same as the one that was exported.

It is written in chunks to a new store.  The store appears only when the last line was read, its counts and its digest
are right, and the examination of `noid check` found no fault.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import sha256
from itertools import islice
from typing import cast

from ..codec import pack, pair
from ..errors import InvalidError, NoidError
from ..minter import Minter, location_of, schema, stored
from ..minter.changes import packed_edit
from ..minter.check import examine_new
from ..minter.creation import TERMS
from ..minter.folder import existing_folder
from ..minter.namespace import Namespace
from ..minter.report import creation_report
from ..schemes import scheme_for
from ..schemes.base import SETTINGS, Settings
from ..store import Reader, Store, Writer, create_store
from . import BadLineError, InputFile, jsonl
from .jsonl import as_bytes, as_list, as_number, edit_from, event_from, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO, Any, TypeVar

    from ..console import Progress

    Row = Callable[[Writer], None]
    T = TypeVar("T")

_LINES_TOGETHER = 5000


def import_whole(
    file: IO[bytes], dbdir: str, progress: Progress | None = None, *, address: str = ""
) -> tuple[Minter, int]:
    """Make the minter of a complete export in a folder, which is made if it does not exist.

    Returns the minter, open, and how many identifiers it has.

    address  of the database server that is to hold it: see `create_store`

    Raises ConflictError if there is a minter in the folder, InvalidError for what is not such an export.
    """
    source = InputFile(file)
    lines = source.lines()
    first = next(lines, b"")
    header = jsonl.read_header(first)
    if header is None or not header.get("complete"):
        raise InvalidError(f"there is no minter in {dbdir}, and only a complete export can make one, in jsonl and with "
                           "the history: create a minter first")
    whole = WholeImport(source, first, header, lines)
    try:
        with existing_folder(dbdir):
            return whole.create(dbdir, progress, address=address), whole.identifiers
    except BadLineError as error:
        error.message += " (no minter was made)"
        raise


class WholeImport:
    """The lines of a complete export; `first` is the first one, `header` what it says.

    identifiers  how many were read
    """

    def __init__(self, file: InputFile, first: bytes, header: dict[str, Any], lines: Iterator[bytes]) -> None:
        self._file = file
        self._lines = lines
        self.identifiers = 0
        self._ended = False
        self._digest = sha256(_as_exported(first))
        # The key of the last line of each kind: an export has them in order.
        self._last: dict[str, bytes] = {}
        try:
            self._settings = _settings(header)
            self._namespace = Namespace(self._settings, scheme_for(self._settings))
        except NoidError as error:
            raise BadLineError(1, error.message, fatal=True) from None

    def create(self, dbdir: str, progress: Progress | None = None, *, address: str = "") -> Minter:
        """Make the minter in an existing folder and open it; raises ConflictError if there is one.

        `address` is of the database server that is to hold it: see `create_store`.
        """
        scheme = self._namespace.scheme

        def fill(writer: Writer) -> None:
            schema.write_settings(writer, self._settings)
            try:
                _ = schema.generator_of(scheme, writer).drawn
            except Exception as error:  # noqa: BLE001 - whatever the scheme raises, its state is damaged
                raise InvalidError(f"the state of the generator is damaged ({error})") from None
            _ensure_sound(dbdir, writer, progress)

        store = create_store(location_of(dbdir), fill, chunks=self._chunks(progress),
                             readme=creation_report(self._settings, scheme), address=address)
        return Minter(dbdir, store=store)

    def _chunks(self, progress: Progress | None) -> Iterator[Row]:
        rows = self._rows()
        while chunk := list(islice(rows, _LINES_TOGETHER)):
            yield lambda writer: _write(writer, chunk)  # noqa: B023 - run before the loop goes on
            self._file.show(progress)
        if progress:
            progress(1, 1, "")
        if not self._ended:
            raise BadLineError(self._file.number, "the export is cut off: its last line, which counts the others, is "
                               "missing", fatal=True)

    def _rows(self) -> Iterator[Row]:
        for line in self._lines:
            if self._ended:
                raise BadLineError(self._file.number, "there is a line after the last one of the export", fatal=True)
            try:
                row = self._row(jsonl.read_line(line))
            except BadLineError:
                raise
            except NoidError as error:
                raise BadLineError(self._file.number, error.message, fatal=True) from None
            self._digest.update(_as_exported(line))
            if row is not None:
                yield row

    def _row(self, data: dict[str, Any]) -> Row | None:
        """What a line has to be written; None for the last line."""
        if "id" in data:
            self.identifiers += 1
            name = self._name(data)
            self._ensure_order("id", name.key)
            return lambda writer: stored.put_name(writer, name)
        if "what" in data:
            number, packed = event_from(data)
            self._ensure_order("event", _event_number(data["event"]))
            return lambda writer: stored.put_event(writer, number, packed)
        if len(data) == 1:
            ((kind, content),) = data.items()
            if kind == "end":
                self._end(content)
                return None
            if kind == "change" and isinstance(content, dict):
                changed, edit = edit_from(content)
                place, row = pair(edit.key, edit.element), packed_edit(edit.before, edit.after)
                self._ensure_order(kind, _event_number(content["event"]) + place)
                return lambda writer: stored.put_change(writer, changed, place, row)
            if kind in stored.OF_MINTER:
                rest, value = _row_of(content, kind)
                self._ensure_order(kind, rest)
                return lambda writer: stored.put_minter_row(writer, kind, rest, value)
            if kind in stored.WHOLE:
                key, value = _whole_row(kind, content)
                self._ensure_order(kind, key)
                return lambda writer: stored.put_whole_row(writer, kind, key, value)
        raise InvalidError(f"this release does not know what {next(iter(data), 'nothing')[:60]!r} is in an export")

    def _ensure_order(self, kind: str, key: bytes) -> None:
        if key <= self._last.get(kind, b""):
            raise InvalidError(f"the {kind!r} of this line was given before, or belongs before the one above: the "
                               "export is damaged")
        self._last[kind] = key

    def _end(self, content: object) -> None:
        counts = content if isinstance(content, dict) else {}
        expected = [as_number(field(counts, name), name) for name in ("lines", "identifiers")]
        if expected != [self._file.number, self.identifiers]:
            raise InvalidError(f"the export should have {expected[0]} lines and {expected[1]} identifiers, but has "
                               f"{self._file.number} and {self.identifiers}: it is damaged")
        if field(counts, "sha256") != self._digest.hexdigest():
            raise InvalidError("the lines are not those that were exported, because their digest is another: the "
                               "export was damaged or edited; export the minter again")
        self._ended = True

    def _name(self, data: dict[str, Any]) -> stored.StoredName:
        key = as_bytes(data["key"], "key") if "key" in data else (
            self._namespace.literal_key(as_bytes(data["id"], "id")))
        if not key:
            raise InvalidError("the identifier is empty")
        name = stored.StoredName(key)
        if "circulation" in data:
            name.circulation = jsonl.circulation_from(data["circulation"]).packed()
        name.elements = jsonl.elements_from(data.get("elements", {}))
        for attribute in ("alias", "queue", "pepper", "verified"):
            if attribute in data:
                setattr(name, attribute, as_bytes(data[attribute], attribute))
        name.tombstone = _fields(data, "withdrawn") or _fields(data, "unavailable")
        name.abstract = _fields(data, "abstract")
        name.relations = [_relation(relation) for relation in as_list(data.get("relations", []), "relations")]
        name.claims = [_relation(claim) for claim in as_list(data.get("claims", []), "claims")]
        for kind in jsonl.ROWS:
            setattr(name, kind, [_row_of(row, kind) for row in as_list(data.get(kind, []), kind)])
        name.events = [(_event_number(number), b"") for number in as_list(data.get("events", []), "events")]
        return name


def _as_exported(line: bytes) -> bytes:
    """The line as the digest has it, which is with a line feed at its end, even if it now ends otherwise."""
    return line.rstrip(b"\r\n") + b"\n"


class _FilledStore:
    """The store that is being made, as its last transaction sees it: what `Minter` needs to read it."""

    def __init__(self, location: str, writer: Writer) -> None:
        self.location = location
        self._writer = writer

    def read(self, work: Callable[[Reader], T]) -> T:
        return work(self._writer)

    def identity(self) -> object:
        return None


def _ensure_sound(dbdir: str, writer: Writer, progress: Progress | None) -> None:
    """Raise InvalidError if `noid check` would find something wrong with the minter that was written."""
    store = cast("Store", _FilledStore(location_of(dbdir), writer))
    result = examine_new(Minter(dbdir, store=store), writer, progress)
    if result.faults:
        more = len(result.faults) + result.more - 1
        others = f", and {more} more" if more else ""
        raise InvalidError(f"the export has the faults of its minter: {result.faults[0].sentence}{others}", "mend that "
                           "minter with 'noid check --repair' and export it again, or move it as it is with 'noid "
                           "copy' or 'noid backup' (no minter was made)")


def _write(writer: Writer, rows: list[Row]) -> None:
    for row in rows:
        row(writer)


def _settings(header: dict[str, Any]) -> Settings:
    values = field(header, "settings")
    if not isinstance(values, dict) or not all(isinstance(value, str) for value in values.values()):
        raise InvalidError("'settings' is not an object of texts")
    unknown = [name for name in values if name not in SETTINGS]
    if unknown:
        raise InvalidError(f"the setting {unknown[0][:60]!r} is not known: this export was made by a newer release")
    settings = Settings(values)
    if settings["term"] not in TERMS:
        raise InvalidError("the term of the minter is not known")
    return settings


def _whole_row(kind: str, content: object) -> tuple[bytes, bytes]:
    parts = [as_bytes(part, kind) for part in as_list(content, kind)]
    if len(parts) != (3 if kind == "rule" else 2):
        raise InvalidError(f"{kind!r} has {len(parts)} parts")
    if kind == "meta" and parts[0] in (b"format", b"settings"):
        raise InvalidError(f"'meta' must not hold the {parts[0].decode()}")
    return (pair(parts[0], parts[1]), parts[2]) if kind == "rule" else (parts[0], parts[1])


def _fields(data: dict[str, Any], kind: str) -> bytes | None:
    return pack(as_bytes(part, kind) for part in as_list(data[kind], kind)) if kind in data else None


def _relation(content: object) -> tuple[bytes, bytes]:
    kind, authority, other, *fields = _parts(content, "a relation", 4)
    return kind + pair(authority, other), pack(fields)


def _row_of(content: object, kind: str) -> tuple[bytes, bytes]:
    rest, *fields = _parts(content, kind, 2)
    return rest, pack(fields)


def _parts(content: object, what: str, least: int) -> list[bytes]:
    parts = [as_bytes(part, what) for part in as_list(content, what)]
    if len(parts) < least:
        raise InvalidError(f"{what} has {len(parts)} parts")
    return parts


def _event_number(number: object) -> bytes:
    value = as_number(number, "the number of an event")
    if value >= 1 << 40:
        raise InvalidError("the number of an event is out of range")
    return value.to_bytes(5, "big")
