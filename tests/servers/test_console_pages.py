"""The console in Chromium: every task by clicking with scripts switched off, and by keyboard alone; and each page as
axe-core, a phone and somebody in the dark see it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import FileChooser, Locator, Page

import noidtools
from support.project import ROOT
from support.reading import VIEWS, Reading, findings, overflow
from support.served import ANY_PORT, Served
from support.servers.deployment import PASSWORD, USER

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)> {{ 7*7 }} \u202egnp.exe " + "x" * 5000
RTL = "\u05de\u05db\u05ea\u05d1\u05d9\u05dd \u05de\u05d4\u05d0\u05e8\u05db\u05d9\u05d5\u05df"


class Console:
    """A served minter with some names, and a token for everything."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "kt5"
        with noidtools.create(self.folder, "kt.reedeedk", naan="13030", labels=["ark:/"]) as minter:
            self.secret = minter.new_token("everything", ["read", "mint", "bind", "admin"])
            minter.mint(60, elements={"title": "Letters from the archive", "_t": "https://library.example/letters"})
            (self.hostile,) = minter.mint(1, elements={"title": HOSTILE, "_t": "javascript:alert(1)", "odd": RTL,
                                                       "_note": HOSTILE})
            (self.name,) = minter.mint(1, elements={"title": RTL, "_t": "https://library.example/rtl"})
            minter.bind(self.name, "who", "Ada")
            minter.bind(self.name, "who", "Ada Kerry")
            minter.synonym(self.name, "doi:10.1000/182", authority="The Library")
            minter.alias("13030/ktnick", self.name)
        self._served = Served.start(folder / "log", "-f", self.folder, "serve", "--http", ANY_PORT, "--workers", "1")
        self.url = f"http://localhost:{self._served.address[1]}/console"

    def stop(self) -> None:
        self._served.stop()


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    made = Console(tmp_path_factory.mktemp("console"))
    yield made
    made.stop()


class Mouse:
    """Somebody who clicks; Playwright waits for what is clicked to be there and in sight."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def press(self, role: str, name: str) -> None:
        """Use a link or a button that leads to another page."""
        self.lead_on(self._find(role, name))

    def lead_on(self, found: Locator) -> None:
        self._reach(found)
        with self.page.expect_navigation():
            self._activate(found)

    def download(self, name: str) -> str:
        """The text of the file to which a link leads."""
        found = self._find("link", name)
        self._reach(found)
        with self.page.expect_download() as download:
            self._activate(found)
        return Path(download.value.path()).read_text("utf-8")

    def _find(self, role: str, name: str) -> Locator:
        return self.page.get_by_role(role, name=name, exact=True).first  # type: ignore[arg-type]

    def _reach(self, found: Locator) -> None:
        """Go to a link or a field, without using it."""

    def _activate(self, found: Locator) -> None:
        found.click()

    def unfold(self, summary: str) -> None:
        found = self.page.locator("summary", has_text=summary)
        self._reach(found)
        self._activate(found)

    def fill(self, field: str, text: str) -> None:
        self.page.locator(field).fill(text)

    def choose(self, field: str, option: str) -> None:
        self.page.locator(field).select_option(label=option)

    def attach(self, field: str, file: Path) -> None:
        self.page.locator(field).set_input_files(file)

    def tick(self, field: str) -> None:
        self._activate(self.page.locator(field))

    def sees(self, text: str) -> None:
        assert text in " ".join(self.page.locator("main").inner_text().split()), self.page.locator("main").inner_text()

    def waits_for(self, text: str) -> None:
        """Look at a job again until it is done."""
        for _ in range(600):
            if text in self.page.locator("main").inner_text():
                return
            again = self.page.get_by_role("link", name="Look again")
            if again.count():
                self.press("link", "Look again")
            else:
                self.page.wait_for_timeout(50)
        raise AssertionError(self.page.locator("main").inner_text())


# About how many things are between the focus and an element, so that not every press of the key has to be looked at.
STOPS_BEFORE = """element => {
  const stops = [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")]
    .filter(stop => stop.tabIndex >= 0 && stop.type !== "hidden" && stop.checkVisibility());
  return Math.max(0, stops.indexOf(element) - stops.indexOf(document.activeElement) - 1);
}"""


class Keyboard(Mouse):
    """Somebody who has a keyboard alone: goes to a thing with the tab key, and uses it with the keys that it knows."""

    def _reach(self, found: Locator) -> None:
        for _ in range(int(found.evaluate(STOPS_BEFORE))):
            self.page.keyboard.press("Tab")
        for _ in range(150):
            if found.evaluate("element => element === document.activeElement"):
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"the tab key does not lead to {found}")

    def _activate(self, found: Locator) -> None:
        self.page.keyboard.press("Enter")

    def fill(self, field: str, text: str) -> None:
        self._reach(self.page.locator(field))
        self.page.keyboard.press("Control+A")
        self.page.keyboard.insert_text(text)

    def choose(self, field: str, option: str) -> None:
        self._reach(self.page.locator(field))
        self.page.keyboard.type(option[:12])

    def attach(self, field: str, file: Path) -> None:
        self._reach(self.page.locator(field))
        opened: list[FileChooser] = []
        self.page.once("filechooser", lambda chooser: opened.append(chooser))
        self.page.keyboard.press("Space")
        for _ in range(600):
            if opened:
                opened[0].set_files(file)
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(f"{field} opens no window for files")

    def tick(self, field: str) -> None:
        self._reach(self.page.locator(field))
        self.page.keyboard.press("Space")

    def waits_for(self, text: str) -> None:
        # The script of the page shows the progress.
        self.page.locator("main", has_text=text).wait_for(timeout=60_000)


HANDS: dict[str, tuple[Callable[[Page], Mouse], bool]] = {
    "clicking, without scripts": (Mouse, False), "by keyboard alone": (Keyboard, True)}


@pytest.fixture(params=HANDS)
def hand(request: pytest.FixtureRequest, chromium, console: Console) -> Iterator[Mouse]:
    """Somebody who has logged in."""
    kind, scripts = HANDS[request.param]
    reading = Reading(chromium, scripts=scripts)
    with reading as page:
        page.goto(f"{console.url}/login")
        made = kind(page)
        made.fill("#secret", console.secret)
        made.press("button", "Log in")
        made.sees("Overview")
        yield made


def test_an_identifier_is_minted_edited_and_led_through_its_life(hand, console):
    hand.press("link", "Mint")
    hand.fill("#value-1", "On the origin of species")
    hand.fill("#value-4", "https://library.example/origin")
    hand.press("button", "Mint")
    hand.sees("A new identifier was minted.")
    hand.press("link", "Edit")
    hand.fill("#value-2", "On the origin of birds")
    hand.press("button", "See what changes")
    hand.sees("On the origin of species On the origin of birds")
    hand.press("button", "Save")
    hand.sees("The changes were saved.")
    hand.press("button", "Check the link now")
    hand.sees("https://library.example/origin")
    hand.unfold("Write a note")
    hand.fill("#note", "Ask Ada.")
    hand.press("button", "Save the note")
    hand.sees("Ask Ada.")
    hand.press("link", "Make unavailable")
    hand.press("link", "Cancel")
    hand.press("link", "Make unavailable")
    hand.fill("#reason", "In repair")
    hand.press("button", "Make unavailable")
    hand.sees("Reason: In repair")
    hand.press("link", "Publish")
    hand.press("button", "Publish")
    hand.press("link", "Reserve")
    hand.press("button", "Reserve")
    hand.sees("It is reserved.")
    undo = hand.page.locator(".timeline .button", has_text="Undo").nth(1)
    hand.lead_on(undo)
    hand.press("button", "See what changes")
    hand.press("button", "Save")
    hand.sees("On the origin of species")
    hand.press("link", "Withdraw")
    hand.sees("This cannot be undone.")
    hand.press("button", "Withdraw")
    hand.sees("It was withdrawn.")


def test_identifiers_are_found_and_what_is_shown_is_exported(hand, console):
    hand.press("link", "Find")
    hand.fill("[name=q]", "letters")
    hand.press("button", "Find")
    hand.sees("50 on this page; there are more")
    hand.unfold("More conditions, and columns")
    hand.choose("#state", "published")
    hand.fill("#target", "library.example")
    hand.tick("#column-2")
    hand.tick("#column-3")
    hand.press("button", "Find")
    hand.press("link", "Next page")
    hand.sees("Letters from the archive")
    lines = hand.download("Save all as CSV").splitlines()
    assert lines[0] == "id,title"
    assert len(lines) > 60
    assert json.loads(hand.download("Save all as JSON Lines").splitlines()[0])["state"] == "published"


def test_a_table_gets_identifiers_and_many_are_changed_and_changed_back(hand, console, tmp_path):
    table, old = tmp_path / "new.csv", f"http://{type(hand).__name__.lower()}.example/"
    table.write_text("what,_t\n" + "".join(f"Book {n},{old}{n}\n" for n in range(20)) + "=1+1,x\n")
    hand.press("link", "Mint")
    hand.attach("#file", table)
    hand.press("button", "Upload and check")
    hand.waits_for("Will be left out: 1")
    hand.press("button", "Mint 20, without the rows below")
    hand.waits_for("20 identifiers were minted.")
    lines = hand.download("Download the table with its identifiers").splitlines()
    names = [line.partition(",")[0] for line in lines[1:21]]
    assert all(name.startswith("ark:/13030/kt") for name in names)
    changes = tmp_path / "changes.csv"
    changes.write_text(f"id,what\n{names[0]},Another title\n")
    hand.press("link", "Change many")
    hand.attach("#file", changes)
    hand.press("button", "Upload and check")
    hand.waits_for("Another title")
    hand.press("button", "Change 1")
    hand.waits_for("1 value was bound.")
    hand.press("link", "Change many")
    hand.fill("#old", old)
    hand.fill("#new", "https://new.example/")
    hand.press("button", "See what would change")
    hand.waits_for("20 values will be changed")
    hand.press("button", "Change 20")
    hand.waits_for("20 values were changed.")
    hand.press("link", "Undo…")
    hand.press("button", "See what would be undone")
    hand.waits_for("20 values will be changed")
    hand.press("button", "Undo 20")
    hand.waits_for("20 values were changed.")
    with noidtools.open(console.folder) as minter:
        assert minter.get(names[3], "_t") == f"{old}3"
        assert minter.get(names[0], "what") == "Another title"


def test_a_minter_is_administered(hand, console):
    hand.press("link", "Rules")
    hand.unfold("Write a rule")
    hand.fill("#pattern", "^13030/ktz(.*)$")
    hand.fill("#replacement", "https://rules.example/$1")
    hand.press("button", "Save the rule")
    hand.fill("[name=name]", "ark:/13030/ktz5")
    hand.press("button", "Show each step")
    hand.sees("It leads to https://rules.example/5 (302)")
    hand.unfold("Remove the rule ^13030/ktz(.*)$")
    hand.press("button", "Remove the rule ^13030/ktz(.*)$")
    hand.press("link", "Holds and queue")
    hand.fill("#hold-ids", "13030/ktheld")
    hand.press("button", "Hold")
    hand.sees("The identifiers are on hold.")
    hand.fill("#hold-ids", "13030/ktheld")
    hand.press("button", "Release")
    hand.press("link", "Access")
    hand.fill("#mint-limit", "5000")
    hand.press("button", "Save the policy")
    hand.fill("#token-name", "temporary")
    hand.tick("#may-bind")
    hand.press("button", "Make the token")
    hand.sees("The token temporary was made.")
    hand.unfold("Revoke temporary")
    hand.sees("Whoever uses it is refused from then on.")
    hand.press("button", "Revoke temporary")
    hand.sees("The token was revoked.")
    hand.press("link", "Promises")
    hand.fill("#custodian", f"The Library, {type(hand).__name__}")
    hand.press("button", "Save the custodian")
    hand.fill("#persistence", "As long as the library.")
    hand.press("button", "Save the promises")
    hand.sees("The policy was saved.")
    hand.press("link", "Links")
    hand.sees("Never checked.")
    hand.press("link", "Log")
    hand.sees("token:everything@")
    hand.press("button", "Log out")
    hand.sees("Paste a token of a minter.")


PAGES = ("", "find", "find?q=letters&columns=id,title,who,odd", "find?q=%22open", "name?id={name}", "name?id={hostile}",
         "name/edit?id={hostile}", "name/state?id={name}&to=withdraw", "name?id=absent", "mint", "change", "rules",
         "rules?name={name}", "queue", "access", "promises", "links", "log", "login")


@pytest.fixture(scope="module")
def page(chromium, console: Console) -> Iterator[Page]:
    """A page of somebody who has logged in."""
    with Reading(chromium) as made:
        made.goto(f"{console.url}/login")
        made.fill("#secret", console.secret)
        made.get_by_role("button", name="Log in").click()
        made.get_by_role("heading", name="Overview").wait_for()
        yield made


def problems(page: Page) -> list[str]:
    """What is wrong with a page on a phone in the light, and on a desktop in the dark: colours do not depend on the
    width, nor the layout on the colours."""
    found = []
    for view, rules in ((VIEWS[0], ()), (VIEWS[-1], ("color-contrast", "target-size"))):
        found += seen(page, view, *rules)
    return found


def seen(page: Page, view: dict[str, Any], *rules: str) -> list[str]:
    page.emulate_media(color_scheme="dark" if view["dark"] else "light")
    page.set_viewport_size({"width": view["width"], "height": 900})
    found = [f"{view}: {finding}" for finding in findings(page, *rules)]
    return found + ([f"{view}: it is {overflow(page)} pixels wider than its window"] if overflow(page) > 0 else [])


@pytest.mark.parametrize("path", PAGES)
def test_axe_finds_nothing_on_any_page_and_none_is_wider_than_its_window(page, console, path):
    page.goto(f"{console.url}/{path.format(name=console.name, hostile=console.hostile)}")
    assert problems(page) == []


@pytest.mark.long
@pytest.mark.parametrize("path", PAGES)
def test_axe_finds_nothing_with_all_rules_in_any_view(page, console, path):
    page.goto(f"{console.url}/{path.format(name=console.name, hostile=console.hostile)}")
    assert [problem for view in VIEWS for problem in seen(page, view)] == []


def test_axe_finds_nothing_on_the_pages_of_forms_that_were_sent(page, console, tmp_path):
    table = tmp_path / "\"'><img src=x onerror=alert(1)>.csv"
    table.write_text(f'what,"{HOSTILE[:200].replace(chr(34), chr(34) * 2)}"\n{RTL},b\n=x,y\n')
    page.goto(f"{console.url}/name/edit?id={console.name}")
    page.fill("#value-2", HOSTILE)
    page.get_by_role("button", name="See what changes").last.click()
    page.get_by_role("button", name="Save", exact=True).wait_for()
    assert problems(page) == []
    page.goto(f"{console.url}/mint")
    page.set_input_files("#file", table)
    page.get_by_role("button", name="Upload and check").click()
    page.get_by_text(re.compile("will be minted")).wait_for()
    assert problems(page) == []


@pytest.mark.long
def test_the_pictures_of_the_documentation_are_made_by_a_script(tmp_path):
    subprocess.run([sys.executable, ROOT / "docs" / "screenshots.py", tmp_path / "made"], check=True, timeout=300)
    pages = "".join((ROOT / page).read_text("utf-8") for page in ("README.md", "docs/console.md"))
    shown = set(re.findall(r"\((?:docs/)?images/([a-z-]+\.png)\)", pages))
    assert {made.name for made in (tmp_path / "made").iterdir()} == shown
    for picture in (ROOT / "docs" / "images").iterdir():
        assert picture.name in shown and picture.stat().st_size < 100_000, picture


@pytest.mark.parametrize("server", ["nginx-resolver", "apache-resolver"])
def test_the_account_of_the_web_server_logs_in(chromium, deploy, server):
    deployment = deploy(server)
    with Reading(chromium, user=USER, password=PASSWORD) as page:
        page.goto(f"http://localhost:{deployment.port}/console")
        page.get_by_role("link", name="Log in with a name and a password").click()
        page.get_by_role("heading", name="Overview").wait_for()
        assert f"You are {USER}." in page.locator("main").inner_text()
        page.get_by_role("link", name="Mint", exact=True).first.click()
        page.set_input_files("#file", {"name": "large.csv", "mimeType": "text/csv",
                                       "buffer": b"what\n" + b"x" * 200_000 + b"\n"})
        page.get_by_role("button", name="Upload and check").click()
        page.get_by_text(re.compile("1 identifier will be minted")).wait_for()
