"""`noid setup` on an empty machine: what it writes is started as it says, and its check finds what is wrong."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.servers.machine import PASSWORD, Machine

WAYS = {
    "nginx-proxy": "nginx", "nginx-fastcgi": "nginx --way fastcgi", "apache-proxy": "apache",
    "apache-fastcgi": "apache --way fastcgi", "apache-wsgi": "apache --way wsgi",
    "apache-cgi": "apache --way cgi+map --minter kt5",
}
NOID = "/opt/noid/bin/noid"
CERTIFICATE = ("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost "
               "-addext subjectAltName=DNS:localhost -out {0}/fullchain.pem -keyout {0}/privkey.pem 2>/dev/null\n")


def block(printed: str) -> str:
    """The commands that `noid setup --write` prints; its check, which waits for the service, may find errors."""
    lines = [line for line in printed.splitlines() if not line.startswith(("#", "certbot", "noid setup check"))]
    return "".join(f"{line}\n" for line in [*lines, "noid setup check || true"])


def set_up(machine: Machine, words: str, base: str = "http://localhost") -> str:
    """Set up, make a minter, mint and bind; returns what curl prints for the name."""
    machine.run(block(machine.run(f"{NOID} setup {words} --minters /srv/noid --host localhost --write")))
    machine.run(f"htpasswd -b -B /etc/noid/users alice {PASSWORD}")
    machine.run("noid -f /srv/noid/kt5 dbcreate kt.reeded long 13030 cdlib.org dpg")
    curl = f"curl -sk -u alice:{PASSWORD}"
    machine.run(f"{curl} '{base}/nd/noidu_kt5?mint+1' | grep '^id: 13030/kt4x551'\n"
                f"{curl} '{base}/nd/noidu_kt5?bind+set+13030/kt4x551+_t+https://library.example/x'")
    # Each worker looks for new minters once a second.
    return machine.run(f"sleep 1.1; for i in $(seq 20); do curl -ski {base}/ark:/13030/kt4x551 > /tmp/reply\n"
                       "if grep -qi '^location' /tmp/reply; then break; fi; sleep 0.2; done; cat /tmp/reply")


@pytest.fixture(scope="module")
def with_nginx(installation) -> Iterator[Machine]:
    """A machine on which nginx was set up for a folder of minters that root had made before."""
    made = Machine(installation.root)
    made.run("mkdir /srv/noid")
    assert "ocation: https://library.example/x" in set_up(made, "nginx")
    yield made
    made.close()


# The guides, which are followed in every run, show the other ways, too.
@pytest.mark.parametrize("way", [pytest.param(way, marks=[] if way in ("nginx-proxy", "apache-proxy")
                                              else pytest.mark.long) for way in WAYS])
def test_what_setup_writes_serves_minters_and_names(machine, way):
    owner = "www-data" if way in ("apache-wsgi", "apache-cgi") else "noid"
    assert "ocation: https://library.example/x" in set_up(machine, WAYS[way])
    assert machine.run("stat -c '%a %U:%G' /etc/noid/users /srv/noid") == f"640 root:www-data\n750 {owner}:{owner}\n"
    # Anonymous users may not mint.
    assert machine.run("curl -so /dev/null -w '%{http_code}' 'http://localhost/nd/noidu_kt5?mint+1'") == "401"
    assert_commands_are_at_one_path(machine)
    if way != "apache-cgi":
        assert_figures_are_for_this_machine(machine)
    machine.run("noid -f /srv/noid/kt5 resolver canary 13030/kt4x551\nnoid -f /srv/noid/kt5 policy admin alice")
    printed = machine.run("noid setup check")
    assert "error:" not in printed and "13030/kt4x551 leads where it should" in printed
    assert "http://localhost/healthz answers 20" in printed
    # Once more, nothing changes.
    machine.run(block(machine.run(f"{NOID} setup {WAYS[way]} --minters /srv/noid --host localhost --write")))
    assert "ocation: https://library.example/x" in machine.run("curl -si http://localhost/ark:/13030/kt4x551")
    assert machine.run("noid setup check") == printed


def assert_commands_are_at_one_path(machine: Machine) -> None:
    curl = f"curl -s --path-as-is -u alice:{PASSWORD} 'http://localhost%s?hello'"
    assert machine.run(curl % "/nd/noidu_kt5") == "Hello.\n\n"
    for path in ("/noidu_kt5", "/foo/noidu_kt5", "/nd/x/noidu_kt5", "/ark:/x/noidu_kt5", "/ark:/x%2Fnoidu_kt5",
                 "/ark:/x%2fnoidu_kt5", "/ark:/13030/kt4x551/noidu_kt5", "/nd/noidu_kt5/noidu_kt5", "/noidu",
                 "/nd/../noidu_kt5", "/ark:/nd/../nd/x/noidu_kt5"):
        assert "Hello." not in machine.run(curl % path), path
        # Nor where the web server does not refuse it first.
        if machine.run("ls /run/noid 2> /dev/null || true") and "fcgi" not in machine.run("systemctl cat noid"):
            direct = machine.run(f"{curl % path} -H 'NoidUser: alice' --unix-socket /run/noid/noid.sock")
            assert "Hello." not in direct, path


RESTRICTIONS = {
    "nginx": "sed -i '/location ~ .*nd.noidu/a allow 127.0.0.1; deny all;' /etc/nginx/conf.d/noid.conf",
    "apache": "sed -i '$i <Location \"/nd\">\\nAuthMerging And\\nRequire ip 127.0.0.1\\n</Location>' "
              "/etc/apache2/sites-available/noid.conf",
}


@pytest.mark.parametrize("server", RESTRICTIONS)
def test_who_may_not_reach_the_path_of_commands_reaches_no_command(request, server):
    machine = request.getfixturevalue("with_nginx" if server == "nginx" else "machine")
    if server != "nginx":
        set_up(machine, server)
    machine.run(f"{RESTRICTIONS[server]}; systemctl restart {'apache2' if server == 'apache' else 'nginx'}\n"
                "ip address replace 10.9.9.1/24 dev lo; ip address replace 10.9.9.2/24 dev lo")
    curl = f"curl -s -H 'Host: localhost' --path-as-is -u alice:{PASSWORD}"
    assert "id: 13030/kt" in machine.run(f"{curl} 'http://127.0.0.1/nd/noidu_kt5?mint+1'")
    for path in ("nd/noidu_kt5", "/nd/noidu_kt5", "%6Ed/noidu_kt5", "noidu_kt5", "ark:/x/noidu_kt5", "nd/x/noidu_kt5"):
        printed = machine.run(f"{curl} --interface 10.9.9.2 'http://10.9.9.1/{path}?mint+1'")
        assert "id: " not in printed, (path, printed)
    assert "ocation: https://library.example/x" in machine.run(
        f"{curl} -i --interface 10.9.9.2 http://10.9.9.1/ark:/13030/kt4x551")


def assert_figures_are_for_this_machine(machine: Machine) -> None:
    machine.run("ip address replace 10.9.9.1/24 dev lo; ip address replace 10.9.9.2/24 dev lo")
    curl = "curl -s -o /dev/null -w '%{http_code}' -H 'Host: localhost' --path-as-is --interface 10.9.9.2"
    for path in ("metrics", "readyz", "/metrics", "%6Detrics", "x/../metrics"):
        for login in ("", "-H 'Authorization: Bearer x'", "-u alice:wrong"):
            assert machine.run(f"{curl} {login} http://10.9.9.1/{path}") in ("401", "404"), (path, login)
    for login, target in ((f"-u alice:{PASSWORD}", "10.9.9.1"), ("", "10.9.9.2")):
        for path in ("metrics", "readyz"):
            assert machine.run(f"{curl} {login} http://{target}/{path}") == "200", (path, target)
    assert machine.run(f"{curl} http://10.9.9.1/healthz") == "200"
    assert "noid_minted_total" in machine.run("curl -s http://localhost/metrics")


def test_root_gives_commands_about_minters_as_their_owner_and_about_others_itself(with_nginx):
    machine = with_nginx
    owners = "; stat -c %U /srv/noid/*/NOID/data.mdb | sort | uniq -c"
    for command in ("noid -f /srv/noid/kt5 mint 1", "noid -f/srv/noid/kt5 mint 1", "noid mint 1 -f /srv/noid/kt5",
                    "cd /srv/noid; noid -f kt5 mint 1", "cd /srv/noid/kt5; noid mint 1",
                    "NOID=/srv/noid/kt5 noid mint 1", "noid -f /srv/noid/kt5 mint 1 title 'two  words'"):
        assert "id: 13030/kt" in machine.run(f"cd /root; {command}"), command
    machine.run("noid copy /srv/noid/kt5 /srv/noid/kt6\nnoid -f /srv/noid/a dbcreate .sd\n"
                "noid status --minters=/srv/noid")
    assert machine.run(f"cd /root{owners}").split() == ["3", "noid"]
    assert machine.run("stat -c %U /srv/noid") == "noid\n"  # which root had made
    assert machine.run("cd /root; noid -f own dbcreate .sd > /dev/null; noid -f own mint 1; stat -c %U own") == \
        "id: 0\n\nroot\n"
    # Another account runs the program as itself.
    assert "no permission to use" in machine.run("runuser -u www-data -- noid -f /srv/noid/kt5 mint 1", check=False)


def test_what_runs_starts_at_boot_after_every_change_of_the_web_server(machine):
    for words, other in (("nginx", ""), ("apache", "systemctl disable --now nginx; rm /etc/nginx/conf.d/noid.conf"),
                         ("nginx", "a2dissite noid; systemctl disable --now apache2")):
        printed = machine.run(f"{NOID} setup {words} --minters /srv/noid --host localhost --write")
        machine.run(f"{other}\n{block(printed)}")
        service = "apache2" if words == "apache" else words
        assert machine.run(f"systemctl is-enabled noid noid-backup.timer {service}").split() == ["enabled"] * 3
        assert "does not start" not in machine.run("noid setup check")
    # The check gives the remedy, and with the remedies, as printed, it has nothing left to say.
    machine.run("noid -f /srv/noid/kt5 dbcreate kt.reeded long 13030 cdlib.org dpg\n"
                "noid -f /srv/noid/kt5 mint 1\nnoid -f /srv/noid/kt5 bind set 13030/kt4x551 _t https://library.example/x\n"
                f"htpasswd -b -B /etc/noid/users alice {PASSWORD}\nsleep 1.1\n"
                "systemctl disable --now noid-backup.timer\nsystemctl disable nginx noid\na2ensite noid")
    printed = machine.run("noid setup check")
    for remedy in ("systemctl enable nginx", "systemctl enable noid", "systemctl enable --now noid-backup.timer",
                   "a2dissite noid && systemctl try-reload-or-restart apache2", "systemctl start noid-backup",
                   "noid -f /srv/noid/kt5 resolver canary NAME"):
        assert f": {remedy}\n" in printed, (remedy, printed)
        machine.run(remedy.replace("NAME", "13030/kt4x551"))
    printed = machine.run("noid setup check")
    assert "warning: " not in printed and "error: " not in printed, printed


def test_the_check_tells_that_another_web_server_answers(with_nginx):
    with_nginx.run("systemctl stop nginx; systemctl start apache2")
    printed = with_nginx.run("noid setup check", check=False)
    assert "healthz answers 404, and nginx does not run: systemctl status nginx" in printed


def test_the_remedy_for_a_folder_without_minters_works_as_printed(machine):
    machine.run(block(machine.run(f"{NOID} setup nginx --minters /srv/noid --host localhost --write")))
    (line,) = [line for line in machine.run("noid setup check").splitlines() if "there is no minter in" in line]
    machine.run(line.rpartition(": ")[2].replace("NAME", "kt5"))
    assert machine.run("noid -f /srv/noid/kt5 mint 1; stat -c %U /srv/noid/kt5") == "id: 0\n\nnoid\n"


@pytest.mark.parametrize("words", ["nginx --user ids --backups /srv/b", *(
    pytest.param(words, marks=pytest.mark.long) for words in ("apache --way wsgi", "nginx --user keeper"))])
def test_what_was_set_up_is_removed_by_the_commands_that_are_printed(machine, words):
    machine.run("useradd --system --home-dir /home/keeper keeper\n"
                "find /etc /usr/local/bin /run /var/www /srv -xdev | sort > /tmp/before")
    set_up(machine, words)
    found = machine.run("systemctl start noid-backup; man -w noid; noid doctor || true")
    assert found.splitlines()[0].endswith("/man1/noid.1")
    assert "ok: the database of the minter kt5 is sound" in found and "ok: http://localhost/healthz answers" in found
    machine.run("noid setup remove | sh -ex; ! find /usr/local/share -type f | grep .")
    left = machine.run("find /etc /usr/local/bin /var/www /srv -xdev | sort | comm -13 /tmp/before - | "
                       "grep -Ev '^/srv/(noid|b)|^/etc/(rc.|apache2|group|gshadow|passwd|shadow|subuid|subgid)|"
                       "[.]wants$|(nginx|apache2)[.]service$' || true")
    assert left.split() == ["/etc/noid", "/etc/noid/users"]
    assert machine.run("find / -xdev -nouser -not -path '/proc/*'") == ""
    assert machine.run("stat -c %U /srv/noid/kt5/NOID/data.mdb; getent passwd ids || true") == "root\n"
    machine.run("getent passwd keeper www-data")  # accounts that setup did not make
    assert "noid setup wrote no file" in machine.run(f"{NOID} setup remove", check=False)
    # The web server runs, without the host.
    assert machine.run("curl -so /dev/null -w '%{http_code}' http://localhost/ark:/13030/kt4x551") == "404"


def test_the_check_that_is_printed_as_the_last_command_finds_no_error_before_there_is_a_minter(machine):
    for words in ("nginx", "apache --way wsgi", "apache --way cgi+map --minter kt5"):
        printed = machine.run(f"{NOID} setup {words} --minters /srv/noid --host localhost --write")
        assert "\nnoid setup check\n# Then" in printed
        machine.run(block(printed))
        printed = machine.run("noid setup check")
        assert "warning: http://localhost/healthz answers 503, because there is no minter yet" in printed
        assert "error:" not in printed, (words, printed)
        machine.run("systemctl disable --now noid nginx || true; rm -f /etc/nginx/conf.d/noid.conf")


@pytest.mark.parametrize("server", ["nginx", pytest.param("apache", marks=pytest.mark.long)])
def test_setup_with_acme_serves_http_until_there_is_a_certificate_and_then_https(machine, server):
    assert "ocation: https://library.example/x" in set_up(machine, f"{server} --acme")
    live = "/etc/letsencrypt/live/localhost"
    machine.run(f"mkdir -p /var/www/noid-acme/.well-known/acme-challenge {live}\n"
                "echo proof > /var/www/noid-acme/.well-known/acme-challenge/token")
    assert machine.run("curl -s http://localhost/.well-known/acme-challenge/token") == "proof\n"
    machine.run(CERTIFICATE.format(live))
    printed = machine.run(f"{NOID} setup {server} --acme --minters /srv/noid --host localhost --write")
    machine.run(block(printed))
    assert "ocation: https://library.example/x" in machine.run("curl -ski https://localhost/ark:/13030/kt4x551")
    assert "ocation: https://localhost/ark:/13030/kt4x551" in machine.run("curl -si http://localhost/ark:/13030/kt4x551")
    assert machine.run("curl -s http://localhost/.well-known/acme-challenge/token") == "proof\n"
    # The machine does not know who signed it.
    assert "renew the certificate (certbot renew), or name another" in machine.run("noid setup check", check=False)


# In each step to another way of the same server, or to the other server.
CHANGES = ("apache --way cgi+map --minter kt5", "apache", "apache --way fastcgi", "apache --way wsgi",
           "nginx --user ids", "nginx --way fastcgi")


@pytest.mark.long
def test_a_site_changes_from_each_way_to_another_by_the_same_commands(machine):
    owners = {"wsgi": "www-data", "cgi+map": "www-data", "ids": "ids"}
    set_up(machine, CHANGES[0])
    for words in CHANGES[1:]:
        owner = next((owner for word, owner in owners.items() if word in words), "noid")
        if words == "nginx --user ids":
            machine.run("a2dissite noid; systemctl disable --now apache2")  # as the guide says
        machine.run(block(machine.run(f"{NOID} setup {words} --minters /srv/noid --host localhost --write")))
        printed = machine.run("curl -si http://localhost/ark:/13030/kt4x551")
        assert "ocation: https://library.example/x" in printed, (words, printed)
        machine.run(f"curl -sf -u alice:{PASSWORD} 'http://localhost/nd/noidu_kt5?mint+1' | grep '^id: '")
        printed = machine.run("noid setup check")
        assert f"{owner} can write to /srv/noid" in printed and "error:" not in printed, (words, printed)
        assert ("the service noid runs" in printed) == ("wsgi" in words), printed
        assert "another web server" not in printed, (words, printed)
        assert machine.run("stat -c %U /srv/noid/kt5/NOID/data.mdb") == f"{owner}\n"


@pytest.mark.long
def test_the_check_names_the_cause_when_commands_were_left_out(machine):
    set_up(machine, "apache")
    printed = machine.run(f"{NOID} setup apache --way wsgi --minters /srv/noid --host localhost --write")
    assert "chown -R" in printed
    machine.run("".join(f"{line}\n" for line in block(printed).splitlines() if not line.startswith("chown -R")))
    printed = machine.run("noid setup check", check=False)
    assert "error: www-data cannot write to /srv/noid, because of /srv/noid: chown -R www-data: /srv/noid" in printed
    assert "healthz answers 503: look at /var/log/apache2/error.log" in printed
    # A minter without a link.
    machine.run(block(machine.run(
        f"{NOID} setup apache --way cgi+map --minter kt5 --minters /srv/noid --host localhost --write")))
    machine.run("cp -a /srv/noid/kt5 /srv/noid/xx5")
    printed = machine.run("noid setup check", check=False)
    assert "the minter xx5 is not on the web, because /srv/noid/noidu_xx5 does not exist: ln -s /opt/noid/" in printed
    machine.run("ln -s /opt/noid/bin/noidu /srv/noid/noidu_xx5")
    assert "is not on the web" not in machine.run("noid setup check", check=False)


def test_a_file_of_another_hand_stays(machine):
    machine.run("mkdir -p /etc/nginx/conf.d; echo '# mine' > /etc/nginx/conf.d/noid.conf")
    words = f"{NOID} setup nginx --minters /srv/noid --host localhost --write"
    assert "/etc/nginx/conf.d/noid.conf was not written by noid setup" in machine.run(words, check=False)
    assert machine.run("cat /etc/nginx/conf.d/noid.conf; [ ! -e /etc/systemd/system/noid.service ]") == "# mine\n"
    machine.run(f"{words} --force")
    assert "server_name localhost;" in machine.run("cat /etc/nginx/conf.d/noid.conf")


# What is broken, and what the check says of it.
FAULTS = {
    "noid -f /srv/noid/kt5 policy admin authenticated": "noid -f /srv/noid/kt5 policy admin USER",
    "chown -R root: /srv/noid/kt5; chmod -R go= /srv/noid/kt5": "error: noid cannot write /srv/noid/kt5/NOID",
    "systemctl stop noid; rm -f /run/noid/noid.sock": "nothing listens at the socket /run/noid/noid.sock",
    "chmod 755 /run/noid; chmod 666 /run/noid/noid.sock": "everybody on this machine can use the socket",
    "chgrp root /run/noid/noid.sock": "the web server cannot use the socket /run/noid/noid.sock",
    "chmod 644 /etc/noid/users": "chmod 640 /etc/noid/users",
    "chmod 600 /etc/noid/users": "the web server cannot read /etc/noid/users",
    ": > /etc/noid/users": "nobody can log in",
    "echo garbage >> /etc/noid/users": "error: the line 2 of /etc/noid/users is no login",
    "chmod -R go= /opt/noid/lib": "chmod -R a+rX /opt/noid",
    "chmod 700 /opt/noid": "noid cannot run /opt/noid/bin/noid, because of /opt/noid",
    "systemctl stop nginx": "http://localhost/healthz answers nothing",
    "cp -r /srv/noid/kt5 /srv/noid/copy; chown -R noid: /srv/noid/copy": "kt5 share NAAN and prefix 13030/kt",
    "noid -f /srv/noid/kt5 bind set 13030/kt4x551 _t https://b.example/":
        "13030/kt4x551 leads to https://b.example/, not to https://library.example/x",
    "truncate -s 100 /srv/noid/kt5/NOID/data.mdb": "the minter kt5 cannot be read",
}


REPAIR = """
systemctl kill -s KILL noid || true
systemctl stop noid
systemctl reset-failed
rm -rf /srv/noid
cp -a /saved/srv /srv/noid
cp -a /saved/users /etc/noid/users
chmod 755 /opt/noid
chmod -R a+rX /opt/noid/lib
systemctl start noid nginx
until curl -s --unix-socket /run/noid/noid.sock http://localhost/healthz > /dev/null; do sleep 0.1; done
"""


def test_the_check_names_what_is_wrong_and_its_remedy(machine):
    set_up(machine, "nginx")
    printed = machine.run("noid setup check")
    assert "resolver canary NAME" in printed and "error:" not in printed
    machine.run("noid -f /srv/noid/kt5 resolver canary 13030/kt4x551\n"
                "mkdir /saved\ncp -a /srv/noid /saved/srv\ncp -a /etc/noid/users /saved/users")
    for fault, expected in FAULTS.items():
        machine.run(f"{REPAIR}\n{fault}")
        printed = machine.run("noid setup check; echo status $?", check=False)
        assert expected in printed, (fault, printed)
        assert "Traceback" not in printed and "fault in noidtools" not in printed
        if "nobody can log in" not in expected and "policy admin" not in expected:
            assert "\nerror: " in f"\n{printed}" and "status 0" not in printed, (fault, printed)
    machine.run(REPAIR)
    assert "error:" not in machine.run("noid setup check")
