"""Fixtures for what is served: minters behind URLs, and `noid serve` processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.minter import Noid, create_in_child
from support.served import Served
from support.templates import LONG_TERM
from support.wsgi import CommandClient

Serve = Callable[..., Served]


@pytest.fixture
def kt5(tmp_path: Path) -> Iterator[Noid]:
    """A long-term minter with one bound name, 13030/kt4x551, in a folder of minters."""
    made = Noid.created(tmp_path / "kt5", *LONG_TERM)
    assert made.mint_with_target("https://a.example/x") == "13030/kt4x551"
    yield made
    made.close()


@pytest.fixture
def web(tmp_path: Path) -> CommandClient:
    """A client of the minter kt5 in a folder of minters."""
    create_in_child(tmp_path / "kt5", "kt.reeded")
    return CommandClient(tmp_path)


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Starts `noid serve` for a folder with the minter kt5."""
    create_in_child(tmp_path / "kt5", "kt.reeded")
    started: list[Served] = []

    def start(*words: str, **options: Any) -> Served:
        log = tmp_path / f"log{len(started)}"
        started.append(Served.start(log, "serve", "--minters", str(tmp_path), *words, cwd=tmp_path, **options))
        return started[-1]

    yield start
    for served in started:
        served.stop()
        assert "Traceback" not in served.log.read_text()


@pytest.fixture
def http_server(serve: Serve) -> Served:
    """One that speaks HTTP, with a user for everybody at this computer."""
    return serve("--http", "127.0.0.1:0", "--user", "alice")


@pytest.fixture
def fcgi(serve: Serve, tmp_path: Path) -> Served:
    """One that speaks FastCGI at a Unix socket, with two processes."""
    served = serve("--fcgi", str(tmp_path / "noid.sock"), "--workers", "2")
    served.until(lambda: len(served.workers) == 2)
    return served
