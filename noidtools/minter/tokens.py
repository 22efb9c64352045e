"""Secrets: of programs (tokens), of identifiers (peppers), and of the minter itself.

A token lets a program use the web interfaces, for certain access classes and perhaps for a time.  It is admitted to the
classes it was made for, and to those that are for anyone, whatever the policy says of users.

A pepper belongs to one identifier, which cannot be changed without it and is then written `ID!PEPPER`.

Tokens and peppers are printed once, when they are made; only their hashes are stored.  The minter's own secrets are
random bytes that all its processes share, made when first needed.  No command shows them.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from base64 import urlsafe_b64encode

from ..codec import pack, unpack
from ..errors import (
    BusyError,
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    StoreError,
    UsageError,
    printable,
)
from ..schemes.template import REPERTOIRES
from ..times import SECOND, system_clock, timestamp
from .circulation import find
from .events import record_event
from .policies import ANYONE, CLASSES, TOKEN_PREFIX, TOKEN_USER, AccessPolicy, AccessRule
from .schema import PEPPERS, SECRETS, TOKENS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..store import Reader, Writer
    from . import Minter
    from .events import Actor


# -- tokens ----------------------------------------------------------------------------------------------------------

# How many random bytes follow the beginning of a secret.
_RANDOM_BYTES = 32
_LONGEST_NAME = 64
_NAME_CHARACTERS = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")

# Nanoseconds between two updates of the time of last use: each is a commit.
_USE_INTERVAL = 3600 * SECOND

# Seconds for which that write may have to wait.
_PATIENCE = 0.2

# The access rules of classes to which a token is admitted, and of others.
_OPEN, _CLOSED = AccessRule(ANYONE), AccessRule()


class Token:
    """A token as stored.

    digest   of its secret
    name     by which it is listed and revoked
    classes  the access classes that it is admitted to
    created  when it was made; times are in fourteen digits
    expires  when it ends, empty if never
    used     when it was used last, to the hour; empty if never
    most     how many identifiers it may mint in one request; None for what the policy of the minter allows
    total    how many it may mint in all; None for any number
    minted   how many of these it has minted; counted if there is a total
    """

    __slots__ = ("name", "classes", "created", "expires", "used", "most", "total", "minted", "digest")

    def __init__(self, digest: bytes, packed: bytes) -> None:
        self.digest = digest
        self.name, classes, self.created, self.expires, self.used, *limits = unpack(packed)
        self.classes = tuple(classes.decode().split(","))
        self.most, self.total, minted = (int(limit) if limit else None for limit in limits or (b"", b"", b""))
        self.minted = minted or 0

    @property
    def user(self) -> bytes:
        """How events name who used it."""
        return TOKEN_USER + self.name

    def terms(self) -> list[bytes]:
        """What it may do, until when and how often, as events record it."""
        limits = ((b"most", self.most), (b"total", self.total))
        return [",".join(self.classes).encode(), *([self.expires] if self.expires else []),
                *(b"%b %d" % (what, limit) for what, limit in limits if limit is not None)]

    def is_expired(self) -> bool:
        return bool(self.expires) and self.expires <= timestamp(system_clock())

    def policy(self, policy: AccessPolicy) -> AccessPolicy:
        """The access policy for requests with this token, made of that for users."""
        rules = policy.rules
        limit = policy.mint_limit if self.most is None else min(self.most, policy.mint_limit)
        return AccessPolicy({name: _OPEN if name in self.classes or rules[name].word == ANYONE else _CLOSED
                             for name in CLASSES}, limit)

    def count_minted(self, writer: Writer, minted: int, requested: int) -> None:
        """Count what it mints in this transaction; raises ForbiddenError if it may not mint as many as requested."""
        packed = writer.get(TOKENS, self.digest)
        if self.total is None or packed is None:
            return
        stored = Token(self.digest, packed)
        left = self.total - stored.minted
        if requested > left:
            raise ForbiddenError(f"the token {printable(self.name)} may mint {self.total} identifiers in all, of which "
                                 f"{max(left, 0)} are left: ask for fewer, or for another token")
        stored.minted += minted
        stored._store(writer)

    def record_use(self, minter: Minter) -> None:
        """Store that it is used now, unless that was done within the hour; a minter that cannot be written is left."""
        now = system_clock()
        if self.used > timestamp(now - _USE_INTERVAL):
            return

        def work(writer: Writer) -> None:
            # It may have been revoked meanwhile, and may have minted.
            packed = writer.get(TOKENS, self.digest)
            if packed is not None:
                stored = Token(self.digest, packed)
                stored.used = timestamp(now)
                stored._store(writer)

        try:
            # The request may be one that only reads, and must not wait for a long write of others.
            minter.write(work, timeout=_PATIENCE)
        except (BusyError, StoreError):
            return

    def _store(self, writer: Writer) -> None:
        fields = [self.name, ",".join(self.classes).encode(), self.created, self.expires, self.used]
        if self.most is not None or self.total is not None:
            fields += [b"" if limit is None else b"%d" % limit for limit in (self.most, self.total, self.minted)]
        writer.put(TOKENS, self.digest, pack(fields))


def new_token(
    writer: Writer, actor: Actor, name: bytes, classes: Iterable[str], expires: bytes = b"", *,
    most: int | None = None, total: int | None = None, secret: bytes = b"",
) -> bytes:
    """Make a token and return its secret, which is not stored; `most` and `total` limit what it may mint.

    With `secret` it is a token of another minter that is to be good for this one, too.

    Raises InvalidError for an unsuitable name, UsageError for unknown classes, ConflictError if the name is taken.
    """
    if not 0 < len(name) <= _LONGEST_NAME or not _NAME_CHARACTERS.issuperset(name):
        raise InvalidError(f"the name of a token has 1 to {_LONGEST_NAME} letters, digits, dots, hyphens and _")
    chosen = [known for known in CLASSES if known in set(classes)]
    if not chosen or set(classes) - set(CLASSES):
        raise UsageError(f"a token is for one or more of the classes {', '.join(CLASSES)}")
    if any(token.name == name for token in all_tokens(writer)):
        raise ConflictError(f"there is a token {name.decode()} already: revoke it first, or choose another name")
    now = actor.date()
    if expires and expires <= now:
        raise UsageError("the token would have expired already")
    secret = secret or TOKEN_PREFIX + urlsafe_b64encode(os.urandom(_RANDOM_BYTES)).rstrip(b"=")
    token = Token(secret_digest(secret), pack((name, ",".join(chosen).encode(), now, expires, b"")))
    token.most, token.total = most, total
    token._store(writer)
    record_event(writer, actor, b"token new", name, *token.terms())
    return secret


def find_token(reader: Reader, digest: bytes) -> Token | None:
    """The token whose secret has this digest, None if there is none or if it has expired.

    Nobody can choose a part of the digest, so that the time this takes tells nothing about the secrets of others.
    """
    packed = reader.get(TOKENS, digest)
    token = None if packed is None else Token(digest, packed)
    return None if token is None or token.is_expired() else token


def all_tokens(reader: Reader) -> list[Token]:
    """All tokens, in the order of their names; those that have expired, too."""
    return sorted((Token(digest, packed) for digest, packed in reader.scan(TOKENS)), key=lambda token: token.name)


def revoke_token(writer: Writer, actor: Actor, name: bytes) -> None:
    """Delete a token: the next request with it is refused.  Raises NotFoundError if there is none of that name."""
    for token in all_tokens(writer):
        if token.name == name:
            writer.delete(TOKENS, token.digest)
            record_event(writer, actor, b"token revoke", name)
            return
    raise NotFoundError(f"there is no token {name[:_LONGEST_NAME].decode('utf-8', 'replace')!r}")


def secret_digest(secret: bytes) -> bytes:
    """What is stored of the secret of a token."""
    return hashlib.sha256(secret).digest()


# -- peppers ---------------------------------------------------------------------------------------------------------

# Sixteen extended digits are 77 bits: far beyond guessing, so a plain hash suffices.
_LENGTH = 16


def make_pepper() -> bytes:
    """A new random pepper."""
    alphabet = REPERTOIRES["e"].encode()
    pepper = bytearray()
    while len(pepper) < _LENGTH:
        # Bytes past the last whole multiple of 29 would favour the first digits.
        pepper += bytes(alphabet[byte % 29] for byte in os.urandom(_LENGTH) if byte < 29 * 8)
    return bytes(pepper[:_LENGTH])


def _pepper_digest(identifier: bytes, pepper: bytes) -> bytes:
    return hashlib.sha256(identifier + b"!" + pepper).digest()


def store_pepper(writer: Writer, identifier: bytes, pepper: bytes) -> None:
    """Store the hash of the pepper of an identifier, in place of the one before."""
    writer.put(PEPPERS, identifier, _pepper_digest(identifier, pepper))


def delete_pepper(writer: Writer, identifier: bytes) -> None:
    writer.delete(PEPPERS, identifier)


def split_pepper(reader: Reader, text: bytes) -> tuple[bytes, bytes | None]:
    """Split a text into identifier and pepper; the pepper is None unless the part before the last `!` is peppered."""
    base, mark, pepper = text.rpartition(b"!")
    # Some repertoires contain `!`: a text that is known as a whole is an identifier, not an identifier and a pepper.
    if mark and reader.get(PEPPERS, base) is not None and find(reader, text) is None:
        return base, pepper
    return text, None


def ensure_pepper_matches(reader: Reader, identifier: bytes, display: bytes, pepper: bytes | None) -> None:
    """Raise ForbiddenError unless this is the pepper of the identifier, or the identifier has none.

    `display` is the identifier as written in answers.
    """
    stored = reader.get(PEPPERS, identifier)
    if stored is None:
        return
    name = printable(display)
    if pepper is None:
        raise ForbiddenError(f"{name} is peppered: to change it write {name}!PEPPER, as it was when it was minted")
    if not hmac.compare_digest(stored, _pepper_digest(identifier, pepper)):
        raise ForbiddenError(f"that is not the pepper of {name}")


# -- secrets of the minter -------------------------------------------------------------------------------------------

SECRET_SIZE = 32


def secret_of(minter: Minter, purpose: bytes) -> bytes:
    """The secret for a purpose, such as signing forms."""
    known = minter.read(lambda reader: reader.get(SECRETS, purpose))
    return known or minter.write(lambda writer: _make_secret(writer, purpose))


def _make_secret(writer: Writer, purpose: bytes) -> bytes:
    # Another process may have made it since it was looked for.
    secret = writer.get(SECRETS, purpose)
    if secret is None:
        secret = os.urandom(SECRET_SIZE)
        writer.put(SECRETS, purpose, secret)
    return secret
