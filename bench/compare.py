"""This checkout beside another one, such as the last release, in one run.

    python bench/compare.py OTHER [--rounds 15]

Both checkouts are measured in turn, in many short rounds, on minters of their own.  The best round of each counts,
since what else the machine does makes rounds slower, never quicker; beside their ratio is that of the medians.  One
table is printed, with a row for each of these:

    mint 1     milliseconds of processor time of `noid mint 1` in the shell, beside a bare start of the interpreter
    in bulk    identifiers of `noid mint 100000`, and bindings of a bulk run of 20,000, in a second of the processor
    noidr      requests a second in lock step, beside a Python loop with one LMDB get for each line: a hundred names
               asked again and again, which are cached; and names of which each is asked once, as they are stored, by
               `get NAME ELEMENT`, and with the label of an ARK
    FastCGI    `?get` and `?mint+1` on one connection to one worker, requests in a second of the worker's processor

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

Figures = dict[tuple[str, str], list[float]]  # what and whose -> one of each round
Keep = Callable[[str, str, float], None]  # adds a figure: what, whose and the value
HERE = Path(__file__).resolve().parent.parent
NAMES = 20_000
BULK = 100_000

# How many names are asked for in one round of lock step: for some two milliseconds.
CHUNK = 200
LABEL = "ark:/"
FORMS = ("{}\n", "get {} _t\n", LABEL + "{}\n")
CACHED = "noidr, cached (1/s)"
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
        self.run("dbcreate", "--label", LABEL, "f5.reedeedk", "long", "99999", "example.org", "bench")
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
    return 1000 * processor_seconds(lambda: checkout.run("mint", "1"))


def interpreter() -> float:
    return 1000 * processor_seconds(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True))


def processor_seconds(start: Callable[[], object]) -> float:
    """Seconds of the processor that a process takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def bulk(checkout: Checkout) -> float:
    return BULK / processor_seconds(lambda: checkout.run("mint", str(BULK)))


def bulk_bind(checkout: Checkout) -> float:
    lines = "".join(f"bind set {name} _t https://example.org/{name}\n" for name in checkout.names)
    return len(checkout.names) / processor_seconds(lambda: checkout.run("-", stdin=lines.encode()))


class LockStep:
    """A process that is asked line by line through a pair of pipes, with lines of one form."""

    def __init__(self, command: list[str], environment: dict[str, str], form: str) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        assert self._process.stdin is not None and self._process.stdout is not None
        self._write, self._read = self._process.stdin.fileno(), self._process.stdout.fileno()
        self._form = form

    def rate(self, names: list[str]) -> float:
        """Requests a second for these names."""
        lines = [self._form.format(name).encode() for name in names]
        write, read, sink, source = os.write, os.read, self._write, self._read
        start = time.perf_counter()
        for line in lines:
            write(sink, line)
            if read(source, 4096)[:4] == b"NULL":
                raise SystemExit(f"no answer to {line!r}")
        return len(lines) / (time.perf_counter() - start)

    def close(self) -> None:
        os.close(self._write)
        self._process.stdin = None
        self._process.wait()


def measure_noidr(both: dict[str, Checkout], bare: Path, keep: Keep) -> None:
    names = [name.removeprefix(LABEL) for name in both["this"].names]
    loop = LockStep([sys.executable, "-c", LOOP, str(bare)], dict(os.environ), "{}\n")
    ways = [(CACHED, whose, noidr(checkout, FORMS[0])) for whose, checkout in both.items()]
    ways += [(f"noidr, not cached, `{form.strip().format('NAME')}` (1/s)", whose, noidr(checkout, form))
             for form in FORMS for whose, checkout in both.items()]
    often = names[:100] * (CHUNK // 100)
    for process in [loop, *(process for _, _, process in ways)]:
        process.rate(often[:100])
    for start in range(100, NAMES - CHUNK, CHUNK):
        chunk = names[start : start + CHUNK]
        limit = loop.rate(chunk)
        for what, whose, process in ways:
            keep(what, whose, process.rate(often if what == CACHED else chunk))
            keep(what, "limit", limit)
    for process in [loop, *(process for _, _, process in ways)]:
        process.close()


def noidr(checkout: Checkout, form: str) -> LockStep:
    command = [sys.executable, str(checkout.root / "cgi-bin" / "noidr"), "-f", str(checkout.folder)]
    return LockStep(command, checkout.environment, form)


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

    def processor_seconds(self) -> float:
        """Seconds of the processor that the worker has taken."""
        pid = self._server.pid
        workers = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return sum(int(Path(f"/proc/{worker}/schedstat").read_text().split()[0]) for worker in workers) / 1e9

    def close(self) -> None:
        self._socket.close()
        self._server.terminate()
        self._server.wait()


def _record(kind: int, content: bytes) -> bytes:
    return struct.pack(">BBHHBx", 1, kind, 1, len(content), 0) + content


def fastcgi(connection: FastCgi, queries: list[str]) -> float:
    before = connection.processor_seconds()
    for query in queries:
        connection.request(query)
    return len(queries) / (connection.processor_seconds() - before)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[-1]})
    with tempfile.TemporaryDirectory() as folder:
        roots = {"other": options.other.resolve(), "this": HERE}
        both = {whose: Checkout(root, Path(folder, whose)) for whose, root in roots.items()}
        bare_database(Path(folder, "bare"), [name.removeprefix(LABEL) for name in both["this"].names])
        connections = {whose: FastCgi(checkout) for whose, checkout in both.items()}
        figures: Figures = {}

        def keep(what: str, whose: str, value: float) -> None:
            figures.setdefault((what, whose), []).append(value)

        try:
            for connection in connections.values():
                if b"id: " not in connection.request("mint+1"):
                    raise SystemExit("the FastCGI server does not mint")
            for _ in range(options.rounds):
                measure(both, connections, Path(folder, "bare"), keep)
        finally:
            for connection in connections.values():
                connection.close()
    report(figures)


def measure(both: dict[str, Checkout], connections: dict[str, FastCgi], bare: Path, keep: Keep) -> None:
    for _ in range(10):
        keep("`noid mint 1`, processor time (ms)", "limit", interpreter())
        for whose, checkout in both.items():
            keep("`noid mint 1`, processor time (ms)", whose, shell(checkout))
    for whose, checkout in both.items():
        keep(f"`noid mint {BULK}` (1/s)", whose, bulk(checkout))
        keep("bindings in bulk (1/s)", whose, bulk_bind(checkout))
    measure_noidr(both, bare, keep)
    names = both["this"].names[:100]
    for queries, what in ([f"get+{name}+_t" for name in names], "get"), (["mint+1"] * 50, "mint+1"):
        for _ in range(10):
            for whose, connection in connections.items():
                keep(f"FastCGI `{what}` (1/s)", whose, fastcgi(connection, queries))


def report(figures: Figures) -> None:
    print("| what | other | this | this / other | medians | limit | this / limit |\n|---|---|---|---|---|---|---|")
    for what in dict.fromkeys(what for what, _ in figures):
        best = min if "(ms)" in what else max
        other, this = best(figures[what, "other"]), best(figures[what, "this"])
        medians = statistics.median(figures[what, "this"]) / statistics.median(figures[what, "other"])
        cells = [f"{other:,.1f}", f"{this:,.1f}", f"{this / other:.2f}", f"{medians:.2f}", "", ""]
        if (what, "limit") in figures:
            limit = best(figures[what, "limit"])
            cells[4:] = [f"{limit:,.1f}", f"{this / limit:.2f}"]
        print("|", what, "|", " | ".join(cells), "|")


if __name__ == "__main__":
    main()
