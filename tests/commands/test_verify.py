"""verify: each quality, when it holds, fails or is unknown."""

from __future__ import annotations

import pytest

from noidtools.minter.circulation import Circulation
from noidtools.minter.schema import IDS, VERIFIED
from support.verification import create_sound_minter, findings_of, verified


@pytest.fixture
def f5(noid):
    """A minter of which everything can be verified, and an identifier of which everything holds."""
    create_sound_minter(noid)
    return noid


def test_every_quality_of_a_sound_identifier_holds(f5):
    status, found, summary = verified(f5, "13030/f54x54g11")
    assert status == 0
    assert found == {"13030/f54x54g11": {
        "registered": "holds (9.3)", "well-formed": "holds (3.7)", "check-sound": "holds (3.6)",
        "unique": "holds (8.4)", "bound": "holds (9.7)", "resolvable": "holds (9.9)", "accountable": "holds (8.7)",
        "persistent": "holds (8.6)",
    }}
    assert summary["verified"] == "1, 0 failing" and summary["unique"] == "1 hold"


def test_only_what_was_minted_or_bound_is_registered_until_it_is_withdrawn(f5):
    def registered(name: str) -> str:
        return findings_of(f5, name)["registered"]

    assert registered("13030/f54x54g11") == "holds (9.3)"
    assert registered("13030/f5154dn7k").startswith("fails (9.3): ")
    f5("mint", "1")
    assert registered("13030/f5154dn7k") == "holds (9.3)"
    f5("withdraw", "13030/f5154dn7k")
    assert registered("13030/f5154dn7k").startswith("fails (9.3): ")


@pytest.mark.parametrize("spelling", ["ark:/13030/f54x54g11", "ark:13030/f5-4x54g11", "<ark:/13030/f54x54g11>"])
def test_an_identifier_is_verified_in_any_spelling(f5, spelling):
    assert verified(f5, spelling)[1].keys() == {"13030/f54x54g11"}


@pytest.mark.parametrize(("name", "expected"), [
    ("13030/f5154dn7k", {"registered": "fails (9.3): nothing is known of it here", "check-sound": "holds (3.6)",
                         "well-formed": "holds (3.7)"}),
    ("13030/f54x54g12", {
        "registered": "fails (9.3): 13030/f54x54g12 has a wrong check character: something in it was mistyped",
        "well-formed": "holds (3.7)",
        "check-sound": "fails (3.6): the check character is wrong: something in the name was mistyped"}),
    ("hdl:102.100.272/XYZZY", {"registered": "fails (9.3): it is not a name of this minter"}),
    ("", {"registered": "fails (9.3): the identifier is empty"}),
])
def test_names_that_are_not_managed_here_fail_and_are_not_stored(f5, name, expected):
    status, found, _ = verified(f5, name)
    assert status == 1
    assert {key: value for key, value in findings_of(f5, name).items() if key in expected} == expected
    assert f5.read(lambda reader: list(reader.scan(VERIFIED))) == []


def test_an_identifier_of_a_megabyte_is_answered_like_any_other(noid):
    noid("dbcreate")
    done = noid.run("-", stdin=b"verify " + b"i" * (1 << 20) + b"\n")
    assert b"registered: fails (9.3): an identifier may have" in done.stdout and done.returncode == 1


def test_a_stored_identifier_with_a_wrong_check_character_is_found(f5):
    """As it may in a database that was filled by other means."""
    record = Circulation(0, 1, 1, b"i").packed()
    f5.write(lambda writer: writer.put_many(IDS, [(b"13030/f54x54g12", record), (b"13030/other", record)]))
    assert findings_of(f5, "13030/f54x54g12")["check-sound"].startswith("fails (3.6)")
    status, found, _ = verified(f5)
    assert found["13030/other"]["well-formed"].startswith("fails (3.7): 13030/other does not begin with 13030/f5")
    assert "check-sound" in found["13030/f54x54g12"] and "13030/f54x54g11" not in found


def test_the_form_of_a_bound_name_from_elsewhere_is_unknown_and_no_failure(noid):
    noid("dbcreate", "f5.reedeedk", "medium", "13030")
    noid("bind", "set", "http://purl.org/1/321", "_t", "https://target.example/")
    printed = noid.run("verify", "http://purl.org/1/321").stdout.decode()
    assert "well-formed: unknown" in printed and "made elsewhere" in printed and "fails" not in printed


def test_labels_of_a_mask_that_grew_are_well_formed(noid):
    noid("dbcreate", "--at-last", "add1", "b2.sdk", "long", "12345", "a", "b")
    noid("mint", "15", "_t", "https://example.org/")
    assert verified(noid)[2]["check-sound"] == "15 hold"


def test_a_minter_of_anything_has_no_wrong_form(noid):
    noid("dbcreate")
    noid("bind", "set", b"any thing \xff", "_t", "https://example.org/")
    status, found, summary = verified(noid)
    assert (status, found) == (0, {}) and summary["well-formed"] == "1 hold" and "check-sound" not in summary


def test_a_name_issued_twice_by_a_long_term_minter_is_not_unique(f5):
    def again(writer):
        packed = writer.get(IDS, b"13030/f54x54g11")
        record = Circulation.unpacked(packed)
        record.history = b"i" + record.history
        writer.put(IDS, b"13030/f54x54g11", record.packed())

    f5.write(again)
    assert findings_of(f5, "13030/f54x54g11")["unique"] == "fails (8.4): it was given 2 times"


def test_a_short_term_name_issued_again_is_unique(noid):
    noid("dbcreate", ".sd", "short")
    noid("mint", "11")
    assert findings_of(noid, "0")["unique"] == "holds (8.4)"


def test_two_spellings_of_one_name_stored_separately_are_not_unique(noid):
    noid("dbcreate", "-", "medium", "13030", "a", "b")
    noid("bind", "set", "13030/b-c169", "_t", "https://example.org/1")
    assert findings_of(noid, "13030/b-c169")["unique"] == "holds (8.4)"
    noid("bind", "set", "13030/bc169", "_t", "https://example.org/2")
    assert findings_of(noid, "13030/b-c169")["unique"] == (
        "fails (8.4): 13030/bc169, another spelling of the same name, is kept apart from it")


def test_names_without_binding_or_address_fail(f5):
    f5("mint", "3")
    f5("bind", "set", "13030/f5154dn7k", "title", "only a title")
    f5("bind", "set", "13030/f5wd3q12m", "_t", "javascript:alert(1)")
    assert findings_of(f5, "13030/f5154dn7k")["bound"] == "holds (9.7)"
    assert findings_of(f5, "13030/f5154dn7k")["resolvable"] == "fails (9.9): nothing is bound to _t"
    assert findings_of(f5, "13030/f5wd3q12m")["resolvable"] == "fails (9.9): what is bound to _t is not an address"
    status, found, summary = verified(f5)
    assert status == 1 and len(found) == 3 and summary["verified"] == "4, 3 failing"
    assert summary["bound"] == "3 hold, 1 fail" and summary["resolvable"] == "1 hold, 3 fail"


def test_a_rule_or_an_alias_makes_a_name_resolvable(noid):
    noid("dbcreate", "kt.sdd")
    noid("mint", "3")
    noid("bind", "set", ":idmap/^kt0([01])$", "_t", "https://example.org/$1")
    noid("alias", "kt02", "kt00")
    noid("alias", "old-name", "kt01")
    status, found, summary = verified(noid)
    assert (status, found) == (0, {})
    assert summary["resolvable"] == "4 hold" and summary["bound"] == "4 hold"
    assert summary["well-formed"] == "3 hold, 1 unknown"


def test_the_configured_element_of_the_resolver_is_verified(f5):
    f5("bind", "set", "13030/f54x54g11", "url", "https://example.org/")
    f5("bind", "purge", "13030/f54x54g11", "_t")
    assert "nothing is bound to _t" in findings_of(f5, "13030/f54x54g11")["resolvable"]
    f5("resolver", "element", "url")
    assert findings_of(f5, "13030/f54x54g11")["resolvable"] == "holds (9.9)"


def test_resolvability_of_a_reserved_name_is_unknown_and_a_withdrawn_one_is_not_registered(f5):
    f5("mint", "2")
    f5("reserve", "13030/f5154dn7k")
    f5("withdraw", "13030/f5wd3q12m", "--reason", "an error")
    reserved = findings_of(f5, "13030/f5154dn7k")
    assert reserved["resolvable"] == "unknown (9.9): it is reserved, and not yet for the public"
    withdrawn = f5.run("verify", "13030/f5wd3q12m")
    assert withdrawn.returncode == 1 and b"registered: fails (9.3): it was withdrawn on 20" in withdrawn.stdout
    assert b"resolvable" not in withdrawn.stdout
    assert "f5wd3q12m" not in f5.run("verify").stdout.decode()
    assert verified(f5)[0] == 0


def test_a_custodian_without_contact_fails_accountability(f5):
    f5("custodian", "set", "Somebody", "13030/f54x54g11")
    found = findings_of(f5, "13030/f54x54g11")
    assert found["accountable"] == "fails (8.7): Somebody answers for it, but with no contact"
    status, found, summary = verified(f5)
    assert status == 1 and list(found["13030/f54x54g11"]) == ["accountable"]
    f5("custodian", "set", "Somebody", "--contact", "tel:+1", "13030/f54x54g11")
    assert findings_of(f5, "13030/f54x54g11")["accountable"] == "holds (8.7)"


def test_qualities_without_a_statement_are_unknown_and_no_failure(noid):
    noid("dbcreate", ".sdd")
    noid("mint", "1", "_t", "https://example.org/")
    status, found, summary = verified(noid)
    assert (status, found) == (0, {})
    (custodian,) = noid.records("custodian")
    assert summary["accountable"] == (
        f"1 unknown: {custodian['custodian']} answers for it, for whom the minter was made, but no contact is known: "
        "run 'noid custodian set Name --contact Contact'")
    assert summary["persistent"] == "1 unknown: nothing was promised: run 'noid promise persistence'"


@pytest.mark.parametrize(("words", "verdict"), [
    (["--until", "2999"], "holds (8.6)"),
    ([], "holds (8.6)"),
    (["--from", "2010", "--until", "2020-06"], "fails (8.6): it was promised until 2020-06-30 only"),
    (["--from", "2990"], "unknown (8.6): it is promised from 2990-01-01 on"),
])
def test_persistence_is_verified_against_the_time_span_of_the_commitment(f5, words, verdict):
    f5("policy", "persistence", "as long as we can", *words)
    assert findings_of(f5, "13030/f54x54g11")["persistent"] == verdict


def test_a_failure_of_all_identifiers_is_reported_once(f5):
    f5("mint", "20", "_t", "https://example.org/")
    f5("policy", "persistence", "it was", "--from", "2010", "--until", "2020")
    status, found, summary = verified(f5)
    assert status == 1 and found == {}
    assert summary["verified"] == "21, 21 failing"
    assert summary["persistent"] == "21 fail: it was promised until 2020-12-31 only"


def test_an_identifier_is_confirmed_only_if_nothing_is_unknown(noid):
    """9.12: the answer is yes or no."""
    noid("dbcreate", ".sdd")
    noid("mint", "1", "_t", "https://example.org/")
    done = noid.run("verify", "00")
    assert done.returncode == 1 and b"\naccountable: unknown" in done.stdout and b"\nanswer: no\n" in done.stdout
    assert b"\nverified: 1, 0 failing, 1 not confirmed\n" in done.stdout
    asked = noid("verify", "00", "--quality", "resolvable", "--quality", "registered")
    assert asked.split("\n\n")[0] == (
        "id: 00\nregistered: holds (9.3)\nresolvable: holds (9.9)\nanswer: yes")
    assert noid.run("verify", "00", "--quality", "persistent").returncode == 1
    assert b"answer: no" in noid.run("verify", "77", "--quality", "resolvable").stdout, "it is not registered"
    for word in ("retrievable", "beautiful", ""):
        assert "use one of registered" in noid.refused("verify", "00", "--quality", word, status=2)
    noid("custodian", "set", "Jo", "--contact", "tel:1")
    noid("policy", "persistence", "kept")
    assert "\nanswer: yes\n" in noid("verify", "00")
