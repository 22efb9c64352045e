"""Who may give which command by URL."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.minter import create_in_child, run_in_child
from support.wsgi import CommandClient


@pytest.fixture
def kt5(tmp_path: Path) -> Path:
    create_in_child(tmp_path / "kt5", "kt.reeded")
    return tmp_path / "kt5"


def test_a_change_of_policy_takes_effect_with_the_next_request(kt5: Path) -> None:
    web = CommandClient(kt5.parent)
    assert web("mint+1").status == 401
    run_in_child(kt5, "policy", "mint", "anyone")
    assert web("mint+1").status == 200
    run_in_child(kt5, "policy", "mint", "nobody")
    closed = web("mint+1")
    assert closed.status == 401 and closed.headers["www-authenticate"] == 'Bearer realm="noid"'
    assert web("mint+1", user="alice").status == 403
    run_in_child(kt5, "policy", "mint", "bob")
    assert web("mint+1").status == 401
    assert web("mint+1", user="alice").status == 403
    assert web("mint+1", user="bob").status == 200
    run_in_child(kt5, "policy", "read", "authenticated")
    assert web("get+x").status == 401
    assert web("get+x", user="carol").status == 404


def test_the_policy_itself_is_for_administrators(kt5: Path) -> None:
    web = CommandClient(kt5.parent)
    run_in_child(kt5, "policy", "admin", "root")
    assert web("policy").status == 401
    assert web("policy+mint+anyone", user="alice").status == 403
    assert "mint: anyone" in web("policy+mint+anyone", user="root").text
    assert web("policy+mint+anyone+bob", user="root").status == 400
    assert web("policy+dance+bob", user="root").status == 400
