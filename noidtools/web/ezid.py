"""The API of EZID, version 2, for ARKs: at the root of a host and below /ezid.

    POST /shoulder/SHOULDER    mint
    PUT, GET, POST, DELETE /id/ID    create, view, update, delete
    GET /login, /logout, /status, /version
    POST /download_request, GET /download/…    all identifiers in a file

A request and an answer is text of lines `element: value`; the first line of an answer is `success: …` or `error: …`.
An identifier is deleted by removing what is bound and putting it on hold, so that it is never minted again.
"""

from __future__ import annotations

import csv
import io
import os
import zlib
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timezone
from urllib.parse import parse_qsl, quote

from ..codec import encode_text
from ..errors import ForbiddenError, NotFoundError, printable
from ..minter.policies import BIND, MINT, READ
from ..version import __version__
from .accept import names_any
from .access import MinterAccess, Minters, whole_body
from .ezid_records import BadRequestError, EzidRecords, ark_of, canonical_ark, element_lines, is_ark, parse_elements
from .request import Request
from .response import HttpError, Response, method_not_allowed, refusal_of
from .sealing import Sealer, cookie_value, set_cookie

_TEXT = "text/plain; charset=utf-8"
_CHALLENGE = 'Basic realm="EZID"'
_LINES = {401: "unauthorized", 403: "forbidden", 405: "method not allowed", 503: "concurrency limit exceeded"}
_PAGES = ("text/html", "application/xhtml+xml", "application/xml", "text/xml")

_BELOW = "/ezid"
# The first parts of paths after which more follows.
_BEFORE_NAMES = ("shoulder", "id", "download")

_COOKIE = "sessionid"
_PURPOSE = b"ezid"
_SESSION, _DOWNLOAD = b"session", b"download"
_SESSION_SECONDS = 8 * 3600
_NUMBER_BYTES = 16
_DOWNLOAD_SECONDS = 24 * 3600
_FORM = "application/x-www-form-urlencoded"
_YES_NO = ("yes", "no")


class Ezid:
    """Serves the API of EZID over all minters of a site.

    The challenge of the site is not used: clients answer the one of EZID only.
    """

    def __init__(self, minters: Minters, challenge: str) -> None:
        self._minters = minters
        self._sealer = Sealer(minters, _PURPOSE)
        self._handlers: dict[str, dict[str, Callable[[Request, str], Response]]] = {
            "shoulder": {"POST": self._mint},
            "id": {"GET": self._view, "PUT": self._create, "POST": self._update, "DELETE": self._delete},
            "login": {"GET": self._login}, "logout": {"GET": self._logout},
            "status": {"GET": self._status}, "version": {"GET": self._version},
            "download_request": {"POST": self._request_download}, "download": {"GET": self._download},
        }

    def claims(self, request: Request) -> bool:
        """Whether a request is one of this interface, by its path."""
        word, slash, rest = request.path.removeprefix(_BELOW)[1:].partition("/")
        return word in self._handlers and bool(slash if word in _BEFORE_NAMES else not rest)

    def respond(self, request: Request) -> Response:
        """The response to a request; every error becomes a line."""
        try:
            return self._respond(request)
        except Exception as error:  # noqa: BLE001 - every error has an HTTP status
            return self._refusal(request, error)

    def _respond(self, request: Request) -> Response:
        word, _, rest = request.path.removeprefix(_BELOW)[1:].partition("/")
        handlers = self._handlers[word]
        method = "GET" if request.method == "HEAD" else request.method
        if method not in handlers:
            raise method_not_allowed(tuple(handlers), f"{request.method[:20]!a} is not allowed here")
        if method == "GET" and word != "download" and names_any(request.header("HTTP_ACCEPT"), _PAGES):
            page = f"/{quote(ark_of(rest), safe='/:')}?info" if word == "id" and rest else "/"
            return Response(303, _TEXT, b"", [("Location", page)])
        self._recognize(request, by_cookie=word != "login")
        return handlers[method](request, rest)

    def _refusal(self, request: Request, error: Exception) -> Response:
        if isinstance(error, NotFoundError):
            error = BadRequestError("no such identifier")
        refusal = refusal_of(request.environ, error, _CHALLENGE)
        status, headers = refusal.status, refusal.headers
        if status == 401:
            # A token of other minters is known, but may not do this.
            status = 403 if request.token_digest and self._minters.know(request) else 401
            headers = [("WWW-Authenticate", _CHALLENGE)] if status == 401 else []
        if status >= 500:
            status = 503 if status == 503 else 500
        elif status not in _LINES:
            status = 400
        reason = " ".join(printable(encode_text(refusal.message)).split())
        line = f"bad request - {reason}" if status == 400 else _LINES.get(status, "internal server error")
        return Response(status, _TEXT, f"error: {line}".encode("utf-8", "replace"), headers)

    # -- who sends a request ---------------------------------------------------------------------------

    def _recognize(self, request: Request, *, by_cookie: bool) -> None:
        """Let a session that has not ended decide who the sender is; raises BadRequestError for a malformed login."""
        fields = self._session(request) if by_cookie else None
        if fields is not None and not self._minters.has_ended(fields[2]):
            request.session = fields[0], fields[1]
        elif request.header("HTTP_AUTHORIZATION") and not request.user:
            _ensure_credentials(request.header("HTTP_AUTHORIZATION"))

    def _login(self, request: Request, rest: str) -> Response:
        _ensure_parameters(request)
        if not self._minters.know(request):
            raise _unauthorized()
        sealed = self._seal(_SESSION, _SESSION_SECONDS, request, os.urandom(_NUMBER_BYTES))
        return _success("session cookie returned", headers=[_cookie(request, sealed, _SESSION_SECONDS)])

    def _logout(self, request: Request, rest: str) -> Response:
        fields = self._session(request)
        if fields is not None:
            self._minters.end_session(fields[2])
        return _success("authentication credentials flushed", headers=[_cookie(request, "", 0)])

    def _session(self, request: Request) -> list[bytes] | None:
        """What the cookie of a request says: the user, the digest of the token, and the number of the session."""
        sealed = cookie_value(request.header("HTTP_COOKIE"), _COOKIE)
        return self._sealer.unseal(_SESSION, sealed) if sealed else None

    def _seal(self, kind: bytes, seconds: int, request: Request, *more: bytes) -> str:
        """A text by which a later request is the same sender's, until it ends; without the secret of a token."""
        return self._sealer.seal(kind, seconds, request.user, request.token_digest, *more)

    # -- identifiers -----------------------------------------------------------------------------------

    def _mint(self, request: Request, shoulder: str) -> Response:
        _ensure_parameters(request)
        # Some clients send the body without a login first: it is read before they are refused.
        body = whole_body(request)
        try:
            access = self._minters.at_shoulder(request, encode_text(shoulder))
        except NotFoundError:
            raise BadRequestError("no such shoulder") from None
        needed = (MINT, BIND) if body else (MINT,)
        access.ensure("minting", *needed)
        given = _elements(request, body)
        return access.change("minting", needed, lambda api: _success(
            EzidRecords(access, api, _origin(request)).mint(given), 201), body)

    def _view(self, request: Request, rest: str) -> Response:
        parameters = _ensure_parameters(request, "prefix_match")
        asked = canonical_ark(rest)
        access = self._minters.of_ark(request, asked.encode())
        access.ensure("reading", READ)
        records = EzidRecords(access, access.python(), _origin(request))
        record = records.longest(asked) if parameters.get("prefix_match") == "yes" else records.existing(asked)
        found = ark_of(record.identifier)
        # Only a prefix is another name; the spellings of a name are one.
        instead = f" in_lieu_of {asked}" if records.find(asked) is None else ""
        return _success(found + instead, elements=records.elements(record))

    def _create(self, request: Request, rest: str) -> Response:
        parameters = _ensure_parameters(request, "update_if_exists")

        def work(records: EzidRecords, ark: str, given: Mapping[str, str]) -> Response:
            record = records.find(ark)
            if record is None:
                return _success(records.create(ark, given), 201)
            if parameters.get("update_if_exists") != "yes":
                raise BadRequestError("identifier already exists, cannot create")
            return _success(records.update(record, given))

        return self._change(request, rest, "creating", work)

    def _update(self, request: Request, rest: str) -> Response:
        _ensure_parameters(request)
        return self._change(request, rest, "updating", lambda records, ark, given: _success(
            records.update(records.existing(ark), given)))

    def _delete(self, request: Request, rest: str) -> Response:
        _ensure_parameters(request)
        return self._change(request, rest, "deleting", lambda records, ark, _: _success(
            records.delete(records.existing(ark))))

    def _change(self, request: Request, rest: str, what: str,
                work: Callable[[EzidRecords, str, Mapping[str, str]], Response]) -> Response:
        body = whole_body(request)
        ark = canonical_ark(rest)
        access = self._owner(request, ark)
        access.ensure(what, BIND)
        given = _elements(request, body)
        return access.change(what, (BIND,), lambda api: work(
            EzidRecords(access, api, _origin(request)), ark, given), body)

    def _owner(self, request: Request, ark: str) -> MinterAccess:
        """The minter of a name that is to be changed; raises HttpError for a name of no minter."""
        try:
            return self._minters.of_ark(request, ark.encode())
        except NotFoundError:
            if self._minters.know(request):
                raise ForbiddenError("no minter here has this shoulder") from None
            raise _unauthorized() from None

    # -- the service -----------------------------------------------------------------------------------

    def _status(self, request: Request, rest: str) -> Response:
        parameters = _ensure_parameters(request, "subsystems", "detailed")
        more: dict[str, str] = {}
        for name in filter(None, parameters.get("subsystems", "").split(",")):
            if name not in ("*", "noid"):
                raise BadRequestError("no such subsystem")
            more["noid"] = "up"
        if parameters.get("detailed") == "yes":
            more["minters"] = str(len(self._minters.readable(request)))
        return _success("EZID is up", elements=more)

    def _version(self, request: Request, rest: str) -> Response:
        _ensure_parameters(request)
        return Response(200, _TEXT, f"noidtools {__version__}".encode())

    # -- all identifiers in a file ---------------------------------------------------------------------

    def _request_download(self, request: Request, rest: str) -> Response:
        body = whole_body(request)
        if not self._minters.know(request):
            raise _unauthorized()
        if body and request.body_type != _FORM:
            raise BadRequestError(f"the body is a form, {_FORM}")
        query = DownloadQuery(_pairs(body))
        sealed = self._seal(_DOWNLOAD, _DOWNLOAD_SECONDS, request, body)
        return _success(f"{_origin(request)}/download/{sealed}{query.suffix}")

    def _download(self, request: Request, rest: str) -> Response:
        fields = self._sealer.unseal(_DOWNLOAD, ".".join(rest.split(".")[:2]))
        if fields is None:
            return Response(404, _TEXT, b"error: there is no such file, or its address has ended")
        request.session = fields[0], fields[1]
        query = DownloadQuery(_pairs(fields[2]))
        # Those that the sender may change.
        minters = [access for access in self._minters.readable(request) if access.may(BIND)]
        return Response(200, "application/gzip", _compressed(query.lines(_all_records(minters, _origin(request)))))


def _all_records(minters: Iterable[MinterAccess], origin: str) -> Iterator[tuple[str, dict[str, str]]]:
    """All ARKs of these minters with their elements, read one by one."""
    for access in minters:
        api = access.python()
        records = EzidRecords(access, api, origin)
        for name in api.names():
            record = records.find(name)
            if record is not None and is_ark(ark_of(record.identifier)):
                yield ark_of(record.identifier), records.elements(record)


class DownloadQuery:
    """The form of a request for a file: which identifiers it is to have, and how it is written."""

    _TIMES = {"createdAfter": "_created", "createdBefore": "_created", "updatedAfter": "_updated",
              "updatedBefore": "_updated"}
    _EQUAL = {"status": "_status", "profile": "_profile", "exported": "_export", "owner": "_owner",
              "ownergroup": "_ownergroup"}
    _FORMATS = {"anvl": ".txt.gz", "csv": ".csv.gz"}

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        given: dict[str, list[str]] = {}
        for name, value in pairs:
            given.setdefault(name, []).append(value)
        for name in given.keys() - {"format", "compression", "column", "type", *self._TIMES, *self._EQUAL}:
            raise BadRequestError(f"unrecognized form parameter '{name[:60]}'")
        (self._format,) = given.pop("format", [""])[:1]
        if self._format not in self._FORMATS:
            raise BadRequestError("format: must be anvl or csv")
        if given.pop("compression", ["gzip"]) != ["gzip"]:
            raise BadRequestError("compression: must be gzip")
        self._columns = given.pop("column", [])
        if bool(self._columns) != (self._format == "csv"):
            raise BadRequestError("column: needed for csv, and only there")
        self.suffix = self._FORMATS[self._format]
        self._arks = "ark" in given.pop("type", ["ark"])
        self._times = [(self._TIMES[name], name.endswith("After"), _seconds(name, given.pop(name)[-1]))
                       for name in self._TIMES.keys() & given.keys()]
        self._equal = {self._EQUAL[name]: values for name, values in given.items()}

    def lines(self, records: Iterable[tuple[str, dict[str, str]]]) -> Iterator[str]:
        """The text of the file, in pieces."""
        if self._format == "csv":
            yield _csv_row(self._columns)
        for ark, elements in records:
            if not self._fits(elements):
                continue
            if self._format == "csv":
                yield _csv_row([ark if column == "_id" else elements.get(column, "") for column in self._columns])
            else:
                yield "\n".join((f":: {ark}", *element_lines(elements), "", ""))

    def _fits(self, elements: Mapping[str, str]) -> bool:
        for element, after, seconds in self._times:
            if (int(elements[element]) >= seconds) != after:
                return False
        return self._arks and all(elements[element].partition(" | ")[0] in values
                                  for element, values in self._equal.items())


def _seconds(name: str, text: str) -> float:
    """A time in seconds since 1970, given so or as ISO 8601."""
    try:
        if text.isdecimal():
            return int(text)
        found = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        raise BadRequestError(f"{name}: invalid time") from None
    return (found if found.tzinfo else found.replace(tzinfo=timezone.utc)).timestamp()


def _csv_row(cells: list[str]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(cell.encode("utf-8", "replace").decode() for cell in cells)
    return out.getvalue()


def _compressed(texts: Iterable[str]) -> Iterator[bytes]:
    gzip = zlib.compressobj(wbits=31)
    for text in texts:
        piece = gzip.compress(text.encode("utf-8", "replace"))
        if piece:
            yield piece
    yield gzip.flush()


# -- requests and answers --------------------------------------------------------------------------------------------


def _success(what: str, status: int = 200, *, elements: Mapping[str, str] | None = None,
             headers: Iterable[tuple[str, str]] = ()) -> Response:
    """An answer without a line feed at its end: some clients take every line for an element."""
    lines = "\n".join((f"success: {what}", *element_lines(elements or {})))
    return Response(status, _TEXT, lines.encode("utf-8", "replace"), headers)


def _unauthorized() -> HttpError:
    return HttpError(401, "login", "log in")


def _ensure_credentials(header: str) -> None:
    """Raise BadRequestError for an Authorization header that cannot be a login."""
    scheme, _, rest = header.partition(" ")
    if scheme.lower() == "bearer":
        return
    try:
        if scheme.lower() != "basic":
            raise ValueError
        user, colon, password = b64decode(rest.strip(), validate=True).partition(b":")
    except ValueError:
        raise BadRequestError("malformed Authorization header") from None
    if not colon:
        raise BadRequestError("malformed Authorization header")
    if not user.strip() or not password.strip():
        raise BadRequestError("username required" if not user.strip() else "password required")


def _ensure_parameters(request: Request, *known: str) -> dict[str, str]:
    """The parameters of the query; raises BadRequestError for one that is not known here."""
    parameters = dict(_pairs(request.header("QUERY_STRING").encode("latin-1", "replace")))
    for name, value in parameters.items():
        if name not in known:
            raise BadRequestError(f"unrecognized URL query parameter '{name[:60]}'")
        if name != "subsystems" and value not in _YES_NO:
            raise BadRequestError(f"invalid value of URL query parameter '{name}'")
    return parameters


def _pairs(form: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(form.decode(), keep_blank_values=True, max_num_fields=1000, errors="strict")
    except ValueError:
        raise BadRequestError("character decoding error") from None


def _elements(request: Request, body: bytes) -> dict[str, str]:
    is_text = request.body_type in ("", "text/plain") and request.body_charset in ("", "utf-8", "utf8")
    if body and not is_text:
        raise BadRequestError("the content type must be text/plain in UTF-8")
    return parse_elements(body)


def _origin(request: Request) -> str:
    return request.origin + (_BELOW if request.path.startswith(f"{_BELOW}/") else "")


def _cookie(request: Request, sealed: str, seconds: int) -> tuple[str, str]:
    return set_cookie(_COOKIE, sealed, path="/", seconds=seconds, same_site="Strict",
                      secure=request.scheme == "https")
