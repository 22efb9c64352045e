"""The page of an identifier: what is bound to it, where it leads, its relations, and its history."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from ...codec import encode_text
from ...description.bibliography import title_of
from ...description.conversion import HistoryEvent
from ...description.facts import NameRelation
from ...errors import NoidError, NotFoundError
from ...minter.identifiers import identify
from ...statistics import period, usage
from ...times import system_clock
from ..access import MinterAccess
from ..json_api.resources import Resources, etag
from ..response import Response
from . import drawing
from .visit import Visit

# Elements that tell people what a name stands for.
TITLES = ("title", "what", "dc.title", "erc.what", "datacite.title")
# The note of the curators: elements that begin so are not on the page for readers.
NOTE = "_note"

# What an event is called on the time line; others are called as the command is.
_EVENTS = {
    "mint": "Minted", "bind set": "Bound", "bind new": "Bound", "bind replace": "Changed", "bind purge": "Removed",
    "bind delete": "Removed", "publish": "Published", "reserve": "Reserved", "withdraw": "Withdrawn",
    "unavailable": "Made unavailable", "hold set": "Put on hold", "hold release": "Hold released",
    "retarget": "Target changed with many others", "rebind": "Changed from a table", "import": "Imported",
    "undo": "Changed back",
}

# What can be done, by its word: the title of its button, the states in which it is offered, and its command.
ACTIONS = {
    "publish": ("Publish", ("reserved", "unavailable"), ("publish", "ID")),
    "reserve": ("Reserve", ("published",), ("reserve", "ID")),
    "unavailable": ("Make unavailable", ("published",), ("unavailable", "ID")),
    "withdraw": ("Withdraw", ("published", "reserved", "unavailable"), ("withdraw", "ID")),
}
EDIT = ("bind", "set", "ID", "ELEMENT", "VALUE")


@dataclass(frozen=True, slots=True)
class EventRow:
    """An event on the time line.

    restorable  whether the values before it can be put into the form for changes
    undoable    whether it changed many bindings, which can be undone together
    """

    title: str
    event: HistoryEvent
    restorable: bool
    undoable: bool


def show(visit: Visit, checked: tuple[str, str] | None = None) -> Response:
    """The page; `checked` is the verdict and the detail of a check of its link just now."""
    access, asked = visit.named()
    api = access.python()
    record = api.fetch(asked)
    name = record.identifier
    found = Resources(access, visit.request.origin).identifier(api, name)
    # What is withdrawn has no elements; its tombstone has those that say what it was.
    elements = dict(record.elements or api.describe(name).withdrawn_elements)
    may_edit = access.may_give(*EDIT) and record.state != "withdrawn"
    relations = [one for one in api.relations(name) if one.name]
    drawn = drawing.draw_relations([(_words(one), one.cited or one.name) for one in relations if one.current])
    return visit.page(
        "name", name=name, title=title_of(elements), record=record, access=access, found=found,
        tombstone=_tombstone(access, name, record.state), target=elements.pop(access.target, ""),
        note=elements.pop(NOTE, ""), elements=elements, computed=record.computed, public=_public_path(name),
        may_edit=may_edit, actions=_offered_actions(access, record.state), relations=relations, words=_words,
        drawn=drawn, drawing=drawing, tag=etag(found), checked=checked, use=_use(access, name),
        may_check=access.may_give("verify", "ID", "--links"),
        events=[_event_row(access, name, event, may_edit=may_edit) for event in reversed(_history(access, name))])


def _use(access: MinterAccess, name: str) -> drawing.Chart | None:
    """How often it was resolved in the last days; None if that is not counted, or not for this user."""
    if not access.may_give("stats", "NAME"):
        return None
    minter = access.minter
    try:
        key = minter.read(lambda reader: identify(minter, reader, encode_text(name))).key
        found = usage(minter, *period(b"", b"", system_clock()), name=key)
    except NoidError:
        return None
    return drawing.chart({day.day: day.resolved for day in found.days}) if found.counted else None


def _history(access: MinterAccess, name: str) -> list[HistoryEvent]:
    try:
        return access.python().history(name)
    except NotFoundError:
        return []


def _tombstone(access: MinterAccess, name: str, state: str | None) -> object:
    return access.python().tombstone(name) if state in ("withdrawn", "unavailable") else None


def _offered_actions(access: MinterAccess, state: str | None) -> list[tuple[str, str]]:
    """The words and the titles of what the user may do with a name in this state."""
    return [(word, title) for word, (title, states, command) in ACTIONS.items()
            if state in states and access.may_give(*command)]


def _public_path(name: str) -> str:
    """The path of a name at the resolver."""
    return "/" + quote(encode_text(name.lstrip("/")), safe="/:")


def _words(relation: NameRelation) -> str:
    return relation.relation.replace("-", " ")


def _event_row(access: MinterAccess, name: str, event: HistoryEvent, *, may_edit: bool) -> EventRow:
    title = _EVENTS.get(event.action, event.action.capitalize())
    others = [change.identifier for change in event.changes if change.identifier not in (None, name)]
    if others and len(others) == len(event.changes):
        title = f"{title}: {others[0]}"  # it only mentions this one, such as the withdrawal of its predecessor
    elements = [change for change in event.changes if change.is_element]
    whole = all(change.before is None or isinstance(change.before, str) for change in elements)
    return EventRow(title, event, may_edit and bool(elements) and whole and event.action != "mint",
                    event.bindings is not None and access.may_give("undo", "1"))
