"""The minter in whose folder the examples of help are run: a few names, one of which is described."""

from __future__ import annotations

from pathlib import Path

from support.minter import Noid

DESCRIBED, FURTHER, DRAFT = "13030/kt4x551", "13030/kt154d9", "13030/ktwd3s9"
_ELEMENTS = b"title: On the origin of species\nwho: Darwin\nwhen: 1859\n_t: https://library.example/kt4x551\n\n"


def make_demo_minter(folder: Path) -> None:
    noid = Noid(folder)
    noid("dbcreate", "kt.reeded", "long", "13030", "cdlib.org", "dpg")
    assert noid.ids(3) == [DESCRIBED, FURTHER, DRAFT]
    noid("bind", "set", DESCRIBED, ":", stdin=_ELEMENTS)
    noid.close()
