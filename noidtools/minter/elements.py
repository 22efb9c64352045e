"""The elements of an identifier or of a rule, with its circulation record, state and alias."""

from __future__ import annotations

from ..errors import NotFoundError, UsageError, printable
from . import bindings, circulation, identifiers
from .circulation import circulation_line
from .lifecycle import ensure_not_gone, state_of, tombstone_of
from .namespace import ALL_RULES, RULE_MARK
from .relations.abstract import ensure_concrete

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..store import Reader
    from . import Minter
    from .circulation import Circulation
    from .identifiers import NameRef
    from .lifecycle import Tombstone


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

    def __init__(self, identifier: bytes, display: bytes, *, held: bool = False, circulation: bytes = b"") -> None:
        self.identifier = identifier
        self.display = display
        self.held = held
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
        fetched.alias = circulation.alias_target(reader, fetched.identifier)
    if ref.record is not None and ref.record.withdrawn:
        return _with_tombstone(reader, ref, fetched, elements_only=bool(wanted) or not with_circulation)
    # A pepper is secret, so rules are matched with the name without it.
    spelled = ref.display if ref.peppered else text
    fetched.elements = list(_elements(minter, reader, fetched, spelled, wanted))
    if with_circulation:
        fetched.state = _state(reader, fetched, record)
    if not ref.known and not fetched.elements:
        _ensure_concrete(minter, reader, text)
    if wanted and not fetched.elements:
        elements = " or ".join(printable(element) for element in fetched.unbound)
        raise NotFoundError(f"nothing is bound to {elements} under {printable(fetched.identifier)}")
    if not fetched.elements and fetched.alias is None and record is None:
        raise NotFoundError(_nothing_bound(reader, ref))
    return fetched


def _ensure_concrete(minter: Minter, reader: Reader, text: bytes) -> None:
    ensure_concrete(minter, reader, text, "has nothing bound to it")


def ensure_each_once(wanted: list[bytes]) -> None:
    """Raise UsageError if an element is named twice."""
    if len(wanted) > 1 and len(set(wanted)) < len(wanted):
        raise UsageError("an element is named twice: name each once")


def unbound_messages(fetched: FetchedName) -> list[tuple[bytes, str]]:
    """The elements that were wanted and are not bound, each with a sentence about it."""
    name = printable(fetched.identifier)
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
    everything, subject = text == ALL_RULES, text[len(RULE_MARK) :]
    for element, pattern, value in bindings.all_rules(reader):
        if everything or element == subject:
            by_element.setdefault(RULE_MARK + element, []).append((pattern, value))
    groups = list(by_element.items())
    if not everything:
        groups.append((text, list(bindings.elements_of_pattern(reader, subject))))
    found = []
    for name, pairs in groups:
        fetched = FetchedName(name, name, circulation=b"rule")
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
