"""The identifier a command is about: found for reading, or cleared for change."""

from __future__ import annotations

from .. import names
from ..errors import InvalidError
from . import meta, records
from .records import PEPPERED, find, is_known

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..names import Name
    from ..schemes import FormChecker, Mistyped
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
    mistyped = _find_mistyped(minter, reader, name)
    return None if mistyped is None else mistyped.fault


def suggest_correction(minter: Minter, reader: Reader, name: Name) -> bytes | None:
    """The one identifier in circulation from which the name differs by one character, or by two neighbours
    exchanged; None if there is none, or more than one."""
    mistyped = _find_mistyped(minter, reader, name)
    if mistyped is None:
        return None
    found = [identifier for identifier in mistyped.corrections() if find(reader, identifier) is not None]
    return found[0] if len(found) == 1 else None


def form_checker(minter: Minter, reader: Reader) -> FormChecker:
    """A checker of the form of this minter's identifiers, as it is now: a mask may grow."""
    return minter.scheme.form_checker(_form_state(minter, reader))


def _find_mistyped(minter: Minter, reader: Reader, name: Name) -> Mistyped | None:
    """The shortest beginning of the name that should be one of this minter's identifiers, but is not."""
    return minter.scheme.find_mistyped(_beginnings(minter, name), _form_state(minter, reader))


def _form_state(minter: Minter, reader: Reader) -> bytes | None:
    return meta.generator_state(reader) if minter.scheme.grows else None


def _beginnings(minter: Minter, name: Name) -> Iterator[bytes]:
    """What of the name may be an identifier, the whole first."""
    labels, prefix = labels_of(minter), minter.scheme.namespace_prefix
    keys = [*names.candidates(name, labels)]
    keys += [key for key, _ in names.cuts(name, labels, naan=b"/" in prefix, longest=_LONGEST_BEGINNING)]
    for key in keys:
        if key.isascii() and key.startswith(prefix) and len(key) <= _LONGEST_BEGINNING:
            yield key


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
