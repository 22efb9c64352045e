"""What is stored for requests with an Idempotency-Key: no secret, one event for one minting, and all of the answer."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from noidtools.codec import pack
from noidtools.minter import Minter, minting
from noidtools.minter.schema import REPLIES
from support.minter import create_in_child, run_in_child
from support.wsgi import USER, CommandClient, Response

KEY = "order-17"
JSON = "application/json"


def ask(web: CommandClient, query: str, **options: object) -> Response:
    return web(query, user=USER, HTTP_IDEMPOTENCY_KEY=KEY, **options)


def minter_of(web: CommandClient) -> Minter:
    return web.minters.find("/noidu_kt5")


# -- peppers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", ["peppermint+2", "peppermint+2+e+v"])
def test_a_repeated_peppermint_answers_with_the_identifiers_but_not_their_peppers(
    web: CommandClient, query: str
) -> None:
    first, again = ask(web, query), ask(web, query)
    assert len(first.ids) == 2 and all("!" in identifier for identifier in first.ids)
    assert again.ids == [identifier.partition("!")[0] for identifier in first.ids]
    assert "\nnote: peppers are given once only" in again.text and "note" not in first.text
    assert again.headers["idempotency-replayed"] == "true"
    *records, note = ask(web, query, accept=JSON).json["records"]
    assert [record["id"] for record in records] == again.ids and "given once only" in note["note"]
    changed = web(f"bind+set+{first.ids[0].replace('!', '%21')}+e+w", user=USER)
    assert changed.status == 200


def test_a_repeated_bind_of_a_peppered_identifier_does_not_repeat_its_pepper(web: CommandClient) -> None:
    first, again = ask(web, "bind+peppermint+new+e+v"), ask(web, "bind+peppermint+new+e+v")
    (line, *rest), (line_again, *rest_again) = first.text.splitlines(), again.text.splitlines()
    assert "!" in line and line_again == line.partition("!")[0]
    assert rest_again[: len(rest) - 1] == rest[:-1] and "given once only" in again.text


@pytest.mark.only("lmdb")
def test_neither_peppers_nor_keys_are_in_the_database(web: CommandClient) -> None:
    peppers = [identifier.partition("!")[2] for identifier in ask(web, "peppermint+3").ids]
    peppers += [web.post("peppermint 1\n", HTTP_IDEMPOTENCY_KEY=KEY).ids[0].partition("!")[2]]
    stored = (web.folder / "kt5" / "NOID" / "data.mdb").read_bytes()
    for secret in [*peppers, KEY]:
        assert secret and secret.encode() not in stored


def test_replies_and_digests_of_peppers_are_not_dumped(web: CommandClient) -> None:
    (minted,) = ask(web, "peppermint+1").ids
    lines = web("dbinfo+dump", user=USER).text.splitlines()
    assert any(line.startswith(f"IDS/{minted.partition('!')[0]}: ") for line in lines)
    assert not [line for line in lines if line.startswith(("PEPPERS/", "REPLIES/"))]
    assert minter_of(web).read(lambda reader: list(reader.scan(REPLIES)))


# -- replies that release 0.1.0 stored ---------------------------------------------------------------------------


def store_as_release_0_1_0(minter: Minter, user: bytes, key: bytes) -> None:
    """A reply to `mint 1` as that release stored it: enciphered with a stream made of the key."""
    secret, salt = pack([user, key]), os.urandom(16)
    request = hashlib.sha256(pack([b"mint", b"1"]) + pack([])).digest()
    reply = pack([request, pack([b"1", b"", pack([b"id", b"kt4x551", b"0"]), b'[{"id": "kt4x551"}]'])])
    stream = hashlib.shake_256(salt + secret).digest(len(reply))
    name = hashlib.sha256(secret).digest()
    stamp = b"%020d" % (2**32)  # so late that it has not expired

    def work(writer: object) -> None:
        writer.put(REPLIES, b"k" + name, stamp)
        writer.put(REPLIES, b"t" + stamp + name, b"")
        writer.put(REPLIES, b"p" + name + bytes(10), salt + bytes(a ^ b for a, b in zip(reply, stream, strict=True)))

    minter.write(work)


def test_a_key_used_with_release_0_1_0_is_refused_and_nothing_is_run(web: CommandClient) -> None:
    store_as_release_0_1_0(minter_of(web), USER.encode(), KEY.encode())
    for query in ("mint+1", "mint+2"):
        reply = ask(web, query)
        assert reply.status == 409 and "earlier release" in reply.text and "new key" in reply.text
    assert web("mint+1", user=USER).ids == ["kt4x551"]
    assert web("mint+1", user=USER, HTTP_IDEMPOTENCY_KEY="another").ids == ["kt154d9"]


# -- much minting ------------------------------------------------------------------------------------------------


@pytest.fixture
def many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CommandClient:
    monkeypatch.setattr(minting, "CHUNK", 10)
    create_in_child(tmp_path / "kt5", "a.zd")
    return CommandClient(tmp_path)


def mint_events(web: CommandClient) -> list[tuple[int, int]]:
    """How many each event of minting made, and how many were asked for."""
    events = run_in_child(web.folder / "kt5", "log")
    return [(event["made"], event["asked"]) for event in events if event["what"] == "mint"]


def test_a_large_mint_with_a_key_is_one_event(many: CommandClient) -> None:
    wanted = [f"a{number}" for number in range(35)]
    assert ask(many, "mint+35").ids == wanted and ask(many, "mint+35").ids == wanted
    assert mint_events(many) == [(35, 35)]


def test_so_it_is_in_bulk_and_with_an_option(many: CommandClient) -> None:
    body = "mint 1\nmint 25\nmint --patience 5 12\nhello\n"
    first, again = (many.post(body, HTTP_IDEMPOTENCY_KEY=KEY) for _ in range(2))
    assert first.ids == again.ids == [f"a{number}" for number in range(38)]
    assert first.text == again.text and first.text.endswith("bulk: 4 commands, 4 done, 0 refused\n")
    assert mint_events(many) == [(1, 1), (25, 25), (12, 12)]


def test_identifiers_that_end_in_the_middle_of_a_large_mint_are_answered_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(minting, "CHUNK", 4)
    create_in_child(tmp_path / "kt5", ".sd")
    web = CommandClient(tmp_path)
    first = ask(web, "mint+20")
    assert len(first.ids) == 10 and "error: no identifier is left" in first.text
    assert ask(web, "mint+20").text == first.text
    assert mint_events(web) == [(10, 20)]


# -- all of the answer -------------------------------------------------------------------------------------------


def test_a_repeated_verify_says_again_that_it_failed(web: CommandClient) -> None:
    web("bind+set+kt4x551+_t+nowhere", user=USER)
    web("mint+1", user=USER)
    web("bind+set+kt4x551+_t+nowhere", user=USER)
    replies = [ask(web, "verify+kt4x551+--record", accept=JSON).json for _ in range(2)]
    assert [reply.get("failed") for reply in replies] == [True, True] and replies[0] == replies[1]


@pytest.mark.parametrize("query", ["verify+--record", "verify+--links+--record+kt4x551"])
def test_what_takes_long_and_does_no_harm_twice_takes_no_key(web: CommandClient, query: str) -> None:
    web("mint+1", user=USER)
    reply = ask(web, query)
    assert reply.status == 409 and "send it without" in reply.text
    assert web.post(query.replace("+", " ") + "\nhello\n", HTTP_IDEMPOTENCY_KEY=KEY).text.endswith(
        "Hello.\n\nbulk: 2 commands, 1 done, 1 refused\n")
