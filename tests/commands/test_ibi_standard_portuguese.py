"""What the Portuguese edition of the IBI standard adds to the English one, under the numbers of its sections."""

from __future__ import annotations

import pytest

from support.documents import Step, play
from support.templates import IBI, IBIP

NAME, LABEL = "sid.inpe.br/mtc-m18/2009/02.16.17.46", "8JMKD3MGP8W/34PGRBS"

SESSIONS = {
    "3 the pointers at urlib.net are spellings of the names": [
        Step("same http://urlib.net/sid.inpe.br/mtc-m18@80/2009/02.16.17.46 sid.inpe.br/mtc-m18@80/2009/02.16.17.46",
             "same: yes\n…"),
        Step(f"same http://urlib.net/{LABEL} {LABEL}", "same: yes\n…"),
        Step(f"same http://urlib.net/{LABEL}?? {LABEL}", "same: yes\n…The query ?? is not part of the name.\n…"),
    ],
    "4 the suffix corresponds to ISO 8601": [
        Step("decode sid.inpe.br/mtc-m18@80/2009/02.16.17.46", "…time: 2009-02-16T17:46:00Z\n…"),
    ],
    "5 ports 800 and 802 of one address": [
        Step("decode 8JMKD3MGP8W/34PGRBS", "…ip: 150.163.34.243\nport: 800\n…"),
        Step("decode 8JMKD3MGP8W34M/34PGRBS", "…ip: 150.163.34.243\nport: 802\n…"),
    ],
    "cover, the code of the report is an IBI with more behind it": [
        Step("decode iconet.com.br/banon/2009/09.09.22.01-RPQ", "error: …\n", status=1),
        Step("decode iconet.com.br/banon/2009/09.09.22.01", "…time: 2009-09-09T22:01:00Z\n…"),
    ],
}


@pytest.mark.parametrize("steps", SESSIONS.values(), ids=list(SESSIONS))
def test_session(noid, steps):
    play(noid, steps)


@pytest.mark.parametrize(("words", "name", "pointer"), [
    (IBI, NAME, f"http://urlib.net/{NAME}"), (IBIP, LABEL, f"http://urlib.net/{LABEL}"),
])
def test_3_the_pointer_is_cited_and_read_back(timed, words, name, pointer):
    timed("dbcreate", *words, "--granularity", "60")
    timed("context", "resolver", "http://urlib.net/")
    assert timed.at("1234806360").ids(1) == [name]
    timed("bind", "set", name, "_t", "https://target.example/")
    for spelling in (name, pointer, name.swapcase()):
        assert f"\nweb: {pointer}\n" in timed("cite", spelling)
        assert timed("resolve", spelling) == "https://target.example/\n"


def test_3_the_granularity_of_suffixes_can_be_made_finer(timed):
    timed("dbcreate", *IBI, "--granularity", "60")
    coarse = timed.ids(1)[0].rpartition("/")[2]
    timed("granularity", "0.1")
    timed.ids(1)
    fine = timed.ids(1)[0].rpartition("/")[2]
    assert coarse.count(".") == 3 and fine.count(".") >= 4
