"""Who answers for a minter and its identifiers, and what the minter promises."""

from __future__ import annotations

import pytest
from living_support import LONG, START, Room
from url_support import USER, Web, command, create

from noidtools.errors import ConflictError, InvalidError, NotFoundError, UsageError
from noidtools.minter import custody, policies


@pytest.fixture
def room(tmp_path):
    room = Room(tmp_path, *LONG)
    room.mint(2)
    yield room
    room.close()


ID, OTHER = "13030/f54x54g11", "13030/f5154dn7k"


def test_somebody_answers_for_a_minter_from_the_first_day(room, tmp_path):
    assert room("custodian") == [{"of": "this minter", "custodian": "cdlib.org", "from": START}]
    plain = Room(tmp_path / "plain", ".sd")
    assert plain("custodian") == [{"of": "this minter", "custodian": "me/us", "from": START}]
    plain.close()


def test_custodianship_of_a_minter_is_handed_over_and_its_history_kept(room):
    room("custodian", "set", "Jane Doe", "--contact", "mailto:jane@example.org")
    room.clock.set("20280101000000")
    room("custodian", "set", "The Archive")
    assert room("custodian") == [{"of": "this minter", "custodian": "The Archive", "from": "20280101000000"}]
    assert room("custodian", "history") == [
        {"of": "this minter", "custodian": "Jane Doe", "contact": "mailto:jane@example.org", "from": START,
         "until": "20280101000000"},
        {"of": "this minter", "custodian": "The Archive", "from": "20280101000000"},
    ]
    assert [(e["what"], e["changes"][0]["before"], e["changes"][0]["after"]) for e in room("log", "--since", "2")] == [
        ("custodian", None, "Jane Doe"), ("custodian", "Jane Doe", "The Archive")]


def test_an_identifier_may_have_a_custodian_of_its_own(room):
    room("custodian", "set", "Jane", "--contact", "jane@example.org")
    assert room("custodian", ID)[0]["of"] == "this minter" and room("custodian", ID)[0]["custodian"] == "Jane"
    room("custodian", "set", "Kim", "--contact", "kim@example.org", ID)
    assert room("custodian", "show", ID) == [
        {"of": ID, "custodian": "Kim", "contact": "kim@example.org", "from": START}]
    assert room("custodian", OTHER)[0]["custodian"] == "Jane"
    room("custodian", "set", "Lee", ID)
    room("custodian", "remove", ID)
    assert room("custodian", ID)[0]["custodian"] == "Jane"
    assert [c["custodian"] for c in room("custodian", "history", ID)] == ["Kim", "Lee"]
    assert room.whats(ID) == ["mint", "custodian", "custodian", "custodian remove"]
    assert isinstance(room.refused("custodian", "remove", ID), NotFoundError)


def test_somebody_answers_for_a_withdrawn_identifier_too(room):
    room("withdraw", ID)
    room("custodian", "set", "Kim", ID)
    assert room("custodian", ID)[0]["custodian"] == "Kim"


def test_what_is_no_custodian_is_refused(room):
    for words, kind in (
        (["custodian", "set"], UsageError), (["custodian", "remove"], UsageError),
        (["custodian", "a", "b"], UsageError), (["custodian", "--contact", "x"], UsageError),
        (["custodian", "set", "Kim", ID, "x"], UsageError), (["custodian", "set", ""], InvalidError),
        (["custodian", "set", "a\nb"], InvalidError), (["custodian", "set", "x" * 2000], InvalidError),
        (["custodian", "set", "Kim", "--contact", "a\tb"], InvalidError),
        (["custodian", "set", "Kim", "13030/f5wd3q12m"], NotFoundError), (["custodian", "nonsense"], InvalidError),
        (["custodian", "history"], NotFoundError), (["custodian", "history", ID], NotFoundError),
    ):
        assert isinstance(room.refused(*words), kind), words
    room("custodian", "set", "Kim")
    assert isinstance(room.refused("custodian", "set", "Kim"), ConflictError)


def test_a_free_minters_identifier_may_be_called_like_a_word_of_the_command(tmp_path):
    room = Room(tmp_path)
    room("bind", "set", "set", "e", "v")
    room("custodian", "set", "Kim", "set")
    assert room("custodian", "show", "set")[0] == {"of": "set", "custodian": "Kim", "from": START}
    room.close()


def test_whoever_asks_in_the_program_gets_a_custodian(room):
    found = room.minter.read(lambda reader: custody.current_custodian(room.minter, reader, ID.encode()))
    assert (found.name, found.contact, found.of) == (b"cdlib.org", b"", custody.MINTER)


# -- what the minter promises ----------------------------------------------------------------------------------------


def test_all_policies_of_a_minter_are_shown_together(room):
    assert room("policy")[1] == {
        "label-format": "scheme noid; template f5.reedeedk; size 70728100; order random", "minting": "publish"}
    room("policy", "association", "Things in the archive.")
    room("policy", "persistence", "We keep every name and its target.", "--from", "2026", "--until", "2126")
    assert room("policy")[1] == {
        "label-format": "scheme noid; template f5.reedeedk; size 70728100; order random", "minting": "publish",
        "association": "Things in the archive.", "persistence": "We keep every name and its target.",
        "persistence-from": "20260101000000", "persistence-until": "21261231235959"}
    assert room("policy", "label-format")[0]["label-format"].startswith("scheme noid")


def test_a_persistence_commitment_is_a_text_and_a_time_and_can_be_changed(room):
    assert room("policy", "persistence", "For now.", "--until", "2030-06") == [{
        "persistence": "For now.", "persistence-from": START, "persistence-until": "20300630235959"}]
    promise = room.minter.read(policies.persistence)
    assert (promise.text, promise.start, promise.until) == (b"For now.", START.encode(), b"20300630235959")
    room("policy", "persistence", "For ever.")
    assert room("policy", "persistence")[0]["persistence-until"] == ""
    assert room("policy", "persistence", "default") == [{"persistence": ""}]
    assert room.minter.read(policies.persistence) is None
    changed = [(c["what"], c["before"], c["after"]) for e in room("log") if e["what"] == "config" for c in e["changes"]]
    assert ("commitment/persistence", "For now.", "For ever.") in changed
    assert ("commitment/persistence", "For ever.", None) in changed


def test_what_is_no_policy_is_refused(room):
    for words, kind in (
        (["policy", "label-format", "anything"], UsageError), (["policy", "association", "two", "words"], UsageError),
        (["policy", "persistence", "--until", "2030"], UsageError), (["policy", "persistence", ""], InvalidError),
        (["policy", "persistence", "x", "--until", "soon"], UsageError),
        (["policy", "persistence", "x", "--from", "2030", "--until", "2029"], UsageError),
        (["policy", "association", "x" * 5000], InvalidError), (["policy", "nonsense"], UsageError),
    ):
        assert isinstance(room.refused(*words), kind), words


# -- through the doors -----------------------------------------------------------------------------------------------


def test_custodians_at_the_shell(noid):
    noid("dbcreate", "x.sd")
    noid("mint", "1")
    out = noid("custodian", "set", "Jane Doe", "--contact", "mailto:jane@example.org")
    assert out.startswith("of: this minter\nCustodian: Jane Doe\nContact: mailto:jane@example.org\nFrom: ")
    assert noid("custodian", "x0") == noid("custodian") == out
    noid("custodian", "set", "Kim", "x0")
    assert noid("custodian", "remove", "x0") == "ok: Kim no longer answers for x0\n\n"
    assert "\nUntil: " in noid("custodian", "history", "x0")
    noid.refused("custodian", "set", status=2)


def test_everybody_may_ask_by_url_whom_to_ask_and_administrators_hand_over(tmp_path):
    create(tmp_path / "kt5", "x.sd")
    command(tmp_path / "kt5", "mint", "1")
    web = Web(tmp_path)
    assert web("custodian+set+Jane").status == web("custodian+remove+x0").status == 401
    assert web("custodian+set+Jane+--contact+jane@example.org+x0", user=USER).status == 200
    (record,) = web("custodian+x0", accept="application/json").json["records"]
    assert (record["custodian"], record["contact"]) == ("Jane", "jane@example.org")
    assert web("custodian+history+x0").status == 200
    assert web("custodian+--+set+Kim").status == 401
    assert web("policy+persistence+always", user=USER).text.startswith("persistence: always\n")
    assert web("policy+persistence+never").status == 401
