"""`mint --folders`: every identifier that is given has its folder."""

from __future__ import annotations

import os

import pytest

from noidtools.commands.minting import FolderMaker
from noidtools.errors import StoreError
from support.minter import Noid


@pytest.fixture
def store(noid: Noid):
    """A folder `store` beside the minter."""
    (noid.folder / "store").mkdir()
    return noid.folder / "store"


def folders(store) -> list[str]:
    """The folders that have no folder in them."""
    return sorted(os.path.relpath(parent, store) for parent, below, _ in os.walk(store) if not below)


def test_each_identifier_gets_the_folder_that_path_prints(noid, store):
    noid("dbcreate", "xv.sdddd")
    printed = noid("mint", "--folders", "store", "3")
    assert printed == "".join(f"id: xv000{n}\nfolder: store/xv/00/0{n}/\n" for n in range(3)) + "\n"
    assert folders(store) == ["xv/00/00", "xv/00/01", "xv/00/02"]
    assert noid("path", "xv0001") == "xv/00/01/\n"
    assert noid.answer("mint", "1")  # without the option nothing is made
    assert folders(store) == ["xv/00/00", "xv/00/01", "xv/00/02"]


@pytest.mark.parametrize("words", [
    ("mint", "1", "--folders", "store"), ("mint", "1", "--folders=store", "title", "x"),
])
def test_an_option_may_follow_the_number(noid, store, words):
    noid("dbcreate", "xv.sdddd")
    assert noid(*words) and folders(store) == ["xv/00/00"]


@pytest.mark.parametrize("words", [
    ("mint", "1", "title", "--folders=store"), ("peppermint", "1", "title", "--folders=store"),
    ("mint", "1", "title", "--reserve"), ("get", "xv0000", "title", "--items"),
])
def test_an_option_among_elements_is_refused_and_not_bound(noid, store, words):
    noid("dbcreate", "xv.sdddd")
    assert "must come earlier" in noid.refused(*words, status=2)
    assert folders(store) == ["."] and noid.ids(1) == ["xv0000"]


def test_a_word_that_looks_like_an_option_is_bound_if_the_options_are_ended(noid):
    noid("dbcreate", "xv.sdddd")
    noid("mint", "--", "1", "--folders", "--items")
    assert noid("get", "--", "xv0000", "--folders") == "--items\n"
    noid("mint", "1", "--", "--other", "v")
    assert noid("get", "xv0001", "--", "--other") == "v\n"
    assert "has no option --other" in noid.refused("mint", "1", "--other", "v", status=2)


def test_copies_of_an_item_in_other_file_systems_have_the_same_folders(timed):
    """The folder follows from the label alone: not from the minter, nor from where the copy is."""
    places = ("first", "second/disk", "third")
    label = "sid.inpe.br/mtc-m18/2009/02.16.17.46"
    made = set()
    for place in places:
        (timed.folder / place / "items").mkdir(parents=True)
        timed("-f", place, "dbcreate", "--scheme", "ibi", "--computer", "mtc-m18.sid.inpe.br", "--granularity", "60")
        timed.at("1234806360")
        printed = timed("-f", place, "mint", "--folders", f"{place}/items", "1")
        assert printed.startswith(f"id: {label}\n")
        made |= {os.path.relpath(parent, timed.folder / place / "items")
                 for parent, below, _ in os.walk(timed.folder / place / "items") if not below}
    assert made == {label}


def test_labels_naans_and_peppers_leave_the_path_as_it_is(noid, store):
    noid("dbcreate", "--label", "ark:/", "b2.sdd", "long", "12345", "example.org", "demo")
    first, second = noid("peppermint", "--folders", "store", "1").splitlines()[:2]
    assert first.startswith("id: ark:/12345/b200!")
    assert second == "folder: store/" + noid("path", "ark:/12345/b200").strip()
    noid("mint", "--folders", "store", "1", "title", "a value")
    assert noid("get", "12345/b201", "title") == "a value\n"
    assert len(folders(store)) == 2


def test_a_folder_without_files_is_emptied_when_its_identifier_is_issued_again(noid, store):
    noid("dbcreate", ".sddd")
    noid("mint", "--folders", "store", "2")
    (store / "00" / "0" / "drafts" / "old").mkdir(parents=True)
    (store / "00" / "1" / "kept").mkdir()
    (store / "00" / "1" / "kept" / "page.txt").write_text("text")
    noid("queue", "first", "000", "001")
    assert noid("mint", "--folders", "store", "3") == (
        "id: 000\nfolder: store/00/0/\nnote: the folder was there already, without files, and was emptied\n"
        "id: 001\nfolder: store/00/1/\nnote: the folder was there already, with files, and was left as it is\n"
        "id: 002\nfolder: store/00/2/\n\n"
    )
    assert folders(store) == ["00/0", "00/1/kept", "00/2"]
    assert (store / "00" / "1" / "kept" / "page.txt").read_text() == "text"


def test_emptying_leaves_the_folders_of_longer_identifiers(noid, store):
    noid("dbcreate", "s.zd")
    noid("mint", "--folders", "store", "1001")
    (store / "s1" / "00" / "0" / "page.txt").write_text("of s1000")
    noid("queue", "first", "s100")
    assert "was emptied" in noid("mint", "--folders", "store", "1")
    assert (store / "s1" / "00" / "0" / "page.txt").exists()


def test_a_link_counts_as_a_file(noid, store, tmp_path):
    noid("dbcreate", ".sddd")
    noid("mint", "--folders", "store", "1")
    (store / "00" / "0" / "longname").mkdir()
    (store / "00" / "0" / "longname" / "elsewhere").symlink_to(tmp_path)
    noid("queue", "first", "000")
    assert "left as it is" in noid("mint", "--folders", "store", "1")
    assert (store / "00" / "0" / "longname" / "elsewhere").is_symlink()


@pytest.mark.parametrize("linked", ["00", "00/0"])
def test_nothing_is_removed_behind_a_link(noid, store, tmp_path, linked):
    noid("dbcreate", ".sddd")
    other = tmp_path / "other"
    (other / "0" / "drafts" / "old").mkdir(parents=True)
    (store / linked).parent.mkdir(exist_ok=True)
    (store / linked).symlink_to(other if linked == "00" else other / "0")
    assert "and was left as it is" in noid("mint", "--folders", "store", "1")
    assert (other / "0" / "drafts" / "old").is_dir()
    # The folder of all folders may be a link.
    (store.parent / "link").symlink_to(store)
    (store / "01" / "0" / "drafts").mkdir(parents=True)
    noid("queue", "first", "010")
    assert "and was emptied" in noid("mint", "--folders", "link/", "1")


def test_what_has_no_folder_is_not_minted(noid, store):
    noid("dbcreate", ".sddd")
    assert "make it first" in noid.refused("mint", "--folders", "nowhere", "1", status=1)
    (store / "00").mkdir()
    (store / "00" / "2").write_text("a file in the place of a folder")
    sentence = noid.refused("mint", "--folders", "store", "4", status=1)
    assert sentence.startswith("the folder store/00/2/ cannot be made (File exists)")
    # Those before it were taken back: the folders and the identifiers.
    assert sorted(os.listdir(store / "00")) == ["2"]
    assert "\nDrawn: 0\n" in noid("dbinfo")
    (store / "00" / "2").unlink()
    assert noid("mint", "--folders", "store", "1").startswith("id: 000\n")


def test_repository_names_are_four_folders(timed):
    store = timed.folder / "store"
    store.mkdir()
    timed("dbcreate", "--scheme", "ibi", "--computer", "mtc-m19.sid.inpe.br")
    timed("mint", "--folders", "store", "1")
    assert folders(store) == ["sid.inpe.br/mtc-m19/2010/10.20.15.14.06"]


def test_the_namespace_may_end_while_folders_are_made(noid, store):
    noid("dbcreate", ".sd")
    done = noid.run("mint", "--folders", "store", "12")
    assert done.returncode == 1 and done.stdout.count(b"id: ") == 10
    assert len(folders(store)) == 10


def test_folders_are_made_at_the_shell_only(noid, store):
    noid("dbcreate", ".sd")
    session = noid.session
    assert not session.local
    assert "it is for the shell" in noid.refusal("mint", "--folders", "store", "1").message


def test_a_transaction_that_is_repeated_makes_its_folders_once(noid, store):
    noid("dbcreate", ".sddd")
    maker = FolderMaker(os.fsencode(store), noid.opened.scheme)
    assert [folder.status for folder in maker.make([b"000", b"001"])] == ["created", "created"]
    maker.undo()
    assert os.listdir(store) == []
    assert [folder.status for folder in maker.make([b"000"])] == ["created"]
    maker.keep()
    maker.undo()
    assert folders(store) == ["00/0"]


def test_a_folder_that_cannot_be_written_is_named(noid, store, monkeypatch):
    noid("dbcreate", ".sddd")

    def refuse(path: bytes) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "mkdir", refuse)
    with pytest.raises(StoreError, match="Permission denied"):
        FolderMaker(os.fsencode(store), noid.opened.scheme).make([b"000"])
