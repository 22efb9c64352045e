"""Backups of a minter, and minters made from them."""

from __future__ import annotations

from ..schemes import MintRequest, scheme_for
from ..schemes.settings import Settings
from ..store import restore_store
from . import location_of, meta
from .events import record_event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..store import Writer
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
    """

    __slots__ = ("aside", "drawn", "skipped", "timed")

    def __init__(self) -> None:
        self.aside: str | None = None
        self.drawn = self.skipped = 0
        self.timed = False


def back_up(minter: Minter, destination: str) -> int:
    """Write a backup, which appears complete or not at all; returns the number of items in it."""
    return minter.store.backup(destination)


def restore(dbdir: str, source: str, actor: Actor, skip: int = 0) -> Restored:
    """Make a backup the minter in a folder, in place of the one there.

    The generator draws `skip` identifiers and drops them: they are neither held nor ever minted.  That is for those
    that were minted after the backup, of which the restored minter knows nothing.
    """
    done = Restored()
    location = location_of(dbdir)

    def adjust(writer: Writer) -> None:
        scheme = scheme_for(Settings.unpacked(meta.packed_settings(writer, source)))
        generator = meta.generator_of(scheme, writer)
        done.timed = scheme.timed
        done.skipped = 0
        request = MintRequest(actor.clock)
        while done.skipped < skip and not scheme.timed:
            drawn = generator.draw(min(skip - done.skipped, _CHUNK), request)
            if not drawn:
                break
            done.skipped += len(drawn)
        if done.skipped:
            meta.save_generator(writer, generator)
        done.drawn = generator.drawn
        record_event(writer, actor, b"restore", b"skipped %d" % done.skipped)

    done.aside = restore_store(location, source, adjust)
    return done
