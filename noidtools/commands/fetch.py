"""Commands that show what is bound under an identifier."""

from __future__ import annotations

from ..minter.elements import fetch_name
from .answers import Answer, FetchedRecord, Values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..minter.elements import FetchedName
    from .session import Call


def fetch(call: Call) -> Answer:
    found = _fetch(call, with_circulation=True)
    record = FetchedRecord(call.minter.shown(found.identifier), found.held, found.circulation, found.elements,
                           found.computed, state=found.state, alias=found.alias)
    return Answer(record, spaced=True)


def get(call: Call) -> Answer:
    return Answer(Values(_fetch(call, with_circulation=False).elements))


def _fetch(call: Call, *, with_circulation: bool) -> FetchedName:
    args = call.need(1, None, f"{call.name.decode()} Id [Element…]")
    minter, text, wanted = call.minter, args[0], args[1:]
    return minter.read(lambda reader: fetch_name(minter, reader, text, wanted, with_circulation=with_circulation))
