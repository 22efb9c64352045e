"""The WSGI side of FastCGI: parameters become an environment, and what the application answers becomes bytes."""

from __future__ import annotations

import struct

import pytest
from flup.server.fcgi_base import encode_pair

from noidtools.server.wsgi import WsgiResponse, add_required, decode_parameters

LENGTHS = (0, 1, 127, 128, 70_000)


@pytest.mark.parametrize("name_length", LENGTHS)
@pytest.mark.parametrize("value_length", LENGTHS)
def test_parameters_of_any_length_are_decoded(name_length, value_length):
    pairs = {b"A": b"first", b"N" * name_length: b"\xe9" * value_length, b"Z": b""}
    data = bytearray(b"".join(encode_pair(name, value) for name, value in pairs.items()))
    assert decode_parameters(data) == {n.decode("latin-1"): v.decode("latin-1") for n, v in pairs.items()}


@pytest.mark.parametrize("data", [b"\x01", b"\x80\x00\x00", b"\x80\x00\x00\x01", b"\x01\x80\x00\x00"])
def test_lengths_that_are_cut_off_are_an_error(data):
    with pytest.raises((IndexError, struct.error)):
        decode_parameters(bytearray(data))


def test_what_a_web_server_leaves_out_is_added():
    environ = {"REQUEST_URI": "/noidu?mint+1", "HTTPS": "on", "wsgi.multithread": "forged"}
    add_required(environ, "body", "errors")
    assert (environ["PATH_INFO"], environ["QUERY_STRING"], environ["REQUEST_METHOD"]) == ("/noidu", "mint+1", "GET")
    assert (environ["wsgi.url_scheme"], environ["wsgi.input"], environ["wsgi.errors"]) == ("https", "body", "errors")
    assert environ["wsgi.multithread"] is False


def test_the_header_is_sent_with_the_first_part_of_the_body():
    sent = []
    response = WsgiResponse(sent.append)
    write = response.start("200 OK", [("A", "1"), ("B", "\xe9")])
    assert not sent
    write(b"one")
    write(b"two")
    assert sent == [b"Status: 200 OK\r\nA: 1\r\nB: \xe9\r\n\r\none", b"two"]


def test_a_header_can_be_replaced_by_that_of_an_error_until_it_is_sent():
    sent = []
    response = WsgiResponse(sent.append)
    response.start("200 OK", [])
    with pytest.raises(AssertionError):
        response.start("200 OK", [])
    error = ValueError("late")
    response.start("500 Fault", [], (ValueError, error, None))
    response.write(b"")
    assert sent == [b"Status: 500 Fault\r\n\r\n"]
    with pytest.raises(ValueError, match="late"):
        response.start("500 Fault", [], (ValueError, error, None))
