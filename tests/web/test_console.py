"""The console without a browser: who gets in, what each user is offered, and what its forms change."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import time
from pathlib import Path
from urllib.parse import quote

import pytest

import noidtools
from noidtools.minter.folder import MinterFolder
from noidtools.minter.report import minter_figures
from noidtools.verification.health import link_database
from noidtools.web.console import overview
from noidtools.web.console.jobs import DONE, RUNNING, Job
from noidtools.web.site import Site
from support.console import ConsoleClient, Page, ServedConsole
from support.process import wait_until
from support.served import ANY_PORT, Served

ADMINISTRATOR, CURATOR, READER, STRANGER = "alice", "carol", "rita", "sam"
TITLE = "Letters from the archive"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two minters: in the first Alice administers, Carol mints and binds, Rita reads; in the second Alice alone."""
    made = tmp_path_factory.mktemp("minters")
    with noidtools.create(made / "kt5", "kt.reedeedk", naan="13030", labels=["ark:/"]) as minter:
        minter.set_policy(read=[ADMINISTRATOR, CURATOR, READER], mint=[ADMINISTRATOR, CURATOR],
                          bind=[ADMINISTRATOR, CURATOR], admin=[ADMINISTRATOR])
    with noidtools.create(made / "secret", "s.reedeedk", naan="99999", labels=["ark:/"]) as minter:
        minter.set_policy(read=[ADMINISTRATOR], mint=[ADMINISTRATOR], bind=[ADMINISTRATOR], admin=[ADMINISTRATOR])
    return made


@pytest.fixture(scope="module")
def site(folder: Path) -> ConsoleClient:
    return ConsoleClient(folder)


@pytest.fixture
def alice(site: ConsoleClient) -> ConsoleClient:
    return site.as_user(ADMINISTRATOR)


@pytest.fixture
def carol(site: ConsoleClient) -> ConsoleClient:
    return site.as_user(CURATOR)


@pytest.fixture
def name(folder: Path) -> str:
    """A published identifier with a title and a target."""
    with noidtools.open(folder / "kt5") as minter:
        (made,) = minter.mint(1, elements={"title": TITLE, "_t": "https://library.example/1"})
        return made


def path_of(name: str, page: str = "name") -> str:
    return f"/console/{page}?id={quote(name, safe='')}"


def bound(folder: Path, name: str) -> dict[str, str]:
    with noidtools.open(folder / "kt5") as minter:
        return dict(minter.fetch(name).elements)


# -- the login -----------------------------------------------------------------------------------------------------


def token_for(folder: Path, name: str, *classes: str) -> str:
    with noidtools.open(folder / "kt5") as minter:
        return minter.new_token(name, classes)  # type: ignore[arg-type]


def test_nobody_sees_a_page_without_a_login(site):
    assert site.as_user("").request("GET", "/console").headers["location"] == "/console/"
    for path in ("/console/", "/console/find", "/console/name?id=x", "/console/find.csv", "/console/nonsense"):
        reply = site.as_user("").request("GET", path)
        assert (reply.status, reply.headers["location"].partition("?")[0]) == (303, "/console/login"), path


def test_a_token_logs_in_and_leads_to_the_page_that_was_wanted(site, folder, name):
    client = site.as_user("")
    login = client.get(path_of(name))
    page = login.submit("Log in", secret=token_for(folder, "first", "read"))
    assert page.url == path_of(name)
    assert TITLE in page.text
    assert "You are token:first." in page.text


def test_the_cookie_of_a_session_is_for_the_console_alone_and_for_no_script(site, folder):
    secret = token_for(folder, "cookie", "read")
    for scheme, secure in (("http", ""), ("https", "; Secure")):
        client = ConsoleClient(site.application, scheme=scheme)
        form = client.get("/console/login").forms[0]
        body = f"form={quote(form.fields[0][1])}&secret={secret}".encode()
        reply = client.request("POST", "/console/login", body, "application/x-www-form-urlencoded",
                               {"HTTP_ORIGIN": f"{scheme}://id.example"})
        _, _, attributes = reply.headers["set-cookie"].partition("; ")
        assert attributes == f"Path=/console; Max-Age=3600; HttpOnly; SameSite=Lax{secure}"
        assert secret not in reply.headers["set-cookie"]


def test_a_wrong_token_is_refused_without_saying_what_is_wrong_with_it(site, folder):
    with noidtools.open(folder / "kt5") as minter:
        revoked = minter.new_token("revoked", ["read"])
        minter.revoke_token("revoked")
    texts = set()
    for secret in ("noid_wrong", revoked, "x" * 5000, "", "\0\n\"'<b>"):
        page = site.as_user("").get("/console/login").submit("Log in", secret=secret)
        assert page.status == 403
        texts.add(page.text)
    assert len(texts) == 1


def test_a_session_ends_with_its_token_and_with_the_log_out(site, folder):
    client = site.as_user("")
    page = client.get("/console/login").submit("Log in", secret=token_for(folder, "brief", "read"))
    assert "Overview" in page.text
    with noidtools.open(folder / "kt5") as minter:
        minter.revoke_token("brief")
    assert "Log in" in client.get("/console").text
    page = client.get("/console/login").submit("Log in", secret=token_for(folder, "other", "read"))
    copied = dict(client.cookies)
    assert page.submit("Log out").url == "/console/login"
    assert client.get("/console").url.startswith("/console/login")
    client.cookies = copied
    assert client.get("/console").url.startswith("/console/login")


def test_the_session_of_one_minters_token_opens_no_other(site, folder):
    with noidtools.open(folder / "secret") as minter:
        (hidden,) = minter.mint(1, elements={"title": "Top secret"})
    client = site.as_user("")
    client.get("/console/login").submit("Log in", secret=token_for(folder, "one", "read", "mint", "bind", "admin"))
    for path in ("find?q=secret", "find?minter=secret", "find.csv?minter=secret", f"name?id={quote(hidden)}",
                 f"name/edit?id={quote(hidden)}", "access?minter=secret", "mint?minter=secret", "log?minter=secret"):
        page = client.get(f"/console/{path}")
        assert (page.status == 403 or path.startswith("find?")) and "Top secret" not in page.text, path


def test_a_session_survives_a_restart_and_is_known_to_every_process(site, folder):
    client = site.as_user("")
    client.get("/console/login").submit("Log in", secret=token_for(folder, "restart", "read"))
    another = ConsoleClient(folder)
    another.cookies = client.cookies
    assert "You are token:restart." in another.get("/console").text


def test_a_session_ends_after_an_hour_without_use_and_after_twelve_hours(site, folder, monkeypatch):
    client, now = site.as_user(""), [1_800_000_000.0]
    monkeypatch.setattr("time.time", lambda: now[0])
    client.get("/console/login").submit("Log in", secret=token_for(folder, "hours", "read"))
    for _ in range(13):
        now[0] += 3300
        assert "You are" in client.get("/console").text
    now[0] += 1000  # 12 hours after it began
    assert client.get("/console").url.startswith("/console/login")
    client.get("/console/login").submit("Log in", secret=token_for(folder, "idle", "read"))
    now[0] += 3700
    assert client.get("/console").url.startswith("/console/login")


def test_a_login_leads_to_no_other_site(site, folder):
    secret = token_for(folder, "led", "read")
    for wanted in ("https://evil.example/", "//evil.example", "/console/../x\r\nSet-Cookie: a=b", "/elsewhere",
                   "/console/../ark:/13030/x", "/console/%2e%2e/ark:/13030/x", "/console/\\evil.example",
                   "/console//evil.example", "javascript:alert(1)"):
        page = site.as_user("").get(f"/console/login?next={quote(wanted)}").submit("Log in", secret=secret)
        assert page.url == "/console/", wanted


def test_the_account_of_the_web_server_is_asked_for_where_there_is_one(site, folder):
    page = site.as_user("").get("/console/find").follow("Log in with a name and a password")
    assert page.status == 401
    assert page.response.headers["www-authenticate"] == 'Basic realm="noid"'
    assert site.as_user(READER).get(page.url).url == "/console/find"
    without = ConsoleClient(Site(MinterFolder(str(folder)), challenge=""))
    assert not without.get("/console").has_link("Log in with a name and a password")


def test_what_somebody_uploads_who_has_not_logged_in_is_not_read(site):
    class Unread(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise AssertionError("the body was read")

    stranger, larger = site.as_user(""), {"HTTP_ORIGIN": "http://id.example", "CONTENT_LENGTH": "100000",
                                          "wsgi.input": Unread()}
    reply = stranger.request("POST", "/console/mint/table", b"", "multipart/form-data; boundary=x", larger)
    assert (reply.status, reply.headers["location"]) == (303, "/console/login")
    for kind in ("multipart/form-data; boundary=x", "application/x-www-form-urlencoded"):
        assert stranger.request("POST", "/console/login", b"", kind, larger).status == 413, kind


def test_a_forged_cookie_is_no_session(site, folder):
    client = site.as_user("")
    client.get("/console/login").submit("Log in", secret=token_for(folder, "forged", "read"))
    (value,) = client.cookies.values()
    for forged in (value[:-4] + "AAAA", "x", "", value.partition(".")[0] + ".", "\xff" * 20):
        client.cookies = {"noid_console": forged}
        assert client.get("/console").url.startswith("/console/login"), forged


# -- what each user is offered -------------------------------------------------------------------------------------


def test_the_overview_has_the_minters_that_the_user_may_read(alice, carol):
    page = alice.get("/console")
    assert page.has_link("kt5")
    assert page.has_link("secret")
    assert "no backup of it is known" in page.text
    page = carol.get("/console")
    assert page.has_link("kt5")
    assert "secret" not in page.text


def test_the_overview_says_how_far_a_replica_and_the_search_index_are_behind(alice, folder, name, monkeypatch):
    assert alice.get("/console/find?q=letters").has_link(name)
    monkeypatch.setattr(overview, "_INDEX_LAG", 1)
    assert "changes behind" not in alice.get("/console/").text
    with noidtools.open(folder / "kt5") as minter:
        minter.bind(name, "who", "Ada")
        minter.bind(name, "who", "Ada Kerry")
    monkeypatch.setattr(overview, "minter_figures", lambda minter: minter_figures(minter) | {"replica_lag_seconds": 61})
    page = alice.get("/console/")
    assert "has a search index that is 2 changes behind: the next search brings it up to date" in page.text
    assert "is 61 seconds behind at the replica" in page.text
    alice.get("/console/find?q=letters")
    assert "changes behind" not in alice.get("/console/").text


def test_somebody_without_rights_sees_nothing(site, name):
    for path in ("/console", "/console/find", path_of(name), path_of(name, "name/edit"), "/console/find.csv"):
        page = site.as_user(STRANGER).get(path)
        assert page.status == 403, path
        assert "You may not read any of the minters here" in page.text
        assert TITLE not in page.text


def test_a_reader_is_offered_no_change_and_can_make_none(site, folder, name):
    page = site.as_user(READER).get(path_of(name))
    assert TITLE in page.text
    assert not any(page.has_link(text) for text in ("Edit", "Reserve", "Withdraw", "Make unavailable"))
    assert "backup" not in site.as_user(READER).get("/console").text.replace("Last backup", "")
    for page in ("name/edit", "name/state"):
        assert site.as_user(READER).get(f"{path_of(name, page)}&to=withdraw").status == 403
    token = site.as_user(READER).get("/console/login").forms[0].fields[0][1]
    for path, more in (("name/edit", "step=save&element=title&value=x"), ("name/state", "to=reserve"),
                       ("name/note", "note=x")):
        body = f"form={quote(token)}&id={quote(name, safe='')}&{more}".encode()
        assert site.as_user(READER).post(f"/console/{path}", body).status == 403, path
    assert bound(folder, name)["title"] == TITLE


def test_a_curator_may_edit_but_not_withdraw(carol, name):
    page = carol.get(path_of(name))
    assert page.has_link("Edit")
    assert page.has_link("Reserve")
    assert not page.has_link("Withdraw")
    assert carol.get(f"{path_of(name, 'name/state')}&to=withdraw").status == 403


def test_who_did_it_is_shown_to_administrators_alone(alice, carol, name):
    assert ", by " in alice.get(path_of(name)).text
    assert ", by " not in carol.get(path_of(name)).text


# -- forms of other sites ------------------------------------------------------------------------------------------


def test_a_form_of_another_site_changes_nothing(carol, folder, name):
    page = carol.get(path_of(name, "name/state") + "&to=reserve")
    fields = dict(page.forms[0].fields)
    body = "&".join(f"{field}={quote(value, safe='')}" for field, value in fields.items()).encode()
    for headers in ({"HTTP_ORIGIN": "https://evil.example"}, {"HTTP_ORIGIN": "null"},
                    {"HTTP_SEC_FETCH_SITE": "cross-site"}, {"HTTP_ORIGIN": ""}):
        assert carol.post("/console/name/state", body, **headers).status == 403, headers
    assert carol.get(path_of(name)).text.count("reserved") == 0


def test_a_form_without_the_token_of_its_user_changes_nothing(site, carol, folder, name):
    own = dict(carol.get(path_of(name, "name/state") + "&to=reserve").forms[0].fields)["form"]
    others = dict(site.as_user(ADMINISTRATOR).get(path_of(name, "name/state") + "&to=reserve").forms[0].fields)["form"]
    for token in ("", "x", others, own[:-3] + "AAA"):
        body = f"form={quote(token)}&id={quote(name, safe='')}&to=reserve".encode()
        page = carol.post("/console/name/state", body)
        assert page.status == 403
        assert "This form has expired" in page.text
    assert "published" in carol.get(path_of(name)).text


# -- find ----------------------------------------------------------------------------------------------------------


def test_names_are_found_by_words_target_state_and_prefix(carol, name):
    for query in ("q=letters", "q=LETT*", "target=library.example", "target=https://library.example/*",
                  "words=archive", "element=title&words=archive", "state=published", f"prefix={name[:12]}",
                  "since=2020-01-01", "until=2999-01-01", "since=2020-01-01&until=2999-01-01", "minter=kt5"):
        page = carol.get(f"/console/find?{query}")
        assert page.has_link(name), (query, page.text)
    for query in ("q=nothinghere", "state=withdrawn", "since=2999-01-01", "until=2020-01-01",
                  "q=letters&until=2020-01-01", "target=elsewhere.example"):
        assert not carol.get(f"/console/find?{query}").has_link(name), query


def test_a_wrong_question_is_answered_with_a_sentence(carol, name):
    for query in ("q=%22open", "state=lost", "since=yesterday", "until=soon", "cursor=%00", "minter=absent"):
        page = carol.get(f"/console/find?{query}")
        assert page.status in (200, 404), query
        assert "Nothing was found" not in page.text, query
    assert carol.get("/console/find.csv?state=lost").status == 400


def test_pages_follow_each_other_and_the_export_has_them_all(carol, folder):
    with noidtools.open(folder / "kt5") as minter:
        made = minter.mint(120, elements={"title": "Series, \"quoted\", =1+1", "creator": "Ada"})
    page = carol.get("/console/find?q=series&columns=id,creator")
    seen = [text for text, _ in page.links if text in made]
    while page.has_link("Next page"):
        page = page.follow("Next page")
        seen += [text for text, _ in page.links if text in made]
    assert sorted(seen) == sorted(made)
    assert len(seen) == 120
    lines = page.follow("Save all as CSV").response.text.splitlines()
    assert lines[0] == "id,creator"
    assert sorted(lines[1:]) == sorted(f"{one},Ada" for one in made)
    objects = page.follow("Save all as JSON Lines").response.text.splitlines()
    assert len(objects) == 120
    assert '"creator": "Ada"' in objects[0]


def test_columns_are_chosen_one_by_one_and_titles_are_exported_under_the_element_that_has_them(carol, folder):
    with noidtools.open(folder / "kt5") as minter:
        (made,) = minter.mint(1, elements={"what": "Zanzibar", "who": "Ada", "when": "1", "_t": "https://a.example/"})
    lines = carol.get("/console/find?q=zanzibar").follow("Save all as CSV").response.text.splitlines()
    assert lines == ["id,what,_t", f"{made},Zanzibar,https://a.example/"]
    page = carol.get("/console/find?q=zanzibar&columns=title&columns=who,state&columns=")
    assert "IdentifierTitleWhoState" in page.text
    lines = page.follow("Save all as CSV").response.text.splitlines()
    assert lines == ["id,what,who,state", f"{made},Zanzibar,Ada,published"]
    (line,) = page.follow("Save all as JSON Lines").response.text.splitlines()
    assert json.loads(line)["elements"] == {"what": "Zanzibar", "who": "Ada"}
    assert carol.get("/console/find.csv?q=zanzibar&columns=id").response.text.splitlines() == ["id", made]
    assert carol.get("/console/find.csv?q=nothinghere").response.text.splitlines() == ["id,title,target"]


# -- an identifier -------------------------------------------------------------------------------------------------


def test_elements_are_changed_after_before_and_after_were_shown(carol, folder, name):
    page = carol.get(path_of(name)).follow("Edit")
    page.set_value("title", "Letters,\r\nsecond edition")
    page.set_value("who", "Ada Kerry")
    review = page.submit("See what changes")
    assert bound(folder, name)["title"] == TITLE
    assert TITLE in review.text
    assert "Ada Kerry" in review.text
    page = review.submit("Save")
    assert "The changes were saved." in page.text
    assert bound(folder, name) == {"title": "Letters,\nsecond edition", "_t": "https://library.example/1",
                                   "who": "Ada Kerry"}


def test_an_element_can_be_removed_and_a_removal_undone(carol, folder, name):
    page = carol.get(path_of(name, "name/edit"))
    page = page.submit("See what changes", remove="title").submit("Save")
    assert "title" not in bound(folder, name)
    page = page.follow("Undo event " + page.links[[text.startswith("Undo") for text, _ in page.links].index(True)][0]
                       .split()[-1])
    page.submit("See what changes").submit("Save")
    assert bound(folder, name)["title"] == TITLE


def test_rows_can_be_added_and_the_form_goes_back(carol, name):
    page = carol.get(path_of(name, "name/edit"))
    before = len(page.forms[0].fields)
    page.set_value("who", "Ada")
    more = page.submit("More rows")
    assert len(more.forms[0].fields) > before
    assert ["element", "who"] in more.forms[0].fields
    again = more.submit("See what changes").submit("Edit again")
    assert ["element", "who"] in again.forms[0].fields


def test_rows_that_are_at_odds_are_refused_with_a_sentence(carol, name):
    for element, value, sentence in (
        (["title", "title"], ["x", "y"], "is in two rows"), ([""], ["x"], "has no element"),
        (["title"], ["x", "y"], "does not have a value for each"),
    ):
        page = carol.get(path_of(name, "name/edit"))
        refused = page.submit("See what changes", element=element, value=value)
        assert refused.status == 400
        assert sentence in refused.text


def test_a_change_that_somebody_else_made_meanwhile_is_not_lost(carol, alice, folder, name):
    review = carol.get(path_of(name, "name/edit"))
    review.set_value("title", "Mine")
    review = review.submit("See what changes")
    with noidtools.open(folder / "kt5") as minter:
        minter.bind(name, "title", "Theirs")
    page = review.submit("Save")
    assert page.status == 412
    assert "was changed since you read it" in page.text
    assert bound(folder, name)["title"] == "Theirs"


def test_sending_a_form_twice_changes_nothing_twice(carol, folder, name):
    ask = carol.get(path_of(name)).follow("Reserve")
    assert "It is reserved." in ask.submit("Reserve").text
    with noidtools.open(folder / "kt5") as minter:
        events = len(minter.history(name))
    assert "It is reserved." in ask.submit("Reserve").text
    with noidtools.open(folder / "kt5") as minter:
        assert len(minter.history(name)) == events


def test_states_change_after_their_consequence_was_shown(alice, folder, name):
    page = alice.get(path_of(name))
    for button, sentence, state in (("Reserve", "can no longer follow it", "reserved"),
                                    ("Publish", "can follow it from now on", "published"),
                                    ("Make unavailable", "see a tombstone", "unavailable"),
                                    ("Publish", "can follow it from now on", "published"),
                                    ("Withdraw", "cannot be undone", "withdrawn")):
        ask = page.follow(button)
        assert sentence in ask.text
        assert ask.has_link("Cancel")
        fields = {"reason": "Given twice"} if button in ("Make unavailable", "Withdraw") else {}
        page = ask.submit(button, **fields)
        with noidtools.open(folder / "kt5") as minter:
            assert minter.fetch(name).state == state
    assert "Given twice" in page.text
    assert not page.has_link("Edit")
    assert not page.has_link("Publish")


def test_a_note_is_for_curators_and_not_on_the_page_for_readers(carol, folder, name):
    page = carol.get(path_of(name)).submit("Save the note", note="Ask Ada.\nBefore May.")
    assert "The note was saved." in page.text
    assert "Ask Ada. Before May." in page.text
    assert "Ask Ada" not in page.follow("Page for readers").text
    page = page.submit("Save the note", note="")
    assert "_note" not in bound(folder, name)


def test_relations_are_drawn_and_listed(alice, folder, name):
    with noidtools.open(folder / "kt5") as minter:
        minter.alias("13030/ktnickname", name)
        minter.synonym(name, "doi:10.1000/182", authority="The Library")
    page = alice.get(path_of(name))
    assert "The relations in the list below, as a picture" in page.response.text
    assert "synonym doi:10.1000/182" in page.text or "doi:10.1000/182" in page.text
    assert "according to The Library" in page.text


def test_what_was_withdrawn_has_its_title_and_is_told_from_what_takes_its_place(alice, folder, name):
    with noidtools.open(folder / "kt5") as minter:
        (gone,) = minter.mint(1, elements={"what": "The faulty edition", "_t": "https://a.example/"})
        minter.withdraw(gone, successor=name)
    page = alice.get(path_of(gone))
    assert "<h1 dir=\"auto\">The faulty edition</h1>" in page.response.text
    assert "<strong>Withdrawn</strong>" in page.response.text
    assert "<strong>Minted</strong>" in page.response.text
    assert f"<strong>Withdrawn: {gone}</strong>" in alice.get(path_of(name)).response.text


def test_a_name_that_is_not_known_has_a_page_that_says_so(carol):
    for asked in ("ark:/13030/kt000000x", "", "nonsense", "\0", "x" * 3000):
        page = carol.get(path_of(asked))
        assert page.status in (400, 404), (asked, page.text)
        assert page.has_link("Find an identifier")
        assert page.has_link("Mint")
        # Or the form to log out would come from nowhere.
        assert page.response.headers["referrer-policy"] == "same-origin"


# -- hostile values ------------------------------------------------------------------------------------------------

HOSTILE = ("<script>alert(1)</script>", "\"'><img src=x onerror=alert(1)>", "</textarea><script>alert(1)</script>",
           "javascript:alert(1)", "{{ 7*7 }}", "\u202egnp.exe", "x" * 5000, "line\n\nbreaks\ttabs", "&lt;b&gt;",
           "=HYPERLINK(\"http://evil.example\")")


@pytest.mark.parametrize("value", HOSTILE, ids=[f"value {number}" for number in range(len(HOSTILE))])
def test_a_hostile_value_is_shown_as_it_is_and_comes_back_as_it_was(carol, folder, value):
    with noidtools.open(folder / "kt5") as minter:
        (name,) = minter.mint(1, elements={"title": value, "_t": value, "_note": value, "odd": value})
    for path in ("name", "name/edit"):
        page = carol.get(path_of(name, path))
        assert page.status == 200
        source = page.response.text
        assert "<script>alert" not in source
        assert "<img src=x" not in source
        assert 'href="javascript:' not in source
    page.set_value("who", "Ada")
    page.submit("See what changes").submit("Save")
    assert bound(folder, name) == {"title": value, "_t": value, "_note": value, "odd": value, "who": "Ada"}


def test_a_value_that_no_form_can_carry_stays_as_it_is(carol, folder):
    values = {"title": b"\xff\xfe", "odd": b"a\rb\0c", "long": b"y" * 200_000}
    with noidtools.open(folder / "kt5") as minter:
        (name,) = minter.mint(1, elements=values)
    page = carol.get(path_of(name, "name/edit"))
    assert page.text.count("change it with a program") == 3
    page.set_value("who", "Ada")
    page.submit("See what changes").submit("Save")
    with noidtools.open(folder / "kt5") as minter:
        assert minter.elements(name, raw=True) == {
            **{element.encode(): value for element, value in values.items()}, b"who": b"Ada"}


# -- minting -------------------------------------------------------------------------------------------------------


def test_an_identifier_is_minted_with_a_form_and_once_only(carol, folder):
    form = carol.get("/console/mint")
    form.set_value("what", "On the origin of species")
    form.set_value("_t", "https://library.example/origin")
    page = form.submit("Mint", state="reserved")
    assert "A new identifier was minted." in page.text
    assert "On the origin of species" in page.text
    assert "reserved" in page.text
    assert form.submit("Mint", state="reserved").url == page.url


def test_several_are_minted_at_once_and_no_more_than_the_form_says(carol):
    page = carol.get("/console/mint").submit("Mint", count="12")
    assert "12 identifiers were minted" in page.text
    assert sum(text.startswith("ark:/13030/kt") for text, _ in page.links) == 12
    for count in ("0", "1001", "-1", "many", "9" * 5000, "000000001999"):
        assert carol.get("/console/mint").submit("Mint", count=count).status == 400


def test_somebody_who_may_not_mint_gets_no_form(site):
    page = site.as_user(READER).get("/console/mint")
    assert page.status == 403
    assert "You may not use mint in any of the minters here" in page.text
    assert not site.as_user(READER).get("/console").has_link("Mint")


# -- tables --------------------------------------------------------------------------------------------------------


def done(page: Page, seconds: float = 60) -> Page:
    """The page of a job when nobody works on it any more."""
    assert page.status == 200, page.text
    wait_until(lambda: not page._client.get(page.url).has_link("Look again"), seconds, lambda: page.text)
    return page._client.get(page.url)


def test_a_table_without_identifiers_comes_back_with_them(carol, folder):
    rows = 2000
    table = "what,who,_t\r\n" + "".join(f"Book {n},Ada,https://library.example/{n}\r\n" for n in range(rows))
    page = done(carol.get("/console/mint").submit("Upload and check", files={"file": table.encode()}))
    assert "The table has 2,000 rows. 2,000 identifiers will be minted." in page.text
    assert "will lead nowhere" not in page.text
    page = done(page.submit("Mint 2,000"))
    assert "2,000 identifiers were minted." in page.text
    first = next(text for text, _ in page.links if text.startswith("ark:/13030/kt"))
    assert "Book 0" in page.follow(first).text
    lines = page.follow("Download the table with its identifiers").response.text.splitlines()
    assert lines[0] == "id,what,who,_t"
    names = [line.partition(",")[0] for line in lines[1:]]
    assert len(set(names)) == rows
    assert bound(folder, names[7]) == {"what": "Book 7", "who": "Ada", "_t": "https://library.example/7"}


def test_what_is_wrong_in_which_row_is_shown_before_anything_is_minted(carol, folder):
    table = "id,what\r\n,Good\r\n,=1+1\r\n,Also good\r\n,\"a\",b,c\r\n"
    with noidtools.open(folder / "kt5") as minter:
        before = minter.info().drawn
    page = done(carol.get("/console/mint").submit("Upload and check", files={"file": table.encode()}))
    assert "Will be left out: 2" in page.text
    assert "line 3 left out" in page.text
    assert "looks like a formula" in page.text
    assert "The table has no column _t: the identifiers will lead nowhere, unless a rule says where." in page.text
    with noidtools.open(folder / "kt5") as minter:
        assert minter.info().drawn == before
    page = done(page.submit("Mint 2, without the rows below"))
    lines = page.follow("Download the table with its identifiers").response.text.splitlines()
    assert [line.startswith("ark:/13030/kt") for line in lines[1:]] == [True, False, True, False]


@pytest.mark.parametrize("content", [b"", b"\xff\xfea\0b\0", b"PK\x03\x04zip", b"what\r\n\xe9", b"what\n\"open", b"\0",
                                     b"element,value\na,b", b"what,what\na,b"], ids=range(8))
def test_a_file_that_is_no_table_is_refused_with_a_sentence(carol, content):
    page = carol.get("/console/mint").submit("Upload and check", files={"file": content})
    page = done(page) if page.status == 200 else page
    assert "Not done" in page.text or "Nothing was changed." in page.text, page.text


def test_a_table_of_very_many_columns_is_shown_by_its_first(carol):
    names = [f"column{number}" for number in range(10_000)]
    table = ",".join(names) + "\n" + ",".join("x" for _ in names) + "\n"
    page = done(carol.get("/console/mint").submit("Upload and check", files={"file": table.encode()}))
    assert "1 identifier will be minted." in page.text
    assert len(page.response.body) < 50_000


def test_the_same_table_is_not_minted_a_second_time_without_a_warning(carol):
    table = {"file": b"what\nThe same table\n"}
    page = done(carol.get("/console/mint").submit("Upload and check", files=table))
    assert "minted before" not in page.text
    done(page.submit("Mint 1"))
    page = done(carol.get("/console/mint").submit("Upload and check", files=table))
    assert "The same table was minted before, here. If you go on, each row gets a second identifier." in page.text


def test_a_form_that_was_sent_is_not_sent_again_with_other_values(carol, folder):
    form = carol.get("/console/mint")
    form.submit("Mint", count="1")
    with noidtools.open(folder / "kt5") as minter:
        before = minter.info().drawn
        page = form.submit("Mint", count="2")
        assert (page.status, minter.info().drawn) == (409, before)
    assert "This form was sent before with other values: load the page again, and fill it in there." in page.text


def test_what_was_not_checked_to_its_end_is_checked_again_and_not_done(carol, folder, name):
    with noidtools.open(folder / "kt5") as minter:
        minter.set_policy(mint_limit=1)
        try:
            table = f"id,what\r\n{name},Taken over\r\n,a\r\n,b\r\n".encode()
            page = done(carol.get("/console/mint").submit("Upload and check", files={"file": table}))
        finally:
            minter.set_policy(mint_limit="default")
        assert page.has_link("Upload another table")
        before = minter.info().drawn
        form = next(form for form in page.forms if "Try again" in form.buttons)
        sent = [(field, text) for field, text in form.fields] + [("step", "run")]
        assert "2 identifiers will be minted" in done(carol.send(form, sent, {})).text
        assert minter.info().drawn == before
    assert "what" not in bound(folder, name)


def test_a_table_larger_than_the_policy_allows_mints_nothing(carol, alice, folder):
    with noidtools.open(folder / "kt5") as minter:
        minter.set_policy(mint_limit=5)
    try:
        page = carol.get("/console/mint").submit("Upload and check", files={"file": b"what\n" + b"a\n" * 6})
        page = done(page)
        assert "and 5 may be minted at once here: divide it, or ask an administrator for a mint-limit of 6" in page.text
        assert not page.has_button("Mint 6")
    finally:
        with noidtools.open(folder / "kt5") as minter:
            minter.set_policy(mint_limit="default")


def test_rows_with_identifiers_are_for_administrators(carol, alice, folder, name):
    table = f"id,what\r\n{name},Taken over\r\n,New\r\n".encode()
    page = done(carol.get("/console/mint").submit("Upload and check", files={"file": table}))
    button = next(text for form in page.forms for text in form.buttons if text.startswith("Mint"))
    page = done(page.submit(button))
    assert "mport is not open to" in page.text
    assert "what" not in bound(folder, name)


def test_the_job_of_one_user_is_not_shown_to_another_who_is_no_administrator(carol, alice, site, folder):
    page = alice.get("/console/mint").submit("Upload and check", files={"file": b"what\nSecret plan\n"})
    done(page)
    other = carol.get(page.url)
    assert other.status == 403
    assert "Secret plan" not in other.text
    token = dict(carol.get("/console/mint").forms[0].fields)["form"]
    for step in ("check", "run", "delete"):
        body = f"form={quote(token)}&{page.url.partition('?')[2]}&step={step}".encode()
        assert carol.post("/console/job", body).status == 403, step
    assert "Secret plan" in alice.get(page.url).text
    for number in ("", "..", "0" * 24, "../../data.mdb", "x" * 24):
        assert alice.get(f"/console/job?minter=kt5&job={number}").status == 404, number


def test_somebody_who_uploads_very_much_stands_in_nobody_elses_way(tmp_path, monkeypatch):
    with noidtools.create(tmp_path / "kt6", "kt.reedeedk", naan="13030") as minter:
        minter.set_policy(read="authenticated", mint="authenticated", bind="authenticated")
    monkeypatch.setattr("noidtools.web.console.jobs._MOST", 1)
    site, table = ConsoleClient(tmp_path), {"file": b"what\nOne of many\n"}
    one, other = site.as_user("one"), site.as_user("other")
    done(one.get("/console/mint").submit("Upload and check", files=table))
    page = one.get("/console/mint").submit("Upload and check", files=table)
    assert page.status == 409
    assert "delete one that is done" in page.text
    done(other.get("/console/mint").submit("Upload and check", files=table))


def test_a_job_that_ends_while_its_page_is_made_was_not_stopped(carol, monkeypatch):
    page = done(carol.get("/console/mint").submit("Upload and check", files={"file": b"what\nJust in time\n"}))

    def ends(job: Job) -> bool:
        job.record.phase = RUNNING
        ended = Job(job.minter, job.number)
        ended.record.phase = DONE
        ended.save()
        return False

    monkeypatch.setattr(Job, "is_active", ends)
    text = carol.get(page.url).text
    assert "The service was stopped" not in text
    assert "1 identifier was minted." in text


class TableServer:
    """A minter of its own that a server with one worker serves, and the administrator at its console."""

    def __init__(self, folder: Path, rows: int) -> None:
        self.folder = folder / "m"
        with noidtools.create(self.folder, "t.reeeeedk", naan="13030", labels=["ark:/"]) as minter:
            minter.set_policy(mint_limit=rows)
            secret = minter.new_token("all", ["read", "mint", "bind", "admin"])
        self.served = Served.start(folder / "log", "-f", self.folder, "serve", "--http", ANY_PORT, "--workers", "1")
        self.client = ServedConsole(self.served, secret)

    def upload(self, rows: int) -> Page:
        """The page of a table of so many rows that was checked."""
        table = "what,who,_t\n" + "".join(f"Book {n},Ada,https://a.example/{n}\n" for n in range(rows))
        form = self.client.get("/console/mint")
        return done(form.submit("Upload and check", files={"file": table.encode()}), 300)


@pytest.mark.slow
def test_work_goes_on_after_its_process_was_killed_and_mints_nothing_twice(tmp_path):
    rows = 3000
    server = TableServer(tmp_path, rows)
    try:
        page = server.upload(rows).submit(f"Mint {rows:,}")
        (worker,) = server.served.workers
        os.kill(worker, signal.SIGKILL)
        server.served.until(lambda: server.served.workers not in ([], [worker]) and server.served.accepts(), 60)
        page = done(server.client.get(page.url))
        if page.has_button("Go on"):
            assert "The service was stopped before this was done." in page.text
            page = done(page.submit("Go on"))
        assert "3,000 identifiers were minted." in page.text
        lines = page.follow("Download the table with its identifiers").response.text.splitlines()
        assert len({line.partition(",")[0] for line in lines[1:]}) == rows
        with noidtools.open(server.folder) as minter:
            assert minter.info().drawn == rows
    finally:
        server.served.stop()


@pytest.mark.long
def test_a_hundred_thousand_rows_are_minted_in_bounded_memory_while_others_mint(tmp_path):
    rows = 100_000
    server = TableServer(tmp_path, rows)
    try:
        before = peak_megabytes(server.served.workers)
        started = time.monotonic()
        page = server.upload(rows)
        checked = peak_megabytes(server.served.workers)
        print(f"checked in {time.monotonic() - started:.1f} s, {before:.0f} to {checked:.0f} MB")
        started, waits, shares = time.monotonic(), [], set()
        page = page.submit("Mint 100,000")
        with noidtools.open(server.folder) as minter:
            while page.has_link("Look again"):
                asked = time.monotonic()
                minter.mint(1)
                waits.append(time.monotonic() - asked)
                shares |= set(re.findall(r"(\d+)%", page.text))
                page = server.client.get(page.url)
        peak = peak_megabytes(server.served.workers)
        print(f"minted in {time.monotonic() - started:.1f} s, {peak:.0f} MB, others minted {len(waits)} times and "
              f"waited {max(waits):.2f} s at most, shown: {sorted(shares, key=int)}")
        assert "100,000 identifiers were minted." in page.text
        assert len(shares) > 2
        assert peak < before + 300
        lines = page.follow("Download the table with its identifiers").response.text.splitlines()
        assert len({line.partition(",")[0] for line in lines[1:]}) == rows
        with noidtools.open(server.folder) as minter:
            assert minter.info().drawn == rows + len(waits)
    finally:
        server.served.stop()


def peak_megabytes(processes: list[int]) -> float:
    """The most memory that these processes have had."""
    return sum(int(re.findall(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[0])
               for pid in processes) / 1024


# -- changes of many -----------------------------------------------------------------------------------------------


def test_a_table_of_new_values_is_shown_done_and_undone(alice, folder, name):
    table = f"id,title,who\r\n{name},Changed title,Ada\r\nark:/13030/ktnobody,x,y\r\n".encode()
    page = done(alice.get("/console/change?minter=kt5").submit("Upload and check", files={"file": table}))
    assert TITLE in page.text
    assert "Changed title" in page.text
    assert "Will be left out: 1" in page.text
    assert bound(folder, name)["title"] == TITLE
    page = done(page.submit("Change 2, without the rows below"))
    assert bound(folder, name)["title"] == "Changed title"
    page = done(page.follow("Undo…").submit("See what would be undone"))
    assert bound(folder, name)["title"] == "Changed title"
    page = done(page.submit("Undo 2"))
    assert bound(folder, name)["title"] == TITLE
    assert "who" not in bound(folder, name)


def test_targets_that_moved_are_shown_changed_and_changed_back(alice, folder):
    with noidtools.open(folder / "kt5") as minter:
        made = minter.mint(3, elements={"_t": "http://moved.example/a"})
    page = alice.get("/console/change?minter=kt5").submit(
        "See what would change", old="http://moved.example/", new="https://new.example/")
    page = done(page)
    assert "3 values will be changed" in page.text
    assert "https://new.example/a" in page.text
    assert bound(folder, made[0])["_t"] == "http://moved.example/a"
    page = done(page.submit("Change 3"))
    assert bound(folder, made[0])["_t"] == "https://new.example/a"
    page = done(page.follow("Undo…").submit("See what would be undone"))
    assert "<ins>http://moved.example/a</ins>" in page.response.text
    done(page.submit("Undo 3"))
    assert bound(folder, made[0])["_t"] == "http://moved.example/a"


def test_changes_of_many_are_for_administrators(carol, folder):
    assert carol.get("/console/change").status == 403
    token = dict(carol.get("/console/mint").forms[0].fields)["form"]
    for path, more in (("change/targets", "old=http://a&new=http://b"), ("change/undo", "event=1"),
                       ("change/table", "")):
        body = f"form={quote(token)}&minter=kt5&{more}".encode()
        assert carol.post(f"/console/{path}", body).status == 403, path


# -- rules, holds and the queue ------------------------------------------------------------------------------------


def test_a_rule_is_written_tested_step_by_step_and_removed(carol, folder):
    page = carol.get("/console/rules").submit("Save the rule", pattern="^13030/ktx(.*)$", element="_t",
                                              replacement="https://rules.example/$1")
    assert "The rule was saved." in page.text
    tested = page.submit("Show each step", name="ark:/13030/ktxabc")
    assert "It leads to https://rules.example/abc (302), by this step: rule." in tested.text
    assert "^13030/ktx(.*)$" in tested.text
    button = next(text for form in page.forms for text in form.buttons if text.startswith("Remove the rule"))
    page = page.submit(button)
    assert "The rule was removed." in page.text
    assert "It leads nowhere" in page.submit("Show each step", name="ark:/13030/ktxabc").text
    assert carol.get("/console/rules").submit("Save the rule", pattern="(", element="_t", replacement="x").status == 400


def test_a_reader_may_test_names_but_write_no_rule(site):
    page = site.as_user(READER).get("/console/rules?name=ark:/13030/ktunknown")
    assert "It leads nowhere" in page.text
    assert not page.has_button("Save the rule")


def test_identifiers_are_held_released_queued_and_taken_out(carol, folder):
    with noidtools.open(folder / "kt5") as minter:
        free = [minter.mint(1)[0] for _ in range(2)]
    page = carol.get("/console/queue").submit("Hold", ids=" ".join(free))
    assert "The identifiers are on hold." in page.text
    page = page.submit("Release", ids="\n".join(free))
    assert "The holds were released." in page.text
    page = page.submit("Queue", ids=free[0], days="3")
    assert "In the queue: 1" in page.text
    assert page.has_link(free[0])
    page = page.submit("Take out", ids=free[0])
    assert "In the queue: 0" in page.text
    for ids in ("", " \n", " ".join(["x"] * 1001)):
        assert page.submit("Hold", ids=ids).status == 400


# -- access, promises and the log ----------------------------------------------------------------------------------


def test_an_administrator_changes_the_policy_and_cannot_be_locked_out(alice, folder):
    page = alice.get("/console/access?minter=secret")
    page = page.submit("Save the policy", mint=f"{ADMINISTRATOR} {CURATOR}", minting="reserve", mint_limit="77")
    assert "The policy was saved." in page.text
    with noidtools.open(folder / "secret") as minter:
        policy = minter.policy()
        assert (policy.mint, policy.minting, policy.mint_limit) == ((ADMINISTRATOR, CURATOR), "reserve", 77)
    for field in ("read", "admin"):
        refused = alice.get(page.url).submit("Save the policy", **{field: "nobody"})
        assert "You would lock yourself out" in refused.text, field
    assert alice.get("/console/access?minter=secret").status == 200


def test_the_secret_of_a_token_is_shown_once_and_the_token_can_be_revoked(alice, site, folder):
    page = alice.get("/console/access?minter=kt5").submit("Make the token", name="harvester", may=["read", "bind"])
    assert "The token harvester was made." in page.text
    (secret,) = re.findall("noid_[0-9A-Za-z_-]{43}", page.text)
    assert secret not in alice.get("/console/access?minter=kt5").text
    client = site.as_user("")
    assert "You are token:harvester." in client.get("/console/login").submit("Log in", secret=secret).text
    button = "Revoke harvester"
    assert "The token was revoked." in alice.get("/console/access?minter=kt5").submit(button).text
    assert client.get("/console").url.startswith("/console/login")


def test_custodians_and_promises_are_shown_to_readers_and_changed_by_administrators(alice, site, folder):
    page = alice.get("/console/promises?minter=kt5").submit("Save the custodian", name="The Library",
                                                            contact="a@b.example")
    assert "The Library, a@b.example" in page.text
    page = page.submit("Save the promises", persistence="For a hundred years.", until="2126-01-01", association="Books")
    assert "The policy was saved." in page.text
    with noidtools.open(folder / "kt5") as minter:
        assert minter.policy().persistence.text == "For a hundred years."
    page = site.as_user(READER).get("/console/promises")
    assert "For a hundred years." in page.text
    assert not page.has_button("Save the promises")
    assert not page.has_button("Save the custodian")


def test_the_log_says_who_did_what_to_administrators_alone(alice, carol, folder, name):
    carol.get(path_of(name)).follow("Reserve").submit("Reserve")
    page = alice.get("/console/log?minter=kt5")
    assert "carol@192.0.2.1" in page.text
    assert page.has_link(name)
    page = page.submit("Show", who="carol", action="reserve")
    assert "carol@192.0.2.1" in page.text
    assert "No event fits." in page.submit("Show", who="nobody-of-this-name").text
    assert carol.get("/console/log").status == 403
    with noidtools.open(folder / "kt5") as minter:
        for _ in range(70):
            minter.note("n", "x")
        newest = sum(1 for _ in minter.log())
    page, seen = alice.get("/console/log?minter=kt5"), 0
    while True:
        seen += page.response.text.count("<tr><td")
        if not page.has_link("Older"):
            break
        page = page.follow("Older")
    assert seen == newest


def test_every_page_of_administration_is_refused_to_others(site, carol, folder):
    token = dict(carol.get("/console/mint").forms[0].fields)["form"]
    for path, more in (("access", "read=anyone"), ("access/token", "name=x&may=admin"), ("access/revoke", "name=x"),
                       ("promises", "persistence=x"), ("promises/custodian", "name=x")):
        body = f"form={quote(token)}&minter=kt5&{more}".encode()
        assert carol.post(f"/console/{path}", body).status == 403, path
    for path in ("access", "log"):
        assert carol.get(f"/console/{path}?minter=kt5").status == 403
        assert site.as_user(STRANGER).get(f"/console/{path}").status == 403


# -- links and figures of use --------------------------------------------------------------------------------------


def test_the_link_of_a_name_is_checked_now_by_administrators_alone(alice, carol, folder, name):
    page = alice.get(path_of(name)).submit("Check the link now")
    assert page.status == 200
    assert "whether the target answers" in page.text or "The target does not answer" in page.text
    assert not carol.get(path_of(name)).has_button("Check the link now")


def test_links_that_are_broken_or_have_moved_are_reported_and_can_be_changed(alice, folder):
    with noidtools.open(folder / "kt5") as minter:
        gone, moved = minter.mint(1, elements={"_t": "http://gone.example/"}), minter.mint(
            1, elements={"_t": "http://moved.example/x"})
    key = gone[0].removeprefix("ark:/").encode(), moved[0].removeprefix("ark:/").encode()
    with link_database(str(folder / "kt5"), create=True) as database:
        database.execute("INSERT INTO targets VALUES (?, 1, 1, 'no such host', NULL, 1, 3, 1, 1, '')",
                         (b"http://gone.example/",))
        database.execute("INSERT INTO targets VALUES (?, 1, 1, '301', 1, NULL, 0, 1, NULL, 'https://moved.example/x')",
                         (b"http://moved.example/x",))
        database.executemany("INSERT INTO names VALUES (?, ?)",
                             [(key[0], b"http://gone.example/"), (key[1], b"http://moved.example/x")])
    assert "Never checked." in alice.get("/console/links?minter=secret").text
    page = alice.get("/console/").follow("has 1 target that is broken")
    assert page.has_link(gone[0])
    assert "no such host" in page.text
    page = done(page.submit(f"Use the new address for {moved[0]}…"))
    assert "https://moved.example/x" in page.text
    done(page.submit("Change 1"))
    assert bound(folder, moved[0])["_t"] == "https://moved.example/x"


def test_figures_of_use_are_drawn_for_administrators(alice, carol, folder, name):
    with noidtools.open(folder / "kt5") as minter:
        minter.set_resolver(statistics=True)
    assert "Resolved per day" in alice.get(path_of(name)).text
    page = alice.get("/console/")
    assert "Minted per day" in page.text
    assert "Resolved per day" in page.text
    assert "<svg" in page.response.text
    assert "Minted per day" not in carol.get("/console/").text
