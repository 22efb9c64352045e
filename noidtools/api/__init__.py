"""The Python interface: a minter with text in and out, typed results and the exceptions of `errors`.

It calls the same functions as the commands.  The functions of this module are public without `_minter`, as
`noidtools.open`, but for `noidtools.import_minter`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import IO

from ..errors import NoidError
from ..minter import Minter, copying, creation
from ..minter.copying import Copied, Restored
from ..minter.events import Actor, process_owner
from ..times import Clock, system_clock
from ..transfer.whole_import import import_whole
from .administration import AdministrationMethods, Path, opened
from .minter import BindingMethods, MintingMethods, SchemeName, Term, Text, ensure_count, to_bytes
from .names import NameMethods

__all__ = ["MinterMethods", "OpenMinter", "create_minter", "open_minter"]

# How events name this interface.
_INTERFACE = b"python"


class MinterMethods(MintingMethods, BindingMethods, NameMethods, AdministrationMethods):
    """All methods of a minter, which somebody else opens and closes."""


class OpenMinter(MinterMethods):
    """A minter to work with, made by `noidtools.open` or `noidtools.create`.

    Used in a `with` statement it is closed at the end.  Threads may share one; after a fork the child opens it
    again.  Text is accepted as str or bytes and returned as str.
    """

    def __enter__(self) -> OpenMinter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        # A minter that nobody closed must not keep its files open.
        with suppress(NoidError):
            self.close()

    def __repr__(self) -> str:
        state = "closed" if self._minter is None else repr(self._minter.dbdir)
        return f"<{type(self).__name__} {state}>"


def open_minter(
    path: Path, *, who: Text | None = None, clock: Clock = system_clock
) -> OpenMinter:
    """Open the minter in a folder.

    who    the actor, as events record it; by default the account that runs this process
    clock  the clock for events and labels

    Raises NoMinterError if there is none, StoreError if it cannot be used.
    """
    return OpenMinter(Minter(os.fspath(path)), _actor(who, clock))


def create_minter(
    path: Path, template: str = "", *, term: Term = "medium", naan: str = "", naa: str = "",
    subnaa: str = "", labels: Sequence[str] = (), scheme: SchemeName = "noid", seed: int | None = None,
    at_last: str | None = None, computer: str | None = None, ip: str | None = None, port: int | None = None,
    prefix: str | None = None, granularity: str | float | None = None, patience: str | float | None = None,
    store: str = "", read: str = "", who: Text | None = None, clock: Clock = system_clock,
) -> OpenMinter:
    """Create a minter in a folder, which is made if it does not exist, and open it.

    template  Prefix.Mask, such as f5.reedeedk; empty for a minter that only binds
    naan, naa, subnaa  the name assigning authority: number, name, and part of it
    labels    what may stand before identifiers, such as ark:/; the first is written before each
    scheme    how labels are made
    seed      noid: which quasi-random order
    at_last   noid: what happens when all are used: stop, wrap or addN
    computer, ip, port  ibi and ibip: the server's domain name or address, and its port
    prefix    pilin: the Handle prefix
    granularity, patience  schemes of time: seconds between labels, and seconds that one may be waited for
    store     the address of a PostgreSQL server that holds the minter; and with it
    read      that of a standby, at which resolvers read
    who, clock  as in `open_minter`

    Raises ConflictError if there is a minter already, UsageError or InvalidError for settings that are wrong.
    """
    options = {
        "seed": seed, "at-last": at_last, "computer": computer, "ip": ip, "port": port, "prefix": prefix,
        "granularity": granularity, "patience": patience,
    }
    values = {name: str(value) for name, value in options.items() if value is not None}
    values |= {"scheme": scheme, "template": template, "term": term, "naan": naan, "naa": naa, "subnaa": subnaa}
    settings = creation.new_settings(values, labels)
    actor = _actor(who, clock)
    return OpenMinter(creation.create(os.fspath(path), settings, actor, address=store, read=read), actor)


def import_minter(
    path: Path, source: Path | IO[bytes], *, store: str = "", who: Text | None = None, clock: Clock = system_clock
) -> OpenMinter:
    """Make a minter from a complete export, `export(history=True)`, and open it; `store` is as in `create_minter`.

    Raises InvalidError if the export is incomplete, damaged or was edited.
    """
    with opened(source) as file:
        return OpenMinter(import_whole(file, os.fspath(path), address=store)[0], _actor(who, clock))


def restore_minter(
    path: Path, source: Path, *, skip: int = 0, who: Text | None = None, clock: Clock = system_clock
) -> Restored:
    """Put a backup in the place of the minter in a folder; all that have it open go on with it.

    skip  draw and drop so many identifiers, for those that were minted after the backup
    """
    return copying.restore(os.fspath(path), os.fspath(source), _actor(who, clock), ensure_count(skip))


def copy_minter(
    source: Path, target: Path, *, move: bool = False, store: str = "", read: str = "", who: Text | None = None,
    clock: Clock = system_clock,
) -> Copied:
    """Copy the minter in a folder to another one, or to a database server, and compare both.

    move         take the minter away from where it was; if both folders are the same, the copy takes its place
    store, read  as in `create_minter`
    """
    return copying.copy_minter(os.fspath(source), os.fspath(target), _actor(who, clock), address=store, read=read,
                               move=move)


def _actor(who: Text | None, clock: Clock) -> Actor:
    return Actor(process_owner() if who is None else to_bytes(who), _INTERFACE, clock)
