"""Commands that say where a name leads."""

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
    ),
    Command(
        "resolve-loop",
        "answer names on standard input with their targets, line by line, as noidr does for a web server",
        Form("[--element Element] [--codes] [--echo]", _resolve_loop),
        options=(
            _ELEMENT,
            Option("--codes", "begin each answer with the status code of the redirection"),
            Option("--echo", "answer with the name itself where it does not resolve"),
        ),
        shell_only=True,
    ),
)
