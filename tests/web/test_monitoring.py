"""/readyz and /metrics, and slow requests of noid serve."""

from __future__ import annotations

import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from noidtools.errors import UsageError
from noidtools.minter import Minter
from noidtools.minter.folder import MinterFolder
from noidtools.resolution import catalogue
from noidtools.server.serve import Options
from noidtools.store import create_store
from noidtools.web import monitoring
from noidtools.web.metrics import RequestMetrics
from noidtools.web.request import Trust
from noidtools.web.site import Site
from support.minter import create_in_child, run_in_child
from support.process import wait_until
from support.served import Served
from support.wsgi import ResolverClient, call, command_environment

pytestmark = pytest.mark.slow

TERM = ("long", "13030", "x", "y")


class Service:
    """The application of noid serve, in this process."""

    def __init__(self, folder: Path, slow: float = 5.0) -> None:
        self.application = Site(MinterFolder(str(folder)), metrics=RequestMetrics(slow, Trust()))
        self.get = ResolverClient(self.application)

    def command(self, query: str, **options):
        return call(self.application, command_environment(query, **options))

    def metrics(self, **variables: str) -> dict[str, float]:
        """The samples of /metrics."""
        reply = self.get("/metrics", **variables)
        assert reply.status == 200, reply
        assert reply.headers["content-type"].startswith("text/plain; version=")
        return samples(reply.text)


def samples(text: str) -> dict[str, float]:
    """The figures of /metrics by their names, with the labels in the order of the alphabet."""
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = ",".join(f'{name}="{value}"' for name, value in sorted(sample.labels.items()))
            found[sample.name + (f"{{{labels}}}" if labels else "")] = sample.value
    return found


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Service:
    monkeypatch.setattr(catalogue, "_REFRESH_INTERVAL", 0.0)
    monkeypatch.setattr(monitoring, "_KEPT_SECONDS", 0.0)
    monkeypatch.setattr(monitoring, "_KEPT_TIMES", 0)
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
    # Who may read it is not known.
    assert reply.status == 503 and reply.text == "not ready: a minter cannot be read\n"
    assert service.metrics()['noid_minter_up{minter="hidden"}'] == 0
    (tmp_path / "kt5" / "NOID").rename(tmp_path / ".NOID")
    assert service.get("/readyz").text == "not ready: there is no minter\n"


def test_readiness_and_metrics_name_no_minter_that_the_caller_may_not_read(service, tmp_path):
    create_in_child(tmp_path / "secret", "xx.sd", *TERM)
    run_in_child(tmp_path / "secret", "policy", "read", "bob")
    run_in_child(tmp_path / "secret", "mint", "10")
    secret = run_in_child(tmp_path / "secret", "token", "new", "monitor", "--may", "read")[0]["token"].decode()
    assert service.get("/readyz").text == "not ready: a minter has no identifiers left\n"
    for variables in ({"REMOTE_USER": "bob"}, {"HTTP_AUTHORIZATION": f"Bearer {secret}"}):
        assert service.get("/readyz", **variables).text == "not ready: the minter secret has no identifiers left\n"
    assert "secret" not in service.get("/metrics").text and service.get("/healthz").text == "ok\n"
    (tmp_path / "secret" / "NOID").rename(tmp_path / ".NOID")
    (tmp_path / "secret" / "NOID").mkdir()
    assert service.get("/readyz").text == "not ready: a minter cannot be read\n"
    assert "secret" not in service.get("/metrics").text
    assert service.get("/healthz").text == "error: 1 minters cannot be read, 1 can\n"


def test_asking_for_health_again_looks_at_no_minter(tmp_path, monkeypatch):
    monkeypatch.setattr(monitoring, "_KEPT_SECONDS", 1000.0)
    create_in_child(tmp_path / "kt5", "kt.sdd", *TERM)
    service = Service(tmp_path)
    assert [service.get(page).status for page in ("/healthz", "/metrics")] == [200, 200]

    def fail(*_):
        raise AssertionError

    monkeypatch.setattr(Minter, "read", fail)
    monkeypatch.setattr(Minter, "access_policy", fail)
    assert [service.get(page).status for page in ("/healthz", "/metrics")] == [200, 200]


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
        labels = f'command="{command}",interface="{interface}",status="{status}"'
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
    # With PostgreSQL, a resolver sees a change within a second.
    wait_until(lambda: 'noid_held{minter="xx5"}' not in service.metrics())
    assert 'noid_held{minter="xx5"}' in service.metrics(REMOTE_USER="bob")
    run_in_child(tmp_path / "kt5", "policy", "read", "authenticated")
    wait_until(lambda: service.get("/metrics").status == 401)
    secret = run_in_child(tmp_path / "kt5", "token", "new", "prometheus", "--may", "read")[0]["token"].decode()
    wait_until(lambda: service.get("/metrics", HTTP_AUTHORIZATION=f"Bearer {secret}").status == 200)
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
    first = store.status().figures
    time.sleep(0.05)
    second = store.status().figures
    end.set()
    reader.join()
    assert first["oldest_reader_transactions"] == 1 and second["oldest_reader_seconds"] >= 0.05
    assert store.status().figures["oldest_reader_seconds"] == 0
    store.close()


def test_two_processes_are_summed_and_a_killed_one_is_counted(tmp_path, request):
    import os
    import signal

    create_in_child(tmp_path / "kt5", "kt.zd", *TERM)
    served = Served.start(tmp_path / "log", "serve", "--minters", tmp_path, "--http", "127.0.0.1:0", "--workers", "2",
                          "--user", "alice")
    request.addfinalizer(served.stop)
    served.until(lambda: len(served.workers) == 2)
    for _ in range(30):
        assert served.get("/noidu_kt5?mint+1").status == 200

    def figure(name: str) -> int:
        return int(samples(served.get("/metrics").text).get(name, 0))

    served.until(lambda: figure("noid_worker_starts_total") == 2)  # a process has begun before its application has
    mints = 'noid_requests_total{command="mint",interface="commands",status="200"}'
    assert figure(mints) == 30 and figure('noid_minted_total{minter="kt5"}') == 30
    before = served.workers
    os.kill(before[0], signal.SIGKILL)
    served.until(lambda: len(served.workers) == 2 and before[0] not in served.workers)

    def has_restarted() -> bool:
        try:
            return figure("noid_worker_starts_total") == 3
        except OSError:
            return False  # the other worker may have just begun, and does not listen yet

    served.until(has_restarted)
    assert served.get("/noidu_kt5?mint+1").status == 200
    assert figure(mints) == 31
    assert served.stop() == 0


# -- logs ------------------------------------------------------------------------------------------------------------


def test_a_slow_request_is_logged_without_its_pepper(tmp_path, capfd):
    create_in_child(tmp_path / "kt5", "kt.reeded")
    Service(tmp_path, slow=0.0).get("/kt4x551!vjd6xdc7mwc1swnj/page")
    assert "GET /kt4x551!.../page, status 404" in capfd.readouterr().err


@pytest.mark.parametrize("separator", ["%E2%80%A8", "%E2%80%A9", "%C2%85", "%0B", "%0C", "%1E", "%0A", "%9B"])
def test_a_path_forges_no_line_of_the_log(tmp_path, capfd, separator):
    create_in_child(tmp_path / "kt5", "kt.reeded")
    Service(tmp_path, slow=0.0).get(f"/kt4x551{separator}noid:%20forged")
    log = capfd.readouterr().err
    assert len(log.splitlines()) == 1 and f"GET /kt4x551{separator}noid:%20forged, status 404" in log


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


def test_a_body_that_is_never_sent_is_closed_and_its_request_is_counted(tmp_path):
    create_in_child(tmp_path / "kt5", "kt.reeded")
    service = Service(tmp_path)
    environ = command_environment("-", method="POST", body=b"mint 1\n")
    body = service.application(environ, lambda status, headers: None)
    assert not isinstance(body, list)
    body.close()
    assert service.metrics()['noid_requests_total{command="",interface="bulk",status="200"}'] == 1
