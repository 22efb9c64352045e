"""Names of other NAANs on the web: whose they are, and where they are sent."""

from __future__ import annotations

import json

import pytest

from noidtools.minter.folder import MinterFolder
from noidtools.resolution import naans
from noidtools.web.resolver import Resolver
from support.minter import Noid
from support.templates import LONG_TERM
from support.wsgi import HTML, ResolverClient


def record(naan: str, who: str, target: str, where: str = "") -> dict[str, object]:
    return {"rtype": "PublicNAAN", "what": naan, "where": where, "who": {"name": who}, "target": {"url": target}}


RECORDS = [
    record("12148", "A <national> library", "https://ark.bnf.example/ark:/${content}", "https://www.bnf.example/"),
    record("88888", "Neighbour", "http://Here.example:80/${pid}"),
    record("13030", "Ourselves", "https://n2t.net/${pid}"),
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of two minters with the registry."""
    monkeypatch.setattr(naans, "_REFRESH_INTERVAL", 0.0)
    for name, template in (("kt5", LONG_TERM), ("x", ("x.zd", "medium", "54321"))):
        Noid.created(tmp_path / name, *template).close()
    (tmp_path / "registry").write_text(json.dumps({"data": RECORDS}))
    folder = Noid(tmp_path)
    folder("naans", "update", str(tmp_path / "registry"))
    return folder


@pytest.fixture
def web(folder, tmp_path):
    return ResolverClient(Resolver(MinterFolder(str(tmp_path))))


def test_the_answer_about_an_unknown_name_says_whose_its_naan_is(web):
    page, text, data = (web("/ark:/12148/x", HTTP_ACCEPT=form) for form in ("text/html", "*/*", "application/json"))
    assert [answer.status for answer in (page, text, data)] == [404, 404, 404]
    assert text.text == ("error: Nothing is known of this name. The NAAN 12148 belongs to A <national> library "
                         "(https://www.bnf.example/). Is it complete, and spelled as in your source?\n")
    assert data.json["error"]["authority"] == {
        "naan": "12148", "who": "A <national> library", "where": "https://www.bnf.example/"}
    assert data.json["error"]["code"] == "unknown-authority"
    assert "belong to <bdi>A &lt;national&gt; library</bdi>" in page.text
    assert 'href="https://www.bnf.example/"' in page.text
    assert "authority" not in web("/ark:/13030/zzz?json").json["error"], "that of a minter here"
    assert "authority" not in web("/ark:/99999/zzz?json").json["error"]


def test_names_of_others_go_straight_to_their_resolver_when_told_so(web, folder):
    folder("naans", "forward", "on")
    answer = web("/ark:12148/b-pt6?page=1")
    assert (answer.status, answer.headers["location"]) == (302, "https://ark.bnf.example/ark:/12148/bpt6?page=1")
    assert web("/ark:12148/b-pt6?info").headers["location"] == "https://ark.bnf.example/ark:/12148/bpt6?info"
    folder("naans", "forward", "off")
    assert web("/ark:12148/bpt6").status == 404, "the file is read again"


def test_no_name_is_sent_in_a_circle(web, folder):
    folder("naans", "forward", "on")
    for name in ("/ark:13030/zzz", "/13030/zzz", "/ark:54321/zzz"):
        assert web(name).status == 404, "of a NAAN that is served here"
    answer = web("/ark:88888/x", HTTP_HOST="here.example")
    assert answer.status == 404 and "belongs to Neighbour" in answer.text, "to an address of this server"
    assert web("/ark:88888/x?info", HTTP_HOST="here.example", **HTML).status == 404
    assert web("/ark:88888/x", HTTP_HOST="elsewhere.example").status == 302
    for path in ("/favicon.ico", "/robots.txt", "/.well-known/security.txt"):
        assert web(path).status == 404


def test_a_fallback_that_is_this_server_is_not_followed(web, tmp_path):
    with_fallback = Noid(tmp_path / "kt5")
    with_fallback("resolver", "fallback", "https://here.example/")
    assert web("/ark:99999/x", HTTP_HOST="here.example").status == 404
    assert web("/ark:99999/x", HTTP_HOST="n2t.example").headers["location"] == "https://here.example/ark:99999/x"
