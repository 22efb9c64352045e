"""A minter whose folder belongs to one account, used by root: nothing of root's is given away, nobody is locked out."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest

from noidtools.store.privileges import ActingAsOwner
from support.process import NOID, NoidProcess
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


@pytest.mark.parametrize("name", ["data.mdb", "lock.mdb", "writer.lock"])
@pytest.mark.parametrize("command", [("mint", "1"), ("dbinfo",), ("backup", "copy")])
def test_a_symbolic_link_among_the_files_is_refused_and_its_target_left_alone(site, folder, victim, name, command):
    file = folder / "NOID" / name
    for target, before in ((victim, b"important"), (victim.with_name("missing"), None)):
        file.unlink()
        file.symlink_to(target)
        refusal = NoidProcess(folder).refused(*command)
        assert "link, which is not followed" in refusal or (name == "data.mdb" and before is None), refusal
        assert (target.read_bytes() if target.exists() else None) == before
    assert not (folder / "copy").exists()


def test_a_link_in_place_of_the_readme_gives_no_file_of_root_away(site, folder, victim):
    noid = NoidProcess(folder)
    noid("backup", "whole")
    readme = folder / "NOID" / "README"
    readme.unlink()
    readme.symlink_to(victim)
    noid("backup", "linked")
    noid("copy", ".", "other")
    assert not (folder / "linked" / "README").exists() and not (folder / "other" / "NOID" / "README").exists()
    # A backup that another account has prepared.
    (folder / "linked" / "README").symlink_to(victim)
    noid("restore", "linked")
    assert not os.path.lexists(readme)
    readme.symlink_to(victim)
    noid("restore", "whole")
    assert readme.stat().st_uid == folder.stat().st_uid and victim.read_bytes() == b"important"


def test_root_reaches_no_further_than_the_owner_of_the_folder(folder, victim):
    link = folder / "NOID" / "link"
    link.symlink_to(victim)
    with ActingAsOwner(str(folder / "NOID")) as path:
        if IS_ROOT:
            with pytest.raises(PermissionError):
                os.open(f"{path}/link", os.O_RDWR)
        Path(path, "made").write_bytes(b"x")
    assert (folder / "NOID" / "made").stat().st_uid == server_ids()[0]
    assert link.read_bytes() == b"important"
    victim.write_bytes(b"ours again")
    with ActingAsOwner(str(victim.parent)) as path:
        assert path == str(victim.parent)


def test_root_without_the_right_to_act_for_others_uses_the_folder_as_it_may(folder):
    if IS_ROOT:
        command = ["setpriv", "--bounding-set=-setuid,-setgid", "--inh-caps=-setuid,-setgid", *NOID, "mint", "1"]
        done = subprocess.run(command, cwd=folder, capture_output=True, timeout=60, check=False)
        assert done.stdout.split() == [b"id:", b"kt0000"], done
    assert NoidProcess(folder).ids(1) == ["kt0001" if IS_ROOT else "kt0000"]


@pytest.mark.parametrize("missing", [("lock.mdb",), ("writer.lock",), ("lock.mdb", "writer.lock")])
def test_files_that_root_has_to_make_can_be_used_by_the_service(site, folder, missing):
    for name in missing:
        (folder / "NOID" / name).unlink()
    (folder / "NOID" / "data.mdb").chmod(0o660)
    before = os.umask(0o077)
    try:
        assert NoidProcess(folder).ids(1) == ["kt0000"]
    finally:
        os.umask(before)
    for name in missing:
        found, data = (folder / "NOID" / name).stat(), (folder / "NOID" / "data.mdb").stat()
        assert (found.st_uid, found.st_gid, found.st_mode) == (data.st_uid, data.st_gid, data.st_mode)
    assert service(site, folder, "mint", "1").strip() == "id: kt0001"


def test_root_uses_a_folder_that_its_owner_cannot_reach(site, folder, tmp_path):
    tmp_path.chmod(0o700)
    os.rename(folder, tmp_path / "moved")
    moved = NoidProcess(tmp_path / "moved")
    assert moved.ids(2) == ["kt0000", "kt0001"]
    assert "no permission" not in moved("dbinfo")


def test_files_that_their_folder_s_owner_may_not_write_are_refused_with_the_remedy(folder):
    data = folder / "NOID" / "data.mdb"
    os.chown(data, os.getuid(), os.getgid())
    data.chmod(0o600)
    noid = NoidProcess(folder)
    if IS_ROOT:
        assert "chown" in noid.refused("mint", "1")
        os.chown(data, *server_ids())
    assert noid.ids(1) == ["kt0000"]
    data.chmod(0o444)
    if IS_ROOT:
        # What the owner may only read, root only reads.
        assert "Drawn: 1\n" in noid("dbinfo")
        assert "permissions" in noid.refused("mint", "1")


@pytest.mark.parametrize("left", [8192, 12288, 40960, -4096])
def test_an_account_that_may_only_read_survives_a_file_that_was_cut_short(site, folder, left):
    values = b"".join(b"bind set kt%04d e %s\n" % (number, b"v" * 3000) for number in range(60))
    noid = NoidProcess(folder)
    noid.ids(60)
    noid("-", stdin=values)
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
        assert "belongs to another account than root" in refusal
        listener.settimeout(0)
        with pytest.raises(BlockingIOError):
            listener.accept()
