"""Export as a download and import as an upload, for those who may."""

from __future__ import annotations

import pytest

from support.wsgi import CommandClient, Response

USER = "alice"
TABLE = b'id,title\r\nkt639k9,"One\r\nline"\r\nark:/99999/x,Two\r\n'


def upload(web: CommandClient, query: str, body: bytes, **options: str) -> Response:
    return web(query, method="POST", body=body, **{"user": USER, **options})


@pytest.fixture
def filled(web: CommandClient) -> CommandClient:
    assert upload(web, "import+csv", TABLE).status == 200
    return web


def test_a_file_is_imported_from_the_body_and_the_report_answers(web):
    reply = upload(web, "import+csv", TABLE)
    assert reply.status == 200
    assert "line: 2 kt639k9: 1 bound\n" in reply.text and "Refused: 0\n" in reply.text
    assert web("get+kt639k9+title").text == "One\r\n line\n"


def test_the_report_is_also_json(web):
    reply = upload(web, "import+csv", TABLE, accept="application/json")
    records = reply.json["records"]
    assert records[0] == {"line": 2, "id": "kt639k9", "status": "1 bound"}
    assert any("ok" in record for record in records)


def test_an_export_is_a_download_with_its_bytes_as_they_are(filled):
    reply = filled("export+csv", user=USER)
    assert reply.status == 200 and reply.headers["content-type"] == "text/csv; charset=utf-8"
    assert reply.headers["content-disposition"] == 'attachment; filename="export.csv"'
    assert reply.body == b'id,element,value\r\nark:/99999/x,title,Two\r\nkt639k9,title,"One\r\nline"\r\n'
    assert filled("export+csv", user=USER, accept="application/json").body == reply.body
    assert filled("export+anvl", user=USER).body.startswith(b"# exported by noidtools\n:: ark:/99999/x\ntitle: Two\n\n")
    assert b'"identifiers":2,"sha256":"' in filled("export+jsonl+--history", user=USER).body.splitlines()[-1]


def test_what_comes_back_is_what_was_there(filled):
    table = filled("export+csv", user=USER).body
    reply = upload(filled, "import+csv", table)
    assert "Bindings: 2 unchanged\n" in reply.text
    assert "Bindings: 1 bound, 1 unchanged\n" in upload(filled, "rebind", table.replace(b"Two", b"Three")).text


def test_only_those_who_may_administer_can_do_either(filled):
    assert filled("policy+admin+bob", user=USER).status == 200
    for query, body in (("export+jsonl", b""), ("import+csv", TABLE), ("rebind", TABLE), ("undo+2", b""),
                        ("retarget+--from+a+--to+b", b"")):
        assert upload(filled, query, body).status == 403, query
        assert upload(filled, query, body, user="").status in (401, 403), query
    assert filled("export+jsonl", user="bob").status == 200


@pytest.mark.parametrize(("query", "body", "status", "message"), [
    ("import+csv", b"id,title\nx,=1\n", 400, "line 2: '=1' looks like a formula"),
    ("import+csv", b"id,title\nkt639k9,other\n", 409, "line 2: title under kt639k9"),
    ("import+csv", b"\xff\xfe", 400, "line 1: this is UTF-16"),
    ("import+csv", b"", 400, "line 1: the file is empty"),
    ("import+csv+/etc/passwd", b"", 403, "for the shell"),
    ("export+csv+/tmp/x", b"", 403, "for the shell"),
    ("export+--map+txt+/tmp/x", b"", 403, "for the shell"),
    ("export+csv+--history", b"", 400, "can be exported as jsonl only"),
])
def test_what_is_refused_has_a_status_and_changes_nothing(filled, query, body, status, message):
    before = filled("dbinfo+dump", user=USER).text
    reply = upload(filled, query, body)
    assert reply.status == status and message in reply.text
    assert filled("dbinfo+dump", user=USER).text == before


def test_a_file_in_a_form_of_several_parts_is_refused_with_the_remedy(filled):
    part = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n' + TABLE + b"\r\n--x--\r\n"
    before = filled("dbinfo+dump", user=USER).text
    reply = upload(filled, "import+csv", part, CONTENT_TYPE="multipart/form-data; boundary=x")
    assert reply.status == 415 and "curl --data-binary" in reply.text
    assert filled("dbinfo+dump", user=USER).text == before


def test_a_file_comes_by_post_and_not_by_a_link(filled):
    assert filled("import+csv", user=USER).status == 405
    link = {"HTTP_SEC_FETCH_MODE": "navigate", "HTTP_SEC_FETCH_SITE": "cross-site"}
    assert upload(filled, "import+csv", TABLE, **link).status == 403


def test_a_retarget_by_url_is_taken_back_by_url(filled):
    filled("bind+set+kt639k9+_t+https://a.example/1", user=USER)
    reply = filled("retarget+--from+https://a.example/+--to+https://b.example/", user=USER)
    assert "ok: 1 binding changed\n" in reply.text
    number = reply.text.partition("event: ")[2].partition("\n")[0]
    assert filled("get+kt639k9+_t").text == "https://b.example/1\n"
    assert "ok: 1 change taken back\n" in filled(f"undo+{number}", user=USER).text
    assert filled("get+kt639k9+_t").text == "https://a.example/1\n"


MINTED = b"title;n\r\nOne;1\r\nTwo;2\r\n"


def test_a_table_gets_its_identifiers_as_a_download_and_again_the_same(web):
    reply = upload(web, "import+csv+--mint", MINTED)
    assert reply.status == 200 and reply.headers["content-type"] == "text/csv; charset=utf-8"
    assert reply.headers["content-disposition"] == 'attachment; filename="minted.csv"'
    rows = [line.split(";") for line in reply.text.splitlines()]
    assert rows[0] == ["id", "title", "n"] and [row[1] for row in rows[1:]] == ["One", "Two"]
    assert web(f"get+{rows[2][0]}+title").text == "Two\n"
    assert upload(web, "import+csv+--mint", MINTED).body == reply.body


def test_a_table_is_refused_whole_and_by_the_limit_of_the_minter(web):
    assert web("policy+mint-limit+1", user=USER).status == 200
    refused = upload(web, "import+csv+--mint", MINTED)
    assert refused.status == 403 and "needs 2 identifiers, and 1 may be minted at once here" in refused.text
    bad = upload(web, "import+csv+--mint", b"title\r\n=1\r\n")
    assert bad.status == 400 and "line 2: " in bad.text
    assert "line: 2: minted, 1 bound\n" in upload(web, "import+csv+--mint+--dry-run", b"title\r\nA\r\n").text
    assert web("policy+admin+bob", user=USER).status == 200
    assert upload(web, "import+csv+--mint", b"title\r\nA\r\n").status == 403
