"""The console in Chromium: every task by clicking with scripts switched off, and by keyboard alone; and each page as
axe-core, a phone and somebody in the dark see it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

import noidtools
from noidtools.statistics.counting import ResolutionCounter
from noidtools.verification.health import link_database
from support.hands import HANDS, Keyboard, Mouse, hands_at
from support.project import ROOT
from support.reading import VIEWS, Reading, findings, overflow
from support.served import ANY_PORT, Served
from support.servers.deployment import PASSWORD, USER

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)> {{ 7*7 }} \u202egnp.exe " + "x" * 5000
RTL = "\u05de\u05db\u05ea\u05d1\u05d9\u05dd \u05de\u05d4\u05d0\u05e8\u05db\u05d9\u05d5\u05df"


def key_of(name: str) -> bytes:
    """The name as it is stored."""
    return name.removeprefix("ark:/").encode()


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
            (self.gone,) = minter.mint(1, elements={"title": HOSTILE})
            minter.withdraw(self.gone, reason=HOSTILE[:4000], successor=self.name)
            minter.set_resolver(statistics=True)
            # For each kind of hand a link that has moved.
            self.moved = dict(zip(HANDS, minter.mint(len(HANDS)), strict=True))
            (self.broken,) = minter.mint(1, elements={"title": "A broken link", "_t": "http://gone.example/"})
            for number, name in enumerate(self.moved.values()):
                minter.bind(name, "_t", f"http://moved.example/{number}")
        counter = ResolutionCounter()
        counter.add(str(self.folder), key_of(self.name))
        counter.flush()
        with link_database(str(self.folder), create=True) as database:
            database.execute("INSERT INTO targets VALUES (?, 1, 1, 'no such host', NULL, 1, 3, 1, 1, '')",
                             (b"http://gone.example/",))
            database.execute("INSERT INTO names VALUES (?, ?)", (key_of(self.broken), b"http://gone.example/"))
            for number, name in enumerate(self.moved.values()):
                url = f"http://moved.example/{number}"
                database.execute("INSERT INTO targets VALUES (?, 1, 1, '301', 1, NULL, 0, 1, NULL, ?)",
                                 (url.encode(), url.replace("http:", "https:")))
                database.execute("INSERT INTO names VALUES (?, ?)", (key_of(name), url.encode()))
        self._served = Served.start(folder / "log", "-f", self.folder, "serve", "--http", ANY_PORT, "--workers", "1")
        self.url = f"http://localhost:{self._served.address[1]}/console"

    def stop(self) -> None:
        self._served.stop()


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    made = Console(tmp_path_factory.mktemp("console"))
    yield made
    made.stop()


@pytest.fixture(params=HANDS)
def hand(request: pytest.FixtureRequest, chromium, console: Console) -> Iterator[Mouse]:
    """Somebody who has logged in."""
    with hands_at(chromium, request.param) as made:
        made.page.goto(f"{console.url}/login")
        made.fill("#secret", console.secret)
        made.press("button", "Log in")
        made.sees("Overview")
        yield made


def test_the_overview_shows_use_and_leads_on(hand):
    hand.sees("Resolved per day 1 in 30 days")
    hand.unfold("As a table")
    hand.sees("Day Minted")
    hand.press("link", "Mint in kt5")
    hand.sees("names begin with ark:/13030/kt")
    hand.press("link", "Cancel")
    hand.press("link", "kt5")
    hand.sees("50 on this page")


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
    confirm(hand, "Make unavailable", "Readers see a tombstone", reason="In repair")
    hand.sees("Reason: In repair")
    confirm(hand, "Publish", "Readers can follow it from now on")
    hand.sees("It is published.")
    confirm(hand, "Reserve", "Readers can no longer follow it")
    hand.sees("It is reserved.")
    undo = hand.page.locator(".timeline .button", has_text="Undo").nth(1)
    hand.lead_on(undo)
    hand.press("button", "See what changes")
    hand.press("button", "Save")
    hand.sees("On the origin of species")
    confirm(hand, "Withdraw", "This cannot be undone.")
    hand.sees("It was withdrawn.")


def confirm(hand: Mouse, action: str, consequence: str, **fields: str) -> None:
    """Change the state of the identifier of the page, after its consequence was read and the first try given up."""
    hand.press("link", action)
    hand.sees(consequence)
    hand.press("link", "Cancel")
    hand.press("link", action)
    for field, text in fields.items():
        hand.fill(f"#{field}", text)
    hand.press("button", action)


def test_the_page_of_an_identifier_shows_its_relations_and_its_use(hand, console):
    hand.press("link", "Find")
    hand.fill("[name=q]", console.name)
    hand.press("button", "Find")
    hand.press("link", console.name)
    hand.sees("synonym doi:10.1000/182, according to The Library")
    expect(hand.page.get_by_role("img", name="The relations in the list below, as a picture")).to_be_visible()
    hand.unfold("As a table")
    hand.sees("Day Resolved")
    if isinstance(hand, Keyboard):
        hand.use("button", "Copy")
        hand.page.wait_for_function("async name => await navigator.clipboard.readText() === name", arg=console.name)
    hand.press("link", "ark:/13030/ktnick")
    hand.press("link", console.name)
    hand.press("link", "Page for readers")
    hand.sees("Go to the object")


def test_some_are_reserved_at_once(hand):
    hand.press("link", "Mint")
    hand.fill("#count", "3")
    hand.choose("#state", "reserved: only we see it")
    hand.press("button", "Mint")
    hand.sees("3 identifiers were minted")
    hand.lead_on(hand.page.locator(".ids a").nth(2))
    hand.sees("reserved")
    confirm(hand, "Publish", "Readers can follow it from now on")
    hand.sees("It is published.")


def test_identifiers_are_found_and_what_is_shown_is_exported(hand, console):
    hand.press("link", "Find")
    hand.fill("[name=q]", "letters")
    hand.press("button", "Find")
    hand.sees("50 on this page; there are more")
    hand.unfold("More conditions, and columns")
    hand.choose("#minter", "kt5")
    hand.choose("#state", "published")
    hand.fill("#since", "2020-01-01")
    hand.fill("#until", "2999-01-01")
    hand.fill("#prefix", "ark:/13030/kt")
    hand.fill("#element", "title")
    hand.fill("#words", "archive")
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
    hand.press("link", "Mint")
    hand.attach("#file", table)
    hand.press("button", "Upload and check")
    hand.waits_for("The same table was minted before")
    hand.press("button", "Cancel")
    hand.sees("It was deleted here.")
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
    hand.sees("The holds were released.")
    with noidtools.open(console.folder) as minter:
        (used,) = minter.mint(1)
    hand.fill("#queue-ids", used)
    hand.choose("#when", "before all others")
    hand.press("button", "Queue")
    hand.sees("In the queue: 1")
    hand.fill("#queue-ids", used)
    hand.press("button", "Take out")
    hand.sees("In the queue: 0")
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
    hand.press("link", "Log")
    hand.sees("token:everything@")
    hand.fill("[name=action]", "custodian")
    hand.press("button", "Show")
    hand.sees("custodian")
    hand.press("button", "Log out")
    hand.sees("Paste a token of a minter.")


def test_a_link_that_has_moved_is_changed_as_the_report_offers(hand, request, console):
    name = console.moved[request.node.callspec.params["hand"]]
    hand.press("link", "has 1 target that is broken")
    hand.sees(f"{console.broken} http://gone.example/ It fails")
    hand.press("button", f"Use the new address for {name} …")
    hand.waits_for("1 value will be changed")
    hand.press("button", "Change 1")
    hand.waits_for("1 value was changed.")
    with noidtools.open(console.folder) as minter:
        assert minter.get(name, "_t").startswith("https://moved.example/")


# Short lists: of a long one axe-core looks at each row.
PAGES = ("", "find?state=withdrawn", "find?prefix={hostile}&columns=id,title,target,odd", "find?q=%22open",
         "find?q=nothing", "name?id={name}", "name?id={hostile}", "name?id={gone}", "name?id=absent",
         "name/edit?id={hostile}", "name/state?id={name}&to=withdraw", "mint", "change", "rules", "rules?name={name}",
         "queue", "access", "promises", "links", "log?before=12", "log?who=nobody", "login")


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
    page.goto(f"{console.url}/{path.format(name=console.name, hostile=console.hostile, gone=console.gone)}")
    assert problems(page) == []


@pytest.mark.long
@pytest.mark.parametrize("path", PAGES)
def test_axe_finds_nothing_with_all_rules_in_any_view(page, console, path):
    page.goto(f"{console.url}/{path.format(name=console.name, hostile=console.hostile, gone=console.gone)}")
    assert [problem for view in VIEWS for problem in seen(page, view)] == []


def send(page: Page, path: str, button: str, **fields: str) -> None:
    """Fill in the fields of a page, and use a button that leads to another."""
    page.goto(path)
    for field, text in fields.items():
        page.fill(f"#{field.replace('_', '-')}", text)
    press(page, button)


def press(page: Page, button: str) -> None:
    page.get_by_role("button", name=button, exact=True).last.click()


def test_axe_finds_nothing_on_the_pages_of_forms_that_were_sent(page, console):
    send(page, f"{console.url}/name/edit?id={console.name}", "See what changes", value_2=HOSTILE)
    page.get_by_role("button", name="Save", exact=True).wait_for()
    assert problems(page) == []
    send(page, f"{console.url}/mint", "Mint", count="2")
    page.get_by_role("heading", name="2 identifiers were minted").wait_for()
    assert problems(page) == []
    send(page, f"{console.url}/access", "Make the token", token_name="x" * 60)
    page.get_by_text("was made. Its secret is shown this once").wait_for()
    assert problems(page) == []
    send(page, f"{console.url}/name?id={console.name}", "Check the link now")
    page.get_by_role("status").wait_for()
    assert problems(page) == []


def test_axe_finds_nothing_on_the_pages_of_tables(page, console, tmp_path):
    table = tmp_path / "\"'><img src=x onerror=alert(1)>.csv"
    table.write_text(f'what,"{HOSTILE[:200].replace(chr(34), chr(34) * 2)}"\n{RTL},b\n=x,y\n')
    page.goto(f"{console.url}/mint")
    page.set_input_files("#file", table)
    press(page, "Upload and check")
    page.get_by_text(re.compile("will be minted")).wait_for()
    assert problems(page) == []
    press(page, "Mint 1, without the rows below")
    page.get_by_text("1 identifier was minted.").wait_for()
    assert problems(page) == []
    changes = tmp_path / "changes.csv"
    changes.write_text(f"id,title,who\n{console.hostile},{'y' * 5000},{RTL}\n{HOSTILE[:100].replace(',', '')!r},x,y\n")
    page.goto(f"{console.url}/change")
    page.set_input_files("#file", changes)
    press(page, "Upload and check")
    page.get_by_text(re.compile("will be bound")).wait_for()
    assert problems(page) == []
    # The uploads are in the list of jobs.
    page.goto(f"{console.url}/change")
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
