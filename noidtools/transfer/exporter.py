"""Exports of a minter, or of a part of it, as they are at one moment.

All is read in one read transaction and goes to a temporary file, so that the transaction is short however slowly the
export is read, and minting goes on meanwhile.  The identifiers are in the order of their bytes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from tempfile import SpooledTemporaryFile

from ..codec import split_pair
from ..errors import StoreError, UsageError
from ..minter import Minter, stored
from ..minter.changes import RecordedEdit
from ..minter.events import Event
from ..minter.history import Archives
from ..minter.lifecycle import PUBLISHED_STATE, STATES, state_of
from ..minter.namespace import RULE_MARK
from ..minter.stored import StoredName
from ..store import Reader
from ..store.folders import replace_file
from ..times import timestamp
from ..version import __version__
from . import anvl, csv_table, jsonl
from .jsonl import edit_data, event_data, json_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO

    from ..console import Progress

FORMS = {"jsonl": "application/jsonl", "csv": "text/csv; charset=utf-8", "anvl": "text/plain; charset=utf-8"}
_IN_MEMORY = 4 << 20
_PIECE = 1 << 16
_PROGRESS_EVERY = 1000


@dataclass(slots=True, kw_only=True)
class Selection:
    """What is exported.

    prefix    only identifiers that begin with this
    elements  only these elements, and identifiers that have one of them; all if there are none
    since     only identifiers with an event not older than this date of fourteen digits; empty for all
    state     only identifiers in this state; empty for all
    history   whether events are exported, too
    """

    prefix: bytes = b""
    elements: tuple[bytes, ...] = ()
    since: bytes = b""
    state: str = ""
    history: bool = False

    def __post_init__(self) -> None:
        if self.state and self.state not in STATES:
            raise UsageError(f"a state is one of {', '.join(STATES)}, not {self.state[:60]!r}")
        if b"" in self.elements:
            raise UsageError("the name of an element is empty")
        if len(set(self.elements)) < len(self.elements):
            raise UsageError("an element is named twice: name each once")

    @property
    def complete(self) -> bool:
        """Whether nothing is left out, so that the same minter can be made of it."""
        return self.history and not (self.prefix or self.elements or self.since or self.state)


class Export:
    """An export; `count` is the number of identifiers in it, once it was made."""

    def __init__(self, minter: Minter, form: str, selection: Selection, now: int) -> None:
        if form not in FORMS:
            raise UsageError(f"an export is {', '.join(FORMS)}, not {form[:60]!r}")
        if selection.history and form != "jsonl":
            raise UsageError(f"the history can be exported as jsonl only: {form} has no room for events")
        self._minter = minter
        self._form = form
        self._selection = selection
        self._now = now
        self.count = 0

    def chunks(self, progress: Progress | None = None) -> Iterator[bytes]:
        """The bytes of the export, from the moment at which the first are asked for."""
        try:
            with SpooledTemporaryFile(_IN_MEMORY) as file:
                self._fill(file, progress)
                file.seek(0)
                while piece := file.read(_PIECE):
                    yield piece
        except OSError as error:
            raise _not_written(error) from None

    def write_to(self, path: str, progress: Progress | None = None) -> None:
        """Write the export to a file, which takes the place of an older one when it is complete and on disk."""
        def write(fresh: str) -> None:
            with open(fresh, "xb") as file:
                os.fchmod(file.fileno(), 0o600)  # it has what is not public
                self._fill(file, progress, path)

        try:
            replace_file(path, write)
        except OSError as error:
            raise _not_written(error, path) from None

    def _fill(self, file: IO[bytes], progress: Progress | None, path: str = "") -> None:
        def work(reader: Reader) -> None:
            # The work of a transaction may be run again, from its beginning.
            try:
                file.seek(0)
                file.truncate()
                self.count = 0
                for line in self._lines(reader):
                    file.write(line)
                    if progress and not self.count % _PROGRESS_EVERY:
                        progress(self.count, 0, "identifiers")
            except OSError as error:
                # Here, because the store would take it for a fault of its own files.
                raise _not_written(error, path) from None

        try:
            self._minter.read(work)
        finally:
            if progress:
                progress(1, 1, "")

    def _lines(self, reader: Reader) -> Iterator[bytes]:
        if self._form == "jsonl":
            return self._ended_lines(self._json_lines(reader))
        return self._csv_lines(reader) if self._form == "csv" else self._anvl_lines(reader)

    def _ended_lines(self, lines: Iterator[bytes]) -> Iterator[bytes]:
        """The lines and a last one that counts them, itself included, and has the digest of those before it."""
        count = 1
        digest = sha256()
        for line in lines:
            count += 1
            digest.update(line)
            yield line
        yield jsonl.write_line({"end": {"lines": count, "identifiers": self.count, "sha256": digest.hexdigest()}})

    # -- formats ---------------------------------------------------------------------------------------

    def _csv_lines(self, reader: Reader) -> Iterator[bytes]:
        """With chosen elements a column for each, else a row for each binding."""
        elements = self._selection.elements
        yield csv_table.write_header(elements)
        for name, _ in self._names(reader):
            display = self._minter.namespace.display(name.key)
            if elements:
                bound = dict(name.elements)
                yield csv_table.write_row([display, *(bound.get(element, b"") for element in elements)])
            elif name.elements:
                yield b"".join([csv_table.write_row([display, *pair]) for pair in name.elements])
            else:
                yield csv_table.write_row([display, b"", b""])

    def _anvl_lines(self, reader: Reader) -> Iterator[bytes]:
        yield anvl.OWN_MARK + b"\n"
        for name, _ in self._names(reader):
            yield anvl.write_record(self._minter.namespace.display(name.key), name.elements)

    def _json_lines(self, reader: Reader) -> Iterator[bytes]:
        selection, space = self._selection, self._minter.namespace
        yield jsonl.write_line({"noidtools": {
            "export": jsonl.FORMAT, "release": __version__, "date": timestamp(self._now).decode(),
            "complete": selection.complete,
            "settings": self._minter.settings.values,
        }})
        if selection.complete:
            yield from _minter_lines(reader)
        # A bit for each event that concerns an exported identifier.
        wanted = bytearray()
        for name, state in self._names(reader):
            display = space.display(name.key)
            yield jsonl.write_line(jsonl.name_data(
                name, display, space.literal_key(display), state, history=selection.history,
                complete=selection.complete))
            if selection.history and not selection.complete:
                for number in name.event_numbers():
                    if number >> 3 >= len(wanted):
                        wanted.extend(bytes((number >> 3) + 1024 - len(wanted)))
                    wanted[number >> 3] |= 1 << (number & 7)
        if selection.history:
            archives = Archives(self._minter.dbdir, reader)
            yield from _event_lines(reader, archives, None if selection.complete else wanted, selection.prefix)

    # -- selection -------------------------------------------------------------------------------------

    def _names(self, reader: Reader) -> Iterator[tuple[StoredName, str | None]]:
        """The identifiers that are selected, with the elements that are, and their states where these are asked for."""
        selection = self._selection
        changed = stored.ChangedSince(reader, selection.since) if selection.since else None
        needed = {"circulation", "elements", "alias"} | ({"events"} if changed is not None else set())
        only = None if self._form == "jsonl" else frozenset(needed)
        with_state = self._form == "jsonl" or bool(selection.state)
        for name in stored.stored_names(reader, selection.prefix, only=only):
            if not selection.complete and (not name.is_known or name.key.startswith(RULE_MARK)):
                continue
            if changed is not None and name not in changed:
                continue
            if selection.elements:
                name.elements = [pair for pair in name.elements if pair[0] in selection.elements]
                if not name.elements:
                    continue
            state = _state(reader, name) if with_state else None
            if selection.state and state != selection.state:
                continue
            self.count += 1
            yield name, state


def _not_written(error: OSError, path: str = "") -> StoreError:
    """The refusal of an export for which the disk has no room, or that of the temporary file."""
    reason = error.strerror or error
    if path:
        return StoreError(f"{path} could not be written: {reason}")
    return StoreError(f"no temporary file could be written ({reason}): make room, or set TMPDIR to a folder on another "
                      "disk")


def _state(reader: Reader, name: StoredName) -> str | None:
    record = name.record
    if record is not None and record.was_issued and not record.unusual and name.alias is None:
        return PUBLISHED_STATE  # as nearly all are
    return state_of(reader, name.key, record)


def _minter_lines(reader: Reader) -> Iterator[bytes]:
    for kind in stored.WHOLE:
        for key, value in stored.whole_rows(reader, kind):
            parts = split_pair(key) if kind == "rule" else (key,)
            yield jsonl.write_line({kind: [json_text(part) for part in (*parts, value)]})
    for kind in stored.OF_MINTER:
        for rest, value in stored.minter_rows(reader, kind):
            yield jsonl.write_line({kind: jsonl.row_data(rest, value)})


def _event_lines(reader: Reader, archives: Archives, wanted: bytearray | None, prefix: bytes) -> Iterator[bytes]:
    """All events, or those that are wanted, and the rows of bulk changes.

    An event that was moved to an archive is whole again, unless the archive cannot be read.
    """
    def is_wanted(number: int) -> bool:
        return wanted is None or (number >> 3 < len(wanted) and bool(wanted[number >> 3] & 1 << (number & 7)))

    for number, packed in stored.event_rows(reader):
        if is_wanted(number):
            whole = archives.whole(Event(number, packed))
            yield jsonl.write_line(event_data(Event(number, packed) if whole.archive else whole))
    for number, place, packed in stored.change_rows(reader):
        if is_wanted(number):
            edit = RecordedEdit.unpacked(place, packed)
            if edit.key.startswith(prefix):
                yield jsonl.write_line(edit_data(number, edit))
