"""The command that says and changes a minter's policies: who may do what through the web, and what it promises."""

from __future__ import annotations

from .. import policy as policies
from ..answers import Answer, Fields
from ..exceptions import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..store import Writer
    from .session import Call

_USAGE = (
    "policy [read|mint|bind|admin [anyone|authenticated|nobody|default|User…]], policy label-format, "
    "policy minting [publish|reserve], policy association [Text] or policy persistence [Text [--until Date]]"
)


def policy(call: Call) -> Answer:
    from .. import commitments
    from . import committing

    if call.args and call.args[0] in [name.encode() for name in commitments.NAMES]:
        return Answer(committing.handle(call), spaced=True)
    names = [_class(call.args[0])] if call.args else list(policies.CLASSES)
    if len(call.args) > 1:
        rule = None if call.args[1:] == [b"default"] else policies.Rule.given(call.args[1:])

        def work(writer: Writer) -> None:
            policies.change(writer, call.actor, names[0], rule)

        call.minter.write(work)
    rules = call.minter.read(policies.Policy.of).rules
    access = Fields(*((name, rules[name].shown()) for name in names))
    if call.args:
        return Answer(access, spaced=True)
    others = call.minter.read(lambda reader: committing.shown(call, reader, *commitments.NAMES))
    return Answer(access, others, spaced=True)


def _class(word: bytes) -> str:
    name = word.decode("utf-8", "backslashreplace")
    if name not in policies.CLASSES:
        raise UsageError(f"there is no class {name[:60]!r}: say {_USAGE}")
    return name
