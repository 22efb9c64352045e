"""Two minters with the same NAAN and prefix in a folder that is served."""

from __future__ import annotations

from pathlib import Path

import pytest

from noidtools.console import OccasionalLog
from noidtools.errors import ConflictError
from noidtools.minter.folder import MinterFolder, mark_served
from noidtools.resolution import catalogue
from noidtools.resolution.catalogue import Catalogue
from support.minter import Noid
from support.templates import LONG_TERM


def refused(folder: Path, *words: str) -> str:
    with pytest.raises(ConflictError) as refusal:
        Noid.created(folder, *words)
    return refusal.value.message


@pytest.fixture
def served(tmp_path: Path) -> Path:
    Noid.created(tmp_path / "kt5", *LONG_TERM).close()
    mark_served(str(tmp_path))
    return tmp_path


def test_the_second_minter_is_refused_in_a_served_folder_unless_told_otherwise(served):
    message = refused(served / "kt6", *LONG_TERM)
    assert message == ("the minter kt5 in the same folder has the NAAN and prefix 13030/kt, too, and both would mint "
                       "the same names: choose another prefix, or add --same-prefix")
    assert not (served / "kt6" / "NOID").exists()
    Noid.created(served / "kt7", *LONG_TERM, "--same-prefix").close()


def test_a_minter_that_is_there_already_is_not_accused_of_itself(served):
    assert "kt5/NOID exists already" in refused(served / "kt5", *LONG_TERM)


@pytest.mark.parametrize("link", ["noidu_kt5", "noidr_kt5"])
def test_a_link_for_the_web_server_tells_that_a_folder_is_served(tmp_path, link):
    Noid.created(tmp_path / "kt5", *LONG_TERM).close()
    Noid.created(tmp_path / "kt6", *LONG_TERM).close()
    (tmp_path / link).touch()
    assert "kt5" in refused(tmp_path / "kt7", *LONG_TERM)


def test_other_prefixes_and_other_naans_are_no_conflict(served):
    Noid.created(served / "a", "kv.reeded", *LONG_TERM[1:]).close()
    Noid.created(served / "b", LONG_TERM[0], "long", "13031", *LONG_TERM[3:]).close()
    Noid.created(served / "c", "kt.reeded").close()
    Noid.created(served / "d", "kt.reeded").close()


def test_minters_with_the_same_prefix_are_logged_once_when_served(served, capfd, monkeypatch):
    monkeypatch.setattr(catalogue, "_log", OccasionalLog())
    Noid.created(served / "kt7", *LONG_TERM, "--same-prefix").close()
    found = Catalogue(MinterFolder(str(served)))
    for _ in range(3):
        found._refresh()
    log = capfd.readouterr().err
    assert log == ("noid: the minters kt5, kt7 have the same NAAN and prefix 13030/kt, so that they may mint the same "
                   "names: keep one of them, or move the others elsewhere\n")
