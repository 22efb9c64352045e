"""What taking over a minter of the original noid costs, and checking and copying it afterwards.

    python bench/perl_import.py [--count N]

The dump is of a long-term minter with N identifiers (10^5, unless given), minted three in a second, each with a hold
and a target: three records each.  Columns: seconds; seconds of the processor; identifiers in one of these; the largest
memory of the process.  Beside it: bare LMDB, which puts the same keys and values in transactions of the same size;
db5.3_load, a C program, which loads the dump into Berkeley DB; and a Perl loop that does to the files of Berkeley DB
what one binding of the original does, and nothing else (needs Perl's BerkeleyDB, in Debian libberkeleydb-perl).
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import lmdb

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from support.perl_dump import root_items, state_of  # noqa: E402

NOID = [sys.executable, str(ROOT / "cgi-bin" / "noid")]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
TEMPLATE = "f5.sdddddddd"
TOGETHER = 20_000

# What one binding of the original does to its files, and nothing else; in bulk, too, it opens the database for each.
PERL = r"""
use BerkeleyDB; use Fcntl qw(:DEFAULT :flock);
my ($folder, $count) = @ARGV;
for my $n (0 .. $count - 1) {
    open(my $log, ">>", "$folder/log") or die;
    my $environment = BerkeleyDB::Env->new(
        -Home => $folder, -Flags => DB_INIT_LOCK | DB_INIT_TXN | DB_INIT_MPOOL | DB_CREATE) or die $BerkeleyDB::Error;
    sysopen(my $lock, "$folder/lock", O_RDWR | O_CREAT) or die;
    flock($lock, LOCK_EX) or die;
    my $db = tie(my %db, "BerkeleyDB::Btree", -Filename => "noid.bdb", -Flags => DB_CREATE, -Env => $environment)
        or die;
    my $id = sprintf("13030/f5%08d", $n);
    my $known = exists($db{"$id\t:/c"}) || exists($db{"$id\t:/h"});
    my $long = $db{":/longterm"};
    my $before = $db{"$id\t_t"};
    $db{"$id\t_t"} = "";
    $db{"$id\t_t"} = "https://repository.example.org/items/$n";
    undef $db;
    untie %db;
}
"""
BOUND_BY_PERL = 2_000


def dump_lines(count: int):
    """A dump, piece by piece."""
    yield b"VERSION=3\nformat=print\ntype=btree\ndb_pagesize=4096\nHEADER=END\n"
    for number in range(count):
        name = b"13030/f5%08d" % number
        second = number // 3
        date = b"2012%02d%02d%02d%02d%02d" % (1 + second // 2_073_600 % 12, 1 + second // 86_400 % 24,
                                             second // 3_600 % 24, second // 60 % 60, second % 60)
        yield (b" %b\\09:/c\n i|%b|alice/staff|%d\n %b\\09:/h\n 1\n %b\\09_t\n https://repository.example.org/items/%d\n"
               % (name, date, number + 1, name, name, number))
    generator, _ = state_of(TEMPLATE, 0, naan="13030", term="long")
    for key, value in sorted((root_items(generator, "long") | {b":/oacounter": b"%d" % count}).items()):
        yield b" %b\n %b\n" % (key, value)
    yield b"DATA=END\n"


def measured(*command: str) -> tuple[float, float, float]:
    """Seconds, seconds of the processor, and megabytes of a process."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=ENVIRONMENT)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def bare_lmdb(folder: Path, count: int) -> tuple[float, float]:
    """Seconds, and seconds of the processor."""
    environment = lmdb.open(str(folder), map_size=1 << 36)
    start, used = time.perf_counter(), time.process_time()
    for first in range(0, count, TOGETHER):
        numbers = range(first, min(first + TOGETHER, count))
        with environment.begin(write=True) as txn, txn.cursor() as cursor:
            cursor.putmulti([(b"e13030/f5%08d\0\0_t" % n, b"https://repository.example.org/items/%d" % n)
                             for n in numbers])
            cursor.putmulti([(b"i13030/f5%08d" % n, b"v" * 13) for n in numbers])
    taken = time.perf_counter() - start, time.process_time() - used
    environment.close()
    return taken


def report(name: str, count: int, seconds: float, used: float, memory: float | None = None) -> None:
    megabytes = f"{memory:>8.0f}" if memory else ""
    print(f"{name:<34} {seconds:>8.1f} {used:>10.1f} {count / used:>14,.0f} {megabytes}", flush=True)


def measure(count: int) -> None:
    print(f"{'':<34} {'seconds':>8} {'processor':>10} {'identifiers/s':>14} {'MB':>8}")
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        dump = scratch / "noid.dump"
        with dump.open("wb") as file:
            file.writelines(dump_lines(count))
        (scratch / "bare").mkdir()
        report("bare LMDB", count, *bare_lmdb(scratch / "bare", count))
        if shutil.which("db5.3_load"):
            report("db5.3_load", count, *measured("db5.3_load", "-f", str(dump), str(scratch / "noid.bdb")))
        if subprocess.run(["perl", "-MBerkeleyDB", "-e", "1"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
            (scratch / "perl").mkdir()
            report("bindings of the original", BOUND_BY_PERL,
                   *measured("perl", "-e", PERL, str(scratch / "perl"), str(BOUND_BY_PERL)))
        one, two = scratch / "one", scratch / "two"
        one.mkdir()
        for title, words in (("import perl", ("-f", str(one), "import", "perl", str(dump))),
                             ("check", ("-f", str(one), "check")), ("copy", ("copy", str(one), str(two)))):
            report(title, count, *measured(*NOID, *words))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--count", type=int, default=100_000, help="how many identifiers (default 100000)")
    measure(options.parse_args().count)


if __name__ == "__main__":
    main()
