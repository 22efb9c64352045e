"""The command about who answers for the minter or an identifier."""

from __future__ import annotations

from ..errors import UsageError
from ..minter import custody
from .answers import Answer, Fields
from .session import take_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..minter import Minter
    from ..store import Reader
    from .session import Call

_CUSTODIAN = "custodian [show|history] [Id], custodian set Name [--contact Contact] [Id] or custodian remove Id"


def custodian(call: Call) -> Answer:
    options, words = take_options(call.args, ("contact",))
    how, rest = (words[0], words[1:]) if words and words[0] in _HOWS else (b"show", words)
    if "contact" in options and how != b"set":
        raise UsageError(f"--contact goes with set: say {_CUSTODIAN}")
    least, most = _HOWS[how]
    if not least <= len(rest) <= most:
        raise UsageError(f"too {'few' if len(rest) < least else 'many'} words for custodian: say {_CUSTODIAN}")
    if how == b"set":
        return _set_custodian(call, rest, options.get("contact", [""])[-1].encode())
    if how == b"remove":
        return _remove_custodian(call, rest[0])
    return _list_custodians(call, rest) if how == b"history" else _show_custodian(call, rest)
_HOWS = {b"show": (0, 1), b"history": (0, 1), b"set": (1, 2), b"remove": (1, 1)}


def _set_custodian(call: Call, words: list[bytes], contact: bytes) -> Answer:
    minter, given = call.minter, words[1:]

    made = minter.write(lambda writer: custody.appoint(
        minter, writer, call.actor, words[0], contact, _subject(minter, writer, given, changing=True)
    ))
    return Answer(_custodian(call, made), spaced=True)


def _remove_custodian(call: Call, given: bytes) -> Answer:
    minter = call.minter
    gone = minter.write(lambda writer: custody.dismiss(
        minter, writer, call.actor, custody.custody_subject(minter, writer, given, changing=True)
    ))
    return Answer(Fields(("ok", gone.name + b" no longer answers for " + minter.shown(gone.of))), spaced=True)


def _show_custodian(call: Call, given: list[bytes]) -> Answer:
    minter = call.minter
    return Answer(_custodian(call, minter.read(
        lambda reader: custody.current_custodian(minter, reader, _subject(minter, reader, given))
    )), spaced=True)


def _list_custodians(call: Call, given: list[bytes]) -> Answer:
    minter = call.minter
    found = minter.read(lambda reader: custody.custody_history(minter, reader, _subject(minter, reader, given)))
    return Answer(*(_custodian(call, custodian) for custodian in found), spaced=True)


def _subject(minter: Minter, reader: Reader, given: list[bytes], *, changing: bool = False) -> bytes:
    return custody.custody_subject(minter, reader, given[0], changing=changing) if given else custody.MINTER


def _custodian(call: Call, custodian: custody.Custodian) -> Fields:
    of = call.minter.shown(custodian.of) if custodian.of else b"this minter"
    fields = [("of", of), ("Custodian", custodian.name), ("Contact", custodian.contact), ("From", custodian.start),
              ("Until", custodian.until)]
    return Fields(*((name, value) for name, value in fields if value))
