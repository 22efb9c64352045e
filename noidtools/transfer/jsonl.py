"""JSON lines: the format of a whole minter, and of the bindings of any identifiers.

An export begins with a line about itself and ends with a line that counts the others and has their digest, so that one
that was cut off or damaged is recognized:

    {"noidtools": {"export": 1, "complete": true, "settings": {…}, …}}
    {"id": "13030/kt4x551", "state": "published", "elements": {"_t": "https://example.org/"}, …}
    {"end": {"lines": 3, "identifiers": 1, "sha256": "…"}}

A complete export, which has the history and leaves nothing out, has more kinds of lines: `meta`, `config`, `note`,
`rule`, `custody`, `offices` and `stated` of the minter, `event`, and `change` for the rows of bulk changes.  Lines of
others have an `id` and the elements either under `elements` or beside it.

Text is a string; bytes that are not UTF-8 are an object with their base64.
"""

from __future__ import annotations

import binascii
import json
from collections import Counter
from collections.abc import Callable, Iterator

from ..codec import pack, split_pair, unpack
from ..dates import utc_datetime
from ..errors import InvalidError, NoidError
from ..minter.changes import RecordedEdit
from ..minter.circulation import Circulation
from ..minter.events import Change, Digest, Event, Tally
from ..minter.importing import ImportRow
from ..minter.stored import StoredName
from . import BadLineError, InputFile, ensure_length

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FORMAT = 1

# Kinds of rows of which an identifier, or the minter, may have several.
ROWS = ("custody", "offices", "stated")
_DATE_DIGITS = 14


# -- bytes, lists and numbers; reading raises InvalidError, without the line, which the caller knows -------------------


def json_text(value: bytes) -> object:
    """Bytes for JSON."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return json_base64(value)


def json_base64(value: bytes) -> object:
    """Bytes for JSON that are no text for people."""
    return {"base64": binascii.b2a_base64(value, newline=False).decode()}


def as_bytes(value: object, what: str) -> bytes:
    """The inverse of both; `what` names the value in the message."""
    if isinstance(value, str):
        try:
            return value.encode()
        except UnicodeEncodeError:
            raise InvalidError(f"{what} has half a character (a lone surrogate)") from None
    if isinstance(value, dict) and value.keys() == {"base64"} and isinstance(value["base64"], str):
        try:
            return binascii.a2b_base64(value["base64"], strict_mode=True)
        except (binascii.Error, ValueError):
            raise InvalidError(f"{what} is not valid base64") from None
    raise InvalidError(f"{what} is neither text nor {{\"base64\": …}}")


def as_list(value: object, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise InvalidError(f"{what} is not a list")
    return value


def as_number(value: object, what: str) -> int:
    # Numbers are read as the text that stands in the file.
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16:
        return int(value)
    raise InvalidError(f"{what} is not a number from 0 on")


def _as_date(value: object) -> bytes:
    """A date of a tombstone, which may be empty."""
    date = as_bytes(value, "a date")
    try:
        if date:
            utc_datetime(date)
    except ValueError:
        raise InvalidError("a date of the tombstone is not fourteen digits, such as 20261116002825") from None
    return date


def field(record: dict[str, Any], name: str) -> Any:
    """A field that must be there."""
    if name not in record:
        raise InvalidError(f"{name!r} is missing")
    return record[name]


# -- writing ---------------------------------------------------------------------------------------------------------


def write_line(data: dict[str, object]) -> bytes:
    return json.dumps(data, separators=(",", ":")).encode() + b"\n"


def elements_data(elements: list[tuple[bytes, bytes]]) -> object:
    """Elements for JSON: an object, or a list of names and values where a name is not UTF-8."""
    try:
        return {name.decode(): json_text(value) for name, value in elements}
    except UnicodeDecodeError:
        return [{"name": json_text(name), "value": json_text(value)} for name, value in elements]


def name_data(
    name: StoredName, display: bytes, literal: bytes, state: str | None, *, history: bool, complete: bool
) -> dict[str, object]:
    """An identifier for JSON.

    display   how it is written in answers
    literal   the key to which that leads; the key itself is written only if it is another one
    complete  whether all that is stored is needed, to make the same minter of it
    """
    data: dict[str, object] = {"id": json_text(display)}
    if literal != name.key:
        data["key"] = json_text(name.key)
    if state is not None:
        data["state"] = state
    record = name.record
    if record is not None:
        data["circulation"] = {"history": record.history.decode("latin-1"), "flags": record.flags,
                               "event": record.event, "number": record.number}
        data["held"] = record.held
    if name.elements:
        data["elements"] = elements_data(name.elements)
    if name.alias is not None:
        data["alias"] = json_text(name.alias)
    if name.tombstone is not None:
        data["unavailable" if record is not None and record.unavailable else "withdrawn"] = _fields_data(name.tombstone)
    if history:
        data["events"] = [int.from_bytes(rest, "big") for rest, _ in name.events] if complete else name.event_numbers()
    if complete:
        stored = {kind: getattr(name, kind) for kind in _STORED}
        data |= {kind: _STORED[kind](value) for kind, value in stored.items() if value is not None and value != []}
    return data


def _fields_data(packed: bytes) -> object:
    return [json_text(part) for part in unpack(packed)]


def row_data(rest: bytes, value: bytes) -> object:
    """What follows the identifier in the key, then the fields of the value."""
    return [json_text(part) for part in (rest, *unpack(value))]


def _rows_data(rows: list[tuple[bytes, bytes]]) -> object:
    return [row_data(rest, value) for rest, value in rows]


def _relations_data(rows: list[tuple[bytes, bytes]]) -> object:
    """Of each relation the kind, the authority and the other name, then the fields of the value."""
    return [[json_text(part) for part in (rest[:1], *split_pair(rest[1:]), *unpack(value))] for rest, value in rows]


# What only a complete export has of an identifier: attributes of StoredName, and how each is written.
_STORED: dict[str, Callable[[Any], object]] = {
    "queue": json_base64, "pepper": json_base64, "verified": json_base64, "abstract": _fields_data,
    "relations": _relations_data, "claims": _relations_data, **dict.fromkeys(ROWS, _rows_data),
}


# -- reading ---------------------------------------------------------------------------------------------------------


def read_line(line: bytes) -> dict[str, Any]:
    """The object in a line; raises InvalidError for anything else.  Numbers are read as their text."""
    try:
        data = json.loads(line.decode(), object_pairs_hook=_object, parse_int=str, parse_float=str,
                          parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise InvalidError(f"the byte {line[error.start]:#04x} at {error.start + 1} is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise InvalidError(f"this is not JSON: {error.msg} at character {error.pos + 1}") from None
    except RecursionError:
        raise InvalidError("this JSON is nested too deeply") from None
    if not isinstance(data, dict):
        raise InvalidError("this is JSON, but not an object with an id")
    return data


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        ((repeated, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise InvalidError(f"{repeated[:60]!r} is given twice")
    return data


def _refuse_constant(name: str) -> object:
    raise InvalidError(f"{name} is no value in JSON")


def elements_from(data: object) -> list[tuple[bytes, bytes]]:
    """The elements of a line, from an object or from a list of names and values; null stands for no value."""
    if isinstance(data, dict):
        return [(as_bytes(name, "the name of an element"), as_bytes(value, f"the value of {name[:60]!r}"))
                for name, value in data.items() if value is not None]
    if not isinstance(data, list):
        raise InvalidError("'elements' is neither an object nor a list")
    pairs = []
    for item in data:
        if not isinstance(item, dict) or not {"name", "value"} <= item.keys():
            raise InvalidError("an element in the list has no 'name' and 'value'")
        pairs.append((as_bytes(item["name"], "the name of an element"), as_bytes(item["value"], "a value")))
    return pairs


def circulation_from(data: object) -> Circulation:
    """The circulation record of a complete export."""
    if not isinstance(data, dict):
        raise InvalidError("'circulation' is not an object")
    history = as_bytes(field(data, "history"), "the history")
    if history.translate(None, b"iquf"):
        raise InvalidError("the history in 'circulation' has a letter that is not known")
    flags, event, number = (as_number(field(data, name), name) for name in ("flags", "event", "number"))
    if flags > 255 or event >= 1 << 40 or number >= 1 << 48:
        raise InvalidError("a number in 'circulation' is out of range")
    return Circulation(flags, event, number, history)


def read_header(line: bytes) -> dict[str, Any] | None:
    """What the first line of an export says about it; None if this is no line of an export."""
    try:
        header = read_line(line).get("noidtools")
    except InvalidError:
        return None
    if not isinstance(header, dict):
        return None
    if header.get("export") != str(FORMAT):
        raise InvalidError("this export was made by a newer release of noidtools: install that release")
    # true is neither a number nor text, and stays what it is.
    return {**header, "complete": header.get("complete") is True}


# -- the bindings of identifiers -------------------------------------------------------------------------------------

# Lines of a complete export that are not about an identifier.
_OF_THE_MINTER = frozenset(("meta", "config", "note", "rule", "change", "end", "noidtools", *ROWS))


# The fields of an identifier in our exports that are not imported into a minter that exists, and all of them.
_LEFT_OUT = frozenset(("events", *_STORED))
_FIELDS = _LEFT_OUT | {"id", "key", "state", "circulation", "held", "elements", "alias", "withdrawn", "unavailable"}


def read_jsonl(file: InputFile) -> Iterator[ImportRow | BadLineError]:
    """The entries of a file, and what is wrong with lines that cannot be understood.

    Lines of our exports that are not about an identifier are left out.  Raises BadLineError if an export is cut off.
    """
    exported = ended = False
    for line in file.lines():
        if not line.strip():
            continue
        try:
            data = read_line(line)
            exported, ended = exported or "noidtools" in data, ended or "end" in data
            entry = None if _is_of_the_minter(data) else _entry(file.number, data, exported=exported)
            file.left_out = file.left_out or (exported and _is_left_out(data))
        except NoidError as error:
            yield error if isinstance(error, BadLineError) else BadLineError(file.number, error.message)
            continue
        if entry is not None:
            yield entry
    if exported and not ended:
        raise BadLineError(file.number, "the export is cut off: its last line, which counts the others, is missing",
                           fatal=True)


def _is_of_the_minter(data: dict[str, Any]) -> bool:
    return "id" not in data and ("what" in data or (len(data) == 1 and not _OF_THE_MINTER.isdisjoint(data)))


def _is_left_out(data: dict[str, Any]) -> bool:
    """Whether a line of our exports has something that is not imported into a minter that exists."""
    return not _LEFT_OUT.isdisjoint(data) if "id" in data else "noidtools" not in data and "end" not in data


def _entry(line: int, data: dict[str, Any], *, exported: bool) -> ImportRow | None:
    """What a line states about an identifier; None for a name of which an export of ours only has the history."""
    if "id" not in data:
        raise InvalidError("'id' is missing")
    name = as_bytes(data["id"], "id")
    if exported and not {"circulation", "elements", "alias"} & data.keys():
        return None
    if not exported and "circulation" not in data and "elements" not in data:
        entry = ImportRow(line, name, elements_from({key: value for key, value in data.items() if key != "id"}))
    else:
        strange = next((key for key in data if key not in _FIELDS), None)
        if strange is not None:
            raise InvalidError(f"{strange[:60]!r} stands beside 'elements', and is therefore no element: put it there")
        entry = ImportRow(line, name, elements_from(data.get("elements", {})))
        entry.state = data["state"] if data.get("state") in ("reserved", "unavailable", "withdrawn") else ""
        entry.alias = as_bytes(data.get("alias", ""), "alias")
        stone = data.get("withdrawn", data.get("unavailable"))
        if isinstance(stone, list) and len(stone) > 3:
            entry.since, entry.minted = _as_date(stone[0]), _as_date(stone[1])
            entry.reason, entry.successor = as_bytes(stone[2], "the reason"), as_bytes(stone[3], "the successor")
    for _, value in entry.pairs:
        ensure_length(line, value)
    return entry


# -- events ----------------------------------------------------------------------------------------------------------


def _value_data(value: bytes | Digest | None) -> object:
    if isinstance(value, Digest):
        return {"size": value.size, "sha256": value.sha256.hex()}
    return None if value is None else json_text(value)


def _value(data: object, what: str) -> bytes | Digest | None:
    if data is None:
        return None
    if isinstance(data, dict) and data.keys() == {"size", "sha256"}:
        try:
            return Digest(as_number(data["size"], "size"), bytes.fromhex(str(data["sha256"])))
        except ValueError:
            raise InvalidError(f"the digest of {what} is not hexadecimal") from None
    return as_bytes(data, what)


def event_data(event: Event) -> dict[str, object]:
    """An event for JSON."""
    data: dict[str, object] = {
        "event": event.number, "date": json_text(event.date), "who": json_text(event.who),
        "interface": json_text(event.interface), "what": json_text(event.verb),
    }
    if event.ids:
        data["ids"] = [json_text(identifier) for identifier in event.ids]
    if event.changes:
        data["changes"] = [{
            **({"id": json_text(change.of)} if change.of else {}),
            "element" if change.element else "property": json_text(change.what),
            "before": _value_data(change.before), "after": _value_data(change.after),
        } for change in event.changes]
    if event.details:
        data["details"] = [json_text(detail) for detail in event.details]
    if event.tally is not None:
        tally = event.tally
        data["minted"] = {"count": tally.minted, "requested": tally.requested, "first": json_text(tally.first),
                          "last": json_text(tally.last)}
    if event.bulk is not None:
        data["bindings"] = event.bulk
    if event.archive:
        data["archive"] = json_text(event.archive)
    return data


def event_from(data: dict[str, Any]) -> tuple[int, bytes]:
    """The inverse: the number of the event, and the event as stored."""
    head = [as_bytes(field(data, name), name) for name in ("date", "who", "interface", "what")]
    if len(head[0]) != _DATE_DIGITS or not head[0].isdigit():
        raise InvalidError("the date of the event is not fourteen digits")
    number = as_number(field(data, "event"), "event")
    if not 0 < number < 1 << 40:
        raise InvalidError("the number of the event is out of range")
    event = Event(number, pack(head))
    event.ids = [as_bytes(identifier, "an identifier") for identifier in as_list(data.get("ids", []), "ids")]
    event.changes = [_change(change) for change in as_list(data.get("changes", []), "changes")]
    event.details = [as_bytes(detail, "a detail") for detail in as_list(data.get("details", []), "details")]
    if "minted" in data:
        minted = data["minted"] if isinstance(data["minted"], dict) else {}
        count, requested = (as_number(field(minted, name), name) for name in ("count", "requested"))
        event.tally = Tally(count, requested, as_bytes(field(minted, "first"), "first"),
                            as_bytes(field(minted, "last"), "last"))
    if "bindings" in data:
        event.bulk = as_number(data["bindings"], "bindings")
    if "archive" in data:
        event.archive = as_bytes(data["archive"], "archive")
    return number, event.packed()


def _change(data: object) -> Change:
    if not isinstance(data, dict):
        raise InvalidError("a change is not an object")
    element = "element" in data
    what = as_bytes(field(data, "element" if element else "property"), "what was changed")
    return Change(what, _value(field(data, "before"), "before"), _value(field(data, "after"), "after"),
                  as_bytes(data["id"], "id") if "id" in data else b"", element=element)


# -- rows of bulk changes --------------------------------------------------------------------------------------------


def edit_data(number: int, edit: RecordedEdit) -> dict[str, object]:
    return {"change": {"event": number, "id": json_text(edit.key), "element": json_text(edit.element),
                       "before": _value_data(edit.before), "after": _value_data(edit.after)}}


def edit_from(data: dict[str, Any]) -> tuple[int, RecordedEdit]:
    edit = RecordedEdit(as_bytes(field(data, "id"), "id"), as_bytes(field(data, "element"), "element"),
                        _value(field(data, "before"), "before"), _value(field(data, "after"), "after"))
    return as_number(field(data, "event"), "event"), edit
