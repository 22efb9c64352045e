"""The guides, followed to the letter on an empty machine: from the first command to a redirect that curl shows.

In every run the program is installed by copying; `./test --long` also runs the commands that install it with pip.
"""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from noidtools.deployment.setup import SetUp, commands_of
from support.page_examples import blocks
from support.project import ROOT
from support.servers.machine import Machine

# The machine has no network: what would be installed must be there.
PRELUDE = 'apt-get() { shift; dpkg-query -W "$@"; }\n'
INSTALLING = re.compile(r"^/\S*(?:python3 -m venv|/pip install) .*\n", re.MULTILINE)

DEPLOY = ("deploy.md", ("Install", "Set up", "Make a minter, mint, bind, resolve", "Check"))
# The pages and sections of each way, in the order in which they send their reader from one to the next.
GUIDES = {
    "nginx-proxy": [DEPLOY, ("deploy-nginx.md", ("Use it",))],
    "nginx-fcgi": [DEPLOY, ("deploy-nginx.md", ("FastCGI", "Use it"))],
    "apache-proxy": [("deploy-apache.md", ("First, for every way", "Apache as a proxy", "Use it"))],
    "apache-fcgi": [("deploy-apache.md", ("First, for every way", "Apache with FastCGI", "Use it"))],
    "apache-wsgi": [("deploy-apache.md", ("First, for every way", "Apache with mod_wsgi", "Use it"))],
    "apache-cgi": [("deploy-apache.md", ("First, for every way", "Apache with CGI", "Use it"))],
}
BUSY = "Names on a very busy server"


def commands(page: str, title: str) -> str:
    """The lines for a shell in one section of a page."""
    path = ROOT / "docs" / page
    lines = path.read_text(encoding="utf-8").splitlines()
    heads = [number for number, line in enumerate(lines, 1) if line.startswith("## ")] + [len(lines) + 1]
    (start,) = [number for number in heads[:-1] if lines[number - 1] == f"## {title}"]
    end = heads[heads.index(start) + 1]
    return "".join(block.text for block in blocks(path) if block.language == "sh" and start < block.line < end)


def guide(way: str, *, install: bool = False) -> str:
    """All commands of a guide."""
    text = "".join(commands(page, title) for page, titles in GUIDES[way] for title in titles)
    if way == "apache-cgi":
        # What needs one of the other ways, as the page says.
        text = re.sub(r".*\?info.*\n", "", text)
    # A person is slower than the service, which looks for new minters once a second.
    text = re.sub(r"(?<= dbcreate kt.reeded long 13030 cdlib.org dpg\n)", "sleep 1.1\n", text)
    return PRELUDE + (text if install else INSTALLING.sub("", text))


@pytest.mark.parametrize("way", GUIDES)
def test_a_guide_leads_from_an_empty_machine_to_a_redirect(machine, way):
    printed = machine.type(guide(way))
    assert "id: 13030/kt4x551\n" in printed
    assert "ocation: https://library.example/kt4x551\n" in printed
    assert "ocation: https://library.example/kt4x551/page-7.pdf?zoom=2\n" in printed
    assert "error:" not in printed
    if way.startswith("nginx"):
        assert "13030/kt4x551 leads where it should" in printed
    # Passwords are for the web server alone.
    assert machine.run("stat -c '%a %U:%G' /etc/noid/users") == "640 root:www-data\n"
    if way == "nginx-proxy":
        later = machine.run(commands("deploy.md", "Interfaces for other software"))
        assert machine.run("curl -s http://localhost/status") == "success: EZID is up", later
    if way in ("apache-cgi", "nginx-proxy"):
        page = "deploy-apache.md" if way == "apache-cgi" else "deploy-nginx.md"
        assert "ocation: https://library.example/kt4x551\n" in machine.type(PRELUDE + commands(page, BUSY))
    if way != "apache-cgi":
        assert "erc:\n" in printed and '"targets": [{"url": "https://library.example/kt4x551"' in printed
        assert machine.run("curl -s http://localhost/healthz") == "ok\n"


def test_the_block_of_the_guide_is_the_one_that_setup_prints():
    setup = SetUp("nginx", minters="/srv/noid", host="localhost", prefix="/opt/noid")
    block = "".join(f"{command}\n" for command in commands_of(setup) if not command.startswith("#"))
    assert f"--write\n{block}htpasswd" in commands("deploy.md", "Set up")


def test_the_service_runs_without_systemd_as_its_guide_says(machine):
    machine.type(guide("nginx-proxy"))
    machine.run("systemctl disable --now noid; rm -rf /run/noid")
    script = commands("deploy-systemd.md", "Without systemd")
    machine.run(f"({script}) > /tmp/log 2>&1 &\n"
                "until curl -s --unix-socket /run/noid/noid.sock http://localhost/ > /dev/null; do sleep 0.1; done")
    assert machine.run("curl -s 'http://localhost/nd/noidu_kt5?hello'; cat /tmp/log").startswith("Hello.\n\n")
    assert machine.run("stat -c '%a %U:%G' /run/noid/noid.sock") == "660 noid:www-data\n"


def test_reload_backup_upgrade_and_uninstalling_are_as_the_pages_say(machine):
    machine.type(guide("nginx-proxy"))
    printed = machine.run(commands("deploy-systemd.md", "Look, reload, restart"))
    assert "active (running)" in printed and "serving the minters in /srv/noid by http" in printed
    assert machine.run("curl -s 'http://localhost/nd/noidu_kt5?hello'") == "Hello.\n\n"
    assert "noid-backup.service" in machine.run(commands("operations.md", "Back up"))
    assert machine.run("ls /var/backups/noid/kt5/2*; stat -c %U /var/backups/noid/kt5") == "README\ndata.mdb\nnoid\n"
    assert "no backup" not in machine.run("noid setup check") and "warning" not in machine.run(
        "noid status --minters /srv/noid")
    # The service starts anew; what pip does is tried with --long.
    machine.run(INSTALLING.sub("", commands("operations.md", "Upgrade")))
    assert machine.run("curl -s 'http://localhost/nd/noidu_kt5?hello'") == "Hello.\n\n"
    machine.run(commands("operations.md", "Uninstall"))
    left = ("/etc/noid /opt/noid /etc/nginx/conf.d/noid.conf /etc/systemd/system/noid* /usr/local/bin/noid /run/noid "
            "/var/www/noid-acme")
    assert machine.run(f"ls -d {left} 2>/dev/null | grep -v machine || true") == ""
    assert machine.run("systemctl list-units --all 'noid*' --plain --no-legend | grep -v machine || true") == ""
    assert machine.run("getent passwd noid || echo none") == "none\n"
    assert machine.run("stat -c %U /srv/noid/kt5/NOID/data.mdb /var/backups/noid/kt5/2*") == "root\nroot\n"
    # Nothing is left to remove.
    assert machine.run("find /srv/noid /var/backups/noid -nouser") == ""


# A server as it is after the first steps of the page, on one machine; other clients reach it over TCP with a password.
POSTGRES = """
install -d -o postgres /var/lib/postgresql /run/postgresql
cd /var/lib/postgresql
bin=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -1)
runuser -u postgres -- $bin/initdb -A peer --auth-host=scram-sha-256 --no-sync -D noid > /tmp/initdb
runuser -u postgres -- $bin/pg_ctl -w -D noid -o '-c listen_addresses=127.0.0.1' -l noid/log start > /dev/null
cd /checkout
"""


def test_a_minter_in_postgresql_is_served_as_the_page_says(machine):
    machine.run(f"ln -s /opt/noid/bin/noid /usr/local/bin/noid\n{POSTGRES}")
    _, first, script = commands("scale.md", "Three servers, step by step").partition("runuser -u postgres -- createdb")
    script = first + script.replace("10.0.0.", "127.0.0.").replace("…", "kept")
    # What is there of the program stands for the installation on the leader.
    script = script.replace("/opt/noid/bin/noid setup", "rm /usr/local/bin/noid\n/opt/noid/bin/noid setup")
    machine.run(script)
    mint = "curl -s -w '%{http_code}' -u alice:s3cret 'http://localhost/nd/noidu_kt5?mint+1'"
    machine.run("htpasswd -bB /etc/noid/users alice s3cret; noid -f /srv/noid/kt5 policy admin alice; sleep 1.1")
    assert machine.run(mint) == "id: 13030/kt4x551\n\n200"
    machine.run("systemctl start noid-backup")
    checked = machine.run("noid setup check")
    assert "noid can write the minter kt5" in checked and "error:" not in checked and "backup" not in checked, checked
    # Without the network, the cause is named: to the client, in the journal, and by the check.
    machine.run("noid setup nginx --minters /srv/noid --host localhost --write | sed 's/check$/check || true/' | sh -e")
    refused = machine.run(mint)
    assert refused.endswith("503") and "the server's log says why" in refused, refused + machine.logs()
    assert "may not use the network" in machine.run("journalctl -u noid --no-pager")
    checked = machine.run("noid setup check", check=False)
    assert "error: the service may not use the network, which the minter kt5 needs: noid setup nginx" in checked
    assert "--postgres --write" in checked


# What certbot would do, with a certificate that the machine trusts, and the machine's knowledge of the host.
CERTBOT = r"""
apt-get() { :; }
mkdir /fake
cat > /fake/certbot <<'END'
#!/bin/sh
set -eu
echo $* | grep -q -- '-w /var/www/noid-acme -d ids.example.org'
mkdir -p /etc/letsencrypt/live/ids.example.org
cd /etc/letsencrypt/live/ids.example.org
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=ids.example.org \
    -addext subjectAltName=DNS:ids.example.org -out fullchain.pem -keyout privkey.pem 2>/dev/null
cat fullchain.pem >> /etc/ssl/certs/ca-certificates.crt
END
chmod 755 /fake/certbot
export PATH=/fake:$PATH
echo 127.0.0.1 ids.example.org >> /etc/hosts
"""


@pytest.mark.parametrize("way", ["nginx-proxy", pytest.param("apache-proxy", marks=pytest.mark.long)])
def test_https_is_served_as_the_page_says(machine, way):
    machine.type(guide(way))
    machine.run(CERTBOT + commands("deploy.md", "HTTPS").replace("setup nginx", f"setup {way.split('-')[0]}"))
    name = "ids.example.org/ark:/13030/kt4x551"
    assert "ocation: https://library.example/kt4x551" in machine.run(f"curl -ski https://{name}")
    assert f"ocation: https://{name}" in machine.run(f"curl -si http://{name}")


@pytest.mark.long
@pytest.mark.parametrize("way", ["nginx-proxy", "apache-wsgi"])
def test_a_guide_installs_the_program_itself(tmp_path, way):
    """With pip, from packages that were fetched before."""
    subprocess.run([sys.executable, "-m", "pip", "download", "-q", "-d", tmp_path, "setuptools>=61", "wheel",
                    f"{ROOT}[http,rdf]"], check=True, cwd=tmp_path)
    for own in tmp_path.glob("noidtools-*"):
        own.unlink()
    machine = Machine(None, tmp_path)
    try:
        pip = "export PIP_NO_INDEX=1 PIP_FIND_LINKS=/checkout/wheels\n"
        printed = machine.type(pip + guide(way, install=True), 300)
        assert "ocation: https://library.example/kt4x551\n" in printed
        described = machine.run("curl -s -H 'Accept: text/turtle' 'http://localhost/ark:/13030/kt4x551?info'")
        assert "13030/kt4x551" in described and "@prefix" in described
    finally:
        machine.close()
