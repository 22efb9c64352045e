"""Aliases: names that stand for other names, and resolve as those do."""

from __future__ import annotations

from ..errors import ConflictError, NotFoundError, printable
from ..times import timestamp
from . import identifiers, name_tables, queue, relations
from .circulation import HELD, Circulation, ensure_not_withdrawn, save
from .events import Change, record_event
from .identifiers import NameRef
from .meta import add_to_held_count
from .relations import ALIAS, ALIAS_OF, Relation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..store import Reader, Writer
    from . import Minter
    from .events import Actor


# How many aliases in a row resolution follows.
LONGEST_CHAIN = 16


class AliasChange:
    """An alias that was created or removed, and its target; `unqueued` is whether the alias was in the queue."""

    __slots__ = ("alias", "target", "unqueued")

    def __init__(self, alias: NameRef, target: NameRef, unqueued: bool) -> None:
        self.alias = alias
        self.target = target
        self.unqueued = unqueued


def create_alias(
    minter: Minter, writer: Writer, actor: Actor, alias: bytes, target: bytes, authority: bytes = b""
) -> AliasChange:
    """Make a name an alias of another.

    The alias may be a name that this minter could not mint, or one that was issued; its bindings stay, but it resolves
    to what its target resolves to.  It is held, so that it is not minted for something else.  Raises ConflictError if
    it is reserved, if it or its target was withdrawn, or if the chain of aliases would be a loop or too long.
    """
    ref, other = identifiers.identify(minter, writer, alias), identifiers.identify(minter, writer, target)
    record = ref.record or Circulation()
    _ensure_may_be_alias(writer, ref, record)
    for name in (ref, other):
        identifiers.ensure_not_abstract(writer, name)
    ensure_not_withdrawn(other.display, other.record, "the target of an alias")
    if ref.key == other.key:
        raise ConflictError(f"{printable(ref.display)} cannot stand for itself")
    if authority:
        relations.ensure_authority(authority)
    before = _relation_of(writer, ref.key)
    if before is not None:
        _delete_alias_relations(writer, ref.key, before)
    changes = [Change(b"alias-of", before.display if before else None, other.display, ref.key)]
    if authority or (before and before.authority):
        changes.append(Change(b"authority", (before.authority or None) if before else None, authority or None, ref.key))
    if not record.held:
        changes.append(Change(b"hold", None, b"held", ref.key))
    if record.queued:
        changes.append(Change(b"queue", b"queued", None, ref.key))
    event = record_event(writer, actor, b"alias", ids=_distinct(ref.key, other.key), changes=changes)
    start = timestamp(actor.now())
    name_tables.put_alias(writer, ref.key, other.display)
    relations.put_relation(writer, ref.key, Relation(ALIAS_OF, other.key, other.display, authority, start, event=event))
    relations.put_relation(writer, other.key, Relation(ALIAS, ref.key, ref.display, authority, start, event=event))
    _ensure_no_loop(minter, writer, ref)
    return AliasChange(ref, other, _hold(minter, writer, ref.key, record, event))


def remove_alias(minter: Minter, writer: Writer, actor: Actor, alias: bytes) -> AliasChange:
    """Remove an alias; raises NotFoundError if the name is none, and ConflictError if others would be a loop then.

    The name stays on hold, because it may be in use for its former target.
    """
    ref = identifiers.identify(minter, writer, alias)
    before = _relation_of(writer, ref.key)
    if before is None:
        raise NotFoundError(f"{printable(ref.display)} is not an alias")
    identifiers.ensure_pepper(writer, ref)
    _delete_alias_relations(writer, ref.key, before)
    name_tables.delete_alias(writer, ref.key)
    _ensure_those_above_end(minter, writer, ref.key)
    changes = [Change(b"alias-of", before.display, None, ref.key)]
    if before.authority:
        changes.append(Change(b"authority", before.authority, None, ref.key))
    record_event(writer, actor, b"alias remove", ids=_distinct(ref.key, before.other), changes=changes)
    return AliasChange(ref, NameRef(before.other, before.display), False)


def end_of_chain(reader: Reader, key: bytes) -> bytes:
    """The name at the end of a chain of aliases; the name itself if it is no alias."""
    for _ in range(LONGEST_CHAIN + 1):
        relation = _relation_of(reader, key)
        if relation is None:
            break
        key = relation.other
    return key


def ensure_no_alias(reader: Reader, ref: NameRef, done: str) -> None:
    """Raise ConflictError if the name is an alias.  `done` is the participle for the message: it cannot be `done`."""
    relation = _relation_of(reader, ref.key)
    if relation is not None:
        raise ConflictError(
            f"{printable(ref.display)} is an alias and follows {printable(relation.display)}: it cannot be {done} by "
            "itself; "
            f"to make it a name of its own say 'noid alias --remove {printable(ref.display)}'"
        )


def _ensure_may_be_alias(reader: Reader, ref: NameRef, record: Circulation) -> None:
    identifiers.ensure_pepper(reader, ref)
    ensure_not_withdrawn(ref.display, record, "made an alias")
    if record.reserved:
        raise ConflictError(f"{printable(ref.display)} is reserved: publish it before making it an alias")


def _relation_of(reader: Reader, key: bytes) -> Relation | None:
    return next(relations.relations_of(reader, key, ALIAS_OF), None)


def _delete_alias_relations(writer: Writer, key: bytes, relation: Relation) -> None:
    relations.delete_relation(writer, key, relation)
    relations.delete_relation(writer, relation.other, Relation(ALIAS, key))


def _hold(minter: Minter, writer: Writer, key: bytes, record: Circulation, event: int) -> bool:
    """Put a name on hold and take it out of the queue; returns whether it was queued."""
    queued = record.queued
    if queued:
        record = queue.take_from_queue(minter, writer, key, record, event)
    if not record.held:
        record.flags |= HELD
        add_to_held_count(writer, 1)
    save(writer, key, record)
    return queued


def ensure_ends(minter: Minter, reader: Reader, key: bytes) -> None:
    """Raise ConflictError if the aliases that are followed from this one are a loop."""
    _chain_from(minter, reader, key)


# -- loops and long chains -------------------------------------------------------------------------------------------


def _ensure_no_loop(minter: Minter, reader: Reader, ref: NameRef) -> None:
    """Raise ConflictError if the alias that was just written makes a loop, or a chain that is too long.

    Aliases are followed as in resolution, where an alias also applies to names that extend it.  So the aliases whose
    targets extend this one are checked, too.  Bindings and rules are ignored, because they may change at any time.
    """
    down = len(_chain_from(minter, reader, ref.key))
    _ensure_those_above_end(minter, reader, ref.key)
    if down + _chain_length_above(reader, ref.key) > LONGEST_CHAIN:
        raise ConflictError(f"the chain of aliases through {printable(ref.display)} would have more than "
                            f"{LONGEST_CHAIN} links: let the alias stand for the name at the end of the chain")


def _ensure_those_above_end(minter: Minter, reader: Reader, key: bytes) -> None:
    """Raise ConflictError if an alias of this name, or of one that extends it, is in a loop.

    A name that is no longer an alias may extend another one, which is followed in its place.
    """
    for upper in relations.relations_of_extensions(reader, key, ALIAS):
        _chain_from(minter, reader, upper.other)


def _chain_from(minter: Minter, reader: Reader, key: bytes) -> list[bytes]:
    """The alias and those that are followed after it; raises ConflictError if one of them comes twice."""
    chain = [key]
    text = name_tables.alias_target(reader, key) or b""
    while len(chain) <= LONGEST_CHAIN:
        following = _next_alias(minter, reader, text)
        if following is None:
            break
        if following[0] in chain:
            path = [*chain[chain.index(following[0]) :], following[0]]
            loop = " -> ".join(printable(minter.namespace.display(key)) for key in path)
            raise ConflictError(f"that would be a loop of aliases: {loop}")
        chain.append(following[0])
        text = following[1]
    return chain


def _next_alias(minter: Minter, reader: Reader, text: bytes) -> tuple[bytes, bytes] | None:
    """The alias that a name is or extends, and the name to go on with; None if there is none."""
    space = minter.namespace
    name = identifiers.parse_name(minter, reader, text)
    for keys, rest in ((space.spellings(name), b""), *space.beginnings(name)):
        for key in keys:
            target = name_tables.alias_target(reader, key)
            if target is not None:
                return key, target + rest
    return None


def _chain_length_above(reader: Reader, key: bytes) -> int:
    """The length of the longest chain of aliases that ends at a name, at most one more than is allowed."""
    level = [key]
    for height in range(LONGEST_CHAIN + 1):
        level = [relation.other for name in level for relation in relations.relations_of(reader, name, ALIAS)]
        if not level:
            return height
    return LONGEST_CHAIN + 1


def _distinct(*keys: bytes) -> list[bytes]:
    return list(dict.fromkeys(keys))
