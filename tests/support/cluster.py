"""Three PostgreSQL servers that Patroni makes a cluster, with etcd: Debian's packages, on loopback, in a folder.

Everybody, the servers among themselves too, reaches a server and etcd through relays that can stop forwarding, as a
network does that is partitioned.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.http import free_port
from support.postgres import ACCOUNT, demoted, programs
from support.process import signal_all
from support.relay import Relay
from support.servers.system import MissingError

# By etcd's second interface: Patroni 3.0.2 by its third (`etcd3`) lets a primary that was stopped overwrite the lock of
# the one that was promoted meanwhile, and then all changes since are rolled back.
_TEXT = """\
scope: noid
name: {name}
restapi: {{listen: "127.0.0.1:{api}", connect_address: "127.0.0.1:{api_relay}"}}
etcd: {{hosts: "127.0.0.1:{etcd}", use_proxies: true}}
bootstrap:
  dcs:
    ttl: {ttl}
    loop_wait: 1
    retry_timeout: 3
    maximum_lag_on_failover: 1048576
    synchronous_mode: {synchronous}
    primary_start_timeout: 0
    postgresql:
      use_pg_rewind: true
      parameters: {{max_connections: 100, wal_log_hints: "on", shared_buffers: 32MB, wal_keep_size: 256MB}}
  initdb: [{{encoding: UTF8}}, {{locale: C}}, no-sync]
postgresql:
  listen: "127.0.0.1:{port}"
  connect_address: "127.0.0.1:{relay}"
  data_dir: {folder}/data
  bin_dir: {programs}
  use_unix_socket: true
  pgpass: {folder}/pgpass
  basebackup: [{{checkpoint: fast}}]
  authentication:
    superuser: {{username: noid}}
    replication: {{username: replicator}}
    rewind: {{username: noid}}
  parameters: {{unix_socket_directories: {folder}}}
  pg_hba:
    - local all all trust
    - host all all 127.0.0.1/32 trust
    - host replication all 127.0.0.1/32 trust
"""


def _asked(url: str) -> dict[str, Any]:
    """The JSON at an address; nothing if there is none."""
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            text = answer.read()
    except urllib.error.HTTPError as error:
        with error:
            text = error.read()
    except OSError:
        return {}
    try:
        found: dict[str, Any] = json.loads(text)
    except ValueError:
        return {}
    return found


class Node:
    """A server of the cluster: Patroni, and the PostgreSQL that it starts."""

    def __init__(self, cluster: PatroniCluster, name: str) -> None:
        self.name = name
        self._cluster = cluster
        self.folder = cluster.folder / name
        self.port, self.api = free_port(), free_port()
        # By which clients reach the server, by which the other servers do, by which they reach its manager, and by
        # which this one reaches etcd.
        self.relay, self._peers = Relay(self.port), Relay(self.port)
        self._api_relay, self._etcd = Relay(self.api), Relay(cluster.etcd_port)
        self._process: subprocess.Popen[bytes] | None = None
        self.folder.mkdir()
        text = _TEXT.format(
            name=name, api=self.api, api_relay=self._api_relay.port, etcd=self._etcd.port, ttl=cluster.ttl,
            port=self.port, relay=self._peers.port,
            folder=self.folder, programs=programs(), synchronous=str(cluster.synchronous).lower(),
        )
        (self.folder / "patroni.yml").write_text(text)
        if os.geteuid() == 0:
            shutil.chown(self.folder, ACCOUNT)

    def start(self) -> None:
        with open(self.folder / "log", "ab") as log:
            self._process = subprocess.Popen(["patroni", str(self.folder / "patroni.yml")], stdout=log, stderr=log,
                                             cwd=self.folder, **demoted())  # type: ignore[call-overload]

    def postmaster(self) -> int | None:
        """The process of the database server."""
        try:
            return int((self.folder / "data" / "postmaster.pid").read_text().split()[0])
        except (OSError, IndexError, ValueError):
            return None

    def server_processes(self) -> list[int]:
        """The server and its children, to be stopped together."""
        parent = self.postmaster()
        if parent is None:
            return []
        done = subprocess.run(["ps", "-o", "pid=", "--ppid", str(parent)], capture_output=True, text=True, check=False)
        return [parent, *map(int, done.stdout.split())]

    def signal_server(self, number: int) -> None:
        signal_all(self.server_processes(), number)

    def signal_manager(self, number: int) -> None:
        if self._process is not None:
            self._process.send_signal(number)

    def kill(self, *, manager: bool = False) -> None:
        """Kill the server at once, as a loss of power does; with its manager, too, all that runs on the computer."""
        if manager and self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        self.signal_server(signal.SIGKILL)

    def cut_off(self, *, from_clients: bool = True) -> None:
        """Let nothing through between this computer and the other ones of the cluster, and to clients if so wanted."""
        for relay in self._relays[0 if from_clients else 1 :]:
            relay.stop_forwarding()

    def connect_again(self) -> None:
        for relay in self._relays:
            relay.forward()

    @property
    def _relays(self) -> tuple[Relay, ...]:
        return self.relay, self._peers, self._api_relay, self._etcd

    def state(self) -> dict[str, Any]:
        """What Patroni says of this server; nothing if it does not answer."""
        return _asked(f"http://127.0.0.1:{self.api}/patroni")

    def members(self) -> list[dict[str, Any]]:
        """What Patroni says of all servers, by what is stored in etcd."""
        found: list[dict[str, Any]] = _asked(f"http://127.0.0.1:{self.api}/cluster").get("members", [])
        return found

    def close(self) -> None:
        for relay in self._relays:
            relay.close()
        self.signal_manager(signal.SIGCONT)
        self.signal_server(signal.SIGCONT)
        self.kill(manager=True)


class PatroniCluster:
    """Three servers, of which one is the primary and, if `synchronous`, another has every commit.

    Used as a context manager.
    """

    def __init__(self, *, synchronous: bool = True, ttl: int = 8) -> None:
        for program in ("patroni", "etcd"):
            if shutil.which(program) is None:
                raise MissingError(f"{program} is missing: apt-get install patroni etcd-server")
        self.synchronous = synchronous
        self.ttl = ttl
        self.folder = Path(tempfile.mkdtemp(prefix="noidcl"))
        self.folder.chmod(0o755)
        if os.geteuid() == 0:
            shutil.chown(self.folder, ACCOUNT)
        self.etcd_port = free_port()
        self._etcd = self._start_etcd()
        self.nodes = [Node(self, f"node{number}") for number in (1, 2, 3)]
        try:
            self.wait(self._has_etcd_version, "etcd")
            self.nodes[0].start()
            self.wait(lambda: self.nodes[0].state().get("role") in ("master", "primary"), "the first server")
            for node in self.nodes[1:]:
                node.start()
            self.wait_until_whole()
        except BaseException:
            print(self.logs())
            self.close()
            raise

    def __enter__(self) -> PatroniCluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start_etcd(self) -> subprocess.Popen[bytes]:
        peer = free_port()
        with open(self.folder / "etcd.log", "wb") as log:
            process: subprocess.Popen[bytes] = subprocess.Popen(
                ["etcd", "--data-dir", str(self.folder / "etcd"), "--unsafe-no-fsync", "--enable-v2",
                 "--listen-client-urls", f"http://127.0.0.1:{self.etcd_port}",
                 "--advertise-client-urls", f"http://127.0.0.1:{self.etcd_port}",
                 "--listen-peer-urls", f"http://127.0.0.1:{peer}",
                 "--initial-advertise-peer-urls", f"http://127.0.0.1:{peer}",
                 "--initial-cluster", f"default=http://127.0.0.1:{peer}"],
                stdout=log, stderr=log, env=os.environ | {"ETCD_UNSUPPORTED_ARCH": ""}, **demoted(),
            )  # type: ignore[call-overload]
            return process

    def _has_etcd_version(self) -> bool:
        """Whether etcd has agreed with itself on a version, without which Patroni ends."""
        version = _asked(f"http://127.0.0.1:{self.etcd_port}/version").get("etcdcluster", "")
        return bool(version) and version != "not_decided"

    @property
    def address(self) -> str:
        """The address of the cluster, through the relays."""
        hosts = ",".join(f"127.0.0.1:{node.relay.port}" for node in self.nodes)
        return f"postgresql://noid@{hosts}/postgres?target_session_attrs=read-write"

    def wait(self, condition: Callable[[], object], what: str, timeout: float = 90) -> None:
        deadline = time.monotonic() + timeout
        while not condition():
            assert time.monotonic() < deadline, f"{what} was waited for too long\n{self.logs()}"
            time.sleep(0.1)

    def primary(self) -> Node | None:
        """The server that Patroni says is the primary."""
        for node in self.nodes:
            state = node.state()
            if state.get("role") in ("master", "primary") and state.get("state") == "running":
                return node
        return None

    def is_whole(self) -> bool:
        """Whether all servers run, and another one, which Patroni would promote, confirms the commits of the
        primary."""
        states = {node.name: node.state() for node in self.nodes}
        roles = [state.get("role") for state in states.values() if state.get("state") in ("running", "streaming")]
        primaries = [name for name, state in states.items() if state.get("role") in ("master", "primary")]
        if len(roles) != 3 or len(primaries) != 1:
            return False
        streaming = [other for other in states[primaries[0]].get("replication", [])
                     if other.get("state") == "streaming"]
        synchronous = {other["application_name"] for other in streaming
                       if other.get("sync_state") in ("sync", "quorum")}
        # Patroni stores which server may be promoted only after that server has begun to confirm commits.
        promotable = {member["name"] for node in self.nodes if node.name == primaries[0]
                      for member in node.members() if member.get("role") in ("sync_standby", "quorum_standby")}
        return len(streaming) == 2 and bool(synchronous & promotable) == self.synchronous

    def wait_until_whole(self, timeout: float = 120) -> None:
        self.wait(self.is_whole, "the whole cluster", timeout)

    def switch_over(self) -> None:
        """A planned change of the primary."""
        primary = self.primary()
        assert primary is not None
        request = urllib.request.Request(f"http://127.0.0.1:{primary.api}/switchover", method="POST",
                                         data=json.dumps({"leader": primary.name}).encode(),
                                         headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            answer.read()

    def logs(self) -> str:
        files = [self.folder / "etcd.log", *(node.folder / "log" for node in getattr(self, "nodes", []))]
        return "\n".join(f"--- {file}\n{file.read_text(errors='replace')[-3000:]}" for file in files if file.exists())

    def close(self) -> None:
        for node in getattr(self, "nodes", []):
            node.close()
        self._etcd.kill()
        self._etcd.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
