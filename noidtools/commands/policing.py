"""The command that says and changes who may do what through the web."""

from __future__ import annotations

from .. import policy as policies
from ..answers import Answer, Fields
from ..exceptions import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..store import Writer
    from .session import Call

_USAGE = "policy [read|mint|bind|admin [anyone|authenticated|nobody|default|User…]]"


def policy(call: Call) -> Answer:
    names = [_class(call.args[0])] if call.args else list(policies.CLASSES)
    if len(call.args) > 1:
        rule = None if call.args[1:] == [b"default"] else policies.Rule.given(call.args[1:])

        def work(writer: Writer) -> None:
            policies.change(writer, call.actor, names[0], rule)

        call.minter.write(work)
    rules = call.minter.read(policies.Policy.of).rules
    return Answer(Fields(*((name, rules[name].shown()) for name in names)), spaced=True)


def _class(word: bytes) -> str:
    name = word.decode("utf-8", "backslashreplace")
    if name not in policies.CLASSES:
        raise UsageError(f"there is no class {name[:60]!r}: say {_USAGE}")
    return name
