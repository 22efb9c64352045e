"""Commands that resolve names."""

from __future__ import annotations

from .. import resolution
from ..errors import NotFoundError, UsageError
from ..minter.access import EVERYTHING, READ
from ..names import targets
from .answers import Answer
from .command import Command, Form, Option
from .records import Fields, Values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..resolution import Outcome, Trace
    from .call import Call


def _resolve(call: Call) -> Answer:
    explained, option = call.flag("explain"), call.option("element")
    text, element = call.words[0], None if option is None else option.encode()
    trace: Trace = []
    outcome = resolution.resolve(call.minter, text, element=element, trace=trace if explained else None)
    if call.session.view != EVERYTHING and outcome.kind != resolution.FOUND:
        outcome = _outcome_in_view(call, text, outcome, element, trace if explained else None)
    if explained:
        steps = [(step, text) for step, text in trace]
        return Answer(Fields(*steps, ("answer", _answer(outcome))), spaced=True, failed=not outcome.targets)
    if not outcome.targets:
        raise NotFoundError(_abstract_refusal(call, text, outcome) or outcome.refusal)
    return Answer(Values([(b"target", outcome.targets[0].url)]))


def _abstract_refusal(call: Call, text: bytes, outcome: Outcome) -> str:
    """For the name of something abstract, that it leads nowhere, and what realises it; empty for any other name."""
    if outcome.kind != resolution.ABSTRACT:
        return ""
    from ..minter.relations.abstractions import abstract_refusal

    return call.read(lambda reader: abstract_refusal(call.minter, reader, text, "leads nowhere by itself"))


def _outcome_in_view(
    call: Call, text: bytes, outcome: Outcome, element: bytes | None, trace: Trace | None
) -> Outcome:
    """The outcome as this user may see it, which for a name that is not public is that of an unknown one."""
    from ..resolution.published import outcome_in

    return call.minter.read(lambda reader: outcome_in(
        call.session.view, call.minter, reader, text, outcome, element=element, trace=trace
    ))


def _answer(outcome: Outcome) -> bytes:
    if not outcome.targets:
        return f"{outcome.kind}: {outcome.refusal}".encode("utf-8", "surrogateescape")
    first = outcome.targets[0]
    return b"%d %b" % (first.code or targets.USUAL_CODE, first.url)


def _resolve_loop(call: Call) -> Answer:
    raise UsageError("resolve-loop answers until its input ends, so it is given on its own at the shell")


_ELEMENT = Option("--element Element", "the element that holds the target, in place of the minter's own choice")
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
        Form("[--element Element] [--codes] [--echo] [--compact Prefix]", _resolve_loop),
        options=(
            Option("--element Element", "take every line for a name as a whole, and this for the element"),
            Option("--codes", "begin an answer with the code of the target, if it has one; 410 for a withdrawn name"),
            Option("--echo", "repeat the name in front of every answer"),
            Option("--compact Prefix", "a line that begins with a slash is a name without this prefix; if its target "
                   "is a https address, the answer is the line and the target, without the first slash and https:/; of "
                   "a target that ends with the name, it is what comes before that, | and the line; each answer begins "
                   "with the octet 2"),
        ),
        shell_only=True, see="resolving.md#noidr-one-line-a-name",
        about="""\
There is one line out for each line in, in order; NULL where the name does not resolve.
""",
        example="""\
$ printf '13030/kt4x551\\nnothing here\\n' | noid resolve-loop
https://library.example/kt4x551
NULL
""",
    ),
)
