"""`noid check` compares what is stored with what the events say, and names what differs.

Each record of one minter is changed in turn behind its back, as a faulty disk or a foreign program would, and put back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from noidtools.codec import pack, pair, split_pair, unpack, unpack_numbers
from noidtools.minter.circulation import HELD, PEPPERED, RESERVED, WITHDRAWN
from noidtools.minter.events import newest_number, number_key
from noidtools.minter.schema import (
    ABSTRACT,
    ALIASES,
    ALL_TABLES,
    CHANGES,
    CONFIG,
    CUSTODY,
    ELEMENTS,
    EVENTS,
    HISTORY,
    IDS,
    META,
    NOTES,
    OFFICES,
    PEPPERS,
    QUEUE,
    QUEUED,
    RELATIONS,
    RULES,
    SECRETS,
    STATED,
    TOKENS,
    TOMBSTONES,
)
from noidtools.minter.tokens import secret_of
from noidtools.schemes.base import Settings
from noidtools.store import Reader, Writer
from support.minter import Noid
from support.templates import LONG_TERM, SCHEMES

pytestmark = pytest.mark.slow

Row = tuple[bytes, bytes, bytes | None]
# Finds the rows to write in place of what is stored: table, key, value, None to delete it.
Corruption = Callable[["Subject", Reader], list[Row]]


class Subject:
    """A minter in which everything was used, and the names that stand for something.

    bound      bound by `bind`, and with another target since a retarget
    plain      minted, and nothing else
    queued, held, reserved, withdrawn, alias, peppered
    imported   by a file; it has a value that is longer than an event keeps
    """

    def __init__(self, folder: Path) -> None:
        noid = self.noid = Noid(folder)
        noid("dbcreate", *LONG_TERM)
        ids = [name.encode() for name in noid.ids(40)]
        self.bound, self.plain, self.queued, self.reserved, self.withdrawn, self.alias, self.second = ids[:7]
        self.held = b"13030/ktbb0b0"
        texts = [name.decode() for name in ids]
        noid("bind", "set", texts[0], "_t", "https://a.example/1")
        noid("bind", "set", texts[0], "title", "A title")
        noid("bind", "set", texts[6], "_t", "https://c.example/2")
        noid("retarget", "--from", "https://a.example/", "--to", "https://b.example/", "--name", "moved")
        noid("hold", "release", texts[2])
        noid("queue", "30d", texts[2])
        noid("reserve", texts[3])
        noid("withdraw", texts[4], "--reason", "a mistake", "--successor", texts[0])
        noid("alias", texts[5], texts[0])
        noid("synonym", texts[0], texts[6], "--authority", "us")
        noid("custodian", "set", "Kim", texts[0], "--contact", "kim@a.example")
        noid("custodian", "set", "Lee", texts[0], "--purpose", "links")
        noid("custodian", "set", "The library")
        noid("quality", "state", "trusted", texts[0], "--authority", "us")
        noid("abstract", "context", "Library", "--authority", "us")
        noid("bind", "set", ":idmap/^x(.*)", "_t", "https://x.example/$1")
        noid("policy", "mint", "alice", "bob")
        noid("resolver", "fallback", "https://n2t.net/")
        noid("note", "shelf", "3")
        noid("token", "new", "loader", "--may", "mint")
        noid("hold", "set", self.held.decode())
        (folder / "more.csv").write_text(f"id,element,value\nfar,_t,https://far.example/\nfar,abstract,{'x' * 5000}\n")
        noid("import", "csv", "more.csv")
        self.imported = b"far"
        noid("identify", "photo-4711")
        self.peppered = noid("peppermint", "1").split()[1].partition("!")[0].encode()
        secret_of(noid.opened, b"forms")

    @contextmanager
    def changed(self, corruption: Corruption) -> Iterator[None]:
        """The minter with other rows."""
        rows = self.noid.read(lambda reader: corruption(self, reader))
        before = self.noid.read(lambda reader: [(table, key, reader.get(table, key)) for table, key, _ in rows])
        assert rows and rows != before
        self._write(rows)
        try:
            yield
        finally:
            self._write(before)

    def _write(self, rows: list[Row]) -> None:
        def work(writer: Writer) -> None:
            for table, key, value in rows:
                if value is None:
                    writer.delete(table, key)
                else:
                    writer.put(table, key, value)

        self.noid.write(work)

    def faults(self) -> list[str]:
        done = self.noid.run("check")
        lines = done.stdout.decode().splitlines()
        found = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
        assert done.returncode == (1 if found else 0) and done.stderr == b""
        return found


@pytest.fixture(scope="module")
def subject(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Subject]:
    made = Subject(tmp_path_factory.mktemp("subject"))
    yield made
    made.noid.close()


# -- corruptions -------------------------------------------------------------------------------------------------------


def put(table: bytes, key: Callable[[Subject], bytes], value: bytes | None) -> Corruption:
    return lambda subject, reader: [(table, key(subject), value)]


def flags(name: str, set_: int = 0, clear: int = 0) -> Corruption:
    def find(subject: Subject, reader: Reader) -> list[Row]:
        key = getattr(subject, name)
        packed = reader.get(IDS, key)
        assert packed is not None
        return [(IDS, key, bytes(((packed[0] | set_) & ~clear,)) + packed[1:])]

    return find


def letters(name: str, history: bytes) -> Corruption:
    def find(subject: Subject, reader: Reader) -> list[Row]:
        key = getattr(subject, name)
        return [(IDS, key, (reader.get(IDS, key) or b"")[:12] + history)]

    return find


def part(table: bytes, place: int, value: bytes, chosen: bytes = b"") -> Corruption:
    """Another field of the first row of a table whose key contains `chosen`."""
    def find(subject: Subject, reader: Reader) -> list[Row]:
        key, packed = next((key, value) for key, value in reader.scan(table) if chosen in key)
        fields = unpack(packed)
        fields[place] = value
        return [(table, key, pack(fields))]

    return find


def first(table: bytes, value: bytes | None, chosen: bytes = b"") -> Corruption:
    return lambda subject, reader: [
        (table, next(key for key, _ in reader.scan(table) if chosen in key), value)]


def settings(**changes: str) -> Corruption:
    return lambda subject, reader: [
        (META, b"settings", Settings.unpacked(reader.get(META, b"settings") or b"").with_(**changes).packed())]


def generator(place: int, value: bytes) -> Corruption:
    def find(subject: Subject, reader: Reader) -> list[Row]:
        fields = unpack(reader.get(META, b"state") or b"")
        fields[place] = value
        return [(META, b"state", pack(fields))]

    return find


def counters(change: Callable[[list[int]], None]) -> Corruption:
    def find(subject: Subject, reader: Reader) -> list[Row]:
        fields = unpack(reader.get(META, b"state") or b"")
        numbers = unpack_numbers(fields[4], int(fields[5]))
        change(numbers)
        width = len(fields[4]) // len(numbers)
        fields[4] = b"".join(number.to_bytes(width, "big") for number in numbers)
        return [(META, b"state", pack(fields))]

    return find


def event(verb: bytes, old: bytes, new: bytes) -> Corruption:
    """Other bytes of the same length in the newest event of a verb."""
    assert len(old) == len(new)

    def find(subject: Subject, reader: Reader) -> list[Row]:
        key, packed = next((key, packed) for key, packed in reader.scan(EVENTS, reverse=True)
                           if unpack(packed, most=4)[3] == verb and old in packed)
        return [(EVENTS, key, packed.replace(old, new))]

    return find


def moved(subject: Subject, reader: Reader) -> list[Row]:
    """An entry of the queue, and its index, with another date."""
    key = reader.get(QUEUED, subject.queued) or b""
    sooner = b"20200101000000" + key[14:]
    return [(QUEUE, key, None), (QUEUE, sooner, subject.queued), (QUEUED, subject.queued, sooner)]


def raised(numbers: list[int]) -> None:
    numbers[0] += 1


def exchanged(numbers: list[int]) -> None:
    numbers[:] = [*sorted(numbers)]


FOUND: dict[str, tuple[Corruption, str]] = {
    # Elements and rules.
    "another target": (put(ELEMENTS, lambda s: pair(s.bound, b"_t"), b"https://evil.example/"),
                       "the element _t of 13030/kt4x551 is 'https://evil.example/', but by event"),
    "another value": (put(ELEMENTS, lambda s: pair(s.bound, b"title"), b"B title"), "'B title', but by event"),
    "another target of the second": (put(ELEMENTS, lambda s: pair(s.second, b"_t"), b"x"), "https://c.example/2"),
    "a lost element": (put(ELEMENTS, lambda s: pair(s.bound, b"title"), None), "is not set, but by event"),
    "a lost imported element": (put(ELEMENTS, lambda s: pair(s.imported, b"_t"), None), "is not set, but by event"),
    "another long value": (put(ELEMENTS, lambda s: pair(s.imported, b"abstract"), b"x" * 4999 + b"y"),
                           "it is a value of 5000 bytes"),
    "an element that nobody bound": (put(ELEMENTS, lambda s: pair(s.plain, b"_t"), b"https://evil.example/"),
                                     "but no event says so"),
    "an element of a name that was never minted": (
        put(ELEMENTS, lambda s: pair(b"13030/ktzz9z9", b"_t"), b"https://evil.example/"), "but no event says so"),
    "another rule": (put(RULES, lambda s: pair(b"_t", b"^x(.*)"), b"https://evil.example/$1"), "of :idmap/^x(.*) is"),
    "a rule that nobody bound": (put(RULES, lambda s: pair(b"_t", b"^y"), b"https://evil.example/"),
                                 "of :idmap/^y is"),
    "a lost rule": (put(RULES, lambda s: pair(b"_t", b"^x(.*)"), None), "of :idmap/^x(.*) is not set"),
    # Circulation records.
    "a lost hold": (flags("plain", clear=HELD), "is not on hold, but by event"),
    "a lost hold of a name that was only held": (put(IDS, lambda s: s.held, None), "is not on hold, but by event"),
    "a lost hold of an imported name": (flags("imported", clear=HELD), "is not on hold, but by event"),
    "a hold that nobody set": (flags("queued", HELD), "is on hold, but by event"),
    "reserved and now published": (flags("reserved", clear=RESERVED), "is published, but by event"),
    "published and now reserved": (flags("bound", RESERVED), "is reserved, but by event"),
    "withdrawn and now published": (flags("withdrawn", clear=WITHDRAWN), "is published, but by event"),
    "published and now withdrawn": (flags("bound", WITHDRAWN), "is withdrawn, but by event"),
    "a lost pepper": (lambda s, r: [*flags("peppered", clear=PEPPERED)(s, r), (PEPPERS, s.peppered, None)],
                      "the pepper of"),
    "a short pepper": (first(PEPPERS, b"x"), "the digest of the pepper of"),
    "a lost digest of a pepper": (first(PEPPERS, None), "digest of its pepper is missing"),
    "a pepper of another": (put(PEPPERS, lambda s: s.bound, bytes(32)), "says that it has none"),
    "another letter": (letters("plain", b"q"), "marked as queued but is not in the queue"),
    "a letter more": (letters("plain", b"ii"), "was minted 2 times according to its circulation record"),
    "a letter less": (letters("bound", b"u"), "was minted 0 times according to its circulation record"),
    "a lost record": (put(IDS, lambda s: s.plain, None), "minted 40 identifiers, but 39 refer to it"),
    "a record of another": (lambda s, r: [(IDS, b"13030/ktzz9z9", r.get(IDS, s.plain))], "and so was another"),
    "a name that this minter could not make": (
        lambda s, r: [(IDS, s.plain, None), (IDS, b"13030/ktaaaaa", r.get(IDS, s.plain))], "cannot make"),
    "an entry of the queue": (first(QUEUE, None), "so it is never minted"),
    "an index of the queue": (first(QUEUED, None), "not in the index of the queue"),
    "the count of holds": (put(META, lambda s: b"held", b"7"), "but 7 are counted"),
    # Tombstones, aliases, relations, custodians, qualities.
    "a tombstone under a published name": (
        lambda s, r: [(TOMBSTONES, s.bound, r.get(TOMBSTONES, s.withdrawn))], "13030/kt4x551 has a tombstone, but"),
    "another reason": (part(TOMBSTONES, 2, b"sold"), "the reason on the tombstone of"),
    "another successor": (part(TOMBSTONES, 3, b"13030/ktzz9z9"), "the successor on the tombstone of"),
    "a lost tombstone": (first(TOMBSTONES, None), "its tombstone is missing"),
    "another target of an alias": (put(ALIASES, lambda s: s.alias, b"13030/ktzz9z9"), "the target of the alias of"),
    "a lost alias": (put(ALIASES, lambda s: s.alias, None), "the target of the alias of"),
    "an alias that nobody made": (put(ALIASES, lambda s: s.plain, b"13030/kt4x551"), "the target of the alias of"),
    "another authority of a relation": (part(RELATIONS, 1, b"them", b"us"), "has 'them', which event"),
    "half a relation": (first(RELATIONS, None, b"us"), "not the other way round"),
    "another date of a relation": (part(RELATIONS, 2, b"20000101000000", b"us"), "has '20000101000000', which event"),
    "another name in a relation": (part(RELATIONS, 0, b"ark:/13030/kt0000", b"us"), "has 'ark:/13030/kt0000', which"),
    "another custodian": (part(CUSTODY, 0, b"Mallory", b"13030"), "the custodian (custodian) of"),
    "another custodian of the minter": (part(CUSTODY, 0, b"Mallory"), "the custodian (custodian) of the minter"),
    "another contact": (part(CUSTODY, 1, b"mallory@evil.example", b"13030"), "the custodian (contact) of"),
    "another custodian with a purpose": (part(OFFICES, 0, b"Mallory"), "the custodian (custodian) of"),
    "a lost custodian": (first(CUSTODY, None, b"13030"), "the custodian of 13030/kt4x551 is not set"),
    "a custodian that nobody named": (
        lambda s, r: [(CUSTODY, pair(s.bound, number_key(3)), pack((b"Mallory", b"", b"20260101000000", b"")))],
        "the custodian of 13030/kt4x551 is 'Mallory', but no event says so"),
    "another quality": (part(STATED, 0, b"-"), "the statement (trusted) of"),
    "a lost quality": (first(STATED, None), "the statement that it is trusted of"),
    "another kind of what is abstract": (part(ABSTRACT, 0, b"name"), "the kind of what is abstract of Library"),
    # The minter.
    "an open policy": (put(CONFIG, lambda s: b"policy/admin", b"anyone"),
                       "the setting policy/admin of the minter is 'anyone', but no event says so"),
    "another policy": (put(CONFIG, lambda s: b"policy/mint", b"user:mallory"), "the setting policy/mint"),
    "a lost policy": (put(CONFIG, lambda s: b"policy/mint", None), "the setting policy/mint of the minter is not set"),
    "another fallback": (put(CONFIG, lambda s: b"resolver/fallback", b"https://evil.example/"),
                         "the setting resolver/fallback"),
    "another note": (put(NOTES, lambda s: b"shelf", b"4"), "the note shelf"),
    "a token for more": (part(TOKENS, 1, b"mint,bind,admin"), "the token loader of the minter is 'mint,bind,admin'"),
    "a token for longer": (part(TOKENS, 3, b"20991231000000"), "is 'mint 20991231000000', but by event"),
    "a token for an unknown class": (part(TOKENS, 1, b"everything"), "a token is damaged"),
    "a token that nobody made": (
        lambda s, r: [(TOKENS, bytes(32), pack((b"evil", b"admin", b"20200101000000", b"", b"")))], "the token evil"),
    "a second token of one name": (lambda s, r: [(TOKENS, bytes(32), next(packed for _, packed in r.scan(TOKENS)))],
                                   "there are two tokens loader"),
    "a short secret": (first(SECRETS, b"x"), "the secret of the minter"),
    "another template": (settings(template="kt.reedee"), "the template of the minter is 'kt.reedee'"),
    "another NAAN": (settings(naan="12345"), "cannot make"),
    "another term": (settings(term="medium"), "is on hold, but"),
    "the mark of names from elsewhere": (put(META, lambda s: b"foreign", None), "identifiers come from elsewhere"),
    "another seed": (settings(seed="7"), "the state of the generator is damaged"),
    # Events.
    "a value in an event": (event(b"bind set", b"A title", b"X title"), "by event"),
    "a value in a row of a bulk change": (
        lambda s, r: [(CHANGES, key, packed.replace(b"=https://b", b"=https://x")) for key, packed in r.scan(CHANGES)
                      if b"=https://b" in packed], "it is 'https://x.example/1'"),
    "a part of an event that is nothing": (
        event(b"bind set", b"i13030/kt4x551", b"h13030/kt4x551"), "is damaged: restore a backup"),
    "another name in an event": (event(b"withdraw", b"i13030/kt", b"i13031/kt"), "but says that it concerns others"),
    "a lost event": (put(EVENTS, lambda s: number_key(4), None), "event 4 is missing"),
    "a lost entry of the index": (lambda s, r: [(HISTORY, next(k for k, _ in r.scan(HISTORY)
                                                              if split_pair(k)[0] == s.bound), None)],
                                  "is missing in the history of"),
    # Items.
    "an item with the identifier of another": (
        lambda s, r: [(META, key, pack((s.plain, b"1"))) for key, _ in r.scan(META, b"item ")],
        "an item has the identifier 13030/kt154d9, but no event says so"),
    "an item with a damaged identifier": (
        lambda s, r: [(META, key, b"") for key, _ in r.scan(META, b"item ")], "the identifier of an item under"),
    # The generator.
    "a pass more": (generator(0, b"1"), "it has started over 1 times"),
    "a grown mask": (generator(1, b"1"), "the state of the generator is damaged"),
    "draws before": (generator(2, b"3"), "3 were drawn with shorter masks"),
    "fewer draws": (generator(3, b"7"), "the counters add up to"),
    "more draws": (generator(3, b"9999"), "the counters add up to"),
    "draws that are no number": (generator(3, b"x"), "the state of the generator is damaged"),
    "no counters": (generator(4, b""), "the state of the generator is damaged"),
    "fewer counters": (generator(5, b"7"), "the state of the generator is damaged"),
    "counters of another width": (generator(4, b"\xff" * 8 * 293), "the state of the generator is damaged"),
    "a counter that is one too high": (counters(raised), "the counters add up to"),
    "counters in another order": (counters(exchanged), "the counters are not those that 42 draws leave"),
}

# Of these there is no second witness.
MISSED: dict[str, Corruption] = {
    "another pepper": first(PEPPERS, bytes(32)),
    "another secret": first(SECRETS, bytes(32)),
    "who did it": event(b"note", b"\x05shell", b"\x05sh3ll"),
    "the date of the queue": moved,
}


def test_nothing_is_wrong_before(subject: Subject) -> None:
    assert subject.faults() == []


@pytest.mark.parametrize("case", FOUND)
def test_what_is_not_as_the_events_say_is_named(
    subject: Subject, case: str
) -> None:
    corruption, sentence = FOUND[case]
    with subject.changed(corruption):
        found = subject.faults()
        assert any(sentence in fault for fault in found), found


def test_nine_of_ten_are_found(subject: Subject) -> None:
    for corruption in MISSED.values():
        with subject.changed(corruption):
            assert subject.faults() == []
    assert len(FOUND) >= 9 * len(MISSED) and len(FOUND) + len(MISSED) >= 64


# -- repair ------------------------------------------------------------------------------------------------------------


def test_a_tombstone_under_a_published_name_does_not_make_repair_withdraw_it(subject: Subject) -> None:
    name = subject.bound.decode()
    with subject.changed(lambda s, r: [(TOMBSTONES, s.bound, r.get(TOMBSTONES, s.withdrawn))]):
        done = subject.noid.run("check", "--repair")
        assert done.returncode == 1 and b"mended" not in done.stdout and b"has a tombstone, but" in done.stdout
        assert subject.noid("resolve", name).strip() == "https://b.example/1"
        assert any(f"{name} has a tombstone" in fault for fault in subject.faults())


@pytest.fixture
def small(noid: Noid) -> Noid:
    noid("dbcreate", *LONG_TERM)
    noid.mint(3)
    return noid


def change_flags(noid: Noid, name: str, clear: int) -> None:
    def work(writer: Writer) -> None:
        packed = writer.get(IDS, name.encode()) or b""
        writer.put(IDS, name.encode(), bytes((packed[0] & ~clear,)) + packed[1:])

    noid.write(work)


def test_a_lost_hold_is_named_and_repair_restores_it_so_that_nothing_is_minted_twice(small: Noid) -> None:
    change_flags(small, "13030/kt4x551", HELD)
    assert "13030/kt4x551 is not on hold, but by event 2 it is on hold" in small.run("check").stdout.decode()
    assert "mended: 13030/kt4x551 is not on hold" in small("check", "--repair")
    assert "nothing is wrong" in small("check") and "held: 3" in small("status")
    assert "is on hold" in small.refused("queue", "now", "13030/kt4x551")


def test_an_imported_name_whose_record_is_lost_is_held_again_by_repair_and_never_minted(noid: Noid) -> None:
    noid("dbcreate", "kt.sd")
    noid("import", "csv", "-", stdin=b"id,element,value\nkt5,_t,https://a.example/\n")
    noid.write(lambda writer: writer.delete(IDS, b"kt5"))
    assert "in the history of kt5" in noid.run("check").stdout.decode()
    assert "mended: kt5 is not on hold, but by event 2 it is on hold" in noid("check", "--repair")
    assert "nothing is wrong" in noid("check")
    assert b"id: kt5\n" not in noid.run("mint", "10", "--yes").stdout


def test_a_lost_withdrawal_is_named_and_repair_restores_it(small: Noid) -> None:
    small("withdraw", "13030/kt4x551", "--reason", "a mistake")
    change_flags(small, "13030/kt4x551", WITHDRAWN)
    assert "13030/kt4x551 is published, but by event 3 it is withdrawn" in small.run("check").stdout.decode()
    small("check", "--repair")
    assert "nothing is wrong" in small("check")
    assert "was withdrawn" in small.refused("resolve", "13030/kt4x551")


@pytest.mark.parametrize("case", [
    "a lost hold", "a lost hold of a name that was only held", "withdrawn and now published", "an entry of the queue",
    "an index of the queue", "the count of holds", "a lost entry of the index", "the mark of names from elsewhere",
])
def test_what_repair_mends_is_as_it_was(subject: Subject, case: str) -> None:
    def rows(reader: Reader) -> list[tuple[bytes, bytes, bytes]]:
        return [(table, key, value) for table in ALL_TABLES if table != EVENTS for key, value in reader.scan(table)]

    before, event = subject.noid.read(rows), subject.noid.read(newest_number) + 1
    with subject.changed(FOUND[case][0]):
        assert "mended: " in subject.noid("check", "--repair")
        assert subject.noid.read(rows) == before
        subject.noid.write(lambda writer: writer.delete(EVENTS, number_key(event)))


def test_what_a_person_decided_is_no_longer_named(small: Noid) -> None:
    small("bind", "set", "13030/kt4x551", "_t", "https://a.example/")
    small.write(lambda writer: writer.put(ELEMENTS, pair(b"13030/kt4x551", b"_t"), b"https://b.example/"))
    assert small.run("check", "--repair").returncode == 1
    assert small("get", "13030/kt4x551", "_t").strip() == "https://b.example/"
    small("bind", "set", "13030/kt4x551", "_t", "https://a.example/")
    assert "nothing is wrong" in small("check")


# -- minters with which nothing is wrong -------------------------------------------------------------------------------


def test_an_archive_that_is_away_is_named(small: Noid) -> None:
    small("bind", "set", "13030/kt4x551", "note", "x" * 200)
    small("bind", "set", "13030/kt4x551", "_t", "https://a.example/")
    archive = small.folder.parent / "old.jsonl"
    small("log", "--archive", "2100", str(archive))
    assert "nothing is wrong" in small("check")
    kept = archive.rename(small.folder / "elsewhere")
    found = small.run("check").stdout.decode()
    assert "what event 3 changed is not known: the rest is in the archive old.jsonl" in found
    kept.rename(small.folder / "old.jsonl")
    assert "nothing is wrong" in small("check")
    (small.folder / "old.jsonl").write_text("")
    assert "it does not have this event" in small.run("check").stdout.decode()


def test_what_an_archived_event_may_have_changed_is_open_and_all_else_is_compared(small: Noid) -> None:
    small("bind", "set", "13030/kt4x551", "note", "x" * 200)
    small("bind", "set", "13030/kt154d9", "_t", "https://a.example/")
    small("log", "--archive", "2100", str(small.folder / "old.jsonl"))
    small.write(lambda writer: writer.put(ELEMENTS, pair(b"13030/kt4x551", b"note"), b"y"))
    assert "nothing is wrong" in small("check")
    change_flags(small, "13030/kt4x551", HELD)
    assert "is not on hold, but by event 2" in small.run("check").stdout.decode()


def test_nothing_is_wrong_however_a_minter_was_made(subject: Subject, tmp_path: Path) -> None:
    noid = subject.noid
    for number, words in enumerate((
        ["copy", str(noid.folder), str(tmp_path / "copy")],
        ["backup", str(tmp_path / "backup")],
        ["-f", str(tmp_path / "restored"), "restore", str(tmp_path / "backup"), "--skip", "5"],
    )):
        (tmp_path / "restored").mkdir(exist_ok=True)
        assert noid.run(*words).returncode == 0, number
    export = noid("export", "jsonl", "--history")
    (tmp_path / "whole.jsonl").write_text(export)
    (tmp_path / "whole").mkdir()
    noid("-f", str(tmp_path / "whole"), "import", "jsonl", str(tmp_path / "whole.jsonl"))
    for folder in ("copy", "restored", "whole"):
        assert "nothing is wrong" in noid("-f", str(tmp_path / folder), "check"), folder
        noid("-f", str(tmp_path / folder), "mint", "2")
        assert "nothing is wrong" in noid("-f", str(tmp_path / folder), "check"), folder


def test_names_that_this_minter_could_not_make_are_compared_as_its_own(small: Noid) -> None:
    small("hold", "set", "shelf/17")
    small("bind", "set", "shelf/17", "_t", "https://a.example/")
    small("reserve", "shelf/18")
    small("token", "new", "loader", "--may", "mint", "--expires", "30d")
    assert "nothing is wrong" in small("check")
    change_flags(small, "shelf/17", HELD)
    assert "shelf/17 is not on hold, but by event" in small.run("check").stdout.decode()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_nothing_is_wrong_with_labels_made_from_the_time(noid: Noid, scheme: str) -> None:
    noid("dbcreate", *SCHEMES[scheme])
    first = noid.ids(2)[0]
    noid("bind", "set", first, "_t", "https://a.example/")
    noid("hold", "set", first)
    assert "nothing is wrong" in noid("check")


def test_the_newest_value_may_be_that_of_a_bulk_change_with_a_smaller_number(small: Noid) -> None:
    """A named change is continued by the same command, under its first number."""
    retarget = ("retarget", "--from", "https://a.example/", "--to", "https://b.example/", "--name", "moved")
    small("bind", "set", "13030/kt4x551", "_t", "https://a.example/1")
    small(*retarget)
    small("bind", "set", "13030/kt4x551", "_t", "https://a.example/2")
    small(*retarget)
    assert small("resolve", "13030/kt4x551").strip() == "https://b.example/2"
    assert "nothing is wrong" in small("check")
