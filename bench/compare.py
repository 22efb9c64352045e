"""This checkout beside another one, such as the last release, in one run.

    python bench/compare.py OTHER [--rounds 5]

Both checkouts are measured in turn, round by round, on minters of their own, so that a busy machine slows both alike:

    shell     milliseconds of processor time of one `noid mint 1`, beside a bare start of the interpreter
    bulk      identifiers a second of one durable `noid mint 100000`
    cached    noidr in lock step, a hundred names asked again and again, requests a second
    uncached  the same with every name asked once, beside a Python loop with one LMDB get for each line
    fastcgi   `?get` and `?mint+1` by FastCGI on one connection to one worker, requests a second

The client and noidr share one core, so that the figures do not depend on how quickly the system wakes another one.
"""

from __future__ import annotations

import argparse
import os
import resource
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import lmdb

HERE = Path(__file__).resolve().parent.parent
NAMES = 20_000
BULK = 100_000
LOOP = (
    "import os, sys, lmdb\n"
    "env = lmdb.open(sys.argv[1], readonly=True, map_size=1 << 30)\n"
    "while line := os.read(0, 479):\n"
    "    with env.begin() as txn: value = txn.get(line[:-1])\n"
    "    os.write(1, (value or b'NULL') + b'\\n')\n"
)


class Checkout:
    """One checkout and a minter of its own with bound names."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root = root
        self.folder = folder
        self.environment = {**os.environ, "PYTHONPATH": str(root)}
        self.environment.pop("PYTHONDONTWRITEBYTECODE", None)
        folder.mkdir()
        self.run("dbcreate", "--label", "ark:/", "f5.reedeedk", "long", "99999", "example.org", "bench")
        out = self.run("mint", str(NAMES))
        self.names = [line.removeprefix("id: ") for line in out.split("\n") if line]
        lines = "".join(f"bind set {name} _t https://example.org/{name}\n" for name in self.names)
        self.run("-", stdin=lines.encode())

    def command(self, *words: str) -> list[str]:
        return [sys.executable, str(self.root / "cgi-bin" / "noid"), "-f", str(self.folder), *words]

    def run(self, *words: str, stdin: bytes = b"") -> str:
        done = subprocess.run(self.command(*words), input=stdin, capture_output=True, check=True, env=self.environment)
        return done.stdout.decode()


def shell(checkout: Checkout) -> float:
    return processor_time(lambda: checkout.run("mint", "1"))


def interpreter() -> float:
    return processor_time(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True))


def processor_time(start: Callable[[], object]) -> float:
    """Milliseconds of processor time of a process, the median of several."""
    times = []
    for _ in range(20):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    return statistics.median(times) * 1000


def bulk(checkout: Checkout) -> float:
    start = time.perf_counter()
    checkout.run("mint", str(BULK))
    return BULK / (time.perf_counter() - start)


def lock_step(command: list[str], environment: dict[str, str], requests: list[bytes]) -> float:
    """Requests a second through a pair of pipes, one line at a time."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
    assert process.stdin is not None and process.stdout is not None
    write, read = process.stdin.fileno(), process.stdout.fileno()
    for request in requests[:10]:
        os.write(write, request)
        os.read(read, 4096)
    start = time.perf_counter()
    for request in requests:
        os.write(write, request)
        if os.read(read, 4096)[:4] == b"NULL":
            raise SystemExit(f"no answer to {request!r}")
    spent = time.perf_counter() - start
    process.stdin.close()
    process.wait()
    process.stdout.close()
    return len(requests) / spent


def noidr(checkout: Checkout, names: list[str]) -> float:
    command = [sys.executable, str(checkout.root / "cgi-bin" / "noidr"), "-f", str(checkout.folder)]
    return lock_step(command, checkout.environment, [f"{name}\n".encode() for name in names])


def bare_loop(folder: Path, names: list[str]) -> float:
    return lock_step([sys.executable, "-c", LOOP, str(folder)], dict(os.environ), [f"{n}\n".encode() for n in names])


def bare_database(folder: Path, names: list[str]) -> None:
    folder.mkdir()
    with lmdb.open(str(folder), map_size=1 << 30) as environment, environment.begin(write=True) as txn:
        for name in names:
            txn.put(name.encode(), b"https://example.org/" + name.encode())


class FastCgi:
    """A connection that is kept open to `noid serve --fcgi` with one worker."""

    def __init__(self, checkout: Checkout) -> None:
        path = str(checkout.folder / "fcgi.sock")
        self._server = subprocess.Popen(checkout.command("serve", "--fcgi", path, "--workers", "1"),
                                        env=checkout.environment, stderr=subprocess.DEVNULL)
        self._socket = socket.socket(socket.AF_UNIX)
        for _ in range(200):
            try:
                self._socket.connect(path)
                break
            except OSError:
                time.sleep(0.05)

    def request(self, query: str) -> bytes:
        pairs = {"REQUEST_METHOD": "GET", "QUERY_STRING": query, "PATH_INFO": "/noidu", "SCRIPT_NAME": "",
                 "REMOTE_USER": "bench", "REMOTE_ADDR": "127.0.0.1", "SERVER_NAME": "localhost", "SERVER_PORT": "80",
                 "SERVER_PROTOCOL": "HTTP/1.1"}
        body = b"".join(struct.pack(">BB", len(k), len(v)) + k.encode() + v.encode() for k, v in pairs.items())
        self._socket.sendall(_record(1, struct.pack(">HB5x", 1, 1)) + _record(4, body) + _record(4, b"")
                             + _record(5, b""))
        out = b""
        while True:
            kind, length, padding = struct.unpack(">xBxxHBx", self._exactly(8))
            content = self._exactly(length + padding)[:length]
            if kind == 6:
                out += content
            elif kind == 3:
                return out

    def _exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            data += self._socket.recv(count - len(data)) or sys.exit("the server closed the connection")
        return data

    def close(self) -> None:
        self._socket.close()
        self._server.terminate()
        self._server.wait()


def _record(kind: int, content: bytes) -> bytes:
    return struct.pack(">BBHHBx", 1, kind, 1, len(content), 0) + content


def fastcgi(checkout: Checkout, queries: list[str]) -> float:
    connection = FastCgi(checkout)
    try:
        if b"id: " not in connection.request("mint+1"):
            raise SystemExit("the FastCGI server does not mint")
        start = time.perf_counter()
        for query in queries:
            connection.request(query)
        return len(queries) / (time.perf_counter() - start)
    finally:
        connection.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[-1]})
    with tempfile.TemporaryDirectory() as folder:
        roots = {"other": options.other.resolve(), "this": HERE}
        both = {whose: Checkout(root, Path(folder, whose)) for whose, root in roots.items()}
        bare_database(Path(folder, "bare"), both["this"].names)
        figures: dict[tuple[str, str], list[float]] = {}
        for _ in range(options.rounds):
            measure(both, Path(folder, "bare"), figures)
    report(figures)


def measure(both: dict[str, Checkout], bare: Path, figures: dict[tuple[str, str], list[float]]) -> None:
    def keep(what: str, whose: str, value: float) -> None:
        figures.setdefault((what, whose), []).append(value)

    keep("shell mint 1 (ms)", "limit", interpreter())
    for whose, checkout in both.items():
        keep("shell mint 1 (ms)", whose, shell(checkout))
        keep("mint 100000 (1/s)", whose, bulk(checkout))
        keep("noidr cached (1/s)", whose, noidr(checkout, checkout.names[:100] * 200))
        keep("noidr uncached (1/s)", whose, noidr(checkout, checkout.names))
        keep("FastCGI get (1/s)", whose, fastcgi(checkout, [f"get+{name}+_t" for name in checkout.names[:3000]]))
        keep("FastCGI mint (1/s)", whose, fastcgi(checkout, ["mint+1"] * 1000))
    loop = bare_loop(bare, both["this"].names)
    keep("noidr cached (1/s)", "limit", loop)
    keep("noidr uncached (1/s)", "limit", loop)


def report(figures: dict[tuple[str, str], list[float]]) -> None:
    print("| what | other | this | this / other | limit | this / limit |\n|---|---|---|---|---|---|")
    for what in dict.fromkeys(what for what, _ in figures):
        other, this, limit = (figures.get((what, whose), []) for whose in ("other", "this", "limit"))
        cells = [f"{statistics.median(other):,.1f}", f"{statistics.median(this):,.1f}", ratio(other, this)]
        cells += [f"{statistics.median(limit):,.1f}", ratio(limit, this)] if limit else ["", ""]
        print("|", what, "|", " | ".join(cells), "|")


def ratio(base: list[float], other: list[float]) -> str:
    """The median of the ratios of each round."""
    return f"{statistics.median(b / a for a, b in zip(base, other, strict=True)):.2f}"


if __name__ == "__main__":
    main()
