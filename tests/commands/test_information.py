"""The commands help, hello, dbinfo, note and path."""

from __future__ import annotations

import re


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


def test_every_command_is_listed_by_task(noid):
    from noidtools.commands import all_commands

    listed = noid("help", "all")
    assert "\nMint\n  mint " in listed and max(map(len, listed.splitlines())) <= 80
    for command in all_commands():
        assert f"\n  {command.name} " in listed
        assert f"\n  noid {command.name}" in noid("help", command.name)
    noid.refused("help", "nosuch", status=2)


def test_the_first_help_is_short_and_leads_on(noid):
    first = noid("help")
    assert noid("-h") == noid("--help") == first
    assert len(first.splitlines()) <= 25 and max(map(len, first.splitlines())) <= 80
    assert all(f"noid help {word}" in first for word in ("all", "COMMAND", "templates"))
    assert all(f"  {name} " in first for name in ("dbcreate", "mint", "bind", "resolve", "import", "export", "backup"))


def test_nothing_given_is_a_mistake_that_help_answers(noid):
    for words in ((), ("-f", "elsewhere")):
        done = noid.run(*words)
        assert (done.returncode, done.stderr) == (2, b"") and done.stdout.decode() == noid("help")
    assert noid.run("-v").returncode == 0


def test_help_knows_the_forms_of_a_command(noid):
    check = noid("help", "setup", "check")
    assert check == noid("setup", "check", "--help") == noid("setup", "-h", "check", "--url", "x")
    assert "noid setup check [--minters Dir]" in check and "nginx|apache" not in check
    assert "--acme" not in check and "--acme" in noid("help", "setup")


def test_help_of_templates_is_true(noid):
    text = noid("help", "templates")
    (command, *printed) = text.partition("Example:\n")[2].partition("\n\n")[0].replace("  ", "").splitlines()
    words = command.removeprefix("$ noid ").partition(" |")[0].split()
    report = noid(*words)
    assert printed and all(f"{line}\n" in report for line in printed)


def test_help_is_as_wide_as_the_terminal(noid_process):
    narrow, wide = noid_process.on_terminal("help", "all", columns=50), noid_process("help", "all")
    assert 40 < max(map(len, narrow.splitlines())) <= 50 < max(map(len, wide.splitlines()))
    assert narrow.split() == wide.split()


def test_the_variable_columns_is_the_width_of_help(noid_process):
    for columns in ("40", "64", "100"):
        first = noid_process("help", env={"COLUMNS": columns})
        assert max(map(len, first.splitlines())) <= int(columns)
        assert all(f"  {name} " in first for name in ("dbcreate", "resolve", "doctor"))
    assert max(map(len, noid_process("help", "find", env={"COLUMNS": "200"}).splitlines())) > 80
    usage = noid_process("help", "bind", env={"COLUMNS": "80"}).partition("Usage:\n")[2].partition("\n\n")[0]
    assert max(map(len, usage.splitlines())) <= 80
    assert noid_process("help", env={"COLUMNS": "x"}) == noid_process("help", env={"COLUMNS": "80"})


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
    assert noid.refused("--verson", status=2).endswith("did you mean --version?")
    assert "help" in noid.refused("xyzzy", status=2)


def test_a_mistyped_form_is_answered_with_the_one_that_was_meant(noid):
    for words in (["help", "bind", "sett"], ["bind", "sett", "--help"]):
        assert noid.refused(*words, status=2) == "bind has no form 'sett': did you mean set?"
    assert noid("help", "bind", "xyzzy") == noid("help", "bind")  # perhaps an identifier before --help


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
