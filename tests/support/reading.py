"""Pages in Chromium as people read them: in light and dark, on a phone and a desktop, with and without scripts.

    with Reading(chromium, width=320, dark=True, scripts=False) as page:
        page.goto(url)
        assert findings(page) == []

`page` is a page of Playwright, https://playwright.dev/python/docs/api/class-page; `chromium` is a fixture.
"""

from __future__ import annotations

from types import TracebackType

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page

WIDTHS = (320, 1280)
# Each combination of a width and a colour scheme, as arguments of Reading.
VIEWS = tuple({"width": width, "dark": dark} for width in WIDTHS for dark in (False, True))


class Reading:
    """A page in a session of its own; at its end no script of the page may have failed or been refused."""

    def __init__(
        self, browser: Browser, *, width: int = 1280, dark: bool = False, scripts: bool = True, language: str = "en",
        user: str = "", password: str = "",
    ) -> None:
        self._context: BrowserContext = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light",
            java_script_enabled=scripts, locale=language, permissions=["clipboard-read", "clipboard-write"],
            http_credentials={"username": user, "password": password} if user else None,
        )
        self.page: Page = self._context.new_page()
        self.complaints: list[str] = []
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", lambda message: self.complaints.append(message.text)
                     if "Content Security Policy" in message.text else None)
        self.page.on("dialog", lambda dialog: self.complaints.append(f"a dialog: {dialog.message}"))

    def __enter__(self) -> Page:
        return self.page

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._context.close()
        if kind is None:
            assert self.complaints == []


def findings(page: Page, *rules: str) -> list[str]:
    """What axe-core finds wrong with a page, by some of its rules or by all; it needs scripts to be enabled."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(Axe().axe_script)
    options = {"resultTypes": ["violations"], **({"runOnly": list(rules)} if rules else {})}
    violations = page.evaluate("async options => (await axe.run(options)).violations", options)
    return [f"{one['id']}: {one['help']}: {node['html'][:200]} {node.get('failureSummary', '')[:200]}"
            for one in violations for node in one["nodes"]]


def overflow(page: Page) -> int:
    """By how many pixels the page is wider than the window."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))
