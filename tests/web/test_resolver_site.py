"""The rest of the resolver's site: front page, health, many minters, threads."""

from __future__ import annotations

import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from noidtools.minter.folder import MinterFolder, SingleMinter
from noidtools.web.resolver import Resolver
from noidtools.web.site import Site
from support.minter import Noid
from support.process import NOID
from support.templates import CHECKED, LONG_TERM
from support.wsgi import HTML, ResolverClient, resolver_of

NAME = "13030/kt4x551"


@pytest.fixture
def minter(kt5):
    return kt5


@pytest.fixture
def web(kt5):
    return resolver_of(kt5)


def test_the_front_page_has_a_form_that_leads_to_the_name(web):
    assert "<form" in web("/", **HTML).text
    assert "This is a resolver" in web("/").text
    for typed, place in [
        ("ark%3A%2F13030%2Fkt4x551", "/ark:/13030/kt4x551"), ("a+b%3Fc", "/a%20b?c"),
        ("%2F%2Fevil.example", "/evil.example"),
        ("https%3A%2F%2Fother.example%2Fark%3A%2F13030%2Fkt4x551", "/ark:/13030/kt4x551"),
        ("x%0D%0AY", "/x%0D%0AY"), ("%5Cevil", "/%5Cevil"),
    ]:
        answer = web(f"/?name={typed}")
        assert (answer.status, answer.headers["location"]) == (303, place)
    assert web("/?name=").status == 404


def test_healthz_is_200_if_all_minters_can_be_read_and_503_otherwise(tmp_path):
    minter = Noid.created(tmp_path / "a", *LONG_TERM)
    minter.close()
    web = ResolverClient(Resolver(MinterFolder(str(tmp_path))))
    assert (web("/healthz").status, web("/healthz").text) == (200, "ok\n")
    assert web("/healthz", "HEAD").status == 200
    (tmp_path / "b" / "NOID").mkdir(parents=True)
    (tmp_path / "b" / "NOID" / "data.mdb").write_bytes(b"garbage" * 1000)
    web = ResolverClient(Resolver(MinterFolder(str(tmp_path))))
    answer = web("/healthz")
    assert answer.status == 503 and str(tmp_path) not in answer.text
    (tmp_path / "empty").mkdir()
    answer = ResolverClient(Resolver(MinterFolder(str(tmp_path / "empty"))))("/healthz")
    assert answer.status == 503 and "there is no minter yet" in answer.text


def test_a_resolver_serves_many_minters_and_finds_new_ones(tmp_path):
    for name, template in (("kt5", "kt.reeded"), ("f7", "f.sd")):
        minter = Noid.created(tmp_path / name, template, "long", "13030", "x", "y")
        minter.mint_with_target(f"https://{name}.example/")
        minter.close()
    resolver = Resolver(MinterFolder(str(tmp_path)))
    web = ResolverClient(resolver)
    assert web("/ark:/13030/kt4x551").headers["location"] == "https://kt5.example/"
    assert web("/ark:/13030/f0/page").headers["location"] == "https://f7.example/page"
    assert web("/ark:/13030/g0").status == 404
    minter = Noid.created(tmp_path / "g", "g.sd", "long", "13030", "x", "y")
    minter.mint_with_target("https://g.example/")
    minter.close()
    resolver._catalogue._refreshed -= 2
    assert web("/ark:/13030/g0").headers["location"] == "https://g.example/"
    shutil.rmtree(tmp_path / "g")
    resolver._catalogue._refreshed -= 2
    assert web("/ark:/13030/g0").status == 404


def test_the_first_requests_of_many_threads_all_find_their_minter(tmp_path):
    minter = Noid.created(tmp_path / "kt5", *LONG_TERM)
    minter.mint_with_target("https://a.example/")
    minter.close()
    for _ in range(20):
        resolver = Resolver(MinterFolder(str(tmp_path)))
        web = ResolverClient(resolver)
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(web, [f"/ark:/{NAME}"] * 16))
        assert [answer.status for answer in answers] == [302] * 16
        resolver._catalogue._minters.open(str(tmp_path / "kt5"), "kt5").close()


def test_a_minter_that_is_removed_gives_404(tmp_path):
    minter = Noid.created(tmp_path / "g", "g.sd", "long", "13030", "x", "y")
    minter.mint_with_target("https://g.example/")
    minter.close()
    web = ResolverClient(Resolver(MinterFolder(str(tmp_path))))
    assert web("/ark:/13030/g0").status == 302
    shutil.rmtree(tmp_path / "g")
    assert web("/ark:/13030/g0").status == 404


def test_a_site_serves_commands_and_resolves_names(minter):
    minters = SingleMinter(str(minter.folder))
    minter.share(minters)
    web = ResolverClient(Site(minters))
    assert web("/noidu?get+13030/kt4x551+_t").text == "https://a.example/x\n"
    assert web("/noidu_kt5?get+13030/kt4x551+_t").text == "https://a.example/x\n"
    assert web(f"/ark:/{NAME}").status == 302


def test_an_alias_of_any_form_resolves_beside_other_minters(tmp_path):
    one = Noid.created(tmp_path / "f5", *CHECKED)
    name = one.mint_with_target("https://a.example/x")
    one.records("alias", "old-catalogue/17", name)
    gone = one.mint_with_target("https://a.example/gone")
    one.records("alias", "hdl:20.500/9", gone)
    one.records("withdraw", gone, "--reason", "a mistake")
    other = Noid.created(tmp_path / "kt", *LONG_TERM)
    for minter in (one, other):
        minter.close()
    web = ResolverClient(Resolver(MinterFolder(str(tmp_path))))
    for path, target in (("/old-catalogue/17", "x"), ("/old-catalogue/17/page", "x/page"), (f"/ark:/{name}", "x")):
        answer = web(path)
        assert (answer.status, answer.headers.get("location")) == (302, f"https://a.example/{target}"), path
    assert web("/hdl:20.500/9").status == 410
    assert web("/hdl:20.500/8").status == 404
    assert "https://a.example/x" in web("/old-catalogue/17?info").text


def test_a_rule_hands_a_shoulder_or_a_naan_on_beside_other_minters(tmp_path):
    one, other = Noid.created(tmp_path / "f5", *CHECKED), Noid.created(tmp_path / "kt", *LONG_TERM)
    name = one.mint_with_target("https://a.example/x")
    one.records("bind", "set", ":idmap/^13030/zz.*", "_t", "https://partner.example/ark:$&")
    one.records("bind", "set", ":idmap/^66666/(.*)", "_t", "303 https://other.example/$1")
    one.records("bind", "set", ":idmap/.*/catch", "_t", "https://own.example/$&")
    other.text("resolver", "fallback", "https://n2t.net/")
    for minter in (one, other):
        minter.close()
    web = ResolverClient(Resolver(MinterFolder(str(tmp_path))))
    assert web("/ark:/13030/z-z9/d?x=1").headers["location"] == "https://partner.example/ark:13030/zz9/d?x=1"
    answer = web("/ark:66666/a")
    assert (answer.status, answer.headers["location"]) == (303, "https://other.example/a")
    assert web("/ark:/77777/a").headers["location"] == "https://n2t.net/ark:/77777/a"
    assert web("/ark:/77777/catch").headers["location"] == "https://n2t.net/ark:/77777/catch", "no NAAN in the rule"
    assert web("/ark:/13030/yy").status == 404
    assert web(f"/ark:/{name}").headers["location"] == "https://a.example/x"


def declare_monash(minter: Noid, label: str) -> None:
    who = ("--authority", "Monash University")
    minter.records("abstract", "context", "Monash", *who)
    minter.records("abstract", "identifier", f"Monash:{label}", *who)


@pytest.mark.parametrize("others", [(LONG_TERM,), ((),), ((), LONG_TERM)])
def test_an_abstract_name_is_described_beside_other_minters(tmp_path, others):
    one = Noid.created(tmp_path / "m", "--label", "ark:/", *CHECKED)
    identifier = one.mint_with_target("https://a.example/x")
    label = identifier.removeprefix("ark:/13030/f5")
    declare_monash(one, label)
    one.records("relate", "ark:/13030/f5", "realises", "Monash", "--authority", "Monash University")
    one.records("relate", identifier, "realises", f"Monash:{label}", "--authority", "Monash University")
    one.close()
    for number, template in enumerate(others):
        other = Noid.created(tmp_path / f"{'az'[number]}", *template)
        other.text("resolver", "fallback", "https://n2t.net/")
        other.close()
    web = ResolverClient(Resolver(MinterFolder(str(tmp_path))))
    page = web(f"/{identifier}?info", **HTML).text
    assert f'href="/Monash:{label}"' in page
    for path in (f"/Monash:{label}", "/Monash"):
        assert [web(path).status, web(f"{path}?info").status] == [300, 200], path
    assert f"realised-by: {identifier} according to" in web(f"/Monash:{label}").text
    assert web("/Monash:other").headers["location"] == "https://n2t.net/Monash:other"


def test_an_abstract_name_is_found_in_the_second_of_two_minters_that_bind_anything(tmp_path):
    for name in ("a", "b"):
        minter = Noid.created(tmp_path / name)
        if name == "b":
            declare_monash(minter, "x")
        minter.close()
    web = ResolverClient(Resolver(MinterFolder(str(tmp_path))))
    assert [web("/Monash").status, web("/Monash:x?info").status, web("/Monash:y").status] == [300, 200, 404]


def test_an_abstract_name_is_not_sent_to_the_fallback(minter, web):
    declare_monash(minter, "x")
    minter.text("resolver", "fallback", "https://n2t.net/")
    assert web("/Monash").status == web("/Monash:x").status == 300
    assert web("/Monash:y").status == 302
    minter.text("policy", "read", "editor")
    assert web("/Monash").status == 404, "who may not read learns nothing of it"


@pytest.mark.parametrize("name", [
    "noidu?mint+1", "noidu_kt5?mint%2B1", "/noidu_kt5%3Fmint+1", "%6eoidu_kt5", "%256eoidu_kt5", "a/../noidu_kt5",
])
def test_the_form_for_names_does_not_redirect_to_commands(web, name):
    answer = web(f"/?name={name}")
    assert answer.status == 404 and "location" not in answer.headers


ELSEWHERE = (
    "/noidu_kt5", "/foo/noidu_kt5", "/ark:/x/noidu_kt5", "/nd/x/noidu_kt5", "/ark:/x%2Fnoidu_kt5", "//nd/noidu_kt5",
    "/nd/../nd/noidu_kt5", "/ND/noidu_kt5", "/nd//noidu_kt5", "/nd%2Fx/noidu_kt5",
)


def test_commands_are_answered_only_below_the_path_that_was_named(kt5, tmp_path):
    ask = ResolverClient(Site(MinterFolder(str(tmp_path)), commands="/nd"))
    assert ask("/nd/noidu_kt5?hello").text == "Hello.\n\n"
    for path in ELSEWHERE:
        answer = ask(f"{path}?hello")
        assert answer.status in (400, 404) and "Hello" not in answer.text, path
    assert ResolverClient(Site(MinterFolder(str(tmp_path)), commands=""))("/noidu_kt5?hello").status == 200


def test_a_name_that_is_not_found_is_shown_as_it_was_entered(web):
    page = web("/Diary%20of%20Uppsala", **HTML).text
    assert '<code dir="auto">Diary of Uppsala</code>' in page and 'value="Diary of Uppsala"' in page
    # An escape without which it would be another name stays.
    assert '<code dir="auto">a%2Fb</code>' in web("/a%2Fb", **HTML).text


@pytest.mark.slow
def test_names_are_answered_while_their_minter_is_moved_to_another_folder(tmp_path):
    """The folder of the minters is read once a second, and the minter has gone from where it was."""
    noid = Noid.created(tmp_path / "a", *LONG_TERM)
    name = noid.mint_with_target("https://a.example/")
    noid.close()
    web = ResolverClient(Resolver(MinterFolder(str(tmp_path))))
    for source, target in ("ab", "bc", "ca"):
        assert web(f"/ark:/{name}").status == 302
        subprocess.run([*NOID, "copy", tmp_path / source, tmp_path / target, "--move"], check=True, capture_output=True)
        assert web(f"/ark:/{name}").status == 302
    shutil.rmtree(tmp_path / "a")
    assert web(f"/ark:/{name}").status == 404
