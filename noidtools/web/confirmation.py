"""Changes from a browser: a page asks for confirmation, and its form POSTs a token.

A browser follows links and redirects with the login of its user, so that what it merely opens must change nothing.  The
token shows that the user has seen the page: it is signed, for the user and the command, with a secret of the minter
(see sealing.py).  The answer is a page, and is stored under the token as under an Idempotency-Key: a browser that loads
it again changes nothing, and the page says so.
"""

from __future__ import annotations

import hashlib
import os
import time

from ..codec import pack
from ..commands.idempotency import IdempotentRun
from ..errors import NoidError, UsageError
from ..minter.tokens import secret_of
from .command_pages import commands_path, identifier_link, refusal_page
from .rendering import renderer_of
from .response import http_error, log_error, public_message
from .sealing import seal, unseal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..commands import Call
    from ..commands.answers import Answer
    from ..minter import Minter
    from ..minter.folder import MinterFolder
    from .request import Request
    from .response import Response

# What a change means, in words, before it is confirmed.
CONSEQUENCES = {
    "publish": "Readers can follow it from now on, and search engines may find its page.",
    "reserve": "Readers can no longer follow it, and see nothing of it. It can be published again.",
    "unavailable": "Readers see a tombstone with the reason in place of the object, until it is published again. What "
                   "is bound stays.",
    "withdraw": "It is taken out of use for good: readers see a tombstone with the reason, and it can never be "
                "published or given to anything else again. This cannot be undone.",
    "mint": "An identifier that was minted stays minted: it is never given again.",
    "peppermint": "An identifier that was minted stays minted: it is never given again. Its pepper is shown only once.",
    "bind": "The value is changed at once. What was bound before stays in the history of the identifier.",
    "hold": "What is on hold is not minted. It can be released again.",
    "queue": "What is in the queue is minted before new identifiers.",
    "policy": "This decides who may read and change the minter through the web.",
    "retarget": "All targets that fit are changed. The change can be undone.",
    "undo": "What the event changed is set back, unless it was changed again since.",
}
_FINAL = ("withdraw",)
_VALID_SECONDS = 15 * 60
_PURPOSE = b"forms"
_KIND = b"confirmation"


def respond_to_change(
    minters: MinterFolder, request: Request, call: Call, run: Callable[[IdempotentRun | None], Answer]
) -> Response:
    """Run a command if it was confirmed, and return the page that says what was done; else the page that asks."""
    if _is_confirmed(request, call.session.minter):
        return _result_page(minters, request, call, run)
    return _confirmation_page(minters, request, call)


def _is_confirmed(request: Request, minter: Minter) -> bool:
    """Whether this request comes from our form."""
    fields = unseal(secret_of(minter, _PURPOSE), _KIND, request.form_token().decode("latin-1"))
    return fields is not None and fields[0] == _command(request)


def _confirmation_page(minters: MinterFolder, request: Request, call: Call) -> Response:
    """The page that shows the command, with the form that gives it.

    The status is that of a refusal, because nothing was done.
    """
    command = call.command.name
    values = {"command": command, "words": request.words[1:], "user": request.user, "mints": call.mints,
              "token": _new_token(request, call.session.minter), "consequence": CONSEQUENCES.get(command, ""),
              "is_final": command in _FINAL, "cancel": commands_path(request)}
    return renderer_of(minters).page(request, "confirmation.html", values, status=405, headers=[("Allow", "POST")],
                                     changes=True)


def _result_page(
    minters: MinterFolder, request: Request, call: Call, run: Callable[[IdempotentRun | None], Answer]
) -> Response:
    """Run a command that was confirmed, and return the page that says what was done, with a form that mints again.

    A command that takes no key is run again if the form is sent again, unless it mints: then it is refused.
    """
    once = None if call.streams else IdempotentRun(request.owner, b"form " + request.form_token())
    try:
        if call.streams and call.mints:
            raise UsageError("this takes several transactions, and loading its page again would mint again: ask for "
                             "less at once, or use a program such as curl")
        records, refusal = run(once).complete()
    except NoidError as error:
        log_error(request.environ, error)
        return refusal_page(minters, request, http_error(error, ""))
    again = once.replayed if once else 0
    lines = [(label, value) for record in records for label, value, _ in record.lines()]
    values = {"lines": lines, "only_ids": {label for label, _ in lines} == {b"id"}, "mints": call.mints,
              "replayed": time.strftime("%H:%M UTC", time.gmtime(again)) if again else "",
              "refusal": public_message(refusal) if refusal else "", "link": identifier_link,
              "token": _new_token(request, call.session.minter), "commands": commands_path(request)}
    headers = [("Idempotency-Replayed", "true")] if again else []
    return renderer_of(minters).page(request, "result.html", values, headers=headers, changes=True,
                                     scripts=("copy.js",))


def _new_token(request: Request, minter: Minter) -> str:
    """A token for this command of this user; a random part makes it the only one."""
    return seal(secret_of(minter, _PURPOSE), _KIND, _VALID_SECONDS, _command(request), os.urandom(16))


def _command(request: Request) -> bytes:
    """Who gives which command, as a digest."""
    return hashlib.sha256(pack([request.owner, *request.words])).digest()
