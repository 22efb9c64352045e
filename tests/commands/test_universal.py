"""verify of the quality universal: no other name leads to the same address."""

from __future__ import annotations

import pytest

from support.minter import Noid

pytestmark = pytest.mark.only("lmdb")
SAME = "https://Library.example/1"


@pytest.fixture
def minter(tmp_path):
    made = Noid.created(tmp_path, "kt.sd", "medium", "13030")
    made("mint", "5")
    for label, target in (("kt0", SAME), ("kt1", "https://library.example/2"), ("kt2", "303 https://library.EXAMPLE/1"),
                          ("kt3", "https://library.example/3|https://library.example/1")):
        made.set_target(f"13030/{label}", target)
    yield made
    made.close()


def verdict(minter: Noid, *words: str) -> list[str]:
    printed = minter.run("verify", *words).stdout.decode()
    return [line for line in printed.splitlines() if line.startswith("universal") and "(8.5)" in line]


def test_two_names_of_one_target_are_found_where_one_is_stated_to_be_universal(minter):
    assert verdict(minter, "13030/kt0") == []
    minter("quality", "state", "universal", "13030/kt0", "--authority", "Me")
    minter("quality", "deny", "universal", "13030/kt2", "--authority", "Me")
    found = ["universal: fails (8.5): 13030/kt2 leads to the same address, and 1 more do"]
    assert verdict(minter, "13030/kt0") == found and verdict(minter, "13030/kt2") == []
    assert minter.run("verify", "13030/kt0").returncode == 1
    minter("bind", "set", "13030/kt2", "_t", "https://elsewhere.example/")
    minter("withdraw", "13030/kt3")
    assert verdict(minter, "13030/kt0") == ["universal: holds (8.5)"], "a withdrawn name leads nowhere"


def test_every_name_is_verified_when_it_is_asked_for(minter):
    assert verdict(minter, "13030/kt1", "--quality", "universal") == ["universal: holds (8.5)"]
    assert verdict(minter, "13030/kt4", "--quality", "universal") == [
        "universal: unknown (8.5): it leads to no address that others could lead to"]
    printed = minter.run("verify", "--quality", "universal").stdout.decode()
    assert printed.count("universal: fails (8.5)") == 3 and "universal: 1 hold, 3 fail, 1 unknown" in printed


def test_an_alias_is_no_second_name(minter):
    minter("alias", "13030/second", "13030/kt1")
    assert verdict(minter, "13030/kt1", "--quality", "universal") == ["universal: holds (8.5)"]


def test_what_is_recorded_is_shown_and_names_that_are_hidden_are_not(minter):
    from noidtools.api import MinterMethods
    from noidtools.minter.events import Actor

    minter("quality", "state", "universal", "13030/kt0", "--authority", "Me")
    minter.run("verify", "13030/kt0", "--record")
    api = MinterMethods(minter.opened, Actor(b"me", b"test"))
    (result,) = api.verify("13030/kt0")
    assert [finding.verdict for finding in result.findings if finding.quality == "universal"] == ["fails"]
    minter("reserve", "13030/kt2")
    minter("reserve", "13030/kt3")
    assert verdict(minter, "13030/kt0") == ["universal: holds (8.5)"], "what is reserved leads nowhere yet"
