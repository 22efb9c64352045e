"""`noid setup`: what it prints and writes; tests/servers/test_setup.py starts it."""

from __future__ import annotations

import os
import pwd
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from noidtools.deployment.setup import WAYS, read_setup

EXAMPLE = ("--minters", "/srv/noid", "--host", "localhost", "--prefix", "/opt/noid")
HOST = ("--minters", "/srv/noid", "--host", "ids.example.org")
SITES = {"nginx": "etc/nginx/conf.d/noid.conf", "apache": "etc/apache2/sites-available/noid.conf"}


def sections(printed: str) -> dict[str, str]:
    """The printed files by their paths."""
    parts = re.split(r"^==== (\S+).*\n", printed, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder in which the program is installed."""
    program = tmp_path / "image/opt/noid/bin/noid"
    program.parent.mkdir(parents=True)
    program.touch()
    return tmp_path / "image"


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(("server", "way"), [(server, way) for server, ways in WAYS.items() for way in ways])
def test_what_is_printed_is_what_is_written_and_check_reads_it(noid, root, server, way):
    words = (server, "--way", way, *EXAMPLE, *(("--minter", "kt5") if way == "cgi+map" else ()))
    printed = sections(noid("setup", *words))
    commands = printed.pop("then,")
    written = noid("setup", *words, "--root", str(root), "--write")
    assert files_in(root) == {"opt/noid/bin/noid": b"", **{path[1:]: text.encode() for path, text in printed.items()}}
    assert written.split("\n", len(printed))[-1] == commands
    assert (root / "usr/local/bin/noid").stat().st_mode & 0o777 == 0o755
    for path in printed:
        assert read_setup(str(root / path[1:])) is not None, path
    found = read_setup(str(root / SITES[server]))
    assert (found.server, found.way, found.minters, found.prefix) == (server, way, "/srv/noid", "/opt/noid")
    assert found.owner == ("noid" if way in ("proxy", "fastcgi") else "www-data")


@pytest.mark.parametrize("server", WAYS)
def test_the_interfaces_that_are_chosen_are_served_and_remembered(noid, root, server):
    for name in ("b.pem", "c.pem"):
        (root / "a").mkdir(exist_ok=True)
        (root / "a" / name).touch()
    noid("setup", server, *EXAMPLE, "--interfaces", "json,ezid", "--tls", "/a/b.pem", "/a/c.pem", "--root", str(root),
         "--write")
    found = read_setup(str(root / SITES[server]))
    assert (found.interfaces, found.certificate, found.key) == ("json,ezid", "/a/b.pem", "/a/c.pem")
    assert "--interfaces json,ezid\n" in (root / "etc/systemd/system/noid.service").read_text()
    site = (root / SITES[server]).read_text()
    assert "shoulder" in site and "console(" not in site and "bulk_mint" not in site
    for words, reason in ((("--interfaces", "json,soap"), "there is no interface 'soap'"),
                          (("--interfaces", "ezid", "--way", "fastcgi"), "--interfaces is for --way proxy")):
        assert reason in noid.refused("setup", server, *EXAMPLE, *words)


def test_the_host_the_minters_and_the_account_are_those_that_were_chosen(noid):
    printed = noid("setup", "nginx", "--minters", "/data/srv/noid", "--host", "IDS.example.org", "--user", "ids",
                   "--prefix", "/usr/local/noid")
    site = sections(printed)["/etc/nginx/conf.d/noid.conf"]
    assert "server_name ids.example.org;" in site and "localhost" not in site
    assert "ExecStart=/usr/local/noid/bin/noid serve --http /run/noid/noid.sock --minters /data/srv/noid " in printed
    assert "ReadWritePaths=/data/srv/noid -/run/noid\n" in printed and "User=ids\nGroup=ids\n" in printed
    assert "chown -R ids: /data/srv/noid /var/backups/noid\n" in printed
    assert 'exec runuser -u ids -- /usr/local/noid/bin/noid "$@"' in printed


def test_https_has_the_certificate_that_was_named(noid):
    for server in WAYS:
        printed = noid("setup", server, *HOST, "--tls", "/etc/ssl/c.pem", "/etc/ssl/k.pem")
        assert "/etc/ssl/c.pem" in printed and "/etc/ssl/k.pem" in printed and "letsencrypt" not in printed


def test_the_printed_commands_are_a_block_for_the_shell_that_asks_for_nothing(noid, root):
    for server, ways in WAYS.items():
        for way in ways:
            minter = ("--minter", "kt5") if way == "cgi+map" else ()
            printed = noid("setup", server, "--way", way, *EXAMPLE, *minter, "--root", str(root), "--write")
            block = [line for line in printed.splitlines() if not line.startswith("#")]
            assert not any("NAME" in line or "htpasswd" in line for line in block)
            assert printed.endswith("htpasswd -B /etc/noid/users NAME\n\n")
            assert subprocess.run(["bash", "-nc", printed], check=False).returncode == 0
            assert block[-2:] == ["noid setup check", ""]
            service = {"nginx": "nginx", "apache": "apache2"}[server]
            (enabled,) = [line for line in block if line.startswith("systemctl enable ")]
            assert {"noid-backup.timer", service} <= set(enabled.split())
            assert ("noid" in enabled.split()) == (way in ("proxy", "fastcgi"))
    # Where there are logins, nobody is asked to make them.
    users = root / "etc/noid/users"
    users.parent.mkdir(exist_ok=True)
    users.write_text("alice:hash\n")
    assert "htpasswd" not in noid("setup", "nginx", *EXAMPLE, "--root", str(root), "--write")


# -- writing ---------------------------------------------------------------------------------------------------------


def test_files_are_written_below_a_root_for_everybody_to_read_and_may_be_written_again(noid, root):
    words = ("setup", "apache", *EXAMPLE, "--root", str(root), "--write")
    before = os.umask(0o077)
    try:
        first = noid(*words)
    finally:
        os.umask(before)
    site = root / SITES["apache"]
    assert {path.stat().st_mode & 0o777 for path in (root / "etc", site.parent)} == {0o755}
    assert site.stat().st_mode & 0o777 == 0o644
    assert f"# wrote {site}\n" in first and "a2ensite noid\n" in first
    assert noid(*words) == first
    noid(*words, "--host", "b.example")
    assert "ServerName b.example\n" in site.read_text()
    assert sorted(path.name for path in site.parent.iterdir()) == ["noid.conf"]


def test_a_file_that_setup_did_not_write_stays_and_nothing_is_written_unless_forced(noid, root):
    site, unit = root / SITES["nginx"], root / "etc/systemd/system/noid.service"
    words = ("setup", "nginx", *EXAMPLE, "--root", str(root), "--write")
    for folder in (site.parent, unit.parent):
        folder.mkdir(parents=True)
    unit.write_text("mine\n")
    assert f"{unit} was not written by noid setup" in noid.refused(*words)
    assert unit.read_text() == "mine\n" and not site.exists()
    noid(*words, "--force")
    assert "ExecStart" in unit.read_text() and site.exists()
    # Nor one whose first line was removed, nor a link.
    kept = "\n".join(site.read_text().split("\n")[1:])
    site.write_text(kept)
    assert "was not written by noid setup" in noid.refused(*words) and site.read_text() == kept
    site.unlink()
    other = root / "other"
    other.write_text(kept)
    site.symlink_to(other)
    assert "was not written by noid setup" in noid.refused(*words)
    noid(*words, "--force")
    assert not site.is_symlink() and other.read_text() == kept


def test_no_link_leads_out_of_the_root(noid, root, tmp_path: Path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (root / "etc").symlink_to(outside)
    refused = noid.refused("setup", "nginx", *EXAMPLE, "--root", str(root), "--write", "--force")
    assert "because a link leads to" in refused and list(outside.iterdir()) == []
    (root / "srv").mkdir()
    (root / "srv/noid").symlink_to(outside)
    cgi = ("setup", "apache", "--way", "cgi+map", *EXAMPLE, "--root", str(root))
    assert "because a link leads to" in noid.refused(*cgi)
    (root / "srv/noid").unlink()
    # A link inside is followed.
    (root / "etc").unlink()
    (root / "real-etc").mkdir()
    (root / "etc").symlink_to("real-etc")
    noid("setup", "nginx", *EXAMPLE, "--root", str(root), "--write")
    assert (root / "real-etc/nginx/conf.d/noid.conf").exists()


def test_a_folder_that_cannot_be_written_is_one_sentence_and_leaves_nothing_half_written(noid, root):
    (root / "etc/nginx").mkdir(parents=True)
    (root / "etc/nginx/conf.d").write_text("a file where a folder should be")
    before = files_in(root)
    assert "cannot be written: " in noid.refused("setup", "nginx", *EXAMPLE, "--root", str(root), "--write")
    assert files_in(root) == before


def test_two_that_write_at_once_leave_one_of_both(noid, root):
    words = ("setup", "nginx", "--minters", "/srv/noid", "--prefix", "/opt/noid", "--host")
    hosts = [f"{'x' * number}.example" for number in range(1, 9)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda host: noid.run(*words, host, "--root", str(root), "--write"), hosts))
    site = (root / SITES["nginx"]).read_text()
    assert any(site == sections(noid(*words, host))["/etc/nginx/conf.d/noid.conf"] for host in hosts)


def test_without_root_nothing_is_written_to_the_machine(noid, monkeypatch):
    # Another account could not read the folder of this test.
    monkeypatch.setattr(os, "geteuid", lambda: 65534)
    assert "only root may: use sudo" in noid.refused("setup", "nginx", *EXAMPLE, "--write")


# -- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("words", "expected"), [
    (("nginx",), "--host is missing"), (("nginx", "--minters", "/srv/noid"), "--host is missing"),
    (("iis", *HOST), "setup has no form 'iis'"), (("nginx", *HOST, "--way", "cgi+map"), "choose one of proxy, fastcgi"),
    (("nginx", *HOST, "--way", "\n"), "choose one of"), (("nginx", "--minters", "srv", "--host", "x"), "whole path"),
    (("nginx", "--minters", "/srv/a b", "--host", "x"), "whole path"),
    (("nginx", "--minters", '/srv/"; }', "--host", "x"), "whole path"),
    (("nginx", "--minters", "/srv/../etc", "--host", "x"), "whole path"),
    (("nginx", "--minters", "//etc", "--host", "x"), "whole path"),
    (("nginx", "--minters", "/srv/{{ 7 * 7 }}", "--host", "x"), "whole path"),
    (("nginx", "--minters", "/srv/{%x", "--host", "x"), "whole path"),
    (("nginx", "--minters", "/srv/$(id)", "--host", "x"), "whole path"),
    (("nginx", "--minters", "/srv/noid", "--host", "{{host}}"), "not a host name"),
    (("nginx", "--minters", "/srv/noid", "--host", "a\nb"), "not a host name"),
    (("nginx", "--minters", "/srv/noid", "--host", "a'b"), "not a host name"),
    (("nginx", *HOST, "--tls", "/etc/c.pem\nUser=root", "/etc/k.pem"), "whole path"),
    (("nginx", *HOST, "--user", "noid\nUser=root"), "not the name of an account"),
    (("nginx", *HOST, "--prefix", "/opt/noid;id"), "whole path"),
    (("nginx", "--minters", "/srv/n\n", "--host", "x"), "whole path"),
    (("nginx", "--minters", "", "--host", "x"), "--minters is empty"),
    (("nginx", "--minters", "/srv/ä", "--host", "x"), "plain"),
    (("nginx", "--minters", "/home/me/noid", "--host", "x"), "home and temporary folders"),
    (("nginx", "--minters", "/srv/noid", "--host", ""), "--host is empty"),
    (("nginx", "--minters", "/srv/noid", "--host", "a b"), "not a host name"),
    (("nginx", "--minters", "/srv/noid", "--host", "x;}"), "not a host name"),
    (("nginx", "--minters", "/srv/noid", "--host", "a." * 200 + "a"), "not a host name"),
    (("nginx", "--minters", "/srv/noid", "--host", "a" * 240 + "_"), "not a host name"),
    (("nginx", *HOST, "--tls", "/etc/c.pem"), "two files"), (("nginx", *HOST, "/etc/k.pem"), "two files"),
    (("nginx", *HOST, "--tls", "/etc/c.pem", "/etc/k.pem", "--acme"), "one of them"),
    (("nginx", *HOST, "--user", "root"), "no rights"),
    (("nginx", *HOST, "--user", "a b"), "not the name of an account"),
    (("apache", *HOST, "--way", "wsgi", "--user", "noid"), "runs the program, as www-data"),
    (("apache", *HOST, "--way", "cgi+map"), "add --minter NAME"),
    (("apache", *HOST, "--way", "cgi+map", "--minter", "../x"), "not the name of a folder"),
    (("nginx", *HOST, "--minter", "kt5"), "--minter is for"), (("nginx", *HOST, "--force"), "--force is for --write"),
    (("nginx", *HOST, "--prefix", "/root/venv"), "--prefix /root/venv cannot be seen"),
    (("nginx", *HOST, "--backups", "/tmp/b"), "--backups /tmp/b cannot be seen by a service"),
    (("nginx", *HOST, "--backups", "/var/backups"), "use one like /var/backups/noid"),
    (("nginx", *HOST, "--backups", "/srv/noid/b"), "would be lost with the minters"),
    (("nginx", *HOST, "--backups", "b"), "whole path"), (("nginx", *HOST, "--backups", ""), "--backups is empty"),
    (("nginx", "--minters", "/etc", "--host", "x"), "the folder is given to the account noid, and this one is for"),
    (("apache", "--way", "wsgi", "--minters", "/usr/noid", "--host", "x"), "use one like /srv/noid"),
    (("nginx", "--minters", "/srv", "--host", "x"), "use one like /srv/noid"),
    (("apache", "--way", "wsgi", "--minters", "/root/noid", "--host", "x"), "cannot be seen by a service"),
    (("nginx", "--minters", "/srv/noid", "--host", "bücher.example"), "write one like xn--bcher-kva.example"),
    (("nginx", *HOST, "--root", "", "--write"), "--root is empty: give it a value, or leave it out"),
    (("nginx", *HOST, "--root", " "), "begins with /"), (("nginx", *HOST, "--root", "image"), "begins with /"),
    (("nginx", *HOST, "--way", ""), "--way is empty"), (("nginx", *HOST, "--user", ""), "--user is empty"),
    (("nginx", *HOST, "--prefix", ""), "--prefix is empty"), (("nginx", *HOST, "--minter", ""), "--minter is empty"),
    (("check", "--minters", ""), "--minters is empty"), (("check", "--url", ""), "--url is empty"),
    (("check", "--minters", "/does/not/exist"), "there is no folder"),
])
def test_what_cannot_work_is_refused_with_a_sentence(noid, words, expected):
    assert expected in noid.refused("setup", *words)


def test_writing_needs_the_program_and_the_certificate(noid, tmp_path: Path):
    assert "there is no program" in noid.refused("setup", "nginx", *EXAMPLE, "--root", str(tmp_path), "--write")
    (tmp_path / "opt/noid/bin").mkdir(parents=True)
    (tmp_path / "opt/noid/bin/noid").touch()
    tls = ("--tls", "/etc/c.pem", "/etc/k.pem")
    assert "there is no certificate /etc/c.pem" in noid.refused(
        "setup", "nginx", *EXAMPLE, *tls, "--root", str(tmp_path), "--write")


@pytest.mark.parametrize("planted", ["noidr_kt5", "noidu_kt5", "kt5", "kt5/NOID", "kt5/NOID/data.mdb",
                                     "kt5/NOID/engine", "kt5/NOID.moved"])
def test_what_is_planted_in_the_folder_of_minters_does_not_stop_the_set_up(noid_process, root, planted):
    """A FIFO, at which whoever opens it waits for ever."""
    path = root / "srv/noid" / planted
    path.parent.mkdir(parents=True)
    os.mkfifo(path)
    words = ("setup", "apache", "--way", "cgi+map", "--minter", "kt5", *EXAMPLE, "--root", str(root), "--write")
    assert "a2ensite noid\n" in noid_process(*words)
    me = pwd.getpwuid(os.getuid()).pw_name
    assert b"GB" in noid_process.run("setup", "check", "--minters", str(root / "srv/noid"), "--user", me).stdout


def test_a_fifo_in_place_of_a_file_is_refused_and_replaced_if_forced(noid_process, root):
    site = root / SITES["nginx"]
    site.parent.mkdir(parents=True)
    os.mkfifo(site)
    words = ("setup", "nginx", *EXAMPLE, "--root", str(root), "--write")
    assert "was not written by noid setup" in noid_process.refused(*words)
    noid_process(*words, "--force")
    assert site.is_file()


def test_the_check_examines_any_folder_of_minters(noid, tmp_path: Path):
    me = pwd.getpwuid(os.getuid()).pw_name
    for name in ("a", "b"):
        (tmp_path / "minters" / name).mkdir(parents=True)
        noid("-f", f"minters/{name}", "dbcreate", "kt.reeded", "long", "13030", "cdlib.org", "dpg")
    done = noid.run("setup", "check", "--minters", str(tmp_path / "minters"), "--user", me)
    printed = done.stdout.decode()
    assert done.returncode == 1 and "error: the minters a, b share NAAN and prefix 13030/kt" in printed
    assert re.search(r"[0-9] GB of [0-9.]+ [GT]B are free", printed)
    assert "warning: no backup of the minter a is known: runuser -u" in printed
    noid("backup", "--minters", "minters", "backups")
    assert "no backup" not in noid.run("setup", "check", "--minters", str(tmp_path / "minters")).stdout.decode()


def test_the_check_reads_a_relative_path_from_the_current_folder(noid, tmp_path: Path):
    (tmp_path / "minters").mkdir()
    noid("-f", "minters/kt5", "dbcreate", "kt.reeded")
    done = noid.run("setup", "check", "--minters", "minters", "--user", pwd.getpwuid(os.getuid()).pw_name)
    assert "can write the minter kt5" in done.stdout.decode() and "because of" not in done.stdout.decode()


def test_the_check_tells_who_may_administer_a_minter_on_the_web(noid, tmp_path: Path):
    (tmp_path / "minters" / "a").mkdir(parents=True)
    words = ("-f", "minters/a")
    noid(*words, "dbcreate", "kt.reeded", "long", "13030", "cdlib.org", "dpg")
    check = ("setup", "check", "--minters", str(tmp_path / "minters"), "--user", pwd.getpwuid(os.getuid()).pw_name)
    for rule, expected, status in (
        ("anyone", "error: everybody on the web may change the policy of the minter a, without a login: runuser", 1),
        ("authenticated", "warning: everybody who has logged in may change the policy of the minter a: runuser", 0),
        ("alice", "", 0),
    ):
        noid(*words, "policy", "admin", rule)
        done = noid.run(*check)
        assert (expected or "ok:") in done.stdout.decode() and done.returncode == status, done.stdout
        assert ("may change the policy" in done.stdout.decode()) == bool(expected)


# -- static sites ----------------------------------------------------------------------------------------------------


def test_static_sites_are_kept_current_by_a_timer_if_a_folder_is_named(noid, root):
    printed = noid("setup", "nginx", *EXAMPLE, "--site", "/srv/noid-site", "--git")
    assert "noid export --site /srv/noid-site --minters /srv/noid --git\n" in printed
    assert "OnCalendar=*-*-* 04:00" in printed and "noid-site.timer" in printed
    assert "noid-site" not in noid("setup", "nginx", *EXAMPLE)
    noid("setup", "nginx", *EXAMPLE, "--site", "/srv/noid-site", "--root", str(root), "--write")
    written = read_setup(str(root / "etc/systemd/system/noid-site.timer"))
    assert written is not None and written.static_site == "/srv/noid-site" and not written.git


@pytest.mark.parametrize("folder", ["/srv/noid", "/srv/noid/site", "/var/backups/noid/site", "/srv", "/etc/site",
                                    "site"])
def test_a_folder_that_is_not_for_static_sites_is_refused(noid, folder):
    assert "--site" in noid.refused("setup", "nginx", *EXAMPLE, "--site", folder, status=2)


def test_to_commit_needs_static_sites(noid):
    assert "--git is for --site" in noid.refused("setup", "nginx", *EXAMPLE, "--git", status=2)
