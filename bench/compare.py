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
    HTTP       a redirect and `?mint+1`, asked by wrk on 16 connections to `noid serve --http` with its defaults
    FastCGI    `?get` and `?mint+1`, asked by wrk on 16 connections to nginx in front of `noid serve --fcgi`

The client and noidr share one core, so that the figures do not depend on how quickly the system wakes another one; the
servers and wrk share all cores.  A checkout with a folder `.venv` is run by the Python in it, since the two may need
different packages.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import socket
import statistics
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
NGINX = """
daemon off; pid {folder}/pid; error_log {folder}/log; worker_processes 2; user root;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    upstream noid {{ server unix:{socket}; }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            fastcgi_pass noid;
            fastcgi_param REQUEST_METHOD $request_method;
            fastcgi_param QUERY_STRING $query_string;
            fastcgi_param REQUEST_URI $request_uri;
            fastcgi_param SCRIPT_NAME "";
            fastcgi_param PATH_INFO $document_uri;
            fastcgi_param REMOTE_USER bench;
            fastcgi_param REMOTE_ADDR $remote_addr;
            fastcgi_param SERVER_NAME localhost;
            fastcgi_param SERVER_PORT $server_port;
            fastcgi_param SERVER_PROTOCOL $server_protocol;
        }}
    }}
}}
"""

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
        python = root / ".venv" / "bin" / "python"
        self.python = str(python) if python.exists() else sys.executable
        folder.mkdir(parents=True)
        self.run("dbcreate", "--label", LABEL, "f5.reedeedk", "long", "99999", "example.org", "bench")
        out = self.run("mint", str(NAMES))
        self.names = [line.removeprefix("id: ") for line in out.split("\n") if line]
        lines = "".join(f"bind set {name} _t https://example.org/{name}\n" for name in self.names)
        self.run("-", stdin=lines.encode())

    def command(self, *words: str) -> list[str]:
        return [self.python, str(self.root / "cgi-bin" / "noid"), "-f", str(self.folder), *words]

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
    command = [checkout.python, str(checkout.root / "cgi-bin" / "noidr"), "-f", str(checkout.folder)]
    return LockStep(command, checkout.environment, form)


def bare_database(folder: Path, names: list[str]) -> None:
    folder.mkdir()
    with lmdb.open(str(folder), map_size=1 << 30) as environment, environment.begin(write=True) as txn:
        for name in names:
            txn.put(name.encode(), b"https://example.org/" + name.encode())


class Service:
    """`noid serve`, by HTTP or behind an nginx of its own by FastCGI, with one minter; asked by wrk."""

    def __init__(self, checkout: Checkout, way: str, folder: Path) -> None:
        self._port = free_port()
        self._processes = []
        address = f"127.0.0.1:{self._port}" if way == "http" else str(folder / "fcgi.sock")
        self._start(checkout, "serve", "--minters", str(checkout.folder.parent), f"--{way}", address,
                    *(("--user", "bench") if way == "http" else ()))
        if way == "fcgi":
            (folder / "nginx.conf").write_text(NGINX.format(folder=folder, port=self._port, socket=address))
            self._processes.append(subprocess.Popen(["nginx", "-p", str(folder), "-c", str(folder / "nginx.conf")]))
        self.base = f"http://127.0.0.1:{self._port}"
        self._wait()

    def _start(self, checkout: Checkout, *words: str) -> None:
        self._processes.append(subprocess.Popen(checkout.command(*words), env=checkout.environment,
                                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def _wait(self) -> None:
        for _ in range(200):
            done = subprocess.run(["curl", "-sf", f"{self.base}/noidu_f5?mint+1"], capture_output=True, text=True)
            if done.stdout.startswith("id: "):
                return
            time.sleep(0.05)
        raise SystemExit("the service does not mint")

    def rate(self, path: str, seconds: int = 2) -> float:
        """Requests a second for one path."""
        done = subprocess.run(["wrk", "-t", "1", "-c", "16", "-d", f"{seconds}s", self.base + path],
                              capture_output=True, text=True, check=True)
        if "Non-2xx" in done.stdout:
            raise SystemExit(f"{path}: not every answer was right\n{done.stdout}")
        return float(re.findall(r"Requests/sec: +([\d.]+)", done.stdout)[0])

    def close(self) -> None:
        for process in reversed(self._processes):
            process.terminate()
            process.wait()


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


def measure_services(both: dict[str, Checkout], way: str, rounds: int, keep: Keep) -> None:
    with tempfile.TemporaryDirectory() as name:
        services = {}
        try:
            for whose, checkout in both.items():
                folder = Path(name, whose)
                folder.mkdir()
                services[whose] = Service(checkout, way, folder)
            title = {"http": "HTTP", "fcgi": "nginx, FastCGI"}[way]
            for _ in range(rounds):
                for whose, service in services.items():
                    target = both[whose].names[0]
                    keep(f"{title}, redirects (1/s)", whose, service.rate(f"/{target}"))
                    keep(f"{title}, `mint+1`, durable (1/s)", whose, service.rate("/noidu_f5?mint+1"))
        finally:
            for service in services.values():
                service.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        roots = {"other": options.other.resolve(), "this": HERE}
        both = {whose: Checkout(root, Path(folder, whose, "f5")) for whose, root in roots.items()}
        bare_database(Path(folder, "bare"), [name.removeprefix(LABEL) for name in both["this"].names])
        figures: Figures = {}

        def keep(what: str, whose: str, value: float) -> None:
            figures.setdefault((what, whose), []).append(value)

        cores = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {max(cores)})
        for _ in range(options.rounds):
            measure(both, Path(folder, "bare"), keep)
        os.sched_setaffinity(0, cores)
        for way in ("http", "fcgi"):
            measure_services(both, way, options.rounds, keep)
    report(figures)


def measure(both: dict[str, Checkout], bare: Path, keep: Keep) -> None:
    for _ in range(10):
        keep("`noid mint 1`, processor time (ms)", "limit", interpreter())
        for whose, checkout in both.items():
            keep("`noid mint 1`, processor time (ms)", whose, shell(checkout))
    for whose, checkout in both.items():
        keep(f"`noid mint {BULK}` (1/s)", whose, bulk(checkout))
        keep("bindings in bulk (1/s)", whose, bulk_bind(checkout))
    measure_noidr(both, bare, keep)


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
