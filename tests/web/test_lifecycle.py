"""Reserving, publishing and withdrawing by URL."""

from __future__ import annotations

from support.minter import Noid, create_in_child, run_in_child
from support.wsgi import USER, CommandClient, resolver_of


def test_an_identifier_is_reserved_published_and_withdrawn_by_url_and_in_bulk(tmp_path):
    create_in_child(tmp_path / "kt5", "x.sdd")
    run_in_child(tmp_path / "kt5", "mint", "3")
    web = CommandClient(tmp_path)
    assert web("reserve+x00").status == 401
    assert web("reserve+x00", user=USER).text == "id: x00\nState: reserved\n\n"
    reply = web("publish+x00", user=USER, accept="application/json")
    assert reply.json == {"records": [{"id": "x00", "state": "published"}]}
    reply = web("withdraw+x00+--reason+a%20b%2Bc+--successor+x01", user=USER, accept="application/json")
    assert reply.json["records"][0] | {"withdrawn": ""} == {
        "id": "x00", "state": "withdrawn", "withdrawn": "", "reason": "a b+c", "successor": "x01"}
    assert web("publish+x00", user=USER).status == 409
    assert web("withdraw+x77", user=USER).status == 404
    fetched = web("fetch+x00", accept="application/json").json
    assert fetched["records"][0]["state"] == "withdrawn"
    done = web.post("reserve x01\nwithdraw x02 --reason 'no more'\npublish x02\npublish x01\n")
    assert "bulk: 4 commands, 3 done, 1 refused" in done.text


def test_withdrawing_is_for_administrators(tmp_path):
    create_in_child(tmp_path / "kt5", "x.sdd")
    for words in (["mint", "1"], ["policy", "bind", "anyone"], ["policy", "admin", "boss"]):
        run_in_child(tmp_path / "kt5", *words)
    web = CommandClient(tmp_path)
    assert web("reserve+x00").status == 200
    assert web("withdraw+x00", user=USER).status == 403
    assert web("withdraw+x00", user="boss").status == 200


def test_a_withdrawn_identifier_answers_with_its_tombstone_by_url(tmp_path):
    create_in_child(tmp_path / "kt5", "x.sdd")
    web = CommandClient(tmp_path)
    web("mint+2+_t+https:%2F%2Fa.example%2F", user=USER)
    web("withdraw+x00+--reason+twice+--successor+x01", user=USER)
    assert web("get+x00+_t").status == web("get+x00").status == web("fetch+x00+_t").status == 410
    assert web("resolve+x00").status == web("resolve+x00/page").status == 410
    assert "x00 was withdrawn on " in web("get+x00+_t").text and "a.example" not in web("get+x00").text
    fetched = web("fetch+x00")
    assert fetched.status == 200 and "State: withdrawn\n" in fetched.text and "a.example" not in fetched.text
    assert web("tombstone+x00").text.splitlines()[-3:-1] == ["Reason: twice", "Successor: x01"]
    assert web("tombstone+x00+--reason+mine").status == 401
    for words in ("bind+set+x00+a+b", "synonym+x00+y+--authority+me", "withdraw+x00", "custodian+set+Kim+x00"):
        assert web(words, user=USER).status == 409, words


def test_an_unavailable_name_is_404_with_a_page_that_says_why(tmp_path):
    minter = Noid.with_clock(tmp_path, "x.sdd")
    minter.records("mint", "1", "_t", "https://a.example/")
    minter.records("unavailable", "x00", "--reason", "being repaired")
    resolver = resolver_of(minter)
    page = resolver("/x00", HTTP_ACCEPT="text/html")
    assert page.status == 404 and "being repaired" in page.text and "This has not been available since 2" in page.text
    assert "Location" not in page.headers and resolver("/x00?info").status == 200
    minter.records("publish", "x00")
    assert resolver("/x00").status == 302
    minter.close()


def test_who_may_bind_may_make_a_name_unavailable(tmp_path):
    create_in_child(tmp_path / "kt5", "x.sdd")
    run_in_child(tmp_path / "kt5", "mint", "1")
    web = CommandClient(tmp_path)
    assert web("unavailable+x00").status == 401
    reply = web("unavailable+x00+--reason+being%20repaired", user=USER, accept="application/json")
    assert reply.json["records"][0]["state"] == "unavailable"
