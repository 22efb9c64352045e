"""Commands that examine the form of an identifier."""

from __future__ import annotations

from ..errors import InvalidError, NoMinterError
from ..minter import identifiers
from .answers import Answer, Values, Verdicts
from .session import as_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..minter import Minter
    from .session import Call


def validate(call: Call) -> Answer:
    args = call.need(2, None, "validate Template|Scheme|- Id…")
    form, given = args[0], args[1:]
    verdicts: list[tuple[bytes, str | None]] = []
    check = _own_check(call.minter) if form == b"-" else _template_check(as_text(form, "the template"))
    for name in given:
        try:
            check(name)
            verdicts.append((name, None))
        except InvalidError as error:
            verdicts.append((name, error.message))
    return Answer(Verdicts(verdicts), failed=any(fault for _, fault in verdicts))


def _own_check(minter: Minter) -> Callable[[bytes], object]:
    def check(name: bytes) -> None:
        minter.read(lambda reader: minter.ensure_valid(reader, identifiers.to_read(minter, reader, name)))

    return check


def _template_check(text: str) -> Callable[[bytes], object]:
    from ..schemes import NAMES, scheme_class

    if text in NAMES:
        return scheme_class(text).decode
    from ..schemes.noid import ensure_form
    from ..schemes.template import Template

    template = Template(text)

    def check(name: bytes) -> None:
        if not name:
            raise InvalidError("the identifier is empty")
        ensure_form(template, template.prefix, name)

    return check


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
