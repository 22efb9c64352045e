"""Commands in bulk: one answer each, a refusal undoes only itself."""

from __future__ import annotations

import pytest


def test_each_commands_output_ends_with_one_blank_line(noid):
    noid("dbcreate", ".sd")
    out = noid("-", stdin=b"mint 1\nget 0 e\n".replace(b"get 0 e\n", b"bind set 0 e v\nget 0 e\nqueue now 5\nhello\n"))
    assert out == ("id: 0\n\nId:      0\nElement: e\nBind:    set\nStatus:  ok, 1 bytes written, replacing 0 bytes\n\n"
                   "v\n\nid: 5\nnote: 1 identifier queued\n\nHello.\n\n")


def test_a_refusal_is_reported_and_the_rest_goes_on(noid):
    noid("dbcreate", ".sd")
    commands = b"\n# a comment\nmint 1\nmint x\nget 'unbalanced\nnosuch\nmint 1\n\xff\xfe\ndbcreate .sd\n"
    done = noid.run("-", stdin=commands)
    blocks = done.stdout.decode("utf-8", "replace").split("\n\n")
    assert blocks[0] == "id: 0" and blocks[4] == "id: 1" and blocks[-1] == ""
    assert [block.startswith("error: ") for block in blocks[:-1]] == [False, True, True, True, False, True, True]
    complaints = done.stderr.decode().splitlines()
    assert [line.split(":")[1] for line in complaints] == [f" line {n}" for n in (4, 5, 6, 8, 9)]
    assert "quote" in complaints[1]
    assert done.returncode == 1


def test_a_refused_command_undoes_only_itself(noid):
    noid("dbcreate")
    done = noid.run("-", stdin=b"bind set a e 1\nbind new b :\nx: 1\nx: 2\n\nbind set c e 3\n")
    assert done.returncode == 1
    assert noid("get", "a", "e") == "1\n" and noid("get", "c", "e") == "3\n"
    noid.refused("get", "b")


def test_elements_follow_their_command_in_the_input(noid):
    noid("dbcreate")
    noid("-", stdin=b"bind set a :\nwho: Kunze\n  J.\nwhat: noid\n\nbind set b e v\nbind set c :-\ntext: one\nmint 5\n")
    assert noid("get", "a") == "noid\n\nKunze J.\n"
    assert noid("get", "b", "e") == "v\n"
    assert noid("get", "c", "text") == "one\nmint 5\n\n"
    assert noid("mint", "1") == "id: 0\n\n"


def test_later_commands_of_a_bulk_run_see_the_effects_of_earlier_ones(noid):
    noid("dbcreate", ".sd")
    assert "second" in noid("-", stdin=b"mint 1\nbind set 0 e first\nbind set 0 e second\nget 0 e\n")


def test_a_large_mint_inside_a_bulk_run_is_printed_in_parts(noid):
    noid("dbcreate", ".zd")
    out = noid("-", stdin=b"hello\nmint 25000\nhello\n")
    assert out.startswith("Hello.\n\nid: 0\n") and out.endswith("id: 24999\n\nHello.\n\n")
    assert out.count("\n\n") == 3


def test_an_input_that_ends_in_the_middle_of_a_line_is_run_to_its_end(noid):
    noid("dbcreate", ".sd")
    assert noid("-", stdin=b"mint 1\nmint 1") == "id: 0\n\nid: 1\n\n"
    assert noid("-", stdin=b"") == ""


@pytest.mark.slow
def test_twenty_thousand_bindings_in_bulk_are_all_stored(noid):
    noid("dbcreate")
    out = noid("-", stdin=b"".join(b"bind set i%d e v%d\n" % (n, n) for n in range(20000)))
    assert out.count("Status:  ok") == 20000
    assert noid("get", "i19999", "e") == "v19999\n"


def test_a_refused_block_of_elements_is_not_taken_for_commands(noid):
    noid("dbcreate", ".sd")
    done = noid.run("-", stdin=b"bind set 1 :\ngarbage\nmint 5\n\nhello\n")
    assert done.stdout.count(b"id: ") == 0 and done.stdout.endswith(b"Hello.\n\n")


def test_a_backslash_at_the_end_of_a_line_is_refused(noid):
    noid("dbcreate")
    assert b"backslash" in noid.run("-", stdin=b"bind set 1 e abc\\\nhello\n").stdout


def test_long_words_are_read_in_linear_time(noid):
    noid("dbcreate")
    word = b"x" * (10 << 20)
    out = noid.run("-", stdin=b"bind set 1 e " + word + b'\nbind set 2 e "' + word + b' y"\n').stdout
    assert out.count(b"Status:  ok, 10485") == 2


def test_a_blank_line_between_values_does_not_look_like_the_end_of_an_answer(noid):
    noid("dbcreate")
    done = noid.run("-", stdin=b"bind set x a 1\nbind set x b 2\nget x a b\nget x a c\nget x b\n")
    assert done.stdout.decode().split("\n\n")[2:] == [
        "1\n \n2", "1\n \n \n \nerror: nothing is bound to c under x", "2", ""]
    assert noid("get", "x", "a", "b") == "1\n\n2\n"
