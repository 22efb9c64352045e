"""The policies that `policy` shows and sets besides who may do what."""

from __future__ import annotations

from .. import commitments, dates
from ..answers import Fields
from ..exceptions import UsageError
from .session import take_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..store import Reader, Writer
    from .session import Call

_DEFAULT = [b"default"]
_USAGES = {
    commitments.MINTING: "policy minting [publish|reserve|default]",
    commitments.ASSOCIATION: "policy association [Text|default]",
    commitments.PERSISTENCE: "policy persistence [Text|default] [--from Date] [--until Date]",
}


def handle(call: Call) -> Fields:
    """`policy` with one of these names: set it if more was said, and show it."""
    name = call.args[0].decode()
    persists = name == commitments.PERSISTENCE
    options, words = take_options(call.args[1:], ("from", "until")) if persists else ({}, call.args[1:])
    if name == commitments.LABEL_FORMAT and words:
        raise UsageError("the label format follows from the template and is not set by hand")
    if len(words) > 1:
        raise UsageError(f"a text of several words is quoted: say {_USAGES[name]}")
    if options and words in ([], _DEFAULT):
        raise UsageError(f"a time goes with a text: say {_USAGES[name]}")
    if words:
        start = dates.earliest(options["from"][-1]) if "from" in options else b""
        until = dates.latest(options["until"][-1]) if "until" in options else b""
        call.minter.write(lambda writer: _set(call, writer, name, words, start, until))
    return call.minter.read(lambda reader: shown(call, reader, name))


def _set(call: Call, writer: Writer, name: str, words: list[bytes], start: bytes, until: bytes) -> None:
    default = words == _DEFAULT
    if name == commitments.MINTING:
        commitments.set_minting(writer, call.actor, commitments.PUBLISH if default else words[0])
    elif name == commitments.ASSOCIATION:
        commitments.set_association(writer, call.actor, None if default else words[0])
    elif default:
        commitments.promise_nothing(writer, call.actor)
    else:
        commitments.promise(writer, call.actor, words[0], start, until)


def shown(call: Call, reader: Reader, *names: str) -> Fields:
    """These policies; those that nobody has stated are left out, unless one was asked for."""
    fields: list[tuple[str, bytes]] = []
    for name in names:
        if name == commitments.LABEL_FORMAT:
            fields.append((name, commitments.label_format(call.minter)))
        elif name == commitments.MINTING:
            fields.append((name, commitments.minting(reader)))
        elif name == commitments.ASSOCIATION:
            fields.append((name, commitments.association(reader) or b""))
        else:
            promise = commitments.persistence(reader)
            fields.append((name, promise.text if promise else b""))
            if promise:
                fields += [("persistence-from", promise.start), ("persistence-until", promise.until)]
    return Fields(*((name, value) for name, value in fields if value or len(names) == 1))
