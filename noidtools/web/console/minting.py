"""Minting: one identifier with a form, some at once, and many from a table without identifiers."""

from __future__ import annotations

from ...api import MinterMethods
from ...errors import UsageError
from ..access import MinterAccess
from ..response import Response
from .bulk import KINDS
from .jobs import CHECKING, Job, jobs_of
from .visit import Visit, link, redirect

MINT = ("mint", "1")
MINT_BOUND = ("bind", "mint", "new", "ELEMENT", "VALUE")
_STATES = ("published", "reserved")
_EMPTY_ROWS = 2
_MOST_SHOWN = 1000
_MOST_DIGITS = 8


def show(visit: Visit) -> Response:
    """The forms."""
    access = visit.minter(*MINT)
    target = access.target
    return visit.page(
        "mint", access=access, offered=visit.offering(*MINT), may_bind=access.may_give(*MINT_BOUND), target=target,
        usual=[("what", "What it is", "A title or a description."), ("who", "Who made it", ""),
               ("when", "When", "Such as 1859 or 2026-11-18."), (target, "Where it leads", "An address: https://…")],
        usual_state="reserved" if access.python().policy().minting == "reserve" else "published", more=_EMPTY_ROWS,
        jobs=own_jobs(visit, access, "mint"), kinds=KINDS)


def own_jobs(visit: Visit, access: MinterAccess, *kinds: str) -> list[Job]:
    """The jobs of these kinds that the user may see: those that the user made, and for an administrator all."""
    return [job for job in jobs_of(access.minter) if job.record.kind in kinds and may_see(visit, access, job)]


def may_see(visit: Visit, access: MinterAccess, job: Job) -> bool:
    """Whether the user may see a job."""
    return job.record.owner == visit.user or access.may_give("log")


def mint(visit: Visit) -> Response:
    """Mint as the form says, once however often it is sent, and go to the identifier."""
    access = visit.minter(*MINT)
    elements: dict[str, str | bytes] = {
        element: value.strip() for element, value in visit.elements().items() if value.strip()}
    state = visit.choice("state", *_STATES) or None
    count = visit.number("count", _MOST_DIGITS)
    count = 1 if count is None else count
    if not 0 < count <= _MOST_SHOWN:
        raise UsageError(f"this form mints 1 to {_MOST_SHOWN} identifiers: for more, upload a table")

    def work(api: MinterMethods) -> str | Response:
        access.ensure_may_mint(count)
        made = api.mint(count, elements=elements, state=state)  # type: ignore[arg-type]
        if count == 1:
            return link("name", id=made[0], done="minted")
        return visit.page("minted", access=access, names=made)

    return visit.change(access, MINT_BOUND if elements else MINT, work)


def upload(visit: Visit) -> Response:
    """Keep a table, and let it be checked."""
    return begin_job(visit, "mint", {"state": visit.choice("state", *_STATES)}, needs_file=True)


def begin_job(visit: Visit, kind: str, settings: dict[str, str], *, needs_file: bool = False) -> Response:
    """Make a job of what the form says, and go to its page, where it is being checked."""
    access = visit.minter(*KINDS[kind].command)
    if needs_file and (visit.upload is None or not visit.upload_name):
        raise UsageError("no file was chosen: choose a table in CSV")
    named = {**settings, "file": visit.upload_name[:200]} if needs_file else settings
    job = Job.create(access.minter, kind, visit.user, named, visit.upload if needs_file else None)
    job.start(CHECKING, lambda one: KINDS[kind].work(access, one, True))
    return redirect(link("job", minter=access.name, job=job.number))
