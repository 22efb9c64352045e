"""`noid depart` and `noid succeed`: names go from one organisation to another, and none is minted twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.minter import Noid
from support.templates import LONG_TERM


@pytest.fixture
def old(tmp_path):
    minter = Noid.created(tmp_path / "old", *LONG_TERM)
    yield minter
    minter.close()


@pytest.fixture
def new(tmp_path):
    minter = Noid(tmp_path / "new")
    yield minter
    minter.close()


@pytest.fixture
def bundle(tmp_path) -> Path:
    return tmp_path / "names.tar"


def departed(minter: Noid) -> dict[str, str]:
    answer = minter("depart", "The new library", "--to", "https://new.example/", "--contact", "ark@new.example")
    return dict(line.split(": ", 1) for line in answer.splitlines() if line)


def test_nothing_is_minted_or_changed_after_the_departure(old):
    first, last = old.ids(2)
    old("custodian", "set", "A person", first)
    answer = departed(old)
    assert answer["Last"] == last and answer["Drawn"] == "2"
    for words in (["mint", "1"], ["peppermint", "1"], ["bind", "set", first, "_t", "https://a.example/"],
                  ["hold", "release", first], ["withdraw", first], ["reserve", first],
                  ["alias", "13030/x", first], ["import", "csv"], ["identify", "https://a.example/"],
                  ["custodian", "set", "Somebody"], ["custodian", "set", "Somebody", first],
                  ["custodian", "remove", first], ["promise", "persistence", "For ever"],
                  ["policy", "minting", "reserve"]):
        message = old.refused(*words, stdin=b"id,_t\n13030/other,https://a.example/\n")
        assert "handed over to The new library" in message and "ark@new.example" in message, words
    assert "already" in old.refused("depart", "Another", "--to", "https://other.example/")
    assert old("depart").splitlines()[0] == "Successor: The new library"
    assert "nothing is wrong" in old("check")


def test_the_resolver_of_the_old_place_can_still_be_administered(old):
    departed(old)
    for words in (["resolver", "cache", "60"], ["site", "url", "https://old.example/"], ["policy", "read", "anyone"],
                  ["token", "new", "monitor", "--may", "read"], ["token", "revoke", "monitor"], ["note", "a", "b"]):
        old(*words)
    assert "nothing is wrong" in old("check")


def test_names_go_on_to_the_successor(old):
    bound, withdrawn, plain = old.ids(3)
    old("bind", "set", bound, "_t", "https://a.example/1")
    old("alias", "13030/kt-alias", bound)
    old("withdraw", withdrawn)
    departed(old)
    for name in (bound, plain, f"ark:/{bound}", "13030/kt-alias", f"{bound}/page/2", "13030/kt50000"):
        assert old("resolve", name).strip() == f"https://new.example/ark:/{name.removeprefix('ark:/')}"
    assert "withdrawn" in old.refused("resolve", withdrawn)
    assert "departure" in old("resolve", bound, "--explain")


def test_a_pepper_is_not_sent_to_the_successor(old):
    (name,) = [line.removeprefix("id: ") for line in old("peppermint", "1").splitlines() if line]
    departed(old)
    assert old("resolve", name).strip() == f"https://new.example/ark:/{name.partition('!')[0]}"


def test_a_template_puts_the_name_where_it_says(old):
    (name,) = old.ids(1)
    old("depart", "The new library", "--to", "https://new.example/find?name=${content}")
    assert old("resolve", name).strip() == f"https://new.example/find?name={name}"


@pytest.mark.parametrize("address", ["", "new.example", "javascript:alert(1)", "/here", "https://${pid}.example/"])
def test_an_address_to_which_nobody_can_be_sent_is_refused(old, address):
    assert "is the URL of another resolver" in old.refused("depart", "The new library", "--to", address)
    assert old.ids(1)


def test_the_successor_goes_on_with_the_next_identifier(old, new, bundle, tmp_path):
    before = old.ids(20)
    old("bind", "set", before[0], "_t", "https://a.example/1")
    old("policy", "persistence", "As long as we exist")
    old("bundle", str(tmp_path / "copy.tar"))
    twin = Noid(tmp_path / "twin")
    twin("restore", str(tmp_path / "copy.tar"))
    expected = twin.ids(30)
    twin.close()
    departed(old)
    old("bundle", str(bundle))
    assert "Successor: The new library" in old("bundle", "verify", str(bundle))
    answer = new("succeed", str(bundle), "--promise", "For a hundred years")
    assert f"Last: {before[-1]}" in answer
    after = new.ids(30)
    assert after == expected and not set(after) & set(before)
    assert new("resolve", before[0]).strip() == "https://a.example/1"
    assert "handed over" in old.refused("mint", "1")
    assert "nothing is wrong" in new("check")
    new("bind", "set", before[1], "_t", "https://a.example/2")


def test_custody_and_promise_are_recorded_with_their_dates(old, new, bundle):
    old("custodian", "set", "The old library")
    old("policy", "persistence", "As long as we exist")
    departed(old)
    assert "persistence-until: " in old("policy")
    old("bundle", str(bundle))
    new("succeed", str(bundle), "--promise", "For a hundred years")
    history = new("custodian", "history")
    assert "Custodian: The old library" in history and "Until: " in history
    assert "Custodian: The new library\nContact: ark@new.example" in history
    policy = new("policy")
    assert "persistence: For a hundred years\npersistence-from: " in policy and "persistence-until" not in policy
    log = new("log")
    assert "As long as we exist" in log and "departure/terms" in log


def test_a_bundle_from_before_the_departure_is_refused_unless_told(old, new, bundle):
    old.ids(3)
    old("bundle", str(bundle))
    later = old.ids(4)
    departed(old)
    message = new.refused("succeed", str(bundle))
    assert "before its minter departed" in message and "minted here again" in message
    assert "needs --name" in new.refused("succeed", str(bundle), "--not-departed", status=2)
    new("succeed", str(bundle), "--not-departed", "--name", "The new library", "--skip", "4")
    assert not set(new.ids(20)) & set(later)


def test_a_minter_is_never_overwritten_by_a_succession(old, new, bundle):
    departed(old)
    old("bundle", str(bundle))
    assert "there is a minter" in old.refused("succeed", str(bundle))
    new("succeed", str(bundle))
    assert "there is a minter" in new.refused("succeed", str(bundle))


def test_a_backup_from_before_the_departure_does_not_mint_either(engine, old, tmp_path):
    old("backup", str(tmp_path / "backup"))
    departed(old)
    old("restore", str(tmp_path / "backup"))
    assert "handed over" in old.refused("mint", "1")


def test_a_departed_minter_that_is_restored_from_its_bundle_stays_so(old, new, bundle):
    departed(old)
    old("bundle", str(bundle))
    new("restore", str(bundle))
    assert "handed over" in new.refused("mint", "1")


def test_the_site_of_the_old_place_leads_on_and_that_of_the_bundle_to_the_targets(old, bundle, tmp_path):
    (name,) = old.ids(1)
    old("bind", "set", name, "_t", "https://a.example/1")
    departed(old)
    old("export", "--site", str(tmp_path / "site"))
    assert f"https://new.example/ark:/{name}" in (tmp_path / f"site/ark:/{name}/index.html").read_text()
    old("bundle", str(bundle))
    assert b"url=https://a.example/1" in bundle.read_bytes() and b"url=https://new.example" not in bundle.read_bytes()
    old("export", "--map", "txt", str(tmp_path / "map.txt"))
    assert f"{name} https://new.example/ark:/{name}" in (tmp_path / "map.txt").read_text()
