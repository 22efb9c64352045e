"""The command policy: who may do what."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.minter import create_in_child, run_in_child


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
