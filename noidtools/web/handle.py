"""Handle.net's JSON REST interface below /api/handles: reading, and plain writing.  There are no sessions.

A value of the type URL is the target; one of another type is the element of that name.  Index and ttl of the values
that were written here are in the element `_handle`.  Elements that were bound otherwise get an index: URL has 1,
HS_ADMIN 100, the others those from 2 on, by their names.  A handle that was never written here has an HS_ADMIN all the
same.
"""

from __future__ import annotations

import binascii
import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from .. import names
from ..api import MinterMethods
from ..codec import decode_text, encode_text
from ..errors import NotFoundError
from ..minter.policies import ADMIN, BIND, MINT, READ
from .access import MinterAccess, Minters, bind_or_remove, hold_unless_known, whole_body
from .json_api.problems import ROOT as JSON_API
from .json_bodies import JSON, decoded_json, json_response, json_text
from .request import Request
from .response import PREFLIGHT, HttpError, Response, method_not_allowed, refusal_of

_API, _HANDLES, _SESSIONS = "/api/", "/api/handles/", "/api/sessions/"
_CHALLENGE = 'Basic realm="handle"'
_METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS")
_LABEL = b"hdl:"
_LAYOUT, _URL, _ADMIN = "_handle", "URL", "HS_ADMIN"
_TTL = 86400
# Who administers a handle that was bound by another interface: whoever has the prefix, with all rights of the Handle
# System but those over prefixes and lists.
_PERMISSIONS = "011111110011"
_PAGE, _LARGEST_PAGE = 1000, 10_000
_ADMIN_INDICES = range(100, 200)
_HIDDEN_STATES = ("reserved", "unavailable", "withdrawn")
# HTTP status and response code of each kind of refusal; others are 400 and 4.
_CODES = {"not found": (404, 100), "gone": (404, 100), "conflict": (409, 101), "forbidden": (403, 401),
          "login": (401, 402), "busy": (503, 3), "store": (503, 3), "fault": (500, 2), "method": (405, 4)}

Parameters = dict[str, list[str]]


class HandleError(HttpError):
    """A refusal with a response code of the Handle System."""

    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(status, "handle", message)
        self.code = code


@dataclass(slots=True)
class Value:
    """A value of a handle: its data as stored."""

    index: int
    type: str
    data: bytes
    ttl: int = _TTL


class HandleApi:
    """Serves the interface over all minters of a site; clients answer the challenge of this interface only."""

    def __init__(self, minters: Minters, challenge: str) -> None:
        self._minters = minters

    def claims(self, request: Request) -> bool:
        """Whether a request is of this interface: all of /api/ but the JSON API."""
        return request.path.startswith(_API) and not f"{request.path}/".startswith(f"{JSON_API}/")

    def respond(self, request: Request) -> Response:
        """The response to a request, always JSON."""
        handle = request.path[len(_HANDLES) :] if request.path.startswith(_HANDLES) else ""
        try:
            response = self._respond(request, handle)
        except Exception as error:  # noqa: BLE001 - every error has a code
            response = _refusal(request, handle, error)
        response.headers.append(("Access-Control-Allow-Origin", "*"))
        return response

    def _respond(self, request: Request, handle: str) -> Response:
        path = f"{request.path}/"
        if path.startswith(_SESSIONS):
            raise HandleError(501, 5, "sessions are not supported here: send a name and a password with each request")
        if not path.startswith(_HANDLES):
            raise HandleError(404, 4, f"there is nothing here: handles are below {_HANDLES}")
        if request.method not in _METHODS:
            raise method_not_allowed(_METHODS, f"{request.method[:20]!a} is not allowed here")
        if request.method == "OPTIONS":
            return Response(204, JSON, b"", [("Allow", ", ".join(_METHODS)), *PREFLIGHT])
        parameters = _parameters(request)
        if not handle and "prefix" in parameters and request.method not in ("PUT", "DELETE"):
            return self._list(request, parameters)
        if "/" not in handle or handle.startswith("/"):
            raise HandleError(400, 102, "a handle is PREFIX/SUFFIX")
        if request.method == "PUT":
            return self._put(request, handle, parameters)
        if request.method == "DELETE":
            return self._delete(request, handle, parameters)
        access = self._access(request, handle)
        access.ensure("reading", READ)
        found = _with_admin(access.python(), handle, _values(access, access.python(), handle))
        values = [value for value in found if _is_wanted(value, parameters)]
        dates = _dates(access, handle)
        data = [_written(access, value, dates) for value in values]
        return _answer(200, 1 if values or not found else 200, handle, {"values": data})

    def _list(self, request: Request, parameters: Parameters) -> Response:
        """The handles of a prefix, for those who administer it."""
        prefix = parameters["prefix"][0].rstrip("/")
        page, size = (_number(parameters, name, usual) for name, usual in (("page", 0), ("pageSize", _PAGE)))
        if not 0 < size <= _LARGEST_PAGE:
            raise HandleError(400, 4, f"a page has 1 to {_LARGEST_PAGE} handles")
        minters = [access for access in self._minters.readable(request) if _serves(access, prefix)]
        if not minters:
            raise _not_served()
        found, total = [], 0
        for access in minters:
            access.ensure("listing", ADMIN)
            for name in access.python().find(prefix=_name(f"{prefix}/"), state="published"):
                if page * size <= total < (page + 1) * size:
                    found.append(json_text(decode_text(names.parse(encode_text(name.identifier)).written)))
                total += 1
        data = {"responseCode": 1, "prefix": json_text(prefix), "totalCount": total, "page": page, "pageSize": size,
                "handles": found}
        return json_response(data)

    def _access(self, request: Request, handle: str) -> MinterAccess:
        """The minter that a handle belongs to, else the one that mints handles of its prefix."""
        try:
            return self._minters.of_name(request, _name(handle))
        except NotFoundError:
            return self._minting(request, handle.partition("/")[0] + "/")

    def _minting(self, request: Request, beginning: str) -> MinterAccess:
        try:
            return self._minters.minting_below(request, _LABEL, encode_text(beginning))
        except NotFoundError:
            raise _not_served() from None

    # -- changes ---------------------------------------------------------------------------------------

    def _put(self, request: Request, handle: str, parameters: Parameters) -> Response:
        if request.body_type != JSON:
            raise HandleError(400, 4, f"the values are JSON: send them with Content-Type: {JSON}")
        body = whole_body(request)
        sent = _sent_values(body, handle)
        indices = parameters.get("index", [])
        if indices and indices[0] != "various" and _numbers(indices) != {value.index for value in sent}:
            raise HandleError(400, 4, "the indices in the query are not those of the values")
        mints = _flag(parameters, "mintNewSuffix", usual=False)
        access = self._minting(request, handle) if mints else self._access(request, handle)
        _ensure_served(access, handle)
        if mints:
            access.ensure_may_mint(1)
        overwrite = _flag(parameters, "overwrite", usual=True)

        def work(api: MinterMethods) -> Response:
            chosen = decode_text(names.parse(encode_text(api.mint()[0])).written) if mints else handle
            is_new = self._write(access, api, chosen, sent, some=bool(indices), overwrite=overwrite or mints)
            return _answer(201 if is_new or mints else 200, 1, chosen)

        return access.change("binding", (MINT, BIND) if mints else (BIND,), work, body)

    def _write(self, access: MinterAccess, api: MinterMethods, handle: str, sent: list[Value], *, some: bool,
               overwrite: bool) -> bool:
        """Write values, all of a handle or some; returns whether the handle or all of these values are new."""
        name = _name(handle)
        try:
            before = _values(access, api, handle)
        except NotFoundError:
            if some:
                raise
            before = None
        if before is None:
            if not hold_unless_known(api, name) and api.fetch(name).state == "reserved":
                api.publish(name)
        elif not some and not overwrite:
            raise HandleError(409, 101, "this handle exists")
        replaced = {value.index for value in before or ()} & {value.index for value in sent}
        if some and replaced and not overwrite:
            raise HandleError(409, 201, f"the value {min(replaced)} exists")
        kept = [value for value in before or () if some and value.index not in replaced]
        _store(access, api, name, before or [], _ensure_distinct([*kept, *sent]))
        return before is None or (some and not replaced)

    def _delete(self, request: Request, handle: str, parameters: Parameters) -> Response:
        access, indices = self._access(request, handle), _numbers(parameters.get("index", []))
        _ensure_served(access, handle)

        def work(api: MinterMethods) -> Response:
            before = _values(access, api, handle)
            if not indices:
                api.withdraw(_name(handle))
            elif not indices <= {value.index for value in before}:
                raise HandleError(400, 200, "there are no such values")
            else:
                _store(access, api, _name(handle), before, [one for one in before if one.index not in indices])
            return _answer(200, 1, handle)

        return access.change("deleting", (BIND,) if indices else (ADMIN,), work)


# -- what is stored --------------------------------------------------------------------------------------------------


def _name(handle: str) -> bytes:
    return _LABEL + encode_text(handle)


def _serves(access: MinterAccess, prefix: str) -> bool:
    """Whether a minter has handles of a prefix, which are not names of another system there."""
    own = decode_text(access.minter.scheme.namespace_prefix).partition("/")[0].lower()
    return _LABEL in access.minter.namespace.labels and own in ("", prefix.lower())


def _ensure_served(access: MinterAccess, handle: str) -> None:
    if not _serves(access, handle.partition("/")[0]):
        raise _not_served()


def _not_served() -> HandleError:
    return HandleError(400, 301, "this prefix is not served here")


def _values(access: MinterAccess, api: MinterMethods, handle: str) -> list[Value]:
    """The values of a handle by their indices; raises NotFoundError if it is not there, or not for the public."""
    record = api.fetch(_name(handle))
    if record.state in _HIDDEN_STATES:
        raise NotFoundError(f"there is no handle {handle[:60]!a}")
    target = access.target
    layout = _layout(record.elements.get(_LAYOUT, ""))
    found, free = [], _free_indices(layout.values())
    for element in sorted(record.elements):
        if element.startswith("_") and element != target:
            continue
        kind = _URL if element == target else element
        usual = {_URL: 1, _ADMIN: 100}.get(kind)
        taken = [index for index, _ in layout.values()]
        index = layout[kind][0] if kind in layout else usual if usual and usual not in taken else next(free)
        ttl = layout[kind][1] if kind in layout else _TTL
        found.append(Value(index, kind, encode_text(record.elements[element]), ttl))
    return sorted(found, key=lambda value: value.index)


def _with_admin(api: MinterMethods, handle: str, found: list[Value]) -> list[Value]:
    """The values of a handle; of one that was bound by another interface, with the holder of the prefix as HS_ADMIN,
    for which clients look."""
    if any(value.type == _ADMIN for value in found) or api.get(_name(handle), _LAYOUT, default=None) is not None:
        return found
    admin = {"handle": f"0.NA/{handle.partition('/')[0]}", "index": 200, "permissions": _PERMISSIONS}
    return sorted([*found, Value(100, _ADMIN, json.dumps(admin).encode())], key=lambda value: value.index)


def _free_indices(taken: Iterable[tuple[int, int]]) -> Any:
    used = {index for index, _ in taken}
    return (index for index in range(2, 1 << 31) if index not in used and index not in _ADMIN_INDICES)


def _layout(text: str) -> dict[str, tuple[int, int]]:
    try:
        return msgspec.json.decode(text, type=dict[str, tuple[int, int]])
    except (msgspec.DecodeError, UnicodeError):
        return {}


def _store(access: MinterAccess, api: MinterMethods, name: bytes, before: list[Value], after: list[Value]) -> None:
    target = access.target
    layout = {value.type: (value.index, value.ttl) for value in after}
    elements: dict[str, bytes | None] = {value.type: value.data for value in after}
    elements |= {_LAYOUT: msgspec.json.encode(layout)} | {one.type: None for one in before if one.type not in layout}
    bind_or_remove(api, name, {target if kind == _URL else kind: data for kind, data in elements.items()})


def _ensure_distinct(values: list[Value]) -> list[Value]:
    for what, found in (("index", [value.index for value in values]), ("type", [value.type for value in values])):
        if len(set(map(str, found))) < len(found):
            raise HandleError(400, 202, f"two values have the same {what}, and only one of each can be stored here")
    return values


def _dates(access: MinterAccess, handle: str) -> Mapping[str, str]:
    """When each element was changed; under the empty name, when anything was."""
    dates = {"": "1970-01-01T00:00:00Z"}
    for event in access.python().history(_name(handle)):
        date = event.date.strftime("%Y-%m-%dT%H:%M:%SZ")
        dates |= {change.what: date for change in event.changes if change.is_element} | {"": date}
    return dates


# -- requests --------------------------------------------------------------------------------------------------------


def _parameters(request: Request) -> Parameters:
    found: Parameters = {}
    pairs = parse_qsl(request.header("QUERY_STRING"), keep_blank_values=True)
    for name, value in pairs + (_posted(request) if request.method == "POST" else []):
        found.setdefault(name, []).append(value)
    if "callback" in found:
        raise HandleError(501, 5, "the parameter callback is not supported here")
    return found


def _posted(request: Request) -> list[tuple[str, str]]:
    """The parameters in the body of a POST, which is a GET: those of a form, or an object of JSON."""
    body = whole_body(request)
    if request.body_type != JSON:
        return parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True)
    data = decoded_json(body)
    if not isinstance(data, dict):
        raise HandleError(400, 4, "the parameters are an object of JSON")
    return [(name, _parameter_text(one)) for name, value in data.items()
            for one in (value if isinstance(value, list) else [value])]


def _parameter_text(value: object) -> str:
    if not isinstance(value, (str, int)):
        raise HandleError(400, 4, "a parameter is a text, a number, true or false, or a list of them")
    return str(value).lower() if isinstance(value, bool) else str(value)


def _number(parameters: Parameters, name: str, usual: int) -> int:
    text = parameters[name][0] if name in parameters else str(usual)
    if not _is_number(text):
        raise HandleError(400, 4, f"{name} is a number from 0 on")
    return int(text)


def _flag(parameters: Parameters, name: str, *, usual: bool) -> bool:
    return parameters[name][0].lower() in ("", "yes", "true") if name in parameters else usual


def _numbers(texts: list[str]) -> set[int]:
    if not all(_is_number(text) and int(text) for text in texts):
        raise HandleError(400, 4, "an index is a number from 1 on")
    return {int(text) for text in texts}


def _is_number(text: str) -> bool:
    """Whether a text is a number that the Handle System can hold."""
    return text.isascii() and text.isdigit() and len(text) < 11 and int(text) < 1 << 31


def _is_wanted(value: Value, parameters: Parameters) -> bool:
    types, indices = parameters.get("type", []), _numbers(parameters.get("index", []))
    if not types and not indices:
        return True
    fits = any(value.type == kind or kind.endswith(".") and value.type.startswith(kind) for kind in types)
    return fits or value.index in indices


def _sent_values(body: bytes, handle: str) -> list[Value]:
    data = decoded_json(body)
    if isinstance(data, dict) and "values" in data:
        if data.get("handle", handle) != handle:
            raise HandleError(400, 4, "the handle in the body is not that of the address")
        data = data["values"]
    items = data if isinstance(data, list) else [data]
    return _ensure_distinct([_sent_value(item) for item in items])


def _sent_value(item: Any) -> Value:
    if not isinstance(item, dict):
        raise HandleError(400, 202, "a value is an object with index, type and data")
    index, kind, ttl = item.get("index"), item.get("type"), item.get("ttl", _TTL)
    if not _is_number(str(index)) or not _is_number(str(ttl)):
        raise HandleError(400, 202, "index and ttl of a value are numbers")
    if not isinstance(kind, str) or not kind or kind.startswith("_") or int(str(index)) == 0:
        raise HandleError(400, 202, "a value has an index from 1 on, and a type that does not begin with _")
    if item.get("permissions", "1110") != "1110":
        raise HandleError(400, 202, "permissions of single values are not supported here: leave them out")
    return Value(int(str(index)), kind, _sent_data(kind, item.get("data")), int(str(ttl)))


def _sent_data(kind: str, data: Any) -> bytes:
    if isinstance(data, str):
        return data.encode("utf-8", "replace")
    form, value = (data.get("format"), data.get("value")) if isinstance(data, dict) else (None, None)
    if form == "admin" and kind == _ADMIN and isinstance(value, dict):
        return json.dumps(value).encode()
    if isinstance(value, str) and form in ("string", "base64", "hex"):
        try:
            return (value.encode() if form == "string" else b64decode(value, validate=True) if form == "base64"
                    else bytes.fromhex(value))
        except (ValueError, binascii.Error):
            raise HandleError(400, 202, f"the data is not {form}") from None
    raise HandleError(400, 202, "the data of a value is text, or of the format string, base64 or hex; admin for "
                      "HS_ADMIN")


# -- answers ---------------------------------------------------------------------------------------------------------


def _written(access: MinterAccess, value: Value, dates: Mapping[str, str]) -> dict[str, Any]:
    element = access.target if value.type == _URL else value.type
    return {"index": value.index, "type": json_text(value.type), "data": _written_data(value), "ttl": value.ttl,
            "timestamp": dates.get(element, dates[""])}


def _written_data(value: Value) -> dict[str, Any]:
    if value.type == _ADMIN:
        try:
            admin = msgspec.json.decode(value.data, type=dict[str, Any])
            return {"format": "admin", "value": {**admin, "index": int(admin["index"])}}
        except (msgspec.DecodeError, KeyError, ValueError, TypeError):
            pass  # bound by another interface, as text
    try:
        return {"format": "string", "value": value.data.decode()}
    except UnicodeDecodeError:
        return {"format": "base64", "value": b64encode(value.data).decode()}


def _answer(status: int, code: int, handle: str, more: Mapping[str, object] | None = None,
            headers: Iterable[tuple[str, str]] = ()) -> Response:
    data = {"responseCode": code, "handle": json_text(handle), **(more or {})}
    return json_response(data, status, headers)


def _refusal(request: Request, handle: str, error: Exception) -> Response:
    refusal = refusal_of(request.environ, error, _CHALLENGE)
    status, code = _CODES.get(refusal.kind, (400, 4))
    if isinstance(refusal, HandleError):
        status, code = refusal.status, refusal.code
    headers = [("WWW-Authenticate", _CHALLENGE)] if status == 401 else refusal.headers
    return _answer(status, code, handle, {"message": json_text(refusal.message)}, headers)
