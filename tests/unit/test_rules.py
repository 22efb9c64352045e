"""Rules: patterns and replacements, bounded in time."""

from __future__ import annotations

import threading
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from noidtools import rules
from noidtools.errors import InvalidError
from noidtools.rules import Rule, RuleSet


def refusal(pattern: bytes, replacement: bytes = b"") -> str:
    with pytest.raises(InvalidError) as caught:
        Rule(pattern, replacement)
    return caught.value.message


def test_the_manuals_two_examples_give_the_manuals_results():
    assert Rule(b"^ft", b"g7h").apply(b"ft89xr2t") == b"g7h89xr2t"
    assert Rule(rb"^ft([^x]+)x(.*)", b"$2/g7h/$1").apply(b"ft89xr2t") == b"r2t/g7h/89"


# What perl 5.36 makes of s/pattern/replacement/ on each identifier.
PERL = [
    (rb"ft", b"<$&>", b"xftft", b"x<ft>ft"),
    (rb"x*", b"-", b"abc", b"-abc"),
    (rb"$", b"/end", b"abc", b"abc/end"),
    (rb"(a)|(b)", b"[$1][$2]", b"b", b"[][b]"),
    (rb"(?<n>a+)(?<m>b)?", b"$+{m}/$+{n}", b"aac", b"/aac"),
    (rb"(?<n>a)|(?<n>b)", b"<$+{n}>", b"b", b"<b>"),
    (rb"(f)(t)(8)(9)(x)(r)(2)(t)?(a)?(.)?", b"$10$8${1}0", b"ft89xr2t", b"tf0"),
    (rb"(?i)^FT", b"g", b"ft8", b"g8"),
    (rb"(?x) f t # c", b"g", b"ft8", b"g8"),
    (rb"a\Kb", b"-", b"cab", b"ca-"),
    (rb"(?|(f)|(t))8?", b"<$1>", b"t8", b"<t>"),
    (rb"\x{2f}|\x2F", b":", b"a/b", b"a:b"),
    (rb"[\x{61}-\x{63}]+", b"", b"xabcd", b"xd"),
    (rb"\\x{2}", b"-", rb"a\xxb", b"a-b"),
    (rb"\x{1F600}", b"-", "a\U0001f600".encode(), b"a-"),
    (rb"ab", b"\\$1\\\\\\/\\@\\ \\\xc3\xa9", b"ab", b"$1\\/@ \xc3\xa9"),
    (rb"ab", b"a\\tb\\n %h #", b"ab", b"a\tb\n %h #"),
    (rb"b$", b"-", b"ab\n", b"a-\n"),
    (rb"^(\w+)-(\w+)", rb"\U$1\E/\L$2", b"fT-aB", b"FT/ab"),
    (rb"^(\w+)-(\w+)", rb"\u\L$1-\l$2", b"fT-AB", b"Ft-ab"),
    (rb"^(\w+)-(\w+)", rb"\L\u$1\E$2", b"fT-AB", b"FtAB"),
    (rb"^(\w+)-(\w+)", rb"\Uab$1\LCD$2\EXy\Ez", b"fT-AB", b"ABFTcdabXyz"),
    (rb"^.+", rb"\Q$&\E.", b"a.b-c_d", rb"a\.b\-c_d."),
    (rb"^(.)(.)", rb"\Q\U$2\E$1.", b"a.b", rb"\.a\.b"),
    (rb"^(.)(.)", rb"\2\1\x41\x{e9}", b"abc", "baAéc".encode()),
    (rb"^(.+)", rb"\U$1/\u\l$1", "éa".encode(), "ÉA/ÉA".encode()),
    (rb"^(.)(.)?", rb"\u$2$1", b"a", b"a"),
    (rb"(*COMMIT)[t]|f", b"-", b"ft", None),
]


@pytest.mark.parametrize(("pattern", "replacement", "identifier", "result"), PERL)
def test_a_rule_gives_what_perl_gives(pattern, replacement, identifier, result):
    assert Rule(pattern, replacement).apply(identifier) == result


def test_a_rule_that_does_not_match_gives_none_and_not_the_identifier():
    assert Rule(b"^ft", b"g7h").apply(b"xft") is None
    assert Rule(b"^ft", b"g7h").apply(b"") is None


def test_a_rule_keeps_its_pattern_and_replacement_as_given():
    rule = Rule(rb"\x{66}t", rb"\$$&")
    assert (rule.pattern, rule.replacement) == (rb"\x{66}t", rb"\$$&")


def test_code_and_arrays_in_a_replacement_are_text():
    assert Rule(b"(f)", b"@{[ system('id') ]}$1[0]").apply(b"ft") == b"@{[ system('id') ]}f[0]t"
    assert Rule(b"f", b"`id`;#").apply(b"ft") == b"`id`;#t"


def test_pattern_replacement_and_identifier_may_contain_nul():
    assert Rule(b"a\0b", b"<\0>").apply(b"xa\0by\0") == b"x<\0>y\0"


def test_a_dot_matches_a_whole_character_of_utf8():
    assert Rule(b"^(.)(.)", b"$2$1").apply("éa!".encode()) == "aé!".encode()
    assert Rule("^[éü]".encode(), b"-").apply("üa".encode()) == b"-a"
    assert Rule(rb"^\w+$", b"-").apply("éß漢".encode()) == b"-"
    assert Rule(rb"^(?a)\w", b"-").apply("é".encode()) is None


def test_case_is_ignored_in_all_scripts_when_asked():
    assert Rule("(?i)É".encode(), b"-").apply("é".encode()) == b"-"


def test_an_identifier_that_is_not_utf8_is_matched_byte_by_byte():
    assert Rule(b"^(.)", b"<$1>").apply(b"\xffa") == b"<\xff>a"
    assert Rule(b"^(.)", b"<$1>").apply("é".encode() + b"\xff") == b"<\xc3>\xa9\xff"
    assert Rule(rb"\x{100}", b"-").apply(b"\xff") is None  # cannot be written in bytes: no match


def test_a_pattern_that_is_not_utf8_is_matched_byte_by_byte():
    assert Rule(b"\xff(.)", b"$1").apply(b"a\xff\xc3\xa9") == b"a\xc3\xa9"
    assert Rule(b"\xa9$", b"-").apply("é".encode()) == b"\xc3-"


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        (b"", "empty"),
        (b"a(b", "missing closing parenthesis at offset 3"),
        (b"a)b", "unmatched closing parenthesis at offset 2"),
        (b"*a", "quantifier does not follow"),
        (b"[a", "missing terminating ] for character class at offset 2"),
        (b"a\\", "\\ at end of pattern"),
        (rb"\1", "reference to non-existent"),
        (rb"\C", "disabled"),
        (rb"\Uab", "\\U"),
        (rb"\u0041", "\\u"),
        (rb"\x{zz}", "malformed \\x{"),
        (rb"\x{41", "malformed \\x{"),
        (rb"\x{7fffffff}", "too large"),
        (b"a" * 10_001, "longer than 10000 bytes"),
        (b"(a)" * 100, "more than 99 groups"),
        (b"(((a{1,50}){1,50}){1,50}){1,50}", "too large"),
        (b"(?{ system('id') })", "does not compile"),
        (b"(??{ 'a' })", "does not compile"),
        (b"(*LIMIT_MATCH=4000000000)a", "does not compile"),
        (b"(*LIMIT_HEAP=4000000000)a", "does not compile"),
        (b"(*NO_START_OPT)a", "does not compile"),
        (b"(*UTF)a", "does not compile"),
    ],
)
def test_a_bad_pattern_is_refused_with_the_reason(pattern, reason):
    message = refusal(pattern)
    assert reason in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("replacement", "reason"),
    [
        (b"$3", "refers to group 3, but the pattern has only 2"),
        (b"${3}", "refers to group 3"),
        (b"$10", "write ${1}0"),
        (b"$100", "$1 to $99"),
        (b"$" + b"1" * 5000, "$1 to $99"),
        (b"$0", "$1 to $99"),
        (b"$01", "$1 to $99"),
        (b"${", "does not close it"),
        (b"x${1", "opens a brace at byte 1"),
        (b"$+{n", "does not close it"),
        (b"${}", "write \\$"),
        (b"${n}", "write \\$"),
        (b"${1 }", "write \\$"),
        (b"$n", "write \\$"),
        (b"$$", "write \\$"),
        (b"$+", "write \\$"),
        (b"$`", "write \\$"),
        (b"a$", "write \\$"),
        (b"$\xff", "write \\$"),
        ("$٣".encode(), "write \\$"),
        (b"$+{m}", "that the pattern does not have"),
        (b"$+{a\nb}", "that the pattern does not have"),
        (b"$+{}", "that the pattern does not have"),
        (b"$+{\xff}", "that the pattern does not have"),
        (b"\\", "ends in a backslash"),
        (b"\\3", "refers to group 3"),
        (b"\\0", "none of $1"),
        (b"\\F$1", "contains \\F"),
        (b"\\x4", "no character"),
        (b"\\x{", "no character"),
        (b"\\x{}", "no character"),
        (b"\\x{d800}", "no character"),
        (b"\\x{110000}", "no character"),
        (b"\\r", "contains \\r"),
        (b"a" * 10_001, "longer than 10000 bytes"),
    ],
)
def test_a_bad_replacement_is_refused_with_the_reason(replacement, reason):
    message = refusal(b"(?<n>a)(b)", replacement)
    assert reason in message
    assert "\n" not in message


def test_callouts_in_a_pattern_have_no_effect():
    assert Rule(b"a(?C1)b(?C'x')c", b"-").apply(b"abc") == b"-"
    assert Rule(b"a(?C1)b(?C'x')c", b"-").apply(b"abc" * 1000) == b"-" + b"abc" * 999


def test_an_overlong_result_counts_as_no_match():
    rule = Rule(b"^.*$", b"$&" * 5000)
    assert rule.apply(b"a" * 200) == b"a" * 1_000_000
    assert rule.apply(b"a" * 201) is None


def test_rules_work_on_long_identifiers():
    tail = b"89x" + b"y" * 65_536
    assert Rule(b"^ft", b"g7h").apply(b"ft" + tail) == b"g7h" + tail
    assert Rule(rb"^ft([^x]+)x(.*)", b"$2/g7h/$1").apply(b"ft" + tail) == b"y" * 65_536 + b"/g7h/89"
    assert Rule(rb"^(\d{5})/(.*)\.pdf$", b"$1").apply(b"13030/" + b"y" * 2_000 + b".pdf") == b"13030"


def test_an_overlong_identifier_counts_as_no_match():
    assert Rule(b"^a", b"").apply(b"a" * 200_000) is None
    assert Rule(b"^a" + b"b?" * 1_000, b"").apply(b"a" * 65_536) is None


CATASTROPHES = [
    rb"^(a+)+$",
    rb"(a+)+$",
    rb"(a|a)*[xy]",
    rb"(a|aa)+$",
    rb"(.*)*[xy]",
    rb"a*a*a*a*a*a*[xy]",
    rb"(?:a?){50}a{50}[xy]",
    rb"(a(?1)?)+[xy]",
    rb"(?:(?=[^z]*+)a)*+[xy]",
    rb"(?i)(?:(?=\p{L}*+)a)*+[xy]",
    rb"(?:(?:b?+){2000}a)*[xy]",
    rb"(?s).*?.*?.*?.*?[xy]",
    rb"(?=(a+)+[xy])",
    rb"(a*)(?:\1|.)*[xy]",
    rb"(?R)?[xy]",
    rb"(?:(?:(?:b?+){2000})?a)*(?:a|a)*[xy]",
    rb"(?:a{1,90}b?){3}[xy]",
    b"[" + rb"\p{Lu}\p{Nd}" * 700 + b"]*+[xy]",
    b"(?:(?=[" + rb"\p{Lu}\p{Nd}" * 700 + b"a]*+)a)*+[xy]",
]


@pytest.mark.parametrize("pattern", CATASTROPHES)
def test_a_catastrophic_pattern_costs_milliseconds_and_counts_as_no_match(pattern):
    rule = Rule(pattern, b"x")
    for size in (30, 100, 1_000, 65_536):
        before = time.thread_time()
        assert rule.apply(b"a" * size + b"!") is None
        assert time.thread_time() - before < 0.1  # a few times what is meant, for slow machines


def test_a_match_of_many_steps_is_found():
    assert Rule(b"^(.*)(b?)[/]", b"-").apply(b"/" + b"a" * 2_000) == b"-" + b"a" * 2_000


@pytest.mark.parametrize("identifier", ["aéb", "éé/x", "é"])
def test_a_match_begins_with_a_character_and_not_within_one(identifier):
    text = identifier.encode()
    assert Rule(rb"(?<=\xa9)zz|.\Z", b"-").apply(text) == identifier[:-1].encode() + b"-"
    assert Rule(b"[^a]", b"").apply(text) == identifier.replace("é", "", 1).encode()


def test_what_anchors_itself_matches_at_the_start_only():
    assert Rule(rb"\Gb", b"-").apply(b"ab") is None and Rule(rb"\Ga", b"-").apply(b"aa") == b"-a"
    assert Rule(b"^b", b"-").apply(b"ab") is None and Rule(b"^a|b", b"-").apply(b"xb") == b"x-"
    assert Rule(b"(?m)^b", b"-").apply(b"a\nb") == b"a\n-"


def test_a_deadline_that_has_passed_is_no_match():
    rule = Rule(b"(ab){2}", b"-")
    assert rule.apply(b"abab") == b"-"
    assert rule.apply(b"abab", deadline=0.0) is None


def test_one_rule_serves_many_threads():
    rule = Rule(rb"^(\d+)/(?:[a-z]){3}", b"$1")
    wrong = []

    def work(number):
        identifier = b"%d/abc" % number
        wrong.extend(1 for _ in range(200) if rule.apply(identifier) != b"%d" % number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_first_rule_that_matches_wins():
    found = RuleSet([(b"^x", b"1"), (b"^ft", b"2"), (b"^f", b"3"), (b"t$", b"4")]).first(b"ft89xr2t")
    assert found is not None
    assert (found[0].pattern, found[1]) == (b"^ft", b"289xr2t")
    found = RuleSet([(b"t$", b"4"), (b"^ft", b"2")]).first(b"ft89xr2t")
    assert found is not None
    assert (found[0].pattern, found[1]) == (b"t$", b"ft89xr24")


def test_without_a_matching_rule_there_is_no_result():
    assert RuleSet([]).first(b"ft") is None
    assert RuleSet([(b"^x", b"1"), (b"y", b"2")]).first(b"ft") is None
    assert len(RuleSet([(b"^x", b"1"), (b"y", b"2")])) == 2


def test_a_stored_rule_that_does_not_compile_is_passed_over():
    broken = [(b"(", b""), (b"", b""), (b"f", b"$9"), (b"(*FUTURE)", b""), (b"^f(?=", b"")]
    some = RuleSet([*broken, (b"^ft", b"g")])
    for _ in range(2):
        found = some.first(b"ft1")
        assert found is not None
        assert found[1] == b"g1"


def test_a_hundred_rules_keep_their_order():
    hundred = RuleSet((b"^p%02d/(.*)" % number, b"https://%02d.example/$1" % number) for number in range(100))
    for number in (0, 7, 99):
        found = hundred.first(b"p%02d/x" % number)
        assert found is not None
        assert found[1] == b"https://%02d.example/x" % number
    assert hundred.first(b"q00/x") is None


def test_a_rule_whose_literal_start_differs_is_not_even_compiled(monkeypatch):
    hundred = RuleSet([*((b"^p%02d" % number, b"x") for number in range(99)), (b"^ft", b"g")])
    built = []
    real = rules.Rule
    monkeypatch.setattr(rules, "Rule", lambda *pair: built.append(pair) or real(*pair))
    for _ in range(3):
        assert hundred.first(b"ft1") is not None
    assert built == [(b"^ft", b"g")]


@pytest.mark.parametrize("identifier", [b"a" * 30 + b"!", b"a" * 65_536 + b"!"])
def test_a_hundred_catastrophic_rules_do_not_cost_a_second(identifier):
    hundred = RuleSet((CATASTROPHES[number % 10] + b"%d?" % number, b"x") for number in range(100))
    before = time.thread_time()
    assert hundred.first(identifier) is None
    assert time.thread_time() - before < 1


def test_a_few_catastrophic_rules_do_not_hide_the_rule_behind_them():
    found = RuleSet([*((pattern, b"x") for pattern in CATASTROPHES[:4]), (b"^a", b"b")]).first(b"a" * 30 + b"!")
    assert found is not None
    assert found[1] == b"b" + b"a" * 29 + b"!"


@given(
    st.sampled_from([b"^ft(.*)", b".", b"(?<n>[^a]*)$", b"\xff", b"(\\w+)+x", "é?".encode()]),
    st.binary(max_size=300),
)
def test_a_rule_raises_for_no_identifier(pattern, identifier):
    result = Rule(pattern, b"<$&>").apply(identifier)
    assert result is None or len(result) == len(identifier) + 2


@given(st.lists(st.sampled_from([b"$", b"{", b"}", b"1", b"+", b"n", b"&", b"\\", b"a", b"\xff", b"\0"])).map(b"".join))
@example(b"${1}$1$&$+{n}\\$\\\\\\n\\t")
def test_any_replacement_is_refused_or_works(replacement):
    try:
        rule = Rule(b"(?<n>.)", replacement)
    except InvalidError as refused:
        assert refused.message
    else:
        assert rule.apply(b"ab") is not None


@given(st.binary(max_size=30))
def test_any_pattern_is_refused_or_works(pattern):
    try:
        rule = Rule(pattern, b"$&")
    except InvalidError as refused:
        assert refused.message
    else:
        assert rule.apply(b"ft89xr2t") in (None, b"ft89xr2t")


@given(st.binary())
def test_a_literal_comes_back_as_written_once_its_dollars_and_backslashes_are_escaped(text):
    escaped = text.replace(b"\\", b"\\\\").replace(b"$", b"\\$")
    assert Rule(b"^", escaped).apply(b"id") == text + b"id"


PIECES = ["^", "f", "t", "8", "\\.", ".", "*", "+", "?", "{2}", "(", ")", "|", "[f]"]
PIECES += ["(?:", "(?#x)", "\\E", "\\Q", "(?i)", "(?x)"]


@given(
    st.lists(st.sampled_from(PIECES), max_size=7).map("".join),
    st.lists(st.sampled_from(["f", "t", "8", ".", "F"]), max_size=6).map("".join),
)
def test_the_literal_start_never_changes_an_answer(tail, identifier):
    pattern = b"^" + tail.encode()
    try:
        expected = Rule(pattern, b"<$&>").apply(identifier.encode())
    except InvalidError:
        return
    found = RuleSet([(pattern, b"<$&>")]).first(identifier.encode())
    assert (found and found[1]) == expected
