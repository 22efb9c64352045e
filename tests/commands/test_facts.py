"""What a command says of itself agrees with what it does: whether it writes, streams, may be batched, and for whom."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from noidtools.commands import Call, Invocation, all_commands
from noidtools.commands.bulk import run_lines
from noidtools.commands.lines import LineSource
from noidtools.errors import ForbiddenError
from noidtools.minter import Minter, minting
from noidtools.times import SECOND
from support.minter import Noid

CHUNK = 10

# Every kind of call that the web offers, one or more for each form: its words, the classes it needs, and which of
# `writes`, `streams`, `batches` and `input` are so.  The capital letters are identifiers, see `letters`.
CALLS = """
mint 0                                          | mint      | writes batches
mint 2                                          | mint      | writes batches
mint 25                                         | mint      | writes streams
mint --patience 5 1                             | mint      | writes streams
mint 2 e v                                      | mint bind | writes batches
mint --patience=5 2 e v                         | mint bind | writes streams
mint 25 e v                                     | mint bind | writes streams
peppermint 2                                    | mint      | writes batches
peppermint 25                                   | mint      | writes streams
peppermint 2 e v                                | mint bind | writes batches
bind set X e v                                  | bind      | writes batches
bind append X title v                           | bind      | writes batches
bind set X :                                    | bind      | writes input
bind add X :-                                   | bind      | writes input
bind delete X title                             | bind      | writes batches
bind purge X :                                  | bind      | writes input
bind mint new e v                               | mint bind | writes batches
bind peppermint new e v                         | mint bind | writes batches
bind mint new :                                 | mint bind | writes input
bind peppermint new :-                          | mint bind | writes input
fetch X                                         | read      |
fetch X title                                   | read      |
get X title                                     | read      |
hold set Q                                      | bind      | writes batches
hold release H                                  | bind      | writes batches
queue now Q                                     | bind      | writes batches
queue 30d Q                                     | bind      | writes batches
queue delete D                                  | bind      | writes batches
validate - X                                    | read      |
validate .zd 5                                  | read      |
schemes                                         | read      |
decode 8JMKD3MGP8W/34PGRBS                      | read      |
path X                                          | read      |
policy                                          | admin     |
policy read                                     | admin     |
policy persistence                              | admin     |
policy mint anyone                              | admin     | writes batches
policy bind default                             | admin     | writes batches
policy minting reserve                          | admin     | writes batches
policy association Works                        | admin     | writes batches
policy persistence Always --until 2126          | admin     | writes batches
promise                                         | admin     |
promise persistence                             | admin     |
promise minting reserve                         | admin     | writes batches
promise association Works                       | admin     | writes batches
promise persistence Always --until 2126         | admin     | writes batches
identify an-item                                | mint bind | writes batches
publish R                                       | bind      | writes batches
reserve X                                       | bind      | writes batches
withdraw X --reason Twice                       | admin     | writes batches
unavailable X --reason Moving                   | bind      | writes batches
find --element title=x                          | read      |
list --limit 5                                  | read      |
policy mint-limit 5                             | admin     | writes batches
tombstone W                                     | read      |
tombstone W --reason Twice                      | admin     | writes batches
alias other X                                   | bind      | writes batches
alias --remove old                              | bind      | writes batches
synonym X doi:10.1/1 --authority Me             | bind      | writes batches
synonym --remove X doi:10.1/2                   | bind      | writes batches
relate X equivalent doi:10.1/1 --authority Me   | bind      | writes batches
relate --remove X equivalent doi:10.1/3         | bind      | writes batches
abstract                                        | read      |
abstract Library                                | read      |
abstract show Library                           | read      |
abstract context Other --authority Me           | admin     | writes batches
abstract identifier Library:x --authority Me    | bind      | writes batches
abstract --remove Library                       | admin     | writes batches
prefer X                                        | bind      | writes batches
prefer --remove S --authority Me                | bind      | writes batches
relations X                                     | read      |
history X                                       | read      |
history X --json                                | read      |
log                                             | admin     | streams
log --since 1 --json                            | admin     | streams
custodian                                       | read      |
custodian X                                     | read      |
custodian show X                                | read      |
custodian history                               | read      |
custodian set Kim                               | admin     | writes batches
custodian set --contact tel:1 Kim X             | admin     | writes batches
custodian remove C                              | admin     | writes batches
custodian set Lee X --element title             | admin     | writes batches
custodian remove X --element title              | admin     | writes batches
resolve X                                       | read      |
resolve --explain X                             | read      |
resolver                                        | admin     |
resolver element target                         | admin     | writes batches
resolver fallback https://n2t.net/              | admin     | writes batches
resolver cache 60 600                           | admin     | writes batches
resolver passthrough off                        | admin     | writes batches
resolver passthrough off X                      | admin     | writes batches
resolver statistics on                          | admin     | writes batches
resolver wayback on                             | admin     | writes batches
resolver canary X https://example.org/          | admin     | writes batches
stats                                           | admin     |
stats X --csv                                   | admin     |
links report                                    | admin     |
links report --atom                             | admin     |
canary                                          | read      |
retarget --from http://127.0.0.1:1/ --to http:// | admin    | writes streams
retarget --from http: --to https: --name move   | admin     | writes streams
retarget --from http: --to https: --dry-run     | admin     | streams
export jsonl --history                          | admin     | streams
import csv --on-conflict replace                | admin     | writes streams
import csv --mint                               | admin     | writes streams
rebind                                          | admin     | writes streams
undo 3                                          | admin     | writes streams
undo 3 --dry-run                                | admin     | streams
cite X                                          | read      |
same X X                                        | read      |
context                                         | admin     |
context alias 1.2 1.3 --authority Me            | admin     | writes batches
context resolver https://example.org/           | admin     | writes batches
context purpose Books                           | admin     | writes batches
site                                            | read      |
site url https://example.org/                   | admin     | writes batches
verify X                                        | read      |
verify X --quality unique                       | read      |
verify                                          | admin     | streams
verify --links X                                | admin     | streams
verify X --record                               | admin     | writes batches
verify --record                                 | admin     | writes streams
verify --links --record X                       | admin     | writes streams
quality                                         | read      |
quality X                                       | read      |
quality state trusted --authority Me            | bind      | writes batches
quality deny universal X --authority Me         | bind      | writes batches
quality remove nameable X                       | bind      | writes batches
describe                                        | read      |
describe --text                                 | read      |
describe X                                      | read      |
note name text                                  | admin     | writes batches
dbinfo                                          | read      |
dbinfo brief                                    | read      |
dbinfo full                                     | admin     |
dbinfo dump                                     | admin     | streams
help                                            | read      |
help mint                                       | read      |
help all                                        | read      |
help templates                                  | read      |
help --man                                      | read      |
completion bash                                 | read      |
hello                                           | read      |
"""
# These change the time from one label to the next, which the minter of these tests does not have.
TIMED = """
granularity                                     | read      |
patience                                        | read      |
granularity 60                                  | admin     | writes batches
patience 5                                      | admin     | writes batches
clock                                           | read      |
clock reset                                     | admin     | writes batches
"""


class Expected(NamedTuple):
    words: list[str]
    access: tuple[str, ...]
    facts: set[str]


def rows(table: str) -> list[Expected]:
    cells = [[cell.split() for cell in line.split("|")] for line in table.strip().splitlines()]
    return [Expected(words, tuple(access), set(facts)) for words, access, facts in cells]


def title(row: Expected) -> str:
    return " ".join(row.words)


ROWS = rows(CALLS)
OFFERED = [command for command in all_commands() if not command.shell_only]
SHELL_ONLY = [command.name for command in all_commands() if command.shell_only]


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minting, "CHUNK", CHUNK)


def test_every_form_is_in_the_table() -> None:
    seen = {Invocation([word.encode() for word in row.words]).form for row in [*ROWS, *rows(TIMED)]}
    missing = [f"{command.name} {form.usage}" for command in OFFERED for form in command.forms
               if not form.shell_only and form not in seen]
    assert missing == []


@pytest.mark.parametrize("row", [*ROWS, *rows(TIMED)], ids=title)
def test_a_call_knows_its_facts(row: Expected) -> None:
    invocation = Invocation([word.encode() for word in row.words])
    invocation.ensure_fits()
    assert invocation.access == row.access
    facts = {"writes": invocation.writes, "streams": invocation.streams, "batches": invocation.batches,
             "input": bool(invocation.reads_input)}
    assert {name for name, is_so in facts.items() if is_so} == row.facts


# -- what it does ------------------------------------------------------------------------------------------------

Letters = dict[str, str]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Letters]:
    """A folder with a minter, and what the letters of the table stand for: X is bound and has an alias, R is reserved,
    C has a custodian, S is preferred, H is held, D is queued, W is withdrawn, and nothing is known of Q."""
    folder = tmp_path_factory.mktemp("template")
    noid = Noid.created(folder, "x.rdddd", "medium", "13030")
    letters = dict(zip("XRCSHDWQ", noid.mint(7) + ["13030/x9999"], strict=True))
    x = letters["X"]
    for words in (
        ["bind", "set", x, "title", "t"], ["bind", "set", x, "_t", "http://127.0.0.1:1/"], ["alias", "old", x],
        ["synonym", x, "doi:10.1/2", "--authority", "Me"], ["reserve", letters["R"]], ["custodian", "set", "Chris"],
        ["custodian", "set", "Kim", letters["C"]], ["custodian", "set", "Jo", x, "--element", "title"],
        ["synonym", letters["S"], "doi:10.1/3", "--authority", "Me"],
        ["policy", "persistence", "kept"], ["prefer", letters["S"], "--authority", "Me"],
        ["hold", "set", letters["H"]], ["queue", "now", letters["D"]], ["policy", "bind", "alice"],
        ["withdraw", letters["W"]], ["abstract", "context", "Library", "--authority", "Me"],
        ["quality", "state", "nameable", x, "--authority", "Me"],
        ["relate", x, "equivalent", "doi:10.1/3", "--authority", "Me"],
    ):
        noid.records(*words)
    noid.close()
    return folder, letters


@pytest.fixture
def noid(template: tuple[Path, Letters], tmp_path: Path) -> Iterator[Noid]:
    shutil.copytree(template[0] / "NOID", tmp_path / "NOID")
    opened = Noid(tmp_path)
    yield opened
    opened.close()


@pytest.fixture
def transactions(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows by one for each outermost write transaction."""
    counted: list[int] = []
    write, depth = Minter.write, 0

    def counting(self: Minter, work: Callable[[Any], Any], **options: bool) -> Any:
        nonlocal depth
        depth += 1
        if depth == 1:
            counted.append(1)
        try:
            return write(self, work, **options)
        finally:
            depth -= 1

    monkeypatch.setattr(Minter, "write", counting)
    return counted


def call_of(noid: Noid, row: Expected, letters: Letters) -> Call:
    words = [letters.get(word, word).encode() for word in row.words]
    call = Call(noid.session, words, [(b"title", b"v")] if "input" in row.facts else None)
    if call.form.takes_file:
        table = b"id,element,value\r\n%b,title,w\r\n" % letters["X"].encode()
        call.file = BytesIO(b"title\r\nw\r\n" if call.flag("mint") else table)
    return call


@pytest.mark.only("lmdb")
@pytest.mark.parametrize("row", [row for row in ROWS if row.words != ["mint", "0"]], ids=title)
def test_a_call_writes_if_it_says_so_and_in_one_transaction_unless_it_streams(
    noid: Noid, template: tuple[Path, Letters], row: Expected, transactions: list[int]
) -> None:
    before = noid.text("dbinfo", "dump")
    transactions.clear()
    assert all(record is not None for record in call_of(noid, row, template[1]).run().records)
    written = len(transactions)
    assert (noid.text("dbinfo", "dump") != before) == ("writes" in row.facts)
    if "streams" not in row.facts:
        assert written == ("writes" in row.facts)
    elif row.words[0] in ("mint", "peppermint") and "25" in row.words:
        assert written == 3


@pytest.mark.only("lmdb")
@pytest.mark.parametrize("row", [row for row in ROWS if "batches" in row.facts], ids=title)
def test_what_may_be_batched_runs_in_a_transaction_with_others(
    noid: Noid, template: tuple[Path, Letters], row: Expected, transactions: list[int]
) -> None:
    call = call_of(noid, row, template[1])
    transactions.clear()
    noid.session.minter.write(lambda _: [record.data() for record in call.run().records], shared=True)
    assert len(transactions) == 1


def test_a_minter_of_time_is_adjusted_in_one_transaction(tmp_path: Path, transactions: list[int]) -> None:
    noid = Noid.with_clock(tmp_path, "--scheme", "ibi", "--computer", "mtc-m18.sid.inpe.br")
    assert noid.clock is not None
    noid.clock.now += 7200 * SECOND
    noid.mint()
    noid.clock.now -= 3600 * SECOND
    for row in rows(TIMED):
        before = noid.text("dbinfo", "dump")
        transactions.clear()
        call_of(noid, row, {}).run()
        writes = "writes" in row.facts
        assert len(transactions) == writes and (noid.text("dbinfo", "dump") != before) == writes
    noid.close()


# -- the shell only ----------------------------------------------------------------------------------------------


class OneLine(LineSource):
    def __init__(self, line: bytes) -> None:
        self._lines = [line]

    def read_line(self) -> bytes:
        return self._lines.pop() if self._lines else b""


def test_these_commands_are_for_the_shell_only() -> None:
    assert SHELL_ONLY == [
        "dbcreate", "route", "token", "status", "doctor", "serve", "setup", "resolve-loop", "backup", "restore", "copy",
        "bundle", "depart", "succeed", "naans", "sql", "check",
    ]


@pytest.mark.parametrize("line", [
    "export --map txt file", "export csv file", "import csv file", "import perl file", "rebind file",
])
def test_forms_that_work_on_files_of_the_machine_are_for_the_shell_only(noid: Noid, line: str) -> None:
    with pytest.raises(ForbiddenError, match="for the shell"):
        _ = Invocation(line.encode().split()).access
    (result,) = run_lines(noid.session, OneLine(line.encode()))
    assert result.error is not None and "cannot be used in bulk" in result.error.message


@pytest.mark.parametrize("line", ["export csv", "import csv", "rebind"])
def test_forms_whose_input_or_answer_is_a_file_cannot_be_used_in_bulk(noid: Noid, line: str) -> None:
    (result,) = run_lines(noid.session, OneLine(line.encode()))
    assert result.error is not None and "cannot be used in bulk" in result.error.message


@pytest.mark.parametrize("name", SHELL_ONLY)
def test_what_is_for_the_shell_only_is_refused_elsewhere(noid: Noid, name: str) -> None:
    with pytest.raises(ForbiddenError, match="for the shell"):
        _ = Invocation([name.encode()]).access
    (result,) = run_lines(noid.session, OneLine(name.encode()))
    assert result.error is not None and "cannot be used in bulk" in result.error.message
