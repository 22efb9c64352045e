"""The schemes of time beside noid: the same commands, through the real command and a clock that tests set."""

from __future__ import annotations

import os
import re
import subprocess
import time
from datetime import datetime

import pytest
from conftest import NOID, vectors
from scheme_support import IBI, IBIP, PILIN, SetClock, TimedNoid, answer, minted, session

from noidtools.errors import BusyError
from noidtools.schemes import pilin
from noidtools.schemes.timegrid import Date

IBI_VECTORS, PILIN_VECTORS = vectors("ibi.json"), vectors("pilin.json")
NAME = "sid.inpe.br/mtc-m18/2010/10.20.15.14.06"
FIRST = "1287587646.394023"  # when NAME is made


@pytest.fixture
def timed(tmp_path):
    return TimedNoid(tmp_path)


def posix(utc: str) -> str:
    return str(int(datetime.fromisoformat(utc.replace("Z", "+00:00")).timestamp()))


def finest(date: str) -> str:
    """The granularity that a date needs."""
    places = len(date.partition(".")[2])
    return "0." + "0" * (places - 1) + "1" if places else "1"


# -- the vectors ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", IBI_VECTORS["repository_prefix"], ids=lambda row: row["prefix"])
def test_a_minter_of_repository_names_uses_the_prefixes_of_the_standard(timed, row):
    timed("dbcreate", "--scheme", "ibi", "--computer", row["computer"], "--port", str(row["port"]))
    assert timed.mint_at("1234806360") == [f"{row['prefix']}/2009/02.16.17.46"]


@pytest.mark.parametrize("row", IBI_VECTORS["repository_suffix"], ids=lambda row: row["suffix"])
def test_repository_names_have_the_suffixes_of_the_standard(timed, row):
    timed(*IBI, "--granularity", finest(row["date"]))
    assert timed.mint_at(row["date"]) == [f"sid.inpe.br/mtc-m18/{row['suffix']}"]


@pytest.mark.parametrize("row", IBI_VECTORS["ibip"], ids=lambda row: row["ibip"])
def test_ibip_labels_are_those_of_the_standard(timed, row):
    timed("dbcreate", "--scheme", "ibip", "--ip", row["ip"], "--port", str(row["port"]), "--granularity", "1")
    assert timed.mint_at(row.get("date", posix(row["utc"]))) == [row["ibip"]]
    decoded = timed("decode", row["ibip"])
    assert f"ip: {row['ip']}\nport: {row['port']}\ntime: {row['utc']}\n" in decoded


def test_addresses_ports_and_seconds_are_written_in_base_27_as_the_standard_does(tmp_path):
    digits = {row["decimal"]: row["ibip"] for row in IBI_VECTORS["decimal_to_ibip"]}
    for row, since_1995 in zip(IBI_VECTORS["ip_to_decimal"], ("1", "480992662"), strict=True):
        noid = TimedNoid(tmp_path / since_1995)
        noid("dbcreate", "--scheme", "ibip", "--ip", row["ip"], "--port", "19050")
        end = "X" if ":" in row["ip"] else "W"
        prefix = digits[row["decimal"]] + end + digits["19050"]
        assert noid.mint_at(str(807235200 + int(since_1995))) == [f"{prefix}/{digits[since_1995]}"]


def test_the_distributor_gives_the_labels_of_table_6_2(timed):
    timed(*IBI, "--granularity", IBI_VECTORS["distributor"]["granularity"])
    for row in IBI_VECTORS["distributor"]["rows"]:
        assert timed.mint_at(row["requested"]) == [f"sid.inpe.br/mtc-m18/{row['suffix']}"]
        waited_until = max(float(row["requested"]), float(row["date"]))
        assert float(timed.seconds) == pytest.approx(waited_until)


@pytest.mark.parametrize("name", IBI_VECTORS["repository_accepts"])
def test_names_that_the_standard_shows_are_valid(timed, name):
    assert timed("validate", "ibi", name) == f"id: {name}\n"


@pytest.mark.parametrize(("one", "other"), IBI_VECTORS["same_name"])
def test_case_and_the_old_mark_of_ports_make_no_other_identifier(timed, one, other):
    timed(*(IBI if "inpe" in one else IBIP))
    timed("bind", "new", one, "where", "here")
    assert timed("get", other, "where") == "here\n"
    assert "already" in timed.refused("bind", "new", other, "where", "there")


@pytest.mark.parametrize("row", PILIN_VECTORS["suffixes"], ids=lambda row: row["suffix"])
def test_pilin_suffixes_are_those_of_the_policy(timed, row):
    timed(*PILIN)
    unix = Date(pilin.to_unix_ms(int(row["milliseconds"])), 3)
    handle = f"102.100.272/{row['suffix']}"
    assert timed.mint_at(bytes(unix).decode()) == [handle]
    assert f"time: {row['utc']}\nmilliseconds: {row['milliseconds']}\n" in timed("decode", handle)


# -- the commands -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [IBI, IBIP, PILIN], ids=["ibi", "ibip", "pilin"])
def test_every_command_works_with_every_scheme(timed, words):
    created = timed(*words, "--label", "x:")
    assert f"\nScheme: {words[2]}\nForm: " in created and "\nProperties: G--N" in created
    (made,) = timed.mint_at(FIRST)
    spelled = made.swapcase().replace("X:", "x:", 1)
    assert made.startswith("x:") and spelled != made
    timed("bind", "new", spelled, "title", "Proust")
    timed("bind", "append", made, "title", " et al.")
    who = re.search(r"Creator: (\S+)", created)[1]
    assert timed("fetch", spelled) == f"id:    {made}\nCirc:  i|20101020151406|{who}|1\ntitle: Proust et al.\n\n"
    assert timed("get", spelled[2:], "title") == "Proust et al.\n"
    assert timed("validate", "-", spelled) == f"id: {spelled}\n"
    assert timed("hold", "set", spelled) == "ok: 1 hold placed\n\n"
    assert "hold" in timed("fetch", made).splitlines()[0]
    timed("bind", "set", ":idmap/(\\d+)", "where", "https://example.org/$1")
    assert "was computed by the rule" in timed("fetch", spelled, "where")
    assert timed("path", spelled)
    info = timed("dbinfo", "full")
    assert "Drawn: 1\n" in info and "Held: 1\n" in info and "Clock-Seen: 2010-10-20T15:14:06.394023Z\n" in info
    assert timed("note", "a", "b") == "ok: note a kept\n\n"


def test_a_repository_name_is_its_own_path_of_four_folders(timed):
    timed(*IBI)
    assert timed("path", "sid.INPE.br/MTC-m18@80/2009/02.16.17.46.00") == "sid.inpe.br/mtc-m18/2009/02.16.17.46\n"
    assert "not four parts" in timed.refused("path", "../../etc/passwd/x")


def test_nothing_can_be_queued_because_time_does_not_come_back(timed):
    timed(*IBI)
    for how in ("now", "first", "30d", "delete"):
        assert "time does not come back" in timed.refused("queue", how, NAME, status=1)


def test_a_held_label_is_skipped(timed):
    timed(*IBI)
    timed("hold", "set", NAME, "SID.inpe.br/mtc-m18/2010/10.20.15.14.07")
    assert timed.mint_at(FIRST, 2) == [NAME[:-1] + "8", NAME[:-1] + "9"]
    assert timed.seconds == "1287587649"
    timed("hold", "set", NAME[:-2] + "10")
    assert "patience" in timed.refused("mint", "--patience", "1.5", "1")
    assert timed("mint", "--patience", "2", "1") == f"id: {NAME[:-2]}11\n\n"


def test_long_term_minters_hold_what_they_make_and_never_give_it_twice(timed):
    timed(*PILIN, "-", "long")
    (made,) = timed.mint_at(FIRST)
    assert timed("dbinfo").count("Held: 1\n") == 1
    timed("bind", "new", made, "a", "b")
    assert "neither issued nor held" in timed.refused("bind", "new", "102.100.272/RPLZ54PQH", "a", "b")


def test_peppers_keep_their_case_and_identifiers_do_not(timed):
    timed(*IBIP)
    peppered = timed.at(FIRST, "peppermint", "1", "a", "b").strip().removeprefix("id: ")
    label, _, pepper = peppered.partition("!")
    assert "pepper" in timed.refused("bind", "set", label.lower(), "a", "c")
    timed("bind", "set", f"{label.lower()}!{pepper}", "a", "c")
    assert timed("get", label, "a") == "c\n"
    assert "pepper" in timed.refused("bind", "set", f"{label}!{pepper.upper()}", "a", "d")


def test_bind_mint_waits_for_its_label_like_mint(timed):
    timed(*IBI)
    assert "Id:      " + NAME in timed.at(FIRST, "bind", "mint", "new", "a", "b")
    assert "Id:      " + NAME[:-1] + "7" in timed("bind", "peppermint", "new", "a", "b")
    assert timed.seconds == "1287587647"
    assert timed("get", NAME, "a") == "b\n"


def test_validation_says_what_is_wrong(timed):
    timed(*IBI)
    for name, fault in {
        "sid.inpe.br/mtc-m18/2009/02.30.17.46": "no day 30", "sid.inpe.br/mtc-m18/2009/02.16.24.46": "no time",
        "sid.inpe.br/mtc_m18/2009/02.16.17.46": "hyphens", "sid.inpe.br/mtc-m18@99999/2009/02.16.17.46": "port",
        "sid.inpe.br/mtc-m19/2009/02.16.17.46": "another server", "sid.inpe.br/mtc-m18/2009": "not four parts",
    }.items():
        done = timed.run("validate", "-", name)
        assert done.returncode == 1 and fault in done.stdout.decode() and done.stdout.startswith(b"iderr: ")
        assert fault in timed.refused("bind", "set", name, "a", "b")
    assert timed.run("validate", "pilin", "102.100.272/RPLZ54PQH", "102.100.272/RPLZ54PQI").stdout == (
        b"id: 102.100.272/RPLZ54PQH\n"
        b"iderr: character 9 of 'RPLZ54PQI' is 'I', which no PILIN suffix contains: probably 1 was meant\n"
    )
    assert "no IP address" in timed.run("validate", "ibip", "8JMKD3MGP9W/34PGRBS", "UUUUW/3").stdout.decode()


@pytest.mark.parametrize(("words", "fault"), [
    (["--scheme", "uuid"], "there is no scheme 'uuid'"),
    (["--scheme", "ibi"], "--computer"),
    (["--scheme", "ibip"], "--ip"),
    (["--scheme", "pilin"], "--prefix"),
    (["--scheme", "ibi", "--computer", "localhost"], "domain name"),
    (["--scheme", "ibi", "--computer", "a.b.org", "--port", "70000"], "port"),
    (["--scheme", "ibi", "--computer", "a.b.org", "--granularity", "0.5"], "granularity"),
    (["--scheme", "ibi", "--computer", "a.b.org", "--patience", "soon"], "patience"),
    (["--scheme", "ibi", "--computer", "a.b.org", "--seed", "7"], "--seed is not for scheme ibi"),
    (["--scheme", "ibi", "--computer", "a.b.org", "f.rddd"], "neither template nor NAAN"),
    (["--scheme", "ibip", "--ip", "1.2.3"], "IP address"),
    (["--scheme", "ibip", "--ip", "1.2.3.4", "--computer", "a.b.org"], "--computer is not for scheme ibip"),
    (["--scheme", "pilin", "--prefix", "1/2"], "Handle prefix"),
    (["--scheme", "pilin", "--prefix", "10.1", "--granularity", "1"], "--granularity is not for scheme pilin"),
    (["--computer", "a.b.org"], "--computer is not for scheme noid"),
])
def test_wrong_settings_are_refused_and_leave_nothing_behind(noid, words, fault):
    assert fault in noid.refused("dbcreate", *words)
    assert not (noid.folder / "NOID").exists()


def test_the_letters_of_durability_are_claimed_only_where_they_hold(tmp_path):
    for number, (words, letters) in enumerate([
        (["--scheme", "ibi", "--computer", "mtc.inpe.br"], "G--NI--"),
        (["--scheme", "ibi", "--computer", "mtc-m18.local"], "---N---"),
        (["--scheme", "ibip", "--ip", "150.163.34.243"], "G--NI--"),
        (["--scheme", "ibip", "--ip", "192.168.1.1"], "---NI--"),
        (["--scheme", "ibip", "--ip", "fe80::1"], "---NI--"),
        (["--scheme", "pilin", "--prefix", "102.100.272"], "G--NI--"),
    ]):
        assert f"Properties: {letters}\n" in TimedNoid(tmp_path / str(number))("dbcreate", *words)


def test_the_schemes_are_listed(noid):
    listed = noid("schemes")
    assert re.findall(r"^scheme: (\w+)$", listed, re.M) == ["noid", "ibi", "ibip", "pilin"]
    assert "options: --computer --port --granularity --patience\n" in listed


# -- time -------------------------------------------------------------------------------------------------


def test_a_hundred_labels_at_one_a_second_take_their_hundred_seconds(timed):
    timed(*IBI, "--granularity", "1")
    names = timed.mint_at("1287587646", 100)
    assert len(set(names)) == 100 and names[0] == NAME and timed.seconds == "1287587745"
    assert names[13:16] == [NAME[:-2] + "19", NAME[:-2] + "20", NAME[:-2] + "21"] and names[54] == NAME[:-5] + "15"


def test_the_granularity_can_be_changed_while_the_minter_lives(timed):
    timed(*IBI)
    assert timed.mint_at(FIRST) == [NAME]
    assert timed("granularity", "0.10") == "ok: granularity is 0.1, was 1\n\n"
    assert timed("mint", "2") == f"id: {NAME}.3\nid: {NAME}.4\n\n"
    assert timed("granularity", "60") == "ok: granularity is 60, was 0.1\n\n"
    assert timed("mint", "--patience", "60", "1") == f"id: {NAME[:-4]}5\n\n"
    assert "granularity is one of" in timed.refused("granularity", "2", status=1)
    assert "Granularity: 60\n" in timed("dbinfo") and "Patience: 60\n" in timed("dbinfo")


def test_schemes_without_a_grid_have_no_granularity_to_change(timed, noid):
    timed(*PILIN)
    assert "part of its form" in timed.refused("granularity", "1")
    other = TimedNoid(timed.folder / "other")
    other("dbcreate", ".rdd")
    for command in ("granularity", "patience"):
        assert "not made from the time" in other.refused(command, "1")


def test_a_wait_beyond_the_patience_is_refused_and_takes_nothing(timed):
    timed(*IBI, "--granularity", "60", "--patience", "5")
    assert timed.mint_at(FIRST) == [NAME[:-3]]
    refused = timed.refused("mint", "1", status=1)
    assert "2010-10-20T15:15:00Z, 53.606 seconds ahead, longer than the patience of 5 seconds" in refused
    assert timed("patience", "54") == "ok: patience is 54, was 5\n\n"
    assert timed.ids(1) == [NAME[:-4] + "5"]
    assert timed.seconds == "1287587700"
    assert "patience" in timed.refused("mint", "--patience=10", "1")
    assert "Drawn: 2\n" in timed("dbinfo")
    for wrong in ("-1", "x", "", "1e3", "99999999999"):
        assert "patience" in timed.refused("mint", "--patience", wrong, "1", status=2)
    assert "--haste" in timed.refused("mint", "--haste", "1", status=2)


def test_values_of_mint_are_never_taken_for_options(timed):
    timed(*IBI)
    timed.at(FIRST, "mint", "1", "--patience", "7")
    assert timed("get", NAME, "--patience") == "7\n"


@pytest.mark.parametrize(("back", "words"), [(3600, "1 hour"), (31536000, "365 days")])
def test_a_clock_that_was_set_back_is_named_and_gives_nothing_twice(timed, back, words):
    timed(*IBI)
    assert timed.mint_at(FIRST) == [NAME]
    timed.set(str(1287587646 - back))
    for _ in range(2):
        refused = timed.refused("mint", "1", status=1)
        assert f"the clock was set back by {words}" in refused and "2010-10-20T15:14:07Z" in refused
        assert "set the clock right, or wait" in refused
    assert timed.mint_at(FIRST) == [NAME[:-1] + "7"]


def test_a_clock_that_was_set_back_a_little_is_waited_for(timed):
    timed(*IBI)
    assert timed.mint_at(FIRST) == [NAME]
    timed.set("1287587645.4")
    done = timed.run("mint", "1")
    assert done.stdout.decode() == f"id: {NAME[:-1]}7\n\n"
    assert done.stderr.startswith(b"note: the clock was set back by ") and done.stderr.count(b"\n") == 1
    assert timed.seconds == "1287587647"


def test_a_clock_before_the_first_date_of_a_scheme_is_refused(timed):
    timed(*IBIP)
    timed.set("800000000")
    assert "August 1995" in timed.refused("mint", "1")


def test_a_clock_that_is_set_back_during_a_wait_does_not_prolong_it(tmp_path):
    clock = SetClock(FIRST)
    opened = session(tmp_path, clock, IBI)
    minted(opened)
    clock.jumps = [-3600]
    assert minted(opened) == [NAME[:-1] + "7"]
    assert clock.slept < 2 * 10**9
    opened.close()


def test_a_wait_comes_after_the_commit_when_others_may_write(tmp_path):
    class Watching(SetClock):
        def sleep(self, nanoseconds):
            assert not opened.minter.writing
            opened.minter.write(lambda writer: writer.put(b"n", b"written while waiting", b"1"))
            super().sleep(nanoseconds)

    clock = Watching(FIRST)
    opened = session(tmp_path, clock, IBI)
    assert minted(opened, 2) == [NAME, NAME[:-1] + "7"]
    assert clock.slept
    # The same when minting is part of a larger transaction, as for requests that may be repeated.
    assert opened.minter.write(lambda _: minted(opened, 3)) == [NAME[:-1] + "8", NAME[:-1] + "9", NAME[:-2] + "10"]
    assert clock.date.seconds == 1287587650
    # There all is reserved at once, so all of the wait must be within the patience, lest others find no moment free.
    with pytest.raises(BusyError):
        opened.minter.write(lambda _: minted(opened, 31))
    assert len(opened.minter.write(lambda _: minted(opened, 30))) == 30
    opened.close()


def test_what_a_failed_transaction_reserved_is_not_waited_for(tmp_path):
    clock = SetClock(FIRST)
    opened = session(tmp_path, clock, IBI)

    def fail(_):
        minted(opened, 3)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        opened.minter.write(fail)
    assert clock.slept == 0 and minted(opened) == [NAME]
    opened.close()


def test_lines_of_a_bulk_run_wait_each_for_their_own(timed):
    timed(*IBI)
    timed.set(FIRST)
    lines = b"mint 1\nbind set sid.inpe.br/mtc-m18/2009/02.16.17.46 a b\nmint 2\nbind mint new a b\nmint 1\n"
    made = re.findall(r"^(?:id|Id): +(\S+/10\S+)$", timed("-", stdin=lines), re.M)
    assert made == [NAME, NAME[:-1] + "7", NAME[:-1] + "8", NAME[:-1] + "9", NAME[:-2] + "10"]
    assert timed.seconds == "1287587650"


def test_the_lines_of_a_bulk_run_share_commits_where_the_clock_allows(timed):
    timed(*PILIN)
    timed.set(FIRST)
    made = re.findall(r"^id: (\S+)$", timed("-", stdin=b"mint 1\n" * 250), re.M)
    assert len(set(made)) == 250
    assert timed.seconds == "1287587646.643"


def test_who_waits_at_a_terminal_sees_how_long(tmp_path, noid):
    noid(*IBI, "--granularity", "1")
    terminal, other_end = os.openpty()
    seen = b""
    with subprocess.Popen([*NOID, "mint", "3"], cwd=tmp_path, stdout=other_end, stderr=other_end) as process:
        os.close(other_end)
        try:
            while piece := os.read(terminal, 4096):
                seen += piece
        except OSError:
            pass  # the other end is closed
    os.close(terminal)
    assert process.returncode == 0
    assert re.search(rb"[01] of 3 made, the next in [01]\.\d s", seen) and seen.count(b"id: ") == 3
    assert seen.rstrip().rpartition(b"\x1b[K")[2].startswith(b"id: "), "the line is gone before the answer comes"


def test_the_clock_of_tests_says_what_is_wrong_with_its_file(timed):
    timed(*IBI)
    timed.set("noon")
    assert "file of the clock" in timed.refused("mint", "1")
    (timed.folder / "clock").unlink()
    assert "file of the clock" in timed.refused("mint", "1")


# -- the goals of PILIN -----------------------------------------------------------------------------------


def test_pilin_handles_are_succinct_and_opaque(tmp_path):
    opened = session(tmp_path, SetClock(FIRST), PILIN)
    suffixes = [name.rpartition("/")[2] for name in minted(opened, 1000)]
    assert all(len(suffix) == 9 for suffix in suffixes)
    assert not re.search("[AEIOU]", "".join(suffixes)), "no words appear by accident"
    assert all(one[0] != other[0] for one, other in zip(suffixes, suffixes[1:], strict=False))
    opened.close()


def test_pilin_has_room_for_far_more_than_a_thousand_million_things():
    assert pilin.TOTAL - pilin.from_unix_ms(int(time.time() * 1000)) > 10**9


def test_pilin_makes_one_a_millisecond(tmp_path):
    clock = SetClock("1287587646")
    opened = session(tmp_path, clock, PILIN)
    handles = minted(opened, 2500)
    assert len(set(handles)) == 2500
    assert clock.date == Date(1287587648499, 3)
    times = [int(answer(opened, "decode", handle).rpartition("milliseconds: ")[2]) for handle in handles[::100]]
    assert times == list(range(times[0], times[0] + 2500, 100))
    opened.close()


def test_pilin_ends_where_nine_characters_end(tmp_path):
    end = Date(pilin.to_unix_ms(pilin.TOTAL), 3)
    clock = SetClock(bytes(Date(end.floor(3) - 3, 3)).decode())
    opened = session(tmp_path, clock, PILIN)
    assert minted(opened, 3)[-1] == "102.100.272/ZZZZZZZZZ"
    noid = TimedNoid(tmp_path)
    for moment in (clock.date, Date(end.floor(3) + 10**9, 3)):
        noid.set(bytes(moment).decode())
        assert "nine characters end at 2420-08-16T03:29:20.670Z" in noid.refused("mint", "1", status=1)
    opened.close()


def test_what_is_left_of_pilin_is_given_before_the_refusal(tmp_path):
    noid = TimedNoid(tmp_path)
    noid(*PILIN)
    noid.set(bytes(Date(pilin.to_unix_ms(pilin.TOTAL - 2), 3)).decode())
    done = noid.run("mint", "5")
    assert done.returncode == 1 and done.stdout.count(b"id: ") == 2 and b"no identifier is left" in done.stderr


def test_two_spellings_are_the_same_name_and_a_label_goes_without_saying(noid):
    noid("dbcreate", "--scheme", "pilin", "--prefix", "102.100.abc")
    label = noid.ids(1)[0]
    noid("bind", "set", f"hdl:{label}", "e", "v")
    assert noid("get", label, "e") == noid("get", f"hdl:{label.lower()}", "e") == "v\n"
    assert noid("path", f"hdl:{label}") == noid("path", label)
    assert "same: yes" in noid("same", label, label.lower())
    assert noid.run("same", label, label[:-1] + ("0" if label[-1] != "0" else "1")).returncode == 1


def test_a_short_wait_for_a_clock_that_was_set_back_is_reported(noid):
    clock = noid.folder / "clock"
    clock.write_text("1700000000")
    settings = {"env": {"NOIDTOOLS_CLOCK": str(clock)}}
    noid("dbcreate", "--scheme", "ibi", "--computer", "a.b.org", "--patience", "7200", **settings)
    noid("mint", "1", **settings)
    clock.write_text("1699996400")
    done = noid.run("mint", "1", **settings)
    assert done.returncode == 0
    assert b"note: the clock was set back by 1 hour" in done.stderr


def test_a_second_part_with_a_dot_and_an_at_is_refused(noid):
    assert "only one" in noid.refused("decode", "sid.inpe.br/mtc-m18.80@800/2009/02.16.17.46", status=1)
