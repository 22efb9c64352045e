"""What resolving costs, beside what it cannot be cheaper than.

    python bench/resolving.py [--to 6] [--seconds 2] [--parts loop lookup rules servers] [--beside CHECKOUT]

loop     noidr in lock step on a pair of pipes, beside `cat`, a Python that only copies, and a Python that does one get
         of LMDB, on pipes of the same kind; with --beside also the noidr of another checkout, such as the last release
lookup   the time to resolve a random name out of 10^4, 10^5, … stored ones
rules    the time to resolve a name by the last of a hundred rules, beside one rule and none
servers  redirects a second through each server, beside a static redirect of the same web server
"""

from __future__ import annotations

import argparse
import os
import random
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

from noidtools.codec import pair  # noqa: E402 - found through the line above
from noidtools.minter import Minter  # noqa: E402
from noidtools.minter.schema import ELEMENTS  # noqa: E402
from noidtools.resolution import Lookup, follow_aliases  # noqa: E402
from support.minter import Noid  # noqa: E402
from support.servers import RESOLVERS as DEPLOYMENTS  # noqa: E402
from support.servers.deployment import STATIC_PATH, Installation, Site  # noqa: E402
from support.servers.system import program  # noqa: E402

COPY = "import os\nread, write = os.read, os.write\nwhile piece := read(0, 65536): write(1, piece)"
ONE_GET = """
import os, sys, lmdb
from noidtools.codec import pair
read, write = os.read, os.write
begin = lmdb.open(sys.argv[1], readonly=True, map_size=1 << 40, max_readers=1024, max_spare_txns=8).begin
while piece := read(0, 65536):
    name, _, element = piece[4:].rstrip().rpartition(b" ")
    with begin() as txn:
        value = txn.get(b"e" + pair(name, element))
    write(1, (value or b"NULL") + b"\\n")
"""
ROUNDS, LINES = 60, 1000


# -- the loop ----------------------------------------------------------------------------------------------------


class Pipes:
    """A process that is asked line by line."""

    def __init__(self, *command: str, root: Path = ROOT) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0,
                                         env={**os.environ, "PYTHONPATH": str(root)})

    def microseconds(self, lines: list[bytes]) -> float:
        """For a line and its reply, on average."""
        write, read = self._process.stdin.fileno(), self._process.stdout.fileno()
        started = time.perf_counter()
        for line in lines:
            os.write(write, line)
            os.read(read, 65536)
        return (time.perf_counter() - started) / len(lines) * 1e6

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def loop(folder: str, beside: Path | None) -> None:
    # On one processor: what it costs to wake another one depends on where the system happens to put the processes.
    processors = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(processors)})
    try:
        _loop(folder, beside)
    finally:
        os.sched_setaffinity(0, processors)


def _loop(folder: str, beside: Path | None) -> None:
    live = Noid.created(Path(folder), "kt.zeededede", "long", "13030", "x", "y")
    fill(live, ROUNDS * LINES)
    live.close()
    dice = random.Random(1)
    names = [b"get 13030/%d _t\n" % number for number in range(ROUNDS * LINES)]
    dice.shuffle(names)
    known = names[:10_000]
    def noidr(root: Path = ROOT) -> Pipes:
        return Pipes(sys.executable, str(root / "cgi-bin" / "noidr"), "-f", folder, root=root)

    ways = {"cat": Pipes("cat"), "python": Pipes(sys.executable, "-c", COPY),
            "python, one get": Pipes(sys.executable, "-c", ONE_GET, os.path.join(folder, "NOID")),
            "noidr, 10 names": noidr(), "noidr, 10,000 names": noidr(), "noidr, new names": noidr()}
    if beside:
        ways |= {"other, 10 names": noidr(beside), "other, new names": noidr(beside)}
    ways["noidr, 10,000 names"].microseconds(known)
    times: dict[str, list[float]] = {way: [] for way in ways}
    for number in range(ROUNDS):
        lines = dice.choices(known, k=LINES)
        # A name that was not asked for before is looked up; one that was is known until something changes.
        few, new = dice.choices(known[:10], k=LINES), names[number * LINES : (number + 1) * LINES]
        for way, pipes in ways.items():
            asked = few if way.endswith(" 10 names") else new if way.endswith(("new names", "one get")) else lines
            times[way].append(pipes.microseconds(asked))
    print("lock step, one line and its reply                       lines a second   of cat   of one get (least)")
    one_get = times["python, one get"]
    for way, found in times.items():
        typical = statistics.median(found)
        print(f"  {way:<20} {typical:7.2f} µs (least {min(found):6.2f}) {1e6 / typical:14,.0f}"
              f" {statistics.median(times['cat']) / typical:8.2f} {statistics.median(one_get) / typical:12.2f}"
              f" ({min(one_get) / min(found):.2f})")
        ways[way].close()


# -- lookups -----------------------------------------------------------------------------------------------------


def fill(live: Noid, count: int) -> None:
    """Names 0, 1, 2, … with targets, in large transactions; what is measured is finding them."""
    step = 200_000
    for start in range(0, count, step):
        items = sorted((pair(b"13030/%d" % number, b"_t"), b"https://target.example/%d" % number)
                       for number in range(start, min(start + step, count)))
        live.opened.write(lambda writer, items=items: writer.put_many(ELEMENTS, items))


def microseconds(minter: Minter, names: list[bytes]) -> float:
    """For resolving one name, on average."""
    def ask(name: bytes):
        return minter.read(lambda reader: Lookup(minter, reader, b"_t").find(name))

    started = time.perf_counter()
    for name in names:
        assert follow_aliases(ask, name).targets
    return (time.perf_counter() - started) / len(names) * 1e6


def bare_microseconds(live: Noid, names: list[bytes]) -> float:
    """For getting one value out of the same database, with nothing around it."""
    keys = [ELEMENTS + pair(name, b"_t") for name in names]
    # A process may open an environment only once, and the store opens it again when it is used next.
    assert live.opened.store.suspend()
    with lmdb.open(live.opened.store.location, readonly=True) as environment:
        started = time.perf_counter()
        for key in keys:
            with environment.begin() as txn:
                assert txn.get(key)
        return (time.perf_counter() - started) / len(names) * 1e6


def lookup(folder: str, most: int) -> None:
    print("\nresolving a random name (median of 15 rounds of 4,000)   as stored   as an ARK with hyphens   bare LMDB")
    minters = {}
    for power in range(4, most + 1):
        minters[power] = Noid.created(Path(folder) / str(power))
        fill(minters[power], 10**power)
    times: dict[tuple[int, str], list[float]] = {}
    dice = random.Random(1)
    # By turns, so that whatever else the machine does falls on all of them.
    for _ in range(15):
        for power, live in minters.items():
            # Others for each way, so that none finds the pages warm that another has touched.
            numbers = iter([dice.randrange(10, 10**power) for _ in range(12_000)])
            asked = {way: [next(numbers) for _ in range(4000)] for way in ("plain", "spelled", "bare")}
            plain = [b"13030/%d" % number for number in asked["plain"]]
            spelled = [b"ark:/13030/%d-%d" % divmod(number, 10) for number in asked["spelled"]]
            bare = [b"13030/%d" % number for number in asked["bare"]]
            times.setdefault((power, "plain"), []).append(microseconds(live.opened, plain))
            times.setdefault((power, "spelled"), []).append(microseconds(live.opened, spelled))
            times.setdefault((power, "bare"), []).append(bare_microseconds(live, bare))
    for power, live in minters.items():
        plain, spelled, bare = (statistics.median(times[power, way]) for way in ("plain", "spelled", "bare"))
        growth = [found / statistics.median(times[4, way]) for found, way in ((plain, "plain"), (spelled, "spelled"))]
        print(f"  10^{power} names, {live.opened.store.size() >> 20:6,} MB {plain:28.2f} µs {spelled:18.2f} µs"
              f" {bare:15.2f} µs   {growth[0]:.2f} and {growth[1]:.2f} of 10^4", flush=True)
        live.close()


def rules(folder: str) -> None:
    print("\nresolving a name that is not stored (median of 15 rounds of 1,000)")
    cases = {}
    for count in (0, 1, 100):
        live = Noid.created(Path(folder) / f"rules{count}")
        for number in range(count):
            live.text("bind", "set", f":idmap/^13030/p{number:02d}(.*)", "_t", f"https://r{number}.example/$1")
        live.set_target("13030/x", "https://target.example/")
        name = b"ark:/13030/p%02dxyz" % (count - 1) if count else b"ark:/13030/x/p00xyz"
        cases[f"by the last of {count} rules" if count else "by passthrough, without rules"] = (live, [name] * 1000)
    times: dict[str, list[float]] = {}
    for _ in range(15):
        for what, (live, names) in cases.items():
            times.setdefault(what, []).append(microseconds(live.opened, names))
    for what, (live, _) in cases.items():
        print(f"  {what:<32} {statistics.median(times[what]):7.2f} µs", flush=True)
        live.close()


# -- servers -----------------------------------------------------------------------------------------------------

SCRIPT = """
local paths = {}
for line in io.lines("%s") do paths[#paths + 1] = line end
local number = 0
request = function()
    number = number %% #paths + 1
    return wrk.format("GET", paths[number])
end
"""


def rate(port: int, seconds: int, path: str, script: str = "") -> float:
    command = [program("wrk"), "-t", "2", "-c", "32", "-d", f"{seconds}s", *(("-s", script) if script else ())]
    done = subprocess.run([*command, f"http://127.0.0.1:{port}{path}"], capture_output=True, text=True, check=True)
    # wrk counts answers of 400 and more; that a server closes a connection now and then is no failure.
    if "Non-2xx" in done.stdout:
        raise SystemExit(f"{path}: not every answer was a redirect\n{done.stdout}")
    return float(re.search(r"Requests/sec: +([\d.]+)", done.stdout)[1])


def servers(seconds: int) -> None:
    installation = Installation()
    site = Site(installation)
    print(f"\n{'redirects a second, 1,000 names':<62}{'names':>11}{'static':>11}{'of static':>12}")
    try:
        for kind in ("rewrite", "rewrite-map", "apache-resolver", "apache-fcgi-resolver", "wsgi-resolver",
                     "nginx-resolver", "nginx-fcgi-resolver", "nginx-map", "embedded-resolver"):
            deployment = site.add(DEPLOYMENTS[kind], kind)
            deployment.create("kt5", "kt.reeded", "long", "13030", "x", "y")
            names = deployment.noid("-f", "kt5", "mint", "1000").split()[1::2]
            deployment.noid("-f", "kt5", "-", stdin="".join(
                f"bind set {name} _t https://target.example/{name}\n" for name in names).encode())
            deployment.start()
            if kind == "nginx-map":
                deployment.noid("-f", "kt5", "export", "--map", "nginx", str(deployment.folder / "kt5.map"))
                deployment.reload()
                time.sleep(1)
            paths, script = deployment.folder / "paths", deployment.folder / "wrk.lua"
            paths.write_text("".join(f"/ark:/{name}\n" for name in names))
            script.write_text(SCRIPT % paths)
            assert deployment.location(f"ark:/{names[5]}") == f"https://target.example/{names[5]}"
            rate(deployment.resolver_port(), 1, "/", str(script))
            found = rate(deployment.resolver_port(), seconds, "/", str(script))
            line = f"  {(deployment.__doc__ or kind).splitlines()[0]:<60} {found:10,.0f}"
            if kind != "embedded-resolver":  # which has no redirects of its own
                static = rate(deployment.resolver_port(), seconds, STATIC_PATH)
                line += f" {static:10,.0f} {found / static:11.2f}"
            print(line, flush=True)
            deployment.stop()
    finally:
        site.close()
        installation.close()


def main() -> None:
    parts = ("loop", "lookup", "rules", "servers")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", type=int, default=6, help="the largest power of ten (7 takes minutes and 2 GB)")
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--parts", nargs="+", choices=parts, default=parts)
    parser.add_argument("--beside", type=Path, help="another checkout, whose noidr is measured in the same run")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if "loop" in options.parts:
            loop(os.path.join(folder, "loop"), options.beside)
        if "lookup" in options.parts:
            lookup(folder, options.to)
        if "rules" in options.parts:
            rules(folder)
    if "servers" in options.parts:
        servers(options.seconds)


if __name__ == "__main__":
    main()
