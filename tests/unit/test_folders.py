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
    replace(folder, folders.move_folder)


def replace(folder, take_away) -> None:
    folders.put_in_place(str(folder / "new"), str(folder / "old"), str(folder / "aside"), take_away)


def run_in_child(work) -> None:
    child = os.fork()
    if not child:
        work()
    os.waitpid(child, 0)


def test_the_new_folder_is_in_place_and_the_old_one_aside(both):
    put_in_place(both)
    assert found(both) == {"old": "new", "aside": "old"}


@pytest.mark.parametrize("error", [StoreError("it is in use"), KeyboardInterrupt()])
def test_where_the_old_folder_cannot_be_taken_away_both_are_where_they_were(both, error):
    def refuse(*_: str) -> None:
        raise error

    with pytest.raises(type(error)):
        replace(both, refuse)
    assert found(both) == {"old": "old", "new": "new"}


def test_a_replacement_that_was_killed_between_its_steps_is_completed_by_the_next_process(both):
    def die(old: str, aside: str) -> None:
        os.rename(old, aside)
        os._exit(0)

    run_in_child(lambda: replace(both, die))
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


def test_what_a_replacement_killed_before_its_steps_left_does_not_replace_what_is_moved_away_later(both):
    run_in_child(lambda: replace(both, lambda *_: os._exit(0)))
    os.rename(both / "old", both / "elsewhere")
    assert not folders.complete_replacement(str(both / "old"))
    assert found(both)["elsewhere"] == "old" and not (both / "old").exists()


def test_a_file_takes_the_place_of_a_link_which_is_not_followed(tmp_path):
    other, link = tmp_path / "other", tmp_path / "link"
    other.write_bytes(b"other")
    link.symlink_to(other)
    for content in (b"1", b"2"):
        folders.write_file(str(link), content)
        assert link.read_bytes() == content and not link.is_symlink() and other.read_bytes() == b"other"


def test_a_name_aside_is_free(tmp_path, monkeypatch):
    monkeypatch.setattr(folders, "system_clock", lambda: 0)
    first, second = (folders.aside_name(str(tmp_path / "NOID"), "moved") for _ in range(2))
    assert first.startswith(f"{tmp_path}/NOID-moved-19700101000000-") and first != second


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
