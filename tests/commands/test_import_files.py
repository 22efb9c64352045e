"""The commands import and rebind: tables and records of others, hostile ones included."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from noidtools import transfer
from noidtools.minter import changes
from noidtools.minter.circulation import PrefetchedReader, is_known
from noidtools.store import Reader
from noidtools.transfer import importer
from support.clock import SettableClock
from support.minter import Noid
from support.templates import CHECKED, LONG_TERM

CSV = "id,_t,title\nark:/99999/a,https://a.example/1,One\nark:/99999/b,https://a.example/2,Two\n"


def write(minter: Noid, content: str | bytes) -> str:
    path = minter.folder / "file"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def load(minter: Noid, form: str, content: str | bytes, *words: str) -> str:
    """The report of an import; the exit status may be 1."""
    done = minter.run("import", form, write(minter, content), *words)
    assert done.returncode in (0, 1) and not done.stderr, done
    return done.stdout.decode()


def refused(minter: Noid, form: str, content: str | bytes, *words: str) -> str:
    """The refusal of an import that leaves no trace."""
    before = minter.text("dbinfo", "dump")
    message = minter.refused("import", form, write(minter, content), *words)
    assert minter.text("dbinfo", "dump") == before
    return message


# -- what is imported --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("form", "content"), [
    ("csv", CSV),
    ("csv", "\ufeff" + CSV.replace(",", ";").replace("\n", "\r\n")),
    ("csv", CSV.replace(",", "\t")),
    ("csv", "title,ID,_t,,\nOne,ark:/99999/a,https://a.example/1\n\n,,\nTwo,ark:/99999/b,https://a.example/2,,,\n"),
    ("csv", 'id,element,value\nark:/99999/a,_t,https://a.example/1\nark:/99999/a,title,"One"\n'
            "ark:/99999/b,title,Two\nark:/99999/b,_t,https://a.example/2\n"),
    ("csv", '"id\n",_t,title\n"ark:/99999/a","https://a.example/1","One"\nark:/99999/b,https://a.example/2,Two\n'),
    ("csv", 'id,_t,title\n"ark:/99999/a","https://a.example/1","One"\nark:/99999/b,https://a.example/2,Two'),
    ("jsonl", '{"id": "ark:/99999/a", "_t": "https://a.example/1", "title": "One"}\n\n'
              '{"id": "ark:/99999/b", "elements": {"_t": "https://a.example/2", "title": "Two", "no": null}}\n'),
    ("jsonl", '{"id": "ark:/99999/a", "elements": [{"name": "_t", "value": "https://a.example/1"}, {"name": "title", '
              '"value": {"base64": "T25l"}}]}\n{"id": "ark:/99999/b", "_t": "https://a.example/2", "title": "Two"}'),
    ("anvl", ":: ark:/99999/a\n_t: https://a.example/1\ntitle: One\n\n:: ark:/99999/b\n_t: https://a.example/2\n"
             "# a comment\ntitle:\n  Two\n"),
    ("anvl", "# id: ark:/99999/a\n_t: https://a.example/1\ntitle: One\n# elements bound under ark:/99999/a: 2\n\n"
             "# id: ark:/99999/b\ntitle: Two\n_t: https://a.example/2\n# elements bound under ark:/99999/b: 2\n"),
    ("anvl", "# id: ark:/99999/a\n# hexid: 61726b3a2f39393939392f61\n5f74: "
             + b"https://a.example/1".hex() + "\n7469746c65: 4f6e65\n# elements bound under ark:/99999/a: 2\n\n"
             ":: ark:/99999/b\r\ntitle: Tw%6F\r\n_t: https://a.example/2\r\n"),
])
def test_the_formats_of_spreadsheets_and_of_other_programs_are_read(tmp_path, form, content):
    minter = Noid.created(tmp_path, *LONG_TERM)
    report = load(minter, form, content)
    assert "ok: done\nIdentifiers: " in report and "Refused: 0\n" in report and "New: 2\n" in report
    for name, number, title in (("a", 1, "One"), ("b", 2, "Two")):
        fetched = minter.text("fetch", f"ark:/99999/{name}")
        assert f"_t: https://a.example/{number}\ntitle: {title}\n" in fetched
        assert minter.resolved(f"ark:/99999/{name}") == f"https://a.example/{number}"
    minter.close()


ARKLET = "naan,shoulder,assigned_name,ark,url,title,commitment\n"


@pytest.mark.parametrize("content", [
    ARKLET + "99999,/,a,99999/a,https://a.example/1,One,\n99999,/,b,99999/b,https://a.example/2,Two,\n",
    ARKLET + '99999,,a,,https://a.example/1,"One",\n\n99999,"",b,,https://a.example/2,Two\n',
    '[{"model": "ark.naan", "pk": 99999, "fields": {"name": "me"}}, {"model": "ark.ark", "pk": "99999/a", "fields": '
    '{"naan": 99999, "shoulder": "/", "assigned_name": "a", "url": "https://a.example/1", "title": "One"}},\n'
    '{"model": "ark.ark", "pk": "99999/b", "fields": {"url": "https://a.example/2", "title": "Two", "source": null}}]',
    '{"ark": "ark:/99999/a", "url": "https://a.example/1", "title": "One"}\n\n'
    '{"id": 7, "naan": 99999, "shoulder": "/", "assigned_name": "b", "url": "https://a.example/2", "title": "Two"}\n',
])
def test_the_table_of_arklet_is_read_as_csv_and_json(tmp_path, content):
    minter = Noid.created(tmp_path, *LONG_TERM)
    report = load(minter, "arklet", content)
    assert "New: 2\nBindings: 4 bound\nRefused: 0\n" in report
    for name, number, title in (("a", 1, "One"), ("b", 2, "Two")):
        assert f"_t: https://a.example/{number}\ntitle: {title}\n" in minter.text("fetch", f"ark:/99999/{name}")
        assert minter.resolved(f"ark:/99999/{name}") == f"https://a.example/{number}"
    minter.close()


@pytest.mark.parametrize(("content", "reason"), [
    ("", "line 1: the first line names no column ark"),
    ("id,url\n1,https://a.example/\n", "line 1: the first line names no column ark"),
    ("ark,url\n,https://a.example/\n", "line 2: there is no ark"),
    ('ark,url\n99999/a,"https', "line 2: the quotes are wrong"),
    ("[{", "line 1: this is not JSON"),
    ("[7]", "line 1: a row is an object"),
    ('{"ark": "99999/a", "url": ["x"]}', "line 1: the value of 'url' is no text"),
    ('{"ark": "99999/a"}\n{', "line 2: this is not JSON"),
])
def test_what_is_no_table_of_arklet_is_refused_with_its_line(free, content, reason):
    assert reason in refused(free, "arklet", content)


def test_a_batch_download_of_ezid_is_imported_in_both_of_its_formats(tmp_path):
    minter = Noid.created(tmp_path, *LONG_TERM)
    load(minter, "ezid", ":: ark:/99999/a\n_target: https://a.example/?b|c\n_status: unavailable | gone\n_created: 7\n")
    load(minter, "ezid", "_id,_target,_status\nark:/99999/d,https://a.example/d,reserved\n")
    assert [minter.state(f"99999/{name}") for name in "ad"] == ["unavailable", "reserved"]
    assert minter.text("get", "99999/a", "_t", "_created").split() == ["https://a.example/?b%7Cc", "7"]
    assert "_status" not in minter.text("fetch", "99999/a") + minter.text("fetch", "99999/d")
    assert "line 1: " in refused(minter, "ezid", "ark:/99999/a\n")
    assert "the file is empty" in refused(minter, "ezid", "")
    minter.close()


def test_a_record_of_ezid_has_its_target_where_resolvers_look_and_keeps_what_is_not_public(tmp_path):
    minter = Noid.created(tmp_path, *LONG_TERM)
    record = ":: ark:/99999/{0}\n_target: https://a.example/{0}\n_status: {1}\n_created: 1\nerc.what: 100%25\n\n"
    load(minter, "anvl", record.format("a", "public") + record.format("b", "reserved")
         + record.format("c", "unavailable | gone"))
    assert [minter.state(f"99999/{name}") for name in "abc"] == ["published", "reserved", "unavailable"]
    assert minter.resolved("ark:/99999/a") == "https://a.example/a"
    assert minter.text("get", "99999/a", "erc.what") == "100%\n"
    load(minter, "csv", "_id,_target,_status\nark:/99999/d,https://a.example/d,public\n")
    assert minter.resolved("ark:/99999/d") == "https://a.example/d"
    minter.close()


@pytest.mark.parametrize(("form", "content"), [
    ("csv", "_id,_target\nark:/99999/q,https://q.example/\n"),
    ("csv", "_id,_target,_t\nark:/99999/q,https://q.example/,https://q.example/\n"),
    ("csv", "_id,element,value\nark:/99999/q,_target,https://q.example/\n"),
    ("anvl", ":: ark:/99999/q\n_target: https://q.example/\n"),
])
def test_the_target_of_ezid_is_one_here_also_without_the_status(tmp_path, form, content):
    minter = Noid.created(tmp_path, *LONG_TERM)
    load(minter, form, content)
    assert minter.resolved("ark:/99999/q") == "https://q.example/"
    assert "_target" not in minter.text("fetch", "99999/q")


@pytest.mark.parametrize(("form", "content"), [
    ("csv", "_id,_target,_t\nark:/99999/q,https://q.example/,https://r.example/\n"),
    ("anvl", ":: ark:/99999/q\n_target: https://q.example/\n_t: https://r.example/\n"),
])
def test_two_targets_in_a_record_of_ezid_are_refused(free, form, content):
    assert "_target becomes _t here, but that has another value" in refused(free, form, content)


def test_elements_of_a_table_that_is_not_of_ezid_keep_their_names(free):
    load(free, "csv", "id,_target,_status\nq,https://q.example/,reserved\n")
    assert free.text("fetch", "q").endswith("_status: reserved\n_target: https://q.example/\n")
    file = free.folder / "own.anvl"
    free("export", "anvl", str(file))
    assert "1 unchanged" not in free("import", "anvl", str(file)) and "_t:" not in free.text("fetch", "q")


@pytest.mark.parametrize("header", ["id,value,element", "Value,ID,Element", "_id,VALUE,element"])
def test_a_table_with_a_row_for_each_binding_may_have_its_columns_in_any_order(free, header):
    names = header.lower().split(",")
    row = [{"value": "V", "element": "title"}.get(name, "x") for name in names]
    load(free, "csv", f"{header}\n{','.join(row)}\n")
    assert free.text("get", "x", "title") == "V\n"


def test_a_table_whose_columns_are_called_as_the_parts_of_a_binding_is_rebound_as_it_was_exported(free):
    words = ("element", "value", "id", "ID", "_id")
    for word in words:
        free.records("bind", "set", "x", word, f"old {word}")
    file = free.folder / "table.csv"
    file.write_text(free.text("export", "csv", *(part for word in words for part in ("--element", word)))
                    .replace("old ", "new "))
    assert "5 bound" in free("rebind", str(file))
    assert free.text("get", "x", *words).split("\n\n") == [f"new {word}" for word in words[:-1]] + ["new _id\n"]


def test_a_name_of_several_lines_makes_no_lines_of_the_report(free):
    content = '{"id": "x\\ny: 5 bound\\nok: done \\u001b[2J", "title": "T"}\n{"id": "z", "title": "Z"}\n'
    assert "line 1: x\\ny: 5 bound\\nok: done \\x1b[2J has a control character" in refused(free, "jsonl", content)
    free.records("bind", "set", b"x\ny: 5 bound\nok: done \x1b[2J", "title", "T")
    report = load(free, "jsonl", content)
    assert report.startswith("line: 1 x\\ny: 5 bound\\nok: done \\x1b[2J: 1 unchanged\nline: 2 z: 1 bound\nok: done\n")


@pytest.mark.parametrize("name", ["x\\u0000", "a\\nb", "a\\tb", "a\\u007fb", "\\u001b[1m"])
def test_a_name_with_a_control_character_is_refused_with_its_line(free, name):
    assert "line 1: " in refused(free, "jsonl", f'{{"id": "{name}", "title": "T"}}\n')


def test_an_alias_that_is_left_out_is_a_failure_with_its_reason(free):
    content = '{"id": "q1", "elements": {"title": "T"}, "alias": "q1"}\n'
    assert "line 1: " in refused(free, "jsonl", content)
    done = free.run("import", "jsonl", write(free, content), "--keep-going")
    report = done.stdout.decode()
    assert done.returncode == 1 and "1 bound; left out: " in report
    assert "note: 1 of the identifiers were imported without their alias or their tombstone" in report


def test_the_report_writes_names_as_answers_do_and_promises_no_more_than_undo_does(tmp_path):
    minter = Noid.created(tmp_path, *LONG_TERM)
    first, second = load(minter, "csv", CSV), load(minter, "csv", CSV)
    assert "line: 2 ark:/99999/a: 2 bound\n" in first and "line: 2 ark:/99999/a: 2 unchanged\n" in second
    assert "takes the bindings back; the new identifiers stay recorded as foreign\n" in first and "note" not in second
    assert "line: 2 99999/c: recorded\n" in (report := load(minter, "csv", "id,title\n99999/c,\n"))
    assert "event: " in report and "undo" not in report
    done = minter.run("rebind", write(minter, "id,title\n99999/c,\n"))
    assert b"line: 2 99999/c: nothing to bind\n" in done.stdout


@pytest.mark.parametrize("state", ["withdrawn", "unavailable"])
def test_the_export_of_another_minter_keeps_the_dates_of_tombstones(tmp_path, state):
    clock = SettableClock.at("20200229103000")
    one = Noid.created(tmp_path / "one", *LONG_TERM, clock=clock)
    two = Noid.created(tmp_path / "two", "x.zd")
    (name,) = one.mint(1)
    one.set_target(name, "https://a.example/")
    clock.set("20210304050607")
    one.records("withdraw" if state == "withdrawn" else "unavailable", name, "--reason", "twice")
    exported = one.text("export", "jsonl")
    load(two, "jsonl", exported)
    for minter in (one, two):
        (record,) = [json.loads(line) for line in minter.text("export", "jsonl").splitlines() if '"id"' in line]
        assert record[state][:3] == ["20210304050607", "20200229103000", "twice"] and record["state"] == state
    assert "20210304050607" in two.text("tombstone", name) and "nothing is wrong" in two.text("check")
    wrong = exported.replace("20210304050607", "20210230000000")
    three = Noid.created(tmp_path / "three", "x.zd")
    assert "not fourteen digits" in refused(three, "jsonl", wrong)
    for opened in (one, two, three):
        opened.close()


def test_an_unavailable_identifier_without_bindings_is_imported(tmp_path):
    one, two = Noid.created(tmp_path / "one", *LONG_TERM), Noid.created(tmp_path / "two", "x.zd")
    (name,) = one.mint(1)
    one.records("unavailable", name, "--reason", "rights")
    load(two, "jsonl", one.text("export", "jsonl"))
    assert two.state(name) == "unavailable" and "nothing is wrong" in two.text("check")
    for opened in (one, two):
        opened.close()


def test_the_export_of_another_minter_keeps_states_and_aliases(tmp_path):
    one, two = Noid.created(tmp_path / "one", *LONG_TERM), Noid.created(tmp_path / "two", "x.zd")
    reserved, withdrawn, plain = one.mint(3)
    for name in (reserved, withdrawn, plain):
        one.set_target(name, "https://a.example/")
    one.records("reserve", reserved)
    one.records("withdraw", withdrawn, "--reason", "twice", "--successor", plain)
    one.records("alias", "old", plain)
    # Of these names the export has relations and events only.
    one.records("bind", "set", ":idmap/^x", "_t", "https://x.example/")
    one.records("synonym", plain, "doi:10.1/2", "--authority", "Me")
    report = load(two, "jsonl", b"".join(
        record.content for record in one.answer("export", "jsonl", "--history").records))
    assert "of the other minter were left out" in report
    assert [two.state(name) for name in (reserved, withdrawn, plain)] == ["reserved", "withdrawn", "published"]
    assert two.resolved("old") == "https://a.example/"
    assert "twice" in two.text("history", withdrawn)
    for opened in (one, two):
        opened.close()


# -- identifiers of foreign origin -------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [(), (".rdd",), ("--label", "ark:/", "f5.reedeedk", "medium", "13030")], ids=str)
def test_the_word_new_is_not_imported_as_an_identifier(tmp_path, words):
    minter = Noid.created(tmp_path, *words)
    path = write(minter, "id,e\nnew,v\n")
    assert "line 2: new is not an identifier: mint one" in minter.refused("import", "csv", path)
    minter.close()


def test_an_imported_identifier_is_recorded_as_foreign_and_never_minted(tmp_path):
    twin, minter = Noid.created(tmp_path / "twin", ".rdd"), Noid.created(tmp_path / "minter", ".rdd")
    everything = twin.mint(100)
    taken = everything[1::2]
    load(minter, "csv", "id,title\n" + "".join(f"{name},T\n" for name in taken))
    assert minter.text("fetch", taken[0]).splitlines()[1].startswith("Circ:  f|")
    assert minter.events_of(taken[0]) == ["import"]
    minter.records("hold", "release", *taken)
    assert "never minted here" in minter.refusal("queue", "now", taken[0]).message
    with pytest.raises(Exception, match="left"):
        minter.records("mint", "100")
    minted = [name for name in everything if minter.text("fetch", name).splitlines()[1].startswith("Circ:  i")]
    assert minted == everything[0::2]
    for opened in (twin, minter):
        opened.close()


def test_a_mistyped_identifier_of_this_minter_is_refused_with_its_line(tmp_path):
    minter = Noid.created(tmp_path, *CHECKED)
    message = refused(minter, "csv", "id,title\n13030/f54x54g11,A\n13030/f54x54g12,B\n")
    assert message.startswith("line 3: 13030/f54x54g12 has a wrong check character")
    minter.close()


def test_what_is_withdrawn_queued_or_peppered_is_refused(tmp_path):
    minter = Noid.created(tmp_path, "kt.reeded")
    withdrawn, queued = minter.mint(2)
    (peppered,) = (record["id"] for record in minter.records("peppermint", "1"))
    minter.records("withdraw", withdrawn)
    minter.records("queue", "30d", queued)
    bare = peppered.partition("!")[0]
    for name, why in ((withdrawn, "was withdrawn"), (queued, "is in the queue"), (bare, "is peppered"),
                      (f"{bare}!wrong", "not the pepper"), (":idmap/^x", "rules are not imported")):
        assert why in refused(minter, "csv", f"id,title\n{name},T\n")
    assert "1 bound" in load(minter, "csv", f"id,title\n{peppered},T\n")
    minter.close()


# -- conflicts, all or nothing -----------------------------------------------------------------------------------------


@pytest.fixture
def bound(free: Noid) -> Noid:
    free.records("bind", "set", "b", "title", "before")
    return free


TABLE = "id,title\na,A\nb,B\nc,C\n"


def titles(minter: Noid) -> dict[str, str]:
    lines = minter.text("dbinfo", "dump").splitlines()
    return dict(line[9:].split("%00%00title: ") for line in lines if line.startswith("ELEMENTS/"))


def test_a_conflict_refuses_the_whole_file_unless_something_else_is_said(bound):
    message = refused(bound, "csv", TABLE)
    assert message.startswith("line 3: title under b: another value is bound to it already: choose")
    assert titles(bound) == {"b": "before"}


def test_on_conflict_keep_and_replace_decide(bound):
    assert "line: 3 b: 1 kept\n" in load(bound, "csv", TABLE, "--on-conflict", "keep")
    assert titles(bound) == {"a": "A", "b": "before", "c": "C"}
    report = load(bound, "csv", TABLE, "--on-conflict", "replace")
    assert "line: 2 a: 1 unchanged\nline: 3 b: 1 bound\n" in report and "Bindings: 1 bound, 2 unchanged\n" in report
    assert titles(bound) == {"a": "A", "b": "B", "c": "C"}
    assert "on-conflict is one of" in refused(bound, "csv", TABLE, "--on-conflict", "merge")


def test_keep_going_leaves_out_what_is_refused_and_says_so(bound):
    done = bound.run("import", "csv", write(bound, TABLE + "=x,D\n,E\nf,F,G\nh,H\n"), "--keep-going")
    report = done.stdout.decode()
    assert done.returncode == 1 and "Identifiers: 3\nNew: 3\nBindings: 3 bound\nRefused: 4\n" in report
    for line in ("line: 3 b: refused: title under b:", "line: 5: refused: '=x' looks like a formula",
                 "line: 6: refused: the column id is empty", "line: 7: refused: there are 3 values for 2 columns"):
        assert line in report
    assert titles(bound) == {"a": "A", "b": "before", "c": "C", "h": "H"}


def test_a_dry_run_says_the_same_and_does_nothing(bound):
    before = bound.text("dbinfo", "dump")
    report = load(bound, "csv", TABLE, "--on-conflict", "replace", "--dry-run")
    assert "ok: this is what would be done" in report and "event" not in report
    assert bound.text("dbinfo", "dump") == before
    lines = [line for line in report.splitlines() if line.startswith("line")]
    assert lines == [line for line in load(bound, "csv", TABLE, "--on-conflict", "replace").splitlines()
                     if line.startswith("line")]


def test_two_values_for_one_element_in_a_file_are_a_conflict_in_it(bound, monkeypatch):
    rows = "id,element,value\na,title,A\na,title,A\na,title,Z\n"
    for page in (1, 500):
        monkeypatch.setattr(importer, "_PAGE", page)
        assert "line 4: title under a: an earlier line of the file" in refused(bound, "csv", rows)
    load(bound, "csv", rows.replace("a,", "b,"), "--on-conflict", "replace")
    assert titles(bound) == {"b": "Z"}
    bound.records("undo", str(bound.event_count()))
    assert titles(bound) == {"b": "before"}, "taken back to what was there before the file"


def test_an_import_is_one_event_that_undo_takes_back(bound):
    events = bound.event_count()
    report = load(bound, "csv", TABLE, "--on-conflict", "replace")
    assert f"event: {events + 1}\n" in report and bound.event_count() == events + 1
    assert bound.events_of("a") == ["import"] and bound.events_of("b") == ["bind set", "import"]
    bound.records("undo", str(events + 1))
    assert titles(bound) == {"b": "before"}


def test_many_names_with_an_alias_go_in_batches(bound, monkeypatch):
    monkeypatch.setattr(changes, "MOST_AT_ONCE", 10)
    monkeypatch.setattr(changes, "BATCH", 4)
    many = "".join(f'{{"id": "n{n}", "title": "{n}"}}\n' for n in range(30))
    many = '{"id": "x", "elements": {}, "alias": "b"}\n' + many
    assert "Bindings: 30 bound\n" in load(bound, "jsonl", many)


def test_known_names_are_found_in_one_round_trip(bound):
    class Counting:
        def __init__(self, reader: Reader) -> None:
            self.get_many_of, self.scan, self.trips = reader.get_many, reader.scan, 0

        def get_many(self, places):
            self.trips += 1
            return self.get_many_of(places)

    def find(reader: Reader) -> tuple[list[bool], int]:
        counting = Counting(reader)
        prefetched = PrefetchedReader(counting, [b"b", b"a", b"none"])
        return [is_known(prefetched, name) for name in (b"a", b"b", b"none")], counting.trips

    load(bound, "csv", "id,title\na,A\nb,B\n", "--on-conflict", "replace")
    assert bound.read(find) == ([True, True, False], 1)


def test_a_binding_that_a_file_gives_twice_is_noted(bound):
    printed = bound("rebind", write(bound, "id,title\nb,first\nb,last\n"))
    assert "line: 2 b: 1 bound\nline: 3 b: 1 bound in place of what an earlier line has\n" in printed
    assert "Identifiers: 1\nNew: 1\nBindings: 1 bound\n" in printed
    assert "note: 1 of the bindings were given twice in the file" in printed
    assert titles(bound) == {"b": "last"}
    assert "twice" not in bound("rebind", write(bound, "id,title\nb,same\nb,same\n"))


def test_rebind_changes_known_identifiers_only(bound):
    file = write(bound, "id,title\nb,after\n")
    assert "line: 2 b: 1 bound\n" in bound("rebind", file)
    assert titles(bound) == {"b": "after"} and bound.newest_event().verb == b"rebind"
    assert "line 3: x is not known here" in bound.refused("rebind", write(bound, "id,title\nb,again\nx,y\n"))
    assert titles(bound) == {"b": "after"}
    done = bound.run("rebind", "--keep-going", stdin=b"id,title\nx,y\nb,again\n")
    assert done.returncode == 1 and titles(bound) == {"b": "again"}
    assert "would be done" in bound("rebind", "--dry-run", stdin=b"id,title\nb,never\n")
    assert titles(bound) == {"b": "again"}


def test_an_exported_table_with_withdrawn_names_can_be_rebound_as_long_as_they_are_unchanged(tmp_path):
    minter = Noid.created(tmp_path, *LONG_TERM)
    one, two = minter.mint(2)
    for name in (one, two):
        minter.set_target(name, "https://a.example/")
    minter.records("withdraw", one)
    table = minter("export", "csv", "--element", "_t").replace(f"{two},https", f"{two},http")
    assert "Bindings: 1 bound, 1 unchanged\n" in minter("rebind", stdin=table.encode())
    minter.close()


# -- hostile files -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("form", "content", "message"), [
    ("csv", b"", "line 1: the file is empty"),
    ("csv", b"\n", "line 1: no column is called id"),
    ("csv", b"name,title\na,b\n", "line 1: no column is called id"),
    ("csv", b"id,title,title\na,b,c\n", "line 1: there are two columns 'title'"),
    ("csv", b"id,,title\na,b,c\n", "line 1: column 2 has no name"),
    ("csv", b"id" + b",x" * 1_000_000 + b"\n", "line 1: there are 1000001 columns"),
    ("csv", b"id,title\na,\xfcber\n", "line 2: the byte 0xfc at 3 is not UTF-8"),
    ("csv", b"id,ID\na,b\n", "line 1: the columns 'id' and 'ID' could both be that of the identifiers"),
    ("csv", b"_id,title,id\na,b,c\n", "line 1: the columns '_id' and 'id' could both be"),
    ("csv", b"ID,Element,Value,comment\na,b,c,d\n", "line 1: a table with the columns element and value has a row for"),
    ("csv", b"title,'base64:dGl0bGU=,id\na,b,c\n", "line 1: there are two columns 'title'"),
    ("csv", b"id,title\ra,b\r", "line 1: no column is called id, and there are carriage returns without line feeds"),
    ("csv", b"id,title\na,b\0c\n", "line 2: it has a NUL byte"),
    ("csv", b'id,title\na,"b\nc,d\n', "line 2: a quote is opened and not closed"),
    ("csv", b'id,title\na,"b"c\n', "line 2: the quotes are wrong"),
    ("csv", b"id,title\na,b\rc\n", "line 2: the quotes are wrong"),
    ("csv", b'id,title\na,"b\nb"\nb,=1+1\n', "line 4: '=1+1' looks like a formula"),
    ("csv", b"id,title\na,@SUM(A1)\n", "line 2: '@SUM(A1)' looks like a formula"),
    ("csv", b"id,title\na,-2+3+cmd|' /C calc'!A0\n", "looks like a formula"),
    ("csv", b"id,=x\na,b\n", "line 1: '=x' looks like a formula"),
    ("csv", b"id,title\na,'base64:!\n", "line 2: a value is not valid base64"),
    ("csv", b"\xff\xfei\0d\0", "line 1: this is UTF-16 text"),
    ("csv", b"PK\x03\x04xxxx", "line 1: this is a spreadsheet or a zip archive"),
    ("csv", b"\x1f\x8bxxxx", "line 1: this is compressed by gzip"),
    ("csv", b"id,element,value\na,b\n", "line 2: there are fewer than three values"),
    ("csv", b"id,element,value\na,,c\n", "line 2: there is a value, but no element"),
    ("csv", b"id,title\n" + b"x" * 70_000 + b",c\n", "line 2: an identifier may have at most 65536 bytes"),
    ("jsonl", b"{", "line 1: this is not JSON"),
    ("jsonl", b"[1]\n", "line 1: this is JSON, but not an object"),
    ("jsonl", b'{"id": "a"}\n{"title": "b"}\n', "line 2: 'id' is missing"),
    ("jsonl", b'{"id": 5}\n{"id": ["a"]}\n', "line 2: id is neither text"),
    ("jsonl", b'{"id": "a", "x": {"y": 1}}\n', "line 1: the value of 'x' is neither text"),
    ("jsonl", b'{"id": "a", "x": true}\n', "line 1: the value of 'x' is neither text"),
    ("jsonl", b'{"id": "a", "x": NaN}\n', "line 1: NaN is no value"),
    ("jsonl", b'{"id": "a", "id": "b"}\n', "line 1: 'id' is given twice"),
    ("jsonl", b'{"id": "a", "x": "\\ud800"}\n', "line 1: the value of 'x' has half a character"),
    ("jsonl", b'{"id": "a", "x": {"base64": "=!"}}\n', "is not valid base64"),
    ("jsonl", b'{"id": "a\xff"}\n', "line 1: the byte 0xff"),
    ("jsonl", b'{"id":' * 100_000, "line 1: this JSON is nested too deeply"),
    ("jsonl", b'{"noidtools": {"export": 1}}\n{"id": "a"}\n', "the export is cut off"),
    ("anvl", b"title: x\n", "line 1: a record must begin with a line such as"),
    ("anvl", b"::\n", "line 1: an identifier is missing"),
    ("anvl", b":: a\nno colon\n", "line 2: 'no colon' is not of the form"),
    ("anvl", b":: a\n  indented\n", "line 2: it is indented"),
    ("anvl", b":: a\nx: 100%\n", "line 2: '100%' is not an escape"),
    ("anvl", b":: a\nx: 1\nx: 2\n", "line 3: 'x' is given twice"),
    ("anvl", b"# id: a\n# hexid: zz\n", "line 2: the identifier after hexid"),
    ("anvl", b"# id: a\n# hexid: 61\nzz: 61\n", "line 3: 'zz' is not hexadecimal"),
], ids=lambda value: value if isinstance(value, str) else None)
def test_a_hostile_file_is_refused_with_the_line(free, form, content, message):
    assert message in refused(free, form, content)


@pytest.mark.parametrize(("form", "head"), [
    ("csv", b'id,title\nok,x\na,"'), ("jsonl", b'{"id": "ok"}\n{"id": "a", "t": "'),
    ("anvl", b":: ok\nt: x\n:: a\nt: "),
])
def test_a_huge_value_is_refused_with_its_line(free, monkeypatch, form, head):
    monkeypatch.setattr(transfer, "LONGEST_VALUE", 1 << 20)
    monkeypatch.setattr(transfer, "LONGEST_LINE", 2 << 20)
    monkeypatch.setattr("noidtools.transfer.csv_table.LONGEST_VALUE", 1 << 20)
    line = 4 if form == "anvl" else 3 if form == "csv" else 2
    assert f"line {line}: " in refused(free, form, head + b"x" * (3 << 20))


def test_a_record_with_very_many_elements_is_refused_with_its_line(free, monkeypatch):
    monkeypatch.setattr(importer, "MOST_ELEMENTS", 3)
    (free.folder / "f.jsonl").write_text('{"id": "a", "e1": "v", "e2": "v", "e3": "v"}\n'
                                         '{"id": "b", "e1": "v", "e2": "v", "e3": "v", "e4": "v"}\n')
    refusal = free.refusal("import", "jsonl", str(free.folder / "f.jsonl")).message
    assert refusal == ("line 2: the record has more than 3 elements: divide it into several records of the same "
                       "identifier")


def test_a_file_that_cannot_be_read_is_named(free, tmp_path):
    assert "cannot be read: No such file" in free.refused("import", "csv", "none.csv")
    assert "cannot be read: Is a directory" in free.refused("import", "csv", str(tmp_path))
    assert "line 1: the file is empty" in free.refused("import", "csv")


@pytest.mark.parametrize("value", [b"=1", b"+1", b"-1", b"@x", b"\t=1", b"\r=1", b"\n=1", "\uff1d1".encode(),
                                   "\uff0b1".encode(), "\uff0d1".encode(), "\uff20x".encode(), b"'\n=1", b"'x"])
def test_what_a_spreadsheet_may_take_for_a_formula_is_written_as_text_and_read_as_it_was(value):
    from io import BytesIO

    from noidtools.minter.importing import ImportRow
    from noidtools.transfer import InputFile
    from noidtools.transfer.csv_table import LONG_FORM, read_csv, write_row

    row = write_row([b"a", b"title", value])
    assert row.split(b",", 2)[2].lstrip(b'"').startswith(b"'")
    (entry,) = read_csv(InputFile(BytesIO(write_row(list(LONG_FORM)) + row)))
    assert isinstance(entry, ImportRow) and entry.pairs == [(b"title", value)]


def test_numbers_and_dashes_are_no_formulas_and_text_marked_as_such_stays(free):
    load(free, "csv", "id,a,b,c,d\nx,-5,+49 30 123,-,'=1+1\n")
    assert free.text("get", "x", "a", "b", "c", "d").split("\n\n") == ["-5", "+49 30 123", "-", "=1+1\n"]


def test_the_report_is_data_as_json(free):
    path = Path(write(free, TABLE))
    records = free.records("import", "csv", str(path))
    assert records[0] == {"line": 2, "id": "a", "status": "1 bound"}


def test_identifiers_without_bindings_are_recorded_with_their_event(free):
    report = load(free, "csv", "id,title\na,\nb,\n")
    assert "line: 2 a: recorded\n" in report and "New: 2\n" in report and "event: 2\n" in report
    assert free.events_of("a") == ["import"] and free.text("fetch", "a").splitlines()[1].startswith("Circ:  f|2")
    free("check")
    assert "New: 0\n" in load(free, "csv", "id,title\na,\nb,\n") and free.event_count() == 2, "nothing new, no event"


def test_an_alias_of_a_known_name_leaves_no_gap_in_the_events(free):
    free.records("bind", "set", "a", "title", "A")
    free.records("bind", "set", "b", "title", "B")
    load(free, "jsonl", '{"id": "a", "elements": {"title": "A"}}\n{"id": "b", "elements": {}, "alias": "a"}\n')
    assert "alias-of" in free.text("relations", "b")
    load(free, "jsonl", '{"id": "c", "elements": {}, "alias": "a"}\n', "--keep-going")
    free("check")


def test_what_was_imported_before_an_unreadable_line_is_reported(free):
    content = b"id,title\na,A\nb,B\nc,\xff\nd,D\n"
    done = free.run("import", "csv", write(free, content), "--keep-going")
    report = done.stdout.decode()
    assert done.returncode == 1 and titles(free) == {"a": "A", "b": "B"}
    assert "line: 3 b: 1 bound\n" in report and "line: 4: refused: the byte 0xff" in report
    assert "the rest of the file was not read" in report


def test_elements_of_others_may_have_the_names_of_our_fields(free):
    load(free, "jsonl", '{"id": "a", "state": "CA", "title": "T", "held": "yes", "alias": "x"}\n')
    assert free.text("fetch", "a").endswith("alias: x\nheld: yes\nstate: CA\ntitle: T\n")


def test_what_stands_beside_the_elements_is_not_lost_silently(free):
    assert "line 1: 'title' stands beside 'elements'" in refused(
        free, "jsonl", '{"id": "a", "elements": {"_t": "x"}, "title": "T"}\n')


def test_a_dry_run_that_keeps_going_has_no_limit_and_does_nothing(bound, monkeypatch):
    monkeypatch.setattr(changes, "MOST_AT_ONCE", 2)
    monkeypatch.setattr(changes, "BATCH", 2)
    before = bound.text("dbinfo", "dump")
    report = load(bound, "csv", TABLE + "=x,D\n", "--keep-going", "--dry-run")
    assert "Identifiers: 2\nNew: 2\nBindings: 2 bound\nRefused: 2\n" in report and "would be done" in report
    assert bound.text("dbinfo", "dump") == before
