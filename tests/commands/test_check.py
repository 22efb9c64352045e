"""`noid check` names what is wrong in a database, and mends what follows from other records."""

from __future__ import annotations

import pytest

from noidtools.codec import pack, pair
from noidtools.minter.check import examination
from noidtools.minter.circulation import HELD, PEPPERED, RESERVED, UNAVAILABLE, WITHDRAWN
from noidtools.minter.events import number_key
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
    OFFICES,
    PEPPERS,
    QUEUE,
    QUEUED,
    RELATIONS,
    REPLIES,
    RULES,
    STATED,
    TOKENS,
    TOMBSTONES,
    VERIFIED,
)
from support.templates import LONG_TERM

pytestmark = pytest.mark.slow

DATE = b"20200101000000"


@pytest.fixture
def rich(noid):
    """A minter with something in every table that check examines."""
    noid("dbcreate", "kt.rdddd")
    ids = noid.ids(12)
    noid("peppermint", "1")
    for name in ids[:3]:
        noid("bind", "set", name, "_t", f"https://a.example/{name}")
    noid("queue", "now", *ids[3:6])
    noid("hold", "set", ids[6])
    noid("withdraw", ids[7], "--reason", "none", "--successor", ids[0])
    noid("alias", ids[8], ids[0])
    noid("synonym", ids[1], ids[2], "--authority", "us")
    noid("custodian", "set", "Kim", ids[1])
    noid("bind", "set", ":idmap/^x", "e", "y")
    noid("retarget", "--from", "https://a.example/", "--to", "https://b.example/", "--name", "moved")
    noid.run("verify", "--record", ids[0])
    noid.names = [name.encode() for name in ids]
    return noid


def damage(noid, table: bytes, key: bytes, value: bytes | None):
    noid.write(lambda writer: writer.delete(table, key) if value is None else writer.put(table, key, value))


def value_of(noid, table: bytes, key: bytes) -> bytes:
    value = noid.read(lambda reader: reader.get(table, key))
    assert value is not None
    return value


def first(noid, table: bytes) -> tuple[bytes, bytes]:
    return noid.read(lambda reader: next(reader.scan(table)))


def faults(noid) -> list[str]:
    done = noid.run("check")
    found = [line.removeprefix("error: ") for line in done.stdout.decode().splitlines() if line.startswith("error: ")]
    assert done.returncode == (1 if found else 0) and done.stderr == b""
    return found


def test_nothing_is_wrong_with_a_minter_in_which_everything_was_used(rich):
    printed = rich("check")
    assert printed.endswith("items examined, nothing is wrong\n\n") and printed.count("\n") == 2
    counted = rich.read(lambda reader: sum(1 for table in ALL_TABLES for _ in reader.scan(table)))
    assert printed.startswith(f"ok: {counted} items ")
    assert rich("check", "--repair") == printed


def test_nothing_is_wrong_with_an_empty_minter_and_with_each_scheme(noid, tmp_path):
    timed = ["--scheme", "pilin", "--prefix", "102.100.272"]
    for number, words in enumerate(([], [*LONG_TERM], timed, [".sd", "short"])):
        folder = tmp_path / str(number)
        folder.mkdir()
        noid("-f", str(folder), "dbcreate", *words)
        assert "nothing is wrong" in noid("-f", str(folder), "check")
        noid("-f", str(folder), "mint", "3")
        assert "nothing is wrong" in noid("-f", str(folder), "check")


def queue_key(noid, name: bytes) -> bytes:
    return value_of(noid, QUEUED, name)


def bulk_event(noid) -> bytes:
    return first(noid, CHANGES)[0][:5]


def last_minted(noid) -> bytes:
    event = noid.newest_event()
    assert event.tally is not None and event.tally.minted == 1
    return event.tally.last


# Each: what is done to the database, a part of the sentence, and whether it can be mended.
CASES = {
    "held count": (lambda n: damage(n, META, b"held", b"7"), "are on hold, but 7 are counted", True),
    "index of the queue": (lambda n: damage(n, QUEUED, n.names[3], None), "not in the index of the queue", True),
    "entry of the queue": (lambda n: damage(n, QUEUE, queue_key(n, n.names[3]), None), "so it is never minted", True),
    "both": (lambda n: [damage(n, QUEUE, queue_key(n, n.names[3]), None), damage(n, QUEUED, n.names[3], None)],
             "marked as queued but is not in the queue", False),
    "queued though issued": (
        lambda n: damage(n, IDS, n.names[3], b"\0" + value_of(n, IDS, n.names[3])[1:12] + b"iq"),
        "it would be minted once more", True),
    "held count of no number": (lambda n: damage(n, META, b"held", b"xyz"), "but their count is damaged", True),
    "queued twice": (
        lambda n: damage(n, QUEUE, DATE + bytes(6) + b"0" * 40 + b"\0" + n.names[3], n.names[3]),
        "is in the queue twice", True),
    "queue without a record": (lambda n: damage(n, IDS, n.names[3], None), "has no circulation record", False),
    "entry of no form": (lambda n: damage(n, QUEUE, b"x", n.names[9]), "in the queue is damaged", False),
    "number of the queue": (lambda n: damage(n, META, b"queue sequence", b"1"), "not greater than all others", True),
    "number of the queue that is none": (
        lambda n: damage(n, META, b"queue sequence", b"xyz"), "next entry of the queue is damaged", True),
    "short record": (lambda n: damage(n, IDS, n.names[0], b"abc"), "is damaged (it has 3 bytes)", False),
    "flags": (lambda n: damage(n, IDS, n.names[0], b"\xf0" + value_of(n, IDS, n.names[0])[1:]), "flags are 240", False),
    "letters": (lambda n: damage(n, IDS, n.names[0], value_of(n, IDS, n.names[0]) + b"z"), "its letters are", False),
    "number": (lambda n: damage(n, IDS, n.names[0], value_of(n, IDS, n.names[0])[:6] + b"\0\0\0\0\x09\0i"),
               "was issued as number 2304", False),
    "two of a number": (lambda n: damage(n, IDS, n.names[10], value_of(n, IDS, n.names[9])),
                        "and so was another", False),
    "records of minted ones": (lambda n: [damage(n, IDS, name, None) for name in n.names[9:12]],
                               "event 2 minted 12 identifiers, but 9 refer to it", False),
    "record of one that was minted alone": (lambda n: [n("mint", "1"), damage(n, IDS, last_minted(n), None)],
                                            "minted 1 identifiers, but 0 refer to it", False),
    "event of a record": (
        lambda n: damage(n, IDS, n.names[9], b"\0\0\0\x09\0\0" + value_of(n, IDS, n.names[9])[6:]),
        "refers to event 589824, which does not exist", False),
    "pepper": (lambda n: damage(n, PEPPERS, first(n, PEPPERS)[0], None), "digest of its pepper is missing", False),
    "pepper without flag": (lambda n: damage(n, PEPPERS, n.names[9], bytes(32)), "says that it has none", False),
    "short pepper": (lambda n: damage(n, PEPPERS, first(n, PEPPERS)[0], b"x"), "the digest of the pepper", False),
    "tombstone": (lambda n: damage(n, TOMBSTONES, n.names[7], None), "its tombstone is missing", False),
    "damaged tombstone": (lambda n: damage(n, TOMBSTONES, n.names[7], b"\x09x"), "tombstone of", False),
    "date of a tombstone": (lambda n: damage(n, TOMBSTONES, n.names[7], pack([b"soon"] * 5)), "tombstone of", False),
    "tombstone of a living": (
        lambda n: damage(n, TOMBSTONES, n.names[9], value_of(n, TOMBSTONES, n.names[7])), "does not say that", False),
    "event": (lambda n: damage(n, EVENTS, number_key(3), None), "event 3 is missing", False),
    "damaged event": (lambda n: damage(n, EVENTS, number_key(4), b"\x20short"), "event 4 is damaged", False),
    "index of events": (lambda n: damage(n, HISTORY, pair(n.names[0], number_key(4)), None),
                        "event 4 is missing in the history of", True),
    "index of a bulk change": (lambda n: damage(n, HISTORY, pair(n.names[0], bulk_event(n)), None),
                               "is missing in the history of", True),
    "index of an event of others": (lambda n: damage(n, HISTORY, pair(n.names[9], number_key(4)), b""),
                                    "has event 4, which does not concern it", True),
    "index of a bulk change of others": (lambda n: damage(n, HISTORY, pair(n.names[9], bulk_event(n)), b""),
                                         "which does not concern it", True),
    "index of a minting of others": (lambda n: damage(n, HISTORY, pair(b"never", number_key(2)), b""),
                                     "event 2 minted 12 identifiers, but 13 refer to it", False),
    "index to nothing": (lambda n: damage(n, HISTORY, pair(n.names[0], number_key(999)), b""),
                         "refers to event 999", False),
    "index of no form": (lambda n: damage(n, HISTORY, b"x", b""), "of the index of events is damaged", False),
    "change": (lambda n: damage(n, CHANGES, first(n, CHANGES)[0], b"\x05"), "a change of event", False),
    "lost change": (lambda n: damage(n, CHANGES, first(n, CHANGES)[0], None),
                    "changed 3 bindings, but 2 of these changes are stored", False),
    "change of nothing": (lambda n: damage(n, CHANGES, number_key(998) + pair(b"a", b"b"), first(n, CHANGES)[1]),
                          "belongs to event 998", False),
    "name of an event": (lambda n: n.write(lambda w: [w.put(META, key, b"997") for key, _ in list(w.scan(META))
                                                      if key.endswith(b"moved")]), "refers to event 997", False),
    "name of an event with no number": (
        lambda n: n.write(lambda w: [w.put(META, key, b"xyz") for key, _ in list(w.scan(META))
                                     if key.endswith(b"moved")]),
        "the number of it is damaged", False),
    "date of a custodian": (lambda n: damage(n, CUSTODY, first(n, CUSTODY)[0], pack([b"Kim", b"", b"x", b""])),
                            "the custodian under", False),
    "custodian": (lambda n: damage(n, CUSTODY, first(n, CUSTODY)[0], b"x"), "the custodian under", False),
    "custodian of nothing": (lambda n: damage(n, CUSTODY, pair(n.names[1], number_key(996)), first(n, CUSTODY)[1]),
                             "refers to event 996", False),
    "element": (lambda n: damage(n, ELEMENTS, b"nothing", b"x"), "belongs to no identifier", False),
    "element without name": (lambda n: damage(n, ELEMENTS, pair(b"kt1", b""), b"x"), "has no name", False),
    "rule": (lambda n: damage(n, RULES, pair(b"e", b"(("), b"x"), "cannot be used", False),
    "alias": (lambda n: damage(n, ALIASES, n.names[8], None), "make it an alias, but it is not resolved", False),
    "alias without relation": (lambda n: damage(n, ALIASES, n.names[9], n.names[1]), "relations do not say so", False),
    "alias that is not held": (
        lambda n: damage(n, IDS, n.names[8], b"\0" + value_of(n, IDS, n.names[8])[1:]), "is not on hold", True),
    "loop of aliases": (lambda n: damage(n, ALIASES, n.names[8], n.names[8]), "a loop of aliases", False),
    "relation": (lambda n: damage(n, RELATIONS, pair(n.names[0], b"?" + pair(b"", b"x")), first(n, RELATIONS)[1]),
                 "the relation under", False),
    "half a relation": (lambda n: damage(n, RELATIONS, first(n, RELATIONS)[0], b"x"), "not the other way round", False),
    "half a synonym": (lambda n: n.write(lambda w: w.delete_prefix(RELATIONS, pair(n.names[1], b"s"))),
                       "has the synonym", False),
    "half a successor": (lambda n: n.write(lambda w: w.delete_prefix(RELATIONS, pair(n.names[7], b"n"))),
                         "has the predecessor", False),
    "half an alias": (lambda n: n.write(lambda w: w.delete_prefix(RELATIONS, pair(n.names[0], b"t"))),
                      "has the alias-of", False),
    "findings": (lambda n: damage(n, VERIFIED, n.names[0], b"\x7fx"), "the results of verifying", False),
    "sign of a finding": (
        lambda n: damage(n, VERIFIED, n.names[0], value_of(n, VERIFIED, n.names[0]).replace(b"+", b"z")),
        "the results of verifying", False),
    "access rule": (lambda n: damage(n, CONFIG, b"policy/mint", b"garbage"), "the setting 'policy/mint'", False),
    "policy on minting": (lambda n: damage(n, CONFIG, b"lifecycle/minting", b"x"), "the setting", False),
    "date of a promise": (lambda n: damage(n, CONFIG, b"commitment/persistence-from", b"x"), "the setting", False),
    "garbage in a setting": (lambda n: damage(n, CONFIG, b"resolver/fallback", b"\xff\0"), "the setting", False),
    "date of the last backup": (lambda n: damage(n, META, b"backup", b"x"), "the date of the last backup", False),
    "statement": (lambda n: damage(n, STATED, pair(n.names[1], pair(b"q", b"a")), b"x"), "the statement under", False),
    "statement of nothing": (
        lambda n: damage(n, STATED, pair(n.names[1], pair(b"q", b"a")), pack((b"+", b"", b"", b"", b"995"))),
        "refers to event 995", False),
    "office": (lambda n: damage(n, OFFICES, pair(n.names[1], number_key(2)), b"x"), "the custodian under", False),
    "abstract name": (lambda n: damage(n, ABSTRACT, b"x", b"y"), "what is abstract under x", False),
    "token": (lambda n: damage(n, TOKENS, bytes(32), b"y"), "a token is damaged", False),
    "replies": (lambda n: damage(n, REPLIES, b"p" + bytes(42), b"x"), "a part of a stored reply", True),
    "generator": (lambda n: damage(n, META, b"state", b"\x01x"), "the state of the generator is damaged", False),
    "counters": (lambda n: damage(n, META, b"state", value_of(n, META, b"state").replace(b"\x0213", b"\x0299")),
                 "the state of the generator is damaged: the counters add up", False),
    "unknown table": (lambda n: damage(n, b"~", b"x", b"y"), "that this release does not know", False),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_wrong_is_named_and_mended_if_that_is_no_guess(rich, case):
    spoil, part, mendable = CASES[case]
    spoil(rich)
    found = faults(rich)
    assert any(part in sentence for sentence in found), found
    done = rich.run("check", "--repair")
    mended = [line for line in done.stdout.decode().splitlines() if line.startswith("mended: ")]
    assert any(part in line for line in mended) == mendable, (mended, found)
    left = faults(rich)
    assert any(part in sentence for sentence in left) != mendable, left
    if mendable:
        assert left == [] and done.returncode == 0
        repaired = rich.newest_event()
        assert repaired.verb == b"check repair" and any(part in detail.decode() for detail in repaired.details)


def test_a_mended_queue_mints_what_is_in_it_once(rich):
    queued = [name.decode() for name in rich.names[3:6]]
    rich.write(lambda writer: [writer.delete(QUEUED, name) for name in rich.names[3:6]])
    damage(rich, QUEUE, DATE + bytes(6) + b"0" * 40 + b"\0" + rich.names[4], rich.names[4])
    rich.run("check", "--repair")
    assert faults(rich) == []
    assert sorted(rich.ids(3)) == sorted(queued) and not set(rich.ids(20)) & set(queued)


def test_very_many_faults_are_counted_and_mended_in_several_rounds(rich, monkeypatch):
    monkeypatch.setattr(examination, "_MOST_FAULTS", 5)
    ids = [name.encode() for name in rich.ids(12)]
    rich("queue", "now", *(name.decode() for name in ids))
    rich.write(lambda writer: [writer.delete(QUEUED, name) for name in ids])
    printed = rich.run("check").stdout.decode()
    assert "faults: 12 in " in printed and "the first 5 are listed" in printed and "can be mended" in printed
    assert rich.run("check", "--repair").stdout.decode().count("mended: ") == 12
    assert faults(rich) == []


def test_repair_leaves_the_history_of_a_name_whose_change_is_lost(rich):
    damage(rich, CHANGES, first(rich, CHANGES)[0], None)
    before = rich.read(lambda reader: list(reader.scan(HISTORY)))
    assert b"mended" not in rich.run("check", "--repair").stdout
    assert rich.read(lambda reader: list(reader.scan(HISTORY))) == before


DAMAGED_COUNTS = {
    b"held": ["hold", "set", "x1"], b"queue sequence": ["queue", "now", "x1"], b"event name moved": ["undo", "moved"],
}


@pytest.mark.parametrize("key", DAMAGED_COUNTS)
def test_a_command_that_needs_a_damaged_count_says_so_in_a_sentence(rich, key):
    damage(rich, META, key, b"xyz")
    words = [rich.names[9].decode() if word == "x1" else word for word in DAMAGED_COUNTS[key]]
    assert "is damaged: 'noid check --repair'" in rich.refused(*words, status=1)


def test_damaged_findings_are_left_out_and_verifying_again_replaces_them(rich):
    name = rich.names[0]
    for spoilt in (value_of(rich, VERIFIED, name).replace(b"+", b"z"), b"\x7fx"):
        damage(rich, VERIFIED, name, spoilt)
        rich.run("verify", "--record", name.decode())
        assert faults(rich) == []


def test_a_damaged_tombstone_is_a_sentence(rich):
    damage(rich, TOMBSTONES, rich.names[7], pack([b"a"]))
    assert "is damaged: 'noid check'" in rich.refused("tombstone", rich.names[7].decode(), "--reason", "x", status=1)


def test_nothing_is_wrong_after_everything_that_makes_events_of_many(noid):
    """Counts of events agree with what refers to them, however often an identifier went through circulation."""
    noid("dbcreate", ".sdd", "short")
    ids = noid.ids(90)
    noid("queue", "now", *ids[:5])
    noid("queue", "delete", ids[0])
    noid("hold", "set", ids[1])
    noid("hold", "set", "95")
    noid("hold", "release", "95")
    noid("bind", "set", "97", "e", "v")
    noid("bind", "mint", "new", "e", "w")
    noid.ids(120)
    (noid.folder / "f.csv").write_text("id,element,value\nfar,e,1\nfar,e,2\n98,e,3\nfar,e,1\n")
    noid("import", "csv", "f.csv", "--on-conflict", "replace")
    noid("import", "csv", "f.csv", "--on-conflict", "replace", "--keep-going")
    noid("undo", str(noid.newest_event().number))
    assert "nothing is wrong" in noid("check")


def test_damaged_settings_are_a_sentence(noid):
    noid("dbcreate", ".sd")
    damage(noid, META, b"settings", b"\x03abc")
    assert "are damaged: restore a backup" in noid.refused("check", status=1)


def test_every_table_is_examined(noid):
    """Else a table that is added would be damaged unnoticed."""
    from noidtools.minter import check

    noid("dbcreate", ".sd")
    scanned = set()

    def examining(self, table):
        scanned.add(table)
        return self.reader.scan(table)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(examination.Examination, "items", examining)
        check.examine(noid.opened)
    assert scanned == set(ALL_TABLES)


def test_the_flags_are_all_that_records_know():
    """Else check would report the records of a new one as damaged."""
    from noidtools.minter.check import names

    assert HELD | PEPPERED | RESERVED | WITHDRAWN | UNAVAILABLE == names._FLAGS
