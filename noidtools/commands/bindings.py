"""Commands that bind values to elements of identifiers, and read them."""

from __future__ import annotations

from ..codec import encode_text
from ..errors import GoneError, NotFoundError
from ..minter import bindings
from ..minter.bindings import bind_elements, ensure_each_once, fetch_name, fetch_rules, split_items, unbound_messages
from ..minter.identifiers import with_suggestion
from ..minter.namespace import ALL_RULES, RULE_MARK
from ..minter.policies import BIND, MINT, READ
from .answers import Answer, Blank, FetchedRecord, ItemValues, JsonLines, PreparedRecord, Record, Values
from .command import Command, Form, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..minter.bindings import BindResult, FetchedName
    from ..store import Reader
    from .answers import Line
    from .call import Call


# -- records ---------------------------------------------------------------------------------------------------------

_WIDTH = 9
# About how long the lines of a binding are without identifier and element.
_STATUS_SIZE = 60


class BindRecord(Record):
    """The result of one binding."""

    __slots__ = ("_bound",)

    def __init__(self, bound: BindResult) -> None:
        self._bound = bound

    def lines(self) -> Iterable[Line]:
        bound = self._bound
        return [
            (b"Id", bound.identifier, _WIDTH),
            (b"Element", bound.element, _WIDTH),
            (b"Bind", bound.how, _WIDTH),
            (b"Status", bound.status, _WIDTH),
            *([(b"Note", bound.note, _WIDTH)] if bound.note else []),
        ]

    @property
    def size(self) -> int:
        return len(self._bound.identifier) + len(self._bound.element) + _STATUS_SIZE

    def data(self) -> list[dict[str, object]]:
        bound = self._bound
        return [{"id": bound.identifier, "element": bound.element, "bind": bound.how, "status": bound.status,
                 "written": bound.written, "before": bound.before,
                 **({"items": bound.items} if bound.items else {}), **({"note": bound.note} if bound.note else {})}]

    def without_peppers(self) -> Record:
        bound = self._bound
        if bound.how != b"peppermint":
            return self
        identifier = bound.identifier.rpartition(b"!")[0]
        return BindRecord(type(bound)(identifier, bound.element, bound.how, bound.written, bound.before))


class ValueBreak(Blank):
    """An empty line between the values of one answer."""

    __slots__ = ()

    separates_values = True


class MissingValue(PreparedRecord):
    """The place of a value among those that `get` prints, for an element that is not bound: an empty line."""

    __slots__ = ()

    separates_values = True

    def __init__(self, element: bytes, message: str) -> None:
        super().__init__([(b"", b"", 0)], [{"name": element, "error": message}])


class Unbound(Record):
    """The elements that were requested and are not bound, each with its message."""

    __slots__ = ("_elements", "_after_values")

    separates_values = True

    def __init__(self, elements: list[tuple[bytes, str]], *, after_values: bool = False) -> None:
        """With `after_values` an empty line separates the messages from the values, among which each has a
        MissingValue."""
        self._elements = elements
        self._after_values = after_values

    def lines(self) -> Iterable[Line]:
        if self._after_values:
            yield from ValueBreak().lines()
        for message in self.errors:
            yield b"error", encode_text(message), 0

    def data(self) -> list[dict[str, object]]:
        return [] if self._after_values else [{"name": name, "error": message} for name, message in self._elements]

    @property
    def errors(self) -> tuple[str, ...]:
        return tuple(message for _, message in self._elements)


# -- bind, fetch, get ------------------------------------------------------------------------------------------------


def _bind(call: Call) -> Answer:
    how, identifier = call.words[:2]
    records: list[Record] = []
    done = bind_elements(call.minter, call.actor, how, identifier, _given_pairs(call))
    for bound in done:
        if records:
            records.append(Blank())
        records.append(BindRecord(bound))
    return Answer(*records, spaced=True)


def _given_pairs(call: Call) -> list[tuple[bytes, bytes | None]]:
    """Elements and values, from the words or from the input; the value is None where a binding is removed."""
    if call.pairs is not None:
        removing = call.words[0] in bindings.REMOVING
        return [(element, None if removing else value) for element, value in call.pairs]
    return [(call.words[2], call.words[3] if len(call.words) > 3 else None)]


_CHANGING, _REMOVING, _MINTING = (
    b"|".join(hows).decode() for hows in (bindings.CHANGING, bindings.REMOVING, bindings.MINTING)
)


def _fetch(call: Call) -> Answer:
    fetched = _fetch_names(call, with_circulation=True)
    records: list[Record] = []
    for name in fetched:
        record = FetchedRecord(name)
        records += [JsonLines(record)] if call.flag("json") else [record, Blank()]
    if isinstance(records[-1], Blank):
        records.pop()
    return _fetch_answer(records, fetched[-1], spaced=not call.flag("json"))


def _get(call: Call) -> Answer:
    fetched = _fetch_names(call, with_circulation=False)
    records: list[Record] = []
    missing = dict(unbound_messages(fetched[-1]))
    for name in fetched:
        values = dict(name.elements)
        for element in call.words[1:] if missing and len(fetched) == 1 else values:
            if records and not call.flag("json"):
                records.append(ValueBreak())
            if element in missing:
                record: Record = MissingValue(element, missing[element])
            elif call.flag("items"):
                record = ItemValues(element, split_items(values[element]))
            else:
                record = Values([(element, values[element])])
            records.append(JsonLines(record) if call.flag("json") else record)
    return _fetch_answer(records, fetched[-1], after_values=True)


def _fetch_answer(
    records: list[Record], last: FetchedName, *, spaced: bool = False, after_values: bool = False
) -> Answer:
    """The answer with these records, and with an error for each element that is not bound."""
    if last.unbound:
        records.append(Unbound(unbound_messages(last), after_values=after_values))
    return Answer(*records, spaced=spaced, failed=bool(last.unbound))


def _fetch_names(call: Call, *, with_circulation: bool) -> list[FetchedName]:
    """What is bound to a name; several for a text that names rules of several elements."""
    minter, text, wanted = call.minter, call.words[0], call.words[1:]

    def work(reader: Reader) -> list[FetchedName]:
        if text == ALL_RULES or text.startswith(RULE_MARK):
            ensure_each_once(wanted)
            try:
                return fetch_rules(reader, text, wanted)
            except NotFoundError:
                if text != ALL_RULES or not minter.scheme.free:
                    raise
                # In minters without a template, it may be a name like any other.
        try:
            return [fetch_name(minter, reader, text, wanted, with_circulation=with_circulation)]
        except GoneError:
            raise
        except NotFoundError as error:
            raise NotFoundError(with_suggestion(minter, reader, text, error.message)) from None

    return call.read(work)


_JSON = Option("--json", "one JSON object a line, in which every value is exact")

COMMANDS = (
    Command(
        "bind", "bind a value to an identifier, or remove it",
        Form(f"{_CHANGING} Id Element Value", _bind, BIND),
        Form(f"{_CHANGING} Id :|:-", _bind, BIND),
        Form(f"{_REMOVING} Id Element|:|:-", _bind, BIND, too_many="removing takes no Value"),
        Form(f"{_MINTING} new Element Value", _bind, MINT, BIND, mints=1),
        Form(f"{_MINTING} new :|:-", _bind, MINT, BIND, mints=1),
        input_at=2, options_before=1, also=("get", "fetch", "undo", "import"), see="tutorial.md#the-ways-to-bind",
        about="""\
set replaces what is bound, or binds if nothing is. new requires that nothing is bound; replace, append, prepend and
delete require that something is; add, insert and purge work in both cases. append and add put the value after what is
bound, prepend and insert before it. append-item and its kin add the value as an item of a list instead: items are
separated by |, a | within an item is stored as %7C, and get --items shows each item as it was given. mint and
peppermint make an identifier and bind to it.

With : in place of an element, lines of the form "Element: value" are read from standard input up to an empty line;
indented lines continue a value, and # begins a comment. With :- one element is read, and the rest of the input is its
value.

An Id of the form :idmap/PATTERN is a rule that computes the element for all identifiers that match.
""",
        example="""\
$ noid bind set 13030/kt154d9 title 'The descent of man'
Id:      13030/kt154d9
Element: title
Bind:    set
Status:  ok, 18 bytes written, replacing 0 bytes

$ printf 'who: Darwin\\nwhen: 1871\\n\\n' | noid bind set 13030/kt154d9 : | grep -c Status
2
""",
    ),
    Command(
        "fetch", "print what is bound to an identifier, with labels",
        Form("[--json] Id [Element…]", _fetch, READ),
        also=("get", "history"), see="tutorial.md#mint-bind-fetch", options_before=2,
        options=(_JSON,),
        about="""\
Prints all elements, or those you name. Circ is the circulation record: what happened to the identifier, when, and by
whom. A named element that is not bound may be computed by a rule, which a note then names; otherwise an error names it.
Further lines of a value that contain a colon are indented, so that they are not taken for elements.

With :idmap/Element in place of Id, fetch prints the rules that compute the element in the order in which they are
tried; with :idmap, all rules.
""", fails="a named element is not bound",
        example="""\
$ noid fetch 13030/kt4x551
id:    13030/kt4x551 hold
Circ:  i|…|1
_t: https://library.example/kt4x551
title: On the origin of species
when: 1859
who: Darwin

""",
    ),
    Command(
        "get", "print values that are bound to an identifier",
        Form("[--items] [--json] Id [Element…]", _get, READ),
        also=("fetch", "bind"), see="tutorial.md#mint-bind-fetch", options_before=2,
        options=(Option("--items", "print each item of a list, which | separates, on a line of its own"), _JSON),
        about="""\
A blank line separates the values of several elements. For an element that is not bound, an empty line is printed and an
error names it.
""", fails="a named element is not bound",
        example="""\
$ noid get 13030/kt4x551 who when
Darwin

1859
""",
    ),
)
