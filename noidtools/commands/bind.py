"""The command that binds values to elements of identifiers."""

from __future__ import annotations

from ..minter import bindings, minting
from .answers import Answer, Blank, BoundRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .answers import Record
    from .session import Call


def bind(call: Call) -> Answer:
    args = call.need(3, 4, "bind How Id Element Value")
    how, given = args[0], args[1]
    bindings.ensure_how(how)
    pairs = _pairs(call)
    done = minting.bind_elements(call.minter, call.actor, how, given, pairs, sharing=call.session.sharing)
    records: list[Record] = []
    for bound in done:
        records += [BoundRecord(bound), Blank()]
    return Answer(*records[:-1], spaced=True)


def _pairs(call: Call) -> list[tuple[bytes, bytes | None]]:
    how, element = call.args[0], call.args[2]
    if call.pairs is not None:
        return [(name, None if how in bindings.REMOVING else value) for name, value in call.pairs]
    value = call.args[3] if len(call.args) == 4 else None
    bindings.ensure_value_fits(how, value)
    return [(element, value)]
