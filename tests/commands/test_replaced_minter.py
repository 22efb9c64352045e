"""Another minter put in the place of one that is open."""

from __future__ import annotations

from support.minter import Noid


def test_another_minter_put_in_place_is_minted_from_by_its_own_rules(tmp_path):
    minter = Noid.created(tmp_path / "a", ".zd")
    Noid.created(tmp_path / "b", "nw.reedk").close()
    assert minter.mint() == ["0"]
    (tmp_path / "a" / "NOID").rename(tmp_path / "away")
    (tmp_path / "b" / "NOID").rename(tmp_path / "a" / "NOID")
    assert minter.mint()[0].startswith("nw")
    minter.close()
