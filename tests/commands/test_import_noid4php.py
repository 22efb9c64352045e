"""The command import noid4php: minters of the original noid in PHP, in its LMDB and XML databases.

The databases hold what the original stored (tests/vectors/perl-minter.dump), with the keys that Noid4Php adds: its keys
and values are the same otherwise.  The one of LMDB is written by PHP's extension dba, as Noid4Php's is.
"""

from __future__ import annotations

import base64
import json
import subprocess
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

import lmdb
import pytest

from noidtools.store import foreign_items
from support.minter import Noid
from support.perl_dump import recorded_items
from support.project import vectors

VERSION = b"1.4.0-0.424-php"
_SCRIPT = """
$items = json_decode(file_get_contents('php://stdin'), true);
$db = dba_open($argv[1], 'n', 'lmdb', 0644, 16 << 20);
foreach ($items as $item) { dba_replace(base64_decode($item[0]), base64_decode($item[1]), $db); }
dba_close($db);
"""


def items(**changes: bytes) -> dict[bytes, bytes]:
    added = {"version": VERSION, "generator_random": b"PerlRandom", "checkrepertoire": b"e"} | changes
    return recorded_items() | {b":/" + name.encode(): value for name, value in added.items()}


def write_xml(path: Path, content: dict[bytes, bytes]) -> Path:
    """As PHP's DOM writes it: tabs and line breaks in attributes are references."""
    rows = "".join(f"  <i k={quoteattr(key.decode(), {chr(9): '&#9;'})}>{escape(value.decode())}</i>\n"
                   for key, value in reversed(content.items()))
    path.write_text(f'<?xml version="1.0"?>\n<noid>\n{rows}</noid>\n')
    return path


def write_lmdb(path: Path, content: dict[bytes, bytes]) -> Path:
    environment = lmdb.open(str(path), subdir=False, map_size=16 << 20)
    with environment.begin(write=True) as txn:
        for item in content.items():
            txn.put(*item)
    environment.close()
    return path


def write_by_php(path: Path, content: dict[bytes, bytes]) -> Path:
    coded = [[base64.b64encode(text).decode() for text in item] for item in content.items()]
    subprocess.run(["php", "-r", _SCRIPT, str(path)], input=json.dumps(coded).encode(), check=True, capture_output=True)
    return path


def ensure_same_minter(folder: Path, source: Path) -> None:
    """The minter made from a source goes on as the original did."""
    after = vectors("perl-minter-after.json")
    folder.mkdir()
    noid = Noid(folder)
    noid("import", "noid4php", str(source))
    assert noid.ids(200) == after["next"][:200]
    noid("check")
    noid.close()


@pytest.mark.parametrize("write", [write_lmdb, write_xml])
def test_the_minter_is_the_same_and_goes_on_as_the_original_would(tmp_path, write):
    source = tmp_path / "NOID"
    source.mkdir()
    write(source / f"noid.{write.__name__[6:]}", items())
    ensure_same_minter(tmp_path / "one", source)
    ensure_same_minter(tmp_path / "two", tmp_path)


@pytest.mark.servers
def test_a_database_that_php_wrote_has_its_items_where_they_are_looked_for(tmp_path):
    # PHP commits every item by itself, which takes a disk some milliseconds.
    some = dict(sorted(items().items())[:60])
    assert dict(foreign_items(str(write_by_php(tmp_path / "noid.lmdb", some)))) == some


@pytest.mark.servers
def test_the_minter_may_lie_in_a_database_server(noid, tmp_path):
    from support.postgres import postgres_address

    noid("import", "noid4php", str(write_xml(tmp_path / "noid.xml", items())), "--store", postgres_address())
    assert (noid.folder / "NOID" / "engine").exists() and "nothing is wrong" in noid("check")


def test_a_dry_run_makes_nothing(noid, tmp_path):
    source = write_xml(tmp_path / "noid.xml", items())
    assert "nothing was made" in noid("import", "noid4php", str(source), "--dry-run")
    assert not (noid.folder / "NOID").exists()


@pytest.mark.parametrize(("changes", "message"), [
    ({"generator_random": b"php mt_rand()"}, "draws its identifiers with php mt_rand()"),
    ({"pregen/0": b"13030/f5x"}, "a pool of identifiers that were made in advance"),
    ({"version": b"2.0-php"}, "made by noid 2.0-php"),
])
def test_what_cannot_be_continued_is_refused(noid, tmp_path, changes, message):
    for source in (write_xml(tmp_path / "noid.xml", items(**changes)),
                   write_lmdb(tmp_path / "noid.lmdb", items(**changes))):
        assert message in noid.refused("import", "noid4php", str(source))
    assert not (noid.folder / "NOID").exists()


@pytest.mark.parametrize(("content", "message"), [
    (b"", "not an LMDB database"), (b"nonsense" * 2000, "not an LMDB database"),
    (b"<noid><i k='a'>b</i>", "line 1: this is not XML, or it is cut off"),
    (b"<!DOCTYPE noid [<!ENTITY a 'b'>]><noid/>", "line 1: a document type has no place here"),
    (b"<noid>\n<i k='a'>b</i><i k='a'>c</i></noid>", "line 2: the key 'a' is there twice"),
    (b"<html>\n</html>", "of another program"), (b"<noid><i>b</i></noid>", "of another program"),
    (b"<noid><i k='a'><b/></i></noid>", "of another program"), (b"<noid/>", "not noid's"),
])
def test_hostile_files_are_refused(noid, tmp_path, content, message):
    source = tmp_path / "source"
    source.write_bytes(content)
    assert message in noid.refused("import", "noid4php", str(source))
    assert not (noid.folder / "NOID").exists()


def test_a_database_that_is_cut_off_at_any_page_is_refused(noid, tmp_path):
    """LMDB maps the file, and what reads a page behind its end is killed."""
    whole = write_lmdb(tmp_path / "noid.lmdb", items()).read_bytes()
    cut = tmp_path / "cut.lmdb"
    places = [*range(0, len(whole), 4096), *range(100, len(whole), 4 * 4096), len(whole) - 1]
    for place in places:
        cut.write_bytes(whole[:place])
        message = noid.refused("import", "noid4php", str(cut), status=1)
        assert "so it is cut off" in message or "not an LMDB database, or is damaged" in message, (place, message)
    assert [path.name for path in noid.folder.iterdir() if "NOID" in path.name] == []


def test_a_source_that_is_not_there_is_named(noid, tmp_path):
    assert "cannot be read: No such file" in noid.refused("import", "noid4php", "none")
    assert "neither noid.lmdb nor noid.xml" in noid.refused("import", "noid4php", str(tmp_path))
