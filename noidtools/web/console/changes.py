"""Changes of many names: by a table, by the beginning of their targets, and back; and the page of a job."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator

from ...errors import ForbiddenError, NotFoundError, UsageError
from ...minter.events import newest_number
from ..access import MinterAccess
from ..response import Response
from .bulk import COLUMNS_SHOWN, KINDS, first_changes, first_rows
from .jobs import CHECKED, CHECKING, DONE, FAILED, PROBLEMS, RESULT, RUNNING, UPLOAD, Job, find_job
from .minting import begin_job, may_see, own_jobs
from .visit import Visit, link, redirect

_CHANGE = ("retarget", "--from", "A", "--to", "B")
_EVENTS_LOOKED_AT = 2000
_EVENTS_SHOWN = 10
_PIECE = 1 << 16
_MOST_DIGITS = 18
_FILES = {"result": (RESULT, "with-identifiers.csv"), "problems": (PROBLEMS, "left-out.csv")}


def show(visit: Visit) -> Response:
    """The forms, the jobs, and the last changes that can be undone."""
    access = visit.minter(*_CHANGE)
    newest = access.minter.read(newest_number)
    events = [event for event in access.python().log(after=max(newest - _EVENTS_LOOKED_AT, 0))
              if event.bindings is not None]
    return visit.page("change", access=access, offered=visit.offering(*_CHANGE), events=events[-_EVENTS_SHOWN:][::-1],
                      event=visit.text("event"), jobs=own_jobs(visit, access, "change", "retarget", "undo"),
                      kinds=KINDS)


def upload(visit: Visit) -> Response:
    """Keep a table of identifiers and new values, and let it be checked."""
    return begin_job(visit, "change", {}, needs_file=True)


def retarget(visit: Visit) -> Response:
    """Let a change of targets be checked."""
    old, new = visit.text("old"), visit.text("new")
    if not old or not new:
        raise UsageError("give both addresses: the beginning of the present targets, and the new one")
    return begin_job(visit, "retarget", {"old": old, "new": new, "prefix": visit.text("prefix")})


def undo(visit: Visit) -> Response:
    """Let the undoing of an event be checked."""
    event = visit.number("event", _MOST_DIGITS)
    if event is None:
        raise UsageError("give the number of an event, as the history and the log show it")
    return begin_job(visit, "undo", {"event": str(event)})


# -- jobs ------------------------------------------------------------------------------------------------------------


def _job(visit: Visit) -> tuple[MinterAccess, Job]:
    access = visit.minters.named(visit.request, visit.text("minter"))
    job = find_job(access.minter, visit.text("job"))
    if not may_see(visit, access, job) or not access.may_give(*KINDS[job.record.kind].command):
        raise ForbiddenError("this is somebody else's job: only administrators of the minter may see it")
    return access, job


def show_job(visit: Visit) -> Response:
    """How far a job is, what it would change, or what came of it."""
    access, job = _job(visit)
    is_active = job.is_active()
    # It may have ended since it was read.
    record = job.record if is_active else find_job(access.minter, job.number).record
    checked, has_result = record.phase == CHECKED, record.phase == DONE and job.has(RESULT)
    mints = record.kind == "mint"
    columns, rows = first_rows(job, RESULT if has_result else UPLOAD) if mints and (checked or has_result) else ([], [])
    return visit.page(
        "job", section="mint" if mints else "change", access=access, job=job, record=record,
        kind=KINDS[record.kind], is_active=is_active,
        facts=defaultdict(int, record.facts), settings=defaultdict(str, record.settings),
        is_interrupted=record.phase in (CHECKING, RUNNING) and not is_active,
        columns=columns[:COLUMNS_SHOWN], rows=rows, earlier=job.earlier() if checked and mints else None,
        leads_nowhere=checked and bool(rows) and access.target not in columns,
        changes=first_changes(access, job) if checked else [], has_result=has_result,
        has_problems=job.has(PROBLEMS), scripts=("progress.js",))


def work_on_job(visit: Visit) -> Response:
    """Check a job again, do it or let it go on, or delete it."""
    access, job = _job(visit)
    step = visit.choice("step", "check", "run", "delete")
    kind = KINDS[job.record.kind]
    if step == "delete":
        job.delete()
        return redirect(link("mint" if job.record.kind == "mint" else "change", minter=access.name, done="forgotten"))
    # What was never checked to its end is not done: the check also finds what its user may not do.
    if step == "check" or CHECKING in (job.record.phase, job.record.phase == FAILED and job.record.before):
        job.start(CHECKING, lambda one: kind.work(access, one, True))
    elif job.record.phase != "done":
        job.start(RUNNING, lambda one: kind.work(access, one, False))
    return redirect(link("job", minter=access.name, job=job.number))


def download(visit: Visit) -> Response:
    """A file of a job: the table with its identifiers, or what was left out."""
    _, job = _job(visit)
    name, title = _FILES[visit.choice("file", *_FILES) or "result"]
    if not job.has(name):
        raise NotFoundError("there is no such file: the job may still be running")
    size = os.path.getsize(job.path(name))
    return Response(200, "text/csv; charset=utf-8", _pieces(job.path(name)), [
        ("Content-Disposition", f'attachment; filename="{title}"'), ("Content-Length", str(size))])


def _pieces(path: str) -> Iterator[bytes]:
    with open(path, "rb") as file:
        while piece := file.read(_PIECE):
            yield piece
