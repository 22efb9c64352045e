"""The identifier a command is about: found for reading, or cleared for change."""

from __future__ import annotations

from .. import names
from ..codec import unpack
from ..errors import InvalidError
from ..schemes.noid import NoidScheme, ensure_form, growth
from ..schemes.template import REPERTOIRES
from . import records
from .records import PEPPERED, find, is_known
from .tables import IDS, META

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..names import Name
    from ..schemes.template import Template
    from ..store import Reader
    from . import Minter
    from .records import Circulation



def to_read(minter: Minter, reader: Reader, given: bytes) -> bytes:
    """The stored identifier.  A pepper that came along is not needed, but a wrong one is refused."""
    identifier = minter.stored(given)
    if b"!" in identifier:
        from . import peppers

        identifier, pepper = peppers.split_pepper(reader, identifier)
        if pepper is not None:
            peppers.ensure_pepper_matches(reader, identifier, pepper)
    return identifier


def to_change(minter: Minter, reader: Reader, given: bytes) -> tuple[bytes, Circulation | None]:
    """The stored identifier and its circulation, once it is sure that this caller may change it."""
    identifier = to_read(minter, reader, given)
    record = find(reader, identifier)
    if record is None:
        # What has a record is ours, whatever its form: an alias may be a name that no minter could make.
        minter.ensure_valid(reader, identifier)
    if record is not None and record.flags & PEPPERED:
        ensure_pepper_came(minter, reader, identifier, given)
    return identifier, record


def ensure_pepper_came(minter: Minter, reader: Reader, identifier: bytes, given: bytes) -> None:
    """Refuse to change a peppered identifier that was given without its pepper; `to_read` looks at one that came."""
    if identifier == minter.stored(given):
        from . import peppers

        peppers.ensure_pepper_matches(reader, identifier, None)


# -- Recognising a minter's own identifiers in whatever spelling they come -------------------------------------------



def labels_of(minter: Minter) -> tuple[bytes, ...]:
    """The labels of a minter's context.  Where none was given, the form of its names may still tell the first."""
    if minter.labels:
        return tuple(minter.labels)
    return minter.implied_labels[:1]


def display_name(minter: Minter, key: bytes) -> bytes:
    """A stored name as people write it: the minter's label belongs before its own names only."""
    if key.startswith(records.RULE_MARK) or b"://" in key or names.parse(key).scheme:
        return key
    return minter.shown(key)


def own_identifier(minter: Minter, reader: Reader, given: bytes) -> bytes | None:
    """The identifier of this minter that a text spells, None if it is a name from elsewhere.

    One that is known here goes before one that only has the form; and a mistyped one is refused.
    """
    plain = to_read(minter, reader, given)
    labels = labels_of(minter)
    name = names.parse(plain, labels)
    spellings = [minter.scheme.canonical(key) for key in (plain, *names.candidates(name, labels))]
    for key in spellings:
        if is_known(reader, key):
            return key
    if minter.scheme.free:
        # Anything could be this minter's; what says that it belongs elsewhere is taken at its word.
        return None if name.scheme else names.stored(name, labels)
    for key in spellings:
        try:
            minter.ensure_valid(reader, key)
        except InvalidError:
            continue
        return key
    _ensure_not_mistyped(minter, reader, name)
    return None


def _ensure_not_mistyped(minter: Minter, reader: Reader, name: Name) -> None:

    fault = typing_fault(minter, reader, name)
    if fault is not None:
        raise InvalidError(fault)

# -- Names that somebody mistyped: what is wrong, and what may have been meant ---------------------------------------
# Only where identifiers carry a check character can the difference be told
# between a name that is wrong and one that is unknown.

_LONGEST_BEGINNING = 200  # a checked identifier is shorter than its repertoire is large


def typing_fault(minter: Minter, reader: Reader, name: Name) -> str | None:
    """What is wrong with a name that has the beginning and the length of this minter's checked identifiers."""
    wrong = _Wrong.found(minter, reader, name)
    return wrong.fault if wrong else None


def suggest_correction(minter: Minter, reader: Reader, name: Name) -> bytes | None:
    """The one identifier in circulation from which the name differs by one character, or by two neighbours
    exchanged; None if there is none, or more than one."""
    wrong = _Wrong.found(minter, reader, name)
    if wrong is None:
        return None
    start = len(wrong.scheme.first_part)
    found = {
        text for text in set(_one_error_away(wrong.text, start, wrong.template))
        if reader.get(IDS, text.encode()) and _template_fault(wrong.template, wrong.scheme, text) is None
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
                fault = _template_fault(template, scheme, text)
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


def _template_fault(template: Template, scheme: NoidScheme, text: str) -> str | None:
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


class NameRef:
    """A name: the key under which things about it are kept, how it is shown, and whether its pepper came along."""

    __slots__ = ("key", "shown", "peppered")

    def __init__(self, key: bytes, shown: bytes, *, peppered: bool = False) -> None:
        self.key = key
        self.shown = shown
        self.peppered = peppered


# -- names -----------------------------------------------------------------------------------------------------------


def named(minter: Minter, reader: Reader, given: bytes) -> NameRef:
    """The name that was given, in whatever spelling; a pepper that came along is taken off."""
    stored = to_read(minter, reader, given)
    if is_known(reader, stored):
        return NameRef(stored, display_name(minter, stored), peppered=stored != minter.stored(given))
    labels = labels_of(minter)
    name = names.parse(given, labels)
    if not name.query:
        for key in names.candidates(name, labels):
            key = minter.scheme.canonical(key)
            if is_known(reader, key):
                return NameRef(key, display_name(minter, key))
    if (name.scheme or b"://" in stored) and not _is_own(minter, name, labels):
        return NameRef(stored if name.query or not name.scheme else names.stored(name, labels), name.text + name.query)
    key = stored if name.query else minter.scheme.canonical(names.stored(name, labels))
    return NameRef(key, display_name(minter, key))


def changed(minter: Minter, reader: Reader, given: bytes) -> NameRef:
    """As `named`, for a name about which something is to be said from now on: a peppered one needs its pepper."""
    ref = named(minter, reader, given)
    ensure_pepper(reader, ref)
    return ref


def ensure_pepper(reader: Reader, ref: NameRef) -> None:
    """A pepper that came along was looked at when the name was read; here one must have come, if there is one."""
    record = find(reader, ref.key)
    if record is not None and record.flags & PEPPERED and not ref.peppered:
        from . import peppers

        peppers.ensure_pepper_matches(reader, ref.key, None)


def _is_own(minter: Minter, name: names.Name, labels: tuple[bytes, ...]) -> bool:
    """Whether a name with a scheme is one of this minter: it bears its NAAN, or its label says so."""
    naan = minter.settings["naan"].encode()
    if naan and name.scheme == b"ark":
        return name.body.startswith(naan + b"/")
    return bool(name.scheme) and any(label.lower().startswith(name.scheme + b":") for label in labels)
