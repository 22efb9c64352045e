"""Requests a second through each way in, beside what that way cannot exceed.

    python bench/doors.py [--seconds 2] [--clients 16]

Starts the servers of conf/ as the tests do, with two processes of the program, and asks each with wrk over loopback
for `mint+1` (each answer on disk before it is given) and `get`.  Beside them: the same server's static file; CGI of
an empty Python script and of one that only imports lmdb; FastCGI and HTTP by the same workers with an application
that does nothing; and bare LMDB transactions of one put, which no single minter can outdo one by one.
"""

from __future__ import annotations

import argparse
import base64
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import lmdb

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from server_support import (  # noqa: E402 - found through the line above
    DOORS,
    PASSWORD,
    USER,
    Daemon,
    Door,
    Site,
    program,
    wait_for_file,
)

_EMPTY_SCRIPT = '#!{python}\nprint("Content-Type: text/plain\\n\\nid: kt639k9\\n")\n'
_LMDB_SCRIPT = '#!{python}\nimport lmdb\nprint("Content-Type: text/plain\\n\\nid: kt639k9\\n")\n'
# The program's own workers around an application that does nothing.
_EMPTY_SERVICE = """
import sys
from noidtools.doors import serving
class Application:
    def __call__(self, environ, start_response):
        start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "13")])
        return [b"id: kt639k9\\n\\n"]
    def prepare(self, environs):
        pass
work = serving._work
serving._work = lambda options, application: work(options, Application())
sys.exit(serving.serve(".", [word.encode() for word in sys.argv[1:]]))
"""


def rate(url: str, seconds: int, clients: int, *headers: str) -> float:
    """Requests a second, each answered with a success."""
    given = [word for header in headers for word in ("-H", header)]
    done = subprocess.run([program("wrk"), "-t", "2", "-c", str(clients), "-d", f"{seconds}s", *given, url],
                          capture_output=True, text=True, check=True)
    if "Non-2xx" in done.stdout or "Socket errors" in done.stdout:
        raise SystemExit(f"{url}: not every answer was a success\n{done.stdout}")
    return float(re.search(r"Requests/sec: +([\d.]+)", done.stdout)[1])


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
        self.rows: list[tuple[str, ...]] = []

    def rate(self, door: Door, path: str, *headers: str) -> float:
        clients = 4 if "cgi" in door.name and "apache" in door.name and "fcgi" not in door.name else self._clients
        url = f"http://127.0.0.1:{door.port}{path}"
        rate(url, 1, clients, *headers)  # so that everything is open and warm
        return rate(url, self._seconds, clients, *headers)

    def door(self, name: str) -> None:
        door = self.site.door(name)
        door.create("bench", "kt.zeededede")
        door.noid("-f", "bench", "policy", "mint", "anyone")
        (identifier,) = re.findall(r"^id: (\S+)$", door.noid("-f", "bench", "mint", "1"), re.MULTILINE)
        door.noid("-f", "bench", "bind", "set", identifier, "myGoto", "http://foo.ucsd.edu/")
        static = 0.0 if name == "embedded" else self.rate(door, "/static.txt")
        path = f"{door.path}/noidu_bench"
        got = self.rate(door, f"{path}?get+{identifier}+myGoto")
        minted = self.rate(door, f"{path}?mint+1")
        self.show(name, minted, got, static)

    def show(self, name: str, minted: float, got: float, static: float) -> None:
        part = f"{minted / static:.3f}   {got / static:.3f}" if static else "-"
        print(f"{name:<16}{minted:>10,.0f}{got:>10,.0f}{static or float('nan'):>12,.0f}   {part}", flush=True)

    def scripts(self) -> None:
        door = self.site.door("apache-cgi")
        python = self.site.installation / "bin" / "python"
        rates = {}
        for name, script in (("empty", _EMPTY_SCRIPT), ("lmdb", _LMDB_SCRIPT)):
            path = door.minters / f"noidu_{name}"
            path.write_text(script.format(python=python))
            path.chmod(0o755)
            rates[name] = self.rate(door, f"{door.path}/noidu_{name}")
        rates["mint"] = self.rate(door, f"{door.path}/noidu_bench?mint+1")
        print(f"\nCGI: empty Python script {rates['empty']:.0f}/s, one that imports lmdb {rates['lmdb']:.0f}/s, "
              f"mint {rates['mint']:.0f}/s: a mint costs {rates['lmdb'] / rates['mint']:.2f} of the second (aim 1.5) "
              f"and {rates['empty'] / rates['mint']:.2f} of the first", flush=True)

    def empty_service(self, name: str) -> None:
        """The rate of an application that does nothing, in place of the program."""
        door = self.site.door(name)
        service: Daemon = door.service
        service.stop()
        door.daemons.remove(service)
        daemon = service.arguments[0].endswith("systemd-socket-activate")
        command = service.arguments[2:] if daemon else service.arguments
        words = command[command.index("serve") + 1 :]
        path = door.folder / ("http.sock" if daemon else "noid.sock")
        if name == "embedded":
            path = door.folder
        elif daemon:
            path.unlink(missing_ok=True)
            words = [str(path) if word == "systemd" else word for word in words]
        door.run(self.site.installation / "bin" / "python", "-c", _EMPTY_SERVICE, *words, name="empty")
        wait_for_file(path)
        door.wait_until_served() if name == "embedded" else time.sleep(0.3)
        print(f"{name}: an application that does nothing {self.rate(door, f'{door.path}/noidu_x?hello'):,.0f}/s",
              flush=True)

    def password(self) -> None:
        door = self.site.door("nginx-fcgi")
        secret = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        given = self.rate(door, f"{door.path}/noidu_bench?mint+1", f"Authorization: Basic {secret}")
        print(f"nginx-fcgi: mint with a password to check (bcrypt) {given:,.0f}/s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--doors", nargs="+", default=list(DOORS), choices=list(DOORS))
    options = parser.parse_args()
    site = Site()
    try:
        bench = Bench(site, options.seconds, options.clients)
        print(f"bare LMDB: {commits(1):,.0f} durable transactions of one put a second\n")
        print(f"{'way in':<16}{'mint+1/s':>10}{'get/s':>10}{'static/s':>12}   mint, get as parts of static")
        for name in options.doors:
            bench.door(name)
        if "apache-cgi" in options.doors:
            bench.scripts()
        if "nginx-fcgi" in options.doors:
            bench.password()
        for name in ("nginx-fcgi", "nginx-proxy", "embedded"):
            if name in options.doors:
                bench.empty_service(name)
    finally:
        site.close()


if __name__ == "__main__":
    main()
