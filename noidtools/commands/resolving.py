"""Commands that resolve names, set up the resolver and its canaries, and route requests to minters."""

from __future__ import annotations

import os
from hashlib import sha256

from .. import resolution
from ..errors import ForbiddenError, InvalidError, NotFoundError, StoreError, UsageError, printable
from ..minter import config
from ..minter.identifiers import with_suggestion
from ..minter.policies import ADMIN, READ, hides_names
from ..minter.relations.abstract import abstract_refusal
from ..names import targets
from ..resolution import destination, resolve_in, settings
from ..rules import Rule
from . import lines
from .answers import Answer, Fields, Values
from .command import Command, Form, Option, as_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..resolution import Outcome, Trace
    from ..store import Reader
    from .call import Call

    # The minter for an item, None for an item that the rule does not take.
    RouteRule = Callable[[bytes], bytes | None]


# -- resolve ---------------------------------------------------------------------------------------------------------


def _resolve(call: Call) -> Answer:
    explained, option = call.flag("explain"), call.option("element")
    text, element = call.words[0], None if option is None else option.encode()
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
        raise NotFoundError(call.read(lambda reader: with_suggestion(call.minter, reader, text, outcome.refusal)))
    return Answer(Values([(b"target", outcome.targets[0].url)]))


def _abstract_refusal(call: Call, text: bytes, outcome: Outcome) -> str:
    """For the name of something abstract, that it leads nowhere, and what realises it; empty for any other name."""
    if outcome.kind != resolution.ABSTRACT:
        return ""
    return call.read(lambda reader: abstract_refusal(call.minter, reader, text, "leads nowhere by itself"))


def _target_text(outcome: Outcome) -> bytes:
    if not outcome.targets:
        return f"{outcome.kind}: {outcome.refusal}".encode("utf-8", "surrogateescape")
    first = outcome.targets[0]
    return b"%d %b" % (first.code or targets.USUAL_CODE, first.url)


def _resolve_loop(call: Call) -> Answer:
    raise UsageError("resolve-loop answers until its input ends, so it is given on its own at the shell")


_ELEMENT = Option("--element Element", "the element that holds the target, in place of the minter's own choice")


# -- resolver and canary ---------------------------------------------------------------------------------------------


def check_canaries(call: Call) -> Answer:
    """Resolve every canary and compare its target; with --through by a request to a web resolver."""
    # Who may only read is told nothing of names that are not public, nor where they are to lead.
    found = settings.check_canaries(call.minter, _resolver_for(call, call.option("through") or ""),
                                    reserved=not hides_names(call.session.view))
    if not found:
        return Answer(Fields(("note", b"there is nothing to check: set names with 'resolver canary Name Target'")),
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
    minter, (_, value, text) = call.minter, call.words
    name = minter.write(lambda writer: settings.set_passthrough(minter, writer, call.actor, text, on=value == b"on"))
    return Answer(Fields(("ok", b"passthrough is " + value + b" for " + name)), spaced=True)


def _set_canary(call: Call) -> Answer:
    minter, (_, text, *expected) = call.minter, call.words
    as_text(text, "the name of a canary")
    target = expected[0] if expected and expected[0] else destination(resolution.resolve(minter, text))
    value = None if target == b"-" else target
    name = minter.write(lambda writer: settings.set_canary(minter, writer, call.actor, text, value))
    return Answer(Fields(("ok", name + (b" is no longer checked" if value is None else b" must lead to " + target))),
                  spaced=True)


def _resolver_settings(call: Call) -> Answer:
    def work(reader: Reader) -> list[tuple[str, bytes]]:
        return [
            ("element", resolution.target_element(reader)),
            ("fallback", config.value(reader, resolution.FALLBACK) or b"none"),
            ("passthrough", config.value(reader, resolution.PASSTHROUGH) or b"on"),
            *(("cache", value) for value in (config.value(reader, resolution.CACHE),) if value),
            *(("canary", name.encode() + b" " + target) for name, target in settings.canaries(reader).items()),
        ]

    return Answer(Fields(*call.minter.read(work)), spaced=True)


# -- route -----------------------------------------------------------------------------------------------------------

_ROUTES = "routes"
_LONGEST_FILE = 10 << 20
_LONGEST_ITEM = 10_000


def _route(call: Call) -> Answer:
    path = call.option("routes") or os.path.join(call.session.dbdir, _ROUTES)
    return Answer(Values([(b"minter", read_routes(path).minter_for(call.words[0]))]))


def read_routes(path: str) -> Routes:
    """The routes in a file; raises StoreError if it cannot be read, InvalidError if it is too large or wrong."""
    try:
        with open(path, "rb") as file:
            text = file.read(_LONGEST_FILE + 1)
    except OSError as error:
        raise StoreError(f"the file of routes {path} cannot be read: {error.strerror}") from None
    if len(text) > _LONGEST_FILE:
        raise InvalidError(f"the file of routes {path} has more than {_LONGEST_FILE} bytes")
    return Routes(text, path)


class Routes:
    """The rules of one file, all of them checked."""

    __slots__ = ("_name", "_rules")

    def __init__(self, text: bytes, name: str = "the routes") -> None:
        self._name = name
        self._rules: list[RouteRule] = []
        for number, line in enumerate(text.splitlines(), 1):
            if not line.strip() or line.lstrip().startswith(b"#"):
                continue
            try:
                self._rules.append(_parse_route(lines.split_words(line)))
            except (InvalidError, UsageError) as error:
                raise InvalidError(f"line {number} of {name}: {error.message}") from None

    def minter_for(self, item: bytes) -> bytes:
        """The minter for an item; raises NotFoundError if no line takes it."""
        if not item or len(item) > _LONGEST_ITEM:
            raise InvalidError(f"the name of an item has 1 to {_LONGEST_ITEM} bytes, not {len(item)}")
        for rule in self._rules:
            minter = rule(item)
            if minter is not None:
                return minter
        raise NotFoundError(f"no line of {self._name} takes {printable(item[:200])}: end the file with a share line, "
                            "which takes all")


def _parse_route(line: list[bytes]) -> RouteRule:
    kind, *rest = line
    if kind == b"match" and len(rest) == 2:
        return _match(*rest)
    if kind == b"share" and rest:
        return _share(rest)
    raise InvalidError("a route is 'match PATTERN MINTER' or 'share MINTER MINTER …'")


def _match(pattern: bytes, minter: bytes) -> RouteRule:
    rule = Rule(pattern, b"")
    return lambda item: None if rule.apply(item) is None else minter


def _share(minters: list[bytes]) -> RouteRule:
    if len(set(minters)) < len(minters):
        raise InvalidError("a minter is named twice among those that share")

    def weight(minter: bytes, item: bytes) -> bytes:
        # With the length no two pairs of names give the same text.
        return sha256(b"%d:%b%b" % (len(minter), minter, item)).digest()

    return lambda item: max(minters, key=lambda minter: weight(minter, item))


# -- the commands ----------------------------------------------------------------------------------------------------

COMMANDS = (
    Command(
        "resolve", "where a name leads",
        Form("Name [--explain] [--element Element]", _resolve, READ),
        options=(Option("--explain", "list the steps that led to the answer"), _ELEMENT),
        see="resolving.md#the-steps", fails="the steps are listed and the name does not resolve",
        about="""\
The name may be spelled in any way. Its target is that of the name for which it stands, that which is bound, that which
a rule computes, that of the longest bound name of which it is an extension, or the fallback of the minter.
""",
        example="""\
$ noid bind set 13030/kt4x551 _t https://library.example/kt4x551 | grep Status
Status:  ok, 31 bytes written, replacing 0 bytes
$ noid resolve ark:/13030/kt4-x551/page-7.pdf
https://library.example/kt4x551/page-7.pdf
""",
    ),
    Command(
        "resolve-loop", "answer lines of standard input, each a name, with targets, as noidr does",
        Form("[--element Element] [--codes] [--echo]", _resolve_loop),
        options=(
            Option("--element Element", "take every line for a name as a whole, and this for the element"),
            Option("--codes", "begin an answer with the code of the target, if it has one; 410 for a withdrawn name"),
            Option("--echo", "begin every answer with the octet 2, the name and a blank; for a client that waits for "
                   "each answer before it sends the next line"),
        ),
        shell_only=True, process=True, see="resolving.md#noidr-one-line-a-name",
        about="""\
There is one line out for each line in, in order; NULL where the name does not resolve.
""",
        example="""\
$ printf '13030/kt4x551\\nnothing here\\n' | noid resolve-loop
https://library.example/kt4x551
NULL
""",
    ),
    Command(
        "resolver", "how names are resolved, and which are checked",
        Form("", _resolver_settings, ADMIN, writes=False),
        Form("element Element|-", _set_resolver, ADMIN),
        Form("fallback Url|-", _set_resolver, ADMIN),
        Form("passthrough on|off|-", _set_resolver, ADMIN),
        Form("passthrough on|off Id", _set_passthrough_of, ADMIN),
        Form("cache Seconds|- [Stale]", _set_cache, ADMIN),
        Form("canary Name [Target|-]", _set_canary, ADMIN),
        see="resolving.md#settings-of-a-minter",
        about="""\
element is the element that holds targets, _t unless set. fallback is another resolver, to which names of other NAANs
are sent; the name is added at its end, or in place of a variable such as ${pid} or ${content}. passthrough is whether
what follows a bound name goes behind its target, for all names or for one. cache is for how many seconds browsers and
proxies keep answers about names (300 unless set), and for how many more while the resolver fails (86400). canary names
one that the command canary resolves, and where it must lead; without a target, where it leads now. A hyphen in place
of a value goes back to the default.
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
    Command(
        "route", "which of several minters names an item, by rules in a file",
        Form("Item [--routes File]", _route),
        options=(Option("--routes File", "the rules; Dbdir/routes, unless given"),), shell_only=True,
        see="time-labels.md",
        about="""\
A line of the file is "match PATTERN MINTER", which takes the items whose name matches, or "share MINTER MINTER …",
which takes all others and distributes them evenly. The first line that takes an item decides. The same item always
comes to the same minter; one that is added takes its part from all others and moves nothing between them.
""",
        example="""\
$ printf 'match ^map/ maps\\nshare books papers\\n' > routes
$ noid route map/17
maps
""",
    ),
)
