"""The commands hold and queue, and the circulation record."""

from __future__ import annotations

import re


def test_holds_set_or_released_twice_are_counted_once(noid):
    noid("dbcreate", ".sdd")
    assert noid("hold", "set", "01", "02", "01") == "ok: 2 holds placed\n\n"
    assert noid("hold", "set", "01") == "ok: 0 holds placed\n\n"
    assert "\nHeld: 2\n" in noid("dbinfo")
    assert noid("hold", "release", "01", "05") == "ok: 1 hold released\n\n"
    assert noid("hold", "release", "01") == "ok: 0 holds released\n\n"
    assert "\nHeld: 1\n" in noid("dbinfo")
    assert noid.ids(3) == ["00", "01", "03"]


def test_a_long_term_identifier_is_queued_only_after_its_hold_is_released(noid):
    noid("dbcreate", ".sd", "long", "12345", "a", "b")
    noid("mint", "2")
    assert "on hold" in noid.refused("queue", "now", "12345/0", status=1)
    noid("hold", "release", "12345/0")
    noid("queue", "now", "12345/0")
    assert noid.ids(1) == ["12345/0"]
    assert "\nHeld: 2\n" in noid("dbinfo")


def test_the_circulation_history_keeps_all_its_letters_newest_first(noid):
    noid("dbcreate", ".sdd")
    noid("mint", "1")
    noid("bind", "set", "00", "e", "v")
    noid("queue", "now", "00")
    assert re.search(r"^Circ:  qi\|", noid("fetch", "00"), re.M)
    noid("mint", "1", "f", "w")
    shown = noid("fetch", "00")
    assert re.search(r"^Circ:  iqi\|\d{14}\|[^|]+\|1$", shown, re.M)
    assert "e: v" not in shown, "re-issuing must clear the bindings"
    noid("queue", "30d", "00")
    noid("queue", "delete", "00")
    noid("bind", "set", "00", "e", "v")
    assert re.search(r"^Circ:  uqiqi\|", noid("fetch", "00"), re.M)


def test_queue_delete_takes_an_identifier_out_of_the_queue(noid):
    noid("dbcreate", ".sdd")
    noid("queue", "now", "07", "08")
    assert noid("queue", "delete", "07") == "id: 07\nnote: 1 identifier taken out of the queue\n"
    assert noid.ids(9) == ["08", "00", "01", "02", "03", "04", "05", "06", "07"]
    assert "not in the queue" in noid.refused("queue", "delete", "07", status=1)


def test_a_hold_takes_an_identifier_out_of_the_queue_and_says_so(noid):
    noid("dbcreate", ".sdd")
    noid("queue", "now", "07")
    assert noid("hold", "set", "07") == "ok: 1 hold placed\nnote: 07 taken out of the queue\n\n"
    assert noid.ids(1) == ["00"]


def test_of_several_identifiers_those_that_can_be_are_held_or_queued_and_the_others_named(noid):
    noid("dbcreate", ".sdd")
    noid("hold", "set", "01")
    queued = noid.run("queue", "now", "02", "01", "00", "02")
    assert (queued.returncode, queued.stdout) == (1, b"id: 02\nid: 00\nnote: 2 identifiers queued\n")
    assert [line.split()[1] for line in queued.stderr.decode().splitlines()] == ["01", "02"]
    held = noid.run("hold", "set", "03", "new", "04")
    assert (held.returncode, held.stdout) == (1, b"ok: 2 holds placed\n\n") and b"error: new" in held.stderr
    noid("hold", "set", "05")
    noid("withdraw", "05")
    freed = noid.run("hold", "release", "05", "03", "04")
    assert (freed.returncode, freed.stdout) == (1, b"ok: 2 holds released\n\n") and b"error: 05 was" in freed.stderr
    taken = noid.run("queue", "delete", "07", "02")
    assert (taken.returncode, taken.stdout) == (1, b"id: 02\nnote: 1 identifier taken out of the queue\n")
    assert noid.ids(3) == ["00", "02", "03"]
    assert "Held: 2\n" in noid("dbinfo")


def test_a_queue_of_several_is_one_event_with_those_that_were_queued(noid):
    noid("dbcreate", ".sdd")
    noid("hold", "set", "01")
    noid.run("queue", "now", "02", "01", "00")
    assert noid("log").rpartition("event: ")[2].count("id: ") == 2


def test_where_none_can_be_queued_one_sentence_names_them_all_and_nothing_is_recorded(noid):
    noid("dbcreate", ".sdd")
    noid("hold", "set", "01", "02")
    before = noid("log")
    sentence = noid.refused("queue", "now", "01", "02", status=1)
    assert "01 is on hold" in sentence and "02 is on hold" in sentence
    assert noid("log") == before


def test_one_refusal_undoes_a_whole_bind(noid):
    noid("dbcreate", ".sdd")
    noid.refused("bind", "new", "05", ":", stdin=b"a: 1\nb: 2\na: 3\n\n", status=1)
    noid.refused("get", "05", status=1)


def test_one_that_was_held_when_its_turn_came_is_minted_after_release_and_queue(noid):
    noid("dbcreate", ".sd")
    noid("hold", "set", *"0123456789")
    noid.refused("mint", "1", status=1)
    noid("hold", "release", "4")
    assert "have had their turn" in noid.refused("mint", "1", status=1)
    noid("queue", "now", "4")
    assert noid.ids(1) == ["4"]


def test_first_goes_before_delays_and_lvf_before_all_others(noid):
    noid("dbcreate", ".sdd")
    noid("queue", "0s", "11")
    noid("queue", "first", "12")
    noid("queue", "lvf", "14", "13")
    assert noid.ids(4) == ["13", "14", "12", "11"]
    explained = " ".join(noid("help", "queue").split())
    assert "first: before those with a delay. lvf: before all others" in explained


def test_identifiers_that_differ_in_leading_zeros_are_queued_separately(noid):
    noid("dbcreate")
    noid("queue", "lvf", "5", "05", "005")
    assert sorted(noid.ids(3)) == ["005", "05", "5"]
    noid("queue", "lvf", "5", "05")
    noid("queue", "delete", "5")
    assert noid.ids(2) == ["05", "0"]
