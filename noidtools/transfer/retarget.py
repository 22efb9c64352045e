"""Replaces the common beginning of many targets."""

from __future__ import annotations

import hashlib
from time import perf_counter

from ..codec import pack
from ..errors import InvalidError, NoidError
from ..minter import open_changes
from ..minter.bindings import all_rules
from ..minter.bulk_changes import MOST_BYTES, Applied, BulkEvent, ChunkSize, Edit, Unchanged, apply_edits, decided
from ..minter.circulation import bindings_after
from ..minter.events import read_event
from ..names.targets import replace_beginning
from .spooled_rows import SpooledRows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..minter import Minter
    from ..minter.bulk_changes import LeftAlone
    from ..minter.events import Actor
    from ..store import Reader, Writer

    Progress = Callable[[int, int, str], None]

# How many bindings are read in one transaction in search of those to change.
_READ_TOGETHER = 20_000


class BulkReport:
    """What a bulk change did.

    number     of its event, 0 if nothing was changed
    changed    how many bindings
    left       which bindings were left as they are although they were meant: identifier, element, reason
    continued  whether an interrupted change was continued
    """

    __slots__ = ("number", "changed", "left", "continued")

    def __init__(self) -> None:
        self.number = self.changed = 0
        self.left = SpooledRows()
        self.continued = False

    def add(self, done: Applied) -> None:
        """Add what one transaction did."""
        self.changed += done.changed
        for left in done.left:
            self.add_skipped(left.key, left.element, left.reason)

    def add_skipped(self, key: bytes, element: bytes, reason: str) -> None:
        self.left.add((key, element, reason.encode()))


class Retargeting:
    """A change of all values of an element that begin with one address, so that they begin with another.

    old, new  the addresses
    element   the element that holds the targets
    prefix    only under identifiers that begin with this
    """

    def __init__(self, minter: Minter, old: bytes, new: bytes, element: bytes, prefix: bytes = b"") -> None:
        if not old:
            raise InvalidError("--from is empty: name the address with which the targets begin")
        if old == new:
            raise InvalidError("--from and --to are the same, so there is nothing to change")
        self._minter = minter
        self._old = old
        self._new = new
        self._element = element
        self._prefix = prefix

    def preview(self) -> Iterator[Edit | LeftAlone]:
        """The changes that would be made, and what would be left, page by page, each as it is stored when it is
        read."""
        after: bytes | None = None
        while True:
            done, after = self._minter.read(lambda reader: self._previewed(reader, after))  # noqa: B023
            yield from done.edits
            yield from done.left
            if after is None:
                return

    def _previewed(self, reader: Reader, after: bytes | None) -> tuple[Applied, bytes | None]:
        edits, following = self._page(reader, after, _READ_TOGETHER)
        return decided(reader, open_changes.open_change(reader, self._parameters), edits, self._decide), following

    def rules(self) -> int:
        """How many rules contain the old address; they are left as they are."""
        return self._minter.read(lambda reader: sum(self._old in value for _, _, value in all_rules(reader)))

    def run(self, actor: Actor, *, name: bytes = b"", progress: Progress | None = None) -> BulkReport:
        """Make the changes, under one event.

        A run of the same change that was interrupted is continued: what it has changed is passed over, unless it was
        changed since.  Other writers wait for a fraction of a second at most.
        """
        total = sum(isinstance(each, Edit) for each in self.preview()) if progress else 0
        event = BulkEvent(self._minter, actor, b"retarget", b"from " + self._old, b"to " + self._new,
                          b"element " + self._element, *([b"prefix " + self._prefix] if self._prefix else []),
                          *([b"name " + name] if name else []), name=name, parameters=self._parameters)
        report = BulkReport()
        report.continued = self._minter.read(event.opened) > 0
        try:
            self._run_chunks(event, report, lambda: progress and progress(
                min(report.changed, total - 1), total, f"event {event.number}"))
        except KeyboardInterrupt:
            raise NoidError(self._interrupted()) from None
        finally:
            if progress:
                progress(1, 1, "")
        report.number = event.number
        return report

    def _run_chunks(self, event: BulkEvent, report: BulkReport, step: Callable[[], object]) -> None:
        size = ChunkSize()
        place: bytes | None = None
        while True:
            # Those to change are found in read transactions, for which no writer has to wait.
            edits, place = self._minter.read(lambda reader: self._page(reader, place, size.size))  # noqa: B023
            if edits or (place is None and (event.number or report.continued)):
                done = event.write(self._work(edits, size), last=place is None)
                if done is None:
                    return
                report.add(done)
                step()
            if place is None:
                return

    def _work(self, edits: list[Edit], size: ChunkSize) -> Callable[[Writer, int], Applied]:
        """The work of one transaction."""
        def work(writer: Writer, number: int) -> Applied:
            began = perf_counter()
            done = apply_edits(writer, number, edits, self._decide)
            size.adapt(len(edits), perf_counter() - began)
            return done

        return work

    def _interrupted(self) -> str:
        """What a user needs to know after an interruption, which may have come between a commit and its counting."""
        def read(reader: Reader) -> tuple[int, int]:
            opened = open_changes.open_change(reader, self._parameters)
            event = read_event(reader, opened) if opened else None
            return (event.number, event.bulk or 0) if event else (0, 0)

        number, changed = self._minter.read(read)
        if not number:
            return "interrupted: either nothing was changed, or all: 'noid log' has the event in that case"
        return (f"interrupted after {changed} bindings: say the same again to go on, or 'noid undo {number}' to take "
                "them back")

    @property
    def _parameters(self) -> bytes:
        return hashlib.sha256(pack((self._old, self._new, self._element, self._prefix))).digest()

    def _page(self, reader: Reader, after: bytes | None, most: int) -> tuple[list[Edit], bytes | None]:
        """Up to `most` bindings to change behind a place; and the place to go on from, None at the end."""
        edits: list[Edit] = []
        size = 0
        bindings = bindings_after(reader, self._element, prefix=self._prefix, after=after)
        for read, (place, identifier, value) in enumerate(bindings, 1):
            if value is not None:
                new = replace_beginning(value, self._old, self._new)
                if new != value:
                    edits.append(Edit(identifier, self._element, value, new))
                    size += len(value)
            if len(edits) == most or size >= MOST_BYTES or read == _READ_TOGETHER:
                return edits, place
        return edits, None

    def _decide(self, edit: Edit, current: bytes | None) -> bytes | None | Unchanged:
        # Somebody may have bound another value since the page was read.
        return Unchanged() if current is None else replace_beginning(current, self._old, self._new)
