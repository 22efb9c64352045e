"""Bytes, events and changes as JSON has them, and back.

Text is a string; bytes that are not UTF-8 are an object with their base64.  Reading raises InvalidError for anything of
another form, without the line, which the caller knows.
"""

from __future__ import annotations

import binascii

from ..codec import pack
from ..errors import InvalidError
from ..minter.changes import RecordedEdit
from ..minter.events import Change, Digest, Event, Tally

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_DATE_DIGITS = 14


def json_text(value: bytes) -> object:
    """Bytes for JSON."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"base64": binascii.b2a_base64(value, newline=False).decode()}


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


def field(record: dict[str, Any], name: str) -> Any:
    """A field that must be there."""
    if name not in record:
        raise InvalidError(f"{name!r} is missing")
    return record[name]


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
