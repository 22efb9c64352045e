"""Aliases: names that stand for other names, and follow whatever those do."""

from __future__ import annotations

from ..clock import timestamp
from ..errors import ConflictError, NotFoundError, printable
from . import identifiers, queue, records, relations
from .events import Change, record_event
from .identifiers import NameRef
from .meta import add_to_held_count
from .records import HELD, Circulation, ensure_not_withdrawn, save
from .relations import ALIAS, ALIAS_OF, Relation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..store import Reader, Writer
    from . import Minter
    from .events import Actor


# As many as a resolver follows.
LONGEST_CHAIN = 16


class AliasChange:
    """What making an alias did."""

    __slots__ = ("alias", "target", "unqueued")

    def __init__(self, alias: NameRef, target: NameRef, unqueued: bool) -> None:
        self.alias = alias
        self.target = target
        self.unqueued = unqueued


def create_alias(
    minter: Minter, writer: Writer, actor: Actor, alias: bytes, target: bytes, authority: bytes = b""
) -> AliasChange:
    """Let a name stand for another from now on.

    The name may be one that this minter could not make, and may have been issued;
    what is bound to it stays, but is not what it resolves to.  It is held, so that
    it is not minted for something else.
    """
    own, other = identifiers.identify(minter, writer, alias), identifiers.identify(minter, writer, target)
    record = own.record or Circulation()
    _ensure_may_be_alias(writer, own, record)
    if own.key == other.key:
        raise ConflictError(f"{printable(own.display)} cannot stand for itself")
    if authority:
        relations.ensure_authority(authority)
    before = _relation_of(writer, own.key)
    if before is not None:
        _delete_alias_relations(writer, own.key, before)
    changes = [Change(b"alias-of", before.display if before else None, other.display, own.key)]
    if authority or (before and before.authority):
        changes.append(Change(b"authority", (before.authority or None) if before else None, authority or None, own.key))
    if not record.held:
        changes.append(Change(b"hold", None, b"held", own.key))
    if record.queued:
        changes.append(Change(b"queue", b"queued", None, own.key))
    event = record_event(writer, actor, b"alias", ids=_distinct(own.key, other.key), changes=changes)
    start = timestamp(actor.now())
    records.put_alias(writer, own.key, other.display)
    relations.put_relation(writer, own.key, Relation(ALIAS_OF, other.key, other.display, authority, start, event=event))
    relations.put_relation(writer, other.key, Relation(ALIAS, own.key, own.display, authority, start, event=event))
    _ensure_no_loop(minter, writer, own)
    return AliasChange(own, other, _hold(minter, writer, own.key, record, event))


def remove_alias(minter: Minter, writer: Writer, actor: Actor, alias: bytes) -> AliasChange:
    """Take an alias back.  The name stays on hold: somebody may have used it for what it stood for."""
    own = identifiers.identify(minter, writer, alias)
    before = _relation_of(writer, own.key)
    if before is None:
        raise NotFoundError(f"{printable(own.display)} is not an alias")
    identifiers.ensure_pepper(writer, own)
    _delete_alias_relations(writer, own.key, before)
    records.delete_alias(writer, own.key)
    changes = [Change(b"alias-of", before.display, None, own.key)]
    if before.authority:
        changes.append(Change(b"authority", before.authority, None, own.key))
    record_event(writer, actor, b"alias remove", ids=_distinct(own.key, before.other), changes=changes)
    return AliasChange(own, NameRef(before.other, before.display), False)


def end_of_chain(reader: Reader, key: bytes) -> bytes:
    """The name at the end of a chain of aliases; the name itself if it is none."""
    for _ in range(LONGEST_CHAIN + 1):
        relation = _relation_of(reader, key)
        if relation is None:
            break
        key = relation.other
    return key


def ensure_no_alias(reader: Reader, own: NameRef, done: str) -> None:
    """Refuse to do to an alias what only makes sense for what it stands for."""
    relation = _relation_of(reader, own.key)
    if relation is not None:
        raise ConflictError(
            f"{printable(own.display)} is an alias and follows {printable(relation.display)}: it cannot be {done} by "
            "itself; "
            f"to make it a name of its own say 'noid alias --remove {printable(own.display)}'"
        )


def _ensure_may_be_alias(reader: Reader, own: NameRef, record: Circulation) -> None:
    identifiers.ensure_pepper(reader, own)
    ensure_not_withdrawn(own.display, record, "made an alias")
    if record.reserved:
        raise ConflictError(f"{printable(own.display)} is reserved: publish it before making it an alias")


def _relation_of(reader: Reader, key: bytes) -> Relation | None:
    return next(relations.relations_of(reader, key, ALIAS_OF), None)


def _delete_alias_relations(writer: Writer, key: bytes, relation: Relation) -> None:
    relations.delete_relation(writer, key, relation)
    relations.delete_relation(writer, relation.other, Relation(ALIAS, key))


def _hold(minter: Minter, writer: Writer, key: bytes, record: Circulation, event: int) -> bool:
    """Whether the name left the queue for it."""
    queued = record.queued
    if queued:
        record = queue.take_from_queue(minter, writer, key, record, event)
    if not record.held:
        record.flags |= HELD
        add_to_held_count(writer, 1)
    save(writer, key, record)
    return queued


# -- loops -----------------------------------------------------------------------------------------------------------


def _ensure_no_loop(minter: Minter, reader: Reader, own: NameRef) -> None:
    """Refuse an alias, just made, by which some name would lead back to itself, or further than is followed.

    The way is that of a resolver: an alias also takes along what extends it.  So those aliases are looked
    at too whose targets extend this one.  Bindings and rules, which may come and go, are left out of account.
    """
    down = len(_chain_from(minter, reader, own.key))
    for upper in relations.relations_of_extensions(reader, own.key, ALIAS):
        _chain_from(minter, reader, upper.other)
    if down + _chain_length_above(reader, own.key) > LONGEST_CHAIN:
        raise ConflictError(f"the chain of aliases through {printable(own.display)} would have more than "
                            f"{LONGEST_CHAIN} links: let the alias stand for the name at the end of the chain")


def _chain_from(minter: Minter, reader: Reader, key: bytes) -> list[bytes]:
    """The aliases that are followed from one of them on."""
    way = [key]
    text = records.alias_target(reader, key) or b""
    while len(way) <= LONGEST_CHAIN:
        step = _next_alias(minter, reader, text)
        if step is None:
            break
        if step[0] in way:
            path = [*way[way.index(step[0]) :], step[0]]
            loop = " -> ".join(printable(minter.namespace.display(passed)) for passed in path)
            raise ConflictError(f"that would be a loop of aliases: {loop}")
        way.append(step[0])
        text = step[1]
    return way


def _next_alias(minter: Minter, reader: Reader, text: bytes) -> tuple[bytes, bytes] | None:
    """The alias that a name is, or extends, and the name to go on with."""
    space = minter.namespace
    name = space.parse(text)
    for keys, rest in ((space.spellings(name), b""), *space.beginnings(name)):
        for key in keys:
            target = records.alias_target(reader, key)
            if target is not None:
                return key, target + rest
    return None


def _chain_length_above(reader: Reader, key: bytes) -> int:
    """How many aliases there are one above the other over a name; more than a chain may have is not counted."""
    level = [key]
    for height in range(LONGEST_CHAIN + 1):
        level = [relation.other for name in level for relation in relations.relations_of(reader, name, ALIAS)]
        if not level:
            return height
    return LONGEST_CHAIN + 1


def _distinct(*keys: bytes) -> list[bytes]:
    return list(dict.fromkeys(keys))
