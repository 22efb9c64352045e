"""Minters in a database server, seen with SQL: views, and roles that may do no more than they need."""

from __future__ import annotations

import pytest

import noidtools
from support.minter import Noid
from support.postgres import PostgresServer


@pytest.fixture(scope="module")
def server():
    started = PostgresServer()
    yield started
    started.close()


def test_views_decode_identifiers_bindings_aliases_and_events(server, tmp_path):
    noid = Noid.created(tmp_path / "kt5", "kt.reeded", "long", "13030", "a", "b", "--store", server.address)
    server.sql(noid("sql", "views"))
    (identifier,) = noid.ids(1)
    noid("bind", "set", identifier, "_t", "https://a.example/é")
    noid("bind", "set", identifier, "odd\nname", b"\xff\x00"[:1])
    noid("bind", "set", identifier, "long", "x" * 300)
    noid("bind", "set", identifier, "e" * 2000, "of a long element")
    noid("alias", "old", identifier)
    noid("withdraw", identifier, "--reason", "by mistake")
    columns = "identifier, held, reserved, withdrawn, drawn, history"
    assert server.sql(f"SELECT {columns} FROM noid_identifiers WHERE history <> ''") == f"{identifier}|t|f|t|1|i"
    bindings = server.sql("SELECT element, value FROM noid_bindings WHERE element IN ('_t', 'long') ORDER BY 1")
    assert bindings == "_t|https://a.example/\\303\\251\nlong|" + "x" * 300
    assert server.sql("SELECT count(*) FROM noid_bindings WHERE value = '\\377'") == "1"
    assert server.sql("SELECT element, value FROM noid_bindings WHERE identifier = "
                      f"'{identifier}' AND element LIKE 'eee%'") == "e" * 2000 + "|of a long element"
    assert server.sql("SELECT alias, identifier FROM noid_aliases") == f"old|{identifier}"
    verbs = server.sql("SELECT event, verb FROM noid_events ORDER BY event").splitlines()
    assert verbs[0] == "1|dbcreate" and verbs[1] == "2|mint" and verbs[-1].endswith("|withdraw")
    assert server.sql("SELECT DISTINCT length(date), interface FROM noid_events") == "14|shell"
    assert server.sql("SELECT DISTINCT minter FROM noid_events").startswith("kt5-")


def test_a_writer_may_write_a_reader_may_read_and_a_viewer_sees_views_alone(server, tmp_path):
    noid = Noid.created(tmp_path / "kt5", "kt.reeded", "--store", server.address)
    server.sql(noid("sql", "views"))
    server.sql(noid("sql", "roles"))
    for role in ("writer", "reader", "viewer"):
        server.sql(f"CREATE ROLE a_{role} LOGIN IN ROLE noid_{role}")
    engine = tmp_path / "kt5" / "NOID" / "engine"
    text = engine.read_text()
    engine.write_text(text.replace("//noid@", "//a_writer@"))
    (identifier,) = noid.ids(1)
    noid("bind", "set", identifier, "_t", "https://a.example/")
    made = tmp_path / "other"
    made.mkdir()
    other = Noid.created(made, ".sd", "--store", server.address.replace("//noid@", "//a_writer@"))
    assert other.mint(1) == ["0"]
    other.close()
    engine.write_text(text.replace("//noid@", "//a_reader@"))
    assert noid("get", identifier, "_t") == "https://a.example/\n"
    assert "does not allow this to the account that uses the minter: grant it the role noid_writer" in (
        noid.refused("mint", "1"))
    engine.write_text(text.replace("//noid@", "//a_viewer@"))
    assert "does not allow this" in noid.refused("get", identifier, "_t")
    viewer = server.address.replace("//noid@", "//a_viewer@")
    assert server.sql("SELECT count(*) FROM noid_identifiers WHERE minter LIKE 'kt5-%'", viewer) >= "1"


def test_python_creates_minters_in_a_server(server, tmp_path):
    with noidtools.create(tmp_path / "kt5", "kt.reeded", store=server.address) as minter:
        assert minter.mint(1) == ["kt4x551"]
    assert (tmp_path / "kt5" / "NOID" / "engine").read_text().startswith("engine: postgres\nminter: kt5-")
