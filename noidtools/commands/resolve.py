"""Commands that resolve names."""

from __future__ import annotations

from .. import resolution
from ..errors import NotFoundError, UsageError
from ..minter.policies import READ
from ..names import targets
from .answers import Answer, Fields, Values
from .command import Command, Form, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..resolution import Outcome, Trace
    from .call import Call


def _resolve(call: Call) -> Answer:
    explained, element = call.flag("explain"), call.option("element")
    trace: Trace = []
    outcome = resolution.resolve(
        call.minter, call.words[0], element=None if element is None else element.encode(),
        trace=trace if explained else None,
    )
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
        Form("[--element Element] [--codes] [--echo]", _resolve_loop),
        options=(
            Option("--element Element", "take every line for a name as a whole, and this for the element"),
            Option("--codes", "begin an answer with the code of the target, if it has one; 410 for a withdrawn name"),
            Option("--echo", "repeat the name in front of every answer"),
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
