"""Qualities that an authority states: universal, persistent, trusted, reliable, nameable (8.5, 8.6, 8.8, 8.13)."""

from __future__ import annotations

import pytest

from noidtools.errors import ConflictError, ForbiddenError, InvalidError, NotFoundError, UsageError
from support.minter import START, Noid

WHO = ("--authority", "The Library")


@pytest.fixture
def minter(tmp_path):
    made = Noid.with_clock(tmp_path, "x.sdd")
    made.mint(2)
    yield made
    made.close()


def test_an_authority_states_qualities_of_an_identifier(minter):
    assert minter.text("quality", "state", "universal", "x00", *WHO, "--in", "ark:/13030") == (
        f"of: x00\nquality: universal (8.5)\nholds: yes\nin: ark:/13030\nauthority: The Library\nfrom: {START}\n")
    span = ("--from", "2020", "--until", "2126")
    minter.records("quality", "state", "persistent", "x00", *WHO, "--of", "resolvable", *span)
    minter.records("quality", "deny", "trusted", "x00", "--authority", "Nigel")
    found = {(r["quality"], r["holds"], r["authority"]): r for r in minter.records("quality", "x00")}
    assert set(found) == {("universal (8.5)", "yes", "The Library"), ("persistent (8.6)", "yes", "The Library"),
                          ("trusted (8.8)", "no", "Nigel")}
    persistent = found["persistent (8.6)", "yes", "The Library"]
    assert (persistent["kind"], persistent["from"], persistent["until"]) == (
        "resolvable", "20200101000000", "21261231235959")
    assert minter.events_of("x00") == ["mint", "quality", "quality", "quality"]


def test_an_authority_states_qualities_of_the_minter(minter):
    for quality in ("trusted", "reliable", "nameable"):
        minter.records("quality", "state", quality, *WHO)
    assert [r["quality"] for r in minter.records("quality")] == ["nameable (8.13)", "reliable (8.8)", "trusted (8.8)"]
    for quality in ("universal", "persistent"):
        assert "name one" in minter.refusal("quality", "state", quality, *WHO).message


def test_a_statement_is_changed_and_taken_back(minter):
    minter.records("quality", "state", "trusted", "x00", *WHO)
    minter.clock.set("20270101000000")
    minter.records("quality", "deny", "trusted", "x00", *WHO)
    (found,) = minter.records("quality", "x00")
    assert (found["holds"], found["from"]) == ("no", "20270101000000")
    changes = minter.records("history", "x00")[-1]["changes"]
    assert {"id": "x00", "what": "trusted", "before": "yes", "after": "no"} in changes
    minter.records("quality", "state", "trusted", "x00", "--authority", "Nigel")
    assert isinstance(minter.refusal("quality", "remove", "trusted", "x00"), UsageError)
    assert minter.records("quality", "remove", "trusted", "x00", *WHO) == [
        {"ok": "The Library no longer states whether x00 is trusted"}]
    minter.records("quality", "remove", "trusted", "x00")
    assert minter.text("quality", "x00") == "note: nobody states a quality of x00\n"
    assert isinstance(minter.refusal("quality", "remove", "trusted", "x00"), NotFoundError)


@pytest.mark.parametrize(("words", "kind"), [
    (("state", "beautiful", "x00", *WHO), UsageError), (("state", "registered", "x00", *WHO), UsageError),
    (("state", "trusted", "x00"), UsageError), (("state", "trusted", "x00", "--authority", ""), InvalidError),
    (("state", "trusted", "x00", *WHO, "--in", "ark:/1"), UsageError),
    (("state", "persistent", "x00", *WHO, "--of", "beautiful"), UsageError),
    (("state", "universal", "x00", *WHO, "--in", "a\nb"), InvalidError),
    (("state", "trusted", "x00", *WHO, "--from", "2030", "--until", "2029"), UsageError),
    (("state", "trusted", "", *WHO), InvalidError), (("remove", "trusted"), NotFoundError),
    (("remove", "beautiful"), UsageError),
])
def test_what_cannot_be_stated_is_refused(minter, words, kind):
    assert isinstance(minter.refusal("quality", *words), kind)


def test_names_that_were_withdrawn_or_are_peppered_are_protected(minter):
    minter.records("withdraw", "x00")
    assert isinstance(minter.refusal("quality", "state", "trusted", "x00", *WHO), ConflictError)
    (peppered,) = (record["id"] for record in minter.records("peppermint", "1"))
    bare = peppered.partition("!")[0]
    assert isinstance(minter.refusal("quality", "state", "trusted", bare, *WHO), ForbiddenError)
    assert "!" not in minter.text("quality", "state", "trusted", peppered, *WHO)


def test_foreign_and_abstract_names_have_stated_qualities_too(minter):
    minter.records("quality", "state", "persistent", "doi:10.1/2", *WHO)
    minter.records("abstract", "context", "Kerry's Library", *WHO)
    minter.records("quality", "state", "nameable", "Kerry's Library", *WHO)
    assert minter.records("quality", "info:doi/10.1/2")[0]["of"] == "doi:10.1/2"
    assert minter.records("quality", "Kerry's Library")[0]["of"] == "Kerry's Library"
