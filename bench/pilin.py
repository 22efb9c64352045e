"""How near PILIN minting comes to the clock's own rate, which is one a millisecond.

    python bench/pilin.py [--processes 4] [--seconds 5]

Several processes mint from one minter at once, as fast as they are given anything.  First each asks for far more
than there will be time for (`mint N`), then each gives one command after another in bulk (`mint 1`, a line each).
A millisecond in which nobody got a label is lost; a label that two got would end the run with an error.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NOID = [sys.executable, str(ROOT / "cgi-bin" / "noid")]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


def start(folder: str, number: int, lines: int, out: Path) -> subprocess.Popen[bytes]:
    """A process that mints `number` with each of its lines; without lines one command is all."""
    command = [*NOID, "-"] if lines else [*NOID, "mint", str(number)]
    given = Path(folder) / "lines"
    given.write_bytes(b"mint %d\n" % number * lines)
    with given.open("rb") as source, out.open("wb") as target:
        return subprocess.Popen(command, cwd=folder, stdin=source, stdout=target, env=ENVIRONMENT)


def labels(out: Path) -> list[bytes]:
    # The last line of a process that was stopped may be cut.
    return [line[4:] for line in out.read_bytes().rpartition(b"\n")[0].splitlines() if line.startswith(b"id: ")]


def measure(processes: int, seconds: float, *, bulk: bool) -> tuple[int, float]:
    """How many labels were handed out, and in how many seconds."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([*NOID, "dbcreate", "--scheme", "pilin", "--prefix", "102.100.272"], cwd=folder,
                       stdout=subprocess.DEVNULL, check=True, env=ENVIRONMENT)
        outs = [Path(folder) / f"out{place}" for place in range(processes)]
        lines = int(seconds * 1000) if bulk else 0
        running = [start(folder, 1 if bulk else 10**9, lines, out) for out in outs]
        # Once all are at work, what is handed out between two looks is counted.
        while any(not out.stat().st_size for out in outs):
            time.sleep(0.001)
        before, began = sum(len(labels(out)) for out in outs), time.perf_counter()
        time.sleep(seconds)
        after, ended = sum(len(labels(out)) for out in outs), time.perf_counter()
        for process in running:
            process.terminate()
            process.wait()
        made = [label for out in outs for label in labels(out)]
        if len(set(made)) < len(made):
            raise SystemExit("a label was given twice")
        return after - before, ended - began


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--processes", type=int, default=4)
    options.add_argument("--seconds", type=float, default=5)
    chosen = options.parse_args()
    print(f"{'processes':>9} {'asking with':>12} {'labels':>8} {'seconds':>8} {'labels/s':>9} {'of the clock':>13}")
    for bulk in (False, True):
        for processes in sorted({1, chosen.processes}):
            made, seconds = measure(processes, chosen.seconds, bulk=bulk)
            print(f"{processes:>9} {'mint 1 lines' if bulk else 'mint N':>12} {made:>8,} {seconds:>8.2f} "
                  f"{made / seconds:>9,.0f} {made / seconds / 1000:>13.1%}", flush=True)


if __name__ == "__main__":
    main()
