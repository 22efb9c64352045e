"""How often names are resolved: what is counted, by whom, and what happens when it cannot be."""

from __future__ import annotations

import json
import multiprocessing
import os
import sqlite3
import time
from datetime import date, timedelta
from pathlib import Path

import pytest

import noidtools
from noidtools import statistics
from noidtools.minter import Minter
from noidtools.minter.folder import SingleMinter
from noidtools.statistics import DailyFigures, counting
from noidtools.statistics.counting import ResolutionCounter
from noidtools.web.resolver import Resolver
from noidtools.web.robots import is_robot
from support.clock import SettableClock
from support.minter import START, Noid
from support.process import NoidProcess
from support.templates import LONG_TERM
from support.wsgi import ResolverClient

NAME, OTHER = "13030/kt4x551", "13030/kt154d9"
BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"


@pytest.fixture
def minter(tmp_path: Path):
    made = Noid.created(tmp_path / "m", *LONG_TERM)
    made.mint_with_target("https://a.example/x")
    made.records("resolver", "statistics", "on")
    yield made
    made.close()


class CountingResolver(ResolverClient):
    """A client of a resolver of one minter, and what that counts."""

    def __init__(self, minter: Noid) -> None:
        minters, self.counter = SingleMinter(str(minter.folder)), ResolutionCounter()
        minter.share(minters)
        super().__init__(Resolver(minters, counter=self.counter))

    def flush(self) -> None:
        """Have what was counted written now, as a thread does every few seconds."""
        self.counter.flush()


@pytest.fixture
def resolver(minter: Noid):
    return CountingResolver(minter)


def counts(minter: Noid) -> dict[str, int]:
    return dict(statistics.usage(minter.opened, *days(), top=100).names)


def days() -> tuple[date, date]:
    last = statistics.today(time.time_ns())
    return last - timedelta(days=2), last


def ask(resolver: ResolverClient, path: str, agent: str = BROWSER, **options):
    return resolver(path, HTTP_USER_AGENT=agent, **options)


def test_redirects_are_counted_by_name_and_day(minter, resolver):
    for _ in range(3):
        assert ask(resolver, f"/{NAME}").status == 302
    assert ask(resolver, f"/ark:/{NAME}/page/7").status == 302
    resolver.flush()
    assert counts(minter) == {NAME: 4}
    found = statistics.usage(minter.opened, *days())
    assert [day.resolved for day in found.days] == [0, 0, 4] and found.resolved == 4 and found.minted == 1
    one = statistics.usage(minter.opened, *days(), name=NAME.encode())
    assert one.resolved == 4 and one.minted == 0 and statistics.usage(minter.opened, *days(), name=b"x").resolved == 0


def test_nothing_is_counted_unless_it_is_switched_on(minter, resolver):
    minter.records("resolver", "statistics", "-")
    ask(resolver, f"/{NAME}")
    resolver.flush()
    assert counts(minter) == {}
    assert "note: resolutions are not counted here" in minter.text("stats")


@pytest.mark.parametrize(("path", "options"), [
    (f"/{NAME}?info", {}), ("/13030/ktnothing", {}), (f"/{NAME}", {"method": "HEAD"}), ("/", {}),
    (f"/{NAME}", {"agent": "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"}),
    (f"/{NAME}", {"agent": ""}), (f"/{NAME}", {"agent": "curl/8.5.0"}),
    (f"/{NAME}", {"HTTP_ACCEPT": "text/turtle"}),
])
def test_what_is_no_redirect_of_a_person_is_not_counted(minter, resolver, path, options):
    ask(resolver, path, **options)
    resolver.flush()
    assert counts(minter) == {}


@pytest.mark.parametrize("agent", [
    BROWSER, "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
    "Version/17.5 Mobile/15E148 Safari/604.1",
    "Mozilla/5.0 (Linux; Android 10; CUBOT NOTE 20) AppleWebKit/537.36 Chrome/88.0 Mobile",
    "Opera/9.80 (Windows NT 6.1) Presto/2.12 Version/12.16", "Lynx/2.9.0 libwww-FM/2.14",
])
def test_browsers_are_no_robots(agent):
    assert not is_robot(agent)


def test_names_that_a_rule_computes_are_counted_together(minter, resolver):
    minter.records("bind", "set", ":idmap/^13030/zz(.*)", "_t", "https://a.example/$1")
    for number in range(5):
        assert ask(resolver, f"/13030/zz{number}").status == 302
    resolver.flush()
    assert counts(minter) == {"": 5}
    assert "name: (computed names) 5\n" in minter.text("stats")


def test_noidr_counts_also_what_it_has_in_its_cache(minter):
    minter.records("bind", "set", NAME, "title", "A title")
    minter.close()
    noid = NoidProcess(minter.folder)
    lines = NAME, NAME, "nothing", f"get {NAME} _t", f"get {NAME} title"
    assert noid.run("resolve-loop", stdin="\n".join(lines).encode()).returncode == 0
    assert counts(minter) == {NAME: 3}


def test_the_figures_are_printed_as_text_csv_and_json(minter, resolver):
    ask(resolver, f"/{NAME}")
    resolver.flush()
    today = days()[1].isoformat()
    text = minter.text("stats")
    assert f"Minted: 1\nResolved: 1\nday: {today} 1 minted, 1 resolved\nname: {NAME} 1\n" in text
    assert minter.text("stats", "--since", today, "--csv") == f"day,minted,resolved\r\n{today},1,1\r\n"
    assert minter.text("stats", "--top", "5", "--csv") == f"id,resolved\r\n{NAME},1\r\n"
    data = json.loads(minter.text("stats", NAME, "--json", "--since", today))
    assert data == {"minted": 0, "resolved": 1, "counted": True, "names": [],
                    "days": [{"day": today, "minted": 0, "resolved": 1}]}
    assert "a period begins before it ends" in minter.refused("stats", "--since", "2026-11-02", "--until", "2026-11-01")
    minter.close()
    with noidtools.open(minter.folder) as opened:
        assert opened.usage().resolved == opened.usage(f"ark:/{NAME}").resolved == 1
        opened.set_resolver(statistics=False)
        assert not opened.usage().counted


def count_much(dbdir: str) -> None:
    counter = ResolutionCounter()
    for number in range(300):
        counter.add(dbdir, b"n%d" % (number % 3))
        if number % 50 == 0:
            counter.flush()
    counter.flush()


@pytest.mark.slow
def test_several_processes_and_threads_count_at_once_and_nothing_is_lost(minter):
    folder = str(minter.folder)
    workers = [multiprocessing.get_context("spawn").Process(target=count_much, args=(folder,)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert counts(minter) == {"n0": 300, "n1": 300, "n2": 300}


def test_the_thread_writes_by_itself_and_a_fork_does_not_count_twice(minter, monkeypatch):
    monkeypatch.setattr(counting, "INTERVAL", 0.05)
    counter = ResolutionCounter()
    counter.add(str(minter.folder), b"a")
    child = os.fork()
    if not child:
        counter.add(str(minter.folder), b"b")
        counter.flush()
        os._exit(0)
    os.waitpid(child, 0)
    deadline = time.monotonic() + 20
    while counts(minter) != {"a": 1, "b": 1} and time.monotonic() < deadline:
        time.sleep(0.05)
    assert counts(minter) == {"a": 1, "b": 1}


@pytest.mark.parametrize("spoil", ["garbage", "folder", "link", "locked"])
def test_a_file_that_cannot_be_written_costs_counts_and_never_an_answer(minter, resolver, tmp_path, capfd, spoil):
    file = minter.folder / "statistics.sqlite"
    other = None
    if spoil == "garbage":
        file.write_bytes(b"no database " * 1000)
    elif spoil == "folder":
        file.mkdir()
    elif spoil == "link":
        file.symlink_to(tmp_path / "elsewhere")
    else:
        ask(resolver, f"/{NAME}")
        resolver.flush()
        other = sqlite3.connect(file, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
    for _ in range(3):
        assert ask(resolver, f"/{NAME}").status == 302
    resolver.counter.flush(0.1)
    assert "cannot be counted at the moment" in capfd.readouterr().err
    assert not (tmp_path / "elsewhere").exists()
    if other is not None:
        other.close()
        resolver.flush()  # what could not be written was kept
        assert counts(minter) == {NAME: 4}
        return
    if spoil == "garbage":
        assert "cannot be used" in minter.refused("stats")
    file.rmdir() if spoil == "folder" else file.unlink()
    resolver.flush()  # so that nothing is left that is written, and complained of, during other tests


def test_counts_stay_when_a_backup_is_restored(minter, resolver, tmp_path):
    minter("backup", str(tmp_path / "b"))
    ask(resolver, f"/{NAME}")
    resolver.flush()
    minter("restore", str(tmp_path / "b"))
    assert counts(minter) == {NAME: 1}


@pytest.mark.parametrize("few", [0, 500])
def test_what_was_minted_is_counted_by_the_day_and_read_once(tmp_path, monkeypatch, few):
    monkeypatch.setattr(statistics, "_FEW", few)
    clock = SettableClock.at(START)
    minter = Noid.created(tmp_path, *LONG_TERM, clock=clock)
    minter.records("mint", "3")
    clock.set("20261118000000")
    minter.records("mint", "2")
    first = date(2026, 11, 15)

    def minted() -> list[int]:
        return [day.minted for day in statistics.usage(minter.opened, first, date(2026, 11, 18)).days]

    assert minted() == [0, 3, 0, 2] and (tmp_path / "statistics.sqlite").exists() == (few == 0)
    (tmp_path / "statistics.sqlite").unlink(missing_ok=True)
    assert minted() == [0, 3, 0, 2] == minted()
    minter.records("mint", "1")
    assert minted() == [0, 3, 0, 3]
    (tmp_path / "statistics.sqlite").unlink(missing_ok=True)
    (tmp_path / "statistics.sqlite").mkdir()  # it cannot be written
    assert statistics.minted_by_day(minter.opened, statistics.day_number(first)) == {
        statistics.day_number(date(2026, 11, 16)): 3, statistics.day_number(date(2026, 11, 18)): 3}


def test_another_database_in_place_is_counted_anew(minter, tmp_path, monkeypatch):
    monkeypatch.setattr(statistics, "_FEW", 0)
    minter.mint(5)
    minter("backup", str(tmp_path / "b"))
    minter.mint(7)
    first, last = days()
    assert statistics.usage(minter.opened, first, last).minted == 13
    minter("restore", str(tmp_path / "b"))
    assert statistics.usage(minter.opened, first, last).minted == 6


def test_the_figures_of_many_minters_are_read_again_only_if_something_has_changed(minter, resolver):
    figures, opened = DailyFigures(), Minter(str(minter.folder), store=minter.opened.store)
    figures.of(opened)
    known = figures.of(opened)
    assert figures.of(opened) is known and len(known.days) == 30 and known.minted == 1
    ask(resolver, f"/{NAME}")
    resolver.flush()
    assert figures.of(opened).resolved == 1
    minter.mint(1)
    assert figures.of(opened).minted == 2
