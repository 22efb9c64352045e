"""Labels recognised and decoded by their form alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from noidtools.errors import InvalidError
from noidtools.schemes import form_of, ibi, ibip, pilin
from noidtools.schemes.timed import Date, utc


@given(st.binary(max_size=60) | st.text(max_size=40).map(str.encode))
def test_any_text_is_decoded_or_refused(text):
    try:
        pairs = dict(form_of(text).decode(text))
    except InvalidError as error:
        assert error.message
    else:
        assert dict(form_of(pairs["id"]).decode(pairs["id"])) == pairs


dates = st.builds(Date, st.integers(10**9 * 10**9, 4 * 10**18), st.just(9))


@given(dates, st.integers(1, 65535), st.ip_addresses().map(str))
def test_every_scheme_recognises_what_it_makes(date, port, ip):
    address = ibip.ip_address(ip.encode())
    decoded = dict(form_of(label := ibip.encode(address, port, date)).decode(label))
    assert (decoded["scheme"], decoded["ip"], decoded["port"]) == (b"ibip", address, b"%d" % port)
    assert decoded["time"] == utc(date)
    decoded = dict(form_of(label := ibi.encode(b"a.b.org", port, date)).decode(label))
    assert (decoded["scheme"], decoded["computer"], decoded["time"]) == (b"ibi", b"a.b.org", utc(date))
    suffix = pilin.encode(pilin.from_unix_ms(date.floor(3)))
    for prefix in (b"102.100.272", b"10", b"4263537"):
        decoded = dict(form_of(label := prefix + b"/" + suffix).decode(label))
        assert (decoded["scheme"], decoded["prefix"]) == (b"pilin", prefix)
