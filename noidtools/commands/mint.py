"""Commands that make identifiers.  Apart from the others, because they are the ones that must start quickly."""

from __future__ import annotations

from ..errors import UsageError
from ..minter import minting
from .answers import Answer, Ids
from .session import as_count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .answers import Record
    from .session import Call



def mint(call: Call) -> Answer:
    return _mint(call, peppered=False)


def peppermint(call: Call) -> Answer:
    return _mint(call, peppered=True)


def _mint(call: Call, *, peppered: bool) -> Answer:
    call, patience = _without_patience(call)
    args = call.need(1, 3, f"{call.name.decode()} [--patience S] N [Element Value]")
    if len(args) == 2:
        raise UsageError(f"an Element needs a Value: say {call.name.decode()} N Element Value")
    count = as_count(args[0])
    element, value = (args[1], args[2]) if len(args) == 3 else (None, b"")
    order = minting.MintOptions(peppered=peppered, element=element, value=value)

    def records() -> Iterator[Record]:
        sharing = call.session.sharing
        for ids in minting.mint(call.minter, call.actor, count, order, patience=patience, sharing=sharing):
            yield Ids(ids)

    return Answer(stream=records(), spaced=True)


def _without_patience(call: Call) -> tuple[Call, int | None]:
    """The option that may stand before N, and nowhere else: behind it a value may look like an option."""
    if not call.args or not call.args[0].startswith(b"--"):
        return call, None
    from ..schemes.timed import parse_patience
    from .session import Call, take_options

    length = 1 if b"=" in call.args[0] else 2
    options, _ = take_options(call.args[:length], ("patience",))
    patience = parse_patience(options["patience"][0].encode()) if options else None
    return Call(call.session, [call.name, *call.args[length:]], call.pairs), patience
