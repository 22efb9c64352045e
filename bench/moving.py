"""What export, import, retarget, undo and copies of many bindings cost, and how long other writers wait meanwhile.

    python bench/moving.py [--count N]

Each operation is a process of its own, as at the shell, on a minter with N bound identifiers (10^5, unless given).
Columns: seconds; bindings in a second; the same for bare LMDB, which puts the same number of keys and values into
sorted places in one transaction; the most memory that the process had for itself, without the mapped
database; and the longest time that one binding took in another process that binds without pause meanwhile, first alone,
then during the operation.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import lmdb

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from noidtools.minter import Minter, bindings  # noqa: E402
from noidtools.minter.events import Actor  # noqa: E402

NOID = [sys.executable, str(ROOT / "cgi-bin" / "noid")]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
OLD, NEW = "https://old.example/", "https://new.example/items/"


def noid(folder: Path, *words: str) -> tuple[float, float]:
    """Seconds and megabytes of a command."""
    start = time.perf_counter()
    most = 0.0
    with (folder / "out").open("wb") as out:
        process = subprocess.Popen([*NOID, "-f", str(folder), *words], stdout=out, env=ENVIRONMENT)
        while process.poll() is None:
            most = max(most, own_memory(process.pid))
            time.sleep(0.02)
    assert process.returncode == 0, (words, process.returncode)
    return time.perf_counter() - start, most


def own_memory(process: int) -> float:
    """Megabytes that a process has for itself: the mapped pages of the database are not among them."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("RssAnon")), 0.0)


def raw(count: int, together: int, keys: int) -> float:
    """Seconds in which bare LMDB puts that many keys for each binding."""
    with tempfile.TemporaryDirectory() as folder:
        environment = lmdb.open(folder, map_size=1 << 36)
        start = time.perf_counter()
        for first in range(0, count, together):
            with environment.begin(write=True) as txn, txn.cursor() as cursor:
                for key in range(keys):
                    cursor.putmulti([(b"%d/name%09d" % (key, number), b"https://new.example/items/%d" % number)
                                     for number in range(first, min(first + together, count))])
        taken = time.perf_counter() - start
        environment.close()
        return taken


def write_without_pause(folder: str, stop: object, longest: object) -> None:
    """Bind one value after the other in transactions of their own, and keep the longest time that one took."""
    minter = Minter(folder)
    actor = Actor(b"other", b"shell")
    number = 0
    while not stop.is_set():
        start = time.perf_counter()
        minter.write(lambda writer, number=number: bindings.bind(
            minter, writer, actor, b"set", b"other", [(b"e", b"%d" % number)]))
        longest.value = max(longest.value, time.perf_counter() - start)
        number += 1
        time.sleep(0.001)
    minter.close()


def longest_wait(folder: Path, action) -> tuple[float, object]:
    """The longest wait of another writer during an action, in milliseconds; and what the action returns."""
    context = multiprocessing.get_context("spawn")
    stop, longest = context.Event(), context.Value("d", 0.0)
    other = context.Process(target=write_without_pause, args=(str(folder), stop, longest))
    other.start()
    while not longest.value:
        time.sleep(0.01)
    time.sleep(0.3)
    longest.value = 0.0
    try:
        result = action()
    finally:
        stop.set()
        other.join()
    return longest.value * 1000, result


def table_of(path: Path, count: int) -> None:
    with path.open("w") as file:
        file.write("id,_t\n")
        file.writelines(f"name{number:09},{OLD}{number}\n" for number in range(count))


def report(name: str, count: int, seconds: float, bare: float | None, memory: float, wait: float | None) -> None:
    limit = f"{count / bare:>12,.0f}" if bare else f"{'':>12}"
    pause = f"{wait:>9.0f}" if wait is not None else f"{'':>9}"
    print(f"{name:<24} {seconds:>8.1f} {count / seconds:>12,.0f} {limit} {memory:>8.0f} {pause}", flush=True)


def measure(count: int) -> None:
    print(f"{'':<24} {'seconds':>8} {'bindings/s':>12} {'LMDB/s':>12} {'MB':>8} {'wait ms':>9}")
    with tempfile.TemporaryDirectory() as scratch:
        one, two, three = (Path(scratch) / name for name in ("one", "two", "three"))
        for folder in (one, two, three):
            folder.mkdir()
        for folder in (one, two):
            noid(folder, "dbcreate")
        table = Path(scratch) / "table.csv"
        table_of(table, count)
        alone, _ = longest_wait(one, lambda: time.sleep(2))
        print(f"{'(nothing)':<24} {'':>8} {'':>12} {'':>12} {'':>8} {alone:>9.0f}")

        def run(name: str, folder: Path, bare: float | None, *words: str) -> None:
            wait, (seconds, memory) = longest_wait(folder, lambda: noid(folder, *words))
            report(name, count, seconds, bare, memory, wait)

        whole = raw(count, count, 3)
        run("import csv --keep-going", one, whole, "import", "csv", str(table), "--keep-going")
        run("import csv", two, whole, "import", "csv", str(table))
        run("retarget", one, whole, "retarget", "--from", OLD, "--to", NEW, "--name", "move")
        run("undo", one, whole, "undo", "move")
        run("export csv", one, None, "export", "csv")
        run("export jsonl --history", one, None, "export", "jsonl", str(one / "all.jsonl"), "--history")
        seconds, memory = noid(three, "import", "jsonl", str(one / "all.jsonl"))
        report("import jsonl, complete", count, seconds, whole, memory, None)
        run("copy", two, None, "copy", str(two), str(Path(scratch) / "four"))
        run("copy, in place", two, None, "copy", str(two), str(two))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--count", type=int, default=100_000, help="how many bindings (default 100000)")
    measure(options.parse_args().count)


if __name__ == "__main__":
    main()
