"""Commands that examine the form of an identifier."""

from __future__ import annotations

from ..errors import NoMinterError
from ..minter import identifiers
from ..minter.access import READ
from ..minter.validation import validate_form, validate_own
from .answers import Answer
from .command import Command, Form, as_text
from .name_records import Verdicts
from .records import Values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .call import Call


def _validate(call: Call) -> Answer:
    form, *ids = call.words
    if form == b"-":
        minter = call.minter
        verdicts = call.read(lambda reader: validate_own(minter, reader, ids))
    else:
        verdicts = validate_form(as_text(form, "the template"), ids)
    return Answer(Verdicts(verdicts), failed=any(fault for _, fault in verdicts))


def _path(call: Call) -> Answer:
    (raw,) = call.words
    try:
        minter = call.minter
        made = minter.scheme.path(call.read(lambda reader: identifiers.identify(minter, reader, raw)).key)
    except NoMinterError:
        from ..names.pairtree import path as pairtree_path

        # The path depends on the identifier alone; a minter only adds what it knows of labels and spellings.
        made = pairtree_path(raw)
    return Answer(Values([(b"path", made)]))


COMMANDS = (
    Command(
        "validate", "check identifiers against a template, a scheme, or with - against the minter's own",
        Form("Template|Scheme|- Id…", _validate, READ),
        see="tutorial.md#check-what-was-typed", fails="an identifier is not valid",
        about="""\
Only the form is checked, and the check character where there is one; not whether the identifier was minted.
""",
        example="""\
$ noid validate - 13030/kt4x551 13030/kt4y551
id: 13030/kt4x551
iderr: 13030/kt4y551: character 2 after the prefix is 'y', not one of 0123456789bcdfghjkmnpqrstvwxz
""",
    ),
    Command(
        "path", "the folder made of an identifier: its characters two by two, or a repository's four folders",
        Form("Id", _path, READ), see="tutorial.md#folders-for-identifiers",
        about="""\
The path is safe for any identifier. No minter is needed.
""",
        example="""\
$ noid path xv8t984
xv/8t/98/4/
""",
    ),
)
