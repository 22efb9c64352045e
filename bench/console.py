"""How long pages of the console take: the overview of many minters, and searches among many names.

    python bench/console.py [--minters 200] [--names 1000000] [--keep FOLDER]

A real `noid serve` with two processes is asked by HTTP, as a browser asks.  Printed is the median of some requests, and
the longest; the limit is 200 ms.  The first request of each page is left out: it may make the search index, which takes
minutes for a million names.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import noidtools  # noqa: E402
from bench.names import make_names  # noqa: E402
from support.console import ServedConsole  # noqa: E402 - found through the line above
from support.minter import Noid  # noqa: E402
from support.served import ANY_PORT, Served  # noqa: E402

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
LIMIT, TIMES, WORKERS = 200, 40, "2"
EVENTS = 50


def make_minters(folder: Path, count: int) -> str:
    """Make minters side by side, each with some changes of today; returns the secret of a token for all."""
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"m{number:03}" for number in range(count)]
    for number, name in enumerate(names):
        if not (folder / name).exists():
            with noidtools.create(folder / name, f"b{number}.reeddk", naan="12345", labels=["ark:/"]) as minter:
                minter.set_resolver(statistics=True)
                for _ in range(EVENTS):
                    minter.mint(1, elements={"title": "A title"})
    return new_token(folder / names[0], "--minters", ",".join(names))


def new_token(folder: Path, *options: str) -> str:
    words = ("token", "new", f"bench-{time.time_ns()}", "--may", "read,mint,bind,admin", *options)
    return Noid(folder).text(*words).splitlines()[0].removeprefix("token: ")


def measure(client: ServedConsole, what: str, path: str) -> None:
    taken = []
    for number in range(TIMES + 2):  # both processes are asked once before
        start = time.perf_counter()
        page = client.request("GET", f"/console/{path}")
        if number > 1:
            taken.append(1000 * (time.perf_counter() - start))
        assert page.status == 200 and b'role="alert"' not in page.body, page
    print(f"  {what:<50} {statistics.median(taken):6.1f} ms, at most {max(taken):6.1f} ms; limit {LIMIT} ms",
          flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minters", type=int, default=200)
    parser.add_argument("--names", type=int, default=1_000_000)
    parser.add_argument("--keep", type=Path, help="make the minters in this folder, and use those that it has")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.keep or Path(temporary)
        secret = make_minters(folder / "many", args.minters)
        served = Served.start(Path(temporary) / "log", "serve", "--minters", folder / "many", "--http", ANY_PORT,
                              "--workers", WORKERS, env=ENVIRONMENT)
        try:
            measure(ServedConsole(served, secret), f"the overview of {args.minters} minters", "")
        finally:
            served.stop()
        make_names(folder / "names", args.names)
        with noidtools.open(folder / "names") as minter:
            first = next(minter.find("number7", limit=1))
        served = Served.start(Path(temporary) / "log", "-f", folder / "names", "serve", "--http", ANY_PORT,
                              "--workers", WORKERS, env=ENVIRONMENT)
        try:
            client = ServedConsole(served, new_token(folder / "names"))
            for what, query in (("a rare word", f"q=number{args.names // 2}"), ("a frequent word", "q=ba*"),
                                ("a target", f"target={first.target}"), ("a host", "target=site7.example"),
                                ("a word of the title, published", "words=ba&state=published"),
                                ("the beginning of names", f"prefix={first.identifier[:12]}"), ("no condition", "")):
                measure(client, f"among {args.names:,} names: {what}", f"find?{query}")
        finally:
            served.stop()


if __name__ == "__main__":
    main()
