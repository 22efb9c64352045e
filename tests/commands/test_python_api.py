"""The Python interface: what its methods do, and that they do what the commands do."""

from __future__ import annotations

import io
import re
from datetime import date, datetime, timedelta, timezone
from itertools import islice

import pytest

import noidtools
from noidtools import (
    AliasLink,
    Binding,
    ConflictError,
    ExhaustedError,
    ForbiddenError,
    GoneError,
    InvalidError,
    NoidError,
    NotFoundError,
    RuleBinding,
    StoreError,
    UsageError,
)
from noidtools.minter import Minter, schema
from noidtools.minter.events import Actor
from noidtools.minter.report import dump
from support.clock import SettableClock
from support.minter import START, Noid
from support.templates import CHECKED

URL = "https://example.org/a"
OTHER = "https://example.org/b"
NOW = datetime(2026, 11, 16, tzinfo=timezone.utc)
FIRST, SECOND, THIRD = "13030/f54x54g11", "13030/f5154dn7k", "13030/f5wd3q12m"


def create(folder, *template: str, **options) -> noidtools.OpenMinter:
    words = dict(zip(("template", "term", "naan", "naa", "subnaa"), template or CHECKED, strict=False))
    return noidtools.create(folder, who="me/us", clock=SettableClock.at(START), **words, **options)


@pytest.fixture
def minter(tmp_path):
    with create(tmp_path / "kt5") as made:
        yield made


@pytest.fixture
def free(tmp_path):
    """A minter that binds whatever it is given."""
    with create(tmp_path / "free", "") as made:
        yield made


# -- opening and creating --------------------------------------------------------------------------------------------


def test_a_first_session(tmp_path):
    noidtools.create(tmp_path / "kt5", "f5.reedeedk", term="long", naan="13030", naa="cdlib.org", subnaa="oac").close()
    with noidtools.open(tmp_path / "kt5") as minter:
        ids = minter.mint(3)
        minter.bind(ids[0], "_t", URL)
        assert ids == [FIRST, SECOND, THIRD]
        assert minter.fetch(ids[0]).elements == {"_t": URL}
        assert minter.resolve(ids[0]).target == URL
        assert [event.action for event in minter.history(ids[0])] == ["mint", "bind set"]


def test_there_may_be_no_minter(tmp_path):
    with pytest.raises(noidtools.NoMinterError) as refused:
        noidtools.open(tmp_path)
    assert refused.value.kind == "no minter" and isinstance(refused.value, StoreError)


def test_a_minter_is_created_only_once(tmp_path):
    create(tmp_path / "kt5").close()
    with pytest.raises(ConflictError):
        create(tmp_path / "kt5")


def test_what_is_not_created_leaves_no_folder(tmp_path):
    with pytest.raises(UsageError):
        create(tmp_path / "kt5", ".sd", "forever")
    with pytest.raises(UsageError):
        noidtools.create(tmp_path / "kt5", computer="example.org")
    with pytest.raises(StoreError):
        create(tmp_path / "missing" / "kt5")
    assert list(tmp_path.iterdir()) == []


def test_an_existing_folder_may_be_used_and_stays_when_creation_fails(tmp_path):
    (tmp_path / "NOID").write_text("in the way")
    with pytest.raises(NoidError):
        create(tmp_path)
    assert (tmp_path / "NOID").read_text() == "in the way"


def test_every_scheme_can_be_created(tmp_path):
    with create(tmp_path / "ibi", "", scheme="ibi", computer="mtc-m18.sid.inpe.br", port=80) as minter:
        assert minter.mint() == ["sid.inpe.br/mtc-m18/2026/11.16.00.00"]
    with create(tmp_path / "ibip", "", scheme="ibip", ip="150.163.34.243", port=800, granularity=60) as minter:
        assert len(minter.mint()) == 1
    with create(tmp_path / "pilin", "", scheme="pilin", prefix="102.100.272", patience=5) as minter:
        assert minter.mint()[0].startswith("102.100.272/")
    with create(tmp_path / "noid", "b.rd", "short", seed=1, at_last="wrap", labels=["x:"]) as minter:
        assert all(identifier.startswith("x:b") for identifier in minter.mint(2))


def test_a_closed_minter_says_so(minter):
    minter.close()
    minter.close()
    assert minter.closed and repr(minter) == "<OpenMinter closed>"
    with pytest.raises(StoreError, match="closed"):
        minter.mint()
    with pytest.raises(StoreError, match="closed"), minter.transaction():
        pass


def test_a_minter_is_named_in_its_representation(minter, tmp_path):
    assert repr(minter) == f"<OpenMinter {str(tmp_path / 'kt5')!r}>"
    assert not minter.closed


def test_who_acts_is_recorded(tmp_path):
    create(tmp_path / "kt5").close()
    with noidtools.open(tmp_path / "kt5", who="script@host") as minter:
        assert minter.who == "script@host"
        (identifier,) = minter.mint()
        event = minter.history(identifier)[-1]
        assert (event.who, event.interface, event.action) == ("script@host", "python", "mint")
    with noidtools.open(tmp_path / "kt5") as minter:
        assert "/" in minter.who


# -- text ------------------------------------------------------------------------------------------------------------


def test_bytes_are_accepted_wherever_text_is(minter):
    (identifier,) = minter.mint()
    done = minter.bind(identifier.encode(), b"_t", URL.encode())
    assert done == Binding(identifier, "_t", "set", len(URL), 0)
    assert minter.get(identifier.encode(), b"_t") == URL
    assert minter.resolve(identifier.encode()).target == URL


def test_bytes_are_returned_where_requested(minter):
    (identifier,) = minter.mint()
    minter.bind(identifier, "title", "Über")
    assert minter.get(identifier, "title", raw=True) == "Über".encode()
    assert minter.elements(identifier, raw=True) == {b"title": "Über".encode()}


def test_bytes_that_are_not_utf8_survive_a_round_trip_through_text(minter):
    one, other = minter.mint(2)
    minter.bind(one, "picture", b"\xff\x00\xfe")
    text = minter.get(one, "picture")
    assert text == "\udcff\x00\udcfe"
    minter.bind(other, "picture", text)
    assert minter.get(other, "picture", raw=True) == b"\xff\x00\xfe"


def test_what_is_no_text_is_refused(minter):
    with pytest.raises(InvalidError):
        minter.bind(FIRST, "_t", "\ud800")
    with pytest.raises(UsageError):
        minter.fetch(7)
    with pytest.raises(UsageError):
        minter.log(since=7)


# -- minting ---------------------------------------------------------------------------------------------------------


def test_minting_gives_one_unless_told_otherwise(minter):
    assert minter.mint() == [FIRST]
    assert minter.mint(0) == []
    assert minter.mint(2) == [SECOND, THIRD]


@pytest.mark.parametrize("count", [-1, 1.5, "3", True, None])
def test_a_count_is_a_whole_number(minter, count):
    for mint in (minter.mint, minter.peppermint, minter.mint_many):
        with pytest.raises(UsageError):
            mint(count)


def test_minting_binds_at_once(minter):
    ids = minter.mint(2, elements={"_t": URL})
    assert [minter.get(identifier, "_t") for identifier in ids] == [URL, URL]


def test_minting_binds_several_elements_and_sets_the_state_in_one_event(minter):
    (identifier,) = minter.mint(elements={"_t": URL, "title": "Kant", "cover": b"\xff"}, state="reserved")
    assert minter.elements(identifier, raw=True) == {b"_t": URL.encode(), b"title": b"Kant", b"cover": b"\xff"}
    assert minter.fetch(identifier).state == "reserved"
    (event,) = minter.history(identifier)
    assert event.action == "mint" and [(change.what, change.after) for change in event.changes] == [
        ("state", "reserved"), ("_t", URL), ("title", "Kant"), ("cover", "\udcff")]
    minter.publish(identifier)
    assert minter.resolve(identifier).target == URL
    minter.set_policy(minting="reserve")
    (public,) = minter.mint(elements={"_t": URL}, state="published")
    assert minter.fetch(public).state == "published"
    (peppered,) = minter.peppermint(elements={"a": "1", "b": "2"}, state="reserved")
    assert minter.elements(peppered) == {"a": "1", "b": "2"}
    assert [minter.fetch(name).state for name in minter.mint_many(2, state="published")] == ["published"] * 2
    with pytest.raises(UsageError, match="published or reserved"):
        minter.mint(state="withdrawn")


def test_an_element_that_is_no_name_undoes_the_minting(minter):
    with pytest.raises(UsageError, match="element name is empty"):
        minter.mint(elements={"fine": "1", "": "2"})
    assert minter.info().drawn == 0


def test_more_than_fits_into_a_transaction_is_refused_before_it_begins(tmp_path):
    with create(tmp_path / "large", ".reeeeeeeek", "medium") as minter:
        for mint in (minter.mint, minter.peppermint):
            with pytest.raises(UsageError, match="at most 1,000,000 identifiers: for 8,000,000 use mint_many"):
                mint(8_000_000)
        assert minter.info().drawn == 0


@pytest.mark.long
@pytest.mark.only("lmdb")
def test_what_does_not_fit_into_a_transaction_is_refused_in_words(tmp_path):
    with create(tmp_path / "large", ".reeeeeeeek", "medium") as minter:
        with pytest.raises(StoreError, match="^this is too much for one transaction, so nothing was changed"):
            minter.mint(500_000, elements={"text": "x" * 1900})
        assert minter.info().drawn == 0 and len(minter.mint()) == 1


def test_minting_gives_all_or_none(tmp_path):
    with create(tmp_path / "ten", ".sd", "medium") as minter:
        with pytest.raises(ExhaustedError):
            minter.mint(11)
        assert minter.info().drawn == 0
        assert minter.mint(10) == list("0123456789")
        with pytest.raises(ExhaustedError):
            minter.mint()


def test_a_peppered_identifier_changes_only_with_its_pepper(minter):
    (peppered,) = minter.peppermint()
    identifier, mark, pepper = peppered.rpartition("!")
    assert mark and len(pepper) == 16
    with pytest.raises(ForbiddenError) as refused:
        minter.bind(identifier, "_t", URL)
    assert refused.value.kind == "forbidden"
    minter.bind(peppered, "_t", URL)
    assert minter.get(identifier, "_t") == URL


def test_many_are_minted_in_chunks_and_yielded_once_they_are_on_disk(tmp_path):
    with create(tmp_path / "many", "z.reededek", "medium") as minter:
        stream = minter.mint_many(25_000)
        assert minter.info().drawn == 0, "nothing is minted before the first is requested"
        ids = list(islice(stream, 5))
        assert minter.info().drawn == 10_000
        ids += list(stream)
        assert len(set(ids)) == 25_000 and minter.info().drawn == 25_000
        (event,) = [event for event in minter.log() if event.action == "mint"]
        assert (event.minted.made, event.minted.requested) == (25_000, 25_000)
        assert (event.minted.first, event.minted.last) == (ids[0], ids[-1])


def test_many_end_where_the_namespace_ends(tmp_path):
    with create(tmp_path / "ten", ".sd", "medium") as minter:
        got = []
        with pytest.raises(ExhaustedError):
            for identifier in minter.mint_many(11):
                got.append(identifier)
        assert got == list("0123456789")


def test_many_may_be_peppered_and_bound(minter):
    ids = list(minter.mint_many(3, peppered=True, elements={"_t": URL}))
    assert [minter.get(identifier.partition("!")[0], "_t") for identifier in ids] == [URL] * 3


def test_labels_of_time_are_waited_for(tmp_path):
    clock = SettableClock.at(START)
    with noidtools.create(tmp_path, scheme="ibi", computer="a.example.org", granularity=1, clock=clock) as minter:
        begun = clock()
        assert minter.mint(3)[-1] == "example.org/a/2026/11.16.00.00.02"
        assert clock() - begun == 2_000_000_000
        with pytest.raises(noidtools.BusyError):
            minter.mint(100, patience=10)
        assert minter.info().drawn == 3
        assert len(list(minter.mint_many(100, patience=1.5))) == 100


# -- binding ---------------------------------------------------------------------------------------------------------


def test_all_ways_of_binding(minter):
    (identifier,) = minter.mint()
    for how, value, expected in (
        ("new", "b", "b"), ("append", "c", "bc"), ("prepend", "a", "abc"), ("replace", "x", "x"), ("set", "y", "y"),
        ("add", "z", "yz"), ("insert", "x", "xyz"),
    ):
        before = len(minter.get(identifier, "letters", default=""))
        assert minter.bind(identifier, "letters", value, how=how) == Binding(identifier, "letters", how, 1, before)
        assert minter.get(identifier, "letters") == expected
    assert minter.bind(identifier, "letters", how="delete") == Binding(identifier, "letters", "delete", 0, 3)
    assert minter.bind(identifier, "letters", how="purge").before == 0
    with pytest.raises(NotFoundError):
        minter.bind(identifier, "letters", how="delete")
    with pytest.raises(NotFoundError):
        minter.bind(identifier, "letters", "x", how="replace")
    minter.bind(identifier, "letters", "x")
    with pytest.raises(ConflictError):
        minter.bind(identifier, "letters", "y", how="new")


def test_binding_may_mint(minter):
    made = minter.bind("new", "_t", URL, how="mint")
    assert made == Binding(FIRST, "_t", "mint", len(URL), 0)
    peppered = minter.bind("new", "_t", URL, how="peppermint")
    assert peppered.identifier.startswith(SECOND + "!")
    with pytest.raises(UsageError):
        minter.bind(FIRST, "_t", URL, how="mint")


def test_a_value_belongs_to_all_but_removals(minter):
    (identifier,) = minter.mint()
    for how, value in (("set", None), ("delete", "x"), ("purge", "x"), ("upset", "x")):
        with pytest.raises(UsageError):
            minter.bind(identifier, "_t", value, how=how)
    with pytest.raises(UsageError):
        minter.bind_many(identifier, {"_t": "x"}, how="delete")


def test_many_elements_are_bound_together(minter):
    (identifier,) = minter.mint()
    done = minter.bind_many(identifier, {"who": "Darwin", "when": b"1859"})
    assert [bound.element for bound in done] == ["who", "when"]
    assert minter.elements(identifier) == {"when": "1859", "who": "Darwin"}
    with pytest.raises(ConflictError):
        minter.bind_many(identifier, {"what": "On the origin of species", "who": "Wallace"}, how="new")
    assert minter.elements(identifier) == {"when": "1859", "who": "Darwin"}
    minted = minter.bind_many("new", {"who": "Wallace", "when": "1858"}, how="mint")
    assert {bound.identifier for bound in minted} == {SECOND}


def test_elements_are_read_by_name(minter):
    (identifier,) = minter.mint()
    minter.bind_many(identifier, {"a": "1", "b": "2", "c": "3"})
    assert minter.elements(identifier, "c", "a") == {"c": "3", "a": "1"}
    assert minter.fetch(identifier, "b").elements == {"b": "2"}
    with pytest.raises(UsageError):
        minter.elements(identifier, "a", "a")
    with pytest.raises(NotFoundError):
        minter.elements(identifier, "a", "d")


def test_a_missing_value_has_a_default_if_one_is_given(minter):
    (identifier,) = minter.mint()
    with pytest.raises(NotFoundError):
        minter.get(identifier, "_t")
    assert minter.get(identifier, "_t", default=None) is None
    assert minter.get(identifier, "_t", default="nothing", raw=True) == "nothing"
    with pytest.raises(NotFoundError):
        minter.elements(identifier)


def test_a_name_is_fetched_with_its_circumstances(minter):
    (identifier,) = minter.mint()
    minter.bind(identifier, "title", "Über")
    record = minter.fetch(identifier)
    assert (record.identifier, record.state, record.held, record.alias_of) == (identifier, "published", True, None)
    assert record.circulation == "i|20261116000000|me/us|1"
    assert dict(record.elements) == {"title": "Über"} and dict(record.computed) == {}
    with pytest.raises(AttributeError):
        record.state = "reserved"
    assert hash(record) == hash(minter.fetch(identifier))


def test_rules_compute_elements(minter):
    (identifier,) = minter.mint()
    minter.bind(":idmap/^13030/(f5.*)", "_t", "https://example.org/$1")
    assert minter.rules() == [RuleBinding("^13030/(f5.*)", "_t", "https://example.org/$1")]
    record = minter.fetch(identifier, "_t")
    assert record.elements == {"_t": "https://example.org/f54x54g11"}
    assert record.computed == {"_t": "^13030/(f5.*)"}
    assert minter.resolve(identifier).step == "rule"
    assert minter.fetch(":idmap/^13030/(f5.*)").circulation == "rule"
    minter.bind(":idmap/^13030/(f5.*)", "_t", how="delete")
    assert minter.rules() == []


# -- resolving -------------------------------------------------------------------------------------------------------


def test_a_resolution_has_target_code_and_step(minter):
    (identifier,) = minter.mint()
    minter.bind(identifier, "_t", f"303 {URL}|{OTHER}")
    found = minter.resolve("ark:" + identifier)
    assert (found.outcome, found.identifier, found.step) == ("found", identifier, "stored")
    assert (found.target, found.code, found.reason, found.trace) == (URL, 303, "", ())
    assert [(target.url, target.code) for target in found.targets] == [(URL, 303), (OTHER, 302)]
    assert minter.resolve(identifier + "/chapter").target == URL + "/chapter"
    assert minter.resolve(identifier + "/chapter").step == "passthrough"


def test_another_element_may_hold_the_target(minter):
    (identifier,) = minter.mint()
    minter.bind(identifier, "mirror", OTHER)
    assert minter.resolve(identifier, element="mirror").target == OTHER


def test_what_leads_nowhere_is_refused_or_explained(minter):
    (identifier,) = minter.mint()
    with pytest.raises(NotFoundError, match="does not resolve"):
        minter.resolve(identifier)
    outcome = minter.resolve(identifier, explain=True)
    assert (outcome.outcome, outcome.target, outcome.code, outcome.targets) == ("not found", None, 0, ())
    assert "nothing says where it leads" in outcome.reason
    assert [step for step, _ in outcome.trace][:2] == ["given", "normal form"]
    minter.bind(identifier, "_t", URL)
    minter.withdraw(identifier)
    assert minter.resolve(identifier, explain=True).outcome == "gone"
    for name in (identifier, identifier + "/page"):
        with pytest.raises(GoneError, match="was withdrawn") as refused:
            minter.resolve(name)
        assert refused.value.reason == ""


def test_the_error_for_a_withdrawn_identifier_says_why(minter):
    (identifier,) = minter.mint(elements={"_t": URL})
    minter.withdraw(identifier, reason="given twice")
    for lookup in (minter.resolve, minter.elements, lambda name: minter.get(name, "_t")):
        with pytest.raises(GoneError, match="was withdrawn on .*: given twice") as refused:
            lookup(identifier)
        assert refused.value.reason == "given twice"
    assert minter.resolve(identifier, explain=True).reason == str(refused.value)


def test_an_empty_target_is_kept_and_leads_nowhere(minter):
    (identifier,) = minter.mint(elements={"_t": URL})
    assert minter.bind(identifier, "_t", "").before == len(URL)
    assert minter.get(identifier, "_t") == ""
    with pytest.raises(NotFoundError, match="nothing says where it leads"):
        minter.resolve(identifier)


# -- holds, queue, validity, states ----------------------------------------------------------------------------------


def test_holds_and_queue(free, tmp_path):
    with create(tmp_path / "ten", ".sd", "medium") as minter:
        assert minter.queue("3", "2") == ["3", "2"]
        assert minter.queue("7", when="first") == ["7"]
        assert minter.queue("8", when=timedelta(days=1)) == ["8"]
        assert minter.queue("9", when=60) == ["9"]
        assert minter.queue("6", when="30d") == ["6"]
        assert minter.dequeue("2") == ["2"]
        assert minter.hold("3", "0") == noidtools.HoldResult(2, ("3",))
        assert minter.mint(2) == ["7", "1"]
        assert minter.release("0", "3", "5") == 2
        info = minter.info()
        assert (info.queued, info.held) == (3, 0)
        with pytest.raises(NotFoundError):
            minter.dequeue("2")
        with pytest.raises(UsageError):
            minter.queue("2", when="soon")


def test_validity(minter):
    good, bad = minter.validate(FIRST, "13030/f54x54g12")
    assert (good.identifier, good.valid, good.fault) == (FIRST, True, "")
    assert not bad.valid and bad.fault
    assert [found.valid for found in minter.validate("13030/ab12", "ab12", form="ab.rdd")] == [True, False]
    assert minter.validate("sid.inpe.br/mtc-m18/2009/02.16.17.46", form="ibi")[0].valid


def test_states(minter):
    (identifier,) = minter.mint()
    (reserved,) = minter.reserve(identifier)
    assert (reserved.identifier, reserved.before, reserved.after) == (identifier, "published", "reserved")
    (published,) = minter.publish(identifier)
    assert (published.before, published.after, published.unqueued) == ("reserved", "published", False)
    gone = minter.withdraw(identifier, reason="a mistake", successor=SECOND)
    assert gone == noidtools.Withdrawal(identifier, NOW, NOW, "a mistake", SECOND)
    with pytest.raises(ConflictError):
        minter.publish(identifier)
    with pytest.raises(ConflictError):
        minter.withdraw(identifier, reason="again")
    assert minter.tombstone(identifier) == gone
    assert minter.amend_tombstone(identifier, reason="") == noidtools.Withdrawal(identifier, NOW, NOW, "", SECOND)
    with pytest.raises(noidtools.GoneError):
        minter.elements(identifier)
    assert (minter.fetch(identifier).state, minter.fetch(identifier).elements) == ("withdrawn", {})
    assert minter.get(identifier, "_t", default="") == ""
    with pytest.raises(NotFoundError):
        minter.tombstone(SECOND)


# -- relations, spellings, custodians --------------------------------------------------------------------------------


def test_aliases(minter):
    (identifier,) = minter.mint()
    minter.bind(identifier, "_t", URL)
    assert minter.alias("13030/easy", identifier, authority="me") == AliasLink("13030/easy", identifier, False)
    assert minter.resolve("13030/easy").target == URL
    assert minter.fetch("13030/easy").alias_of == identifier
    assert minter.remove_alias("13030/easy").target == identifier
    with pytest.raises(NotFoundError):
        minter.remove_alias("13030/easy")


def test_synonyms_and_preferences(minter):
    one, other = minter.mint(2)
    made = minter.synonym(one, other, authority="CDL", start=date(2026, 1, 1), until="2026")
    assert (made.identifier, made.relation, made.name, made.authority) == (one, "synonym", other, "CDL")
    assert made.start == datetime(2026, 1, 1, tzinfo=timezone.utc)
    assert made.until == datetime(2026, 12, 31, 23, 59, 59, tzinfo=timezone.utc) and made.current
    preferred = minter.prefer(one)
    assert (preferred.relation, preferred.authority, preferred.name) == ("preferred", "CDL", "")
    assert {relation.relation for relation in minter.relations(one)} == {"synonym", "preferred"}
    assert [relation.name for relation in minter.relations(other)] == [one]
    assert minter.remove_preference(one).relation == "preferred"
    assert minter.remove_synonym(one, other).authority == "CDL"
    assert minter.relations(one) == []


def test_a_moment_may_be_given_in_any_time_zone(minter):
    one, other = minter.mint(2)
    east = timezone(timedelta(hours=2))
    made = minter.synonym(one, other, authority="CDL", start=datetime(2026, 1, 1, 2, 0, 0, 999, tzinfo=east),
                          until=datetime(2030, 1, 1))
    assert made.start == datetime(2026, 1, 1, tzinfo=timezone.utc)
    assert made.until == datetime(2030, 1, 1, tzinfo=timezone.utc)


def test_citing_and_comparing(minter):
    (identifier,) = minter.mint()
    forms = {form.form: form.text for form in minter.cite("ark:" + identifier)}
    assert forms["canonical"] == "ark:/" + identifier and "speech" in forms
    same = minter.same(identifier, "ark:/13030/F5-4x54g11".replace("F", "f"))
    assert same and same.same and same.why
    different = minter.same(identifier, SECOND)
    assert not different and different.why


def test_custodians(minter):
    assert minter.custodian() == noidtools.CustodyPeriod("cdlib.org", "", NOW, None, None)
    with pytest.raises(NotFoundError):
        minter.custodians()
    (identifier,) = minter.mint()
    minter.set_custodian("Desk", contact="mailto:desk@example.org")
    own = minter.set_custodian("Ann", identifier)
    assert (own.name, own.identifier, own.until) == ("Ann", identifier, None)
    assert minter.custodian(identifier).name == "Ann"
    assert minter.remove_custodian(identifier).until == NOW
    assert minter.custodian(identifier).name == "Desk"
    assert [period.contact for period in minter.custodians()] == ["mailto:desk@example.org"]
    with pytest.raises(UsageError):
        minter.remove_custodian(None)


# -- history, facts, policies ----------------------------------------------------------------------------------------


def test_history_has_values_before_and_after(minter):
    (identifier,) = minter.mint()
    minter.bind(identifier, "_t", URL)
    minter.bind(identifier, "_t", b"x" * 5000)
    minted, first, second = minter.history(identifier)
    assert (minted.action, minted.minted.made, minted.date) == ("mint", 1, NOW)
    (change,) = first.changes
    assert (change.identifier, change.what, change.is_element) == (identifier, "_t", True)
    assert (change.before, change.after) == (None, URL)
    (change,) = second.changes
    assert change.before == URL and change.after.size == 5000 and len(change.after.sha256) == 64
    with pytest.raises(NotFoundError):
        minter.history(SECOND)


def test_the_log_is_read_from_a_number_or_a_date_on(minter):
    minter.mint()
    minter.note("a", "b")
    assert [event.action for event in minter.log()] == ["dbcreate", "mint", "note"]
    assert [event.number for event in minter.log(after=2)] == [3]
    assert list(minter.log(since="2027")) == []
    assert len(list(minter.log(since=NOW))) == 3
    assert [event.action for event in islice(minter.log(follow=True, after=1), 2)] == ["mint", "note"]


def test_info_is_typed(minter, tmp_path):
    minter.mint(2)
    minter.note("plan", "grow")
    info = minter.info()
    assert info.path == str(tmp_path / "kt5")
    assert (info.scheme, info.template, info.term) == ("noid", "f5.reedeedk", "long")
    assert (info.naan, info.naa, info.subnaa, info.labels) == ("13030", "cdlib.org", "oac", ())
    assert (info.first, info.total, info.drawn, info.held, info.queued) == (FIRST, 70728100, 2, 2, 0)
    assert (info.created, info.creator) == (NOW, "me/us") and (info.changed, info.changed_by) == (NOW, "me/us")
    assert info.notes == {"plan": "grow"} and info.details["Properties"] == "GRANITE"


def test_names_and_minters_are_described(minter):
    one, other = minter.mint(2)
    minter.bind_many(one, {"_t": URL, "what": "Origin"})
    minter.synonym(one, other, authority="CDL")
    minter.set_custodian("Desk", contact="mailto:desk@example.org")
    found = minter.describe(one)
    assert (found.name, found.identifier, found.state) == ("ark:/" + one, one, "published")
    assert (found.state_since, found.thing, found.elements) == (NOW, "Origin", {"what": "Origin"})
    assert [(target.url, target.code) for target in found.targets] == [(URL, 302)]
    (relation,) = found.relations
    assert (relation.relation, relation.authority, relation.start, relation.current) == ("synonym", "CDL", NOW, True)
    assert found.minter == minter.describe()
    assert [party.name for party in found.minter.custodians] == ["Desk"]
    assert {policy.kind for policy in found.minter.policies} == {"label-format", "access"}
    assert hash(found)
    with pytest.raises(NotFoundError):
        minter.describe("13030/f53r0ps5p")
    minter.withdraw(other, reason="twice", successor=one)
    gone = minter.describe(other)
    assert (gone.state, gone.reason, gone.successor, gone.minted) == ("withdrawn", "twice", one, NOW)


def test_descriptions_are_written_as_rdf(minter):
    (identifier,) = minter.mint()
    assert "@prefix" in minter.describe_rdf() and "@prefix" in minter.describe_rdf(identifier)
    assert minter.describe_rdf(identifier, format="xml").startswith("<?xml")
    assert minter.describe_rdf(format="json-ld").lstrip().startswith(("[", "{"))
    with pytest.raises(UsageError):
        minter.describe_rdf(format="csv")
    with pytest.raises(NotFoundError):
        minter.describe_rdf("13030/f53r0ps5p")


def test_notes_have_names_of_one_line(minter):
    with pytest.raises(InvalidError):
        minter.note("a\nb", "c")


def test_policies_are_read_and_set(minter):
    before = minter.policy()
    assert (before.read, before.mint, before.minting, before.persistence) == (("anyone",), ("authenticated",),
                                                                             "publish", None)
    after = minter.set_policy(mint=["ann", "bob"], read="nobody", minting="reserve", association="books",
                              persistence="as long as we are", until="2126")
    assert after == minter.policy()
    assert (after.mint, after.read, after.minting, after.association) == (("ann", "bob"), ("nobody",), "reserve",
                                                                          "books")
    assert after.persistence.start == NOW and after.persistence.until.year == 2126
    assert minter.set_policy(mint="default", read="default", minting="default", association="default",
                             persistence="default") == before


def test_policies_are_set_all_or_none(minter):
    before = minter.policy()
    for wrong in ({"minting": "now"}, {"bind": ["anyone", "ann"]}, {"until": "2126"}, {"association": ""}):
        with pytest.raises(NoidError):
            minter.set_policy(read="nobody", **wrong)
    assert minter.policy() == before


# -- the same as the commands ----------------------------------------------------------------------------------------


# -- names, files, bulk changes --------------------------------------------------------------------------------------


def test_a_minter_is_a_collection_of_its_names(minter):
    assert list(minter) == [] and len(minter) == 0 and minter, "an empty minter is still one"
    ids = minter.mint(3)
    minter.hold("13030/f53r0ps5p")
    minter.alias("13030/easy", ids[0])
    minter.synonym(ids[0], "doi:10.1000/182", authority="us")
    everything = sorted([*ids, "13030/f53r0ps5p", "13030/easy"])
    assert list(minter) == list(minter.names()) == everything and len(minter) == 5
    assert ids[0] in minter and "ark:/13030/f5-4x54g11" in minter and b"13030/easy" in minter
    for other in ("13030/f5rn30687", "doi:10.1000/182", "", "x" * 100_000, 5, None):
        assert other not in minter
    assert list(minter.names("ark:/13030/f5-1")) == [SECOND]
    (peppered,) = minter.peppermint()
    assert peppered in minter and peppered + "x" not in minter
    assert list(minter.names("13030/x")) == []


def test_names_are_listed_page_by_page_while_others_mint(tmp_path):
    with create(tmp_path / "many", ".zd", "medium") as minter:
        minter.mint(1500)
        minter.bind_many("7", {f"e{number}": "x" for number in range(1200)})
        names = minter.names()
        first = next(names)
        minter.mint(1000)
        listed = [first, *names]
        assert listed == sorted(set(listed)) and {str(number) for number in range(1500)} <= set(listed)
        assert len(minter) == 2500


def test_what_is_exported_is_imported_elsewhere(minter, tmp_path):
    ids = minter.mint(2, elements={"_t": URL, "title": "Kant"})
    minter.reserve(ids[1])
    assert b"".join(minter.export("csv", elements=["title"], state="published").chunks()).splitlines() == [
        b"id,title", b"13030/f54x54g11,Kant"]
    export = minter.export("csv", prefix="ark:/13030/f5", changed_since=NOW)
    export.write_to(str(tmp_path / "all.csv"))
    assert export.count == 2
    with create(tmp_path / "other", "") as other:
        dry = other.import_file(tmp_path / "all.csv", "csv", dry_run=True)
        assert (dry.event, dry.records, dry.bound, len(other)) == (0, 4, 4, 0)
        done = other.import_file(tmp_path / "all.csv", "csv")
        assert (done.records, done.added, done.bound, done.refused) == (4, 2, 4, ())
        assert other.elements(ids[0]) == {"_t": URL, "title": "Kant"}
        with pytest.raises(ConflictError, match="another value is bound to it already"):
            other.import_file(io.BytesIO(b"id,title\n13030/f54x54g11,Hume\n"), "csv")
        kept = other.import_file(io.BytesIO(b"id,title\n13030/f54x54g11,Hume\n"), "csv", on_conflict="keep")
        assert (kept.kept, other.get(ids[0], "title")) == (1, "Kant")
        bound = other.rebind(io.BytesIO(b"id,title\n13030/f54x54g11,Hume\nnobody,x\n"), keep_going=True)
        assert [line for line, _ in bound.refused] == [3] and other.get(ids[0], "title") == "Hume"
        undone = other.undo(bound.event)
        assert undone.changed == 1 and other.get(ids[0], "title") == "Kant"
        assert other.undo(bound.event).left == ()
        with pytest.raises(noidtools.NotFoundError):
            other.undo(1000)
        with pytest.raises(StoreError, match="cannot be read"):
            other.import_file(tmp_path / "nothing.csv", "csv")
    for refused in (lambda: minter.export("xlsx"), lambda: minter.export("csv", history=True),
                    lambda: minter.export(state="lost"), lambda: minter.import_file(io.BytesIO(), "xlsx")):
        with pytest.raises(UsageError):
            refused()


def test_targets_are_changed_together_and_back(minter):
    ids = minter.mint(3, elements={"_t": URL})
    minter.bind(":idmap/^x", "_t", URL)
    dry = minter.retarget("https://example.org/", "https://example.net/", dry_run=True)
    assert (dry.event, dry.changed, dry.rules) == (0, 3, 1) and minter.get(ids[0], "_t") == URL
    done = minter.retarget("https://example.org/", "https://example.net/", prefix=ids[0])
    assert done.changed == 1 and minter.get(ids[0], "_t") == "https://example.net/a"
    minter.bind(ids[0], "_t", OTHER)
    (left,) = minter.undo(done.event, dry_run=True).left
    assert (left.identifier, left.element) == (ids[0], "_t") and "changed since" in left.reason


def test_a_whole_minter_is_exported_backed_up_restored_and_copied(minter, tmp_path):
    (first,) = minter.mint(elements={"_t": URL})
    minter.export(history=True).write_to(str(tmp_path / "all.jsonl"))
    assert minter.backup(tmp_path / "backup") > 5
    (second,) = minter.mint()
    with noidtools.import_minter(tmp_path / "imported", tmp_path / "all.jsonl", who="me/us") as imported:
        assert imported.mint() == [second] and imported.get(first, "_t") == URL
    assert noidtools.restore(tmp_path / "kt5", tmp_path / "backup").drawn == 1
    assert minter.mint() == [second], "one that has it open goes on with the backup"
    minter.close()
    done = noidtools.restore(tmp_path / "kt5", tmp_path / "backup", skip=1)
    assert (done.drawn, done.skipped, done.lost, done.tokens) == (2, 1, 0, ())
    with noidtools.open(tmp_path / "kt5") as restored:
        assert restored.mint() == [THIRD] and second not in restored
    assert noidtools.copy(tmp_path / "kt5", tmp_path / "copy").aside is None
    assert noidtools.copy(tmp_path / "kt5", tmp_path / "moved", move=True).aside is not None
    with pytest.raises(noidtools.NoMinterError, match="was moved to"):
        noidtools.open(tmp_path / "kt5")
    with pytest.raises(InvalidError, match="only a complete export"):
        noidtools.import_minter(tmp_path / "new", io.BytesIO(b"id,title\n"))
    assert not (tmp_path / "new").exists()
    with noidtools.open(tmp_path / "moved") as moved:
        assert first in moved and moved.status()["drawn"] == 3


def test_tokens_are_made_listed_and_revoked(minter):
    secret = minter.new_token("robot", ["mint", "bind"], expires=timedelta(days=2), most=10, total=100)
    assert secret.startswith("noid_")
    (token,) = minter.tokens()
    assert (token.name, token.classes, token.created, token.used) == ("robot", ("mint", "bind"), NOW, None)
    assert token.expires == NOW + timedelta(days=2)
    assert (token.most, token.total, token.minted) == (10, 100, 0)
    with pytest.raises(UsageError):
        minter.new_token("other", ["mint"], most=-1)
    with pytest.raises(ConflictError):
        minter.new_token("robot", ["read"])
    minter.revoke_token("robot")
    assert minter.tokens() == []
    with pytest.raises(UsageError):
        minter.new_token("other", ["own"])
    with pytest.raises(NotFoundError):
        minter.revoke_token("robot")


def test_canaries_that_lead_elsewhere_are_noticed(minter):
    (identifier,) = minter.mint(elements={"_t": URL})
    minter.set_canary(identifier)
    assert all(minter.check_canaries())
    minter.bind(identifier, "_t", OTHER)
    (canary,) = minter.check_canaries()
    assert not canary and (canary.target, canary.expected) == (OTHER, URL)
    with pytest.raises(InvalidError):
        minter.set_resolver(element="mirror", fallback="nowhere")
    assert minter.resolver().element == "_t", "all or none"


def test_what_is_wrong_in_a_database_is_found_and_mended(minter):
    minter.mint(3)
    assert minter.check() and minter.check().faults == ()
    minter._open.write(lambda writer: schema.add_to_held_count(writer, 5))
    found = minter.check()
    assert not found and len(found.faults) == 1 and not found.mended
    mended = minter.check(repair=True)
    assert mended and mended.mended == found.faults


def test_the_timing_of_labels_is_changed_and_labels_are_decoded(tmp_path, minter):
    with create(tmp_path / "ibi", "", scheme="ibi", computer="mtc-m18.sid.inpe.br") as timed:
        timed.set_timing(granularity=60, patience=5)
        assert (timed.info().details["Granularity"], timed.info().details["Patience"]) == ("60", "5")
        assert "2026" in " ".join(timed.decode(timed.mint()[0]).values())
    for refused in (lambda: minter.set_timing(patience=5), minter.reset_clock):
        with pytest.raises(ConflictError):
            refused()


def test_labels_are_made_from_now_again_after_the_clock_ran_ahead(tmp_path):
    clock = SettableClock.at("20261116000000")
    with noidtools.create(tmp_path, scheme="ibi", computer="mtc-m18.sid.inpe.br", clock=clock) as minter:
        minter.mint()
        clock.set_seconds("1794960000")
        minter.mint()
        clock.set_seconds("1794787260")
        with pytest.raises(NoidError):
            minter.mint()
        minter.reset_clock()
        assert len(minter.mint()) == 1



def plain(value: object) -> object:
    """A result as the JSON of a command has it: no moments, fourteen digits."""
    return value.strftime("%Y%m%d%H%M%S") if isinstance(value, datetime) else value


def bound(done: Binding) -> list[dict]:
    return [{"id": done.identifier, "element": done.element, "bind": done.how, "written": done.written,
             "before": done.before}]


def relation(found: noidtools.NameRelation) -> dict:
    return {"id": found.identifier, "relation": found.relation, "name": found.name or None,
            "authority": found.authority or None, "from": plain(found.start), "until": plain(found.until),
            "current": found.current, "event": found.event}


def event(found: noidtools.HistoryEvent) -> dict:
    return {"event": found.number, "date": plain(found.date), "who": found.who, "interface": found.interface,
            "what": found.action, "ids": list(found.identifiers), "changes": [
                {**({"id": change.identifier} if change.identifier else {}),
                 ("element" if change.is_element else "what"): change.what, "before": change.before,
                 "after": change.after} for change in found.changes],
            **({"made": found.minted.made, "asked": found.minted.requested, "first": found.minted.first,
                "last": found.minted.last} if found.minted else {}),
            **({"details": list(found.details)} if found.details else {})}


def fetched(found: noidtools.NameRecord) -> dict:
    return {"id": found.identifier, "hold": found.held, "circ": found.circulation, "state": found.state,
            **({"alias": found.alias_of} if found.alias_of else {}), "elements": [
                {"name": name, "value": value, **({"rule": found.computed[name]} if name in found.computed else {})}
                for name, value in found.elements.items()]}


def ids(found: list[str]) -> list[dict]:
    return [{"id": identifier} for identifier in found]


def resolving(found: noidtools.ResolverSettings) -> list[dict]:
    return [{"element": found.element, "fallback": found.fallback or "none",
             "passthrough": "on" if found.passthrough else "off",
             # The command prints it where it was set.
             **({"cache": found.cache} if found.cache != "max-age=300, stale-if-error=86400" else {}),
             **({"canary": " ".join(found.canaries[-1])} if found.canaries else {})}]


def context(found: noidtools.NamingContext) -> list[dict]:
    return [{"labels": list(found.labels), **({"purpose": found.purpose} if found.purpose else {}),
             "resolvers": list(found.resolvers), "aliases": [
                 {"alias": claim.alias, "target": claim.target, "authority": claim.authority,
                  "since": plain(claim.start)} for claim in found.aliases]}]


# A command, the call that does the same, and how the call's result is written as the command's JSON; without the
# last, that the state of both minters is the same afterwards is all that is compared.
OPERATIONS = [
    ("mint 3", lambda m: m.mint(3), ids),
    ("mint 2 _t https://example.org/a", lambda m: m.mint(2, elements={"_t": URL}), ids),
    ("bind set {0} _t https://example.org/b", lambda m: m.bind(FIRST, "_t", OTHER), bound),
    ("bind append {0} _t /c", lambda m: m.bind(FIRST, "_t", "/c", how="append"), bound),
    ("bind add {0} what Origin", lambda m: m.bind(FIRST, "what", "Origin", how="add"), bound),
    ("bind insert {0} what On-", lambda m: m.bind(FIRST, "what", "On-", how="insert"), bound),
    ("bind new {0} who Darwin", lambda m: m.bind(FIRST, "who", "Darwin", how="new"), bound),
    ("bind delete {0} who", lambda m: m.bind(FIRST, "who", how="delete"), bound),
    ("bind purge {0} who", lambda m: m.bind(FIRST, "who", how="purge"), bound),
    ("bind mint new _t https://example.org/d", lambda m: m.bind("new", "_t", "https://example.org/d", how="mint"),
     bound),
    ("fetch {0}", lambda m: m.fetch(FIRST), lambda found: [fetched(found)]),
    ("fetch ark:/{0} what", lambda m: m.fetch("ark:/" + FIRST, "what"), lambda found: [fetched(found)]),
    ("get {0} what", lambda m: m.get(FIRST, "what"), lambda found: [{"name": "what", "value": found}]),
    ("get {0}", lambda m: m.elements(FIRST),
     lambda found: [{"name": name, "value": value} for name, value in found.items()]),
    ("resolve {0}/page", lambda m: m.resolve(FIRST + "/page"),
     lambda found: [{"name": "target", "value": found.target}]),
    ("resolve --explain {0}", lambda m: m.resolve(FIRST, explain=True),
     lambda found: [{**dict(found.trace), "answer": f"{found.code} {found.target}"}]),
    ("hold set 13030/f53r0ps5p {1}", lambda m: m.hold("13030/f53r0ps5p", SECOND), None),
    ("hold release {1}", lambda m: m.release(SECOND), None),
    ("queue now {1}", lambda m: m.queue(SECOND), None),
    ("queue delete {1}", lambda m: m.dequeue(SECOND), None),
    ("queue 30d {1}", lambda m: m.queue(SECOND, when="30d"), None),
    ("validate - {0} 13030/f54x54g12", lambda m: m.validate(FIRST, "13030/f54x54g12"),
     lambda found: [{"id": item.identifier, "valid": item.valid, **({"fault": item.fault} if item.fault else {})}
                    for item in found]),
    ("reserve {2}", lambda m: m.reserve(THIRD), lambda found: [{"id": found[0].identifier, "state": "reserved"}]),
    ("publish {2}", lambda m: m.publish(THIRD), lambda found: [{"id": found[0].identifier, "state": "published"}]),
    ("alias 13030/easy {0} --authority me", lambda m: m.alias("13030/easy", FIRST, authority="me"), None),
    ("synonym {0} {2} --authority CDL --from 2026 --until 2030-06",
     lambda m: m.synonym(FIRST, THIRD, authority="CDL", start="2026", until="2030-06"), None),
    ("prefer {0}", lambda m: m.prefer(FIRST), None),
    ("relations {0}", lambda m: m.relations(FIRST), lambda found: [relation(item) for item in found]),
    ("alias --remove 13030/easy", lambda m: m.remove_alias("13030/easy"), None),
    ("prefer --remove {0}", lambda m: m.remove_preference(FIRST), None),
    ("synonym --remove {0} {2}", lambda m: m.remove_synonym(FIRST, THIRD), None),
    ("custodian set Ann --contact mailto:ann@example.org {0}",
     lambda m: m.set_custodian("Ann", FIRST, contact="mailto:ann@example.org"),
     lambda found: [{"of": found.identifier, "custodian": found.name, "contact": found.contact,
                     "from": plain(found.start)}]),
    ("custodian {0}", lambda m: m.custodian(FIRST),
     lambda found: [{"of": found.identifier, "custodian": found.name, "contact": found.contact,
                     "from": plain(found.start)}]),
    ("custodian remove {0}", lambda m: m.remove_custodian(FIRST), None),
    ("custodian history {0}", lambda m: m.custodians(FIRST),
     lambda found: [{"of": item.identifier, "custodian": item.name, "contact": item.contact,
                     "from": plain(item.start), "until": plain(item.until)} for item in found]),
    ("withdraw {2} --reason mistake --successor {0}",
     lambda m: m.withdraw(THIRD, reason="mistake", successor=FIRST),
     lambda found: [{"id": found.identifier, "state": "withdrawn", "withdrawn": plain(found.date),
                     "reason": found.reason, "successor": found.successor}]),
    ("policy mint ann bob", lambda m: m.set_policy(mint=["ann", "bob"]),
     lambda found: [{"mint": " ".join(found.mint)}]),
    ("policy minting reserve", lambda m: m.set_policy(minting="reserve"), lambda found: [{"minting": found.minting}]),
    ("policy mint-limit 500", lambda m: m.set_policy(mint_limit=500),
     lambda found: [{"mint-limit": str(found.mint_limit)}]),
    ("policy persistence forever --until 2126", lambda m: m.set_policy(persistence="forever", until="2126"),
     lambda found: [{"persistence": found.persistence.text, "persistence-from": plain(found.persistence.start),
                     "persistence-until": plain(found.persistence.until)}]),
    ("mint 1", lambda m: m.mint(), ids),
    ("cite {0}", lambda m: m.cite(FIRST), lambda found: [{"form": item.form, "text": item.text} for item in found]),
    ("same {0} ark:/{0}", lambda m: m.same(FIRST, "ark:/" + FIRST),
     lambda found: [{"same": found.same, "why": list(found.why)}]),
    ("describe {0}", lambda m: m.describe_rdf(FIRST),
     lambda found: [{"format": "text/turtle", "document": found}]),
    ("describe --format json-ld", lambda m: m.describe_rdf(format="json-ld"),
     lambda found: [{"format": "application/ld+json", "document": found}]),
    ("note plan grow", lambda m: m.note("plan", "grow"), None),
    ("history {0}", lambda m: m.history(FIRST), lambda found: [event(item) for item in found]),
    ("log --since 4", lambda m: list(m.log(after=4)), lambda found: [event(item) for item in found]),
    ("resolver canary {0}", lambda m: m.set_canary(FIRST), None),
    ("canary", lambda m: m.check_canaries(),
     lambda found: [{"ok": f"{item.name} leads to {item.target}"} for item in found if item]),
    ("resolver canary {1} https://example.org/else", lambda m: m.set_canary(SECOND, "https://example.org/else"), None),
    ("resolver fallback https://n2t.net/", lambda m: m.set_resolver(fallback="https://n2t.net/"), resolving),
    ("resolver passthrough off", lambda m: m.set_resolver(passthrough=False), resolving),
    ("resolver element mirror", lambda m: m.set_resolver(element="mirror"), resolving),
    ("resolver element -", lambda m: m.set_resolver(element=""), resolving),
    ("resolver passthrough off {0}", lambda m: m.set_passthrough(FIRST, False), None),
    ("resolver cache 60 600", lambda m: m.set_cache(60, stale=600), None),
    ("resolver passthrough on {0}", lambda m: m.set_passthrough(FIRST, True), None),
    ("resolver canary {1} -", lambda m: m.remove_canary(SECOND), None),
    ("resolver", lambda m: m.resolver(), resolving),
    ("context purpose Tests", lambda m: m.set_context(purpose="Tests"), context),
    ("context resolver https://n2t.net/", lambda m: m.set_context(resolvers=["https://n2t.net/"]), context),
    ("context alias a b --authority me", lambda m: m.claim_context("a", "b", authority="me"), None),
    ("context", lambda m: m.context(), context),
    ("context alias a b --authority me --remove", lambda m: m.remove_context_claim("a", "b", authority="me"), None),
    ("retarget --from https://example.org/ --to https://example.net/ --dry-run",
     lambda m: m.retarget("https://example.org/", "https://example.net/", dry_run=True), None),
    ("retarget --from https://example.org/ --to https://example.net/ --name move",
     lambda m: m.retarget("https://example.org/", "https://example.net/", name="move"), None),
    ("undo move", lambda m: m.undo("move"), None),
    ("path {0}", lambda m: m.path(FIRST), lambda found: [{"name": "path", "value": found}]),
    ("check", lambda m: m.check(), lambda found: [{"ok": f"{found.items} items examined, nothing is wrong"}]),
]


class CommandTwin(Noid):
    """Commands that are recorded as if they came through the Python interface."""

    def _actor(self) -> Actor:
        return Actor(b"me/us", b"python", self.clock)


def stored(minter: Minter) -> list[tuple[str, bytes]]:
    """Everything that is in the database, but the settings, in which each minter has an identity of its own."""
    return [(name, value) for name, value in dump(minter) if name != "META/settings"]


def test_calls_do_what_the_commands_do(tmp_path):
    """On two minters made alike, at the same time and by the same person: one for commands, one for Python."""
    for interface in ("commands", "python"):
        (tmp_path / interface).mkdir()
    commands = CommandTwin.with_clock(tmp_path / "commands" / "f5", *CHECKED)
    with create(tmp_path / "python" / "f5") as minter:
        for command, call, as_json in OPERATIONS:
            printed = commands.records(*(word.format(FIRST, SECOND, THIRD) for word in command.split()))
            result = call(minter)
            if as_json is not None:
                for record in printed:
                    record.pop("status", None)  # a sentence made of the numbers that are compared
                    if "document" in record:
                        one, other = (made.settings["uuid"] for made in (commands.opened, minter._open))
                        record["document"] = record["document"].replace(one, other)
                assert as_json(result) == printed, command
            assert stored(commands.opened) == stored(minter._open), command
    commands.close()


REFUSALS = [
    ("get 13030/f53r0ps5p", lambda m: m.elements("13030/f53r0ps5p")),
    ("bind set 13030/f53r0ps5p _t x", lambda m: m.bind("13030/f53r0ps5p", "_t", "x")),
    ("bind twice {0} _t x", lambda m: m.bind(FIRST, "_t", "x", how="twice")),
    ("bind set {0} _t", lambda m: m.bind(FIRST, "_t")),
    ("queue soon {0}", lambda m: m.queue(FIRST, when="soon")),
    ("hold release 13030/f54x54g12", lambda m: m.release("13030/f54x54g12")),
    ("withdraw 13030/f53r0ps5p", lambda m: m.withdraw("13030/f53r0ps5p")),
    ("alias {0} {0}", lambda m: m.alias(FIRST, FIRST)),
    ("synonym {0} {0} --authority me", lambda m: m.synonym(FIRST, FIRST, authority="me")),
    ("history 13030/f53r0ps5p", lambda m: m.history("13030/f53r0ps5p")),
    ("custodian history", lambda m: m.custodians()),
    ("policy minting now", lambda m: m.set_policy(minting="now")),
]


@pytest.mark.parametrize(("command", "call"), REFUSALS, ids=[command for command, _ in REFUSALS])
def test_a_call_is_refused_as_the_command_is(tmp_path, command, call):
    commands = CommandTwin.with_clock(tmp_path / "commands", *CHECKED)
    with create(tmp_path / "python") as minter:
        commands.mint()
        minter.mint()
        refusal = commands.refusal(*(word.format(FIRST) for word in command.split()))
        with pytest.raises(NoidError) as error:
            call(minter)
        assert (type(error.value), error.value.kind) == (type(refusal), refusal.kind)
        # What is wrong with the words of a command is told in terms of its words.
        assert isinstance(refusal, UsageError) or error.value.message == refusal.message
        assert stored(commands.opened) == stored(minter._open)
    commands.close()


@pytest.mark.parametrize("call", [
    lambda m: noidtools.open("nowhere"),
    lambda m: noidtools.create("here", scheme="pilin"),
    lambda m: noidtools.create("here", term="long"),
    lambda m: noidtools.create("here", ".zd", at_last="stop"),
    lambda m: m.bind(FIRST, "_t"),
    lambda m: m.bind(FIRST, "_t", "x", how="delete"),
    lambda m: m.withdraw(SECOND),
    lambda m: m.queue(SECOND, when="soon"),
    lambda m: m.set_policy(minting="never"),
    lambda m: m.relate(FIRST, "cousin", THIRD, authority="me"),
    lambda m: m.relate(FIRST, "realises", "nothing", authority="me"),
    lambda m: m.state_quality("good", FIRST, authority="me"),
    lambda m: m.export(state="lost"),
    lambda m: m.import_file(io.BytesIO(b"id,a\n13030/f54x54g11,c"), "csv"),
    lambda m: m.retarget("", "x"),
    lambda m: m.retarget("x", "x"),
    lambda m: m.new_token("robot", ["own"]),
    lambda m: m.revoke_token("robot"),
])
def test_refusals_do_not_speak_of_options_of_the_shell(minter, call):
    minter.mint(3, elements={"a": "b"})
    minter.withdraw(SECOND)
    with pytest.raises(NoidError) as refused:
        call(minter)
    assert not re.search(r"(?<!\w)--?[a-z]|\bsay\b|\b(Value|Element|Id)\b", str(refused.value)), refused.value


def test_refusals_and_results_write_a_name_in_one_way(tmp_path):
    with create(tmp_path / "labelled", *CHECKED, labels=["ark:/"]) as minter:
        (first,), (peppered,) = minter.mint(elements={"_t": URL}), minter.peppermint()
        assert first == f"ark:/{FIRST}" == minter.resolve(FIRST).identifier == minter.fetch(FIRST).identifier
        for call in (
            lambda: minter.get(FIRST, "nothing"), lambda: minter.elements(FIRST, "_t", "nothing"),
            lambda: minter.bind(FIRST, "_t", URL, how="new"), lambda: minter.queue(FIRST),
            lambda: minter.dequeue(FIRST), lambda: minter.resolve(FIRST, element="nothing"),
        ):
            with pytest.raises(NoidError) as refused:
                call()
            assert first in str(refused.value)
        with pytest.raises(ForbiddenError, match="^ark:/13030/f5154dn7k is peppered: .*ark:/13030/f5154dn7k!PEPPER"):
            minter.bind(SECOND, "_t", URL)
        with pytest.raises(ForbiddenError, match="not the pepper of ark:/13030/f5154dn7k"):
            minter.bind(SECOND + "!x", "_t", URL)
        assert peppered.startswith(f"ark:/{SECOND}!")


def test_abstract_names_and_claims(tmp_path):
    with noidtools.create(tmp_path / "kerry", labels=["hdl:100/"]) as minter:
        minter.bind("xyzzy", "_t", "https://books.example/xyzzy")
        library = minter.declare_abstract("context", "Kerry's Library", authority="Kerry", about="all that Kerry has")
        assert (library.kind, library.about, library.label) == ("context", "all that Kerry has", "")
        minter.declare_abstract("identifier", "Kerry's Library:xyzzy", authority="Kerry")
        for context in ("hdl:100", "http://purl.kerry.org"):
            minter.relate(context, "realises", "Kerry's Library", authority="Kerry")
        one = minter.relate("xyzzy", "realises", "Kerry's Library:xyzzy", authority="Kerry", start="2020")
        assert (one.relation, one.name, one.start.year) == ("realises", "Kerry's Library:xyzzy", 2020)
        minter.relate("http://purl.kerry.org/xyzzy", "realises", "Kerry's Library:xyzzy", authority="Kerry")
        found = minter.same("hdl:100/xyzzy", "http://purl.kerry.org/xyzzy")
        assert not found and found.senses == (
            "homologues (7.2): both realise Kerry's Library:xyzzy, in the scope of Kerry's Library",)
        assert [name.name for name in minter.abstract_names()] == ["Kerry's Library", "Kerry's Library:xyzzy"]
        with pytest.raises(ConflictError):
            minter.remove_abstract("Kerry's Library:xyzzy")
        assert minter.unrelate("xyzzy", "realises", "Kerry's Library:xyzzy") == one
        assert minter.relations("xyzzy") == []
        with pytest.raises(UsageError):
            minter.relate("xyzzy", "likes", "y", authority="Kerry")
        with pytest.raises(UsageError):
            minter.declare_abstract("thing", "y", authority="Kerry")


def test_stated_and_verified_qualities_and_custodians_with_purposes(tmp_path):
    with noidtools.create(tmp_path / "x", ".sdd") as minter:
        (name,) = minter.mint(elements={"_t": "https://example.org/"})
        claim = minter.state_quality("persistent", name, authority="Jo", refinement="resolvable", until="2126")
        assert (claim.identifier, claim.quality, claim.holds) == (name, "persistent", True)
        assert claim.refinement == "resolvable" and claim.until.year == 2126
        assert minter.qualities(name) == [claim] and minter.qualities() == []
        assert minter.state_quality("trusted", authority="Jo", holds=False).identifier is None
        assert minter.remove_quality("persistent", name) == claim
        (found,) = minter.verify(name)
        assert not found and {finding.verdict for finding in found.findings} == {"holds", "unknown"}
        minter.set_custodian("Jo", contact="tel:1")
        minter.set_custodian("Kim", purpose="titles")
        assert [(one.name, one.purpose) for one in minter.present_custodians(name)] == [("Jo", ""), ("Kim", "titles")]
        assert minter.remove_custodian(purpose="titles").name == "Kim"
        minter.set_policy(persistence="kept")
        (found,) = minter.verify(name, record=True)
        assert found and found.identifier == name
        assert {finding.quality for finding in minter.describe(name).findings} >= {"resolvable", "persistent"}
