"""The JSON API below /api/v1: each resource, each refusal, and what it shares with the other interfaces."""

from __future__ import annotations

import io
import json
import time
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from noidtools.minter.folder import MinterFolder
from noidtools.web.site import Site
from support.minter import Noid
from support.wsgi import Response, call

USER = "alice"
URL = "https://example.org/a"


class Api:
    """Sends requests to a site that serves a folder of minters."""

    def __init__(self, folder) -> None:
        self.application = Site(MinterFolder(str(folder)))

    def __call__(self, method: str, path: str, data: object = None, *, user: str = USER, body: bytes | None = None,
                 kind: str = "application/json", **headers: str) -> Response:
        path, _, query = path.partition("?")
        sent = body if body is not None else b"" if data is None else json.dumps(data).encode()
        environ = {
            "REQUEST_METHOD": method, "SCRIPT_NAME": "", "PATH_INFO": f"/api/v1{path}", "QUERY_STRING": query,
            "SERVER_NAME": "id.example", "SERVER_PORT": "80", "SERVER_PROTOCOL": "HTTP/1.1", "HTTP_HOST": "id.example",
            "REMOTE_ADDR": "192.0.2.1", "REMOTE_USER": user, "CONTENT_LENGTH": str(len(sent)), "CONTENT_TYPE": kind,
            "wsgi.version": (1, 0), "wsgi.url_scheme": "https", "wsgi.input": io.BytesIO(sent),
            "wsgi.errors": io.StringIO(), "wsgi.multithread": True, "wsgi.multiprocess": True, "wsgi.run_once": False,
            **{f"HTTP_{name.upper()}": value for name, value in headers.items()},
        }
        return call(self.application, environ)


@pytest.fixture
def minter(tmp_path):
    """A minter of a hundred names, in a folder that is served."""
    (tmp_path / "served").mkdir()
    minter = Noid.created(tmp_path / "served" / "kt", "x.sdd", "medium", "12345")
    minter.records("policy", "admin", "boss")
    yield minter
    minter.close()


@pytest.fixture
def api(minter):
    return Api(minter.folder.parent)


def made(api: Api, **new: object) -> dict:
    reply = api("POST", "/minters/kt/identifiers", new)
    assert reply.status == 201, reply.text
    return reply.json["identifiers"][0]


def problem(reply: Response, status: int, kind: str) -> str:
    assert reply.headers["content-type"] == "application/problem+json"
    found = json.loads(reply.text)
    assert (reply.status, found["status"], found["type"].rpartition("/")[2]) == (status, status, kind), found
    return found["detail"]


# -- minters -----------------------------------------------------------------------------------------------------------


def test_minters_are_listed_with_what_one_may_do(api, minter):
    (found,) = api("GET", "/minters").json["minters"]
    assert (found["name"], found["template"], found["drawn"], found["total"]) == ("kt", "x.sdd", 0, 100)
    assert found["may"] == ["read", "mint", "bind"]
    assert api("GET", "/minters/kt", user="").json["may"] == ["read"]
    assert problem(api("GET", "/minters/none"), 404, "not-found")
    minter.records("policy", "read", "boss")
    assert api("GET", "/minters").json["minters"] == []
    assert problem(api("GET", "/minters/kt"), 403, "forbidden")


def test_a_token_of_some_minters_lists_these(api, minter):
    secret = minter.records("token", "new", "job", "--may", "mint")[0]["token"]
    Noid.created(minter.folder.parent / "other", "y.sdd", "medium", "12345").close()
    fresh = Api(minter.folder.parent)
    login = {"user": "", "authorization": f"Bearer {secret.decode() if isinstance(secret, bytes) else secret}"}
    assert [one["name"] for one in fresh("GET", "/minters", **login).json["minters"]] == ["kt"]
    assert fresh("GET", "/minters", user="", authorization="Bearer noid_wrong").status == 401


# -- identifiers -------------------------------------------------------------------------------------------------------


def test_an_identifier_is_minted_with_elements_and_state_in_one_call(api, minter):
    reply = api("POST", "/minters/kt/identifiers", {"elements": {"_t": URL, "title": "One"}, "state": "reserved"})
    (found,) = reply.json["identifiers"]
    assert reply.status == 201 and reply.headers["location"] == "/api/v1/identifiers/12345/x00"
    assert found["id"] == "12345/x00" and found["state"] == "reserved"
    assert found["elements"] == {"_t": URL, "title": "One"} and found["url"] == "https://id.example/12345/x00"
    assert found["created"].endswith("Z") and api("GET", "/identifiers/12345/x00").json == found
    assert problem(api("GET", "/identifiers/12345/x00", user=""), 404, "not-found")
    assert minter.event_count() == 3


def test_several_are_minted_at_once(api):
    reply = api("POST", "/minters/kt/identifiers", {"count": 3, "elements": {"kind": "box"}})
    assert [one["id"] for one in reply.json["identifiers"]] == ["12345/x00", "12345/x01", "12345/x02"]
    assert all(one["elements"] == {"kind": "box"} for one in reply.json["identifiers"])
    assert "location" not in reply.headers
    assert problem(api("POST", "/minters/kt/identifiers", {"count": 98}), 410, "exhausted")
    assert problem(api("POST", "/minters/kt/identifiers", {"count": 0}), 422, "invalid")


def test_elements_are_patched_and_put(api):
    made(api, elements={"a": "1", "b": "2"})
    assert api("PATCH", "/identifiers/12345/x00", {"elements": {"b": None, "c": "3"}}).json["elements"] == {
        "a": "1", "c": "3"}
    assert api("PUT", "/identifiers/ark:/12345/x00", {"elements": {"d": "4"}}).json["elements"] == {"d": "4"}
    assert problem(api("PATCH", "/identifiers/12345/x77", {"elements": {"a": "1"}}), 404, "not-found")


def test_a_name_that_was_not_minted_is_made_by_put_and_never_minted(api, minter):
    reply = api("PUT", "/identifiers/12345/x01", {"elements": {"a": "1"}})
    assert reply.status == 201 and reply.headers["location"].endswith("/12345/x01")
    assert [made(api)["id"], made(api)["id"]] == ["12345/x00", "12345/x02"]
    assert minter.records("check")[0]["ok"]


def test_a_change_with_an_old_etag_is_refused(api):
    made(api, elements={"a": "1"})
    reply = api("GET", "/identifiers/12345/x00")
    tag = reply.headers["etag"]
    assert api("GET", "/identifiers/12345/x00", if_none_match=tag).status == 304
    assert api("PATCH", "/identifiers/12345/x00", {"elements": {"a": "2"}}, if_match=tag).status == 200
    assert "read it again" in problem(
        api("PATCH", "/identifiers/12345/x00", {"elements": {"a": "3"}}, if_match=tag), 412, "precondition")
    for empty in ("", " "):  # granian makes a header that is not ASCII an empty one
        assert problem(
            api("PATCH", "/identifiers/12345/x00", {"elements": {"a": "3"}}, if_match=empty), 412, "precondition")
    assert api("GET", "/identifiers/12345/x00").json["elements"] == {"a": "2"}


def test_states_are_changed_by_actions(api):
    made(api, elements={"_t": URL})
    assert api("POST", "/identifiers/12345/x00/reserve").json["state"] == "reserved"
    assert api("POST", "/identifiers/12345/x00/publish").json["state"] == "published"
    away = api("POST", "/identifiers/12345/x00/unavailable", {"reason": "repair"}).json
    assert (away["state"], away["reason"]) == ("unavailable", "repair")
    assert problem(api("POST", "/identifiers/12345/x00/withdraw", {}), 403, "forbidden")
    gone = api("POST", "/identifiers/12345/x00/withdraw", {"reason": "lost"}, user="boss").json
    assert (gone["state"], gone["reason"], gone["elements"]) == ("withdrawn", "lost", {})
    assert problem(api("POST", "/identifiers/12345/x00/publish"), 409, "conflict")
    for elements in {}, {"a": "b"}:
        assert problem(api("PUT", "/identifiers/12345/x00", {"elements": elements}), 409, "conflict")


def test_history_names_who_to_administrators_only(api):
    made(api, elements={"a": "1"})
    api("PATCH", "/identifiers/12345/x00", {"elements": {"a": "2"}})
    events = api("GET", "/identifiers/12345/x00/history", user="").json["events"]
    assert [event["action"] for event in events] == ["mint", "bind set"]
    assert events[1]["changes"] == [{"what": "a", "element": True, "before": "1", "after": "2"}]


def test_relations_citation_and_resolution(api, minter):
    made(api, elements={"_t": URL})
    minter.records("synonym", "12345/x00", "doi:10.1/2", "--authority", "Me")
    (relation,) = api("GET", "/identifiers/12345/x00/relations").json["relations"]
    assert (relation["relation"], relation["name"], relation["authority"]) == ("synonym", "doi:10.1/2", "Me")
    assert api("GET", "/identifiers/12345/x00/citation").json["forms"]["canonical"]
    resolved = api("GET", "/resolve/12345/x00/page?explain=true").json
    assert resolved["outcome"] == "found" and resolved["targets"] == [{"url": URL + "/page", "code": 302}]
    assert resolved["trace"]
    assert api("GET", "/resolve/12345/x77").json["outcome"] == "not found"


def test_a_reserved_name_resolves_for_the_public_as_one_that_was_never_minted(api):
    name = made(api, state="reserved")["id"]
    for query in ("", "?explain=true"):
        hidden = api("GET", f"/resolve/{quote(name)}{query}", user="").json
        unknown = api("GET", f"/resolve/12345/x99{query}", user="").text
        assert hidden == json.loads(unknown.replace("12345/x99", name))
    assert api("GET", f"/resolve/{quote(name)}").json["outcome"] == "reserved"


def test_a_token_of_one_minter_lists_and_searches_that_one(api, minter):
    secret = minter.records("token", "new", "script", "--may", "mint,read")[0]["token"]
    other = Noid.created(minter.folder.parent / "zz", "z.sdd", "medium", "12345")
    other.close()
    login = {"user": "", "authorization": f"Bearer {secret}"}
    assert [one["name"] for one in api("GET", "/minters", **login).json["minters"]] == ["kt"]
    assert api("GET", "/identifiers?q=nothing", **login).json == {"items": []}
    problem(api("GET", "/minters", user="", authorization="Bearer noid_unknown"), 401, "login")


def test_values_that_are_no_text_are_base64(api, minter):
    made(api)
    minter.records("bind", "set", "12345/x00", "raw", b"\xff\x00")
    assert api("GET", "/identifiers/12345/x00").json["elements"] == {"raw": {"base64": "/wA="}}
    api("PATCH", "/identifiers/12345/x00", {"elements": {"raw": {"base64": "AP8="}}})
    assert minter.records("get", "12345/x00", "raw")
    assert problem(api("PATCH", "/identifiers/12345/x00", {"elements": {"raw": {"base64": "?"}}}), 400, "invalid")


# -- search ------------------------------------------------------------------------------------------------------------


def test_identifiers_are_found_page_by_page(api):
    for title in ("Letters", "More letters", "Maps"):
        made(api, elements={"title": title, "_t": f"https://{title[:1].lower()}.example/"})
    assert [one["id"] for one in api("GET", "/identifiers?q=letters").json["items"]] == ["12345/x00", "12345/x01"]
    assert [one["id"] for one in api("GET", "/identifiers?host=l.example").json["items"]] == ["12345/x00"]
    assert [one["id"] for one in api("GET", "/identifiers?element.title=maps").json["items"]] == ["12345/x02"]
    assert api("GET", "/identifiers?q=letters&changed_until=2020").json["items"] == []
    assert len(api("GET", "/identifiers?q=letters&changed_since=2020&changed_until=9998").json["items"]) == 2
    ids, path = [], "/identifiers?limit=1"
    while path:
        reply = api("GET", path)
        ids += [one["id"] for one in reply.json["items"]]
        following = reply.json.get("next", "")
        path = f"/identifiers?limit=1&cursor={quote(following)}" if following else ""
        assert ("link" in reply.headers) == bool(following)
    assert ids == ["12345/x00", "12345/x01", "12345/x02"]
    assert problem(api("GET", "/identifiers?cursor=kt:zz"), 400, "usage")
    assert problem(api("GET", "/identifiers?limit=0"), 422, "invalid")
    assert "known are" in problem(api("GET", "/identifiers?words=x"), 400, "usage")


# -- batches -----------------------------------------------------------------------------------------------------------


def test_a_batch_refers_to_what_it_has_minted(api):
    reply = api("POST", "/batch", {"minter": "kt", "operations": [
        {"op": "mint", "as": "a", "elements": {"title": "One"}},
        {"op": "mint", "as": "b"},
        {"op": "patch", "id": "$a", "elements": {"_t": URL}},
        {"op": "reserve", "id": "$b"},
    ]})
    results = reply.json["results"]
    assert [one["status"] for one in results] == [201, 201, 200, 200]
    assert results[2]["identifier"]["elements"] == {"title": "One", "_t": URL}
    assert results[3]["identifier"]["state"] == "reserved"


@pytest.mark.parametrize("operations", [
    [{"op": "mint", "as": "a"}, {"op": "mint", "as": "a"}, {"op": "patch", "id": "$a", "elements": {"b": "2"}}],
    [{"op": "publish", "id": "12345/x00", "elements": {"b": "2"}}], [{"op": "mint", "id": "12345/x00"}],
    [{"op": "patch", "id": "12345/x00"}], [{"op": "reserve"}], [{"op": "mint", "elements": {"a": None}}],
    [{"op": "patch", "as": "a", "id": "12345/x00", "elements": {}}], [{"id": "12345/x00"}], [{"op": "remove"}], [7]])
def test_an_operation_with_a_part_that_means_nothing_or_two_things_is_refused(api, minter, operations):
    made(api)
    before = minter.event_count()
    reply = api("POST", "/batch", {"minter": "kt", "atomic": False, "operations": operations})
    assert reply.status in (400, 422) and json.loads(reply.text)["detail"]
    assert minter.event_count() == before


def test_a_transaction_that_is_repeated_counts_once_towards_the_limit_of_a_request(tmp_path, monkeypatch):
    # A map in which there is no room: the engine makes it larger, and repeats the transaction.
    monkeypatch.setattr("noidtools.store.lmdb.store.RESERVED", 1 << 20)
    (tmp_path / "served").mkdir()
    Noid.created(tmp_path / "served" / "kt", "x.seeee", "medium", "12345").close()
    reply = Api(tmp_path / "served")("POST", "/minters/kt/identifiers", {"count": 6000, "elements": {"a": "b" * 500}})
    assert (reply.status, len(reply.json["identifiers"])) == (201, 6000)


def test_an_atomic_batch_is_all_or_nothing(api, minter):
    operations = [{"op": "mint"}, {"op": "patch", "id": "12345/x77", "elements": {"a": "1"}}]
    assert "operation 2" in problem(api("POST", "/batch", {"minter": "kt", "operations": operations}), 404,
                                    "not-found")
    assert api("GET", "/minters/kt").json["drawn"] == 0
    reply = api("POST", "/batch", {"minter": "kt", "operations": operations, "atomic": False})
    assert [one["status"] for one in reply.json["results"]] == [201, 404]
    assert api("GET", "/minters/kt").json["drawn"] == 1
    assert problem(api("POST", "/batch", {"minter": "kt", "operations": [{"op": "withdraw", "id": "12345/x00"}]}),
                   403, "forbidden")


# -- requests that are refused, and repeated ---------------------------------------------------------------------------


def test_a_repeated_request_is_done_once(api):
    first = api("POST", "/minters/kt/identifiers", {}, idempotency_key="k1")
    again = api("POST", "/minters/kt/identifiers", {}, idempotency_key="k1")
    assert first.text == again.text and again.status == 201 and again.headers["idempotency-replayed"] == "true"
    assert problem(api("POST", "/minters/kt/identifiers", {"count": 2}, idempotency_key="k1"), 409, "conflict")
    assert api("GET", "/minters/kt").json["drawn"] == 1


@pytest.mark.parametrize("body, kind, status", [
    (b"{", "application/json", 400), (b"", "application/json", 400), (b"[]", "application/json", 422),
    (b'{"count": "1"}', "application/json", 422), (b'{"cuont": 1}', "application/json", 422),
    (b'{"elements": {"a": 1}}', "application/json", 422), (b'{"elements": {"a": "\\ud800"}}', "application/json", 400),
    (b"\xff\xfe", "application/json", 400), (b"{}", "text/plain", 415),
    (b"{}", "application/json; charset=latin1", 415),
    (b"count=1", "application/x-www-form-urlencoded", 415), (b"[" * 100_000, "application/json", 422),
    (b'{"elements": {"": "x"}}', "application/json", 400),
])
def test_a_body_that_is_not_understood_changes_nothing(api, body, kind, status):
    reply = api("POST", "/minters/kt/identifiers", body=body, kind=kind)
    assert reply.status == status and json.loads(reply.text)["detail"], reply.text
    assert api("GET", "/minters/kt").json["drawn"] == 0


@pytest.mark.parametrize("path, body, detail", [
    ("/minters/kt/identifiers", "[]", "the body is a list of 0 items, and must be an object"),
    ("/minters/kt/identifiers", "[" * 100_000, "the body must be an object"),
    ("/minters/kt/identifiers", '{"count": 0}', "count is 0, and must be a whole number from 1 to 1000000"),
    ("/minters/kt/identifiers", '{"count": true}', "count is true, and must be a whole number from 1 to 1000000"),
    ("/minters/kt/identifiers", '{"cuont": 1}', "there is no field cuont: known are count, elements, state"),
    ("/minters/kt/identifiers", '{"elements": {"a": 1}}',
     "elements.a is 1, and must be a text or an object with base64"),
    ("/minters/kt/identifiers", '{"elements": {"a": {}}}', "elements.a.base64 is missing: it must be a text"),
    ("/minters/kt/identifiers", '{"state": "gone"}',
     'state is "gone", and must be "published" or "reserved" or null'),
    ("/batch", '{"minter": "kt"}', "operations is missing: it must be a list of 1 to 10000 items"),
    ("/batch", '{"minter": "kt", "operations": [{"op": "mint"}, {"op": "publish"}]}',
     "operations[1].id is missing: it must be a text"),
    ("/batch", '{"minter": "kt", "operations": [{"op": []}]}', 'operations[0].op is a list of 0 items, and must be '
     '"mint" or "patch" or "publish" or "reserve" or "unavailable" or "withdraw"'),
    ("/batch", '{"minter": "kt", "operations": [7]}', "operations[0] is 7, and must be an object with op"),
    ("/minters/kt/identifiers", '{"count": 0, "count": 1}', "the body has two fields of one name"),
    ("/batch", '{"minter": "kt", "operations": [{"op": "x", "op": "mint"}]}', "the body has two fields of one name"),
])
def test_a_refused_body_is_explained_by_its_field_and_what_is_expected(api, path, body, detail):
    reply = api("POST", path, body=body.encode())
    assert problem(reply, 422, "invalid") == detail


def test_a_large_body_is_refused_as_fast_as_it_is_read(api):
    """Anybody may send one: to look for its fault must not occupy the server."""
    members = b",".join(b'"%d":""' % number for number in range(400_000))
    begun = time.process_time()
    detail = problem(api("POST", "/minters/kt/identifiers", body=b'{"elements":{%b,"q":1}}' % members), 422, "invalid")
    assert "`str | object`, got `int`" in detail
    assert time.process_time() - begun < 1


def test_a_refused_parameter_is_explained_by_what_is_expected(api):
    for query, detail in {"limit=many": 'limit is "many", and must be a whole number from 1 to 1000',
                          "state=gone": 'state is "gone", and must be "published" or "reserved" or "unavailable" or '
                                        '"withdrawn"'}.items():
        assert problem(api("GET", f"/identifiers?{query}"), 422, "invalid") == f"the parameter {detail}"


@pytest.mark.parametrize("body, kind, status", [
    (b"<x/>", "text/xml", 415), (b"a=1", "application/x-www-form-urlencoded", 415), (b"{", "application/json", 400),
    (b'{"reason": "x"}', "application/json", 422), (b"{}", "application/json", 200), (b"", "", 200),
])
def test_an_action_without_a_body_takes_none_but_an_empty_object(api, body, kind, status):
    made(api, state="reserved")
    assert api("POST", "/identifiers/12345/x00/publish", body=body, kind=kind).status == status
    assert api("GET", "/identifiers/12345/x00").json["state"] == ("published" if status == 200 else "reserved")


def test_a_put_for_a_new_name_only_changes_no_other(api):
    made(api, elements={"a": "1"})
    assert "there already" in problem(
        api("PUT", "/identifiers/12345/x00", {"elements": {"b": "2"}}, if_none_match="*"), 412, "precondition")
    assert api("GET", "/identifiers/12345/x00").json["elements"] == {"a": "1"}
    assert api("PUT", "/identifiers/12345/x01", {"elements": {"b": "2"}}, if_none_match="*").status == 201


def test_who_may_not_is_refused_and_a_login_is_asked_for(api):
    reply = api("POST", "/minters/kt/identifiers", {}, user="")
    assert problem(reply, 401, "login") and "www-authenticate" in reply.headers
    assert problem(api("POST", "/minters/kt/identifiers", {}, origin="https://evil.example"), 403, "forbidden")


def test_methods_and_paths_that_are_not_there(api):
    reply = api("DELETE", "/minters")
    assert problem(reply, 405, "method") and reply.headers["allow"] == "GET, HEAD, OPTIONS"
    assert problem(api("GET", "/nothing"), 404, "not-found")
    assert api("OPTIONS", "/minters").status == 204
    assert api("GET", "/minters").headers["access-control-allow-origin"] == "*"
    assert "access-control-allow-origin" not in api("POST", "/minters/kt/identifiers", {}).headers


# -- the description ---------------------------------------------------------------------------------------------------


def test_the_page_describes_every_route(api):
    page = api("GET", "/")
    document = api("GET", "/openapi.json").json
    assert page.headers["content-type"].startswith("text/html")
    for path, operations in document["paths"].items():
        for method in operations:
            assert f"{method.upper()} /api/v1{path}" in page.text


@pytest.mark.slow
@pytest.mark.parametrize("known", [{}, {"name": "kt", "id": "12345/x00"}], ids=["any names", "known names"])
def test_no_request_that_the_description_allows_fails_or_gets_an_undocumented_answer(api, minter, known):
    """schemathesis makes requests of every kind from the OpenAPI document, right ones and wrong ones; whoever sends
    them is an administrator."""
    import schemathesis  # takes seconds, which the other tests do without
    from schemathesis import checks

    made(api, elements={"_t": URL})
    minter.records("policy", "admin", "anyone")

    def application(environ, start_response):
        return api.application({**environ, "REMOTE_USER": USER}, start_response)

    wanted = [checks.not_a_server_error, checks.status_code_conformance, checks.content_type_conformance,
              checks.response_headers_conformance, checks.response_schema_conformance, checks.negative_data_rejection]
    for result in schemathesis.openapi.from_wsgi("/api/v1/openapi.json", application).get_all_operations():
        operation = result.ok()

        @settings(max_examples=15, deadline=None, database=None, derandomize=True,
                  phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy())
        def attempt(case):
            case.path_parameters = {name: known.get(name, value) for name, value in case.path_parameters.items()}
            case.call_and_validate(checks=wanted)

        attempt()
