"""`noid setup`: what it prints and writes; tests/servers/test_setup.py starts it."""

from __future__ import annotations

import os
import pwd
import re
from pathlib import Path

import pytest

from noidtools.deployment.settings import WAYS
from support.project import CONF

EXAMPLE = ("--minters", "/srv/noid", "--host", "localhost", "--prefix", "/opt/noid")
HOST = ("--minters", "/srv/noid", "--host", "ids.example.org")


def sections(printed: str) -> dict[str, str]:
    """The printed files by their paths."""
    parts = re.split(r"^==== (\S+).*\n", printed, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize(("server", "way"), [(server, way) for server, ways in WAYS.items() for way in ways])
def test_with_the_values_of_the_examples_the_files_are_those_of_conf(noid, server, way):
    minter = ("--minter", "kt5") if way == "cgi+map" else ()
    printed = sections(noid("setup", server, "--way", way, *EXAMPLE, *minter))
    found = {path: text for path, text in printed.items() if text}
    for path, text in found.items():
        name = path.replace("/etc/noid/", "").replace("/etc/systemd/system", "systemd")
        shipped = CONF / name if (CONF / name).exists() else CONF / server / "site.conf"
        if server == "apache":
            text = text.replace(" --max-rate 100", "")
        if shipped.name != "site.conf" or way == "fastcgi":
            assert path == "then" or text == shipped.read_text(), path
    assert len(found) >= 3


def test_the_host_the_minters_and_the_account_are_those_that_were_chosen(noid):
    printed = noid("setup", "nginx", "--minters", "/data/srv/noid", "--host", "IDS.example.org", "--user", "ids",
                   "--prefix", "/usr/local/noid")
    site = sections(printed)["/etc/nginx/conf.d/noid.conf"]
    assert "server_name ids.example.org;" in site and "localhost" not in site
    assert "ExecStart=/usr/local/noid/bin/noid serve --fcgi systemd --minters /data/srv/noid\n" in printed
    assert "ReadWritePaths=/data/srv/noid\n" in printed and "User=ids\nGroup=ids\n" in printed
    assert "runuser" not in printed and "/srv/noid/kt5 mint 1" in printed


def test_rates_are_limited_by_nginx_and_behind_apache_by_the_service(noid):
    assert "rate=100r/s" in noid("setup", "nginx", *EXAMPLE) and "--max-rate" not in noid("setup", "nginx", *EXAMPLE)
    assert "--minters /srv/noid --max-rate 100\n" in noid("setup", "apache", *EXAMPLE)


def test_https_has_the_certificate_that_was_named(noid):
    for server in WAYS:
        printed = noid("setup", server, *HOST, "--tls", "/etc/ssl/c.pem", "/etc/ssl/k.pem")
        assert "/etc/ssl/c.pem" in printed and "/etc/ssl/k.pem" in printed and "letsencrypt" not in printed


def test_files_are_written_below_a_root_and_what_they_replace_is_kept(noid, tmp_path: Path):
    root = tmp_path / "image"
    program = root / "opt/noid/bin/noid"
    program.parent.mkdir(parents=True)
    program.touch()
    words = ("setup", "apache", *EXAMPLE, "--root", str(root), "--write")
    before = os.umask(0o077)
    try:
        first = noid(*words)
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in (root / "etc", root / "var/www", root / "srv")} == {0o755}
    assert "wrote: /etc/apache2/sites-available/noid.conf\n" in first and "next: a2ensite noid\n" in first
    site, users = root / "etc/apache2/sites-available/noid.conf", root / "etc/noid/users"
    assert users.stat().st_mode & 0o777 == 0o640 and (root / "srv/noid").stat().st_mode & 0o777 == 0o750
    users.write_text("alice:hash\n")
    site.write_text("mine\n")
    second = noid(*words)
    assert "replaced: /etc/apache2/sites-available/noid.conf\n" in second and "wrote:" not in second
    assert site.with_name("noid.conf.old").read_text() == "mine\n" and users.read_text() == "alice:hash\n"
    assert not list(root.rglob("*.new"))
    # However often it is written, with whatever options, nothing that was kept is lost or kept twice.
    for host in ("a.example", "b.example", "a.example", "b.example"):
        noid(*words, "--host", host)
    kept = sorted(site.parent.glob("noid.conf.old*"))
    assert [path.name for path in kept] == ["noid.conf.old", "noid.conf.old.2", "noid.conf.old.3", "noid.conf.old.4"]
    assert kept[0].read_text() == "mine\n" and len({path.read_text() for path in kept}) == 4


@pytest.mark.parametrize(("words", "expected"), [
    (("nginx",), "--host is missing"), (("nginx", "--minters", "/srv/noid"), "--host is missing"),
    (("iis", *HOST), "setup 'iis'?"), (("nginx", *HOST, "--way", "cgi+map"), "choose one of fastcgi, proxy"),
    (("nginx", *HOST, "--way", "\n"), "choose one of"), (("nginx", "--minters", "srv", "--host", "x"), "whole path"),
    (("nginx", "--minters", "/srv/a b", "--host", "x"), "whole path"),
    (("nginx", "--minters", '/srv/"; }', "--host", "x"), "whole path"),
    (("nginx", "--minters", "/srv/../etc", "--host", "x"), "whole path"),
    (("nginx", "--minters", "/srv/n\n", "--host", "x"), "whole path"),
    (("nginx", "--minters", "", "--host", "x"), "--minters is empty"),
    (("nginx", "--minters", "/srv/ä", "--host", "x"), "plain"),
    (("nginx", "--minters", "/home/me/noid", "--host", "x"), "home and temporary folders"),
    (("nginx", "--minters", "/srv/noid", "--host", ""), "--host is empty"),
    (("nginx", "--minters", "/srv/noid", "--host", "a b"), "no host name"),
    (("nginx", "--minters", "/srv/noid", "--host", "x;}"), "no host name"),
    (("nginx", "--minters", "/srv/noid", "--host", "a." * 200 + "a"), "no host name"),
    (("nginx", "--minters", "/srv/noid", "--host", "a" * 240 + "_"), "no host name"),
    (("nginx", *HOST, "--tls", "/etc/c.pem"), "two files"), (("nginx", *HOST, "/etc/k.pem"), "two files"),
    (("nginx", *HOST, "--tls", "/etc/c.pem", "/etc/k.pem", "--acme"), "one of them"),
    (("nginx", *HOST, "--user", "root"), "no rights"), (("nginx", *HOST, "--user", "a b"), "no name of an account"),
    (("apache", *HOST, "--way", "wsgi", "--user", "noid"), "runs the program, as www-data"),
    (("apache", *HOST, "--way", "cgi+map"), "say --minter NAME"),
    (("apache", *HOST, "--way", "cgi+map", "--minter", "../x"), "no name of a folder"),
    (("nginx", *HOST, "--minter", "kt5"), "--minter is for"), (("nginx", *HOST, "--print", "--write"), "one of them"),
    (("nginx", *HOST, "--prefix", "/root/venv"), "the program in /root/venv cannot be seen"),
    (("nginx", "--minters", "/etc", "--host", "x"), "the folder is given to the account noid, and this one is for"),
    (("apache", "--way", "wsgi", "--minters", "/usr/noid", "--host", "x"), "use one like /srv/noid"),
    (("nginx", "--minters", "/srv", "--host", "x"), "use one like /srv/noid"),
    (("apache", "--way", "wsgi", "--minters", "/root/noid", "--host", "x"), "cannot be seen by the web server"),
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
    (tmp_path / "etc").write_text("a file where a folder should be")
    assert "cannot be written" in noid.refused("setup", "nginx", *EXAMPLE, "--root", str(tmp_path), "--write")


def test_the_check_examines_any_folder_of_minters(noid, tmp_path: Path):
    me = pwd.getpwuid(os.getuid()).pw_name
    for name in ("a", "b"):
        (tmp_path / "minters" / name).mkdir(parents=True)
        noid("-f", f"minters/{name}", "dbcreate", "kt.reeded", "long", "13030", "cdlib.org", "dpg")
    done = noid.run("setup", "check", "--minters", str(tmp_path / "minters"), "--user", me)
    printed = done.stdout.decode()
    assert done.returncode == 1 and "error: the minters a, b share NAAN and prefix 13030/kt" in printed
    assert "GB are free" in printed


def test_the_check_tells_who_may_administer_a_minter_on_the_web(noid, tmp_path: Path):
    (tmp_path / "minters" / "a").mkdir(parents=True)
    words = ("-f", "minters/a")
    noid(*words, "dbcreate", "kt.reeded", "long", "13030", "cdlib.org", "dpg")
    check = ("setup", "check", "--minters", str(tmp_path / "minters"), "--user", pwd.getpwuid(os.getuid()).pw_name)
    for rule, expected, status in (
        ("anyone", "error: everybody on the web may change the policy of the minter a, without a login: noid -f ", 1),
        ("authenticated", "warning: everybody who has logged in may change the policy of the minter a: noid -f ", 0),
        ("alice", "", 0),
    ):
        noid(*words, "policy", "admin", rule)
        done = noid.run(*check)
        assert (expected or "ok:") in done.stdout.decode() and done.returncode == status, done.stdout
        assert ("may change the policy" in done.stdout.decode()) == bool(expected)
