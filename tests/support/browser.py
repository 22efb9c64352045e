"""A real browser, and sessions in it that know nothing of each other."""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any

from support.servers.system import program

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
    "--disable-extensions",
)
SECONDS_TO_ANSWER = 60


class NavigatedError(Exception):
    """The page in which a script ran was replaced by another before the script ended."""


class Browser:
    """A running browser, controlled through its DevTools protocol; starting one costs more than what is done with it.

    It is Chromium without its windows, which takes a fifth of the processor time.

    `hosts` are further names of 127.0.0.1, `*` standing for any letters.  To those the browser sends no Sec-Fetch
    headers by plain http.
    """

    def __init__(self, profile: Path, *hosts: str) -> None:
        to_browser, self._commands = os.pipe()
        self._events, from_browser = os.pipe()
        rules = ", ".join(f"MAP {host} 127.0.0.1" for host in hosts)
        # The protocol is spoken at the descriptors 3 and 4.
        script = f'exec "$@" 3<&{to_browser} 4>&{from_browser}'
        self._process = subprocess.Popen(
            ["/bin/bash", "-c", script, "browser", program("chromium-headless-shell"), *FLAGS,
             f"--user-data-dir={profile}", "--remote-debugging-pipe", f"--host-resolver-rules={rules}",
             "--disable-features=HttpsUpgrades,SpareRendererForSitePerProcess", "about:blank"],
            pass_fds=(to_browser, from_browser), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._rest = b""
        self._number = 0

    def close(self) -> None:
        os.close(self._commands)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._events)

    def call(self, method: str, session: str = "", **parameters: object) -> dict[str, Any]:
        """The result of a command to the browser, or to one of its pages."""
        self._number += 1
        message: dict[str, object] = {"id": self._number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            reply = self._message()
            if reply.get("id") == self._number:
                if "navigated" in str(reply.get("error")):
                    raise NavigatedError(reply)
                assert "result" in reply, reply
                result: dict[str, Any] = reply["result"]
                return result

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            assert select.select([self._events], [], [], SECONDS_TO_ANSWER)[0], "the browser does not answer"
            piece = os.read(self._events, 1 << 16)
            assert piece, "the browser has ended"
            self._rest += piece
        text, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        return message

    def document(self, url: str, *, width: int = 1000, height: int = 800) -> str:
        """The page as the browser has it after everything on it was loaded and run."""
        with BrowserSession(self) as page:
            page.resize(width, height)
            page.enter(url)
            return str(page.evaluate("document.documentElement.outerHTML"))


class BrowserSession:
    """One page, opened as by somebody else than all pages before: logins and cookies are remembered until it is closed,
    and no other session knows of them."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._context = browser.call("Target.createBrowserContext")["browserContextId"]
        target = browser.call("Target.createTarget", url="about:blank", browserContextId=self._context)["targetId"]
        self._session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def __enter__(self) -> BrowserSession:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._browser.call("Target.disposeBrowserContext", browserContextId=self._context)

    def _call(self, method: str, **parameters: object) -> dict[str, Any]:
        return self._browser.call(method, self._session, **parameters)

    def resize(self, width: int, height: int) -> None:
        """Make the window as large as that."""
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def ignore_policies(self, ignored: bool) -> None:
        """Load pages without their Content-Security-Policy, as if they were pages of a site that has none."""
        self._call("Page.setBypassCSP", enabled=ignored)

    def enter(self, url: str) -> None:
        """Enter an address, as in the address bar, and wait for the page."""
        self._call("Page.navigate", url=url, transitionType="typed")
        self.wait()

    def evaluate(self, script: str) -> Any:
        return self._call("Runtime.evaluate", expression=script, returnByValue=True)["result"].get("value")

    def run(self, script: str) -> None:
        """Run a script in the page that leads to another page, and wait for that."""
        self.evaluate("window.isBefore = true")
        self.evaluate(f"setTimeout(() => {{ {script} }}, 0)")
        self.wait()

    def wait(self, seconds: float = 20) -> None:
        """Return when another page than that of the last action is there."""
        self.wait_for("document.readyState == 'complete' && !window.isBefore", seconds)

    def wait_for(self, condition: str, seconds: float = 20) -> None:
        """Return when a condition in the page is true."""
        deadline = time.monotonic() + seconds
        while not self._is(condition):
            assert time.monotonic() < deadline, (condition, self.url)
            time.sleep(0.05)

    def _is(self, condition: str) -> bool:
        try:
            return bool(self.evaluate(condition))
        except NavigatedError:
            return False  # while it was evaluated, another page took the place of this one

    @property
    def url(self) -> str:
        return str(self.evaluate("location.href"))

    @property
    def text(self) -> str:
        """What the page says, without its header and footer."""
        return str(self.evaluate("(document.querySelector('main') || document.body || {}).innerText || ''"))
