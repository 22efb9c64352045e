"""From text to identifier: the one place that decides which identifier of a minter a text means.

    1. A text has spellings (`Namespace.spellings`): without its label, unchanged, in normal form, and so on.
    2. The first spelling of which anything is stored is the identifier.
    3. A pepper after one of them, as in `ID!PEPPER`, is checked and taken off; a wrong one is refused.
    4. Of a name that is not known, the first spelling with the form of this minter is the identifier.
    5. Otherwise it is the normal form, so that whatever is stored under it is found by all spellings.

Commands that read use `identify`, those that change an identifier `identify_for_change`, and those that state
something about any name, also of other systems, `identify_for_claim`.  Resolution uses `identify_parsed`, and goes
on with `Namespace.beginnings` where nothing is stored.
"""

from __future__ import annotations

from .. import names
from ..errors import ConflictError, InvalidError, printable
from ..schemes import NAMES, scheme_class
from ..schemes.template import Template, ensure_form
from . import circulation, config, schema
from .namespace import ALL_RULES, LONGEST_IDENTIFIER, RULE_MARK
from .relations import find_named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import TypeVar

    from ..names import Name
    from ..schemes.base import FormChecker, Mistyped
    from ..store import Reader
    from . import Minter
    from .circulation import Circulation

    T = TypeVar("T")
    Verdict = tuple[bytes, str | None]

# Identifiers with a check character are shorter than this: the character can only detect errors in names whose length
# is less than the size of the repertoire.
_LONGEST_CHECKED = 200

# The word that stands for an identifier to be minted.
NEW = b"new"

# The setting (see config.py) with the web resolvers of this minter, one address a line.
RESOLVERS = "resolver/base"


class NameRef:
    """The identifier that a text means.

    key          under which things about it are stored
    display      how it is written in answers
    record       its circulation record, None if it has none
    alias        the target of an alias, as written in answers; None if it is no alias
    known        whether anything is stored about it: circulation, elements, or what it is an alias of
    well_formed  whether it is known, or has the form of this minter's identifiers
    peppered     whether the text contained its pepper
    """

    __slots__ = ("alias", "display", "key", "known", "peppered", "record", "well_formed")

    def __init__(
        self, key: bytes, display: bytes, *, record: Circulation | None = None, alias: bytes | None = None,
        known: bool = False, well_formed: bool = False, peppered: bool = False,
    ) -> None:
        self.key = key
        self.display = display
        self.record = record
        self.alias = alias
        self.known = known
        self.well_formed = known or well_formed
        self.peppered = peppered


def identify(minter: Minter, reader: Reader, text: bytes) -> NameRef:
    """The identifier that a text means, known or not; or a rule, if it begins with the mark of rules.

    Raises InvalidError for what is empty or too long, ForbiddenError for a wrong pepper.
    """
    if text.startswith(RULE_MARK):
        return _find_known(minter, reader, text) or NameRef(text, text, well_formed=minter.scheme.free)
    if len(text) > LONGEST_IDENTIFIER:
        raise InvalidError(f"an identifier may have at most {LONGEST_IDENTIFIER} bytes, this one has {len(text)}")
    key = minter.namespace.literal_key(text)
    bare = text.strip()
    # In minters without a template, white space may be a name, too.
    if not (minter.scheme.free if key.isspace() else key if bare == text else minter.namespace.literal_key(bare)):
        raise InvalidError("the identifier is empty")
    # Most texts spell the name as it is stored, and then there is nothing to parse.
    known = _find_known(minter, reader, key)
    return known or identify_parsed(minter, reader, parse_name(minter, reader, text), unknown=key)


def _without_inflection(minter: Minter, reader: Reader, name: Name, ref: NameRef) -> NameRef:
    """The name of which a text asks for the description, by `?`, `??` or `?info` at its end.

    `ref` is what the whole text means, and is not known.  A plain name may end in a question mark, and in a minter
    without a template also in several.
    """
    text = name.given.rstrip()
    shorter = names.without_inflection(text)
    if shorter == text or not shorter.strip():
        return ref
    other = identify_parsed(minter, reader, parse_name(minter, reader, shorter))
    free = minter.scheme.free
    asks = bool(name.scheme) or (not free and text != shorter + b"?")
    return other if asks or (other.known if free else other.well_formed) else ref


def parse_name(minter: Minter, reader: Reader, text: bytes) -> Name:
    """Parse a text as `Namespace.parse` does; the address of a resolver of this minter may stand before a plain name,
    as `cite` writes it."""
    name = minter.namespace.parse(text)
    if name.scheme or b"://" not in name.body:
        return name
    # Each with the slash that separates it from the name.
    bases = [address if address.endswith(b"/") else address + b"/" for address in resolvers(reader)]
    return names.parse(text, (*minter.namespace.labels, *bases))


def resolvers(reader: Reader) -> list[bytes]:
    """The addresses of web resolvers, to which names are appended, the preferred one first."""
    return (config.value(reader, RESOLVERS) or b"").split()


def identify_parsed(minter: Minter, reader: Reader, name: Name, *, unknown: bytes | None = None) -> NameRef:
    """As `identify`, for a text that `parse_name` has read; a key that was looked up in vain is `unknown`."""
    keys = minter.namespace.spellings(name)
    known = first_known(keys, lambda key: None if key == unknown else _find_known(minter, reader, key))
    if known is not None:
        return known
    if not minter.scheme.free:
        for key in keys:
            if is_well_formed(minter, reader, key):
                return NameRef(key, minter.namespace.display(key), well_formed=True)
    key, former = minter.namespace.new_key(name), minter.namespace.former_key(name)
    display = minter.namespace.display(key)
    if former != key and circulation.is_claimed(reader, former):
        key = former
    return _without_inflection(minter, reader, name, NameRef(key, display, well_formed=minter.scheme.free))


def first_known(
    keys: list[bytes], find: Callable[[bytes], T | None], is_known: Callable[[bytes], bool] | None = None
) -> T | None:
    """What `find` returns for the identifier, which is the first of these spellings of which anything is stored.

    `is_known` tells whether anything is stored of a spelling for which `find` returns None; without it, nothing is.
    """
    last = keys[-1] if keys else b""
    for key in keys:
        found = find(key)
        if found is not None or (is_known is not None and key is not last and is_known(key)):
            return found
    return None


def identify_beginning(minter: Minter, reader: Reader, text: bytes) -> bytes:
    """What the keys begin with that the beginning of a name means, as `ark:/13030/f5-1` means 13030/f51.

    As in `identify` it is the first of its spellings of which anything is known; if nothing is, the first.
    """
    keys = minter.namespace.beginning_spellings(parse_name(minter, reader, text))
    return next((key for key in keys if not key or circulation.is_beginning(reader, key)), keys[0])


def _find_known(minter: Minter, reader: Reader, key: bytes) -> NameRef | None:
    known, record, alias = circulation.find_known(reader, key)
    peppered = False
    if record is None and b"!" in key:
        from . import tokens

        base, pepper = tokens.split_pepper(reader, key)
        if pepper is not None:
            tokens.ensure_pepper_matches(reader, base, minter.namespace.display(base), pepper)
            key, (_, record, alias), known, peppered = base, circulation.find_known(reader, base), True, True
    if not known:
        return None
    return NameRef(key, minter.namespace.display(key), record=record, alias=alias, known=True, peppered=peppered)


# -- identifiers for changes and claims ------------------------------------------------------------------------------


def identify_for_change(minter: Minter, reader: Reader, text: bytes) -> NameRef:
    """As `identify`, for a change of the identifier, which may be one that this minter did not make and could not.

    Raises InvalidError for what looks like a mistyped identifier of this minter or is no name, ForbiddenError where a
    pepper is missing, and ConflictError for what was declared to be abstract.
    """
    ref = identify(minter, reader, text)
    if not minter.scheme.free and text.strip() != text.strip(b" "):
        # Blanks around a name come with copying it; a line break comes with a request that was put together wrongly.
        raise InvalidError(f"{printable(text)} has a control character around the name: give the name alone")
    if ref.key == ALL_RULES and not ref.known:
        raise InvalidError("a rule is bound to a pattern: write :idmap/PATTERN")
    if ref.key in circulation.INPUT_MARKS and not ref.known:
        raise InvalidError(f"no identifier can be named {ref.key.decode()!r}: it stands for what is read from input")
    if not ref.well_formed:
        if ref.key == NEW:
            raise InvalidError("new is not an identifier", "'noid bind mint new …' binds to a new one")
        _ensure_printable(ref.key)
        if minter.scheme.timed and minter.scheme.owns(ref.key):
            # Nothing but labels with a date begins with the name of a server.
            ensure_well_formed(minter, reader, ref.key)
        ensure_not_mistyped(minter, reader, ref, text)
    if minter.scheme.free or not ref.well_formed:
        ensure_not_abstract(reader, ref)
    ensure_pepper(reader, ref)
    return ref


def identify_for_claim(minter: Minter, reader: Reader, text: bytes) -> NameRef:
    """As `identify`, for a statement about a name of this or another system.

    Raises ForbiddenError where a pepper is missing.
    """
    ref = identify(minter, reader, text)
    ensure_pepper(reader, ref)
    return ref


def ensure_pepper(reader: Reader, ref: NameRef) -> None:
    """Raise ForbiddenError for a peppered identifier that came without its pepper."""
    if ref.record is not None and ref.record.flags & circulation.PEPPERED and not ref.peppered:
        from . import tokens

        tokens.ensure_pepper_matches(reader, ref.key, ref.display, None)


def ensure_not_abstract(reader: Reader, ref: NameRef) -> None:
    """Raise ConflictError if a name was declared to be abstract: nothing abstract is registered."""
    if ref.known:
        return
    if find_named(reader, ref.key, ref.key)[1] is not None:
        raise ConflictError(f"{printable(ref.display)} is abstract, and only what realises it can be registered",
                            "'noid relations' lists that")


def own_identifier(minter: Minter, reader: Reader, text: bytes) -> bytes | None:
    """The key of the identifier of this minter that a text means, None if it is a name from elsewhere.

    Raises InvalidError for one that was mistyped.
    """
    ref = identify(minter, reader, text)
    ensure_not_mistyped(minter, reader, ref, text)
    return ref.key if ref.well_formed else None


def ensure_not_mistyped(minter: Minter, reader: Reader, ref: NameRef, text: bytes) -> None:
    """Raise InvalidError if the text, which means `ref`, looks like a mistyped identifier of this minter."""
    if not ref.well_formed:
        fault = typing_fault(minter, reader, parse_name(minter, reader, text))
        if fault is not None:
            raise InvalidError(fault)


# -- the form of a minter's identifiers ------------------------------------------------------------------------------


def ensure_well_formed(minter: Minter, reader: Reader, key: bytes) -> None:
    """Raise InvalidError for a key that this minter could not make."""
    if not minter.scheme.free:
        minter.scheme.ensure_valid(key, _form_state(minter, reader))


def is_well_formed(minter: Minter, reader: Reader, key: bytes) -> bool:
    """Whether this minter could make a key."""
    try:
        ensure_well_formed(minter, reader, key)
    except InvalidError:
        return False
    return True


def form_checker(minter: Minter, reader: Reader) -> FormChecker:
    """A checker of the present form of this minter's identifiers; the mask of some schemes grows."""
    return minter.scheme.form_checker(_form_state(minter, reader))


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
    candidates = [key for key in mistyped.corrections() if circulation.find(reader, key) is not None]
    return candidates[0] if len(candidates) == 1 else None


def suggest_name(minter: Minter, reader: Reader, text: bytes) -> bytes | None:
    """The name, as it is cited, that was probably meant by a text that means none: the one in circulation from which a
    mistyped name differs in one place, or what is left without that with which it was pasted; None if there is none.

    `reader` shows the names that may be suggested.
    """
    # Only for names that are not found; these tables are not needed otherwise.
    from ..names.repair import repaired

    for candidate in (text, *repaired(text)):
        name = parse_name(minter, reader, candidate)
        known = [key for key in minter.namespace.spellings(name) if circulation.is_known(reader, key)]
        if known and candidate in (text, names.without_inflection(text)):
            return None
        key = known[0] if known else suggest_correction(minter, reader, name)
        if key is not None:
            return minter.namespace.cite(key)
    return None


def with_suggestion(minter: Minter, reader: Reader, text: bytes, message: str) -> str:
    """The message about a name that was not found, with the name that was probably meant."""
    meant = suggest_name(minter, reader, text)
    return message if meant is None else f"{message}; did you mean {printable(meant)}?"


def _find_mistyped(minter: Minter, reader: Reader, name: Name) -> Mistyped | None:
    """The shortest beginning of the name that should be one of this minter's identifiers, but is not."""
    return minter.scheme.find_mistyped(_beginnings(minter, name), _form_state(minter, reader))


def _form_state(minter: Minter, reader: Reader) -> bytes | None:
    return schema.generator_state(reader) if minter.scheme.grows else None


def _beginnings(minter: Minter, name: Name) -> Iterator[bytes]:
    """The spellings of the name and of the shorter names it extends that may be identifiers of this minter."""
    space, prefix = minter.namespace, minter.scheme.namespace_prefix
    keys = list(space.spellings(name))
    for shorter, _ in space.beginnings(name, longest=_LONGEST_CHECKED):
        keys += shorter
    for key in keys:
        if key.isascii() and key.startswith(prefix) and len(key) <= _LONGEST_CHECKED:
            yield key


# -- whether identifiers have the form of a template, a scheme or a minter -------------------------------------------


def validate_own(minter: Minter, reader: Reader, texts: Iterable[bytes]) -> list[Verdict]:
    """The verdict on each text: the identifier as it is written in answers, and None; or the text, and why it is not in
    the form of this minter's identifiers.

    An identifier may have a label or the address of a resolver before it, and `??` after it, but must itself be written
    as it is minted.
    """
    def check(text: bytes) -> bytes:
        if minter.scheme.free:
            key = identify(minter, reader, text).key
        else:
            at_resolver = b"://" in text and not text.startswith(minter.namespace.beginnings_with_label)
            text = names.without_inflection(text)
            found = parse_name(minter, reader, text).found if at_resolver else text
            key = minter.namespace.literal_key(found)
            peppered = _find_known(minter, reader, key) if b"!" in key else None
            key = peppered.key if peppered else key
        _ensure_printable(key)
        ensure_well_formed(minter, reader, key)
        return minter.namespace.display(key)

    return _verdicts(check, texts)


def validate_form(form: str, texts: Iterable[bytes], naan: str = "") -> list[Verdict]:
    """The verdict on each text, as in `validate_own`, for labels of `form`: a template, or the name of a scheme.

    Before the prefix of a template the NAAN is demanded, if there is one.  Raises InvalidError for what is no template.
    """
    return _verdicts(_form_check(form, naan), texts)


def without_context(text: bytes) -> bytes:
    """The label in a text: without `hdl:`, or without the address of a resolver that is known to everybody."""
    name = names.parse(text)
    return name.body if name.scheme in (b"", b"hdl") and not name.query else text


def _verdicts(check: Callable[[bytes], bytes], texts: Iterable[bytes]) -> list[Verdict]:
    verdicts: list[Verdict] = []
    for text in texts:
        try:
            verdicts.append((check(text), None))
        except InvalidError as error:
            verdicts.append((text, _naming(text, error.message)))
    return verdicts


def _naming(text: bytes, message: str) -> str:
    """The message, with the text in front if it names neither that nor the name in it: a verdict is read on its own."""
    spelled = (text, names.stored(names.parse(text)))
    # A text of many thousand characters is named by its beginning.
    named = any(printable(name[:_LONGEST_NAMED]) in message for name in spelled)
    return message if named else f"{printable(text[:_LONGEST_NAMED])}: {message}"


_LONGEST_NAMED = 1000


def _ensure_printable(key: bytes) -> None:
    """Raise InvalidError for what is no identifier of any minter."""
    if not key.strip():
        raise InvalidError("the identifier is empty")
    if len(key) > LONGEST_IDENTIFIER:
        raise InvalidError(f"an identifier may have at most {LONGEST_IDENTIFIER} bytes, this one has {len(key)}")
    if any(byte < 0x20 or byte == 0x7F for byte in key):
        raise InvalidError(f"{printable(key[:200])} has a control character, so it is not a name")
    if key != key.strip():
        raise InvalidError(f"{printable(key[:200])!r} has blanks around it")


def _form_check(form: str, naan: str) -> Callable[[bytes], bytes]:
    if form in NAMES:
        decode = scheme_class(form).decode

        def check_label(text: bytes) -> bytes:
            text = names.without_inflection(text)
            _ensure_printable(text)
            return decode(without_context(text))[0][1]

        return check_label
    template = Template(form)
    if template.checked:
        try:
            _ = template.check_letter
        except InvalidError as error:
            raise InvalidError(f"template {form!r}: {error.message}") from None
    prefix = template.prefix
    if naan and not prefix.startswith(f"{naan}/"):
        prefix = f"{naan}/{prefix}"

    def check(text: bytes) -> bytes:
        text = names.without_inflection(text)
        _ensure_printable(text)
        ensure_form(template, prefix, text)
        return text

    return check
