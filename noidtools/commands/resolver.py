"""Commands about the resolver: its settings, and canaries, names whose targets are known."""

from __future__ import annotations

from .. import resolution
from ..errors import ForbiddenError, InvalidError, NoidError
from ..minter import bindings, config
from ..minter.access import ADMIN, EVERYTHING, READ
from ..minter.identifiers import identify
from ..names import targets
from ..resolution.canaries import destination
from .answers import Answer
from .command import Command, Form, Option, as_text
from .records import Fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..minter import Minter
    from ..minter.identifiers import NameRef
    from ..resolution import Outcome
    from ..store import Reader, Writer
    from .answers import Record
    from .call import Call


def check_canaries(call: Call) -> Answer:
    """Resolve every canary and compare its target; with --through by a request to a web resolver."""
    canaries = call.minter.read(lambda reader: config.values(reader, resolution.CANARY))
    if call.session.view != EVERYTHING:
        # Who may only read is told nothing of names that are not public, nor where they are to lead.
        canaries = {name: expected for name, expected in canaries.items()
                    if resolution.resolve(call.minter, name.encode()).kind != resolution.RESERVED}
    if not canaries:
        return Answer(Fields(("note", b"there is nothing to check: set names with 'resolver canary Name Target'")),
                      spaced=True)
    where = _resolver_for(call, call.option("through") or "")
    records: list[Record] = []
    failed = False
    for name, expected in canaries.items():
        found = where(name)
        right = found == expected
        failed = failed or not right
        text = name.encode() + b" leads to " + found
        records.append(Fields(("ok", text) if right else ("error", text + b", not to " + expected)))
    return Answer(*records, spaced=True, failed=failed)


def _resolver_for(call: Call, base: str) -> Callable[[str], bytes]:
    """The function that resolves a name: by a request to the resolver at `base`, or in this minter if it is empty."""
    if base:
        if call.actor.interface != b"shell":
            raise ForbiddenError("--through makes requests to other servers, so it can only be used at the shell")
        from ..verification.http import location_at

        return lambda name: location_at(base, name)

    return lambda name: destination(_outcome_of(call, name.encode()))


def _outcome_of(call: Call, text: bytes) -> Outcome:
    """What resolving a name gives, as this user may see it."""
    outcome = resolution.resolve(call.minter, text)
    if call.session.view == EVERYTHING or outcome.kind == resolution.FOUND:
        return outcome
    from ..resolution.published import outcome_in

    return call.minter.read(lambda reader: outcome_in(call.session.view, call.minter, reader, text, outcome))


def _set(call: Call) -> Answer:
    """Change the setting that the first word names."""
    name, value = f"resolver/{call.words[0].decode()}", call.words[1]
    call.minter.write(lambda writer: config.change(writer, call.actor, name, None if value == b"-" else value))
    return _settings(call)


def _set_fallback(call: Call) -> Answer:
    if call.words[1] != b"-":
        _ensure_fallback(call.words[1])
    return _set(call)


def _ensure_fallback(value: bytes) -> None:
    probe = targets.extended(value.replace(resolution.NAME, targets.SUFFIX), b"x")
    if probe is None or targets.location(probe) != probe or value[:1] in (b"", b"/") or b"|" in value:
        raise InvalidError("a fallback is the URL of another resolver, such as https://n2t.net/, to which the name "
                           "is added at the end, or where it says ${name}")


def _set_passthrough_of(call: Call) -> Answer:
    minter, (_, value, identifier) = call.minter, call.words
    how, bound = (b"set", b"off") if value == b"off" else (b"purge", None)
    pairs = [(resolution.PASSTHROUGH_ELEMENT, bound)]

    def work(writer: Writer) -> bytes:
        bindings.bind(minter, writer, call.actor, how, identifier, pairs)
        return _without_pepper(identify(minter, writer, identifier), identifier)

    return Answer(Fields(("ok", b"passthrough is " + value + b" for " + minter.write(work))), spaced=True)


def _set_canary(call: Call) -> Answer:
    minter, (_, raw, *expected) = call.minter, call.words
    as_text(raw, "the name of a canary")
    target = expected[0] if expected and expected[0] else destination(resolution.resolve(minter, raw))
    value = None if target == b"-" else target

    def work(writer: Writer) -> bytes:
        config.change(writer, call.actor, f"{resolution.CANARY}/{_canary_name(minter, writer, raw)}", value)
        return _without_pepper(identify(minter, writer, raw), raw)

    done = b" is no longer checked" if value is None else b" must lead to " + target
    return Answer(Fields(("ok", minter.write(work) + done)), spaced=True)


def _canary_name(minter: Minter, reader: Reader, text: bytes) -> str:
    """The spelling under which this name is a canary already, else the text without its pepper."""
    ref = identify(minter, reader, text)
    for name in config.values(reader, resolution.CANARY):
        try:
            if identify(minter, reader, name.encode()).key == ref.key:
                return name
        except NoidError:
            continue  # it was set with a pepper that has changed since, or by a release that accepted any text
    return _without_pepper(ref, text).decode()


def _without_pepper(ref: NameRef, text: bytes) -> bytes:
    """The name as it was written, without its pepper: settings, events and replies that are stored show no pepper."""
    return ref.display if ref.peppered else text


def _settings(call: Call) -> Answer:
    def work(reader: Reader) -> list[tuple[str, bytes]]:
        fields = [
            ("element", resolution.target_element(reader)),
            ("fallback", config.value(reader, resolution.FALLBACK) or b"none"),
            ("passthrough", config.value(reader, resolution.PASSTHROUGH) or b"on"),
        ]
        canaries = config.values(reader, resolution.CANARY)
        return fields + [("canary", name.encode() + b" " + target) for name, target in canaries.items()]

    return Answer(Fields(*call.minter.read(work)), spaced=True)


COMMANDS = (
    Command(
        "resolver", "how names are resolved, and which are checked",
        Form("", _settings, ADMIN, writes=False),
        Form("element Element|-", _set, ADMIN),
        Form("fallback Url|-", _set_fallback, ADMIN),
        Form("passthrough on|off|-", _set, ADMIN),
        Form("passthrough on|off Id", _set_passthrough_of, ADMIN),
        Form("canary Name [Target|-]", _set_canary, ADMIN),
        see="resolving.md#settings-of-a-minter",
        about="""\
element is the element that holds targets, _t unless set. fallback is another resolver, to which names are sent that do
not resolve here; the name is added at its end, or where it says ${name}. passthrough is whether what follows a bound
name goes behind its target, for all names or for one. canary names one that the command canary resolves, and where it
must lead; without a target, where it leads now. A hyphen in place of a value goes back to the default.
""",
        example="""\
$ noid resolver fallback https://n2t.net/
element: _t
fallback: https://n2t.net/
passthrough: on

$ noid resolver fallback - | grep fallback
fallback: none
$ noid resolver canary 13030/kt4x551
ok: 13030/kt4x551 must lead to https://library.example/kt4x551

""",
    ),
    Command(
        "canary", "whether every canary leads where it should",
        Form("[--through Url]", check_canaries, READ,
             too_many="names to check are set with resolver canary Name Target"),
        options=(Option("--through Url", "ask the web resolver at this address, in place of the minter; "
                                         "for the shell only"),),
        see="resolving.md#canaries-is-the-answer-still-right", fails="a canary leads elsewhere",
        example="""\
$ noid canary
ok: 13030/kt4x551 leads to https://library.example/kt4x551

""",
    ),
)
