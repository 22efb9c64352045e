"""Hands at a page in Chromium: somebody who clicks while scripts are switched off, and somebody with a keyboard alone.

    with hands_at(chromium, "by keyboard alone") as hand:
        hand.page.goto(url)
        hand.fill("#name", "13030/kt4x551")
        hand.press("button", "Find")
        hand.sees("Not found")
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, FileChooser, Locator, Page

from support.reading import Reading


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
        found = self.page.locator("summary", has_text=summary).first
        self._reach(found)
        self._activate(found)

    def fill(self, field: str, text: str) -> None:
        self.page.locator(field).fill(text)

    def choose(self, field: str, option: str) -> None:
        self.page.locator(field).select_option(label=option)

    def use(self, role: str, name: str) -> None:
        """Use a button that does something on the page itself."""
        found = self._find(role, name)
        self._reach(found)
        self._activate(found)

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


# About how many things are between the focus and an element, negative if it is before the focus, so that not every
# press of the key has to be looked at.
STOPS_BEFORE = """element => {
  const stops = [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")]
    .filter(stop => stop.tabIndex >= 0 && stop.type !== "hidden" && stop.checkVisibility());
  return stops.indexOf(element) - stops.indexOf(document.activeElement);
}"""


class Keyboard(Mouse):
    """Somebody who has a keyboard alone: goes to a thing with the tab key, and uses it with the keys that it knows."""

    def _reach(self, found: Locator) -> None:
        stops = int(found.evaluate(STOPS_BEFORE))
        key = "Tab" if stops > 0 else "Shift+Tab"
        for _ in range(abs(stops) - 1):
            self.page.keyboard.press(key)
        for _ in range(150):
            if found.evaluate("element => element === document.activeElement"):
                return
            self.page.keyboard.press(key)
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


@contextmanager
def hands_at(chromium: Browser, name: str) -> Iterator[Mouse]:
    """Hands of a kind in HANDS, at an empty page in a session of its own."""
    kind, scripts = HANDS[name]
    with Reading(chromium, scripts=scripts) as page:
        yield kind(page)
