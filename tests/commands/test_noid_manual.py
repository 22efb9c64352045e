"""The examples of the manual of noid, under the names of its sections."""

from __future__ import annotations

import shutil

import pytest

from support.documents import Step, play

F5 = Step("dbcreate f5.reedeedk long 13030 cdlib.org oac/cmp", "…\nSize: 70728100\n…\nFirst: 13030/f54x54g11\n…")
KT = Step("dbcreate kt.reeded", "…")
BOUND = "Id:      {}\nElement: {}\nBind:    {}\nStatus:  ok, …\n\n"


def bound(line: str, identifier: str, element: str) -> Step:
    return Step(f"bind {line}", BOUND.format(identifier, element, line.split()[0]))


SESSIONS = {
    "SYNOPSIS -v": [Step("-v", "noid …\n")],
    "SYNOPSIS -h": [Step("-h", "…dbcreate …mint …bind …")],
    "SYNOPSIS -vh": [Step("-vh", "noid …\n…dbcreate …mint …")],
    "TUTORIAL an unlimited minter": [
        Step("dbcreate s.zd", "…Term: medium\n…"),
        Step("mint 10", "".join(f"id: s{number}\n" for number in range(10)) + "\n"),
        Step("mint 91", "id: s10\n…id: s99\nid: s100\n\n"),
    ],
    "TUTORIAL a long-term minter": [F5, Step("mint 1", "id: 13030/f54x54g11\n\n")],
    "TUTORIAL three locations": [
        F5, Step("mint 1", "…"),
        bound("set 13030/f54x54g11 locations 'http://a.b.org/foo|http://c.d.org/bar|http://e.f.org/zaf'",
              "13030/f54x54g11", "locations"),
        Step("get 13030/f54x54g11 locations", "http://a.b.org/foo|http://c.d.org/bar|http://e.f.org/zaf\n"),
    ],
    "TUTORIAL only the first of three identifiers is in the namespace": [
        F5, Step("validate - 13030/f54x54g11 13030/f54y54g11 13030/f54x45g11",
                 "id: 13030/f54x54g11\niderr: 13030/f54y54g11…\niderr: 13030/f54x45g11…\n", status=1),
    ],
    "TUTORIAL lowest and highest identifier": [
        # As printed they have the check characters that they would have without the NAAN.
        F5, Step("validate - 13030/f50000005 13030/f5zz9zz9d", "id: 13030/f50000005\nid: 13030/f5zz9zz9d\n"),
        Step("validate f5.reedeedk 13030/f54x54g11 f5000000s", "id: 13030/f54x54g11\niderr: …\n", status=1),
        Step("validate - 13030/f5000000s", "iderr: 13030/f5000000s has a wrong check character…\n", status=1),
    ],
    "IDENTIFIER arbitrary elements and values": [
        KT, Step("mint 1", "id: kt4x551\n\n"),
        bound("set kt4x551 'any name: at all' 'any\nvalue | at all'", "kt4x551", "any name: at all"),
        Step("get kt4x551 'any name: at all'", "any\nvalue | at all\n"),
    ],
    "IDENTIFIER circulation record": [
        KT, Step("mint 1", "…"), Step("fetch kt4x551", "id:    kt4x551\nCirc:  i|…|1\nnote: no elements bound …\n\n"),
    ],
    "PERSISTENCE a commitment is recorded": [
        KT, Step("policy persistence 'Kept for good, corrections are made.'", "…"),
        Step("policy", "…persistence: Kept for good, corrections are made.…"),
    ],
    "dbcreate without a template": [
        Step("dbcreate", "…Template: none: binds anything, mints .zd\n…Term: medium\n…"),
        bound("set 'whatever you submit' e v", "whatever you submit", "e"), Step("mint 2", "id: 0\nid: 1\n\n"),
    ],
    "dbcreate medium is the default term": [Step("dbcreate .sd", "…Term: medium\n…")],
    "dbcreate long needs NAAN, NAA and SubNAA": [
        Step("dbcreate .sd long 13030", "error: a long-term minter needs a NAAN, a NAA and a SubNAA: …\n", status=2),
        Step("dbcreate .sd long 00000 archive.org practice_area", "…"), Step("mint 1", "id: 00000/0\n\n"),
    ],
    "dbcreate a short-term minter starts over with the oldest": [
        Step("dbcreate .sd short", "…"), Step("mint 12", "id: 0\n…id: 9\nid: 0\nid: 1\n\n"),
    ],
    "dbcreate other minters stop": [
        Step("dbcreate .sd", "…"), Step("mint 11", "id: 0\n…id: 9\nerror: no identifier is left: …\n", status=1),
    ],
    "dbcreate at most one minter in a folder": [
        KT, Step("dbcreate .sd", "error: ./NOID exists already: …\n", status=1),
    ],
    "mint with an element": [
        KT, Step("mint 2 status draft", "id: kt4x551\nid: kt154d9\n\n"), Step("get kt154d9 status", "draft\n"),
    ],
    "peppermint": [
        KT, Step("peppermint 1 status draft", "id: kt4x551!…\n\n"), Step("get kt4x551 status", "draft\n"),
        Step("bind set kt4x551 status final", "error: …pepper…\n", status=1),
    ],
    "bind new and replace": [
        KT, Step("mint 1", "…"), Step("bind replace kt4x551 e v", "error: bind replace: nothing …\n", status=1),
        bound("new kt4x551 e v", "kt4x551", "e"), Step("bind new kt4x551 e w", "error: bind new: …\n", status=1),
        bound("replace kt4x551 e w", "kt4x551", "e"), bound("set kt4x551 e x", "kt4x551", "e"),
        bound("set kt4x551 f y", "kt4x551", "f"), Step("get kt4x551 e f", "x\n\ny\n"),
    ],
    "bind append, add, prepend and insert": [
        KT, Step("mint 1", "…"), Step("bind append kt4x551 e v", "error: bind append: nothing …\n", status=1),
        Step("bind prepend kt4x551 e v", "error: bind prepend: nothing …\n", status=1),
        bound("add kt4x551 e c", "kt4x551", "e"), bound("append kt4x551 e d", "kt4x551", "e"),
        bound("prepend kt4x551 e b", "kt4x551", "e"), bound("insert kt4x551 e a", "kt4x551", "e"),
        bound("insert kt4x551 f a", "kt4x551", "f"), bound("add kt4x551 e e", "kt4x551", "e"),
        Step("get kt4x551 e f", "abcde\n\na\n"),
    ],
    "bind delete and purge": [
        KT, Step("mint 1", "…"), Step("bind delete kt4x551 e", "error: bind delete: nothing is bound …\n", status=1),
        bound("purge kt4x551 e", "kt4x551", "e"), bound("set kt4x551 e v", "kt4x551", "e"),
        bound("delete kt4x551 e", "kt4x551", "e"), Step("get kt4x551 e", "error: nothing is bound …\n", status=1),
    ],
    "bind mint and peppermint": [
        KT, bound("mint new e v", "kt4x551", "e"), Step("bind peppermint new e v", "Id:      kt154d9!…\nElement: e\n…"),
        Step("bind mint kt4x551 e v", "error: write the word new …\n", status=2),
    ],
    "bind with a colon reads elements up to a blank line": [
        KT, Step("mint 1", "…"),
        Step("bind set kt4x551 :", "…Element: who\n…Element: what\n…",
             stdin="# a comment\nwho: Kunze\nwhat: a long\n  value\n\nrest: not read\n"),
        Step("get kt4x551 what who", "a long value\n\nKunze\n"), Step("get kt4x551 rest", "error: …\n", status=1),
    ],
    "bind with a colon and a hyphen reads one element to the end": [
        KT, Step("mint 1", "…"),
        Step("bind set kt4x551 :-", "…Element: text\n…", stdin="# a comment\n\ntext: one\ntwo\n\nthree\n"),
        Step("get kt4x551", "one\ntwo\n\nthree\n\n"),
    ],
    "fetch and get": [
        KT, Step("mint 1", "…"), bound("set kt4x551 a 1", "kt4x551", "a"), bound("set kt4x551 b 2", "kt4x551", "b"),
        Step("fetch kt4x551", "id:    kt4x551\nCirc:  …\na: 1\nb: 2\n\n"),
        Step("fetch kt4x551 b", "id:    kt4x551\nCirc:  …\nb: 2\n\n"),
        Step("get kt4x551", "1\n\n2\n"), Step("get kt4x551 b a", "2\n\n1\n"),
    ],
    "hold": [
        Step("dbcreate a.sdd", "…"), Step("hold set a01 a03", "ok: 2 holds placed\n\n"),
        Step("mint 4", "id: a00\nid: a02\nid: a04\nid: a05\n\n"),
        Step("hold set a00", "ok: 1 hold placed\n\n"), Step("queue now a00", "error: a00 is on hold …\n", status=1),
        Step("hold release a00 a01", "ok: 2 holds released\n\n"), Step("queue now a00", "…"),
    ],
    "hold by a long-term minter": [
        F5, Step("mint 1", "…"), Step("fetch 13030/f54x54g11", "id:    13030/f54x54g11 hold\n…"),
    ],
    "queue now, first, lvf and with a delay": [
        Step("dbcreate .zd", "…"), Step("mint 13", "…"), Step("queue now 3", "…"), Step("queue 0s 4", "…"),
        Step("queue 2d 5", "…"), Step("queue 100 6", "…"), Step("queue first 7", "…"), Step("queue lvf 12", "…"),
        Step("queue lvf 9", "…"), Step("mint 6", "id: 9\nid: 12\nid: 7\nid: 3\nid: 4\nid: 13\n\n"),
    ],
    "validate against a template and the minter's own": [
        KT, Step("validate - kt4x551 kt4x55", "id: kt4x551\niderr: …\n", status=1),
        Step("validate ab.sdd ab12 ab1x", "id: ab12\niderr: …\n", status=1),
    ],
    "TEMPLATES the example with prefix tb7r": [
        Step("dbcreate tb7r.zdd", "…"),
        Step("mint 1001", "id: tb7r00\nid: tb7r01\n…id: tb7r100\nid: tb7r101\n…id: tb7r1000\n\n"),
    ],
    "TEMPLATES the last of a bounded namespace": [
        Step("dbcreate xv.sdddd", "…Size: 10000\n…"), Step("mint 10000", "id: xv0000\n…id: xv9999\n\n"),
        Step("mint 1", "error: no identifier is left…\n", status=1),
    ],
    "TEMPLATES growth repeats the first character of the mask": [
        Step("dbcreate .zded", "…"), Step("mint 2901", "id: 000\n…id: 9z9\nid: 1000\n\n"),
    ],
    "TEMPLATES the same template gives the same order": [
        Step("dbcreate h9.reee", "…"), Step("mint 3", "id: h94vz\nid: h915s\nid: h9wfm\n\n"),
    ],
    "TEMPLATES k only at the end, and never the letter l": [
        Step("dbcreate .rdkd", "error: mask 'rdkd': k, the check character, may only stand at the end\n", status=1),
        Step("validate .se l", "iderr: …\n", status=1), Step("validate .se a", "iderr: …\n", status=1),
    ],
    "RULE-BASED MAPPING the first example": [
        Step("dbcreate", "…"), bound("set :idmap/^ft redirect g7h", ":idmap/^ft", "redirect"),
        Step("get ft89xr2t redirect", "g7h89xr2t\n"), bound("set ft89xr2t redirect stored", "ft89xr2t", "redirect"),
        Step("get ft89xr2t redirect", "stored\n"),
    ],
    "RULE-BASED MAPPING the second example": [
        Step("dbcreate", "…"),
        bound("set ':idmap/^ft([^x]+)x(.*)' my_elem '$2/g7h/$1'", ":idmap/^ft([^x]+)x(.*)", "my_elem"),
        Step("get ft89xr2t my_elem", "r2t/g7h/89\n"), Step("fetch ft89xr2t my_elem", "…my_elem: r2t/g7h/89\n…"),
    ],
    "RULE-BASED MAPPING rules are reported under their element": [
        Step("dbcreate", "…"), bound("set :idmap/^ft redirect g7h", ":idmap/^ft", "redirect"),
        Step("fetch :idmap/redirect", "id:    :idmap/redirect\nCirc:  rule\n^ft: g7h\n\n"),
    ],
    "NOID CHECK DIGIT ALGORITHM the example": [
        Step("validate 13030/xf.edddeedk 13030/xf93gt2q", "error: mask 'edddeedk' must begin …\n", status=1),
        Step("validate 13030/xf.sddeedk 13030/xf93gt2q 13030/xf93gt2r",
             "id: 13030/xf93gt2q\niderr: …check character…\n", status=1),
    ],
    "NOID CHECK DIGIT ALGORITHM strings of R characters": [
        Step(f"dbcreate .r{'e' * 28}k", "error: …too long for its check character…\n", status=1),
    ],
    "TO DO a seed": [
        Step("dbcreate --seed 7 f5.reedeedk long 13030 cdlib.org oac/cmp", "…First: 13030/f5b56d401\n…"),
    ],
    "TO DO labels to strip, and one to add": [
        Step("dbcreate --label ark:/ --label x: kt.sdd", "…Labels: ark:/ x:\n…"), Step("mint 1", "id: ark:/kt00\n\n"),
        bound("set x:kt00 e v", "ark:/kt00", "e"), Step("get kt00 e", "v\n"),
    ],
    "TO DO lists": [
        KT, Step("mint 1", "…"), bound("add-item kt4x551 e one", "kt4x551", "e"),
        bound("append-item kt4x551 e two", "kt4x551", "e"), Step("get --items kt4x551 e", "one\ntwo\n"),
    ],
    "TO DO folders": [Step("path xv8t984", "xv/8t/98/4/\n")],
}


@pytest.mark.parametrize("steps", SESSIONS.values(), ids=list(SESSIONS))
def test_session(noid, steps):
    play(noid, steps)


# The first three identifiers of each template in the manual's list, and how many there are.
TEMPLATES = {
    ".rddd": (1000, "169 041 913"), ".sdddddd": (1000000, "000000 000001 000002"), ".zd": (None, "0 1 2"),
    "bc.rdddd": (10000, "bc1681 bc0386 bc9101"), "8rf.sdd": (100, "8rf00 8rf01 8rf02"), ".se": (29, "0 1 2"),
    "h9.reee": (24389, "h94vz h915s h9wfm"), ".zeee": (None, "000 001 002"), ".rdedeedd": (243890000, "1p4vj01"),
    ".zededede": (None, "0000000 0000001 0000002"), "sdd.sdede": (84100, "sdd0000 sdd0001 sdd0002"),
    ".rdedk": (2900, "1p1h 0d1x 931m"), ".sdeeedk": (2438900, "000000 000015"), ".zdeek": (None, "0000 0013 0026"),
    "63q.redek": (8410, "63q491w 63q1218 63qw412"), "fk.rdeedde": (24389000, ""),
}


@pytest.mark.parametrize("template", TEMPLATES)
def test_template(noid, template):
    size, first = TEMPLATES[template]
    report = noid("dbcreate", template)
    assert f"\nSize: {'unlimited' if size is None else size}\n" in report
    minted = noid.ids(3)
    assert len(set(minted)) == 3 and " ".join(minted).startswith(first)
    assert noid("validate", "-", *minted).count("id: ") == 3


def test_d_is_a_digit_and_e_a_digit_or_a_consonant_without_l(noid):
    """In the list of the manual e has a y; its algorithm and all its numbers have 29 characters, without."""
    for letter, characters in (("d", "0123456789"), ("e", "0123456789bcdfghjkmnpqrstvwxz")):
        noid("dbcreate", f".s{letter}", "-f", letter)
        assert noid("mint", str(len(characters)), "-f", letter) == "".join(f"id: {c}\n" for c in characters) + "\n"
        others = sorted({chr(code) for code in range(0x21, 0x7F)} - set(characters) - {"-", "."})
        judged = noid.run("validate", f".s{letter}", *characters, "--", *others)
        assert judged.stdout.count(b"id: ") == len(characters) and judged.stdout.count(b"iderr: ") == len(others)


DIGITS, LOWER, UPPER = "0123456789", "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
REPERTOIRES = {
    "i": DIGITS + "x", "x": DIGITS + "abcdef_", "v": DIGITS + LOWER + "_",
    # { 1-9 b-z B-Z } without vowels, to which y counts, and without the letter l: 47 characters, as the manual says.
    "E": "".join(c for c in DIGITS[1:] + LOWER + UPPER if c.lower() not in "aeiouyl"),
    "w": DIGITS + LOWER + UPPER + "#*+@_",
    "c": "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) not in "%-./\\"),
}


@pytest.mark.parametrize(("letter", "signs"), [("i", 11), ("x", 17), ("v", 37), ("E", 47), ("w", 67), ("c", 89)])
def test_further_repertoire(noid, letter, signs):
    assert f"\nSize: {signs**2}\n" in noid("dbcreate", f".s{letter}{letter}")
    noid("dbcreate", f".s{letter}", "-f", "one")
    minted = [line[4:] for line in noid("mint", str(signs), "-f", "one").splitlines() if line]
    assert sorted(minted) == sorted(REPERTOIRES[letter])
    if letter in "ix":
        last = {"i": "x", "x": "_"}[letter]
        noid("-f", "only", "dbcreate", f".s{letter}{letter}K")
        minted = [line[4:] for line in noid("-f", "only", "mint", str((signs - 1) ** 2)).splitlines() if line]
        assert not any(last in name[:-1] for name in minted) and any(name.endswith(last) for name in minted)


def test_every_error_of_one_character_and_every_transposition_is_caught(noid):
    noid("dbcreate", "f5.reedeedk", "long", "13030", "cdlib.org", "oac/cmp")
    right, digits = "13030/f54x54g11", "0123456789bcdfghjkmnpqrstvwxz"
    wrong = {right[:place] + digit + right[place + 1 :] for place in range(8, len(right)) for digit in digits}
    for one in range(8, len(right)):
        for other in range(one + 1, len(right)):
            wrong.add(right[:one] + right[other] + right[one + 1 : other] + right[one] + right[other + 1 :])
    wrong.discard(right)
    done = noid.run("validate", "-", *sorted(wrong))
    assert done.returncode == 1 and done.stdout.count(b"iderr: ") == len(wrong) > 190


def test_empty_names_of_folders_are_not_given(noid):
    for name in ("a", "b"):
        (noid.folder / name).mkdir()
        noid("-f", name, "dbcreate", f"{name}.sd")
    assert noid("-f", "", "mint", "1", env={"NOID": "a"}) == "id: a0\n\n"
    assert "no minter in" in noid.refused("-f", "", "mint", "1", env={"NOID": ""}, status=1)


def test_a_minter_is_removed_with_its_folder(noid):
    noid("dbcreate", "s.zd")
    noid("mint", "3")
    shutil.rmtree(noid.folder / "NOID")
    noid("dbcreate", "s.zd")
    assert noid("mint", "1") == "id: s0\n\n"


def test_there_is_no_unmint(noid):
    noid("dbcreate", "s.zd")
    assert "unmint" in noid.refused("unmint", "s0", status=2)
