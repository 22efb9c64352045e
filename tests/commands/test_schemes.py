"""The commands with minters of every scheme."""

from __future__ import annotations

import re

import pytest

from support.minter import timed_noid
from support.templates import IBI, IBIP, PILIN

NAME = "sid.inpe.br/mtc-m18/2010/10.20.15.14.06"
FIRST = "1287587646.394023"  # when NAME is made


@pytest.mark.parametrize("words", [IBI, IBIP, PILIN], ids=["ibi", "ibip", "pilin"])
def test_every_command_works_with_every_scheme(timed, words):
    created = timed("dbcreate", *words, "--label", "x:")
    assert f"\nScheme: {words[1]}\nForm: " in created and "\nProperties: G--N" in created
    (made,) = timed.at(FIRST).ids(1)
    spelled = made.swapcase().replace("X:", "x:", 1)
    assert made.startswith("x:") and spelled != made
    timed("bind", "new", spelled, "title", "Proust")
    timed("bind", "append", made, "title", " et al.")
    who = re.search(r"Creator: (\S+)", created)[1]
    assert timed("fetch", spelled) == f"id:    {made}\nCirc:  i|20101020151406|{who}|1\ntitle: Proust et al.\n\n"
    assert timed("get", spelled[2:], "title") == "Proust et al.\n"
    assert timed("validate", "-", spelled) == f"id: {made}\n"
    assert timed("hold", "set", spelled) == "ok: 1 hold placed\n\n"
    assert "hold" in timed("fetch", made).splitlines()[0]
    timed("bind", "set", ":idmap/(\\d+)", "where", "https://example.org/$1")
    assert "was computed by the rule" in timed("fetch", spelled, "where")
    assert timed("path", spelled)
    info = timed("dbinfo", "full")
    assert "Drawn: 1\n" in info and "Held: 1\n" in info and "Clock-Seen: 2010-10-20T15:14:06.394023Z\n" in info
    assert timed("note", "a", "b") == "ok: note a kept\n\n"


def test_a_repository_name_is_its_own_path_of_four_folders(timed):
    timed("dbcreate", *IBI)
    assert timed("path", "sid.INPE.br/MTC-m18@80/2009/02.16.17.46.00") == "sid.inpe.br/mtc-m18/2009/02.16.17.46\n"
    assert "not four parts" in timed.refused("path", "../../etc/passwd/x")


def test_nothing_can_be_queued_because_time_does_not_come_back(timed):
    timed("dbcreate", *IBI)
    for how in ("now", "first", "30d", "delete"):
        assert "time does not come back" in timed.refused("queue", how, NAME, status=1)


def test_a_held_label_is_skipped(timed):
    timed("dbcreate", *IBI)
    timed("hold", "set", NAME, "SID.inpe.br/mtc-m18/2010/10.20.15.14.07")
    assert timed.at(FIRST).ids(2) == [NAME[:-1] + "8", NAME[:-1] + "9"]
    assert timed.clock.seconds == "1287587649"
    timed("hold", "set", NAME[:-2] + "10")
    assert "patience" in timed.refused("mint", "--patience", "1.5", "1")
    assert timed("mint", "--patience", "2", "1") == f"id: {NAME[:-2]}11\n\n"


def test_long_term_minters_hold_what_they_make_and_never_give_it_twice(timed):
    timed("dbcreate", *PILIN, "-", "long")
    (made,) = timed.at(FIRST).ids(1)
    assert timed("dbinfo").count("Held: 1\n") == 1
    timed("bind", "new", made, "a", "b")
    assert "neither issued nor held" in timed.refused("bind", "new", "102.100.272/RPLZ54PQH", "a", "b")


def test_peppers_keep_their_case_and_identifiers_do_not(timed):
    timed("dbcreate", *IBIP)
    peppered = timed.at(FIRST)("peppermint", "1", "a", "b").strip().removeprefix("id: ")
    label, _, pepper = peppered.partition("!")
    assert "pepper" in timed.refused("bind", "set", label.lower(), "a", "c")
    timed("bind", "set", f"{label.lower()}!{pepper}", "a", "c")
    assert timed("get", label, "a") == "c\n"
    assert "pepper" in timed.refused("bind", "set", f"{label}!{pepper.upper()}", "a", "d")


def test_bind_mint_waits_for_its_label_like_mint(timed):
    timed("dbcreate", *IBI)
    assert "Id:      " + NAME in timed.at(FIRST)("bind", "mint", "new", "a", "b")
    assert "Id:      " + NAME[:-1] + "7" in timed("bind", "peppermint", "new", "a", "b")
    assert timed.clock.seconds == "1287587647"
    assert timed("get", NAME, "a") == "b\n"


def test_validate_reports_what_is_wrong(timed):
    timed("dbcreate", *IBI)
    for name, fault in {
        "sid.inpe.br/mtc-m18/2009/02.30.17.46": "no day 30", "sid.inpe.br/mtc-m18/2009/02.16.24.46": "no time",
        "sid.inpe.br/mtc_m18/2009/02.16.17.46": "hyphens", "sid.inpe.br/mtc-m18@99999/2009/02.16.17.46": "port",
        "sid.inpe.br/mtc-m19/2009/02.16.17.46": "another server", "sid.inpe.br/mtc-m18/2009": "not four parts",
    }.items():
        done = timed.run("validate", "-", name)
        assert done.returncode == 1 and fault in done.stdout.decode() and done.stdout.startswith(b"iderr: ")
        if name.startswith("sid.inpe.br/mtc-m18/"):
            assert fault in timed.refused("bind", "set", name, "a", "b")
    assert timed.run("validate", "pilin", "102.100.272/RPLZ54PQH", "102.100.272/RPLZ54PQI").stdout == (
        b"id: 102.100.272/RPLZ54PQH\n"
        b"iderr: 102.100.272/RPLZ54PQI: character 9 of 'RPLZ54PQI' is 'I', which no PILIN suffix contains: "
        b"probably 1 was meant\n"
    )
    assert "not an IP address" in timed.run("validate", "ibip", "8JMKD3MGP9W/34PGRBS", "UUUUW/3").stdout.decode()


@pytest.mark.parametrize(("words", "fault"), [
    (["--scheme", "uuid"], "there is no scheme 'uuid'"),
    (["--scheme", "ibi"], "as its computer"),
    (["--scheme", "ibip"], "as its ip"),
    (["--scheme", "pilin"], "needs a Handle prefix"),
    (["--scheme", "ibi", "--computer", "localhost"], "domain name"),
    (["--scheme", "ibi", "--computer", "a.b.org", "--port", "70000"], "port"),
    (["--scheme", "ibi", "--computer", "a.b.org", "--granularity", "0.5"], "granularity"),
    (["--scheme", "ibi", "--computer", "a.b.org", "--patience", "soon"], "patience"),
    (["--scheme", "ibi", "--computer", "a.b.org", "--seed", "7"], "seed is not a setting of the scheme ibi"),
    (["--scheme", "ibi", "--computer", "a.b.org", "f.rddd"], "neither template nor NAAN"),
    (["--scheme", "ibip", "--ip", "1.2.3"], "IP address"),
    (["--scheme", "ibip", "--ip", "1.2.3.4", "--computer", "a.b.org"], "computer is not a setting of the scheme ibip"),
    (["--scheme", "pilin", "--prefix", "1/2"], "Handle prefix"),
    (["--scheme", "pilin", "--prefix", "10.1", "--granularity", "1"],
     "granularity is not a setting of the scheme pilin"),
    (["--computer", "a.b.org"], "computer is not a setting of the scheme noid"),
])
def test_wrong_settings_are_refused_and_leave_nothing_behind(noid, words, fault):
    assert fault in noid.refused("dbcreate", *words)
    assert not (noid.folder / "NOID").exists()


def test_the_letters_of_durability_are_printed_only_where_they_hold(tmp_path):
    for number, (words, letters) in enumerate([
        (["--scheme", "ibi", "--computer", "mtc.inpe.br"], "G--NI--"),
        (["--scheme", "ibi", "--computer", "mtc-m18.local"], "---N---"),
        (["--scheme", "ibip", "--ip", "150.163.34.243"], "G--NI--"),
        (["--scheme", "ibip", "--ip", "192.168.1.1"], "---NI--"),
        (["--scheme", "ibip", "--ip", "fe80::1"], "---NI--"),
        (["--scheme", "pilin", "--prefix", "102.100.272"], "G--NI--"),
    ]):
        assert f"Properties: {letters}\n" in timed_noid(tmp_path / str(number))("dbcreate", *words)


def test_the_schemes_are_listed(noid):
    listed = noid("schemes")
    assert re.findall(r"^scheme: (\w+)$", listed, re.M) == ["noid", "ibi", "ibip", "pilin"]
    assert "options: --computer --port --granularity --patience\n" in listed


def test_handles_are_found_in_either_case_and_with_or_without_their_label(noid):
    noid("dbcreate", "--scheme", "pilin", "--prefix", "102.100.abc")
    label = noid.ids(1)[0]
    noid("bind", "set", f"hdl:{label}", "e", "v")
    assert noid("get", label, "e") == noid("get", f"hdl:{label.lower()}", "e") == "v\n"
    assert noid("path", f"hdl:{label}") == noid("path", label)
    assert "same: yes" in noid("same", label, label.lower())
    assert noid.run("same", label, label[:-1] + ("0" if label[-1] != "0" else "1")).returncode == 1


def test_a_second_part_with_a_dot_and_an_at_is_refused(noid):
    assert "only one" in noid.refused("decode", "sid.inpe.br/mtc-m18.80@800/2009/02.16.17.46", status=1)
