"""Names that somebody mistyped: what is wrong, and what may have been meant.

Only where identifiers carry a check character can the difference be told
between a name that is wrong and one that is unknown.
"""

from __future__ import annotations

from . import names
from .exceptions import InvalidError
from .fields import unpack
from .recognition import labels_of
from .repertoires import REPERTOIRES
from .schemes.noid import NoidScheme, ensure_form, growth
from .tables import IDS, META

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .minter import Minter
    from .names import Name
    from .store import Reader
    from .template import Template

_LONGEST_BEGINNING = 200  # a checked identifier is shorter than its repertoire is large


def fault_of(minter: Minter, reader: Reader, name: Name) -> str | None:
    """What is wrong with a name that has the beginning and the length of this minter's checked identifiers."""
    wrong = _Wrong.found(minter, reader, name)
    return wrong.fault if wrong else None


def meant(minter: Minter, reader: Reader, name: Name) -> bytes | None:
    """The one identifier in circulation from which the name differs by one character, or by two neighbours
    exchanged; None if there is none, or more than one."""
    wrong = _Wrong.found(minter, reader, name)
    if wrong is None:
        return None
    start = len(wrong.scheme.first_part)
    found = {
        text for text in set(_one_error_away(wrong.text, start, wrong.template))
        if reader.get(IDS, text.encode()) and _fault(wrong.template, wrong.scheme, text) is None
    }
    return found.pop().encode() if len(found) == 1 else None


class _Wrong:
    __slots__ = ("scheme", "template", "text", "fault")

    def __init__(self, scheme: NoidScheme, template: Template, text: str, fault: str) -> None:
        self.scheme = scheme
        self.template = template
        self.text = text
        self.fault = fault

    @classmethod
    def found(cls, minter: Minter, reader: Reader, name: Name) -> _Wrong | None:
        """The shortest beginning of the name that should be one of this minter's identifiers; None if one is."""
        scheme = minter.scheme
        if not isinstance(scheme, NoidScheme) or scheme.free or not scheme.template.checked:
            return None
        wrong = None
        for text in _beginnings(scheme, name, labels_of(minter)):
            for template in _templates(scheme, reader):
                surplus = len(text) - len(scheme.first_part) - len(template.letters) - 1
                if surplus and (surplus < 0 or template.total is not None):
                    continue
                fault = _fault(template, scheme, text)
                if fault is None:
                    return None
                wrong = cls(scheme, template, text, fault)
        return wrong


def _beginnings(scheme: NoidScheme, name: Name, labels: tuple[bytes, ...]) -> Iterator[str]:
    """What of the name may be an identifier, the whole first."""
    keys = [*names.candidates(name, labels)]
    keys += [key for key, _ in names.cuts(name, labels, naan="/" in scheme.first_part, longest=_LONGEST_BEGINNING)]
    for key in keys:
        if key.isascii() and key.startswith(scheme.first_part.encode()) and len(key) <= _LONGEST_BEGINNING:
            yield key.decode()


def _templates(scheme: NoidScheme, reader: Reader) -> Iterator[Template]:
    """The minter's template, and those it grew into."""
    template = scheme.template
    yield template
    state = reader.get(META, b"state") if scheme.grows else None
    for _ in range(int(unpack(state)[1]) if state else 0):
        template = template.grown(growth(scheme.at_last))
        yield template


def _fault(template: Template, scheme: NoidScheme, text: str) -> str | None:
    try:
        ensure_form(template, scheme.first_part, text.encode())
    except InvalidError as error:
        return error.message
    return None


def _one_error_away(text: str, start: int, template: Template) -> Iterator[str]:
    letters = sorted(set("".join(template.alphabets) + REPERTOIRES[template.check_letter]))
    for place in range(start, len(text)):
        for letter in letters:
            yield text[:place] + letter + text[place + 1 :]
    for place in range(start, len(text) - 1):
        yield text[:place] + text[place + 1] + text[place] + text[place + 2 :]
