"""Prometheus from Debian reads the figures of a service; the alerts and the dashboard fit them."""

from __future__ import annotations

import http.client
import json
import shutil
import subprocess
import threading
import time
import urllib.parse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.http import free_port
from support.minter import create_in_child, run_in_child
from support.process import wait_until
from support.project import CONF
from support.served import Served
from support.servers.system import program

RULES = CONF / "prometheus" / "noid-rules.yml"
SCRAPE = CONF / "prometheus" / "noid-scrape.yml"
DASHBOARD = CONF / "grafana" / "noid.json"


class Watched:
    """A service with two workers, and a Prometheus that reads its figures every second."""

    def __init__(self, folder: Path) -> None:
        create_in_child(folder / "minters" / "kt5", "kt.sddddddd", "long", "13030", "x", "y")
        run_in_child(folder / "minters" / "kt5", "policy", "read", "authenticated")
        token = run_in_child(folder / "minters" / "kt5", "token", "new", "prometheus", "--may", "read")[0]["token"]
        (folder / "token").write_bytes(token)
        self.served = Served.start(
            folder / "log", "serve", "--minters", folder / "minters", "--http", "127.0.0.1:0", "--workers", "2",
            "--user", "alice")
        shutil.copy(RULES, folder)
        text = SCRAPE.read_text().replace("localhost:80", f"127.0.0.1:{self.served.address[1]}")
        text = text.replace("scrape_interval: 15s", "scrape_interval: 1s").replace("# authorization", "authorization")
        text = text.replace("#   credentials_file: /etc/prometheus/noid-token",
                            f"  credentials_file: {folder / 'token'}")
        (folder / "prometheus.yml").write_text(text)
        subprocess.run([program("promtool"), "check", "config", folder / "prometheus.yml"], check=True,
                       capture_output=True)
        self.port = free_port()
        self._log = open(folder / "prometheus.log", "wb")  # noqa: SIM115 - open as long as the process
        self._prometheus = subprocess.Popen(
            [program("prometheus"), f"--config.file={folder / 'prometheus.yml'}",
             f"--storage.tsdb.path={folder / 'data'}", f"--web.listen-address=127.0.0.1:{self.port}"],
            stdout=self._log, stderr=self._log)
        wait_until(lambda: self.answers("up") != [], 20, (folder / "prometheus.log").read_text)

    def answers(self, expression: str) -> list[dict]:
        """What Prometheus answers to an expression; fails if it is none."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET", "/api/v1/query?" + urllib.parse.urlencode({"query": expression}))
            answer = json.loads(connection.getresponse().read())
        except OSError:
            return []
        except json.JSONDecodeError:
            return []  # it is not ready yet
        finally:
            connection.close()
        assert answer["status"] == "success", answer
        return answer["data"]["result"]

    def value(self, expression: str) -> float:
        found = self.answers(expression)
        return float(found[0]["value"][1]) if found else 0.0

    def close(self) -> None:
        self._prometheus.terminate()
        self._prometheus.wait(20)
        self._log.close()
        assert self.served.stop() == 0


@pytest.fixture(scope="module")
def watched(tmp_path_factory) -> Iterator[Watched]:
    made = Watched(tmp_path_factory.mktemp("prometheus"))
    yield made
    made.close()


def load(served: Served, seconds: float, seed: int) -> Counter:
    """What a client asks for a while, and how often it was answered with which status."""
    counts: Counter = Counter()
    connection = http.client.HTTPConnection(*served.address, timeout=20)
    end = time.monotonic() + seconds
    queries = ("/noidu_kt5?mint+1", "/noidu_kt5?dbinfo", "/noidu_kt5?bind+set+13030/kt0000000+_t+https://e.org/",
               "/ark:/13030/kt0000000", "/ark:/13030/nothing", "/noidu_kt5?mint+x", "/healthz")
    while time.monotonic() < end:
        query = queries[(sum(counts.values()) + seed) % len(queries)]
        connection.request("GET", query)
        answer = connection.getresponse()
        answer.read()
        counts[query, answer.status] += 1
    connection.close()
    return counts


@pytest.mark.parametrize("seconds", [0.5, pytest.param(60, marks=pytest.mark.long)])
def test_the_figures_equal_the_clients_own_counts(watched, seconds):
    ours = {"mint": ("command", "mint"), "bind": ("command", "bind"), "dbinfo": ("command", "dbinfo")}
    before = {name: watched.value(f'sum(noid_requests_total{{{label}="{value}"}})')
              for name, (label, value) in ours.items()}
    names, minted = watched.value('sum(noid_requests_total{interface="names"})'), watched.value("noid_minted_total")
    counts: list[Counter] = []
    clients = [threading.Thread(target=lambda seed=seed: counts.append(load(watched.served, seconds, seed)))
               for seed in range(4)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    total = sum(counts, Counter())
    expected = {name: sum(count for (query, _), count in total.items() if f"?{name}" in query) for name in ours}
    resolved = sum(count for (query, _), count in total.items() if "/ark:" in query)
    mints = total["/noidu_kt5?mint+1", 200]
    assert mints and total["/noidu_kt5?mint+x", 400] and resolved

    def figures() -> tuple:
        return ({name: watched.value(f'sum(noid_requests_total{{{label}="{value}"}})') - before[name]
                 for name, (label, value) in ours.items()},
                watched.value('sum(noid_requests_total{interface="names"})') - names,
                watched.value('noid_minted_total{minter="kt5"}') - minted)

    wait_until(lambda: figures() == (expected, resolved, mints), 10, lambda: (figures(), expected, resolved, mints))
    assert watched.value("sum(noid_request_seconds_count)") == watched.value("sum(noid_requests_total)")


@pytest.mark.only("lmdb")  # which has figures that the other engine has not
def test_every_expression_of_the_dashboard_is_understood_and_names_figures_that_exist(watched):
    token = (watched.served.log.parent / "token").read_text()
    watched.served.get("/ark:/13030/nothing")
    watched.served.get("/noidu_kt5?-", "POST", b"hello\n")
    page = watched.served.get("/metrics", Authorization=f"Bearer {token}")
    known = {line.split()[2] for line in page.text.splitlines() if line.startswith("# TYPE")}
    # Only for a replicated engine, and after a backup.
    known |= {"noid_replica_lag_seconds", "noid_last_backup_timestamp_seconds"}
    dashboard = json.loads(DASHBOARD.read_text())
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    assert len(expressions) > 10
    for expression in expressions:
        plain = expression.replace("$instance", ".*").replace("$minter", ".*")
        watched.answers(plain)
        for name in {word for word in plain.replace("{", " ").replace("(", " ").split() if word.startswith("noid_")}:
            assert name.removesuffix("_bucket") in known, name


def test_the_alerts_are_valid_and_fire_when_they_must(tmp_path):
    shutil.copy(RULES, tmp_path)
    shutil.copy(Path(__file__).parent / "noid-rules-test.yml", tmp_path)
    for words in (("check", "rules", "noid-rules.yml"), ("test", "rules", "noid-rules-test.yml")):
        done = subprocess.run([program("promtool"), *words], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.only("lmdb")
def test_an_alert_names_figures_that_exist(watched):
    text = RULES.read_text()
    for name in ("noid_minter_up", "noid_identifiers_left", "noid_namespace_size", "noid_canaries_wrong",
                 "noid_requests_total", "noid_worker_starts_total", "noid_database_free_bytes", "noid_database_bytes",
                 "noid_database_oldest_reader_seconds"):
        assert name in text
        wait_until(lambda name=name: watched.answers(name) != [], 10, lambda name=name: name)
