"""Labels made from place and time are those of the standards."""

from __future__ import annotations

from datetime import datetime

import pytest

from noidtools.schemes import pilin
from noidtools.schemes.timed import Date
from support.minter import timed_noid
from support.project import vectors
from support.templates import IBI, IBIP, PILIN

IBI_VECTORS, PILIN_VECTORS = vectors("ibi.json"), vectors("pilin.json")


def posix(utc: str) -> str:
    return str(int(datetime.fromisoformat(utc.replace("Z", "+00:00")).timestamp()))


def finest(date: str) -> str:
    """The granularity that a date needs."""
    places = len(date.partition(".")[2])
    return "0." + "0" * (places - 1) + "1" if places else "1"


@pytest.mark.parametrize("row", IBI_VECTORS["repository_prefix"], ids=lambda row: row["prefix"])
def test_a_minter_of_repository_names_uses_the_prefixes_of_the_standard(timed, row):
    timed("dbcreate", "--scheme", "ibi", "--computer", row["computer"], "--port", str(row["port"]))
    assert timed.at("1234806360").ids(1) == [f"{row['prefix']}/2009/02.16.17.46"]


@pytest.mark.parametrize("row", IBI_VECTORS["repository_suffix"], ids=lambda row: row["suffix"])
def test_repository_names_have_the_suffixes_of_the_standard(timed, row):
    timed("dbcreate", *IBI, "--granularity", finest(row["date"]))
    assert timed.at(row["date"]).ids(1) == [f"sid.inpe.br/mtc-m18/{row['suffix']}"]


@pytest.mark.parametrize("row", IBI_VECTORS["ibip"], ids=lambda row: row["ibip"])
def test_ibip_labels_are_those_of_the_standard(timed, row):
    timed("dbcreate", "--scheme", "ibip", "--ip", row["ip"], "--port", str(row["port"]), "--granularity", "1")
    assert timed.at(row.get("date", posix(row["utc"]))).ids(1) == [row["ibip"]]
    decoded = timed("decode", row["ibip"])
    assert f"ip: {row['ip']}\nport: {row['port']}\ntime: {row['utc']}\n" in decoded


def test_addresses_ports_and_seconds_are_written_in_base_27_as_the_standard_does(tmp_path):
    digits = {row["decimal"]: row["ibip"] for row in IBI_VECTORS["decimal_to_ibip"]}
    for row, since_1995 in zip(IBI_VECTORS["ip_to_decimal"], ("1", "480992662"), strict=True):
        noid = timed_noid(tmp_path / since_1995)
        noid("dbcreate", "--scheme", "ibip", "--ip", row["ip"], "--port", "19050")
        end = "X" if ":" in row["ip"] else "W"
        prefix = digits[row["decimal"]] + end + digits["19050"]
        assert noid.at(str(807235200 + int(since_1995))).ids(1) == [f"{prefix}/{digits[since_1995]}"]


def test_the_distributor_gives_the_labels_of_table_6_2(timed):
    timed("dbcreate", *IBI, "--granularity", IBI_VECTORS["distributor"]["granularity"])
    for row in IBI_VECTORS["distributor"]["rows"]:
        assert timed.at(row["requested"]).ids(1) == [f"sid.inpe.br/mtc-m18/{row['suffix']}"]
        waited_until = max(float(row["requested"]), float(row["date"]))
        assert float(timed.clock.seconds) == pytest.approx(waited_until)


@pytest.mark.parametrize("name", IBI_VECTORS["repository_accepts"])
def test_names_that_the_standard_shows_are_valid(timed, name):
    assert timed("validate", "ibi", name) == timed("decode", name).splitlines(keepends=True)[0]


@pytest.mark.parametrize(("one", "other"), IBI_VECTORS["same_name"])
def test_case_and_the_old_mark_of_ports_make_no_other_identifier(timed, one, other):
    timed("dbcreate", *(IBI if "inpe" in one else IBIP))
    timed("bind", "new", one, "where", "here")
    assert timed("get", other, "where") == "here\n"
    assert "already" in timed.refused("bind", "new", other, "where", "there")


@pytest.mark.parametrize("row", PILIN_VECTORS["suffixes"], ids=lambda row: row["suffix"])
def test_pilin_suffixes_are_those_of_the_policy(timed, row):
    timed("dbcreate", *PILIN)
    unix = Date(pilin.to_unix_ms(int(row["milliseconds"])), 3)
    handle = f"102.100.272/{row['suffix']}"
    assert timed.at(bytes(unix).decode()).ids(1) == [handle]
    assert f"time: {row['utc']}\nmilliseconds: {row['milliseconds']}\n" in timed("decode", handle)
