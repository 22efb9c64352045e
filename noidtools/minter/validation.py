"""Whether identifiers have the form of a template, of a scheme, or of a minter."""

from __future__ import annotations

from ..errors import InvalidError
from . import identifiers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..store import Reader
    from . import Minter
    Verdict = tuple[bytes, str | None]


def validate_own(minter: Minter, texts: Iterable[bytes]) -> list[Verdict]:
    """Each text, and why it is not in the form of the identifiers of this minter; None if it is."""
    def check(text: bytes) -> None:
        minter.read(lambda reader: _ensure_own_form(minter, reader, text))

    return _verdicts(check, texts)


def _ensure_own_form(minter: Minter, reader: Reader, text: bytes) -> None:
    identifiers.ensure_well_formed(minter, reader, identifiers.identify(minter, reader, text).key)


def validate_form(form: str, texts: Iterable[bytes]) -> list[Verdict]:
    """Each text, and why it is not a label of `form`, which is a template or the name of a scheme; None if it is."""
    return _verdicts(_form_check(form), texts)


def _verdicts(check: Callable[[bytes], object], texts: Iterable[bytes]) -> list[Verdict]:
    verdicts: list[Verdict] = []
    for text in texts:
        try:
            check(text)
            verdicts.append((text, None))
        except InvalidError as error:
            verdicts.append((text, error.message))
    return verdicts


def _form_check(form: str) -> Callable[[bytes], object]:
    from ..schemes import NAMES, scheme_class

    if form in NAMES:
        return scheme_class(form).decode
    from ..schemes.noid import ensure_form
    from ..schemes.template import Template

    template = Template(form)

    def check(text: bytes) -> None:
        if not text:
            raise InvalidError("the identifier is empty")
        ensure_form(template, template.prefix, text)

    return check
