"""A minter of the original noid goes on here where it stopped there; what is no whole dump of one makes no minter."""

from __future__ import annotations

import io
import json
import os
import random
import subprocess
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noidtools import spool
from noidtools.errors import InvalidError
from noidtools.minter import perl
from noidtools.minter.perl.dump import read_dump
from support.minter import Noid
from support.perl_dump import RECORDED, circulation, recorded_items, root_items, state_of, written
from support.postgres import postgres_address
from support.project import ROOT

pytestmark = pytest.mark.slow

AFTER = json.loads((ROOT / "tests/vectors/perl-minter-after.json").read_text())
TEXT = RECORDED.read_bytes()


def lines_of(text: str, label: str) -> list[str]:
    return [line.removeprefix(f"{label}: ") for line in text.splitlines() if line.startswith(f"{label}: ")]


@pytest.fixture
def imported(tmp_path):
    """Imports items into a minter of its own; returns the noid command there, and what was printed."""
    def make(items: dict[bytes, bytes], *words: str, plain: bool = True) -> tuple[Noid, str]:
        made.append(Noid(tmp_path / f"m{len(made)}"))
        return made[-1], made[-1]("import", "perl", "-", *words, stdin=written(items, plain=plain))

    made: list[Noid] = []
    yield make
    for noid in made:
        noid.close()


def refusal(noid: Noid, dump: bytes) -> str:
    sentence = noid.refused("import", "perl", "-", stdin=dump, status=1)
    assert os.listdir(noid.folder) == [], "something was left behind"
    return sentence


# -- the recorded minter ---------------------------------------------------------------------------------------------


def test_the_recorded_minter_mints_what_the_original_minted_and_then_all_the_rest(noid):
    noid("import", "perl", str(RECORDED))
    assert noid.ids(3000) == AFTER["next"]
    rest = noid.run("mint", "9000")
    assert rest.returncode == 1 and b"no identifier is left" in rest.stderr
    # A minter that is made here with the same template mints the same, and these are the ones behind the recorded.
    generator, _ = state_of(AFTER["template"], 5960, naan=AFTER["naan"])
    expected = [identifier.decode() for identifier, _ in generator.draw(9000)]
    assert lines_of(rest.stdout.decode(), "id") == expected and len(expected) == 8410 - 5960


def test_the_recorded_minter_answers_as_the_original_did(noid):
    noid("import", "perl", str(RECORDED))
    items = recorded_items()
    for identifier, answer in AFTER["fetch"].items():
        circ = items[identifier.encode() + b"\t:/c"].decode()
        fields = circ.split("|")
        fetched = noid("fetch", identifier)
        assert f"\nCirc:  {circ}\n" in fetched
        if answer:
            assert fetched.replace(f"{fields[1]}|{fields[2]}", "DATE|WHO") == answer
        else:
            # The original prints this on standard error.
            assert fetched == (
                f"id:    {identifier} hold\nCirc:  {circ}\nnote: no elements bound under {identifier}.\n\n")


def test_everything_in_the_recorded_minter_is_in_the_imported_one(noid):
    printed = noid("import", "perl", str(RECORDED))
    assert printed == ("ok: imported\nTemplate: xt.reedk\nTerm: long\nIdentifiers: 3000\nHeld: 2940\nQueued: 50\n"
                       "Elements: 525\nRules: 0\nNotes: 1\nDrawn: 3000\nLeft: 5410\n\n")
    items = recorded_items()
    held = {key.partition(b"\t")[0] for key in items if key.endswith(b"\t:/h")}
    for key, value in items.items():
        identifier, tab, element = key.partition(b"\t")
        if tab and not element.startswith(b":/"):
            assert noid.text("get", identifier, element).encode() == value + b"\n"
        elif element == b":/c":
            found = noid.read(lambda reader, identifier=identifier: _line(reader, identifier))
            assert found == (value, identifier in held)
    queue = [value for key, value in sorted(items.items()) if key.startswith(b":/q/")]
    assert noid.read(lambda reader: [value for _, value in reader.scan(b"q")]) == queue
    info = noid("dbinfo")
    assert "\nNote: owner: digital collections\n" in info and "\nNAA: example.org\n" in info
    assert "\nSubNAA: test\n" in info and "\nCreated: 20261116005315\n" in info


def _line(reader, identifier: bytes) -> tuple[bytes, bool]:
    from noidtools.minter.circulation import circulation_line, find

    record = find(reader, identifier)
    return circulation_line(reader, record), record.held


def test_events_are_numbered_by_date_and_the_import_is_the_last(noid):
    noid("import", "perl", str(RECORDED))
    log = noid("log")
    assert lines_of(log, "what") == ["mint", "queue", "import perl"] and lines_of(log, "made") == ["2950"]
    assert lines_of(log, "date") == sorted(lines_of(log, "date"))
    assert lines_of(noid("history", "12345/xtcp57"), "what") == ["queue"]


def test_both_formats_of_a_dump_and_line_ends_of_windows_are_read(imported):
    first, _ = imported(recorded_items())
    second, _ = imported(recorded_items(), plain=False)
    third = Noid(first.folder.parent / "third")
    third("import", "perl", "-", stdin=TEXT.replace(b"\n", b"\r\n"))
    assert first("dbinfo", "dump").count("\n") > 3600
    tables = [[line for line in noid("dbinfo", "dump").splitlines() if not line.startswith(("EVENTS/", "META/"))]
              for noid in (first, second, third)]
    assert tables[0] == tables[1] == tables[2]
    assert first.ids(60) == second.ids(60) == third.ids(60)


def test_a_dry_run_prints_the_same_and_makes_nothing(noid):
    printed = noid("import", "perl", str(RECORDED), "--dry-run")
    assert os.listdir(noid.folder) == []
    done = noid("import", "perl", str(RECORDED))
    assert printed.partition("\n")[2] == done.partition("\n")[2]


def test_a_minter_is_not_overwritten(noid):
    noid("dbcreate", ".sd")
    assert "exists already" in noid.refused("import", "perl", str(RECORDED), status=1)
    assert noid.ids(1) == ["0"]


# -- noid.bdb itself -------------------------------------------------------------------------------------------------


@pytest.mark.servers
def test_the_database_itself_is_read_by_the_program_of_berkeley_db(noid):
    perl = noid.folder / "perl" / "NOID"
    perl.mkdir(parents=True)
    subprocess.run(["db5.3_load", "-f", str(RECORDED), str(perl / "noid.bdb")], check=True)
    for number, source in enumerate(("perl/NOID/noid.bdb", "perl")):
        (noid.folder / str(number)).mkdir()
        noid("-f", str(number), "import", "perl", source)
        assert lines_of(noid("-f", str(number), "mint", "50"), "id") == AFTER["next"][:50]
    # The whole is refused if the database is damaged in the middle.
    damaged = bytearray((perl / "noid.bdb").read_bytes())
    damaged[40960:] = os.urandom(len(damaged) - 40960)
    (noid.folder / "damaged.bdb").write_bytes(damaged)
    (noid.folder / "d").mkdir()
    noid.refused("-f", "d", "import", "perl", "damaged.bdb", status=1)
    assert os.listdir(noid.folder / "d") == []


@pytest.mark.servers
def test_a_minter_is_imported_into_a_database_server(noid):
    noid("import", "perl", str(RECORDED), "--store", postgres_address())
    assert sorted(os.listdir(noid.folder / "NOID")) == ["README", "engine"]
    assert "nothing is wrong" in noid("check") and noid.ids(45) == AFTER["next"][:45]


def test_without_that_program_the_remedy_is_named(noid):
    (noid.folder / "noid.bdb").write_bytes(bytes(12) + b"\x62\x31\x05\x00" + bytes(4080))
    sentence = noid.refused("import", "perl", "noid.bdb", env={"PATH": "/nonexistent"})
    assert "db5.3-util" in sentence and "db_dump -p" in sentence


# -- other minters ---------------------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(["f5.rdd", ".sdd", "b.zd", "h9.ree", ".zededk", "63q.redek", ".sd"]),
       st.integers(min_value=0, max_value=900),
       st.sampled_from([("13030", "long"), ("", "medium"), ("13030", "medium"), ("", "short")]))
def test_any_template_goes_on_as_a_minter_that_was_always_here(tmp_path_factory, template, drawn, form):
    naan, term = form
    generator, minted = state_of(template, drawn, naan=naan, term=term)
    items = root_items(generator, term)
    for number, identifier in enumerate(minted, 1):
        items |= circulation(identifier, number, b"ii" if generator.passes else b"i")
    noid = Noid(tmp_path_factory.mktemp("m"))
    noid("import", "perl", "-", stdin=written(items))
    expected = [identifier.decode() for identifier, _ in generator.draw(20)]
    found = noid.run("mint", str(max(1, len(expected))))
    assert lines_of(found.stdout.decode(), "id") == expected
    noid.close()


def test_a_short_term_minter_that_started_over_goes_on_in_its_second_pass(imported):
    generator, minted = state_of(".rdd", 130, term="short")
    items = root_items(generator, "short")
    whole, _ = state_of(".rdd", 0, term="short")
    for identifier, number in whole.draw(100):
        items |= circulation(identifier, number)
    for number, identifier in enumerate(minted, 1):
        items |= circulation(identifier, number, b"ii")
    noid, _ = imported(items)
    expected = [identifier.decode() for identifier, _ in generator.draw(70)]
    assert noid.ids(70) == expected
    assert noid("fetch", expected[0]).count("Circ:  ii|") == 1


def test_a_minter_without_a_template_binds_anything(imported):
    generator, _ = state_of(".zd", 2)
    items = root_items(generator, genonly=b"0") | {b"anything at all\te": b"v"}
    noid, printed = imported(items)
    assert "Template: none\n" in printed and noid("get", "anything at all", "e") == "v\n"
    assert noid.ids(2) == ["2", "3"]


def test_values_may_hold_any_byte(imported):
    generator, _ = state_of(".zd", 1)
    value = bytes(range(256)) + "ä\\09\\".encode()
    items = root_items(generator) | {b"k\\t\xff\te\\": value, b"k\xc3\xa4\tmulti\tpart": b""}
    for plain in (True, False):
        noid, _ = imported(items, plain=plain)
        assert noid.run("get", b"k\\t\xff", b"e\\").stdout == value + b"\n"
        assert noid.run("get", b"k\xc3\xa4", b"multi\tpart").stdout == b"\n"


def test_rules_and_notes_are_taken_over(imported):
    generator, _ = state_of(".zd", 0)
    items = root_items(generator) | {
        b":/idmap/redirect\t^ft": b"g7h", b":/idmap/my_elem\t^ft([^x]+)x(.*)": b"$2/g7h/$1",
        b":/idmap/redirect\t:/h": b"1", b":/:/owner": b"us", b":/:/": b"no name",
    }
    noid, printed = imported(items)
    assert "Rules: 2\nNotes: 2\n" in printed
    assert noid("get", "ft89xr2t", "redirect") == "g7h89xr2t\n" and noid("get", "ft89xr2t", "my_elem") == "r2t/g7h/89\n"


def test_a_rule_that_cannot_be_used_is_refused_or_kept_as_a_note(imported, noid):
    generator, _ = state_of(".zd", 0)
    items = root_items(generator) | {b":/idmap/e\t^(a": b"b"}
    sentence = refusal(noid, written(items))
    assert sentence.startswith("line ") and "can be skipped" in sentence
    made, printed = imported(items, "--skip-rules")
    assert "Rules: 0\n" in printed and "stored as a note" in printed
    assert "Note: rule not used: e ^(a: b\n" in made("dbinfo")


def test_the_report_of_the_original_is_kept_with_its_date(imported):
    generator, _ = state_of(".zd", 0)
    report = b"# Creation record\nerc:\nwho:       jak/staff\nwhen:      20040115120000\n"
    noid, _ = imported(root_items(generator, erc=report))
    info = noid("dbinfo")
    assert "\nCreated: 20040115120000\n" in info and "\nCreator: jak/staff\n" in info
    assert report in (noid.folder / "NOID" / "README").read_bytes()


# -- a queue as the original leaves it -------------------------------------------------------------------------------


def queue_items(*entries: tuple[bytes, bytes]) -> dict[bytes, bytes]:
    return {b":/q/00000000000000/%06d/%b" % (number, label): label for number, (label, _) in enumerate(entries, 1)} | {
        label + b"\t:/c": b"%b|20120305101112|alice/staff|5" % letters for label, letters in entries if letters
    }


def test_what_the_original_would_pass_over_is_not_minted(imported):
    generator, _ = state_of(".zd", 5)
    items = root_items(generator) | queue_items((b"0", b"uqi"), (b"1", b"iqi"), (b"2", b"qi"), (b"3", b"qi"))
    items |= {b"3\t:/h": b"1"} | circulation(b"4", 5, b"qi")
    noid, printed = imported(items)
    assert "Queued: 1\n" in printed and "Held: 3\n" in printed and "2 entries of the queue" in printed
    assert "1 identifiers in the queue are on hold" in printed
    assert "1 identifiers were taken out of the queue" in printed
    assert "1 identifiers are marked as queued but are not in the queue" in printed
    assert noid.ids(4) == ["2", "5", "6", "7"]
    assert "nothing is wrong" in noid("check")
    assert "Circ:  uqi|" in noid("fetch", "3") and "id:    4 hold\n" in noid("fetch", "4")


def test_what_was_taken_out_of_the_queue_before_it_was_minted_is_never_minted(imported):
    """The original leaves its entry, adds another one, passes both over, and never draws such an identifier."""
    generator, _ = state_of(".zd", 1)
    items = root_items(generator) | circulation(b"2", 1, b"uq")
    items |= {b":/q/00000000000000/000000/02": b"2", b":/q/20120305101112/000001/02": b"2"}
    noid, _ = imported(items)
    assert noid.ids(3) == ["1", "3", "4"] and "nothing is wrong" in noid("check")


def test_what_was_queued_again_after_that_is_minted_once_from_its_first_entry(imported):
    generator, _ = state_of(".zd", 1)
    items = root_items(generator) | circulation(b"0", 1, b"qu")
    items |= {b":/q/00000000000000/000000/00": b"0", b":/q/20120305101112/000001/00": b"0"}
    noid, printed = imported(items)
    assert "Queued: 1\n" in printed and noid.ids(3) == ["0", "1", "2"] and "nothing is wrong" in noid("check")


def test_a_short_term_minter_reissues_what_it_draws_again_as_the_original_does(imported):
    """Minted from the queue before it was drawn, it is minted once more when it is drawn."""
    generator, _ = state_of(".sd", 2, term="short")
    noid, _ = imported(root_items(generator, "short") | circulation(b"3", 2, b"iq"))
    assert noid.ids(9) == ["2", "3", "4", "5", "6", "7", "8", "9", "0"]


def test_a_minter_that_only_binds_is_taken_over(imported):
    generator, _ = state_of(".zd", 0)
    items = root_items(generator, template=b"-", prefix=b"", mask=b"", generator_type=b"", saclist=b"")
    noid, printed = imported(items | {b"doi:10.1/x\t_t": b"https://a.example/"})
    assert "Template: none\n" in printed and "did not mint, but only bound" in printed
    assert noid("get", "doi:10.1/x", "_t") == "https://a.example/\n"


def test_dates_in_local_time_become_utc(imported, noid):
    generator, minted = state_of(".zd", 2)
    items = root_items(generator) | circulation(minted[0], 1, date=b"20120705101112")
    items |= circulation(minted[1], 2, b"qi", date=b"20120105101112") | {b":/q/20990705101112/000001/01": minted[1]}
    made, _ = imported(items, "--zone", "Europe/Paris")
    assert "|20120705081112|" in made("fetch", "0") and "|20120105091112|" in made("fetch", "1")
    assert made.read(lambda reader: [key[:14] for key, _ in reader.scan(b"q")]) == [b"20990705081112"]
    wrong = ("import", "perl", "--zone", "Mars/Olympus", "-")
    assert "no time zone" in noid.refused(*wrong, stdin=written(items), status=2)
    items |= circulation(minted[0], 1, date=b"20121399101112")
    assert "line " in noid.refused("import", "perl", "--zone", "Europe/Paris", "-", stdin=written(items), status=1)
    assert not (noid.folder / "NOID").exists()


def test_an_identifier_in_the_queue_without_a_record_is_minted_from_it_once(imported):
    generator, _ = state_of(".zd", 1)
    noid, printed = imported(root_items(generator) | queue_items((b"2", b"")))
    assert "had no circulation record" in printed
    assert noid.ids(4) == ["2", "1", "3", "4"]


def test_what_is_queued_later_comes_behind_what_was_queued_before(imported):
    generator, _ = state_of(".zd", 5)
    noid, _ = imported(root_items(generator, fseqnum=b"3") | queue_items((b"1", b"qi"), (b"0", b"qi")))
    noid("mint", "0")
    noid("queue", "first", "7")
    assert noid.ids(4) == ["1", "0", "7", "5"]


def test_a_minter_that_was_killed_while_it_minted_goes_on_as_the_original_would(imported):
    generator, _ = state_of("f5.rdd", 40)
    items = root_items(generator)
    name, *others = items[b":/saclist"].split()
    items |= {b":/" + name + b"/value": items[b":/" + name + b"/top"], b":/saclist": b" ".join(others)}
    noid, printed = imported(items)
    assert "killed while it minted" in printed
    assert len(noid.run("mint", "100").stdout.split()) == 2 * 59


# -- what is no whole dump -------------------------------------------------------------------------------------------


def test_a_dump_that_is_cut_off_anywhere_is_refused(noid):
    ends = [place for place, byte in enumerate(TEXT) if byte == 10]
    chance = random.Random(3)
    places = {0, 1, 9, 10, 40, len(TEXT) - 10, len(TEXT) - 5, len(TEXT) - 2}
    places |= {ends[n] + more for n in (0, 2, 4, 5, 6, 1000, 1001, len(ends) - 3) for more in (0, 1, 2)}
    places |= {chance.randrange(len(TEXT)) for _ in range(10)}
    for place in sorted(places):
        sentence = refusal(noid, TEXT[:place])
        assert "cut off" in sentence or "line " in sentence or "empty" in sentence, sentence


def test_the_last_line_need_not_end(noid):
    noid("import", "perl", "-", stdin=TEXT.rstrip(b"\n"))


@pytest.mark.parametrize(("change", "line"), [
    (lambda text: text.replace(b"VERSION=3", b"VERSION=2"), "line 1:"),
    (lambda text: text.replace(b"type=btree", b"type=hash"), "line 5:"),
    (lambda text: text.replace(b"format=print", b"format=other"), "line 5 "),
    (lambda text: text.replace(b"HEADER=END\n", b""), "line 5 "),
    (lambda text: text.replace(b"db_pagesize=4096", b"duplicates=1"), "line 5:"),
    (lambda text: b"#!/usr/bin/perl\n" + text, "line 1:"),
    (lambda text: b"PK\x03\x04" + bytes(5000), "line 1:"),
    (lambda text: text + b"more\n", "line 14253 "),
    (lambda text: text.replace(b"\n 12345/xt002s\\09:/c\n", b"\n12345/xt002s\\09:/c\n"), "line 10 "),
    (lambda text: text.replace(b"\n 12345/xt002s\\09:/c\n", b"\n 12345/xt002s\\0\n"), "line 10 "),
    (lambda text: text.replace(b"\n 12345/xt002s\\09:/c\n", b"\n 12345/xt000s\\09:/c\n"), "line 10 "),
    (lambda text: text.replace(b" i|20261116005315|root/root|250\n", b" i|2026|root/root|250\n"), "line 10 "),
    (lambda text: text.replace(b" i|20261116005315|root/root|250\n", b" z|20261116005315|root/root|250\n"), "line 10 "),
    (lambda text: text.replace(b" i|20261116005315|root/root|250\n", b"\n"), "line 11 "),
    (lambda text: text.replace(b" 12345/xt002s\\09:/h", b" 12345/xt002s\\09:/p"), "line 12 "),
    (lambda text: text.replace(b" 12345/xt002s\\09:/h", b" 12345/xt002s"), "line 12 "),
    (lambda text: text.replace(b" :/q/00000000000000/000001/000cp57", b" :/q/0000000000000/000001/000cp57"), "line "),
    (lambda text: text.replace(b"\n 12345/xtwd1m\n", b"\n 12345/xtwd1f\n"), "line 14142 "),
    (lambda text: text.replace(b"/000wd1m\n 12345/xtwd1m\n", b"/000wd1f\n 12345/xtwd1f\n"), "line 14142 "),
    (lambda text: text.replace(b"|root/root|250\n", b"|root/root|8470\n"), "line 10 "),
    (lambda text: text.replace(b" :/version\n 0.424", b" :/version\n 1.0"), "noid 1.0"),
    (lambda text: text.replace(b" :/version\n 0.424\n", b""), ":/version"),
    (lambda text: text.replace(b" :/total\n 8410", b" :/total\n 8411"), ":/total"),
    (lambda text: text.replace(b" :/oacounter\n 3000", b" :/oacounter\n 9999"), ":/oacounter"),
    (lambda text: text.replace(b" :/oacounter\n 3000", b" :/oacounter\n x"), ":/oacounter"),
    (lambda text: text.replace(b" :/c0/value\n 11", b" :/c0/value\n 99"), ":/c0/value"),
    (lambda text: text.replace(b" :/c0/value\n 11", b" :/c0/value\n 10"), "add up to 2999"),
    (lambda text: text.replace(b" c0 c1 c2 ", b" c0 c2 c1 "), ":/saclist"),
    (lambda text: text.replace(b" :/mask\n reedk", b" :/mask\n reexk"), ":/total"),
    (lambda text: text.replace(b" :/naan\n 12345", b" :/naan\n 12346"), ":/firstpart"),
])
def test_what_is_damaged_or_of_another_program_is_refused_with_its_place(noid, change, line):
    changed = change(TEXT)
    assert changed != TEXT
    assert line in refusal(noid, changed)


def test_a_line_without_end_is_refused_before_it_fills_the_memory(noid, monkeypatch):
    from noidtools.minter.perl import dump as perl_dump

    monkeypatch.setattr(perl_dump, "LONGEST_LINE", 3 << 20)
    assert "line 6 of the dump has more than" in refusal(noid, TEXT[:60] + b"\n " + b"x" * (9 << 20))


def test_a_source_that_is_not_there_or_is_a_folder_is_refused(noid):
    assert "No such file" in noid.refused("import", "perl", "nothing.dump")
    (noid.folder / "empty").mkdir()
    assert "there is no noid.bdb in empty" in noid.refused("import", "perl", "empty")


@given(st.dictionaries(st.binary(min_size=1, max_size=9), st.binary(max_size=12), max_size=6), st.booleans())
def test_a_dump_is_read_as_it_was_written(items, plain):
    text = written(items, plain=plain)
    assert {key: value for _, key, value in read_dump(io.BytesIO(text).readline)} == items


@given(st.binary(max_size=80), st.integers(min_value=0, max_value=200))
def test_no_text_makes_the_reader_fail_otherwise_than_by_a_refusal(garbage, place):
    text = TEXT[:300] + b"DATA=END\n"
    text = text[: place] + garbage + text[place + len(garbage) :]
    try:
        for _ in read_dump(io.BytesIO(text).readline):
            pass
    except InvalidError as error:
        assert error.message.isprintable()


# -- memory ----------------------------------------------------------------------------------------------------------


def test_records_of_one_date_letter_and_contact_are_one_event_in_the_order_of_the_dates(imported):
    chance = random.Random(5)
    generator, minted = state_of("f5.reedeedk", 300, naan="13030", term="long")
    dates = [b"20120305%06d" % chance.randrange(20) for _ in minted]
    items = root_items(generator, "long")
    for number, (identifier, date) in enumerate(zip(minted, dates, strict=True), 1):
        items |= circulation(identifier, number, date=date)
    events = [event for event in imported(items)[0].records("log") if event["what"] == "mint"]
    assert [event["date"].encode() for event in events] == sorted(set(dates))
    for event in events:
        same = [name.decode() for name, date in zip(minted, dates, strict=True) if date == event["date"].encode()]
        assert (event["made"], event["first"], event["last"]) == (len(same), same[0], same[-1])


def test_memory_does_not_grow_with_the_number_of_records(noid):
    """As a sample: twice as many records, each of another second, take no more memory."""
    peaks = []
    for number, count in enumerate((4_000, 8_000)):
        generator, minted = state_of("f5.reedeedk", count, naan="13030", term="long")
        items = root_items(generator, "long")
        for n, identifier in enumerate(minted, 1):
            items |= circulation(identifier, n, date=b"2012%010d" % n)
        dump = noid.folder / "dump"
        dump.write_bytes(written(items))
        (noid.folder / str(number)).mkdir()
        tracemalloc.start()
        _in_small_pieces(str(noid.folder / str(number)), dump)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.3 * peaks[0], peaks


def _in_small_pieces(dbdir: str, dump) -> None:
    from unittest.mock import patch

    from noidtools.minter.events import Actor

    with patch.object(perl, "_ITEMS", 300), patch.object(spool, "_TOGETHER", 20), dump.open("rb") as file:
        perl.import_perl(dbdir, read_dump(file.readline), Actor(b"me", b"shell"))
