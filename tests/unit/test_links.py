"""Links are checked correctly, one request at a time for each host, in bounded time and memory."""

from __future__ import annotations

import socket
import time
import tracemalloc

import pytest

from noidtools.verification import http as hosts
from noidtools.verification import links
from noidtools.verification.http import WebAddress
from noidtools.verification.links import FAILS, HOLDS, UNKNOWN, Link, LinkLimits, check_links
from support.odd_server import OddServer

pytestmark = pytest.mark.slow


@pytest.fixture
def server():
    with OddServer("127.0.0.2") as odd:
        yield odd


def limits(**changes) -> LinkLimits:
    return LinkLimits(**{"seconds": 1.0, "pause": 0, "allow_private": True, **changes})


def found(url: bytes, **changes) -> Link:
    ((key, link),) = check_links([("key", url)], limits(**changes))
    assert key == "key"
    return link


@pytest.mark.parametrize(("path", "verdict", "detail"), [
    ("/200", HOLDS, "answers 200"),
    ("/204", HOLDS, "answers 204"),
    ("/get-only", HOLDS, "answers 200"),
    ("/interim", HOLDS, "answers 204"),
    ("/bare", HOLDS, "answers 200"),
    ("/endless", HOLDS, "answers 200"),
    ("/hop/0", HOLDS, "leads to {base}/200: answers 200"),
    ("/hop/9", HOLDS, "leads to {base}/200: answers 200"),
    ("/hop/10", FAILS, "leads on more than 10 times"),
    ("/circle", FAILS, "leads in a circle: back to {base}/circle"),
    ("/nowhere", FAILS, "answers 301 without saying where to go"),
    ("/401", UNKNOWN, "answers 401, so that the thing itself cannot be seen"),
    ("/403", UNKNOWN, "answers 403, so that the thing itself cannot be seen"),
    ("/429", UNKNOWN, "answers 429, so that the thing itself cannot be seen"),
    ("/404", FAILS, "answers 404"),
    ("/410", FAILS, "answers 410"),
    ("/500", FAILS, "answers 500"),
    ("/503", FAILS, "answers 503"),
    ("/304", FAILS, "answers 304"),
    ("/never", FAILS, "no answer in time"),
    ("/drip", FAILS, "no answer in time"),
    ("/closed", FAILS, "it closed the connection without an answer"),
    ("/half", FAILS, "it broke off its answer"),
    ("/garbage", FAILS, "it does not answer in HTTP"),
    ("/nonsense", FAILS, "it does not answer in HTTP"),
    ("/interims", FAILS, "it gives interim answers only"),
    ("/huge", FAILS, "the head of its answer is larger than 65536 bytes"),
    ("/line", FAILS, "the head of its answer is larger than 65536 bytes"),
])
def test_the_verdict_fits_the_answer_and_comes_in_time(server, path, verdict, detail):
    began = time.monotonic()
    link = found(server.url(path))
    assert time.monotonic() - began < 2
    assert (link.verdict, link.detail) == (verdict, detail.format(base=server.url("").decode()))


@pytest.mark.parametrize(("location", "verdict", "detail"), [
    ("/404", FAILS, "leads to {base}/404: answers 404"),
    ("../200", HOLDS, "leads to {base}/200: answers 200"),
    ("?", FAILS, "leads in a circle: back to {base}/to/3f"),
    ("file:///etc/passwd", FAILS, "answers 302 and leads to 'file:///etc/passwd', not a web address"),
    ("javascript:alert(1)", FAILS, "answers 302 and leads to 'javascript:alert(1)', not a web address"),
    ("http://[:1", FAILS, "answers 302 and leads to 'http://[:1', not a web address"),
    ("http://h:99999/", FAILS, "answers 302 and leads to 'http://h:99999/', not a web address"),
])
def test_redirects_are_followed_to_web_addresses_only(server, location, verdict, detail):
    link = found(server.url_to(location))
    assert (link.verdict, link.detail) == (verdict, detail.format(base=server.url("").decode()))


def test_a_server_that_refuses_head_is_asked_with_get(server):
    assert found(server.url("/get-only")).verdict == HOLDS
    assert found(server.url("/200")).verdict == HOLDS
    assert server.asked == ["HEAD /get-only", "GET /get-only", "HEAD /200"]


def test_an_endless_answer_is_read_and_kept_within_bounds(server):
    tracemalloc.start()
    try:
        for path in ("/endless", "/huge", "/line", "/interims"):
            found(server.url(path))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2_000_000
    # What the system's buffers took in before we hung up.
    assert server.sent < 64_000_000


def test_requests_carry_no_cookies_credentials_or_referrers(server):
    found(server.url("/cookie").replace(b"://", b"://user:secret@"))
    for _, request in server.requests:
        assert b"ookie:" not in request and b"secret" not in request and b"Referer" not in request
        assert b"\r\nHost: 127.0.0.1:%d\r\n" % server.port in request
        assert b"User-Agent: noidtools/" in request


def test_a_url_cannot_add_header_lines_to_a_request(server):
    hostile = server.url("/200") + b"?a\r\nEvil: 1\r\n\r\nb c\xff\x00#d"
    assert found(hostile).verdict == HOLDS
    assert found(server.url_to("/200?x HTTP/1.1\tEvil: 1\0\xff")).verdict == HOLDS
    for _, request in server.requests:
        head, _, rest = request.partition(b"\r\n\r\n")
        assert rest == b"" and b"\nEvil" not in head
        assert len(head.split(b"\r\n")[0].split(b" ")) == 3


@pytest.mark.parametrize(("url", "verdict"), [
    (b"ftp://example.org/x", UNKNOWN), (b"mailto:a@example.org", UNKNOWN), (b"javascript:alert(1)", UNKNOWN),
    (b"/relative", UNKNOWN), (b"", UNKNOWN), (b"http:", FAILS), (b"http://", FAILS), (b"http:///x", FAILS),
    (b"http://[::1", FAILS), (b"http://[x]/", FAILS), (b"http://a:b/", FAILS), (b"http://a:99999/", FAILS),
    (b"http://:80/", FAILS), (b"http://a b/", FAILS), (b"http://\xff\xfe/", FAILS), (b"http://" + b"a" * 300, FAILS),
    (b"http://" + b"a." * 5000, FAILS), (b"http://..../", FAILS), (b"HTTP://%00/", FAILS),
])
def test_a_target_that_is_no_web_address_is_not_requested(url, verdict):
    assert found(url).verdict == verdict


def test_a_host_that_does_not_exist_or_does_not_listen_fails():
    assert "no host nowhere.invalid" in found(b"http://nowhere.invalid/").detail
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    assert found(b"http://127.0.0.1:%d/" % port).detail == "no connection to 127.0.0.1: connection refused"


def test_a_name_server_that_never_answers_is_not_waited_for(monkeypatch):
    def getaddrinfo(*_, **__):
        time.sleep(1.5)
        raise OSError

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    began = time.monotonic()
    assert "where slow.example is" in found(b"http://slow.example/").detail
    assert time.monotonic() - began < 1.4


# -- private addresses -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", [
    "127.0.0.1", "localhost", "0x7f.1", "127.1", "2130706433", "0", "[::1]", "[::ffff:127.0.0.1]",
])
def test_private_addresses_are_refused_however_they_are_written(server, host):
    link = found(server.url("/200", host), allow_private=False)
    assert link.verdict == FAILS and "cannot reach" in link.detail
    assert server.requests == []


def test_a_redirect_to_a_private_address_is_refused(server, monkeypatch):
    monkeypatch.setattr(hosts, "is_public", lambda address: address == "127.0.0.1")
    link = found(server.url_to(server.url("/200", "127.0.0.2").decode()), allow_private=False)
    assert link.verdict == FAILS and "127.0.0.2 is an address that the public cannot reach" in link.detail
    assert [address for address, _ in server.requests] == ["127.0.0.1"]


def test_the_address_that_was_checked_is_the_one_that_is_connected_to(server, monkeypatch):
    """A name that leads elsewhere when it is looked up again gains nothing: it is looked up once a request."""
    answers = [["127.0.0.1"], ["127.0.0.2"]] * 10
    looked_up = []

    def getaddrinfo(host, port, **_):
        looked_up.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in answers[len(looked_up) - 1]]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    monkeypatch.setattr(hosts, "is_public", lambda address: address == "127.0.0.1")
    assert found(server.url("/200", "rebinding.example"), allow_private=False).verdict == HOLDS
    assert found(server.url("/200", "rebinding.example"), allow_private=False).verdict == FAILS
    assert len(looked_up) == 2
    assert [address for address, _ in server.requests] == ["127.0.0.1"]


def test_of_several_addresses_only_the_public_ones_are_tried(server, monkeypatch):
    def getaddrinfo(host, port, **_):
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in ("127.0.0.2", "127.0.0.1")]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    monkeypatch.setattr(hosts, "is_public", lambda address: address == "127.0.0.1")
    assert found(server.url("/200", "two.example"), allow_private=False).verdict == HOLDS
    assert [address for address, _ in server.requests] == ["127.0.0.1"]


# -- https -------------------------------------------------------------------------------------------------------


def test_https_at_a_server_without_it_fails(server):
    assert "secure connection" in found(server.url("/200", scheme="https")).detail


# -- politeness and numbers --------------------------------------------------------------------------------------


def test_one_host_gets_one_request_at_a_time_with_a_pause(server):
    urls = [(number, server.url(f"/slow/0.0{number}")) for number in range(1, 6)]
    assert {link.verdict for _, link in check_links(urls, limits(pause=0.1, parallel=8))} == {HOLDS}
    wait_for(lambda: len(server.times) == 5)
    times = sorted(server.times)
    assert all(after[0] - before[1] > 0.08 for before, after in zip(times, times[1:], strict=False))


def wait_for(condition) -> None:
    """The server notes a request a moment after the client has its answer."""
    deadline = time.monotonic() + 5
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_redirects_and_second_requests_wait_for_the_host_too(server):
    urls = [(1, server.url("/get-only")), (2, server.url("/hop/1")), (3, server.url("/404"))]
    list(check_links(urls, limits(pause=0.1, parallel=8)))
    wait_for(lambda: len(server.times) == 7)
    times = sorted(server.times)
    assert all(after[0] - before[1] > 0.08 for before, after in zip(times, times[1:], strict=False))


def test_different_hosts_are_asked_at_the_same_time():
    names = [f"127.0.0.{number}" for number in range(2, 10)]
    with OddServer(*names) as server:
        began = time.monotonic()
        done = list(check_links([(host, server.url("/slow/0.4", host)) for host in names], limits(pause=1)))
        assert time.monotonic() - began < 8 * 0.4
        assert sorted(key for key, _ in done) == names


def test_a_slow_host_delays_no_other_host(server):
    urls = [(n, server.url(f"/slow/0.3{n}")) for n in range(3)]
    urls += [(n, server.url(f"/200/{n}", "127.0.0.2")) for n in range(3, 30)]
    order = [key for key, _ in check_links(urls, limits(parallel=2))]
    assert order[-1] in (0, 1, 2) and sorted(order) == list(range(30))


def test_a_host_that_never_answers_is_not_asked_again(server):
    urls = [(n, server.url(f"/never/{n}")) for n in range(20)]
    began = time.monotonic()
    done = list(check_links(urls, limits(seconds=0.4, silences=2)))
    assert time.monotonic() - began < 2.5
    assert {link.verdict for _, link in done} == {FAILS}
    assert sum("was not asked again" in link.detail for _, link in done) == 18


def test_equal_addresses_are_asked_once(server):
    done = list(check_links([(n, server.url("/200")) for n in range(50)], limits()))
    assert sorted(key for key, _ in done) == list(range(50))
    assert len(server.requests) == 1


def test_links_are_read_from_their_source_as_they_are_needed(server):
    taken = []

    def source():
        for number in range(200):
            taken.append(number)
            yield number, server.url(f"/200/{number}")

    checking = check_links(source(), limits(waiting=10))
    next(checking)
    assert len(taken) <= 12
    checking.close()
    assert len(taken) <= 12


def test_a_thousand_links_are_all_checked_within_seconds():
    names = [f"127.0.1.{number}" for number in range(1, 21)]
    with OddServer(*names) as server:
        urls = [(n, server.url(f"/200/{n}", names[n % 20])) for n in range(1000)]
        began = time.monotonic()
        done = list(check_links(urls, limits(seconds=10, waiting=300)))
        assert time.monotonic() - began < 20
    assert sorted(key for key, _ in done) == list(range(1000))
    assert {link.verdict for _, link in done} == {HOLDS}


def test_an_unexpected_exception_is_not_hidden(server, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr(links, "request_head", broken)
    with pytest.raises(ZeroDivisionError):
        found(server.url("/200"))


def test_a_url_is_split_into_scheme_host_port_and_path():
    place = WebAddress(b"HTTP://EXAMPLE.org:80/a b?c#d")
    assert (place.scheme, place.host, place.port, place.path) == ("http", "example.org", 80, "/a%20b?c")
    assert place.authority == "example.org"
    assert place.joined(b"../x").url == "http://example.org/x" or place.joined(b"../x").path == "/x"
    assert place.joined(b"//other.example:8080/y").authority == "other.example:8080"
