"""Labels in front of identifiers."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from noidtools.minter import circulation
from noidtools.minter.relations import EQUIVALENT, SYNONYM, Relation, put_relation
from noidtools.minter.schema import ALIASES
from support.minter import Noid


def test_labels_are_stripped_from_requests_and_the_first_is_added_to_answers(noid):
    noid("dbcreate", "--label", "ark:/", "--label", "urn:x:", "f5.reedeedk", "long", "13030", "a", "b")
    assert noid("mint", "1") == "id: ark:/13030/f54x54g11\n\n"
    noid("bind", "set", "urn:x:13030/f54x54g11", "e", "v")
    assert noid("get", "13030/f54x54g11", "e") == "v\n"
    assert noid("fetch", "ark:/13030/f54x54g11").startswith("id:    ark:/13030/f54x54g11 hold\n")
    assert noid("validate", "-", "ark:/13030/f54x54g11") == "id: ark:/13030/f54x54g11\n"


def test_the_longest_label_is_stripped(noid):
    noid("dbcreate", "--label", "ark:", "--label", "ark:/", ".sdd")
    noid("bind", "set", "ark:/01", "e", "v")
    assert noid("get", "ark:01", "e") == noid("get", "01", "e") == "v\n"


ARK = ("--label", "ark:/", "f5.reedeedk", "long", "13030", "cdlib.org", "oac/cmp")


@pytest.mark.parametrize("other", ["8JMKD3MGP8W/34PGRBS", "ISBN 0596000278", "shelf/17", "http://purl.org/1/321"])
def test_the_label_is_not_put_before_a_name_of_another_system(noid, other):
    noid("dbcreate", *ARK)
    (own,) = noid.ids(1)
    assert noid("synonym", other, own, "--authority", "INPE").startswith(f"ok: {other} and {own} are synonyms")
    noid("relate", own, "equivalent", other, "--authority", "X")
    assert f"\nname: {other}\n" in noid("relations", own) and f"id: {other}\n" in noid("relations", other)
    assert "ark:/" + quote(other, safe="/:") not in noid("describe", own)
    assert noid("alias", other, own) == f"ok: {other} stands for {own}\n\n"
    assert noid("fetch", other).startswith(f"id:    {other} hold\n")
    assert f'{{"id":"{other}",' in noid("export", "jsonl") and f"\n{other},," in noid("export", "csv")
    assert f"of: {other}\n" in noid("history", other)
    assert noid.refused("publish", other).startswith(f"{other} is an alias")
    assert f"ark:/{other}" not in noid("log") + noid("dbinfo", "full")


def test_an_ark_of_another_naan_keeps_its_own_label(noid):
    noid("dbcreate", "f5.reedeedk", "long", "13030", "cdlib.org", "oac/cmp")
    (own,) = noid.ids(1)
    assert noid("alias", "ark:/12345/x-1", own) == f"ok: ark:/12345/x1 stands for {own}\n\n"
    for spelled in ("ark:12345/x1", "12345/x1", "ARK:/12345/x1", "https://n2t.net/ark:/12345/x1"):
        assert noid("fetch", spelled).startswith("id:    ark:/12345/x1 hold\n")


def test_names_that_an_older_release_stored_without_their_scheme_are_found(tmp_path):
    noid = Noid.created(tmp_path, *ARK)
    (own,) = noid.mint()
    key = own.removeprefix("ark:/").encode()

    def store(writer):
        for kind, name, text in ((EQUIVALENT, b"12345/x", b"ark:12345/x"), (SYNONYM, b"shelf/17", b"ark:/shelf/17")):
            put_relation(writer, key, Relation(kind, name, text, b"Me", b"20260101000000"))
            put_relation(writer, name, Relation(kind, key, own.encode(), b"Me", b"20260101000000"))
        writer.put(ALIASES, b"12345/y", own.encode())
        circulation.save(writer, b"12345/y", circulation.Circulation(circulation.HELD))

    noid.write(store)
    assert "\nname: ark:12345/x\n" in noid("relations", own) and "\nname: shelf/17\n" in noid("relations", own)
    for spelled in ("ark:/12345/x", "ark:12345/x", "https://n2t.net/ark:/12345/x"):
        assert f"\nrelation: equivalent\nname: {own}\n" in noid("relations", spelled)
    noid("relate", "--remove", own, "equivalent", "ark:/12345/x", "--authority", "Me")
    assert "equivalent" not in noid("relations", own)
    assert noid("fetch", "ark:/12345/y").startswith("id:    ark:/12345/y hold\n")


RIGHT = "13030/f54x54g11"


@pytest.mark.parametrize("words", [("f5.reedeedk", "long", "13030", "a", "b"), ARK], ids=["no label", "label"])
def test_validate_prints_the_identifier_as_it_is_minted(noid, words):
    noid("dbcreate", *words)
    (minted,) = noid.ids(1)
    for spelled in (RIGHT, f"ark:/{RIGHT}", f"ark:{RIGHT}", f"https://n2t.net/ark:/{RIGHT}"):
        assert noid("validate", "-", spelled) == f"id: {minted}\n"


@pytest.mark.parametrize("malformed", [
    "13030//f54x54g11", "130-30/f54x54g11", "-13030/f54x54g11", "13030/f54x54g11.", "13030/f54x54g11/",
    " 13030/f54x54g11", "13030/f54x54g11 ", "13030/f54x\n54g11", "13030/f5-4-x-5-4-g-1-1-", "ark:/13030/f5-4x54g11",
    "13030/f54x54g11???", "13030/f54x54g11 ??", "13030/f54x54g12?info", "ark%3A%2F13030%2Ff54x54g11", "https://n2t.net/ark:/13030/f54x54g11/",
])
def test_validate_refuses_what_is_not_exactly_an_identifier_and_does_not_echo_it(noid, malformed):
    noid("dbcreate", *ARK)
    noid.ids(1)
    for form in ("-", "f5.reedeedk", "13030/f5.reedeedk"):
        done = noid.run("validate", form, malformed)
        assert done.returncode == 1 and done.stdout.startswith(b"iderr: ") and done.stdout.count(b"\n") == 1


def test_a_template_is_validated_with_the_naan_of_the_minter(noid):
    noid("dbcreate", "f5.reedeedk", "long", "13030", "cdlib.org", "oac/cmp")
    assert noid("validate", "f5.reedeedk", RIGHT) == noid("validate", "13030/f5.reedeedk", RIGHT) == f"id: {RIGHT}\n"
    done = noid.run("validate", "f5.reedeedk", "f5000000s")
    assert (done.returncode, done.stdout) == (1, b"iderr: f5000000s does not begin with 13030/f5\n")
    assert noid("-f", "none", "validate", "f5.reedeedk", "f5000000s") == "id: f5000000s\n"


def test_a_wrong_template_is_not_blamed_on_the_identifier(noid):
    refusal = noid.refused("validate", "ark:/13030/f5.reedeedk", "ark:/13030/f54x54g11", status=1)
    assert refusal.startswith("template 'ark:/13030/f5.reedeedk': with a check character the prefix may only use ")
