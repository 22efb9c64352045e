"""The command that binds values to elements of identifiers."""

from __future__ import annotations

from ..errors import UsageError
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
    minter = call.minter
    if how in bindings.MINTING:
        if given != b"new":
            raise UsageError(f"bind {how.decode()} makes its own identifier: write the word new in place of Id")
        done = minting.mint_and_bind(
            minter, call.actor, pairs, peppered=how == b"peppermint", sharing=call.session.sharing
        )
    else:
        done = minter.write(lambda writer: bindings.bind(minter, writer, call.actor, how, given, pairs))
    records: list[Record] = []
    for bound in done:
        records += [BoundRecord(bound), Blank()]
    return Answer(*records[:-1], spaced=True)


def _pairs(call: Call) -> list[tuple[bytes, bytes | None]]:
    how, element = call.args[0], call.args[2]
    if call.pairs is not None:
        return [(name, None if how in bindings.REMOVING else value) for name, value in call.pairs]
    value = call.args[3] if len(call.args) == 4 else None
    if how in bindings.REMOVING and value is not None:
        raise UsageError(f"bind {how.decode()} takes no Value")
    if how not in bindings.REMOVING and value is None:
        raise UsageError(f"a Value is missing: say bind {how.decode()} Id Element Value")
    return [(element, value)]
