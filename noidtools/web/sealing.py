"""Signed texts that a client keeps and sends back: sessions, forms, addresses of files.

They survive a restart and are good at every process of the service, since nothing but the secret of the signature is
stored.  They are not encrypted: nothing secret may be in them.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode

from ..codec import pack, unpack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .access import Minters


def seal(secret: bytes, kind: bytes, seconds: int, *fields: bytes) -> str:
    """A text with these fields, which is good for some seconds, for URLs, cookies and forms."""
    return _signed(secret, pack([kind, b"%d" % (int(time.time()) + seconds), *fields]))


def unseal(secret: bytes, kind: bytes, sealed: str) -> list[bytes] | None:
    """The fields of a text; None if it is none of ours, of another kind, or has ended."""
    first = sealed.partition(".")[0]
    try:
        content = urlsafe_b64decode(first + "=" * (-len(first) % 4))
    except ValueError:
        return None
    # The texts are compared, since base64 has several for the same bytes.
    if not hmac.compare_digest(sealed.encode("utf-8", "replace"), _signed(secret, content).encode()):
        return None
    found, ends, *fields = unpack(content)
    return fields if found == kind and int(ends) > time.time() else None


def _signed(secret: bytes, content: bytes) -> str:
    return f"{_base64(content)}.{_base64(hmac.digest(secret, content, hashlib.sha256))}"


class Sealer:
    """Signs and reads texts for one purpose, with a secret that the first of the minters keeps."""

    def __init__(self, minters: Minters, purpose: bytes) -> None:
        self._minters = minters
        self._purpose = purpose

    def seal(self, kind: bytes, seconds: int, *fields: bytes) -> str:
        return seal(self._minters.secret(self._purpose), kind, seconds, *fields)

    def unseal(self, kind: bytes, sealed: str) -> list[bytes] | None:
        return unseal(self._minters.secret(self._purpose), kind, sealed)


def _base64(content: bytes) -> str:
    return urlsafe_b64encode(content).decode().rstrip("=")


# -- sessions --------------------------------------------------------------------------------------------------------


def cookie_value(header: str, name: str) -> str:
    """The value of a cookie in a Cookie header; empty if it is not there."""
    pairs = (part.strip().partition("=") for part in header.split(";"))
    return next((value for key, _, value in pairs if key == name), "")


def set_cookie(name: str, value: str, *, path: str, seconds: int, same_site: str, secure: bool) -> tuple[str, str]:
    """The header that sets a cookie which no script can read; without seconds it is deleted."""
    text = f"{name}={value}; Path={path}; Max-Age={seconds}; HttpOnly; SameSite={same_site}"
    return "Set-Cookie", text + ("; Secure" if secure else "")
