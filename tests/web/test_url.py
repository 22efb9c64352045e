from __future__ import annotations

import base64
import io
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from conftest import ROOT
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from url_support import USER, Web, command, create, encode_word, environment

from noidtools.commands.table import COMMANDS, LOCAL
from noidtools.errors import BusyError, StoreError
from noidtools.minter import Minter
from noidtools.web.negotiation import prefers_json
from noidtools.web.request import Trust


@pytest.fixture
def web(tmp_path: Path) -> Web:
    create(tmp_path / "kt5", "kt.reeded")
    return Web(tmp_path)


def word(value: bytes | str) -> str:
    return encode_word(value.encode() if isinstance(value, str) else value).decode()


# -- the manual's examples ---------------------------------------------------------------------------------------


def test_the_manuals_examples_work(web: Web) -> None:
    first = web("mint+1", user=USER)
    assert (first.status, first.headers["Content-Type"]) == (200, "text/plain; charset=utf-8")
    assert len(first.ids) == 1 and first.text == f"id: {first.ids[0]}\n\n"
    twenty = web("mint+20", user=USER).ids
    assert len({*twenty, *first.ids}) == 21
    bound = web(f"bind+set+{twenty[0]}+myGoto+http://foo.ucsd.edu/", user=USER)
    assert bound.text.splitlines()[:2] == [f"Id:      {twenty[0]}", "Element: myGoto"]
    assert web(f"get+{twenty[0]}+myGoto").text == "http://foo.ucsd.edu/\n"
    commands = "".join(f"bind set kt{number} myGoto http://foo.ucsd.edu/{number}\n" for number in range(10))
    assert web.post(commands.replace("kt", twenty[1])).status == 200


def test_the_answer_is_that_of_the_shell(web: Web) -> None:
    web("bind+set+kt639k9+title+one", user=USER)
    assert web("fetch+kt639k9").text == "id:    kt639k9\nCirc:  uncirculated\ntitle: one\n\n"
    assert web("validate+-+kt639k9+kt").text.splitlines()[0] == "id: kt639k9"


@pytest.mark.parametrize("query", ["", "help"])
def test_a_minter_explains_itself(web: Web, query: str) -> None:
    reply = web(query)
    assert reply.status == 200
    for name, described in COMMANDS.items():
        assert (f"\n  {described.usage}\n" in reply.text) == (described.kind != LOCAL), name


def test_the_explanation_is_json_for_those_who_want_that(web: Web) -> None:
    (record,) = web("help", accept="application/json").json["records"]
    assert record["text"].startswith("This is a minter")


def test_a_fault_in_the_middle_of_an_answer_is_told_at_its_end(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    create(web.folder / "many", "abcdefghijklmnopqrst.zd")
    write = Minter.write
    writes: list[object] = []

    def faulty(self: Minter, work: object) -> object:
        writes.append(work)
        if len(writes) == 2:
            raise ZeroDivisionError("oh\nno")
        return write(self, work)

    monkeypatch.setattr(Minter, "write", faulty)
    reply = web("mint+25000", user=USER, path="/noidu_many")
    assert (reply.status, len(reply.ids)) == (200, 10_000)
    assert reply.text.splitlines()[-1].startswith("error: something went wrong")
    assert reply.log.count("\n") == 1 and "ZeroDivisionError" in reply.log


def test_help_for_one_command_is_that_commands(web: Web) -> None:
    assert web("help+mint").text.startswith("mint ")
    assert web("help+nothing").status == 404


def test_data_reaches_the_command_as_it_was_encoded(web: Web) -> None:
    for value in [b" ", b"+", b'"', b"'", b"\\", b"%", b"K\xc3\xa4se", b"\0", b"a\nb", b"\xff\xfe", b"a&b=c;d", b"?#"]:
        assert web(f"bind+set+kt639k9+x+{word(value)}", user=USER).status == 200
        assert command(web.folder / "kt5", "get", "kt639k9", "x") == [{"name": b"x", "value": value}]


def test_elements_are_read_from_the_body_where_the_words_ask_for_it(web: Web) -> None:
    body = b"# comment\ntitle: A tale\n of two lines\ndate: 1859\n\n"
    assert web("bind+set+kt639k9+:", user=USER, method="POST", body=body).status == 200
    assert web("get+kt639k9+title").text == "A tale of two lines\n"
    assert web("bind+set+kt639k9+:-", user=USER, method="POST", body=b"whole: first\nsecond\n").status == 200
    assert web("get+kt639k9+whole").text == "first\n second\n \n"
    assert web("bind+set+kt639k9+:", user=USER).status == 400


# -- statuses ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("query", "status"), [
    ("hello", 200), ("get+kt639k9", 404), ("fetch+kt639k9+x", 404), ("dance", 400), ("mint", 400), ("mint+x", 400),
    ("mint+1+2", 400), ("bind+set+kt639k9+x", 400), ("bind+set+nonsense+x+y", 400), ("bind+new+kt639k9+x+y", 200),
    ("bind+replace+kt639k9+none+y", 404), ("hold+set+kt639k9", 200), ("%", 400), ("'", 400), ("dbcreate", 403),
    ("dbcreate+.zd", 403), ("serve", 403), ("-f+kt6+get+x", 400), ("--help", 400), ("-", 405), ("get", 400),
    ("validate+-+kt639k9", 200), ("validate+.zz+x", 400), ("dbinfo", 200), ("dbinfo+full", 200), ("dbinfo+odd", 400),
    ("note+a+b", 200), ("mint+0", 200), ("get+" + "x" * 100_000, 400),
    ("bind+set+kt639k9+x+" + "y" * 100_000, 200), ("get+" + "%00" * 3, 404), ("get+%0Aid%3A+forged", 404),
])
def test_the_status_tells_the_outcome(web: Web, query: str, status: int) -> None:
    reply = web(query, user=USER)
    assert reply.status == status, reply
    if status != 200:
        assert reply.text.startswith("error: ") and reply.text.endswith("\n")
        assert all(line.startswith(" ") for line in reply.text.splitlines()[1:])


def test_a_refusal_says_what_would_be_needed(web: Web) -> None:
    reply = web("mint+1")
    assert (reply.status, reply.headers["WWW-Authenticate"]) == (401, 'Basic realm="noid"')
    assert "log in" in reply.text
    command(web.folder / "kt5", "policy", "mint", "bob")
    reply = web("mint+1", user="eve")
    assert reply.status == 403 and "WWW-Authenticate" not in reply.headers and "certain users" in reply.text


def test_without_a_way_to_log_in_nobody_is_asked_to(web: Web) -> None:
    reply = web.with_settings(challenge="")("mint+1")
    assert reply.status == 403 and "WWW-Authenticate" not in reply.headers


def test_what_is_already_bound_or_held_is_a_conflict(web: Web) -> None:
    assert web("bind+new+kt639k9+x+y", user=USER).status == 200
    assert web("bind+new+kt639k9+x+y", user=USER).status == 409
    (minted,) = web("mint+1", user=USER).ids
    assert web(f"hold+set+{minted}", user=USER).status == 200
    assert web(f"queue+now+{minted}", user=USER).status == 409


def test_an_exhausted_minter_is_gone(tmp_path: Path) -> None:
    create(tmp_path / "kt5", ".sd")
    web = Web(tmp_path)
    reply = web("mint+8", user=USER)
    assert (reply.status, len(reply.ids)) == (200, 8)
    # Two were left, and they are minted now: the answer that holds them is not an error, and says where they end.
    reply = web("mint+5", user=USER)
    assert (reply.status, len(reply.ids)) == (200, 2)
    assert reply.text.splitlines()[2].startswith("error: no identifier is left")
    assert web("mint+5", user=USER).status == 410
    assert web("mint+1", user=USER, accept="application/json").json["error"]["kind"] == "exhausted"


def test_a_long_mint_is_streamed_and_ends_with_a_refusal_if_it_must(tmp_path: Path) -> None:
    create(tmp_path / "kt5", "abcdefghijklmnop.sdddd")
    web = Web(tmp_path)
    reply = web("mint+25000", user=USER, accept="application/json")
    assert reply.status == 200
    assert len(reply.json["records"]) == 10_000
    assert reply.json["error"]["kind"] == "exhausted"
    create(tmp_path / "many", "abcdefghijklmnop.zd")
    reply = web("mint+25000", user=USER, path="/noidu_many")
    assert len(set(reply.ids)) == 25_000 and "Content-Length" not in reply.headers


def test_an_unknown_minter_is_not_found_and_a_new_one_appears(web: Web) -> None:
    assert web("hello", path="/nd/noidu_new").status == 404
    create(web.folder / "new", ".zd")
    assert web("mint+1", path="/nd/noidu_new", user=USER).ids == ["0"]


def test_another_minter_put_in_its_place_is_served_with_its_own_settings(web: Web) -> None:
    assert web("mint+1", user=USER).ids[0].startswith("kt")
    (web.folder / "kt5").rename(web.folder / "old")
    assert web("mint+1", user=USER).status == 404
    create(web.folder / "kt5", "zz.sdd")
    assert web("mint+1", user=USER).ids == ["zz00"]
    (web.folder / "kt5").rename(web.folder / "zz")
    (web.folder / "old").rename(web.folder / "kt5")
    assert web("mint+1", user=USER).ids[0].startswith("kt")


@pytest.mark.parametrize("path", [
    "", "/", "/nd/", "/noidu", "/noidu_", "/noidu_..", "/noidu_.", "/noidu_.hidden", "/noidx_kt5", "/xnoidu_kt5",
    "/noidu_kt5/", "/noidu_kt5/more", "/noidu_../kt5", "/noidu_kt5\0", "/noidu_kt5%00", "/noidu_NOID", "/favicon.ico",
    "/noidu_a/../kt5", "/noidu_\xff", "/noidu_" + "x" * 5000, "/noidr_kt5",
])
def test_no_path_leads_anywhere_but_to_a_minter(web: Web, path: str) -> None:
    create(web.folder / ".hidden", ".zd")
    reply = web("hello", path=path)
    assert reply.status == 404 and str(web.folder) not in reply.text


def test_more_minters_than_are_kept_open_are_all_served(tmp_path: Path) -> None:
    web = Web(tmp_path)
    names = [f"m{number}" for number in range(70)]
    for name in names:
        create(tmp_path / name, f"{name}.zd")
    for turn in range(2):
        for name in names:
            assert web("mint+1", path=f"/noidu_{name}", user=USER).ids == [f"{name}{turn}"]


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "BREW", "get", "PROPFIND", "X" * 900])
def test_other_methods_are_not_allowed(web: Web, method: str) -> None:
    reply = web("mint+1", method=method, user=USER)
    assert (reply.status, reply.headers["Allow"]) == (405, "GET, HEAD, POST")


def test_head_reads_and_never_writes(web: Web) -> None:
    reply = web("hello", method="HEAD")
    assert (reply.status, reply.body, reply.headers["Content-Length"]) == (200, b"", "8")
    reply = web("mint+1", method="HEAD", user=USER)
    assert (reply.status, reply.headers["Allow"]) == (405, "GET, POST")
    assert web("-", method="HEAD", user=USER).headers["Allow"] == "POST"
    assert web("dbinfo+dump", method="HEAD", user=USER).status == 200
    assert web("mint+1", user=USER).ids == ["kt4x551"]


def test_a_busy_minter_says_when_to_come_back(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(self: Minter, work: object) -> None:
        raise BusyError("another process has been writing to /srv/secret/place")

    monkeypatch.setattr(Minter, "write", busy)
    reply = web("mint+1", user=USER)
    assert (reply.status, reply.headers["Retry-After"]) == (503, "2")
    assert "secret" not in reply.text and "/srv/secret/place" in reply.log


def test_a_broken_store_is_told_to_the_operator_and_not_the_client(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Minter, work: object) -> None:
        raise StoreError("the disk under /srv/secret\nplace\x1b[31m is full")

    monkeypatch.setattr(Minter, "write", broken)
    reply = web("mint+1", user=USER)
    assert reply.status == 500 and "secret" not in reply.text
    assert reply.log == "noid: the disk under /srv/secret?place?[31m is full\n"


def test_a_fault_of_ours_is_one_line_in_the_log_and_no_traceback(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(self: Minter, work: object) -> None:
        raise ZeroDivisionError("oh\nno")

    monkeypatch.setattr(Minter, "write", faulty)
    reply = web("mint+1", user=USER)
    assert reply.status == 500 and "Traceback" not in reply.text + reply.log and "oh" not in reply.text
    assert reply.log.count("\n") == 1 and "ZeroDivisionError" in reply.log


# -- browsers ----------------------------------------------------------------------------------------------------

LED_HERE = [
    {"HTTP_SEC_FETCH_SITE": "cross-site"}, {"HTTP_SEC_FETCH_SITE": "same-site"}, {"HTTP_SEC_FETCH_SITE": "odd"},
    {"HTTP_ORIGIN": "https://evil.example"}, {"HTTP_ORIGIN": "null"}, {"HTTP_ORIGIN": "http://id.example.org:8080"},
    {"HTTP_ORIGIN": "http://id.example.org.evil.example"}, {"HTTP_REFERER": "http://evil.example/?id.example.org"},
    {"HTTP_REFERER": "http://id.example.org@evil.example/"}, {"HTTP_REFERER": "nonsense"},
    {"HTTP_SEC_PURPOSE": "prefetch;prerender"}, {"HTTP_PURPOSE": "prefetch"}, {"HTTP_X_MOZ": "prefetch"},
    {"HTTP_X_PURPOSE": "preview"},
]


@pytest.mark.parametrize("said", LED_HERE, ids=str)
def test_a_browser_that_was_led_here_changes_nothing(web: Web, said: dict[str, str]) -> None:
    for reply in (web("mint+1", user=USER, **said), web.post("mint 1\n", **said)):
        assert reply.status == 403 and reply.ids == []
    assert web("hello", **said).status == 200
    assert web("mint+1", user=USER).ids == ["kt4x551"]


@pytest.mark.parametrize("said", [
    {"HTTP_SEC_FETCH_SITE": "none"}, {"HTTP_SEC_FETCH_SITE": "same-origin"}, {"HTTP_ORIGIN": "http://id.example.org"},
    {"HTTP_ORIGIN": "https://ID.example.org:443"}, {"HTTP_REFERER": "https://id.example.org/page?x"},
    {"HTTP_ORIGIN": "http://id.example.org:80", "HTTP_HOST": "ID.example.org"},
    {"HTTP_ORIGIN": "http://id.example.org:8080", "HTTP_HOST": "id.example.org:8080"},
    {"HTTP_ORIGIN": "http://[::1]:8080", "HTTP_HOST": "[::1]:8080"},
], ids=str)
def test_a_browser_that_came_by_itself_may_write(web: Web, said: dict[str, str]) -> None:
    assert web("mint+1", user=USER, **said).status == 200


# -- who ---------------------------------------------------------------------------------------------------------


def contact(web: Web, **said: object) -> bytes:
    """Whom a minting was recorded for."""
    (minted,) = web("mint+1", **{"user": USER, **said}).ids
    command(web.folder / "kt5", "bind", "set", minted, "x", "y")
    (record,) = command(web.folder / "kt5", "fetch", minted)
    return record["circ"].split(b"|")[2]


def test_the_contact_is_user_at_address(web: Web) -> None:
    assert contact(web) == b"alice@192.0.2.7"
    command(web.folder / "kt5", "policy", "mint", "anyone")
    assert contact(web, user="") == b"@192.0.2.7"
    assert contact(web, user="al|ice\n") == b"al_ice_@192.0.2.7"


def test_a_forwarded_address_is_believed_from_a_configured_proxy_only(web: Web) -> None:
    assert contact(web, HTTP_X_FORWARDED_FOR="203.0.113.9") == b"alice@192.0.2.7"
    behind = web.with_settings(trust=Trust(proxies=("192.0.2.7", "10.0.0.1")))
    assert contact(behind, HTTP_X_FORWARDED_FOR="203.0.113.9") == b"alice@203.0.113.9"
    assert contact(behind, HTTP_X_FORWARDED_FOR="6.6.6.6, 203.0.113.9, 10.0.0.1") == b"alice@203.0.113.9"
    assert contact(behind, HTTP_X_FORWARDED_FOR="6.6.6.6, x|y\n") == b"alice@192.0.2.7"
    assert contact(behind, HTTP_X_FORWARDED_FOR="2001:db8::1") == b"alice@2001:db8::1"
    assert contact(behind, HTTP_X_FORWARDED_FOR="203.0.113.9", REMOTE_ADDR="192.0.2.8") == b"alice@192.0.2.8"
    through_a_file = web.with_settings(trust=Trust(proxies=("unix",)))
    assert contact(through_a_file, HTTP_X_FORWARDED_FOR="203.0.113.9", REMOTE_ADDR="localhost") == b"alice@203.0.113.9"


def test_a_user_in_a_header_is_believed_only_where_that_was_asked_for_and_from_a_proxy_only(web: Web) -> None:
    header = {"HTTP_X_REMOTE_USER": "root", "HTTP_REMOTE_USER": "root"}
    assert web("mint+1", **header).status == 401
    assert web.with_settings(trust=Trust(proxies=("192.0.2.7",)))("mint+1", **header).status == 401
    behind = web.with_settings(trust=Trust(proxies=("192.0.2.7",), user_header="X-Remote-User"))
    assert behind("mint+1", REMOTE_ADDR="192.0.2.8", **header).status == 401
    assert contact(behind, user="", **header) == b"root@192.0.2.7"


def test_a_user_for_trying_is_everybody_at_this_machine(web: Web) -> None:
    trial = web.with_settings(trust=Trust(user="tester"))
    assert trial("mint+1", HTTP_HOST="localhost:8080").status == 200
    assert trial("mint+1", HTTP_HOST="[::1]:8080").status == 200
    # Somebody's name for this machine, by which their page would be of our own site.
    assert trial("mint+1", HTTP_HOST="rebound.example:8080").status == 403


# -- text and JSON -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("accept", "json"), [
    ("", False), ("*/*", False), ("application/json", True), ("application/*", False), ("text/html,*/*;q=0.8", False),
    ("application/json, text/plain, */*", True), ("application/json;q=0.5, text/plain", False),
    ("application/json;q=0.5, text/plain;q=0.4", True), ("application/json;q=0", False), ("APPLICATION/JSON", True),
    ("application/json;q=0.5", True), ("application/json; charset=utf-8", True), ("application/json;q=x", False),
    ("text/*;q=0.9, application/json;q=0.8", False), ("application/jsonx", False), (",,;;==", False),
    ("application/json;q=nan", False), ("application/json;q=9", True),
])
def test_json_is_for_those_who_would_rather_have_it(accept: str, json: bool) -> None:
    assert prefers_json(accept) == json


def test_json_is_exact_whatever_was_bound(web: Web) -> None:
    values = [b"plain", b"two\nlines\r\nand\rmore\n", b"\xff\x00\xfe", "Käse \u2028 \U0001f9c0".encode(), b'"\\', b""]
    for place, value in enumerate(values):
        assert web(f"bind+set+kt639k9+e{place}+{word(value)}", user=USER).status == 200
    records = web("get+kt639k9", accept="application/json").json["records"]
    assert [exactly(record["value"]) for record in records] == values
    (record,) = web("fetch+kt639k9", accept="application/json").json["records"]
    assert [exactly(element["value"]) for element in record["elements"]] == values
    assert record["hold"] is False


def exactly(value: str | dict[str, str]) -> bytes:
    return value.encode() if isinstance(value, str) else base64.b64decode(value["base64"])


def test_a_refusal_in_json_has_its_kind(web: Web) -> None:
    reply = web("get+nothing", accept="application/json")
    assert reply.status == 404
    assert reply.json["records"] == [] and reply.json["error"]["kind"] == "not found"
    reply = web("validate+-+kt+kt639k9", accept="application/json")
    assert reply.json["failed"] is True and [record["valid"] for record in reply.json["records"]] == [False, True]


HOSTILE = "\r\nSet-Cookie: a=b\r\n\r\nid: forged\nerror: forged"


def test_nothing_a_client_sends_adds_a_header_or_a_line_under_our_labels(web: Web) -> None:
    for query in [f"bind+set+kt639k9+{word(HOSTILE)}+{word(HOSTILE)}", "fetch+kt639k9", f"get+kt639k9+{word(HOSTILE)}",
                  f"get+{word(HOSTILE)}", f"help+{word(HOSTILE)}", word(HOSTILE), f"mint+{word(HOSTILE)}",
                  f"note+{word(HOSTILE)}+x", f"validate+-+{word(HOSTILE)}", f"policy+{word(HOSTILE)}"]:
        reply = web(query, user=USER)
        assert "Set-Cookie" not in reply.headers
        lines = reply.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        assert not [line for line in lines if line.startswith(("id: forged", "error: forged", "Set-Cookie"))], reply


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(alphabet="abkt059+%'\"\\-:/=&?", max_size=24), st.sampled_from(["GET", "POST", "HEAD"]))
def test_any_query_gets_an_answer(web: Web, query: str, method: str) -> None:
    assert web(query, method=method).status in (200, 400, 401, 403, 404, 405)


# -- many requests at once ---------------------------------------------------------------------------------------


def prepared(web: Web, requests: list[tuple[str, dict]]) -> list:
    environs = [
        environment(query, **{"user": USER, "method": "GET", "body": None, "path": "/noidu_kt5", "accept": "", **said})
        for query, said in requests
    ]
    web.application.prepare(environs)
    return [web.called(environ) for environ in environs]


def test_requests_served_together_answer_as_they_would_alone(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    commits = []
    write = Minter.write

    def counted(self: Minter, work: object) -> object:
        if not self.writing:
            commits.append(work)
        return write(self, work)

    monkeypatch.setattr(Minter, "write", counted)
    asked = ["mint+1", "bind+new+kt639k9+x+y", "bind+new+kt639k9+x+z", "get+kt639k9", "mint+2", "dance", "mint+x", "'"]
    replies = prepared(web, [(query, {}) for query in asked] + [("mint+1", {"user": ""}), ("hello", {"path": "/"})])
    assert [reply.status for reply in replies] == [200, 200, 409, 200, 200, 400, 400, 400, 401, 404]
    assert len({*replies[0].ids, *replies[4].ids}) == 3
    assert len(commits) == 1


def test_if_the_shared_commit_fails_each_request_is_served_by_itself(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    write = Minter.write
    failures = iter([True])

    def failing(self: Minter, work: object) -> object:
        outermost = not self.writing
        done = write(self, work)
        if outermost and next(failures, False):
            raise StoreError("the disk is full")
        return done

    monkeypatch.setattr(Minter, "write", failing)
    replies = prepared(web, [("mint+1", {}), ("mint+1", {})])
    assert [reply.status for reply in replies] == [200, 200]
    assert replies[0].ids != replies[1].ids


@pytest.mark.parametrize("granularity", ["0.1", "1"])
def test_labels_made_from_the_time_are_waited_for_however_they_are_asked_for(tmp_path: Path, granularity: str) -> None:
    create(tmp_path / "kt5", "--scheme", "ibip", "--ip", "150.163.34.243", "--granularity", granularity)
    web = Web(tmp_path)
    key = {"HTTP_IDEMPOTENCY_KEY": "k"}
    asked = [("mint+1", {}), ("mint+1", {}), ("bind+set+x+y+z", {}), ("mint+1", key), ("mint+1", key)]
    replies = prepared(web, asked)
    assert [reply.status for reply in replies] == [200, 200, 400, 200, 200]
    assert replies[3].ids == replies[4].ids
    minted = [identifier for reply in replies for identifier in reply.ids][:-1]
    minted += web.post("mint 1\nmint 1\n").ids + web.post("mint 1\n", **key).ids
    assert len(set(minted)) == len(minted) == 6


def test_threads_may_share_the_application(web: Web) -> None:
    minted: list[str] = []
    threads = [threading.Thread(target=lambda: minted.extend(web("mint+20", user=USER).ids)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(minted)) == len(minted) == 160


# -- CGI ---------------------------------------------------------------------------------------------------------


def test_nothing_heavy_is_imported_for_a_mint_by_cgi(web: Web, noidu) -> None:
    done = noidu("mint+1", "-X", "importtime")
    heavy = {"re", "typing", "json", "collections", "threading", "datetime", "argparse", "logging", "tempfile",
             "wsgiref", "dataclasses", "enum", "contextlib", "functools", "hashlib", "pathlib", "socket", "selectors",
             "http", "urllib", "email", "noidtools.commands.bulk", "noidtools.commands.idempotency"}
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.decode().splitlines()}
    assert b"\nid: kt" in done.stdout and "noidtools.web.commands" in imported
    assert not heavy & imported


@pytest.fixture
def noidu(web: Web):
    link = web.folder / "noidu_kt5"
    os.symlink(ROOT / "cgi-bin" / "noidu", link)

    def run(query: str, *options: str, body: bytes = b"", program: Path = link, **said: str | None):
        environment = {**os.environ, "REQUEST_METHOD": "GET", "QUERY_STRING": query, "SCRIPT_NAME": "/nd/noidu_kt5",
                       "REMOTE_ADDR": "192.0.2.7", "REMOTE_USER": USER, **said}
        environment = {name: value for name, value in environment.items() if value}
        return subprocess.run([sys.executable, *options, program], input=body, capture_output=True, timeout=60,
                              check=False, cwd=program.parent, env=environment)

    return run


def status(done) -> int:
    assert b"Traceback" not in done.stderr
    return int(done.stdout.split()[1])


def test_a_link_names_the_minter_beside_it(web: Web, noidu) -> None:
    assert b"id: kt" in noidu("mint+1").stdout
    os.link(os.path.realpath(web.folder / "noidu_kt5"), web.folder / "noidu_hard")
    create(web.folder / "hard", "h.zd")
    assert b"id: h0" in noidu("mint+1", program=web.folder / "noidu_hard").stdout
    script = web.folder / "noidu_hard"
    assert b"id: h1" in noidu("mint+1", SCRIPT_FILENAME=str(script)).stdout
    assert b"id: h2" in noidu("mint+1", NOID=str(web.folder / "hard")).stdout
    (web.folder / "noidu_none").symlink_to(web.folder / "noidu_kt5")
    assert status(noidu("mint+1", program=web.folder / "noidu_none")) == 404


def test_bulk_by_cgi_reads_the_body_to_its_length_and_no_further(noidu) -> None:
    body = b"mint 1\nmint 1\n"
    done = noidu("-", body=body + b"mint 1\n", REQUEST_METHOD="POST", CONTENT_LENGTH=str(len(body)))
    assert status(done) == 200 and done.stdout.count(b"id: ") == 2
    assert status(noidu("-", body=body, REQUEST_METHOD="POST", CONTENT_LENGTH="99")) == 400
    done = noidu("-", body=body, REQUEST_METHOD="POST", HTTP_TRANSFER_ENCODING="chunked")
    assert done.stdout.count(b"id: ") == 2
    assert status(noidu("-", body=body, REQUEST_METHOD="POST", CONTENT_LENGTH="14", NOID_MAX_BODY="13")) == 413
    assert status(noidu("-", body=body, REQUEST_METHOD="POST", CONTENT_LENGTH="14", NOID_MAX_BODY="many")) == 200


def test_a_proxy_is_named_to_cgi_by_the_environment(web: Web, noidu) -> None:
    done = noidu("bind+mint+new+x+y", NOID_PROXY="10.0.0.1 192.0.2.7", HTTP_X_FORWARDED_FOR="203.0.113.9")
    identifier = done.stdout.decode().split("Id:")[1].split()[0]
    (record,) = command(web.folder / "kt5", "fetch", identifier)
    assert b"alice@203.0.113.9" in record["circ"]


def test_a_client_that_goes_away_causes_no_traceback(web: Web) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    environment = {**os.environ, "REQUEST_METHOD": "GET", "QUERY_STRING": "mint+9000", "REMOTE_USER": "a",
                   "NOID": str(web.folder / "kt5")}
    done = subprocess.run([sys.executable, ROOT / "cgi-bin" / "noidu"], stdout=writing, stderr=subprocess.PIPE,
                          timeout=60, check=False, cwd=web.folder, env=environment)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, b"")


def test_noidu_at_a_shell_says_what_it_is_for(noidu) -> None:
    done = noidu("", REQUEST_METHOD=None)
    assert done.returncode == 2 and b"web servers" in done.stderr and done.stdout == b""


def test_a_body_that_is_no_file_of_ours_is_closed(web: Web) -> None:
    class Slow(io.BytesIO):
        def read(self, size: int = -1) -> bytes:
            return super().read(min(size, 3))

    body = b"mint 1\n" * 5
    environ = {"wsgi.input": Slow(body)}
    assert len(web("-", method="POST", user=USER, body=body, **environ).ids) == 5
