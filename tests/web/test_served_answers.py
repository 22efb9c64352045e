"""What a real `noid serve` answers to requests that once gave away too much, failed or forged an answer.

The same rules are tested in detail without a server; here each is asked for over HTTP.  The numbers are those of
docs/history/security-findings.md.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from noidtools.store import ADDRESS_VARIABLE
from support.minter import Noid
from support.process import wait_until
from support.served import Served

TARGET = "https://target.example/"
SECRET = "https://secret.example/"
RESERVED, HELD, WITHDRAWN, ODD = "13030/f0001", "13030/f0201", "13030/f0003", "13030/f0004"
# Of the same forms, and never touched.
UNKNOWN = "13030/f0999"
# More minters than a process keeps open.
OTHERS = 70


class Site:
    """A server, and the folder of the minters that it serves."""

    def __init__(self, served: Served, folder: Path, peppers: list[str]) -> None:
        self.served = served
        self.folder = folder
        self.peppers = peppers

    def ask(self, path: str, user: str = "", method: str = "GET", body: bytes | None = None) -> tuple[int, str]:
        status, text = self.served.http(method, path, body, **({"NoidUser": user} if user else {}))
        return status, text.decode()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("minters")
    peppers = _fill(folder)
    served = Served.start(folder / "log", "serve", "--minters", folder, "--http", folder / "sock", "--workers", "1",
                          "--user-header", "NoidUser")
    yield Site(served, folder, peppers)
    served.stop()
    assert "Traceback" not in served.log.read_text()


def _fill(folder: Path) -> list[str]:
    """Make the minters; returns the peppers of the first one."""
    noid = Noid.created(folder / "f5", "--label", "ark:/", "f.sdddd", "long", "13030", "a", "b")
    noid.mint(5)
    noid("policy", "admin", "boss")
    for name, target in (("13030/f0000", TARGET), (RESERVED, SECRET), (WITHDRAWN, SECRET), (ODD, TARGET)):
        noid.set_target(name, target)
    noid("reserve", RESERVED)
    noid("alias", "old/gone", WITHDRAWN)
    noid("withdraw", WITHDRAWN, "--reason", "gone")
    noid("hold", "set", HELD)
    noid("alias", "old name", "13030/f0000")
    noid("bind", "set", ":idmap/^(.*f0003.*|.*f0888)$", "_t", f"{TARGET}$1")
    noid("bind", "set", ODD, "who", "a\u2028id: forged\u0085error: forged")
    peppers = [record["id"].partition("!")[2] for record in noid.records("peppermint", "2")]
    noid("resolver", "canary", f"13030/f0005!{peppers[0]}", TARGET)
    noid.close()
    other = Noid.created(folder / "m0", "b.sddd", "long", "13030", "a", "b")
    other.set_target(other.mint()[0], TARGET)
    other.close()
    for number in range(1, OTHERS):
        shutil.copytree(folder / "m0", folder / f"m{number}")
    return peppers


def test_more_minters_than_can_be_open_are_all_answered_for(site: Site) -> None:
    """6"""
    wrong = []

    def ask(first: int) -> None:
        for number in range(first, OTHERS, 4):
            status, text = site.ask(f"/noidu_m{number}?get+13030/b000+_t")
            if (status, text) != (200, f"{TARGET}\n"):
                wrong.append((number, status, text))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [] and site.ask("/healthz")[0] == 200


def test_no_pepper_is_in_a_repeated_reply_in_a_dump_or_in_the_log(site: Site) -> None:
    """9"""
    served = site.served
    headers = {"NoidUser": "boss", "Idempotency-Key": "order-17"}
    first = served.http("GET", "/noidu_f5?peppermint+1", **headers)[1].decode().split()[1]
    pepper = first.partition("!")[2]
    again = served.http("GET", "/noidu_f5?peppermint+1", **headers)[1].decode()
    assert pepper and first.partition("!")[0] in again and pepper not in again
    assert served.http("GET", f"/noidu_f5?get+{quote(first)}+_t", **headers)[0] == 404
    status, dump = site.ask("/noidu_f5?dbinfo+dump", user="boss")
    assert status == 200 and "IDS/" in dump
    canary = site.ask("/noidu_f5?resolver", user="boss")[1]
    assert "13030/f0005" in canary
    for text in (dump, canary, served.log.read_text(), site.ask("/noidu_f5?log", user="boss")[1]):
        assert not [secret for secret in (*site.peppers, pepper) if secret in text]
    for word in ("PEPPERS", "REPLIES", "TOKENS", "SECRETS"):
        assert word not in dump


@pytest.mark.parametrize(("path", "status", "location"), [
    ("/old%20name", 302, TARGET), ("/old/gone", 410, None), ("/ark:/13030/f0000", 302, TARGET),
    ("/13030/b000", 302, TARGET),
])
def test_an_alias_of_any_form_resolves_beside_other_minters(
    site: Site, path: str, status: int, location: str | None
) -> None:
    """11"""
    reply = site.served.get(path)
    assert (reply.status, reply.headers.get("location")) == (status, location)


@pytest.mark.parametrize("query", ["get+{}+_t", "fetch+{}", "describe+{}", "history+{}", "resolve+{}", "verify+{}"])
@pytest.mark.parametrize("name", [RESERVED, HELD])
def test_a_hidden_name_is_answered_as_an_unknown_one(site: Site, query: str, name: str) -> None:
    """14"""
    def answer(asked: str, user: str = "") -> tuple[int, str]:
        status, text = site.ask(f"/noidu_f5?{query.format(asked)}", user)
        return status, text.replace(asked.partition("/")[2], "NAME")

    assert answer(name) == answer(UNKNOWN)
    assert answer(name, "boss") != answer(UNKNOWN, "boss") or name == HELD


def test_who_may_not_read_is_told_targets_and_nothing_else(site: Site, tmp_path: Path) -> None:
    """14"""
    noid = Noid(site.folder / "m7")
    noid("custodian", "set", "Jo Keeper", "--contact", "jo@secret.example")
    noid("bind", "set", "13030/b000", "who", "Somebody")
    assert "Jo Keeper" in site.ask("/noidu_m7?custodian")[1]
    noid("policy", "read", "boss")
    noid.close()
    if os.environ.get(ADDRESS_VARIABLE):  # a database server may show a change up to a second later
        wait_until(lambda: site.ask("/noidu_m7?custodian")[0] in (401, 403))
    for query in ("get+13030/b000+_t", "custodian", "describe", "fetch+13030/b000", "history+13030/b000"):
        status, text = site.ask(f"/noidu_m7?{query}")
        assert status in (401, 403) and "Keeper" not in text and "Somebody" not in text


@pytest.mark.parametrize("path", [f"/ark:/{RESERVED}?info", f"/ark:/{HELD}?info", f"/ark:/{RESERVED}"])
def test_the_resolver_shows_nothing_of_a_hidden_name(site: Site, path: str) -> None:
    """14, 15"""
    unknown = path.replace(RESERVED, UNKNOWN).replace(HELD, UNKNOWN)
    found, other = site.served.get(path), site.served.get(unknown)
    assert found.status in (404, 302) and "secret" not in str(found.headers) + found.text
    if "?info" in path:
        assert found.status == other.status == 404


@pytest.mark.parametrize("rest", ["", "%2Fx", "%7Cx", "/x", "|x"])
def test_no_rule_answers_for_a_withdrawn_name(site: Site, rest: str) -> None:
    """15"""
    assert site.ask(f"/ark:/{WITHDRAWN}{rest}")[0] == 410
    assert site.served.get("/ark:/13030/f0888").headers["location"].startswith(TARGET)


@pytest.mark.parametrize("path", [f"/noidu_f5?get+{ODD}+who", f"/noidu_f5?fetch+{ODD}", f"/ark:/{ODD}?info"])
def test_no_value_forges_a_line(site: Site, path: str) -> None:
    """15"""
    status, text = site.ask(path)
    assert status == 200 and "forged" in text
    assert not [line for line in text.splitlines() if line.startswith(("id: forged", "error: forged"))]


@pytest.mark.parametrize("command", [
    "get {}", "hold release {}", "resolve {}", "fetch {}", "{}", "bind set {} _t y", "policy {}", "log --since {}",
])
@pytest.mark.parametrize("user", ["", "boss"])
def test_a_refusal_is_one_line(site: Site, command: str, user: str) -> None:
    """16"""
    query = command.replace(" ", "+").format("x%0Aid:%20forged%0D")
    status, text = site.ask(f"/noidu_f5?{query}", user)
    assert status >= 400 and text.startswith("error: ") and len(text.rstrip().splitlines()) == 1
    status, text = site.ask("/noidu_f5?-", user, "POST", command.format('"x\\nid: forged\\r"').encode())
    assert "error: " in text and not [line for line in text.splitlines() if line.startswith("id: forged")]
