"""/readyz and /metrics, the access log, slow requests and rates of noid serve."""

from __future__ import annotations

import json
import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from noidtools.errors import UsageError
from noidtools.minter.folder import MinterFolder
from noidtools.resolution import catalogue
from noidtools.server.serve import Options
from noidtools.store.creation import create_store
from noidtools.web import monitoring, observer
from noidtools.web.access_log import FORMS
from noidtools.web.counters import SharedCounters
from noidtools.web.observer import Observation, Observer
from noidtools.web.rates import RateLimit
from noidtools.web.request import Trust
from noidtools.web.site import Site
from support.minter import create_in_child, run_in_child
from support.served import Served
from support.wsgi import ResolverClient, call, command_environment

TERM = ("long", "13030", "x", "y")


class Service:
    """The application of noid serve, in this process."""

    def __init__(self, folder: Path, **settings) -> None:
        counters = SharedCounters(1)
        site = Site(MinterFolder(str(folder)), counters=counters)
        self.application = Observer(site, Trust(), counters=counters, **settings)
        self.get = ResolverClient(self.application)

    def command(self, query: str, **options):
        return call(self.application, command_environment(query, **options))

    def metrics(self, **variables: str) -> dict[str, float]:
        """The samples of /metrics."""
        reply = self.get("/metrics", **variables)
        assert reply.status == 200, reply
        assert reply.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
        lines = [line for line in reply.text.splitlines() if not line.startswith("#")]
        assert all(re.fullmatch(r'noid_[a-z_]+(\{([a-z]+="[^"]*",?)+\})? [0-9.e+-]+', line) for line in lines), lines
        return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines}


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Service:
    monkeypatch.setattr(catalogue, "_REFRESH_INTERVAL", 0.0)
    monkeypatch.setattr(monitoring, "_KEPT_SECONDS", 0.0)
    create_in_child(tmp_path / "kt5", "kt.sdd", *TERM)
    return Service(tmp_path)


# -- /readyz ---------------------------------------------------------------------------------------------------------


@pytest.mark.only("lmdb")
def test_a_service_is_ready_until_something_keeps_it_from_minting_or_resolving(service, tmp_path, monkeypatch):
    kt5 = tmp_path / "kt5"
    assert (service.get("/readyz").status, service.get("/readyz").text) == (200, "ready\n")
    run_in_child(kt5, "mint", "100")
    assert service.get("/readyz").text == "not ready: the minter kt5 has no identifiers left\n"
    run_in_child(kt5, "hold", "release", "13030/kt00")
    run_in_child(kt5, "queue", "now", "13030/kt00")
    assert service.get("/readyz").text == "ready\n"
    run_in_child(kt5, "bind", "set", "13030/kt01", "_t", "https://a.example/")
    run_in_child(kt5, "resolver", "canary", "ark:/13030/kt01", "https://b.example/")
    reply = service.get("/readyz")
    assert (reply.status, reply.text) == (503, "not ready: the minter kt5 resolves 1 canaries wrongly\n")
    run_in_child(kt5, "resolver", "canary", "ark:/13030/kt01", "https://a.example/")
    monkeypatch.setattr(monitoring, "_LITTLE_ROOM", 1 << 62)
    assert service.get("/readyz").text == "not ready: the minter kt5 has no room left on its disk\n"


@pytest.mark.only("lmdb")
def test_a_minter_that_cannot_be_read_and_an_empty_folder_are_not_ready(service, tmp_path):
    data = tmp_path / "kt5" / "NOID" / "data.mdb"
    data.rename(tmp_path / "data")
    reply = service.get("/readyz")
    assert reply.status == 503 and reply.text == "not ready: the minter kt5 cannot be read\n"
    assert service.metrics()['noid_minter_up{minter="kt5"}'] == 0
    (tmp_path / "kt5" / "NOID").rename(tmp_path / ".NOID")
    assert service.get("/readyz").text == "not ready: there is no minter\n"


# -- /metrics --------------------------------------------------------------------------------------------------------


@pytest.mark.only("lmdb")
def test_the_figures_are_what_was_done(service, tmp_path):
    assert service.command("mint+3").status == 200
    assert service.command("mint+x").status == 400
    assert service.command("bind+set+13030/kt00+_t+https://e.org/").status == 200
    assert service.command("nonsense").status == 400
    assert service.command("-", method="POST", body=b"mint 1\nget nothing a\n").status == 200
    for path in ("/ark:/13030/kt00", "/ark:/13030/kt00", "/ark:/13030/kt00/x", "/ark:/13030/zzz"):
        service.get(path)
    run_in_child(tmp_path / "kt5", "hold", "set", "13030/kt50")
    found = service.metrics()

    def requests(interface: str, command: str, status: int) -> float:
        labels = f'interface="{interface}",command="{command}",status="{status}"'
        assert found[f"noid_request_seconds_count{{{labels}}}"] == found[f"noid_requests_total{{{labels}}}"]
        return found[f"noid_requests_total{{{labels}}}"]

    assert requests("commands", "mint", 200) == 1 and requests("commands", "mint", 400) == 1
    assert requests("commands", "bind", 200) == 1 and requests("commands", "other", 400) == 1
    assert requests("bulk", "", 200) == 1
    assert found['noid_bulk_commands_total{command="mint",outcome="done"}'] == 1
    assert found['noid_bulk_commands_total{command="get",outcome="refused"}'] == 1
    assert requests("names", "", 302) == 3 and requests("names", "", 404) == 1
    assert found['noid_names_total{by="stored"}'] == 2 and found['noid_names_total{by="passthrough"}'] == 1
    kt5 = '{minter="kt5"}'
    assert found[f"noid_minted_total{kt5}"] == 4 and found[f"noid_identifiers_left{kt5}"] == 96
    assert found[f"noid_namespace_size{kt5}"] == 100 and found[f"noid_held{kt5}"] == 5
    assert found[f"noid_queued{kt5}"] == 0 and found[f"noid_minter_up{kt5}"] == 1
    assert found[f"noid_database_bytes{kt5}"] > 0 and found[f"noid_database_free_bytes{kt5}"] > 0
    assert found[f"noid_database_readers{kt5}"] >= 1 and found[f"noid_canaries_wrong{kt5}"] == 0
    assert f"noid_last_backup_timestamp_seconds{kt5}" not in found


def test_a_rule_that_computes_a_target_is_counted(service, tmp_path):
    run_in_child(tmp_path / "kt5", "bind", "set", ":idmap/^13030/r(.*)", "_t", "https://e.org/$1")
    assert service.get("/ark:/13030/rx").status == 302
    assert service.metrics()['noid_names_total{by="rule"}'] == 1


def test_the_counts_do_not_tell_a_reserved_name_from_an_unknown_one(service, tmp_path):
    run_in_child(tmp_path / "kt5", "reserve", "13030/kt00")
    run_in_child(tmp_path / "kt5", "bind", "set", "13030/kt00", "_t", "https://e.org/")
    counts = []
    for name in ("13030/kt00", "13030/kt01"):
        assert service.get(f"/ark:/{name}").status == 404
        counts.append({key: value for key, value in service.metrics().items() if "names_total" in key})
    assert counts == [{'noid_names_total{by="not found"}': 1}, {'noid_names_total{by="not found"}': 2}]


def test_many_who_ask_at_once_make_one_thread_look(service, tmp_path, monkeypatch):
    """Anybody may ask, and it takes long where there are many minters, or one of them is written to."""
    looks = []

    def slow(minter):
        looks.append(minter)
        time.sleep(0.3)
        return []

    assert service.get("/readyz").text == "ready\n"
    monkeypatch.setattr(monitoring, "_reasons_of", slow)
    with ThreadPoolExecutor(8) as pool:
        assert {reply.text for reply in pool.map(service.get, ["/readyz"] * 8)} == {"ready\n"}
    assert len(looks) <= 2


def test_the_time_of_the_last_backup_is_known(service, tmp_path):
    run_in_child(tmp_path / "kt5", "backup", str(tmp_path / ".copy"))
    when = service.metrics()['noid_last_backup_timestamp_seconds{minter="kt5"}']
    assert abs(when - time.time()) < 60


def test_the_figures_of_a_minter_are_for_who_may_read_it(service, tmp_path):
    create_in_child(tmp_path / "xx5", "xx.sdd", *TERM)
    assert 'noid_held{minter="xx5"}' in service.metrics()
    run_in_child(tmp_path / "xx5", "policy", "read", "bob")
    assert 'noid_held{minter="xx5"}' not in service.metrics()
    assert 'noid_held{minter="xx5"}' in service.metrics(REMOTE_USER="bob")
    run_in_child(tmp_path / "kt5", "policy", "read", "authenticated")
    assert service.get("/metrics").status == 401
    secret = run_in_child(tmp_path / "kt5", "token", "new", "prometheus", "--may", "read")[0]["token"].decode()
    found = service.metrics(HTTP_AUTHORIZATION=f"Bearer {secret}")
    assert 'noid_held{minter="kt5"}' in found and 'noid_held{minter="xx5"}' not in found
    assert service.get("/metrics", HTTP_AUTHORIZATION="Bearer noid_x").status == 401


@pytest.mark.only("lmdb")
def test_the_age_of_a_reader_is_at_least_the_time_since_it_was_first_seen(tmp_path):
    store = create_store(str(tmp_path / "NOID"), lambda writer: writer.put(b"m", b"a", b"b"))
    import threading

    begun, end = threading.Event(), threading.Event()
    reader = threading.Thread(target=lambda: store.read(lambda _: (begun.set(), end.wait(20))))
    reader.start()
    begun.wait(20)
    store.write(lambda writer: writer.put(b"m", b"a", b"c"))
    first = store.figures()
    time.sleep(0.05)
    second = store.figures()
    end.set()
    reader.join()
    assert first["oldest_reader_transactions"] == 1 and second["oldest_reader_seconds"] >= 0.05
    assert store.figures()["oldest_reader_seconds"] == 0
    store.close()


def test_two_processes_are_summed_and_a_killed_one_is_counted(tmp_path):
    import os
    import signal

    create_in_child(tmp_path / "kt5", "kt.zd", *TERM)
    served = Served.start(tmp_path / "log", "serve", "--minters", tmp_path, "--http", "127.0.0.1:0", "--workers", "2",
                          "--user", "alice")
    served.until(lambda: len(served.workers) == 2)
    for _ in range(30):
        assert served.get("/noidu_kt5?mint+1").status == 200

    def figure(name: str) -> int:
        found = re.search(rf"^{re.escape(name)} (\d+)$", served.get("/metrics").text, re.MULTILINE)
        return int(found[1]) if found else 0

    mints = 'noid_requests_total{interface="commands",command="mint",status="200"}'
    assert figure(mints) == 30 and figure('noid_minted_total{minter="kt5"}') == 30
    before = served.workers
    for worker in before:
        os.kill(worker, signal.SIGKILL)
    served.until(lambda: len(served.workers) == 2 and not set(before) & set(served.workers))
    assert served.get("/noidu_kt5?mint+1").status == 200
    assert figure(mints) == 31 and figure("noid_worker_deaths_total") == 2
    assert served.stop() == 0


# -- logs ------------------------------------------------------------------------------------------------------------


def test_the_access_log_has_a_line_for_each_request(tmp_path):
    create_in_child(tmp_path / "kt5", "kt.reeded")
    logs = {}
    for form in ("common", "json"):
        served = Served.start(tmp_path / form, "serve", "--minters", tmp_path, "--http", "127.0.0.1:0",
                              "--workers", "1", "--user", "alice", "--access-log", form)
        served.get("/noidu_kt5?mint+1")
        served.get("/ark:/no%22thing", "HEAD")
        served.raw(b'GET /a"b HTTP/1.0\r\n\r\n')
        assert served.stop() == 0
        logs[form] = [line for line in served.log.read_text().splitlines() if not line.startswith("noid: ")]
    common = r'127\.0\.0\.1 - alice \[\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d \+0000\] "%s" %s'
    assert len(logs["common"]) == 3
    assert re.fullmatch(common % (r"GET /noidu_kt5\?mint\+1 HTTP/1\.1", r"200 13"), logs["common"][0])
    assert re.fullmatch(common % (r"HEAD /ark:/no%22thing HTTP/1\.1", r"404 \d+"), logs["common"][1])
    assert '"GET /a\\x22b HTTP/1.0" 404' in logs["common"][2]
    first, second, _ = map(json.loads, logs["json"])
    assert (first["status"], first["command"], first["interface"], first["user"]) == (200, "mint", "commands", "alice")
    assert first["target"] == "/noidu_kt5?mint+1" and 0 < first["seconds"] < 10 and first["bytes"] == 13
    assert (second["status"], second["method"], second["interface"]) == (404, "HEAD", "names")


@pytest.mark.parametrize("form", FORMS)
def test_the_access_log_names_the_token_and_not_a_user_who_came_with_it(tmp_path, form):
    create_in_child(tmp_path / "kt5", "kt.reeded")
    secret = run_in_child(tmp_path / "kt5", "token", "new", "job", "--may", "mint")[0]["token"].decode()
    lines: list[str] = []
    service = Service(tmp_path, access_log=lambda observation: lines.append(FORMS[form](observation)))
    for user in ("", "alice"):
        assert service.command("mint+1", user=user, HTTP_AUTHORIZATION=f"Bearer {secret}").status == 200
    assert all("token:job" in line and "alice" not in line and secret not in line for line in lines)
    assert service.command("mint+1", user="alice").status == 200 and "alice" in lines[2]


@pytest.mark.parametrize("form", FORMS)
def test_the_access_log_holds_no_pepper(form):
    pepper = "vjd6xdc7mwc1swnj"
    escaped = "".join(f"%{ord(letter):02X}" for letter in pepper)
    for spelled in (f"!{pepper}", f"%21{pepper}", f"%2521{pepper}", f"!{pepper}/page", f"!%76{pepper[1:]}",
                    f"%21{escaped}", f"'!'{pepper}", f"!vjd6''{pepper[4:]}"):
        for environ in (command_environment(f"bind+set+kt4x551{spelled}+_t+x"),
                        {**command_environment(""), "REQUEST_URI": f"/ark:/13030/kt4x551{spelled}?info"}):
            line = FORMS[form](Observation(environ, Trust()))
            assert "kt4x551" in line and pepper[4:] not in line and escaped[8:] not in line


def test_a_slow_request_is_logged_without_its_pepper(tmp_path, capfd):
    create_in_child(tmp_path / "kt5", "kt.reeded")
    Service(tmp_path, slow=0.0).get("/kt4x551!vjd6xdc7mwc1swnj/page")
    assert "GET /kt4x551!.../page, status 404" in capfd.readouterr().err


def test_what_counts_as_slow_may_be_a_part_of_a_second():
    assert [Options([b"--slow", text]).slow for text in (b"0", b"0.5", b"5", b"86400")] == [0, 0.5, 5, 86_400]
    for wrong in (b"", b".", b"-1", b"1e3", b"nan", b"1.2.3", b"86401", b"x"):
        with pytest.raises(UsageError, match="--slow"):
            Options([b"--slow", wrong])


def test_a_slow_request_is_logged_without_its_words(tmp_path, capfd):
    create_in_child(tmp_path / "kt5", "kt.reeded")
    service = Service(tmp_path, slow=0.0)
    service.command("bind+set+kt4x551+secret+value")
    log = capfd.readouterr().err
    assert re.fullmatch(r"noid: a request took \d\.\d seconds: GET /noidu_kt5\?bind, status 200, from 192.0.2.7\n", log)


@pytest.mark.only("lmdb")
def test_errors_of_fastcgi_requests_are_in_the_services_own_log(tmp_path):
    create_in_child(tmp_path / "kt5", "kt.reeded")
    served = Served.start(tmp_path / "log", "serve", "--minters", tmp_path, "--fcgi", tmp_path / "s", "--workers", "1")
    assert served.fastcgi("mint+1")[0] == 200
    (tmp_path / "kt5" / "NOID" / "data.mdb").rename(tmp_path / "away")
    assert [served.fastcgi("mint+1")[0] for _ in range(3)] == [503] * 3
    assert served.stop() == 0
    assert served.log.read_text().count("has no database that this process can read") == 1


# -- rates -----------------------------------------------------------------------------------------------------------


def test_a_client_beyond_its_rate_is_429_and_others_are_not(tmp_path, monkeypatch):
    create_in_child(tmp_path / "kt5", "kt.reeded")
    secret = run_in_child(tmp_path / "kt5", "token", "new", "job", "--may", "mint")[0]["token"].decode()
    service = Service(tmp_path, rates=RateLimit(2))

    def ask(address: str, **variables: str) -> int:
        return service.command("dbinfo", REMOTE_ADDR=address, user="", **variables).status

    assert [ask("192.0.2.1") for _ in range(7)] == [200] * 6 + [429]
    assert ask("192.0.2.2") == 200
    # A token counts for itself, wherever it comes from; a wrong one for its address.
    token = {"HTTP_AUTHORIZATION": f"Bearer {secret}"}
    assert [ask(f"192.0.2.{number}", **token) for number in range(10, 17)] == [200] * 6 + [429]
    wrong = [ask("192.0.2.30", HTTP_AUTHORIZATION=f"Bearer noid_{number}") for number in range(8)]
    assert wrong == [401] * 6 + [429] * 2
    refused = service.command("dbinfo", REMOTE_ADDR="192.0.2.1", user="")
    assert refused.headers["retry-after"] == "1" and "more requests than one client may make" in refused.text
    now = time.monotonic()
    monkeypatch.setattr("noidtools.web.rates.time.monotonic", lambda: now + 1)
    assert [ask("192.0.2.1") for _ in range(3)] == [200, 200, 429]


def test_requests_that_arrive_together_are_counted_once_and_run_only_within_the_rate(tmp_path):
    create_in_child(tmp_path / "kt5", "kt.zd")
    service = Service(tmp_path, rates=RateLimit(2))
    environs = [command_environment("mint+1") for _ in range(8)]
    service.application.prepare(environs)
    assert run_in_child(tmp_path / "kt5", "status")[0]["minted"] == b"6"
    statuses: list[str] = []
    for environ in environs:
        list(service.application(environ, lambda status, headers: statuses.append(status[:3])))
    assert sorted(statuses) == ["200"] * 6 + ["429"] * 2
    assert run_in_child(tmp_path / "kt5", "status")[0]["minted"] == b"6"


@pytest.mark.parametrize("path", ["/kt5t", "/healthz", "/readyz", "/", "/noidu_kt5?help"])
def test_an_invented_token_does_not_get_around_the_rate_where_no_token_is_looked_for(tmp_path, path):
    create_in_child(tmp_path / "kt5", "kt.reeded")
    service = Service(tmp_path, rates=RateLimit(2))

    def ask(number: int) -> int:
        token = {"HTTP_AUTHORIZATION": f"Bearer noid_{number}", "REMOTE_ADDR": "192.0.2.30"}
        if "?" in path:
            return service.command("help", user="", **token).status
        return service.get(path, **token).status

    assert [ask(number) == 429 for number in range(8)] == [False] * 6 + [True] * 2


def test_a_body_that_is_never_sent_is_closed_and_its_request_is_counted(tmp_path):
    create_in_child(tmp_path / "kt5", "kt.reeded")
    service = Service(tmp_path)
    environ = command_environment("-", method="POST", body=b"mint 1\n")
    body = service.application(environ, lambda status, headers: None)
    assert not isinstance(body, list)
    body.close()
    assert service.metrics()['noid_requests_total{interface="bulk",command="",status="200"}'] == 1


def test_what_observing_costs_is_little(tmp_path):
    def application(environ, start_response):
        start_response("200 OK", [("Content-Length", "0")])
        return []

    application.prepare = lambda environs: None
    watched = Observer(application, Trust(), counters=SharedCounters(1))
    environ = command_environment("mint+1")
    started = time.process_time()
    for _ in range(2000):
        watched(environ, lambda status, headers: None)
    assert (time.process_time() - started) / 2000 < 100e-6
    assert observer.SERVICE_LOG.flush() is None
