"""The facts recorded from the original."""

from __future__ import annotations

import hashlib
import re

import pytest

from support.project import vectors

pytestmark = [pytest.mark.usefixtures("engine"), pytest.mark.slow]

TEMPLATES = vectors("noid-templates.json")
SESSIONS = vectors("noid-sessions.json")
REPERTOIRES = vectors("noid-repertoires.json")


def create(noid, template, term, naan):
    words = [template or "-", term or "medium"] + ([naan, "example.org", "test"] if naan else [])
    return noid("dbcreate", *words)


def on_all_engines(vector: dict) -> list:
    """A vector with each engine; of those that mint many identifiers, one engine is enough for every run."""
    many = [pytest.mark.long] if vector["asked"] > 500 else []
    name = f"{vector['template']}-{vector['term']}"
    return [pytest.param("lmdb", vector, id=f"lmdb-{name}"),
            pytest.param("postgres", vector, id=f"postgres-{name}", marks=[pytest.mark.servers, *many])]


@pytest.mark.parametrize(("engine", "vector"), [pair for v in TEMPLATES if v["valid"] for pair in on_all_engines(v)],
                         indirect=["engine"])
def test_a_template_gives_the_identifiers_the_original_gave(noid, vector):
    report = create(noid, vector["template"], vector["term"], vector["naan"])
    assert f"\nSize: {vector['size']}\n" in report
    assert f"\nProperties: {vector['properties']}\n" in report
    assert f"\nOrder: {vector['order']}" in report
    done = noid.run("mint", "--yes", str(vector["asked"]))
    ids = [line.removeprefix("id: ") for line in done.stdout.decode().splitlines() if line]
    assert len(ids) == vector["minted"]
    assert ids[: len(vector["first"])] == vector["first"]
    assert ids[-len(vector["last"]) :] == vector["last"]
    assert hashlib.sha256("".join(f"{i}\n" for i in ids).encode()).hexdigest() == vector["sha256"]
    if vector.get("then") == "exhausted":
        assert done.returncode == 1 and done.stderr.startswith(b"error: no identifier is left")
    else:
        assert done.returncode == 0


@pytest.mark.parametrize("vector", [v for v in TEMPLATES if not v["valid"]], ids=lambda v: v["template"])
def test_a_template_the_original_refused_is_refused(noid, vector):
    assert noid.refused("dbcreate", vector["template"])
    assert not (noid.folder / "NOID").exists()


def normal(output: str) -> str:
    return re.sub(r"\|\d{14}\|[^|]*\|", "|DATE|WHO|", output)


@pytest.mark.parametrize("session", SESSIONS, ids=lambda s: s["name"])
def test_a_session_prints_what_the_original_printed(noid, session):
    create(noid, session["template"], session["term"], session["naan"])
    for step in session["steps"]:
        stdin = step.get("stdin", "").encode()
        if step.get("fails"):
            noid.refused(*step["argv"], stdin=stdin)
        else:
            assert normal(noid(*step["argv"], stdin=stdin)) == step["stdout"], step["argv"]


@pytest.mark.parametrize(
    ("template", "identifier"),
    [(v["template"], i) for v in vectors("noid-invalid.json") for i in v["ids"]],
)
def test_an_invalid_identifier_does_not_validate(noid, template, identifier):
    done = noid.run("validate", template, identifier)
    assert done.returncode == 1
    assert done.stdout.startswith(b"iderr: ") and done.stdout.count(b"\n") == 1
    noid("dbcreate", template)
    assert noid.run("validate", "-", identifier).returncode == 1


@pytest.mark.parametrize("vector", REPERTOIRES["first"], ids=lambda v: v["template"])
def test_the_check_character_comes_from_the_smallest_repertoire_that_holds_all(noid, vector):
    noid("dbcreate", vector["template"])
    assert noid("mint", "1") == f"id: {vector['id']}\n\n"
    assert noid("validate", "-", vector["id"]) == f"id: {vector['id']}\n"
