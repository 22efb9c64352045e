"""Makes the pictures of README.md and docs/console.md: a demonstration minter, served, and seen in Chromium.

    python docs/screenshots.py [FOLDER]

FOLDER is docs/images unless given.  It needs the extra `test` and Debian's chromium-headless-shell.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from playwright.sync_api import Page, sync_playwright  # noqa: E402

import noidtools  # noqa: E402 - found through the lines above
from noidtools.statistics.counting import ResolutionCounter  # noqa: E402
from support.served import ANY_PORT, Served  # noqa: E402
from support.servers.system import program  # noqa: E402

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
# The pictures show the upper part of pages, of some more than of others.
WIDTH, HEIGHT, TALL = 1200, 620, 900
# Under this name the landing page is seen.
HOST = "id.library.example"
DAYS = 30
MOVED = 4
BOOKS = (("On the origin of species", "Darwin, Charles", "1859"), ("Flatland", "Abbott, Edwin", "1884"),
         ("Middlemarch", "Eliot, George", "1871"), ("The voyage of the Beagle", "Darwin, Charles", "1839"),
         ("Micrographia", "Hooke, Robert", "1665"), ("Principia", "Newton, Isaac", "1687"))
TABLE = "what,who,when,_t\n" + "".join(f"{what},\"{who}\",{when},https://library.example/new/{number}\n"
                                       for number, (what, who, when) in enumerate(BOOKS)) + "=SUM(A1),,,\n"


def make_minter(folder: Path) -> tuple[str, str]:
    """Make the minter; returns the secret of a token, and the identifier that is shown."""
    with noidtools.create(folder, "kt.reedeedk", naan="13030", naa="library.example", labels=["ark:/"]) as minter:
        secret = minter.new_token("curator", ["read", "mint", "bind", "admin"])
        made = []
        for number, (what, who, when) in enumerate(BOOKS):
            host = "old.example" if number < MOVED else "library.example"
            made += minter.mint(1, elements={"what": what, "who": who, "when": when,
                                             "_t": f"http://{host}/books/{number}"})
        name = made[0]
        minter.bind(name, "when", "24 November 1859")
        minter.bind(name, "_note", "The first edition; the sixth has a name of its own.")
        minter.alias("13030/ktorigin", name)
        minter.synonym(name, "doi:10.5962/bhl.title.82303", authority="The Library")
        minter.make_unavailable(made[4], reason="It is being repaired.")
        minter.reserve(made[5])
        minter.bind(":idmap/^13030/ktmap(\\d+)$", "_t", "https://maps.example/sheet/$1")
        minter.set_custodian("The Library", contact="ids@library.example")
        minter.set_resolver(statistics=True)
    for day in range(DAYS):
        counter = ResolutionCounter(lambda: time.time() - 86_400 * (DAYS - 1 - day))  # noqa: B023
        for _ in range(20 + 7 * day % 31):
            counter.add(str(folder), name.removeprefix("ark:/").encode())
        counter.flush()
    return secret, name


@contextmanager
def console(folder: Path) -> Iterator[tuple[Page, str, str]]:
    """A page of somebody who has logged in, the address of the console, and the identifier that is shown."""
    secret, name = make_minter(folder / "kt5")
    served = Served.start(folder / "log", "-f", folder / "kt5", "serve", "--http", ANY_PORT, "--workers", "1",
                          "--proxy", "127.0.0.1", env=ENVIRONMENT)
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=program("chromium-headless-shell"),
                args=[f"--host-resolver-rules=MAP {HOST}:80 127.0.0.1:{served.address[1]}"])
            page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light", locale="en")
            url = f"http://localhost:{served.address[1]}/console"
            page.goto(f"{url}/login")
            page.fill("#secret", secret)
            page.get_by_role("button", name="Log in").click()
            yield page, url, name
            browser.close()
    finally:
        served.stop()


def make_pictures(folder: Path) -> None:
    """Make all pictures in a folder."""
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary, console(Path(temporary)) as (page, url, name):
        def shoot(picture: str) -> None:
            height = TALL if picture in ("console-overview", "console-identifier", "landing") else HEIGHT
            page.set_viewport_size({"width": WIDTH, "height": height})
            page.screenshot(path=folder / f"{picture}.png", animations="disabled")

        page.goto(f"http://{HOST}/{name}?info")
        shoot("landing")

        for picture, path in (("overview", ""), ("find", "find?q=darwin"), ("identifier", f"name?id={name}"),
                              ("mint", "mint"), ("rules", "rules?name=ark:/13030/ktmap12"), ("access", "access")):
            page.goto(f"{url}/{path}")
            shoot(f"console-{picture}")
        page.goto(f"{url}/mint")
        page.set_input_files("#file", {"name": "books.csv", "mimeType": "text/csv", "buffer": TABLE.encode()})
        page.get_by_role("button", name="Upload and check").click()
        page.get_by_role("button", name="Mint 6").wait_for()
        shoot("console-table")
        page.goto(f"{url}/change")
        page.fill("#old", "http://old.example/")
        page.fill("#new", "https://library.example/")
        page.get_by_role("button", name="See what would change").click()
        page.get_by_role("button", name=f"Change {MOVED}").wait_for()
        shoot("console-change")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Make the pictures of the documentation.")
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "docs" / "images")
    make_pictures(parser.parse_args().folder)
