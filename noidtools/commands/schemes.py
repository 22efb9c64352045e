"""Commands about schemes: list them, decode a label, and change the settings of labels that are made from the time."""

from __future__ import annotations

from ..errors import NoMinterError
from ..minter import events, meta
from ..minter.access import ADMIN, READ
from ..minter.identifiers import identify
from .answers import Answer
from .command import Command, Form
from .records import Blank, Fields

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
    from ..minter.validation import without_context
    from ..schemes import form_of

    (raw,) = call.words
    try:
        minter = call.minter
        label = call.read(lambda reader: identify(minter, reader, raw)).key
    except NoMinterError:
        label = raw  # a label means the same everywhere; a minter only strips what it puts in front
    label = without_context(label)
    return Answer(Fields(*form_of(label).decode(label)), spaced=True)


def _adjust(call: Call) -> Answer:
    """Change the setting of the generator that the command is named after."""
    name, (value,) = call.command.name, call.words
    minter = call.minter

    def work(writer: Writer) -> tuple[bytes, bytes]:
        generator = meta.generator_of(minter.scheme, writer)
        before, after = generator.adjust(name, value)
        meta.save_generator(writer, generator)
        events.record_event(writer, call.actor, name.encode(), changes=[events.Change(name.encode(), before, after)])
        return before, after

    before, after = minter.write(work)
    return Answer(Fields(("ok", b"%b is %b, was %b" % (name.encode(), after, before))), spaced=True)


COMMANDS = (
    Command(
        "schemes", "list the ways in which labels can be made, with their options of dbcreate",
        Form("", _schemes, READ), see="time-labels.md#create-and-mint",
        example="""\
$ noid schemes | grep scheme
scheme: noid
scheme: ibi
scheme: ibip
scheme: pilin
""",
    ),
    Command(
        "decode", "what an IBI, IBIp or PILIN label says: its scheme, place and time",
        Form("Label", _decode, READ), see="time-labels.md",
        about="""\
No minter is needed.
""",
        example="""\
$ noid decode 102.100.272/RPLZ54PQH
id: 102.100.272/RPLZ54PQH
scheme: pilin
prefix: 102.100.272
time: 2007-12-19T23:44:55.269Z
milliseconds: 13417400695269

""",
    ),
    Command(
        "granularity", "set how far apart labels made from the time are: 60, 1, 0.1, 0.01, … seconds",
        Form("Seconds", _adjust, ADMIN), see="time-labels.md",
        example="""\
$ mkdir ibi && noid -f ibi dbcreate --scheme ibi --computer mtc-m18.sid.inpe.br | grep Scheme
Scheme: ibi
$ noid -f ibi granularity 0.1
ok: granularity is 0.1, was 1

""",
    ),
    Command(
        "patience", "set how many seconds one identifier made from the time may be waited for",
        Form("Seconds", _adjust, ADMIN), see="time-labels.md",
        about="""\
A longer wait is refused as busy, and takes no identifier.
""",
        example="""\
$ noid -f ibi patience 5
ok: patience is 5, was 30

""",
    ),
)
