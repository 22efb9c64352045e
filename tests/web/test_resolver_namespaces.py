"""?info of a shoulder and of a NAAN that is served here."""

from __future__ import annotations

import pytest

from noidtools.minter.folder import MinterFolder
from noidtools.web.resolver import Resolver
from support.minter import Noid
from support.templates import LONG_TERM
from support.wsgi import HTML, ResolverClient


@pytest.fixture
def kt(tmp_path):
    made = Noid.created(tmp_path / "kt", *LONG_TERM)
    made("policy", "persistence", "Names are never given again.", "--from", "2020-01-01")
    made("custodian", "set", "Jo <Keeper>", "--contact", "jo@library.example")
    made("context", "purpose", "letters")
    made("mint", "1", "_t", "https://a.example/x")
    made("reserve", "13030/kt3m3z9")
    yield made
    made.close()


@pytest.fixture
def other(tmp_path):
    made = Noid.created(tmp_path / "fk", "--label", "ark:/", "fk.zd", "medium", "13030")
    yield made
    made.close()


@pytest.fixture
def web(kt, other, tmp_path):
    Noid.created(tmp_path / "hdl", "--scheme", "pilin", "--prefix", "102.100.9", "--label", "hdl:").close()
    return ResolverClient(Resolver(MinterFolder(str(tmp_path))))


def test_a_shoulder_is_described_as_text(web, kt):
    created = kt.opened.settings["created"]
    for path in ("/13030/kt?info", "/ark:/13030/kt?info", "/ark:13030/kt/??", "/ARK:/13030/k-t?"):
        answer = web(path)
        assert answer.status == 200 and answer.headers["thump-status"] == "0.6 200 OK"
        assert answer.text == (
            "erc:\nwho: Jo <Keeper>\nwhat: the shoulder ark:/13030/kt, for letters\n"
            f"when: {created}\nwhere: https://id.example/ark:/13030/kt\n\n"
            "erc-support:\nwho: Jo <Keeper>\nwhat: Names are never given again.\nwhen: 20200101000000\n"
            "where: https://id.example/ark:/13030/kt?info\nshoulder: ark:/13030/kt\nauthority: cdlib.org/dpg\n"
            "contact: jo@library.example\npurpose: letters\n"
            "form: scheme noid; template kt.reeded; size 2438900; order random\n"
            f"created: {created}\n"), path


def test_a_naan_is_described_with_its_shoulders_as_text_json_and_page(web):
    assert web("/ark:/13030?info").text.count("erc-support:") == 2
    data = web("/ark:13030?json").json
    assert (data["id"], data["kind"], data["where"]) == ("ark:/13030", "naan", "https://id.example/ark:/13030")
    assert [one["id"] for one in data["shoulders"]] == ["ark:/13030/fk", "ark:/13030/kt"]
    assert data["shoulders"][1]["promise"] == "Names are never given again."
    page = web("/ark:/13030?info", **HTML)
    assert page.status == 200 and "Jo &lt;Keeper&gt;" in page.text and "<bdi>ark:/13030/fk</bdi>" in page.text


def test_a_prefix_of_handles_is_described_as_well(web):
    assert web("/hdl:102.100.9?info").text.startswith("erc:\nwho: (:unav)\nwhat: the shoulder hdl:102.100.9\n")


def test_no_name_is_told_and_without_info_it_stays_unknown(web):
    for path in ("/ark:/13030?info", "/13030/kt?info"):
        for form in ("text/plain", "text/html", "application/json"):
            text = web(path, HTTP_ACCEPT=form).text
            assert "kt4x551" not in text and "kt3m3z9" not in text
    for path in ("/ark:/13030", "/13030/kt", "/13030/k?info", "/ark:/99999?info", "/doi:13030?info", "/ark:?info"):
        assert web(path).status == 404, path


def test_what_is_closed_to_readers_is_not_described(web, kt, other):
    kt("policy", "read", "alice")
    assert [one["id"] for one in web("/ark:13030?json").json["shoulders"]] == ["ark:/13030/fk"]
    assert web("/13030/kt?info").status == 404
    assert web("/13030/kt?info", REMOTE_USER="alice").status == 200
    other("policy", "read", "nobody")
    assert web("/ark:13030?info").status == 404


def test_a_name_that_is_bound_comes_before_the_shoulder(web, other):
    other("bind", "set", "13030/fk", "_t", "https://a.example/all")
    assert "target: https://a.example/all" in web("/13030/fk?info").text
