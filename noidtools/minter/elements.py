"""The elements of an identifier or of a rule, with its circulation record, state and alias."""

from __future__ import annotations

from ..errors import NotFoundError, UsageError, printable
from . import bindings, identifiers, records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..store import Reader
    from . import Minter
    from .identifiers import NameRef


class FetchedName:
    """An identifier or a rule, with its elements.

    identifier   as stored; a rule with its mark
    display      the same as it is written in answers
    held         whether it is on hold
    circulation  its circulation record in one line; empty without `with_circulation`
    elements     names and values, in the order requested, else in the order of the names
    computed     the pattern of the rule that computed a value, by element
    state        its lifecycle state, None where it has none
    alias        the name it stands for, if it is an alias
    """

    __slots__ = ("identifier", "display", "held", "circulation", "elements", "computed", "state", "alias")

    def __init__(self, identifier: bytes, display: bytes, *, held: bool = False, circulation: bytes = b"") -> None:
        self.identifier = identifier
        self.display = display
        self.held = held
        self.circulation = circulation
        self.elements: list[tuple[bytes, bytes]] = []
        self.computed: dict[bytes, bytes] = {}
        self.state: str | None = None
        self.alias: bytes | None = None


def fetch_name(
    minter: Minter, reader: Reader, text: bytes, wanted: list[bytes], *, with_circulation: bool = True
) -> FetchedName:
    """The elements of a name, in any spelling, or of a rule: those `wanted`, or all that are bound.

    Without `with_circulation` only the elements are read.  Raises NotFoundError if a wanted element is neither bound
    nor computed by a rule, and if nothing is bound, the name is no alias and neither reserved nor withdrawn.  Raises
    UsageError if an element is wanted twice.
    """
    if len(set(wanted)) < len(wanted):
        raise UsageError("an element is named twice: name each once")
    if text.startswith(records.RULE_MARK):
        return _fetch_rule(reader, text, wanted)
    ref = identifiers.identify(minter, reader, text)
    fetched = FetchedName(ref.key, ref.display)
    record = ref.record if with_circulation else None
    if with_circulation:
        fetched.held = record is not None and record.held
        fetched.circulation = records.circulation_line(reader, record)
        fetched.alias = records.alias_target(reader, fetched.identifier)
    # A pepper is secret, so rules are matched with the name without it.
    spelled = ref.display if ref.peppered else text
    fetched.elements = list(_elements(minter, reader, fetched, spelled, wanted))
    if with_circulation:
        fetched.state = _state(reader, fetched, record)
    if not fetched.elements and fetched.alias is None and not (record and record.unusual):
        raise NotFoundError(_nothing_bound(reader, ref))
    return fetched


def _state(reader: Reader, fetched: FetchedName, record: records.Circulation | None) -> str | None:
    if record is not None and record.was_issued and not record.unusual and fetched.alias is None:
        # True of nearly all names; the module for the other states need not be loaded.
        return "published"
    from .lifecycle import state_of

    return state_of(reader, fetched.identifier, record)


def _elements(
    minter: Minter, reader: Reader, fetched: FetchedName, text: bytes, wanted: list[bytes]
) -> Iterator[tuple[bytes, bytes]]:
    if not wanted:
        yield from records.elements_of(reader, fetched.identifier)
    for element in wanted:
        value = records.value_of(reader, fetched.identifier, element)
        if value is None:
            keys = minter.namespace.rule_keys(minter.namespace.parse(text), fetched.identifier)
            match = minter.rulebook.first(reader, element, keys)
            if match is None:
                raise NotFoundError(f"nothing is bound to {printable(element)} under {printable(fetched.identifier)}")
            fetched.computed[element], value = match[1:]
        yield element, value


def _fetch_rule(reader: Reader, text: bytes, wanted: list[bytes]) -> FetchedName:
    """The replacements of the rules with one pattern, as elements; raises NotFoundError if there are none."""
    fetched = FetchedName(text, text, circulation=b"rule")
    pattern = text[len(records.RULE_MARK) :]
    fetched.elements = [
        (element, value) for element, value in bindings.elements_of_pattern(reader, pattern)
        if not wanted or element in wanted
    ]
    if not fetched.elements:
        raise NotFoundError(f"no rule is bound to {printable(text)}")
    return fetched


def _nothing_bound(reader: Reader, ref: NameRef) -> str:
    name, record = printable(ref.display), ref.record
    if record is None:
        return f"nothing is bound under {name}, and it was not minted here"
    state = f"its circulation record is {printable(records.circulation_line(reader, record))}"
    return f"nothing is bound under {name}; {state}{', and it is on hold' if record.held else ''}"
