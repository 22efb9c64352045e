"""N2T's minter and binder: requests in eggnog's spelling, their answers line by line, and what they change."""

from __future__ import annotations

from base64 import b64encode

import pytest

from noidtools.api import MinterMethods
from noidtools.minter.events import Actor
from noidtools.minter.folder import MinterFolder
from noidtools.web.site import Site
from support.minter import Noid
from support.wsgi import HTML, Response, call, command_environment

URL = "https://example.org/a?b=c+d"
MINTER, BINDER = "/a/alice/m/ark/99999/fk4", "/a/alice/b"
DONE = "egg-status: 0\n\n"


@pytest.fixture
def minter(tmp_path):
    (tmp_path / "served").mkdir()
    minter = Noid.created(tmp_path / "served" / "fk4", "fk4.sd", "medium", "99999")
    yield minter
    minter.close()


@pytest.fixture
def send(minter):
    secret = minter.records("token", "new", "alice", "--may", "mint,bind")[0]["token"]
    application = Site(MinterFolder(str(minter.folder.parent)), interfaces=["n2t"])
    login = "Basic " + b64encode(f"alice:{secret}".encode()).decode()

    def send(path: str, query: str, body: bytes | None = None, *, login: str | None = login, method: str = "",
             **more: object) -> Response:
        environ = command_environment(query, user="", method=method or ("GET" if body is None else "POST"), path=path,
                                      body=body, HTTP_AUTHORIZATION=login, **more)
        return call(application, environ)

    return send


def elements(minter: Noid, name: str) -> dict[str, str]:
    return MinterMethods(minter.opened, Actor(b"me", b"test")).elements(name)


def test_minting_answers_names_without_label_and_a_status(send):
    assert send(MINTER, "mint%201").text == "s: 99999/fk40\nnog-status: 0\n\n"
    assert send(MINTER, "mint%202").text.splitlines() == ["s: 99999/fk41", "s: 99999/fk42", "nog-status: 0", ""]
    assert send(MINTER.replace("ark/", "ark:/"), "mint").text.startswith("s: 99999/fk43\nnog-status: 0\n")


@pytest.mark.parametrize(("path", "query", "status", "said"), [
    (MINTER, "mint%20one", 400, "?mint%20N"), (MINTER, "fetch", 400, "?mint%20N"), (MINTER, "", 400, "?mint%20N"),
    (MINTER, "mint%2011", 410, "left"), (MINTER, "mint%2020000", 413, "10000"),
    ("/a/alice/m/ark/99999/q5", "mint%201", 404, "no minter here mints names that begin with 99999/q5"),
])
def test_a_refused_mint_has_a_sentence_and_the_status_one(send, minter, path, query, status, said):
    before = minter.event_count()
    reply = send(path, query)
    assert reply.status == status and said in reply.text and reply.text.endswith("\nnog-status: 1\n\n")
    assert minter.event_count() == before


def test_values_are_bound_and_read_by_get(send, minter):
    quoted = "https://example.org/a?b=c%2Bd"
    assert send(BINDER, f"ark:/99999/fk40.set%20_t%20{quoted}").text == DONE
    assert send(BINDER, "ark:/99999/fk40.set%20title%20%22two%20words%22").text == DONE
    assert elements(minter, "99999/fk40") == {"_t": URL, "title": "two words"}
    assert send(BINDER, "ark:/99999/fk40.get%20title%20_t").text == f"two words\n{URL}\n{DONE}"
    assert send(BINDER, "ark:/99999/fk40.fetch").text == (
        f"# id: 99999/fk40\n_t: {URL}\ntitle: two words\n# elements bound under 99999/fk40: 2\n{DONE}")
    assert send(BINDER, "ark:/99999/fk40.exists").text == f"exists: 1\n{DONE}"
    assert send(BINDER, "ark:/99999/fk47.exists").text == f"exists: 0\n{DONE}"
    assert send(BINDER, "ark:/99999/fk40.rm%20title").text == DONE
    assert elements(minter, "99999/fk40") == {"_t": URL}


def test_what_was_bound_without_being_minted_is_never_minted(send):
    send(BINDER, "ark:/99999/fk40.set%20_t%20https://example.org/")
    assert send(MINTER, "mint%201").text.startswith("s: 99999/fk41\n")


def test_many_lines_are_one_transaction(send, minter):
    body = (b"# two names\n:hx ark:/99999/fk40.set ti^74le ^22One^22^0aline\n\n:hx% ark:/99999/fk41.set _t %68ttps://e.org/"
            b"\r\nark:/99999/fk40.set who 'A B'\n")
    assert send(BINDER, "-", body).text == DONE
    assert elements(minter, "99999/fk40") == {"title": '"One"\nline', "who": "A B"}
    assert elements(minter, "99999/fk41") == {"_t": "https://e.org/"}
    # A line of a value cannot be taken for the status.
    assert send(BINDER, "ark:/99999/fk40.get%20title").text == f'"One"\n line\n{DONE}'
    before = minter.event_count()
    reply = send(BINDER, "-", b"ark:/99999/fk40.set who C\nark:/99999/fk45.get nothing\n")
    assert reply.status == 404 and reply.text.endswith("\negg-status: 1\n\n")
    assert minter.event_count() == before


@pytest.mark.parametrize("line", [
    b"", b"# nothing", b"ark:/99999/fk40.set", b"ark:/99999/fk40.set a", b"ark:/99999/fk40.set a b c", b"set a b",
    b"ark:/99999/fk40.burn a", b".set a b", b":hx", b"ark:/99999/fk40.set a 'b", b"\xff\xfe\0", b"{}",
])
def test_a_line_that_is_no_command_changes_nothing(send, minter, line):
    before = minter.event_count()
    for reply in (send(BINDER, "-", b"ark:/99999/fk40.set a b\n" + line) if line[:1] not in (b"", b"#") else
                  send(BINDER, "-", line),):
        assert reply.status == 400 and reply.text.startswith("error: ") and "egg-status: 1\n" in reply.text
    assert minter.event_count() == before


def test_all_commands_of_a_request_are_for_one_minter(send, tmp_path):
    Noid.created(tmp_path / "served" / "q5", "q5.sd", "medium", "99999").close()
    reply = send(BINDER, "-", b"ark:/99999/fk40.set a b\nark:/99999/q50.set a b\n", login=None, REMOTE_USER="alice")
    assert reply.status == 400 and "one minter" in reply.text


def test_those_who_may_only_read_send_a_thousand_commands_at_once(send):
    lines = b"ark:/99999/fk40.exists\n" * 1001
    refused = send(BINDER, "-", lines, login=None)
    assert refused.status == 413 and "send several" in refused.text
    assert send(BINDER, "-", lines).status == 200
    assert send(BINDER, "-", lines + b"ark:/99999/fk40.set a b", login=None).status == 401


def test_who_may_not_is_asked_to_log_in_and_browsers_change_nothing(send, minter):
    for path, query in ((MINTER, "mint%201"), (BINDER, "ark:/99999/fk40.set%20a%20b")):
        reply = send(path, query, login=None)
        assert reply.status == 401 and reply.headers["www-authenticate"].startswith("Basic")
        assert send(path, query, **HTML).status == 405
        assert send(path, query, method="PUT").status == 405
    assert send(BINDER, "-").status == 405
    assert minter.event_count() == 2
