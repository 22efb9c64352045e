"""A minter on another machine, by its JSON API: the methods, values and exceptions of the Python interface."""

from __future__ import annotations

import http.client
import json
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from ..codec import decode_text
from ..description.conversion import ChangedValue, HistoryEvent, Transition, Withdrawal
from ..description.facts import (
    Binding,
    CitationForm,
    FoundName,
    NameRecord,
    NameRelation,
    RedirectTarget,
    Resolution,
)
from ..errors import (
    BusyError,
    ConflictError,
    ExhaustedError,
    ForbiddenError,
    GoneError,
    InvalidError,
    NoidError,
    NoMinterError,
    NotFoundError,
    OutcomeUnknownError,
    StoreError,
    UsageError,
)
from .minter import MintedState, Moment, State, Text, end_timestamp, start_timestamp, to_bytes

# The exceptions for the kinds of problems.
_ERRORS: dict[str, type[NoidError]] = {
    **{error.kind.replace(" ", "-"): error for error in (
        BusyError, ConflictError, ExhaustedError, ForbiddenError, GoneError, InvalidError, NoMinterError, NotFoundError,
        OutcomeUnknownError, StoreError, UsageError)},
    "login": ForbiddenError, "too-large": UsageError, "precondition": ConflictError,
}
_TIMEOUT = 60.0
_ROOT = "/api/v1"


def connect(url: str, token: str = "", *, minter: str = "", timeout: float = _TIMEOUT) -> RemoteMinter:
    """A minter of a server with a JSON API.

    url     the address of the server, such as https://id.example.org
    token   the secret of a token of the minter; without it what is open to anyone can be done
    minter  the name of the minter there; without it the only one that the token is for, or that anyone may read

    Nothing is sent before the first call, unless the server has to be asked for the minter.
    """
    return RemoteMinter(url, token, minter, timeout)


class RemoteMinter:
    """A minter on another machine.  Threads may share one."""

    def __init__(self, url: str, token: str, minter: str, timeout: float) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(f"{url!r} is not the address of a server, which begins with https://")
        self._secure = parts.scheme == "https"
        self._host, self._root = parts.netloc, parts.path.rstrip("/") + _ROOT
        self._headers = {"Accept": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
        self._timeout = timeout
        self._minter = minter or self._only_minter()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._minter} at {self._host}>"

    # -- minting and states ----------------------------------------------------------------------------

    def mint(
        self, count: int = 1, *, elements: Mapping[str, Text] | None = None, state: MintedState | None = None,
        key: str = "",
    ) -> list[str]:
        """Mint `count` identifiers, all or none; see `OpenMinter.mint`.

        With a `key` the call can be repeated within a day, and mints once.
        """
        body = {"count": count, "elements": _json_elements(elements or {}), "state": state}
        made = self._post(f"/minters/{quote(self._minter)}/identifiers", body, key)["identifiers"]
        return [one["id"] for one in made]

    def publish(self, *names: Text) -> list[Transition]:
        """Publish identifiers, one after the other."""
        return [self._change_state(name, "publish") for name in names]

    def reserve(self, *names: Text) -> list[Transition]:
        """Reserve identifiers, one after the other."""
        return [self._change_state(name, "reserve") for name in names]

    def _change_state(self, name: Text, action: str) -> Transition:
        before = self._get(_path(name))["state"]
        done = self._post(f"{_path(name)}/{action}")
        return Transition(done["id"], before, done["state"], False)

    def withdraw(self, name: Text, *, reason: Text = "", successor: Text = "") -> Withdrawal:
        """Take an identifier out of use permanently."""
        return _withdrawal(self._post(f"{_path(name)}/withdraw", {"reason": _text(reason),
                                                                  "successor": _text(successor)}))

    def make_unavailable(self, name: Text, *, reason: Text = "") -> Withdrawal:
        """Show a tombstone in place of a published identifier, until it is published again."""
        return _withdrawal(self._post(f"{_path(name)}/unavailable", {"reason": _text(reason)}))

    # -- bindings --------------------------------------------------------------------------------------

    def bind(self, name: Text, element: str, value: Text | None) -> Binding:
        """Bind a value to an element, in place of what is bound; None removes it."""
        return self._bind(name, {element: value})[0]

    def bind_many(self, name: Text, elements: Mapping[str, Text]) -> list[Binding]:
        """Bind several elements, all or none."""
        return self._bind(name, elements)

    def _bind(self, name: Text, elements: Mapping[str, Text | None]) -> list[Binding]:
        before = self._get(_path(name))["elements"]
        done = self._send("PATCH", _path(name), {"elements": _json_elements(elements)})
        return [Binding(done["id"], element, "purge" if value is None else "set", len(to_bytes(value or "")),
                        len(_value_bytes(before.get(element, "")))) for element, value in elements.items()]

    def get(self, name: Text, element: str) -> str:
        """The value of an element; raises NotFoundError if nothing is bound."""
        values = self.elements(name)
        if element not in values:
            raise NotFoundError(f"nothing is bound to {element} under {_text(name)}")
        return values[element]

    def elements(self, name: Text) -> dict[str, str]:
        """The values of all bound elements, by name."""
        return _elements(self._get(_path(name)))

    def fetch(self, name: Text) -> NameRecord:
        """A name with its state and its elements, without its circulation record."""
        found = self._get(_path(name))
        return NameRecord(found["id"], found["state"], False, "", _elements(found), {}, found.get("alias_of"))

    # -- reading ---------------------------------------------------------------------------------------

    def resolve(self, name: Text, *, explain: bool = False) -> Resolution:
        """Where a name leads; raises NotFoundError or GoneError without `explain`."""
        found = self._get(f"/resolve/{_quoted(name)}?explain={'true' if explain else 'false'}")
        targets = tuple(RedirectTarget(one["url"], one["code"]) for one in found["targets"])
        if not targets and not explain:
            raise self._refusal(found)
        first = targets[0] if targets else None
        return Resolution(found["outcome"], found["identifier"], first.url if first else None,
                          first.code if first else 0, found.get("step", ""), targets, found.get("reason", ""),
                          tuple((step["step"], step["found"]) for step in found.get("trace", ())))

    def _refusal(self, found: Mapping[str, Any]) -> NotFoundError:
        """Why a name leads nowhere; why it was withdrawn only those learn who may read it."""
        sentence = found.get("reason", "not found")
        if found["outcome"] != "gone":
            return NotFoundError(sentence)
        with suppress(ForbiddenError, NotFoundError):
            return GoneError(sentence, self._get(_path(found["identifier"])).get("reason", ""))
        return GoneError(sentence)

    def find(
        self, words: str = "", *, elements: Mapping[str, str] | None = None, target: str = "", host: str = "",
        prefix: Text = "", state: State | None = None, changed_since: Moment | None = None,
        changed_until: Moment | None = None, limit: int | None = None,
    ) -> Iterator[FoundName]:
        """The names that fit all that is given, read page by page; see `OpenMinter.find`."""
        asked = {"q": words, "target": target, "host": host, "prefix": _text(prefix), "state": state or "",
                 "changed_since": decode_text(start_timestamp(changed_since)),
                 "changed_until": decode_text(end_timestamp(changed_until)), "minter": self._minter,
                 **{f"element.{name}": text for name, text in (elements or {}).items()}}
        asked = {name: text for name, text in asked.items() if text}
        while limit is None or limit > 0:
            page = self._get("/identifiers?" + urlencode({**asked, "limit": str(min(limit or 100, 100))}))
            for one in page["items"]:
                values = _elements(one)
                yield FoundName(one["id"], one["state"], values.get("_t", ""), values, one.get("alias_of"))
            limit = None if limit is None else limit - len(page["items"])
            if "next" not in page:
                return
            asked["cursor"] = page["next"]

    def history(self, name: Text) -> list[HistoryEvent]:
        """The events of a name, oldest first; `who` is empty unless you may administer the minter."""
        found = self._get(f"{_path(name)}/history")["events"]
        return [HistoryEvent(
            one["number"], _moment(one["date"]), one.get("who", ""), one["interface"], one["action"], (),
            tuple(ChangedValue(None, change["what"], change["element"], _optional(change.get("before")),
                               _optional(change.get("after"))) for change in one["changes"]), None, (),
        ) for one in found]

    def relations(self, name: Text) -> list[NameRelation]:
        """The relations of a name to others."""
        found = self._get(f"{_path(name)}/relations")["relations"]
        return [NameRelation(
            _text(name), one["relation"], one["name"], one.get("authority", ""),
            _moment(one["start"]) if one.get("start") else None, _moment(one["until"]) if one.get("until") else None,
            one["current"]) for one in found]

    def cite(self, name: Text) -> list[CitationForm]:
        """The ways to write a name."""
        forms = self._get(f"{_path(name)}/citation")["forms"]
        return [CitationForm(form, text) for form, texts in forms.items() for text in texts]

    # -- requests --------------------------------------------------------------------------------------

    def _only_minter(self) -> str:
        names = [one["name"] for one in self._get("/minters")["minters"]]
        if len(names) != 1:
            raise UsageError(f"{self._host} has {', '.join(names) or 'no minter'} for this token: name the minter")
        return str(names[0])

    def _get(self, path: str) -> Any:
        return self._send("GET", path)

    def _post(self, path: str, body: object = None, key: str = "") -> Any:
        return self._send("POST", path, {} if body is None else body, key)

    def _send(self, method: str, path: str, body: object = None, key: str = "") -> Any:
        headers = {**self._headers, **({"Idempotency-Key": key} if key else {})}
        content = None if body is None else json.dumps(body).encode()
        if content is not None:
            headers["Content-Type"] = "application/json"
        # A connection for each request: one that the server has closed meanwhile would leave open whether it was done.
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        connection = kind(self._host, timeout=self._timeout)
        try:
            connection.request(method, self._root + path, content, {**headers, "Connection": "close"})
            response = connection.getresponse()
            status, data = response.status, response.read()
        except (OSError, http.client.HTTPException) as error:
            reason = str(error) or type(error).__name__
            if method == "GET" or isinstance(error, ConnectionRefusedError):
                raise StoreError(f"{self._host} cannot be reached: {reason}") from None
            raise OutcomeUnknownError(f"the connection to {self._host} was lost ({reason}), so it is not known "
                                      "whether this was done: check, or repeat the call if it has a key"
                                      ) from None
        finally:
            connection.close()
        return _answer(status, data, self._host)


def _answer(status: int, data: bytes, host: str) -> Any:
    """What a response contains; raises the exception that a problem stands for."""
    try:
        found = json.loads(data)
    except ValueError:
        raise StoreError(f"{host} answers {status} without JSON: is its JSON API at {_ROOT}?") from None
    if status < 400:
        return found
    kind = str(found.get("type", "")).rpartition("/")[2]
    raise _ERRORS.get(kind, StoreError)(str(found.get("detail", f"{host} answers {status}")))


# -- values ----------------------------------------------------------------------------------------------------------


def _text(text: Text) -> str:
    return decode_text(to_bytes(text))


def _quoted(name: Text) -> str:
    return quote(to_bytes(name), safe="/:")


def _path(name: Text) -> str:
    return f"/identifiers/{_quoted(name)}"


def _json_elements(elements: Mapping[str, Text | None]) -> dict[str, object]:
    return {element: None if value is None else _json_value(to_bytes(value)) for element, value in elements.items()}


def _json_value(value: bytes) -> object:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"base64": b64encode(value).decode()}


def _value_bytes(value: object) -> bytes:
    return b64decode(value["base64"]) if isinstance(value, dict) else str(value).encode()


def _elements(found: Mapping[str, Any]) -> dict[str, str]:
    return {element: decode_text(_value_bytes(value)) for element, value in found["elements"].items()}


def _optional(value: object) -> str | None:
    return None if value is None else decode_text(_value_bytes(value))


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def _withdrawal(found: Mapping[str, Any]) -> Withdrawal:
    return Withdrawal(found["id"], _moment(found["changed"]), None, found.get("reason", ""),
                      found.get("successor", ""), found["state"])
