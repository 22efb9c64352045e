"""The command about the custodians of the minter and of identifiers."""

from __future__ import annotations

from ..minter import custody
from ..minter.policies import ADMIN, READ
from .answers import Answer, Fields
from .command import Command, Form, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..minter import Minter
    from ..store import Reader
    from .call import Call


def _show(call: Call) -> Answer:
    return _current(call, call.words)


def _show_named(call: Call) -> Answer:
    return _current(call, call.words[1:])


def _current(call: Call, names: list[bytes]) -> Answer:
    minter = call.minter
    return Answer(_custodian(call, minter.read(
        lambda reader: custody.current_custodian(minter, reader, _subject(minter, reader, names))
    )), spaced=True)


def _history(call: Call) -> Answer:
    minter, names = call.minter, call.words[1:]
    custodians = minter.read(lambda reader: custody.custody_history(minter, reader, _subject(minter, reader, names)))
    return Answer(*(_custodian(call, custodian) for custodian in custodians), spaced=True)


def _set(call: Call) -> Answer:
    minter, (_, who, *names) = call.minter, call.words
    contact = (call.option("contact") or "").encode()
    custodian = minter.write(lambda writer: custody.appoint(
        minter, writer, call.actor, who, contact, _subject(minter, writer, names, changing=True)
    ))
    return Answer(_custodian(call, custodian), spaced=True)


def _remove(call: Call) -> Answer:
    minter = call.minter
    removed = minter.write(lambda writer: custody.dismiss(
        minter, writer, call.actor, _subject(minter, writer, call.words[1:], changing=True)
    ))
    done = removed.name + b" no longer answers for " + minter.namespace.display(removed.of)
    return Answer(Fields(("ok", done)), spaced=True)


def _subject(minter: Minter, reader: Reader, names: list[bytes], *, changing: bool = False) -> bytes:
    return custody.custody_subject(minter, reader, names[0], changing=changing) if names else custody.MINTER


def _custodian(call: Call, custodian: custody.Custodian) -> Fields:
    of = call.minter.namespace.display(custodian.of) if custodian.of else b"this minter"
    fields = [("of", of), ("Custodian", custodian.name), ("Contact", custodian.contact), ("From", custodian.start),
              ("Until", custodian.until)]
    return Fields(*((name, value) for name, value in fields if value))


COMMANDS = (
    Command(
        "custodian", "who answers for the minter or an identifier; hand it over",
        Form("[Id]", _show, READ),
        Form("show [Id]", _show_named, READ),
        Form("history [Id]", _history, READ),
        Form("set Name [Id] [--contact Contact]", _set, ADMIN),
        Form("remove Id", _remove, ADMIN),
        options=(Option("--contact Contact", "how to reach the custodian"),),
        see="lifecycle-and-history.md#custodians",
        about="""\
An identifier without a custodian of its own has the minter's; a minter without one has the authority it was created
for.
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
