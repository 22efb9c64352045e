"""The command about the custodians of the minter and of identifiers."""

from __future__ import annotations

from ..errors import UsageError
from ..minter import custody
from ..minter.access import ADMIN, READ
from .answers import Answer
from .command import Command, Form, Option
from .records import Blank, Fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..minter import Minter
    from ..store import Reader
    from .answers import Record
    from .call import Call


def _show(call: Call) -> Answer:
    return _current(call, call.words)


def _show_named(call: Call) -> Answer:
    return _current(call, call.words[1:])


def _current(call: Call, names: list[bytes]) -> Answer:
    minter = call.minter
    return _answer(call, call.read(
        lambda reader: custody.current_custodians(minter, reader, _subject(minter, reader, names))
    ))


def _history(call: Call) -> Answer:
    minter, names = call.minter, call.words[1:]
    custodians = call.read(lambda reader: custody.custody_history(minter, reader, _subject(minter, reader, names)))
    return Answer(*(_custodian(call, custodian) for custodian in custodians), spaced=True)


def _answer(call: Call, custodians: list[custody.Custodian]) -> Answer:
    records: list[Record] = []
    for custodian in custodians:
        records += [_custodian(call, custodian), Blank()]
    return Answer(*records[:-1], spaced=True)


def _set(call: Call) -> Answer:
    minter, (_, who, *names) = call.minter, call.words
    contact, purpose = ((call.option(name) or "").encode() for name in ("contact", "purpose"))
    custodian = minter.write(lambda writer: custody.appoint(
        minter, writer, call.actor, who, contact, _subject(minter, writer, names, changing=True), purpose
    ))
    return Answer(_custodian(call, custodian), spaced=True)


def _remove(call: Call) -> Answer:
    minter, names, purpose = call.minter, call.words[1:], call.option("purpose")
    if not names and not purpose:
        raise UsageError("the minter always has a custodian: name the identifier whose own one is to be removed, or "
                         "the purpose of one")
    removed = minter.write(lambda writer: custody.dismiss(
        minter, writer, call.actor, _subject(minter, writer, names, changing=True),
        None if purpose is None else purpose.encode(),
    ))
    done = removed.name + b" no longer answers for " + _of(call, removed)
    return Answer(Fields(("ok", done)), spaced=True)


def _subject(minter: Minter, reader: Reader, names: list[bytes], *, changing: bool = False) -> bytes:
    return custody.custody_subject(minter, reader, names[0], changing=changing) if names else custody.MINTER


def _custodian(call: Call, custodian: custody.Custodian) -> Fields:
    fields = [("of", _of(call, custodian)), ("Custodian", custodian.name), ("Purpose", custodian.purpose),
              ("Contact", custodian.contact), ("From", custodian.start), ("Until", custodian.until)]
    return Fields(*((name, value) for name, value in fields if value))


def _of(call: Call, custodian: custody.Custodian) -> bytes:
    return call.minter.namespace.display(custodian.of) if custodian.of else b"this minter"


COMMANDS = (
    Command(
        "custodian", "who answers for the minter or an identifier; hand it over",
        Form("[Id]", _show, READ),
        Form("show [Id]", _show_named, READ),
        Form("history [Id]", _history, READ),
        Form("set Name [Id] [--contact Contact] [--purpose Text]", _set, ADMIN),
        Form("remove [Id] [--purpose Text]", _remove, ADMIN),
        options=(
            Option("--contact Contact", "how to reach the custodian"),
            Option("--purpose Text", "for what the custodian answers; for all that no other does, unless given"),
        ),
        see="lifecycle-and-history.md#custodians",
        about="""\
There may be several custodians at a time, each for a purpose, beside one who answers for all else. What an identifier
has no custodian of its own for, the minter's answer for; a minter without one has the authority it was created for.
""",
        example="""\
$ noid custodian set 'Digital Collections' --contact mailto:names@example.org
of: this minter
Custodian: Digital Collections
Contact: mailto:names@example.org
From: …

""",
    ),
)
