"""What finding names costs among many, and the minter with many names that other measurements use, too.

    python bench/names.py [--to 6] [--keep FOLDER]

Names are bound to a title of several words, a creator, a date and a target; `make_names` is for other scripts.  Printed
for 10^4, 10^5, … names: how long the search index takes to make and how large it is, and how long searches take in one
process: by a rare word, by a frequent one, by a phrase, by target and host, and the first page of a list; how long it
takes to count the names, and to find a name that was bound a moment before.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import noidtools  # noqa: E402 - found through the line above

NAAN, PREFIX = "12345", "b6"
TIMES = 20
_SYLLABLES = [first + vowel for first in "bdfgklmnprstvz" for vowel in "aeiou"]
_AUTHORS = 5000
_HOSTS = 40


def make_names(folder: str | os.PathLike[str], count: int) -> None:
    """Make a minter of `count` names with titles, creators, dates and targets in a folder, the same in each run.

    A folder that has a minter is left as it is, so that several measurements can use one.
    """
    if (Path(folder) / "NOID").exists():
        return
    with (noidtools.create(folder, f"{PREFIX}.zeeddk", naan=NAAN, labels=["ark:/"]) as minter,
          tempfile.NamedTemporaryFile("w", suffix=".csv") as table):
        table.write("id,_t,title,creator,date\n")
        ids = minter.mint_many(count)
        table.writelines(f"{identifier},{row}\n" for identifier, row in zip(ids, rows(count), strict=True))
        table.flush()
        minter.import_file(table.name, "csv")


def rows(count: int) -> Iterator[str]:
    """Target, title, creator and date of each name.  Words are as unevenly frequent as in titles."""
    chance = random.Random(count)
    words = ["".join(chance.choice(_SYLLABLES) for _ in range(chance.randint(1, 4))) for _ in range(50_000)]
    for number in range(count):
        title = " ".join(words[int(len(words) ** chance.random()) - 1] for _ in range(chance.randint(3, 9)))
        author = chance.randrange(_AUTHORS)
        host = chance.randrange(_HOSTS)
        yield (f"https://site{host}.example/items/{number},{title.capitalize()} number{number},"
               f"{words[author].capitalize()} {words[-1 - author].capitalize()},{chance.randint(1500, 2026)}")


def milliseconds(action: Callable[[], object], times: int = TIMES) -> float:
    """The median of some runs."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        action()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken) * 1000


def measure(folder: Path, count: int) -> None:
    start = time.perf_counter()
    make_names(folder, count)
    made = time.perf_counter() - start
    with noidtools.open(folder) as minter:
        (folder / "NOID" / "search.sqlite").unlink(missing_ok=True)
        start = time.perf_counter()
        first = next(minter.find("number7", limit=1))
        indexed = time.perf_counter() - start
        size = (folder / "NOID" / "search.sqlite").stat().st_size / count
        print(f"{count:>9,} names, bound in {made:.0f} s; index made in {indexed:.1f} s, {size:.0f} bytes a name")
        common, other, *_ = first.elements["title"].lower().split()
        searches = {
            "a rare word": lambda: list(minter.find(f"number{count // 2}", limit=100)),
            "a frequent word, first 100": lambda: list(minter.find("ba*", limit=100)),
            "a phrase": lambda: list(minter.find(f'"{common} {other}"', limit=100)),
            "a target": lambda: list(minter.find(target=first.target)),
            "a host, first 100": lambda: list(minter.find(host="site7.example", limit=100)),
            "an element, first 100": lambda: list(minter.find(elements={"creator": first.elements["creator"]},
                                                              limit=100)),
            "list, first 100": lambda: list(minter.find(limit=100)),
        }
        for what, action in searches.items():
            print(f"  {what:<28} {milliseconds(action):9.2f} ms")
        print(f"  {'len(minter)':<28} {milliseconds(lambda: len(minter), 1):9.2f} ms")

        def change_and_find() -> None:
            word = f"changed{random.randrange(1 << 40)}"
            minter.bind(first.identifier, "note", word)
            assert [found.identifier for found in minter.find(word)] == [first.identifier]

        print(f"  {'bind, and find it at once':<28} {milliseconds(change_and_find):9.2f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", type=int, default=5, help="measure up to 10^TO names")
    parser.add_argument("--keep", type=Path, help="make the minters in this folder, and use those that it has")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        for exponent in range(4, args.to + 1):
            measure((args.keep or Path(temporary)) / f"names-{exponent}", 10**exponent)


if __name__ == "__main__":
    main()
