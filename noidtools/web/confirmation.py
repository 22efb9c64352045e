"""Changes from a browser: a page asks for confirmation, and its form POSTs a token.

A browser follows links and redirects with the login of its user, so that what it merely opens must change nothing.  The
token shows that the user has seen the page: it is an HMAC over the user, the command and the time, with a secret of the
minter.  The answer is a page, and is stored under the token as under an Idempotency-Key: a browser that loads it again
changes nothing, and the page says so.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import time

from ..codec import pack
from ..commands.idempotency import IdempotentRun
from ..errors import NoidError, UsageError
from ..minter.tokens import secret_of
from .command_pages import commands_path, identifier_link, refusal_page
from .response import http_error, log_error, public_message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..commands import Call
    from ..commands.answers import Answer
    from ..minter import Minter
    from .rendering import Renderer
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


def is_confirmed(request: Request, minter: Minter) -> bool:
    """Whether this request comes from our form."""
    token = request.form_token()
    return bool(token) and _is_valid(token, request, minter)


def confirmation_page(renderer: Renderer, request: Request, call: Call) -> Response:
    """The page that shows the command, with the form that gives it.

    The status is that of a refusal, because nothing was done.
    """
    command = call.command.name
    values = {"command": command, "words": request.words[1:], "user": request.user, "mints": call.mints,
              "token": _new_token(request, call.session.minter), "consequence": CONSEQUENCES.get(command, ""),
              "is_final": command in _FINAL, "cancel": commands_path(request)}
    return renderer.page(request, "confirmation.html", values, status=405, headers=[("Allow", "POST")], changes=True)


def result_page(
    renderer: Renderer, request: Request, call: Call, run: Callable[[IdempotentRun | None], Answer]
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
        return refusal_page(renderer, request, http_error(error, ""))
    again = once.replayed if once else 0
    lines = [(label, value) for record in records for label, value, _ in record.lines()]
    values = {"lines": lines, "only_ids": {label for label, _ in lines} == {b"id"}, "mints": call.mints,
              "replayed": time.strftime("%H:%M UTC", time.gmtime(again)) if again else "",
              "refusal": public_message(refusal) if refusal else "", "link": identifier_link,
              "token": _new_token(request, call.session.minter), "commands": commands_path(request)}
    headers = [("Idempotency-Replayed", "true")] if again else []
    return renderer.page(request, "result.html", values, headers=headers, changes=True, scripts=("copy.js",))


def _new_token(request: Request, minter: Minter) -> bytes:
    """When it expires, a random part that makes it the only one, and the signature."""
    expires = b"%d" % (int(time.time()) + _VALID_SECONDS)
    nonce = os.urandom(16).hex().encode()
    return b".".join((expires, nonce, _signature(expires, nonce, request, minter)))


def _is_valid(token: bytes, request: Request, minter: Minter) -> bool:
    expires, _, rest = token.partition(b".")
    nonce, _, signature = rest.partition(b".")
    if not hmac.compare_digest(signature, _signature(expires, nonce, request, minter)):
        return False
    return int(expires) > time.time()


def _signature(expires: bytes, nonce: bytes, request: Request, minter: Minter) -> bytes:
    message = pack([expires, nonce, request.owner, *request.words])
    return hmac.new(secret_of(minter, _PURPOSE), message, hashlib.sha256).hexdigest().encode()
