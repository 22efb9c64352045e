"""Reserved, published, withdrawn: each command, each refusal, through the shell, the web and as JSON."""

from __future__ import annotations

import pytest
from living_support import LONG, START, Room
from url_support import USER, Web, command, create

from noidtools.errors import ConflictError, ExhaustedError, ForbiddenError, InvalidError, NotFoundError, UsageError
from noidtools.minter import lifecycle

URL = "https://example.org/a"


@pytest.fixture
def room(tmp_path):
    """A medium-term minter of a hundred names."""
    room = Room(tmp_path, "x.sdd")
    yield room
    room.close()


def bound(room: Room) -> str:
    (identifier,) = room.mint()
    room("bind", "set", identifier, "_t", URL)
    return identifier


# -- states ----------------------------------------------------------------------------------------------------------


def test_what_is_minted_is_published_and_fetch_does_not_mention_it(room):
    identifier = bound(room)
    assert room.state(identifier) == "published" and room.leads(identifier) == URL
    assert "State" not in room.text("fetch", identifier)
    assert room("fetch", identifier)[0]["state"] == "published"


def test_a_reserved_identifier_does_not_resolve_and_fetch_says_so(room):
    identifier = bound(room)
    assert room("reserve", identifier) == [{"id": identifier, "state": "reserved"}]
    assert room.leads(identifier) == room.leads(identifier + "/page/2") == "reserved"
    assert "State: reserved\n" in room.text("fetch", identifier)
    assert room("fetch", identifier)[0]["state"] == "reserved"
    assert room("publish", identifier) == [{"id": identifier, "state": "published"}]
    assert room.leads(identifier) == URL and room.leads(identifier + "/page/2") == URL + "/page/2"


def test_a_rule_or_a_fallback_does_not_publish_what_is_reserved(room):
    identifier = bound(room)
    room("bind", "purge", identifier, "_t")
    room("bind", "set", ":idmap/^x", "_t", "https://example.org/rule/")
    room("resolver", "fallback", "https://n2t.example/")
    assert room.leads(identifier).startswith("https://example.org/rule/")
    room("reserve", identifier)
    assert room.leads(identifier) == "reserved"


def test_a_name_that_was_not_minted_is_held_when_it_is_reserved(room):
    assert room("reserve", "x05") == [{"id": "x05", "state": "reserved"}]
    assert "x05" not in room.mint(20)
    room("bind", "set", "x05", "_t", URL)
    assert room.leads("x05") == "reserved"
    room("publish", "x05")
    assert room.leads("x05") == URL
    assert "x05" not in room.mint(79) and "\nHeld: 1\n" in room.text("dbinfo")


def test_reserving_takes_a_name_out_of_the_queue_and_says_so(room):
    room("queue", "now", "x05")
    assert room("reserve", "x05")[1] == {"note": "x05 taken out of the queue"}
    assert room.mint() == ["x00"]
    assert room.whats("x05") == ["queue now", "reserve"]


def test_a_name_that_is_only_held_or_queued_counts_as_reserved(room):
    room("hold", "set", "x05")
    room("queue", "now", "x06")
    assert room.state("x05") == room.state("x06") == "reserved"
    assert room.state("x07") is None
    room("bind", "set", "x05", "_t", URL)
    assert room.state("x05") == "published"


def test_publishing_and_reserving_again_changes_nothing_and_leaves_no_event(room):
    identifier = bound(room)
    before = room.count()
    assert room("publish", identifier, identifier) == [{"id": identifier, "state": "published"}]
    assert room.count() == before
    room("reserve", identifier)
    room("reserve", identifier, identifier)
    assert room.count() == before + 1


def test_a_command_on_many_identifiers_is_one_event_or_nothing(room):
    ids = room.mint(3)
    before = room.count()
    room("reserve", *ids)
    assert room.count() == before + 1 and [room.state(i) for i in ids] == ["reserved"] * 3
    room("withdraw", ids[0])
    assert isinstance(room.refused("publish", ids[1], ids[0]), ConflictError)
    assert room.state(ids[1]) == "reserved"


def test_there_must_be_something_to_publish(room):
    room("reserve", "x05")
    assert "bind something first" in room.refused("publish", "x05").message
    assert isinstance(room.refused("publish", "x06"), NotFoundError)
    assert isinstance(room.refused("publish", "y06"), InvalidError)
    assert isinstance(room.refused("publish"), UsageError)
    assert isinstance(room.refused("reserve"), UsageError)
    assert isinstance(room.refused("reserve", "nonsense"), InvalidError)


def test_a_minter_may_reserve_what_it_mints(room):
    assert room("policy", "minting", "reserve") == [{"minting": "reserve"}]
    first, second = room.mint(2)
    room("bind", "set", first, "_t", URL)
    assert room.state(first) == room.state(second) == "reserved" and room.leads(first) == "reserved"
    assert room("history", first)[0]["changes"] == [{"what": "state", "before": None, "after": "reserved"}]
    room("publish", first)
    assert room.leads(first) == URL
    assert room("policy", "minting", "default") == [{"minting": "publish"}]
    assert room.state(room.mint()[0]) == "published"
    assert isinstance(room.refused("policy", "minting", "hide"), UsageError)


def test_a_reserving_long_term_minter_counts_its_holds_right(tmp_path):
    room = Room(tmp_path, *LONG)
    room("policy", "minting", "reserve")
    (first, *_) = room.mint(5)
    assert "\nHeld: 5\n" in room.text("dbinfo")
    room("reserve", first)
    assert "\nHeld: 5\n" in room.text("dbinfo")
    room.close()


def test_what_is_issued_again_gets_the_state_of_new_ones(room):
    identifier = bound(room)
    room("reserve", identifier)
    room("queue", "now", identifier)
    assert room.mint() == [identifier]
    assert room.state(identifier) == "published"


# -- withdrawing -----------------------------------------------------------------------------------------------------


def test_a_withdrawn_identifier_leaves_a_tombstone(room):
    identifier = bound(room)
    other = bound(room)
    room.clock.set("20261201120000")
    answer = room("withdraw", identifier, "--reason", "a duplicate", "--successor", other)
    assert answer == [{"id": identifier, "state": "withdrawn", "withdrawn": "20261201120000", "reason": "a duplicate",
                       "successor": other}]
    stone = room.minter.read(lambda reader: lifecycle.tombstone(reader, identifier.encode()))
    assert (stone.date, stone.minted) == (b"20261201120000", START.encode())
    assert (stone.reason, stone.successor) == (b"a duplicate", other.encode())
    assert room.leads(identifier) == room.leads(identifier + "/page") == "gone"
    assert room.minter.read(lambda reader: lifecycle.state_since(reader, identifier.encode())) == b"20261201120000"
    assert room.minter.read(lambda reader: lifecycle.state_since(reader, other.encode())) == START.encode()


def test_what_was_bound_to_a_withdrawn_identifier_is_still_shown(room):
    identifier = bound(room)
    room("withdraw", identifier)
    shown = room.text("fetch", identifier)
    assert "State: withdrawn\n" in shown and f"_t: {URL}\n" in shown
    (unbound,) = room.mint()
    room("withdraw", unbound)
    assert "State: withdrawn\n" in room.text("fetch", unbound)


def test_nothing_more_can_be_done_to_a_withdrawn_identifier(room):
    identifier = bound(room)
    room("withdraw", identifier, "--reason", "r")
    for words in (["publish", identifier], ["reserve", identifier], ["hold", "set", identifier],
                  ["hold", "release", identifier], ["queue", "now", identifier], ["queue", "first", identifier],
                  ["bind", "set", identifier, "e", "v"], ["bind", "purge", identifier, "_t"],
                  ["alias", identifier, "x50"], ["withdraw", identifier]):
        refusal = room.refused(*words)
        assert isinstance(refusal, ConflictError) and "withdrawn" in refusal.message, words


def test_only_reason_and_successor_of_a_tombstone_can_be_changed(room):
    identifier = bound(room)
    other = bound(room)
    room("withdraw", identifier, "--reason", "first")
    room.clock.set("20270101000000")
    answer = room("withdraw", identifier, "--successor", other)
    assert answer[0]["withdrawn"] == START and answer[0]["reason"] == "first"
    assert [r["relation"] for r in room("relations", other)] == ["predecessor"]
    room("withdraw", identifier, "--reason", "second", "--successor", "")
    assert room("relations", other) == []
    assert room("history", identifier)[-1]["changes"] == [
        {"id": identifier, "what": "reason", "before": "first", "after": "second"},
        {"id": identifier, "what": "successor", "before": other, "after": None},
    ]


@pytest.mark.parametrize("template", [["x.sd"], ["x.sd", "short"], ["--at-last", "wrap", "x.rd", "medium"],
                                      ["x.rd", "short"]], ids=" ".join)
def test_a_withdrawn_name_is_never_minted_again(tmp_path, template):
    room = Room(tmp_path, *template)
    room("queue", "now", "x7")
    room("withdraw", "x7", "--reason", "it was queued")
    room("hold", "set", "x3")
    room("withdraw", "x3", "--reason", "it was held")
    (first,) = room.mint()
    room("withdraw", first)
    minted = []
    for _ in range(40):
        try:
            minted += room.mint()
        except ExhaustedError:
            break
    assert minted and not {"x7", "x3", first} & set(minted)
    room.close()


def test_a_name_that_is_not_known_cannot_be_withdrawn(room):
    assert "neither minted nor bound" in room.refused("withdraw", "x07").message
    assert isinstance(room.refused("withdraw", "nonsense"), InvalidError)
    assert isinstance(room.refused("withdraw"), UsageError)
    assert isinstance(room.refused("withdraw", "x1", "x2"), UsageError)
    (identifier,) = room.mint()
    assert isinstance(room.refused("withdraw", identifier, "--reason", "r" * 5000), InvalidError)
    assert isinstance(room.refused("withdraw", identifier, "--why", "r"), UsageError)


def test_a_successor_is_another_name_that_is_in_use(room):
    first, second = room.mint(2)
    assert "its own successor" in room.refused("withdraw", first, "--successor", first).message
    room("withdraw", second)
    assert "withdrawn" in room.refused("withdraw", first, "--successor", second).message
    answer = room("withdraw", first, "--successor", "https://doi.org/10.1000/182")
    assert answer[0]["successor"] == "doi:10.1000/182"


def test_a_peppered_identifier_is_moved_only_with_its_pepper(room):
    (record,) = room("peppermint", "1")
    peppered = record["id"]
    bare, _, pepper = peppered.partition("!")
    for words in (["reserve", bare], ["withdraw", bare], ["alias", bare, "x50"], ["publish", bare + "!wrong"]):
        assert isinstance(room.refused(*words), ForbiddenError), words
    room("reserve", peppered)
    room("publish", peppered)
    room("alias", peppered, "x50")
    assert isinstance(room.refused("alias", "--remove", bare), ForbiddenError)
    room("alias", "--remove", peppered)
    room("withdraw", peppered)
    assert room.state(bare) == "withdrawn"
    assert pepper not in room.text("log") + room.text("dbinfo", "dump")


def test_a_reserved_name_is_left_out_of_exported_maps(room, tmp_path):
    first, second, third = bound(room), bound(room), bound(room)
    room("reserve", first)
    room("withdraw", second)
    room("export", "--map", "txt", str(tmp_path / "map.txt"))
    text = (tmp_path / "map.txt").read_text()
    assert third in text and first not in text and second not in text


# -- through the doors -----------------------------------------------------------------------------------------------


def test_the_life_of_an_identifier_at_the_shell(noid):
    noid("dbcreate", "x.sdd")
    noid("mint", "2")
    noid("bind", "set", "x00", "_t", URL)
    assert noid("reserve", "x00", "x01") == "id: x00\nState: reserved\nid: x01\nState: reserved\n\n"
    assert noid("fetch", "x00").splitlines()[2] == "State: reserved"
    assert "reserved" in noid.refused("resolve", "x00", status=1)
    assert noid("publish", "x00") == "id: x00\nState: published\n\n"
    assert noid("resolve", "x00") == f"{URL}\n"
    out = noid("withdraw", "x00", "--reason", "bad: idea", "--successor", "x01")
    assert out.splitlines()[0:2] == ["id: x00", "State: withdrawn"]
    assert out.splitlines()[3:5] == ["Reason: bad: idea", "Successor: x01"]
    assert "withdrawn" in noid.refused("resolve", "x00", status=1)
    noid.refused("publish", "x00", status=1)
    noid.refused("withdraw", status=2)


def test_the_life_of_an_identifier_by_url_and_in_bulk(tmp_path):
    create(tmp_path / "kt5", "x.sdd")
    command(tmp_path / "kt5", "mint", "3")
    web = Web(tmp_path)
    assert web("reserve+x00").status == 401
    assert web("reserve+x00", user=USER).text == "id: x00\nState: reserved\n\n"
    reply = web("publish+x00", user=USER, accept="application/json")
    assert reply.json == {"records": [{"id": "x00", "state": "published"}]}
    reply = web("withdraw+x00+--reason+a%20b%2Bc+--successor+x01", user=USER, accept="application/json")
    assert reply.json["records"][0] | {"withdrawn": ""} == {
        "id": "x00", "state": "withdrawn", "withdrawn": "", "reason": "a b+c", "successor": "x01"}
    assert web("publish+x00", user=USER).status == 409
    assert web("withdraw+x77", user=USER).status == 404
    fetched = web("fetch+x00", accept="application/json").json
    assert fetched["records"][0]["state"] == "withdrawn"
    done = web.post("reserve x01\nwithdraw x02 --reason 'no more'\npublish x02\npublish x01\n")
    assert "bulk: 4 commands, 3 done, 1 refused" in done.text


def test_withdrawing_is_for_administrators(tmp_path):
    create(tmp_path / "kt5", "x.sdd")
    for words in (["mint", "1"], ["policy", "bind", "anyone"], ["policy", "admin", "boss"]):
        command(tmp_path / "kt5", *words)
    web = Web(tmp_path)
    assert web("reserve+x00").status == 200
    assert web("withdraw+x00", user=USER).status == 403
    assert web("withdraw+x00", user="boss").status == 200


def test_a_reserved_name_is_not_let_go_nor_minted_for_somebody_else(noid):
    noid("dbcreate", "x.sd", "short")
    noid("reserve", "x1")
    noid("bind", "set", "x1", "_t", "http://secret.example/")
    assert "publish it first" in noid.refused("hold", "release", "x1", status=1)
    assert noid.ids(2) == ["x0", "x2"]
    assert "reserved" in noid.refused("resolve", "x1")
