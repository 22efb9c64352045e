"""Who sends a request, and what he may do: a user whom the web server has authenticated, or a token."""

from __future__ import annotations

from ..minter.policies import AccessPolicy
from .response import HttpError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..minter import Minter
    from ..minter.tokens import Token
    from ..store import Reader
    from .request import Request

_SCHEME = "bearer "
_LONGEST_SECRET = 200
_CHALLENGE = ("WWW-Authenticate", 'Bearer realm="noid", error="invalid_token"')


def bearer_secret(request: Request) -> bytes:
    """The token that a request carries in its Authorization header, empty if it has none."""
    header = request.header("HTTP_AUTHORIZATION")
    if not header or header[: len(_SCHEME)].lower() != _SCHEME:
        return b""
    return header[len(_SCHEME) :].strip().encode("latin-1", "replace")[:_LONGEST_SECRET] or b"?"


def authenticate(request: Request, minter: Minter) -> AccessPolicy:
    """The access policy of a minter for a request.  With a token, `request.user` is the token's from then on.

    Raises HttpError for a token that is not one of this minter's, or no longer.
    """
    secret = bearer_secret(request)
    if not secret:
        return minter.access_policy()
    policy, token = minter.read(lambda reader: _policy_and_token(request, reader, secret))
    if token is not None:
        token.record_use(minter)
    return policy


def policy_in(request: Request, reader: Reader) -> AccessPolicy:
    """As `authenticate`, in a read transaction."""
    return _policy_and_token(request, reader, bearer_secret(request))[0]


def _policy_and_token(request: Request, reader: Reader, secret: bytes) -> tuple[AccessPolicy, Token | None]:
    policy = AccessPolicy.of(reader)
    if not secret:
        return policy, None
    from ..minter.tokens import find_token

    token = find_token(reader, secret)
    if token is None:
        raise HttpError(401, "login", "this token is not known here: it may have expired or been revoked, or be "
                        "another minter's", _CHALLENGE)
    request.token_user = token.user
    return token.policy(policy), token
