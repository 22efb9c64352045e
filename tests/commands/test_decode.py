"""The command decode: what a label says of place and time."""

from __future__ import annotations

import pytest

from noidtools.schemes import ibip
from noidtools.schemes.timed import Date
from support.project import vectors
from support.templates import IBI, PILIN


def test_labels_are_decoded_by_their_form_alone(noid):
    assert noid("decode", "8jmkd3mgp8w/34pgrbs") == (
        "id: 8JMKD3MGP8W/34PGRBS\nscheme: ibip\nip: 150.163.34.243\nport: 800\n"
        "time: 2009-02-16T17:46:00Z\nseconds: 1234806360\n\n"
    )
    assert noid("decode", "sid.inpe.br/mtc-m18@80/2009/02.16.17.46") == (
        "id: sid.inpe.br/mtc-m18/2009/02.16.17.46\nscheme: ibi\ncomputer: mtc-m18.sid.inpe.br\nport: 80\n"
        "time: 2009-02-16T17:46:00Z\nseconds: 1234806360\n\n"
    )
    handle = vectors("pilin.json")["handle_example"]
    decoded = f"id: {handle}\nscheme: pilin\nprefix: 102.100.272\ntime: 2007-12-19T23:44:55.269Z\n"
    for spelling in (handle, handle.lower(), f"hdl:{handle}", f"info:hdl/{handle}", f"http://hdl.handle.net/{handle}"):
        assert noid("decode", spelling).startswith(decoded)
    assert noid("decode", handle[-9:]).startswith("id: RPLZ54PQH\nscheme: pilin\ntime: 2007-")


def test_fractions_keep_the_zeros_they_begin_with(noid):
    assert "time: 2010-10-20T15:21:55.05Z\n" in noid("decode", "sid.inpe.br/mtc-m18/2010/10.20.15.21.55.05")
    half, twentieth = (
        ibip.encode(b"1.2.3.4", 800, Date(units, 2)).decode() for units in (82000000050, 82000000005)
    )
    assert half != twentieth
    assert ".5Z\n" in noid("decode", half) and ".05Z\n" in noid("decode", twentieth)


def test_a_minters_own_label_is_taken_off_first(noid):
    noid("dbcreate", *IBI, "--label", "http://urlib.net/")
    assert "computer: mtc-m18" in noid("decode", "http://urlib.net/sid.inpe.br/mtc-m18/2009/02.16.17.46")
    assert "scheme: ibip" in noid("decode", "8JMKD3MGP8W/34PGRBS"), "a minter of one scheme knows all of them"


@pytest.mark.parametrize(("label", "fault"), [
    ("sid.inpe.br/mtc-m18/2009/13.16.17.46", "no month 13"),
    ("sid.inpe.br/mtc-m18/2009/02.29.17.46", "no day 29"),
    ("sid.inpe.br/-m18/2009/02.16.17.46", "hyphens"),
    ("sid.inpe.br/mtc-m18@0/2009/02.16.17.46", "port"),
    ("8JMKD3MGP8/34PGRBS", "lacks the W"),
    ("8JMKD3MGP8W/34PGRBO", "no IBIp label contains"),
    ("102.100.272/RPLZ54PQO", "probably 0 was meant"),
    ("102.100.272/IPLZ54PQH", "probably 1 was meant"),
    ("102.100.272/UPLZ54PQH", "probably V was meant"),
    ("102.100.272/RPLZ54PQ", "9 characters"),
    ("f5000", "neither a repository name"),
    ("", "neither a repository name"),
])
def test_decode_refuses_what_is_no_label_with_the_reason(noid, label, fault):
    assert fault in noid.refused("decode", label, status=1)


def test_pilin_minters_decode_their_own(noid):
    noid("dbcreate", *PILIN)
    (handle,) = noid.ids(1)
    assert f"id: {handle}\nscheme: pilin\nprefix: 102.100.272\n" in noid("decode", handle.lower())
