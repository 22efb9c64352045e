"""cite, same and context by URL."""

from __future__ import annotations

import pytest

from support.wsgi import USER, CommandClient


@pytest.fixture
def web(tmp_path, noid):
    folder = tmp_path / "kt5"
    folder.mkdir()
    noid("-f", "kt5", "dbcreate", "--label", "ark:/", "kt5.reeded", "medium", "13030", "a", "b")
    noid("-f", "kt5", "mint", "1")
    noid("-f", "kt5", "policy", "admin", USER)
    return CommandClient(tmp_path)


def test_cite_and_same_are_available_by_url(web):
    reply = web("cite+13030/kt54x551")
    assert reply.status == 200 and reply.text.startswith("canonical: ark:/13030/kt54x551\n")
    reply = web("cite+ark:13030/kt5-4x551", accept="application/json")
    assert reply.json["records"][0] == {"form": "canonical", "text": "ark:/13030/kt54x551"}
    reply = web("same+hdl:1.2/x+info:hdl:1.2/x")
    assert reply.status == 200 and reply.text.startswith("same: yes\n")
    reply = web("same+hdl:1.2/x+hdl:1.2/y", accept="application/json")
    assert reply.json["failed"] is True and reply.json["records"][0]["same"] is False
    assert reply.json["records"][0]["why"]


def test_contexts_are_for_administrators(web):
    assert web("context+resolver+https://id.example.org/").status == 401
    assert web("context+resolver+https://id.example.org/", user=USER).status == 200
    reply = web("context", user=USER, accept="application/json")
    assert reply.json["records"] == [{"labels": ["ark:/"], "resolvers": ["https://id.example.org/"], "aliases": []}]


def test_the_web_writes_no_files(web, tmp_path):
    before = sorted(path.name for path in tmp_path.rglob("*"))
    reply = web("cite+13030/kt5+--qr+/tmp/code.svg", user=USER)
    assert reply.status == 403 and "for the shell" in reply.text
    reply = web.post("cite 13030/kt5 --qr code.svg\n")
    assert "for the shell" in reply.text
    assert sorted(path.name for path in tmp_path.rglob("*")) == before
