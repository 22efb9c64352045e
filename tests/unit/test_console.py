"""Messages on standard error, and the status lines of a terminal."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from noidtools import console
from noidtools.times import SECOND
from support.project import ROOT


def _python(code: str, **options) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-c", f"from noidtools.console import *\n{code}"], check=True,
                          env={"PYTHONPATH": str(ROOT)}, stderr=subprocess.PIPE, **options)


def test_an_error_is_one_line_whatever_it_contains():
    assert _python(r"write_error('a\nb\x1b[K\x7f ä \udcff')").stderr == b"a%0Ab%1B[K%7F \xc3\xa4 \xff\n"


def test_a_line_in_the_log_names_the_program_and_is_not_longer_than_a_thousand_characters():
    assert _python("log_line('noidr', 'nothing')").stderr == b"noidr: nothing\n"
    assert len(_python("log_line('noidr', 'x' * 5000)").stderr) == 1001


def test_a_closed_standard_error_does_not_matter():
    assert _python("import os\nos.close(2)\nwrite_error('lost')").stderr == b""
    assert _python("import sys\nsys.stderr = None\nwrite_error('written')").stderr == b"written\n"


class Terminal:
    """A pipe in the place of a terminal."""

    def __init__(self) -> None:
        self._reading, self.descriptor = os.pipe()
        os.set_blocking(self._reading, False)

    def text(self) -> str:
        try:
            return os.read(self._reading, 65536).decode()
        except BlockingIOError:
            return ""

    def close(self) -> None:
        os.close(self._reading)
        os.close(self.descriptor)


@pytest.fixture
def terminal():
    made = Terminal()
    yield made
    made.close()


def test_a_progress_bar_appears_after_a_while_and_is_cleared_at_the_end(terminal, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(console.time, "monotonic", lambda: now[0])
    bar = console.ProgressBar(terminal.descriptor)
    bar(1, 4, "")
    assert terminal.text() == ""
    now[0] = 0.5
    bar(2, 4, "1 failing")
    assert terminal.text() == "\r\x1b[K[###############...............] 2 of 4, 1 failing"
    bar(3, 4, "")
    assert terminal.text() == ""
    now[0] = 0.6
    bar(3, 4, "")
    assert terminal.text() == "\r\x1b[K[######################........] 3 of 4"
    bar(4, 4, "")
    bar(4, 4, "")
    assert terminal.text() == "\r\x1b[K"


def test_a_wait_is_displayed_if_it_is_long_or_one_of_many(terminal):
    indicator = console.WaitIndicator(terminal.descriptor)
    indicator(SECOND // 4, 0, 1)
    indicator(0, 0, 1)
    assert terminal.text() == ""
    indicator(SECOND * 5 // 4, 0, 1)
    indicator(SECOND // 4, 0, 1)
    indicator(0, 0, 1)
    assert terminal.text() == "\r\x1b[K0 of 1 made, the next in 1.3 s\r\x1b[K0 of 1 made, the next in 0.3 s\r\x1b[K"
    indicator(1, 2, 3)
    assert terminal.text() == "\r\x1b[K2 of 3 made, the next in 0.1 s"


def test_a_terminal_that_was_closed_does_not_stop_the_command(terminal):
    indicator = console.WaitIndicator(1 << 20)
    indicator(SECOND, 0, 1)
    indicator(0, 0, 1)


def test_a_line_of_the_log_is_one_line_for_every_reader(capfd):
    console.write_error("a\u2028b\u2029c\x85d\x0be\x9bf")
    line = capfd.readouterr().err
    assert line == "a%E2%80%A8b%E2%80%A9c%C2%85d%0Be%C2%9Bf\n" and len(line.splitlines()) == 1
