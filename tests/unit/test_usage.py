"""The usage of a command is its parser."""

from __future__ import annotations

import pytest

from noidtools.commands import Invocation, all_commands
from noidtools.commands.command import Option, Pattern, split_options
from noidtools.errors import UsageError

VALUED = {"authority", "label"}


@pytest.mark.parametrize(("usage", "counts", "others"), [
    ("", {0}, {1}),
    ("Id", {1}, {0, 2}),
    ("Id…", {1, 2, 9}, {0}),
    ("[Id…]", {0, 1, 9}, set()),
    ("Id [Element…]", {1, 2, 9}, {0}),
    ("N [Element Value]", {1, 3}, {0, 2, 4}),
    ("[A [B [C D]]]", {0, 1, 2, 4}, {3, 5}),
    ("set Name [Id] [--authority Who]", {2, 3}, {1, 4}),
    ("--remove Alias", {1}, {0, 2}),
    ("[A] [--label L]… B", {1, 2}, {0, 3}),
])
def test_a_usage_says_how_many_words_there_are(usage: str, counts: set[int], others: set[int]) -> None:
    pattern = Pattern(usage, VALUED)
    assert all(pattern.admits_count(count) for count in counts)
    assert not any(pattern.admits_count(count) for count in others)


def test_a_usage_says_which_options_go_with_it_and_which_must() -> None:
    pattern = Pattern("Name Name --authority Who [--label L]… [--remove]", VALUED)
    assert (pattern.options, pattern.required) == ({"authority", "label", "remove"}, {"authority"})
    assert pattern.admits_options({"authority": ["x"], "remove": [""]})
    assert not pattern.admits_options({"remove": [""]})
    assert not pattern.admits_options({"authority": ["x"], "other": ["y"]})


@pytest.mark.parametrize(("usage", "words", "place"), [
    ("set|release Id…", [b"set", b"x"], None), ("set|release Id…", [b"keep", b"x"], 0),
    ("mint|peppermint new Element Value", [b"mint", b"x", b"e", b"v"], 1),
    ("now|first|Time Id", [b"30d", b"x"], None), ("Id :|:-", [b"x", b":-"], None), ("Id :|:-", [b"x", b"e"], 1),
])
def test_words_that_stand_for_themselves_must_stand_where_they_do(
    usage: str, words: list[bytes], place: int | None
) -> None:
    assert Pattern(usage, set()).mismatch(words) == place


OPTIONS = (Option("--authority Who", ""), Option("--remove", ""))


@pytest.mark.parametrize(("line", "options", "words"), [
    (b"a b", {}, [b"a", b"b"]),
    (b"--remove a", {"remove": [""]}, [b"a"]),
    (b"a --authority me b", {"authority": ["me"]}, [b"a", b"b"]),
    (b"--authority=me --authority --remove", {"authority": ["me", "--remove"]}, []),
    (b"--authority= a", {"authority": [""]}, [b"a"]),
    (b"a -- --remove --", {}, [b"a", b"--remove", b"--"]),
    (b"- -x", {}, [b"-", b"-x"]),
])
def test_options_stand_anywhere_until_two_hyphens(line: bytes, options: dict, words: list[bytes]) -> None:
    assert split_options(line.split(b" "), OPTIONS, of="command", before=0) == (options, words)


def test_options_may_have_to_stand_first() -> None:
    assert split_options([b"--remove", b"a", b"--other", b"b"], OPTIONS, of="command", before=1) == (
        {"remove": [""]}, [b"a", b"--other", b"b"])
    assert split_options([b"--remove", b"--", b"a", b"--authority"], OPTIONS, of="command", before=1) == (
        {"remove": [""]}, [b"a", b"--authority"])
    with pytest.raises(UsageError, match="--authority must come earlier"):
        split_options([b"--remove", b"a", b"--authority", b"b"], OPTIONS, of="command", before=1)


@pytest.mark.parametrize(("line", "sentence"), [
    (b"--nothing", "command has no option --nothing: its options are --authority, --remove"),
    (b"--remove=x", "takes no value"),
    (b"a --authority", "needs a value"), (b"--authority=\xff", "not valid UTF-8"), (b"--\n", r"no option --\\n"),
])
def test_what_is_no_option_is_refused(line: bytes, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        split_options(line.split(b" "), OPTIONS, of="command", before=0)


@pytest.mark.parametrize(("line", "sentence"), [
    ("hello you", "too many words for hello: use hello"),
    ("get", "Id is missing: use get [--items] [--json] Id [Element…]"),
    ("hold keep x", "hold has no form 'keep': use hold set Id… or hold release Id…"),
    ("hold set", "Id is missing: use hold set Id…"),
    ("mint", "N is missing: run 'noid help mint'"),
    ("mint 1 e", "Value is missing: run 'noid help mint'"),
    ("bind mint x e v", "write the word new in place of 'x': use bind mint new Element Value or bind mint new :|:-"),
    ("bind delete x e v", "removing takes no Value: use bind delete Id Element|:|:-"),
    ("custodian set", "Name is missing: use custodian set Name [Id] [--contact Contact] [--purpose Text] or "
                      "custodian set Name Id --element Element [--contact Contact]"),
    ("custodian remove x --contact c", "--contact does not go with this: use custodian remove [Id] [--purpose Text] or "
                                       "custodian remove Id --element Element"),
    ("synonym a b", "--authority is missing: use synonym Name Name --authority Who [--from Date] [--until Date] or "
                    "synonym --remove Name Name [--authority Who]"),
    ("bind set x", "Element and Value are missing: use bind set Id Element Value or bind set Id :|:-"),
    ("bind foo x e v", "bind has no form 'foo': use new, replace, set, append, add, prepend, insert, append-item, "
                       "add-item, prepend-item, insert-item, delete, purge, mint, peppermint; run 'noid help bind'"),
    ("dbinfo all", "dbinfo has no form 'all': use dbinfo [brief], dbinfo full or dbinfo dump"),
    ("policy label-format x", "the label format follows from the template and is not set by hand: use policy "
                              "label-format"),
    ("hold relaese x", "hold has no form 'relaese': did you mean release?"),
    ("import cvs x", "import has no form 'cvs': did you mean csv?"),
    ("import csv --dryrun", "import has no option --dryrun: did you mean --dry-run?"),
    ("bundle verfy x", "bundle has no form 'verfy': did you mean verify?"),
    ("relate a synonim b", "relate does not take 'synonim' there: did you mean synonym?"),
    ("quality state trustd --authority x", "quality does not take 'trustd' there: did you mean trusted?"),
    ("verify x --timeout 5", "--links is missing: run 'noid help verify'"),
])
def test_a_refusal_names_the_usage_of_the_form_that_comes_closest(line: str, sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        Invocation(line.encode().split()).ensure_fits()
    assert caught.value.message == sentence


@pytest.mark.parametrize("command", all_commands(), ids=lambda command: command.name)
def test_a_mistyped_option_is_answered_with_the_one_that_was_meant(command) -> None:
    for option in command.options:
        mistyped = option.name + option.name[-1]
        with pytest.raises(UsageError, match=f"has no option --{mistyped}: did you mean --{option.name}\\?"):
            Invocation([command.name.encode(), f"--{mistyped}".encode()]).ensure_fits()


@pytest.mark.parametrize("command", all_commands(), ids=lambda command: command.name)
def test_usages_and_options_belong_together(command) -> None:
    named = set()
    for form, pattern in command.patterns:
        named |= pattern.options
        assert form.usage.count("[") == form.usage.count("]")
        for option in command.options:
            if option.name in pattern.options:
                assert option.usage in form.usage, "a usage writes an option as the list of options does"
    assert named == {option.name for option in command.options}
    assert all(option.about and option.about == option.about.strip(" .") for option in command.options)
    assert command.summary and command.summary == command.summary.strip(" .") and "\n" not in command.summary
