"""Commands that examine the form of an identifier."""

from __future__ import annotations

from ..errors import NoMinterError
from ..minter import identifiers
from ..minter.validation import validate_form, validate_own
from .answers import Answer, Values, Verdicts
from .session import as_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .session import Call


def validate(call: Call) -> Answer:
    args = call.need(2, None, "validate Template|Scheme|- Id…")
    form, given = args[0], args[1:]
    verdicts = validate_own(call.minter, given) if form == b"-" else validate_form(as_text(form, "the template"), given)
    return Answer(Verdicts(verdicts), failed=any(fault for _, fault in verdicts))


def path(call: Call) -> Answer:
    (given,) = call.need(1, 1, "path Id")
    try:
        minter = call.minter
        identifier = minter.read(lambda reader: identifiers.to_read(minter, reader, given))
        made = minter.scheme.path(identifier)
    except NoMinterError:
        from ..names.pairtree import path as pairtree_path

        # The path depends on the identifier alone; a minter only adds what it knows of labels and spellings.
        made = pairtree_path(given)
    return Answer(Values([(b"path", made)]))
