"""Rules bound to a minter: what they compute, and what goes before them."""

from __future__ import annotations

import time

import pytest

from noidtools.errors import InvalidError
from noidtools.resolution import NOT_FOUND, resolve
from support.minter import Noid


def test_rules_compute_what_is_not_stored(noid):
    noid("dbcreate", "-", "medium")
    noid("bind", "set", ":idmap/^ft", "redirect", "g7h")
    assert noid("get", "ft89xr2t", "redirect") == "g7h89xr2t\n"
    noid("bind", "set", ":idmap/^ft([^x]+)x(.*)", "my_elem", "$2/g7h/$1")
    assert noid("get", "ft89xr2t", "my_elem") == "r2t/g7h/89\n"
    assert "note: my_elem was computed by the rule :idmap/^ft([^x]+)x(.*)" in noid("fetch", "ft89xr2t", "my_elem")
    assert noid("get", ":idmap/^ft") == "g7h\n"
    assert noid.refused("bind", "set", ":idmap/(", "e", "v", status=1)
    noid("bind", "delete", ":idmap/^ft", "redirect")
    noid.refused("get", "ft89xr2t", "redirect", status=1)


def test_the_two_rules_of_the_manual_compute_and_resolve(free):
    free.text("bind", "set", ":idmap/^ft", "redirect", "g7h")
    free.text("bind", "set", r":idmap/^ft([^x]+)x(.*)", "my_elem", "$2/g7h/$1")
    assert free.text("get", "ft89xr2t", "redirect") == "g7h89xr2t\n"
    assert free.text("get", "ft89xr2t", "my_elem") == "r2t/g7h/89\n"
    assert free.target_of("ft89xr2t", element=b"redirect") == "g7h89xr2t"
    assert free.target_of("ft89xr2t", element=b"my_elem") == "r2t/g7h/89"


def test_a_replacement_folds_the_case_of_what_it_inserts(noid):
    noid("dbcreate")
    noid("bind", "set", ":idmap/^z(.*)-(.*)", "el", r"\L$1\E/\U\2")
    assert noid("get", "zFoo-Bar", "el") == "foo/BAR\n"


def test_rules_apply_to_long_term_minters(minter):
    minter.text("bind", "set", ":idmap/^13030/(kt.*)", "_t", "https://r.example/$1")
    assert minter.target_of("ark:/13030/ktzzzz9") == "https://r.example/ktzzzz9"
    assert minter.outcome("ark:/13030/ktzzzz9").by == "rule"


def test_a_stored_target_goes_before_a_rule_and_a_rule_before_passthrough(minter):
    minter.text("bind", "set", ":idmap/^13030/(.*)", "_t", "https://r.example/$1")
    assert minter.target_of("ark:/13030/kt4x551") == "https://a.example/x"
    assert minter.target_of("ark:/13030/kt4x551/page") == "https://r.example/kt4x551/page"
    minter.text("bind", "purge", ":idmap/^13030/(.*)", "_t")
    assert minter.target_of("ark:/13030/kt4x551/page") == "https://a.example/x/page"


def test_of_several_rules_the_first_in_the_order_of_bytes_wins(free):
    free.text("bind", "set", ":idmap/^ab", "_t", "second")
    free.text("bind", "set", ":idmap/^a", "_t", "first")
    free.text("bind", "set", ":idmap/a$", "_t", "third")
    assert free.target_of("abc") == "firstbc"
    free.text("bind", "purge", ":idmap/^a", "_t")
    assert free.target_of("abc") == "secondc"
    assert free.target_of("ba") == "bthird"


def test_a_changed_rule_is_seen_at_once(free):
    for number in range(5):
        free.text("bind", "set", ":idmap/^a", "_t", f"v{number}-")
        assert free.target_of("abc") == f"v{number}-bc"
    free.text("bind", "append", ":idmap/^a", "_t", "$&")
    assert free.target_of("abc") == "v4-abc"


def test_a_changed_rule_is_seen_by_other_processes_at_once(free):
    from noidtools.minter import Minter

    free.text("bind", "set", ":idmap/^a", "_t", "one-")
    assert free.target_of("ab") == "one-b"
    # The same object as another process would have: its rules were read before the change.
    reader = Minter(str(free.folder), store=free.opened.store)
    assert resolve(reader, b"ab").value == b"one-b"
    free.text("bind", "set", ":idmap/^a", "_t", "two-")
    assert resolve(reader, b"ab").value == b"two-b"


@pytest.mark.parametrize(("pattern", "replacement"), [
    ("^ft(", "x"), ("^ft", "$1"), ("^(ft)", "$2"), ("^ft", "$+{name}"), ("[", "x"), ("^ft", "${\\system('id')}"),
    ("^ft", "@{[ 1 ]}$x"), ("", "x"),
])
def test_a_wrong_rule_is_refused_when_it_is_bound(free, pattern, replacement):
    with pytest.raises(InvalidError):
        free.text("bind", "set", f":idmap/{pattern}", "_t", replacement)
    assert free.target_of("ft1") is None


def test_a_rule_that_becomes_wrong_by_appending_is_refused(free):
    free.text("bind", "set", ":idmap/^ft", "_t", "x")
    with pytest.raises(InvalidError):
        free.text("bind", "append", ":idmap/^ft", "_t", "$1")
    assert free.target_of("ft1") == "x1"


def test_fetch_says_when_a_value_came_from_a_rule(free):
    free.text("bind", "set", ":idmap/^ft", "_t", "g7h")
    assert "note: _t was computed by the rule :idmap/^ft\n" in free.text("fetch", "ft1", "_t")


def test_rules_see_the_normal_form_and_then_the_name_as_written(minter):
    minter.text("bind", "set", ":idmap/^13030/(.*)", "_t", "https://r.example/$1")
    assert minter.target_of("ark:/13030/zz-1") == minter.target_of("ARK:13030/zz1") == "https://r.example/zz1"
    minter.text("bind", "set", ":idmap/^13030/(.*)", "_t", "https://r.example/$1")
    minter.text("bind", "purge", ":idmap/^13030/(.*)", "_t")
    minter.text("bind", "set", ":idmap/^ark:/13030/(.*)", "_t", "https://w.example/$1")
    assert minter.target_of("ark:/13030/zz-1") == "https://w.example/zz-1"


def test_a_pattern_may_begin_with_a_label_of_the_minter(tmp_path):
    noid = Noid.created(tmp_path / "f5", "--label", "ark:/", "f5.reedeedk", "long", "13030", "example.org", "x")
    noid.records("bind", "set", ":idmap/^ark:/13030/y(.*)", "_t", "https://w.example/$1")
    for spelling in ("ark:/13030/y-9", "ark:13030/y9", "13030/y9", "https://n2t.net/ark:/13030/y9"):
        assert noid.target_of(spelling) == "https://w.example/9"
        assert noid.text("get", spelling, "_t") == "https://w.example/9\n"


def test_a_rule_gets_the_query_as_part_of_the_name_or_behind_its_result(free):
    free.text("bind", "set", ":idmap/^13030/(.*)", "_t", "https://r.example/$1")
    assert free.target_of("ark:/13030/ft1?a=b-c") == "https://r.example/ft1?a=b-c"
    free.text("bind", "set", ":idmap/^99999/(\\w+)$", "_t", "https://s.example/$1")
    assert free.target_of("ark:/99999/ft1?a=b") == "https://s.example/ft1?a=b"


@pytest.mark.parametrize("pattern", [
    r"^(a+)+$", r"^(a|aa)+$", r"^(\w+\s?)*$", r"(.*a){25}", r"^(([a-z])+.)+[A-Z]([a-z])+$",
])
def test_a_catastrophic_pattern_costs_milliseconds_and_matches_nothing(free, pattern):
    free.text("bind", "set", f":idmap/{pattern}", "_t", "https://r.example/")
    started = time.thread_time()
    outcome = free.outcome(b"a" * 60 + b"!")
    assert time.thread_time() - started < 0.5
    assert outcome.kind == NOT_FOUND


def test_a_hundred_rules_resolve_each_its_own_names(free):
    for number in range(100):
        free.text("bind", "set", f":idmap/^13030/p{number:02d}(.*)", "_t", f"https://r{number}.example/$1")
    for number in range(100):
        assert free.target_of(f"ark:/13030/p{number:02d}xyz") == f"https://r{number}.example/xyz"
    started = time.thread_time()
    for _ in range(200):
        free.target_of("ark:/13030/p99xyz")
    assert (time.thread_time() - started) / 200 < 0.005


def test_a_rule_does_not_override_a_withdrawn_reserved_or_stored_name(tmp_path):
    noid = Noid(tmp_path)
    noid("dbcreate", "kt5.reeedk", "long", "13030", "a", "b")
    stored, gone, kept = noid.ids(3)
    for name in (stored, gone, kept):
        noid("bind", "set", name, "_t", "https://stored.example/")
    noid("bind", "set", ":idmap/^13030/kt5(.*)", "_t", "https://rule.example/$1")
    noid("alias", "13030/kt5old", gone)
    noid("withdraw", gone)
    noid("reserve", kept)
    for rest in ("", "?x=1", "/a", ".v2", "/a?x=1"):
        assert "withdrawn" in noid.refused("resolve", f"ark:/{gone}{rest}"), rest
        assert "reserved" in noid.refused("resolve", f"ark:/{kept}{rest}"), rest
    # Escapes and odd characters make no other name of it, neither for rules nor for the fallback.
    for fallback in ("-", "https://elsewhere.example/"):
        noid("resolver", "fallback", fallback)
        for rest in ("%2Fx", "%2fx", "%252Fx", "|x", "%7Cx", "%3Fx", "%2Ev2", " x", "%20x", "\\x", "%5Cx", '"', "<x>",
                     "(x)", "^", "`", "{x}", "[x]", "%00x", "%", "%zz", "'x", "%2F..%2Fx", "%2Fx/y?z"):
            for spelled in (gone, f"ark:/{gone}", f"ark:{gone}", f"https://n2t.net/ark:/{gone}", "13030/kt5old",
                            f"ark:/{gone[:8]}%{ord(gone[8]):02x}{gone[9:]}"):
                assert "withdrawn" in noid.refused("resolve", spelled + rest), spelled + rest
            assert "reserved" in noid.refused("resolve", f"ark:/{kept}{rest}"), rest
        assert "withdrawn" in noid.refused("resolve", "13030/kt5old/x")
    # What letters are added to it makes another name.
    assert noid("resolve", f"ark:/{gone}2") == f"https://rule.example/{gone[9:]}2\n"
    assert noid("resolve", f"ark:/{gone}_x%2Fy") == f"https://rule.example/{gone[9:]}_x%2Fy\n"
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
    (r"https://e.org/\L$1", "qA/B", "https://e.org/a/b"),
    (r"https://e.org\L$1", "q.EVIL.com/", None),
    (r"\LHTTPS://e.org/\E$1", "qA", "https://e.org/A"),
    (r"https://\1.example.org/\x78", "qlib", "https://lib.example.org/x"),
])
def test_a_rule_never_lets_a_reader_choose_the_host(tmp_path, replacement, name, target):
    noid = Noid(tmp_path)
    noid("dbcreate")
    noid("bind", "set", ":idmap/^q(.*)", "_t", replacement)
    if target is None:
        assert noid.refused("resolve", name)
    else:
        assert noid("resolve", name) == f"{target}\n"
