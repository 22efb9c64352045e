"""Commands about schemes: which there are, what a label says, how fine the grid of time is, who names an item."""

from __future__ import annotations

from ..errors import NoMinterError
from ..minter import events
from ..minter.tables import META
from .answers import Answer, Blank, Fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..store import Writer
    from .answers import Record
    from .session import Call


def schemes(call: Call) -> Answer:
    from ..schemes import NAMES, scheme_class

    call.need(0, 0, "schemes")
    records: list[Record] = []
    for name in NAMES:
        scheme = scheme_class(name)
        options = " ".join(f"--{option}" for option in scheme.options)
        about = ("scheme", name.encode()), ("summary", scheme.summary.encode()), ("options", options.encode())
        records += [Fields(*about), Blank()]
    return Answer(*records[:-1], spaced=True)


def decode(call: Call) -> Answer:
    from ..names import parse
    from ..schemes import form_of

    (given,) = call.need(1, 1, "decode Label")
    try:
        label = call.minter.stored(given)
    except NoMinterError:
        label = given  # it says the same everywhere
    name = parse(label)
    if name.scheme == b"hdl":
        label = name.body
    return Answer(Fields(*form_of(label).decode(label)), spaced=True)


def granularity(call: Call) -> Answer:
    return _adjust(call, "granularity", "granularity Seconds")


def patience(call: Call) -> Answer:
    return _adjust(call, "patience", "patience Seconds")


def _adjust(call: Call, name: str, usage: str) -> Answer:
    (given,) = call.need(1, 1, usage)
    minter = call.minter

    def work(writer: Writer) -> tuple[bytes, bytes]:
        generator = minter.scheme.generator(writer.get(META, b"state"))
        before, after = generator.adjust(name, given)
        writer.put(META, b"state", generator.state())
        events.record_event(writer, call.actor, name.encode(), changes=[events.Change(name.encode(), before, after)])
        return before, after

    before, after = minter.write(work)
    return Answer(Fields(("ok", b"%b is %b, was %b" % (name.encode(), after, before))), spaced=True)
