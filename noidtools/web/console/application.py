"""The console as a part of the site: its pages by their paths, the login before them, and what is said of errors."""

from __future__ import annotations

from collections.abc import Callable

from ...errors import NotFoundError
from ..access import Minters
from ..rendering import renderer_of
from ..request import Request
from ..response import Response, method_not_allowed, refusal_of
from ..sealing import Sealer
from . import administration, changes, editing, find, identifier, links, minting, overview, rules
from .login import Sessions, ensure_may_read
from .visit import ROOT, Visit, link, redirect

Handler = Callable[[Visit], Response]

_PURPOSE = b"console"
_LOGIN, _LOGOUT, _ACCOUNT = "login", "logout", "account"
# Statuses of what a user can do otherwise.
_MISTAKES = (400, 404, 409, 412)

# For each path below /console what shows its page, and what its form does.
_PAGES: dict[str, tuple[Handler | None, Handler | None]] = {
    "": (overview.show, None),
    "find": (find.show, None),
    "find.csv": (find.export_csv, None),
    "find.jsonl": (find.export_jsonl, None),
    "name": (identifier.show, None),
    "name/check": (None, links.check),
    "name/edit": (editing.edit, editing.save),
    "name/state": (editing.ask_state, editing.change_state),
    "name/note": (None, editing.write_note),
    "mint": (minting.show, minting.mint),
    "mint/table": (None, minting.upload),
    "change": (changes.show, None),
    "change/table": (None, changes.upload),
    "change/targets": (None, changes.retarget),
    "change/undo": (None, changes.undo),
    "job": (changes.show_job, changes.work_on_job),
    "job/file": (changes.download, None),
    "rules": (rules.show, rules.change),
    "queue": (rules.show_queue, rules.change_queue),
    "links": (links.show, None),
    "access": (administration.show_access, administration.change_policy),
    "access/token": (None, administration.new_token),
    "access/revoke": (None, administration.revoke_token),
    "promises": (administration.show_promises, administration.promise),
    "promises/custodian": (None, administration.appoint),
    "log": (administration.show_log, None),
}


class Console:
    """Serves the console over all minters of a site; `challenge` is that by which a browser asks for a name and a
    password, empty where the web server knows none."""

    def __init__(self, minters: Minters, challenge: str) -> None:
        self._minters = minters
        self._renderer = renderer_of(minters.folder)
        self._sealer = Sealer(minters, _PURPOSE)
        self._sessions = Sessions(minters, self._sealer, challenge)

    def claims(self, request: Request) -> bool:
        """Whether a request is of this interface."""
        return request.path == ROOT or request.path.startswith(f"{ROOT}/")

    def respond(self, request: Request) -> Response:
        """The response to a request; every error becomes a page with a sentence."""
        visit = None
        try:
            visit = Visit(request, self._minters, self._renderer, self._sealer)
            renewed = self._sessions.recognize(request)
            response = self._respond(visit)
            response.headers += [] if any(name == "Set-Cookie" for name, _ in response.headers) else renewed
            return response
        except Exception as error:  # noqa: BLE001 - every error has an HTTP status
            refusal = refusal_of(request.environ, error, "")
            return self._refusal(request, visit, refusal.status, refusal.message)
        finally:
            if visit is not None:
                visit.close()

    def _refusal(self, request: Request, visit: Visit | None, status: int, message: str) -> Response:
        status = 403 if status == 401 else status
        # The menu needs the minters, which may be what cannot be read.
        shown = visit if status in _MISTAKES and request.user else None
        values = {"message": message, "status": status, "link": link, "visit": shown, "section": None, "done": ""}
        return self._renderer.page(request, "console/refusal.html", values, status=status, changes=True)

    def _respond(self, visit: Visit) -> Response:
        request = visit.request
        if request.method not in ("GET", "HEAD", "POST"):
            raise method_not_allowed(("GET", "HEAD", "POST"), f"{request.method[:20]!a} is not allowed here")
        posts = request.method == "POST"
        if request.path == ROOT:
            return redirect(link(""))
        if not request.user and visit.path not in (_LOGIN, _ACCOUNT):
            # What they upload is not even read.
            return redirect(link(_LOGIN, next="" if posts else _address(request)))
        if posts:
            visit.read_form()
        if visit.path == _LOGIN:
            return self._sessions.begin(visit) if posts else self._sessions.show(visit)
        if visit.path == _ACCOUNT:
            return self._sessions.ask_for_account(visit)
        if visit.path == _LOGOUT and posts:
            return self._sessions.end(visit)
        handler = _PAGES.get(visit.path, (None, None))[posts]
        if handler is None:
            raise NotFoundError(f"there is no page {visit.request.path[:100]} in the console")
        if visit.path:  # the overview goes through the minters by itself
            ensure_may_read(visit)
        return handler(visit)


def _address(request: Request) -> str:
    query = request.header("QUERY_STRING")
    return request.path + (f"?{query}" if query else "")
