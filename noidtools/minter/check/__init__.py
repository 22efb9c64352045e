"""Examination of a minter's database, as a file system check does it, and repair of what it finds.

All tables are read in one transaction, so what is compared belongs to one moment, while others go on reading and
writing.
"""

from __future__ import annotations

from ...errors import NoidError
from ...store import Reader, Writer
from .. import Minter, schema
from ..events import Actor, record_event
from ..history import Archives
from ..schema import ALL_TABLES
from . import content, history, names
from .examination import Examination, Fault, Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...console import Progress


def examine(minter: Minter, progress: Progress | None = None) -> Result:
    """Examine the whole database, and the archives of events.  Raises StoreError if the engine finds it damaged."""
    def work(reader: Reader) -> Result:
        return _examined(Examination(minter, reader, progress, Archives(minter.dbdir, reader)))

    return minter.read(work)


def examine_new(minter: Minter, reader: Reader, progress: Progress | None = None) -> Result:
    """Examine a database that is being made; its archives may be on another machine."""
    return _examined(Examination(minter, reader, progress))


def _examined(examination: Examination) -> Result:
    _check_generator(examination)
    for module in (names, history, content):
        for check in module.CHECKS:
            check(examination)
    _check_tables(examination)
    return examination.result


def examine_and_repair(
    minter: Minter, actor: Actor, progress: Progress | None = None
) -> tuple[Result, list[Fault]]:
    """Examine the database and mend what can be mended, as long as that finds more.

    Returns what is still wrong, and what was mended.
    """
    mended: list[Fault] = []
    while True:
        result = examine(minter, progress)
        todo = [fault for fault in result.faults if fault.mend is not None]
        if not todo:
            return result, mended
        done = minter.write(lambda writer: _mend_all(writer, actor, todo))  # noqa: B023 - run before the loop goes on
        if not done:
            return result, mended
        mended += done


def _mend_all(writer: Writer, actor: Actor, faults: list[Fault]) -> list[Fault]:
    """Mend faults that are still there, and record that; returns those that were."""
    mended = [fault for fault in faults if fault.mend is not None and fault.mend(writer)]
    if mended:
        record_event(writer, actor, b"check repair",
                     *(fault.sentence.encode("utf-8", "surrogateescape") for fault in mended))
    return mended


def _check_generator(examination: Examination) -> None:
    """Whether the state of the generator can be continued; others compare records with it."""
    try:
        generator = schema.generator_of(examination.minter.scheme, examination.reader)
        generator.state()
    except (NoidError, ValueError, IndexError, ArithmeticError, AssertionError) as error:
        examination.report(f"the state of the generator is damaged ({type(error).__name__}), so that nothing can be "
                           "minted: restore a backup")
        return
    examination.generator = generator
    fault = generator.fault(imported=examination.imported)
    if fault:
        examination.report(f"the state of the generator is damaged: {fault}; restore a backup")


def _check_tables(examination: Examination) -> None:
    """Whether there is anything that this release does not know."""
    # Tables have printable names; an engine may use others for itself.
    for number in range(0x21, 0x7F):
        table = bytes((number,))
        if table not in ALL_TABLES and next(examination.reader.scan(table, limit=1), None) is not None:
            examination.report(f"there is a table {table!r} that this release does not know: a newer one has written "
                               "it, so use that")
