"""Minters of other accounts: root does not use them, and nothing of root's is given away."""

from __future__ import annotations

import os
import shutil
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


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A folder of root's in which everybody may write."""
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o1777)
    return folder


@pytest.fixture
def roots(tmp_path: Path) -> Path:
    """A minter of root's, with a backup in the folder `backup`."""
    folder = tmp_path / "roots"
    folder.mkdir()
    noid = NoidProcess(folder)
    noid("dbcreate", ".zd")
    noid("backup", "backup")
    return folder


def give_away(*paths: Path) -> None:
    for path in paths:
        os.lchown(path, *server_ids())


@pytest.mark.skipif(not IS_ROOT, reason="only root could")
@pytest.mark.parametrize("link", [False, True])
def test_a_folder_that_another_account_has_made_ready_does_not_become_a_minter_of_root(shared, roots, link):
    """As a restore leaves one that is killed between its two steps."""
    made = roots / "NOID" if link else shared / "made"
    if not link:
        shutil.copytree(roots / "NOID", made)
        give_away(made, *made.iterdir())
    (made / "replaces").write_bytes(b"aside")
    ready, aside = shared / ".NOID-ready", shared / "aside"
    aside.touch()
    if link:
        ready.symlink_to(made)
    else:
        made.rename(ready)
    give_away(ready, aside)
    before = listing(roots)
    for words in (("mint", "1"), ("dbinfo",), ("copy", ".", "other", "--move")):
        assert "there is no minter" in NoidProcess(shared).refused(*words)
    NoidProcess(shared)("dbcreate", "x.sdd")
    assert NoidProcess(shared).ids(1) == ["x00"]
    NoidProcess(shared)("restore", str(roots / "backup"))
    assert not os.path.lexists(ready) and (shared / "NOID").lstat().st_uid == 0
    assert listing(roots) == before


@pytest.mark.skipif(not IS_ROOT, reason="only root could")
@pytest.mark.parametrize("words", [
    ("mint", "1"), ("restore", "roots/backup"), ("dbcreate", ".zd"), ("copy", "shared/kt5", "new", "--move"),
    ("copy", "shared/kt5", "shared/kt5"), ("copy", "roots", "shared/kt5/other"),
], ids=" ".join)
def test_root_does_not_follow_the_link_of_another_account_to_a_minter(shared, roots, tmp_path, words):
    (shared / "kt5").symlink_to(roots)
    give_away(shared / "kt5")
    before = listing(tmp_path)
    noid = NoidProcess(tmp_path)
    assert "shared/kt5 belongs to www-data" in noid.refused("-f", "shared/kt5", *words)
    assert listing(tmp_path) == before
    (shared / "kt5").unlink()
    (shared / "kt5").symlink_to(roots)  # a link of root's own
    assert noid("-f", "shared/kt5", "mint", "1") == "id: 0\n\n"


@pytest.mark.skipif(not IS_ROOT, reason="only root could")
@pytest.mark.parametrize("source", ["folder", "file", "link"])
def test_root_restores_no_backup_of_another_account(shared, roots, source):
    backup = roots / "backup"
    if source == "link":
        given = shared / "link"
        given.symlink_to(backup)
        give_away(given)
    else:
        give_away(backup, *backup.iterdir())
        given = backup / "data.mdb" if source == "file" else backup
    assert "belongs to www-data" in NoidProcess(shared).refused("restore", str(given))
    assert not (shared / "NOID").exists()


@pytest.mark.skipif(not IS_ROOT, reason="only root could")
def test_what_looks_like_the_rest_of_a_killed_process_is_removed_and_not_followed(shared, roots, victim):
    before = listing(roots)
    for number, mark in enumerate(("new", "copy", "new-99999999999999999999")):
        planted = shared / f".NOID-{mark}-99999{number}"
        planted.mkdir()
        (planted / "link").symlink_to(roots)
        linked = shared / f".NOID-{mark}-88888{number}"
        linked.symlink_to(roots)
        give_away(planted, planted / "link", linked)
    (shared / "NOID.moved").symlink_to(victim)
    give_away(shared / "NOID.moved")
    noid = NoidProcess(shared)
    noid("dbcreate", ".zd")
    noid("copy", ".", ".")
    noid("copy", ".", "../other", "--move")
    assert listing(roots) == before and victim.read_bytes() == b"important"
    assert not list(shared.glob(".NOID-*"))


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


@pytest.mark.parametrize("words", [("mint", "1"), ("backup", "copy"), ("check",)], ids=" ".join)
@pytest.mark.parametrize("missing", [("lock.mdb",), ("writer.lock",), ("lock.mdb", "writer.lock")])
def test_files_that_have_to_be_made_again_have_the_permissions_of_the_data_file(tmp_path, missing, words):
    noid = NoidProcess(tmp_path)
    noid("dbcreate", "kt.sdddd")
    for name in missing:
        (tmp_path / "NOID" / name).unlink()
    (tmp_path / "NOID" / "data.mdb").chmod(0o660)
    before = os.umask(0o077)
    try:
        noid(*words)
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
