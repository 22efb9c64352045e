from __future__ import annotations

import time

import pytest
from conftest import Noid
from resolver_support import CHECKED, LONG, Live

from noidtools import names
from noidtools.errors import InvalidError, NoidError
from noidtools.minter import identifiers
from noidtools.names import targets
from noidtools.names.targets import Target
from noidtools.resolution import FOUND, GONE, INVALID, NOT_FOUND, resolve
from noidtools.resolution.catalogue import Domain, resolve_among, select_domains

A, B = "https://a.example/", "https://b.example/"


@pytest.fixture
def live(tmp_path):
    """A long-term minter with one bound name, 13030/kt4x551."""
    live = Live(tmp_path, *LONG)
    assert live.minted("https://a.example/x") == "13030/kt4x551"
    yield live
    live.close()


@pytest.fixture
def free(tmp_path):
    """A minter that binds anything."""
    live = Live(tmp_path)
    yield live
    live.close()


def led(live: Live, name: str | bytes, **options) -> str | None:
    """Where a name leads."""
    given = name if isinstance(name, bytes) else name.encode()
    found = resolve(live.minter, given, **options).targets
    return found[0].url.decode() if found else None


def by(live: Live, name: str) -> str:
    return resolve(live.minter, name.encode()).by


# -- spellings ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spelling", [
    "13030/kt4x551",
    "ark:/13030/kt4x551",
    "ark:13030/kt4x551",
    "ARK:/13030/kt4x551",
    "Ark:13030/kt4x551",
    "ark:/13030/kt4-x5-51",
    "ark:/13030/-kt4x551-",
    "ark:/13030/kt4x551/",
    "ark:/13030/kt4x551.",
    "ark:/13030/kt4x551./",
    "ark:/13030/%6bt4x551",
    "ark:/13030/kt4%2Dx551",
    "ark:/13030/kt4‐x551",
    "https://example.org/ark:/13030/kt4x551",
    "http://n2t.net/ark:13030/kt4-x551",
    "<https://example.org/ark:/13030/kt4x551>",
    "info:ark/13030/kt4x551",
    " 13030/kt4x551 ",
])
def test_spellings_of_one_ark_lead_to_one_place(live, spelling):
    assert led(live, spelling) == "https://a.example/x"


@pytest.mark.parametrize("other", [
    "ark:/13030/KT4X551", "ark:/13031/kt4x551", "kt4x551", "ark:/13030/kt4x55", "ark:/13030/kt4x5511",
    "hdl:13030/kt4x551", "ark:/13030", "", " ", "/", "ark:", "ark:/",
])
def test_other_names_do_not(live, other):
    assert led(live, other) is None


def test_handles_dois_urns_and_plain_names_are_each_read_in_their_way(free):
    free.target("hdl:102.100.272/XYZZY", A + "handle")
    free.target("10.1000/abc", A + "doi")
    free.target("urn:isbn:9780596000271", A + "urn")
    free.target("Some Name", A + "plain")
    assert led(free, "HDL:102.100.272/XYZZY") == A + "handle"
    assert led(free, "info:hdl/102.100.272/XYZZY") == A + "handle"
    assert led(free, "https://hdl.handle.net/102.100.272/XYZZY") == A + "handle"
    assert led(free, "hdl:102.100.272/xyzzy") is None
    assert led(free, "doi:10.1000/ABC") == A + "doi"
    assert led(free, "https://doi.org/10.1000/AbC") == A + "doi"
    assert led(free, "URN:ISBN:9780596000271") == A + "urn"
    assert led(free, "Some Name") == A + "plain"
    assert led(free, "Some%20Name") == A + "plain"
    assert led(free, "some name") is None


def test_the_minters_own_labels_are_taken_off(tmp_path):
    live = Live(tmp_path, *LONG, "--label", "ark:/", "--label", "https://id.example/")
    name = live.minted(A)
    assert name == "ark:/13030/kt4x551"
    assert led(live, "13030/kt4x551") == led(live, "https://id.example/13030/kt4x551") == A
    live.close()


def test_hyphens_of_a_template_are_kept_and_those_of_readers_ignored(tmp_path):
    live = Live(tmp_path, "b-c.sdd", "long", "13030", "x", "y")
    assert live.minted(A) == "13030/b-c00"
    assert led(live, "ark:/13030/b-c00") == A
    live.close()


def test_uuids_lead_on_with_and_without_hyphens(free):
    with_hyphens, without = "550e8400-e29b-41d4-a716-446655440000", "123e4567e89b12d3a456426614174000"
    free.target(f"13030/{with_hyphens}", A)
    free.target(f"13030/{without}", B)
    for name, expected in ((with_hyphens, A), (without, B)):
        digits = name.replace("-", "")
        spellings = (digits, f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}")
        for spelling in spellings:
            assert led(free, f"ark:/13030/{spelling}") == expected


# -- stored, alias, withdrawn ------------------------------------------------------------------------------------


def test_the_element_is_t_unless_configured_or_named(live):
    live.target("13030/kt4x551", B, "myGoto")
    assert led(live, "13030/kt4x551") == "https://a.example/x"
    assert led(live, "13030/kt4x551", element=b"myGoto") == B
    live("resolver", "element", "myGoto")
    assert led(live, "13030/kt4x551") == B
    live("resolver", "element", "-")
    assert led(live, "13030/kt4x551") == "https://a.example/x"


@pytest.mark.parametrize("value", ["", " ", "\n", "|", " | | "])
def test_an_empty_target_is_none(live, value):
    live.target("13030/kt4x551", value)
    assert led(live, "13030/kt4x551") is None


def test_an_alias_goes_where_its_target_goes(live):
    live.alias("13030/alias", "ark:/13030/kt4x551")
    live.alias("13030/alias2", "13030/alias")
    assert led(live, "ark:/13030/alias") == led(live, "ark:/13030/ali-as2") == "https://a.example/x"
    assert led(live, "13030/alias2/page?x=1") == "https://a.example/x/page?x=1"
    live.target("13030/kt4x551", B)
    assert led(live, "ark:/13030/alias") == B


def test_an_alias_goes_before_a_stored_target(live):
    other = live.minted(B)
    live.alias(other, "13030/kt4x551")
    assert led(live, other) == "https://a.example/x"


def test_aliases_in_a_circle_end(live):
    live.alias("13030/a", "13030/b")
    live.alias("13030/b", "13030/a")
    assert resolve(live.minter, b"13030/a").kind == NOT_FOUND
    for number in range(40):
        live.alias(f"13030/c{number}", f"13030/c{number + 1}")
    assert resolve(live.minter, b"13030/c0").kind == NOT_FOUND


def test_an_alias_that_grows_with_each_step_ends(live):
    live.alias("13030/a", "13030/a/b")
    assert resolve(live.minter, b"13030/a").kind == NOT_FOUND


def test_a_withdrawn_name_is_gone_and_so_are_its_extensions(live):
    live.withdraw("13030/kt4x551")
    assert resolve(live.minter, b"ark:/13030/kt4x551").kind == GONE
    assert resolve(live.minter, b"ark:/13030/kt4x551/page").kind == GONE
    assert led(live, "ark:/13030/kt4x551") is None


# -- targets -----------------------------------------------------------------------------------------------------


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
def test_values_as_targets(value, expected):
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
def test_the_rest_of_a_name_stays_on_the_targets_site(url, suffix, expected):
    found = targets.extended(url.encode(), suffix.encode())
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
def test_a_location_is_safe_or_there_is_none(url, expected):
    found = targets.location(url.encode())
    assert found == (None if expected is None else expected.encode())


def test_every_byte_in_a_location_is_a_uris():
    found = targets.location(b"https://a/" + bytes(range(256)))
    assert found is not None and all(0x21 <= octet <= 0x7E for octet in found)


# -- rules -------------------------------------------------------------------------------------------------------


def test_the_manuals_two_rules(free):
    free("bind", "set", ":idmap/^ft", "redirect", "g7h")
    free("bind", "set", r":idmap/^ft([^x]+)x(.*)", "my_elem", "$2/g7h/$1")
    assert free("get", "ft89xr2t", "redirect") == "g7h89xr2t\n"
    assert free("get", "ft89xr2t", "my_elem") == "r2t/g7h/89\n"
    assert led(free, "ft89xr2t", element=b"redirect") == "g7h89xr2t"
    assert led(free, "ft89xr2t", element=b"my_elem") == "r2t/g7h/89"


def test_rules_work_on_long_term_minters_without_further_ado(live):
    live("bind", "set", ":idmap/^13030/(kt.*)", "_t", "https://r.example/$1")
    assert led(live, "ark:/13030/ktzzzz9") == "https://r.example/ktzzzz9"
    assert by(live, "ark:/13030/ktzzzz9") == "rule"


def test_a_stored_target_goes_before_a_rule_and_a_rule_before_passthrough(live):
    live("bind", "set", ":idmap/^13030/(.*)", "_t", "https://r.example/$1")
    assert led(live, "ark:/13030/kt4x551") == "https://a.example/x"
    assert led(live, "ark:/13030/kt4x551/page") == "https://r.example/kt4x551/page"
    live("bind", "purge", ":idmap/^13030/(.*)", "_t")
    assert led(live, "ark:/13030/kt4x551/page") == "https://a.example/x/page"


def test_of_several_rules_the_first_in_the_order_of_bytes_wins(free):
    free("bind", "set", ":idmap/^ab", "_t", "second")
    free("bind", "set", ":idmap/^a", "_t", "first")
    free("bind", "set", ":idmap/a$", "_t", "third")
    assert led(free, "abc") == "firstbc"
    free("bind", "purge", ":idmap/^a", "_t")
    assert led(free, "abc") == "secondc"
    assert led(free, "ba") == "bthird"


def test_a_changed_rule_is_seen_at_once(free):
    for number in range(5):
        free("bind", "set", ":idmap/^a", "_t", f"v{number}-")
        assert led(free, "abc") == f"v{number}-bc"
    free("bind", "append", ":idmap/^a", "_t", "$&")
    assert led(free, "abc") == "v4-abc"


def test_a_changed_rule_is_seen_by_other_processes_at_once(free):
    from noidtools.minter import Minter

    free("bind", "set", ":idmap/^a", "_t", "one-")
    assert led(free, "ab") == "one-b"
    # The same object as another process would have: its rules were read before the change.
    reader = Minter(str(free.folder), store=free.minter.store)
    assert resolve(reader, b"ab").value == b"one-b"
    free("bind", "set", ":idmap/^a", "_t", "two-")
    assert resolve(reader, b"ab").value == b"two-b"


@pytest.mark.parametrize(("pattern", "replacement"), [
    ("^ft(", "x"), ("^ft", "$1"), ("^(ft)", "$2"), ("^ft", "$+{name}"), ("[", "x"), ("^ft", "${\\system('id')}"),
    ("^ft", "@{[ 1 ]}$x"), ("", "x"),
])
def test_a_wrong_rule_is_refused_when_it_is_bound(free, pattern, replacement):
    with pytest.raises(InvalidError):
        free("bind", "set", f":idmap/{pattern}", "_t", replacement)
    assert led(free, "ft1") is None


def test_a_rule_that_becomes_wrong_by_appending_is_refused(free):
    free("bind", "set", ":idmap/^ft", "_t", "x")
    with pytest.raises(InvalidError):
        free("bind", "append", ":idmap/^ft", "_t", "$1")
    assert led(free, "ft1") == "x1"


def test_fetch_says_when_a_value_came_from_a_rule(free):
    free("bind", "set", ":idmap/^ft", "_t", "g7h")
    assert "note: _t was computed by the rule :idmap/^ft\n" in free("fetch", "ft1", "_t")


def test_rules_see_the_normal_form_and_then_the_name_as_written(live):
    live("bind", "set", ":idmap/^13030/(.*)", "_t", "https://r.example/$1")
    assert led(live, "ark:/13030/zz-1") == led(live, "ARK:13030/zz1") == "https://r.example/zz1"
    live("bind", "set", ":idmap/^13030/(.*)", "_t", "https://r.example/$1")
    live("bind", "purge", ":idmap/^13030/(.*)", "_t")
    live("bind", "set", ":idmap/^ark:/13030/(.*)", "_t", "https://w.example/$1")
    assert led(live, "ark:/13030/zz-1") == "https://w.example/zz-1"


def test_a_rule_gets_the_query_as_part_of_the_name_or_behind_its_result(free):
    free("bind", "set", ":idmap/^13030/(.*)", "_t", "https://r.example/$1")
    assert led(free, "ark:/13030/ft1?a=b-c") == "https://r.example/ft1?a=b-c"
    free("bind", "set", ":idmap/^99999/(\\w+)$", "_t", "https://s.example/$1")
    assert led(free, "ark:/99999/ft1?a=b") == "https://s.example/ft1?a=b"


@pytest.mark.parametrize("pattern", [
    r"^(a+)+$", r"^(a|aa)+$", r"^(\w+\s?)*$", r"(.*a){25}", r"^(([a-z])+.)+[A-Z]([a-z])+$",
])
def test_a_catastrophic_pattern_costs_milliseconds_and_matches_nothing(free, pattern):
    free("bind", "set", f":idmap/{pattern}", "_t", "https://r.example/")
    started = time.thread_time()
    outcome = resolve(free.minter, b"a" * 60 + b"!")
    assert time.thread_time() - started < 0.5
    assert outcome.kind == NOT_FOUND


def test_a_hundred_rules_and_each_finds_its_names(free):
    for number in range(100):
        free("bind", "set", f":idmap/^13030/p{number:02d}(.*)", "_t", f"https://r{number}.example/$1")
    for number in range(100):
        assert led(free, f"ark:/13030/p{number:02d}xyz") == f"https://r{number}.example/xyz"
    started = time.thread_time()
    for _ in range(200):
        led(free, "ark:/13030/p99xyz")
    assert (time.thread_time() - started) / 200 < 0.005


# -- passthrough -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "expected"), [
    ("ark:/13030/kt4x551/page", "https://a.example/x/page"),
    ("ark:/13030/kt4x551/a/b.pdf", "https://a.example/x/a/b.pdf"),
    ("ark:/13030/kt4x551.pdf", "https://a.example/x.pdf"),
    ("ark:/13030/kt4x551?x=1&y=a-b", "https://a.example/x?x=1&y=a-b"),
    ("ark:/13030/kt4-x551/my-file.pdf?x-y", "https://a.example/x/my-file.pdf?x-y"),
    ("ark:/13030/kt4x551/a%20b", "https://a.example/x/a%20b"),
    ("ark:/13030/kt4x551/a?b/c.d", "https://a.example/x/a?b/c.d"),
    ("ark:/13030/kt4x551#frag", "https://a.example/x#frag"),
    ("ark:/13030/kt4x551/../../etc", "https://a.example/x/../../etc"),
    ("ark:/13030/kt4x551x", None),
    ("ark:/13030/kt4x55", None),
    ("ark:/13030/kt4x551=1", None),
    ("ark:/13030/other/kt4x551", None),
    ("ark:/13030/", None),
    ("ark:/13030?x", None),
])
def test_extensions_of_a_bound_name(live, name, expected):
    assert led(live, name) == expected


def test_the_longest_bound_name_is_the_one(free):
    free.target("13030/kt1", A + "short")
    free.target("13030/kt1/chapter", A + "chapter")
    free.target("13030/kt1/chapter.v2", A + "v2")
    free.target("13030/kt11", A + "other")
    assert led(free, "ark:/13030/kt1/x") == A + "short/x"
    assert led(free, "ark:/13030/kt1/chapters") == A + "short/chapters"
    assert led(free, "ark:/13030/kt1/chapter/7") == A + "chapter/7"
    assert led(free, "ark:/13030/kt1/chapter.v2.pdf") == A + "v2.pdf"
    assert led(free, "ark:/13030/kt1/chapter.v1") == A + "chapter.v1"
    assert led(free, "ark:/13030/kt11/x") == A + "other/x"
    assert led(free, "ark:/13030/kt111/x") is None


def test_a_query_that_was_bound_is_part_of_a_name(free):
    free.target("13030/kt1", A)
    free.target("13030/kt1?v=2", B)
    assert led(free, "13030/kt1?v=2") == B
    assert led(free, "ark:/13030/kt1?v=2") == B
    assert led(free, "ark:/13030/kt1?v=3") == A + "?v=3"


def test_a_target_may_say_where_the_rest_goes(live):
    live.target("13030/kt4x551", "https://a.example/view?path=${suffix}&lang=en")
    assert led(live, "ark:/13030/kt4x551/p1") == "https://a.example/view?path=/p1&lang=en"
    assert led(live, "ark:/13030/kt4x551") == "https://a.example/view?path=&lang=en"


def test_all_targets_of_a_name_get_the_rest(live):
    live.target("13030/kt4x551", "https://a.example/x|303 https://b.example/y")
    found = resolve(live.minter, b"ark:/13030/kt4x551/p").targets
    assert found == [Target(b"https://a.example/x/p"), Target(b"https://b.example/y/p", 303)]


def test_passthrough_can_be_turned_off_for_a_minter(live):
    live("resolver", "passthrough", "off")
    assert led(live, "ark:/13030/kt4x551/page") is None
    assert led(live, "ark:/13030/kt4x551?x=1") is None
    assert led(live, "ark:/13030/kt4x551") == "https://a.example/x"
    live("resolver", "passthrough", "on")
    assert led(live, "ark:/13030/kt4x551/page") == "https://a.example/x/page"


def test_passthrough_can_be_turned_off_for_a_name(live):
    other = live.minted(B + "y")
    live("resolver", "passthrough", "off", "13030/kt4x551")
    assert led(live, "ark:/13030/kt4x551/page") is None
    assert led(live, "ark:/13030/kt4x551") == "https://a.example/x"
    assert led(live, f"ark:/{other}/page") == B + "y/page"
    live("resolver", "passthrough", "on", "13030/kt4x551")
    assert led(live, "ark:/13030/kt4x551/page") == "https://a.example/x/page"


@pytest.mark.parametrize("name", [
    b"ark:/13030/" + b"a/" * 30000, b"/" * 65536, b"." * 60000, b"%41" * 20000, b"ark:/13030/" + b"-" * 60000,
    b"\xff" * 60000, b"a" * 70000, b"?" * 60000, b"ark:" * 16000, b"https://" * 8000, b"x/ark:/1" * 8000,
    b"http://a/" + b"ark:" * 15000,
])
def test_a_long_hostile_name_costs_little(live, name):
    started = time.thread_time()
    assert resolve(live.minter, name).kind == NOT_FOUND
    assert time.thread_time() - started < 1


# -- fallback ----------------------------------------------------------------------------------------------------


def test_the_fallback_gets_what_nothing_else_answers(live):
    live("resolver", "fallback", "https://n2t.net/")
    assert led(live, "ark:/99999/x-y?z") == "https://n2t.net/ark:/99999/x-y?z"
    assert by(live, "ark:/99999/x") == "fallback"
    assert led(live, "99999/x") == "https://n2t.net/ark:/99999/x"
    assert led(live, "some words") == "https://n2t.net/some words"
    assert led(live, "") is None and led(live, " ") is None
    assert led(live, "ark:/13030/kt4x551") == "https://a.example/x"
    live("resolver", "fallback", "https://g.example/find?id=${name}")
    assert led(live, "ark:/99999/x") == "https://g.example/find?id=ark:/99999/x"
    live("resolver", "fallback", "-")
    assert led(live, "ark:/99999/x") is None


@pytest.mark.parametrize("name", [b".evil.example", b"@evil.example", b"//evil.example", b"x|https://evil.example",
                                  b"a\nhttps://evil.example", b":x@evil.example/"])
def test_nobody_can_bend_the_fallback(live, name):
    live("resolver", "fallback", "https://n2t.net")
    found = resolve(live.minter, name).targets
    assert len(found) == 1 and found[0].url.startswith(b"https://n2t.net/") and b"\n" not in found[0].url


@pytest.mark.parametrize("base", [
    "n2t.net", "javascript:alert(1)//", "https://${name}/", "/x", "", "https://", "ftp:x",
])
def test_a_fallback_that_is_no_resolver_is_refused(live, base):
    with pytest.raises(NoidError):
        live("resolver", "fallback", base)


# -- check characters --------------------------------------------------------------------------------------------


@pytest.fixture
def checked(tmp_path):
    live = Live(tmp_path, *CHECKED)
    assert live.minted(A) == "13030/f54x54g11"
    yield live
    live.close()


def meant(live: Live, name: str) -> bytes | None:
    asked = names.parse(name.encode())
    return live.minter.read(lambda reader: identifiers.suggest_correction(live.minter, reader, asked))


@pytest.mark.parametrize("name", [
    "13030/f54y54g11", "13030/f54x45g11", "13030/f54x54g12", "ark:/13030/f54x54g1l", "ark:/13030/f54-x54-g21",
    "ark:/13030/f54x54g12/page.pdf", "ark:13030/f5Ax54g11", "ark:/13030/f54x54g12?x",
])
def test_a_mistyped_name_is_called_so_and_the_right_one_is_found(checked, name):
    assert resolve(checked.minter, name.encode()).kind == INVALID
    assert meant(checked, name) == b"13030/f54x54g11"


@pytest.mark.parametrize("name", [
    "13030/f50000005", "13030/f54x54g", "13030/f54x54g111", "13030/g54x54g11", "f54x54g11",
])
def test_a_name_that_is_right_or_of_another_form_is_only_unknown(checked, name):
    assert resolve(checked.minter, name.encode()).kind == NOT_FOUND


def test_a_mistyped_name_is_not_sent_to_the_fallback(checked):
    checked("resolver", "fallback", "https://n2t.net/")
    assert resolve(checked.minter, b"13030/f54x54g12").kind == INVALID
    assert resolve(checked.minter, b"13030/f50000005").by == "fallback"


def test_nothing_is_offered_when_nothing_or_more_than_one_is_near(checked):
    assert meant(checked, "13030/f5zzzzzzz") is None
    known = {*checked("mint", "2000").split()[1::2], "13030/f54x54g11"}
    ambiguous = [text for text in _between(sorted(known)) if len(_near(text) & known) > 1]
    assert ambiguous
    for text in ambiguous[:5]:
        assert resolve(checked.minter, text.encode()).kind == INVALID
        assert meant(checked, text) is None


def _between(identifiers: list[str]) -> list[str]:
    """Of identifiers that differ in two places, what has one character of each: one error away from both."""
    found = []
    for number, one in enumerate(identifiers[:300]):
        for other in identifiers[number + 1 : number + 200]:
            differ = [place for place, pair in enumerate(zip(one, other, strict=True)) if pair[0] != pair[1]]
            if len(differ) == 2:
                found.append(one[: differ[0]] + other[differ[0]] + one[differ[0] + 1 :])
    return found


def _near(text: str) -> set[str]:
    letters = "0123456789bcdfghjkmnpqrstvwxz"
    found = {text[:place] + letter + text[place + 1 :] for place in range(8, len(text)) for letter in letters}
    return found | {text[:p] + text[p + 1] + text[p] + text[p + 2 :] for p in range(8, len(text) - 1)}


# -- many minters ------------------------------------------------------------------------------------------------


@pytest.fixture
def several(tmp_path):
    made = {
        "kt": Live(tmp_path / "kt", *LONG),
        "kt4": Live(tmp_path / "kt4", "kt4.zd", "long", "13030", "x", "y"),
        "other": Live(tmp_path / "other", "kt.reeded", "long", "99999", "x", "y"),
        "free": Live(tmp_path / "free"),
        "free2": Live(tmp_path / "free2"),
        "digits": Live(tmp_path / "digits", ".zd"),
    }
    yield made
    for live in made.values():
        live.close()


def domains(several: dict[str, Live]) -> list[Domain]:
    return [Domain(name, live.minter) for name, live in several.items()]


@pytest.mark.parametrize(("name", "expected"), [
    ("ark:/13030/kt154d9", ["kt"]),
    ("ark:/13030/kt40", ["kt4"]),
    ("ARK:13030/k-t40/page", ["kt4"]),
    ("99999/kt4", ["other"]),
    ("ark:/12345/kt4", ["free", "free2", "digits"]),
    ("anything", ["free", "free2", "digits"]),
])
def test_a_name_goes_to_the_minter_whose_naan_and_prefix_it_carries(several, name, expected):
    assert [domain.name for domain in select_domains(domains(several), names.parse(name.encode()))] == expected


def among(several: dict[str, Live], name: str) -> bytes | str:
    outcome = resolve_among(domains(several), name.encode())
    return outcome.targets[0].url if outcome.targets else outcome.kind


def test_many_minters_answer_as_one(several):
    several["kt"].mint()
    name = several["kt"].minted(A + "kt")
    several["kt4"].minted(A + "kt4")
    several["free2"].target("anything", A + "free2")
    several["digits"].minted(A + "digits")
    assert among(several, f"ark:/{name}") == (A + "kt").encode()
    assert among(several, "ark:/13030/kt40") == (A + "kt4").encode()
    assert among(several, "anything/page") == (A + "free2/page").encode()
    assert among(several, "0") == (A + "digits").encode()
    assert among(several, "ark:/13030/kt4zzz") == NOT_FOUND


def test_an_alias_may_lead_to_another_minter(several):
    several["free"].alias("old", "ark:/13030/kt40")
    several["kt4"].minted(A)
    assert among(several, "old/page") == (A + "page").encode()


def test_what_no_minter_answers_goes_to_a_fallback(several):
    several["digits"]("resolver", "fallback", "https://n2t.net/")
    assert among(several, "ark:/12345/x") == b"https://n2t.net/ark:/12345/x"
    assert among(several, "ark:/13030/kt9") == b"https://n2t.net/ark:/13030/kt9"


def test_the_fallback_of_the_minter_that_was_asked_goes_first(several):
    several["digits"]("resolver", "fallback", "https://digits.example/")
    several["kt"]("resolver", "fallback", "https://kt.example/")
    assert among(several, "ark:/13030/kt9") == b"https://kt.example/ark:/13030/kt9"


def test_no_minters_no_answers():
    assert resolve_among([], b"x").kind == NOT_FOUND


# -- the commands ------------------------------------------------------------------------------------------------


def test_resolve_prints_the_target(live):
    assert live("resolve", "ark:/13030/kt4-x551/p") == "https://a.example/x/p\n"
    assert live("resolve", "--element", "_t", "ark:/13030/kt4x551") == "https://a.example/x\n"
    with pytest.raises(NoidError, match="nothing is known of this name"):
        live("resolve", "ark:/13030/kt0")


def test_explain_prints_the_steps(live):
    live("bind", "set", ":idmap/^nothing", "_t", "x")
    live.alias("13030/alias", "ark:/13030/kt4x551")
    assert live("resolve", "--explain", "ark:/13030/ali-as/my-p?q") == (
        "given: ark:/13030/ali-as/my-p?q\n"
        "normal form: 13030/alias/myp and ?q\n"
        "alias: it is none\n"
        "stored: nothing is bound to _t\n"
        "rule: none of 1 matches\n"
        "passthrough: 13030/alias is the longest bound name; the rest is /my-p?q\n"
        "given: ark:/13030/kt4x551/my-p?q\n"
        "normal form: 13030/kt4x551/myp and ?q\n"
        "alias: it is none\n"
        "stored: nothing is bound to _t\n"
        "rule: none of 1 matches\n"
        "passthrough: 13030/kt4x551 is the longest bound name; the rest is /my-p?q\n"
        "answer: 302 https://a.example/x/my-p?q\n"
    )
    assert live("resolve", "--explain", "zzz").endswith(
        "fallback: there is none\nanswer: not found: zzz does not resolve: nothing is known of this name\n")
    live.withdraw("13030/kt4x551")
    assert "stored: 13030/kt4x551 was withdrawn\n" in live("resolve", "--explain", "13030/kt4x551")


def test_the_steps_and_the_quick_way_agree(live):
    for name in ("13030/kt4x551", "ark:13030/kt4x551/x", "zzz", "", "ark:/13030/kt4x551?q"):
        trace: list[tuple[str, bytes]] = []
        quick, slow = resolve(live.minter, name.encode()), resolve(live.minter, name.encode(), trace=trace)
        assert (quick.kind, quick.by, quick.targets) == (slow.kind, slow.by, slow.targets)
        assert trace


def test_canaries_notice_wrong_answers(noid):
    noid("dbcreate", *LONG)
    (name,) = noid.ids(1)
    noid("bind", "set", name, "_t", A)
    assert noid("check").startswith("note: ")
    noid("resolver", "canary", f"ark:/{name}")
    noid("resolver", "canary", "ark:/13030/nothing", "not found")
    assert noid("check") == f"ok: ark:/{name} leads to {A}\nok: ark:/13030/nothing leads to not found\n\n"
    assert f"canary: ark:/{name} {A}\n" in noid("resolver")
    noid("bind", "set", name, "_t", B)
    done = noid.run("check")
    assert done.returncode == 1
    assert f"error: ark:/{name} leads to {B}, not to {A}\n" in done.stdout.decode()
    noid("resolver", "canary", f"ark:/{name}", "-")
    assert noid("check") == "ok: ark:/13030/nothing leads to not found\n\n"


def test_wrong_words_are_refused(live):
    for words in (["resolve"], ["resolve", "a", "b"], ["resolver", "passthrough", "maybe"], ["resolver", "colour", "x"],
                  ["resolver", "element"], ["resolver", "passthrough", "maybe", "13030/kt4x551"], ["check", "x"],
                  ["export", "--map", "xml", "f"], ["export", "--map", "txt"], ["resolve-loop"],
                  ["resolver", "element", "a", "b"]):
        with pytest.raises(NoidError):
            live(*words)


def test_check_asks_other_servers_only_from_the_shell(live):
    live("resolver", "canary", "13030/kt4x551")
    with pytest.raises(NoidError, match="only be used at the shell"):
        live("check", "--through", "http://127.0.0.1:1/")


def test_outcomes_are_found_by_the_step_that_decided(live):
    assert by(live, "13030/kt4x551") == "stored"
    assert by(live, "13030/kt4x551/x") == "passthrough"
    assert resolve(live.minter, b"13030/kt4x551").kind == FOUND


def test_a_rule_does_not_speak_over_what_was_withdrawn_reserved_or_stored(tmp_path):
    noid = Noid(tmp_path)
    noid("dbcreate", "kt5.reeedk", "long", "13030", "a", "b")
    stored, gone, kept = noid.ids(3)
    for name in (stored, gone, kept):
        noid("bind", "set", name, "_t", "https://stored.example/")
    noid("bind", "set", ":idmap/^13030/kt5(.*)", "_t", "https://rule.example/$1")
    noid("withdraw", gone)
    noid("reserve", kept)
    for rest in ("", "?x=1", "/a", ".v2", "/a?x=1"):
        assert "withdrawn" in noid.refused("resolve", f"ark:/{gone}{rest}"), rest
        assert "reserved" in noid.refused("resolve", f"ark:/{kept}{rest}"), rest
    assert noid("resolve", f"ark:/{stored}?x=1") == "https://stored.example/?x=1\n"
    # An extension is another name, and rules come before passthrough.
    assert noid("resolve", f"ark:/{stored}/a") == f"https://rule.example/{stored[9:]}/a\n"


@pytest.mark.parametrize(("replacement", "name", "target"), [
    ("https://e.org$1", "q/path", "https://e.org/path"),
    ("https://e.org$1", "q.evil.com/", None),
    ("https://e.org$1", "q@evil.com", None),
    ("$1", "qhttps://evil.com/", None),
    ("https://e.org/$1", "qx|https://evil.com/", "https://e.org/x%7Chttps://evil.com/"),
    ("https://$1.example.org/x", "qlib", "https://lib.example.org/x"),
    ("https://$1.example.org/x", "qevil.com/", None),
    ("/$1", "q/evil.com", None),
    ("/docs/$1", "qa", "/docs/a"),
])
def test_a_rule_never_lets_a_reader_choose_the_host(tmp_path, replacement, name, target):
    noid = Noid(tmp_path)
    noid("dbcreate")
    noid("bind", "set", ":idmap/^q(.*)", "_t", replacement)
    if target is None:
        assert noid.refused("resolve", name)
    else:
        assert noid("resolve", name) == f"{target}\n"
