"""A real browser, started afresh for each page, or kept open while somebody works with it."""

from __future__ import annotations

import json
import os
import shutil
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


def browser() -> str:
    """The path of Chromium, which has two names."""
    return shutil.which("chromium-browser") or program("chromium")


def _run(profile: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    command = [browser(), *FLAGS, f"--user-data-dir={profile}", *arguments]
    done = subprocess.run(command, capture_output=True, timeout=90, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done


def document(url: str, profile: Path, *, width: int = 1000, height: int = 800) -> str:
    """The page as the browser has it after everything on it was loaded and run."""
    return _run(profile, f"--window-size={width},{height}", "--dump-dom", url).stdout.decode()


def screenshot(url: str, profile: Path, file: Path, *, width: int = 1000, height: int = 800) -> bytes:
    _run(profile, f"--window-size={width},{height}", f"--screenshot={file}", url)
    return file.read_bytes()


class NavigatedError(Exception):
    """The page in which a script ran was replaced by another before the script ended."""


class BrowserSession:
    """A browser with one page, controlled through its DevTools protocol; logins are remembered as long as it is open.

    `hosts` are further names of 127.0.0.1.  To those the browser sends no Sec-Fetch headers by plain http.
    """

    def __init__(self, profile: Path, *hosts: str) -> None:
        to_browser, self._commands = os.pipe()
        self._events, from_browser = os.pipe()
        rules = ", ".join(f"MAP {host} 127.0.0.1" for host in hosts)
        # The protocol is spoken at the descriptors 3 and 4.
        script = f'exec "$@" 3<&{to_browser} 4>&{from_browser}'
        self._process = subprocess.Popen(
            ["/bin/bash", "-c", script, "browser", browser(), *FLAGS, f"--user-data-dir={profile}",
             "--remote-debugging-pipe", f"--host-resolver-rules={rules}", "--disable-features=HttpsUpgrades",
             "about:blank"],
            pass_fds=(to_browser, from_browser), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._rest = b""
        self._number = 0
        self._session = ""
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def __enter__(self) -> BrowserSession:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        os.close(self._commands)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._events)

    def _call(self, method: str, **parameters: object) -> dict[str, Any]:
        self._number += 1
        message: dict[str, object] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self._rest:
                piece = os.read(self._events, 1 << 16)
                assert piece, "the browser has ended"
                self._rest += piece
            text, _, self._rest = self._rest.partition(b"\0")
            reply = json.loads(text)
            if reply.get("id") == self._number:
                if "navigated" in str(reply.get("error")):
                    raise NavigatedError(reply)
                assert "result" in reply, reply
                result: dict[str, Any] = reply["result"]
                return result

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
        return str(self.evaluate("document.body ? document.body.innerText : ''"))
