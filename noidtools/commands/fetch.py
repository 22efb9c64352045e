"""Commands that show what is bound under an identifier."""

from __future__ import annotations

from ..errors import NotFoundError, UsageError, printable
from ..minter import bindings, identifiers, records
from ..minter.tables import ALIASES
from .answers import Answer, FetchedRecord, Values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..minter import Minter
    from ..store import Reader
    from .session import Call



class _Found:
    __slots__ = ("identifier", "held", "line", "elements", "computed", "state", "alias")

    identifier: bytes
    held: bool
    line: bytes
    elements: list[tuple[bytes, bytes]]
    computed: dict[bytes, bytes]
    state: str | None
    alias: bytes | None


def fetch(call: Call) -> Answer:
    found = _find(call, circulation_too=True)
    record = FetchedRecord(call.minter.shown(found.identifier), found.held, found.line, found.elements, found.computed,
                     state=found.state, alias=found.alias)
    return Answer(record, spaced=True)


def get(call: Call) -> Answer:
    return Answer(Values(_find(call, circulation_too=False).elements))


def _find(call: Call, *, circulation_too: bool) -> _Found:
    args = call.need(1, None, f"{call.name.decode()} Id [Element…]")
    minter, given, wanted = call.minter, args[0], args[1:]
    if len(set(wanted)) < len(wanted):
        raise UsageError("an element is named twice: name each once")

    def work(reader: Reader) -> _Found:
        if given.startswith(records.RULE_MARK):
            return _find_rules(reader, given, wanted)
        found = _Found()
        found.identifier = identifiers.to_read(minter, reader, given)
        record = records.find(reader, found.identifier) if circulation_too else None
        found.held = record is not None and record.held
        found.line = records.circulation_line(reader, record) if circulation_too else b""
        found.alias = reader.get(ALIASES, found.identifier) if circulation_too else None
        found.computed = {}
        found.elements = list(_elements(minter, reader, found, wanted))
        found.state = _state(reader, found, record) if circulation_too else None
        if not found.elements and found.alias is None and not (record and record.unusual):
            raise NotFoundError(_nothing_bound(minter, reader, found.identifier))
        return found

    return minter.read(work)


def _state(reader: Reader, found: _Found, record: records.Circulation | None) -> str | None:
    if record is not None and record.was_issued and not record.unusual and found.alias is None:
        # Nearly all are, and need no more modules to be loaded for it.
        return "published"
    from ..minter.lifecycle import state_of

    return state_of(reader, found.identifier, record)


def _elements(
    minter: Minter, reader: Reader, found: _Found, wanted: list[bytes]
) -> Iterator[tuple[bytes, bytes]]:
    if not wanted:
        yield from records.elements_of(reader, found.identifier)
    for element in wanted:
        value = records.value_of(reader, found.identifier, element)
        if value is None:
            hit = minter.rulebook.first(reader, element, [found.identifier])
            if hit is None:
                raise NotFoundError(f"nothing is bound to {printable(element)} under {printable(found.identifier)}")
            found.computed[element], value = hit[1:]
        yield element, value


def _find_rules(reader: Reader, given: bytes, wanted: list[bytes]) -> _Found:
    """What a pattern maps to: an identifier class is asked about like an identifier."""
    found = _Found()
    found.identifier, found.held, found.line, found.computed = given, False, b"rule", {}
    found.state = found.alias = None
    pattern = given[len(records.RULE_MARK) :]
    found.elements = [
        (element, value) for element, value in bindings.elements_of_pattern(reader, pattern)
        if not wanted or element in wanted
    ]
    if not found.elements:
        raise NotFoundError(f"no rule is bound to {printable(given)}")
    return found


def _nothing_bound(minter: Minter, reader: Reader, identifier: bytes) -> str:
    record = records.find(reader, identifier)
    shown = printable(minter.shown(identifier))
    if record is None:
        return f"nothing is bound under {shown}, and it was not minted here"
    state = f"its circulation record is {printable(records.circulation_line(reader, record))}"
    return f"nothing is bound under {shown}; {state}{', and it is on hold' if record.held else ''}"
