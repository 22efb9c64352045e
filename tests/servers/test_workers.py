"""Processes of every server killed and replaced under load."""

from __future__ import annotations

import http.client
import os
import random
import re
import signal
import threading
import time

import pytest

from support.http import ids_in
from support.process import process_is_alive, wait_until
from support.servers import COMMANDS, with_rare_ones_long
from support.servers.deployment import Deployment

DEPLOYMENTS = with_rare_ones_long(COMMANDS)
# Those whose workers are processes of `noid serve`.
SERVICES = with_rare_ones_long(("apache-proxy", "apache-fcgi", "nginx-proxy", "nginx-fcgi"))


class Load:
    """Clients that mint one identifier after the other, from `with` to its end."""

    def __init__(self, deployment: Deployment, minter: str, clients: int = 4) -> None:
        self.received: list[str] = []
        self.refused: list[object] = []
        self._port = deployment.port
        self._url = f"{deployment.path}/noidu_{minter}?mint+1"
        name, _, value = deployment.login_header().decode().strip().partition(": ")
        self._headers = {name: value}
        self._over = threading.Event()
        self._clients = [threading.Thread(target=self._ask_on) for _ in range(clients)]

    def __enter__(self) -> Load:
        for client in self._clients:
            client.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for client in self._clients:
            client.join()

    def _ask_on(self) -> None:
        while not self._over.is_set():
            connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=10)
            try:
                connection.request("GET", self._url, headers=self._headers)
                reply = connection.getresponse()
                body = reply.read()
                if reply.status == 200:
                    self.received += ids_in(body)
                else:
                    self.refused.append(reply.status)
            except (OSError, http.client.HTTPException) as error:
                self.refused.append(error)
            finally:
                connection.close()
            time.sleep(0.03)  # some are always under way, and the processor has time for other tests


def stored_ids(deployment: Deployment, minter: str) -> set[str]:
    return set(re.findall(r"^IDS/([^:]+): ", deployment.noid("-f", minter, "dbinfo", "dump"), re.MULTILINE))


@pytest.mark.parametrize("seconds", [0.6, pytest.param(6.0, marks=pytest.mark.long)])
def test_identifiers_are_unique_and_kept_when_workers_are_killed_under_load(deployment, seconds):
    minter = deployment.new_minter()
    with Load(deployment, minter) as load:
        killed = _kill_workers(deployment, load, seconds)
        time.sleep(0.3)
    assert killed >= 2
    assert len(load.received) > 20, (load.refused[:10], deployment.logs())
    assert len(set(load.received)) == len(load.received)
    assert set(load.received) <= stored_ids(deployment, minter)
    # And it goes on.
    wait_until(lambda: kept_running(deployment) and deployment.ask(minter, "mint+1").status == 200, 20)


def kept_running(deployment: Deployment) -> bool:
    """Start the service again if it has ended, as systemd does."""
    service = getattr(deployment, "service", None)
    if service is not None and not service.running():
        service.start()
    return True


@pytest.mark.parametrize("deployment", SERVICES, indirect=True)
def test_a_reload_under_load_loses_no_identifier_and_replaces_the_workers(deployment):
    minter = deployment.new_minter()
    assert deployment.ask(minter, "hello").status == 200
    wait_until(lambda: len(deployment.workers()) == 2)
    before = deployment.workers()
    with Load(deployment, minter, clients=4) as load:
        time.sleep(0.3)
        deployment.service.signal(signal.SIGHUP)
        wait_until(lambda: len(deployment.workers()) == 2 and not set(deployment.workers()) & set(before), 30)
        time.sleep(0.3)
    # granian closes a connection on which nothing has come yet when its worker stops; FastCGI refuses none.
    allowed = 0 if deployment.name.endswith("fcgi") else 4 + len(load.received) // 50
    assert len(load.refused) <= allowed, (load.refused, deployment.logs())
    assert set(load.received) <= stored_ids(deployment, minter) and len(set(load.received)) == len(load.received)


def _kill_workers(deployment: Deployment, load: Load, seconds: float) -> int:
    """How many were killed; on a busy computer it goes on until there are enough answers to judge by.

    A worker is killed when another request has been answered, so that those that have just started get to work.
    """
    killed = seen = 0
    chance = random.Random(8)
    enough, latest = time.monotonic() + seconds, time.monotonic() + 30
    while time.monotonic() < enough or (time.monotonic() < latest and (killed < 2 or len(load.received) <= 20)):
        time.sleep(chance.uniform(0.02, 0.2))
        kept_running(deployment)
        workers = [pid for pid in deployment.workers() if process_is_alive(pid)]
        if workers and len(load.received) > seen:
            seen = len(load.received)
            try:
                os.kill(chance.choice(workers), signal.SIGKILL)
                killed += 1
            except ProcessLookupError:
                pass
    return killed

