"""`noid setup` on an empty machine: what it writes is started as it says, and its check finds what is wrong."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.servers.machine import PASSWORD, Machine
from support.servers.system import MissingError

WAYS = {
    "nginx-fastcgi": "nginx", "nginx-proxy": "nginx --way proxy", "apache-fastcgi": "apache --way fastcgi",
    "apache-wsgi": "apache --way wsgi", "apache-cgi": "apache --way cgi+map --minter kt5",
}
NOID = "/opt/noid/bin/noid"
CERTIFICATE = ("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost "
               "-addext subjectAltName=DNS:localhost -out {0}/fullchain.pem -keyout {0}/privkey.pem 2>/dev/null\n")


@pytest.fixture
def machine(installation) -> Iterator[Machine]:
    try:
        made = Machine(installation.root)
    except MissingError as missing:
        pytest.fail(str(missing))
    yield made
    made.close()


def next_steps(printed: str) -> str:
    """The commands that `noid setup --write` prints last, as a person gives them."""
    steps = [line.removeprefix("next: ") for line in printed.splitlines() if line.startswith("next: ")]
    script = "".join(f"{step}\n" for step in steps if not step.startswith(("the same", "certbot", NOID)))
    return script.replace("htpasswd -B", "htpasswd -b -B").replace("NAME", f"alice {PASSWORD}")


def set_up(machine: Machine, words: str, owner: str = "noid", base: str = "http://localhost") -> str:
    """Set up, make a minter, mint and bind; returns what curl prints for the name."""
    machine.run(next_steps(machine.run(
        f"{NOID} setup {words} --minters /srv/noid --host localhost --write")))
    machine.run(f"runuser -u {owner} -- mkdir -p /srv/noid/kt5\n"
                f"runuser -u {owner} -- {NOID} -f /srv/noid/kt5 dbcreate kt.reeded long 13030 cdlib.org dpg\n")
    curl = f"curl -sk -u alice:{PASSWORD}"
    machine.run(f"{curl} '{base}/nd/noidu_kt5?mint+1' | grep '^id: 13030/kt4x551'\n"
                f"{curl} '{base}/nd/noidu_kt5?bind+set+13030/kt4x551+_t+https://library.example/x'")
    return machine.run(f"curl -ski {base}/ark:/13030/kt4x551")


@pytest.mark.parametrize("way", WAYS)
def test_what_setup_writes_serves_minters_and_names(machine, way):
    owner = "www-data" if way in ("apache-wsgi", "apache-cgi") else "noid"
    assert "ocation: https://library.example/x" in set_up(machine, WAYS[way], owner)
    assert machine.run("stat -c '%a %U:%G' /etc/noid/users /srv/noid") == f"640 root:www-data\n750 {owner}:{owner}\n"
    # Anonymous users may not mint.
    assert machine.run("curl -so /dev/null -w '%{http_code}' 'http://localhost/nd/noidu_kt5?mint+1'") == "401"
    machine.run(f"runuser -u {owner} -- {NOID} -f /srv/noid/kt5 resolver canary 13030/kt4x551\n"
                f"runuser -u {owner} -- {NOID} -f /srv/noid/kt5 policy admin alice")
    printed = machine.run(f"{NOID} setup check")
    assert "error:" not in printed and "13030/kt4x551 leads where it should" in printed
    assert "http://localhost/healthz answers 20" in printed
    # Once more, nothing changes.
    again = machine.run(f"{NOID} setup {WAYS[way]} --minters /srv/noid --host localhost --write")
    assert "wrote:" not in again and "replaced:" not in again


def test_the_check_that_is_printed_as_the_last_step_finds_no_error_before_there_is_a_minter(machine):
    for words in ("nginx", "apache --way wsgi", "apache --way cgi+map --minter kt5"):
        steps = machine.run(f"{NOID} setup {words} --minters /srv/noid --host localhost --write")
        assert steps.rstrip().endswith(f"next: {NOID} setup check")
        machine.run(next_steps(steps))
        printed = machine.run(f"{NOID} setup check")
        assert "warning: http://localhost/healthz answers 503, because there is no minter yet" in printed
        assert "error:" not in printed, (words, printed)


@pytest.mark.parametrize("server", ["nginx", "apache"])
def test_setup_with_acme_serves_http_until_there_is_a_certificate_and_then_https(machine, server):
    assert "ocation: https://library.example/x" in set_up(machine, f"{server} --acme")
    live = "/etc/letsencrypt/live/localhost"
    machine.run(f"mkdir -p /var/www/noid-acme/.well-known/acme-challenge {live}\n"
                "echo proof > /var/www/noid-acme/.well-known/acme-challenge/token")
    assert machine.run("curl -s http://localhost/.well-known/acme-challenge/token") == "proof\n"
    machine.run(CERTIFICATE.format(live))
    printed = machine.run(f"{NOID} setup {server} --acme --minters /srv/noid --host localhost --write")
    assert "replaced: " in printed
    machine.run(next_steps(printed))
    assert "ocation: https://library.example/x" in machine.run("curl -ski https://localhost/ark:/13030/kt4x551")
    assert "ocation: https://localhost/ark:/13030/kt4x551" in machine.run("curl -si http://localhost/ark:/13030/kt4x551")
    assert machine.run("curl -s http://localhost/.well-known/acme-challenge/token") == "proof\n"
    # The machine does not know who signed it.
    assert "renew the certificate (certbot renew), or name another" in machine.run(f"{NOID} setup check", check=False)


# In each step to another server or way.  The last is where they began, with other minters of the same folder.
CHANGES = ("apache --way cgi+map --minter kt5", "apache", "nginx", "nginx --way proxy", "nginx --user ids",
           "apache --way wsgi", "nginx", "apache --way cgi+map --minter kt5")


def test_a_site_changes_from_each_way_to_another_by_the_steps_that_are_printed(machine):
    owners = {"wsgi": "www-data", "cgi+map": "www-data", "ids": "ids"}
    set_up(machine, CHANGES[0], "www-data")
    for words in CHANGES[1:]:
        owner = next((owner for word, owner in owners.items() if word in words), "noid")
        machine.run(next_steps(machine.run(
            f"{NOID} setup {words} --minters /srv/noid --host localhost --write")))
        printed = machine.run("curl -si http://localhost/ark:/13030/kt4x551")
        assert "ocation: https://library.example/x" in printed, (words, printed)
        machine.run(f"curl -sf -u alice:{PASSWORD} 'http://localhost/nd/noidu_kt5?mint+1' | grep '^id: '")
        printed = machine.run(f"{NOID} setup check")
        assert f"{owner} can write to /srv/noid" in printed and "error:" not in printed, (words, printed)
        assert "no host of the web server" not in printed and "two web servers" not in printed, (words, printed)
        assert machine.run("stat -c %U /srv/noid/kt5/NOID/data.mdb") == f"{owner}\n"


@pytest.mark.long
def test_the_check_names_the_cause_when_the_steps_between_two_ways_were_left_out(machine):
    set_up(machine, "nginx --way proxy")
    unused = "warning: the service noid-http runs, and no host of the web server uses it: systemctl disable --now "
    foreign = "error: www-data cannot write to /srv/noid, because of /srv/noid: chown -R www-data: /srv/noid"
    for words, left_out, expected in (("nginx", "disable --now noid", unused), ("apache --way wsgi", "chown", foreign)):
        steps = next_steps(machine.run(f"{NOID} setup {words} --minters /srv/noid --host localhost --write"))
        assert left_out in steps
        machine.run("".join(f"{step}\n" for step in steps.splitlines() if left_out not in step))
        printed = machine.run(f"{NOID} setup check", check=False)
        assert expected in printed and "/run/noid/http.sock" not in printed, printed
    assert "noid can write" not in printed
    assert "healthz answers 503: look at /var/log/apache2/error.log" in printed
    # A minter without a link, and an account for noidr that cannot read the minter.
    machine.run("chown -R noid: /srv/noid")
    machine.run(next_steps(machine.run(
        f"{NOID} setup apache --way cgi+map --minter kt5 --minters /srv/noid --host localhost --write")))
    machine.run("sed -i 's/www-data:www-data/nobody:nogroup/' /etc/noid/apache/resolver.conf\n"
                "cp -a /srv/noid/kt5 /srv/noid/xx5")
    printed = machine.run(f"{NOID} setup check", check=False)
    assert "/srv/noid/noidr_kt5 cannot read its minter as nobody (" in printed
    assert "the minter xx5 is not on the web, because /srv/noid/noidu_xx5 does not exist: ln -s /opt/noid/" in printed
    machine.run("ln -s /opt/noid/bin/noidu /srv/noid/noidu_xx5")
    assert "is not on the web" not in machine.run(f"{NOID} setup check", check=False)


def test_a_folder_that_root_made_before_is_given_to_the_service(machine):
    machine.run("mkdir /srv/noid")
    assert "ocation: https://library.example/x" in set_up(machine, "nginx")


# What is broken, and what the check says of it.
FAULTS = {
    f"runuser -u noid -- {NOID} -f /srv/noid/kt5 policy admin authenticated": "noid -f /srv/noid/kt5 policy admin USER",
    "chown -R root: /srv/noid/kt5; chmod -R go= /srv/noid/kt5": "error: noid cannot write /srv/noid/kt5/NOID",
    "systemctl stop noid.socket noid; rm -f /run/noid/noid.sock": "systemctl enable --now noid.socket",
    "chmod 666 /run/noid/noid.sock": "everybody on this machine can use the socket",
    "chgrp root /run/noid/noid.sock": "the web server cannot use the socket /run/noid/noid.sock",
    "chmod 644 /etc/noid/users": "chmod 640 /etc/noid/users",
    "chmod 600 /etc/noid/users": "the web server cannot read /etc/noid/users",
    ": > /etc/noid/users": "nobody can log in",
    "echo garbage >> /etc/noid/users": "error: the line 2 of /etc/noid/users is no login",
    "chmod -R go= /opt/noid/lib": "chmod -R a+rX /opt/noid",
    "chmod 700 /opt/noid": "noid cannot run /opt/noid/bin/noid, because of /opt/noid",
    "systemctl stop nginx": "http://localhost/healthz answers nothing",
    "cp -r /srv/noid/kt5 /srv/noid/copy; chown -R noid: /srv/noid/copy": "kt5 share NAAN and prefix 13030/kt",
    f"runuser -u noid -- {NOID} -f /srv/noid/kt5 bind set 13030/kt4x551 _t https://b.example/":
        "13030/kt4x551 leads to https://b.example/, not to https://library.example/x",
    "truncate -s 100 /srv/noid/kt5/NOID/data.mdb": "the minter kt5 cannot be read",
}


REPAIR = """
systemctl kill -s KILL noid || true
systemctl stop noid.socket noid
systemctl reset-failed
rm -rf /srv/noid
cp -a /saved/srv /srv/noid
cp -a /saved/users /etc/noid/users
chmod 755 /opt/noid
chmod -R a+rX /opt/noid/lib
systemctl start noid.socket nginx
"""


def test_the_check_names_what_is_wrong_and_its_remedy(machine):
    set_up(machine, "nginx")
    printed = machine.run(f"{NOID} setup check")
    assert "resolver canary NAME" in printed and "error:" not in printed
    machine.run(f"runuser -u noid -- {NOID} -f /srv/noid/kt5 resolver canary 13030/kt4x551\n"
                "mkdir /saved\ncp -a /srv/noid /saved/srv\ncp -a /etc/noid/users /saved/users")
    for fault, expected in FAULTS.items():
        machine.run(f"{REPAIR}\n{fault}")
        printed = machine.run(f"{NOID} setup check; echo status $?", check=False)
        assert expected in printed, (fault, printed)
        assert "Traceback" not in printed and "fault in noidtools" not in printed
        if "nobody can log in" not in expected and "policy admin" not in expected:
            assert "\nerror: " in f"\n{printed}" and "status 0" not in printed, (fault, printed)
    machine.run(REPAIR)
    assert "error:" not in machine.run(f"{NOID} setup check")
