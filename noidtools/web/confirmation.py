"""Changes from a browser: a page asks for confirmation, and its form POSTs a token.

A browser follows links and redirects with the login of its user, so that what it merely opens must change nothing.  The
token shows that the user has seen the page: it is an HMAC over the user, the command and the time, with a secret of the
minter.  The answer is stored under the token as under an Idempotency-Key, so that reloading it changes nothing again.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import time

from ..codec import pack
from ..commands.idempotency import IdempotentRun
from ..minter.tokens import secret_of
from . import pages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..commands import Call
    from ..minter import Minter
    from .request import Request
    from .response import Response

_VALID_SECONDS = 15 * 60
_PURPOSE = b"forms"


def is_confirmed(request: Request, minter: Minter) -> bool:
    """Whether this request comes from our form."""
    token = request.form_token()
    return bool(token) and _is_valid(token, request, minter)


def confirmed_run(request: Request, call: Call) -> IdempotentRun | None:
    """Runs a command that was confirmed so that its form may be sent again; None if the command takes no key."""
    if call.streams:
        return None
    return IdempotentRun(request.owner, b"form " + request.form_token())


def confirmation_page(request: Request, call: Call) -> Response:
    """The page that shows the command, with the form that gives it."""
    token = _new_token(request, call.session.minter)
    return pages.confirmation_page(call.command.name, request.words[1:], request.user, token)


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
