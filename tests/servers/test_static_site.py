"""A static site, served by real web servers, leads where the service led."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from noidtools.resolution import destination, resolve
from support.minter import Noid
from support.servers.static import StaticHost, static_host
from support.templates import LONG_TERM

NAMES = 2000
# Names that were not minted, and what they lead to.
OTHERS = {"13030/x-y": "https://example.org/hyphen", "13030/xy": "https://example.org/plain",
          "13030/zu-ab": "https://example.org/later", "13030/zuab": "https://example.org/all",
          "13030/ftp": "ftp://example.org/file", "13030/\u00e4[1]": "https://example.org/umlaut"}
# Names of other schemes, in which a dot at the end counts, and one without a target.
FOREIGN = {"doi:10.5/a": "https://example.org/doi", "doi:10.5/a.": "https://example.org/dot"}
FOREIGN_PLAIN = "hdl:10.5/plain"
KINDS = ("apache", "htaccess", "nginx", "python")


class Served:
    """A minter with some thousand names of every kind, and its site."""

    def __init__(self, folder: Path) -> None:
        self.minter = Noid.created(folder / "m", *LONG_TERM)
        self.site = folder / "site"
        self.ids = self.minter.ids(NAMES)
        rows = "".join(f"{name},https://example.org/{number}?a=b&c={number}#d,Author \"{number}\"\n"
                       for number, name in enumerate(self.ids[:-20]))
        self.minter("import", "csv", stdin=f"id,_t,who\n{rows}".replace('"', "").encode())
        self.withdrawn, self.reserved, self.plain = self.ids[-1], self.ids[-2], self.ids[-3]
        self.minter("withdraw", self.withdrawn, "--reason", "It was <b>never</b> there")
        self.minter("reserve", self.reserved)
        self.minter("bind", "set", self.reserved, "_t", "https://example.org/secret")
        self.minter("alias", "13030/kt-alias", self.ids[0])
        self.minter("hold", "set", FOREIGN_PLAIN)
        self.minter("bind", "set", FOREIGN_PLAIN, "what", "A plain one")
        for name, target in (OTHERS | FOREIGN).items():
            self.minter("hold", "set", name)
            self.minter("bind", "set", name, "_t", target)
        self.minter("export", "--site", str(self.site))

    def led(self, name: str) -> str:
        return destination(resolve(self.minter.opened, name.encode())).decode()


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    # The servers' user must be able to read it.
    with tempfile.TemporaryDirectory(prefix="noid-site-") as folder:
        Path(folder).chmod(0o755)
        made = Served(Path(folder))
        yield made
        made.minter.close()


@pytest.fixture(scope="module", params=KINDS)
def host(served, request) -> Iterator[StaticHost]:
    with static_host(request.param, served.site) as started:
        started.kind = request.param
        yield started


def test_names_lead_where_the_service_leads(served, host):
    for name in random.Random(1).sample(served.ids[:-20], 300):
        assert host.target(f"/ark:/{name}") == served.led(name)


def test_other_spellings_lead_there_too(served, host):
    name = served.ids[7]
    spellings = [f"/ark:{name}", f"/{name}", f"/ark:/{name}/"]
    if host.kind != "python":
        spellings += [f"/ark:/{name[:9]}-{name[9:]}", f"/{name[:9]}-{name[9:]}/",
                      f"/ark:/{name[:8]}-{name[8:10]}-{name[10:]}", f"/ARK:/{name}"]
    if host.kind in ("apache", "nginx"):
        spellings.append(f"/ark:/{name.upper()}")
    assert {spelling: host.target(spelling) for spelling in spellings} == dict.fromkeys(spellings, served.led(name))


def test_other_names_lead_where_the_service_leads(served, host):
    assert {name: host.target(f"/ark:/{quote(name)}") for name in OTHERS} == OTHERS


def test_dots_at_the_end_are_dropped_from_arks_only(served, host):
    assert {name: host.target(f"/{name}") for name in FOREIGN} == FOREIGN
    if host.kind != "python":
        spellings = [f"/ark:/{served.ids[5]}.", f"/{served.ids[5]}./", f"/ARK:{served.ids[5]}/."]
        assert {host.target(spelling) for spelling in spellings} == {served.led(served.ids[5])}
        assert host.target("/ark:/13030/xy.") == OTHERS["13030/xy"]
    assert host.target(f"/{FOREIGN_PLAIN}.") == "status 404"


def test_a_name_of_another_scheme_without_a_target_has_a_page(host):
    assert "Nothing says where this name leads" in host.get(f"/{FOREIGN_PLAIN}/").text


def test_hyphens_are_dropped_all_at_once(served, host):
    """A name with fewer hyphens than those that were sent may be another one."""
    for name in ("13030/z-u-ab", "13030/x--y"):
        assert host.target(f"/ark:/{name}") == ("status 404" if host.kind == "python" else served.led(name))


def test_a_folder_above_the_names_is_unknown(host):
    assert host.get("/ark:/13030/..").status in (200, 301, 404)


def test_an_alias_leads_where_its_name_leads(served, host):
    assert host.target("/ark:/13030/kt-alias") == served.led(served.ids[0])


def test_the_description_is_shown_where_it_is_asked_for(served, host):
    reply = host.get(f"/ark:/{served.ids[3]}?info")
    if reply.status == 301:
        reply = host.get(reply.headers["location"])
    assert reply.status == 200 and reply.headers["content-type"].startswith("text/html")
    assert "Author 3" in reply.text and "Cite as" in reply.text


def test_a_withdrawn_name_is_gone_and_its_page_says_why(served, host):
    reply = host.get(f"/ark:/{served.withdrawn}/")
    assert reply.status == (200 if host.kind == "python" else 410)
    assert "It was &lt;b&gt;never&lt;/b&gt; there" in reply.text and "refresh" not in reply.text


def test_a_reserved_name_is_unknown(served, host):
    assert host.target(f"/ark:/{served.reserved}") == "status 404"


def test_a_name_without_a_target_has_a_page(served, host):
    reply = host.get(f"/ark:/{served.plain}/")
    assert reply.status == 200 and "Nothing says where this name leads" in reply.text


@pytest.mark.parametrize("path", ["/ark:/../../../../etc/passwd", "/ark:/%2e%2e/%2e%2e/etc/passwd", "/.htaccess",
                                  "/ark:/13030/..%2f..%2f.htaccess"])
def test_nothing_outside_of_the_site_is_served(host, path):
    reply = host.get(path)
    assert "root:" not in reply.text and (host.kind == "python" or "Rewrite" not in reply.text)


def test_the_front_page_and_the_instructions_are_found(host):
    assert "keeps links to" in host.get("/").text
    assert "WHAT TO DO" in host.get("/README.txt").text


@pytest.mark.parametrize("kind", ["apache", "nginx"])
def test_servers_start_with_hostile_names_and_values_and_lead_on(kind, tmp_path):
    with tempfile.TemporaryDirectory(prefix="noid-site-") as folder:
        Path(folder).chmod(0o755)
        minter = Noid.created(Path(folder) / "m")
        for octet in range(1, 256):
            if octet != 0x0A:
                minter.set_target(b"13030/x" + bytes((octet,)), b"https://a.example/\" ;}" + bytes((octet,)))
        for name in (b"default", b"~^", b"volatile", b"13030/AB", b"13030/ab", b"#x", b"a" * 5000, b"..", b"${x}"):
            minter.set_target(name, b"https://a.example/$host/%{ENV:X}/${lower:X}?a=$1")
        minter.set_target(b"13030/line\nbreak", b"https://a.example/")
        minter.set_target(b"13030/good", b"https://a.example/good")
        minter("export", "--site", f"{folder}/site")
        minter.close()
        with static_host(kind, Path(folder) / "site") as host:
            assert host.target("/13030/good") == "https://a.example/good"
            assert host.target("/13030/line%0Abreak") == "status 404"
            assert host.target("/13030/AB") == host.target("/13030/ab")
            assert host.target("/13030/AB").replace("%24", "$").startswith("https://a.example/$host/%25%7BENV:X%7D")
