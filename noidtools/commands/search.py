"""Commands that find names: find and list."""

from __future__ import annotations

import json

from .. import search
from ..codec import decode_text
from ..dates import first_second
from ..description.bibliography import title_element
from ..description.missing import without_code
from ..errors import UsageError
from ..minter.policies import READ
from .answers import Answer, Blank, Fields, FileChunk
from .command import Command, Form, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..description.facts import FoundName
    from ..search import Query
    from .answers import Record
    from .call import Call

_LIMIT = 100


def _find(call: Call) -> Answer:
    words, target = " ".join(map(decode_text, call.words)), call.option("target") or ""
    elements = dict(map(_element, call.values("element")))
    if not (words.strip() or target or elements):
        raise UsageError("find needs words, --element or --target; 'noid list' lists names")
    of_target = {"target" if search.is_address(target) else "host": target} if target else {}
    return _answer(call, _query(call, words=words, elements=elements, **of_target))


def _element(text: str) -> tuple[str, str]:
    name, mark, words = text.partition("=")
    if not mark or not name:
        raise UsageError("--element is NAME=WORDS, as in --element title=letters")
    return name, words


def _list(call: Call) -> Answer:
    return _answer(call, _query(call))


def _query(call: Call, **more: object) -> Query:
    since = call.option("changed-since")
    return search.Query(prefix=call.beginning("prefix"), state=call.option("state") or "",
                        changed_since=first_second(since) if since else b"", **more)  # type: ignore[arg-type]


def _answer(call: Call, query: Query) -> Answer:
    text = call.option("limit")
    if text is not None and not (text.isascii() and text.isdigit() and int(text[:10]) > 0):
        raise UsageError(f"--limit is a number from 1 on, not {text!r}")
    found = search.find_all(call.minter, call.session.view, query, int(text) if text else _LIMIT)
    if call.flag("json"):
        return Answer(FileChunk("".join(f"{json.dumps(_data(name))}\n" for name in found).encode()))
    records: list[Record] = []
    for name in found:
        records += [Fields(*_fields(name)), Blank()]
    return Answer(*records)


def _fields(name: FoundName) -> Iterator[tuple[str, str]]:
    yield "id", name.identifier
    if name.state not in (None, "published"):
        yield "State", str(name.state)
    if name.alias_of:
        yield "alias", name.alias_of
    title = title_element(name.elements)
    if title:
        yield "title", without_code(name.elements[title])
    if name.target:
        yield "target", name.target


def _data(name: FoundName) -> dict[str, object]:
    data: dict[str, object] = {"id": name.identifier, "state": name.state, "elements": name.elements}
    return data | ({"alias": name.alias_of} if name.alias_of else {})


_OPTIONS = (
    Option("--prefix Text", "only names that begin so"),
    Option("--state State", "only names in this state: reserved, published, unavailable or withdrawn"),
    Option("--changed-since Date", "only names that were changed on this day or later"),
    Option("--limit N", f"print at most N names; {_LIMIT} unless given"),
    Option("--json", "print each name as a line of JSON, with all its elements"),
)
_SELECTION = "[--prefix Text] [--state State] [--changed-since Date] [--limit N] [--json]"

COMMANDS = (
    Command(
        "find", "search names by words, elements or targets",
        Form(f"[Word…] [--element Name=Words]… [--target Url|Host] {_SELECTION}", _find, READ, writes=False),
        options=(
            Option("--element Name=Words", "only names with these words in the value of this element"),
            Option("--target Url|Host", "only names that lead to this address, to addresses that begin so if it ends "
                                        "in *, or to this host"), *_OPTIONS),
        also=("list", "resolve"), see="tutorial.md#find-names",
        about="""\
Finds names in which all words occur, in the name itself or in what is bound to it. Case and accents do not matter. "Two
words" in quotes must be adjacent, and begin* matches the beginning of a word. The search index is kept beside the
database and brought up to date before each search.
""",
        example="""\
$ noid find 'spec*'
id: 13030/kt4x551
title: On the origin of species
target: https://library.example/kt4x551

""",
    ),
    Command(
        "list", "list names in order",
        Form(_SELECTION, _list, READ, writes=False), options=_OPTIONS,
        also=("find", "export"), see="tutorial.md#find-names",
        example="""\
$ noid list --limit 1
id: 13030/kt154d9

""",
    ),
)
