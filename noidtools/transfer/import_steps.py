"""Imports of all lines of a file or none, in many small transactions, so that other writers hardly wait.

The whole import is rehearsed first, without a change that anybody sees: what is refused then has changed nothing.  Then
it is done under one event, which is open until the last line was imported.  If a line is refused after all, because
somebody has changed something since, or if the import is interrupted, the event is taken back.  If the process is
killed, the event stays open: the same import goes on with it, and `undo` takes it back.
"""

from __future__ import annotations

from ..errors import ConflictError, NoidError
from ..minter import open_changes
from ..minter.bulk_changes import MOST_BYTES, ChunkSize
from ..minter.importing import ImportPage, ImportRow
from .scratch import ScratchWriter
from .undo import IMPORTING, UNDOING_IMPORT, undo

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ..minter import Minter
    from ..minter.bulk_changes import BulkEvent
    from ..minter.events import Actor
    from ..store import Reader, Writer
    from .spooled_rows import SpooledRows

    Progress = Callable[[int, int, str], None]
    Add = Callable[[ImportPage], None]
    NewPage = Callable[[], ImportPage]

_REHEARSED_TOGETHER = 5000


class ImportSteps:
    """An import of rows; `new_page` makes the objects that write some of them."""

    def __init__(
        self, minter: Minter, actor: Actor, event: BulkEvent, digest: bytes, rows: SpooledRows, new_page: NewPage,
        progress: Progress | None = None,
    ) -> None:
        """`digest` is equal for imports of the same file with the same options."""
        event.parameters = IMPORTING + digest
        self._minter = minter
        self._actor = actor
        self._event = event
        self._digest = digest
        self._rows = rows
        self._new_page = new_page
        self._progress = progress

    def is_continued(self) -> bool:
        """Whether the same import was interrupted.  One that was being taken back is taken back to the end."""
        undone = self._minter.read(lambda reader: open_changes.open_change(reader, UNDOING_IMPORT + self._digest))
        if undone:
            undo(self._minter, self._actor, b"%d" % undone)
        return self._minter.read(self._event.opened) > 0

    def rehearse(self, add: Add) -> None:
        """Pass on to `add` what each page of rows would do; raises the refusal of the first line that is refused."""
        scratch = ScratchWriter()
        done = 0
        try:
            for rows, _ in pages(self._imported_rows(), lambda: _REHEARSED_TOGETHER):
                add(self._minter.read(lambda reader: self._rehearsed(scratch, reader, rows)))  # noqa: B023
                done += len(rows)
                self._show(done, "records checked")
        finally:
            scratch.close()

    def _rehearsed(self, scratch: ScratchWriter, reader: Reader, rows: list[ImportRow]) -> ImportPage:
        scratch.reader = reader
        page = self._new_page()
        page.write(scratch, self._event.opened(reader), rows)
        return page

    def run(self, add: Add) -> None:
        """Import all rows, and pass on to `add` what was done.

        Raises the refusal of a line, or KeyboardInterrupt, when all was taken back.
        """
        try:
            self._run(add)
        except (NoidError, KeyboardInterrupt) as error:
            self._take_back(error)
            raise

    def _run(self, add: Add) -> None:
        size = ChunkSize()
        done = 0
        for rows, last in pages(self._imported_rows(), lambda: size.size):
            page = self._event.write(
                lambda writer, number: self._written(writer, number, rows, last=last), last=last)  # noqa: B023
            if page is None:
                raise ConflictError(f"event {self._event.number} was ended by another process, which imported the same "
                                    "file or took it back: import the file again to be sure")
            add(page)
            size.adapt(page.weight, page.seconds)
            done += len(rows)
            self._show(done, "records written")

    def _written(self, writer: Writer, number: int, rows: list[ImportRow], *, last: bool) -> ImportPage:
        page = self._new_page()
        page.write(writer, number, rows)
        if last:
            open_changes.forget_records_before(writer, number)
        return page

    def _take_back(self, error: BaseException) -> None:
        number = self._minter.read(self._event.opened)
        if number:
            undo(self._minter, self._actor, b"%d" % number)
            if isinstance(error, NoidError):
                error.message += f"; what was imported until then was taken back (event {number})"

    def _imported_rows(self) -> Iterator[ImportRow]:
        return map(ImportRow.from_fields, self._rows)

    def _show(self, done: int, remark: str) -> None:
        if self._progress:
            self._progress(done, len(self._rows) + 1, remark)


def pages(rows: Iterable[ImportRow], most: Callable[[], int]) -> Iterator[tuple[list[ImportRow], bool]]:
    """The rows in lists for one transaction each, and whether a list is the last: about `most` of names and bindings,
    and few bytes."""
    page: list[ImportRow] = []
    weight = size = 0
    for row in rows:
        if weight >= most() or size >= MOST_BYTES:
            yield page, False
            page, weight, size = [], 0, 0
        page.append(row)
        weight += row.weight
        size += row.size
    if page:
        yield page, True
