"""The API of EZID, version 2: each operation, each refusal, and requests as the known clients send them."""

from __future__ import annotations

import base64
import gzip
import io
import time
from pathlib import Path
from urllib.parse import unquote_to_bytes

import pytest

from noidtools.minter.folder import MinterFolder
from noidtools.web.ezid_records import canonical_ark, element_lines, parse_elements
from noidtools.web.site import Site
from support.minter import Noid
from support.process import run_script
from support.served import ANY_PORT, Served
from support.wsgi import Response, call

USER = "alice"
URL = "https://example.org/a"
SHOULDER = "/shoulder/ark:/12345/x"


class Client:
    """Sends requests to a site that serves a folder of minters."""

    def __init__(self, folder: Path) -> None:
        self.application = Site(MinterFolder(str(folder)), interfaces=["json", "ezid"])

    def __call__(self, method: str, path: str, body: str | bytes = b"", *, user: str = USER, kind: str = "text/plain",
                 **headers: str) -> Response:
        sent = body if isinstance(body, bytes) else body.encode()
        path, _, query = path.partition("?")
        return call(self.application, {
            "REQUEST_METHOD": method, "SCRIPT_NAME": "", "PATH_INFO": unquote_to_bytes(path).decode("latin-1"),
            "QUERY_STRING": query, "SERVER_NAME": "id.example", "SERVER_PORT": "80", "SERVER_PROTOCOL": "HTTP/1.1",
            "HTTP_HOST": "id.example", "REMOTE_ADDR": "192.0.2.1", "REMOTE_USER": user,
            "CONTENT_LENGTH": str(len(sent)), "CONTENT_TYPE": kind, "wsgi.version": (1, 0), "wsgi.url_scheme": "https",
            "wsgi.input": io.BytesIO(sent), "wsgi.errors": io.StringIO(), "wsgi.multithread": True,
            "wsgi.multiprocess": True, "wsgi.run_once": False,
            **{f"HTTP_{name.upper()}": value for name, value in headers.items()},
        })

    def send(self, request: str) -> Response:
        """The response to a request as it is on the wire."""
        head, _, body = request.encode().partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        method, path, _ = first.split(" ")
        headers = {name.upper().replace("-", "_"): value.strip() for name, _, value in
                   (line.partition(":") for line in lines)}
        kind, length = headers.pop("CONTENT_TYPE", ""), headers.pop("CONTENT_LENGTH", "0")
        assert int(length) == len(body)
        return self(method, path, body, user="", kind=kind, **{name.lower(): value for name, value in headers.items()})

    def view(self, path: str, **options: str) -> dict[str, str]:
        """The elements of an identifier; `success` is the first line."""
        reply = self("GET", f"/id/{path}", **options)
        assert reply.status == 200, reply
        return dict(line.split(": ", 1) for line in reply.text.split("\n"))


@pytest.fixture
def minter(tmp_path):
    """A minter of a hundred names, in a folder that is served."""
    (tmp_path / "served").mkdir()
    minter = Noid.created(tmp_path / "served" / "kt", "x.sdd", "medium", "12345", "example.org", "test")
    yield minter
    minter.close()


@pytest.fixture
def ezid(minter):
    return Client(minter.folder.parent)


def minted(ezid: Client, body: str = "") -> str:
    reply = ezid("POST", SHOULDER, body)
    assert (reply.status, reply.headers["content-type"]) == (201, "text/plain; charset=utf-8"), reply
    return reply.text.removeprefix("success: ")


def refused(reply: Response, line: str, status: int = 400) -> None:
    assert (reply.status, reply.text) == (status, f"error: {line}"), reply
    assert reply.headers["content-type"] == "text/plain; charset=utf-8"


def bad(reply: Response, reason: str) -> None:
    refused(reply, f"bad request - {reason}")


# -- identifiers -------------------------------------------------------------------------------------------------------


def test_an_identifier_is_minted_and_viewed(ezid, minter):
    assert minted(ezid) == "ark:/12345/x00"
    before = int(time.time())
    ark = minted(ezid, f"_target: {URL}\nerc.who: Kafka, Franz\nerc.what: 100%25 Brief%0Aan Felice\na%3Ab: c\n")
    found = ezid.view(ark, user="")
    created, updated = int(found.pop("_created")), int(found.pop("_updated"))
    assert before <= created <= updated <= time.time()
    assert found == {
        "success": "ark:/12345/x01", "_target": URL, "_profile": "erc", "_export": "yes", "_status": "public",
        "_owner": "example.org", "_ownergroup": "example.org", "erc.who": "Kafka, Franz",
        "erc.what": "100%25 Brief%0Aan Felice", "a%3Ab": "c"}
    assert minter.resolved("ark:/12345/x01") == URL
    assert ezid.view("ark:/12345/x00")["_target"] == "https://id.example/id/ark:/12345/x00"


@pytest.mark.parametrize("folder", ["", "/ezid"])
def test_the_interface_is_at_the_root_and_below_ezid(ezid, folder):
    assert ezid("POST", f"{folder}{SHOULDER}").text == "success: ark:/12345/x00"
    found = ezid("GET", f"{folder}/id/ark:/12345/x00").text
    assert found.startswith("success: ark:/12345/x00\n_target: https://id.example" + folder + "/id/ark:/12345/x00\n")
    assert not found.endswith("\n") and ezid("HEAD", f"{folder}/id/ark:/12345/x00").body == b""
    assert ezid("GET", f"{folder}/elsewhere").status == 404
    for method in ("GET", "PUT", "POST", "DELETE"):
        bad(ezid(method, f"{folder}/id/"), "invalid identifier")
    bad(ezid("POST", f"{folder}/shoulder/"), "no such shoulder")
    assert ezid("GET", f"{folder}/id/", accept="text/html").headers["location"] == "/"


def test_a_name_is_created_once_and_never_minted(ezid, minter):
    reply = ezid("PUT", "/id/ark:/12345/x01", "erc.what: One\n")
    assert (reply.status, reply.text) == (201, "success: ark:/12345/x01")
    bad(ezid("PUT", "/id/ark:/12345/x01", "erc.what: Two\n"), "identifier already exists, cannot create")
    assert ezid.view("ark:/12345/x01")["erc.what"] == "One"
    assert [minted(ezid), minted(ezid)] == ["ark:/12345/x00", "ark:/12345/x02"]
    reply = ezid("PUT", "/id/ark:/12345/x01?update_if_exists=yes", "erc.what: Two\n")
    assert (reply.status, reply.text) == (200, "success: ark:/12345/x01")
    assert ezid("PUT", "/id/ark:/12345/x03?update_if_exists=yes").status == 201
    assert ezid.view("ark:/12345/x01")["erc.what"] == "Two" and minter.records("check")[0]["ok"]


def test_names_of_another_system_are_no_arks(ezid, minter):
    other = Noid.created(minter.folder.parent / "h", "--label", "hdl:", "h.sdd", "medium", "12345")
    before = other.event_count()
    bad(ezid("POST", "/shoulder/ark:/12345/h"), "no such shoulder")
    bad(ezid("GET", "/id/ark:/12345/h00"), "no such identifier")
    refused(ezid("PUT", "/id/ark:/12345/h00"), "forbidden", 403)
    assert other.event_count() == before
    other.close()


def test_names_that_extend_a_shoulder_or_an_identifier_are_created(ezid, minter):
    ark = minted(ezid, f"_target: {URL}\n")
    for name in (f"{ark}/123", f"{ark}.v2", "ark:/12345/xylophone"):
        assert ezid("PUT", f"/id/{name}", "_target: https://example.org/b\n").text == f"success: {name}"
        assert minter.resolved(name) == "https://example.org/b"
    assert minter.resolved(f"{ark}/4") == f"{URL}/4" and minter.records("check")[0]["ok"]
    for name in ("ark:/12345/y1", "ark:/99999/x1"):
        refused(ezid("PUT", f"/id/{name}"), "forbidden", 403)


def test_in_a_long_term_minter_names_are_created_as_well(tmp_path):
    (tmp_path / "served").mkdir()
    minter = Noid.created(tmp_path / "served" / "kt", "kt.reeded", "long", "13030", "cdlib.org", "dpg")
    ezid = Client(minter.folder.parent)
    for name in ("ark:/13030/kt4x551", "ark:/13030/kt4x551/1", "ark:/13030/ktfoo"):
        assert ezid("PUT", f"/id/{name}", f"_target: {URL}\n").text == f"success: {name}"
        assert minter.resolved(name) == URL
    minter.close()


def test_an_identifier_with_a_wrong_check_character_is_not_created(tmp_path):
    (tmp_path / "served").mkdir()
    minter = Noid.created(tmp_path / "served" / "kt", "kt.reedeek", "long", "13030", "cdlib.org", "dpg")
    (right,) = minter.mint(1)
    wrong = right[:-1] + ("0" if right[-1] != "0" else "1")
    bad(Client(minter.folder.parent)("PUT", f"/id/ark:/{wrong}"), "invalid identifier")
    minter.close()


@pytest.mark.parametrize(("given", "written"), [
    ("ark:12345/x-0-0", "ark:/12345/x00"), ("ark:/12345/x00//a..b/", "ark:/12345/x00/a.b"),
    ("ark:/12345/x00.", "ark:/12345/x00"), ("ark:/12345/x#y", "ark:/12345/x%23y"),
    ("ark:/12345/x00.b.a", "ark:/12345/x00.b.a"), ("ark:/12345/" + "x" * 244, "ark:/12345/" + "x" * 244),
])
def test_names_are_answered_in_their_canonical_form(given, written):
    assert canonical_ark(given) == written


@pytest.mark.parametrize("name", ["x00", "doi:10.5072/x", "ark:/12345", "ark:/12345/", "ark:/12345/-", "ark:/x/y",
                                  "ark:/12345/x/.y", "ark:/12345/x./y", "ark:/12345/x y", "ark:/12345/é",
                                  "ark:/12345/" + "x" * 245])
def test_what_is_no_name_is_refused(ezid, name):
    for method in ("GET", "PUT", "POST", "DELETE"):
        bad(ezid(method, f"/id/{name.replace(' ', '%20')}"), "invalid identifier")


def test_the_longest_prefix_is_viewed_and_may_end_at_any_character(ezid):
    ark = minted(ezid, f"_target: {URL}\n")
    asked = f"{ark}abc/p7?prefix_match=yes"
    assert ezid.view(asked)["success"] == f"{ark} in_lieu_of {ark}abc/p7"
    assert ezid.view(f"{ark}?prefix_match=yes")["success"] == ark
    bad(ezid("GET", "/id/ark:/12345/y?prefix_match=yes"), "no such identifier")
    bad(ezid("GET", f"/id/{ark}abc?prefix_match=no"), "no such identifier")


def test_given_elements_are_updated_and_empty_ones_removed(ezid):
    ark = minted(ezid, "a: 1\nb: 2\n_profile: dc\n")
    reply = ezid("POST", f"/id/{ark}", "b:\nc: 3\n_profile:\n_export: no\n")
    assert (reply.status, reply.text) == (200, f"success: {ark}")
    found = ezid.view(ark)
    assert {name: found.get(name) for name in ("a", "b", "c", "_profile", "_export")} == {
        "a": "1", "b": None, "c": "3", "_profile": "erc", "_export": "no"}
    bad(ezid("POST", "/id/ark:/12345/x77", "a: 1\n"), "no such identifier")
    bad(ezid("GET", "/id/ark:/12345/x77"), "no such identifier")


@pytest.mark.parametrize(("body", "reason"), [
    ("_created: 1", "_created: field is not settable"), ("_updated: 1", "_updated: field is not settable"),
    ("_ownergroup: x", "_ownergroup: field is not settable"), ("_owner: bob", "ownership change prohibited"),
    ("_x: 1", "_x: reserved element name"), ("_t: https://a.example/", "_t: reserved element name"),
    ("_export: maybe", "_export: must be 'yes' or 'no'"), ("_target: 303 https://a.example/", "_target: not a URL"),
    ("_status: public | x", "_status: invalid identifier status change"),
    ("_status: gone", "_status: invalid identifier status change"),
])
def test_what_cannot_be_set_changes_nothing(ezid, minter, body, reason):
    ark = minted(ezid, "a: 1\n")
    before = minter.event_count()
    for method, path in (("POST", f"/id/{ark}"), ("POST", SHOULDER), ("PUT", "/id/ark:/12345/x50")):
        bad(ezid(method, path, f"a: 2\n{body}\n"), reason)
    assert minter.event_count() == before and minted(ezid) == "ark:/12345/x01"


def test_what_was_viewed_can_be_sent_back(ezid, minter):
    ark = minted(ezid, "a: 1\n_owner: alice\n")
    minter.records("bind", "set", ark, "_t", "303 https://a.example/|https://b.example/")
    before = ezid.view(ark)
    assert before["_target"] == "https://a.example/"
    sent = {name: value for name, value in before.items() if name not in ("success", "_created", "_updated")}
    assert ezid("POST", f"/id/{ark}", "\n".join(element_lines(sent))).status == 200
    assert minter.text("get", ark, "_t") == "303 https://a.example/|https://b.example/\n"
    other = minted(ezid)
    assert ezid("POST", f"/id/{other}", f"_target: {ezid.view(other)['_target']}").status == 200
    assert "_t" not in minter.text("fetch", other)


def test_a_target_with_a_bar_or_with_the_name_is_one_target(ezid, minter):
    ark = minted(ezid, "_target: https://example.org/?a=1|2&id=${identifier}\n")
    assert minter.resolved(ark) == f"https://example.org/?a=1%7C2&id={ark}"
    assert ezid.view(ark)["_target"] == f"https://example.org/?a=1%257C2&id={ark}"
    assert ezid("POST", f"/id/{ark}", "_target: https://example.org/${identifier}").status == 200
    assert minter.resolved(ark) == f"https://example.org/{ark}"
    assert ezid("POST", f"/id/{ark}", "_target:").status == 200
    assert ezid.view(ark)["_target"] == f"https://id.example/id/{ark}"


# -- states ------------------------------------------------------------------------------------------------------------

TRANSITIONS = {
    ("reserved", "reserved"): True, ("reserved", "public"): True, ("reserved", "unavailable"): False,
    ("public", "reserved"): False, ("public", "public"): True, ("public", "unavailable"): True,
    ("unavailable", "reserved"): False, ("unavailable", "public"): True, ("unavailable", "unavailable | b"): True,
}


@pytest.mark.parametrize(("before", "after"), TRANSITIONS)
def test_each_change_of_the_status(ezid, before, after):
    ark = minted(ezid, f"_target: {URL}\n_status: {'public' if before == 'unavailable' else before}\n")
    if before == "unavailable":
        assert ezid("POST", f"/id/{ark}", "_status: unavailable | a").status == 200
    reply = ezid("POST", f"/id/{ark}", f"x: 1\n_status: {after}")
    if TRANSITIONS[before, after]:
        assert reply.status == 200 and ezid.view(ark)["_status"] == after
    else:
        bad(reply, "_status: invalid identifier status change")
        assert "x" not in ezid.view(ark)
    assert ezid.view(ark)["_target"] == URL


def test_an_unavailable_identifier_has_a_tombstone_until_it_is_public_again(ezid, minter):
    ark = minted(ezid, f"_target: {URL}\n")
    bad(ezid("PUT", "/id/ark:/12345/x50", "_status: unavailable"), "_status: invalid identifier status change")
    ezid("POST", f"/id/{ark}", "_status: unavailable | under repair")
    assert minter.state(ark) == "unavailable" and minter.resolved(ark) == "unavailable"
    ezid("POST", f"/id/{ark}", "_status: public")
    assert minter.resolved(ark) == URL


def test_a_withdrawn_identifier_is_unavailable_and_cannot_be_changed(ezid, minter):
    ark = minted(ezid, f"_target: {URL}\n")
    minter.records("withdraw", ark, "--reason", "a fraud")
    assert ezid.view(ark)["_status"] == "unavailable | a fraud"
    assert ezid("POST", f"/id/{ark}", "a: 1").status == 400
    assert ezid("POST", f"/id/{ark}", "_status: public").status == 400
    bad(ezid("DELETE", f"/id/{ark}"), "identifier status does not support deletion")


def test_a_reserved_identifier_is_deleted_and_never_minted_again(ezid, minter):
    ark = minted(ezid, "_status: reserved\na: 1\nb: 2\n")
    bad(ezid("GET", f"/id/{ark}", user=""), "no such identifier")
    assert ezid.view(ark)["_status"] == "reserved"
    reply = ezid("DELETE", f"/id/{ark}")
    assert (reply.status, reply.text) == (200, f"success: {ark}")
    for method in ("GET", "POST", "DELETE"):
        bad(ezid(method, f"/id/{ark}"), "no such identifier")
    assert "bind purge" in minter.events_of(ark) and minted(ezid) == "ark:/12345/x01"
    bad(ezid("DELETE", "/id/ark:/12345/x01"), "identifier status does not support deletion")
    assert ezid("PUT", f"/id/{ark}", f"_target: {URL}\n").status == 201
    assert ezid.view(ark)["_status"] == "public" and minter.resolved(ark) == URL
    assert "a" not in ezid.view(ark) and minter.records("check")[0]["ok"]


def test_a_minter_that_reserves_what_it_mints_does_so_unless_a_status_is_given(ezid, minter):
    minter.records("policy", "minting", "reserve")
    assert ezid.view(minted(ezid))["_status"] == "reserved"
    assert ezid.view(minted(ezid, "_status: public"))["_status"] == "public"


# -- requests that are refused -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("body", "elements"), [
    (b"a: 1\r\nb: 2\r\n", {"a": "1", "b": "2"}), (b"a: 1\rb: 2", {"a": "1", "b": "2"}), (b"", {}),
    (b"# note\na:1\n  and two\n\tthree\n", {"a": "1 and two three"}), (b"  \n\na : b: c \n", {"a": "b: c"}),
    ("a: Ä%25%0A%C4\n".encode(), {"a": "Ä%\nÄ"}), (b"a%3Ab:\n", {"a:b": ""}), (b"a: %20\n", {"a": ""}),
])
def test_bodies_that_are_read(body, elements):
    assert parse_elements(body) == elements


@pytest.mark.parametrize(("body", "reason"), [
    (b"a\n", "ANVL parse error (no colon in line)"), (b": a\n", "ANVL parse error (empty label)"),
    (b"a: 1\na: 2\n", "ANVL parse error (repeated label)"), (b"a: 5%\n", "ANVL parse error (percent-decode error)"),
    (b"a%2: 5\n", "ANVL parse error (percent-decode error)"), (b"\xff: 1", "character decoding error"),
    (b" a: 1\n", "ANVL parse error (no previous label for continuation line)"),
    (b"a: 1\n\n b\n", "ANVL parse error (no previous label for continuation line)"),
    (b'{"a"', "ANVL parse error (no colon in line)"), (b"%00", "ANVL parse error (no colon in line)"),
])
def test_bodies_that_cannot_be_read_change_nothing(ezid, minter, body, reason):
    before = minter.event_count()
    bad(ezid("POST", SHOULDER, body), reason)
    assert minter.event_count() == before


@pytest.mark.parametrize("kind", ["application/json", "text/plain; charset=latin-1", "text/html", "multipart/form-data",
                                  "application/x-www-form-urlencoded"])
def test_another_content_type_is_refused_unless_there_is_no_body(ezid, kind):
    bad(ezid("POST", SHOULDER, "a: 1", kind=kind), "the content type must be text/plain in UTF-8")
    assert ezid("POST", SHOULDER, kind=kind).status == 201
    for usual in ("", "text/plain", "text/plain; charset=UTF-8", 'text/plain;charset="utf-8"'):
        assert ezid("POST", SHOULDER, "a: 1", kind=usual).status == 201


def test_what_is_not_there_is_named(ezid, minter):
    bad(ezid("POST", "/shoulder/ark:/12345/y"), "no such shoulder")
    bad(ezid("POST", "/shoulder/doi:10.5072/FK2"), "no such shoulder")
    bad(ezid("GET", "/id/ark:/12345/x00?verbose=yes"), "unrecognized URL query parameter 'verbose'")
    bad(ezid("GET", "/id/ark:/12345/x00?prefix_match=1"), "invalid value of URL query parameter 'prefix_match'")
    for method, path in (("GET", SHOULDER), ("PATCH", "/id/ark:/12345/x00"), ("POST", "/login")):
        refused(ezid(method, path), "method not allowed", 405)
    assert ezid("PATCH", "/id/ark:/12345/x00").headers["allow"] == "GET, PUT, POST, DELETE"
    minter.mint(100)
    reply = ezid("POST", SHOULDER)
    assert reply.status == 400 and reply.text.startswith("error: bad request - ")


def test_a_large_body_is_refused(ezid):
    reply = ezid("POST", SHOULDER, b"a: " + b"x" * (64 << 20))
    assert reply.status == 400 and reply.text.startswith("error: bad request - the body may have at most")


def test_a_page_of_another_site_changes_nothing(ezid):
    refused(ezid("POST", SHOULDER, sec_fetch_site="cross-site"), "forbidden", 403)


def test_a_browser_is_led_to_the_pages(ezid):
    html = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
    reply = ezid("GET", "/id/ark:12345/x00", accept=html)
    assert (reply.status, reply.headers["location"]) == (303, "/ark:/12345/x00?info")
    assert ezid("GET", "/login", accept=html).headers["location"] == "/"
    assert ezid("GET", "/status", accept="*/*").status == 200


def test_a_repeated_request_with_a_key_is_done_once(ezid):
    first, again = (ezid("POST", SHOULDER, "a: 1", idempotency_key="k") for _ in range(2))
    assert first.text == again.text == "success: ark:/12345/x00" and again.status == 201
    assert again.headers["idempotency-replayed"] == "true"


# -- who sends it ------------------------------------------------------------------------------------------------------


def basic(text: str) -> str:
    return f"Basic {base64.b64encode(text.encode()).decode()}"


def token(minter: Noid, name: str = "goobi", may: str = "mint,bind") -> str:
    secret = minter.records("token", "new", name, "--may", may)[0]["token"]
    return secret.decode() if isinstance(secret, bytes) else secret


def test_a_login_is_demanded_with_the_realm_of_ezid(ezid):
    for reply in (ezid("POST", SHOULDER, "a: 1", user=""), ezid("PUT", "/id/ark:/12345/x00", user=""),
                  ezid("POST", SHOULDER, user="", authorization=basic("alice:wrong")), ezid("GET", "/login", user=""),
                  ezid("POST", SHOULDER, user="", authorization=basic("goobi:noid_wrong")),
                  ezid("POST", "/download_request", user="")):
        refused(reply, "unauthorized", 401)
        assert reply.headers["www-authenticate"] == 'Basic realm="EZID"'


@pytest.mark.parametrize(("header", "reason"), [
    (basic(":secret"), "username required"), (basic("alice:"), "password required"),
    ("Basic", "malformed Authorization header"), ("Basic ???", "malformed Authorization header"),
    (basic("alice"), "malformed Authorization header"), ("Digest a=b", "malformed Authorization header"),
])
def test_a_malformed_login_is_named(ezid, header, reason):
    bad(ezid("POST", SHOULDER, user="", authorization=header), reason)


def test_the_password_is_a_token_and_what_it_may_not_is_forbidden(ezid, minter):
    secret = token(minter, may="mint")
    login = basic(f"goobi:{secret}")
    assert ezid("POST", SHOULDER, user="", authorization=login).status == 201
    refused(ezid("POST", SHOULDER, "a: 1", user="", authorization=login), "forbidden", 403)
    refused(ezid("DELETE", "/id/ark:/12345/x00", user="", authorization=login), "forbidden", 403)


def test_a_token_of_another_minter_is_known_but_may_not(ezid, minter, tmp_path):
    secret = token(minter)
    Noid.created(tmp_path / "served" / "other", "y.sdd", "medium", "12345").close()
    fresh = Client(tmp_path / "served")
    login = basic(f"goobi:{secret}")
    assert fresh("POST", SHOULDER, user="", authorization=login).status == 201
    refused(fresh("POST", "/shoulder/ark:/12345/y", user="", authorization=login), "forbidden", 403)
    assert fresh("GET", "/login", user="", authorization=login).status == 200


def session(reply: Response) -> str:
    """The cookie as clients take it out of the header."""
    assert (reply.status, reply.text) == (200, "success: session cookie returned")
    name, value = reply.headers["set-cookie"].split(";")[0].split("=")
    assert name == "sessionid"
    return f"sessionid={value}"


def test_a_session_stands_for_the_login_until_it_ends(ezid, minter, monkeypatch):
    secret = token(minter)
    cookie = session(ezid("GET", "/login", user="", authorization=basic(f"goobi:{secret}")))
    assert secret not in cookie and base64.urlsafe_b64encode(secret.encode()).decode()[:20] not in cookie
    assert ezid("POST", SHOULDER, "a: 1", user="", cookie=f"other=1; {cookie}").status == 201
    assert minter.newest_event().who.startswith(b"token:goobi@")
    users = session(ezid("GET", "/login"))
    assert ezid("POST", SHOULDER, user="", cookie=users).status == 201
    assert minter.newest_event().who == b"alice@192.0.2.1"
    reply = ezid("GET", "/logout", user="")
    assert reply.text == "success: authentication credentials flushed" and "Max-Age=0" in reply.headers["set-cookie"]
    for strange in ("sessionid=", "sessionid=x", "sessionid=a.b", cookie[:-2], cookie.replace(".", "A.")):
        refused(ezid("POST", SHOULDER, user="", cookie=strange), "unauthorized", 401)
    later = time.time() + 9 * 3600
    monkeypatch.setattr(time, "time", lambda: later)
    refused(ezid("POST", SHOULDER, user="", cookie=cookie), "unauthorized", 401)
    assert ezid("POST", SHOULDER, user="", cookie=cookie, authorization=basic(f"goobi:{secret}")).status == 201


def test_a_session_ends_at_every_process_when_its_user_logs_out(ezid, minter):
    secret = token(minter)
    first, second = (session(ezid("GET", "/login", user="", authorization=basic(f"goobi:{secret}"))) for _ in range(2))
    assert ezid("GET", "/logout", user="", cookie=first).status == 200
    for process in (ezid, Client(minter.folder.parent)):
        refused(process("POST", SHOULDER, user="", cookie=first), "unauthorized", 401)
        assert process("POST", SHOULDER, user="", cookie=second).status == 201


def test_a_session_ends_with_its_token(ezid, minter):
    cookie = session(ezid("GET", "/login", user="", authorization=basic(f"goobi:{token(minter)}")))
    minter.records("token", "revoke", "goobi")
    refused(ezid("POST", SHOULDER, user="", cookie=cookie), "unauthorized", 401)


def test_administrators_are_told_the_owner(ezid, minter):
    ark = minted(ezid)
    assert ezid.view(ark)["_owner"] == "example.org"
    minter.records("policy", "admin", USER)
    assert ezid.view(ark)["_owner"] == USER and ezid.view(ark, user="bob")["_owner"] == "example.org"


# -- the service -------------------------------------------------------------------------------------------------------


def test_status_and_version(ezid):
    assert ezid("GET", "/status", user="").text == "success: EZID is up"
    assert ezid("GET", "/status?subsystems=*&detailed=yes").text == "success: EZID is up\nnoid: up\nminters: 1"
    bad(ezid("GET", "/status?subsystems=datacite"), "no such subsystem")
    assert ezid("GET", "/version").text.startswith("noidtools ")


def downloaded(ezid: Client, form: str) -> str:
    reply = ezid("POST", "/download_request", form, kind="application/x-www-form-urlencoded")
    assert reply.status == 200, reply
    assert reply.text.startswith("success: https://id.example/download/") and reply.text.endswith(".gz")
    found = ezid("GET", reply.text.removeprefix("success: https://id.example"), user="")
    assert found.headers["content-type"] == "application/gzip"
    return gzip.decompress(found.body).decode()


def test_all_identifiers_are_downloaded_and_can_be_imported(ezid, minter, tmp_path):
    for body in (f"_target: {URL}\na: 1%0A2\n", "_status: reserved\n", f"_target: {URL}/2\nb: ü\n"):
        minted(ezid, body)
    ezid("POST", "/id/ark:/12345/x02", "_status: unavailable | repair")
    text = downloaded(ezid, "format=anvl")
    records = text.split("\n\n")
    assert [record.split("\n")[0] for record in records] == [
        ":: ark:/12345/x00", ":: ark:/12345/x01", ":: ark:/12345/x02", ""]
    assert "a: 1%0A2" in records[0] and "_status: reserved" in records[1] and "b: ü" in records[2]
    copy = Noid.created(tmp_path / "copy", "x.sdd", "medium", "12345")
    (copy.folder / "file").write_text(text)
    assert "Identifiers: 3" in copy("import", "ezid", "file")
    assert [copy.state(f"12345/x0{number}") for number in range(3)] == ["published", "reserved", "unavailable"]
    assert copy.resolved("12345/x00") == URL
    copy.close()


def test_a_download_has_columns_and_filters(ezid):
    for body in ("a: 1\n_profile: dc\n", "a: '\"2,\n", "_status: reserved\n"):
        minted(ezid, body)
    columns = "format=csv&column=_id&column=a&column=_status"
    assert downloaded(ezid, columns) == (
        "_id,a,_status\nark:/12345/x00,1,public\nark:/12345/x01,\"'\"\"2,\",public\nark:/12345/x02,,reserved\n")
    assert downloaded(ezid, f"{columns}&status=reserved&type=ark").count("\n") == 2
    assert downloaded(ezid, f"{columns}&profile=dc&createdAfter=1").count("\n") == 2
    assert downloaded(ezid, f"{columns}&createdBefore=2020-01-01T00:00:00Z").count("\n") == 1
    assert downloaded(ezid, f"{columns}&type=doi").count("\n") == 1
    form = {"kind": "application/x-www-form-urlencoded"}
    for wrong, reason in (("format=xml", "format: must be anvl or csv"), ("", "format: must be anvl or csv"),
                          ("format=csv", "column: needed for csv, and only there"),
                          ("format=anvl&compression=zip", "compression: must be gzip"),
                          ("format=anvl&notify=a@b", "unrecognized form parameter 'notify'"),
                          ("format=anvl&createdAfter=soon", "createdAfter: invalid time")):
        bad(ezid("POST", "/download_request", wrong, **form), reason)
    assert ezid("GET", "/download/abc.def.txt.gz").status == 404


def test_a_time_that_is_none_of_ezids_is_not_told(ezid, minter):
    ark = minted(ezid)
    minter.records("bind", "set", ark.removeprefix("ark:/"), "_created", "long ago")
    assert ezid.view(ark)["_created"].isdigit()
    assert downloaded(ezid, "format=anvl&createdAfter=1").startswith(f":: {ark}\n")


# -- requests as clients send them -------------------------------------------------------------------------------------


def wire(text: str, body: str = "") -> str:
    """A request as a client sends it."""
    head = text.replace("\n", "\r\n").replace("LENGTH", str(len(body.encode())))
    return head + "\r\n\r\n" + body


def test_goobi_mints_without_a_body_and_then_updates(ezid, minter):
    login = basic(f"goobi:{token(minter)}")
    reply = ezid.send(wire(f"""\
POST /shoulder/ark:/12345/x HTTP/1.1
Accept: text/plain; charset=UTF-8
Authorization: {login}
Content-Length: 0
Host: id.example
Connection: Keep-Alive
User-Agent: Apache-HttpClient/4.5.13 (Java/11.0.22)"""))
    assert (reply.status, reply.text) == (201, "success: ark:/12345/x00")
    reply = ezid.send(wire(f"""\
POST /id/ark:/12345/x00 HTTP/1.1
Accept: text/plain; charset=UTF-8
Authorization: {login}
Content-Length: LENGTH
Content-Type: text/plain; charset=UTF-8
Host: id.example
Connection: Keep-Alive
User-Agent: Apache-HttpClient/4.5.13 (Java/11.0.22)""",
                           "_target: https%3A//goobi.example/x\n_profile: datacite\ndatacite.title: Brief%3A Wien\n"))
    assert (reply.status, reply.text) == (200, "success: ark:/12345/x00")
    found = ezid.view("ark:/12345/x00")
    assert (found["_target"], found["_profile"]) == ("https://goobi.example/x", "datacite")
    assert found["datacite.title"] == "Brief: Wien"


def test_islandora_sends_lines_with_carriage_returns_and_no_escapes(ezid, minter):
    login = basic(f"goobi:{token(minter)}")
    head = f"""\
METHOD PATH HTTP/1.1
Content-Length: LENGTH
User-Agent: GuzzleHttp/7
Content-Type: text/plain; charset=UTF-8
Host: id.example
Authorization: {login}"""
    reply = ezid.send(wire(head.replace("METHOD PATH", "POST /shoulder/ark:/12345/x"),
                           "erc.who: Doe: Jane\r\nerc.what: Maps\r\n_target: https://i.example/node/1?a=b\r\n"
                           "_status: reserved"))
    assert (reply.status, reply.text) == (201, "success: ark:/12345/x00")
    found = ezid.send(wire(head.replace("METHOD PATH", "GET /id/ark:/12345/x00"))).text.split("\n")
    assert all(": " in line for line in found) and "erc.who: Doe: Jane" in found
    reply = ezid.send(wire(head.replace("METHOD PATH", "DELETE /id/ark:/12345/x00")))
    assert (reply.status, reply.text) == (200, "success: ark:/12345/x00")


def test_the_java_library_logs_in_after_a_refusal_and_then_sends_the_cookie_only(ezid, minter):
    login = basic(f"goobi:{token(minter)}")
    head = """\
METHOD PATH HTTP/1.1
Content-Type: text/plain; charset=UTF-8
Content-Length: LENGTH
Host: id.example
Connection: Keep-Alive
User-Agent: Apache-HttpClient/4.3.3 (java 1.5)
Accept-Encoding: gzip,deflate"""
    body = "_target: https://metacat.example/1\n_profile: erc\n"
    mint = head.replace("METHOD PATH", "POST /shoulder/ark:/12345/x")
    assert ezid.send(wire(mint, body)).headers["www-authenticate"] == 'Basic realm="EZID"'
    cookie = session(ezid.send(wire(f"""\
GET /login HTTP/1.1
Host: id.example
Connection: Keep-Alive
User-Agent: Apache-HttpClient/4.3.3 (java 1.5)
Authorization: {login}""")))
    assert ezid.send(wire(f"{mint}\nCookie: {cookie}", body)).text == "success: ark:/12345/x00"


def test_a_script_sends_text_without_a_charset(ezid, minter):
    reply = ezid.send(wire(f"""\
PUT /id/ark:/12345/x07 HTTP/1.1
Host: id.example
Authorization: {basic('goobi:' + token(minter))}
User-Agent: curl/7.88.1
Accept: */*
Content-Type: text/plain
Content-Length: LENGTH""", "_target: https://example.org/7"))
    assert (reply.status, reply.text) == (201, "success: ark:/12345/x07")


@pytest.mark.slow
def test_the_client_of_pypi_works_with_a_server(tmp_path):
    (tmp_path / "served").mkdir()
    minter = Noid.created(tmp_path / "served" / "kt", "x.sdd", "medium", "12345")
    secret = token(minter)
    minter.close()
    served = Served.start(tmp_path / "log", "serve", "--minters", tmp_path / "served", "--http", ANY_PORT,
                          "--interfaces", "ezid")
    try:
        address = "http://{}:{}".format(*served.address)
        done = run_script("ezid_client", address, "ark:/12345/x", "goobi", secret)
    finally:
        served.stop()
    first, second, created, updated, deleted, viewed, *elements, logout, end = done.split("\n")
    assert (first, second) == ("ark:/12345/x00", "ark:/12345/x01")
    assert created == deleted == "success: ark:/12345/x00/2" and updated == viewed == "success: ark:/12345/x00"
    assert {"erc.what: 100%25 a: b%0Ac", "_status: unavailable | repair"} <= set(elements)
    assert (logout, end) == ("success: authentication credentials flushed", "")
