"""FastCGI on TCP: a connection names its user, so that only listed web servers may connect."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support import gateway
from support.minter import create_in_child
from support.process import NOID
from support.project import ROOT
from support.served import Served


def test_tcp_without_a_list_of_web_servers_is_refused_with_the_reason(tmp_path: Path) -> None:
    create_in_child(tmp_path / "kt5", "kt.reeded")
    words = ["serve", "--minters", tmp_path, "--fcgi", "127.0.0.1:9"]
    done = subprocess.run([*NOID, *words], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "believes any client" in done.stderr and "--allow" in done.stderr and "Unix socket" in done.stderr


def test_only_listed_addresses_are_served(serve: Callable[..., Served]) -> None:
    served = serve("--fcgi", "127.0.0.1:0", "--allow", "127.0.0.2", "--allow", "192.0.2.1")
    with pytest.raises((OSError, EOFError)):
        gateway.fastcgi(served.address, "policy+admin+nobody", path="/noidu_kt5", user="boss")
    with socket.socket() as peer:
        peer.bind(("127.0.0.2", 0))
        peer.settimeout(20)
        peer.connect(served.address)
        peer.sendall(gateway.request_bytes(gateway.environ("policy", path="/noidu_kt5", user="boss")))
        status, _, text = gateway.answer(peer)
    assert status == 200 and b"admin: authenticated" in text


def test_the_list_may_be_in_the_variable_of_the_fastcgi_specification(serve: Callable[..., Served]) -> None:
    served = serve("--fcgi", "127.0.0.1:0", env={**os.environ, "FCGI_WEB_SERVER_ADDRS": "192.0.2.7, 127.0.0.1"})
    assert served.fastcgi("mint+1")[0] == 200


def test_noid_fcgi_on_tcp_needs_the_variable_too(tmp_path: Path) -> None:
    create_in_child(tmp_path / "kt5", "kt.reeded")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        done = subprocess.run([sys.executable, ROOT / "cgi-bin" / "noid.fcgi"], stdin=listener, capture_output=True,
                              env={**os.environ, "NOID_MINTERS": str(tmp_path)}, check=False, timeout=60)
    assert done.returncode == 2 and b"FCGI_WEB_SERVER_ADDRS" in done.stderr
