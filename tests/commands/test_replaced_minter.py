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
def test_an_open_minter_goes_on_when_it_is_moved_to_another_engine_and_back(tmp_path):
    Noid.created(tmp_path / "a", ".zd").close()
    minter = noidtools.open(str(tmp_path / "a"))
    try:
        given = minter.mint(1)
        for words in (["--store", postgres_address()], [], ["--store", postgres_address()], []):
            NoidProcess(tmp_path)("copy", "a", "a", *words)
            minter.bind(given[0], "_t", f"https://{len(given)}.example/")
            assert minter.get(given[0], "_t") == f"https://{len(given)}.example/"
            given += minter.mint(1)
            NoidProcess(tmp_path)("copy", "a", "a", *words)
            assert minter.get(given[0], "_t") == f"https://{len(given) - 1}.example/"
        assert given == ["0", "1", "2", "3", "4"]
    finally:
        minter.close()
