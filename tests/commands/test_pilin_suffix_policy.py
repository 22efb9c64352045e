"""The policy on suffixes of the PILIN project, under the numbers of its sections."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from noidtools.schemes import pilin
from support.documents import Step, play
from support.templates import PILIN

SESSIONS = {
    "title, the citation is read as the Handle": [
        Step("same http://resolver.net.au/hdl/102.100.272/Y35XYS0QH hdl:102.100.272/Y35XYS0QH", "same: yes\n…"),
    ],
    "4 no vowels": [
        Step("validate pilin " + " ".join(f"102.100.272/{vowel}35XYS0QH" for vowel in "AEIOU"), "iderr: …" * 5,
             status=1),
    ],
    "5 the example, with the digit 0 that was printed as the letter O": [
        Step("decode 102.100.272/Y35XYS0QH", "id: 102.100.272/Y35XYS0QH\nscheme: pilin\nprefix: 102.100.272\n"
             "time: 2007-05-25T03:49:52.865Z\n…"),
        Step("decode 102.100.272/Y35XYSOQH", "error: character 7 …probably 0 was meant\n", status=1),
    ],
    "suffixes of the same project in its ontology": [
        Step("decode RPLZ54PQH", "…time: 2007-12-…"), Step("decode G9JR4TLQH", "…time: 2007-1…"),
    ],
}


@pytest.mark.parametrize("steps", SESSIONS.values(), ids=list(SESSIONS))
def test_session(noid, steps):
    play(noid, steps)


def test_3_all_handles_are_under_the_prefix(timed):
    timed("dbcreate", *PILIN)
    for handle in timed.ids(3):
        assert handle.startswith("102.100.272/") and len(handle) == len("102.100.272/") + 9


def test_4_the_suffix_of_a_millisecond(timed):
    """The milliseconds since 15 October 1582, in base 31, least significant digit first, filled up to nine."""
    timed("dbcreate", *PILIN)
    (handle,) = timed.at("1180064992.865").ids(1)
    assert handle == "102.100.272/Y35XYS0QH"
    number, suffix = pilin.from_unix_ms(1180064992865), ""
    while len(suffix) < 9:
        number, digit = divmod(number, 31)
        suffix += "0123456789BCDFGHJKLMNPQRSTVWXYZ"[digit]
    assert handle.endswith(suffix)


def test_2_a_suffix_per_millisecond_for_more_than_a_thousand_million_things(timed):
    timed("dbcreate", *PILIN)
    suffixes = [handle.rpartition("/")[2] for handle in timed.ids(1000)]
    times = [pilin.decode(suffix.encode()) for suffix in suffixes]
    assert len(set(suffixes)) == 1000 and times[-1] - times[0] == 999
    assert pilin.TOTAL > 10**9
    assert not any(letter in "AEIOU" for suffix in suffixes for letter in suffix)


def now_in_milliseconds() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def test_2_by_the_clock_of_the_system_each_suffix_has_its_own_millisecond_and_none_lies_ahead(noid):
    noid("dbcreate", *PILIN)
    before = now_in_milliseconds()
    handles = noid.ids(300)
    after = now_in_milliseconds()
    times = [noid("decode", handle).partition("time: ")[2].split()[0] for handle in handles]
    assert times == sorted(set(times)) and before <= times[0] and times[-1] <= after


def test_2_a_suffix_can_be_dictated(timed):
    timed("dbcreate", *PILIN)
    spoken = timed("cite", "102.100.272/Y35XYS0QH").partition("speech: ")[2]
    assert "capital yankee, three, five, capital xray, capital yankee, capital sierra, zero (digit)" in spoken
