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
    assert web("prefer+new", user=USER).status == 409
    assert web("quality+state+persistent+new+--authority+me", user=USER).status == 200
    assert web("prefer+new", user=USER).status == 200
    reply = web("relations+new", accept="application/json")
    assert [record["relation"] for record in reply.json["records"]] == ["preferred", "synonym", "alias"]
    assert web("relations+nothing", accept="application/json").json == {"records": []}
    assert web("prefer+nothing", user=USER).status == 404
    done = web.post("alias x y\nalias y x\nalias --remove x\n")
    assert "3 commands, 2 done, 1 refused" in done.text
    assert [e["interface"] for e in run_in_child(tmp_path / "kt5", "history", "old")] == ["web"]


def test_abstract_names_and_claims_by_url(tmp_path):
    create_in_child(tmp_path / "kt5", "--label", "hdl:100/", ".sdd")
    web = CommandClient(tmp_path)
    web("mint+1", user=USER)
    assert web("abstract+context+Library+--authority+me").status == 401
    assert web("abstract+context+Library+--authority+me", user=USER).status == 200
    assert web("abstract+identifier+Library:00+--authority+me", user=USER).status == 200
    assert web("relate+hdl:100+realises+Library+--authority+me", user=USER).text == (
        "ok: hdl:100 realises Library according to me\n\n")
    assert web("relate+00+realises+Library:00+--authority+me", user=USER).status == 200
    assert web("relate+00+realises+Library:01+--authority+me", user=USER).status == 409
    reply = web("same+hdl:100/00+Library:00", accept="application/json")
    assert reply.json["records"][0]["senses"] == [
        "realisation (7.1): hdl:100/00 realises Library:00, according to me"]
    assert [record["abstract"] for record in web("abstract", accept="application/json").json["records"]] == [
        "Library", "Library:00"]
