"""What each command does, through the real command."""

from __future__ import annotations

import os
import re
import shutil
import sys

import pytest
from conftest import NOID, ROOT


def test_mint_binds_an_element_to_each_new_identifier(noid):
    noid("dbcreate", ".sd")
    assert noid("mint", "2", "status", "draft") == "id: 0\nid: 1\n\n"
    assert noid("get", "1", "status") == "draft\n"
    assert "needs a Value" in noid.refused("mint", "1", "status", status=2)


def test_a_value_that_looks_like_an_option_is_a_value(noid):
    noid("dbcreate")
    for value in ("-v", "--help", "+1", "-", "--"):
        noid("bind", "set", "x", "e", value)
        assert noid("get", "x", "e") == f"{value}\n"
    noid("bind", "set", "-f", "--seed", "-h")
    assert noid("get", "-f", "--seed") == "-h\n"


def test_peppered_identifiers_change_only_with_their_pepper(noid):
    noid("dbcreate", "p.rddd")
    (line,) = [text for text in noid("peppermint", "1", "t", "first").splitlines() if text]
    peppered = line.removeprefix("id: ")
    bare, _, pepper = peppered.partition("!")
    assert re.fullmatch(r"[0-9bcdfghjkmnpqrstvwxz]{16}", pepper)
    assert noid("get", bare, "t") == "first\n" == noid("get", peppered, "t")
    for words in (["bind", "set", bare, "t", "x"], ["bind", "purge", bare, "t"], ["hold", "set", bare],
                  ["queue", "now", bare], ["hold", "release", f"{bare}!wrong"], ["bind", "set", f"{bare}!", "t", "x"]):
        assert "pepper" in noid.refused(*words, status=1)
    noid("bind", "set", peppered, "t", "second")
    assert noid("get", bare, "t") == "second\n"
    assert noid("hold", "set", peppered) == "ok: 1 hold placed\n\n"
    assert pepper not in noid("dbinfo", "dump"), "a pepper must not be stored in the clear"
    bound = noid("bind", "peppermint", "new", "t", "v")
    made = re.search(r"^Id: +(\S+)$", bound, re.M)[1]
    assert "!" in made and noid("get", made.partition("!")[0], "t") == "v\n"


def test_an_exclamation_mark_alone_is_no_pepper(noid):
    noid("dbcreate")
    noid("bind", "set", "wow!", "e", "1")
    noid("bind", "set", "wow!much", "e", "2")
    assert noid("get", "wow!much", "e") == "2\n"


def test_another_seed_gives_the_same_identifiers_in_another_order(tmp_path, noid):
    noid("dbcreate", ".rdd")
    other = noid.__class__(tmp_path / "other")
    other.folder.mkdir()
    other("dbcreate", "--seed", "7", ".rdd")
    first, second = noid.ids(100), other.ids(100)
    assert first != second and sorted(first) == sorted(second)
    assert "Seed: 7" in other("dbinfo")


def test_labels_are_stripped_from_requests_and_the_first_is_added_to_answers(noid):
    noid("dbcreate", "--label", "ark:/", "--label", "urn:x:", "f5.reedeedk", "long", "13030", "a", "b")
    assert noid("mint", "1") == "id: ark:/13030/f54x54g11\n\n"
    noid("bind", "set", "urn:x:13030/f54x54g11", "e", "v")
    assert noid("get", "13030/f54x54g11", "e") == "v\n"
    assert noid("fetch", "ark:/13030/f54x54g11").startswith("id:    ark:/13030/f54x54g11 hold\n")
    assert noid("validate", "-", "ark:/13030/f54x54g11") == "id: ark:/13030/f54x54g11\n"


def test_a_bounded_namespace_can_grow(noid):
    noid("dbcreate", "--at-last", "add3", "x.seedk")
    ids = noid.ids(29 * 29 * 10 + 2)
    assert len(ids[8409]) == 5 and len(ids[8410]) == 8
    assert len(set(ids)) == len(ids)
    assert "Mask: seedeedk" in noid("dbinfo", "full")
    assert noid("validate", "-", ids[0], ids[8410]).count("id: ") == 2
    noid("bind", "set", ids[8411], "e", "v")


def test_a_grown_mask_is_valid_only_once_it_has_grown(noid):
    noid("dbcreate", "--at-last", "add1", ".sd")
    assert noid.run("validate", "-", "00").returncode == 1
    assert noid.ids(11)[-1] == "00"
    assert noid("validate", "-", "00") == "id: 00\n"


def test_growth_ends_where_the_check_character_would_no_longer_guard(noid):
    noid("dbcreate", "--at-last", "add1", f"{'b' * 25}.sdk")
    assert noid.run("mint", "200").stdout.count(b"id: ") == 110


@pytest.mark.parametrize(("words", "sentence"), [
    (["--at-last", "wrap", "a.sd", "long", "1", "b", "c"], "never gives an identifier twice"),
    (["--at-last", "add", ".sd"], "stop, wrap or addN"),
    (["--at-last", "add9", ".sdd"], "1 to 2"),
    (["--at-last", "add0", ".sdd"], "1 to 2"),
    (["--at-last", "stop", ".zd"], "never ends"),
    (["--at-last"], "needs a value"),
    (["--seed", "x", ".rd"], "the seed is a number"),
    (["--seed", "9" * 50, ".rd"], "the seed is a number"),
    (["--label", "a b", ".rd"], "label"),
    (["--nonsense", "1"], "no option --nonsense"),
    (["a.sd", "forever"], "long, medium or short"),
    (["a.sd", "long"], "needs a NAAN"),
    (["-", "long", "1", "b", "c"], "needs a template"),
    (["a.sd", "long", "13 30", "b", "c"], "NAAN"),
    (["a.sd", "long", "1", "b", "c", "d"], "too many words"),
    ([b"\xff.sd"], "not valid UTF-8"),
    (["é.sd"], "visible ASCII"),
    (["a b.sd"], "visible ASCII"),
    ([f".s{'d' * 500}"], "too long"),
])
def test_dbcreate_says_what_is_wrong_and_makes_nothing(noid, words, sentence):
    assert sentence in noid.refused("dbcreate", *words)
    assert list(noid.folder.iterdir()) == []


def test_a_second_dbcreate_is_refused_and_harms_nothing(noid):
    noid("dbcreate", ".sd")
    noid("mint", "3")
    assert "exists already" in noid.refused("dbcreate", ".rd", status=1)
    assert noid("mint", "1") == "id: 3\n\n"


def test_dbcreate_leaves_a_report_beside_the_database(noid):
    noid("dbcreate", "f5.reedeedk", "long", "13030", "cdlib.org", "oac/cmp")
    report = (noid.folder / "NOID" / "README").read_text()
    for text in ("f5.reedeedk", "70728100", "GRANITE", "cdlib.org", "oac/cmp", "13030/f54x54g11"):
        assert text in report


def test_holds_are_counted_right_whatever_is_done_twice(noid):
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


def test_one_refusal_undoes_a_whole_command(noid):
    noid("dbcreate", ".sdd")
    noid("hold", "set", "03")
    noid.refused("queue", "now", "01", "02", "03", status=1)
    assert noid.ids(1) == ["00"]
    noid.refused("hold", "set", "04", "nonsense", status=1)
    assert "\nHeld: 1\n" in noid("dbinfo")
    noid.refused("bind", "new", "05", ":", stdin=b"a: 1\nb: 2\na: 3\n\n", status=1)
    noid.refused("get", "05", status=1)


def test_a_short_term_minter_that_has_everything_held_does_not_run_for_ever(noid):
    noid("dbcreate", ".sd", "short")
    noid("hold", "set", *"0123456789")
    assert "no identifier is left" in noid.refused("mint", "1", status=1)


def test_what_was_minted_before_the_end_is_printed(noid):
    noid("dbcreate", ".sd")
    done = noid.run("mint", "12")
    assert done.returncode == 1 and done.stdout.count(b"id: ") == 10 and done.stderr.startswith(b"error: ")
    noid.refused("bind", "mint", "new", "e", "v", status=1)


def test_with_a_template_only_its_identifiers_are_bound(noid):
    noid("dbcreate", "fk.redek")
    assert "check character" in noid.refused("bind", "set", "fk491g", "e", "v", status=1)
    noid("bind", "set", ":idmap/^fk", "e", "replaced")
    assert noid("get", "fk491f", "e") == "replaced491f\n"


def test_rules_compute_what_is_not_stored(noid):
    noid("dbcreate", "-", "medium")
    noid("bind", "set", ":idmap/^ft", "redirect", "g7h")
    assert noid("get", "ft89xr2t", "redirect") == "g7h89xr2t\n"
    noid("bind", "set", ":idmap/^ft([^x]+)x(.*)", "my_elem", "$2/g7h/$1")
    assert noid("get", "ft89xr2t", "my_elem") == "r2t/g7h/89\n"
    assert "note: my_elem was computed by the rule :idmap/^ft([^x]+)x(.*)" in noid("fetch", "ft89xr2t", "my_elem")
    assert noid("get", ":idmap/^ft") == "g7h\n"
    assert noid.refused("bind", "set", ":idmap/(", "e", "v", status=1)
    noid("bind", "delete", ":idmap/^ft", "redirect")
    noid.refused("get", "ft89xr2t", "redirect", status=1)


def test_names_values_and_identifiers_are_bytes_as_given(noid):
    noid("dbcreate")
    odd = [b"\xff\xfe", "é 漢".encode(), b"tab\there", b"colon: and | bar", b"\x01\x7f", b":/c", b"0/:/oacounter", b"m"]
    for identifier in odd:
        for element in odd:
            noid("bind", "set", identifier, element, identifier + b"=" + element)
    for identifier in odd:
        for element in odd:
            assert noid.run("get", identifier, element).stdout == identifier + b"=" + element + b"\n"
    assert noid("mint", "1") == "id: 0\n\n"


def test_long_names_and_huge_values_work(noid):
    noid("dbcreate")
    element, identifier = "e" * 2000, "i" * 3000
    noid("bind", "set", identifier, element, "long")
    noid("bind", "set", identifier, element + "x", "longer")
    assert noid("get", identifier, element, element + "x") == "long\nlonger\n"
    huge = os.urandom(1 << 20) * 100
    noid("bind", "set", "big", ":-", stdin=b"value:" + huge)
    assert noid.run("get", "big", "value").stdout == huge + b"\n"
    assert noid("bind", "append", "big", "value", "tail").endswith(
        f"4 bytes written to the end of {len(huge)} bytes\n\n")


def test_binding_refuses_what_has_no_name(noid):
    noid("dbcreate")
    assert "empty" in noid.refused("bind", "set", "", "e", "v")
    assert "empty" in noid.refused("bind", "set", "x", "", "v")
    assert "takes no Value" in noid.refused("bind", "delete", "x", "e", "v", status=2)
    assert "word new" in noid.refused("bind", "mint", "x", "e", "v", status=2)


def test_notes_are_kept_and_shown(noid):
    noid("dbcreate", ".sd")
    noid("note", "owner", "digital collections")
    assert "\nNote: owner: digital collections\n" in noid("dbinfo")


def test_dbinfo_tells_more_when_asked_for_more(noid):
    noid("dbcreate", "x.rdd")
    noid("mint", "3")
    brief, full, dump = noid("dbinfo", "brief"), noid("dbinfo", "full"), noid("dbinfo", "dump")
    assert brief == noid("dbinfo") and "\nDrawn: 3\nLeft: 97\n" in brief
    assert "\nCounters: " in full and "Counters" not in brief
    assert dump.count("IDS/x") == 3
    noid.refused("dbinfo", "everything", status=2)


def test_every_command_is_explained(noid):
    from noidtools.commands import COMMANDS

    listed = noid("help")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for name, command in COMMANDS.items():
        assert command.usage in listed
        assert noid("help", name).startswith(command.usage)
        assert f"`{name}" in readme, f"README.md does not explain {name}"
    assert noid() == listed == noid("-h")
    noid.refused("help", "nosuch", status=1)


def test_hello_and_version(noid):
    assert noid("hello") == "Hello.\n\n"
    assert re.fullmatch(r"noid \d+\.\d+\.\d+\n", noid("-v"))


def test_a_path_is_made_of_an_identifier(noid):
    assert noid("path", "xv8t984") == "xv/8t/98/4/\n"
    noid("dbcreate", "--label", "ark:/", ".sd")
    assert noid("path", "ark:/../x") == ",,/=x/\n"


def test_dbdir_is_found_by_option_environment_or_name(noid):
    for name in ("a", "b", "c"):
        (noid.folder / name).mkdir()
        noid("-f", name, "dbcreate", f"{name}.sd")
    assert noid("-fa", "mint", "1") == "id: a0\n\n"
    assert noid("mint", "1", env={"NOID": "b"}, keep=("NOID",)) == "id: b0\n\n"
    assert noid("-f", "a", "mint", "1", env={"NOID": "b"}, keep=("NOID",)) == "id: a1\n\n"
    link = noid.folder / "noid_c"
    link.symlink_to(NOID[1])
    import subprocess

    run = subprocess.run([sys.executable, link, "mint", "1"], cwd=noid.folder, capture_output=True, check=True)
    assert run.stdout == b"id: c0\n\n"
    assert "no minter in" in noid.refused("mint", "1", status=1)


def test_a_moved_minter_goes_on(noid):
    noid("dbcreate", "f5.reedeedk", "long", "13030", "a", "b")
    noid("mint", "1")
    (noid.folder / "f57").mkdir()
    shutil.move(noid.folder / "NOID", noid.folder / "f57")
    assert noid("-f", "f57", "mint", "1") == "id: 13030/f5154dn7k\n\n"


def test_identifiers_alike_when_padded_all_keep_their_place_in_the_queue(noid):
    noid("dbcreate")
    noid("queue", "lvf", "5", "05", "005")
    assert sorted(noid.ids(3)) == ["005", "05", "5"]
    noid("queue", "lvf", "5", "05")
    noid("queue", "delete", "5")
    assert noid.ids(2) == ["05", "0"]


def test_what_was_bound_before_minting_is_neither_lost_nor_in_the_way(noid):
    noid("dbcreate", ".sd")
    noid("bind", "set", "0", "e", "mine")
    assert "Id:      1\n" in noid("bind", "mint", "new", "e", "v")
    noid("bind", "set", "2", "e", "mine")
    assert noid("mint", "1", "e", "z") == "id: 3\n\n"
    assert noid("get", "0", "e") == noid("get", "2", "e") == "mine\n"
    noid("bind", "set", "4", "other", "mine")
    assert noid("mint", "1", "e", "z") == "id: 4\n\n"
    assert noid("get", "4") == "z\nmine\n"


def test_an_unlimited_template_with_a_check_character_ends_where_the_guarantee_does(noid):
    noid("dbcreate", f"{'1' * 26}.zdk")
    done = noid.run("mint", "20")
    assert done.returncode == 1 and done.stdout.count(b"id: ") == 10
    assert b"check character" in done.stderr


def test_the_longest_label_is_stripped(noid):
    noid("dbcreate", "--label", "ark:", "--label", "ark:/", ".sdd")
    noid("bind", "set", "ark:/01", "e", "v")
    assert noid("get", "ark:01", "e") == noid("get", "01", "e") == "v\n"


def test_an_identifier_with_an_exclamation_mark_of_its_own_is_itself(noid):
    noid("dbcreate", ".zc")
    noid("peppermint", "3")
    ids = noid.ids(200)
    assert '"!' in ids
    noid("bind", "set", '"!', "e", "v")
    assert noid("get", '"!', "e") == "v\n"


def test_a_path_does_not_show_a_pepper(noid):
    noid("dbcreate", ".sdddd")
    peppered = noid("peppermint", "1").removeprefix("id: ").strip()
    assert noid("path", peppered) == noid("path", peppered.partition("!")[0]) == "00/00/\n"


def test_options_may_be_joined(noid):
    assert noid("-vh") == noid("-h")


def test_whatever_is_said_of_a_peppered_identifier_needs_its_pepper(noid):
    noid("dbcreate", ".sdd")
    peppered = noid("peppermint", "1").removeprefix("id: ").strip()
    for words in (["custodian", "set", "Bob"], ["alias", "--remove"], ["withdraw"], ["reserve"], ["publish"]):
        assert "pepper" in noid.refused(*words, "00", status=1) or words[0] == "alias"
    assert "pepper" in noid.refused("synonym", "00", "x", "--authority", "a", status=1)
    noid("synonym", peppered, "x", "--authority", "a")
    assert "pepper" in noid.refused("prefer", "00", "--authority", "a", status=1)
    noid("custodian", "set", "Bob", peppered)
    assert "Custodian: Bob" in noid("custodian", "00")
