"""`noid bundle`: one archive has all of a minter, shows every change of a byte, and makes the minter again."""

from __future__ import annotations

import json
import os
import random
import subprocess
import tarfile
from pathlib import Path

import pytest

from noidtools.preservation.bag import BagWriter
from support.minter import Noid
from support.templates import LONG_TERM


@pytest.fixture
def noid(tmp_path):
    minter = Noid.created(tmp_path / "m", *LONG_TERM)
    yield minter
    minter.close()


@pytest.fixture
def bundle(noid, tmp_path) -> Path:
    """A bundle of a minter in which much was done."""
    first, second, third = noid.ids(3)
    noid("bind", "set", first, "_t", "https://a.example/1")
    noid("withdraw", second, "--reason", "a mistake")
    noid("reserve", third)
    noid("peppermint", "1")
    noid("bind", "set", ":idmap/^x", "_t", "https://rule.example/")
    noid("note", "about", "a note")
    noid("policy", "persistence", "As long as the library exists")
    noid("custodian", "set", "The library", "--contact", "ark@example.org")
    noid("token", "new", "robot", "--may", "mint")
    path = tmp_path / "m.tar"
    noid("bundle", str(path))
    return path


def whole(minter: Noid) -> list[dict[str, object]]:
    """A complete export, without its header and what a restore adds to the events."""
    lines = [json.loads(line) for line in minter("export", "jsonl", "--history").splitlines()]
    return [line for line in lines[1:-1] if line.get("what") != "restore"]


def test_a_minter_made_from_a_bundle_is_the_same(noid, bundle, tmp_path):
    again = Noid(tmp_path / "again")
    again("restore", str(bundle))
    assert whole(again) == whole(noid)
    assert "nothing is wrong" in again("check")
    assert again.ids(50) == noid.ids(50)
    again.close()


def test_a_bundle_is_a_bag_that_other_programs_can_check(bundle, tmp_path):
    with tarfile.open(bundle) as tar:
        tar.extractall(tmp_path / "out", filter="data")
    (bag,) = (tmp_path / "out").iterdir()
    for manifest in ("manifest-sha256.txt", "tagmanifest-sha256.txt"):
        subprocess.run(["sha256sum", "--quiet", "--strict", "-c", manifest], cwd=bag, check=True)
    listed = {line.split("  ", 1)[1] for line in (bag / "manifest-sha256.txt").read_text().splitlines()}
    assert listed == {str(path.relative_to(bag)) for path in (bag / "data").rglob("*") if path.is_file()}
    assert (bag / "bagit.txt").read_text() == "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n"
    size, count = sum(path.stat().st_size for path in (bag / "data").rglob("*") if path.is_file()), len(listed)
    assert f"Payload-Oxum: {size}.{count}\n" in (bag / "bag-info.txt").read_text()
    assert {"data/README.txt", "data/bundle.json", "data/minter.jsonl", "data/promises.txt", "data/site/README.txt",
            "data/site/ark:/13030/kt4x551/index.html"} <= listed
    assert "custodian: The library\ncontact: ark@example.org\n" in (bag / "data/promises.txt").read_text()
    assert "text: As long as the library exists\n" in (bag / "data/promises.txt").read_text()
    subprocess.run(["sha256sum", "--quiet", "--strict", "-c", "SHA256SUMS"], cwd=bag / "data/site", check=True)


@pytest.mark.parametrize("start", ["", "./"])
def test_a_bundle_that_was_unpacked_and_packed_again_by_tar_is_one(noid, bundle, tmp_path, start):
    (tmp_path / "out").mkdir()
    subprocess.run(["tar", "xf", bundle, "-C", tmp_path / "out"], check=True)
    (bag,) = os.listdir(tmp_path / "out")
    subprocess.run(["tar", "cf", tmp_path / "again.tar", "-C", tmp_path / "out", start + bag], check=True)
    again = Noid(tmp_path / "again")
    assert "nothing is missing or changed" in again("bundle", "verify", str(tmp_path / "again.tar"))
    again("restore", str(tmp_path / "again.tar"))
    assert again.ids(3) == noid.ids(3)
    again.close()


def test_what_gives_access_stays_in_the_house(noid, bundle, tmp_path):
    again = Noid(tmp_path / "again")
    again("restore", str(bundle))
    assert "robot" in noid("token", "list") and "robot" not in again("token", "list")
    assert os.stat(bundle).st_mode & 0o777 == 0o600
    again.close()


def test_one_changed_byte_is_refused_with_the_name_of_the_file(noid, bundle, tmp_path):
    content = bundle.read_bytes()
    with tarfile.open(bundle) as tar:
        members = [(member.name.partition("/")[2], member.offset_data, member.size) for member in tar]
    chance = random.Random(7)
    for name, start, size in members:
        place = start + chance.randrange(size) if size else None
        if place is None:
            continue
        bundle.write_bytes(content[:place] + bytes((content[place] ^ 1 << chance.randrange(8),)) + content[place + 1 :])
        message = noid.refused("bundle", "verify", str(bundle))
        if name != "tagmanifest-sha256.txt":  # of which each line is about another file
            assert f": {name} was changed" in message or name == "bagit.txt", (name, message)
        assert noid.refused("restore", str(bundle)) == message
    # Of the checksum of a header a program may ignore the end.
    header = members[3][1] - 512
    for place in (*range(header + 148, header + 156), *(chance.randrange(len(content)) for _ in range(60))):
        bundle.write_bytes(content[:place] + bytes((content[place] ^ 1 << chance.randrange(8),)) + content[place + 1 :])
        assert "bundle" in noid.refused("bundle", "verify", str(bundle))
    assert os.listdir(tmp_path / "m") == ["NOID"]


def test_a_bundle_that_is_cut_off_or_mixed_with_another_is_refused(noid, bundle, tmp_path):
    content = bundle.read_bytes()
    for length in (0, 100, 512, 5000, len(content) // 2, len(content) - 3000):
        (tmp_path / "part.tar").write_bytes(content[:length])
        noid.refused("bundle", "verify", str(tmp_path / "part.tar"))
    with tarfile.open(bundle) as old, tarfile.open(tmp_path / "more.tar", "w") as new:
        for member in old:
            new.addfile(member, old.extractfile(member))
        extra = tarfile.TarInfo(f"{member.name.partition('/')[0]}/data/../../escaped")
        new.addfile(extra)
    assert "was added" in noid.refused("bundle", "verify", str(tmp_path / "more.tar"))


@pytest.mark.parametrize("content", [b"", b"text", b"\0" * 2048, b"PK\x03\x04" + b"x" * 2000])
def test_what_is_no_bundle_is_refused_in_one_sentence(noid, tmp_path, content):
    (tmp_path / "file").write_bytes(content)
    assert "no bundle" in noid.refused("bundle", "verify", str(tmp_path / "file"))
    assert "cannot be read" in noid.refused("bundle", "verify", str(tmp_path / "missing"))


def header(size: bytes, kind: bytes) -> bytes:
    """A header of a tar archive whose checksum is right."""
    block = bytearray(512)
    block[:1], block[100:107], block[124:136], block[136:147] = b"p", b"0000644", size, b"00000000000"
    block[148:156], block[156:157], block[257:265] = b" " * 8, kind, b"ustar\x0000"
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


@pytest.mark.parametrize(("size", "kind", "count"), [
    (b"\xff" * 12, b"0", 1), (b"\x80" + b"\0" * 3 + b"\xff" * 8, b"x", 1), (b"00000000000\0", b"x", 5000),
], ids=["negative", "too large", "endless"])
def test_impossible_headers_are_refused_in_one_sentence(noid, bundle, size, kind, count):
    bundle.write_bytes(header(size, kind) * count + bundle.read_bytes())
    assert "use another copy" in (message := noid.refused("bundle", "verify", str(bundle))) or "damaged" in message


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_an_archive_with_links_or_devices_is_refused(noid, bundle, tmp_path, kind):
    with tarfile.open(bundle) as old, tarfile.open(tmp_path / "more.tar", "w") as new:
        link = tarfile.TarInfo(f"{old.getmembers()[0].name.partition('/')[0]}/data/evil")
        link.type, link.linkname = kind, "/etc/passwd"
        new.addfile(link)
        for member in old:
            new.addfile(member, old.extractfile(member))
    again = Noid(tmp_path / "again")
    for words in (["bundle", "verify"], ["restore"], ["succeed"]):
        assert "data/evil is not part of a bag" in again.refused(*words, str(tmp_path / "more.tar"))
    assert os.listdir(tmp_path / "again") == []


@pytest.mark.parametrize("said", [
    b"[]", b"[" * 100_000, b"\xff", b'{"bundle": 1}', b'{"bundle": 1, "minter": "m", "template": "t", "date": "d", '
    b'"drawn": 1, "departure": {"successor": 1}}',
])
def test_what_a_bundle_says_of_itself_is_checked(noid, tmp_path, said):
    with (tmp_path / "forged.tar").open("wb") as file:
        bag = BagWriter(file, "bag", 0)
        bag.add_text("bundle.json", said)
        bag.close([])
    for words in (["bundle", "verify"], ["restore"]):
        assert "its bundle.json cannot be read" in noid.refused(*words, str(tmp_path / "forged.tar"))


def test_a_bundle_takes_the_place_of_a_minter_and_skips_what_is_told(noid, bundle):
    lost = noid.ids(5)
    assert "had drawn 5 more" in noid("restore", str(bundle))
    noid("restore", str(bundle), "--skip", "5")
    assert not set(noid.ids(20)) & set(lost)


@pytest.mark.parametrize("name", ["site", "bundle", "copy", "minter.jsonl"])
def test_the_folder_of_a_minter_may_have_any_name(tmp_path, name):
    minter = Noid.created(tmp_path / name, *LONG_TERM)
    minter("bundle", str(tmp_path / "m.tar"))
    assert "nothing is missing" in minter("bundle", "verify", str(tmp_path / "m.tar"))
    minter.close()


def test_a_bundle_that_cannot_be_written_leaves_nothing(noid, tmp_path):
    assert "could not be written" in noid.refused("bundle", str(tmp_path / "missing" / "m.tar"))
    assert "verify File" in noid.refused("bundle", "verify")
    assert os.listdir(tmp_path) == ["m"]
