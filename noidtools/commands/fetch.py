"""Commands that only read."""

from __future__ import annotations

from ..errors import InvalidError, NoMinterError, NotFoundError, UsageError, printable
from ..minter import bindings, identifiers, records
from ..minter.tables import ALIASES
from .answers import Answer, FetchedRecord, Fields, Text, Values, Verdicts
from .session import as_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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


def validate(call: Call) -> Answer:
    args = call.need(2, None, "validate Template|Scheme|- Id…")
    form, given = args[0], args[1:]
    verdicts: list[tuple[bytes, str | None]] = []
    check = _own_check(call.minter) if form == b"-" else _template_check(as_text(form, "the template"))
    for name in given:
        try:
            check(name)
            verdicts.append((name, None))
        except InvalidError as error:
            verdicts.append((name, error.message))
    return Answer(Verdicts(verdicts), failed=any(fault for _, fault in verdicts))


def _own_check(minter: Minter) -> Callable[[bytes], object]:
    def check(name: bytes) -> None:
        minter.read(lambda reader: minter.ensure_valid(reader, identifiers.to_read(minter, reader, name)))

    return check


def _template_check(text: str) -> Callable[[bytes], object]:
    from ..schemes import NAMES, scheme_class

    if text in NAMES:
        return scheme_class(text).decode
    from ..schemes.noid import ensure_form
    from ..schemes.template import Template

    template = Template(text)

    def check(name: bytes) -> None:
        if not name:
            raise InvalidError("the identifier is empty")
        ensure_form(template, template.prefix, name)

    return check


def path(call: Call) -> Answer:
    (given,) = call.need(1, 1, "path Id")
    try:
        minter = call.minter
        identifier = minter.read(lambda reader: identifiers.to_read(minter, reader, given))
        made = minter.scheme.path(identifier)
    except NoMinterError:
        from ..names.pairtree import path as pairtree_path

        # The path depends on the identifier alone; a minter only adds what it knows of labels and spellings.
        made = pairtree_path(given)
    return Answer(Values([(b"path", made)]))


def dbinfo(call: Call) -> Answer:
    from ..minter import report

    args = call.need(0, 1, "dbinfo [brief|full|dump]")
    level = args[0] if args else b"brief"
    minter = call.minter
    if level == b"dump":
        return Answer(stream=(Fields(pair) for pair in report.dump(minter)), spaced=True)
    if level not in (b"brief", b"full"):
        raise UsageError(f"dbinfo {level.decode('utf-8', 'backslashreplace')!r}? say brief, full or dump")
    fields = report.properties(minter) + minter.read(lambda reader: report.standing(minter, reader))
    if level == b"full":
        fields += minter.read(lambda reader: report.internals(minter, reader))
    notes = minter.read(report.notes)
    shown = (Fields(("Note", name.encode() + b": " + text)) for name, text in notes)
    return Answer(Fields(*fields), *shown, spaced=True)


def help(call: Call) -> Answer:
    from .table import COMMANDS

    args = call.need(0, 1, "help [Command]")
    if not args:
        lines = [f"  {command.usage}\n      {command.summary}" for command in COMMANDS.values()]
        return Answer(Text("noid [-f Dbdir] [-vh] Command Arguments\n\n" + "\n".join(lines)), spaced=True)
    name = printable(args[0])
    if name not in COMMANDS:
        raise NotFoundError(f"there is no command {name!r}: say help for a list")
    command = COMMANDS[name]
    return Answer(Text(f"{command.usage}\n    {command.summary}"), spaced=True)


def hello(call: Call) -> Answer:
    call.need(0, 0, "hello")
    return Answer(Text("Hello."), spaced=True)
