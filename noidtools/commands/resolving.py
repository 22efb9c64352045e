"""Commands that resolve names, and set up the resolver and its canaries."""

from __future__ import annotations

from .. import resolution
from ..codec import encode_text
from ..errors import ForbiddenError, NotFoundError, UsageError
from ..minter import config
from ..minter.identifiers import with_suggestion
from ..minter.policies import ADMIN, READ, hides_names
from ..minter.relations.abstract import abstract_refusal
from ..names import targets
from ..resolution import destination, resolve_in, settings
from .answers import Answer, Fields, Values
from .command import Command, Form, Option, as_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..resolution import Outcome, Trace
    from ..store import Reader
    from .call import Call


# -- resolve ---------------------------------------------------------------------------------------------------------


def _resolve(call: Call) -> Answer:
    text, explained, element = call.words[0], call.flag("explain"), call.optional_text("element")
    trace: Trace = []
    outcome = resolve_in(call.session.view, call.minter, text, element=element, trace=trace if explained else None)
    if explained:
        return Answer(Fields(*trace, ("answer", _target_text(outcome))), spaced=True, failed=not outcome.targets)
    if not outcome.targets:
        abstract = _abstract_refusal(call, text, outcome)
        if abstract:
            raise NotFoundError(abstract)
        if outcome.kind not in (resolution.NOT_FOUND, resolution.INVALID):
            raise outcome.error()
        raise NotFoundError(call.look(with_suggestion, text, outcome.refusal))
    return Answer(Values([(b"target", outcome.targets[0].url)]))


def _abstract_refusal(call: Call, text: bytes, outcome: Outcome) -> str:
    """For the name of something abstract, that it leads nowhere, and what realises it; empty for any other name."""
    if outcome.kind != resolution.ABSTRACT:
        return ""
    return call.look(abstract_refusal, text, "leads nowhere by itself")


def _target_text(outcome: Outcome) -> bytes:
    if not outcome.targets:
        return encode_text(f"{outcome.kind}: {outcome.refusal}")
    first = outcome.targets[0]
    return b"%d %b" % (first.code or targets.USUAL_CODE, first.url)


def _resolve_loop(call: Call) -> Answer:
    raise UsageError("resolve-loop answers until its input ends, so it is given on its own at the shell")


_ELEMENT = Option("--element Element", "the element that holds the target, in place of the minter's own choice")


# -- resolver and canary ---------------------------------------------------------------------------------------------


def _check_canaries(call: Call) -> Answer:
    """Resolve every canary and compare its target; with --through by a request to a web resolver."""
    # A user who may only read does not learn where names lead that are not public.
    found = settings.check_canaries(call.minter, _resolver_for(call, call.option("through") or ""),
                                    reserved=not hides_names(call.session.view))
    if not found:
        return Answer(Fields(("note", b"there are no canaries: set one with 'noid resolver canary Name'")),
                      spaced=True)
    records = []
    for name, target, expected in found:
        text = name.encode() + b" leads to " + target
        records.append(Fields(("ok", text) if target == expected else ("error", text + b", not to " + expected)))
    return Answer(*records, spaced=True, failed=any(target != expected for _, target, expected in found))


def _resolver_for(call: Call, base: str) -> Callable[[str], bytes]:
    """The function that resolves a name: by a request to the resolver at `base`, or in this minter if it is empty."""
    if base:
        if call.actor.interface != b"shell":
            raise ForbiddenError("--through makes requests to other servers, so it can only be used at the shell")
        from ..verification.http import location_at

        return lambda name: location_at(base, name)

    return lambda name: destination(resolve_in(call.session.view, call.minter, name.encode()))


def _set_resolver(call: Call) -> Answer:
    """Change the setting that the first word names."""
    name, value = call.words[0].decode(), None if call.words[1] == b"-" else call.words[1]
    call.minter.write(lambda writer: settings.set_resolver(writer, call.actor, name, value))
    return _resolver_settings(call)


def _set_cache(call: Call) -> Answer:
    if call.words[1] == b"-":
        return _set_resolver(call)
    call.minter.write(lambda writer: settings.set_cache(writer, call.actor, *call.words[1:]))
    return _resolver_settings(call)


def _set_passthrough_of(call: Call) -> Answer:
    _, value, text = call.words
    name = call.change(settings.set_passthrough, text, on=value == b"on")
    return Answer(Fields(("ok", b"passthrough is " + value + b" for " + name)), spaced=True)


def _set_canary(call: Call) -> Answer:
    _, text, *expected = call.words
    as_text(text, "the name of a canary")
    target = expected[0] if expected and expected[0] else destination(resolution.resolve(call.minter, text))
    value = None if target == b"-" else target
    name = call.change(settings.set_canary, text, value)
    return Answer(Fields(("ok", name + (b" is no longer checked" if value is None else b" must lead to " + target))),
                  spaced=True)


def _resolver_settings(call: Call) -> Answer:
    def work(reader: Reader) -> list[tuple[str, bytes]]:
        return [
            ("element", resolution.target_element(reader)),
            ("fallback", config.value(reader, resolution.FALLBACK) or b"none"),
            ("passthrough", config.value(reader, resolution.PASSTHROUGH) or b"on"),
            *((name.partition("/")[2], value) for name in (resolution.CACHE, resolution.STATISTICS, resolution.WAYBACK)
              if (value := config.value(reader, name))),
            *(("canary", name.encode() + b" " + target) for name, target in settings.canaries(reader).items()),
        ]

    return Answer(Fields(*call.minter.read(work)), spaced=True)


# -- the commands ----------------------------------------------------------------------------------------------------

COMMANDS = (
    Command(
        "resolve", "print where a name leads",
        Form("Name [--explain] [--element Element]", _resolve, READ),
        options=(Option("--explain", "list the steps that led to the answer"), _ELEMENT),
        also=("resolver", "bind", "canary"),
        see="resolving.md#the-steps", fails="the steps are listed and the name does not resolve",
        about="""\
Any spelling of the name will do. The target is, in this order: that of the name whose alias it is, the one that is
bound, the one that a rule computes, that of the longest bound name that it extends, or the fallback of the minter.
""",
        example="""\
$ noid resolve ark:/13030/kt4-x551/page-7.pdf
https://library.example/kt4x551/page-7.pdf
""",
    ),
    Command(
        "resolve-loop", "answer names on standard input with targets, as noidr does",
        Form("[--element Element] [--codes] [--echo]", _resolve_loop),
        options=(
            Option("--element Element", "take each line as a name, and look up this element"),
            Option("--codes", "begin an answer with the code of the target, if it has one; 410 for a withdrawn name"),
            Option("--echo", "begin every answer with the byte 2, the name and a space; for clients that wait for "
                   "each answer before they send the next line"),
        ),
        shell_only=True, process=True, also=("resolve",), see="resolving.md#noidr-one-line-a-name",
        about="""\
Each line of input gets one line of output, in order; NULL if the name does not resolve.
""",
        example="""\
$ printf '13030/kt4x551\\nnothing here\\n' | noid resolve-loop
https://library.example/kt4x551
NULL
""",
    ),
    Command(
        "resolver", "show or change how names are resolved",
        Form("", _resolver_settings, ADMIN, writes=False),
        Form("element Element|-", _set_resolver, ADMIN),
        Form("fallback Url|-", _set_resolver, ADMIN),
        Form("passthrough on|off|-", _set_resolver, ADMIN),
        Form("passthrough on|off Id", _set_passthrough_of, ADMIN),
        Form("cache Seconds|- [Stale]", _set_cache, ADMIN),
        Form("statistics on|off|-", _set_resolver, ADMIN),
        Form("wayback on|off|-", _set_resolver, ADMIN),
        Form("canary Name [Target|-]", _set_canary, ADMIN),
        also=("resolve", "canary"), see="resolving.md#settings-of-a-minter",
        about="""\
element: the element that holds targets, _t unless set. fallback: another resolver for names of other NAANs; the name is
added at the end of its address, or replaces a variable such as ${pid} or ${content}. passthrough: whether what follows
a bound name is added to its target, for all names or for one. cache: for how many seconds browsers and proxies keep
answers (300 unless set), and for how many more while the resolver fails (86400). statistics: whether to count how often
each name is resolved (off unless set; see noid help stats). wayback: whether pages about names link to copies of their
targets in the Wayback Machine (off unless set). canary: a name to watch, and where it must lead; without a target,
where it leads now. A hyphen restores the default.
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
        "canary", "check that test names still lead where they should",
        Form("[--through Url]", _check_canaries, READ,
             too_many="names to check are set with resolver canary Name Target"),
        options=(Option("--through Url", "ask the web resolver at this address instead of the minter; "
                                         "at the shell only"),),
        also=("resolver", "resolve"),
        see="resolving.md#canaries-is-the-answer-still-right", fails="a canary leads elsewhere",
        example="""\
$ noid resolver canary 13030/kt4x551 > /dev/null
$ noid canary
ok: 13030/kt4x551 leads to https://library.example/kt4x551

""",
    ),
)
