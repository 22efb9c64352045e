"""Commands about schemes: which there are, what a label says, and how labels are made from the time."""

from __future__ import annotations

from ..errors import NoMinterError
from ..minter import events, meta
from ..minter.policies import ADMIN, READ
from .answers import Answer, Blank, Fields
from .command import Command, Form

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..store import Writer
    from .answers import Record
    from .call import Call


def _schemes(call: Call) -> Answer:
    from ..schemes import NAMES, scheme_class

    records: list[Record] = []
    for name in NAMES:
        scheme = scheme_class(name)
        options = " ".join(f"--{option}" for option in scheme.options)
        about = ("scheme", name.encode()), ("summary", scheme.summary.encode()), ("options", options.encode())
        records += [Fields(*about), Blank()]
    return Answer(*records[:-1], spaced=True)


def _decode(call: Call) -> Answer:
    from ..names import parse
    from ..schemes import form_of

    (given,) = call.words
    try:
        label = call.minter.stored(given)
    except NoMinterError:
        label = given  # it says the same everywhere
    name = parse(label)
    if name.scheme == b"hdl":
        label = name.body
    return Answer(Fields(*form_of(label).decode(label)), spaced=True)


def _adjust(call: Call) -> Answer:
    """Change the setting of the generator that the command is named after."""
    name, (given,) = call.command.name, call.words
    minter = call.minter

    def work(writer: Writer) -> tuple[bytes, bytes]:
        generator = meta.generator_of(minter.scheme, writer)
        before, after = generator.adjust(name, given)
        meta.save_generator(writer, generator)
        events.record_event(writer, call.actor, name.encode(), changes=[events.Change(name.encode(), before, after)])
        return before, after

    before, after = minter.write(work)
    return Answer(Fields(("ok", b"%b is %b, was %b" % (name.encode(), after, before))), spaced=True)


COMMANDS = (
    Command("schemes", "list the ways in which labels can be made", Form("", _schemes, READ)),
    Command("decode", "what an IBI, IBIp or PILIN label says: its scheme, place and time",
            Form("Label", _decode, READ)),
    Command("granularity", "set how far apart labels made from the time are: 60, 1, 0.1, 0.01, …",
            Form("Seconds", _adjust, ADMIN)),
    Command("patience", "set how long one identifier made from the time may be waited for",
            Form("Seconds", _adjust, ADMIN)),
)
