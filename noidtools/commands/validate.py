"""Commands that examine the form of an identifier."""

from __future__ import annotations

from ..errors import NoMinterError
from ..minter import identifiers
from ..minter.policies import READ
from ..minter.validation import validate_form, validate_own
from .answers import Answer, Values, Verdicts
from .command import Command, Form, as_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .call import Call


def _validate(call: Call) -> Answer:
    form, given = call.words[0], call.words[1:]
    verdicts = validate_own(call.minter, given) if form == b"-" else validate_form(as_text(form, "the template"), given)
    return Answer(Verdicts(verdicts), failed=any(fault for _, fault in verdicts))


def _path(call: Call) -> Answer:
    (given,) = call.words
    try:
        minter = call.minter
        identifier = minter.read(lambda reader: identifiers.to_read(minter, reader, given))
        made = minter.scheme.path(identifier)
    except NoMinterError:
        from ..names.pairtree import path as pairtree_path

        # The path depends on the identifier alone; a minter only adds what it knows of labels and spellings.
        made = pairtree_path(given)
    return Answer(Values([(b"path", made)]))


COMMANDS = (
    Command(
        "validate", "check identifiers against a template, a scheme such as ibi, or - for the minter's own",
        Form("Template|Scheme|- Id…", _validate, READ),
    ),
    Command(
        "path", "the folder made of an identifier: its characters two by two, or a repository's four folders",
        Form("Id", _path, READ),
    ),
)
