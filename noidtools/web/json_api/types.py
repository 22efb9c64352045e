"""What requests to the JSON API contain, and what its answers do.  The OpenAPI document is made from these types."""

from __future__ import annotations

from base64 import b64decode, b64encode
from datetime import datetime
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from ...codec import encode_text
from ...errors import InvalidError

State = Literal["reserved", "published", "unavailable", "withdrawn"]


class Binary(Struct, forbid_unknown_fields=True):
    """A value that is not text in UTF-8."""

    base64: str


# The value of an element.
Value = str | Binary

_Many = Annotated[int, Meta(ge=1, le=1_000_000)]
_PageSize = Annotated[int, Meta(ge=1, le=1000)]


def json_value(value: str) -> Value:
    """A value as the Python interface returns it, for JSON."""
    octets = encode_text(value)
    try:
        return octets.decode()
    except UnicodeDecodeError:
        return Binary(b64encode(octets).decode())


def stored_value(value: Value) -> bytes:
    """A value from JSON, as it is stored; raises InvalidError for what is not base64."""
    if isinstance(value, str):
        return value.encode()
    try:
        return b64decode(value.base64, validate=True)
    except ValueError:
        raise InvalidError("a value in base64 is not valid base64") from None


# -- requests --------------------------------------------------------------------------------------------------------


class NewIdentifiers(Struct, forbid_unknown_fields=True):
    """Identifiers to be minted, all with the same elements."""

    count: _Many = 1
    elements: dict[str, Value] = {}
    state: Literal["reserved", "published"] | None = None


class Elements(Struct, forbid_unknown_fields=True):
    """All elements of an identifier, in place of those before."""

    elements: dict[str, Value]


class ElementsPatch(Struct, forbid_unknown_fields=True):
    """Elements to be bound; those that are null are removed, and the others stay (a JSON merge patch)."""

    elements: dict[str, Value | None]


class Nothing(Struct, forbid_unknown_fields=True):
    """The body of an action that takes none."""


class Explanation(Struct, forbid_unknown_fields=True):
    """Why the state of an identifier changes."""

    reason: str = ""


class WithdrawalReason(Struct, forbid_unknown_fields=True):
    """Why an identifier is withdrawn, and what to use instead."""

    reason: str = ""
    successor: str = ""


class MintOperation(Struct, tag_field="op", tag="mint", forbid_unknown_fields=True):
    """Mint an identifier, to which later operations refer by `$NAME` if it has `"as": "NAME"`."""

    as_: str = msgspec.field(default="", name="as")
    elements: dict[str, Value] = {}
    state: Literal["reserved", "published"] | None = None


class PatchOperation(Struct, tag_field="op", tag="patch", forbid_unknown_fields=True):
    """Bind or remove some elements."""

    id: str
    elements: dict[str, Value | None]


class PublishOperation(Struct, tag_field="op", tag="publish", forbid_unknown_fields=True):
    """Let the public resolve an identifier."""

    id: str


class ReserveOperation(Struct, tag_field="op", tag="reserve", forbid_unknown_fields=True):
    """Keep an identifier from the public."""

    id: str


class UnavailableOperation(Struct, tag_field="op", tag="unavailable", forbid_unknown_fields=True):
    """Show a tombstone until it is published again."""

    id: str
    reason: str = ""


class WithdrawOperation(Struct, tag_field="op", tag="withdraw", forbid_unknown_fields=True):
    """Take an identifier out of use for good."""

    id: str
    reason: str = ""
    successor: str = ""


Operation = (MintOperation | PatchOperation | PublishOperation | ReserveOperation | UnavailableOperation
             | WithdrawOperation)


class Batch(Struct, forbid_unknown_fields=True):
    """Operations in one minter: all or nothing, or, if it is not atomic, each on its own."""

    minter: str
    operations: Annotated[list[Operation], Meta(min_length=1, max_length=10_000)]
    atomic: bool = True


class SearchParameters(Struct):
    """What identifiers are searched for; `element.NAME` is words in the value of that element."""

    q: str = ""
    minter: str = ""
    prefix: str = ""
    target: str = ""
    host: str = ""
    state: State | None = None
    changed_since: str = ""
    changed_until: str = ""
    limit: _PageSize = 100
    cursor: str = ""


class ResolveParameters(Struct):
    """Whether the answer lists each step."""

    explain: bool = False


# -- answers ---------------------------------------------------------------------------------------------------------


class Minter(Struct):
    """A minter, how full it is, and what the sender of the request may do."""

    name: str
    scheme: str
    template: str
    term: str
    naan: str
    authority: str
    labels: list[str]
    drawn: int
    total: int | None
    held: int
    queued: int
    created: datetime | None
    changed: datetime | None
    may: list[Literal["read", "mint", "bind", "admin"]]


class MinterList(Struct):
    """The minters that the sender of the request may read."""

    minters: list[Minter]


class Identifier(Struct, omit_defaults=True):
    """An identifier and what is bound to it."""

    id: str
    minter: str
    url: str
    state: State
    elements: dict[str, Value]
    created: datetime | None = None
    changed: datetime | None = None
    alias_of: str | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    successor: str | UnsetType = UNSET


class Minted(Struct):
    """Identifiers that were minted."""

    identifiers: list[Identifier]


class IdentifierPage(Struct, omit_defaults=True):
    """Some of the identifiers that were found; `next` is the cursor of the page after it."""

    items: list[Identifier]
    next: str | UnsetType = UNSET


class Change(Struct, omit_defaults=True):
    """What became of one property or element; `before` and `after` are null where there was nothing."""

    what: str
    element: bool
    before: Value | None = None
    after: Value | None = None


class Event(Struct, omit_defaults=True):
    """One event in the history of an identifier; only administrators see `who`."""

    number: int
    date: datetime
    action: str
    interface: str
    changes: list[Change]
    who: str | UnsetType = UNSET


class History(Struct):
    """The events of an identifier, oldest first."""

    events: list[Event]


class Relation(Struct, omit_defaults=True):
    """A relation of an identifier to another name."""

    relation: str
    name: str
    current: bool
    authority: str | UnsetType = UNSET
    start: datetime | None = None
    until: datetime | None = None


class Relations(Struct):
    """The relations of an identifier."""

    relations: list[Relation]


class Citation(Struct):
    """Ways to write an identifier, by what they are called."""

    forms: dict[str, list[str]]


class Target(Struct):
    """An address to which a name leads, and the status of the redirect."""

    url: str
    code: int


class Step(Struct):
    """A step of the resolution, and what it found."""

    step: str
    found: str


class Resolved(Struct, omit_defaults=True):
    """Where a name leads, and why."""

    outcome: str
    identifier: str
    targets: list[Target]
    step: str | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    trace: list[Step] | UnsetType = UNSET


class Problem(Struct, omit_defaults=True):
    """Why a request was refused (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str


class OperationResult(Struct, omit_defaults=True):
    """What became of one operation of a batch."""

    status: int
    identifier: Identifier | UnsetType = UNSET
    problem: Problem | UnsetType = UNSET


class BatchResult(Struct):
    """What became of the operations of a batch, in their order."""

    results: list[OperationResult]
