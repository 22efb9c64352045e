"""Rules and the tester that shows each step of a resolution; holds and the queue."""

from __future__ import annotations

from ...api import MinterMethods
from ...codec import decode_text
from ...description.conversion import moment
from ...errors import NoidError, UsageError
from ...minter.queue import held_names, queued_names
from ...store import Reader
from ..response import Response, public_message
from .visit import Visit, link

_RESOLVE = ("resolve", "NAME")
_SET_RULE = ("bind", "set", ":idmap/PATTERN", "ELEMENT", "VALUE")
_REMOVE_RULE = ("bind", "purge", ":idmap/PATTERN", "ELEMENT")
_RULE = ":idmap/"
_HOLD = ("hold", "set", "ID")
_MOST_SHOWN = 100
_LOOKED_AT = 5000
_MOST_NAMES = 1000
_DAYS_DIGITS = 5

# What is done with identifiers: the title of the button, its command, and the word for what was done.
_HOLDING = {"hold": ("Hold", ("hold", "set", "ID"), "held"),
            "release": ("Release", ("hold", "release", "ID"), "released")}
_QUEUEING = {"queue": ("Queue", ("queue", "now", "ID"), "queued"),
             "dequeue": ("Take out", ("queue", "delete", "ID"), "dequeued")}
_TIMES = {"now": "now", "first": "before all others", "lvf": "the lowest value first"}


def show(visit: Visit) -> Response:
    """The rules, and what becomes of a name, step by step."""
    access = visit.minter(*_RESOLVE)
    api, name = access.python(), visit.text("name")
    tested, problem = None, ""
    if name:
        try:
            tested = api.resolve(name, element=visit.text("element") or None, explain=True)
        except NoidError as error:
            problem = public_message(error)
    return visit.page("rules", access=access, offered=visit.offering(*_RESOLVE), rules=api.rules(), name=name,
                      element=visit.text("element"), target=access.target, tested=tested, problem=problem,
                      may_set=access.may_give(*_SET_RULE))


def change(visit: Visit) -> Response:
    """Save a rule, or remove one."""
    access = visit.minter(*_RESOLVE)
    pattern, element = visit.value("pattern"), visit.text("element")
    removes = visit.choice("step", "save", "remove") == "remove"
    if not pattern or not element:
        raise UsageError("a rule has a pattern and an element: fill in both")

    def work(api: MinterMethods) -> str:
        if removes:
            api.bind(_RULE + pattern, element, how="purge")
        else:
            api.bind(_RULE + pattern, element, visit.value("replacement"))
        return link("rules", minter=access.name, done="rule-removed" if removes else "rule-added")

    return visit.change(access, _REMOVE_RULE if removes else _SET_RULE, work)


# -- holds and the queue ---------------------------------------------------------------------------------------------


def show_queue(visit: Visit) -> Response:
    """The queue, what is on hold, and the forms."""
    access = visit.minter(*_HOLD)

    def work(reader: Reader) -> tuple[list[bytes], list[tuple[bytes, bytes]]]:
        return held_names(reader, _MOST_SHOWN, _LOOKED_AT), queued_names(reader, _MOST_SHOWN)

    held, queued = access.minter.read(work)
    display, figures = access.minter.namespace.display, access.python().status()
    return visit.page(
        "queue", access=access, offered=visit.offering(*_HOLD), figures=figures, times=_TIMES,
        held=[decode_text(display(key)) for key in held], id=visit.text("id"), holding=_HOLDING, queueing=_QUEUEING,
        queued=[(decode_text(display(key)), moment(date)) for key, date in queued],
        refusal=access.minter.scheme.queue_refusal)


def change_queue(visit: Visit) -> Response:
    """Hold, release, queue or take out the identifiers of the form."""
    access = visit.minter(*_HOLD)
    known = _HOLDING | _QUEUEING
    word = visit.choice("step", *known) or "hold"
    _, command, done = known[word]
    names = visit.items("ids")
    if not 0 < len(names) <= _MOST_NAMES:
        raise UsageError(f"1 to {_MOST_NAMES} identifiers are needed, with blanks or line breaks between")
    when, days = visit.choice("when", *_TIMES) or "now", visit.number("days", _DAYS_DIGITS)

    def work(api: MinterMethods) -> str:
        if word == "hold":
            api.hold(*names)
        elif word == "release":
            api.release(*names)
        elif word == "queue":
            api.queue(*names, when=when if days is None else days * 86_400)  # type: ignore[arg-type]
        else:
            api.dequeue(*names)
        return link("queue", minter=access.name, done=done)

    return visit.change(access, command, work)
