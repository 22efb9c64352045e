"""Another minter put in the place of one that is open."""

from __future__ import annotations

import pytest

import noidtools
from support.minter import Noid
from support.postgres import postgres_address
from support.process import NoidProcess


def test_another_minter_put_in_place_is_minted_from_by_its_own_rules(tmp_path):
    minter = Noid.created(tmp_path / "a", ".zd")
    Noid.created(tmp_path / "b", "nw.reedk").close()
    assert minter.mint() == ["0"]
    (tmp_path / "a" / "NOID").rename(tmp_path / "away")
    (tmp_path / "b" / "NOID").rename(tmp_path / "a" / "NOID")
    assert minter.mint()[0].startswith("nw")
    minter.close()


@pytest.mark.servers
@pytest.mark.only("lmdb")
def test_an_open_minter_that_is_moved_to_another_engine_says_so(tmp_path):
    Noid.created(tmp_path / "a", ".zd").close()
    with noidtools.open(str(tmp_path / "a")) as minter:
        assert minter.mint(1) == ["0"]
        NoidProcess(tmp_path)("copy", "a", "a", "--store", postgres_address())
        for call in (lambda: minter.mint(1), lambda: minter.get("0", "_t")):
            with pytest.raises(noidtools.StoreError, match="was moved .* restart this program"):
                call()
    with noidtools.open(str(tmp_path / "a")) as minter:
        assert minter.mint(1) == ["1"]
