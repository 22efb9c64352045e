"""The examples of the IBI standard (English edition), under the numbers of its chapters."""

from __future__ import annotations

import pytest

from support.documents import Step, play
from support.templates import IBI, IBIP

M18, M19 = "sid.inpe.br/mtc-m18/2009/02.16.17.46", "sid.inpe.br/mtc-m19/2010/08.25.12.38"
DECODED = "id: {}\nscheme: {}\n…time: {}\n…"

SESSIONS = {
    "5 Example 1, by domain name": [
        Step("decode sid.inpe.br/mtc-m18@80/2009/02.16.17.46",
             f"id: {M18}\nscheme: ibi\ncomputer: mtc-m18.sid.inpe.br\nport: 80\ntime: 2009-02-16T17:46:00Z\n…"),
    ],
    "5 Example 2, by address": [
        Step("decode 8JMKD3MGP8W/34PGRBS",
             "id: 8JMKD3MGP8W/34PGRBS\nscheme: ibip\nip: 150.163.34.243\nport: 800\ntime: 2009-02-16T17:46:00Z\n"
             "seconds: 1234806360\n\n"),
    ],
    "6 Table 6.1, the examples of the rules": [
        Step(f"validate ibi {M19} sid.inpe.br/mtc-m19@80/2010/08.25.12.38 dpi.inpe.br/sid/2010/08.25.12.38",
             "id: …\nid: …\nid: …\n"),
    ],
    "6 case does not count": [
        Step("same sid.inpe.br/mtc-m18@80/2009/02.16.17.46 sid.INPE.br/MTC-m18@80/2009/02.16.17.46", "same: yes\n…"),
    ],
    "6 a name in lower case": [Step("decode sid.INPE.br/MTC-m18@80/2009/02.16.17.46", f"id: {M18}\n…")],
    "7 Table 7.1, the example of the rules": [
        Step("validate ibip 8JMKD3MGP7W/385N5PE", "id: 8JMKD3MGP7W/385N5PE\n"),
        Step("decode 8JMKD3MGP7W/385N5PE", "…ip: …time: 2010-…"),
    ],
    "7 case does not count": [Step("same 8JMKD3MGP8W/34PGRBS 8jmkd3mgp8w/34pgrbs", "same: yes\n…")],
    "7 excluded characters": [
        Step("validate ibip " + " ".join(f"8JMKD3MGP8W/34PGRB{letter}" for letter in "0O1IVYZ"), "iderr: …" * 7,
             status=1),
    ],
    "note, identifiers that are cited": [
        Step("decode http://urlib.net/LK47B6W/362SFKH", "id: LK47B6W/362SFKH\nscheme: ibip\n…"),
        Step("decode http://urlib.net/8JMKD3MGP8W/3JUK862", "id: 8JMKD3MGP8W/3JUK862\n…time: 2015-…"),
        Step("decode iconet.com.br/banon/2009/09.09.22.01", "…computer: banon.iconet.com.br\n…"),
    ],
}


@pytest.mark.parametrize("steps", SESSIONS.values(), ids=list(SESSIONS))
def test_session(noid, steps):
    play(noid, steps)


# -- 5: two levels, made by a server of its own name or address, at the time of the request --------------------------


@pytest.mark.parametrize(("words", "label"), [(IBI, M18), (IBIP, "8JMKD3MGP8W/34PGRBS")])
def test_5_the_label_that_a_server_gives_at_that_time(timed, words, label):
    timed("dbcreate", *words, "--granularity", "60")
    timed.at("1234806360")
    assert timed.ids(1) == [label]


def test_5_a_label_is_used_without_its_server(free):
    """By a minter of another place, which binds what others have made."""
    for label in (M18, "8JMKD3MGP8W/34PGRBS"):
        free.set_target(label, "https://archive.example/item")
        assert free.target_of(label) == free.target_of(f"http://urlib.net/{label}") == "https://archive.example/item"


# -- 6: rules of the grammar, each with spellings that follow it and spellings that do not ------------

GRAMMAR = {
    "four parts": ([M19], ["sid.inpe.br/mtc-m19/2010", f"{M19}/x", "sid.inpe.br/mtc-m19/2010-08.25.12.38"]),
    "subdomain with a root dot": (["inpe.br./mtc-m19/2010/08.25.12.38"], ["inpe.br../mtc-m19/2010/08.25.12.38"]),
    "word with inner hyphens": (["a--b.br/c-d/2010/08.25.12.38"],
                                ["-a.br/c/2010/08.25.12.38", "a.br/c-/2010/08.25.12.38"]),
    "last word begins with a letter": (["a.b2/c/2010/08.25.12.38"], ["a.2b/c/2010/08.25.12.38"]),
    "port after a dot": (["sid.inpe.br/mtc-m19.8080/2010/08.25.12.38"], ["sid.inpe.br/mtc-m19./2010/08.25.12.38"]),
    "port after an at sign": (["inpe.br/mtc-m19@8080/2010/08.25.12.38"], ["inpe.br/mtc-m19@x/2010/08.25.12.38"]),
    "year of four digits or more": (["a.br/c/12010/08.25.12.38"], ["a.br/c/210/08.25.12.38"]),
    "fields of two digits": ([M19], ["a.br/c/2010/8.25.12.38", "a.br/c/2010/08.25.12.3", "a.br/c/2010/08.25.012.38"]),
    "second and fraction": (["a.br/c/2010/08.25.12.38.07", "a.br/c/2010/08.25.12.38.07.125"],
                            ["a.br/c/2010/08.25.12.38.7", "a.br/c/2010/08.25.12.38.07."]),
}


@pytest.mark.parametrize("rule", GRAMMAR)
def test_6_table_6_1(noid, rule):
    right, wrong = GRAMMAR[rule]
    assert noid("validate", "ibi", *right).count("id: ") == len(right)
    for label in wrong:
        assert noid.run("validate", "ibi", label).returncode == 1, label


def test_6_lower_case_is_generated_and_any_case_is_read(timed):
    timed("dbcreate", "--scheme", "ibi", "--computer", "MTC-M18.sid.INPE.br")
    (label,) = timed.ids(1)
    assert label == label.lower()
    timed("bind", "set", label.upper(), "e", "v")
    assert timed("get", label, "e") == "v\n"


def test_6_table_6_2(timed):
    """Each row: the time of the request, the suffix that it gets."""
    timed("dbcreate", *IBI, "--granularity", "1")
    for moment, suffix in [
        ("1287587646.394023", "2010/10.20.15.14.06"), ("1287588012.2930", "2010/10.20.15.20"),
        ("1287588115.186234", "2010/10.20.15.21"), ("1287588115.3462", "2010/10.20.15.21.55"),
        ("1287588115.99623", "2010/10.20.15.21.56"), ("1287588116.72", "2010/10.20.15.21.57"),
        ("1287588539.788342", "2010/10.20.15.28"),
    ]:
        assert timed.at(moment).ids(1) == [f"sid.inpe.br/mtc-m18/{suffix}"], moment


@pytest.mark.parametrize("granularity", ["60", "1", "0.1", "0.01", "0.001"])
def test_6_granularities(timed, granularity):
    timed("dbcreate", *IBI, "--granularity", granularity)
    assert len(set(timed.ids(3))) == 3
    for wrong in ("10", "0.5", "2", "0"):
        timed.refused("granularity", wrong)


# -- 7: conversions ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("address", "port", "prefix"), [
    ("150.163.34.243", "800", "8JMKD3MGP8W"), ("150.163.34.243", "802", "8JMKD3MGP8W34M"),
    ("150.163.2.174", "800", "J8LNKAN8PW"), ("2001:252:0:1::2008:6", "800", "7URMDHLL9SSN2D89MX"),
    ("150.163.2.174", "19050", "J8LNKAN8PWU5H"),
])
def test_7_algorithm_5(timed, address, port, prefix):
    timed("dbcreate", "--scheme", "ibip", "--ip", address, "--port", port)
    (label,) = timed.ids(1)
    assert label.partition("/")[0] == prefix
    assert f"ip: {address}\nport: {port}\n" in timed("decode", label)


@pytest.mark.parametrize(("moment", "suffix"), [
    ("807235201", "3"), ("807254250", "U5H"), ("1288227862", "38G3TS3"), ("1234806360", "34PGRBS"),
    ("1234806360.5", "34PGRBSW7"), ("1234806360.05", "34PGRBSW27"),
])
def test_7_algorithm_6(timed, moment, suffix):
    timed("dbcreate", *IBIP, "--granularity", "0.01" if "." in moment else "1")
    if "." in moment:
        timed.at(moment.partition(".")[0]).ids(1)  # the whole second is taken, so that a fraction is needed
    assert timed.at(moment).ids(1)[0].partition("/")[2] == suffix
