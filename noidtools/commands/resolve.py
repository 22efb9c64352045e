"""Commands about where names lead."""

from __future__ import annotations

from .. import resolution
from ..errors import ForbiddenError, InvalidError, NotFoundError, UsageError
from ..minter import bindings, config
from ..names import targets
from .answers import Answer, Fields, Values
from .session import as_text, take_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..minter import Minter
    from ..resolution import Outcome, Trace
    from ..store import Reader, Writer
    from .answers import Record
    from .session import Call

_SWITCH = (b"on", b"off")


def resolve(call: Call) -> Answer:
    explained = b"--explain" in call.args
    options, words = take_options([word for word in call.args if word != b"--explain"], ("element",))
    if len(words) != 1:
        raise UsageError("resolve takes one name: say resolve [--explain] [--element Element] Name")
    element = options["element"][-1].encode() if "element" in options else None
    trace: Trace = []
    outcome = resolution.resolve(call.minter, words[0], element=element, trace=trace if explained else None)
    if explained:
        steps = [(step, text) for step, text in trace]
        return Answer(Fields(*steps, ("answer", _answer(outcome))), spaced=True, failed=not outcome.targets)
    if not outcome.targets:
        raise NotFoundError(outcome.refusal)
    return Answer(Values([(b"target", outcome.targets[0].url)]))


def _answer(outcome: Outcome) -> bytes:
    if not outcome.targets:
        return f"{outcome.kind}: {outcome.refusal}".encode("utf-8", "surrogateescape")
    first = outcome.targets[0]
    return b"%d %b" % (first.code or targets.USUAL_CODE, first.url)


def check(call: Call) -> Answer:
    """Resolve every canary and compare; with --through, over the web as a reader would."""
    options, words = take_options(call.args, ("through",))
    if words:
        raise UsageError("check takes no names: set them with 'noid resolver canary Name Target'")
    canaries = call.minter.read(lambda reader: config.values(reader, resolution.CANARY))
    if not canaries:
        return Answer(Fields(("note", b"there is nothing to check: set names with 'resolver canary Name Target'")),
                      spaced=True)
    ask = _asking(call, options["through"][-1] if "through" in options else "")
    records: list[Record] = []
    failed = False
    for name, expected in canaries.items():
        found = ask(name)
        right = found == expected
        failed = failed or not right
        shown = name.encode() + b" leads to " + found
        records.append(Fields(("ok", shown) if right else ("error", shown + b", not to " + expected)))
    return Answer(*records, spaced=True, failed=failed)


def _asking(call: Call, base: str) -> Callable[[str], bytes]:
    if base:
        if call.actor.door != b"shell":
            raise ForbiddenError("--through makes requests to other servers, so it can only be used at the shell")
        from ..verification.http import location_at

        return lambda name: location_at(base, name)

    def ask(name: str) -> bytes:
        outcome = resolution.resolve(call.minter, name.encode())
        return _where(outcome)

    return ask


def _where(outcome: Outcome) -> bytes:
    """Where a reader is sent, as a header says it."""
    for target in outcome.targets:
        return targets.location(target.url) or target.url
    return outcome.kind.encode()


def resolver(call: Call) -> Answer:
    usage = "resolver [element Element | fallback Url | passthrough on|off [Id] | canary Name [Target]]"
    args = call.need(0, 3, usage)
    if not args:
        return _settings(call.minter)
    choice, rest = args[0], args[1:]
    if choice not in (b"element", b"fallback", b"passthrough", b"canary") or not rest:
        raise UsageError(f"say {usage}; a hyphen in place of a value goes back to the default")
    if choice == b"passthrough" and len(rest) == 2:
        return _passthrough_of(call, *rest)
    if choice == b"canary":
        return _set_canary(call, *rest)
    if len(rest) > 1:
        raise UsageError(f"resolver {choice.decode()} takes one value: say {usage}")
    value = None if rest[0] == b"-" else rest[0]
    if choice == b"passthrough" and value not in (None, *_SWITCH):
        raise UsageError("resolver passthrough is on or off")
    if choice == b"fallback" and value is not None:
        _ensure_fallback(value)
    name = f"resolver/{choice.decode()}"
    call.minter.write(lambda writer: config.change(writer, call.actor, name, value))
    return _settings(call.minter)


def _ensure_fallback(value: bytes) -> None:
    probe = targets.extended(value.replace(resolution.NAME, targets.SUFFIX), b"x")
    if probe is None or targets.location(probe) != probe or value[:1] in (b"", b"/") or b"|" in value:
        raise InvalidError("a fallback is the URL of another resolver, such as https://n2t.net/, to which the name "
                           "is added at the end, or where it says ${name}")


def _passthrough_of(call: Call, value: bytes, given: bytes) -> Answer:
    if value not in _SWITCH:
        raise UsageError("resolver passthrough is on or off")
    minter = call.minter
    how, bound = (b"set", b"off") if value == b"off" else (b"purge", None)
    pairs = [(resolution.PASSTHROUGH_ELEMENT, bound)]
    minter.write(lambda writer: bindings.bind(minter, writer, call.actor, how, given, pairs))
    return Answer(Fields(("ok", b"passthrough is " + value + b" for " + given)), spaced=True)


def _set_canary(call: Call, given: bytes, target: bytes = b"") -> Answer:
    name = as_text(given, "the name of a canary")
    minter = call.minter
    if not target:
        target = _where(resolution.resolve(minter, given))
    value = None if target == b"-" else target

    def work(writer: Writer) -> None:
        config.change(writer, call.actor, f"{resolution.CANARY}/{name}", value)

    minter.write(work)
    done = b" is no longer checked" if value is None else b" must lead to " + target
    return Answer(Fields(("ok", given + done)), spaced=True)


def _settings(minter: Minter) -> Answer:
    def work(reader: Reader) -> list[tuple[str, bytes]]:
        fields = [
            ("element", resolution.target_element(reader)),
            ("fallback", config.value(reader, resolution.FALLBACK) or b"none"),
            ("passthrough", config.value(reader, resolution.PASSTHROUGH) or b"on"),
        ]
        canaries = config.values(reader, resolution.CANARY)
        return fields + [("canary", name.encode() + b" " + target) for name, target in canaries.items()]

    return Answer(Fields(*minter.read(work)), spaced=True)


def export(call: Call) -> Answer:
    from ..resolution import export

    options, words = take_options(call.args, ("map", "element"))
    form = options.get("map", [""])[-1]
    if len(words) != 1 or form not in export.FORMS:
        raise UsageError(f"say export --map {'|'.join(export.FORMS)} File")
    element = options["element"][-1].encode() if "element" in options else None
    written, left_out = export.export(call.minter, form, as_text(words[0], "the file name"), element)
    fields = [("ok", b"%d target%b written" % (written, b"" if written == 1 else b"s"))]
    if left_out:
        fields.append(("note", b"%d left out, because the form has no room for them or they cannot be followed"
                       % left_out))
    return Answer(Fields(*fields), spaced=True)


def resolve_loop(call: Call) -> Answer:
    """Run by the shell's door itself, since it is a door."""
    raise UsageError("resolve-loop answers until its input ends, so it is given on its own at the shell")
