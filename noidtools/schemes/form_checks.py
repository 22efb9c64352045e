"""Checks of the form of identifiers: of many at once, and which ones a mistyped text may have been.

Apart from the schemes, because a process that mints checks none.
"""

from __future__ import annotations

from ..errors import InvalidError, printable
from .template import REPERTOIRES, ensure_form

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from .base import Scheme
    from .noid import NoidScheme
    from .template import Template


class Mistyped:
    """A text that differs from the form of an identifier as a typing error would make it differ.

    fault        one sentence about the error
    corrections  the well-formed identifiers that one error turns into this text
    """

    __slots__ = ("corrections", "fault")

    def __init__(self, fault: str, corrections: Callable[[], Iterator[bytes]]) -> None:
        self.fault = fault
        self.corrections = corrections


class FormChecker:
    """Checks the form of many identifiers, as it is for one state of the generator."""

    __slots__ = ("_scheme", "_state")

    def __init__(self, scheme: Scheme, state: bytes | None) -> None:
        self._scheme = scheme
        self._state = state

    def faults(self, identifier: bytes) -> tuple[str, bool | None]:
        """What is wrong with the form, empty if nothing is; and whether the check character is right.

        The second is None where there is no check character to look at.
        """
        try:
            self._scheme.ensure_valid(identifier, self._state)
        except InvalidError as error:
            return error.message, None
        return "", None


class TemplateChecker(FormChecker):
    """Checks many identifiers of a template; what depends on the template alone is computed once."""

    __slots__ = ("_first_part", "_templates")

    def __init__(self, scheme: NoidScheme, state: bytes | None) -> None:
        super().__init__(scheme, state)
        self._first_part = scheme.first_part
        self._templates = [
            (template, scheme.checker(template) if template.checked else None)
            for template in scheme.templates(state)
        ]

    def faults(self, identifier: bytes) -> tuple[str, bool | None]:
        text = identifier.decode("utf-8", "replace")
        if not text.startswith(self._first_part):
            return f"{printable(identifier)} does not begin with {self._first_part}", None
        own = text[len(self._first_part) :]
        fault = ""
        sound: bool | None = None
        for template, checker in self._templates:
            label = own if checker is None else own[:-1]
            try:
                template.ensure_label(label)
            except InvalidError as error:
                fault = fault or error.message
                continue
            if checker is None:
                return "", None
            sound = checker.character(label) == own[-1:]
            if sound:
                return "", True
        return ("", sound) if sound is not None else (fault, None)


def mistyped_among(scheme: NoidScheme, texts: Iterable[bytes], state: bytes | None) -> Mistyped | None:
    """As `Scheme.find_mistyped`, for a template with a check character."""
    found = None
    first_part, templates = scheme.first_part, list(scheme.templates(state))
    for text in texts:
        for template in templates:
            surplus = len(text) - len(first_part) - len(template.letters) - 1
            if surplus and (surplus < 0 or template.total is not None):
                continue
            try:
                ensure_form(template, first_part, text)
            except InvalidError as error:
                found = _mistyped(text, template, first_part, error.message)
            else:
                return None
    return found


def _mistyped(text: bytes, template: Template, first_part: str, fault: str) -> Mistyped:
    return Mistyped(fault, lambda: corrections(text, template, first_part))


def corrections(text: bytes, template: Template, first_part: str) -> Iterator[bytes]:
    """The well-formed identifiers from which one wrong character, or two neighbours exchanged, make `text`."""
    for corrected in set(_one_error_away(text, len(first_part), template)):
        try:
            ensure_form(template, first_part, corrected)
        except InvalidError:
            continue
        yield corrected


def _one_error_away(text: bytes, start: int, template: Template) -> Iterator[bytes]:
    letters = sorted(set("".join(template.alphabets) + REPERTOIRES[template.check_letter]))
    for place in range(start, len(text)):
        for letter in letters:
            yield text[:place] + letter.encode() + text[place + 1 :]
    for place in range(start, len(text) - 1):
        yield text[:place] + text[place + 1 : place + 2] + text[place : place + 1] + text[place + 2 :]
