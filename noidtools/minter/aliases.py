"""Aliases, which stand for other names and resolve as those do; and preferred names.

An authority may prefer one of the names that it claims to be synonyms.  It guarantees that the preferred name persists
(PILIN ontology, 5.6), so only a name can be preferred for which somebody here is committed to that.
"""

from __future__ import annotations

from ..errors import ConflictError, NotFoundError, UsageError, printable
from . import circulation, identifiers, queue
from .circulation import Circulation, ensure_not_withdrawn
from .events import Change, property_changes, record_event
from .identifiers import NameRef
from .policies import persistence
from .relations import (
    ALIAS,
    ALIAS_OF,
    PREFERRED,
    SYNONYM,
    Relation,
    delete_relation,
    ensure_authority,
    put_relation,
    relations_of,
    relations_of_extensions,
)
from .schema import ALIASES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..store import Reader, Writer
    from . import Minter
    from .events import Actor


# -- aliases ---------------------------------------------------------------------------------------------------------

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
        raise ConflictError(f"{printable(ref.display)} cannot be an alias of itself")
    if authority:
        ensure_authority(authority)
    before = _relation_of(writer, ref.key)
    if before is not None:
        _delete_alias_relations(writer, ref.key, before)
    changes = property_changes(ref.key, _properties(before), {"alias-of": other.display, "authority": authority},
                               always=("alias-of", "authority"))
    if not record.held:
        changes.append(Change(b"hold", None, b"held", ref.key))
    if record.queued:
        changes.append(Change(b"queue", b"queued", None, ref.key))
    event = record_event(writer, actor, b"alias", ids=[ref.key, other.key], changes=changes)
    start = actor.date()
    writer.put(ALIASES, ref.key, other.display)
    put_relation(writer, ref.key, Relation(ALIAS_OF, other.key, other.display, authority, start, event=event))
    put_relation(writer, other.key, Relation(ALIAS, ref.key, ref.display, authority, start, event=event))
    _ensure_no_loop(minter, writer, ref)
    return AliasChange(ref, other, queue.place_hold(minter, writer, ref.key, record, event))


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
    writer.delete(ALIASES, ref.key)
    _ensure_those_above_end(minter, writer, ref.key)
    record_event(writer, actor, b"alias remove", ids=dict.fromkeys((ref.key, before.other)),
                 changes=property_changes(ref.key, _properties(before), {}))
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
            "itself; remove the alias to make it a name of its own"
        )


def _ensure_may_be_alias(reader: Reader, ref: NameRef, record: Circulation) -> None:
    identifiers.ensure_pepper(reader, ref)
    ensure_not_withdrawn(ref.display, record, "made an alias")
    if record.reserved:
        raise ConflictError(f"{printable(ref.display)} is reserved: publish it before making it an alias")


def _relation_of(reader: Reader, key: bytes) -> Relation | None:
    return next(relations_of(reader, key, ALIAS_OF), None)


def _properties(relation: Relation | None) -> dict[str, bytes]:
    return {"alias-of": relation.display, "authority": relation.authority} if relation else {}


def _delete_alias_relations(writer: Writer, key: bytes, relation: Relation) -> None:
    delete_relation(writer, key, relation)
    delete_relation(writer, relation.other, Relation(ALIAS, key))


# -- loops and long chains -------------------------------------------------------------------------------------------


def _ensure_no_loop(minter: Minter, reader: Reader, ref: NameRef) -> None:
    """Raise ConflictError if the alias that was just written makes a loop, or a chain that is too long.

    Aliases are followed as in resolution, where an alias also applies to names that extend it.  So the aliases whose
    targets extend this one are checked, too.  Bindings and rules are ignored, because they may change at any time.
    """
    down = len(chain_from(minter, reader, ref.key))
    _ensure_those_above_end(minter, reader, ref.key)
    if down + _chain_length_above(reader, ref.key) > LONGEST_CHAIN:
        raise ConflictError(f"the chain of aliases through {printable(ref.display)} would have more than "
                            f"{LONGEST_CHAIN} links: let the alias stand for the name at the end of the chain")


def _ensure_those_above_end(minter: Minter, reader: Reader, key: bytes) -> None:
    """Raise ConflictError if an alias of this name, or of one that extends it, is in a loop.

    A name that is no longer an alias may extend another one, which is followed in its place.
    """
    for upper in relations_of_extensions(reader, key, ALIAS):
        chain_from(minter, reader, upper.other)


def chain_from(minter: Minter, reader: Reader, key: bytes) -> list[bytes]:
    """The alias and those that are followed after it; raises ConflictError if one of them comes twice."""
    chain = [key]
    text = circulation.alias_target(reader, key) or b""
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
            target = circulation.alias_target(reader, key)
            if target is not None:
                return key, target + rest
    return None


def _chain_length_above(reader: Reader, key: bytes) -> int:
    """The length of the longest chain of aliases that ends at a name, at most one more than is allowed."""
    level = [key]
    for height in range(LONGEST_CHAIN + 1):
        level = [relation.other for name in level for relation in relations_of(reader, name, ALIAS)]
        if not level:
            return height
    return LONGEST_CHAIN + 1


# -- preferred names -------------------------------------------------------------------------------------------------


def prefer_name(
    minter: Minter, writer: Writer, actor: Actor, text: bytes, authority: bytes = b""
) -> tuple[NameRef, Relation]:
    """Record that an authority prefers a name among its synonyms, in place of another that it preferred.

    `authority` may be empty if the synonyms of the name are claimed by one authority only.  Raises NotFoundError if
    there are none, ConflictError if the name is preferred already, was withdrawn, or if nobody here is committed to its
    persistence.
    """
    ref = identifiers.identify_for_claim(minter, writer, text)
    ensure_not_withdrawn(ref.display, ref.record, "preferred")
    authority = _sole_authority(writer, ref, SYNONYM, authority,
                                f"{printable(ref.display)} has no synonym to which it could be preferred")
    before = next(_preferred(writer, ref.key, authority), None)
    if before == ref.key:
        raise ConflictError(f"{printable(ref.display)} is preferred by {printable(authority)} already")
    _ensure_commitment(minter, writer, ref, authority, actor.date())
    changes = [Change(b"preferred", None, authority, ref.key)]
    ids = [ref.key]
    if before is not None:
        ids.append(before)
        changes.append(Change(b"preferred", authority, None, before))
        delete_relation(writer, before, Relation(PREFERRED, b"", authority=authority))
    event = record_event(writer, actor, b"prefer", ids=ids, changes=changes)
    relation = Relation(PREFERRED, b"", b"", authority, actor.date(), event=event)
    put_relation(writer, ref.key, relation)
    return ref, relation


def _ensure_commitment(minter: Minter, reader: Reader, ref: NameRef, authority: bytes, today: bytes) -> None:
    """Raise ConflictError unless the persistence of a name is guaranteed.

    The minter guarantees it for what is registered here, by being long-term or by its policy on persistence; the
    authority does so for any name by stating that it is persistent.
    """
    from . import qualities  # which other commands about names do without

    if qualities.guarantees_persistence(reader, ref.key, authority, today):
        return
    promise = persistence(reader)
    promised = promise is not None and promise.start <= today and (not promise.until or today <= promise.until)
    if ref.known and (promised or minter.settings.long_term):
        return
    what = "nothing is promised of this minter's names" if ref.known else "it is not registered here"
    raise ConflictError(f"nobody here is committed to {printable(ref.display)}, because {what}: promise "
                        "persistence in a policy for the minter's own names, or let the authority state that this one "
                        "is persistent")


def remove_preference(
    minter: Minter, writer: Writer, actor: Actor, text: bytes, authority: bytes = b""
) -> tuple[NameRef, Relation]:
    """Remove the preference of an authority for a name; raises NotFoundError if it has none."""
    ref = identifiers.identify_for_claim(minter, writer, text)
    authority = _sole_authority(writer, ref, PREFERRED, authority, f"{printable(ref.display)} is preferred by nobody")
    removed = next(relation for relation in relations_of(writer, ref.key, PREFERRED) if relation.authority == authority)
    delete_relation(writer, ref.key, removed)
    record_event(writer, actor, b"prefer remove", ids=[ref.key], changes=[Change(b"preferred", authority, None)])
    return ref, removed


def drop_preferences(writer: Writer, key: bytes) -> list[Change]:
    """Remove all preferences for a name.  Returns the changes, for the caller to record in an event."""
    changes = []
    for relation in list(relations_of(writer, key, PREFERRED)):
        delete_relation(writer, key, relation)
        changes.append(Change(b"preferred", relation.authority, None, key))
    return changes


def synonym_group(reader: Reader, key: bytes, authority: bytes) -> list[bytes]:
    """A name and all its synonyms according to an authority, directly or through other synonyms."""
    group = {key: None}
    pending = [key]
    while pending:
        for relation in relations_of(reader, pending.pop(), SYNONYM):
            if relation.authority == authority and relation.other not in group:
                group[relation.other] = None
                pending.append(relation.other)
    return list(group)


def _preferred(reader: Reader, key: bytes, authority: bytes) -> Iterator[bytes]:
    """Those of the synonyms of a name, itself included, that an authority prefers."""
    for name in synonym_group(reader, key, authority):
        if any(relation.authority == authority for relation in relations_of(reader, name, PREFERRED)):
            yield name


def ensure_one_preferred(reader: Reader, first: NameRef, second: NameRef, authority: bytes) -> None:
    """Raise ConflictError if an authority prefers one name in each of two groups that are about to become one."""
    ones, others = set(_preferred(reader, first.key, authority)), set(_preferred(reader, second.key, authority))
    if ones and others and ones != others:
        two = " and ".join(printable(name) for name in sorted(ones | others))
        raise ConflictError(
            f"{printable(authority)} prefers both {two}", "remove one with 'noid prefer --remove' first"
        )


def drop_idle_preference(writer: Writer, key: bytes, authority: bytes) -> list[Change]:
    """Remove the preference of an authority for a name that no longer has synonyms according to it."""
    if any(relation.authority == authority for relation in relations_of(writer, key, SYNONYM)):
        return []
    changes = []
    for relation in list(relations_of(writer, key, PREFERRED)):
        if relation.authority == authority:
            delete_relation(writer, key, relation)
            changes.append(Change(b"preferred", authority, None, key))
    return changes


def _sole_authority(reader: Reader, ref: NameRef, kind: bytes, authority: bytes, none: str) -> bytes:
    """The authority of the relations of one kind: the one named, or the only one there is.

    Raises NotFoundError with the message `none` if there is none, UsageError if there are several and none is named.
    """
    known = {relation.authority for relation in relations_of(reader, ref.key, kind)}
    if not known or (authority and authority not in known):
        raise NotFoundError(none if not known else f"{none}, according to {printable(authority)}")
    if authority:
        return authority
    if len(known) > 1:
        names = ", ".join(sorted(printable(name) for name in known))
        raise UsageError(f"several authorities prefer it: name one of {names}")
    return known.pop()
