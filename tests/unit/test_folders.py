"""A folder takes the place of another one in one step, and whatever goes wrong, neither is lost."""

from __future__ import annotations

import os

import pytest

from noidtools.errors import StoreError
from noidtools.store import folders


@pytest.fixture
def both(tmp_path):
    """A folder, and one that is to take its place."""
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "which").write_text(name)
    return tmp_path


def found(folder) -> dict[str, str]:
    return {path.parent.name: path.read_text() for path in folder.glob("*/which")}


def put_in_place(folder) -> None:
    folders.put_in_place(str(folder / "new"), str(folder / "old"), str(folder / "aside"))


def test_the_new_folder_is_in_place_and_the_old_one_aside(both):
    put_in_place(both)
    assert found(both) == {"old": "new", "aside": "old"}


def test_where_folders_cannot_be_exchanged_both_are_where_they_were(both, monkeypatch):
    def refuse(one: str, other: str) -> None:
        raise StoreError("not on this file system")

    monkeypatch.setattr(folders, "_exchange", refuse)
    with pytest.raises(StoreError):
        put_in_place(both)
    assert found(both) == {"old": "old", "new": "new"}


@pytest.mark.parametrize("moment", ["before", "after"])
def test_an_interrupt_around_the_exchange_loses_neither(both, monkeypatch, moment):
    exchange = folders._exchange

    def interrupted(one: str, other: str) -> None:
        if moment == "after":
            exchange(one, other)
        raise KeyboardInterrupt

    def fill(folder: str) -> None:
        (both / "new" / "which").rename(f"{folder}/which")

    monkeypatch.setattr(folders, "_exchange", interrupted)
    with pytest.raises(KeyboardInterrupt):
        folders.replace_folder(str(both / "old"), fill, str(both / "aside"))
    assert sorted(found(both).values()) == ["new", "old"]


def test_a_name_aside_is_free(tmp_path, monkeypatch):
    monkeypatch.setattr(folders, "system_clock", lambda: 0)
    first = folders.aside_name(str(tmp_path / "NOID"), "moved")
    assert first.startswith(f"{tmp_path}/NOID-moved-19700101000000-")
    (tmp_path / first).mkdir()
    assert folders.aside_name(str(tmp_path / "NOID"), "moved") == f"{first}-2"


@pytest.mark.parametrize("make", [
    lambda folder, fill: folders.create_folder(str(folder / "made"), fill),
    lambda folder, fill: folders.replace_folder(str(folder / "old"), fill, str(folder / "aside")),
])
def test_an_interrupt_right_after_the_folder_was_made_leaves_nothing_behind(both, monkeypatch, make):
    mkdir = os.mkdir

    def interrupted(path: str, *mode: int) -> None:
        mkdir(path, *mode)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "mkdir", interrupted)
    with pytest.raises(KeyboardInterrupt):
        make(both, lambda folder: None)
    assert sorted(os.listdir(both)) == ["new", "old"] and found(both) == {"old": "old", "new": "new"}


@pytest.mark.parametrize("make", [
    lambda folder, fill: folders.create_folder(str(folder / "made"), fill),
    lambda folder, fill: folders.replace_folder(str(folder / "old"), fill, str(folder / "aside")),
])
def test_a_folder_that_another_made_just_now_is_not_removed(both, monkeypatch, make):
    name_for_new, made = folders._name_for_new, []

    def taken(parent: str, mark: str) -> str:
        made.append(name_for_new(parent, mark))
        os.mkdir(made[0])
        return made[0]

    monkeypatch.setattr(folders, "_name_for_new", taken)
    with pytest.raises((StoreError, FileExistsError)):
        make(both, lambda folder: None)
    assert os.path.isdir(made[0])
