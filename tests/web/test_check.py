"""check by URL."""

from __future__ import annotations

from pathlib import Path

from support.minter import Noid
from support.wsgi import USER, CommandClient


def test_canary_asks_other_servers_only_from_the_shell_and_check_is_for_the_shell(tmp_path: Path, noid: Noid) -> None:
    (tmp_path / "kt5").mkdir()
    noid("-f", "kt5", "dbcreate", "kt.reeded")
    noid("-f", "kt5", "policy", "admin", USER)
    web = CommandClient(tmp_path)
    assert web("resolver+canary+kt4x551+x", user=USER).status == 200
    refused = web("canary+--through+http://127.0.0.1:1/", user=USER)
    assert refused.status == 403 and "only be used at the shell" in refused.text
    for query in ("check", "check+--repair"):
        assert web(query, user=USER).status == 403
