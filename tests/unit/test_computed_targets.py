"""A rule computes targets from what a reader asked for: the reader never chooses the site."""

from __future__ import annotations

import itertools
from urllib.parse import urlsplit

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from noidtools.names import targets
from noidtools.names.targets import Target, TemplateValues
from noidtools.rules import Rule

# Before the text that a rule writes: nothing, a code, blanks of all kinds, another target, an empty target.
BEFORE = ("", "301 ", "302 ", "303  ", "307\t", "308 \t ", " ", "\t", r"\n", "\r", "\x0b", "\x0c", "|", " | ", "302 |",
          "https://e.org/|", "https://e.org/|303 ", "303 https://e.org/ | 302\t")
# What a rule writes, where every target it computes must be at e.org or below example.org.
WRITTEN = ("$1", "${1}", "$&", "https:$1", "https:/$1", "https://$1", "https:///$1", "https://e.org$1", "HTTPS://e.org$1",
           "http://e.org:$1", "https://e.org:8443$1", "https://$1e.org/", "https://$1.example.org/",
           "https://img-$1.example.org/x", "https://$1.example.org$1", "ftp://e.org$1", "https://user@e.org$1",
           "/$1", "//$1", "//e.org$1", r"/\\$1", "mailto:$1", "mailto:info@e.org$1", "mailto:$1@e.org", "https://e.org\\\\$1")
# What a reader asks for.
READ = ("", "/", "/page", "page", ".evil.com", ".evil.com/login", "@evil.com/", ":x@evil.com/", ":443@evil.com",
        "evil.com", "evil.com/", "evil.com/.", "evil.com?", "evil.com#", "evil.com\\", "\\@evil.com/", "/@evil.com/",
        "//evil.com/", "/\\evil.com/", "\\\\evil.com/", "https://evil.com/", "HTTPS://evil.com/", " https://evil.com/",
        "\thttps://evil.com/", "\nhttps://evil.com/", "|https://evil.com/", "302 https://evil.com/",
        "303\thttps://evil.com/", "mailto:me@evil.com", "me@evil.com", ",me@evil.com", "?cc=me@evil.com",
        "javascript:alert(1)", "data:text/html,x", "ftp://evil.com/", "%2eevil.com", "%40evil.com",
        "\uff0eevil.com", "\uff20evil.com", "\u3002evil.com", "evil.com\n", "evil.com\r\n", "evil.com\t", "evil.com ")


def locations(replacement: str, read: str) -> list[str]:
    """Where a browser may be sent by the rule `^x(.*)$` for the name `x` and what follows, as the resolver does it."""
    rule = Rule(b"(?s)^x(.*)$", replacement.encode())
    computed = rule.compute(b"x" + read.encode("utf-8", "surrogatepass").replace(b"|", b"%7C"))
    if computed is None or not targets.stays(computed.value, computed.written):
        return []
    found = [targets.location(target.url) for target in targets.parse(computed.value)]
    return [location.decode() for location in found if location is not None]


def is_expected(location: str) -> bool:
    """Whether a browser that follows a location stays on this server or comes to a site that the rule names."""
    # As the URL standard of browsers has it: backslashes are slashes, and blanks and line breaks do not count.
    text = location.strip().replace("\t", "").replace("\n", "").replace("\r", "")
    if text.lower().startswith("mailto:"):
        address = text[7:].partition("?")[0]
        return address == "" or address.endswith("@e.org") and text.count("@") == 1 and "," not in text
    parts = urlsplit(text.replace("\\", "/"))
    if not parts.scheme:
        return text.startswith("/") and not parts.netloc
    # A reader may cut a host short at a slash; what is left is still what the author wrote.
    return parts.hostname in ("e.org", "img-", "e.org%5C") or str(parts.hostname).endswith(".example.org")


@pytest.mark.parametrize("written", WRITTEN)
def test_no_combination_leads_to_a_site_of_the_readers_choice(written: str) -> None:
    for before, read in itertools.product(BEFORE, READ):
        for location in locations(before + written, read):
            assert is_expected(location), (before + written, read, location)


@given(before=st.sampled_from(BEFORE), written=st.sampled_from(WRITTEN),
       read=st.text(st.sampled_from("evil.com/@:\\?#|% \t\n302htps-\uff0f\u2044\xad")) | st.text())
@example(before="", written="https://e.org$1", read="\\@evil.com/")
def test_no_name_leads_to_a_site_of_the_readers_choice(before: str, written: str, read: str) -> None:
    for location in locations(before + written, read):
        assert is_expected(location), location


@pytest.mark.parametrize(("written", "read", "expected"), [
    ("https://e.org/$1", "a", ["https://e.org/a"]),
    ("303 https://e.org/$1", "a", ["https://e.org/a"]),
    ("https://e.org$1", "/a", ["https://e.org/a"]),
    ("303 https://e.org$1", "?a", ["https://e.org?a"]),
    ("https://e.org/$1|303 https://mirror.example.org/$1", "a", ["https://e.org/a", "https://mirror.example.org/a"]),
    ("https://$1.example.org/x", "lib", ["https://lib.example.org/x"]),
    (" 302  https://$1.example.org/x ", "lib", ["https://lib.example.org/x"]),
    ("https://bücher.example/$1", "a", ["https://xn--bcher-kva.example/a"]),
    ("https://e.org/view?u=$1", "https://evil.com/", ["https://e.org/view?u=https://evil.com/"]),
    ("/docs/$1", "a", ["/docs/a"]),
    ("$1", "/docs", ["/docs"]),
    ("mailto:$1@e.org", "jo.doe", ["mailto:jo.doe@e.org"]),
    ("mailto:info@e.org?subject=$1", "kt4x551", ["mailto:info@e.org?subject=kt4x551"]),
])
def test_what_the_author_of_a_rule_wrote_is_followed(written: str, read: str, expected: list[str]) -> None:
    assert locations(written, read) == expected


@pytest.mark.parametrize(("written", "read"), [
    ("303 https://e.org$1", ".evil.com/login"), ("303 https://e.org$1", "@evil.com/"), ("302 $1", "https://evil.com/"),
    ("$1", " https://evil.com/"), ("\t$1", "https://evil.com/"), (r"\n$1", "https://evil.com/"),
    ("|$1", "https://evil.com/"), ("https://e.org/|$1", "https://evil.com/"), ("$1", "mailto:me@evil.com"),
    ("https://e.org$1", "\\@evil.com/"), ("mailto:info@e.org$1", ".evil.com"), ("mailto:$1", "me@evil.com"),
])
def test_a_site_of_the_readers_choice_is_passed_over(written: str, read: str) -> None:
    assert locations(written, read) == []


def test_text_before_a_match_is_the_readers() -> None:
    computed = Rule(b"/x/(.*)$", b"e.org/$1").compute(b"https:///x/a")
    assert computed is not None and computed.value == b"https://e.org/a"
    assert not targets.stays(computed.value, computed.written)


@given(st.text(st.sampled_from("3012 \t\n\r|a:/\x0b")) | st.text())
def test_spans_and_targets_agree(text: str) -> None:
    value = text.encode("utf-8", "surrogatepass")
    spans = targets._spans(value)
    assert [Target(value[start:end], code) for start, end, code in spans] == targets.parse(value)
    assert all(target.url == target.url.strip() != b"" for target in targets.parse(value))


@pytest.mark.parametrize("suffix", [".evil.com", "?cc=me@evil.com", "/x", ",me@evil.com"])
def test_the_extension_of_a_name_is_not_added_to_a_mailbox(suffix: str) -> None:
    assert targets.extended(b"mailto:info@e.org", TemplateValues(suffix.encode())) is None
    assert targets.extended(b"MailTo:${suffix}@e.org", TemplateValues(suffix.encode())) is None
    assert targets.extended(b"mailto:info@e.org", TemplateValues(b"")) == b"mailto:info@e.org"
