"""The form of a minter's identifiers, checked quickly for many of them."""

from __future__ import annotations

from ..errors import InvalidError
from ..schemes.noid import Checker, NoidScheme, growth
from .tables import META

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..store import Reader
    from . import Minter



class Form:
    """As it is at one moment: a mask may grow."""

    __slots__ = ("_minter", "_reader", "_scheme", "_templates")

    def __init__(self, minter: Minter, reader: Reader) -> None:
        self._minter = minter
        self._reader = reader
        scheme = minter.scheme
        self._scheme = scheme if isinstance(scheme, NoidScheme) and not scheme.free else None
        self._templates = []
        if self._scheme is not None:
            template = self._scheme.template
            for _ in range(self._scheme.generator(reader.get(META, b"state")).grown + 1):
                checker = Checker(template, self._scheme.first_part) if template.checked else None
                self._templates.append((template, checker))
                template = template.grown(growth(self._scheme.at_last)) if self._scheme.grows else template

    def faults(self, identifier: bytes) -> tuple[str, bool | None]:
        """What is wrong with the form, if anything is; and whether the check character is right, None if there is
        none to look at."""
        scheme = self._scheme
        if scheme is None:
            return self._fault(identifier), None
        text = identifier.decode("utf-8", "backslashreplace")
        if not text.startswith(scheme.first_part):
            return f"{text} does not begin with {scheme.first_part}", None
        own = text[len(scheme.first_part) :]
        fault = ""
        sound: bool | None = None
        for template, checker in self._templates:
            label = own if checker is None else own[:-1]
            try:
                template.number(label)
            except InvalidError as error:
                fault = fault or error.message
                continue
            if checker is None:
                return "", None
            sound = checker.character(label) == own[-1:]
            if sound:
                return "", True
        return ("", sound) if sound is not None else (fault, None)

    def _fault(self, identifier: bytes) -> str:
        try:
            self._minter.ensure_valid(self._reader, identifier)
        except InvalidError as error:
            return error.message
        return ""
