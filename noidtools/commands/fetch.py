"""Commands that print the elements of an identifier."""

from __future__ import annotations

from ..minter.elements import fetch_name
from ..minter.policies import READ
from .answers import Answer, FetchedRecord, Values
from .command import Command, Form

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..minter.elements import FetchedName
    from .call import Call


def _fetch(call: Call) -> Answer:
    name = _fetch_name(call, with_circulation=True)
    record = FetchedRecord(name.display, name.held, name.circulation, name.elements, name.computed,
                           state=name.state, alias=name.alias)
    return Answer(record, spaced=True)


def _get(call: Call) -> Answer:
    return Answer(Values(_fetch_name(call, with_circulation=False).elements))


def _fetch_name(call: Call, *, with_circulation: bool) -> FetchedName:
    minter, text, wanted = call.minter, call.words[0], call.words[1:]
    return minter.read(lambda reader: fetch_name(minter, reader, text, wanted, with_circulation=with_circulation))


COMMANDS = (
    Command(
        "fetch", "show what is bound under an identifier, with labels",
        Form("Id [Element…]", _fetch, READ), see="tutorial.md#mint-bind-fetch",
        about="""\
Shows all elements, or those named. Circ is the circulation record: what happened to the identifier, when and by whom.
An element that is not bound but named may be computed by a rule, which a note then names.
""",
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
        Form("Id [Element…]", _get, READ), see="tutorial.md#mint-bind-fetch",
        example="""\
$ noid get 13030/kt4x551 who when
Darwin
1859
""",
    ),
)
