"""The command that shows and changes the policies of a minter."""

from __future__ import annotations

from .. import dates
from ..errors import UsageError
from ..minter import policies
from ..minter.access import ADMIN, CLASSES, minting_policy
from .answers import Answer
from .command import Command, Form, Option
from .records import Fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..store import Reader
    from .call import Call


def _show_all(call: Call) -> Answer:
    minter = call.minter
    stated = minter.read(lambda reader: policy_fields(call, reader, *policies.STATED_POLICIES))
    return Answer(_access(call, *CLASSES), stated, spaced=True)


def _show(call: Call) -> Answer:
    name = call.words[0].decode()
    if name in CLASSES:
        return Answer(_access(call, name), spaced=True)
    return Answer(call.minter.read(lambda reader: policy_fields(call, reader, name)), spaced=True)


def _access(call: Call, *names: str) -> Fields:
    rules = call.minter.read(policies.AccessPolicy.of).rules
    return Fields(*((name, rules[name].display()) for name in names))


def _set_access(call: Call) -> Answer:
    name, *audience = call.words
    rule = None if audience == [policies.DEFAULT] else policies.AccessRule.parse(audience)
    call.minter.write(lambda writer: policies.set_access(writer, call.actor, name.decode(), rule))
    return _show(call)


def _set_stated(call: Call) -> Answer:
    name, text = call.words
    if text == policies.DEFAULT and call.options:
        raise UsageError("a time goes with a text, and default has none")
    since, end = call.option("from"), call.option("until")
    start = dates.first_second(since) if since else b""
    until = dates.last_second(end) if end else b""
    call.minter.write(
        lambda writer: policies.set_stated_policy(writer, call.actor, name.decode(), text, start, until)
    )
    return _show(call)


def policy_fields(call: Call, reader: Reader, *names: str) -> Fields:
    """The stated policies of these names; those without a value are left out, unless it is the only one."""
    fields: list[tuple[str, bytes]] = []
    for name in names:
        if name == policies.LABEL_FORMAT:
            fields.append((name, policies.label_format(call.minter)))
        elif name == policies.MINTING:
            fields.append((name, minting_policy(reader)))
        elif name == policies.ASSOCIATION:
            fields.append((name, policies.association(reader) or b""))
        else:
            promise = policies.persistence(reader)
            fields.append((name, promise.text if promise else b""))
            if promise:
                fields += [("persistence-from", promise.start), ("persistence-until", promise.until)]
    return Fields(*((name, value) for name, value in fields if value or len(names) == 1))


_QUOTED = "a text of several words is quoted"
COMMANDS = (
    Command(
        "policy", "who may use a class of commands through the web, and what the minter promises",
        Form("", _show_all, ADMIN, writes=False),
        Form(f"{'|'.join(CLASSES + policies.STATED_POLICIES)}", _show, ADMIN, writes=False,
             too_many="the label format follows from the template and is not set by hand"),
        Form(f"{'|'.join(CLASSES)} anyone|authenticated|nobody|default|User…", _set_access, ADMIN),
        Form("minting publish|reserve|default", _set_stated, ADMIN),
        Form("association Text|default", _set_stated, ADMIN, too_many=_QUOTED),
        Form("persistence Text|default [--from Date] [--until Date]", _set_stated, ADMIN, too_many=_QUOTED),
        options=(
            Option("--from Date", "when the promise begins; now, unless given"),
            Option("--until Date", "when it ends; never, unless given"),
        ),
        see="web-interface.md#who-may-do-what",
        about="""\
Commands are of four classes: read, mint, bind and admin. Each class is for anyone, for authenticated users, for nobody,
or for the users named; user:NAME always means a name. At the shell the permissions of the files decide.

label-format follows from the template. minting says whether minting publishes at once or reserves, association what the
names are for, and persistence for which time it is promised that they last. The word default takes a setting back.
""",
        example="""\
$ noid policy mint alice bob
mint: alice bob

$ noid policy mint default
mint: authenticated

""",
    ),
)
