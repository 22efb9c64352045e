"""Any commands in any order: withdrawn stays withdrawn, aliases never loop, no event is lost, and the record of an
identifier, replayed again from its beginning, gives exactly what is stored of it now."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from noidtools.commands.bulk import run_lines
from noidtools.commands.lines import LineSource
from noidtools.errors import NoidError
from noidtools.minter import aliases, circulation, history, identifiers, lifecycle, relations
from noidtools.minter.check import examine
from noidtools.minter.circulation import Circulation, find
from noidtools.minter.events import LONGEST_VALUE, Digest
from noidtools.minter.lifecycle import tombstone_of
from noidtools.minter.schema import ALIASES, EVENTS, IDS, QUEUE, held_count
from support.minter import Noid

pytestmark = pytest.mark.slow

OWN = [f"x{digit}" for digit in "0123456789"]
FOREIGN = ["old", "older", "ark:/99999/old"]
EXTENDED = ["x0/p", "x1.q", "old/p", "older/p/q"]
NAMES = OWN + FOREIGN + EXTENDED
AUTHORITIES = ["one", "two"]

own = st.sampled_from(OWN)
names = st.sampled_from(NAMES)
commands = st.one_of(
    st.tuples(st.just("mint"), st.sampled_from("123")),
    st.tuples(st.just("mint"), st.sampled_from("12"), st.just("e"), st.just("minted")),
    st.tuples(st.just("peppermint"), st.just("1")),
    st.tuples(st.just("bind"), st.sampled_from(["set", "append", "new", "replace"]), own, st.sampled_from("ef"),
              st.sampled_from(["https://a.example/", "v", "w" * 5000])),
    st.tuples(st.just("bind"), st.sampled_from(["delete", "purge"]), own, st.sampled_from("ef")),
    st.tuples(st.just("hold"), st.sampled_from(["set", "release"]), own, own),
    st.tuples(st.just("queue"), st.sampled_from(["now", "first", "lvf", "9d", "delete"]), own),
    st.tuples(st.just("reserve"), own, own),
    st.tuples(st.just("publish"), own),
    st.tuples(st.just("withdraw"), names),
    st.tuples(st.just("withdraw"), own, st.just("--successor"), names, st.just("--reason"), st.sampled_from("rs")),
    st.tuples(st.just("alias"), names, names),
    st.tuples(st.just("alias"), names, names),
    st.tuples(st.just("alias"), st.just("--remove"), names),
    st.tuples(st.just("synonym"), names, names, st.just("--authority"), st.sampled_from(AUTHORITIES)),
    st.tuples(st.just("synonym"), st.just("--remove"), names, names),
    st.tuples(st.just("prefer"), names),
    st.tuples(st.just("prefer"), st.just("--remove"), names),
    st.tuples(st.just("custodian"), st.just("set"), st.sampled_from(["Kim", "Lee"]), own),
    st.tuples(st.just("custodian"), st.just("set"), st.just("Max"), own, st.just("--purpose"), st.just("titles")),
    st.tuples(st.just("relate"), names, st.sampled_from(["equivalent", "contains"]), names, st.just("--authority"),
              st.sampled_from(AUTHORITIES)),
    st.tuples(st.just("relate"), st.just("--remove"), names, st.just("equivalent"), names),
    st.tuples(st.just("quality"), st.just("state"), st.sampled_from(["trusted", "persistent"]), names,
              st.just("--authority"), st.sampled_from(AUTHORITIES)),
    st.tuples(st.just("tombstone"), own, st.just("--reason"), st.sampled_from("rs")),
    st.tuples(st.just("policy"), st.just("minting"), st.sampled_from(["publish", "reserve"])),
    st.tuples(st.just("note"), st.just("n"), st.text("ab", max_size=2)),
)


class ReplayedHistory:
    """What the record of a name says about it, event by event."""

    def __init__(self) -> None:
        self.letters = b""
        self.elements: dict[bytes, object] = {}
        self.held = self.reserved = self.withdrawn = False
        self.alias: bytes | None = None

    def apply(self, key: bytes, event, long_term: bool) -> None:
        if event.verb in (b"mint", b"peppermint"):
            self.letters = b"i" + self.letters
            self.held = self.held or long_term
            self.reserved = False
        for change in event.changes:
            if change.of == key or not change.of:
                self.change(change, event.verb)

    def change(self, change, verb: bytes) -> None:
        if change.element:
            # What minting replaced is in a second event, which clears it.
            assert verb in (b"mint", b"clear") or self.elements.get(change.what) == value(change.before)
            self.elements[change.what] = value(change.after)
            if change.after is None:
                del self.elements[change.what]
        elif change.what == b"hold":
            assert self.held is (change.before is not None)
            self.held = change.after is not None
        elif change.what == b"queue":
            self.letters = (b"q" if change.after else b"u") + self.letters
        elif change.what == b"alias-of":
            assert self.alias == change.before
            self.alias = change.after
        elif change.what == b"state":
            assert not self.withdrawn, "something happened to a withdrawn name"
            self.reserved, self.withdrawn = change.after == b"reserved", change.after == b"withdrawn"


def value(kept: bytes | Digest | None) -> bytes | None:
    """A value, or what is kept of a long one, to be compared."""
    if isinstance(kept, Digest):
        return kept.sha256
    return kept if kept is None or len(kept) <= LONGEST_VALUE else hashlib.sha256(kept).digest()


class Lines(LineSource):
    def __init__(self, lines: list[bytes]) -> None:
        self._lines = lines

    def read_line(self) -> bytes:
        return self._lines.pop(0) if self._lines else b""


class LifecycleMachine(RuleBasedStateMachine):
    @initialize(template=st.sampled_from([
        ("x.sd", "short"), ("x.sd", "medium"), ("x.rd", "short"), ("x.sd", "long", "13030", "naa", "sub"),
        ("--at-last", "add1", "x.sd", "medium"),
    ]))
    def create(self, template: tuple[str, ...]) -> None:
        # In a folder of its own, because creating looks for other minters beside it.
        self.folder = Path(tempfile.mkdtemp()) / "minter"
        self.long_term = "long" in template
        self.names = [self.full(name) for name in NAMES]
        self.minter = Noid.with_clock(self.folder, *template)
        self.minter.records("resolver", "element", "e")
        self.withdrawn: set[str] = set()
        self.peppers: dict[str, str] = {}
        self.events: list[bytes] = []

    def teardown(self) -> None:
        if hasattr(self, "minter"):
            assert [fault.sentence for fault in examine(self.minter.opened).faults] == []
            self.minter.close()
            shutil.rmtree(self.folder.parent)

    # -- commands ------------------------------------------------------------------------------------------------

    @rule(words=commands)
    def command(self, words: tuple[str, ...]) -> None:
        self.minter.clock.now += 1_000_000_000
        before = self.minter.event_count()
        words = tuple(self.full(word) for word in words)
        try:
            answer = self.minter.records(*self.peppered(words))
        except NoidError:
            # A mint may end early, having minted some.
            assert words[0] in ("mint", "peppermint") or self.minter.event_count() == before
            return
        self.took_effect(words, [record.get("id", "") for record in answer])

    @rule(batch=st.lists(commands, min_size=2, max_size=5))
    def bulk(self, batch: list[tuple[str, ...]]) -> None:
        batch = [tuple(self.full(word) for word in words) for words in batch]
        lines = [b" ".join(b"'" + word.encode() + b"'" for word in self.peppered(words)) + b"\n" for words in batch]
        # A pepper made in this very run is not known in time to be used in it.
        for words, result in zip(batch, run_lines(self.minter.session, Lines(lines)), strict=True):
            ids = [data.get("id", b"").decode() for record in result.records for data in record.data()]
            if result.error is None or words[0] in ("mint", "peppermint"):
                self.took_effect(words, ids)

    @rule()
    def close_and_open_again(self) -> None:
        self.minter.close()

    def full(self, word: str) -> str:
        """A name of the minter with its NAAN, if it has one."""
        return f"13030/{word}" if self.long_term and word.startswith("x") else word

    def peppered(self, words: tuple[str, ...]) -> list[str]:
        return [self.peppers.get(word, word) for word in words]

    def took_effect(self, words: tuple[str, ...], ids: list[str]) -> None:
        name = next((word for word in words[1:] if not word.startswith("--")), "")
        if words[0] in ("mint", "peppermint"):
            for identifier in ids:
                bare = identifier.partition("!")[0]
                assert bare not in self.withdrawn, "a withdrawn name was minted"
                self.peppers.pop(bare, None)
                if "!" in identifier:
                    self.peppers[bare] = identifier
            return
        if words[0] == "withdraw":
            assert name not in self.withdrawn, "what was withdrawn was withdrawn again"
            self.withdrawn.add(name)
        elif words[0] == "tombstone":
            assert name in self.withdrawn
        elif words[0] in ("synonym", "relate", "custodian", "quality", "prefer") and "--remove" not in words:
            assert not self.withdrawn & set(words), "something was stated of a withdrawn name"
        elif words[0] == "bind" or (words[0] in ("hold", "queue") and len(words) == 3):
            assert not self.withdrawn & set(words[2:]), "a withdrawn name was changed"
        elif words[0] in ("publish", "reserve"):
            assert not self.withdrawn & set(words[1:]), "a withdrawn name was brought back"
        elif words[0] == "alias" and words[1] != "--remove":
            assert not self.withdrawn & set(words[1:])

    # -- what must be true after each ----------------------------------------------------------------------------

    def ready(self) -> bool:
        return hasattr(self, "minter")

    @invariant()
    def no_event_was_lost_or_rewritten(self) -> None:
        if not self.ready():
            return
        rows = self.minter.read(lambda reader: list(reader.scan(EVENTS)))
        assert [int.from_bytes(key, "big") for key, _ in rows] == list(range(1, len(rows) + 1))
        packed = [value for _, value in rows]
        assert packed[: len(self.events)] == self.events
        self.events = packed

    @invariant()
    def the_record_replayed_gives_what_is_stored(self) -> None:
        if not self.ready():
            return

        def work(reader) -> None:
            for name in [*self.names, "x00", "x01", "x07", "x10"]:
                key = identifiers.identify(self.minter.opened, reader, name.encode()).key
                record = find(reader, key) or Circulation()
                replayed = ReplayedHistory()
                for event in history.events_of(reader, key):
                    replayed.apply(key, event, self.long_term)
                assert (replayed.letters, replayed.held, replayed.reserved, replayed.withdrawn) == (
                    record.history, record.held, record.reserved, record.withdrawn), name
                stored = {element: value(bound) for element, bound in circulation.elements_of(reader, key)}
                assert stored == replayed.elements, name
                assert reader.get(ALIASES, key) == replayed.alias, name
                if record.withdrawn:
                    assert lifecycle.state_of(reader, key, record) == "withdrawn"
                    assert tombstone_of(reader, key) is not None

        self.minter.read(work)

    @invariant()
    def withdrawn_names_are_out_of_minting(self) -> None:
        if not self.ready():
            return
        queue = self.minter.read(lambda reader: [identifier.decode() for _, identifier in reader.scan(QUEUE)])
        assert not self.withdrawn & set(queue)
        for name in self.withdrawn:
            assert self.minter.state(name) == "withdrawn"
            assert self.minter.resolved(name) == "gone"

    @invariant()
    def no_aliases_loop(self) -> None:
        if not self.ready():
            return
        from noidtools.resolution import resolve

        if self.minter.read(lambda reader: next(reader.scan(ALIASES), None)) is None:
            return
        for name in [*self.names, *(f"{name}/p/q" for name in self.names)]:
            assert resolve(self.minter.opened, name.encode()).reason != "its aliases lead nowhere", name

    @invariant()
    def relations_are_told_by_both_names(self) -> None:
        if not self.ready():
            return
        back = {kind.letter: kind.inverse for kind in relations.KINDS.values()}

        def work(reader) -> None:
            for name in self.names:
                key = identifiers.identify(self.minter.opened, reader, name.encode()).key
                for relation in relations.relations_of(reader, key):
                    if relation.kind == relations.PREFERRED:
                        group = aliases.synonym_group(reader, key, relation.authority)
                        assert len(group) > 1
                        preferring = [other for other in group if any(
                            found.authority == relation.authority
                            for found in relations.relations_of(reader, other, relations.PREFERRED))]
                        assert preferring == [key]
                        continue
                    assert any(found.other == key and found.authority == relation.authority
                               for found in relations.relations_of(reader, relation.other, back[relation.kind]))

        self.minter.read(work)

    @invariant()
    def holds_are_counted(self) -> None:
        if self.ready():
            def work(reader) -> tuple[int, int]:
                held = sum(packed[0] & 1 for _, packed in reader.scan(IDS))
                return held, held_count(reader)

            held, counted = self.minter.read(work)
            assert held == counted


def run(examples: int) -> None:
    run_state_machine_as_test(LifecycleMachine, settings=settings(
        max_examples=examples, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck),
        print_blob=False,
    ))


def test_no_order_of_commands_breaks_what_must_be_true(engine):
    run(10 if engine == "lmdb" else 1)


@pytest.mark.long
def test_no_order_of_commands_in_many_breaks_what_must_be_true(engine):
    run(300 if engine == "lmdb" else 50)
