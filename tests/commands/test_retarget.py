"""The commands retarget and undo: many bindings changed at once, and taken back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noidtools.minter import changes
from noidtools.names.targets import parse, replace_beginning
from noidtools.transfer import retarget
from support.minter import Noid

OLD, NEW = "https://old.example/", "https://new.example/x/"


@pytest.fixture
def full(free: Noid) -> Noid:
    """A minter with targets at the old address and elsewhere."""
    for number in range(7):
        free.set_target(f"a/{number}", f"{OLD}{number}")
    free.set_target("b/1", f"303 {OLD}1|https://mirror.example/1|{OLD}2")
    free.set_target("b/2", "https://old.example.org/2")
    free.records("bind", "set", "a/1", "title", f"{OLD} is the title")
    return free


def targets(minter: Noid) -> dict[str, str]:
    lines = minter.text("dbinfo", "dump").splitlines()
    return dict(line.removeprefix("ELEMENTS/").split("%00%00_t: ") for line in lines
                if line.startswith("ELEMENTS/") and "_t: " in line)


def summary(minter: Noid, *words: str) -> dict[str, str]:
    return {name: text for record in minter.records(*words) for name, text in record.items()}


def test_every_target_that_begins_with_the_address_is_changed_and_no_other(full):
    before = targets(full)
    done = summary(full, "retarget", "--from", OLD, "--to", NEW)
    assert done["ok"] == "8 bindings changed"
    assert targets(full) == {name: value.replace(OLD, NEW) for name, value in before.items()}
    assert full.text("get", "a/1", "title") == f"{OLD} is the title\n"


def test_a_dry_run_lists_the_changes_and_makes_none(full):
    before, events = targets(full), full.event_count()
    *changes, last = full.records("retarget", "--from", OLD, "--to", NEW, "--dry-run")
    assert last == {"ok": "8 bindings would be changed"}
    assert changes[0] == {"id": "a/0", "element": "_t", "before": f"{OLD}0", "after": f"{NEW}0"}
    assert len(changes) == 8
    assert (targets(full), full.event_count()) == (before, events)


def test_prefix_and_element_restrict_it(full):
    assert summary(full, "retarget", "--from", OLD, "--to", NEW, "--prefix", "b/")["ok"] == "1 binding changed"
    done = summary(full, "retarget", "--from", OLD, "--to", NEW, "--element", "title")
    assert done["ok"] == "1 binding changed"
    assert full.text("get", "a/1", "title") == f"{NEW} is the title\n"
    assert targets(full)["a/1"] == f"{OLD}1"


def test_all_changes_are_one_event_in_the_history_of_each_name(full):
    events = full.event_count()
    done = summary(full, "retarget", "--from", OLD, "--to", NEW, "--name", "new server")
    assert full.event_count() == events + 1 == int(done["event"])
    event = full.newest_event()
    assert (event.verb, event.bulk) == (b"retarget", 8)
    last = full.records("history", "a/3")[-1]
    assert (last["what"], last["bindings"]) == ("retarget", 8)
    assert last["changes"] == [{"id": "a/3", "element": "_t", "before": f"{OLD}3", "after": f"{NEW}3"}]
    assert "bindings: 8\n" in full.text("log")


def test_where_nothing_begins_with_it_nothing_is_recorded(full):
    events = full.event_count()
    done = summary(full, "retarget", "--from", "https://nowhere.example/", "--to", NEW, "--name", "n")
    assert done == {"ok": "0 bindings changed"} and full.event_count() == events
    assert "event" in summary(full, "retarget", "--from", OLD, "--to", NEW, "--name", "n"), "the name is free"


def test_rules_with_the_address_are_mentioned(full):
    full.records("bind", "set", ":idmap/^c", "_t", f"{OLD}c")
    assert "1 rule contains that address" in full.text("retarget", "--from", OLD, "--to", NEW)


def test_peppered_and_withdrawn_names_are_left_and_listed(tmp_path):
    minter = Noid.created(tmp_path, "kt.reeded")
    (peppered,) = (record["id"] for record in minter.records("peppermint", "1"))
    withdrawn, plain = minter.mint(2)
    for name in (peppered, withdrawn, plain):
        minter.set_target(name, f"{OLD}1")
    minter.records("withdraw", withdrawn)
    left = (f"left: {peppered.partition('!')[0]} _t: it cannot be changed without its pepper\n",
            f"left: {withdrawn} _t: it was withdrawn\n")
    preview = minter.text("retarget", "--from", OLD, "--to", NEW, "--dry-run")
    assert all(line in preview for line in left) and "ok: 1 binding would be changed\n" in preview
    text = minter.text("retarget", "--from", OLD, "--to", NEW)
    assert all(line in text for line in left) and "ok: 1 binding changed\n" in text
    minter.close()


def test_what_was_withdrawn_since_is_left_by_undo_and_its_dry_run(tmp_path):
    minter = Noid.created(tmp_path, "kt.reeded")
    withdrawn, plain = minter.mint(2)
    for name in (withdrawn, plain):
        minter.set_target(name, f"{OLD}1")
    number = summary(minter, "retarget", "--from", OLD, "--to", NEW)["event"]
    minter.records("withdraw", withdrawn)
    left = f"left: {withdrawn} _t: it was withdrawn\n"
    preview = minter.text("undo", number, "--dry-run")
    assert left in preview and "ok: 1 change would be taken back\n" in preview
    text = minter.text("undo", number)
    assert left in text and "ok: 1 change taken back\n" in text
    minter.close()


@pytest.mark.parametrize(("words", "message"), [
    (("--from", "", "--to", NEW), "the old address is empty"),
    (("--from", OLD, "--to", OLD), "nothing to change"),
    (("--from", OLD, "--to", NEW, "--name", "12"), "no number"),
    (("--from", OLD, "--to", NEW, "--name", "a\nb"), "one line"),
    (("--from", OLD), "--to is missing"),
])
def test_what_makes_no_sense_is_refused(full, words, message):
    assert message in full.refusal("retarget", *words).message


def test_a_name_is_given_once(full):
    full.records("retarget", "--from", OLD, "--to", NEW, "--name", "move")
    assert "has the name 'move' already" in full.refusal("retarget", "--from", NEW, "--to", OLD, "--name",
                                                         "move").message


# -- more than one transaction ---------------------------------------------------------------------------------------


@pytest.fixture
def batches(monkeypatch):
    """Two bindings are a batch, and three are too many for one transaction."""
    monkeypatch.setattr(changes, "MOST_AT_ONCE", 2)
    monkeypatch.setattr(changes, "BATCH", 2)
    monkeypatch.setattr(retarget, "_READ_TOGETHER", 3)


def interrupted(minter: Noid, monkeypatch, batches: int, *words: str) -> str:
    """The refusal of a command that is interrupted after this many transactions."""
    write, left = changes.BulkEvent.write, [batches]

    def interrupting(self, work):
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        return write(self, work)

    with monkeypatch.context() as patched:
        patched.setattr(changes.BulkEvent, "write", interrupting)
        try:
            minter.records(*words)
        except Exception as error:  # noqa: BLE001
            return str(error)
    raise AssertionError("it was not interrupted")


def written_together(monkeypatch) -> list[int]:
    """How many bindings each transaction changed, from now on."""
    write, together = changes.BulkEvent.write, []

    def counting(self, work):
        done = write(self, work)
        together.append(done.changed)
        return done

    monkeypatch.setattr(changes.BulkEvent, "write", counting)
    return together


def test_in_batches_it_is_one_event_too(full, batches, monkeypatch):
    before, events, together = targets(full), full.event_count(), written_together(monkeypatch)
    assert summary(full, "retarget", "--from", OLD, "--to", NEW)["ok"] == "8 bindings changed"
    assert targets(full) == {name: value.replace(OLD, NEW) for name, value in before.items()}
    assert full.event_count() == events + 1 and full.newest_event().bulk == 8 and max(together) == 2
    assert summary(full, "undo", str(events + 1))["ok"] == "8 changes taken back" and targets(full) == before


@pytest.mark.parametrize("done", [1, 2, 3])
def test_an_interrupted_change_is_finished_by_the_same_command(full, batches, monkeypatch, done):
    words = ("retarget", "--from", OLD, "--to", NEW)
    before, events = targets(full), full.event_count()
    said = interrupted(full, monkeypatch, done, *words)
    assert said.startswith(f"interrupted after {2 * done} bindings or a few more: give the same command again to go on")
    assert f"'noid undo {events + 1}'" in said
    assert summary(full, *words)["ok"] == f"{8 - 2 * done} bindings changed"
    assert targets(full) == {name: value.replace(OLD, NEW) for name, value in before.items()}
    assert summary(full, *words) == {"ok": "0 bindings changed"} and "nothing is wrong" in full("check")
    for number in (events + 2, events + 1):
        full.records("undo", str(number))
    assert targets(full) == before


@pytest.mark.parametrize("done", [0, 1, 3])
def test_where_the_new_address_begins_with_the_old_one_nothing_is_changed_twice(full, batches, monkeypatch, done):
    before, words = targets(full), ("retarget", "--from", OLD, "--to", f"{OLD}sub/")
    interrupted(full, monkeypatch, done, *words)
    full.records(*words)
    assert targets(full) == {name: value.replace(OLD, f"{OLD}sub/") for name, value in before.items()}
    assert summary(full, *words)["ok"] == "0 bindings changed"
    assert "began with the new address already" in summary(full, *words, "--dry-run")["note"]


def test_an_interrupted_change_can_be_undone(full, batches, monkeypatch):
    words = ("retarget", "--from", OLD, "--to", NEW)
    before = targets(full)
    interrupted(full, monkeypatch, 2, *words)
    assert summary(full, "undo", str(full.event_count()))["ok"] == "4 changes taken back"
    assert targets(full) == before
    assert summary(full, *words)["ok"] == "8 bindings changed"


@pytest.mark.parametrize("command", ["retarget", "undo"])
def test_two_that_run_the_same_change_at_once_make_it_once(full, batches, monkeypatch, command):
    before = targets(full)
    words, expected = ("retarget", "--from", OLD, "--to", NEW), {
        name: value.replace(OLD, NEW) for name, value in before.items()}
    if command == "undo":
        words, expected = ("undo", summary(full, *words)["event"]), before
    write, others = changes.BulkEvent.write, []

    def interleaved(self, work):
        """The second begins when the first has made its first step, and comes to its end before the next one."""
        done = write(self, work)
        if not others:
            others.append(None)
            others.append(summary(full, *words)["ok"])
        return done

    with monkeypatch.context() as patched:
        patched.setattr(changes.BulkEvent, "write", interleaved)
        first = summary(full, *words)["ok"]
    assert (first.split()[0], others[1].split()[0]) == ("2", "6") and targets(full) == expected
    full("check")


def test_with_a_name_the_same_command_goes_on_with_the_same_event(full, batches, monkeypatch):
    before, words = targets(full), ("retarget", "--from", OLD, "--to", NEW, "--name", "move")
    interrupted(full, monkeypatch, 2, *words)
    events = full.event_count()
    full.set_target("a/0", f"{OLD}0")
    assert summary(full, *words)["ok"] == "5 bindings changed" and full.event_count() == events + 1
    event = full.records("log")[events - 1]
    assert event["bindings"] == 8 and "nothing is wrong" in full("check")
    assert summary(full, "undo", "move")["ok"] == "8 changes taken back" and targets(full) == before


def test_an_interrupted_undo_is_finished_by_the_same_command(full, batches, monkeypatch):
    before = targets(full)
    number = summary(full, "retarget", "--from", OLD, "--to", NEW)["event"]
    assert "give the same command again" in interrupted(full, monkeypatch, 2, "undo", number)
    assert "ok: 4 changes would be taken back" in full.text("undo", number, "--dry-run")
    assert summary(full, "undo", number)["ok"] == "4 changes taken back" and targets(full) == before
    assert "nothing is wrong" in full("check")


@pytest.mark.parametrize("command", ["retarget", "undo"])
def test_one_transaction_changes_few_large_values(full, monkeypatch, command):
    words = ("retarget", "--from", OLD, "--to", NEW)
    for number in range(8):
        full.set_target(f"a/{number}", f"{OLD}{number}{'x' * 500}")
    if command == "undo":
        words = ("undo", summary(full, *words)["event"])
    monkeypatch.setattr(changes, "MOST_BYTES_AT_ONCE", 1000)
    monkeypatch.setattr(changes, "BATCH_BYTES", 1000)
    together = written_together(monkeypatch)
    assert summary(full, *words)["ok"].startswith("9 changes taken" if command == "undo" else "9 bindings")
    assert max(together) <= 2 and sum(together) == 9


# -- undo ------------------------------------------------------------------------------------------------------------


def test_a_change_is_taken_back_and_the_taking_back_too(full):
    before = targets(full)
    number = summary(full, "retarget", "--from", OLD, "--to", NEW)["event"]
    after = targets(full)
    undone = summary(full, "undo", number)
    assert undone["ok"] == "8 changes taken back" and targets(full) == before
    assert summary(full, "undo", number) == {"ok": "0 changes taken back"}, "it was taken back already"
    assert summary(full, "undo", undone["event"])["ok"] == "8 changes taken back" and targets(full) == after


def test_what_was_changed_since_is_left_and_named(full):
    summary(full, "retarget", "--from", OLD, "--to", NEW, "--name", "move")
    full.set_target("a/2", "https://third.example/")
    full.records("bind", "purge", "a/3", "_t")
    preview = full.text("undo", "move", "--dry-run")
    assert "ok: 6 changes would be taken back\n" in preview
    text = full.text("undo", "move")
    assert "left: a/2 _t: it was changed since\nleft: a/3 _t: it was changed since\n" in text
    assert "ok: 6 changes taken back\n" in text
    assert targets(full)["a/2"] == "https://third.example/" and "a/3" not in targets(full)


def test_a_value_that_somebody_has_bound_again_since_is_left_and_named(full):
    full.records("retarget", "--from", OLD, "--to", NEW, "--name", "move")
    for value in ("https://other.example/", f"{NEW}1"):
        full.records("bind", "set", "a/1", "_t", value)
    full.records("retarget", "--from", f"{NEW}2", "--to", "https://x.example/")
    full.records("retarget", "--from", "https://x.example/", "--to", f"{NEW}2")
    for words in (("undo", "move", "--dry-run"), ("undo", "move")):
        left = [record["left"] for record in full.records(*words) if "left" in record]
        assert left == [f"{name} _t: it was changed since" for name in ("a/1", "a/2", "b/1")]
    assert (targets(full)["a/1"], targets(full)["a/2"], targets(full)["a/3"]) == (f"{NEW}1", f"{NEW}2", f"{OLD}3")


def test_a_single_binding_that_was_made_again_since_is_left_and_named(free):
    for value in ("1", "2", "3", "2"):
        free.records("bind", "set", "a", "e", value)
    number = free.event_count()
    assert summary(free, "undo", str(number - 2))["left"] == "a e: it was changed since"
    for event, value in ((number, "3"), (number - 1, "2"), (number - 2, "1")):
        assert summary(free, "undo", str(event))["ok"] == "1 change taken back"
        assert free.text("get", "a", "e") == f"{value}\n"
    for event, value in ((number + 3, "2"), (number + 4, "1")):
        free.records("undo", str(event))
        assert free.text("get", "a", "e") == f"{value}\n"


def test_what_others_bound_before_a_batch_has_changed_it_is_taken_back(full, batches, monkeypatch):
    """The event is older than theirs, but not its change."""
    words = ("retarget", "--from", OLD, "--to", NEW, "--name", "move")
    interrupted(full, monkeypatch, 1, *words)
    full.set_target("a/6", f"{OLD}66")
    full.records(*words)
    assert targets(full)["a/6"] == f"{NEW}66"
    full.records("undo", "move")
    assert targets(full)["a/6"] == f"{OLD}66"


def test_single_bindings_are_taken_back_too(free):
    free.records("bind", "set", "x", "e", "one")
    first = str(free.event_count())
    free.records("bind", "set", "x", "e", "two")
    second = str(free.event_count())
    assert "left: x e: it was changed since" in free.text("undo", first)
    assert summary(free, "undo", second)["ok"] == "1 change taken back"
    assert free.text("get", "x", "e") == "one\n"
    assert summary(free, "undo", first)["ok"] == "1 change taken back"
    assert "nothing is bound" in free.refusal("get", "x", "e").message


def test_long_values_are_taken_back_from_bulk_changes_and_left_after_single_ones(free):
    long = OLD + "x" * 5000
    free.set_target("x", long)
    number = summary(free, "retarget", "--from", OLD, "--to", NEW)["event"]
    assert summary(free, "undo", number)["ok"] == "1 change taken back"
    assert free.text("get", "x", "_t") == long + "\n"
    free.set_target("x", "short")
    assert "its value before was too long to be stored" in free.text("undo", str(free.event_count()))


@pytest.mark.parametrize("words", [
    ("mint", "1"), ("hold", "set", "x"), ("note", "n", "t"), ("bind", "set", ":idmap/^a", "_t", "https://a.example/"),
    ("alias", "y", "x"), ("policy", "mint", "anyone"),
])
def test_other_events_cannot_be_taken_back(tmp_path, words):
    minter = Noid.created(tmp_path, *(() if words[0] != "mint" else (".sd",)))
    minter.records(*words)
    assert "only changes of bindings can be undone" in minter.refusal("undo", str(minter.event_count())).message
    minter.close()


@pytest.mark.parametrize("event", ["0", "999", "99999999999999999999", "nonsense", ""])
def test_an_event_that_does_not_exist_is_not_found(free, event):
    assert "there is no event" in free.refusal("undo", event).message


# -- values ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("value", "old", "expected"), [
    (b"https://a.example/1", b"https://a.example/", b"N1"),
    (b"https://a.example", b"https://a.example", b"N"),
    (b"https://a.example.org/", b"https://a.example", b"https://a.example.org/"),
    (b"https://a.example:8080/", b"https://a.example", b"N:8080/"),
    (b"https://a.example?x", b"https://a.example", b"N?x"),
    (b"https://a.example/item?id=7", b"https://a.example/item?id=", b"N7"),
    (b"303 https://a.example/1|302  https://a.example/2", b"https://a.example/", b"303 N1|302  N2"),
    (b" https://a.example/1\nhttps://a.example/2", b"https://a.example/", b" N1\nhttps://a.example/2"),
    (b"https://b.example/?u=https://a.example/", b"https://a.example/", b"https://b.example/?u=https://a.example/"),
    (b"", b"x", b""),
])
def test_the_beginning_of_every_target_is_replaced(value, old, expected):
    assert replace_beginning(value, old, b"N") == expected


@given(st.lists(st.tuples(st.sampled_from([b"", b"303 ", b" "]), st.sampled_from([b"http://a/", b"http://b/"]),
                          st.binary(max_size=3)), max_size=4))
def test_only_targets_that_begin_with_it_change_and_their_number_stays(parts):
    value = b"|".join(code + base + rest.replace(b"|", b"") for code, base, rest in parts)
    changed = replace_beginning(value, b"http://a/", b"http://c/d/")
    expected = [(target.url.replace(b"http://a/", b"http://c/d/", 1) if target.url.startswith(b"http://a/")
                 else target.url, target.code) for target in parse(value)]
    assert [(target.url, target.code) for target in parse(changed)] == expected
