"""The command that binds values to elements of identifiers."""

from __future__ import annotations

from ..minter import bindings
from ..minter.access import BIND, MINT
from ..minter.minted_bindings import bind_elements
from .answers import Answer
from .command import Command, Form
from .name_records import BindRecord
from .records import Blank

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .answers import Record
    from .call import Call


def _bind(call: Call) -> Answer:
    how, identifier = call.words[:2]
    records: list[Record] = []
    done = bind_elements(call.minter, call.actor, how, identifier, _pairs(call))
    for bound in done:
        if records:
            records.append(Blank())
        records.append(BindRecord(bound))
    return Answer(*records, spaced=True)


def _pairs(call: Call) -> list[tuple[bytes, bytes | None]]:
    """Elements and values, from the words or from the input; the value is None where a binding is removed."""
    if call.pairs is not None:
        removing = call.words[0] in bindings.REMOVING
        return [(element, None if removing else value) for element, value in call.pairs]
    return [(call.words[2], call.words[3] if len(call.words) > 3 else None)]


_CHANGING, _REMOVING, _MINTING = (
    b"|".join(hows).decode() for hows in (bindings.CHANGING, bindings.REMOVING, bindings.MINTING)
)
COMMANDS = (
    Command(
        "bind", "bind a value to an element of an identifier, or remove it",
        Form(f"{_CHANGING} Id Element Value", _bind, BIND, too_few="a Value is missing"),
        Form(f"{_CHANGING} Id :|:-", _bind, BIND),
        Form(f"{_REMOVING} Id Element|:|:-", _bind, BIND, too_many="removing takes no Value"),
        Form(f"{_MINTING} new Element Value", _bind, MINT, BIND),
        Form(f"{_MINTING} new :|:-", _bind, MINT, BIND),
        input_at=2, see="tutorial.md#the-ways-to-bind",
        about="""\
new needs that nothing is bound; replace, append, prepend and delete need that something is; set, add, insert and purge
take both. append and add put the value at the end of what is bound, prepend and insert at its beginning. With -item
behind them, these four add the value as a further item of a list: items are separated by |, a | within the new item is
stored as %7C, and get --items shows each item as it was given. mint and peppermint make an identifier and bind to it.

With : in place of an element, lines of the form "Element: value" are read from the input up to an empty line; indented
lines continue a value, and # begins a comment. With :- one element is read, and all the rest of the input is its value.

An Id of the form :idmap/PATTERN is a rule: it computes the element for all identifiers that match.
""",
        example="""\
$ noid bind set 13030/kt4x551 title 'On the origin of species'
Id:      13030/kt4x551
Element: title
Bind:    set
Status:  ok, 24 bytes written, replacing 0 bytes

$ printf 'who: Darwin\\nwhen: 1859\\n\\n' | noid bind set 13030/kt4x551 : | grep -c Status
2
""",
    ),
)
