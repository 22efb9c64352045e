"""The command export: maps for servers that look names up by themselves."""

from __future__ import annotations

import os
import shutil
import threading

import pytest

from noidtools.errors import NoidError
from noidtools.resolution.maps import export
from support.minter import Noid
from support.templates import LONG_TERM


@pytest.fixture
def free(tmp_path):
    minter = Noid.created(tmp_path / "m")
    yield minter
    minter.close()


def written(minter: Noid, form: str, **options) -> tuple[str, tuple[int, int]]:
    path = minter.folder.parent / f"map.{form}"
    counts = export(minter.opened, form, str(path), **options)
    return path.read_text(errors="surrogateescape").partition("\n")[2], counts


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


def test_a_map_for_apache_in_text_format_lists_names_and_targets(free):
    fill(free)
    assert written(free, "txt") == (
        "13030/a https://a.example/x\n13030/b https://b.example/1\n13030/c https://c.example/%C3%A4%20b\n", (3, 5))


def test_a_map_for_nginx_quotes_its_names_and_targets(free):
    free.set_target("13030/a", "https://a.example/x")
    free.set_target('q"u\\o', "https://b.example/$x")
    free.set_target("~tilde", "https://c.example/")
    free.set_target("default", "https://d.example/")
    free.set_target("Include", "https://e.example/")
    free.set_target("13030/{x};", "https://f.example/")
    assert written(free, "nginx") == (
        '"13030/a" "https://a.example/x";\n"13030/{x};" "https://f.example/";\n"\\\\Include" "https://e.example/";\n'
        '"\\\\default" "https://d.example/";\n"q\\"u\\\\o" "https://b.example/%24x";\n"\\\\~tilde" "https://c.example/";\n',
        (6, 0))


def test_names_that_differ_only_in_case_are_patterns_for_nginx(free):
    for name in ("13030/Ab", "13030/aB", "13030/ab", "13030/Xy", "13030/z", "Qq", "qq"):
        free.set_target(name, f"https://a.example/{name}")
    text, _ = written(free, "nginx")
    assert text == (
        '"~^13030/Ab$" "https://a.example/13030/Ab";\n"13030/Xy" "https://a.example/13030/Xy";\n'
        '"~^13030/aB$" "https://a.example/13030/aB";\n"~^13030/ab$" "https://a.example/13030/ab";\n'
        '"13030/z" "https://a.example/13030/z";\n"~^Qq$" "https://a.example/Qq";\n"~^qq$" "https://a.example/qq";\n')


def test_maps_leave_out_withdrawn_names_and_contain_aliases(tmp_path):
    minter = Noid.created(tmp_path / "m", *LONG_TERM)
    first, second = minter.mint_with_target("https://a.example/1"), minter.mint_with_target("https://a.example/2")
    minter.text("alias", "13030/alias", f"ark:/{first}")
    minter.text("alias", "13030/lost", "13030/nothing")
    minter.text("withdraw", second)
    text, counts = written(minter, "txt")
    assert text == f"{first} https://a.example/1\n13030/alias https://a.example/1\n" and counts == (2, 1)
    minter.close()


def test_another_element_can_be_named(free):
    free.text("bind", "set", "13030/a", "myGoto", "https://a.example/")
    assert written(free, "txt", element=b"myGoto")[0] == "13030/a https://a.example/\n"
    free.text("resolver", "element", "myGoto")
    assert written(free, "txt")[0] == "13030/a https://a.example/\n"


@pytest.mark.slow
def test_readers_of_the_map_see_the_old_one_or_the_new_one_whole(free, tmp_path):
    for number in range(300):
        free.write(lambda writer, number=number: free.set_target(f"13030/{number:03}", f"https://a.example/{number}"))
    path = tmp_path / "map.txt"
    export(free.opened, "txt", str(path))
    stop, seen = threading.Event(), set()

    def read() -> None:
        while not stop.is_set():
            seen.add(len(path.read_text().splitlines()))

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(50):
        export(free.opened, "txt", str(path))
    stop.set()
    reader.join()
    assert seen == {301}
    assert sorted(os.listdir(tmp_path)) == ["m", "map.txt"]


@pytest.mark.parametrize(("form", "end"), [
    ("txt", ".new"), ("nginx", ".new"),
    pytest.param("dbm", ".new", marks=pytest.mark.servers), pytest.param("dbm", ".new.txt", marks=pytest.mark.servers),
])
def test_a_link_in_place_of_the_new_map_is_not_followed(free, tmp_path, form, end):
    """Whoever may write to the folder of the map could put it there for another account to follow."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    link = tmp_path / f"kt5.map.{os.getpid()}{end}"
    link.symlink_to(victim)
    with pytest.raises(NoidError, match="File exists"):
        export(free.opened, form, str(tmp_path / "kt5.map"))
    assert victim.read_text() == "precious" and not (tmp_path / "kt5.map").exists()


def test_a_failed_export_leaves_the_old_map(free, tmp_path, monkeypatch):
    free.set_target("13030/a", "https://a.example/")
    path = tmp_path / "map.dbm"
    path.write_text("old")
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    with pytest.raises(NoidError, match="httxt2dbm is missing"):
        export(free.opened, "dbm", str(path))
    monkeypatch.setattr(shutil, "which", lambda *_, **__: "/bin/false")
    with pytest.raises(NoidError, match="httxt2dbm failed"):
        export(free.opened, "dbm", str(path))
    assert path.read_text() == "old" and sorted(os.listdir(tmp_path)) == ["m", "map.dbm"]
    with pytest.raises(NoidError, match="could not be written"):
        export(free.opened, "txt", str(tmp_path / "no" / "such" / "folder"))


def test_export_counts_what_was_written_and_left_out(noid):
    noid("dbcreate")
    noid("bind", "set", "13030/a", "_t", "https://a.example/")
    noid("bind", "set", "with blank", "_t", "https://a.example/")
    assert noid("export", "--map", "txt", "map.txt") == (
        "ok: 1 target written\n"
        "note: 1 left out, because the form has no room for them or they cannot be followed\n\n")
    noid.refused("export", "map.txt", status=2)
