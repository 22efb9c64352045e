"""noid status: how minters and a service are doing."""

from __future__ import annotations

import re

import pytest

from noidtools.minter.report import size_text
from support.served import Served


@pytest.mark.only("lmdb")
def test_the_status_of_a_minter_is_labelled_lines(noid):
    noid("dbcreate", "kt.sdd", "long", "13030", "x", "y")
    noid("mint", "25")
    noid("hold", "set", "13030/kt50")
    lines = dict(line.split(": ", 1) for line in noid("status").strip().splitlines())
    assert (lines["drawn"], lines["left"], lines["held"], lines["queued"]) == ("25", "75 of 100 (75.0 %)", "26", "0")
    assert lines["warning"] == "no backup of this minter is known: run 'noid backup'"
    assert lines["backup"] == "none is known" and " left on its disk" in lines["database"] and lines["readers"] == "1"
    noid("backup", "copy")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ, 0\.0 hours ago",
                        dict(line.split(": ", 1) for line in noid("status").strip().splitlines())["backup"])


@pytest.mark.only("lmdb")
def test_a_wrong_canary_and_an_unreadable_minter_end_it_with_status_1(noid, tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        noid("-f", name, "dbcreate", f"{name}.sdd", "long", "13030", "x", "y")
    assert noid.run("status", "--minters", str(tmp_path)).returncode == 0
    noid("-f", "a", "mint", "1")
    noid("-f", "a", "resolver", "canary", "13030/a00", "https://e.org/")
    (tmp_path / "b" / "NOID" / "data.mdb").rename(tmp_path / "data")
    done = noid.run("status", "--minters", str(tmp_path))
    assert done.returncode == 1 and done.stdout.count(b"error: ") == 2
    assert b"1 canaries lead to the wrong target" in done.stdout and b"restore a backup" in done.stdout


def test_it_tells_of_the_requests_that_a_service_answered(noid, tmp_path):
    (tmp_path / "a").mkdir()
    noid("-f", "a", "dbcreate", "a.sdd", "long", "13030", "x", "y")
    noid("-f", "a", "mint", "1")
    noid("-f", "a", "bind", "set", "13030/a00", "_t", "https://e.org/")
    noid("-f", "a", "bind", "set", ":idmap/^13030/a9", "_t", "https://r.org/")
    served = Served.start(tmp_path / "log", "serve", "--minters", tmp_path, "--http", "127.0.0.1:0", "--workers", "2",
                          "--user", "alice")
    try:
        asked = ("/ark:/13030/a00",) * 3 + ("/ark:/13030/a97", "/ark:/13030/a11", "/noidu_a?mint+1", "/noidu_a?mintt+1")
        statuses = [served.get(path).status for path in asked]
        assert statuses[:4] == [302] * 4 and statuses[5] == 200
        url = "http://{}:{}/".format(*served.address)
        printed = noid("status", "--minters", str(tmp_path), "--url", url)
    finally:
        served.stop()
    lines = dict(line.split(": ", 1) for line in printed[printed.index("service: "):].strip().splitlines())
    assert lines == {"service": url, "ready": "yes", "requests": "8"}
    done = noid.run("status", "--minters", str(tmp_path), "--url", url)
    assert done.returncode == 1
    assert b"error: the service is not ready: it does not answer" in done.stdout
    assert "wants the address of a resolver" in noid.refused("status", "--minters", str(tmp_path), "--url", "x")


def test_sizes_are_written_for_people():
    assert [size_text(size) for size in (0, 999, 1000, 12_345, 123_456, 1e9, 2.5e15)] == [
        "0 bytes", "999 bytes", "1.0 kB", "12.3 kB", "123 kB", "1.0 GB", "2500 TB"]
