"""Exported maps, read by the servers' own programs."""

from __future__ import annotations

import os
import subprocess

import pytest

from noidtools.resolution.maps import export
from support.minter import Noid
from support.servers.system import program


@pytest.fixture
def free(tmp_path):
    minter = Noid.created(tmp_path / "m")
    yield minter
    minter.close()


def fill(minter: Noid) -> None:
    minter.set_target("13030/a", "https://a.example/x")
    minter.set_target("13030/b", "303 https://b.example/1|https://b.example/2")
    minter.set_target("13030/c", "https://c.example/ä b${suffix}")
    minter.set_target("13030/d", "javascript:alert(1)")
    minter.set_target("with blank", "https://e.example/")
    minter.set_target("#comment", "https://f.example/")
    minter.set_target("13030/long", "https://g.example/" + "x" * 2000)
    minter.set_target("13030/empty", " ")
    minter.text("bind", "set", "13030/other", "what", "https://not-a-target.example/")


def test_nginx_accepts_what_is_written(free, tmp_path):
    fill(free)
    for octet in range(1, 256):
        if octet != 0x0A:
            free.set_target(b"13030/" + bytes([octet]) + b"x", b"https://a.example/" + bytes([octet]))
            if octet != ord(":"):  # stands for what is read from input, and names nothing
                free.set_target(bytes([octet]), b"https://a.example/" + bytes([octet]))
    for name in ("Default", "hostnames", "volatile", "13030/AB", "13030/aB"):
        free.set_target(name, "https://a.example/?{}[]()*$;")
    export(free.opened, "nginx", str(tmp_path / "names.map"))
    (tmp_path / "nginx.conf").write_text(
        f"pid {tmp_path}/pid; events {{}} http {{ access_log off; map_hash_bucket_size 4096;\n"
        f"map $uri $t {{ default ''; include {tmp_path}/names.map; }} }}\n")
    done = subprocess.run([program("nginx"), "-t", "-c", str(tmp_path / "nginx.conf"), "-e", "stderr"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "test is successful" in done.stderr, done.stderr


def test_a_map_for_apache_in_dbm_format_is_one_file(free, tmp_path):
    fill(free)
    assert export(free.opened, "dbm", str(tmp_path / "names.dbm")) == (3, 5)
    assert sorted(os.listdir(tmp_path)) == ["m", "names.dbm"]
    assert b"https://a.example/x" in (tmp_path / "names.dbm").read_bytes()
