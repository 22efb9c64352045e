"""The command mint: what is made, in which order, and where it ends."""

from __future__ import annotations

import pytest

from noidtools.commands import Call
from noidtools.errors import ConflictError, ExhaustedError
from noidtools.minter import Minter, minting
from noidtools.minter.events import Actor
from support.minter import Noid


def test_mint_binds_an_element_to_each_new_identifier(noid):
    noid("dbcreate", ".sd")
    assert noid("mint", "2", "status", "draft") == "id: 0\nid: 1\n\n"
    assert noid("get", "1", "status") == "draft\n"
    assert "Value is missing" in noid.refused("mint", "1", "status", status=2)


def test_a_mint_of_one_transaction_is_done_when_it_was_run_and_what_ends_half_way_is_answered_with_its_refusal(noid):
    noid("dbcreate", ".sd")
    call = Call(noid.session, [b"mint", b"3"])
    answer = call.run()
    assert not call.streams and "Drawn: 3" in noid("dbinfo")
    assert [data["id"] for record in answer.records for data in record.data()] == [b"0", b"1", b"2"]
    records = iter(Call(noid.session, [b"mint", b"20"]).run().records)
    assert len(next(records).data()) == 7
    with pytest.raises(ExhaustedError):
        next(records)


def test_another_seed_gives_the_same_identifiers_in_another_order(tmp_path, noid):
    noid("dbcreate", ".rdd")
    other = Noid(tmp_path / "other")
    other("dbcreate", "--seed", "7", ".rdd")
    first, second = noid.ids(100), other.ids(100)
    assert first != second and sorted(first) == sorted(second)
    assert "Seed: 7" in other("dbinfo")


def test_a_bounded_namespace_can_grow(noid):
    noid("dbcreate", "--at-last", "add3", "x.seedk")
    ids = noid.ids(29 * 29 * 10 + 2)
    assert len(ids[8409]) == 5 and len(ids[8410]) == 8
    assert len(set(ids)) == len(ids)
    assert "Mask: seedeedk" in noid("dbinfo", "full")
    assert noid("validate", "-", ids[0], ids[8410]).count("id: ") == 2
    noid("bind", "set", ids[8411], "e", "v")


def test_a_grown_mask_is_valid_only_once_it_has_grown(noid):
    noid("dbcreate", "--at-last", "add1", ".sd")
    assert noid.run("validate", "-", "00").returncode == 1
    assert noid.ids(11)[-1] == "00"
    assert noid("validate", "-", "00") == "id: 00\n"


def test_growth_ends_where_the_check_character_would_no_longer_detect_errors(noid):
    noid("dbcreate", "--at-last", "add1", f"{'b' * 25}.sdk")
    assert noid.run("mint", "200").stdout.count(b"id: ") == 110


def test_minting_ends_when_every_identifier_of_a_short_term_minter_is_held(noid):
    noid("dbcreate", ".sd", "short")
    noid("hold", "set", *"0123456789")
    assert "no identifier is left" in noid.refused("mint", "1", status=1)


def test_identifiers_minted_before_exhaustion_are_printed(noid):
    noid("dbcreate", ".sd")
    done = noid.run("mint", "12")
    assert done.returncode == 1 and done.stdout.count(b"id: ") == 10 and done.stderr.startswith(b"error: ")
    noid.refused("bind", "mint", "new", "e", "v", status=1)


def test_minting_with_an_element_skips_identifiers_that_have_it_and_keeps_other_bindings(noid):
    noid("dbcreate", ".sd")
    noid("bind", "set", "0", "e", "mine")
    assert "Id:      1\n" in noid("bind", "mint", "new", "e", "v")
    noid("bind", "set", "2", "e", "mine")
    assert noid("mint", "1", "e", "z") == "id: 3\n\n"
    assert noid("get", "0", "e") == noid("get", "2", "e") == "mine\n"
    noid("bind", "set", "4", "other", "mine")
    assert noid("mint", "1", "e", "z") == "id: 4\n\n"
    assert noid("get", "4") == "z\n\nmine\n"


def test_an_unlimited_template_with_a_check_character_ends_where_the_guarantee_does(noid):
    noid("dbcreate", f"{'1' * 26}.zdk")
    done = noid.run("mint", "20")
    assert done.returncode == 1 and done.stdout.count(b"id: ") == 10
    assert b"check character" in done.stderr


@pytest.mark.parametrize("template", [".rdd", ".sdd", ".rde"])
def test_minters_that_take_turns_and_undo_go_on_where_the_last_one_committed(tmp_path, template):
    alone = Noid.with_clock(tmp_path / "alone", template, "short")
    expected = alone.mint(300)
    noid = Noid.with_clock(tmp_path / "shared", template, "short")
    actor = Actor(b"somebody", b"python")
    minters = [Minter(str(noid.folder)) for _ in range(2)]

    def mint_in_vain(writer):
        list(minting.mint(minters[0], actor, 3, minting.MintOptions()))
        raise ConflictError("not like this")

    minted = []
    for turn in range(100):
        minter = minters[turn % 3 % 2]
        for ids in minting.mint(minter, actor, 1 + turn % 5, minting.MintOptions()):
            minted += [identifier.decode() for identifier in ids]
        with pytest.raises(ConflictError):
            minters[0].write(mint_in_vain)
    assert minted == expected
    for minter in minters:
        minter.close()
    noid.close()
    alone.close()


def test_a_generator_is_not_kept_for_another_scheme(tmp_path):
    # As when another thread has read the settings of a minter that was put in the place of this one.
    noid = Noid.with_clock(tmp_path / "old", "old.sddd", "short")
    other = Noid.with_clock(tmp_path / "new", "new.sddd", "short")
    minter, replaced = Minter(str(noid.folder)), Minter(str(other.folder))

    def save_after_a_change(writer):
        generator = minter.take_generator(writer)
        minter.scheme = replaced.scheme
        minter.save_generator(writer, generator)

    minter.write(save_after_a_change)
    assert minter.write(lambda writer: minter.take_generator(writer)).scheme is replaced.scheme
    minter.close()
    replaced.close()
    noid.close()
    other.close()


def test_at_the_shell_most_of_what_is_left_is_minted_with_yes_only(noid):
    noid("dbcreate", "x.sddddd")
    assert noid("mint", "10000", "status", "draft").count("id: ") == 10_000  # as scripts do
    assert noid("mint", "45000").count("id: ") == 45_000
    assert noid.refused("mint", "22501", status=2) == (
        "this would take 22501 of the 45000 identifiers that are left, for good: give --yes before the number if you "
        "mean it, as in mint --yes 22501")
    assert "--yes" in noid.refused("peppermint", "1000000", status=2)
    assert noid("mint", "--yes", "22501").count("id: ") == 22_501
    assert noid("mint", "10000").count("id: ") == 10_000


def test_a_namespace_without_an_end_is_minted_from_without_a_question(noid):
    noid("dbcreate", "x.zd")
    assert noid("mint", "20000").count("id: ") == 20_000
