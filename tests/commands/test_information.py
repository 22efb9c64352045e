"""The commands help, hello, dbinfo, note and path."""

from __future__ import annotations

import re

from support.project import ROOT


def test_notes_are_kept_and_shown(noid):
    noid("dbcreate", ".sd")
    noid("note", "owner", "digital collections")
    assert "\nNote: owner: digital collections\n" in noid("dbinfo")


def test_dbinfo_full_and_dump_show_more_than_brief(noid):
    noid("dbcreate", "x.rdd")
    noid("mint", "3")
    brief, full, dump = noid("dbinfo", "brief"), noid("dbinfo", "full"), noid("dbinfo", "dump")
    assert brief == noid("dbinfo") and "\nDrawn: 3\nLeft: 97\n" in brief
    assert "\nCounters: " in full and "Counters" not in brief
    assert dump.count("IDS/x") == 3
    noid.refused("dbinfo", "everything", status=2)


def test_every_command_is_explained(noid):
    from noidtools.commands import all_commands

    listed = noid("help")
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    documentation = "".join(page.read_text(encoding="utf-8") for page in pages)
    for command in all_commands():
        assert all(f"\n  {usage}\n" in listed for usage in command.usage.splitlines())
        assert noid("help", command.name).startswith(command.usage)
        assert f"`{command.name}" in documentation, f"the documentation does not explain {command.name}"
    assert noid() == listed == noid("-h")
    noid.refused("help", "nosuch", status=2)


def test_help_is_an_option_of_every_command_and_nothing_is_done(noid):
    from noidtools.commands import all_commands

    noid("dbcreate")
    before = noid("log")
    for command in all_commands():
        explained = noid("help", command.name)
        assert noid(command.name, "--help") == noid(command.name, "-h") == noid("--help", command.name) == explained
        assert noid(command.name, "x", "--help", "y") == explained
    assert noid("log") == before and sorted(path.name for path in noid.folder.iterdir()) == ["NOID"]


def test_help_of_a_command_needs_no_minter(noid):
    assert noid("-f", "/nowhere", "mint", "-h") == noid("help", "mint") == noid("mint", "1", "-h", "-f", "/nowhere")


def test_a_mistyped_command_is_answered_with_the_one_that_was_meant(noid):
    for words in (["mnit", "1"], ["help", "mnit"], ["mintt"]):
        assert noid.refused(*words, status=2).endswith("did you mean mint?")
    assert "help" in noid.refused("xyzzy", status=2)


def test_an_unknown_option_is_named_as_such_by_every_command(noid):
    from noidtools.commands import all_commands

    noid("dbcreate")
    before = noid("log")
    for command in all_commands():
        assert noid.refused(command.name, "--nosuch", status=2).startswith(f"{command.name} has no option --nosuch: ")
    assert noid("log") == before and sorted(path.name for path in noid.folder.iterdir()) == ["NOID"]


def test_hello_and_the_version_are_printed(noid):
    assert noid("hello") == "Hello.\n\n"
    assert re.fullmatch(r"noid \d+\.\d+\.\d+(?:\.dev\d+)?\n", noid("-v"))


def test_path_prints_the_path_of_an_identifier(noid):
    assert noid("path", "xv8t984") == "xv/8t/98/4/\n"
    noid("dbcreate", "--label", "ark:/", ".sd")
    assert noid("path", "ark:/../x") == ",,/=x/\n"


def test_options_may_be_joined(noid):
    assert noid("-vh") == noid("-hv") == noid("-v") + noid("-h")
