"""The minters that a resolver serves, and what each of them answers for."""

from __future__ import annotations

import os
from _thread import allocate_lock
from time import monotonic

from ..domains import Domain
from ..exceptions import NoidError
from ..minter import FOLDER
from .minters import OneMinter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..minter import Minter
    from .minters import Minters

# How long a minter that was added to the folder may go unnoticed.
_LOOKED_AT_EVERY = 1.0


class Catalogue:
    def __init__(self, minters: Minters) -> None:
        self._minters = minters
        self._lock = allocate_lock()
        self._looked = -_LOOKED_AT_EVERY
        self._domains: dict[str, tuple[Minter, Domain]] = {}
        # Minters that are there but cannot be read, and why.
        self.faults: dict[str, NoidError] = {}

    def domains(self) -> list[Domain]:
        if self._is_old():
            with self._lock:
                if self._is_old():  # and no other thread has looked while this one waited
                    self._look()
                    self._looked = monotonic()
        return [domain for _, domain in self._domains.values()]

    def _is_old(self) -> bool:
        return monotonic() - self._looked >= _LOOKED_AT_EVERY

    def _look(self) -> None:
        """See what is in the folder; what was found before serves other threads until all of it is known."""
        found: dict[str, tuple[Minter, Domain]] = {}
        faults = {}
        for name, dbdir in self._dbdirs():
            try:
                minter = self._minters.open(dbdir, name)
            except NoidError as error:
                faults[name] = error
                continue
            known = self._domains.get(name)
            found[name] = known if known and known[0] is minter else (minter, self._domain(name, dbdir, minter))
        self._domains, self.faults = found, faults

    def _domain(self, name: str, dbdir: str, minter: Minter) -> Domain:
        return Domain(name, minter, lambda: self._minters.open(dbdir, name))

    def _dbdirs(self) -> list[tuple[str, str]]:
        if isinstance(self._minters, OneMinter):
            return [(self._minters.name, self._minters.folder)]
        folder = self._minters.folder
        if not os.path.isdir(folder):
            return []
        names = sorted(name for name in os.listdir(folder) if not name.startswith("."))
        return [(name, os.path.join(folder, name)) for name in names
                if os.path.exists(os.path.join(folder, name, FOLDER, "data.mdb"))]
