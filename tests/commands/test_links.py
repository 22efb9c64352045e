"""links check and links report: which targets are broken, since when, and which have moved."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from xml.etree import ElementTree

import pytest

import noidtools
from noidtools.errors import StoreError
from noidtools.verification import health
from noidtools.verification.health import CheckLimits, LinkCheck, link_database
from noidtools.verification.links import LinkLimits
from support.minter import Noid

CHECK = "links", "check", "--allow-private", "--delay", "0", "--timeout", "2"
ATOM = "{http://www.w3.org/2005/Atom}"


class Site:
    """A web server on the loopback whose answers can be changed: by path a status, with an address for redirects, or
    `hang`, `close`, or `wait` until it is released.  Other paths answer 200."""

    def __init__(self) -> None:
        self.answers: dict[str, tuple[int, str] | str] = {}
        self.asked: list[str] = []
        self.released = threading.Event()
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_HEAD(self) -> None:
                site.asked.append(self.path)
                found = site.answers.get(self.path, (200, ""))
                if found == "hang":
                    time.sleep(5)
                if found == "wait":
                    site.released.wait(600)
                    found = (200, "")
                if isinstance(found, str):
                    self.close_connection = True
                    return
                self.send_response(found[0])
                if found[1]:
                    self.send_header("Location", found[1])
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_GET = do_HEAD  # noqa: N815

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server.server_port}{path}"


@contextmanager
def running_site() -> Iterator[Site]:
    site = Site()
    try:
        yield site
    finally:
        site.released.set()
        site.server.shutdown()
        site.server.server_close()


@pytest.fixture
def site() -> Iterator[Site]:
    with running_site() as made:
        yield made


@pytest.fixture
def minter(tmp_path) -> Iterator[Noid]:
    made = Noid.with_clock(tmp_path / "m")
    yield made
    made.close()


def bind(minter: Noid, site: Site, **paths: str) -> None:
    for name, path in paths.items():
        minter.records("bind", "set", name, "_t", site.url(path))


def check(minter: Noid, day: int, *words: str) -> dict[str, str]:
    """What a check on a day of November 2026 counts."""
    minter.clock.set(f"202611{day:02}030000")
    return dict(line.split(": ", 1) for line in minter.text(*CHECK, *words).splitlines() if line)


def reports(minter: Noid) -> list[dict]:
    return json.loads(minter.text("links", "report", "--json"))


def listed(minter: Noid, what: str = "broken") -> list[str]:
    return [link["identifier"] for report in reports(minter) for link in report[what]]


def test_three_failures_on_different_days_make_a_link_broken_and_a_success_forgives_them(minter, site):
    bind(minter, site, good="/a", bad="/b", shaky="/c")
    assert check(minter, 1) == {"Asked": "3", "Failing": "0", "Moved": "0", "Broken": "0"}
    site.answers |= {"/b": (404, ""), "/c": (500, "")}
    for day in (2, 2, 2, 3):
        assert check(minter, day)["Failing"] == "2"
    assert listed(minter) == [] and "ok: no link is known" in minter.text("links", "report")
    site.answers.pop("/c")
    assert check(minter, 4) == {"Asked": "3", "Failing": "1", "Moved": "0", "Broken": "1"}
    site.answers["/c"] = (500, "")
    check(minter, 5)
    check(minter, 6)
    assert listed(minter) == ["bad"]
    (link,) = reports(minter)[0]["broken"]
    assert link["first_failed"].startswith("2026-11-02T03:00") and link["last_good"].startswith("2026-11-01T03:00")
    assert link["detail"] == "answers 404" and link["reported"].startswith("2026-11-04") and link["days"] == 5
    text = minter.text("links", "report")
    assert "bad\n" in text and "fails since 2026-11-02 (answers 404); last good 2026-11-01\n" in text
    assert minter.run("links", "report").returncode == 1


@pytest.mark.slow
def test_servers_that_hang_close_or_refuse(minter, site):
    site.answers |= {"/hang": "hang", "/close": "close", "/login": (401, ""), "/gone": (410, "")}
    bind(minter, site, hang="/hang", close="/close", login="/login", gone="/gone", fine="/x")
    for day in (1, 2, 3):
        found = check(minter, day, "--timeout", "2")
    assert found == {"Asked": "5", "Failing": "3", "Moved": "0", "Broken": "3"}
    assert listed(minter) == ["close", "gone", "hang"]


def test_a_permanent_redirect_is_offered_as_a_retarget_which_works(minter, site):
    site.answers |= {"/old": (301, "/mid"), "/mid": (308, "/new"), "/tmp": (302, "/x"), "/mixed": (301, "/tmp"),
                     "/lost": (301, "/"), "/dead": (301, "/gone"), "/gone": (404, "")}
    bind(minter, site, moved="/old", temporary="/tmp", mixed="/mixed", lost="/lost", dead="/dead")
    found = check(minter, 1)
    assert found["Asked"] == "5" and found["Failing"] == "1"
    links = {link["identifier"]: link["moved"] for link in reports(minter)[0]["moved"]}
    assert links == {"moved": site.url("/new"), "mixed": site.url("/tmp")}
    text = minter.text("links", "report")
    command = f"noid retarget --from '{site.url('/old')}' --to '{site.url('/new')}' --prefix 'moved'"
    assert command in text and minter.run("links", "report").returncode == 0
    words = [word.strip("'") for word in command.split()[1:]]
    assert "ok: 1 binding changed" in minter.text(*words)
    assert listed(minter, "moved") == ["mixed"]  # what was changed since is left out, without another check
    assert minter.text("get", "moved", "_t") == site.url("/new") + "\n"


def test_only_published_names_with_this_target_are_reported(minter, site):
    site.answers |= {"/b": (404, "")}
    bind(minter, site, one="/b", two="/b", three="/b", reserved="/r")
    minter.records("reserve", "reserved")
    for day in (1, 2, 3):
        assert check(minter, day)["Asked"] == "1"  # one target of three names
    assert listed(minter) == ["one", "three", "two"] and "/r" not in site.asked
    bind(minter, site, two="/elsewhere")
    minter.records("unavailable", "three")
    assert listed(minter) == ["one"]


def test_each_custodian_has_a_report_of_its_own(minter, site):
    site.answers |= {"/b": (404, ""), "/c": (404, "")}
    bind(minter, site, one="/b", two="/c", three="/c")
    minter.records("custodian", "set", "Kim", "--contact", "mailto:kim@example.org")
    minter.records("custodian", "set", "Lee", "two")
    minter.records("custodian", "set", "Max", "three", "--element", "_t")
    for day in (1, 2, 3):
        check(minter, day)
    assert [(report["name"], [link["identifier"] for link in report["broken"]]) for report in reports(minter)] == [
        ("Kim", ["one"]), ("Lee", ["two"]), ("Max", ["three"])]
    assert "\n\nTo: Lee\n\nBroken" in minter.text("links", "report")
    text = minter.text("links", "report", "--custodian", "Kim")
    assert text.startswith("To: Kim <mailto:kim@example.org>\n\nBroken links (1)\n") and "two" not in text
    minter.close()
    with noidtools.open(minter.folder) as opened:
        (report,) = opened.link_reports(custodian="Lee")
        assert report.name == "Lee" and report.broken[0].url == site.url("/c") and report.broken[0].broken


def test_the_feed_is_atom(minter, site):
    site.answers |= {"/b?%3C&%3E": (404, ""), "/old": (301, "/new")}
    bind(minter, site, **{"bad<&>": "/b?<&>", "moved": "/old"})
    for day in (1, 2, 3):
        check(minter, day)
    feed = ElementTree.fromstring(minter.text("links", "report", "--atom").encode())
    assert feed.tag == f"{ATOM}feed" and feed.find(f"{ATOM}id").text.startswith("urn:uuid:")
    entries = feed.findall(f"{ATOM}entry")
    assert {entry.find(f"{ATOM}title").text for entry in entries} == {"bad<&> is broken", "moved has moved"}
    for entry in (feed, *entries):
        assert entry.find(f"{ATOM}updated").text.endswith("+00:00") and entry.find(f"{ATOM}author/{ATOM}name").text
    again = ElementTree.fromstring(minter.text("links", "report", "--atom").encode())
    assert [e.find(f"{ATOM}id").text for e in again.iter(f"{ATOM}entry")] == [
        e.find(f"{ATOM}id").text for e in entries]


def test_private_addresses_are_not_asked_unless_that_is_allowed(minter, site):
    bind(minter, site, x="/a")
    minter.clock.set("20261101030000")
    assert "Failing: 1\n" in minter.text("links", "check") and site.asked == []


def test_a_host_has_its_share_and_the_next_run_goes_on(minter, site):
    bind(minter, site, **{f"n{number}": f"/{number}" for number in range(7)})
    first = check(minter, 1, "--per-host", "3")
    assert first["Asked"] == "3" and first["note"] == "4 others are left for the next run"
    assert check(minter, 2, "--per-host", "3")["Asked"] == "3"
    assert check(minter, 3)["Asked"] == "1" and sorted(site.asked) == [f"/{number}" for number in range(7)]
    assert check(minter, 4)["Asked"] == "7"
    assert check(minter, 5, "--hours", "0")["note"] == "7 others are left for the next run"


@pytest.mark.slow
def test_a_host_that_hangs_does_not_stop_others(minter):
    with running_site() as slow, running_site() as other:
        slow.answers |= {f"/{number}": "hang" for number in range(8)}
        bind(minter, slow, **{f"a{number}": f"/{number}" for number in range(8)})
        bind(minter, other, z="/z")
        minter.clock.set("20261101030000")
        done = LinkCheck(minter.opened, minter.session.actor, CheckLimits(
            links=LinkLimits(pause=0, seconds=1.2, allow_private=True))).run()
        assert (done.asked, done.failing) == (9, 8) and "/z" in other.asked
        # After five silences in a row the host is left alone.
        assert len(set(slow.asked)) <= 6


def stored(minter: Noid) -> int:
    """How many targets have a result."""
    with contextlib.suppress(StoreError, sqlite3.Error), link_database(str(minter.folder)) as database:
        return int(database.execute("SELECT count(*) FROM targets").fetchone()[0])
    return 0


def test_a_killed_check_is_continued_and_a_second_one_at_once_is_refused(minter, site, monkeypatch):
    monkeypatch.setattr(health, "_CHUNK", 1)
    names = {f"n{number}": f"/{number}" for number in range(8)}
    site.answers["/3"] = "wait"
    bind(minter, site, **names)
    minter.close()
    child = os.fork()
    if not child:
        minter.run(*CHECK, "--timeout", "600")
        os._exit(0)
    try:
        deadline = time.monotonic() + 120
        while stored(minter) < 3 or "/3" not in site.asked:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert "being checked already" in minter.refused(*CHECK)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        site.released.set()
    assert check(minter, 1)["Asked"] == "5" and sorted({*site.asked}) == sorted(names.values())
    assert check(minter, 2)["Asked"] == "8"


def test_all_minters_of_a_folder_are_checked(tmp_path, site):
    for name in ("one", "two"):
        noid = Noid.created(tmp_path / name)
        bind(noid, site, x=f"/{name}")
        noid.close()
    (tmp_path / "three" / "NOID").mkdir(parents=True)
    (tmp_path / "three" / "NOID" / "data.mdb").write_bytes(b"no database")
    text = Noid(tmp_path / "x").run("links", "check", "--minters", str(tmp_path), *CHECK[2:]).stdout.decode()
    os.utime(tmp_path / "one" / "links.sqlite.lock", (1, 1))
    again = Noid(tmp_path / "x").run("links", "check", "--minters", str(tmp_path), *CHECK[2:]).stdout.decode()
    # Whose turn was longest ago is first.
    assert again.index("minter: three") < again.index("minter: one") < again.index("minter: two")
    assert "minter: one\nAsked: 1\n" in text and "minter: two\nAsked: 1\n" in text and "minter: three\nerror: " in text


@pytest.mark.parametrize(("words", "sentence"), [
    (("check", "--hours", "x"), "--hours is a number"), (("check", "--per-host", "0"), "--per-host is a number"),
    (("check", "--parallel", "1e9"), "--parallel is a number"), (("report", "--delay", "1"), "does not go with this"),
])
def test_wrong_words_are_refused(minter, words, sentence):
    assert sentence in minter.refused("links", *words)


def test_a_damaged_file_is_named_with_the_remedy(minter, site):
    bind(minter, site, x="/a")
    (minter.folder / "links.sqlite").write_bytes(b"nothing " * 1000)
    for words in (CHECK, ("links", "report")):
        assert "move the file away if it is damaged" in minter.refused(*words)
