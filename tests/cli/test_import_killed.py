"""An import that is killed leaves nothing that prevents another, and no half minter."""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path

import pytest

from support.killed import COMMITS, RENAMES, every_kill
from support.minter import Noid
from support.perl_dump import circulation, root_items, state_of, written

pytestmark = [pytest.mark.slow, pytest.mark.only("lmdb")]


@pytest.mark.parametrize(("kind", "stride"), [(RENAMES, 1), (COMMITS, 3)])
def test_a_killed_import_of_a_perl_minter_leaves_no_minter_and_can_be_repeated(tmp_path, kind, stride):
    generator, minted = state_of("f5.reedeedk", 1500, naan="13030", term="long")
    items = root_items(generator, "long")
    for number, identifier in enumerate(minted, 1):
        items |= {**circulation(identifier, number, date=b"2012%010d" % (number // 3)), identifier + b"\t:/h": b"1",
                  identifier + b"\t_t": b"https://a.example/" + identifier}
    dump, numbers = written(items), count()
    following = [identifier.decode() for identifier, _ in generator.draw(5)]

    def folder() -> Path:
        made = tmp_path / str(next(numbers))
        made.mkdir()
        (made / "dump").write_bytes(dump)
        return made

    for made in every_kill(folder, kind, "import", "perl", "dump", stride=stride):
        noid = Noid(made)
        if not (made / "NOID").exists():  # else it was complete before it was killed
            noid("import", "perl", "dump")
        assert sorted(os.listdir(made)) == ["NOID", "dump"]
        assert "nothing is wrong" in noid("check") and "\nDrawn: 1500\n" in noid("dbinfo")
        assert noid.ids(5) == following
