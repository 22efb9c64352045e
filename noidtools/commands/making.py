"""Commands that make identifiers.  Apart from the others, because they are the ones that must start quickly."""

from __future__ import annotations

from .. import minting
from ..answers import Answer, Ids
from ..exceptions import UsageError
from .session import as_count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..answers import Record
    from .session import Call


def mint(call: Call) -> Answer:
    return _mint(call, peppered=False)


def peppermint(call: Call) -> Answer:
    return _mint(call, peppered=True)


def _mint(call: Call, *, peppered: bool) -> Answer:
    args = call.need(1, 3, f"{call.name.decode()} N [Element Value]")
    if len(args) == 2:
        raise UsageError(f"an Element needs a Value: say {call.name.decode()} N Element Value")
    count = as_count(args[0])
    element, value = (args[1], args[2]) if len(args) == 3 else (None, b"")
    order = minting.Order(peppered=peppered, element=element, value=value)

    def records() -> Iterator[Record]:
        for ids in minting.mint(call.minter, call.actor, count, order):
            yield Ids(ids)

    return Answer(stream=records(), spaced=True)
