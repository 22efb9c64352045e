"""Relations by URL."""

from __future__ import annotations

from support.minter import create_in_child, run_in_child
from support.wsgi import USER, CommandClient


def test_relations_by_url_and_as_json(tmp_path):
    create_in_child(tmp_path / "kt5")
    web = CommandClient(tmp_path)
    assert web("alias+old+new").status == 401
    assert web("alias+old+new", user=USER).text == "ok: old stands for new\n\n"
    assert web("alias+new+old", user=USER).status == 409
    assert web("synonym+new+hdl:1/2+--authority+me", user=USER, method="POST", body=b"").status == 200
    assert web("prefer+new", user=USER).status == 200
    reply = web("relations+new", accept="application/json")
    assert [record["relation"] for record in reply.json["records"]] == ["preferred", "synonym", "alias"]
    assert web("relations+nothing", accept="application/json").json == {"records": []}
    assert web("prefer+nothing", user=USER).status == 404
    done = web.post("alias x y\nalias y x\nalias --remove x\n")
    assert "3 commands, 2 done, 1 refused" in done.text
    assert [e["door"] for e in run_in_child(tmp_path / "kt5", "history", "old")] == [b"web"]
