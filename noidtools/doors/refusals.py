"""Refusals of HTTP's own, and the HTTP status of every refusal."""

from __future__ import annotations

from ..exceptions import BusyError, NoidError, NoMinterError, NotFoundError, StoreError
from ..policy import LoginNeededError

_STATUS_OF = {
    "usage": 400, "invalid": 400, "not found": 404, "no minter": 404, "conflict": 409, "forbidden": 403,
    "exhausted": 410, "busy": 503, "store": 500,
}
_RETRY_AFTER_SECONDS = "2"


class HttpError(NoidError):
    """Something only a web server refuses."""

    def __init__(self, status: int, kind: str, message: str, *headers: tuple[str, str]) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.headers = list(headers)


def not_that_method(allowed: tuple[str, ...], message: str) -> HttpError:
    return HttpError(405, "method", message, ("Allow", ", ".join(allowed)))


def too_large(limit: int) -> HttpError:
    return HttpError(413, "too large", f"the body may have at most {limit} bytes: send it in several requests")


def translated(error: NoidError, challenge: str) -> HttpError:
    """Any refusal with its HTTP status.  `challenge` says how one logs in, empty if one cannot."""
    if isinstance(error, HttpError):
        return error
    if isinstance(error, LoginNeededError):
        if challenge:
            return HttpError(401, "login", error.message, ("WWW-Authenticate", challenge))
        return HttpError(403, error.kind, f"{error.message}, which this server does not offer")
    headers = [("Retry-After", _RETRY_AFTER_SECONDS)] if isinstance(error, BusyError) else []
    return HttpError(_STATUS_OF.get(error.kind, 500), error.kind, public_message(error), *headers)


def public_message(error: NoidError) -> str:
    """What may be told over the web: where a minter lies on the server is not for everybody."""
    if isinstance(error, NoMinterError):
        return "there is no minter here"
    if isinstance(error, BusyError):
        return "others keep the minter busy: try again in a few seconds"
    if isinstance(error, StoreError):
        return "the minter's database cannot serve at the moment: the server's log says why"
    return error.message


def is_for_the_log(error: NoidError) -> bool:
    """Whether the message names what only the server's operator may read, and needs to."""
    return isinstance(error, (BusyError, StoreError)) and not isinstance(error, NotFoundError)
