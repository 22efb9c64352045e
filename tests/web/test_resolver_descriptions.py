"""The web resolver's descriptions of names, and their formats."""

from __future__ import annotations

import json
import re

import pytest

from noidtools.web.accept import preferred
from support.minter import Noid
from support.templates import LONG_TERM
from support.wsgi import HTML, resolver_of

NAME = "13030/kt4x551"


@pytest.fixture
def minter(kt5):
    return kt5


@pytest.fixture
def web(kt5):
    return resolver_of(kt5)


@pytest.mark.parametrize("query", ["?info", "?", "??"])
def test_a_description_is_given_for_info_and_bare_question_marks(web, query):
    answer = web(f"/ark:/{NAME}{query}")
    assert answer.status == 200
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["vary"] == "Accept"
    assert answer.headers["link"].startswith(f'</ark:/{NAME}>; rel="cite-as"')
    assert answer.text.startswith("erc:\nwho: (:unav)\nwhat: (:unav)\nwhen: (:unav)\n"
                                  f"where: https://id.example/ark:/{NAME}\n\nerc-support:\nwho: cdlib.org/dpg\n")


@pytest.mark.parametrize("query", ["?info=1", "?information", "???", "?info&x", "?x", "?Info"])
def test_other_queries_are_passed_through(web, query):
    assert web(f"/ark:/{NAME}{query}").headers["location"] == f"https://a.example/x{query}"


def test_without_the_request_line_info_is_seen_but_no_bare_question_mark(web):
    assert web(f"/ark:/{NAME}?info", request_line=False).status == 200
    assert web(f"/ark:/{NAME}?", request_line=False).status == 302
    assert web(f"/ark:/{NAME}/a%20b", request_line=False).headers["location"] == "https://a.example/x/a%20b"
    assert web(f"/ark:/{NAME}?", request_line=False, RAW_URI=f"/ark:/{NAME}?").status == 200


def test_a_description_is_written_as_anvl(minter, web):
    for element, value in (("what", "A title"), ("who", "Gibbon, Edward"), ("when", "1781"), ("note", "two\nlines"),
                           ("a:b", "x"), ("_private", "y")):
        minter.text("bind", "set", NAME, element, value)
    text = web(f"/ark:/{NAME}?info").text
    text = re.sub(r"date: \d{14}", "date: DATE", text)
    assert text == (
        "erc:\nwho: Gibbon, Edward\nwhat: A title\nwhen: 1781\n"
        f"where: https://id.example/ark:/{NAME}\na%3Ab: x\nnote: two\n lines\n\n"
        f"erc-support:\nwho: cdlib.org/dpg\nwhat: (:unav)\nwhen: (:unav)\nwhere: https://id.example/ark:/{NAME}?info\n"
        f"id: ark:/{NAME}\nstate: published\ndate: DATE\nauthority: cdlib.org/dpg\ntarget: https://a.example/x\n"
    )


def test_the_support_of_a_description_is_the_promise_of_the_minter(minter, web):
    minter.text("policy", "persistence", "Names are never given again.", "--from", "2020-01-01")
    minter.text("custodian", "set", "Jo Keeper")
    text = web(f"/ark:/{NAME}?info").text
    assert ("erc-support:\nwho: Jo Keeper\nwhat: Names are never given again.\nwhen: 20200101000000\n"
            f"where: https://id.example/ark:/{NAME}?info\n") in text
    assert json.loads(web(f"/ark:/{NAME}?json").text)["promise"] == "Names are never given again."


def test_a_description_is_written_as_json(minter, web):
    minter.text("bind", "set", NAME, "what", "A title")
    minter.text("bind", "set", NAME, "blob", b"\xff\xfe")
    answer = web(f"/ark:/{NAME}?info", HTTP_ACCEPT="application/json")
    facts = json.loads(answer.text)
    assert answer.headers["content-type"] == "application/json"
    assert re.fullmatch(r"\d{14}", facts.pop("date")) and re.fullmatch(r"\d{14}", facts.pop("changed"))
    assert facts == {
        "id": f"ark:/{NAME}", "where": f"https://id.example/ark:/{NAME}", "state": "published",
        "authority": "cdlib.org/dpg",
        "targets": [{"url": "https://a.example/x"}],
        "elements": [{"name": "blob", "value": {"base64": "//4="}}, {"name": "what", "value": "A title"}],
    }


@pytest.mark.parametrize(("accept", "beginning"), [
    ("text/turtle", "@prefix"), ("application/ld+json", "["), ("application/rdf+xml", "<?xml"),
])
def test_a_description_is_written_as_rdf(web, accept, beginning):
    answer = web(f"/ark:/{NAME}?info", HTTP_ACCEPT=f"{accept}, text/html;q=0.5")
    assert answer.status == 200 and answer.headers["content-type"].startswith(accept)
    assert answer.text.lstrip()[: len(beginning)] in (beginning, "{") and "kt4x551" in answer.text


def test_the_description_of_an_extension_is_that_of_the_bound_name(web):
    text = web(f"/ark:/{NAME}/page?info").text
    assert f"id: ark:/{NAME}\n" in text and "target: https://a.example/x/page\n" in text


def test_a_computed_target_is_described_with_its_rule(minter, web):
    minter.text("bind", "set", ":idmap/^13030/zz", "_t", "https://r.example/")
    text = web("/ark:/13030/zz1?info").text
    assert "target: https://r.example/1\nrule: :idmap/^13030/zz\n" in text


def test_a_huge_value_is_shortened(minter, web):
    minter.text("bind", "set", NAME, "what", b"x" * 1_000_000)
    assert len(web(f"/ark:/{NAME}?info").body) < 30_000
    assert "(1000000 bytes in all)" in web(f"/ark:/{NAME}?info").text


def test_descriptions_have_only_the_targets_where_reading_is_restricted(minter, web):
    minter.text("bind", "set", NAME, "what", "A secret")
    minter.text("policy", "read", "authenticated")
    assert "A secret" not in web(f"/ark:/{NAME}?info").text
    assert "target: https://a.example/x" in web(f"/ark:/{NAME}?info").text
    assert "A secret" in web(f"/ark:/{NAME}?info", REMOTE_USER="joe").text
    assert web(f"/ark:/{NAME}").status == 302


def test_a_withdrawn_name_is_410_with_its_tombstone(minter, web):
    other = minter.mint_with_target("https://b.example/")
    minter.text("withdraw", NAME, "--reason", "Superseded <b>", "--successor", other)
    answer = web(f"/ark:/{NAME}")
    assert answer.status == 410
    assert "state: withdrawn\n" in answer.text
    assert f"reason: Superseded <b>\nsuccessor: {other}\n" in answer.text
    page = web(f"/ark:/{NAME}", **HTML)
    assert page.status == 410
    assert "This was withdrawn on 2" in page.text and "Reason: <bdi>Superseded &lt;b&gt;</bdi>" in page.text
    assert f'href="/{other}"' in page.text
    assert web(f"/ark:/{NAME}/page").status == 410
    assert web(f"/ark:/{NAME}?info").status == 200


def test_a_reserved_name_is_404_and_not_described(minter, web):
    minter.text("bind", "set", NAME, "what", "A secret")
    minter.text("reserve", NAME)
    for query in ("", "?info", "/page"):
        answer = web(f"/ark:/{NAME}{query}")
        assert answer.status == 404 and "Nothing is known" in answer.text and "secret" not in answer.text
        answer = web(f"/ark:/{NAME}{query}", REMOTE_USER="alice")
        assert answer.status == 404 and "reserved" in answer.text and "secret" not in answer.text
    minter.text("publish", NAME)
    assert web(f"/ark:/{NAME}").status == 302


def test_a_description_contains_custodian_relations_and_verification(minter, web):
    minter.text("custodian", "set", "Jo Keeper", "--contact", "jo@example.org", NAME)
    minter.text("synonym", NAME, "hdl:100/x", "--authority", "library")
    minter.text("verify", "--record", NAME)
    for form in (web(f"/ark:/{NAME}?info").text, web(f"/ark:/{NAME}?info", **HTML).text,
                 web(f"/ark:/{NAME}?info", HTTP_ACCEPT="application/json").text):
        for word in ("Jo Keeper", "jo@example.org", "hdl:100/x", "ell"):
            assert word in form


@pytest.mark.parametrize("host", ["evil.example\r\nX: y", "a b", "<script>", "ä", ""])
def test_an_invalid_host_header_is_not_repeated_in_the_answer(web, host):
    answer = web(f"/ark:/{NAME}?info", HTTP_HOST=host)
    assert f"where: https://resolver.example/ark:/{NAME}\n" in answer.text


def test_links_contain_the_path_at_which_the_resolver_is_mounted(minter, web):
    answer = web(f"/resolve/ark:/{NAME}", script="/resolve")
    assert answer.headers["link"] == f'</resolve/ark:/{NAME}?info>; rel="describedby"'
    assert f"where: https://id.example/resolve/ark:/{NAME}" in web(f"/resolve/ark:/{NAME}?", script="/resolve").text
    minter.text("withdraw", NAME, "--successor", "13030/kt154d9")
    assert 'href="/resolve/13030/kt154d9"' in web(f"/resolve/ark:/{NAME}", script="/resolve", **HTML).text
    assert 'action="/resolve/"' in web("/resolve/", script="/resolve", **HTML).text
    assert web("/resolve", script="/resolve").status == 200


@pytest.mark.parametrize(("accept", "expected"), [
    ("", "text/plain"), ("*/*", "text/plain"), ("text/*", "text/plain"), ("text/html", "text/html"),
    ("text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8", "text/html"),
    ("application/json", "application/json"), ("application/*", "application/json"),
    ("text/plain;q=0.5, application/json;q=0.6", "application/json"),
    ("text/html;q=0.1, text/plain;q=0.2", "text/plain"), ("text/*;q=0.3, text/html;q=0.7", "text/html"),
    ("text/plain;q=0, */*;q=0.1", "text/html"), ("image/png", "text/plain"), (";;,,q=,", "text/plain"),
    ("TEXT/HTML", "text/html"), ("text/html;level=1;q=0.4, application/json;q=0.3", "text/html"),
    ("text/html;q=abc, application/json;q=0.1", "application/json"), ("application/json;q=1.5", "application/json"),
])
def test_the_format_with_the_highest_quality_in_accept_is_sent(web, accept, expected):
    assert preferred(accept, ("text/plain", "text/html", "application/json")) == expected
    assert web(f"/ark:/{NAME}?info", HTTP_ACCEPT=accept).headers["content-type"].startswith(expected)


def test_a_request_for_rdf_is_redirected_to_the_description(minter, web):
    minter.set_target(minter.mint()[0], "https://a.example/")
    answer = web(f"/ark:/{NAME}", HTTP_ACCEPT="text/turtle, */*;q=0.1")
    assert (answer.status, answer.headers["location"]) == (303, f"/ark:/{NAME}?info")
    assert answer.headers["vary"] == "Accept"
    for accept in ("*/*", HTML["HTTP_ACCEPT"], "text/html, text/turtle;q=0.5"):
        answer = web(f"/ark:/{NAME}", HTTP_ACCEPT=accept)
        assert (answer.status, answer.headers["vary"]) == (302, "Accept")


def test_a_description_contains_current_relations_with_their_authority(tmp_path):
    minter = Noid.created(tmp_path, "--label", "ark:/", *LONG_TERM)
    (name,) = minter.mint()
    minter.records("synonym", name, "doi:10.5/a", "--authority", "The Library")
    minter.records("synonym", name, "hdl:9/9", "--authority", "Old", "--from", "2019", "--until", "2020")
    minter.records("prefer", name, "--authority", "The Library")
    web = resolver_of(minter)
    text = web(f"/{name}?info", HTTP_ACCEPT="text/plain").text
    assert "synonym: doi:10.5/a according to The Library\n" in text and "hdl:9/9" not in text
    assert "preferred: according to The Library\n" in text
    page = web(f"/{name}?info", **HTML).text
    assert 'href="https://doi.org/10.5/a"' in page and "according to <bdi>The Library</bdi>" in page
    minter.records("withdraw", name)
    assert "minted: 2" in web(f"/{name}", HTTP_ACCEPT="text/plain").text
    minter.close()


def test_an_abstract_name_is_answered_with_what_realises_it(minter, web):
    who = ("--authority", "Kerry")
    label = NAME.removeprefix("13030/kt")
    for words in (("abstract", "context", "Kerry's Library", *who, "--purpose", "<all> of it"),
                  ("abstract", "identifier", f"Kerry's Library:{label}", *who, "--thing", "a book"),
                  ("relate", "ark:/13030/kt", "realises", "Kerry's Library", *who),
                  ("relate", "hdl:100", "realises", "Kerry's Library", *who),
                  ("relate", NAME, "realises", f"Kerry's Library:{label}", *who),
                  ("relate", f"hdl:100/{label}", "realises", f"Kerry's Library:{label}", *who)):
        minter.text(*words)
    path = f"/Kerry's%20Library:{label}"
    assert web(path).status == 300 and web(f"{path}?info").status == 200
    assert f"realised-by: {NAME} according to Kerry\n" in web(path).text
    page = web(path, **HTML)
    assert page.status == 300 and "This is an abstract identifier" in page.text and "a book" in page.text
    assert f'href="https://hdl.handle.net/100/{label}"' in page.text
    context = web("/Kerry's%20Library", **HTML)
    assert context.status == 300 and "&lt;all&gt; of it" in context.text and "<bdi>hdl:100</bdi>" in context.text
    assert 'href="/hdl:100"' not in context.text, "nothing is known of where that leads"
    described = json.loads(web(path, HTTP_ACCEPT="application/json").text)
    assert described["abstract"] == "identifier" and described["context"] == "Kerry's Library"
    assert {related["name"] for related in described["relations"]} == {NAME, f"hdl:100/{label}"}
    assert web(path, HTTP_ACCEPT="text/turtle").headers["content-type"] == "text/turtle; charset=utf-8"
    own = web(f"/ark:/{NAME}?info", **HTML).text
    assert "<dt>Realises</dt>" in own and "<dt>Homologue</dt>" in own
    assert 'within <a href="/Kerry&#39;s%20Library">' in own


def test_a_name_of_another_system_is_described_by_what_is_claimed_of_it(minter, web):
    who = ("--authority", "The Library")
    minter.text("synonym", NAME, "doi:10.5/a", *who)
    minter.text("quality", "state", "trusted", "doi:10.5/a", *who)
    assert web("/doi:10.5/a").status == 404, "it leads nowhere from here"
    page = web("/doi:10.5/a?info", **HTML)
    assert page.status == 200 and "is not managed here" in page.text
    assert f'href="/{NAME}"' in page.text and 'href="https://doi.org/10.5/a"' in page.text and "Trusted" in page.text
    text = web("/doi:10.5/a?info").text
    assert f"synonym: {NAME} according to The Library\n" in text and "stated: trusted according to" in text
    described = json.loads(web("/doi:10.5/a?info", HTTP_ACCEPT="application/json").text)
    assert [related["name"] for related in described["relations"]] == [NAME]
    assert web("/doi:10.5/b?info").status == web(f"/{'x' * 70000}?info").status == web("/%20?info").status == 404
    minter.text("resolver", "fallback", "https://n2t.net/")
    assert web("/doi:10.5/a?info").status == 302, "the resolver that knows it is asked"


def test_a_description_shows_what_authorities_state_and_who_answers_for_what(minter, web):
    minter.text("custodian", "set", "Jo <b>")
    minter.text("custodian", "set", "Kim", "--purpose", "titles")
    minter.text("custodian", "set", "Lee", NAME, "--purpose", "titles")
    minter.text("quality", "state", "universal", NAME, "--authority", "The <Library>", "--in", "ark:/13030")
    minter.text("quality", "deny", "trusted", NAME, "--authority", "Nigel", "--from", "2020", "--until", "2099-06")
    minter.text("synonym", NAME, "doi:10.5/a", "--authority", "Nigel", "--from", "2021-02-03")
    text = web(f"/ark:/{NAME}?info").text
    assert "custodian: Jo <b>\ncustodian: Lee, for titles\n" in text
    assert "stated: not trusted according to Nigel\n" in text
    assert "stated: universal (ark:/13030) according to The <Library>\n" in text
    page = web(f"/ark:/{NAME}?info", **HTML).text
    universal = ('yes (<bdi>ark:/13030</bdi>), <span class="quiet">according to <bdi>The &lt;Library&gt;</bdi></span> '
                 "<small>from ")
    assert f"<dt>Universal</dt><dd>{universal}" in page
    trusted = ('no, <span class="quiet">according to <bdi>Nigel</bdi></span> '
               "<small>from 2020-01-01 until 2099-06-30</small>")
    assert f"<dt>Trusted</dt><dd>{trusted}</dd>" in page and "Lee, for titles" in page
    assert "according to <bdi>Nigel</bdi></span> <small>from 2021-02-03</small></dd>" in page
    described = json.loads(web(f"/ark:/{NAME}?info", HTTP_ACCEPT="application/json").text)
    assert {"quality": "trusted", "holds": False, "authority": "Nigel", "from": "20200101000000",
            "until": "20990630235959"} in described["stated"]
    assert described["relations"] == [
        {"relation": "synonym", "name": "doi:10.5/a", "authority": "Nigel", "from": "20210203000000"}]
    assert described["custodians"] == [{"name": "Lee", "purpose": "titles"}]


def test_a_public_description_has_the_newest_actions_but_not_who_performed_them(minter, web):
    for number in range(60):
        minter.text("bind", "set", NAME, "note", str(number))
    public = web(f"/ark:/{NAME}?info", HTTP_ACCEPT="text/turtle").text
    assert "me/us" not in public and "a user of this minter" in public
    assert public.count("pil:Identify") <= 52 and "#event-62>" in public and "#event-3>" not in public
    assert "me/us" in minter.text("describe", NAME)


@pytest.mark.parametrize(("value", "shown"), [
    ("(:unkn)", "unknown"), ("(:UNKN) Anonymous", "unknown (Anonymous)"), ("(:unas)", "not assigned"),
    ("(:null)", "left empty on purpose"), ("(:none)", "none, and there will be none"), ("(:tba)", "to be announced"),
    ("(:unac)", "temporarily inaccessible"), ("(:unal)", "withheld"), ("(:unap)", "not applicable"),
    ("(:etal)", "and others"), ("(:unavoidable)", "(:unavoidable)"), ("see (:unkn)", "see (:unkn)"),
])
def test_the_code_of_a_missing_value_is_kept_and_its_meaning_shown_to_people(minter, web, value, shown):
    minter.text("bind", "set", NAME, "who", value)
    assert f"who: {value}\n" in web(f"/ark:/{NAME}?info").text
    assert {"name": "who", "value": value} in web(f"/ark:/{NAME}?json").json["elements"]
    assert f'<dt>Creator</dt><dd dir="auto">{shown}</dd>' in web(f"/ark:/{NAME}?info", **HTML).text


def test_the_code_of_a_missing_value_is_no_word_to_find(minter):
    minter.text("bind", "set", NAME, "title", "(:unkn) Anonymous letters")
    minter.text("bind", "set", NAME, "who", "(:unas)")
    assert NAME in minter.text("find", "anonymous") and "title: Anonymous letters" in minter.text("find", "letters")
    for words in (("unkn",), ("unas",), ("--element", "who=unas")):
        assert minter.text("find", *words) == ""


@pytest.mark.parametrize(("media_type", "beginning", "form"), [
    ("application/x-bibtex", "@misc{ark-13030-kt4x551,", "bibtex"),
    ("application/x-research-info-systems", "TY  - GEN\r\nTI  - ", "ris"),
    ("application/vnd.citationstyles.csl+json", '{\n  "id": ', "csl"), ("text/x-bibliography", "Gibbon, ", "citation")])
def test_a_citation_is_had_by_content_negotiation_and_by_its_query(minter, web, media_type, beginning, form):
    minter.text("bind", "set", NAME, "who", "Gibbon, Edward")
    sent = web(f"/ark:/{NAME}", HTTP_ACCEPT=f"{media_type}, */*;q=0.1")
    assert (sent.status, sent.headers["location"]) == (303, f"/ark:/{NAME}?info")
    by_type = web(f"/ark:/{NAME}?info", HTTP_ACCEPT=media_type)
    by_query = web(f"/ark:/{NAME}?info={form}", **HTML)
    assert by_type.text == by_query.text and by_type.text.startswith(beginning)
    assert by_type.headers["content-type"].startswith(media_type) and by_type.headers["vary"] == "Accept"
    # A query that is no format of ours is the target's.
    assert web(f"/ark:/{NAME}?info=other").headers["location"].endswith("?info=other")


def test_the_other_formats_of_a_page_are_linked(minter, web):
    page = web(f"/ark:/{NAME}?info", **HTML).text
    for form, media_type in (("json", "application/json"), ("text", "text/plain"), ("turtle", "text/turtle"),
                             ("bibtex", "application/x-bibtex"), ("ris", "application/x-research"),
                             ("csl", "application/vnd")):
        assert f'href="/ark:/{NAME}?info={form}"' in page
        assert web(f"/ark:/{NAME}?info={form}", **HTML).headers["content-type"].startswith(media_type)


def test_a_name_without_target_has_its_page_and_is_not_called_unknown(tmp_path):
    minter = Noid.created(tmp_path, *LONG_TERM)
    (name,) = minter.mint()
    minter.text("bind", "set", name, "what", "A book")
    web = resolver_of(minter)
    page = web(f"/ark:/{name}", **HTML)
    assert page.status == 404 and '<h1 dir="auto">A book</h1>' in page.text and "Not found" not in page.text
    assert "This identifier is registered." in page.text and 'content="noindex"' in page.text
    assert web(f"/ark:/{name}").text.startswith("error: This name is known here, but nothing says where it leads.")
    assert "Not found" in web("/ark:/13030/nothing", **HTML).text
    minter.close()


def test_a_tombstone_says_what_was_withdrawn_to_those_who_may_read(minter, web):
    for element, value in (("title", "A faulty edition"), ("dc.creator", "Gibbon"), ("note", "a secret")):
        minter.text("bind", "set", NAME, element, value)
    minter.text("withdraw", NAME)
    page = web(f"/ark:/{NAME}", **HTML).text
    assert "A faulty edition" in page and "Gibbon" in page and "a secret" not in page
    minter.text("policy", "read", "nobody")
    page = web(f"/ark:/{NAME}", **HTML)
    assert page.status == 410 and "A faulty edition" not in page.text
