"""A folder takes the place of another one, and whatever goes wrong, neither is lost."""

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
    old, aside = str(folder / "old"), str(folder / "aside")
    folders.put_in_place(str(folder / "new"), old, lambda: folders.move_folder(old, aside))


def test_the_new_folder_is_in_place_and_the_old_one_aside(both):
    put_in_place(both)
    assert found(both) == {"old": "new", "aside": "old"}


@pytest.mark.parametrize("error", [StoreError("it is in use"), KeyboardInterrupt()])
def test_where_the_old_folder_cannot_be_taken_away_both_are_where_they_were(both, error):
    def refuse() -> None:
        raise error

    with pytest.raises(type(error)):
        folders.put_in_place(str(both / "new"), str(both / "old"), refuse)
    assert found(both) == {"old": "old", "new": "new"}


def test_a_replacement_that_was_killed_between_its_steps_is_completed_by_the_next_process(both):
    def die() -> None:
        os.rename(both / "old", both / "aside")
        os._exit(0)

    child = os.fork()
    if not child:
        folders.put_in_place(str(both / "new"), str(both / "old"), die)
    os.waitpid(child, 0)
    assert not (both / "old").exists()
    assert folders.complete_replacement(str(both / "old"))
    assert found(both) == {"old": "new", "aside": "old"}
    assert folders.complete_replacement(str(both / "old")) and not folders.complete_replacement(str(both / "none"))


def test_what_a_replacement_killed_before_its_steps_left_is_not_put_in_place_by_the_next(both):
    (both / ".old-ready").mkdir()
    (both / ".old-ready" / "which").write_text("killed")
    assert folders.complete_replacement(str(both / "old")) and found(both)["old"] == "old"
    put_in_place(both)
    assert found(both) == {"old": "new", "aside": "old"}


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
def test_an_interrupt_while_the_folder_is_filled_leaves_nothing(both, make):
    def fill(folder: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make(both, fill)
    assert sorted(os.listdir(both)) == ["new", "old"] and found(both) == {"old": "old", "new": "new"}
