"""Export and import: what leaves a minter enters another one, and comes back the same."""

from __future__ import annotations

import hashlib
import json
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from noidtools.minter import schema, stored
from noidtools.transfer import InputFile, csv_table
from support.clock import SettableClock
from support.minter import Noid
from support.templates import CHECKED, LONG_TERM

pytestmark = pytest.mark.slow


def make(folder: Path, *words: str) -> Noid:
    return Noid.created(folder, *words)


def dump(minter: Noid) -> str:
    """All tables that can be read, and the peppers, which `dbinfo dump` leaves out."""
    peppers = minter.read(lambda reader: list(reader.scan(schema.PEPPERS)))
    return minter.text("dbinfo", "dump") + repr(peppers)


def exported(minter: Noid, *words: str | bytes) -> bytes:
    return b"".join(record.content for record in minter.answer("export", *words).records)


def fill(minter: Noid) -> None:
    """Records of all kinds."""
    names = minter.mint(6)
    minter.records("peppermint", "1")
    for number, name in enumerate(names):
        minter.set_target(name, f"https://a.example/{number}")
    minter.records("bind", "set", names[0], "binary", b"\x00\xff'")
    minter.records("bind", "set", names[0], b"na\xffme", "v")
    minter.records("bind", "set", names[0], "long", "x" * 5000)
    minter.records("bind", "set", names[0], "long", "y" * 5000)
    minter.records("bind", "purge", names[1], "_t")
    minter.records("bind", "set", ":idmap/^13030/x(.*)", "_t", "https://x.example/$1")
    minter.records("withdraw", names[2], "--reason", "twice", "--successor", names[3])
    minter.records("reserve", names[4])
    minter.records("unavailable", names[1], "--reason", "away")
    minter.records("alias", "old name", names[0], "--authority", "Me")
    minter.records("synonym", names[0], "doi:10.1/2", "--authority", "Me")
    minter.records("policy", "persistence", "Always")
    minter.records("prefer", names[0])
    minter.records("abstract", "context", "letters", "--authority", "Me", "--purpose", "A purpose")
    minter.records("custodian", "set", "Kim")
    minter.records("custodian", "set", "Chris", names[0], "--contact", "tel:1")
    minter.records("custodian", "set", "Sam", "--purpose", "resolution")
    minter.records("custodian", "set", "Sam", names[0], "--purpose", "resolution")
    minter.records("quality", "state", "trusted", "--authority", "Me")
    minter.records("quality", "state", "persistent", names[0], "--authority", "Me")
    minter.records("note", "about", "a note\nof two lines")
    minter.records("policy", "mint", "alice")
    minter.records("resolver", "fallback", "https://n2t.net/")
    minter.records("context", "alias", "1.2", "1.3", "--authority", "Me")
    minter.records("hold", "release", names[5])
    minter.records("queue", "30d", names[5])
    minter.records("verify", names[0])
    minter.records("retarget", "--from", "https://a.example/", "--to", "https://b.example/", "--name", "move")


# -- a whole minter ----------------------------------------------------------------------------------------------------


def copied(minter: Noid, folder: Path) -> Noid:
    """Another minter, made from a complete export of this one."""
    file = folder.parent / "export.jsonl"
    file.write_bytes(exported(minter, "jsonl", "--history"))
    copy = Noid(folder, clock=minter.clock)
    copy("import", "jsonl", str(file))
    return copy


LABELLED = ("--label", "ark:/", "kt.zeedde", "medium", "13030")


@pytest.mark.parametrize("words", [CHECKED, LABELLED, ()], ids=str)
def test_a_minter_made_from_a_complete_export_is_the_same(tmp_path, words):
    minter = make(tmp_path / "one", *words)
    if words:
        fill(minter)
    else:
        for name in ("a", "ark:/1/2", "with blank", b"\xff\x00", "ark:/ark:/x"):
            minter.records("bind", "set", name, "e", "v")
    copy = copied(minter, tmp_path / "two")
    assert dump(copy) == dump(minter)
    assert copy.text("dbinfo", "full").partition("Events")[2] == minter.text("dbinfo", "full").partition("Events")[2]
    if words:
        assert copy.mint(20) == minter.mint(20)
        assert dump(copy).count("\n") == dump(minter).count("\n")
    for opened in (minter, copy):
        opened.close()


def test_every_table_is_exported_or_known_not_to_be():
    known = {*schema.ALL_TABLES}
    exported = {*stored._ONE.values(), *stored._SEVERAL.values(), *stored.WHOLE.values(), *stored.OTHERS}
    assert known == {*exported, *stored.NOT_EXPORTED}
    assert not exported & {*stored.NOT_EXPORTED}


@pytest.mark.parametrize("change", [
    lambda lines: lines[:-1],
    lambda lines: lines[:3] + lines[4:],
    lambda lines: [*lines, lines[-1]],
    lambda lines: [*lines[:-1], lines[-1][:-5]],
    lambda lines: [*lines[:2], b'{"unheard": 1}\n', *lines[2:]],
    lambda lines: [*lines[:2], b"\xff\n", *lines[2:]],
    lambda lines: [*lines[:2], b"[" * 100_000 + b"\n", *lines[2:]],
    lambda lines: [lines[0].replace(b"f5.reedeedk", b"f5.?"), *lines[1:]],
    lambda lines: [lines[0].replace(b"f5.reedeedk", b"f5.reedek"), *lines[1:]],
    lambda lines: [lines[0].replace(b'"scheme"', b'"schema"'), *lines[1:]],
    lambda lines: [line.replace(b'"meta":["state",{"base64":"', b'"meta":["state",{"base64":"AAAA') for line in lines],
    lambda lines: [line.replace(b'"history":"i"', b'"history":"x"') for line in lines],
    lambda lines: [line.replace(b'"flags":1', b'"flags":999') for line in lines],
    lambda lines: [line.replace(b'"date":"2', b'"date":"x') for line in lines],
])
def test_a_damaged_export_makes_no_minter_and_names_the_line(tmp_path, change):
    minter = make(tmp_path / "one", *CHECKED)
    fill(minter)
    lines = exported(minter, "jsonl", "--history").splitlines(keepends=True)
    minter.close()
    file = tmp_path / "damaged.jsonl"
    file.write_bytes(b"".join(change(lines)))
    copy = Noid(tmp_path / "two")
    message = copy.refused("import", "jsonl", str(file), status=1)
    assert "line " in message or "generator is damaged" in message
    assert sorted(path.name for path in (tmp_path / "two").iterdir()) == []


def each(change):
    """Change every line that has the key, as a dictionary."""
    def changed(lines):
        for line in lines:
            change(line)
        return lines
    return changed


def replaced(key, value):
    return each(lambda line: line.update({key: value}) if key in line else None)


FORGERIES = {
    "events dropped": lambda lines: [line for line in lines if "what" not in line],
    "last event dropped": lambda lines: [line for line in lines if line.get("what") != "retarget"],
    "changes dropped": lambda lines: [line for line in lines if "change" not in line],
    "identifiers dropped": lambda lines: [line for line in lines if "id" not in line],
    "identifiers twice": lambda lines: [copy for line in lines for copy in ([line, line] if "id" in line else [line])],
    "events twice": lambda lines: [copy for line in lines for copy in ([line, line] if "what" in line else [line])],
    "setting twice": lambda lines: [lines[0], *[line for line in lines if "config" in line], *lines[1:]],
    "identifiers in another order": lambda lines: [
        lines[0], *[line for line in lines if "id" in line][::-1], *[line for line in lines[1:] if "id" not in line]],
    "held count": each(lambda line: line.update(meta=["held", "abc"]) if line.get("meta", [""])[0] == "held" else None),
    "settings": each(lambda line: line["config"].__setitem__(1, "\0garbage") if "config" in line else None),
    "queue": replaced("queue", {"base64": "AAAA"}), "pepper": replaced("pepper", {"base64": "AAAA"}),
    "verified": replaced("verified", {"base64": "////"}), "relations": replaced("relations", [["?", "a", "b", "c"]]),
    "abstract": replaced("abstract", ["a"]), "tombstone": replaced("withdrawn", ["a"]),
    "event": each(lambda line: line["circulation"].update(event=999) if "circulation" in line else None),
    "number": each(lambda line: line["circulation"].update(number=99999) if "circulation" in line else None),
}


@pytest.mark.parametrize("digest", [False, True], ids=["old digest", "right digest"])
@pytest.mark.parametrize("forgery", FORGERIES)
def test_an_export_of_which_something_was_changed_makes_no_minter(filled_export, tmp_path, forgery, digest):
    """Also if whoever changed it has counted the lines again, and computed their digest."""
    *lines, end = FORGERIES[forgery]([json.loads(line) for line in filled_export.splitlines()])
    texts = [json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines]
    end["end"].update(lines=len(texts) + 1, identifiers=sum("id" in line for line in lines))
    if digest:
        end["end"]["sha256"] = hashlib.sha256(b"".join(texts)).hexdigest()
    (tmp_path / "changed.jsonl").write_bytes(b"".join(texts) + json.dumps(end).encode())
    message = Noid(tmp_path / "two").refused("import", "jsonl", str(tmp_path / "changed.jsonl"), status=1)
    assert "(no minter was made)" in message and "fault in noidtools" not in message
    assert digest or "line " in message
    assert sorted(path.name for path in (tmp_path / "two").iterdir()) == []


@pytest.fixture(scope="module")
def filled_export(tmp_path_factory) -> bytes:
    minter = make(tmp_path_factory.mktemp("filled"), *CHECKED)
    fill(minter)
    minter.run("verify", "--record")
    lines = exported(minter, "jsonl", "--history")
    minter.close()
    return lines


def test_an_export_that_got_other_line_ends_on_its_way_is_imported(filled_export, tmp_path):
    (tmp_path / "crlf.jsonl").write_bytes(filled_export.replace(b"\n", b"\r\n"))
    assert "a minter was made" in Noid(tmp_path / "two")("import", "jsonl", str(tmp_path / "crlf.jsonl"))


@pytest.mark.servers
def test_a_minter_is_made_from_an_export_in_a_database_server(filled_export, tmp_path):
    from support.postgres import postgres_address

    (tmp_path / "file").write_bytes(filled_export)
    copy = Noid(tmp_path / "two")
    copy("import", "jsonl", str(tmp_path / "file"), "--store", postgres_address())
    assert (tmp_path / "two" / "NOID" / "engine").exists() and "nothing is wrong" in copy("check")
    copy.close()


def test_a_database_server_is_named_for_a_new_minter_only(filled_export, tmp_path):
    (tmp_path / "file").write_bytes(filled_export)
    copy = Noid(tmp_path / "two")
    words = ("import", "jsonl", str(tmp_path / "file"), "--store", "http://x.example/")
    assert "must be the address of a database server" in copy.refused(*words)
    copy("dbcreate", ".sd")
    assert "--store is for a minter that is made" in copy.refused(*words)


def test_an_export_of_a_minter_with_faults_names_the_first_and_the_remedy(tmp_path):
    minter = make(tmp_path / "one", *CHECKED)
    fill(minter)
    minter.write(lambda writer: writer.put(schema.META, b"held", b"77"))
    (tmp_path / "faulty.jsonl").write_bytes(exported(minter, "jsonl", "--history"))
    message = Noid(tmp_path / "two").refused("import", "jsonl", str(tmp_path / "faulty.jsonl"), status=1)
    assert "but 77 are counted" in message and "'noid check --repair'" in message and "'noid copy'" in message
    minter("check", "--repair")
    copied(minter, tmp_path / "three")


def test_an_incomplete_export_or_another_file_makes_no_minter(tmp_path):
    minter = make(tmp_path / "one", *CHECKED)
    minter.mint(2)
    for words in (("jsonl",), ("jsonl", "--history", "--prefix", "13030"), ("csv",), ("anvl",)):
        (tmp_path / "file").write_bytes(exported(minter, *words))
        message = Noid(tmp_path / "two").refused("import", words[0], str(tmp_path / "file"))
        assert "only a complete export can make one" in message
    minter.close()


def test_events_in_an_archive_are_exported_and_can_be_taken_back(tmp_path):
    minter = Noid.with_clock(tmp_path / "one", *LONG_TERM)
    (name,) = minter.mint(1)
    for number in range(3):
        minter.records("bind", "set", name, "what", f"value {number} " + "x" * 300)
    minter("log", "--archive", "2026-11-17", str(tmp_path / "old.jsonl"))
    copy = copied(minter, tmp_path / "two")
    (tmp_path / "old.jsonl").rename(tmp_path / "away")
    assert copy.text("history", name) != minter.text("history", name), "without the archive the history is not whole"
    (tmp_path / "away").rename(tmp_path / "old.jsonl")
    assert copy.text("history", name) == minter.text("history", name)
    assert "ok: 1 change taken back\n" in minter.text("undo", "5")
    assert minter.text("get", name, "what").startswith("value 1 ")
    for opened in (minter, copy):
        opened.close()


def test_an_archive_that_is_lost_is_no_reason_to_refuse_an_export(tmp_path):
    minter = Noid.with_clock(tmp_path / "one", *LONG_TERM)
    (name,) = minter.mint(1)
    for number in range(3):
        minter.records("bind", "set", name, "what", f"value {number} " + "x" * 300)
    minter("log", "--archive", "2026-11-17", str(tmp_path / "old.jsonl"))
    (tmp_path / "old.jsonl").unlink()
    copy = copied(minter, tmp_path / "two")
    assert dump(copy) == dump(minter)
    assert "is in an archive that cannot be read here" in minter.refusal("undo", "3").message
    for opened in (minter, copy):
        opened.close()


# -- bindings, under hypothesis ----------------------------------------------------------------------------------------

TEXTS = st.one_of(
    st.text(max_size=12).map(lambda text: text.encode("utf-8", "replace")), st.binary(max_size=6),
    st.sampled_from([b"=1+1", b"'", b"''x", b"'base64:AAAA", b"-", b"+49 30", b"@x", b" x ", b"a\r\nb", b"a\rb", b'"',
                     b"%41", b"#", b":: x", b": ", b"x:y", b"\t", b"\n", b"\xef\xbb\xbf",
                     b"\xe2\x80\xa8", b"", b"x" * 600]),
)
NAMES = TEXTS.filter(lambda name: name.strip() and name.strip() == name and not name.startswith(b":idmap"))
# What `bind` takes for a mark to read from its input, and so for neither an identifier nor an element.
MARKS = (b":", b":-")
# Control characters are part of no name that is imported.
CLEAN_NAMES = NAMES.filter(
    lambda name: name not in MARKS and not any(byte < 0x20 or byte == 0x7F for byte in name))
# Names of elements that mean something in one of the formats.
SPECIAL = st.sampled_from([b"_target", b"_status", b"_t", b"id", b"_id", b"ID", b"element", b"value", b"Value"])
ELEMENTS = st.one_of(TEXTS.filter(lambda text: text and text not in MARKS), SPECIAL)
BINDINGS = st.dictionaries(
    CLEAN_NAMES, st.dictionaries(ELEMENTS, TEXTS, min_size=1, max_size=3), min_size=1, max_size=4)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Fresh folders, one after the other."""
    base = tmp_path_factory.mktemp("round")
    return (base / str(number) for number in range(10**6))


def elements(minter: Noid) -> dict[bytes, bytes]:
    return dict(minter.read(lambda reader: list(reader.scan(schema.ELEMENTS))))


@pytest.mark.parametrize("form", ["csv", "jsonl", "anvl"])
@given(bindings=BINDINGS)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_exported_is_imported_as_it_was(folders, form, bindings):
    one, two = make(next(folders)), make(next(folders))
    for name, values in bindings.items():
        for element, value in values.items():
            one.records("bind", "set", name, element, value)
    file = two.folder / "file"
    file.write_bytes(exported(one, form))
    two("import", form, str(file), "--on-conflict", "refuse")
    assert elements(two) == elements(one)
    again = two("import", form, str(file))
    assert "bound" not in again and elements(two) == elements(one), "importing twice changes nothing"
    for opened in (one, two):
        opened.close()


@given(names=st.lists(ELEMENTS, min_size=1, max_size=4, unique=True))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_table_with_columns_of_any_names_is_read_as_it_was_written(names):
    """Also if an element is called id, element or value, which mean something else in the first line."""
    table = csv_table.write_header(tuple(names)) + csv_table.write_row([b"x", *(b"1" for _ in names)])
    (entry,) = csv_table.read_csv(InputFile(BytesIO(table)))
    assert entry.display == b"x" and [name for name, _ in entry.pairs] == names


@given(names=st.lists(NAMES.filter(lambda name: not b"ark:/".startswith(name)), min_size=1, max_size=5, unique=True))
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_complete_export_is_the_identity_for_any_names(folders, names):
    one = make(next(folders), "--label", "ark:/")
    for name in names:
        one.records("bind", "set", name, "e", name)
    folder = next(folders)
    folder.mkdir()
    copy = copied(one, folder)
    assert dump(copy) == dump(one)
    for opened in (one, copy):
        opened.close()


# -- selection ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def various(tmp_path):
    clock = SettableClock.at("20260101000000")
    minter = Noid.created(tmp_path / "m", *LONG_TERM, clock=clock)
    names = minter.mint(4)
    for name in names:
        minter.set_target(name, f"https://a.example/{name}")
    clock.set_seconds("1800000000")  # 2027-01-15
    minter.records("bind", "set", names[0], "title", "One")
    minter.records("reserve", names[1])
    minter.records("withdraw", names[2])
    minter.records("unavailable", names[3])
    yield minter, names
    minter.close()


def ids(text: bytes) -> list[str]:
    return [json.loads(line)["id"] for line in text.splitlines() if b'"id"' in line[:6]]


def test_identifiers_are_in_order_and_selected_by_state_prefix_element_and_date(various):
    minter, names = various
    assert ids(exported(minter, "jsonl")) == sorted(names)
    assert ids(exported(minter, "jsonl", "--state", "reserved")) == [names[1]]
    assert ids(exported(minter, "jsonl", "--state", "withdrawn")) == [names[2]]
    assert ids(exported(minter, "jsonl", "--state", "published")) == [names[0]]
    assert ids(exported(minter, "jsonl", "--state", "unavailable")) == [names[3]]
    assert ids(exported(minter, "jsonl", "--prefix", names[3][:-1])) == [names[3]]
    assert ids(exported(minter, "jsonl", "--prefix", "ark:/13030/")) == sorted(names)
    assert ids(exported(minter, "jsonl", "--element", "title")) == [names[0]]
    assert ids(exported(minter, "jsonl", "--changed-since", "2026-06")) == sorted(names)
    assert ids(exported(minter, "jsonl", "--changed-since", "2026")) == sorted(names)
    assert ids(exported(minter, "jsonl", "--changed-since", "2028")) == []


def test_a_date_is_compared_with_every_event_also_if_the_clock_was_set_back(various):
    minter, names = various
    minter.clock.set_seconds("1700000000")
    minter.records("bind", "set", names[0], "title", "Two")
    assert ids(exported(minter, "jsonl", "--changed-since", "2026-06")) == sorted(names)


def test_csv_has_a_row_for_each_binding_or_a_column_for_each_chosen_element(various):
    minter, names = various
    rows = exported(minter, "csv").decode().splitlines()
    assert rows[0] == "id,element,value" and f"{names[0]},title,One" in rows and len(rows) == 6
    rows = exported(minter, "csv", "--element", "title", "--element", "_t").decode().splitlines()
    assert rows[0] == "id,title,_t" and f"{names[0]},One,https://a.example/{names[0]}" in rows
    assert f"{names[3]},,https://a.example/{names[3]}" in rows


def test_a_selection_with_history_has_the_events_of_its_identifiers(various):
    minter, names = various
    lines = [json.loads(line) for line in exported(minter, "jsonl", "--history", "--prefix", names[0]).splitlines()]
    numbers = next(line["events"] for line in lines if "id" in line)
    assert [line["event"] for line in lines if "what" in line] == numbers
    assert [line["what"] for line in lines if "what" in line] == ["mint", "bind set", "bind set"]


def test_an_export_to_a_file_replaces_it_at_once_and_is_private(various, tmp_path):
    minter, _ = various
    file = tmp_path / "out.csv"
    file.write_text("before")
    assert minter("export", "csv", str(file)).startswith("ok: 4 identifiers written")
    assert file.read_bytes() == exported(minter, "csv") and file.stat().st_mode & 0o777 == 0o600
    assert "could not be written" in minter.refused("export", "csv", str(tmp_path / "none" / "x"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m", "out.csv"]


@pytest.mark.parametrize(("words", "message"), [
    (("csv", "--history"), "the history can be exported as jsonl"), (("jsonl", "--state", "lost"), "a state is one of"),
    (("jsonl", "--changed-since", "soon"), "is not a date"), (("xml",), "export has no form 'xml'"),
    (("csv", "--element", ""), "the name of an element is empty"),
    (("csv", "--element", "a", "--element", "a"), "named twice"),
])
def test_what_cannot_be_exported_is_refused(various, words, message):
    assert message in various[0].refused("export", *words)


def test_what_is_minted_while_an_export_is_read_is_not_in_it(various):
    minter, names = various
    stream = iter(minter.answer("export", "jsonl").records)
    first = next(stream).content
    minter.mint(5)
    assert ids(first + b"".join(record.content for record in stream)) == sorted(names)
