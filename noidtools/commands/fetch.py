"""Commands that print the elements of an identifier."""

from __future__ import annotations

from ..errors import NotFoundError
from ..minter.access import READ
from ..minter.elements import ensure_each_once, fetch_name, fetch_rules, unbound_messages
from ..minter.namespace import ALL_RULES, RULE_MARK
from .answers import Answer
from .command import Command, Form, Option
from .name_records import FetchedRecord, Unbound, ValueBreak
from .records import Blank, ItemValues, Values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..minter.elements import FetchedName
    from ..store import Reader
    from .answers import Record
    from .call import Call


def _fetch(call: Call) -> Answer:
    fetched = _fetch_names(call, with_circulation=True)
    records: list[Record] = []
    for name in fetched:
        records += [FetchedRecord(name.display, name.held, name.circulation, name.elements, name.computed,
                                  state=name.state, alias=name.alias, tombstone=name.tombstone), Blank()]
    return _answer(records[:-1], fetched[-1], spaced=True)


def _get(call: Call) -> Answer:
    fetched = _fetch_names(call, with_circulation=False)
    records: list[Record] = []
    for name in fetched:
        for element, value in name.elements:
            if records:
                records.append(ValueBreak())
            records.append(_items(element, value) if call.flag("items") else Values([(element, value)]))
    return _answer(records, fetched[-1])


def _items(element: bytes, value: bytes) -> ItemValues:
    from ..minter.items import split_items

    return ItemValues(element, split_items(value))


def _answer(records: list[Record], last: FetchedName, *, spaced: bool = False) -> Answer:
    """The answer with these records, and with an error for each element that is not bound."""
    if last.unbound:
        records.append(Unbound(unbound_messages(last), after_values=not spaced))
    return Answer(*records, spaced=spaced, failed=bool(last.unbound))


def _fetch_names(call: Call, *, with_circulation: bool) -> list[FetchedName]:
    """What is bound to a name; several for a text that names rules of several elements."""
    minter, text, wanted = call.minter, call.words[0], call.words[1:]

    def work(reader: Reader) -> list[FetchedName]:
        if text == ALL_RULES or text.startswith(RULE_MARK):
            ensure_each_once(wanted)
            try:
                return fetch_rules(reader, text, wanted)
            except NotFoundError:
                if text != ALL_RULES or not minter.scheme.free:
                    raise
                # In minters without a template, it may be a name like any other.
        return [fetch_name(minter, reader, text, wanted, with_circulation=with_circulation)]

    return call.read(work)


COMMANDS = (
    Command(
        "fetch", "show what is bound under an identifier, with labels",
        Form("Id [Element…]", _fetch, READ), see="tutorial.md#mint-bind-fetch",
        about="""\
Shows all elements, or those named. Circ is the circulation record: what happened to the identifier, when and by whom.
An element that is not bound but named may be computed by a rule, which a note then names. Of named elements those that
are bound are shown, and an error names each of the others.

With :idmap/Element in place of Id it shows the rules that compute the element, patterns and replacements in the order
in which they are tried; with :idmap all rules.
""", fails="a named element is not bound",
        example="""\
$ noid fetch 13030/kt4x551
id:    13030/kt4x551 hold
Circ:  i|…|1
title: On the origin of species
when: 1859
who: Darwin

""",
    ),
    Command(
        "get", "show what is bound under an identifier, values only",
        Form("[--items] Id [Element…]", _get, READ), see="tutorial.md#mint-bind-fetch", options_first=True,
        options=(Option("--items", "show the items of lists, which are separated by |, one a line"),),
        about="""\
A blank line separates the values of several elements.
""", fails="a named element is not bound",
        example="""\
$ noid get 13030/kt4x551 who when
Darwin

1859
""",
    ),
)
