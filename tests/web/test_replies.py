"""What is stored for requests with an Idempotency-Key: no secret, one event for one minting, and all of the answer."""

from __future__ import annotations

import pytest

from noidtools.minter import Minter
from noidtools.minter.schema import REPLIES
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
    assert reply.status == 400 and "send it without" in reply.text
    assert web.post(query.replace("+", " ") + "\nhello\n", HTTP_IDEMPOTENCY_KEY=KEY).text.endswith(
        "Hello.\n\nbulk: 2 commands, 1 done, 1 refused\n")


def test_a_reply_in_a_format_of_another_release_is_refused(web: CommandClient) -> None:
    ask(web, "mint+1")
    minter_of(web).write(lambda writer: [
        writer.put(REPLIES, key, b"something else") for key, _ in list(writer.scan(REPLIES, b"p"))])
    again = ask(web, "mint+1")
    assert again.status == 409 and "a format that this release does not read" in again.text
