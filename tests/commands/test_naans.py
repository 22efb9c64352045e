"""The public NAAN registry: taking it over, whose a name is, and forwarding names of others."""

from __future__ import annotations

import json
import os
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from noidtools.resolution import naans
from support.minter import Noid
from support.templates import LONG_TERM

OTHER = "ark:/12148/bpt6-k107371t/f2"


def record(what: str, name: str, **more: object) -> dict[str, object]:
    kind = "PublicNAANShoulder" if "/" in what else "PublicNAAN"
    target = {"url": "https://ark.bnf.example/ark:/${content}", "http_code": 302}
    return {"rtype": kind, "what": what, "where": "https://www.bnf.example/", "target": target,
            "who": {"name": name, "name_native": "", "acronym": ""}, **more}


REGISTRY = [
    record("12148", "A national library"),
    record("99166", "Agents", target={"url": "https://n2t.example/${pid}", "http_code": 301}),
    record("99166/w6", "People", target={"url": "https://people.example/${suffix}?of=${prefix}"}),
    record("13030", "Ourselves"),
    record("88435", "Hyphens", strip_hyphens=False),
    record("77777", "Nowhere", target={"url": "javascript:alert(1)"}, where="-"),
    record("66666", "Plain", target={"url": "https://plain.example/"}),
    {"rtype": "PrivateNAAN", "what": "55555", "who": {"name": "Hidden"}},
]


def written(folder: Path, data: object = REGISTRY, **metadata: str) -> str:
    path = folder / "naan_records.json"
    path.write_text(json.dumps({"metadata": {"version": "2.0", **metadata}, "data": data}))
    return str(path)


@pytest.fixture
def minter(tmp_path, monkeypatch):
    monkeypatch.setattr(naans, "_REFRESH_INTERVAL", 0.0)
    made = Noid.created(tmp_path / "kt5", *LONG_TERM)
    yield made
    made.close()


def test_the_registry_is_taken_over_from_a_file(minter, tmp_path):
    source = written(tmp_path, [*REGISTRY, 5, {"rtype": "PublicNAAN", "what": "a b"}], date_modified="2026-11-01")
    assert minter("naans", "update", source) == (
        f"registry: {source}\ndate: 2026-11-01\nnaans: 6\nshoulders: 1\nleft out: 2 records that cannot be read\n"
        "forward: off\n\n")
    assert minter("naans").startswith(f"registry: {source}\n")
    assert minter("naans", "whose", "ARK:/12148/x") == (
        "naan: 12148\nwho: A national library\nwhere: https://www.bnf.example/\n"
        "target: https://ark.bnf.example/ark:/${content}\n\n")
    assert "naan: 99166/w6\nwho: People" in minter("naans", "whose", "99166/w6-1")
    assert "who: Agents" in minter("naans", "whose", "99166/w5")
    assert minter("naans", "whose", "77777") == "naan: 77777\nwho: Nowhere\n\n"
    assert "does not have 55555" in minter.refused("naans", "whose", "55555")
    assert "neither a NAAN nor an ARK" in minter.refused("naans", "whose", "doi:10.1000/182")


def test_an_unknown_name_is_refused_with_whose_it_is(minter, tmp_path):
    minter("naans", "update", written(tmp_path))
    said = minter.refused("resolve", OTHER)
    assert "the NAAN 12148 belongs to A national library (https://www.bnf.example/)" in said
    assert "belongs" in minter.refused("resolve", "12148/bpt6"), "the label may be left out"
    for name in ("13030/kt4x551", "ark:/13030/nothing", "ark:/55555/x", "doi:10.12148/x", "12148x/y"):
        assert "belongs" not in minter.refused("resolve", name)


def test_names_of_others_are_forwarded_when_told_so_and_then_before_the_fallback(minter, tmp_path):
    minter("naans", "update", written(tmp_path))
    minter("resolver", "fallback", "https://n2t.net/")
    assert minter("resolve", OTHER) == f"https://n2t.net/{OTHER}\n"
    assert minter("naans", "forward", "on").endswith("forward: on\n\n")
    places = {
        OTHER: "https://ark.bnf.example/ark:/12148/bpt6k107371t/f2",
        OTHER + "?page=2": "https://ark.bnf.example/ark:/12148/bpt6k107371t/f2?page=2",
        "ark:99166/w6-ab": "https://people.example/ab?of=99166",
        "ark:99166/w7-ab": "https://n2t.example/ark:99166/w7-ab",
        "ark:/88435/a-b": "https://ark.bnf.example/ark:/88435/a-b",
        "ark:/66666/a-b": "https://plain.example/ark:/66666/a-b",
        "ark:/77777/x": "https://n2t.net/ark:/77777/x",
        "hdl:12148/x": "https://n2t.net/hdl:12148/x",
        "12148/x": "https://n2t.net/ark:/12148/x",
    }
    assert {name: minter("resolve", name).strip() for name in places} == places
    assert "fallback: 302 https://ark.bnf.example/ark:/12148/x" in minter("resolve", "--explain", "ark:12148/x")
    minter("naans", "update", written(tmp_path, REGISTRY[:1]))
    assert "forward: on" in minter("naans"), "an update changes nothing about forwarding"
    minter("naans", "forward", "off")
    assert minter("resolve", OTHER) == f"https://n2t.net/{OTHER}\n"


def test_nothing_is_forwarded_in_a_circle(minter, tmp_path):
    minter("naans", "update", written(tmp_path))
    minter("naans", "forward", "on")
    assert "nothing is known" in minter.refused("resolve", "ark:/13030/unknown"), "its own NAAN"
    minter("context", "resolver", "https://ark.bnf.example:443/")
    assert "belongs to A national library" in minter.refused("resolve", OTHER), "its own address"


def test_the_registry_of_a_folder_is_for_all_minters_in_it(tmp_path, minter):
    Noid(tmp_path)("naans", "update", written(tmp_path))
    assert (tmp_path / "naans.json").exists()
    assert "belongs to A national library" in minter.refused("resolve", OTHER)
    minter("naans", "update", written(tmp_path, [record("12148", "Another one")]))
    assert "belongs to Another one" in minter.refused("resolve", OTHER), "the minter's own comes first"


@pytest.mark.parametrize(("content", "why"), [
    (b"", "not JSON"), (b"\xff\xfe", "not JSON"), (b"[" * 100_000, "not JSON"), (b"[]", "not the registry"),
    (b'{"data": {}}', "not the registry"), (b'{"data": []}', "no record of a NAAN"),
    (b'{"data": [{"rtype": "PublicNAAN", "what": "a/b/\\u0000"}, null, {"rtype": 5}]}', ""),
])
def test_a_bad_file_is_refused_with_a_sentence_and_the_registry_stays(minter, tmp_path, content, why):
    minter("naans", "update", written(tmp_path))
    before = (tmp_path / "kt5" / "naans.json").read_bytes()
    (tmp_path / "bad").write_bytes(content)
    if not why:
        minter("naans", "update", str(tmp_path / "bad"))
        return
    assert why in minter.refused("naans", "update", str(tmp_path / "bad"))
    assert (tmp_path / "kt5" / "naans.json").read_bytes() == before
    for source in (tmp_path / "none", tmp_path, "x\0y", ""):
        assert "cannot be read" in minter.refused("naans", "update", str(source))


def test_a_file_that_is_too_large_is_refused(minter, tmp_path, monkeypatch):
    monkeypatch.setattr(naans, "LARGEST_REGISTRY", 500)
    assert "more than" in minter.refused("naans", "update", written(tmp_path))


def test_what_was_damaged_is_not_used_and_is_said(minter, tmp_path):
    minter("naans", "update", written(tmp_path))
    for content in ("{", "[]", '{"format": 1, "records": [{}], "source": "", "date": "", "forward": true}'):
        (tmp_path / "kt5" / "naans.json").write_text(content)
        said = minter.run("resolve", OTHER).stderr
        assert b"belongs" not in said and b"nothing is known" in said
        assert "is damaged: run 'noid naans update' again" in minter.refused("naans")
        assert "is damaged" in minter.refused("naans", "forward", "on")
    minter("naans", "update", written(tmp_path))
    assert "belongs" in minter.refused("resolve", OTHER)


def test_without_a_registry_the_command_says_what_to_do(minter):
    for words in ((), ("forward", "on"), ("whose", "13030")):
        assert "read it with 'noid naans update FILE'" in minter.refused("naans", *words)


def test_a_folder_that_cannot_be_written_is_refused_with_a_sentence(tmp_path):
    source = written(tmp_path)
    nowhere = str(tmp_path / "none")
    assert "is not a folder of minters" in Noid(tmp_path).refused("-f", nowhere, "naans", "update", source)
    if os.geteuid():
        (tmp_path / "shut").mkdir(mode=0o500)
        assert "cannot be written" in Noid(tmp_path / "shut").refused("naans", "update", source)


class _Publisher(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = json.dumps({"data": REGISTRY}).encode()
        self.send_response(302 if self.path == "/moved" else 404 if self.path == "/none" else 200)
        if self.path == "/moved":
            self.send_header("Location", "/naan_records.json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


def test_the_registry_is_taken_over_from_an_address(minter):
    with HTTPServer(("127.0.0.1", 0), _Publisher) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        base = f"http://127.0.0.1:{server.server_port}"
        assert "naans: 6" in minter("naans", "update", f"{base}/moved")
        assert "it answers 404" in minter.refused("naans", "update", f"{base}/none")
        server.shutdown()
    assert "does not answer" in minter.refused("naans", "update", f"{base}/x")
    assert "cannot be read" in minter.refused("naans", "update", "https://[")
