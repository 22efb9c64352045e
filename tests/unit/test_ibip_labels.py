"""IBIp labels: the standard's examples, the round trip, and what is refused."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noidtools.errors import InvalidError
from noidtools.schemes.ibip import (
    EPOCH,
    IBIP_DIGITS,
    IPV4_DIGITS,
    IPV6_DIGITS,
    canonical,
    decode,
    encode,
    from_decimal,
    ip_address,
    prefix,
    suffix,
    to_decimal,
)
from noidtools.schemes.timed import MAX_PLACES, Date, parse_date, utc
from support.project import vectors

VECTORS = vectors("ibi.json")


def rfc5952(groups: list[int]) -> bytes:
    """What the standard library writes, but with no dotted tail, which newer versions of it have."""
    number = sum(group << 16 * place for place, group in enumerate(reversed(groups)))
    address = ipaddress.IPv6Address(number)
    if address.ipv4_mapped is None:
        return str(address).encode()
    return b"::ffff:%x:%x" % (groups[6], groups[7])


# Zero groups are common, since where they stand decides where "::" does.
v6_groups = st.lists(st.sampled_from([0, 0, 0, 1, 0x10, 0xFFFF]) | st.integers(0, 0xFFFF), min_size=8, max_size=8)
v6 = v6_groups.map(rfc5952)
v4 = st.lists(st.sampled_from([0, 1, 10, 255]) | st.integers(0, 255), min_size=4, max_size=4).map(
    lambda octets: ".".join(map(str, octets)).encode()
)
ports = st.integers(1, 65535) | st.sampled_from([80, 800, 802])
fractions = st.integers(0, 10**12).flatmap(lambda units: st.builds(Date, st.just(EPOCH * 10**9 + units), st.just(9)))
deep = st.builds(
    lambda seconds, digits: parse_date(b"%d.%s" % (seconds, digits.encode())),
    st.integers(EPOCH, 4 * 10**10),
    st.text("0123456789", min_size=1, max_size=MAX_PLACES) | st.text("01", min_size=1, max_size=8),
)
dates = st.builds(Date, st.integers(EPOCH, 4 * 10**10)) | fractions | deep


@pytest.mark.parametrize("row", VECTORS["ip_to_decimal"], ids=lambda row: row["ip"])
def test_an_address_is_read_as_a_number(row: dict[str, str]) -> None:
    digits = IPV6_DIGITS if ":" in row["ip"] else IPV4_DIGITS
    assert to_decimal(row["ip"].encode(), digits) == int(row["decimal"])
    assert from_decimal(int(row["decimal"]), digits) == row["ip"].encode()


@pytest.mark.parametrize(("digits", "characters", "address"), [
    (IPV4_DIGITS, "0123456789.", "98.76.54.210"), (IPV4_DIGITS, "0123456789.", "8.9.8.9"),
    (IPV6_DIGITS, "0123456789abcdef:", "fedc:ba98:7654:3210:abcd:ef01:2345:6789"),
])
def test_each_character_of_an_address_is_the_digit_that_its_table_says(
    digits: bytes, characters: str, address: str
) -> None:
    """Tables 7.4 and 7.5: the digits, and at last the sign between them."""
    number = 0
    for character in address:
        number = number * len(characters) + characters.index(character)
    assert to_decimal(address.encode(), digits) == number
    assert from_decimal(number, digits) == address.encode()


@pytest.mark.parametrize("row", VECTORS["decimal_to_ibip"], ids=lambda row: row["ibip"])
def test_a_number_is_written_in_base_27(row: dict[str, str]) -> None:
    assert from_decimal(int(row["decimal"]), IBIP_DIGITS) == row["ibip"].encode()
    assert to_decimal(row["ibip"].encode(), IBIP_DIGITS) == int(row["decimal"])


@pytest.mark.parametrize("row", VECTORS["ibip"], ids=lambda row: row["ibip"])
def test_known_labels_are_written_and_read(row: dict[str, str]) -> None:
    ip, port, date = decode(row["ibip"].encode())
    assert (ip, port, utc(date)) == (row["ip"].encode(), int(row["port"]), row["utc"].encode())
    assert bytes(date) == row.get("date", bytes(date).decode()).encode()
    assert encode(ip, port, date) == row["ibip"].encode()


@pytest.mark.parametrize(("one", "other"), [pair for pair in VECTORS["same_name"] if "inpe" not in pair[0]])
def test_case_makes_no_other_label(one: str, other: str) -> None:
    assert canonical(one.encode()) == canonical(other.encode()) == one.encode()


def test_a_port_other_than_800_follows_the_address() -> None:
    assert prefix(b"150.163.34.243", 800) == b"8JMKD3MGP8W"
    assert prefix(b"150.163.34.243", 19050) == b"8JMKD3MGP8WU5H"
    assert prefix(b"2001:252:0:1::2008:6", 19050) == b"7URMDHLL9SSN2D89MXU5H"


def test_every_leading_zero_of_a_fraction_is_a_leading_2() -> None:
    whole = suffix(parse_date(b"1287588115"))
    written = {
        b".5": b"W7",
        b".05": b"W27",
        b".005": b"W227",
        b".50": b"W7",
        b".27": b"W32",
        b".027": b"W232",
    }
    for fraction, end in written.items():
        assert suffix(parse_date(b"1287588115" + fraction)) == whole + end


@given(v4 | v6, ports, dates)
def test_a_label_decodes_to_its_parts(ip: bytes, port: int, date: Date) -> None:
    label = encode(ip, port, date)
    assert decode(label) == decode(label.lower()) == (ip, port, date)
    assert canonical(label) == canonical(label.lower()) == label


@given(st.lists(st.tuples(v4 | v6, ports, dates), min_size=2, max_size=6))
def test_different_addresses_ports_or_dates_have_different_labels(pairs: list[tuple[bytes, int, Date]]) -> None:
    assert len({encode(*pair) for pair in pairs}) == len(set(pairs))


near = st.builds(
    lambda digits: parse_date(b"%d.%s" % (EPOCH, digits.encode())), st.text("0127", min_size=1, max_size=4)
)


@given(near, near)
def test_neighbouring_fractions_have_different_suffixes(one: Date, other: Date) -> None:
    assert (suffix(one) == suffix(other)) == (one == other)


@given(v6_groups)
def test_an_ipv6_address_has_one_spelling(groups: list[int]) -> None:
    short = rfc5952(groups)
    full = b":".join(b"%04X" % group for group in groups)
    assert ip_address(full) == ip_address(short) == ip_address(short.upper()) == short
    assert b"." not in short


@pytest.mark.parametrize(
    ("text", "short"),
    [
        (b"::", b"::"),
        (b"::1", b"::1"),
        (b"1::", b"1::"),
        (b"0:0:0:0:0:0:0:0", b"::"),
        (b"2001:db8:0:1:1:1:1:1", b"2001:db8:0:1:1:1:1:1"),
        (b"2001:db8::1:1:1:1:1", b"2001:db8:0:1:1:1:1:1"),
        (b"2001:db8:0:0:1:0:0:1", b"2001:db8::1:0:0:1"),
        (b"2001:0:0:1:0:0:0:1", b"2001:0:0:1::1"),
        (b"0:0:1::5", b"0:0:1::5"),
        (b"::ffff:1.2.3.4", b"::ffff:102:304"),
        (b"::1.2.3.4", b"::102:304"),
        (b"150.163.34.243", b"150.163.34.243"),
    ],
)
def test_addresses_are_brought_to_their_short_form(text: bytes, short: bytes) -> None:
    assert ip_address(text) == short
    assert decode(encode(text, 800, Date(EPOCH)))[0] == short


@given(st.text("0123456789abcdefFgx:. /", max_size=40).map(str.encode))
def test_the_addresses_accepted_are_those_of_the_standard_library(text: bytes) -> None:
    try:
        expected: object = ipaddress.ip_address(text.decode("ascii"))
    except ValueError:
        with pytest.raises(InvalidError):
            ip_address(text)
    else:
        assert ipaddress.ip_address(ip_address(text).decode()) == expected


@pytest.mark.parametrize(
    "ip",
    [b"", b"1.2.3", b"1.2.3.4.5", b"256.1.1.1", b"01.2.3.4", b"1.2.3.", b"1..2.3", b"1.2.3.4 ", b"a.b.c.d", b"+1.2.3.4",
     b":", b":::", b"1:2:3:4:5:6:7", b"1:2:3:4:5:6:7:8:9", b"1:2:3:4:5:6:7::8", b"1::2::3", b"12345::", b"g::",
     b"fe80::1%eth0", b"::1.2.3", b"1.2.3.4::", b":1:2:3:4:5:6:7", b"localhost", b"\xb2.1.1.1", b"1::\n"],
)  # fmt: skip
def test_impossible_addresses_are_refused(ip: bytes) -> None:
    with pytest.raises(InvalidError, match="is not an IP address such as") as refusal:
        encode(ip, 800, Date(EPOCH))
    assert "\n" not in refusal.value.message


@pytest.mark.parametrize("port", [0, -1, 65536])
def test_impossible_ports_are_refused(port: int) -> None:
    with pytest.raises(InvalidError, match="1 to 65535"):
        encode(b"127.0.0.1", port, Date(EPOCH))


def test_labels_begin_in_august_1995() -> None:
    assert suffix(Date(EPOCH)) == b"2"
    assert decode(b"LK47B6W/2") == (b"127.0.0.1", 800, Date(EPOCH))
    assert utc(Date(EPOCH)) == b"1995-08-01T00:00:00Z"
    with pytest.raises(InvalidError, match="before August 1995"):
        suffix(parse_date(b"%d.9" % (EPOCH - 1)))


def written(address: bytes, digits: bytes) -> bytes:
    """An address, good or bad, as a label's prefix would have it."""
    return from_decimal(to_decimal(address, digits), IBIP_DIGITS) + (b"W" if digits == IPV4_DIGITS else b"X")


@pytest.mark.parametrize(
    "head",
    [
        written(b"256.1.1.1", IPV4_DIGITS),
        written(b"1.02.3.4", IPV4_DIGITS),
        written(b"1.2.3", IPV4_DIGITS),
        written(b"12345", IPV4_DIGITS),
        written(b"..1.2", IPV4_DIGITS),
        written(b"1:2:3:4:5:6:7", IPV6_DIGITS),
        written(b"1:0:0:4:5:6:7:8", IPV6_DIGITS),
        written(b"2001:0db8::1", IPV6_DIGITS),
        written(b":::", IPV6_DIGITS),
        written(b"abc", IPV6_DIGITS),
    ],
)
def test_a_prefix_that_stands_for_no_address_in_its_short_form_is_refused(head: bytes) -> None:
    with pytest.raises(InvalidError, match="not an IP address in its short form"):
        decode(head + b"/34PGRBS")


@pytest.mark.parametrize(
    ("label", "complaint"),
    [
        (b"8JMKD3MGP8W", "two words"),
        (b"8JMKD3MGP8/34PGRBS", "lacks the W"),
        (b"/34PGRBS", "lacks the W"),
        (b"W/34PGRBS", "the address .* is '', which is not a number"),
        (b"28JMKD3MGP8W/34PGRBS", "the address .* with a zero"),
        (b"8JMKD3MGP8W2/34PGRBS", "1 to 65535, not 0"),
        (b"8JMKD3MGP8W23/34PGRBS", "the port .* with a zero"),
        (b"8JMKD3MGP8WUUUU/34PGRBS", "1 to 65535"),
        (b"8JMKD3MGP8W" + from_decimal(800, IBIP_DIGITS) + b"/34PGRBS", "spells out port 800"),
        (b"8JMKD3MGP8WW/34PGRBS", "the port .* is 'W'"),
        (b"8JMKD3MGP8WX/34PGRBS", "the address .* is '8JMKD3MGP8W'"),
        (b"8JMKD3MGP8W/", "the time .* is ''"),
        (b"8JMKD3MGP8W/234PGRBS", "the time .* with a zero"),
        (b"8JMKD3MGP8W/34PGXRBS", "the time .* not a number"),
        (b"8JMKD3MGP8W/34PGRBSW", "the fraction .* is ''"),
        (b"8JMKD3MGP8W/34PGRBSW2", "the fraction .* is ''"),
        (b"8JMKD3MGP8W/34PGRBSW7W7", "the fraction .* not a number"),
        (b"8JMKD3MGP8W/34PGRBSW" + from_decimal(50, IBIP_DIGITS), "ends in a zero"),
        (b"8JMKD3MGP8W/34PGRBSW" + b"2" * MAX_PLACES + b"7", "at most 30 decimal places"),
        (b"8JMKD3MGP8W/" + b"3" * 20, "after 1970"),
        (b"8JMKD3MGP8W/" + b"3" * 5000, "two words"),
        (b"8JMKD3MGP8W/34PGRB0", "contains '0'"),
        (b"8JMKD3MGP8W/34PGRBV", "contains 'V'"),
        (b"8JMKD3MGP8W/34PGRBS\n", "contains"),
        (b"8JMKD3MGP8W/34PGRBS/", "contains '/'"),
    ],
)
def test_labels_that_no_server_writes_are_refused(label: bytes, complaint: str) -> None:
    for reads in (decode, canonical):
        with pytest.raises(InvalidError, match=complaint) as refusal:
            reads(label)
        assert "\n" not in refusal.value.message


def test_the_longest_label_is_not_too_long() -> None:
    date = parse_date(b"9999999999999999." + b"9" * MAX_PLACES)
    ip = b":".join([b"ffff"] * 8)
    assert decode(encode(ip, 65535, date)) == (ip, 65535, date)
    zeros = parse_date(b"9999999999999999." + b"0" * (MAX_PLACES - 1) + b"1")
    assert decode(encode(ip, 65535, zeros)) == (ip, 65535, zeros)


alphabet = st.text(IBIP_DIGITS.decode() + "WX", min_size=1, max_size=12)


@given(st.binary() | st.builds(lambda a, b: f"{a}W/{b}".encode(), alphabet, alphabet))
def test_garbage_is_invalid(label: bytes) -> None:
    try:
        parts = decode(label)
    except InvalidError as error:
        assert "\n" not in error.message
    else:
        assert encode(*parts) == canonical(label)


@given(st.sampled_from([b"8JMKD3MGP8W", b"LK47B6W3"]), alphabet, st.booleans())
def test_a_label_that_can_be_read_is_the_one_that_would_be_written(head: bytes, tail: str, lower: bool) -> None:
    label = head + b"/" + tail.encode()
    try:
        parts = decode(label.lower() if lower else label)
    except InvalidError:
        return
    assert encode(*parts) == label
