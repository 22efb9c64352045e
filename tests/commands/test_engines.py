"""Minters and commands know no engine: what they do with LMDB they do with PostgreSQL and the engine in memory.

The commands and the answers are those recorded of release 0.1.0, in tests/fixtures/answers.json: the commands by which
a minter was made (`made`), questions about it (`answers`), and further commands (`after`).
"""

from __future__ import annotations

import json
import re
import threading
from pathlib import Path

import pytest

from noidtools import store as stores
from noidtools.cli.noidr import Replies
from noidtools.commands import Call
from noidtools.commands.idempotency import IdempotentRun
from noidtools.errors import ConflictError, NoidError
from noidtools.minter import Minter, location_of
from noidtools.minter.folder import MinterFolder
from noidtools.resolution.catalogue import Catalogue
from noidtools.times import SECOND
from support import memory_store
from support.minter import Noid
from support.postgres import postgres_address
from support.process import wait_until
from support.recorded import as_answered_now, comparable
from support.resolving import resolve_among

RECORDED = json.loads(
    (Path(__file__).resolve().parent.parent / "fixtures" / "answers.json").read_text(encoding="utf-8")
)["ark"]
TEMPLATE = ("f5.reedeedk", "long", "13030", "cdlib.org", "oac", "--label", "ark:/")
NAME = "13030/f54x54g11"


@pytest.fixture(params=["lmdb", "memory", pytest.param("postgres", marks=pytest.mark.servers)])
def engine(request, monkeypatch) -> str:
    monkeypatch.setitem(stores.ENGINES, "memory", memory_store.__name__)
    if request.param == "postgres":
        monkeypatch.setenv(stores.ADDRESS_VARIABLE, postgres_address())
    else:
        monkeypatch.delenv(stores.ADDRESS_VARIABLE, raising=False)
        monkeypatch.setattr(stores, "DEFAULT", request.param)
    return request.param


@pytest.fixture
def minter(engine, tmp_path):
    made = Noid.with_clock(tmp_path / "ark", *TEMPLATE)
    assert type(made.opened.store).__module__.startswith(stores.ENGINES[engine])
    yield made
    made.close()


class Replay:
    """Gives recorded commands, and compares the answers; peppers are random and left out."""

    def __init__(self, minter: Noid) -> None:
        self._minter = minter
        self._peppered = ""

    def __call__(self, commands: list[dict], seconds: int = 1) -> None:
        for command in commands:
            self._minter.clock.now += seconds * SECOND
            words = [self._peppered if re.search(r"!\w{16}$", word) else word for word in command["words"]]
            # Release 0.1.0 stored what it verified without being asked to.
            answer = self._answer([*words, "--record"] if words[0] == "verify" else words)
            for peppered in re.findall(r"id: (\S+!\w{16})\n", answer):
                self._peppered = peppered
            expected = as_answered_now(words, command["answer"])
            assert _plain(comparable(words, answer)) == _plain(comparable(words, expected)), words

    def _answer(self, words: list[str]) -> str:
        try:
            return self._minter.text(*words)
        except NoidError as error:
            return f"error: {error.message}\n"


def _plain(answer: str) -> str:
    """Without peppers, which are random, and without what only a database server says of itself."""
    answer = re.sub(r"^(Engine|Durability): .*\n", "", answer, flags=re.MULTILINE)
    # In a new minter nobody administers by the web; in one of the old release whoever had logged in did.
    answer = answer.replace("\nadmin: nobody\n", "\nadmin: authenticated\n")
    return re.sub(r"!\w{16}\n", "!PEPPER\n", answer)


def test_every_engine_gives_the_recorded_answers(minter):
    replay = Replay(minter)
    replay(RECORDED["made"])
    list(IdempotentRun(b"alice", b"order-17").run(Call(minter.session, [b"mint", b"1"])).records)
    replay(RECORDED["answers"], seconds=0)
    replay(RECORDED["after"])


def test_a_minter_is_there_whole_or_not_at_all(engine, minter, tmp_path):
    with pytest.raises(ConflictError):
        minter.records("dbcreate", *TEMPLATE)
    assert stores.exists(location_of(str(minter.folder)))
    assert not stores.exists(location_of(str(tmp_path / "other")))
    again = Minter(str(minter.folder))
    assert again.settings["naan"] == "13030"
    again.close()
    assert (minter.folder / "NOID").is_file() == (engine == "memory")


def test_the_resolver_loop_and_the_catalogue_use_any_engine(minter):
    minter.mint(1)
    minter.set_target(NAME, "https://a.example/")
    replies = Replies(str(minter.folder))
    line = f"get {NAME} _t".encode()
    assert replies.reply(line) == replies.reply(line) == b"https://a.example/\n"
    minter.set_target(NAME, "https://b.example/")
    wait_until(lambda: replies.reply(line) == b"https://b.example/\n", 2)  # a resolver may be a second behind
    domains = Catalogue(MinterFolder(str(minter.folder.parent))).entries()
    assert [domain.name for domain in domains] == ["ark"]
    outcome = resolve_among(domains, f"ark:/{NAME}".encode())
    assert [target.url for target in outcome.targets] == [b"https://b.example/"]


def test_threads_mint_at_once_and_nothing_twice(minter):
    minted: list[str] = []

    def mint() -> None:
        for _ in range(20):
            minted.extend(minter.mint(3))

    threads = [threading.Thread(target=mint) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(minted)) == len(minted) == 240


def test_a_savepoint_undoes_itself_alone(minter):
    def work(_) -> list[str]:
        first = minter.mint(1)
        with pytest.raises(NoidError):
            minter.records("bind", "replace", first[0], "none", "x")
        return first + minter.mint(1)

    minted = minter.opened.write(work)
    assert len(set(minted)) == 2 and minter.event_count() == 3
