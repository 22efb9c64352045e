"""Requests a second through each way to serve a minter, beside what that way cannot exceed.

    python bench/servers.py [--seconds 2] [--clients 64]

Starts the servers of conf/ as the tests do, with two processes of the program, and asks each with wrk over loopback
for `mint+1` (each answer on disk before it is given) and `get`.  Beside them: the same server's static file; CGI of
an empty Python script and of one that only imports lmdb; and bare LMDB transactions of one put, which no single minter
can outdo one by one.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import lmdb

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from support.servers import COMMANDS as DEPLOYMENTS  # noqa: E402 - found through the line above
from support.servers.apache import ApacheCgi  # noqa: E402
from support.servers.deployment import (  # noqa: E402
    PASSWORD,
    USER,
    Deployment,  # noqa: E402
    Installation,
    Site,
)
from support.servers.system import program  # noqa: E402

_TOKEN_ROUNDS, _TOKEN_CLIENTS = 10, 16
_EMPTY_SCRIPT = '#!{python}\nprint("Content-Type: text/plain\\n\\nid: kt639k9\\n")\n'
_LMDB_SCRIPT = '#!{python}\nimport lmdb\nprint("Content-Type: text/plain\\n\\nid: kt639k9\\n")\n'


class Run:
    """What wrk saw: `rate` requests a second; and the processor's microseconds the program spent on each."""

    def __init__(self, url: str, seconds: int, clients: int, headers: tuple[str, ...], workers: list[int]) -> None:
        given = [word for header in headers for word in ("-H", header)]
        before = processor_seconds(workers)
        command = [program("wrk"), "-t", str(min(2, clients)), "-c", str(clients), "-d", f"{seconds}s", *given, url]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        spent = processor_seconds(workers) - before
        # A server may end a connection that it kept; that is no failure of a request.
        if "Non-2xx" in done.stdout or re.search(r"timeout [1-9]", done.stdout):
            raise SystemExit(f"{url}: not every answer was a success\n{done.stdout}")
        self.rate = float(re.search(r"Requests/sec: +([\d.]+)", done.stdout)[1])
        requests = int(re.search(r"(\d+) requests in", done.stdout)[1])
        self.cost = 1e6 * spent / requests if workers else 0.0


def processor_seconds(pids: list[int]) -> float:
    """Of these processes, and of the children they have waited for."""
    ticks = 0
    for pid in pids:
        with contextlib.suppress(OSError):  # it may have ended meanwhile
            ticks += sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def commits(seconds: float) -> float:
    """Durable transactions of one put a second, one after the other, on the disk of the temporary folder."""
    with tempfile.TemporaryDirectory() as folder, lmdb.open(folder, map_size=1 << 30) as environment:
        number, end = 0, time.monotonic() + seconds
        while time.monotonic() < end:
            with environment.begin(write=True) as txn:
                txn.put(b"%010d" % number, b"v" * 13)
            number += 1
        return number / seconds


class Bench:
    def __init__(self, site: Site, seconds: int, clients: int) -> None:
        self.site = site
        self._seconds = seconds
        self._clients = clients

    def started(self, name: str) -> Deployment:
        if name not in self.site.deployments:
            self.site.add(DEPLOYMENTS[name], name).start()
        return self.site.deployments[name]

    def run(self, deployment: Deployment, path: str, *headers: str, clients: int = 0) -> Run:
        url = f"http://127.0.0.1:{deployment.port}{path}"
        clients = clients or (4 if isinstance(deployment, ApacheCgi) else self._clients)
        Run(url, 1, clients, headers, [])  # so that everything is open and warm
        # mod_cgid's processes are nobody's children for long enough to be counted; mod_cgi's are.
        workers = deployment.apache.children() if isinstance(deployment, ApacheCgi) else deployment.workers()
        return Run(url, self._seconds, clients, headers, [] if deployment.name == "apache-cgi" else workers)

    def deployment(self, name: str) -> None:
        deployment = self.started(name)
        deployment.create("bench", "kt.zeededede")
        deployment.noid("-f", "bench", "policy", "mint", "anyone")
        (identifier,) = re.findall(r"^id: (\S+)$", deployment.noid("-f", "bench", "mint", "1"), re.MULTILINE)
        deployment.noid("-f", "bench", "bind", "set", identifier, "myGoto", "http://foo.ucsd.edu/")
        path = f"{deployment.path}/noidu_bench"
        got = self.run(deployment, f"{path}?get+{identifier}+myGoto")
        minted = self.run(deployment, f"{path}?mint+1")
        line = f"{name:<16}{minted.rate:>10,.0f}{got.rate:>10,.0f}{minted.cost:>12,.0f}{got.cost:>10,.0f}"
        static = self.run(deployment, "/static.txt").rate
        line += f"{static:>12,.0f}{minted.rate / static:>9.3f}{got.rate / static:>8.3f}"
        print(line, flush=True)

    def scripts(self) -> None:
        """Scripts one after the other, so that each has the machine to itself."""
        deployment = self.started("apache-mod_cgi")
        python = self.site.installation / "bin" / "python"
        runs = {}
        for name, script in (("empty", _EMPTY_SCRIPT), ("lmdb", _LMDB_SCRIPT)):
            path = deployment.minters / f"noidu_{name}"
            path.write_text(script.format(python=python))
            path.chmod(0o755)
            runs[name] = self.run(deployment, f"{deployment.path}/noidu_{name}", clients=1)
        for command in ("hello", "mint+1"):
            runs[command] = self.run(deployment, f"{deployment.path}/noidu_bench?{command}", clients=1)
        print("\nCGI, one request after the other:")
        for name, run in runs.items():
            print(f"  {name:<8}{1000 / run.rate:>7.1f} ms, {run.cost / 1000:>5.1f} ms of processor: "
                  f"{runs['lmdb'].rate / run.rate:.2f} and {run.cost / runs['lmdb'].cost:.2f} of one that imports lmdb",
                  flush=True)

    def password(self) -> None:
        deployment = self.started("nginx-fcgi")
        secret = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        done = self.run(deployment, f"{deployment.path}/noidu_bench?mint+1", f"Authorization: Basic {secret}")
        print(f"nginx-fcgi: mint with a password to check (bcrypt) {done.rate:,.0f}/s", flush=True)

    def token(self) -> None:
        """Minting with a token beside minting that is for anyone, by turns, so that the load of the machine cancels."""
        deployment = self.started("nginx-fcgi")
        secret = deployment.noid("-f", "bench", "token", "new", "bench", "--may", "mint").split()[1]
        url = f"http://127.0.0.1:{deployment.port}{deployment.path}/noidu_bench?mint+1"
        ways = ((), (f"Authorization: Bearer {secret}",))
        rounds = []
        for number in range(_TOKEN_ROUNDS):
            # The first of a round is quicker, as long as the disk still writes what it minted.
            order = (0, 1) if number % 2 else (1, 0)
            runs = {way: Run(url, 1, _TOKEN_CLIENTS, ways[way], deployment.workers()) for way in order}
            rounds.append((runs[0], runs[1]))
        ratio = statistics.median(token.rate / plain.rate for plain, token in rounds)
        cost = statistics.median(token.cost - plain.cost for plain, token in rounds)
        rate = statistics.median(token.rate for _, token in rounds)
        print(f"nginx-fcgi: mint with a token {rate:,.0f}/s, {ratio:.2f} of mint without, {cost:.0f} µs more each",
              flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--deployments", nargs="+", default=list(DEPLOYMENTS), choices=list(DEPLOYMENTS))
    options = parser.parse_args()
    installation = Installation()
    site = Site(installation)
    try:
        bench = Bench(site, options.seconds, options.clients)
        print(f"bare LMDB: {commits(1):,.0f} durable transactions of one put a second\n")
        print(f"{'':<16}{'requests a second':>20}{'µs of processor':>22}{'static':>12}{'as parts of it':>17}")
        print(f"{'way in':<16}{'mint+1':>10}{'get':>10}{'mint+1':>12}{'get':>10}{'':>12}{'mint+1':>9}{'get':>8}")
        for name in options.deployments:
            bench.deployment(name)
        if "apache-mod_cgi" in options.deployments:
            bench.scripts()
        if "nginx-fcgi" in options.deployments:
            bench.password()
            bench.token()
    finally:
        site.close()
        installation.close()


if __name__ == "__main__":
    main()
