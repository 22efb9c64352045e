"""Changes of an identifier: its elements, with what was before and will be after, its state, and the curators' note."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ...api import MinterMethods
from ...description.bibliography import title_of
from ...errors import NotFoundError, UsageError
from ..access import MinterAccess, classes_of
from ..confirmation import CONSEQUENCES
from ..json_api.resources import Resources, etag
from ..json_api.types import Value
from ..response import Response
from .identifier import ACTIONS, EDIT, NOTE, TITLES
from .visit import Visit, link

_EMPTY_ROWS = 2
# A value that is longer, or that a form cannot carry unchanged, is left to programs.
_LONGEST_VALUE = 100_000
_UNSENDABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")


@dataclass(slots=True)
class Row:
    """A row of the form.

    before   what is bound; None for a new element
    value    what is to be bound
    removed  whether it is to be removed
    fixed    whether the form cannot change it
    """

    element: str
    before: str | None
    value: str
    removed: bool = False
    fixed: bool = False

    @property
    def is_changed(self) -> bool:
        if self.fixed or not self.element:
            return False
        return self.before is not None if self.removed else self.before != self.value


def edit(visit: Visit) -> Response:
    """The form with all elements; with `event` it has the values before that event."""
    access, name, rows, tag = _current(visit)
    event = visit.text("event")
    if event:
        _put_back(access, name, event, rows)
    rows += [Row("", None, "") for _ in range(_EMPTY_ROWS)]
    return _form(visit, access, name, rows, tag)


def _form(visit: Visit, access: MinterAccess, name: str, rows: list[Row], tag: str) -> Response:
    return visit.page("edit", name=name, title=_title(rows), access=access, rows=rows, tag=tag, target=access.target,
                      event=visit.text("event"), suggestions=[access.target, *TITLES, "who", "when", "where"])


def _title(rows: Iterable[Row]) -> str:
    return title_of({row.element: row.before for row in rows if row.before is not None})


def _current(visit: Visit) -> tuple[MinterAccess, str, list[Row], str]:
    access, asked = visit.named()
    access.ensure("editing", *classes_of(*EDIT))
    api = access.python()
    record = api.fetch(asked)
    found = Resources(access, visit.request.origin).identifier(api, record.identifier)
    rows = [Row(element, value, value, fixed=not _is_editable(value)) for element, value in record.elements.items()
            if element not in record.computed and element != NOTE]
    rows.sort(key=lambda row: (row.element != access.target, row.element not in TITLES))
    return access, record.identifier, rows, etag(found)


def _is_editable(value: str) -> bool:
    """Whether a browser sends a value back as it was: text without control characters but line feeds and tabs."""
    return len(value) <= _LONGEST_VALUE and not _UNSENDABLE.search(value)


def _put_back(access: MinterAccess, name: str, number: str, rows: list[Row]) -> None:
    """Put the values before an event into the rows."""
    event = next((one for one in access.python().history(name) if str(one.number) == number), None)
    if event is None:
        raise NotFoundError(f"event {number[:20]!a} did not change this identifier")
    by_element = {row.element: row for row in rows}
    for change in event.changes:
        if not change.is_element or not (change.before is None or isinstance(change.before, str)):
            continue
        row = by_element.get(change.what)
        if row is None and change.before is not None:
            rows.append(Row(change.what, None, change.before))
        elif row is not None and change.before is None:
            row.removed = True
        elif row is not None:
            row.value = str(change.before)


def save(visit: Visit) -> Response:
    """Show the form again with more rows, show what will change, or change it."""
    step = visit.choice("step", "more", "back", "review", "save")
    access, name, current, _ = _current(visit)
    rows = _sent(visit, current)
    tag = visit.value("match")
    if step in ("more", "back"):
        return _form(visit, access, name, rows + [Row("", None, "") for _ in range(_EMPTY_ROWS)], tag)
    changed = [row for row in rows if row.is_changed]
    if step == "review":
        return visit.page("review", name=name, title=_title(current), rows=rows, changed=changed, tag=tag)
    return visit.change(access, EDIT, lambda api: _write(visit, access, api, name, changed, tag))


def _sent(visit: Visit, current: list[Row]) -> list[Row]:
    """The rows of the form; those of elements that are bound now have their value before."""
    before = {row.element: row.before for row in current}
    fixed = [row for row in current if row.fixed]
    removed = visit.form.get("remove", [])
    return [Row(element, before.get(element), value, removed=element in removed)
            for element, value in visit.elements().items() if not any(row.element == element for row in fixed)] + fixed


def _write(
    visit: Visit, access: MinterAccess, api: MinterMethods, name: str, changed: Iterable[Row], tag: str
) -> str:
    elements: dict[str, Value | None] = {row.element: None if row.removed else row.value for row in changed}
    if not elements:
        return link("name", id=name, done="unchanged")
    Resources(access, visit.request.origin).patch(api, name, elements, tag)
    return link("name", id=name, done="saved")


def write_note(visit: Visit) -> Response:
    """Keep the note of the form; an empty one removes it."""
    access, name = visit.named()
    text = visit.text("note").replace("\r\n", "\n")

    def work(api: MinterMethods) -> str:
        Resources(access, visit.request.origin).patch(api, name, {NOTE: text or None}, visit.value("match"))
        return link("name", id=api.fetch(name).identifier, done="noted")

    return visit.change(access, EDIT, work)


# -- states ----------------------------------------------------------------------------------------------------------


def ask_state(visit: Visit) -> Response:
    """The page that says what a change of the state means, and asks for confirmation."""
    access, asked = visit.named()
    word = visit.choice("to", *ACTIONS)
    if not word:
        raise UsageError("no state was named: choose one on the page of the identifier")
    title, states, command = ACTIONS[word]
    access.ensure(command[0], *classes_of(*command))
    api = access.python()
    record = api.fetch(asked)
    if record.state not in states:
        raise UsageError(f"{record.identifier} is {record.state}, so this is not possible: look at its page again")
    found = Resources(access, visit.request.origin).identifier(api, record.identifier)
    return visit.page("state", name=record.identifier, label=title_of(record.elements), word=word, title=title,
                      state=record.state, consequence=CONSEQUENCES[word], tag=etag(found))


def change_state(visit: Visit) -> Response:
    """Change the state, as confirmed."""
    access, name = visit.named()
    word = visit.choice("to", *ACTIONS)
    command = ACTIONS[word or "publish"][2]

    def work(api: MinterMethods) -> str:
        found = Resources(access, visit.request.origin).change_state(
            api, name, word, visit.text("reason"), visit.text("successor"), visit.value("match"))
        return link("name", id=found.id, done=word)

    return visit.change(access, command, work)
