"""Targets: read from values, extended, and made safe to redirect to."""

from __future__ import annotations

import pytest

from noidtools.names import targets
from noidtools.names.targets import Target, TemplateValues


@pytest.mark.parametrize(("value", "expected"), [
    (b"https://a/", [Target(b"https://a/")]),
    (b"303 https://a/", [Target(b"https://a/", 303)]),
    (b"308\thttps://a/", [Target(b"https://a/", 308)]),
    (b"404 https://a/", [Target(b"404 https://a/")]),
    (b"303", [Target(b"303")]),
    (b"https://a/|303 https://b/|https://c/",
     [Target(b"https://a/"), Target(b"https://b/", 303), Target(b"https://c/")]),
    (b" https://a/ | https://b/ ", [Target(b"https://a/"), Target(b"https://b/")]),
    (b"|https://b/|", [Target(b"https://b/")]),
    (b"https://a/\nhttps://b/", [Target(b"https://a/")]),
    (b"\r\nhttps://a/\r\nSet-Cookie: x=1", [Target(b"https://a/")]),
    (b"", []),
])
def test_a_value_is_parsed_into_targets_with_codes(value, expected):
    assert targets.parse(value) == expected


@pytest.mark.parametrize(("url", "suffix", "expected"), [
    ("https://a/x", "", "https://a/x"),
    ("https://a/x", "/page", "https://a/x/page"),
    ("https://a/x/", "/page", "https://a/x/page"),
    ("https://a/x", ".pdf", "https://a/x.pdf"),
    ("https://a/x", "?q=1", "https://a/x?q=1"),
    ("https://a/x?id=7", "?q=1", "https://a/x?id=7&q=1"),
    ("https://a/x?id=7", "/page", "https://a/x?id=7/page"),
    ("https://a/x#top", "/page", "https://a/x/page#top"),
    ("https://a/view${suffix}&s=1", "?q=1", "https://a/view?q=1&s=1"),
    ("https://a/${suffix}/view", "", "https://a//view"),
    ("https://a", "/page", "https://a/page"),
    ("https://a", "?q", "https://a?q"),
    # What follows must not become part of the host.
    ("https://a", ".evil.example/", "https://a/.evil.example/"),
    ("https://a", ":x@evil.example/", "https://a/:x@evil.example/"),
    ("https://a", ":8443/", "https://a/:8443/"),
    ("https://a#top", ".evil.example", "https://a/.evil.example#top"),
    ("https://${suffix}.a/", "/evil.example", None),
    ("https://a${suffix}/", ".evil.example", None),
    ("/", "/evil.example/", "/evil.example/"),
    ("/docs/", "/page", "/docs/page"),
    ("/docs/x", "/../../secret", None),
    ("/docs/x", "/%2e%2E/secret", None),
    ("/docs/x", "/..%2Fsecret", None),
    ("/docs/x", "/a..b/c.d", "/docs/x/a..b/c.d"),
    ("/${suffix}", "/evil.example", "/evil.example"),
    ("/${suffix}", "\\evil.example", "/evil.example"),
])
def test_the_extension_of_a_name_cannot_change_the_host_of_its_target(url, suffix, expected):
    found = targets.extended(url.encode(), TemplateValues(suffix.encode()))
    assert found == (None if expected is None else expected.encode())


@pytest.mark.parametrize(("url", "expected"), [
    ("https://a/x", "https://a/x"),
    ("HTTP://a/x", "HTTP://a/x"),
    ("ftp://a/x", "ftp://a/x"),
    ("mailto:a@b.example", "mailto:a@b.example"),
    ("/docs/x", "/docs/x"),
    ("https://a/ä b", "https://a/%C3%A4%20b"),
    ("https://a/100%", "https://a/100%25"),
    ("https://a/%e4%2f", "https://a/%E4%2F"),
    ("https://a/x\r\nSet-Cookie: a=b", "https://a/x%0D%0ASet-Cookie:%20a=b"),
    ("https://a/\0\x7f\"<>\\^`{}|", "https://a/%00%7F%22%3C%3E%5C%5E%60%7B%7D%7C"),
    ("javascript:alert(1)", None),
    ("JavaScript:alert(1)", None),
    ("java\tscript:alert(1)", None),
    ("\x01javascript:alert(1)", None),
    ("data:text/html,x", None),
    ("vbscript:x", None),
    ("file:///etc/passwd", None),
    ("view-source:https://a/", None),
    ("//evil.example/", None),
    ("/\\evil.example/", None),
    ("https:evil.example", None),
    ("https:///evil.example", None),
    ("https://", None),
    ("http:/\\evil", None),
    ("a sentence", None),
    ("docs/x", None),
    ("", None),
])
def test_a_location_is_safe_or_none(url, expected):
    found = targets.location(url.encode())
    assert found == (None if expected is None else expected.encode())


def test_every_byte_in_a_location_is_allowed_in_a_uri():
    found = targets.location(b"https://a/" + bytes(range(256)))
    assert found is not None and all(0x21 <= octet <= 0x7E for octet in found)


@pytest.mark.parametrize("url", [
    "/nd/noidu_kt5?mint+1", "/noidu", "/noidu_kt5", "/nd/noidu_kt5/", "/nd/noidu_kt5/more", "/nd/%6eoidu_kt5?x",
    "/nd/%256Eoidu_kt5", "/nd/x/../noidu_kt5", "/nd/NOIDU_kt5", "/nd\\noidu_kt5", "/nd/%5Cnoidu_kt5",
    "/nd//noidu_kt5#x", "/nd%2Fnoidu_kt5", "/nd/noid.fcgi/noidu_kt5", "https://id.example.org/nd/noidu_kt5?mint+1",
    "HTTP://127.0.0.1:8080/noidu", "https://id.example.org/%6E%6F%69%64%75_kt5", "/nd/%09noidu_kt5",
])
def test_no_target_leads_to_the_commands_of_a_minter(url):
    assert targets.leads_to_commands(url.encode())
    assert targets.location(url.encode()) is None and not targets.may_be_followed(url.encode())


@pytest.mark.parametrize("url", [
    "/docs/noid", "/docs/about-noidu", "https://noidu.example.org/", "https://e.org/?x=/noidu", "https://e.org/#/noidu",
    "/docs/100%", "https://e.org/%zz/%",
])
def test_other_targets_do_not(url):
    assert not targets.leads_to_commands(url.encode()) and targets.may_be_followed(url.encode())


@pytest.mark.parametrize("text", ["noidu is a program", "mailto:noidu@e.org", "", "urn:noidu"])
def test_what_is_no_path_leads_to_no_commands(text):
    assert not targets.leads_to_commands(text.encode())
