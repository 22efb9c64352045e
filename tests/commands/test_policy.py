"""The command policy: who may do what."""

from __future__ import annotations

from pathlib import Path

import pytest

from noidtools.errors import ConflictError
from noidtools.minter.events import Actor
from noidtools.minter.policies import READ, AccessRule, set_access
from noidtools.store import Writer
from support.minter import Noid, create_in_child, run_in_child
from support.templates import LONG_TERM


@pytest.fixture
def kt5(tmp_path: Path) -> Path:
    create_in_child(tmp_path / "kt5", "kt.reeded")
    return tmp_path / "kt5"


def test_the_policy_is_shown_and_changed_by_a_command(kt5: Path) -> None:
    defaults = {"read": b"anyone", "mint": b"authenticated", "bind": b"authenticated", "admin": b"authenticated"}
    assert run_in_child(kt5, "policy")[0] == defaults
    assert run_in_child(kt5, "policy", "mint", "bob", "alice") == [{"mint": b"alice bob"}]
    assert run_in_child(kt5, "policy", "admin", "user:nobody") == [{"admin": b"user:nobody"}]
    assert run_in_child(kt5, "policy")[0] == {**defaults, "mint": b"alice bob", "admin": b"user:nobody"}
    assert run_in_child(kt5, "policy", "mint", "default") == [{"mint": b"authenticated"}]


def test_access_rules_hold_from_the_change_on_also_before_its_commit(tmp_path: Path) -> None:
    noid = Noid.created(tmp_path / "kt6", *LONG_TERM)
    minter, actor = noid.opened, Actor(b"x", b"test")
    assert minter.access_policy().rules[READ].word == b"anyone"
    for audience in (b"nobody", b"authenticated", b"anyone"):
        def change(writer: Writer, audience: bytes = audience) -> bytes:
            set_access(writer, actor, READ, AccessRule(audience))
            return minter.access_policy().rules[READ].word

        assert minter.write(change) == audience
        for _ in range(2):
            assert minter.access_policy().rules[READ].word == audience

    def refused(writer: Writer) -> None:
        change(writer, b"nobody")
        raise ConflictError("undone")

    with pytest.raises(ConflictError):
        minter.write(refused)
    assert minter.access_policy().rules[READ].word == b"anyone"
    noid.close()
