"""Identifiers for the rows of a table: import csv --mint."""

from __future__ import annotations

import csv
import io

import pytest

import noidtools
from noidtools.errors import NoidError
from noidtools.minter import changes
from support.minter import Noid
from support.templates import CHECKED

FIRST, SECOND, THIRD, FOURTH = "13030/f54x54g11", "13030/f5154dn7k", "13030/f5wd3q12m", "13030/f5rn30687"


@pytest.fixture
def minter(tmp_path):
    made = Noid.created(tmp_path, *CHECKED)
    yield made
    made.close()


def sent(minter: Noid, table: str | bytes, *words: str) -> str:
    """What comes back for a table."""
    stdin = table if isinstance(table, bytes) else table.encode()
    done = minter.run("import", "csv", "--mint", *words, stdin=stdin)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


def refused(minter: Noid, table: str | bytes, *words: str) -> str:
    before = minter.event_count()
    sentence = minter.refused("import", "csv", "--mint", *words,
                              stdin=table if isinstance(table, bytes) else table.encode())
    assert minter.event_count() == before
    return sentence


def test_a_table_without_a_column_id_comes_back_with_one_in_front(minter):
    table = "title,_t\nOne,https://a.example/1\n\nTwo,\n"
    assert sent(minter, table) == (
        f"id,title,_t\n{FIRST},One,https://a.example/1\n\n{SECOND},Two,\n")
    assert minter.text("get", FIRST, "title") == "One\n" and minter.text("get", FIRST, "_t") == "https://a.example/1\n"
    assert minter.text("get", SECOND, "title") == "Two\n"
    assert "nothing is wrong" in minter("check")


def test_only_rows_without_an_identifier_get_one_and_the_columns_keep_their_order(minter):
    first = sent(minter, "title,id,note\nOne,,\n")
    assert first == f"title,id,note\nOne,{FIRST},\n"
    assert sent(minter, first.replace(f"{FIRST},", f"{FIRST},read") + "Two,  ,new\n") == (
        f"title,id,note\nOne,{FIRST},read\nTwo,{SECOND},new\n")
    assert minter.text("get", FIRST, "note") == "read\n"


@pytest.mark.parametrize(("table", "back"), [
    (b"\xef\xbb\xbftitle;n\r\n\"A;B\";1\r\n", f"\ufeffid;title;n\r\n{FIRST};\"A;B\";1\r\n"),
    (b"title\tn\nA\t1\n", f"id\ttitle\tn\n{FIRST}\tA\t1\n"),
    (b"title,n\n\"Two\nlines\",\"say \"\"x\"\"\"\n", f"id,title,n\n{FIRST},\"Two\nlines\",\"say \"\"x\"\"\"\n"),
    (b"title,n,,\nA,,,\n,,,\n", f"id,title,n\n{FIRST},A,\n\n"),
    (b"title,n\n'=1+1,-5\nA", f"id,title,n\n{FIRST},'=1+1,-5\n{SECOND},A,\n"),
    (b"title\nA", f"id,title\n{FIRST},A\n"),
])
def test_the_table_comes_back_in_the_form_in_which_it_came(minter, table, back):
    assert sent(minter, table) == back


@pytest.mark.parametrize(("table", "sentence"), [
    (b"", "line 1: the file is empty"),
    (b"\n", "line 1: the first line is empty"),
    (b"title,n\rA,1\rB,2\r", "line 1: no column is called id, and there are carriage returns without line feeds"),
    (b"title\n=1+1\n", "line 2: '=1+1' looks like a formula"),
    (b"title\nA\nGr\xfcn\n", "line 3: the byte 0xfc at 3 is not UTF-8: save the file as CSV in UTF-8"),
    (b"title\nA,B\n", "line 2: there are 2 values for 1 columns"),
    (b"title\n\"A\n", "line 2: a quote is opened and not closed"),
    (b"PK\x03\x04", "line 1: this is a spreadsheet or a zip archive"),
    (b"title\nA\0\n", "line 2: it has a NUL byte"),
    (b"element,value\ntitle,A\n", "line 1: a table with the columns element and value"),
    (b"_id,title\n,A\n", "line 1: the column of identifiers is called _id"),
    (b"title,title\nA,B\n", "line 1: there are two columns"),
    (b"title,:\nA,B\n", "line 1: no element can be named ':'"),
    (b"id,title\n13030/f54x54g12,A\n", "line 2: 13030/f54x54g12 has a wrong check character"),
])
def test_a_table_that_is_wrong_is_refused_with_the_line_and_nothing_is_minted(minter, table, sentence):
    assert refused(minter, table).startswith(sentence)
    assert minter.ids(1) == [FIRST]


@pytest.fixture
def medium(tmp_path):
    """A minter whose identifiers can be bound before they are minted."""
    made = Noid.created(tmp_path, CHECKED[0], "medium", *CHECKED[2:])
    yield made
    made.close()


@pytest.mark.parametrize("prepare", [(), ("bind", "set", SECOND, "other", "x"), ("queue", "now", SECOND)])
def test_an_identifier_that_another_row_could_get_is_refused(medium, prepare):
    minter = medium
    if prepare:
        minter.records(*prepare)
    table = f"id,title\n,A\n,B\n{SECOND},C\n"
    assert refused(minter, table).startswith(f"line 4: {SECOND} was neither minted here nor imported: leave the cell")


def test_an_identifier_to_which_somebody_has_bound_a_column_of_the_table_is_not_given_out(medium):
    minter = medium
    minter.records("bind", "set", FIRST, "title", "mine")
    assert sent(minter, "title\nA\n") == f"id,title\n{SECOND},A\n"
    assert minter.text("get", FIRST, "title") == "mine\n"


def test_a_dry_run_lists_every_row_that_is_wrong_and_mints_nothing(minter):
    done = minter.run("import", "csv", "--mint", "--dry-run", "--keep-going",
                      stdin=b"id,title\n,A\n,=x\n13030/zzz,B\n,C,D\n")
    lines = done.stdout.decode().splitlines()
    assert done.returncode == 1 and lines[0] == "line: 2: minted, 1 bound"
    assert lines[1].startswith("line: 3: refused: '=x' looks") and lines[3].startswith("line: 5: refused: there are 3")
    assert lines[2].startswith("line: 4: refused: 13030/zzz") and "Minted: 1" in lines and "Refused: 3" in lines
    assert minter.ids(1) == [FIRST]


def test_keep_going_leaves_rows_that_are_wrong_without_an_identifier(minter):
    done = minter.run("import", "csv", "--mint", "--keep-going", stdin=b"title\nA\n=x\nB,C\nD\n")
    assert done.returncode == 1 and done.stdout.decode() == (
        f"id,title\n{FIRST},A\n,=x\n,B,C\n{SECOND},D\n")
    errors = done.stderr.decode().splitlines()
    assert [error.partition(" '")[0] for error in errors] == [
        "error: line 3:", "error: line 4: there are 2 values for 1 columns"]
    assert minter.refused("import", "csv", "--mint", "--keep-going", stdin=b"title\nA\n\xff\n").startswith("line 3: ")


def test_the_same_table_gets_the_same_identifiers_and_a_name_makes_another_run(minter):
    table = "title\nA\nA\n"
    back = sent(minter, table)
    assert back == f"id,title\n{FIRST},A\n{SECOND},A\n"
    minter.records("bind", "set", FIRST, "title", "changed since")
    events = minter.event_count()
    done = minter.run("import", "csv", "--mint", stdin=table.encode())
    assert done.stdout.decode() == back and b"2 of the rows had got their identifiers before" in done.stderr
    assert minter.event_count() == events and minter.text("get", FIRST, "title") == "changed since\n"
    named = sent(minter, table, "--name", "more")
    assert named == f"id,title\n{THIRD},A\n{FOURTH},A\n" and sent(minter, table, "--name", "more") == named
    assert refused(minter, "title\nB\n", "--name", "more").startswith("the run 'more' was with another table")


def test_a_minter_made_of_a_complete_export_still_knows_the_rows(minter, tmp_path):
    back = sent(minter, "title\nA\n")
    (tmp_path / "all.jsonl").write_text(minter("export", "jsonl", "--history"))
    other = Noid(tmp_path / "other")
    other("import", "jsonl", str(tmp_path / "all.jsonl"))
    assert sent(other, "title\nA\n") == back


def test_reserved_identifiers(minter):
    sent(minter, "title\nA\n", "--reserve")
    assert "State: reserved\n" in minter.text("fetch", FIRST)
    assert minter("mint", "--reserve", "1") == f"id: {SECOND}\n\n" and "State: reserved" in minter("fetch", SECOND)


def test_more_rows_than_identifiers_left_are_refused_before_anything_is_minted(tmp_path):
    minter = Noid.created(tmp_path, "fk.sd", "long", "13030", "a.example", "test")
    assert refused(minter, "title\n" + "A\n" * 11) == (
        "the table needs 11 identifiers, and only 10 are left: nothing was minted")
    assert sent(minter, "title\n" + "A\n" * 10).count("13030/fk") == 10


def test_the_report_goes_to_the_output_and_the_table_to_a_file(minter, tmp_path):
    out = str(tmp_path / "out.csv")
    report = sent(minter, "title\nA\n", "--output", out)
    assert report.startswith(f"line: 2 {FIRST}: minted, 1 bound\nok: done\nIdentifiers: 1\nNew: 0\nMinted: 1\n")
    assert (tmp_path / "out.csv").read_text() == f"id,title\n{FIRST},A\n"
    done = minter.run("import", "csv", "--mint", "--output", str(tmp_path / "no" / "such"), stdin=b"title\nB\n")
    assert done.returncode == 1 and b"the identifiers were minted, so send the same table again" in done.stderr


@pytest.fixture
def batches(monkeypatch):
    """A few rows are many."""
    monkeypatch.setattr(changes, "MOST_AT_ONCE", 5)
    monkeypatch.setattr(changes, "BATCH", 6)


def test_a_large_table_is_minted_in_batches_of_one_event_and_others_mint_between(minter, batches, monkeypatch):
    table, others = "title\n" + "".join(f"T{number}\n" for number in range(20)), []
    write = changes.BulkEvent.write

    def watched(self, work, before=None):
        others.extend(minter.mint(1))
        return write(self, work, before)

    monkeypatch.setattr(changes.BulkEvent, "write", watched)
    steps: list[tuple[int, int, str]] = []
    with noidtools.open(minter.folder) as opened:
        minter.close()
        made = opened.mint_table(io.BytesIO(table.encode()), progress=lambda *step: steps.append(step))
        rows = list(csv.reader(io.StringIO(b"".join(made.chunks()).decode())))
        assert opened.import_file(io.BytesIO(b"".join(made.chunks())), "csv").same == 20
    ids = [row[0] for row in rows[1:]]
    assert len(others) >= 6 and len({*ids, *others}) == 20 + len(others) and made.minted == 20
    assert steps[-1] == (1, 1, "") and len(steps) > 6
    assert "nothing is wrong" in minter("check")


def test_a_table_that_is_sent_twice_at_once_is_minted_once(minter, batches, monkeypatch):
    table = "title\n" + "".join(f"T{number}\n" for number in range(20))
    write, backs = changes.BulkEvent.write, []

    def watched(self, work, before=None):
        monkeypatch.undo()
        backs.append(minter.text("import", "csv", str(minter.folder / "t.csv"), "--mint"))
        return write(self, work, before)

    (minter.folder / "t.csv").write_text(table)
    monkeypatch.setattr(changes.BulkEvent, "write", watched)
    backs.append(minter.text("import", "csv", str(minter.folder / "t.csv"), "--mint"))
    assert backs[0] == backs[1] and backs[0].count("\n") == 21 and "\n,T" not in backs[0]


def test_in_python_a_table_has_its_figures(tmp_path):
    with noidtools.create(tmp_path / "m", "f5.reedeedk", naan="13030") as minter:
        made = minter.mint_table(io.BytesIO(b"title\nA\n=x\n"), keep_going=True, state="reserved")
        assert (made.minted, made.again, made.event, made.since) == (1, 0, 3, "")
        assert [line for line, _ in made.refused()] == [3]
        made.write_to(str(tmp_path / "t.csv"))
        assert (tmp_path / "t.csv").read_bytes() == b"".join(made.chunks()) == f"id,title\n{FIRST},A\n,=x\n".encode()
        with pytest.raises(NoidError, match="line 3"):
            minter.mint_table(io.BytesIO(b"title\nA\n=x\n"))
