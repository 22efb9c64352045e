"""Backups of a minter, and minters made from them."""

from __future__ import annotations

from contextlib import suppress

from ..errors import BusyError, NoidError, StoreError
from ..schemes import MintRequest, scheme_for
from ..schemes.base import Settings
from ..store import open_store, restore_store
from ..times import system_clock, timestamp
from . import location_of, schema
from .events import record_event
from .tokens import all_tokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..store import Reader, Writer
    from . import Minter
    from .events import Actor

# How many identifiers are drawn at once to be skipped.
_CHUNK = 10_000


class Restored:
    """What a restore did.

    aside    where the minter lies that was replaced, None if there was none
    drawn    how many identifiers the restored minter has drawn, those that were skipped included
    skipped  how many of them were skipped
    timed    whether labels are made from the time, so that nothing needs to be skipped
    lost     how many identifiers the minter that was replaced had drawn beyond that; None if it cannot be told
    tokens   the names of valid tokens that the minter that was replaced does not have, as if they had been revoked
    """

    __slots__ = ("aside", "drawn", "skipped", "timed", "lost", "tokens")

    def __init__(self) -> None:
        self.aside: str | None = None
        self.drawn = self.skipped = 0
        self.timed = False
        self.lost: int | None = None
        self.tokens: list[bytes] = []


def back_up(minter: Minter, destination: str) -> int:
    """Write a backup, which appears complete or not at all; returns the number of items in it.

    The minter stores the time, for those who watch it, unless it cannot be written by this process.
    """
    date = timestamp(system_clock())
    items = minter.store.backup(destination)
    with suppress(StoreError, BusyError):
        minter.write(lambda writer: schema.set_last_backup(writer, date))
    return items


def restore(dbdir: str, source: str, actor: Actor, skip: int = 0) -> Restored:
    """Make a backup the minter in a folder, in place of the one there.

    The generator draws `skip` identifiers and drops them: they are neither held nor ever minted.  That is for those
    that were minted after the backup, of which the restored minter knows nothing.
    """
    done = Restored()
    location = location_of(dbdir)

    def adjust(writer: Writer) -> None:
        schema.note_move(writer, None)  # who restores a minter that was moved wants to use it here
        scheme = scheme_for(Settings.unpacked(schema.packed_settings(writer, source)))
        generator = schema.generator_of(scheme, writer)
        done.timed = scheme.timed
        done.skipped = 0
        request = MintRequest(actor.clock)
        while done.skipped < skip and not scheme.timed:
            drawn = generator.draw(min(skip - done.skipped, _CHUNK), request)
            if not drawn:
                break
            done.skipped += len(drawn)
        if done.skipped:
            schema.save_generator(writer, generator)
        done.drawn = generator.drawn
        done.tokens = [token.name for token in all_tokens(writer) if not token.is_expired()]
        record_event(writer, actor, b"restore", b"skipped %d" % done.skipped)

    done.aside = restore_store(location, source, adjust)
    if done.aside is not None:
        _compare(done, done.aside)
    return done


def _compare(done: Restored, aside: str) -> None:
    """Find out what is not as it was in the minter that was replaced, as far as that one can be read."""
    def work(reader: Reader) -> tuple[int, set[bytes]]:
        scheme = scheme_for(Settings.unpacked(schema.packed_settings(reader, aside)))
        return schema.generator_of(scheme, reader).drawn, {token.name for token in all_tokens(reader)}

    with suppress(NoidError):
        store = open_store(aside)
        try:
            drawn, known = store.read(work)
        finally:
            store.close()
        done.lost = max(0, drawn - done.drawn)
        done.tokens = [name for name in done.tokens if name not in known]
