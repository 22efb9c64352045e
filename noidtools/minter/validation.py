"""Whether identifiers have the form of a template, of a scheme, or of a minter."""

from __future__ import annotations

from .. import names
from ..errors import InvalidError, printable
from . import identifiers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..store import Reader
    from . import Minter
    Verdict = tuple[bytes, str | None]


def validate_own(minter: Minter, reader: Reader, texts: Iterable[bytes]) -> list[Verdict]:
    """Each text, and why it is not in the form of the identifiers of this minter; None if it is."""
    return _verdicts(lambda text: _ensure_own_form(minter, reader, text), texts)


def _ensure_own_form(minter: Minter, reader: Reader, text: bytes) -> None:
    identifiers.ensure_well_formed(minter, reader, identifiers.identify(minter, reader, text).key)


def validate_form(form: str, texts: Iterable[bytes]) -> list[Verdict]:
    """Each text, and why it is not a label of `form`, which is a template or the name of a scheme; None if it is."""
    return _verdicts(_form_check(form), texts)


def without_context(text: bytes) -> bytes:
    """The label in a text: without `hdl:`, or without the address of a resolver that is known to everybody."""
    name = names.parse(text)
    return name.body if name.scheme in (b"", b"hdl") and not name.query else text


def _verdicts(check: Callable[[bytes], object], texts: Iterable[bytes]) -> list[Verdict]:
    verdicts: list[Verdict] = []
    for text in texts:
        try:
            check(text)
            verdicts.append((text, None))
        except InvalidError as error:
            verdicts.append((text, _naming(text, error.message)))
    return verdicts


def _naming(text: bytes, message: str) -> str:
    """The message, with the text in front if it names neither that nor the name in it: a verdict is read on its own."""
    spelled = (text, names.stored(names.parse(text)))
    return message if any(printable(name) in message for name in spelled) else f"{printable(text)}: {message}"


def _form_check(form: str) -> Callable[[bytes], object]:
    from ..schemes import NAMES, scheme_class

    if form in NAMES:
        decode = scheme_class(form).decode

        return lambda text: decode(without_context(text))
    from ..schemes.template import Template, ensure_form

    template = Template(form)

    def check(text: bytes) -> None:
        if not text:
            raise InvalidError("the identifier is empty")
        ensure_form(template, template.prefix, text)

    return check
