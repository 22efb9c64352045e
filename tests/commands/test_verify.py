"""verify: each quality, holding, failing and unknown; what is kept; links; progress; every door."""

from __future__ import annotations

import os
import pty
import subprocess
import time

import pytest
from conftest import NOID
from odd_server import OddServer
from url_support import USER, Web

from noidtools.codec import pack
from noidtools.minter import Minter
from noidtools.minter.events import Actor
from noidtools.minter.findings import FAILS, HOLDS, QUALITIES, UNKNOWN, Finding, last_findings, pack_findings
from noidtools.minter.records import Circulation, value_of
from noidtools.minter.tables import EVENTS, IDS, VERIFIED
from noidtools.verification import Verification

CONTACT = ("custodian", "set", "A Library", "--contact", "mailto:names@library.example")
PROMISE = ("policy", "persistence", "we keep them", "--until", "2999")


@pytest.fixture
def f5(noid):
    """A minter of which everything can be said, and one identifier of which everything holds."""
    noid("dbcreate", "f5.reedeedk", "long", "13030", "cdlib.org", "oac/cmp")
    noid("mint", "1", "_t", "https://example.org/")
    noid(*CONTACT)
    noid(*PROMISE)
    return noid


@pytest.fixture
def opened(noid):
    """Opens the minter in this process, when it is there."""
    minters = []

    def opening() -> Minter:
        minters.append(Minter(str(noid.folder)))
        return minters[-1]

    yield opening
    for minter in minters:
        minter.close()


def verified(noid, *words: str) -> tuple[int, dict[str, dict[str, str]], dict[str, str]]:
    """The exit status, what was said of each identifier, and the summary."""
    done = noid.run("verify", *words)
    assert done.stderr == b"", done.stderr
    blocks = done.stdout.decode("utf-8", "surrogateescape").strip("\n").split("\n\n")
    parsed = [dict(line.split(": ", 1) for line in block.split("\n")) for block in blocks]
    return done.returncode, {block.pop("id"): block for block in parsed[:-1]}, parsed[-1]


def one(noid, name: str, *words: str) -> dict[str, str]:
    _, found, _ = verified(noid, name, *words)
    (block,) = found.values()
    return block


# -- qualities ---------------------------------------------------------------------------------------------------


def test_a_sound_identifier_holds_everything(f5):
    status, found, summary = verified(f5, "13030/f54x54g11")
    assert status == 0
    assert found == {"13030/f54x54g11": {
        "registered": "holds (9.3)", "well-formed": "holds (3.7)", "check-sound": "holds (3.6)",
        "unique": "holds (8.4)", "bound": "holds (9.7)", "resolvable": "holds (9.9)", "accountable": "holds (8.7)",
        "persistent": "holds (8.6)",
    }}
    assert summary["verified"] == "1, 0 failing" and summary["unique"] == "1 hold"


@pytest.mark.parametrize("spelling", ["ark:/13030/f54x54g11", "ark:13030/f5-4x54g11", "<ark:/13030/f54x54g11>"])
def test_an_identifier_is_verified_in_any_spelling(f5, spelling):
    assert verified(f5, spelling)[1].keys() == {"13030/f54x54g11"}


@pytest.mark.parametrize(("name", "said"), [
    ("13030/f5154dn7k", {"registered": "fails (9.3): nothing is known of it here", "check-sound": "holds (3.6)",
                         "well-formed": "holds (3.7)"}),
    ("13030/f54x54g12", {
        "registered": "fails (9.3): 13030/f54x54g12 has a wrong check character: something in it was mistyped",
        "well-formed": "holds (3.7)",
        "check-sound": "fails (3.6): the check character is wrong: something in the name was mistyped"}),
    ("hdl:102.100.272/XYZZY", {"registered": "fails (9.3): it is no name of this minter"}),
    ("", {"registered": "fails (9.3): the identifier is empty"}),
])
def test_what_is_not_managed_here_fails_and_is_not_kept(f5, opened, name, said):
    status, found, _ = verified(f5, name)
    assert status == 1
    assert {key: value for key, value in one(f5, name).items() if key in said} == said
    assert opened().read(lambda reader: list(reader.scan(VERIFIED))) == []


def test_an_identifier_of_a_megabyte_is_answered_like_any_other(noid):
    noid("dbcreate")
    done = noid.run("-", stdin=b"verify " + b"i" * (1 << 20) + b"\n")
    assert b"registered: fails (9.3): an identifier may have" in done.stdout and done.returncode == 1


def test_a_wrong_check_character_that_got_in_is_found(f5, opened):
    """As it may in a database that was filled by other means."""
    record = Circulation(0, 1, 1, b"i").packed()
    opened().write(lambda writer: writer.put_many(IDS, [(b"13030/f54x54g12", record), (b"13030/other", record)]))
    assert one(f5, "13030/f54x54g12")["check-sound"].startswith("fails (3.6)")
    status, found, _ = verified(f5)
    assert found["13030/other"]["well-formed"].startswith("fails (3.7): 13030/other does not begin with 13030/f5")
    assert "check-sound" in found["13030/f54x54g12"] and "13030/f54x54g11" not in found


def test_labels_of_a_mask_that_grew_are_well_formed(noid):
    noid("dbcreate", "--at-last", "add1", "b2.sdk", "long", "12345", "a", "b")
    noid("mint", "15", "_t", "https://example.org/")
    assert verified(noid)[2]["check-sound"] == "15 hold"


def test_a_minter_of_anything_has_no_wrong_form(noid):
    noid("dbcreate")
    noid("bind", "set", b"any thing \xff", "_t", "https://example.org/")
    status, found, summary = verified(noid)
    assert (status, found) == (0, {}) and summary["well-formed"] == "1 hold" and "check-sound" not in summary


def test_a_name_given_twice_where_that_is_excluded_is_not_unique(f5, opened):
    def again(writer):
        packed = writer.get(IDS, b"13030/f54x54g11")
        record = Circulation.unpacked(packed)
        record.history = b"i" + record.history
        writer.put(IDS, b"13030/f54x54g11", record.packed())

    opened().write(again)
    assert one(f5, "13030/f54x54g11")["unique"] == "fails (8.4): it was given 2 times"


def test_a_short_term_name_may_be_given_again(noid):
    noid("dbcreate", ".sd", "short")
    noid("mint", "11")
    assert one(noid, "0")["unique"] == "holds (8.4)"


def test_two_spellings_of_one_name_kept_apart_are_not_unique(noid):
    noid("dbcreate", "-", "medium", "13030", "a", "b")
    noid("bind", "set", "13030/b-c169", "_t", "https://example.org/1")
    assert one(noid, "13030/b-c169")["unique"] == "holds (8.4)"
    noid("bind", "set", "13030/bc169", "_t", "https://example.org/2")
    assert one(noid, "13030/b-c169")["unique"] == (
        "fails (8.4): 13030/bc169, another spelling of the same name, is kept apart from it")


def test_what_is_not_bound_or_leads_nowhere_fails(f5):
    f5("mint", "3")
    f5("bind", "set", "13030/f5154dn7k", "title", "only a title")
    f5("bind", "set", "13030/f5wd3q12m", "_t", "javascript:alert(1)")
    assert one(f5, "13030/f5154dn7k")["bound"] == "holds (9.7)"
    assert one(f5, "13030/f5154dn7k")["resolvable"] == "fails (9.9): nothing is bound to _t"
    assert one(f5, "13030/f5wd3q12m")["resolvable"] == "fails (9.9): what is bound to _t is no address"
    status, found, summary = verified(f5)
    assert status == 1 and len(found) == 3 and summary["verified"] == "4, 3 failing"
    assert summary["bound"] == "3 hold, 1 fail" and summary["resolvable"] == "1 hold, 3 fail"


def test_a_rule_or_an_alias_makes_a_name_resolvable(noid):
    noid("dbcreate", "kt.sdd")
    noid("mint", "3")
    noid("bind", "set", ":idmap/^kt0([01])$", "_t", "https://example.org/$1")
    noid("alias", "kt02", "kt00")
    noid("alias", "old-name", "kt01")
    status, found, summary = verified(noid)
    assert (status, found) == (0, {})
    assert summary["resolvable"] == "4 hold" and summary["bound"] == "4 hold"
    assert summary["well-formed"] == "3 hold, 1 unknown"


def test_the_resolvers_choice_of_element_counts(f5):
    f5("bind", "set", "13030/f54x54g11", "url", "https://example.org/")
    f5("bind", "purge", "13030/f54x54g11", "_t")
    assert "nothing is bound to _t" in one(f5, "13030/f54x54g11")["resolvable"]
    f5("resolver", "element", "url")
    assert one(f5, "13030/f54x54g11")["resolvable"] == "holds (9.9)"


def test_nothing_is_demanded_of_what_is_reserved_or_withdrawn(f5):
    f5("mint", "2")
    f5("reserve", "13030/f5154dn7k")
    f5("withdraw", "13030/f5wd3q12m", "--reason", "an error")
    assert one(f5, "13030/f5154dn7k")["resolvable"] == "unknown (9.9): it is reserved, and not yet for the public"
    assert one(f5, "13030/f5wd3q12m")["resolvable"] == "unknown (9.9): it was withdrawn"
    assert verified(f5)[0] == 0


def test_who_answers_for_a_name_must_be_reachable(f5):
    f5("custodian", "set", "Somebody", "13030/f54x54g11")
    assert one(f5, "13030/f54x54g11")["accountable"] == "fails (8.7): Somebody answers for it, but with no contact"
    status, found, summary = verified(f5)
    assert status == 1 and list(found["13030/f54x54g11"]) == ["accountable"]
    f5("custodian", "set", "Somebody", "--contact", "tel:+1", "13030/f54x54g11")
    assert one(f5, "13030/f54x54g11")["accountable"] == "holds (8.7)"


def test_what_nobody_states_is_unknown_and_no_failure(noid):
    noid("dbcreate", ".sdd")
    noid("mint", "1", "_t", "https://example.org/")
    status, found, summary = verified(noid)
    assert (status, found) == (0, {})
    assert summary["accountable"] == "1 unknown: nobody was named to answer for it: say custodian set"
    assert summary["persistent"] == "1 unknown: nothing was promised: say policy persistence"


@pytest.mark.parametrize(("words", "verdict"), [
    (["--until", "2999"], "holds (8.6)"),
    ([], "holds (8.6)"),
    (["--from", "2010", "--until", "2020-06"], "fails (8.6): it was promised until 2020-06-30 only"),
    (["--from", "2990"], "unknown (8.6): it is promised from 2990-01-01 on"),
])
def test_a_promise_lasts_as_long_as_it_was_made_for(f5, words, verdict):
    f5("policy", "persistence", "as long as we can", *words)
    assert one(f5, "13030/f54x54g11")["persistent"] == verdict


def test_what_fails_everywhere_is_said_once(f5):
    f5("mint", "20", "_t", "https://example.org/")
    f5("policy", "persistence", "it was", "--from", "2010", "--until", "2020")
    status, found, summary = verified(f5)
    assert status == 1 and found == {}
    assert summary["verified"] == "21, 21 failing"
    assert summary["persistent"] == "21 fail: it was promised until 2020-12-31 only"


# -- all, and keeping --------------------------------------------------------------------------------------------


def test_all_identifiers_are_found_minted_bound_or_alias(noid):
    noid("dbcreate")
    noid("mint", "3", "_t", "https://example.org/")
    for name in ("only bound", "zz"):
        noid("bind", "set", name, "_t", "https://example.org/")
        noid("bind", "set", name, "second", "x")
    noid("-", stdin=b"bind set \"zero \0 byte\" _t https://example.org/\n")
    noid("alias", "only alias", "0")
    assert verified(noid)[2]["verified"] == "7, 0 failing"


def test_many_elements_of_one_identifier_across_pages_count_once(noid, opened, monkeypatch):
    monkeypatch.setattr("noidtools.verification._PAGE", 3)
    noid("dbcreate")
    for name in ("a", "b", "c"):
        for number in range(7):
            noid("bind", "set", name, f"e{number}", "x")
    noid("mint", "5")
    run = Verification(opened(), Actor(b"me", b"test"))
    found = [result.identifier for results in run.run() for result in results]
    assert sorted(found) == [b"0", b"1", b"2", b"3", b"4", b"a", b"b", b"c"]


def test_what_was_found_is_kept_with_its_date(f5, opened):
    f5("mint", "1")
    verified(f5)
    minter = opened()
    found = minter.read(lambda reader: last_findings(reader, b"13030/f5154dn7k"))
    assert [(finding.quality.name, finding.verdict) for finding in found] == [
        ("registered", HOLDS), ("well-formed", HOLDS), ("check-sound", HOLDS), ("unique", HOLDS), ("bound", FAILS),
        ("resolvable", FAILS), ("accountable", HOLDS), ("persistent", HOLDS),
    ]
    assert found[4].detail == "nothing is bound to it"
    assert abs(int(found[0].date) - int(time.strftime("%Y%m%d%H%M%S", time.gmtime()))) < 1000
    assert minter.read(lambda reader: last_findings(reader, b"13030/f5never")) == []


def test_findings_survive_being_kept(f5, opened):
    minter = opened()
    findings = [Finding(quality, verdict, detail) for quality, verdict, detail in zip(
        [quality for quality in QUALITIES if quality.name != "retrievable"], [HOLDS, FAILS, UNKNOWN] * 3,
        ["", "a reason, with \udcff", "", "", "another", "", "", "x"], strict=False)]
    codes = b"".join(finding.code for finding in findings)
    link = Finding(QUALITIES[6], FAILS, "answers 404")
    packed = pack_findings(b"20260101000000", codes, findings, link, None)
    minter.write(lambda writer: writer.put(VERIFIED, b"x", packed))
    minter.write(lambda writer: writer.put(
        VERIFIED, b"x", pack_findings(b"20270101000000", codes, findings, None, writer.get(VERIFIED, b"x"))))
    found = {finding.quality.name: finding for finding in minter.read(lambda reader: last_findings(reader, b"x"))}
    for finding in findings:
        same = found[finding.quality.name]
        expected = "" if finding.verdict == UNKNOWN else finding.detail
        assert (same.verdict, same.detail, same.date) == (finding.verdict, expected, b"20270101000000")
    assert (found["retrievable"].detail, found["retrievable"].date) == ("answers 404", b"20260101000000")


def test_a_quality_of_a_later_release_is_passed_over(f5, opened):
    minter = opened()
    minter.write(lambda writer: writer.put(VERIFIED, b"x", pack([pack([b"20260101000000Z+r+"]), b""])))
    found = minter.read(lambda reader: last_findings(reader, b"x"))
    assert [finding.quality.name for finding in found] == ["registered"]


def test_verifying_is_one_event_and_part_of_the_history_of_those_named(f5, opened):
    f5("mint", "2000", "_t", "https://example.org/")
    minter = opened()

    def events() -> int:
        return minter.read(lambda reader: sum(1 for _ in reader.scan(EVENTS)))

    before = events()
    verified(f5)
    assert events() == before + 1
    verified(f5, "13030/f54x54g11")
    assert events() == before + 2
    history = f5("history", "13030/f54x54g11")
    assert history.count("what: verify") == 1 and "1 identifier, 0 failing" in history
    assert "2001 identifiers, 0 failing" in f5("log")


def test_a_killed_run_has_kept_what_it_said(f5):
    f5("mint", "21000", "_t", "https://example.org/")
    running = subprocess.Popen([*NOID, "verify"], cwd=f5.folder, stdout=subprocess.PIPE)
    time.sleep(1.0)
    running.kill()
    running.communicate()
    status, found, summary = verified(f5)
    assert status == 0 and summary["verified"] == "21001, 0 failing"


def test_verifying_changes_nothing_else(f5, opened):
    minter = opened()
    name = b"13030/f54x54g11"

    def state() -> tuple:
        return minter.read(lambda reader: (value_of(reader, name, b"_t"), reader.get(IDS, name)))

    before = state()
    verified(f5)
    assert state() == before


# -- links -------------------------------------------------------------------------------------------------------

LINKS = ("--links", "--delay", "0", "--timeout", "1", "--allow-private")


@pytest.fixture
def server():
    with OddServer("127.0.0.2") as odd:
        yield odd


def test_links_are_checked_against_a_server_that_does_everything_wrong(noid, server):
    noid("dbcreate")
    paths = {
        "ok": ("/200", "holds (9.10): answers 200"),
        "moved": ("/hop/3", f"holds (9.10): leads to {server.url('/200').decode()}: answers 200"),
        "gone": ("/404", "fails (9.10): answers 404"),
        "broken": ("/500", "fails (9.10): answers 500"),
        "silent": ("/never", "fails (9.10): no answer in time"),
        "garbage": ("/garbage", "fails (9.10): it does not answer in HTTP"),
        "endless": ("/endless", "holds (9.10): answers 200"),
        "huge": ("/huge", "fails (9.10): the head of its answer is larger than 65536 bytes"),
        "drip": ("/drip", "fails (9.10): no answer in time"),
        "circle": ("/circle", f"fails (9.10): leads in a circle: back to {server.url('/circle').decode()}"),
        "closed": ("/401", "unknown (9.10): answers 401, so that the thing itself cannot be seen"),
    }
    for name, (path, _) in paths.items():
        noid("bind", "set", name, "_t", server.url(path))
    began = time.monotonic()
    status, found, summary = verified(noid, *paths, *LINKS)
    assert time.monotonic() - began < 15
    assert status == 1
    assert {name: found[name]["retrievable"] for name in paths} == {name: said for name, (_, said) in paths.items()}
    assert summary["verified"] == "11, 7 failing" and summary["retrievable"] == "3 hold, 7 fail, 1 unknown"
    _, found, _ = verified(noid, *LINKS)
    assert found.keys() == {name for name, (_, said) in paths.items() if said.startswith("fails")}


def test_private_addresses_are_not_asked_unless_that_is_allowed(noid, server):
    noid("dbcreate")
    noid("bind", "set", "x", "_t", server.url("/200"))
    said = one(noid, "x", "--links")["retrievable"]
    assert said == "fails (9.10): 127.0.0.1 is an address that the public cannot reach, and was not asked"
    assert server.requests == []
    assert one(noid, "x", *LINKS)["retrievable"] == "holds (9.10): answers 200"


def test_of_several_targets_the_worst_counts(noid, server):
    noid("dbcreate")
    noid("bind", "set", "x", "_t", server.url("/200") + b"|303 " + server.url("/404", "127.0.0.2"))
    bad = server.url("/404", "127.0.0.2").decode()
    assert one(noid, "x", *LINKS)["retrievable"] == f"fails (9.10): {bad}: answers 404"
    assert {address for address, _ in server.requests} == {"127.0.0.1", "127.0.0.2"}


def test_without_links_the_last_answer_stays_and_with_them_it_is_renewed(noid, server, opened):
    noid("dbcreate")
    noid("bind", "set", "x", "_t", server.url("/200"))
    minter = opened()

    def link() -> Finding:
        return minter.read(lambda reader: {f.quality.name: f for f in last_findings(reader, b"x")})["retrievable"]

    verified(noid, *LINKS)
    assert link().verdict == HOLDS
    verified(noid)
    assert link().verdict == HOLDS
    noid("bind", "set", "x", "_t", server.url("/404"))
    verified(noid, *LINKS)
    assert (link().verdict, link().detail) == (FAILS, "answers 404")
    noid("bind", "purge", "x", "_t")
    noid("bind", "set", "x", "e", "v")
    verified(noid, *LINKS)
    assert link().verdict == UNKNOWN


def test_names_without_address_do_not_wait_for_links(noid, server):
    noid("dbcreate")
    noid("mint", "3000")
    noid("bind", "set", "x", "_t", server.url("/200"))
    status, _, summary = verified(noid, *LINKS)
    assert summary["verified"] == "3001, 3000 failing" and summary["retrievable"] == "1 hold, 3000 unknown"


def test_the_minter_can_be_written_while_links_are_checked(noid, server):
    noid("dbcreate")
    noid("bind", "set", "x", "_t", server.url("/never"))
    running = subprocess.Popen([*NOID, "verify", "--links", "--allow-private", "--timeout", "3"], cwd=noid.folder,
                               stdout=subprocess.PIPE)
    while not server.requests:
        time.sleep(0.02)
    began = time.monotonic()
    noid("bind", "set", "y", "_t", "z")
    assert time.monotonic() - began < 2.5 and running.poll() is None
    running.communicate()


def test_in_bulk_links_are_checked_with_no_transaction_open(noid, server):
    noid("dbcreate")
    commands = b"bind set x _t " + server.url("/200") + b"\nverify x --links --allow-private --delay 0\n"
    commands += b"verify x\nverify\nget x _t\n"
    done = noid.run("-", stdin=commands)
    assert done.returncode == 0 and done.stdout.count(b"retrievable: holds (9.10): answers 200") == 1
    assert done.stdout.count(b"verified: 1, 0 failing") == 3 and done.stdout.endswith(server.url("/200") + b"\n\n")
    commands = b"bind set x _t " + server.url("/404") + b"\nverify x --links --allow-private --delay 0\n"
    done = noid.run("-", stdin=commands)
    assert done.returncode == 1 and b"answers 404" in done.stdout


@pytest.mark.parametrize("words", [
    ["--timeout", "1"], ["--allow-private"], ["--links", "--timeout", "x"], ["--links", "--timeout", "0"],
    ["--links", "--delay", "-1"], ["--links", "--parallel", "1000"], ["--links", "--delay", "nan"], ["--links=yes"],
    ["--nothing"],
])
def test_wrong_words(f5, words):
    f5.refused("verify", *words, status=2)


# -- seeing it come ----------------------------------------------------------------------------------------------


def test_a_bar_grows_on_a_terminal_and_nowhere_else(noid, server):
    noid("dbcreate")
    for number in range(4):
        noid("bind", "set", f"x{number}", "_t", server.url(f"/slow/0.3{number}"))
    ours, theirs = pty.openpty()
    done = subprocess.run([*NOID, "verify", *LINKS], cwd=noid.folder, stdout=subprocess.PIPE, stderr=theirs,
                          check=False)
    os.close(theirs)
    shown = os.read(ours, 65536).decode()
    os.close(ours)
    assert done.returncode == 0 and b"\r" not in done.stdout
    assert "of 4" in shown and "[###" in shown and shown.endswith("\r\x1b[K")


# -- the web -----------------------------------------------------------------------------------------------------


@pytest.fixture
def web(tmp_path, noid):
    (tmp_path / "kt5").mkdir()
    noid("-f", "kt5", "dbcreate", "kt5.sdd")
    noid("-f", "kt5", "mint", "2", "_t", "https://example.org/")
    return Web(tmp_path)


def test_verifying_through_the_web_is_for_administrators(web):
    assert web("verify").status == 401
    reply = web("verify+kt500+kt599", user=USER, accept="application/json")
    assert reply.status == 200 and reply.json["failed"] is True
    first, second, summary = reply.json["records"]
    assert first["id"] == "kt500" and first["holds"] is True
    assert {"quality": "resolvable", "verdict": "holds", "section": "9.9"} in first["findings"]
    assert second["holds"] is False and second["findings"][0]["detail"] == "nothing is known of it here"
    assert summary["verified"] == 2 and summary["qualities"]["resolvable"] == {
        "section": "9.9", "holds": 1, "fails": 0, "unknown": 0}


def test_the_web_does_not_reach_into_the_servers_network(web, noid):
    with OddServer() as server:
        noid("-f", "kt5", "bind", "set", "kt500", "_t", server.url("/200"))
        reply = web("verify+kt500+--links+--allow-private", user=USER)
        assert reply.status == 403 and "for the shell" in reply.text
        reply = web("verify+kt500+--links", user=USER)
        assert reply.status == 200 and "cannot reach" in reply.text
        assert server.requests == []


def test_long_work_is_not_done_inside_a_repeatable_request(web):
    reply = web("verify", user=USER, HTTP_IDEMPOTENCY_KEY="k1")
    assert reply.status == 409 and "without" in reply.text
    assert web("verify+kt500", user=USER, HTTP_IDEMPOTENCY_KEY="k2").status == 200


# -- numbers -----------------------------------------------------------------------------------------------------


def test_many_identifiers_are_verified_in_little_time_and_memory(noid):
    noid("dbcreate", "kt.reedeed")
    noid("mint", "12000", "_t", "https://example.org/")
    code = (
        "import resource, sys, time, tracemalloc; sys.argv = ['noid', 'verify']\n"
        "from noidtools.cli.noid import main\n"
        "tracemalloc.start(1); status = main()\n"
        "print(status, tracemalloc.get_traced_memory()[1])"
    )
    done = subprocess.run([NOID[0], "-c", code], cwd=noid.folder, capture_output=True, check=True, timeout=120)
    status, peak = done.stdout.split()[-2:]
    assert status == b"0" and int(peak) < 40_000_000
