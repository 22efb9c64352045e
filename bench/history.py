"""What the record costs: events and bytes for a minting, the rate of binding, and how long a history takes to tell.

    python bench/history.py [--to 5]

For minters whose record holds 10^4, 10^5, … events: bindings a second beside the same number of puts of an event, its
index entry and its value into a bare LMDB, in transactions of the same size; `history` of one identifier in the middle,
and the newest events of `log`, in milliseconds, all in one process.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import lmdb

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from noidtools.commands import Call, Session, run  # noqa: E402
from noidtools.minter import bindings, history  # noqa: E402
from noidtools.minter.events import Actor  # noqa: E402
from noidtools.minter.schema import EVENTS, HISTORY  # noqa: E402

TOGETHER = 500
TIMES = 200


def seconds(action) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def milliseconds(action) -> float:
    return min(seconds(lambda: [action() for _ in range(TIMES)]) for _ in range(3)) / TIMES * 1000


def minter_in(folder: str, *words: bytes) -> Session:
    session = Session(folder, Actor(b"bench/bench", b"shell"))
    run(Call(session, [b"dbcreate", *words]))
    return session


def minted(count: int) -> tuple[int, int, float]:
    """Events, entries of the index, and bytes on disk for each identifier after one minting."""
    with tempfile.TemporaryDirectory() as folder:
        session = minter_in(folder, b"f5.reedeedk", b"long", b"13030", b"cdlib.org", b"bench")
        for _ in run(Call(session, [b"mint", b"%d" % count])).records:
            pass
        sizes = [session.minter.read(lambda reader, table=table: sum(1 for _ in reader.scan(table)))
                 for table in (EVENTS, HISTORY)]
        size = (Path(folder) / "NOID" / "data.mdb").stat().st_size / count
        session.close()
        return sizes[0] - 1, sizes[1], size


def bind(session: Session, first: int, count: int) -> None:
    minter, actor = session.minter, session.actor

    def work(writer, start: int) -> None:
        for number in range(start, min(start + TOGETHER, first + count)):
            pairs = [(b"_t", b"https://example.org/%d" % number)]
            bindings.bind(minter, writer, actor, b"set", b"name%d" % number, pairs)

    for start in range(first, first + count, TOGETHER):
        minter.write(lambda writer, start=start: work(writer, start))


def raw(count: int) -> float:
    """Seconds for the same puts into a bare LMDB."""
    with tempfile.TemporaryDirectory() as folder:
        environment = lmdb.open(folder, map_size=1 << 34)

        def put_all() -> None:
            for start in range(0, count, TOGETHER):
                with environment.begin(write=True) as txn:
                    for number in range(start, min(start + TOGETHER, count)):
                        txn.put(b"e" + b"name%d\0\0_t" % number, b"https://example.org/%d" % number)
                        txn.put(b"v" + number.to_bytes(5, "big"), b"x" * 90)
                        txn.put(b"h" + b"name%d\0\0" % number + number.to_bytes(5, "big"), b"")

        taken = seconds(put_all)
        environment.close()
        return taken


def measure(power: int) -> None:
    count = 10**power
    with tempfile.TemporaryDirectory() as folder:
        session = minter_in(folder)
        bind(session, 0, count)
        step = min(count, 20_000)
        rate = step / seconds(lambda: bind(session, count, step))
        name = b"name%d" % (count // 2)
        minter = session.minter
        one = milliseconds(lambda: minter.read(lambda reader: list(history.events_of(reader, name))))
        newest = milliseconds(lambda: list(history.stream(minter, after=count + step - 9)))
        session.close()
    print(f"{count:>12,} {rate:>9,.0f} {step / raw(step):>10,.0f} {one:>11.3f} {newest:>10.3f}", flush=True)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--to", type=int, default=5, help="largest power of ten (default 5)")
    largest = options.parse_args().to
    events, entries, size = minted(10**largest)
    print(f"a minting of {10**largest:,}: {events} event, {entries} entries in the index, {size:.1f} bytes each\n")
    print(f"{'events':>12} {'bind/s':>9} {'raw/s':>10} {'history ms':>11} {'log 10 ms':>10}")
    for power in range(4, largest + 1):
        measure(power)


if __name__ == "__main__":
    main()
