"""Uses a server as the EZID client of PyPI does: mints, creates, views, updates and deletes, and prints what it gets.

That client is of the time of Python 2: its syntax is translated, and what it imports as urllib2 is given to it here.
"""

from __future__ import annotations

import importlib.util
import sys
import types
import urllib.request
from pathlib import Path
from typing import Any

from fissix import refactor


class _Request(urllib.request.Request):
    def add_data(self, data: bytes) -> None:
        self.data = data


class _TextResponse:
    """A response whose body is text, as in Python 2."""

    def __init__(self, response: Any) -> None:
        self._response = response

    def read(self) -> str:
        return str(self._response.read(), "utf-8")

    def info(self) -> Any:
        return self._response.info()


class _Opener:
    """An opener whose responses are text."""

    def __init__(self, *handlers: Any) -> None:
        self._opener = urllib.request.build_opener(*handlers)
        self.add_handler = self._opener.add_handler

    def open(self, request: _Request) -> _TextResponse:
        return _TextResponse(self._opener.open(request))


def load_client() -> Any:
    urllib2 = types.ModuleType("urllib2")
    urllib2.__dict__.update(urllib.request.__dict__, Request=_Request, build_opener=_Opener)
    sys.modules["urllib2"] = urllib2
    spec = importlib.util.find_spec("EZID")
    assert spec and spec.origin
    tool = refactor.RefactoringTool(["fissix.fixes.fix_print", "fissix.fixes.fix_except"])
    module = types.ModuleType("EZID")
    exec(str(tool.refactor_string(Path(spec.origin).read_text(), "EZID.py")), module.__dict__)
    return module


def main() -> None:
    server, shoulder, user, password = sys.argv[1:]
    client = load_client().EZIDClient(server, credentials={"username": user, "password": password})
    minted = client.mint(shoulder, {"_target": "https://example.org/a", "erc.what": "100% a: b\nc"})
    print(minted)
    print(client.mint(shoulder))
    print(client.create(f"{minted}/2", {"_status": "reserved", "erc.who": "Ä"}), end="")
    print(client.update(minted, {"_status": "unavailable | repair"}), end="")
    print(client.delete(f"{minted}/2"), end="")
    print(client.view(minted), end="")
    print(client.logout(), end="")


main()
