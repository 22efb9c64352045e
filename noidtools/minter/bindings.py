"""Bindings: values of elements, bound to identifiers or computed by rules; and what is fetched of a name.

A rule is bound like a value, but to a pattern of identifiers instead of one identifier.  Rules are compiled once and
cached until one of them changes (`RuleCache`).

A value may be a list: items separated by `|`, as several targets are in the element of targets.  A `|` within an item
is stored as `%7C`, so that splitting the value at each `|` always gives the items; a `%7C` that was in the item is
stored as `%257C`, that as `%25257C` and so on, so that each item is read as it was given.  Other escapes stay as they
are.  An item that is an address is stored and read as an address: in a URL `%7C` is the escape of `|`, and a target
must not be changed.
"""

from __future__ import annotations

from ..codec import pair, pair_prefix, split_pair
from ..errors import ConflictError, InvalidError, NotFoundError, UsageError, printable
from ..rules import Rule, RuleSet
from . import circulation, identifiers, minting, queue, schema
from .circulation import circulation_line, ensure_not_withdrawn
from .events import Change, record_event
from .lifecycle import ensure_not_gone, state_of, tombstone_of
from .namespace import ALL_RULES, RULE_MARK
from .relations.abstract import ensure_concrete
from .schema import ELEMENTS, RULES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..store import Reader, Writer
    from . import Minter
    from .circulation import Circulation
    from .events import Actor
    from .identifiers import NameRef
    from .lifecycle import Tombstone

# The last four add an item to a list (see below), the four before them characters to a value.
CHANGING = (b"new", b"replace", b"set", b"append", b"add", b"prepend", b"insert",
            b"append-item", b"add-item", b"prepend-item", b"insert-item")
REMOVING = (b"delete", b"purge")
MINTING = (b"mint", b"peppermint")
HOWS = CHANGING + REMOVING + MINTING
_MUST_EXIST = (b"replace", b"append", b"prepend", b"append-item", b"prepend-item", b"delete")
_WHOLE = (b"set", b"new", b"replace")
_AT_THE_END = (b"append", b"add")
_AT_THE_BEGINNING = (b"prepend", b"insert")
_LAST_ITEM = (b"append-item", b"add-item")


class BindResult:
    """The result of one binding.

    identifier  as written in answers
    how         one of HOWS
    written     the length of the new value in bytes
    before      the length of the value that was bound before, to which the new one was added or which it replaced
    items       how many items the list has to which an item was added, else 0
    note        what is unusual about the identifier, in a sentence; else empty
    """

    __slots__ = ("identifier", "element", "how", "written", "before", "items", "note")

    def __init__(
        self, identifier: bytes, element: bytes, how: bytes, written: int, before: int, items: int = 0
    ) -> None:
        self.identifier = identifier
        self.element = element
        self.how = how
        self.written = written
        self.before = before
        self.items = items
        self.note = b""

    @property
    def status(self) -> bytes:
        """The result in words, as the command prints it."""
        if self.how in REMOVING:
            return b"ok, %d bytes removed" % self.before
        if self.items:
            place = self.items if self.how in _LAST_ITEM else 1
            return b"ok, %d bytes written as item %d of %d" % (self.written, place, self.items)
        if self.how in _AT_THE_END:
            return b"ok, %d bytes written to the end of %d bytes" % (self.written, self.before)
        if self.how in _AT_THE_BEGINNING:
            return b"ok, %d bytes written to the beginning of %d bytes" % (self.written, self.before)
        return b"ok, %d bytes written, replacing %d bytes" % (self.written, self.before)


def ensure_how(how: bytes) -> None:
    """Raise UsageError for what is no way to bind."""
    if how not in HOWS:
        raise UsageError(f"{printable(how)!r} is not a way to bind: use {b', '.join(HOWS).decode()}")


def ensure_value_fits(how: bytes, value: bytes | None) -> None:
    """Raise UsageError for a value where a binding is removed, and for a missing value where one is added."""
    if how in REMOVING and value is not None:
        raise UsageError(f"bind {how.decode()} takes no value")
    if how not in REMOVING and value is None:
        raise UsageError(f"bind {how.decode()} needs a value")


def bind(
    minter: Minter, writer: Writer, actor: Actor, how: bytes, text: bytes, pairs: list[tuple[bytes, bytes | None]]
) -> list[BindResult]:
    """Bind each element to its value, which is None where the binding is removed.

    `how` is one of CHANGING or REMOVING; `text` is an identifier in any spelling, or a rule.  Raises NotFoundError or
    ConflictError if `how` demands that something, or nothing, is bound before.
    """
    subject = _Subject(minter, writer, text)
    changes: list[Change] = []
    done = [_bind_one(writer, subject, how, element, value, changes) for element, value in pairs]
    if subject.pattern is not None:
        schema.renew_rules_version(writer)
    if changes:
        event = record_event(writer, actor, b"bind " + how, ids=[subject.key], changes=changes)
        if subject.foreign:
            queue.place_hold(minter, writer, subject.key, circulation.foreign_record(writer, event), event)
        done[0].note = subject.note
    return done


def _bind_one(
    writer: Writer, subject: _Subject, how: bytes, element: bytes, value: bytes | None, changes: list[Change],
) -> BindResult:
    circulation.ensure_element(element)
    place = subject.place(element)
    old = writer.get(*place)
    where = f"{printable(element)} under {printable(subject.display)}"
    if old is None and how in _MUST_EXIST:
        raise NotFoundError(f"bind {how.decode()}: nothing is bound to {where}")
    if old is not None and how == b"new":
        raise ConflictError(f"bind new: something is bound to {where} already; to change it use set or replace")
    if how in REMOVING:
        if old is not None:
            writer.delete(*place)
            changes.append(Change(element, old, None, element=True))
        return BindResult(subject.display, element, how, 0, len(old or b""))
    assert value is not None
    new, items = _combined(how, old or b"", value)
    if subject.pattern is not None:
        Rule(subject.pattern, new)  # raises InvalidError for what is no rule
    writer.put(*place, new)
    changes.append(Change(element, old, new, element=True))
    return BindResult(subject.display, element, how, len(value), len(old or b""), items)


def _combined(how: bytes, old: bytes, value: bytes) -> tuple[bytes, int]:
    """The new value, and how many items it has if an item was added."""
    if how in _WHOLE:
        return value, 0
    if how in _AT_THE_END:
        return old + value, 0
    if how in _AT_THE_BEGINNING:
        return value + old, 0
    new = append_item(old, value) if how in _LAST_ITEM else prepend_item(old, value)
    return new, count_items(new)


class _Subject:
    """An identifier to which elements are bound; or a pattern of identifiers, to which rules are bound, which compute
    elements when they are fetched.  `pattern` is None for an identifier; `foreign` is whether the identifier is not
    known yet, and this minter could not make it.

    Raises ConflictError for an identifier that was withdrawn, or is a long-term one that was neither issued nor held.
    """

    __slots__ = ("key", "display", "pattern", "foreign", "note")

    def __init__(self, minter: Minter, writer: Writer, text: bytes) -> None:
        self.key = self.display = text
        self.pattern = text[len(RULE_MARK) :] if text.startswith(RULE_MARK) else None
        self.foreign, self.note = False, b""
        if self.pattern is not None:
            return
        ref = identifiers.identify_for_change(minter, writer, text)
        self.foreign = not ref.well_formed
        self.key, self.display, record = ref.key, ref.display, ref.record
        ensure_not_withdrawn(self.display, record, "bound")
        if minter.settings.long_term and not (record and (record.held or record.issued)):
            name = printable(self.display)
            what = ("not one of this minter's identifiers: place a hold on it" if self.foreign else
                    "a long-term identifier that was neither issued nor held: mint it, or place a hold on it")
            raise ConflictError(f"{name} is {what} before binding", f"run 'noid hold set {name}'")
        if self.foreign:
            self.note = (b"%b is not one of this minter's identifiers: it is recorded as foreign, and is never minted"
                         % self.display)
        elif ref.alias is not None:
            self.note = b"%b is an alias: it resolves as %b does, whatever is bound to it" % (self.display, ref.alias)

    def place(self, element: bytes) -> tuple[bytes, bytes]:
        """(table, key) of what is bound to an element."""
        return (ELEMENTS, pair(self.key, element)) if self.pattern is None else (RULES, pair(element, self.pattern))


def all_rules(reader: Reader) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Element, pattern and replacement of every rule, for each element in the order in which they are tried."""
    for key, value in reader.scan(RULES):
        yield *split_pair(key), value


class RuleCache:
    """The compiled rules of one minter, by element.

    The rules of an element are tried in the order of the bytes of their patterns, as in the original; the first that
    matches decides.
    """

    __slots__ = ("_known",)

    def __init__(self) -> None:
        # The version of the rules and the compiled rules.  One attribute, so that a thread always sees both together.
        self._known: tuple[bytes, dict[bytes, RuleSet | None]] = (b"", {})

    def first(self, reader: Reader, element: bytes, identifiers: Iterable[bytes]) -> tuple[bytes, bytes, bytes] | None:
        """The first of the identifiers that a rule matches, the pattern of that rule, and the value it computes.

        The identifiers are spellings of one name.  None if no rule matches any of them.
        """
        rules = self.rules(reader, element)
        if rules is None:
            return None
        for identifier in identifiers:
            hit = rules.first(identifier)
            if hit is not None:
                return identifier, hit[0].pattern, hit[1]
        return None

    def rules(self, reader: Reader, element: bytes) -> RuleSet | None:
        """The rules that compute this element, None if there are none."""
        version = schema.rules_version(reader)
        if version is None:
            return _read_rules(reader, element)
        known = self._known
        if version != known[0]:
            known = self._known = (version, {})
        sets = known[1]
        if element not in sets:
            # Requests may name any number of elements that have no rules, so the cache is bounded.
            if len(sets) > 1000:
                sets.clear()
            sets[element] = _read_rules(reader, element)
        return sets[element]


def _read_rules(reader: Reader, element: bytes) -> RuleSet | None:
    pairs = [(split_pair(key)[1], value) for key, value in reader.scan(RULES, pair_prefix(element))]
    return RuleSet(pairs) if pairs else None


# -- minting and binding in one transaction --------------------------------------------------------------------------


def bind_elements(
    minter: Minter, actor: Actor, how: bytes, text: bytes, pairs: list[tuple[bytes, bytes | None]]
) -> list[BindResult]:
    """Bind each element to its value in one of the ways of HOWS, in one transaction.

    To mint the identifier, `how` is mint or peppermint, and `text` is the word new.  An identifier to which one of the
    elements is bound already is skipped then, and the results have the new one as written in answers, with its pepper
    if it has one.
    """
    ensure_how(how)
    if how not in MINTING:
        return minter.write(lambda writer: bind(minter, writer, actor, how, text, pairs))
    if text != identifiers.NEW:
        raise UsageError(f"bind {how.decode()} makes its own identifier: write the word new in place of Id")
    options = minting.MintOptions(peppered=how == b"peppermint", unbound=tuple(element for element, _ in pairs))
    request = minting.request_for(minter, actor)

    def work(writer: Writer) -> list[BindResult]:
        batch = minting.mint_some(minter, writer, actor, 1, options, request)
        if not batch.ids:
            raise minting.exhausted(minter)
        done = bind(minter, writer, actor, b"new", batch.ids[0], pairs)
        for bound in done:
            bound.identifier, bound.how = batch.ids[0], how
        return done

    return minter.write(work)


# -- the elements of an identifier or of a rule ----------------------------------------------------------------------


class FetchedName:
    """An identifier or a rule, with its elements.

    identifier   as stored; a rule with its mark
    display      the same as it is written in answers
    held         whether it is on hold
    circulation  its circulation record in one line; empty without `with_circulation`
    elements     names and values, in the order requested, else in the order of the names
    computed     the pattern of the rule that computed a value, by element
    unbound      the elements requested that are neither bound nor computed by a rule
    state        its lifecycle state, None where it has none
    alias        the name it stands for, if it is an alias
    tombstone    what is shown in place of its elements, if it was withdrawn
    """

    __slots__ = ("identifier", "display", "held", "circulation", "elements", "computed", "unbound", "state", "alias",
                 "tombstone")

    def __init__(self, identifier: bytes, display: bytes, circulation: bytes = b"") -> None:
        self.identifier = identifier
        self.display = display
        self.held = False
        self.circulation = circulation
        self.elements: list[tuple[bytes, bytes]] = []
        self.computed: dict[bytes, bytes] = {}
        self.unbound: list[bytes] = []
        self.state: str | None = None
        self.alias: bytes | None = None
        self.tombstone: Tombstone | None = None


def fetch_name(
    minter: Minter, reader: Reader, text: bytes, wanted: list[bytes], *, with_circulation: bool = True
) -> FetchedName:
    """The elements of a name, in any spelling, or of a rule: those `wanted`, or all that are bound.

    Without `with_circulation` only the elements are read.  Raises NotFoundError if none of the wanted elements is bound
    or computed by a rule; and, if none are wanted, for a name without elements of which nothing else is to be shown.
    Raises UsageError if an element is wanted twice.  Of a withdrawn name no elements are read: it comes with its
    tombstone, or, where elements are wanted or only elements are read, GoneError is raised.
    """
    ensure_each_once(wanted)
    if text.startswith(RULE_MARK):
        return fetch_rules(reader, text, wanted)[0]
    ref = identifiers.identify(minter, reader, text)
    fetched = FetchedName(ref.key, ref.display)
    record = ref.record if with_circulation else None
    if with_circulation:
        fetched.held = record is not None and record.held
        fetched.circulation = circulation_line(reader, record)
        fetched.alias = ref.alias
    if ref.record is not None and ref.record.withdrawn:
        return _with_tombstone(reader, ref, fetched, elements_only=bool(wanted) or not with_circulation)
    # A pepper is secret, so rules are matched with the name without it.
    spelled = ref.display if ref.peppered else text
    fetched.elements = list(_elements(minter, reader, fetched, spelled, wanted))
    if with_circulation:
        fetched.state = _state(reader, fetched, record)
    if not ref.known and not fetched.elements:
        ensure_concrete(minter, reader, text, "has nothing bound to it")
    if wanted and not fetched.elements:
        elements = " or ".join(printable(element) for element in fetched.unbound)
        raise NotFoundError(f"nothing is bound to {elements} under {printable(fetched.display)}")
    if not fetched.elements and fetched.alias is None and record is None:
        raise NotFoundError(_nothing_bound(reader, ref))
    return fetched


def ensure_each_once(wanted: list[bytes]) -> None:
    """Raise UsageError if an element is named twice."""
    if len(wanted) > 1 and len(set(wanted)) < len(wanted):
        raise UsageError("an element is named twice: name each once")


def unbound_messages(fetched: FetchedName) -> list[tuple[bytes, str]]:
    """The elements that were wanted and are not bound, each with a sentence about it."""
    name = printable(fetched.display)
    return [(element, f"nothing is bound to {printable(element)} under {name}") for element in fetched.unbound]


def _with_tombstone(reader: Reader, ref: NameRef, fetched: FetchedName, *, elements_only: bool) -> FetchedName:
    if elements_only:
        ensure_not_gone(reader, ref)
    fetched.state, fetched.tombstone = "withdrawn", tombstone_of(reader, ref.key)
    return fetched


def _state(reader: Reader, fetched: FetchedName, record: Circulation | None) -> str | None:
    if record is not None and record.was_issued and not record.unusual and fetched.alias is None:
        # True of nearly all names; the module for the other states need not be loaded.
        return "published"
    return state_of(reader, fetched.identifier, record)


def _elements(
    minter: Minter, reader: Reader, fetched: FetchedName, text: bytes, wanted: list[bytes]
) -> Iterator[tuple[bytes, bytes]]:
    if not wanted:
        yield from circulation.elements_of(reader, fetched.identifier)
    for element in wanted:
        value = circulation.value_of(reader, fetched.identifier, element)
        if value is None:
            keys = minter.namespace.rule_keys(identifiers.parse_name(minter, reader, text), fetched.identifier)
            match = minter.rulebook.first(reader, element, keys)
            if match is None:
                fetched.unbound.append(element)
                continue
            fetched.computed[element], value = match[1:]
        yield element, value


def fetch_rules(reader: Reader, text: bytes, wanted: list[bytes]) -> list[FetchedName]:
    """The rules that a text names: `:idmap` all of them, `:idmap/` and an element those that compute it, `:idmap/` and
    a pattern those with that pattern.

    The rules of an element are in the order in which they are tried, with their patterns as names and their
    replacements as values; those of a pattern have the elements as names.  `wanted` chooses among these names.  Raises
    NotFoundError if there are none.
    """
    by_element: dict[bytes, list[tuple[bytes, bytes]]] = {}
    of_pattern: list[tuple[bytes, bytes]] = []
    everything, subject = text == ALL_RULES, text[len(RULE_MARK) :]
    for element, pattern, value in all_rules(reader):
        if everything or element == subject:
            by_element.setdefault(RULE_MARK + element, []).append((pattern, value))
        if pattern == subject and not everything:
            of_pattern.append((element, value))
    found = []
    for name, pairs in (*by_element.items(), (text, of_pattern)):
        fetched = FetchedName(name, name, b"rule")
        fetched.elements = [pair for pair in pairs if not wanted or pair[0] in wanted]
        if fetched.elements:
            found.append(fetched)
    if not found:
        raise NotFoundError(f"no rule is bound to {printable(text)}")
    names = {name for fetched in found for name, _ in fetched.elements}
    found[-1].unbound = [name for name in wanted if name not in names]
    return found


def _nothing_bound(reader: Reader, ref: NameRef) -> str:
    name, record = printable(ref.display), ref.record
    if record is None:
        return f"nothing is bound under {name}, and it was not minted here"
    state = f"its circulation record is {printable(circulation_line(reader, record))}"
    return f"nothing is bound under {name}; {state}{', and it is on hold' if record.held else ''}"


# -- items of lists --------------------------------------------------------------------------------------------------

_SEPARATOR, _ESCAPED = b"|", b"%7C"
_AMBIGUOUS = rb"%((?:25)*7C)"
# A web address or a path, with a redirect code before it or not.
_ADDRESS = rb"(?:\d{3}\s+)?(?:[A-Za-z][A-Za-z0-9+.-]*://|mailto:|/)"


def split_items(value: bytes) -> list[bytes]:
    """The items of a value, in order, as they were given; none for an empty value."""
    return [_decoded(item) for item in _split(value)]


def count_items(value: bytes) -> int:
    """How many items a value has."""
    return len(_split(value))


def append_item(value: bytes, item: bytes) -> bytes:
    """The value with one more item, the last; raises InvalidError for an empty item."""
    return _SEPARATOR.join((*_split(value), _encoded(item)))


def prepend_item(value: bytes, item: bytes) -> bytes:
    """The value with one more item, the first; raises InvalidError for an empty item."""
    return _SEPARATOR.join((_encoded(item), *_split(value)))


def _split(value: bytes) -> list[bytes]:
    return value.split(_SEPARATOR) if value else []


def _encoded(item: bytes) -> bytes:
    import re

    if not item:
        raise InvalidError("an item of a list may not be empty")
    if not re.match(_ADDRESS, item):
        item = re.sub(_AMBIGUOUS, rb"%25\1", item)
    return item.replace(_SEPARATOR, _ESCAPED)


def _decoded(item: bytes) -> bytes:
    import re

    if re.match(_ADDRESS, item):
        return item
    return re.sub(_AMBIGUOUS, lambda match: b"%" + match[1][2:] if match[0] != _ESCAPED else _SEPARATOR, item)
