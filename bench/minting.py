"""What minting costs, beside what it cannot be cheaper than, and how that grows.

    python bench/minting.py [--to 7]

For minters that hold 10^4, 10^5, … identifiers: the rate of one durable `mint 100000` beside the same number of
puts of the same size into a bare LMDB, `mint 1` from the shell beside a bare start of the interpreter, and the
bytes on disk for each identifier.
"""

from __future__ import annotations

import argparse
import compileall
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import lmdb

ROOT = Path(__file__).resolve().parent.parent
NOID = [sys.executable, str(ROOT / "cgi-bin" / "noid")]
# An installed package has its bytecode; a checkout gets it here, so that both start alike.
ENVIRONMENT = {**{k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}, "PYTHONPATH": str(ROOT)}
MINTED = 100_000
TIMES = 41


def run(folder: str, *words: str) -> None:
    subprocess.run([*NOID, *words], cwd=folder, stdout=subprocess.DEVNULL, check=True, env=ENVIRONMENT)


def seconds(action) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def median_ms(command: list[str], folder: str) -> float:
    def once() -> None:
        subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=True, env=ENVIRONMENT)

    return statistics.median(seconds(once) for _ in range(TIMES)) * 1000


def raw_rate(held: int) -> float:
    """Puts a second into a bare LMDB of that many items: random keys, in one durable transaction, as a user would."""
    with tempfile.TemporaryDirectory() as folder:
        environment = lmdb.open(folder, map_size=1 << 36)
        step = 1_000_000
        for start in range(0, held, step):
            with environment.begin(write=True) as txn:
                for number in range(start, min(start + step, held)):
                    txn.put(b"13030/f5%010x" % (number * 2654435761 % (1 << 40)), b"v" * 13)
        keys = [b"13030/g5%010x" % (number * 2654435761 % (1 << 40)) for number in range(MINTED)]

        def put_all() -> None:
            with environment.begin(write=True) as txn:
                for key in keys:
                    txn.put(key, b"v" * 13)

        rate = MINTED / seconds(put_all)
        environment.close()
        return rate


def measure(held: int) -> tuple[float, ...]:
    with tempfile.TemporaryDirectory() as folder:
        run(folder, "dbcreate", "f5.reedeedk", "long", "13030", "cdlib.org", "bench")
        run(folder, "mint", str(held))
        per_identifier = (Path(folder) / "NOID" / "data.mdb").stat().st_size / held
        start = median_ms([sys.executable, "-c", "pass"], folder)
        one = median_ms([*NOID, "mint", "1"], folder)
        rate = MINTED / seconds(lambda: run(folder, "mint", str(MINTED)))
    return rate, raw_rate(held), one, start, per_identifier


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--to", type=int, default=6, help="largest power of ten (default 6)")
    compileall.compile_dir(ROOT / "noidtools", quiet=1)
    print(f"{'identifiers':>12} {'mint/s':>9} {'raw put/s':>10} {'ratio':>6} "
          f"{'mint 1 ms':>10} {'start ms':>9} {'ratio':>6} {'bytes/id':>9}")
    for power in range(4, options.parse_args().to + 1):
        rate, raw, one, start, size = measure(10**power)
        print(f"{10**power:>12,} {rate:>9,.0f} {raw:>10,.0f} {rate / raw:>6.2f} "
              f"{one:>10.1f} {start:>9.1f} {one / start:>6.2f} {size:>9.1f}", flush=True)


if __name__ == "__main__":
    main()
