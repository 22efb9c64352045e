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
from . import pages
from .response import http_error, log_error, public_message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..commands import Call
    from ..commands.answers import Answer
    from ..minter import Minter
    from .request import Request
    from .response import Response

_VALID_SECONDS = 15 * 60
_PURPOSE = b"forms"


def is_confirmed(request: Request, minter: Minter) -> bool:
    """Whether this request comes from our form."""
    token = request.form_token()
    return bool(token) and _is_valid(token, request, minter)


def confirmation_page(request: Request, call: Call) -> Response:
    """The page that shows the command, with the form that gives it."""
    token = _new_token(request, call.session.minter)
    return pages.confirmation_page(call.command.name, request.words[1:], request.user, token, call.mints)


def result_page(request: Request, call: Call, run: Callable[[IdempotentRun | None], Answer]) -> Response:
    """Run a command that was confirmed, and return the page that says what was done.

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
        return pages.refusal_page(http_error(error, ""))
    again = once.replayed if once else 0
    lines = [(label, value) for record in records for label, value, _ in record.lines()]
    return pages.result_page(lines, mints=call.mints, replayed=time.strftime("%H:%M UTC", time.gmtime(again)) if again
                             else "", refusal=public_message(refusal) if refusal else "",
                             token=_new_token(request, call.session.minter))


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
