"""The resolver's processes under hostile requests, killed, restored, under an account of their own."""

from __future__ import annotations

import contextlib
import http.client
import os
import random
import signal
import subprocess
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from support.http import raw
from support.process import command_line, process_is_alive, signal_all, wait_until
from support.servers.apache import ApacheRewrite
from support.servers.deployment import Deployment
from support.servers.system import as_server_user, program
from support.templates import LONG_TERM

# -- hostile requests --------------------------------------------------------------------------------------------


def hostile_path(dice: random.Random) -> bytes:
    kinds = (
        lambda: bytes(dice.choices(bytes(range(0x21, 0x7F)), k=dice.randrange(1, 60))),
        lambda: b"".join(b"%%%02X" % dice.randrange(256) for _ in range(dice.randrange(1, 30))),
        lambda: b"13030/kt%0A_t", lambda: b"13030/x%20y%20z", lambda: b"13030/%22%27%5C", lambda: b"x" * 6000,
        lambda: b"13030/" + b"a/" * 500, lambda: b"13030/kt4x551%0Aget%20x%20y", lambda: b"${noid:get x y}",
        lambda: b"%{ENV:PATH}", lambda: b"13030/x|NULL", lambda: b"13030/x}|y", lambda: b"$1%1",
        lambda: b"\xff\xfe%FF", lambda: b"13030/a%00b", lambda: b"?",
    )
    return dice.choice(kinds)()


@pytest.mark.parametrize("requests", [120, pytest.param(2000, marks=pytest.mark.long)])
@pytest.mark.parametrize("kind", ["rewrite", "apache-resolver", "nginx-resolver"])
def test_each_of_many_concurrent_requests_gets_its_own_answer_among_hostile_ones(deploy, kind, requests):
    deployment = deploy(kind)
    names = [deployment.mint("kt5")[0] for _ in range(20)]
    deployment.ask("kt5", "-", "--data-binary", "@-", stdin="".join(
        f"bind set {name} _t https://own.example/{name}\n" for name in names).encode())
    deployment.wait_for_location(f"ark:/{names[-1]}", f"https://own.example/{names[-1]}")
    wrong: list[tuple] = []

    def reader(seed: int) -> int:
        dice = random.Random(seed)
        connection = http.client.HTTPConnection("127.0.0.1", deployment.resolver_port(), timeout=20)
        known = 0
        for _ in range(requests):
            if dice.random() < 0.5:
                name = dice.choice(names)
                rest = f"/{dice.getrandbits(40):x}" if dice.random() < 0.5 else ""
                path, expected = f"/ark:/{name}{rest}", f"https://own.example/{name}{rest}"
                connection.request("GET", path)
                answer = connection.getresponse()
                answer.read()
                known += 1
                if (answer.status, answer.getheader("Location")) != (302, expected):
                    wrong.append((path, answer.status, answer.getheader("Location")))
            else:
                connection.close()
                path = b"/ark:/" + hostile_path(dice)
                request = b"GET " + path + b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
                answer = raw(deployment.resolver_port(), request)
                status = answer[:40].split(b" ")[1:2]
                if status not in ([b"404"], [b"400"], [b"200"], [b"403"], [b"414"]):
                    wrong.append((path, answer[:200]))
        connection.close()
        return known

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(reader, range(8))) > 2 * requests
    assert not wrong, wrong[:5]


def test_a_reply_left_over_by_a_killed_apache_process_reaches_no_other_request(deploy):
    """Apache's processes are killed in the middle of lookups; whoever comes next gets his own answer."""
    deployment = deploy("rewrite", "killed")
    names = [deployment.mint("kt5")[0] for _ in range(5)]
    for name in names:
        deployment.bind(name, f"https://own.example/{name}")
    deployment.wait_for_location(f"ark:/{names[0]}", f"https://own.example/{names[0]}")
    kill_apache_during_lookups(deployment, names)
    for name in names * 3:
        assert deployment.location(f"ark:/{name}") == f"https://own.example/{name}"


def kill_apache_during_lookups(deployment: Deployment, names: list[str]) -> None:
    (noidr,) = deployment.workers()
    # While noidr sleeps, requests pile up in Apache's processes, one of them waiting for its answer; they are killed.
    os.kill(noidr, signal.SIGSTOP)
    urls = [f"http://127.0.0.1:{deployment.port}/ark:/{name}" for name in names]
    waiting = [subprocess.Popen([program("curl"), "-s", url]) for url in urls]
    time.sleep(0.5)
    apache = deployment.apache
    workers = [pid for pid in apache.children() if command_line(pid).startswith(apache.arguments[0])]
    # All at once: none must take the place of another in the queue and leave an answer of its own.
    for number in (signal.SIGSTOP, signal.SIGKILL):
        signal_all(workers, number)
    os.kill(noidr, signal.SIGCONT)
    for process in waiting:
        process.wait(20)


def test_after_killed_apache_processes_requests_and_replies_come_in_step_again(deploy):
    """Until then a name may be answered 503, but never with the target of another one."""
    deployment = deploy("rewrite", "in-step")
    name, other = (deployment.mint("kt5")[0] for _ in range(2))
    for bound in (name, other):
        deployment.bind(bound, f"https://own.example/{bound}/0")
        deployment.wait_for_location(f"ark:/{bound}", f"https://own.example/{bound}/0")
    for deaths in range(1, 4):
        kill_apache_during_lookups(deployment, [name])
        deadline = time.monotonic() + 60
        # How many requests it takes depends on who is quicker, Apache or noidr.
        while deployment.logs().count("a reply was not read") < deaths:
            assert time.monotonic() < deadline, deployment.logs()
            for bound in (name, other):
                answer = deployment.resolve(f"ark:/{bound}")
                assert answer.headers.get("location") in (f"https://own.example/{bound}/0", None)
        for bound in (name, other):
            assert deployment.location(f"ark:/{bound}") == f"https://own.example/{bound}/0"
        assert deployment.resolve("healthz").status == 204


# -- deaths of noidr -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def with_noidr(deploy):
    """Apache with a RewriteMap, and names with targets of their own."""
    deployment = deploy("rewrite", "deaths")
    names = deployment.mint("kt5", 20)
    deployment.ask("kt5", "-", "--data-binary", "@-", stdin="".join(
        f"bind set {name} _t https://own.example/{name}\n" for name in names).encode())
    deployment.wait_for_location(f"ark:/{names[-1]}", f"https://own.example/{names[-1]}")
    return deployment, names


def answers_under_load(deployment, names: list[str], stop: threading.Event, seed: int) -> Counter:
    """What a client gets until it is stopped: right redirects, statuses of other answers, and "wrong"."""
    dice = random.Random(seed)
    found: Counter = Counter()
    connection = http.client.HTTPConnection("127.0.0.1", deployment.resolver_port(), timeout=20)
    while not stop.is_set():
        name = dice.choice(names)
        connection.request("GET", f"/ark:/{name}")
        answer = connection.getresponse()
        answer.read()
        location = answer.getheader("Location")
        found["wrong" if location not in (None, f"https://own.example/{name}") else answer.status] += 1
        time.sleep(0.02)  # some are always under way, and the processor has time for other tests
    connection.close()
    return found


def run_out_of_memory(worker: int) -> None:
    """It has more than that already: the next allocation fails."""
    subprocess.run([program("prlimit"), "--pid", str(worker), f"--as={1 << 20}"], check=True, **as_server_user())
    time.sleep(0.1)
    with contextlib.suppress(ProcessLookupError):
        os.kill(worker, signal.SIGKILL)  # what the system does to a process when no memory is left at all


DEATHS = {number.name: (lambda worker, number=number: os.kill(worker, number))
          for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV)} | {"memory": run_out_of_memory}


@pytest.mark.parametrize("death", DEATHS)
def test_a_dead_worker_of_noidr_is_replaced_under_load_and_every_later_answer_is_right(with_noidr, death):
    deployment, names = with_noidr
    before = deployment.logs().count("the worker ")
    stop = threading.Event()
    with ThreadPoolExecutor(4) as pool:
        clients = [pool.submit(answers_under_load, deployment, names, stop, seed) for seed in range(4)]
        try:
            for _ in range(3):
                time.sleep(0.3)
                (worker,) = deployment.workers()
                DEATHS[death](worker)
                wait_until(lambda worker=worker: deployment.workers() not in ([], [worker]), describe=deployment.logs)
        finally:
            stop.set()
        found = sum((client.result() for client in clients), Counter())
    assert not found["wrong"] and not found[404], found
    # A lost reply is asked for again; only where memory is short, the worker itself answers that it cannot.
    assert found[302] and (death == "memory" or set(found) == {302}), found
    for name in names:
        assert deployment.location(f"ark:/{name}") == f"https://own.example/{name}"
    assert deployment.logs().count("the worker ") == before + 3
    assert death == "memory" or f"was killed by {death}" in deployment.logs()


def test_without_noidr_names_are_503_not_404(deploy):
    deployment = deploy("rewrite", "gone")
    (name,) = deployment.mint("kt5")
    deployment.bind(name, "https://a.example/")
    deployment.wait_for_location(f"ark:/{name}", "https://a.example/")
    assert deployment.resolve("ark:/13030/ktnone").status == 404
    (parent,), (worker,) = deployment.noidr(), deployment.workers()
    os.kill(parent, signal.SIGKILL)
    assert deployment.location(f"ark:/{name}") == "https://a.example/"  # the worker goes on alone
    os.kill(worker, signal.SIGKILL)
    wait_until(lambda: not process_is_alive(worker))
    for path in (f"ark:/{name}", "ark:/13030/ktnone", "healthz"):
        assert deployment.resolve(path).status == 503
    assert deployment.resolve("static").status == 302


def test_a_database_that_cannot_be_read_makes_names_503_by_the_map_and_is_logged_once(deploy):
    deployment = deploy("rewrite", "unreadable")
    (name,) = deployment.mint("kt5")
    deployment.bind(name, "https://a.example/")
    deployment.wait_for_location(f"ark:/{name}", "https://a.example/")
    data = deployment.minters / "kt5" / "NOID" / "data.mdb"
    data.chmod(0)
    (worker,) = deployment.workers()
    os.kill(worker, signal.SIGKILL)  # what is open stays readable
    wait_until(lambda: deployment.resolve(f"ark:/{name}").status == 503, describe=deployment.logs)
    assert [deployment.resolve(path).status for path in (f"ark:/{name}", "healthz")] == [503, 503]
    assert deployment.logs().count("noidr: ") == 2 and "change the owner or the permissions" in deployment.logs()
    data.chmod(0o660)
    deployment.wait_for_location(f"ark:/{name}", "https://a.example/")


# -- accounts and the life of noidr ------------------------------------------------------------------------------


class ApacheAsRoot(ApacheRewrite):
    """Apache started by root, as systems do, with noidr under an account of its own."""

    changes = {"www-data:www-data": "nobody:nogroup"}

    def outside(self) -> str:
        return super().outside() + "User www-data\nGroup www-data\n"

    def run(self, *arguments: object, name: str = "server", **settings):
        return super().run(*arguments, name=name, **settings, **({"user": 0, "group": 0} if os.getuid() == 0 else {}))


def test_noidr_runs_under_its_own_account_reads_only_and_ends_with_its_server(site):
    deployment = site.add(ApacheAsRoot, "as-root")
    deployment.create("kt5", *LONG_TERM)
    name = deployment.noid("-f", "kt5", "mint", "1").split()[1]
    deployment.noid("-f", "kt5", "bind", "set", name, "_t", "https://a.example/")
    database = deployment.minters / "kt5" / "NOID"
    os.chmod(database / "data.mdb", 0o644)
    os.chmod(database / "lock.mdb", 0o666)
    deployment.start()
    deployment.wait_for_location(f"ark:/{name}", "https://a.example/")
    (noidr,), (parent,) = deployment.workers(), deployment.noidr()
    status = Path(f"/proc/{noidr}/status").read_text()
    if os.getuid() == 0:
        assert "Uid:\t65534\t65534\t65534\t65534" in status and "Gid:\t65534\t65534\t65534\t65534" in status
    deployment.noid("-f", "kt5", "bind", "set", name, "_t", "https://b.example/")
    assert deployment.location(f"ark:/{name}") == "https://b.example/"
    os.kill(noidr, signal.SIGKILL)
    assert deployment.location(f"ark:/{name}") == "https://b.example/"
    wait_until(lambda: deployment.workers() not in ([], [noidr]))
    (noidr,) = deployment.workers()
    assert deployment.location(f"ark:/{name}") == "https://b.example/"
    # Its server is killed, with all its processes, as hard as can be.
    others = {deployment.apache.pid, *deployment.apache.children()} - {noidr, parent}
    signal_all(others, signal.SIGKILL)
    wait_until(lambda: not process_is_alive(noidr) and not process_is_alive(parent))


def test_a_restored_database_is_read_without_a_restart(deploy):
    deployment = deploy("rewrite")
    name = deployment.mint("kt5")[0]
    deployment.bind(name, "https://before.example/")
    deployment.wait_for_location(f"ark:/{name}", "https://before.example/")
    deployment.noid("-f", "kt5", "backup", "kept")
    deployment.bind(name, "https://after.example/")
    assert deployment.location(f"ark:/{name}") == "https://after.example/"
    deployment.noid("-f", "kt5", "restore", "kept")
    deployment.wait_for_location(f"ark:/{name}", "https://before.example/")
