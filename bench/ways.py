"""All ways to resolve and to mint on Apache and nginx in one run, as parts of each other.

    python bench/ways.py [--rounds 5] [--seconds 2] [--clients 16] [--names 50000] [--only WORD]

Starts the servers from the files in conf/, as the tests do, each with the same bound names, and asks them by turns with
wrk over loopback, forwards and backwards, so that whatever else the machine does falls on all of them.  Before each
turn something is bound, so that no reply is cached, and each name is asked for once.  Beside the shipped rules for
Apache's RewriteMap: the four rules of the original's manual.  On a machine with other work the processor time of a
request (web server and program together) says more than the rate, and many rounds of `--only RewriteMap` more than a
few of all.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from support.process import descendants  # noqa: E402 - found through the line above
from support.servers.apache import ApacheFcgiResolver, ApacheResolver, ApacheRewrite, ApacheWsgiResolver  # noqa: E402
from support.servers.deployment import Deployment, Installation, Site  # noqa: E402
from support.servers.nginx import NginxFcgiResolver, NginxResolver  # noqa: E402
from support.servers.system import program  # noqa: E402

# With wrk's own list of paths; each thread of wrk has its own copy, so there is one thread.
SCRIPT = """
local paths = {}
for line in io.lines("%s") do paths[#paths + 1] = line end
local number = tonumber(os.getenv("FIRST"))
request = function()
    number = number %% #paths + 1
    return wrk.format("GET", paths[number])
end
"""
MANUAL = """
RewriteEngine On
RewriteMap noid "prg:{link}" www-data:www-data
AllowEncodedSlashes NoDecode
RewriteRule "^/ark:/(.+)$" "${{noid:get $1 _t}}"
RewriteRule "^NULL" "-" [F,L]
RewriteRule "^(https?://.*)$" "$1" [R=302,NE,L]
RewriteRule "^(/.*)$" "$1" [PT,L]
"""


class ApacheManual(ApacheRewrite):
    """Apache with a RewriteMap, by the four rules of the original's manual."""

    def host(self, **values: object) -> str:
        text = super().host(**values)
        shipped = text.index("    # Names through a RewriteMap")
        return text[:shipped] + MANUAL.format(link=self.minters / "noidr_kt5") + "</VirtualHost>\n"


WAYS: dict[str, type[Deployment]] = {
    "Apache, RewriteMap, shipped rules": ApacheRewrite, "Apache, RewriteMap, manual's rules": ApacheManual,
    "Apache, proxy": ApacheResolver, "Apache, FastCGI": ApacheFcgiResolver, "Apache, mod_wsgi": ApacheWsgiResolver,
    "nginx, proxy": NginxResolver, "nginx, FastCGI": NginxFcgiResolver,
}
COST = "µs each"
PAIRS = (("Apache, RewriteMap, shipped rules", "Apache, RewriteMap, manual's rules"),
         ("nginx, proxy", "nginx, FastCGI"))


def filled(site: Site, count: int) -> tuple[Path, list[str]]:
    """A minter with bound names, to be copied, and the names."""
    first = site.add(NginxResolver, "filled")
    first.create("kt5", "kt.zeededede", "long", "13030", "x", "y")
    names = first.noid("-f", "kt5", "mint", str(count)).split()[1::2]
    lines = "".join(f"bind set {name} _t https://target.example/{name}\n" for name in names)
    first.noid("-f", "kt5", "-", stdin=lines.encode())
    first.noid("-f", "kt5", "policy", "mint", "anyone")
    first.noid("-f", "kt5", "backup", "copy")
    return first.minters / "copy", names


def wrk(url: str, seconds: int, clients: int, script: Path | None = None, first: int = 0, header: str = "") -> float:
    """Requests a second."""
    words = [*(("-s", str(script)) if script else ()), *(("-H", header) if header else ())]
    done = subprocess.run([program("wrk"), "-t", "1", "-c", str(clients), "-d", f"{seconds}s", *words, url],
                          capture_output=True, text=True, check=True, env={"FIRST": str(first)})
    if "Non-2xx" in done.stdout:
        raise SystemExit(f"{url}: not every answer was right\n{done.stdout}")
    return float(re.search(r"Requests/sec: +([\d.]+)", done.stdout)[1])


def processor_microseconds(way: Deployment) -> float:
    """The time that all processes of a way have spent so far."""
    spent = 0
    for daemon in way.daemons:
        for pid in (daemon.pid, *descendants(daemon.pid)):
            for task in Path(f"/proc/{pid}/task").glob("*/schedstat"):
                with contextlib.suppress(OSError):  # it has ended
                    spent += int(task.read_text().split()[0])
    return spent / 1000


class Bench:
    def __init__(self, site: Site, seconds: int, clients: int, count: int, only: str) -> None:
        self._seconds, self._clients = seconds, clients
        copy, self._names = filled(site, count)
        paths = site.folder / "paths"
        paths.write_text("".join(f"/ark:/{name}\n" for name in self._names))
        self._script = site.folder / "wrk.lua"
        self._script.write_text(SCRIPT % paths)
        self.ways: dict[str, Deployment] = {}
        self._tokens: dict[str, str] = {}
        for number, (name, kind) in enumerate(WAYS.items()):
            if only not in name:
                continue
            way = site.add(kind, f"way{number}")
            way.site.folder_for(f"{way.name}/minters/kt5")
            way.noid("-f", "kt5", "restore", str(copy))
            way.start()
            self.ways[name] = way
            self._tokens[name] = way.noid("-f", "kt5", "token", "new", "bench", "--may", "mint").split()[1]
        shutil.rmtree(copy)
        self.rates: dict[tuple[str, str], list[float]] = {}
        self._asked = 0

    def round(self) -> None:
        for name, way in self.ways.items():
            way.noid("-f", "kt5", "bind", "set", self._names[0], "touched", str(self._asked))
            base = f"http://127.0.0.1:{way.port}"
            spent = processor_microseconds(way)
            resolved = wrk(base, self._seconds, self._clients, self._script, self._asked)
            spent = processor_microseconds(way) - spent
            self.rates.setdefault((name, "resolve"), []).append(resolved)
            self.rates.setdefault((name, COST), []).append(spent / self._seconds / resolved)
            if "RewriteMap" not in name:
                for what, header in (("mint", ""), ("mint, token", f"Authorization: Bearer {self._tokens[name]}")):
                    minted = wrk(f"{base}/nd/noidu_kt5?mint+1", self._seconds, self._clients, header=header)
                    self.rates.setdefault((name, what), []).append(minted)
        self._asked += 7919
        self.ways = dict(reversed(self.ways.items()))

    def report(self) -> None:
        columns = ("resolve", COST, "mint", "mint, token")
        print(f"{'requests a second, medians':<40}" + "".join(f"{what:>13}" for what in columns))
        for name in sorted(self.ways, key=list(WAYS).index):
            found = [(what, self.rates.get((name, what))) for what in columns]
            # Of the times the least is the one that other work has disturbed least.
            print(f"{name:<40}" + "".join(f"{min(rates) if what == COST else statistics.median(rates):>13,.0f}"
                                          for what, rates in found if rates))
        for one, other in PAIRS:
            if one not in self.ways or other not in self.ways:
                continue
            self._compare(f"resolve, {one} / {other}", (one, "resolve"), (other, "resolve"))
            for name, choose in ("least", min), ("median", statistics.median):
                ratio = choose(self.rates[other, COST]) / choose(self.rates[one, COST])
                print(f"  by the {name} time of the processor: {ratio:.2f}")
        if "nginx, FastCGI" in self.ways:
            self._compare("nginx, FastCGI, mint with a token / without", ("nginx, FastCGI", "mint, token"),
                          ("nginx, FastCGI", "mint"))

    def _compare(self, what: str, one: tuple[str, str], other: tuple[str, str]) -> None:
        """The ratios of two rates in the same rounds."""
        ratios = [a / b for a, b in zip(self.rates[one], self.rates[other], strict=True)]
        together = sum(self.rates[one]) / sum(self.rates[other])
        print(f"{what}: median {statistics.median(ratios):.2f}, from {min(ratios):.2f} to {max(ratios):.2f}, "
              f"all together {together:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--names", type=int, default=50_000)
    parser.add_argument("--only", default="", metavar="WORD", help="the ways with this in their names")
    options = parser.parse_args()
    installation = Installation()
    site = Site(installation)
    try:
        bench = Bench(site, options.seconds, options.clients, options.names, options.only)
        for _ in range(options.rounds):
            bench.round()
        bench.report()
    finally:
        site.close()
        installation.close()


if __name__ == "__main__":
    main()
