"""Outcomes of resolving for those who may not see all names: a name that is not public is as one that is unknown."""

from __future__ import annotations

from .. import names
from ..minter.identifiers import parse_name
from ..minter.lifecycle import reader_in
from ..minter.policies import EVERYTHING, TARGETS
from . import ABSTRACT, INVALID, NOT_FOUND, RESERVED, Lookup, Outcome, follow_aliases

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..minter import Minter
    from ..store import Reader
    from . import Trace


def outcome_in(
    view: str, minter: Minter, reader: Reader, text: bytes, outcome: Outcome, *, element: bytes | None = None,
    trace: Trace | None = None,
) -> Outcome:
    """The outcome of a text, resolved by whoever sees everything, as a user with this view is answered.

    `trace`, if given, is replaced by the one that belongs to the answer.  Where a rule or a fallback answers for
    unknown names, it still does not for a reserved one.
    """
    hidden = (RESERVED, NOT_FOUND, INVALID, *((ABSTRACT,) if view == TARGETS else ()))
    if view == EVERYTHING or outcome.kind not in hidden:
        return outcome
    steps: Trace = []
    lookup = Lookup(minter, reader_in(view, reader), element, None if trace is None else steps)
    found = follow_aliases(lookup.find, text, None if trace is None else steps)
    if found.kind not in (NOT_FOUND, INVALID):
        normal = names.stored(parse_name(minter, reader, text), minter.namespace.labels)
        found = Outcome(NOT_FOUND, minter, normal, reason="nothing is known of this name")
        del steps[2:]  # the text as given, and its normal form
    if trace is not None:
        trace[:] = steps
    return found
