"""The operations of the JSON API, each on one minter, over the Python interface."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from hashlib import sha256

import msgspec
from msgspec import UNSET

from ...api import MinterMethods
from ...description.facts import FoundName, MinterInfo
from ...errors import NoidError, NotFoundError, UsageError
from ...minter.policies import ADMIN, BIND, CLASSES, MINT
from ..access import MinterAccess, bind_or_remove
from ..json_bodies import json_text
from ..response import HttpError, http_error
from . import types
from .problems import problem_of
from .types import Identifier, Value, json_value, stored_value


class Resources:
    """What can be done in a minter on behalf of a request; `origin` is scheme and host for addresses of names."""

    def __init__(self, access: MinterAccess, origin: str) -> None:
        self.access = access
        self._origin = origin

    # -- reading ---------------------------------------------------------------------------------------

    def minter(self) -> types.Minter:
        info: MinterInfo = self.access.python().info()
        return types.Minter(
            self.access.name, info.scheme, info.template, info.term, info.naan, info.naa, list(info.labels),
            info.drawn, info.total, info.held, info.queued, info.created, info.changed,
            [name for name in CLASSES if self.access.may(name)],  # type: ignore[misc]
        )

    def identifier(self, api: MinterMethods, name: str) -> Identifier:
        """All that is known of an identifier; raises NotFoundError if nothing is."""
        record = api.fetch(name)
        dates = [event.date for event in api.history(record.identifier)]
        found = self._identifier(record.identifier, record.state, record.elements, dates)
        if record.alias_of is not None:
            found.alias_of = json_text(record.alias_of)
        if record.state in ("withdrawn", "unavailable"):
            tombstone = api.tombstone(record.identifier)
            found.reason = json_text(tombstone.reason) or UNSET
            found.successor = json_text(tombstone.successor) or UNSET
        return found

    def found(self, name: FoundName) -> Identifier:
        """A name that a search has found."""
        found = self._identifier(name.identifier, name.state, name.elements, [])
        if name.alias_of is not None:
            found.alias_of = json_text(name.alias_of)
        return found

    def _identifier(
        self, name: str, state: str | None, elements: Mapping[str, str], dates: list[datetime]
    ) -> Identifier:
        return Identifier(
            json_text(name), self.access.name, f"{self._origin}/{json_text(name).lstrip('/')}",
            state or "published",  # type: ignore[arg-type]
            {json_text(element): json_value(value) for element, value in elements.items()},
            dates[0] if dates else None, dates[-1] if dates else None,
        )

    def history(self, name: str) -> types.History:
        api = self.access.python()
        events = api.history(api.fetch(name).identifier)
        return types.History([
            types.Event(
                event.number, event.date, event.action, event.interface,
                [types.Change(json_text(one.what), one.is_element, _changed(one.before), _changed(one.after))
                 for one in event.changes],
                event.who or UNSET,
            ) for event in events])

    def relations(self, name: str) -> types.Relations:
        found = self.access.python().relations(name)
        return types.Relations([
            types.Relation(one.relation, json_text(one.cited or one.name), one.current,
                           json_text(one.authority) or UNSET, one.start, one.until) for one in found])

    def citation(self, name: str) -> types.Citation:
        api, forms = self.access.python(), dict[str, list[str]]()
        for one in api.cite(api.fetch(name).identifier):
            forms.setdefault(one.form, []).append(json_text(one.text))
        return types.Citation(forms)

    def resolved(self, name: str, *, explain: bool) -> types.Resolved:
        outcome = self.access.python().resolve(name, explain=True)
        return types.Resolved(
            outcome.outcome, json_text(outcome.identifier),
            [types.Target(json_text(target.url), target.code) for target in outcome.targets],
            outcome.step or UNSET, json_text(outcome.reason) or UNSET,
            [types.Step(step, json_text(found)) for step, found in outcome.trace] if explain else UNSET,
        )

    # -- changing --------------------------------------------------------------------------------------

    def mint(self, api: MinterMethods, new: types.NewIdentifiers) -> list[Identifier]:
        self.access.ensure_may_mint(new.count)
        made = api.mint(new.count, elements=_stored(new.elements), state=new.state)
        if new.count == 1:
            return [self.identifier(api, made[0])]
        # What was minted together is alike.
        first = self.identifier(api, made[0])
        return [msgspec.structs.replace(first, id=name, url=f"{self._origin}/{name.lstrip('/')}") for name in made]

    def put(
        self, api: MinterMethods, name: str, new: types.Elements, match: str | None, *, only_new: bool
    ) -> tuple[Identifier, bool]:
        """Bind exactly these elements; returns the identifier, and whether it is a new one."""
        try:
            before = self.identifier(api, name)
        except NotFoundError:
            before = None
        ensure_match(before, match)
        if only_new and before is not None:
            raise HttpError(412, "precondition", "the identifier is there already: without If-None-Match it is changed")
        if before is None:
            # What was not minted here is held, so that it never will be.
            api.hold(name)
        removed = dict.fromkeys(set(before.elements if before else ()) - set(new.elements))
        bind_or_remove(api, name, {**_stored(new.elements), **removed})
        return self.identifier(api, name), before is None

    def patch(
        self, api: MinterMethods, name: str, elements: Mapping[str, Value | None], match: str | None = None
    ) -> Identifier:
        ensure_match(self.identifier(api, name), match)
        bind_or_remove(api, name, {element: None if value is None else stored_value(value)
                                   for element, value in elements.items()})
        return self.identifier(api, name)

    def change_state(self, api: MinterMethods, name: str, action: str, reason: str = "", successor: str = "",
                     match: str | None = None) -> Identifier:
        """Publish, reserve or withdraw an identifier, or make it unavailable."""
        ensure_match(self.identifier(api, name), match)
        if action == "publish":
            api.publish(name)
        elif action == "reserve":
            api.reserve(name)
        elif action == "unavailable":
            api.make_unavailable(name, reason=reason)
        else:
            api.withdraw(name, reason=reason, successor=successor or None)
        return self.identifier(api, name)

    # -- batches ---------------------------------------------------------------------------------------

    def run_batch(self, api: MinterMethods, batch: types.Batch, challenge: str) -> types.BatchResult:
        """Run the operations in the transaction of the caller; raises the refusal of one of an atomic batch."""
        _ensure_distinct(batch.operations)
        names: dict[str, str] = {}
        results = []
        for number, operation in enumerate(batch.operations, 1):
            try:
                with api.transaction():
                    done = self._operate(api, operation, names)
            except NoidError as error:
                if batch.atomic:
                    refusal = http_error(error, challenge)
                    raise HttpError(refusal.status, refusal.kind, f"operation {number}: {refusal.message}; nothing "
                                    "was done", *refusal.headers) from None
                problem, refusal = problem_of(error, challenge)
                results.append(types.OperationResult(refusal.status, problem=problem))
                continue
            if isinstance(operation, types.MintOperation):
                names[operation.as_] = done.id
            results.append(types.OperationResult(201 if isinstance(operation, types.MintOperation) else 200, done))
        return types.BatchResult(results)

    def _operate(self, api: MinterMethods, operation: types.Operation, names: Mapping[str, str]) -> Identifier:
        if isinstance(operation, types.MintOperation):
            return self.mint(api, types.NewIdentifiers(1, operation.elements, operation.state))[0]
        name = _referred(operation.id, names)
        if isinstance(operation, types.PatchOperation):
            return self.patch(api, name, operation.elements)
        return self.change_state(api, name, _name_of(operation), getattr(operation, "reason", ""),
                                 _referred(getattr(operation, "successor", ""), names))


def _referred(text: str, names: Mapping[str, str]) -> str:
    """A name, or the one that an earlier operation minted under this reference."""
    if not text.startswith("$"):
        return text
    if text[1:] not in names:
        raise UsageError(f"no earlier operation has minted {text[:60]!a}: give a mint before it \"as\": "
                         f"{text[1:61]!a}")
    return names[text[1:]]


def _ensure_distinct(operations: Iterable[types.Operation]) -> None:
    """Refuse a batch in which two identifiers have the same reference."""
    references = [one.as_ for one in operations if isinstance(one, types.MintOperation) and one.as_]
    if len(set(references)) < len(references):
        raise UsageError("two operations mint \"as\" the same name: give each a name of its own")


def needed_classes(operations: Iterable[types.Operation]) -> tuple[str, ...]:
    """The access classes that a batch needs."""
    found = {_CLASS_OF.get(_name_of(operation), BIND) for operation in operations}
    found |= {BIND for operation in operations if isinstance(operation, types.MintOperation) and operation.elements}
    return tuple(name for name in CLASSES if name in found)


# Those that need another access class than bind.
_CLASS_OF = {"mint": MINT, "withdraw": ADMIN}


def _name_of(operation: types.Operation) -> str:
    return str(operation.__struct_config__.tag)


def _stored(elements: Mapping[str, Value]) -> dict[str, bytes]:
    return {element: stored_value(value) for element, value in elements.items()}


def _changed(value: object) -> Value | None:
    if value is None:
        return None
    return json_value(value) if isinstance(value, str) else json_text(str(value))


# -- ETag ------------------------------------------------------------------------------------------------------------


def etag(identifier: Identifier) -> str:
    """The entity tag of an identifier, which is another after every change of it."""
    content = msgspec.json.encode(msgspec.structs.replace(identifier, url=""))
    return f'"{sha256(content).hexdigest()[:32]}"'


def ensure_match(identifier: Identifier | None, match: str | None) -> None:
    """Raise HttpError unless an If-Match header names the identifier as it is; None if there is no such header."""
    if match is None:
        return
    tags = [tag.strip() for tag in match.split(",")]
    if identifier is None or ("*" not in tags and etag(identifier) not in tags):
        raise HttpError(412, "precondition", "the identifier was changed since you read it, or is not there: read it "
                        "again, and send the change with its new ETag")
