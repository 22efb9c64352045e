"""Maps for servers that look names up by themselves."""

from __future__ import annotations

import os
import subprocess
import threading

import pytest
from resolver_support import LONG, Live
from server_support import program

from noidtools.errors import NoidError
from noidtools.resolution.export import export


@pytest.fixture
def free(tmp_path):
    live = Live(tmp_path / "m")
    yield live
    live.close()


def written(live: Live, form: str, **options) -> tuple[str, tuple[int, int]]:
    path = live.folder.parent / f"map.{form}"
    counts = export(live.minter, form, str(path), **options)
    return path.read_text(errors="surrogateescape").partition("\n")[2], counts


def fill(live: Live) -> None:
    live.target("13030/a", "https://a.example/x")
    live.target("13030/b", "303 https://b.example/1|https://b.example/2")
    live.target("13030/c", "https://c.example/ä b${suffix}")
    live.target("13030/d", "javascript:alert(1)")
    live.target("with blank", "https://e.example/")
    live.target("#comment", "https://f.example/")
    live.target("13030/long", "https://g.example/" + "x" * 2000)
    live.target("13030/empty", " ")
    live("bind", "set", "13030/other", "what", "https://not-a-target.example/")


def test_a_text_for_apache(free):
    fill(free)
    assert written(free, "txt") == (
        "13030/a https://a.example/x\n13030/b https://b.example/1\n13030/c https://c.example/%C3%A4%20b\n", (3, 5))


def test_a_map_for_nginx(free):
    free.target("13030/a", "https://a.example/x")
    free.target('q"u\\o', "https://b.example/$x")
    free.target("~tilde", "https://c.example/")
    free.target("default", "https://d.example/")
    free.target("Include", "https://e.example/")
    free.target("13030/{x};", "https://f.example/")
    assert written(free, "nginx") == (
        '"13030/a" "https://a.example/x";\n"13030/{x};" "https://f.example/";\n"\\\\Include" "https://e.example/";\n'
        '"\\\\default" "https://d.example/";\n"q\\"u\\\\o" "https://b.example/%24x";\n"\\\\~tilde" "https://c.example/";\n',
        (6, 0))


def test_names_that_differ_only_in_case_are_patterns_for_nginx(free):
    for name in ("13030/Ab", "13030/aB", "13030/ab", "13030/Xy", "13030/z", "Qq", "qq"):
        free.target(name, f"https://a.example/{name}")
    text, _ = written(free, "nginx")
    assert text == (
        '"~^13030/Ab$" "https://a.example/13030/Ab";\n"13030/Xy" "https://a.example/13030/Xy";\n'
        '"~^13030/aB$" "https://a.example/13030/aB";\n"~^13030/ab$" "https://a.example/13030/ab";\n'
        '"13030/z" "https://a.example/13030/z";\n"~^Qq$" "https://a.example/Qq";\n"~^qq$" "https://a.example/qq";\n')


def test_nginx_accepts_what_is_written(free, tmp_path):
    fill(free)
    for octet in range(1, 256):
        if octet != 0x0A:
            free.target(b"13030/" + bytes([octet]) + b"x", b"https://a.example/" + bytes([octet]))
            free.target(bytes([octet]), b"https://a.example/" + bytes([octet]))
    for name in ("Default", "hostnames", "volatile", "13030/AB", "13030/aB"):
        free.target(name, "https://a.example/?{}[]()*$;")
    export(free.minter, "nginx", str(tmp_path / "names.map"))
    (tmp_path / "nginx.conf").write_text(
        f"pid {tmp_path}/pid; events {{}} http {{ access_log off; map_hash_bucket_size 4096;\n"
        f"map $uri $t {{ default ''; include {tmp_path}/names.map; }} }}\n")
    done = subprocess.run([program("nginx"), "-t", "-c", str(tmp_path / "nginx.conf"), "-e", "stderr"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "test is successful" in done.stderr, done.stderr


def test_a_dbm_for_apache_is_one_file(free, tmp_path):
    fill(free)
    assert export(free.minter, "dbm", str(tmp_path / "names.dbm")) == (3, 5)
    assert sorted(os.listdir(tmp_path)) == ["m", "names.dbm"]
    assert b"https://a.example/x" in (tmp_path / "names.dbm").read_bytes()


def test_withdrawn_names_are_left_out_and_aliases_are_in(tmp_path):
    live = Live(tmp_path / "m", *LONG)
    first, second = live.minted("https://a.example/1"), live.minted("https://a.example/2")
    live.alias("13030/alias", f"ark:/{first}")
    live.alias("13030/loop", "13030/loop")
    live.withdraw(second)
    text, counts = written(live, "txt")
    assert text == f"{first} https://a.example/1\n13030/alias https://a.example/1\n" and counts == (2, 1)
    live.close()


def test_another_element_can_be_named(free):
    free("bind", "set", "13030/a", "myGoto", "https://a.example/")
    assert written(free, "txt", element=b"myGoto")[0] == "13030/a https://a.example/\n"
    free("resolver", "element", "myGoto")
    assert written(free, "txt")[0] == "13030/a https://a.example/\n"


def test_readers_of_the_map_see_the_old_one_or_the_new_one_whole(free, tmp_path):
    for number in range(300):
        free.minter.write(lambda writer, number=number: free.target(f"13030/{number:03}", f"https://a.example/{number}"))
    path = tmp_path / "map.txt"
    export(free.minter, "txt", str(path))
    stop, seen = threading.Event(), set()

    def read() -> None:
        while not stop.is_set():
            seen.add(len(path.read_text().splitlines()))

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(50):
        export(free.minter, "txt", str(path))
    stop.set()
    reader.join()
    assert seen == {301}
    assert sorted(os.listdir(tmp_path)) == ["m", "map.txt"]


def test_a_failed_export_leaves_the_old_map(free, tmp_path, monkeypatch):
    free.target("13030/a", "https://a.example/")
    path = tmp_path / "map.dbm"
    path.write_text("old")
    monkeypatch.setattr("noidtools.resolution.export.shutil.which", lambda *_, **__: None)
    with pytest.raises(NoidError, match="httxt2dbm is missing"):
        export(free.minter, "dbm", str(path))
    monkeypatch.setattr("noidtools.resolution.export.shutil.which", lambda *_, **__: "/bin/false")
    with pytest.raises(NoidError, match="httxt2dbm failed"):
        export(free.minter, "dbm", str(path))
    assert path.read_text() == "old" and sorted(os.listdir(tmp_path)) == ["m", "map.dbm"]
    with pytest.raises(NoidError, match="could not be written"):
        export(free.minter, "txt", str(tmp_path / "no" / "such" / "folder"))


def test_the_command(noid):
    noid("dbcreate")
    noid("bind", "set", "13030/a", "_t", "https://a.example/")
    noid("bind", "set", "with blank", "_t", "https://a.example/")
    assert noid("export", "--map", "txt", "map.txt") == (
        "ok: 1 target written\n"
        "note: 1 left out, because the form has no room for them or they cannot be followed\n\n")
    noid.refused("export", "map.txt", status=2)
