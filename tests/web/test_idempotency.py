"""Requests with an Idempotency-Key: repeated, they give the first answer again."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest

from noidtools.commands import Call, Session
from noidtools.commands.idempotency import IdempotentRun
from noidtools.minter import Minter, minting, replies
from noidtools.minter.events import Actor
from noidtools.minter.schema import REPLIES
from support.clock import SettableClock
from support.minter import create_in_child, run_in_child
from support.wsgi import USER, CommandClient, command_environment

DAY = 24 * 60 * 60


def keyed(key: str, **variables: object) -> dict:
    return {"user": USER, "HTTP_IDEMPOTENCY_KEY": key, **variables}


def test_a_repeated_mint_gives_the_first_answer_again(web: CommandClient) -> None:
    first = web("mint+3", **keyed("k1"))
    again = web("mint+3", **keyed("k1"))
    assert first.text == again.text and len(first.ids) == 3
    assert "idempotency-replayed" not in first.headers and again.headers["idempotency-replayed"] == "true"
    assert web("mint+3", **keyed('"k1"')).ids == first.ids
    assert web("mint+3", **keyed("k1", method="POST")).ids == first.ids
    json = web("mint+3", **keyed("k1", accept="application/json")).json
    assert [record["id"] for record in json["records"]] == first.ids
    assert not {*first.ids} & {*web("mint+3", **keyed("k2")).ids}


def test_every_writing_command_can_be_repeated_with_its_key(web: CommandClient) -> None:
    for query in ["bind+append+kt639k9+x+2", "bind+mint+new+x+y", "hold+set+kt639k9", "note+a+b"]:
        web("bind+set+kt639k9+x+1", user=USER)
        first = web(query, **keyed(query))
        assert first.status == 200 and web(query, **keyed(query)).text == first.text
        json = web(query, **keyed(query, accept="application/json")).json
        assert json["records"] and "error" not in json
    assert web("get+kt639k9+x").text == "1\n"


@pytest.mark.only("lmdb")
def test_no_secret_is_stored_with_a_reply(web: CommandClient) -> None:
    (minted,) = web("peppermint+1", **keyed("a-key-nobody-guesses")).ids
    identifier, _, pepper = minted.partition("!")
    database = (web.folder / "kt5" / "NOID" / "data.mdb").read_bytes()
    assert identifier.encode() in database
    assert pepper.encode() not in database and b"a-key-nobody-guesses" not in database


# With {} for a peppered name and its pepper, in the order in which they can be given.
WITH_PEPPER = (
    "bind+set+{}+_t+https://a.example/", "hold+set+{}", "resolver+canary+{}", "resolver+canary+{}+https://b.example/",
    "resolver+passthrough+off+{}", "resolver+passthrough+on+{}", "custodian+set+Jo+{}", "custodian+remove+{}",
    "synonym+{}+hdl:100/x+--authority+A", "prefer+{}", "reserve+{}", "publish+{}", "alias+old/1+{}", "verify+{}",
    "verify+{}+--record", "quality+state+trusted+{}+--authority+A", "relate+{}+equivalent+hdl:100/y+--authority+A",
    "withdraw+kt639k9+--successor+{}", "bind+append+{}+_t+x", "withdraw+{}+--reason+done",
)


@pytest.mark.only("lmdb")
@pytest.mark.parametrize("mark", ["!", "%2521"])
def test_no_command_stores_a_pepper(web: CommandClient, mark: str) -> None:
    web("bind+set+kt639k9+x+y", user=USER)
    (minted,) = web("peppermint+1", **keyed("first")).ids
    identifier, _, pepper = minted.partition("!")
    web("policy+persistence+kept", user=USER)
    for number, query in enumerate(WITH_PEPPER):
        reply = web(query.format(f"{identifier}{mark}{pepper}"), **keyed(f"key{number}"))
        assert reply.status == 200 and pepper not in reply.text, (query, reply)
    database = (web.folder / "kt5" / "NOID" / "data.mdb").read_bytes()
    assert identifier.encode() in database and pepper.encode() not in database


def test_a_key_is_for_one_command(web: CommandClient) -> None:
    web("mint+1", **keyed("k"))
    for query in ["mint+2", "bind+set+kt639k9+x+y"]:
        reply = web(query, **keyed("k"))
        assert reply.status == 409 and "another command" in reply.text


def test_a_key_belongs_to_its_user(web: CommandClient) -> None:
    assert web("mint+1", **keyed("k")).ids != web("mint+1", **keyed("k", user="bob")).ids


def test_a_key_has_no_effect_on_reading(web: CommandClient) -> None:
    web("bind+set+kt639k9+x+1", user=USER)
    assert web("get+kt639k9+x", **keyed("k")).text == "1\n"
    web("bind+set+kt639k9+x+2", user=USER)
    assert web("get+kt639k9+x", **keyed("k")).text == "2\n"


@pytest.mark.parametrize("key", ["x" * 256, "a b", "a\tb", "ä", "\x7f", "", "\"\""])
def test_an_invalid_idempotency_key_is_refused(web: CommandClient, key: str) -> None:
    assert web("mint+1", **keyed(key)).status == 400


def test_a_refusal_is_not_stored_for_its_key(web: CommandClient) -> None:
    assert web("bind+new+kt639k9+x+1", **keyed("k0")).status == 200
    assert web("bind+new+kt639k9+x+1", **keyed("k")).status == 409
    web("bind+delete+kt639k9+x", user=USER)
    assert web("bind+new+kt639k9+x+1", **keyed("k")).status == 200


def test_identifiers_minted_before_the_end_are_not_lost(tmp_path: Path) -> None:
    create_in_child(tmp_path / "kt5", ".sd")
    web = CommandClient(tmp_path)
    first = web("mint+20", **keyed("k"))
    assert len(first.ids) == 10 and "error: no identifier is left" in first.text
    assert web("mint+20", **keyed("k")).text == first.text
    assert web("mint+1", **keyed("other")).status == 410


def test_a_command_of_several_transactions_takes_no_key(web: CommandClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minting, "CHUNK", 10)
    assert len(web("mint+10", **keyed("k")).ids) == 10
    refused = web("mint+11", **keyed("other"))
    assert refused.status == 400 and "cannot be sent with an Idempotency-Key" in refused.text
    assert len(web("mint+11", user=USER).ids) == 11


def test_a_bulk_run_may_be_repeated(web: CommandClient) -> None:
    body = "mint 2\nbind append kt639k9 x 1\nget kt639k9 x\nbind add kt639k9 x 1\nmint 1\n"
    first = web.post(body, **keyed("k"))
    assert first.text.endswith("bulk: 5 commands, 3 done, 2 refused\n")
    again = web.post(body, **keyed("k"))
    assert again.ids == first.ids
    # What was refused the first time is tried again, what was read is read again, what was done is not.
    assert run_in_child(web.folder / "kt5", "get", "kt639k9", "x") == [{"name": b"x", "value": b"11"}]
    assert web.post("mint 2\n", **keyed("k")).ids == first.ids[:2]
    other = web.post("mint 1\n", **keyed("k"))
    assert other.ids == [] and "another command" in other.text and "1 refused" in other.text


@pytest.mark.slow
def test_repeating_an_interrupted_bulk_run_completes_it(web: CommandClient) -> None:
    body = b"mint 1\n" * 3000
    environ = command_environment("-", method="POST", body=body, path="/noidu_kt5", accept="", **keyed("k"))
    parts = web.application(environ, lambda *_: None)
    seen = [line for line in next(iter(parts)).decode().splitlines() if line.startswith("id: ")]
    parts.close()
    assert 0 < len(seen) < 3000
    ids = web.post(body, **keyed("k")).ids
    assert len(set(ids)) == 3000 and [f"id: {identifier}" for identifier in ids[: len(seen)]] == seen
    drawn = [data["drawn"] for data in run_in_child(web.folder / "kt5", "dbinfo") if "drawn" in data]
    assert drawn in ([b"3000"], []) and len({*ids, *web("mint+1", user=USER).ids}) == 3001


def _mint(folder: Path, results: multiprocessing.SimpleQueue) -> None:
    results.put(CommandClient(folder)("mint+2", **keyed("same")).ids)


def test_of_concurrent_requests_with_one_key_one_mints_and_all_get_its_answer(web: CommandClient) -> None:
    context = multiprocessing.get_context("fork")
    results = context.SimpleQueue()
    processes = [context.Process(target=_mint, args=(web.folder, results)) for _ in range(6)]
    for process in processes:
        process.start()
    answers = [results.get() for _ in processes]
    for process in processes:
        process.join()
    assert len(answers[0]) == 2 and all(answer == answers[0] for answer in answers)
    assert web("mint+1", user=USER).ids[0] not in answers[0]
    assert len(web("mint+1", user=USER).ids) == 1


def minted(minter: Minter, key: bytes, seconds: int) -> list:
    session = Session(minter.dbdir, Actor(b"a", b"test", SettableClock(str(seconds))), minter=minter)
    answer = IdempotentRun(b"a", key).run(Call(session, [b"mint", b"1"]))
    return [line for record in answer.records for line in record.lines()]


def test_keys_expire_after_a_day_and_are_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replies, "_MOST_CLEARED", 4)
    create_in_child(tmp_path, "a.zd")
    minter = Minter(str(tmp_path))

    def kept() -> int:
        return minter.read(lambda reader: len(list(reader.scan(REPLIES))))

    now = 1_800_000_000
    first = minted(minter, b"k", now)
    assert minted(minter, b"k", now + DAY - 1) == first
    assert minted(minter, b"k", now + DAY) != first
    for number in range(20):
        minted(minter, b"x%d" % number, now + DAY)
    assert kept() == 21 * 3
    for number in range(30):
        minted(minter, b"y%d" % number, now + 3 * DAY)
    assert kept() == 30 * 3
    minter.close()


def test_the_reply_for_a_key_is_stored_in_the_transaction_of_its_command(tmp_path: Path) -> None:
    create_in_child(tmp_path, "a.zd")
    minter = Minter(str(tmp_path))
    session = Session(minter.dbdir, Actor(b"a", b"test"), minter=minter)
    call = Call(session, [b"mint", b"1"])

    class UndoneError(Exception):
        pass

    def work(_: object) -> None:
        list(IdempotentRun(b"a", b"k").run(call).records)
        raise UndoneError

    with pytest.raises(UndoneError):
        minter.write(work)
    assert minter.read(lambda reader: list(reader.scan(REPLIES))) == []
    assert [data for record in call.run().records for data in record.data()] == [{"id": b"a0"}]
    minter.close()


def test_commands_that_read_write_nothing_with_an_idempotency_key(web: CommandClient, tmp_path: Path) -> None:
    run_in_child(tmp_path / "kt5", "custodian", "set", "The Library")
    before = run_in_child(tmp_path / "kt5", "dbinfo", "dump")
    for _ in range(2):
        reply = web("custodian+show", user="", HTTP_IDEMPOTENCY_KEY="abcdefg")
        assert reply.status == 200 and "idempotency-replayed" not in reply.headers
    assert web.post("custodian show\n" * 3, user="", HTTP_IDEMPOTENCY_KEY="abcdefg").status == 200
    assert web("custodian+show", user="", method="HEAD").status == 200
    assert run_in_child(tmp_path / "kt5", "dbinfo", "dump") == before


def test_unauthenticated_clients_with_the_same_key_get_different_answers(web: CommandClient, tmp_path: Path) -> None:
    run_in_child(tmp_path / "kt5", "policy", "mint", "anyone")
    here = web("mint+1", HTTP_IDEMPOTENCY_KEY="order-17")
    there = web("mint+1", HTTP_IDEMPOTENCY_KEY="order-17", REMOTE_ADDR="192.0.2.8")
    assert here.ids != there.ids
    assert web("mint+1", HTTP_IDEMPOTENCY_KEY="order-17").ids == here.ids


def test_no_name_of_a_user_is_taken_for_an_address(web: CommandClient) -> None:
    run_in_child(web.folder / "kt5", "policy", "mint", "anyone")
    anonymous = web("mint+1", **keyed("k", user="")).ids
    for user in ("@@192.0.2.7", "@192.0.2.7", "192.0.2.7"):
        assert web("mint+1", **keyed("k", user=user)).ids != anonymous


def test_a_repeated_bulk_run_says_that_it_is_one(web: CommandClient) -> None:
    body = "mint 1\nget none a\nbind mint new a b\n"
    first = web.post(body, **keyed("k"))
    assert "idempotency-replayed" not in first.headers and first.text.endswith("2 done, 1 refused\n")
    again = web.post(body, **keyed("k"))
    assert again.headers["idempotency-replayed"] == "true" and again.ids == first.ids
    assert again.text.endswith("bulk: 3 commands, 2 done, 1 refused, 2 replayed\n")
    json = web.post(body, **keyed("k", accept="application/json")).json
    assert [result.get("replayed") for result in json["results"]] == [True, None, True]
    assert json["bulk"] == {"commands": 3, "done": 2, "refused": 1, "replayed": 2}
