"""One suite of behaviour through every way in: real servers, started from conf/ and asked by the real curl."""

from __future__ import annotations

import base64
import http.client
import os
import random
import re
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from server_support import DOORS, PASSWORD, USER, Door, MissingError, Site, alive, parsed, raw

ACCEPT_JSON = ("--header", "Accept: application/json")


@pytest.fixture(params=list(DOORS))
def door(request, site: Site):
    try:
        door = site.door(request.param)
    except MissingError as missing:
        pytest.fail(str(missing))
    yield door
    print(door.logs())  # shown when the test has failed


_count = iter(range(10**6))


def new_minter(door: Door, *words: str) -> str:
    name = f"m{next(_count)}"
    door.create(name, *(words or ("kt.reeded",)))
    return name


def ids(text: str) -> list[str]:
    return re.findall(r"^id: (\S+)$", text, re.MULTILINE)


def mint(door: Door, minter: str, count: int = 1) -> list[str]:
    reply = door.ask(minter, f"mint+{count}")
    assert reply.status == 200, reply
    return ids(reply.text)


# -- the manual's examples ---------------------------------------------------------------------------------------


def test_each_url_mints_as_many_identifiers_as_it_says(door):
    minter = new_minter(door)
    one = door.ask(minter, "mint+1")
    assert (one.status, one.text) == (200, "id: kt4x551\n\n")
    assert one.headers["content-type"] == "text/plain; charset=utf-8"
    assert one.headers["cache-control"] == "no-store"
    assert one.headers["x-content-type-options"] == "nosniff"
    twenty = door.ask(minter, "mint+20")
    assert twenty.status == 200
    assert len(set(ids(twenty.text) + ids(one.text))) == 21
    assert "kt154d9" in twenty.text and twenty.text.endswith("\n\n")


def test_what_is_bound_by_one_url_is_got_by_another(door):
    minter = new_minter(door, "kt.reeded", "long", "13030", "cdlib.org", "dpg")
    (name,) = mint(door, minter)
    assert name.startswith("13030/kt")
    bound = door.ask(minter, f"bind+set+{name}+myGoto+http://foo.ucsd.edu/")
    assert bound.status == 200 and "Status:  ok, 20 bytes written" in bound.text
    got = door.ask(minter, f"get+{name}+myGoto", user="")
    assert (got.status, got.text) == (200, "http://foo.ucsd.edu/\n")
    assert door.noid("-f", minter, "get", name, "myGoto") == "http://foo.ucsd.edu/\n"


def test_curl_binds_500_elements_with_one_bulk_post(door, tmp_path):
    minter = new_minter(door)
    names = mint(door, minter, 500)
    commands = tmp_path / "myCommands"
    commands.write_text("".join(f"bind set {name} myGoto http://foo.ucsd.edu/{name}\n" for name in names))
    reply = door.ask(minter, "-", "--data-binary", f"@{commands}")
    assert reply.status == 200, reply
    assert reply.text.count("Status:  ok") == 500
    assert re.findall(r"^Id: +(\S+)$", reply.text, re.MULTILINE) == names
    assert reply.text.endswith("\n\nbulk: 500 commands, 500 done, 0 refused\n")
    asked = "".join(f"get {name} myGoto\n" for name in names).encode()
    answers = door.noid("-f", minter, "-", stdin=asked).split()
    assert answers == [f"http://foo.ucsd.edu/{name}" for name in names]


def test_a_bulk_body_of_unknown_length_is_run_too_or_refused_for_that(door):
    minter = new_minter(door)
    reply = door.ask(minter, "-", "--header", "Transfer-Encoding: chunked", "--data-binary", "@-",
                     stdin=b"mint 2\n" * 1000)
    assert reply.status in (200, 411), reply
    drawn = re.search(r"^Drawn: (\d+)$", door.noid("-f", minter, "dbinfo"), re.MULTILINE)
    assert int(drawn[1]) == (2000 if reply.status == 200 else 0)


# -- the same everywhere -----------------------------------------------------------------------------------------

# What is asked, as which user, with which options of curl, and the status that must come.
CONVERSATION = [
    ("", "", (), 200), ("help", "", (), 200), ("help+mint", "", (), 200), ("hello", "", (), 200),
    ("mint+1", USER, (), 200), ("mint+20", USER, (), 200), ("mint+3000", USER, (), 200), ("mint+0", USER, (), 200),
    ("bind+set+kt4x551+myGoto+http://foo.ucsd.edu/", USER, (), 200),
    ("get+kt4x551+myGoto", "", (), 200), ("fetch+kt4x551", "", ACCEPT_JSON, 200),
    ("mint+2", USER, ACCEPT_JSON, 200), ("validate+-+kt4x551+kt4x55", "", (), 200), ("dbinfo", "", ACCEPT_JSON, 200),
    ("bind+set+kt4x551+caf%C3%A9+%E2%82%AC%20%2B%20%22%22%20%25%26%23%3F", USER, (), 200),
    ("get+kt4x551+caf%C3%A9", "", (), 200), ("get+kt4x551+caf%c3%a9", "", ACCEPT_JSON, 200),
    ("bind+set+kt4x551+title+%27two+words%27", USER, (), 400), ("bind+set+kt4x551+title+'two+words'", USER, (), 200),
    ("get+kt4x551+title", "", (), 200),
    ("bind+set+kt4x551+bytes+%FF%FE%00", USER, (), 200), ("get+kt4x551+bytes", "", ACCEPT_JSON, 200),
    ("bind+add+kt4x551+:", USER, ("--data-binary", "Title: a\n b\nCreator: c\n\n"), 200),
    ("fetch+kt4x551", "", (), 200),
    ("-", USER, ("--data-binary", "mint 1\nbind new kt154d9 a b\nbind new kt154d9 a b\nget kt154d9 a\n"), 200),
    ("-", USER, (*ACCEPT_JSON, "--data-binary", "mint 1\nget kt154d9 nix\n"), 200),
    ("-", USER, ("--data-binary", "mint 1\nnix\n"), 400), ("-", "", ("--data-binary", "mint 1\n"), 401),
    ("-", USER, ("--data-binary", ""), 200), ("-", USER, (), 405),
    ("mint+1", USER, ("--header", "Idempotency-Key: k1"), 200),
    ("mint+1", USER, ("--header", "Idempotency-Key: k1"), 200),
    ("mint+2", USER, ("--header", "Idempotency-Key: k1"), 409),
    ("nix", USER, (), 400), ("get", "", (), 400), ("mint+x", USER, (), 400), ("mint+%zz", USER, (), 400),
    ("bind+set+nix+a+b", USER, (), 400), ("mint+1", "", (), 401), ("bind+set+kt4x551+a+b", "", (), 401),
    ("dbinfo+full", "", (), 401), ("policy", "", (), 401), ("dbcreate+.zd", USER, (), 403), ("serve", USER, (), 403),
    ("get+kt4x551+nix", "", (), 404), ("get+kt154d9+nix", "", ACCEPT_JSON, 404),
    ("bind+new+kt4x551+myGoto+x", USER, (), 409), ("hold+set+kt4x551", USER, (), 200),
    ("queue+now+kt4x551", USER, (), 409),
    ("mint+1", USER, ("--head",), 405), ("get+kt4x551+myGoto", "", ("--head",), 200),
    ("get+kt4x551+myGoto", "", ("--request", "PUT"), 405), ("mint+1", USER, ("--request", "DELETE"), 405),
    ("mint+1", USER, ("--header", "Sec-Fetch-Site: cross-site"), 403),
    ("mint+1", USER, ("--header", "Origin: https://evil.example"), 403),
    ("mint+1", USER, ("--header", "Sec-Purpose: prefetch"), 403),
    ("mint+1", USER, ("--header", "Sec-Fetch-Site: same-origin"), 200),
    ("get+kt4x551+myGoto", "", ("--header", "Sec-Fetch-Site: cross-site"), 200),
    ("policy+mint+guest", USER, (), 200), ("mint+1", USER, (), 403), ("mint+1", "guest", (), 200),
    ("policy+read+nobody", USER, (), 200), ("get+kt4x551+myGoto", USER, (), 403), ("policy+read+anyone", USER, (), 200),
    ("note+n+" + "x" * 12000, USER, (), 200), ("dbinfo+dump", "guest", (), 200),
]


def conversation(door: Door) -> tuple[list, str]:
    door.create("same", "kt.reeded")
    replies = []
    for query, user, options, status in CONVERSATION:
        reply = door.ask("same", query, *options, user=user)
        assert reply.status == status, (door.name, query, reply)
        told = {name: reply.headers.get(name) for name in ("content-type", "allow", "idempotency-replayed")}
        challenge = reply.headers.get("www-authenticate")
        assert challenge == ('Basic realm="noid"' if status == 401 else None)
        replies.append((query, reply.status, told, timeless(reply.text)))
    return replies, timeless(door.noid("-f", "same", "dbinfo", "dump"))


def timeless(text: str) -> str:
    """Without dates, and without the answers kept for repeated requests, which are enciphered."""
    text = re.sub(r"(?m)^(REPLIES/.*?): .*$", r"\1:", text)
    return re.sub(r"\d{20}|\d{14}", "(then)", text)


def test_answers_statuses_and_databases_are_the_same_through_every_door(site):
    with ThreadPoolExecutor(3) as pool:
        talks = dict(zip(DOORS, pool.map(lambda name: conversation(site.door(name)), DOORS), strict=True))
    (first, (replies, database)), *others = talks.items()
    assert "EVENTS/" in database and "noid@127.0.0.1" in database
    for name, (other_replies, other_database) in others:
        for expected, seen in zip(replies, other_replies, strict=True):
            assert seen == expected, f"{name} answers unlike {first}"
        assert other_database == database, f"{name} leaves another database than {first}"


def test_an_exhausted_minter_answers_410_and_gives_what_it_had_first(door):
    minter = new_minter(door, ".sd")
    rest = door.ask(minter, "mint+12")
    assert rest.status == 200 and len(ids(rest.text)) == 10 and "error: " in rest.text
    assert door.ask(minter, "mint+1").status == 410


@pytest.mark.parametrize("door", ["apache-cgi", "apache-mod_cgi"], indirect=True)
def test_a_hard_link_beside_the_minter_serves_it_too(door):
    minter = new_minter(door)
    (door.minters / f"noidu_{minter}").unlink()
    (door.minters / f"noidu_{minter}").hardlink_to(door.site.installation / "bin" / "noidu")
    assert door.ask(minter, "mint+1").text == "id: kt4x551\n\n"


def test_an_unknown_minter_is_not_found(door):
    assert door.ask("nowhere", "mint+1").status == 404
    assert door.ask("nowhere", "mint+1", user="").status == 404


@pytest.mark.parametrize("door", [name for name in DOORS if name != "embedded"], indirect=True)
def test_a_wrong_password_is_refused_even_for_reading(door):
    minter = new_minter(door)
    reply = door.ask(minter, "hello", "--user", f"{USER}:wrong", user="")
    assert reply.status == 401 and reply.headers["www-authenticate"].startswith("Basic realm=")
    assert door.ask(minter, "hello", "--header", "Authorization: Bearer x", user="").status == 401
    # No other header makes anybody a user.
    claims = [option for name in ("X-Remote-User", "Remote-User", "REMOTE_USER", "X_REMOTE_USER", "X-Forwarded-User")
              for option in ("--header", f"{name}: {USER}")]
    assert door.ask(minter, "mint+1", *claims, user="").status == 401


# -- hostile requests --------------------------------------------------------------------------------------------


def login(door: Door) -> bytes:
    if door.name == "embedded":
        return f"X-Remote-User: {USER}\r\n".encode()
    return b"Authorization: Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()) + b"\r\n"


def request(door: Door, minter: str, query: bytes, *headers: bytes, method: bytes = b"GET", path: bytes = b"") -> bytes:
    """A request's head as bytes, however malformed."""
    path = path or f"{door.path}/noidu_{minter}".encode()
    head = method + b" " + path + b"?" + query + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + login(door)
    return head + b"".join(header + b"\r\n" for header in headers) + b"\r\n"


def post(door: Door, minter: str, *headers: bytes) -> bytes:
    return request(door, minter, b"-", *headers, method=b"POST")


@pytest.fixture
def victim(door):
    """A minter that must be as it was after the test, and served by a door that still works."""
    minter = new_minter(door)
    (name,) = mint(door, minter)
    before = door.noid("-f", minter, "dbinfo", "dump")
    yield minter
    after = door.noid("-f", minter, "dbinfo", "dump")
    assert after == before
    assert door.ask(minter, "mint+1").status == 200
    assert "Traceback" not in door.logs()


HOSTILE_QUERIES = {
    b"%": {400}, b"mint+%": {400}, b"mint+1%zz": {400}, b"get+%e": {400}, b"mint+%31%": {400}, b"'mint+1": {400},
    b"mint+1%00": {400}, b"mint+1%0A": {400}, b"mint%0A+1": {400}, b"mint+1%0D%0Amint+1": {400}, b"%00": {400},
    b"mint+1\x00": {400}, b"mint+1\x01": {400}, b"mint+1 x": {400}, b"mint+1\tx": {400}, b"get+\xff\xfe": {400, 404},
    b"get+%00+%0a": {404}, b"bind+set+kt4x551%0A+a+b": {400}, b"bind+set+kt4x551%00+a+b": {400},
    b"hold+set+nix%0Aid:%20kt4x551": {400}, b"-f+/etc+mint+1": {400}, b"-v": {400}, b"--help": {400},
    b"get+" + b"x" * 100_000: {400, 404, 414, 431}, b"get+x" + b"+" * 100_000: {400, 404, 414, 431},
    b"mint+" + b"9" * 15_000: {400}, b"mint+-1": {400}, b"mint+1.5": {400}, b"mint+0x10": {400},
    b"bind+set+kt4x551+:": {400}, b"policy+mint+%0Aanyone": {400}, b"mint+%D9%A1": {400},
}


def test_hostile_queries_are_refused_each_with_its_status(door, victim):
    for query, statuses in HOSTILE_QUERIES.items():
        reply = parsed(raw(door.port, request(door, victim, query)))
        assert reply.status in statuses, (query[:60], reply)


# How a database of LMDB begins.
MAGIC = bytes.fromhex("dec0efbe")
HOSTILE_PATHS = [
    b"/noidu_..", b"/noidu_../noidu_x", b"/noidu_%2e%2e", b"/noidu_.%2f..%2fetc", b"/noidu_", b"/noidu",
    b"/noidu_x%00", b"/noidu_x%0d%0aSet-Cookie:%20a=b", b"/noidu_%ff", b"/noidu_x/NOID/data.mdb", b"/x/NOID/data.mdb",
    b"/../minters/x/NOID/data.mdb", b"/noidu_" + b"n" * 5000, b"/noidr_x", b"//noidu_x",
]


def test_no_path_leads_to_anything_but_minters(door, victim):
    for path in HOSTILE_PATHS:
        path = door.path.encode() + path.replace(b"x/NOID", victim.encode() + b"/NOID")
        reply = parsed(raw(door.port, request(door, victim, b"mint+1", path=path)))
        assert reply.status in (400, 403, 404), (path[:60], reply)
        assert "set-cookie" not in reply.headers and MAGIC not in reply.body


def test_unknown_methods_are_refused(door, victim):
    for method in (b"FOO", b"PATCH", b"PUT", b"DELETE", b"get", b"G@T", b"", b"M" * 5000):
        reply = parsed(raw(door.port, request(door, victim, b"mint+1", b"Content-Length: 0", method=method)))
        assert reply.status in (400, 403, 405, 414, 501), (method[:20], reply)


LENGTHS = [
    (b"Content-Length: abc",), (b"Content-Length: -1",), (b"Content-Length: 7, 8",), (b"Content-Length: 0x7",),
    (b"Content-Length: 7", b"Content-Length: 9"), (b"Content-Length: 99999999999999999999999",),
    (b"Transfer-Encoding: gzip",), (b"Transfer-Encoding: chunked", b"Content-Length: 7 8"),
    (b"Transfer-Encoding: chunked", b"Content-Length: 7"),
]


def test_a_wrong_content_length_is_refused(door, victim):
    for headers in LENGTHS:
        reply = parsed(raw(door.port, post(door, victim, *headers) + b"mint 1\n\r\n\r\n"))
        assert reply.status in (400, 411, 413, 501), (headers, reply)


def test_a_body_larger_than_the_limit_is_refused_before_it_is_sent(door, victim):
    reply = parsed(raw(door.port, post(door, victim, b"Content-Length: 300000000") + b"mint 1\n", finish=True))
    assert reply.status == 413, reply


def test_of_a_body_that_is_cut_off_nothing_is_run(door, victim):
    whole = b"mint 1\n" * 1000
    # Some see at once that their client has gone, and say no more; mod_wsgi takes that for a fault of the server.
    statuses = {400, 408, 411, 413, 500} if door.name == "apache-wsgi" else {400, 408, 411, 413}
    for sent in (whole[:3500], whole[:3503], b""):
        answer = raw(door.port, post(door, victim, b"Content-Length: %d" % len(whole)) + sent, finish=True)
        assert not answer or parsed(answer).status in statuses, answer
    for broken in (b"4\r\nmint\r\n", b"zz\r\nmint 1\n\r\n0\r\n\r\n", b"FFFFFFFFFFFFFFFFF\r\nmint 1\n"):
        answer = raw(door.port, post(door, victim, b"Transfer-Encoding: chunked") + broken, finish=True)
        assert not answer or parsed(answer).status in statuses, answer


def test_slow_bodies_arrive_and_stalled_ones_keep_nobody_waiting(site):
    doors = [site.door(name) for name in DOORS]
    minters = [new_minter(door) for door in doors]

    def drip(door: Door, minter: str) -> bytes:
        body = b"mint 1\nmint 2\n"
        return raw(door.port, post(door, minter, b"Content-Length: %d" % len(body)),
                   *(body[at : at + 1] for at in range(len(body))), pause=0.1)

    def stall(door: Door, minter: str) -> bytes:
        return raw(door.port, post(door, minter, b"Content-Length: 1000000") + b"mint 1\n" * 10000, seconds=6)

    def others(door: Door, minter: str) -> float:
        started = time.monotonic()
        assert door.ask(minter, "hello").status == 200
        return time.monotonic() - started

    with ThreadPoolExecutor(6 * len(doors)) as pool:
        slow = pool.map(drip, doors, minters)
        stalled = pool.map(stall, doors * 4, minters * 4)
        time.sleep(0.5)
        for door, seconds in zip(doors, pool.map(others, doors, minters), strict=True):
            assert seconds < 3, f"{door.name} let others wait {seconds} seconds for a slow sender"
        for door, answer in zip(doors, slow, strict=True):
            reply = parsed(answer)
            assert reply.status == 200 and len(ids(reply.text)) == 3, (door.name, reply)
        for door, answer in zip(doors * 4, stalled, strict=True):
            assert not answer or parsed(answer).status in (400, 408), (door.name, answer)
    for door, minter in zip(doors, minters, strict=True):
        assert "Drawn: 3\n" in door.noid("-f", minter, "dbinfo")


def test_no_bound_value_adds_a_header_or_a_line_of_another_label(door):
    minter = new_minter(door)
    (name,) = mint(door, minter)
    evil = "x%0D%0ASet-Cookie:%20a=b%0D%0A%0D%0A%3Cscript%3E%0Aid:%20forged%0Aerror:%20forged%0Dbulk:%20forged"
    assert door.ask(minter, f"bind+set+{name}+evil%0D%0AX-Evil:%20b+{evil}").status == 200
    for query in (f"get+{name}", f"fetch+{name}", f"get+{name}+{evil}", evil):
        for options in ((), ACCEPT_JSON):
            reply = door.ask(minter, query, *options)
            assert reply.status in (200, 400, 404)
            assert not {"set-cookie", "x-evil"} & set(reply.headers)
            assert reply.headers["content-type"] in ("text/plain; charset=utf-8", "application/json")
            lines = reply.text.replace("\r", "\n").split("\n")
            assert not [line for line in lines if line.startswith(("id: forged", "error: forged", "bulk: ", "Set-"))]
    key = door.ask(minter, "mint+1", "--header", "Idempotency-Key: a\tb")
    assert key.status == 400, key
    assert "\nid: forged" not in door.logs()


def test_a_forged_address_is_not_recorded(door):
    minter = new_minter(door)
    reply = door.ask(minter, "mint+1", "--header", "X-Forwarded-For: 10.9.8.7, 6.6.6.6",
                     "--header", "Forwarded: for=6.6.6.6", "--header", "Client-IP: 6.6.6.6")
    assert reply.status == 200
    database = door.noid("-f", minter, "dbinfo", "dump")
    if door.name == "embedded":
        # Here the tests are the proxy that is believed: what it saw last counts.
        assert "noid@6.6.6.6" in database and "10.9.8.7" not in database
    else:
        assert "noid@127.0.0.1" in database and "6.6.6.6" not in database


# -- workers that come and go ------------------------------------------------------------------------------------


class Load:
    """Clients that mint one identifier after the other, from `with` to its end."""

    def __init__(self, door: Door, minter: str, clients: int = 6) -> None:
        self.received: list[str] = []
        self.refused: list[object] = []
        self._port = door.port
        self._url = f"{door.path}/noidu_{minter}?mint+1"
        name, _, value = login(door).decode().strip().partition(": ")
        self._headers = {name: value}
        self._over = threading.Event()
        self._clients = [threading.Thread(target=self._ask_on) for _ in range(clients)]

    def __enter__(self) -> Load:
        for client in self._clients:
            client.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for client in self._clients:
            client.join()

    def _ask_on(self) -> None:
        while not self._over.is_set():
            connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=10)
            try:
                connection.request("GET", self._url, headers=self._headers)
                reply = connection.getresponse()
                body = reply.read().decode()
                if reply.status == 200:
                    self.received += ids(body)
                else:
                    self.refused.append(reply.status)
            except (OSError, http.client.HTTPException) as error:
                self.refused.append(error)
            finally:
                connection.close()


def stored_ids(door: Door, minter: str) -> set[str]:
    return set(re.findall(r"^IDS/([^:]+): ", door.noid("-f", minter, "dbinfo", "dump"), re.MULTILINE))


def test_identifiers_are_unique_and_kept_when_workers_are_killed_under_load(door):
    minter = new_minter(door)
    with Load(door, minter) as load:
        killed = _kill_workers(door, seconds=1.2)
        time.sleep(0.3)
    assert killed >= 2
    assert len(load.received) > 20, (load.refused[:10], door.logs())
    assert len(set(load.received)) == len(load.received)
    assert set(load.received) <= stored_ids(door, minter)
    # And it goes on.
    assert _eventually(lambda: door.ask(minter, "mint+1").status == 200)


@pytest.mark.parametrize("door", ["apache-fcgi", "nginx-fcgi", "nginx-scgi", "nginx-proxy", "embedded"], indirect=True)
def test_a_reload_under_load_refuses_nobody_and_replaces_the_workers(door):
    minter = new_minter(door)
    assert door.ask(minter, "hello").status == 200
    assert _eventually(lambda: len(door.workers()) == 2)
    before = door.workers()
    with Load(door, minter, clients=4) as load:
        for _ in range(2):
            time.sleep(0.3)
            door.service.signal(signal.SIGHUP)
        time.sleep(0.6)
    assert not load.refused, (load.refused, door.logs())
    assert set(load.received) == stored_ids(door, minter) and len(set(load.received)) == len(load.received)
    assert _eventually(lambda: len(door.workers()) == 2 and not set(door.workers()) & set(before))


def _kill_workers(door: Door, seconds: float) -> int:
    killed = 0
    chance = random.Random(8)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        time.sleep(chance.uniform(0.02, 0.2))
        workers = [pid for pid in door.workers() if alive(pid)]
        if workers:
            try:
                os.kill(chance.choice(workers), signal.SIGKILL)
                killed += 1
            except ProcessLookupError:
                pass
    return killed


def _eventually(true, seconds: float = 10) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if true():
            return True
        time.sleep(0.1)
    return False
