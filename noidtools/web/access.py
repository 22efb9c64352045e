"""Minters as the sender of a request may use them, for the interfaces whose requests are not commands of ours.

Each of these interfaces asks here which minter a name, or a NAAN and a shoulder, belongs to.  It gets the Python
interface of that minter, which shows what the sender may see, and changes it as commands do: in one transaction, which
requests at the same time share, and once for each Idempotency-Key.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext, suppress
from functools import cache
from typing import Any

from .. import names
from ..api import MinterMethods
from ..codec import decode_text, encode_text, pack, unpack
from ..commands.call import Invocation
from ..description.facts import FoundName
from ..errors import ConflictError, NotFoundError, printable
from ..minter import Minter
from ..minter.events import Actor
from ..minter.folder import MinterFolder
from ..minter.identifiers import identify_beginning
from ..minter.policies import MINT, READ, AccessPolicy
from ..minter.replies import KeyReplies
from ..minter.tokens import secret_of
from ..resolution import target_element
from ..resolution.catalogue import Catalogue, MinterEntry, entry_of
from ..search import Page, Query, find
from ..store import Writer
from ..times import SECOND
from .body import read_body
from .group_commit import WriterSlots, run_in_group
from .request import Request
from .response import HttpError, Response
from .work_limit import WorkLimit

# The largest body for these interfaces: a request is one transaction, for which others wait.
_LARGEST_BODY = 64 << 20
# The most names in one request of a sender who may only read, so that a few of them do not occupy the server.
_READERS_NAMES = 1000


class MinterAccess:
    """A minter and what the sender of a request may do with it.

    name    that of its folder
    minter  the minter itself
    actor   who changes it, as events record it
    """

    def __init__(self, request: Request, name: str, minter: Minter, slots: WriterSlots | None) -> None:
        self.name = name
        self.minter = minter
        self._request = request
        self._policy: AccessPolicy = request.authenticate(minter)
        self._limit = WorkLimit.of(self._policy, request.user, 0)
        self._slots = slots
        self.actor = Actor(request.contact, b"web")
        self.actor.token = request.token

    @property
    def user(self) -> bytes:
        """The name of the user, empty for one who did not log in."""
        return self._request.user

    @property
    def may_change(self) -> bool:
        """Whether the sender may do more than read."""
        return self._policy.may_change(self.user)

    @property
    def mint_limit(self) -> int:
        """How many identifiers the sender may mint at once."""
        return self._policy.mint_limit

    @property
    def begins(self) -> str:
        """What the names of the minter begin with, as they are written; may be empty."""
        return decode_text(self.minter.namespace.display(self.minter.scheme.namespace_prefix))

    @property
    def target(self) -> str:
        """The element that holds targets."""
        return decode_text(self.minter.read(target_element))

    def may(self, access: str) -> bool:
        """Whether the sender is admitted to an access class."""
        return self._policy.rules[access].admits(self.user)

    def may_give(self, *command: str) -> bool:
        """Whether the sender may give a command, by the access classes of its form."""
        return all(map(self.may, classes_of(*command)))

    def ensure(self, what: str, *classes: str) -> None:
        """Raise LoginNeededError or ForbiddenError unless the sender is admitted to these access classes."""
        self._policy.ensure(what, classes, self.user)

    def claims(self, name: bytes) -> bool:
        """Whether a name begins as those of the minter do: with its NAAN and shoulder."""
        return names.parse(name).body.startswith(self.minter.scheme.namespace_prefix)

    def ensure_may_mint(self, count: int) -> None:
        """Raise HttpError if the request would mint more identifiers than it may, and as `ensure` if it may mint none.
        """
        self.ensure("minting", MINT)
        self._limit.count_mints(count)

    def python(self) -> MinterMethods:
        """The Python interface of the minter; it shows what the sender may see."""
        return MinterMethods(self.minter, self.actor, self._policy.view(self.user))

    def find(self, *, prefix: str = "", limit: int, cursor: str, **query: Any) -> Page:
        """The names that fit a query (see search.Query), as the sender may see them."""
        start = encode_text(prefix)
        beginning = self.minter.read(lambda reader: identify_beginning(self.minter, reader, start)) if start else b""
        found = Query(prefix=beginning, **query)
        return find(self.minter, self._policy.view(self.user), found, limit, cursor)

    def change(self, what: str, access: tuple[str, ...], work: Callable[[MinterMethods], Response],
               body: bytes = b"", form: bytes = b"") -> Response:
        """The response of `work`, which changes the minter in one transaction.

        With an Idempotency-Key, or the nonce of a `form`, it is done once, and the response of the first time is
        repeated; `body` is that of the request.  Raises ForbiddenError for what a page of another site sends.
        """
        request, minter = self._request, self.minter
        request.ensure_may_write()
        self.ensure(what, *access)
        key = form or request.idempotency_key

        def run(writer: Writer) -> Response:
            # The transaction may be repeated: what was counted in the one before does not count.
            self._limit = WorkLimit.of(self._policy, self.user, 0)
            if not key:
                return work(self.python())
            replies = KeyReplies(request.owner, key, self.actor.now() // SECOND)
            sent = _digest(request, body)
            stored = replies.find(writer, 0)
            if stored is None:
                response = work(self.python())
                replies.store(writer, 0, sent, _packed(response))
                return response
            if stored[0] != sent:
                raise ConflictError("this form was sent before with other values: load the page again, and fill it in "
                                    "there" if form else
                                    "this Idempotency-Key was used for another request: a new request needs a new key")
            return _unpacked(stored[1])

        with self._slots.taken(minter) if self._slots else nullcontext():
            return run_in_group(minter, lambda: minter.write(run))


class Minters:
    """The minters that are served; `slots` keep threads free for reading.

    folder  the minters themselves, by which `rendering.renderer_of` finds the look of the site
    """

    def __init__(self, folder: MinterFolder, slots: WriterSlots | None) -> None:
        self.folder = folder
        self._catalogue = Catalogue(folder)
        self._slots = slots

    def readable(self, request: Request) -> list[MinterAccess]:
        """The minters that the sender may read, in the order of their names; with a token those of the token.

        Raises HttpError for a token that none of them knows.
        """
        return list(self.each_readable(request))

    def each_readable(self, request: Request) -> Iterator[MinterAccess]:
        """The same one by one: of many minters, those that were used last are open."""
        known, unknown = False, None
        for entry in self._catalogue.entries():
            try:
                access = self._access(request, entry)
            except HttpError as error:  # the token is one of other minters
                unknown = error
                continue
            known = True
            if access.may(READ):
                yield access
        if unknown is not None and not known:
            raise unknown

    def ensure_may_read(self, request: Request, count: int) -> None:
        """Raise HttpError for more names at once than a sender may ask for who may only read."""
        if count > _READERS_NAMES and not any(access.may_change for access in self.each_readable(request)):
            raise HttpError(413, "too large", f"a user who may only read can ask for {_READERS_NAMES} names in one "
                            "request: send several")

    def know(self, request: Request) -> bool:
        """Whether the sender has logged in, perhaps with a token of any of the minters."""
        if not request.token_digest:
            return bool(request.user)
        for entry in self._catalogue.entries():
            with suppress(HttpError):
                request.authenticate(entry.open())
                return True
        return False

    def secret(self, purpose: bytes) -> bytes:
        """A secret that all processes share; the first minter keeps it.  Raises NotFoundError if there is none."""
        return secret_of(self._first(), purpose)

    def end_session(self, session: bytes) -> None:
        """End a session for every process; the first minter remembers it for a day."""
        self._first().write(lambda writer: _ended(session).store(writer, 0, b"", b""))

    def has_ended(self, session: bytes) -> bool:
        """Whether a session is over."""
        return bool(self._first().read(_ended(session).since))

    def _first(self) -> Minter:
        for entry in self._catalogue.entries():
            return entry.open()
        raise NotFoundError("there is no minter here")

    def named(self, request: Request, name: str) -> MinterAccess:
        """The minter in the folder of this name; raises NotFoundError if there is none."""
        for entry in self._catalogue.entries():
            if entry.name == name:
                return self._access(request, entry)
        raise NotFoundError(f"there is no minter {name[:60]!a} here")

    def at_shoulder(self, request: Request, prefix: bytes) -> MinterAccess:
        """The minter that mints ARKs with this NAAN and shoulder, `13030/kt`; raises NotFoundError if there is none.

        The prefix may have a label of ARKs in front.
        """
        wanted = names.parse(prefix).body.rstrip(b"/")
        for entry in self._catalogue.entries():
            minter = entry.open()
            prefix_here = minter.scheme.namespace_prefix.rstrip(b"/")
            if minter.settings["template"] and prefix_here == wanted and _has_arks(minter):
                return self._access(request, entry)
        raise NotFoundError(f"no minter here mints names that begin with {printable(prefix)[:60]}")

    def minting_below(self, request: Request, label: bytes, beginning: bytes) -> MinterAccess:
        """The first minter with this label whose new names all begin like this; raises NotFoundError if there is none.
        """
        wanted = names.parse(label + beginning).body.lower()
        for entry in self._catalogue.entries():
            minter = entry.open()
            is_below = not entry.accepts_any_name and minter.scheme.namespace_prefix.lower().startswith(wanted)
            if is_below and label in minter.namespace.labels:
                return self._access(request, entry)
        raise NotFoundError(f"no minter here mints names that begin with {printable(label + beginning)[:60]}")

    def find(
        self, request: Request, minter: str = "", *, limit: int, cursor: str = "", **query: Any
    ) -> tuple[list[tuple[MinterAccess, FoundName]], str]:
        """The names that fit a query, in one minter or in all that the sender may read, and the cursor to go on from.

        The cursor is empty after the last name; the other arguments are those of MinterAccess.find.
        """
        minters = [self.named(request, minter)] if minter else self.readable(request)
        first, _, place = cursor.partition(":")
        found: list[tuple[MinterAccess, FoundName]] = []
        for number, access in enumerate(minters):
            if access.name < first:
                continue
            access.ensure("reading", READ)
            page = access.find(limit=limit - len(found), cursor=place if access.name == first else "", **query)
            found += [(access, name) for name in page.names]
            if page.cursor:
                return found, f"{access.name}:{page.cursor}"
            if len(found) == limit:
                return found, f"{minters[number + 1].name}:" if number + 1 < len(minters) else ""
        return found, ""

    def of_name(self, request: Request, text: bytes) -> MinterAccess:
        """The minter to which a name belongs, in any spelling; raises NotFoundError if there is none."""
        entry = entry_of(self._catalogue.entries(), text)
        if entry is None:
            raise NotFoundError(f"no minter here is responsible for {printable(text)[:60]}")
        return self._access(request, entry)

    def of_ark(self, request: Request, text: bytes) -> MinterAccess:
        """The minter to which an ARK belongs; raises NotFoundError if there is none, or if its names are no ARKs."""
        access = self.of_name(request, text)
        if not _has_arks(access.minter):
            raise NotFoundError(f"no minter here is responsible for {printable(text)[:60]}")
        return access

    def _access(self, request: Request, entry: MinterEntry) -> MinterAccess:
        return MinterAccess(request, entry.name, entry.open(), self._slots)


def _has_arks(minter: Minter) -> bool:
    """Whether the names of a minter are ARKs, with or without a label."""
    return names.parse(minter.namespace.display(minter.scheme.namespace_prefix)).scheme in (b"", b"ark")


def _ended(session: bytes) -> KeyReplies:
    return KeyReplies(b"session", session, int(time.time()))


@cache
def classes_of(*command: str) -> tuple[str, ...]:
    """The access classes that a command needs, by its form."""
    return Invocation([encode_text(word) for word in command]).access


def hold_unless_known(api: MinterMethods, name: str | bytes) -> bool:
    """Put a name on hold of which nothing is stored, so that it can be bound and is never minted; returns whether."""
    try:
        api.fetch(name)
    except NotFoundError:
        api.hold(name)
        return True
    return False


def bind_or_remove(api: MinterMethods, name: str | bytes, elements: Mapping[str, str | bytes | None]) -> None:
    """Bind elements; those whose value is None are removed.  A name that cannot be bound is refused even for none."""
    bound = {element: value for element, value in elements.items() if value is not None}
    if bound or not elements:
        api.bind_many(name, bound)
    for element in elements:
        if element not in bound:
            api.bind(name, element, how="purge")


def whole_body(request: Request) -> bytes:
    """The body of a request; raises HttpError if it is too large, cut off, or of unknown length."""
    body = read_body(request.environ, _LARGEST_BODY)
    try:
        return body.file.read()
    finally:
        body.close()


# -- responses that can be repeated ----------------------------------------------------------------------------------


def _digest(request: Request, body: bytes) -> bytes:
    parts = [request.method, request.path, request.header("QUERY_STRING")]
    return hashlib.sha256(pack([*(part.encode("utf-8", "surrogateescape") for part in parts), body])).digest()


def _packed(response: Response) -> bytes:
    if not isinstance(response.body, bytes):
        raise TypeError("a response that is stored has a body of bytes")
    headers = [text.encode("latin-1") for header in response.headers for text in header]
    return pack([b"%d" % response.status, response.content_type.encode("latin-1"), response.body, *headers])


def _unpacked(packed: bytes) -> Response:
    status, content_type, body, *headers = unpack(packed)
    texts = [text.decode("latin-1") for text in headers]
    pairs = list(zip(texts[::2], texts[1::2], strict=True))
    return Response(int(status), content_type.decode("latin-1"), body, [*pairs, ("Idempotency-Replayed", "true")])
