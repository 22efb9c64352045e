"""The same minter in PostgreSQL and in LMDB, in one run.

    python bench/postgres.py [--to 6] [--rounds 3]

The server is one of Debian's package `postgresql`, started in a temporary folder, durable (fsync), at a Unix socket on
the same machine: over a network each round trip takes longer by its time.

    growth    identifiers a second of `mint 100000` in a minter of 10^4, 10^5 … identifiers, and bytes an identifier
    single    mints of one identifier a second by 1, 4 and 16 clients of `noid serve --http`, where requests that arrive
              together share a commit; and how many commits the server made a second with nothing else to do
    noidr     requests a second in lock step, each name asked once, and a hundred names asked again and again; beside
              a Python loop with one select for each line
    bind      bindings a second of a bulk run
    target    bytes that a target adds to an identifier with all that is recorded of it, bytes of log (WAL) of a mint
              and of a binding, and processor time of a lookup that is not cached, of noidr and of the server
"""

from __future__ import annotations

import argparse
import http.client
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from support.postgres import PostgresServer  # noqa: E402
from support.process import NOID  # noqa: E402
from support.project import PROGRAMS  # noqa: E402
from support.served import ANY_PORT, Served  # noqa: E402

STEP = 100_000
NAMES = 10_000
BINDS = 5_000
TARGETS = 20_000
SECONDS = 3.0
# What noidr cannot be quicker than: libpq's own functions, and the target of a name in a table of its own.
LOOP = """
import os, sys
from psycopg import pq
server = pq.PGconn.connect(sys.argv[1].encode())
server.prepare(b"find", b"SELECT target FROM bench WHERE name = $1", [17])
while line := os.read(0, 4096):
    found = server.exec_prepared(b"find", [line.split()[1]], [1], 1)
    os.write(1, found.get_value(0, 0) + b"\\n" if found.ntuples else b"NULL\\n")
"""
TEMPLATE = ("f5.reeeeeeeeedk", "long", "13030", "example.org", "bench")


class Contestant:
    """A minter in one of the engines."""

    def __init__(self, name: str, folder: Path, server: PostgresServer | None) -> None:
        self.name = name
        self.folder = folder
        self._server = server
        folder.mkdir()
        self.run("dbcreate", *TEMPLATE, *(("--store", server.address) if server else ()))

    def run(self, *words: str, stdin: bytes | None = None) -> bytes:
        return subprocess.run([*NOID, "-f", str(self.folder), *words], check=True, input=stdin, capture_output=True,
                              env={**os.environ, "PYTHONPATH": str(ROOT)}).stdout

    def mint(self, count: int) -> float:
        """Identifiers a second of one command."""
        start = time.monotonic()
        self.run("mint", str(count))
        return count / (time.monotonic() - start)

    def bytes(self) -> int:
        if self._server is None:
            return (self.folder / "NOID" / "data.mdb").stat().st_size
        return int(self._server.sql("SELECT pg_total_relation_size('noid_data')"))

    def bind(self, names: list[str]) -> float:
        lines = "".join(f"bind set {name} _t https://example.org/{name}\n" for name in names).encode()
        start = time.monotonic()
        self.run("-", stdin=lines)
        return len(names) / (time.monotonic() - start)

    def ids(self, count: int) -> list[str]:
        return [line[4:] for line in self.run("mint", str(count)).decode().splitlines() if line]

    def single_mints(self, clients: int) -> float:
        """Mints of one identifier a second, by HTTP with one process."""
        served = Served.start(self.folder / "log", "-f", str(self.folder), "serve", "--workers", "1", "--threads", "16",
                              "--user", "bench", "--http", ANY_PORT, env={**os.environ, "PYTHONPATH": str(ROOT)})
        host, port = served.address
        done: list[int] = []
        end = time.monotonic() + SECONDS

        def client() -> None:
            count = 0
            connection = http.client.HTTPConnection(host, int(port), timeout=20)
            while time.monotonic() < end:
                connection.request("GET", "/noidu?mint+1")
                response = connection.getresponse()
                assert response.read().startswith(b"id: ")
                count += 1
            connection.close()
            done.append(count)

        threads = [threading.Thread(target=client) for _ in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        served.stop()
        return sum(done) / SECONDS

    def lookups(self, names: list[str], rounds: int = 1) -> float:
        """Requests a second to noidr, one after the other."""
        return lock_step([sys.executable, str(PROGRAMS / "noidr"), "-f", str(self.folder)], names * rounds)


def lock_step(command: list[str], names: list[str]) -> float:
    """Requests a second to a program that answers line by line."""
    program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert program.stdin and program.stdout
    sink, source = program.stdin.fileno(), program.stdout.fileno()

    def ask(name: str) -> bytes:
        os.write(sink, f"get {name} _t\n".encode())
        return os.read(source, 4096)

    assert ask(names[0]).startswith(b"https://")
    start = time.monotonic()
    for name in names:
        assert ask(name) != b"NULL\n"
    rate = len(names) / (time.monotonic() - start)
    program.stdin.close()
    program.wait()
    program.stdout.close()
    return rate


def fill_bare_table(server: PostgresServer, names: list[str]) -> None:
    """The table that LOOP asks."""
    server.sql("CREATE TABLE bench (name bytea PRIMARY KEY, target bytea NOT NULL)")
    for start in range(0, len(names), 1000):
        some = ",".join(names[start : start + 1000])
        server.sql("INSERT INTO bench SELECT name::bytea, ('https://example.org/' || name)::bytea "
                   f"FROM unnest('{{{some}}}'::text[]) AS name")
    server.sql("ANALYZE bench")


def children_seconds(pid: int) -> float:
    """Processor time of the children of a process that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


def print_costs_of_a_target(server: PostgresServer, one: Contestant) -> None:
    """What the arithmetic of docs/scale.md is computed from."""
    def log_bytes() -> int:
        return int(server.sql("SELECT pg_current_wal_lsn() - '0/0'"))

    server.sql("CHECKPOINT")
    start = log_bytes()
    names = one.ids(TARGETS)
    minted, before = log_bytes(), one.bytes()
    one.bind(names)
    print(f"{one.name}: a target adds {(one.bytes() - before) / TARGETS:.0f} bytes; log of a mint "
          f"{(minted - start) / TARGETS:.0f} bytes, of a binding {(log_bytes() - minted) / TARGETS:.0f}")
    spent = []
    for asked in (names[:1], names):
        ours, servers = time_of_ended_children(), children_seconds(server.pid)
        one.lookups(asked)
        time.sleep(0.5)  # until the server has noticed that the session ended
        spent.append((time_of_ended_children() - ours, children_seconds(server.pid) - servers))
    ours, servers = (1e6 * (many - few) / (TARGETS - 1) for few, many in zip(*spent, strict=True))
    print(f"{one.name}: a lookup takes {ours:.0f} microseconds of noidr's processor time, {servers:.0f} of the "
          "server's")


def time_of_ended_children() -> float:
    used = os.times()
    return used.children_user + used.children_system


def commits_a_second(server: PostgresServer) -> float:
    """Durable transactions of one row, which is what a mint cannot be quicker than."""
    from noidtools.store import create_store

    folder = tempfile.mkdtemp()
    store = create_store(f"{folder}/NOID", lambda writer: None, address=server.address)
    count, end = 0, time.monotonic() + 1
    while time.monotonic() < end:
        store.write(lambda writer: writer.put(b"x", b"k", b""))
        count += 1
    store.close()
    shutil.rmtree(folder)
    return float(count)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", type=int, default=6, help="the largest number of identifiers, as a power of ten")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="noidbench"))
    server = PostgresServer("shared_buffers=256MB", "max_wal_size=2GB")
    try:
        both = [Contestant("PostgreSQL", place / "pg", server), Contestant("LMDB", place / "lmdb", None)]
        print(f"a bare transaction: {commits_a_second(server):,.0f} a second in PostgreSQL")
        names = {one.name: one.ids(NAMES) for one in both}
        for one in both:
            print(f"{one.name}: {one.bind(names[one.name][:BINDS]):,.0f} bindings a second in bulk")
            one.bind(names[one.name][BINDS:])
        fill_bare_table(server, names[both[0].name])
        for _ in range(options.rounds):
            bare = lock_step([sys.executable, "-c", LOOP, server.address], names[both[0].name])
            print(f"PostgreSQL: {bare:,.0f} a second by a Python loop with one select")
            for one in both:
                mine = names[one.name]
                print(f"{one.name}: noidr {one.lookups(mine):,.0f} a second not cached, "
                      f"{one.lookups(mine[:100], 100):,.0f} cached")
        for clients in (1, 4, 16):
            for one in both:
                print(f"{one.name}: {one.single_mints(clients):,.0f} single mints a second by {clients} clients")
        held = dict.fromkeys(names, NAMES)
        for power in range(4, options.to + 1):
            for one in both:
                while held[one.name] < 10**power:
                    count = min(10**power - held[one.name], 1_000_000)
                    one.mint(count)
                    held[one.name] += count
                rates = [one.mint(STEP) for _ in range(options.rounds)]
                held[one.name] += STEP * options.rounds
                print(f"{one.name}: with 10^{power} held, {max(rates):,.0f} minted a second, "
                      f"{one.bytes() / held[one.name]:.1f} bytes an identifier", flush=True)
        print_costs_of_a_target(server, both[0])
    finally:
        server.close()
        shutil.rmtree(place)


if __name__ == "__main__":
    main()
