"""Tokens: programs use the web interfaces without a login of the web server."""

from __future__ import annotations

import base64
import re
import subprocess
import time
from pathlib import Path

import pytest

from noidtools.commands import Call, Session
from noidtools.errors import NoidError
from noidtools.minter import Minter, tokens
from noidtools.minter.events import Actor, newest_number, read_event
from noidtools.minter.policies import ADMIN, BIND, CLASSES, MINT, READ, AccessPolicy
from noidtools.minter.schema import ALL_TABLES, TOKENS
from noidtools.web.request import Trust
from support.minter import create_in_child, run_in_child
from support.process import script_command
from support.served import Served
from support.wsgi import USER, CommandClient, ResolverClient

pytestmark = pytest.mark.slow


def new_token(folder: Path, *words: str) -> str:
    """The secret of a new token of the minter kt5."""
    secret = run_in_child(folder / "kt5", "token", "new", *words)[0]["token"]
    return secret.decode() if isinstance(secret, bytes) else secret


def bearer(secret: str) -> dict[str, str]:
    return {"HTTP_AUTHORIZATION": f"Bearer {secret}"}


def listed(folder: Path) -> list[dict]:
    return run_in_child(folder / "kt5", "token", "list")


def test_a_token_is_admitted_to_its_classes_and_to_no_others(web: CommandClient) -> None:
    secret = new_token(web.folder, "catalogue", "--may", "mint,bind")
    assert web("mint+1").status == 401
    minted = web("mint+1", **bearer(secret))
    assert minted.status == 200 and minted.ids == ["kt4x551"]
    assert web("bind+set+kt4x551+_t+https://e.org/", **bearer(secret)).status == 200
    assert web("get+kt4x551+_t", **bearer(secret)).status == 200  # reading is for anyone
    refused = web("policy+mint+anyone", **bearer(secret))
    assert refused.status == 403 and "policy is not open to token:catalogue: the class admin" in refused.text
    bulk = web.post("mint 1\nbind set kt4x551 a b\n", user="", **bearer(secret))
    assert bulk.status == 200 and "2 done" in bulk.text
    assert web.post("mint 1\nnote a b\n", user="", **bearer(secret)).status == 403


def test_a_token_is_also_sent_as_the_password_of_its_name(web: CommandClient) -> None:
    secret = new_token(web.folder, "catalogue", "--may", "mint")

    def basic(text: str) -> dict[str, str]:
        return {"HTTP_AUTHORIZATION": f"Basic {base64.b64encode(text.encode()).decode()}"}

    assert web("mint+1", **basic(f"catalogue:{secret}")).ids == ["kt4x551"]
    assert web("mint+1", **basic("catalogue:noid_wrong")).status == 401
    assert web("mint+1", **basic("catalogue:secret")).status == 401
    assert web("mint+1", user=USER, **basic("alice:of the web server")).status == 200
    for strange in ("Basic", "Basic ?", "Basic " + "A" * 100_000, "basic \xff"):
        assert web("mint+1", HTTP_AUTHORIZATION=strange).status == 401


def test_a_token_can_be_good_for_several_minters(web: CommandClient) -> None:
    create_in_child(web.folder / "fk4", "fk.reeded")
    secret = new_token(web.folder, "job", "--may", "mint", "--minters", "kt5,fk4")
    for name in ("kt5", "fk4"):
        assert web("mint+1", path=f"/nd/noidu_{name}", **bearer(secret)).status == 200
    for name, minters in (("other", "kt5,none"), ("job", "kt5")):
        with pytest.raises(EOFError):  # the child has ended with the refusal
            new_token(web.folder, name, "--may", "mint", "--minters", minters)
    assert [record["token"] for record in listed(web.folder)] == [b"job"]


def test_a_token_opens_a_class_that_is_for_nobody(web: CommandClient) -> None:
    secret = new_token(web.folder, "job", "--may", "mint")
    run_in_child(web.folder / "kt5", "policy", "mint", "nobody")
    run_in_child(web.folder / "kt5", "policy", "read", "bob")
    assert web("mint+1", user=USER).status == 403
    assert web("mint+1", **bearer(secret)).status == 200
    assert web("get+kt4x551+_t", **bearer(secret)).status == 403


def test_events_name_the_token(web: CommandClient) -> None:
    secret = new_token(web.folder, "catalogue", "--may", "mint")
    assert web("mint+1", **bearer(secret)).status == 200
    assert web("mint+1", **bearer(secret), user=USER).status == 200  # the token says who it is
    log = web("log", user=USER).text
    assert log.count("token:catalogue@192.0.2.7") == 2 and "token new" in log
    assert secret not in log


def test_a_user_whose_name_is_that_of_a_token_is_not_taken_for_it(web: CommandClient) -> None:
    secret = new_token(web.folder, "job", "--may", "mint")
    key = {"HTTP_IDEMPOTENCY_KEY": "order-1"}
    given = web("mint+1", **bearer(secret), **key)
    for trust, user in ((None, {"REMOTE_USER": "token:job"}),
                        (Trust(user_header="User"), {"HTTP_USER": "token:job", "REMOTE_ADDR": ""})):
        other = (web.with_settings(trust=trust) if trust else web)("mint+1", **key, **user)
        assert other.status == 200
        assert other.ids != given.ids
    log = web("log", user=USER).text
    assert log.count("user:token:job@") == 1 and log.count("who: token:job@192.0.2.7") == 1


@pytest.mark.parametrize("header", [
    "Bearer noid_wrong", "bearer noid_" + "A" * 43, "BEARER x", "Bearer ", "Bearer " + "x" * 100_000,
    "Bearer \xff\x00'",
])
def test_a_wrong_token_is_401_whatever_it_asks_for(web: CommandClient, header: str) -> None:
    for query in ("mint+1", "get+kt4x551+_t", "dbinfo"):
        reply = web(query, HTTP_AUTHORIZATION=header, user=USER)
        assert reply.status == 401 and "this token is not known here" in reply.text
        assert reply.headers["www-authenticate"] == (
            'Bearer realm="noid", error="invalid_token", Basic realm="noid"')
    assert web("dbinfo", HTTP_AUTHORIZATION="Basic YTpi").status == 200  # the web server has looked at that


def test_a_revoked_token_is_refused_by_the_next_request(web: CommandClient) -> None:
    secret = new_token(web.folder, "job", "--may", "mint")
    assert web("mint+1", **bearer(secret)).status == 200
    run_in_child(web.folder / "kt5", "token", "revoke", "job")
    assert web("mint+1", **bearer(secret)).status == 401
    assert [record.get("note") for record in listed(web.folder)] == [b"there are no tokens"]


def test_an_expired_token_is_refused_and_listed(web: CommandClient, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = new_token(web.folder, "job", "--may", "mint", "--expires", "12h")
    assert web("mint+1", **bearer(secret)).status == 200
    now = tokens.system_clock()
    monkeypatch.setattr(tokens, "system_clock", lambda: now + 12 * 3600 * 10**9)
    assert web("mint+1", **bearer(secret)).status == 401
    (record,) = listed(web.folder)
    assert record["expires"].endswith(b", which is over")


def test_the_last_use_is_stored_once_an_hour_and_not_with_each_request(
    web: CommandClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = new_token(web.folder, "job", "--may", "read")
    assert listed(web.folder)[0]["used"] == b"never"
    writes: list[Minter] = []
    write = Minter.write
    monkeypatch.setattr(Minter, "write", lambda self, *args, **options: (
        writes.append(self), write(self, *args, **options))[1])
    for _ in range(5):
        assert web("dbinfo", **bearer(secret)).status == 200
    used = listed(web.folder)[0]["used"]
    assert re.fullmatch(rb"\d{14}", used) and len(writes) == 1
    now = tokens.system_clock()
    monkeypatch.setattr(tokens, "system_clock", lambda: now + 3601 * 10**9)
    assert web("dbinfo", **bearer(secret)).status == 200
    assert listed(web.folder)[0]["used"] > used


def test_a_minter_that_cannot_be_written_admits_tokens_that_read(
    web: CommandClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = new_token(web.folder, "job", "--may", "read")

    def refuse(self: Minter, work: object, **options: object) -> None:
        raise tokens.StoreError("read only")

    monkeypatch.setattr(Minter, "write", refuse)
    assert web("dbinfo", **bearer(secret)).status == 200


@pytest.mark.only("lmdb")
def test_reading_with_a_token_does_not_wait_for_writers(web: CommandClient) -> None:
    secret = new_token(web.folder, "reader", "--may", "read,bind")
    assert web("bind+set+kt4x551+a+b", user=USER).status == 200
    command = script_command("hold_lock", web.folder / "kt5" / "NOID" / "writer.lock")
    with subprocess.Popen(command, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        started = time.monotonic()
        assert web("get+kt4x551+a", **bearer(secret)).text == "b\n"
        assert time.monotonic() - started < 5
        holder.kill()
    assert listed(web.folder)[0]["used"] == b"never"


def test_only_a_hash_of_the_secret_is_stored(web: CommandClient) -> None:
    secret = new_token(web.folder, "job", "--may", "mint").encode()
    assert re.fullmatch(rb"noid_[A-Za-z0-9_-]{43}", secret)
    minter = Minter(str(web.folder / "kt5"))
    stored = minter.read(lambda reader: [item for table in ALL_TABLES for item in reader.scan(table)])
    assert all(secret not in key + value and secret[5:] not in key + value for key, value in stored)
    assert minter.read(lambda reader: [len(key) for key, _ in reader.scan(TOKENS)]) == [32]
    event = minter.read(lambda reader: read_event(reader, newest_number(reader)))
    assert event is not None and (event.verb, event.details) == (b"token new", [b"job", b"mint"])
    minter.close()
    assert "TOKENS" not in web("dbinfo+dump", user=USER).text


def test_tokens_are_made_at_the_shell_only(web: CommandClient) -> None:
    for query in ("token+new+x+--may+mint", "token+list", "token+revoke+x"):
        assert web(query, user=USER).status == 403


@pytest.mark.parametrize(("words", "reason"), [
    (("new", "x", "--may", "fly"), "one or more of the classes read, mint, bind, admin"),
    (("new", "x", "--may", "mint,"), "one or more of the classes"),
    (("new", "x", "--may", ""), "one or more of the classes"),
    (("new", "two words", "--may", "mint"), "letters, digits"), (("new", "", "--may", "mint"), "letters, digits"),
    (("new", "x" * 65, "--may", "mint"), "1 to 64"), (("new", "x"), "--may"),
    (("new", "x", "--may", "mint", "--expires", "0d"), "expired already"),
    (("new", "x", "--may", "mint", "--expires", "2001"), "expired already"),
    (("new", "x", "--may", "mint", "--expires", "soon"), "365d or 12h"),
    (("new", "x", "--may", "mint", "--expires", "9999999d"), "date"),
    (("new", "taken", "--may", "mint"), "already"), (("revoke", "nobody"), "there is no token 'nobody'"),
])
def test_what_is_wrong_is_refused_in_one_sentence(tmp_path: Path, words: tuple[str, ...], reason: str) -> None:
    create_in_child(tmp_path / "kt5", "kt.reeded")
    new_token(tmp_path, "taken", "--may", "mint")
    session = Session(str(tmp_path / "kt5"), Actor(b"shell", b"shell"))
    with pytest.raises(NoidError, match=reason) as refusal:
        Call(session, [b"token", *(word.encode() for word in words)]).run()
    assert "\n" not in refusal.value.message
    session.close()


def test_a_token_reads_descriptions_where_reading_is_not_for_everybody(tmp_path: Path) -> None:
    create_in_child(tmp_path / "kt5", "kt.reeded", "long", "13030", "x", "y")
    run_in_child(tmp_path / "kt5", "mint", "1")
    run_in_child(tmp_path / "kt5", "bind", "set", "13030/kt4x551", "title", "Secret")
    run_in_child(tmp_path / "kt5", "policy", "read", "bob")
    secret = new_token(tmp_path, "reader", "--may", "read")
    from noidtools.minter.folder import MinterFolder
    from noidtools.web.site import Site

    ask = ResolverClient(Site(MinterFolder(str(tmp_path))))
    assert "Secret" not in ask("/ark:/13030/kt4x551?info").text
    assert "Secret" in ask("/ark:/13030/kt4x551?info", **bearer(secret)).text
    assert ask("/ark:/13030/kt4x551?info", **bearer("noid_wrong")).status == 401


def test_a_token_by_http_and_by_fastcgi(tmp_path: Path) -> None:
    create_in_child(tmp_path / "kt5", "kt.reeded")
    secret = new_token(tmp_path, "job", "--may", "mint")
    http = Served.start(tmp_path / "log1", "serve", "--minters", tmp_path, "--http", "127.0.0.1:0", "--workers", "1")
    assert http.get("/noidu_kt5?mint+1").status == 401
    assert http.get("/noidu_kt5?mint+1", Authorization=f"Bearer {secret}").status == 200
    assert http.stop() == 0
    fcgi = Served.start(tmp_path / "log2", "serve", "--minters", tmp_path, "--fcgi", tmp_path / "s", "--workers", "1")
    assert fcgi.fastcgi("mint+1", user="", HTTP_AUTHORIZATION=f"Bearer {secret}")[0] == 200
    assert fcgi.stop() == 0


# -- who may administer ----------------------------------------------------------------------------------------------


def test_a_new_minter_is_administered_by_nobody_on_the_web_until_somebody_is_named(tmp_path: Path) -> None:
    (tmp_path / "kt5").mkdir()
    run_in_child(tmp_path / "kt5", "dbcreate", "kt.reeded")
    web = CommandClient(tmp_path)
    assert web("mint+1", user=USER).status == 200
    refused = web("policy+mint+anyone", user=USER)
    assert refused.status == 403 and "is for nobody here" in refused.text
    assert run_in_child(tmp_path / "kt5", "policy", "admin")[0]["admin"] == b"nobody"
    run_in_child(tmp_path / "kt5", "policy", "admin", USER)
    assert web("policy+mint+anyone", user=USER).status == 200
    run_in_child(tmp_path / "kt5", "policy", "admin", "default")
    assert web("policy", user=USER).status == 403


def test_the_policy_of_a_token_is_made_of_its_classes_and_of_what_is_for_anyone() -> None:
    token = tokens.Token(b"", tokens.pack((b"x", b"bind", b"20260101000000", b"", b"")))
    rules = token.policy(AccessPolicy({})).rules
    admitted = [name for name in CLASSES if rules[name].admits(token.user)]
    assert admitted == [READ, BIND] and MINT not in admitted and ADMIN not in admitted


# -- limits ------------------------------------------------------------------------------------------------------


def test_a_token_mints_no_more_in_one_request_and_in_all_than_it_may(web: CommandClient) -> None:
    secret = new_token(web.folder, "job", "--may", "mint,bind", "--most", "3", "--total", "5")
    refused = web("mint+4", **bearer(secret))
    assert refused.status == 413 and "one request may mint 3 identifiers here" in refused.text
    first = web("mint+3", **bearer(secret))
    assert len(first.ids) == 3
    refused = web("mint+3", **bearer(secret))
    assert refused.status == 403
    assert "the token job may mint 5 identifiers in all, of which 2 are left: ask for fewer" in refused.text
    assert web("bind+mint+new+a+b", **bearer(secret)).status == 200
    bulk = web.post("mint 1\nmint 1\n", user="", **bearer(secret))
    assert "2 commands, 1 done, 1 refused" in bulk.text
    (token,) = listed(web.folder)
    assert token["most"] == b"3 in one request" and token["total"] == b"5 of 5 minted"
    assert web("mint+1", user=USER).status == 200 and web("get+kt4x551+x", **bearer(secret)).status == 404


def test_what_is_repeated_with_its_key_is_not_counted_twice(web: CommandClient) -> None:
    secret = new_token(web.folder, "job", "--may", "mint", "--total", "2")
    key = {"HTTP_IDEMPOTENCY_KEY": "k", **bearer(secret)}
    assert web("mint+1", **key).ids == web("mint+1", **key).ids
    (token,) = listed(web.folder)
    assert token["total"] == b"1 of 2 minted" and token["used"] != b"never"
    assert web("mint+1", **bearer(secret)).status == 200 and web("mint+1", **bearer(secret)).status == 403


def test_the_limit_of_a_token_does_not_exceed_that_of_the_minter(web: CommandClient) -> None:
    secret = new_token(web.folder, "job", "--may", "mint", "--most", "9")
    run_in_child(web.folder / "kt5", "policy", "mint-limit", "2")
    assert web("mint+3", **bearer(secret)).status == 413 and web("mint+2", **bearer(secret)).status == 200


def test_a_new_token_of_the_same_name_gets_no_stored_answers(web: CommandClient) -> None:
    key = {"HTTP_IDEMPOTENCY_KEY": "k"}
    first = web("mint+1", **key, **bearer(new_token(web.folder, "job", "--may", "mint"))).ids
    run_in_child(web.folder / "kt5", "token", "revoke", "job")
    assert web("mint+1", **key, **bearer(new_token(web.folder, "job", "--may", "mint"))).ids != first
