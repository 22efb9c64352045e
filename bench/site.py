"""What a static site costs, and whether web servers lead where the service leads.

    python bench/site.py [--from 4] [--to 6] [--ask 10000] [--keep FOLDER] [--bundle]

Printed for 10^4, 10^5, … names: how long `noid export --site` takes, at first and with 100 names changed, how many
files it then writes, its memory, and the size of the site; then for Apache, nginx and Python's own server how many of
the random names that were asked for lead where the service leads. With --bundle also what a bundle costs. The last
line is how long it takes to write as many small files, which no site can beat.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import noidtools  # noqa: E402
from bench.names import make_names  # noqa: E402
from support.servers.static import static_host  # noqa: E402 - found through the line above
from support.servers.system import program  # noqa: E402

CHANGED = 100
_NOID = "import sys; from noidtools.cli.noid import main; sys.exit(main(['noid', *sys.argv[1:]]))"


def run(folder: Path, *words: str) -> tuple[float, str]:
    """How long a command takes, in seconds, and what it prints."""
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", _NOID, "-f", str(folder), *words], capture_output=True, text=True,
                          check=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    return time.perf_counter() - start, done.stdout


def megabytes() -> float:
    """The memory of the largest process so far."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def written(answer: str) -> str:
    return next(line.removeprefix("Written: ") for line in answer.splitlines() if line.startswith("Written: "))


def write_files(folder: Path, count: int) -> float:
    """How long it takes to write as many folders with a small file each."""
    start = time.perf_counter()
    for number in range(count):
        place = folder / f"{number // 1000}" / f"{number}"
        place.mkdir(parents=True)
        (place / "index.html").write_bytes(b"x" * 2500)
    os.sync()
    return time.perf_counter() - start


def ask(kind: str, site: Path, minter: noidtools.Minter, names: list[str]) -> str:
    """How many of the names lead where the service leads, and how long an answer takes."""
    start = time.perf_counter()
    with static_host(kind, site) as host:
        started = time.perf_counter() - start
        start = time.perf_counter()
        right = sum(host.target(f"/{name}") == minter.resolve(name).target for name in names)
        taken = time.perf_counter() - start
    return f"{right} of {len(names)} right, {1000 * taken / len(names):.2f} ms each, started in {started:.1f} s"


def measure(folder: Path, count: int, asked: int, bundle: bool) -> None:
    minter_folder, site = folder / "m", folder / "site"
    make_names(minter_folder, count)
    print(f"{count} names", flush=True)
    seconds, _ = run(minter_folder, "export", "--site", str(site))
    print(f"  first export       {seconds:8.1f} s, {megabytes():.0f} MB of memory", flush=True)
    with noidtools.open(minter_folder) as minter:
        names = random.Random(count).sample(list(minter), asked)
        for name in names[:CHANGED]:
            minter.bind(name, "_t", f"https://changed.example/{name}")
    seconds, answer = run(minter_folder, "export", "--site", str(site))
    print(f"  {CHANGED} names changed  {seconds:8.1f} s, {written(answer)} files written", flush=True)
    size = subprocess.run(["du", "-sk", "--apparent-size", site], capture_output=True, text=True, check=True).stdout
    blocks = subprocess.run(["du", "-sk", site], capture_output=True, text=True, check=True).stdout
    print(f"  size               {int(size.split()[0]) / 1024:8.0f} MB of content, "
          f"{int(blocks.split()[0]) / 1024:.0f} MB on disk", flush=True)
    maps = site / "noid-site"
    subprocess.run([program("httxt2dbm"), "-f", "DB", "-i", maps / "redirects.txt", "-o", maps / "redirects.dbm"],
                   check=True, capture_output=True)
    with noidtools.open(minter_folder) as minter:
        for kind in ("apache", "nginx", "python"):
            print(f"  {kind:18s} {ask(kind, site, minter, names)}", flush=True)
    if bundle:
        seconds, _ = run(minter_folder, "bundle", str(folder / "m.tar"))
        print(f"  bundle             {seconds:8.1f} s, {(folder / 'm.tar').stat().st_size / 1e6:.0f} MB, "
              f"{megabytes():.0f} MB of memory", flush=True)
        seconds, _ = run(minter_folder, "bundle", "verify", str(folder / "m.tar"))
        print(f"  bundle verify      {seconds:8.1f} s", flush=True)
    print(f"  plain files        {write_files(folder / 'plain', count):8.1f} s to write as many", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--to", type=int, default=5, help="the largest power of ten")
    parser.add_argument("--from", type=int, default=4, dest="first", help="the smallest power of ten")
    parser.add_argument("--ask", type=int, default=10_000, help="how many names are asked for")
    parser.add_argument("--keep", help="a folder in which the minters stay")
    parser.add_argument("--bundle", action="store_true", help="also measure a bundle")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="noid-bench-") as temporary:
        folder = Path(options.keep or temporary)
        folder.mkdir(exist_ok=True)
        folder.chmod(0o755)  # the servers' user must be able to read it
        for exponent in range(options.first, options.to + 1):
            place = folder / str(10**exponent)
            place.mkdir(exist_ok=True)
            place.chmod(0o755)
            measure(place, 10**exponent, min(options.ask, 10**exponent), options.bundle)


if __name__ == "__main__":
    main()
