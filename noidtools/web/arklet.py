"""The API of arklet, and what the Frick's form of it adds.

    POST /mint, PUT /update                        one ARK
    POST /bulk_mint, /bulk_update, /bulk_query     many, in one transaction
    GET /ark:…?json                                what is bound to an ARK
    GET /resolve/ARK                               leads to /ARK

The field `url` is the target, `ark`, `naan` and `shoulder` say which ARK is meant, and all other fields are elements.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from .. import names
from ..api import MinterMethods
from ..codec import decode_text, encode_text
from ..description.facts import NameRecord
from ..errors import NotFoundError
from ..minter.policies import BIND, MINT, READ
from .access import MinterAccess, Minters, bind_or_remove, whole_body
from .json_bodies import decoded_json, json_response, json_text
from .request import Request
from .response import HttpError, Response, method_not_allowed, refusal_of

_MOST_ROWS = 10_000
_URL = re.compile(r"(?:https?|ftps?)://[^\s/?#]+\S*", re.IGNORECASE)
_REQUIRED = "This field is required."

# The fields of a record, of which those of Dublin Core are the Frick's.
_DUBLIN_CORE = ("title", "type", "identifier", "format", "relation", "source")
_FIELDS = ("metadata", "commitment", *_DUBLIN_CORE)
_NO_ELEMENTS = ("ark", "naan", "shoulder")
_PROPERTY = "http://purl.org/dc/elements/1.1/"

Row = dict[str, str]


class FieldError(HttpError):
    """The refusal of a field, in the form in which arklet's clients read it."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(400, "invalid", message)
        self.field = field


class Arklet:
    """Serves the API of arklet over all minters of a site.

    The challenge of the site is not used: arklet has no 401, and its clients send their key unasked.
    """

    def __init__(self, minters: Minters, challenge: str) -> None:
        self._minters = minters
        self._calls = {
            "/mint": ("POST", self._mint), "/update": ("PUT", self._update), "/bulk_mint": ("POST", self._bulk_mint),
            "/bulk_update": ("POST", self._bulk_update), "/bulk_query": ("POST", self._bulk_query),
        }

    def claims(self, request: Request) -> bool:
        """Whether a request is of this interface."""
        path = request.path
        asks_for_json = path.startswith("/ark:") and request.header("QUERY_STRING") == "json"
        return path in self._calls or asks_for_json or path.startswith("/resolve/ark:")

    def respond(self, request: Request) -> Response | None:
        """The response to a request; every error becomes an object of JSON.  An ARK that is not known is left to the
        resolver, whatever is asked of it."""
        try:
            return self._respond(request)
        except NotFoundError as error:
            return None if request.path.startswith("/ark:") else _refusal(request, error)
        except Exception as error:  # noqa: BLE001 - every error has an HTTP status
            return _refusal(request, error)

    def _respond(self, request: Request) -> Response:
        path = request.path
        if path not in self._calls:
            if request.method not in ("GET", "HEAD"):
                raise method_not_allowed(("GET", "HEAD"), "names are for reading: use GET")
            return _to_name(request) if path.startswith("/resolve/") else self._show(request, path[1:])
        method, call = self._calls[path]
        if request.method != method:
            raise method_not_allowed((method,), f"{path} takes {method} only")
        body = whole_body(request)
        return call(request, decoded_json(body), body)

    # -- the calls -------------------------------------------------------------------------------------

    def _mint(self, request: Request, data: Any, body: bytes) -> Response:
        row = _row(data)
        return self._mint_rows(request, _required(row, "naan"), [row], body, lambda made: {"ark": made[0]["ark"]})

    def _bulk_mint(self, request: Request, data: Any, body: bytes) -> Response:
        rows = _rows(data.get("data") if isinstance(data, dict) else None)
        naan = _required(_row({"naan": data.get("naan")}), "naan")
        return self._mint_rows(request, naan, rows, body,
                               lambda made: {"num_received": len(rows), "arks_created": made})

    def _update(self, request: Request, data: Any, body: bytes) -> Response:
        return self._update_rows(request, [_row(data)], body, lambda done: done[-1])

    def _bulk_update(self, request: Request, data: Any, body: bytes) -> Response:
        rows = _rows(data.get("data") if isinstance(data, dict) else None)
        return self._update_rows(request, rows, body, lambda done: {
            "num_received": len(rows), "num_updated": len({record["ark"] for record in done})})

    def _bulk_query(self, request: Request, data: Any, body: bytes) -> Response:
        rows, found = _rows(data), []
        self._minters.ensure_may_read(request, len(rows))
        for row in rows:
            try:
                found.append(_record(*self._fetched(request, _required(row, "ark"))))
            except NotFoundError:
                continue
        return json_response(found)

    def _show(self, request: Request, name: str) -> Response:
        record = _record(*self._fetched(request, name))
        data = {name: {"property": _PROPERTY + name, "type": "xsd:string", "value": record[name]}
                for name in _DUBLIN_CORE}
        rest = {name: {"type": "xsd:anyURI" if name == "url" else "xsd:string", "value": value}
                for name, value in record.items() if name not in data and name != "ark"}
        return json_response({**data, **rest}, headers=[("Access-Control-Allow-Origin", "*")])

    # -- what they share -------------------------------------------------------------------------------

    def _fetched(self, request: Request, name: str) -> tuple[MinterAccess, NameRecord]:
        access = self._minters.of_ark(request, encode_text(name))
        access.ensure("reading", READ)
        return access, access.python().fetch(name)

    def _mint_rows(self, request: Request, naan: str, rows: list[Row], body: bytes, answer: Any) -> Response:
        shoulders = {_required(row, "shoulder") for row in rows}
        if not all(shoulder.startswith("/") for shoulder in shoulders):
            raise FieldError("shoulder", "Shoulders must start with a forward slash")
        if len(shoulders) > 1:
            raise FieldError("shoulder", "all rows of a call are one transaction in one minter: send a call for each "
                             "shoulder")
        try:
            access = self._minters.at_shoulder(request, encode_text(naan + shoulders.pop()))
        except NotFoundError as error:
            raise FieldError("shoulder", error.message) from None
        access.ensure_may_mint(len(rows))
        wanted = [_bound(_elements(row, access.target)) for row in rows]

        def work(api: MinterMethods) -> Response:
            minted = [api.mint(elements=elements)[0] for elements in wanted]
            return json_response(answer([_record(access, api.fetch(name)) for name in minted]))

        return access.change("minting", (MINT, BIND) if any(wanted) else (MINT,), work, body)

    def _update_rows(self, request: Request, rows: list[Row], body: bytes, answer: Any) -> Response:
        found = [self._minters.of_ark(request, encode_text(_required(row, "ark"))) for row in rows]
        access = found[0]
        if any(other.name != access.name for other in found):
            raise FieldError("ark", "all rows of a call are one transaction in one minter: send a call for each "
                             "shoulder")
        wanted = [(row["ark"], _elements(row, access.target)) for row in rows]

        def work(api: MinterMethods) -> Response:
            for name, elements in wanted:
                api.fetch(name)  # raises NotFoundError for a name that is not known
                bind_or_remove(api, name, {element: value or None for element, value in elements.items()})
            return json_response(answer([_record(access, api.fetch(name)) for name, _ in wanted]))

        return access.change("binding", (BIND,), work, body)


# -- requests --------------------------------------------------------------------------------------------------------


def _rows(data: object) -> list[Row]:
    if not isinstance(data, list) or not data:
        raise FieldError("data", _REQUIRED)
    if len(data) > _MOST_ROWS:
        raise FieldError("data", f"a call may have {_MOST_ROWS} rows: send several")
    return [_row(item) for item in data]


def _row(data: object) -> Row:
    """The fields of a row; one that is null counts as absent."""
    if not isinstance(data, dict):
        raise FieldError("data", "A row is an object of fields.")
    row = {}
    for name, value in data.items():
        if name == "naan" or value is None:
            continue
        if not isinstance(value, str):
            raise FieldError(name, "Enter a text.")
        if name.startswith("_"):
            raise FieldError(name, "There is no field of this name; the target is the url.")
        row[name] = value
    naan = data.get("naan")
    if naan is not None:
        if isinstance(naan, bool) or not isinstance(naan, int | str) or not str(naan).isalnum():
            raise FieldError("naan", "Enter a whole number.")
        row["naan"] = str(naan)
    return row


def _required(row: Row, name: str) -> str:
    if not row.get(name):
        raise FieldError(name, _REQUIRED)
    return row[name]


def _elements(row: Row, target: str) -> Row:
    """What a row says of the elements; an empty text stands for none."""
    url = row.get("url", "")
    if url and not _URL.fullmatch(url):
        raise FieldError("url", "Enter a valid URL.")
    return {target if name == "url" else name: value for name, value in row.items() if name not in _NO_ELEMENTS}


def _bound(elements: Mapping[str, str]) -> Row:
    return {name: value for name, value in elements.items() if value}


# -- answers ---------------------------------------------------------------------------------------------------------


def _record(access: MinterAccess, record: NameRecord) -> Row:
    elements, target = dict(record.elements), access.target
    ark = "ark:/" + decode_text(names.parse(encode_text(record.identifier)).body)
    found = {"ark": ark, "url": elements.pop(target, ""), **dict.fromkeys(_FIELDS, "")}
    found |= {name: value for name, value in elements.items() if not name.startswith("_")}
    return {json_text(name): json_text(value) for name, value in found.items()}


def _to_name(request: Request) -> Response:
    query = quote(request.header("QUERY_STRING").encode("latin-1", "replace"), safe="/:?&=+%")
    path = quote(encode_text(request.path.removeprefix("/resolve")), safe="/:") + (f"?{query}" if query else "")
    return Response(302, "text/plain; charset=utf-8", b"", [("Location", path)])


def _refusal(request: Request, error: Exception) -> Response:
    refusal = refusal_of(request.environ, error, "")
    status, headers = (403, []) if refusal.status == 401 else (refusal.status, refusal.headers)
    field = refusal.field if isinstance(refusal, FieldError) else "detail"
    return json_response({json_text(field): [json_text(refusal.message)]}, status, headers)
