"""Secrets of a minter: random bytes that all its processes share, made when they are first needed.

They are in the database, so that every worker process has them and a restart keeps them.  No command shows them.
"""

from __future__ import annotations

import os

from .tables import SECRETS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..store import Writer
    from . import Minter

_SIZE = 32


def secret_of(minter: Minter, purpose: bytes) -> bytes:
    """The secret for a purpose, such as signing forms."""
    known = minter.read(lambda reader: reader.get(SECRETS, purpose))
    return known or minter.write(lambda writer: _make(writer, purpose))


def _make(writer: Writer, purpose: bytes) -> bytes:
    # Another process may have made it since it was looked for.
    secret = writer.get(SECRETS, purpose)
    if secret is None:
        secret = os.urandom(_SIZE)
        writer.put(SECRETS, purpose, secret)
    return secret
