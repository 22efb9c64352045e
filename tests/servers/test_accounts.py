"""Minters of other accounts: root does not use them, and nothing of root's is given away."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest

from support.process import NoidProcess
from support.servers.system import as_server_user, server_ids

pytestmark = pytest.mark.only("lmdb")
IS_ROOT = os.getuid() == 0


@pytest.fixture
def folder(site, request) -> Path:
    """A folder of the servers' account, with a minter that this account made."""
    made = site.folder_for(request.node.name)
    service(site, made, "dbcreate", "kt.sdddd")
    return made


def service(site, folder: Path, *words: str) -> str:
    """Output of a command that the servers' account runs."""
    done = run_as_service(site, folder, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


def run_as_service(site, folder: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([site.installation / "bin" / "noid", *words], cwd=folder, capture_output=True, check=False,
                          timeout=60, **as_server_user())


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A file of ours that is nobody else's business."""
    path = tmp_path / "victim"
    path.write_bytes(b"important")
    path.chmod(0o600)
    return path


def listing(folder: Path) -> list[tuple[str, int, int, int]]:
    """All that is in a folder, with owners, permissions and sizes."""
    return sorted((str(path), found.st_uid, found.st_mode, found.st_size)
                  for path in folder.rglob("*") for found in [path.lstat()])


@pytest.mark.skipif(not IS_ROOT, reason="only root could")
@pytest.mark.parametrize("words", [
    ("mint", "1"), ("dbinfo",), ("backup", "copy"), ("restore", "copy"), ("copy", ".", "other"), ("dbcreate", ".zd"),
    ("copy", ".", ".", "--store", "postgresql:///none"),
], ids=" ".join)
def test_root_does_not_use_the_minter_of_another_account_and_names_the_command(folder, words):
    before = listing(folder)
    refusal = NoidProcess(folder).refused(*words)
    assert "belongs to www-data" in refusal and "runuser -u www-data -- noid" in refusal
    assert listing(folder) == before


@pytest.mark.skipif(not IS_ROOT, reason="only root could")
@pytest.mark.parametrize("planted", ["NOID", ".NOID-ready", "NOID.moved", ".NOID-new-1", ".NOID-copy-1"])
def test_what_another_account_has_put_beside_a_minter_leads_root_nowhere(folder, tmp_path, planted):
    """A link in the folder of that account, to a minter and to a file of root's."""
    NoidProcess(tmp_path)("dbcreate", ".zd")
    before = listing(tmp_path)
    (folder / "NOID").rename(folder / "away")
    (folder / planted).symlink_to(tmp_path / "NOID")
    os.lchown(folder / planted, *server_ids())
    for words in (("mint", "1"), ("dbcreate", ".zd"), ("restore", "x"), ("copy", ".", "b", "--move")):
        assert "belongs to www-data" in NoidProcess(folder).refused(*words)
    assert listing(tmp_path) == before


@pytest.mark.skipif(not IS_ROOT, reason="only root could")
def test_root_makes_no_folder_in_that_of_another_account_nor_through_its_links(folder, tmp_path):
    assert f"{folder} belongs to www-data" in NoidProcess(folder).refused("-f", "new", "dbcreate", ".zd")
    assert not (folder / "new").exists()
    noid = NoidProcess(tmp_path)
    noid("dbcreate", ".sddd")
    (tmp_path / "elsewhere").mkdir()
    (folder / "00").symlink_to(tmp_path / "elsewhere")
    os.lchown(folder / "00", *server_ids())
    assert "is a link of another account, which is not followed" in noid.refused("mint", "--folders", str(folder), "1")
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert noid.ids(1) == ["000"]


@pytest.mark.parametrize("name", ["data.mdb", "lock.mdb", "writer.lock"])
@pytest.mark.parametrize("command", [("mint", "1"), ("dbinfo",), ("backup", "copy")])
def test_a_symbolic_link_among_the_files_is_refused_and_its_target_left_alone(tmp_path, victim, name, command):
    noid = NoidProcess(tmp_path)
    noid("dbcreate", "kt.sdddd")
    file = tmp_path / "NOID" / name
    for target, before in ((victim, b"important"), (victim.with_name("missing"), None)):
        file.unlink()
        file.symlink_to(target)
        refusal = noid.refused(*command)
        assert "link, which is not followed" in refusal or (name == "data.mdb" and before is None), refusal
        assert (target.read_bytes() if target.exists() else None) == before
    assert not (tmp_path / "copy").exists()


def test_a_link_in_place_of_the_readme_is_not_followed(tmp_path, victim):
    noid = NoidProcess(tmp_path)
    noid("dbcreate", "kt.sdddd")
    readme = tmp_path / "NOID" / "README"
    readme.unlink()
    readme.symlink_to(victim)
    noid("backup", "linked")
    noid("copy", ".", "other")
    assert not (tmp_path / "linked" / "README").exists() and not (tmp_path / "other" / "NOID" / "README").exists()
    (tmp_path / "linked" / "README").symlink_to(victim)
    noid("restore", "linked")
    assert not os.path.lexists(readme) and victim.read_bytes() == b"important"


@pytest.mark.parametrize("missing", [("lock.mdb",), ("writer.lock",), ("lock.mdb", "writer.lock")])
def test_files_that_have_to_be_made_again_have_the_permissions_of_the_data_file(tmp_path, missing):
    noid = NoidProcess(tmp_path)
    noid("dbcreate", "kt.sdddd")
    for name in missing:
        (tmp_path / "NOID" / name).unlink()
    (tmp_path / "NOID" / "data.mdb").chmod(0o660)
    before = os.umask(0o077)
    try:
        assert noid.ids(1) == ["kt0000"]
    finally:
        os.umask(before)
    for name in missing:
        assert (tmp_path / "NOID" / name).stat().st_mode == (tmp_path / "NOID" / "data.mdb").stat().st_mode


@pytest.mark.parametrize("left", [8192, 12288, 40960, -4096])
def test_an_account_that_may_only_read_survives_a_file_that_was_cut_short(site, folder, left):
    values = b"".join(b"bind set kt%04d e %s\n" % (number, b"v" * 3000) for number in range(60))
    service(site, folder, "mint", "60")
    subprocess.run([site.installation / "bin" / "noid", "-"], cwd=folder, input=values, check=True,
                          stdout=subprocess.DEVNULL, timeout=60, **as_server_user())
    data = folder / "NOID" / "data.mdb"
    os.chown(data, os.getuid(), os.getgid())
    data.chmod(0o444)
    (folder / "NOID" / "lock.mdb").chmod(0o666)
    os.truncate(data, left if left > 0 else data.stat().st_size + left)
    for words in (("dbinfo",), ("get", "kt0059", "e"), ("resolve", "kt0000")):
        done = run_as_service(site, folder, *words)
        assert done.returncode == 1 and done.stderr.startswith(b"error: ") and done.stderr.count(b"\n") == 1, done
        assert b"restore a backup" in done.stderr


def test_root_sends_no_password_to_the_server_that_another_account_names(tmp_path: Path):
    folder = tmp_path / "NOID"
    folder.mkdir()
    user, group = server_ids()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        (folder / "engine").write_text(
            f"engine: postgres\nminter: kt5\naddress: postgresql://u@db.example:{port}/n?hostaddr=127.0.0.1\n")
        os.chown(folder / "engine", user, group)
        refusal = NoidProcess(tmp_path).refused("dbinfo")
        assert "belongs to another account than root" in refusal or "belongs to www-data" in refusal
        listener.settimeout(0)
        with pytest.raises(BlockingIOError):
            listener.accept()
