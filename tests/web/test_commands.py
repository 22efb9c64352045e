"""Commands by URL: the manual's examples, statuses, methods and paths."""

from __future__ import annotations

from pathlib import Path

import pytest

from noidtools.commands import all_commands
from noidtools.errors import BusyError, StoreError
from noidtools.minter import Minter
from support.minter import create_in_child, run_in_child
from support.wsgi import USER, CommandClient, encode_word

pytestmark = pytest.mark.slow


def word(value: bytes | str) -> str:
    return encode_word(value.encode() if isinstance(value, str) else value).decode()


# -- the manual's examples ---------------------------------------------------------------------------------------


def test_the_manuals_examples_work(web: CommandClient) -> None:
    first = web("mint+1", user=USER)
    assert (first.status, first.headers["content-type"]) == (200, "text/plain; charset=utf-8")
    assert len(first.ids) == 1 and first.text == f"id: {first.ids[0]}\n\n"
    twenty = web("mint+20", user=USER).ids
    assert len({*twenty, *first.ids}) == 21
    bound = web(f"bind+set+{twenty[0]}+myGoto+http://foo.ucsd.edu/", user=USER)
    assert bound.text.splitlines()[:2] == [f"Id:      {twenty[0]}", "Element: myGoto"]
    assert web(f"get+{twenty[0]}+myGoto").text == "http://foo.ucsd.edu/\n"
    commands = "".join(f"bind set kt{number} myGoto http://foo.ucsd.edu/{number}\n" for number in range(10))
    assert web.post(commands.replace("kt", twenty[1])).status == 200


def test_the_binding_of_the_manual_is_made(web: CommandClient) -> None:
    bound = web("bind+set+13030/kt639k9+myGoto+http://foo.ucsd.edu/", user=USER)
    assert bound.status == 200 and "Status:  ok, 20 bytes written, replacing 0 bytes\n" in bound.text
    assert web("get+13030/kt639k9+myGoto").text == "http://foo.ucsd.edu/\n"


def test_the_answer_is_that_of_the_shell(web: CommandClient) -> None:
    web("bind+set+kt639k9+title+one", user=USER)
    assert web("fetch+kt639k9").text == "id:    kt639k9\nCirc:  uncirculated\ntitle: one\n\n"
    assert web("validate+-+kt639k9+kt").text.splitlines()[0] == "id: kt639k9"


@pytest.mark.parametrize("query", ["", "help"])
def test_an_empty_query_and_help_list_the_commands(web: CommandClient, query: str) -> None:
    reply = web(query)
    assert reply.status == 200
    for described in all_commands():
        assert (f"\n  {described.name} " in reply.text) == (not described.shell_only), described.name


def test_help_is_available_as_json(web: CommandClient) -> None:
    (record,) = web("help", accept="application/json").json["records"]
    assert record["text"].startswith("This is a minter")


def test_a_fault_in_the_middle_of_an_answer_is_reported_at_its_end(
    web: CommandClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_in_child(web.folder / "many", "abcdefghijklmnopqrst.zd")
    run_in_child(web.folder / "many", "policy", "mint-limit", "25000")
    write = Minter.write
    writes: list[object] = []

    def faulty(self: Minter, work: object, **options: object) -> object:
        writes.append(work)
        if len(writes) == 2:
            raise ZeroDivisionError("oh\nno")
        return write(self, work, **options)

    monkeypatch.setattr(Minter, "write", faulty)
    reply = web("mint+25000", user=USER, path="/noidu_many")
    assert (reply.status, len(reply.ids)) == (200, 10_000)
    assert reply.text.splitlines()[-1].startswith("error: something went wrong")
    assert reply.log.count("\n") == 1 and "ZeroDivisionError" in reply.log


def test_help_for_one_command_explains_that_command(web: CommandClient) -> None:
    assert "\n  noid mint " in (explained := web("help+mint").text)
    assert explained in web.post("help mint\n").text
    assert web("help+nothing").status == 400


def test_words_are_separated_by_plus_signs_or_by_encoded_blanks(web: CommandClient) -> None:
    assert web("mint%201", user=USER).ids == ["kt4x551"] and web("mint+1", user=USER).ids == ["kt154d9"]
    assert web("bind%20set%20kt4x551%20title%20%22two%20words%22", user=USER).status == 200
    assert web("bind+set+kt154d9+title+two%20words", user=USER).status == 200
    for name in ("kt4x551", "kt154d9"):
        assert web(f"get%20{name}%20title").text == "two words\n"
    # An encoded blank in one of several words is part of it.
    assert web("get+kt4x551%20title").status == 404


def test_data_reaches_the_command_as_it_was_encoded(web: CommandClient) -> None:
    for value in [b" ", b"+", b'"', b"'", b"\\", b"%", b"K\xc3\xa4se", b"\0", b"a\nb", b"\xff\xfe", b"a&b=c;d", b"?#"]:
        assert web(f"bind+set+kt639k9+x+{word(value)}", user=USER).status == 200
        assert run_in_child(web.folder / "kt5", "get", "kt639k9", "x") == [{"name": b"x", "value": value}]


def test_elements_are_read_from_the_body_where_the_words_ask_for_it(web: CommandClient) -> None:
    body = b"# comment\ntitle: A tale\n of two lines\ndate: 1859\n\n"
    assert web("bind+set+kt639k9+:", user=USER, method="POST", body=body).status == 200
    assert web("get+kt639k9+title").text == "A tale of two lines\n"
    assert web("bind+set+kt639k9+:-", user=USER, method="POST", body=b"whole: first\nsecond\n").status == 200
    assert web("get+kt639k9+whole").text == "first\n second\n \n"
    assert web("bind+set+kt639k9+:", user=USER).status == 400


# -- statuses ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("query", "status"), [
    ("hello", 200), ("get+kt639k9", 404), ("fetch+kt639k9+x", 404), ("dance", 400), ("mint", 400), ("mint+x", 400),
    ("mint+1+2", 400), ("bind+set+kt639k9+x", 400), ("bind+set+new+x+y", 400), ("bind+new+kt639k9+x+y", 200),
    ("bind+replace+kt639k9+none+y", 404), ("hold+set+kt639k9", 200), ("%", 400), ("'", 400), ("dbcreate", 403),
    ("dbcreate+.zd", 403), ("serve", 403), ("-f+kt6+get+x", 400), ("--help", 400), ("-", 405), ("get", 400),
    ("validate+-+kt639k9", 200), ("validate+.zz+x", 400), ("dbinfo", 200), ("dbinfo+full", 200), ("dbinfo+odd", 400),
    ("note+a+b", 200), ("mint+0", 200), ("get+" + "x" * 100_000, 400),
    ("bind+set+kt639k9+x+" + "y" * 100_000, 200), ("get+" + "%00" * 3, 404), ("get+%0Aid%3A+forged", 404),
])
def test_the_status_tells_the_outcome(web: CommandClient, query: str, status: int) -> None:
    reply = web(query, user=USER)
    assert reply.status == status, reply
    if status != 200:
        assert reply.text.startswith("error: ") and reply.text.endswith("\n")
        assert all(line.startswith(" ") for line in reply.text.splitlines()[1:])


def test_a_refusal_for_lack_of_permission_is_401_or_403_with_the_remedy(web: CommandClient) -> None:
    reply = web("mint+1")
    assert (reply.status, reply.headers["www-authenticate"]) == (401, 'Basic realm="noid"')
    assert reply.text == ("error: mint needs a login here: log in first; an administrator can open it with "
                          "'noid policy mint anyone'\n")
    run_in_child(web.folder / "kt5", "policy", "mint", "bob")
    reply = web("mint+1", user="eve")
    assert reply.status == 403 and "www-authenticate" not in reply.headers
    assert reply.text == "error: mint is not open to eve: the class mint is for certain users only here\n"


def test_without_a_login_an_unauthenticated_write_asks_for_a_token(web: CommandClient) -> None:
    reply = web.with_settings(challenge="")("mint+1")
    assert (reply.status, reply.headers["www-authenticate"]) == (401, 'Bearer realm="noid", Basic realm="noid"')
    assert reply.text == ("error: mint needs a login here: this server has no login, so send a token of 'noid token "
                          "new'; an administrator can open it with 'noid policy mint anyone'\n")
    run_in_child(web.folder / "kt5", "policy", "mint", "anyone")
    assert web.with_settings(challenge="")("mint+1").status == 200


def test_what_is_already_bound_or_held_is_a_conflict(web: CommandClient) -> None:
    assert web("bind+new+kt639k9+x+y", user=USER).status == 200
    assert web("bind+new+kt639k9+x+y", user=USER).status == 409
    (minted,) = web("mint+1", user=USER).ids
    assert web(f"hold+set+{minted}", user=USER).status == 200
    assert web(f"queue+now+{minted}", user=USER).status == 409


def test_an_exhausted_minter_answers_410(tmp_path: Path) -> None:
    create_in_child(tmp_path / "kt5", ".sd")
    web = CommandClient(tmp_path)
    reply = web("mint+8", user=USER)
    assert (reply.status, len(reply.ids)) == (200, 8)
    # Two were left, and they are minted now: the answer that holds them is not an error, and says where they end.
    reply = web("mint+5", user=USER)
    assert (reply.status, len(reply.ids)) == (200, 2)
    assert reply.text.splitlines()[2].startswith("error: no identifier is left")
    assert web("mint+5", user=USER).status == 410
    assert web("mint+1", user=USER, accept="application/json").json["error"]["kind"] == "exhausted"


def test_a_long_mint_is_streamed_and_ends_with_a_refusal_if_it_must(tmp_path: Path) -> None:
    create_in_child(tmp_path / "kt5", "abcdefghijklmnop.sdddd")
    run_in_child(tmp_path / "kt5", "policy", "mint-limit", "25000")
    web = CommandClient(tmp_path)
    reply = web("mint+25000", user=USER, accept="application/json")
    assert reply.status == 200
    assert len(reply.json["records"]) == 10_000
    assert reply.json["error"]["kind"] == "exhausted"
    create_in_child(tmp_path / "many", "abcdefghijklmnop.zd")
    run_in_child(tmp_path / "many", "policy", "mint-limit", "25000")
    reply = web("mint+25000", user=USER, path="/noidu_many")
    assert len(set(reply.ids)) == 25_000 and "content-length" not in reply.headers


def test_an_unknown_minter_is_not_found_and_a_new_one_appears(web: CommandClient) -> None:
    assert web("hello", path="/nd/noidu_new").status == 404
    create_in_child(web.folder / "new", ".zd")
    assert web("mint+1", path="/nd/noidu_new", user=USER).ids == ["0"]


def test_another_minter_put_in_its_place_is_served_with_its_own_settings(web: CommandClient) -> None:
    assert web("mint+1", user=USER).ids[0].startswith("kt")
    (web.folder / "kt5").rename(web.folder / "old")
    assert web("mint+1", user=USER).status == 404
    create_in_child(web.folder / "kt5", "zz.sdd")
    assert web("mint+1", user=USER).ids == ["zz00"]
    (web.folder / "kt5").rename(web.folder / "zz")
    (web.folder / "old").rename(web.folder / "kt5")
    assert web("mint+1", user=USER).ids[0].startswith("kt")


@pytest.mark.parametrize("path", [
    "", "/", "/nd/", "/noidu", "/noidu_", "/noidu_..", "/noidu_.", "/noidu_.hidden", "/noidx_kt5", "/xnoidu_kt5",
    "/noidu_kt5/", "/noidu_kt5/more", "/noidu_../kt5", "/noidu_kt5\0", "/noidu_kt5%00", "/noidu_NOID", "/favicon.ico",
    "/noidu_a/../kt5", "/noidu_\xff", "/noidu_" + "x" * 5000, "/noidr_kt5",
])
def test_paths_that_name_no_minter_are_404(web: CommandClient, path: str) -> None:
    create_in_child(web.folder / ".hidden", ".zd")
    reply = web("hello", path=path)
    assert reply.status == 404 and str(web.folder) not in reply.text


@pytest.mark.slow
def test_more_minters_than_are_kept_open_are_all_served(tmp_path: Path) -> None:
    web = CommandClient(tmp_path)
    names = [f"m{number}" for number in range(70)]
    for name in names:
        create_in_child(tmp_path / name, f"{name}.zd")
    for turn in range(2):
        for name in names:
            assert web("mint+1", path=f"/noidu_{name}", user=USER).ids == [f"{name}{turn}"]


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "BREW", "get", "PROPFIND", "X" * 900])
def test_other_methods_are_not_allowed(web: CommandClient, method: str) -> None:
    reply = web("mint+1", method=method, user=USER)
    assert (reply.status, reply.headers["allow"]) == (405, "GET, HEAD, POST")


def test_head_reads_and_never_writes(web: CommandClient) -> None:
    reply = web("hello", method="HEAD")
    assert (reply.status, reply.body, reply.headers["content-length"]) == (200, b"", "8")
    reply = web("mint+1", method="HEAD", user=USER)
    assert (reply.status, reply.headers["allow"]) == (405, "GET, POST")
    assert web("-", method="HEAD", user=USER).headers["allow"] == "POST"
    assert web("dbinfo+dump", method="HEAD", user=USER).status == 200
    assert web("mint+1", user=USER).ids == ["kt4x551"]


def test_a_busy_minter_answers_503_with_retry_after(
    web: CommandClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(self: Minter, work: object, **options: object) -> None:
        raise BusyError("another process has been writing to /srv/secret/place")

    monkeypatch.setattr(Minter, "write", busy)
    reply = web("mint+1", user=USER)
    assert (reply.status, reply.headers["retry-after"]) == (503, "2")
    assert "secret" not in reply.text and "/srv/secret/place" in reply.log


def test_a_store_error_is_logged_and_its_details_are_kept_from_the_client(
    web: CommandClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Minter, work: object, **options: object) -> None:
        raise StoreError("the disk under /srv/secret\nplace\x1b[31m is full")

    monkeypatch.setattr(Minter, "write", broken)
    reply = web("mint+1", user=USER)
    assert reply.status == 503 and "secret" not in reply.text
    assert reply.log == "noid: the disk under /srv/secret?place?[31m is full\n"


def test_an_unexpected_exception_is_one_line_in_the_log_and_no_traceback(
    web: CommandClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def faulty(self: Minter, work: object, **options: object) -> None:
        raise ZeroDivisionError("oh\nno")

    monkeypatch.setattr(Minter, "write", faulty)
    reply = web("mint+1", user=USER)
    assert reply.status == 500 and "Traceback" not in reply.text + reply.log and "oh" not in reply.text
    assert reply.log.count("\n") == 1 and "ZeroDivisionError" in reply.log


def test_elements_that_are_not_bound_are_errors_beside_those_that_are(web: CommandClient) -> None:
    for element, value in (("a", "1"), ("b", "2")):
        assert web(f"bind+set+kt639k9+{element}+{value}", user="alice").status == 200
    reply = web("get+kt639k9+a+nix+b")
    assert (reply.status, reply.text) == (200, "1\n\n\n\n2\n\nerror: nothing is bound to nix under kt639k9\n")
    reply = web("fetch+kt639k9+a+nix")
    assert reply.status == 200 and reply.text.endswith("\na: 1\nerror: nothing is bound to nix under kt639k9\n\n")
    answer = web("get+kt639k9+a+nix+b", accept="application/json").json
    assert answer == {"records": [
        {"name": "a", "value": "1"}, {"name": "nix", "error": "nothing is bound to nix under kt639k9"},
        {"name": "b", "value": "2"}], "failed": True}
    assert web("get+kt639k9+nix+nor").status == 404
    assert web("fetch+kt639k9").status == 200


def test_in_bulk_only_the_end_of_an_answer_is_an_empty_line(web: CommandClient) -> None:
    reply = web.post("bind set kt639k9 a 1\nbind set kt639k9 b 2\nget kt639k9 a nix b\nget kt639k9 b\n")
    answers = reply.text.split("\n\n")
    assert answers[2:] == ["1\n \n \n \n2\n \nerror: nothing is bound to nix under kt639k9", "2",
                           "bulk: 4 commands, 3 done, 1 refused\n"]


def test_of_several_identifiers_those_that_can_be_are_queued_and_the_others_are_errors(web: CommandClient) -> None:
    web("hold+set+kt639k9", user=USER)
    reply = web("queue+now+kt4x551+kt639k9", user=USER)
    assert reply.status == 200
    assert reply.text.startswith("id: kt4x551\nnote: 1 identifier queued\nerror: kt639k9 is on hold")
    answer = web("queue+now+kt154d9+kt639k9", user=USER, accept="application/json").json
    assert answer["failed"] is True and answer["records"][-1]["error"]["kind"] == "conflict"
    assert web("queue+now+kt639k9+kt4x551", user=USER).status == 409


def test_a_stored_answer_names_what_was_refused_again(web: CommandClient) -> None:
    web("hold+set+kt639k9", user=USER)
    first, second = (web("queue+now+kt4x551+kt639k9", user=USER, HTTP_IDEMPOTENCY_KEY="k") for _ in range(2))
    assert first.text == second.text and "error: kt639k9 is on hold" in second.text


def test_items_are_lines_or_an_array(web: CommandClient) -> None:
    for value in ("one\ntwo", "error: no error", "last"):
        assert web(f"bind+add-item+kt639k9+list+{word(value)}", user=USER).status == 200
    assert web("get+--items+kt639k9+list").text == "one\n two\nerror: no error\nlast\n"
    assert web.post("get --items kt639k9 list\n").text.startswith("one\n two\n error: no error\nlast\n\nbulk: ")
    assert web("get+--items+kt639k9+list", accept="application/json").json == {
        "records": [{"name": "list", "items": ["one\ntwo", "error: no error", "last"]}]}


# -- types of bodies ---------------------------------------------------------------------------------------------

JSON = "application/json"


@pytest.mark.parametrize("query", ["", "help", "mint+1", "bind+set+kt639k9+:", "bind+set+kt639k9+a+b", "get+x+y", "-"])
@pytest.mark.parametrize("variables", [
    {"CONTENT_TYPE": JSON}, {"CONTENT_TYPE": "Application/JSON; charset=utf-8"}, {"CONTENT_TYPE": "application/xml"},
    {"CONTENT_TYPE": "multipart/form-data; boundary=x"}, {"CONTENT_TYPE": "image/png"},
    {"CONTENT_TYPE": "text/plain", "HTTP_CONTENT_ENCODING": "gzip"},
])
def test_a_body_that_would_be_misread_is_415(web: CommandClient, query: str, variables: dict[str, str]) -> None:
    refused = web(query, user=USER, method="POST", body=b'{"elements": {"title": "x"}}\n', accept=JSON, **variables)
    assert (refused.status, refused.json["error"]["kind"]) == (415, "media type")
    assert "Drawn: 0" in web("dbinfo").text and web("get+kt639k9").status == 404


@pytest.mark.parametrize("kind", [None, "text/plain", "text/plain; charset=utf-8", "application/octet-stream",
                                  "application/x-www-form-urlencoded"])
def test_lines_of_text_may_have_these_types(web: CommandClient, kind: str | None) -> None:
    body = {"user": USER, "method": "POST", "CONTENT_TYPE": kind}
    assert web("bind+set+kt639k9+:", body=b"title: x\n", **body).status == 200
    assert "title: x\n" in web("fetch+kt639k9").text and web("-", body=b"mint 1\n", **body).status == 200
    # A type without a body misleads nobody.
    assert web("mint+1", user=USER, method="POST", body=b"", CONTENT_TYPE=JSON).status == 200


def test_a_body_without_a_command_is_refused(web: CommandClient) -> None:
    refused = web("", user=USER, method="POST", body=b"mint 1\n")
    assert refused.status == 400 and "?- runs the commands in it" in refused.text
