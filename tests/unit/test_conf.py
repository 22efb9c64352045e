"""The files in conf/: complete, current and consistent with the program."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noidtools.deployment.setup import FASTCGI, PROXY, WAYS
from noidtools.schemes import ibi, ibip
from noidtools.schemes.timed import Date
from noidtools.web.body import LARGEST_BODY
from support.project import CONF
from support.servers.configuration import rendered

# Those for monitors are the same everywhere, and tested with a Prometheus.
FILES = sorted(path for path in CONF.rglob("*") if path.is_file() and path.parent.name not in ("prometheus", "grafana"))
TEMPLATES = [path.relative_to(CONF).as_posix() for path in FILES if path.suffix == ".j2"]
UNITS = ("noid.service", "noid-backup.service", "noid-backup.timer", "noid-links.service", "noid-links.timer",
         "noid-site.service", "noid-site.timer")
SITES = [(server, way) for server, ways in WAYS.items() for way in ways]


def site(server: str, way: str, **values: object) -> str:
    return rendered(f"{server}/site.conf.j2", server, way, **values)


def with_included(name: str) -> set[str]:
    """A template, and those that it includes."""
    included = re.findall(r'{% include "(\S+)" %}', (CONF / name).read_text())
    return {name}.union(*map(with_included, included))


def test_every_template_is_part_of_what_setup_writes():
    """A template that nothing includes would go unnoticed by the tests that start servers."""
    named = {f"{server}/site.conf.j2" for server in WAYS} | {f"{server}/{way}.conf.j2" for server, way in SITES}
    named |= {"noidtools.wsgi.j2", "noid.sh.j2"} | {f"systemd/{unit}.j2" for unit in UNITS}
    assert set().union(*map(with_included, named)) == set(TEMPLATES)


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_names_no_folder_that_setup_chooses(name):
    for line in (CONF / name).read_text().splitlines():
        if not line.lstrip().startswith("#"):
            assert not re.search(r"/(srv|etc|opt|var)/", line), line


@pytest.mark.parametrize("secure", [False, True])
@pytest.mark.parametrize(("server", "way"), SITES)
def test_the_values_of_a_setup_are_in_its_host_and_lines_are_tidy(server, way, secure):
    text = site(server, way, secure=secure, host="ids.example.org", users="/u", socket="/s", minters="/m", wsgi="/w",
                certificate="/c", key="/k", acme_folder="/a")
    assert "ids.example.org" in text and "localhost" not in text and "/u" in text and "/a" in text
    assert ("/c" in text) == secure
    assert "{{" not in text and "{%" not in text and "\n\n\n" not in text and text.endswith("}\n" if server == "nginx"
                                                                                    else "</VirtualHost>\n")
    assert not [line for line in text.splitlines() if line != line.rstrip()]


def test_configurations_use_no_directive_that_apache_has_removed():
    gone = re.compile(r"^\s*(RewriteLock|RewriteLog|Order|Allow|Deny|Satisfy|LockFile|SSLMutex)\b", re.MULTILINE)
    for path in (CONF / "apache").iterdir():
        assert not gone.search(path.read_text())


@pytest.mark.parametrize(("server", "way"), SITES)
def test_the_servers_take_bodies_as_large_as_the_program_does(server, way):
    limit = f"client_max_body_size {LARGEST_BODY >> 20}m;" if server == "nginx" else str(LARGEST_BODY)
    assert limit in site(server, way)


@pytest.mark.parametrize("way", [PROXY, FASTCGI])
def test_the_service_writes_to_the_folder_of_minters_alone_and_its_socket_is_for_the_web_server(way):
    unit = rendered("systemd/noid.service.j2", "nginx", way)
    (command,) = re.findall(r"^ExecStart=(.+)$", unit, re.MULTILINE)
    assert "--minters /srv/noid" in command and "/run/noid/noid.sock" in command
    assert "\nReadWritePaths=/srv/noid -/run/noid\n" in unit and "\nUMask=0007\n" in unit
    assert "-o noid -g www-data -m 2750 /run/noid\n" in unit
    for server in WAYS:
        assert "/run/noid/noid.sock" in site(server, way)


def test_what_a_client_says_of_itself_is_replaced_by_the_proxies():
    """The service believes these headers, and granian takes _ in a name for -."""
    nginx, apache = site("nginx", PROXY), site("apache", PROXY)
    for name in ("NoidUser", "NoidTarget", "X-Forwarded-For", "X-Forwarded-Proto", "Authorization"):
        assert f"proxy_set_header {name} " in nginx
        assert re.search(rf"RequestHeader (?:set|unset) {name}\b", apache)
        parts = name.split("-")
        for between in itertools.product("-_", repeat=len(parts) - 1):
            spelled = "".join(part + sign for part, sign in zip(parts, (*between, ""), strict=True))
            assert spelled == name or f"RequestHeader unset {spelled}\n" in apache


# -- names that are known by their form ------------------------------------------------------------------------------


def ibi_pattern() -> str:
    """The pattern of IBI and IBIp names, as Apache's files have it."""
    text = (CONF / "apache" / "ibi.conf.j2").read_text()
    defined = dict(re.findall(r'^Define (\w+) "(.*)"$', text, re.MULTILINE))
    return str(defined["NOID_IBI"].replace("${NOID_IBIP}", defined["NOID_IBIP"]))


IBI = re.compile(f"/+{ibi_pattern()}")
DATES = st.integers(900_000_000, 4_000_000_000).map(Date) | st.integers(9_000_000_001, 40_000_000_000).map(
    lambda tenths: Date(tenths, 1))
PORTS = st.integers(1, 65535)
WORDS = st.text("abcdefghijklmnopqrstuvwxyz0123456789", min_size=1, max_size=8)


def test_every_file_has_the_same_pattern_of_ibi_names():
    pieces = ibi_pattern().removeprefix("(?i:").removesuffix(")")
    for path in [*(CONF / "apache").iterdir(), *(CONF / "nginx").iterdir()]:
        text = path.read_text()
        defined = dict(re.findall(r'^Define (\w+) "(.*)"$', text, re.MULTILINE))
        if "NOID_IBI" in defined:
            assert defined["NOID_IBI"].replace("${NOID_IBIP}", defined["NOID_IBIP"]) == ibi_pattern(), path.name
        else:
            assert text.count("2-9a-hj-np-u") == 4 * text.count(pieces), path.name


@given(st.ip_addresses(v=4).filter(lambda ip: ip.packed[0]) | st.ip_addresses(v=6, network="2000::/3"), PORTS, DATES)
def test_every_ibip_label_has_the_form_that_servers_look_for(address, port, date):
    assert IBI.fullmatch("/" + ibip.encode(str(address).encode(), port, date).decode())


@given(WORDS, WORDS, PORTS, DATES)
def test_every_repository_name_has_the_form_that_servers_look_for(word, domain, port, date):
    label = ibi.encode(f"{word}.{domain}.br".encode(), port, date).decode()
    for spelling in (label, label.upper(), label + "/page.html"):
        assert IBI.match("/" + spelling), spelling


@pytest.mark.parametrize("path", [
    "/fulltext/papers", "/text/abc", "/www/data", "/css/site.css", "/context/search2", "/nd/noidu_kt5", "/2026/11/16/x",
    "/a/b/2026/x.y", "/latex/book2", "/static", "/", "/icons/text.gif", "/index.html", "/healthz", "/Text/Abc",
])
def test_other_paths_have_not(path):
    assert not IBI.match(path)
