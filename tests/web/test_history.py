"""The history and the log by URL."""

from __future__ import annotations

from support.minter import create_in_child, run_in_child
from support.wsgi import USER, CommandClient


def test_history_and_log_are_available_by_url_as_text_and_json(tmp_path):
    create_in_child(tmp_path / "kt5", "x.sdd")
    run_in_child(tmp_path / "kt5", "mint", "1")
    web = CommandClient(tmp_path)
    assert web("bind+set+x00+e+v", user=USER).status == 200
    records = web("history+x00", user=USER, accept="application/json").json["records"]
    assert [(r["what"], r["interface"], r["who"]) for r in records] == [
        ("mint", "shell", "shell"), ("bind set", "web", "alice@192.0.2.7")]
    assert web("history+x00+--json").text.count("\n") == 2
    assert web("history+x55").status == 404
    assert web("log").status == 401
    assert [r["event"] for r in web("log+--since+1", user=USER, accept="application/json").json["records"]] == [2, 3]
    refused = web("log+--follow", user=USER)
    assert refused.status == 400 and "for the shell" in refused.text
