"""Custodians by URL."""

from __future__ import annotations

from support.minter import create_in_child, run_in_child
from support.wsgi import USER, CommandClient


def test_anyone_may_read_custodians_by_url_and_administrators_change_them(tmp_path):
    create_in_child(tmp_path / "kt5", "x.sd")
    run_in_child(tmp_path / "kt5", "mint", "1")
    web = CommandClient(tmp_path)
    assert web("custodian+set+Jane").status == web("custodian+remove+x0").status == 401
    assert web("custodian+set+Jane+--contact+jane@example.org+x0", user=USER).status == 200
    (record,) = web("custodian+x0", accept="application/json").json["records"]
    assert (record["custodian"], record["contact"]) == ("Jane", "jane@example.org")
    assert web("custodian+history+x0").status == 200
    assert web("custodian+--+set+Kim").status == 401
    assert web("policy+persistence+always", user=USER).text.startswith("persistence: always\n")
    assert web("policy+persistence+never").status == 401
