"""verify --links: the targets are asked."""

from __future__ import annotations

import time

import pytest

from noidtools.minter.qualities import FAILS, HOLDS, UNKNOWN, Finding, last_findings
from support.odd_server import OddServer
from support.verification import LINKS, create_sound_minter, findings_of, verified


@pytest.fixture
def f5(noid):
    """A minter of which everything can be verified, and an identifier of which everything holds."""
    create_sound_minter(noid)
    return noid


@pytest.fixture
def server():
    with OddServer("127.0.0.2") as odd:
        yield odd


@pytest.mark.slow
def test_links_to_a_server_that_misbehaves_get_their_verdict_in_time(noid, server):
    noid("dbcreate")
    paths = {
        "ok": ("/200", "holds (9.10): answers 200"),
        "moved": ("/hop/3", f"holds (9.10): leads to {server.url('/200').decode()}: answers 200"),
        "gone": ("/404", "fails (9.10): answers 404"),
        "broken": ("/500", "fails (9.10): answers 500"),
        "silent": ("/never", "fails (9.10): no answer in time"),
        "garbage": ("/garbage", "fails (9.10): it does not answer in HTTP"),
        "endless": ("/endless", "holds (9.10): answers 200"),
        "huge": ("/huge", "fails (9.10): the head of its answer is larger than 65536 bytes"),
        "drip": ("/drip", "fails (9.10): no answer in time"),
        "circle": ("/circle", f"fails (9.10): leads in a circle: back to {server.url('/circle').decode()}"),
        "closed": ("/401", "unknown (9.10): answers 401, so that the thing itself cannot be seen"),
    }
    for name, (path, _) in paths.items():
        noid("bind", "set", name, "_t", server.url(path))
    began = time.monotonic()
    status, found, summary = verified(noid, *paths, *LINKS)
    assert time.monotonic() - began < 15
    assert status == 1
    expected = {name: finding for name, (_, finding) in paths.items()}
    assert {name: found[name]["retrievable"] for name in paths} == expected
    assert summary["verified"] == "11, 7 failing, 4 not confirmed"
    assert summary["retrievable"] == "3 hold, 7 fail, 1 unknown"
    _, found, _ = verified(noid, *LINKS)
    assert found.keys() == {name for name, (_, finding) in paths.items() if finding.startswith("fails")}


def test_private_addresses_are_not_asked_unless_that_is_allowed(noid, server):
    noid("dbcreate")
    noid("bind", "set", "x", "_t", server.url("/200"))
    finding = findings_of(noid, "x", "--links")["retrievable"]
    assert finding == "fails (9.10): 127.0.0.1 is an address that the public cannot reach, and was not asked"
    assert server.requests == []
    assert findings_of(noid, "x", *LINKS)["retrievable"] == "holds (9.10): answers 200"


def test_the_worst_of_several_targets_decides(noid, server):
    noid("dbcreate")
    noid("bind", "set", "x", "_t", server.url("/200") + b"|303 " + server.url("/404", "127.0.0.2"))
    bad = server.url("/404", "127.0.0.2").decode()
    assert findings_of(noid, "x", *LINKS)["retrievable"] == f"fails (9.10): {bad}: answers 404"
    assert {address for address, _ in server.requests} == {"127.0.0.1", "127.0.0.2"}


def test_verify_without_links_keeps_the_last_finding_and_with_links_renews_it(noid, server):
    noid("dbcreate")
    noid("bind", "set", "x", "_t", server.url("/200"))

    def link() -> Finding:
        return noid.read(lambda reader: {f.quality.name: f for f in last_findings(reader, b"x")})["retrievable"]

    verified(noid, *LINKS, "--record")
    assert link().verdict == HOLDS
    verified(noid, "--record")
    assert link().verdict == HOLDS
    noid("bind", "set", "x", "_t", server.url("/404"))
    verified(noid, *LINKS, "--record")
    assert (link().verdict, link().detail) == (FAILS, "answers 404")
    noid("bind", "purge", "x", "_t")
    noid("bind", "set", "x", "e", "v")
    verified(noid, *LINKS, "--record")
    assert link().verdict == UNKNOWN


def test_names_without_address_do_not_wait_for_links(noid, server):
    noid("dbcreate")
    noid("mint", "3000")
    noid("bind", "set", "x", "_t", server.url("/200"))
    status, _, summary = verified(noid, *LINKS)
    assert summary["verified"] == "3001, 3000 failing, 1 not confirmed"
    assert summary["retrievable"] == "1 hold, 3000 unknown"


def test_in_bulk_links_are_checked_with_no_transaction_open(noid, server):
    noid("dbcreate")
    commands = b"bind set x _t " + server.url("/200") + b"\nverify x --links --allow-private --delay 0\n"
    commands += b"verify x\nverify\nget x _t\n"
    done = noid.run("-", stdin=commands)
    assert done.stderr == b"" and done.stdout.count(b"retrievable: holds (9.10): answers 200") == 1
    assert done.stdout.count(b"verified: 1, 0 failing") == 3 and done.stdout.endswith(server.url("/200") + b"\n\n")
    commands = b"bind set x _t " + server.url("/404") + b"\nverify x --links --allow-private --delay 0\n"
    done = noid.run("-", stdin=commands)
    assert done.returncode == 1 and b"answers 404" in done.stdout


@pytest.mark.parametrize("words", [
    ["--timeout", "1"], ["--allow-private"], ["--links", "--timeout", "x"], ["--links", "--timeout", "0"],
    ["--links", "--delay", "-1"], ["--links", "--parallel", "1000"], ["--links", "--delay", "nan"], ["--links=yes"],
    ["--nothing"],
])
def test_verify_refuses_wrong_options(f5, words):
    f5.refused("verify", *words, status=2)
