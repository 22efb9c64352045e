"""The command that says and changes a minter's policies: who may do what through the web, and what it promises."""

from __future__ import annotations

from .. import clock
from ..errors import UsageError
from ..minter import policies
from .answers import Answer, Fields
from .session import take_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..store import Reader, Writer
    from .session import Call

_USAGE = (
    "policy [read|mint|bind|admin [anyone|authenticated|nobody|default|User…]], policy label-format, "
    "policy minting [publish|reserve], policy association [Text] or policy persistence [Text [--until Date]]"
)


def policy(call: Call) -> Answer:
    from ..minter import policies

    if call.args and call.args[0] in [name.encode() for name in policies.STATED_POLICIES]:
        return Answer(stated_policy(call), spaced=True)
    names = [_class(call.args[0])] if call.args else list(policies.CLASSES)
    if len(call.args) > 1:
        rule = None if call.args[1:] == [b"default"] else policies.AccessRule.given(call.args[1:])

        def work(writer: Writer) -> None:
            policies.set_access(writer, call.actor, names[0], rule)

        call.minter.write(work)
    rules = call.minter.read(policies.AccessPolicy.of).rules
    access = Fields(*((name, rules[name].shown()) for name in names))
    if call.args:
        return Answer(access, spaced=True)
    others = call.minter.read(lambda reader: policy_fields(call, reader, *policies.STATED_POLICIES))
    return Answer(access, others, spaced=True)


def _class(word: bytes) -> str:
    name = word.decode("utf-8", "backslashreplace")
    if name not in policies.CLASSES:
        raise UsageError(f"there is no class {name[:60]!r}: say {_USAGE}")
    return name

# -- The policies that `policy` shows and sets besides who may do what -----------------------------------------------

_DEFAULT = [b"default"]
_USAGES = {
    policies.MINTING: "policy minting [publish|reserve|default]",
    policies.ASSOCIATION: "policy association [Text|default]",
    policies.PERSISTENCE: "policy persistence [Text|default] [--from Date] [--until Date]",
}


def stated_policy(call: Call) -> Fields:
    """`policy` with one of these names: set it if more was said, and show it."""
    name = call.args[0].decode()
    persists = name == policies.PERSISTENCE
    options, words = take_options(call.args[1:], ("from", "until")) if persists else ({}, call.args[1:])
    if name == policies.LABEL_FORMAT and words:
        raise UsageError("the label format follows from the template and is not set by hand")
    if len(words) > 1:
        raise UsageError(f"a text of several words is quoted: say {_USAGES[name]}")
    if options and words in ([], _DEFAULT):
        raise UsageError(f"a time goes with a text: say {_USAGES[name]}")
    if words:
        start = clock.first_second(options["from"][-1]) if "from" in options else b""
        until = clock.last_second(options["until"][-1]) if "until" in options else b""
        call.minter.write(
            lambda writer: policies.set_stated_policy(writer, call.actor, name, words[0], start, until)
        )
    return call.minter.read(lambda reader: policy_fields(call, reader, name))


def policy_fields(call: Call, reader: Reader, *names: str) -> Fields:
    """These policies; those that nobody has stated are left out, unless one was asked for."""
    fields: list[tuple[str, bytes]] = []
    for name in names:
        if name == policies.LABEL_FORMAT:
            fields.append((name, policies.label_format(call.minter)))
        elif name == policies.MINTING:
            fields.append((name, policies.minting_policy(reader)))
        elif name == policies.ASSOCIATION:
            fields.append((name, policies.association(reader) or b""))
        else:
            promise = policies.persistence(reader)
            fields.append((name, promise.text if promise else b""))
            if promise:
                fields += [("persistence-from", promise.start), ("persistence-until", promise.until)]
    return Fields(*((name, value) for name, value in fields if value or len(names) == 1))
