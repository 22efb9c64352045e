"""Hostile requests to every server: each has its status, and no minter is changed."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from support.http import parsed, raw
from support.servers import COMMANDS, with_rare_ones_long
from support.servers.deployment import Deployment

DEPLOYMENTS = with_rare_ones_long(COMMANDS)
ACCEPT_JSON = ("--header", "Accept: application/json")


def request(
    deployment: Deployment, minter: str, query: bytes, *headers: bytes, method: bytes = b"GET", path: bytes = b""
) -> bytes:
    """A request's head as bytes, however malformed."""
    path = path or f"{deployment.path}/noidu_{minter}".encode()
    head = method + b" " + path + b"?" + query + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    return head + deployment.login_header() + b"".join(header + b"\r\n" for header in headers) + b"\r\n"


def post(deployment: Deployment, minter: str, *headers: bytes) -> bytes:
    return request(deployment, minter, b"-", *headers, method=b"POST")


@pytest.fixture
def victim(deployment):
    """A minter that must be as it was after the test, and served by a deployment that still works."""
    minter = deployment.new_minter()
    (name,) = deployment.mint(minter)
    before = deployment.noid("-f", minter, "dbinfo", "dump")
    yield minter
    after = deployment.noid("-f", minter, "dbinfo", "dump")
    assert after == before
    assert deployment.ask(minter, "mint+1").status == 200
    assert "Traceback" not in deployment.logs()


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


def test_hostile_queries_are_refused_each_with_its_status(deployment, victim):
    for query, statuses in HOSTILE_QUERIES.items():
        reply = parsed(raw(deployment.port, request(deployment, victim, query)))
        assert reply.status in statuses, (query[:60], reply)


# How a database of LMDB begins.
MAGIC = bytes.fromhex("dec0efbe")
HOSTILE_PATHS = [
    b"/noidu_..", b"/noidu_../noidu_x", b"/noidu_%2e%2e", b"/noidu_.%2f..%2fetc", b"/noidu_", b"/noidu",
    b"/noidu_x%00", b"/noidu_x%0d%0aSet-Cookie:%20a=b", b"/noidu_%ff", b"/noidu_x/NOID/data.mdb", b"/x/NOID/data.mdb",
    b"/../minters/x/NOID/data.mdb", b"/noidu_" + b"n" * 5000, b"/noidr_x", b"//noidu_x",
]


def test_paths_that_name_no_minter_are_refused_by_every_server(deployment, victim):
    for path in HOSTILE_PATHS:
        path = deployment.path.encode() + path.replace(b"x/NOID", victim.encode() + b"/NOID")
        reply = parsed(raw(deployment.port, request(deployment, victim, b"mint+1", path=path)))
        assert reply.status in (400, 403, 404), (path[:60], reply)
        assert "set-cookie" not in reply.headers and MAGIC not in reply.body


def test_unknown_methods_are_refused(deployment, victim):
    for method in (b"FOO", b"PATCH", b"PUT", b"DELETE", b"get", b"G@T", b"", b"M" * 5000):
        head = request(deployment, victim, b"mint+1", b"Content-Length: 0", method=method)
        reply = parsed(raw(deployment.port, head))
        assert reply.status in (400, 403, 405, 414, 501), (method[:20], reply)


LENGTHS = [
    (b"Content-Length: abc",), (b"Content-Length: -1",), (b"Content-Length: 7, 8",), (b"Content-Length: 0x7",),
    (b"Content-Length: 7", b"Content-Length: 9"), (b"Content-Length: 99999999999999999999999",),
    (b"Transfer-Encoding: gzip",), (b"Transfer-Encoding: chunked", b"Content-Length: 7 8"),
    (b"Transfer-Encoding: chunked", b"Content-Length: 7"),
]


def test_a_wrong_content_length_is_refused(deployment, victim):
    for headers in LENGTHS:
        reply = parsed(raw(deployment.port, post(deployment, victim, *headers) + b"mint 1\n\r\n\r\n"))
        assert reply.status in (400, 411, 413, 501), (headers, reply)


def test_a_body_larger_than_the_limit_is_refused_before_it_is_sent(deployment, victim):
    head = post(deployment, victim, b"Content-Length: 300000000")
    reply = parsed(raw(deployment.port, head + b"mint 1\n", finish=True))
    assert reply.status == 413, reply


def test_a_truncated_body_is_refused_whole(deployment, victim):
    whole = b"mint 1\n" * 1000
    # Some see at once that their client has gone, and say no more; mod_wsgi takes that for a fault of the server.
    statuses = {400, 408, 411, 413, 500} if deployment.name == "apache-wsgi" else {400, 408, 411, 413}
    for sent in (whole[:3500], whole[:3503], b""):
        answer = raw(deployment.port, post(deployment, victim, b"Content-Length: %d" % len(whole)) + sent, finish=True)
        assert not answer or parsed(answer).status in statuses, answer
    for broken in (b"4\r\nmint\r\n", b"zz\r\nmint 1\n\r\n0\r\n\r\n", b"FFFFFFFFFFFFFFFFF\r\nmint 1\n"):
        answer = raw(deployment.port, post(deployment, victim, b"Transfer-Encoding: chunked") + broken, finish=True)
        assert not answer or parsed(answer).status in statuses, answer


def test_slow_bodies_are_run_and_stalled_ones_delay_no_other_request(deploy):
    # Apache passes a body on to FastCGI as it comes, and a process waits for it.
    deployments = [deploy(name) for name in COMMANDS if name != "apache-fcgi"]
    minters = [deployment.new_minter() for deployment in deployments]

    def drip(deployment: Deployment, minter: str) -> bytes:
        body = b"mint 1\nmint 2\n"
        return raw(deployment.port, post(deployment, minter, b"Content-Length: %d" % len(body)),
                   *(body[at : at + 1] for at in range(len(body))), pause=0.1)

    def stall(deployment: Deployment, minter: str) -> bytes:
        head = post(deployment, minter, b"Content-Length: 1000000")
        return raw(deployment.port, head + b"mint 1\n" * 10000, seconds=6)

    def others(deployment: Deployment, minter: str) -> float:
        started = time.monotonic()
        assert deployment.ask(minter, "hello").status == 200
        return time.monotonic() - started

    with ThreadPoolExecutor(6 * len(deployments)) as pool:
        slow = pool.map(drip, deployments, minters)
        stalled = pool.map(stall, deployments * 4, minters * 4)
        time.sleep(0.5)
        for deployment, seconds in zip(deployments, pool.map(others, deployments, minters), strict=True):
            assert seconds < 5, f"{deployment.name} let others wait {seconds} seconds for a slow sender"
        for deployment, answer in zip(deployments, slow, strict=True):
            reply = parsed(answer)
            assert reply.status == 200 and len(reply.ids) == 3, (deployment.name, reply)
        for deployment, answer in zip(deployments * 4, stalled, strict=True):
            assert not answer or parsed(answer).status in (400, 408), (deployment.name, answer)
    for deployment, minter in zip(deployments, minters, strict=True):
        assert "Drawn: 3\n" in deployment.noid("-f", minter, "dbinfo")


def test_no_bound_value_adds_a_header_or_a_line_of_another_label(deployment):
    minter = deployment.new_minter()
    (name,) = deployment.mint(minter)
    evil = "x%0D%0ASet-Cookie:%20a=b%0D%0A%0D%0A%3Cscript%3E%0Aid:%20forged%0Aerror:%20forged%0Dbulk:%20forged"
    assert deployment.ask(minter, f"bind+set+{name}+evil%0D%0AX-Evil:%20b+{evil}").status == 200
    for query in (f"get+{name}", f"fetch+{name}", f"get+{name}+{evil}", evil):
        for options in ((), ACCEPT_JSON):
            reply = deployment.ask(minter, query, *options)
            assert reply.status in (200, 400, 404)
            assert not {"set-cookie", "x-evil"} & set(reply.headers)
            assert reply.headers["content-type"] in ("text/plain; charset=utf-8", "application/json")
            lines = reply.text.replace("\r", "\n").split("\n")
            assert not [line for line in lines if line.startswith(("id: forged", "error: forged", "bulk: ", "Set-"))]
    key = deployment.ask(minter, "mint+1", "--header", "Idempotency-Key: a\tb")
    assert key.status == 400, key
    assert "\nid: forged" not in deployment.logs()


def test_a_forged_address_is_not_recorded(deployment):
    minter = deployment.new_minter()
    reply = deployment.ask(minter, "mint+1", "--header", "X-Forwarded-For: 10.9.8.7, 6.6.6.6",
                     "--header", "Forwarded: for=6.6.6.6", "--header", "Client-IP: 6.6.6.6",
                     "--header", "X_Forwarded_For: 6.6.6.6", "--header", "X-Forwarded_For: 6.6.6.6")
    assert reply.status == 200
    database = deployment.noid("-f", minter, "dbinfo", "dump")
    assert "noid@127.0.0.1" in database and "6.6.6.6" not in database


@pytest.mark.parametrize("size", [10, 3_000_000])
def test_a_refusal_arrives_though_the_body_was_not_read(deployment, size):
    minter = deployment.new_minter()
    for options in (("--header", "Origin: null"), ("--request", "PUT")):
        reply = deployment.ask(minter, "-", *options, "--data-binary", "@-", stdin=b"#" * size)
        assert reply.status in (403, 405) and reply.text.startswith("error: "), reply
