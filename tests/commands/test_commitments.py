"""What a minter promises: the policies association, persistence and minting."""

from __future__ import annotations

import pytest

from noidtools.errors import InvalidError, UsageError
from noidtools.minter import policies
from support.minter import START, Noid
from support.templates import CHECKED


@pytest.fixture
def minter(tmp_path):
    minter = Noid.with_clock(tmp_path, *CHECKED)
    minter.mint(2)
    yield minter
    minter.close()


def test_all_policies_of_a_minter_are_shown_together(minter):
    assert minter.records("policy")[1] == {
        "label-format": "scheme noid; template f5.reedeedk; size 70728100; order random", "minting": "publish",
        "mint-limit": "10000"}
    minter.records("policy", "association", "Things in the archive.")
    minter.records("policy", "persistence", "We keep every name and its target.", "--from", "2026", "--until", "2126")
    assert minter.records("policy")[1] == {
        "label-format": "scheme noid; template f5.reedeedk; size 70728100; order random", "minting": "publish",
        "mint-limit": "10000",
        "association": "Things in the archive.", "persistence": "We keep every name and its target.",
        "persistence-from": "20260101000000", "persistence-until": "21261231235959"}
    assert minter.records("policy", "label-format")[0]["label-format"].startswith("scheme noid")


def test_a_persistence_commitment_is_a_text_and_a_time_and_can_be_changed(minter):
    assert minter.records("policy", "persistence", "For now.", "--until", "2030-06") == [{
        "persistence": "For now.", "persistence-from": START, "persistence-until": "20300630235959"}]
    promise = minter.read(policies.persistence)
    assert (promise.text, promise.start, promise.until) == (b"For now.", START.encode(), b"20300630235959")
    minter.records("policy", "persistence", "For ever.")
    assert minter.records("policy", "persistence")[0]["persistence-until"] == ""
    assert minter.records("policy", "persistence", "default") == [{"persistence": ""}]
    assert minter.read(policies.persistence) is None
    changed = [(change["what"], change["before"], change["after"]) for event in minter.records("log")
               if event["what"] == "config" for change in event["changes"]]
    assert ("commitment/persistence", "For now.", "For ever.") in changed
    assert ("commitment/persistence", "For ever.", None) in changed


def test_policy_refuses_wrong_words(minter):
    for words, kind in (
        (["policy", "label-format", "anything"], UsageError), (["policy", "association", "two", "words"], UsageError),
        (["policy", "persistence", "--until", "2030"], UsageError), (["policy", "persistence", ""], InvalidError),
        (["policy", "persistence", "x", "--until", "soon"], UsageError),
        (["policy", "persistence", "x", "--from", "2030", "--until", "2029"], UsageError),
        (["policy", "association", "x" * 5000], InvalidError), (["policy", "nonsense"], UsageError),
    ):
        assert isinstance(minter.refusal(*words), kind), words
