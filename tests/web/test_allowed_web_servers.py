"""FastCGI and SCGI on TCP: whoever connects names the user, so that only listed web servers may."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from noidtools.server.allowed import AllowedAddresses
from support import gateway
from support.minter import create_in_child
from support.process import NOID
from support.project import ROOT
from support.served import Served


@pytest.mark.parametrize("way", ["--fcgi", "--scgi"])
def test_tcp_without_a_list_of_web_servers_is_refused_with_the_reason(tmp_path: Path, way: str) -> None:
    create_in_child(tmp_path / "kt5", "kt.reeded")
    words = ["serve", "--minters", tmp_path, way, "127.0.0.1:0"]
    done = subprocess.run([*NOID, *words], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "believes whoever connects" in done.stderr and "--allow" in done.stderr and "Unix socket" in done.stderr


@pytest.mark.parametrize("way", ["--fcgi", "--scgi"])
def test_only_listed_addresses_are_served(serve: Callable[..., Served], way: str) -> None:
    served = serve(way, "127.0.0.1:0", "--allow", "127.0.0.2", "--allow", "192.0.2.0/24")
    carry = gateway.fastcgi if way == "--fcgi" else gateway.scgi
    with pytest.raises((OSError, EOFError, ValueError, KeyError)):
        carry(served.address, "policy+admin+nobody", path="/noidu_kt5", user="boss")
    served.until(lambda: "127.0.0.1 was closed" in served.log.read_text())
    with socket.socket() as peer:
        peer.bind(("127.0.0.2", 0))
        peer.settimeout(20)
        peer.connect(served.address)
        variables = gateway.environ("policy", path="/noidu_kt5", user="boss")
        if way == "--fcgi":
            peer.sendall(gateway.request_bytes(variables))
        else:
            packed = "".join(f"{name}\0{text}\0" for name, text in {**variables, "CONTENT_LENGTH": "0"}.items())
            peer.sendall(b"%d:%b," % (len(packed), packed.encode()))
        out = b""
        while piece := peer.recv(65536):
            out += piece
    assert b"200 OK" in out and b"admin: authenticated" in out


def test_the_list_may_be_in_the_variable_of_the_fastcgi_specification(serve: Callable[..., Served]) -> None:
    served = serve("--fcgi", "127.0.0.1:0", env={**os.environ, "FCGI_WEB_SERVER_ADDRS": "192.0.2.7, 127.0.0.1"})
    assert served.fastcgi("mint+1")[0] == 200


def test_noid_fcgi_on_tcp_needs_the_variable_too(tmp_path: Path) -> None:
    create_in_child(tmp_path / "kt5", "kt.reeded")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        done = subprocess.run([sys.executable, ROOT / "cgi-bin" / "noid.fcgi"], stdin=listener, capture_output=True,
                              env={**os.environ, "NOID_MINTERS": str(tmp_path)}, check=False, timeout=60)
    assert done.returncode == 2 and b"FCGI_WEB_SERVER_ADDRS" in done.stderr


@pytest.mark.parametrize(("address", "contained"), [
    ("127.0.0.1", True), ("127.0.0.2", False), ("::ffff:127.0.0.1", True), ("10.1.2.3", True), ("11.1.2.3", False),
    ("2001:db8::1", True), ("2001:db8::2", False), ("fe80::1%eth0", False), ("", False), ("x", False),
])
def test_addresses_and_networks_are_compared_as_numbers(address: str, contained: bool) -> None:
    allowed = AllowedAddresses(["127.0.0.1", "10.0.0.0/8", "2001:db8:0::1"])
    assert (address in allowed) == contained
