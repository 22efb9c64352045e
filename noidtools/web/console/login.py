"""Who uses the console: the user whom the web server has authenticated, or the bearer of a token, in a session.

A session is a signed cookie, so that it survives a restart and every process knows it.  It ends an hour after it was
last used, twelve hours after it began, and at once when its user logs out or its token is revoked.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress

from ...errors import BusyError, ForbiddenError, StoreError
from ...minter.tokens import secret_digest
from ..access import Minters
from ..request import Request
from ..response import Response
from ..sealing import Sealer, cookie_value, set_cookie
from .visit import ROOT, Visit, link, redirect

_COOKIE = "noid_console"
_SESSION = b"session"
_IDLE_SECONDS = 3600
_LONGEST_SECONDS = 12 * 3600
# A cookie is renewed when it is older than this.
_RENEWED_SECONDS = 300
_LONGEST_SECRET = 200
_NUMBER_BYTES = 16
_WRONG = "that is not a token of a minter here: it may be mistyped, have expired or been revoked"
_USER = b"token"
# The path and the query of a page of the console; dots as segments would lead out of it.
_PAGE = re.compile(rf"{ROOT}/(?:[a-z]+(?:[./][a-z]+)?)?(?:\?[!-~]*)?")


class Sessions:
    """Begins, continues and ends the sessions of those who log in with a token."""

    def __init__(self, minters: Minters, sealer: Sealer, challenge: str) -> None:
        self._minters = minters
        self._sealer = sealer
        self._challenge = challenge

    def recognize(self, request: Request) -> list[tuple[str, str]]:
        """Let the session of a request decide who sends it; returns the header that renews it, where that is due."""
        fields = self._fields(request)
        if fields is None:
            return []
        digest, number, began, seen = fields[0], fields[1], int(fields[2]), int(fields[3])
        request.session = _USER, digest
        if self._minters.has_ended(number) or not self._minters.know(request):
            request.session = None
            return [self._cookie(request, "", 0)]
        if time.time() - seen > _RENEWED_SECONDS:
            return self._begin(request, digest, number, began)
        return []

    def _fields(self, request: Request) -> list[bytes] | None:
        """What the cookie of a request says: the digest of the token, the number of the session, when it began, and
        when it was renewed."""
        sealed = cookie_value(request.header("HTTP_COOKIE"), _COOKIE)
        return self._sealer.unseal(_SESSION, sealed) if sealed else None

    def _begin(self, request: Request, digest: bytes, number: bytes, began: int) -> list[tuple[str, str]]:
        now = int(time.time())
        seconds = min(_IDLE_SECONDS, began + _LONGEST_SECONDS - now)
        sealed = self._sealer.seal(_SESSION, seconds, digest, number, b"%d" % began, b"%d" % now)
        return [self._cookie(request, sealed, seconds)]

    def _cookie(self, request: Request, value: str, seconds: int) -> tuple[str, str]:
        return set_cookie(_COOKIE, value, path=ROOT, seconds=seconds, same_site="Lax",
                          secure=request.scheme == "https")

    # -- the pages -------------------------------------------------------------------------------------

    def show(self, visit: Visit, *, message: str = "", status: int = 200) -> Response:
        return visit.page("login", status, message=message, next=_next(visit), has_accounts=bool(self._challenge))

    def ask_for_account(self, visit: Visit) -> Response:
        """Let the browser ask for the user's name and password, which the web server knows, and then go on."""
        if visit.request.user or not self._challenge:
            return redirect(_next(visit) or link(""))
        response = self.show(visit, message="you have not given a name and a password that the web server knows",
                             status=401)
        response.headers.append(("WWW-Authenticate", self._challenge))
        return response

    def begin(self, visit: Visit) -> Response:
        """Log in with the token of the form."""
        request, secret = visit.request, visit.text("secret").encode("utf-8", "replace")[:_LONGEST_SECRET]
        request.session = _USER, secret_digest(secret)
        if not secret or not self._minters.know(request):
            request.session = request.token = None
            return self.show(visit, message=_WRONG, status=403)
        response = redirect(_next(visit) or link(""))
        response.headers += self._begin(request, secret_digest(secret), os.urandom(_NUMBER_BYTES), int(time.time()))
        return response

    def end(self, visit: Visit) -> Response:
        """Log out: the cookie is of no use any more, wherever a copy of it may be."""
        fields = self._fields(visit.request)
        if fields is not None:
            with suppress(BusyError, StoreError):  # the browser forgets it all the same
                self._minters.end_session(fields[1])
        response = redirect(link("login"))
        response.headers.append(self._cookie(visit.request, "", 0))
        return response


def ensure_may_read(visit: Visit) -> None:
    """Raise ForbiddenError for somebody who has logged in but may read no minter."""
    if not visit.readable():
        raise ForbiddenError("you may not read any of the minters here: ask an administrator for access")


def _next(visit: Visit) -> str:
    """Where to go after logging in: a page of ours only."""
    wanted = visit.value("next")
    return wanted if _PAGE.fullmatch(wanted) else ""
