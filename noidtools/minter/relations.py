"""Relations between names: aliases, synonyms, preferred names, successors.

Each relation is stored under both names, so that it is found from either: an alias and its target, two synonyms, a
withdrawn name and its successor.  That an authority prefers a name is stored under that name alone.  A name may be one
of another system; a name of this minter is in the form in which it is stored.

A synonym is a claim of an authority that two names are of one thing, for a span of time.  An authority may prefer one
of the names that it claims to be synonyms.
"""

from __future__ import annotations

from .. import names
from ..clock import timestamp
from ..codec import pack, pair, pair_prefix, split_pair, unpack
from ..errors import ConflictError, InvalidError, NotFoundError, UsageError, printable
from . import identifiers
from .events import Change, record_event
from .identifiers import NameRef
from .records import ensure_not_withdrawn
from .tables import RELATIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..store import Reader, Writer
    from . import Minter
    from .events import Actor


# Kinds of relations: what `other` is to the name under which the relation is stored.
ALIAS_OF, ALIAS, SYNONYM, PREFERRED, SUCCESSOR, PREDECESSOR = b"a", b"t", b"s", b"p", b"n", b"o"
WORDS = {
    ALIAS_OF: "alias-of", ALIAS: "alias", SYNONYM: "synonym", PREFERRED: "preferred", SUCCESSOR: "successor",
    PREDECESSOR: "predecessor",
}
_LONGEST_AUTHORITY = 1000


class Relation:
    """A relation of a name to another.

    kind          what `other` is to the name: one of the kinds above
    other         the other name, as stored
    display       the other name, as written in answers
    authority     who claims the relation; may be empty
    start, until  dates of fourteen digits; `until` is empty if no end is set
    event         the number of the event that recorded it
    """

    __slots__ = ("kind", "other", "display", "authority", "start", "until", "event")

    def __init__(self, kind: bytes, other: bytes, display: bytes = b"", authority: bytes = b"", start: bytes = b"",
                 until: bytes = b"", event: int = 0) -> None:
        self.kind = kind
        self.other = other
        self.display = display
        self.authority = authority
        self.start = start
        self.until = until
        self.event = event

    @property
    def word(self) -> str:
        """The kind as written in answers."""
        return WORDS[self.kind]

    def holds_at(self, date: bytes) -> bool:
        """Whether the relation is in force at a date of fourteen digits."""
        return self.start <= date and (not self.until or date <= self.until)


def ensure_authority(authority: bytes) -> None:
    """Raise InvalidError for what cannot be the name of an authority."""
    if not authority.strip() or len(authority) > _LONGEST_AUTHORITY or b"\n" in authority:
        raise InvalidError(f"an authority is named in one line of 1 to {_LONGEST_AUTHORITY} bytes")


# -- the table -------------------------------------------------------------------------------------------------------


def _key(name: bytes, relation: Relation) -> bytes:
    # Several authorities may claim the same of two names, and each claim has an entry of its own.
    authority = relation.authority if relation.kind in (SYNONYM, PREFERRED) else b""
    return pair(name, relation.kind + pair(authority, relation.other))


def put_relation(writer: Writer, name: bytes, relation: Relation) -> None:
    """Store a relation under one of its names; the caller stores the inverse under the other."""
    fields = relation.display, relation.authority, relation.start, relation.until, b"%d" % relation.event
    writer.put(RELATIONS, _key(name, relation), pack(fields))


def delete_relation(writer: Writer, name: bytes, relation: Relation) -> None:
    """Delete a relation under one of its names; only its kind, other name and authority are compared."""
    writer.delete(RELATIONS, _key(name, relation))


def relations_of(reader: Reader, name: bytes, kind: bytes = b"") -> Iterator[Relation]:
    """The relations of a name, or those of one kind."""
    for key, packed in reader.scan(RELATIONS, pair_prefix(name) + kind):
        yield _relation(split_pair(key)[1], packed)


def _relation(rest: bytes, packed: bytes) -> Relation:
    display, authority, start, until, event = unpack(packed)
    return Relation(rest[:1], split_pair(rest[1:])[1], display, authority, start, until, int(event))


def relations_of_extensions(reader: Reader, name: bytes, kind: bytes) -> Iterator[Relation]:
    """The relations of one kind, of a name and of all names that begin with it and a boundary character."""
    beginning = pair_prefix(name)[:-2]
    for key, packed in reader.scan(RELATIONS, beginning):
        other, rest = split_pair(key)
        boundary = other[len(name) : len(name) + 1]
        if rest[:1] == kind and (not boundary or boundary in names.BOUNDARIES):
            yield _relation(rest, packed)


# -- synonyms and preferred names ------------------------------------------------------------------------------------


class SynonymClaim:
    """Two names that an authority claims to be synonyms; `relation` is that of the first to the second."""

    __slots__ = ("first", "second", "relation")

    def __init__(self, first: NameRef, second: NameRef, relation: Relation) -> None:
        self.first = first
        self.second = second
        self.relation = relation


def add_synonym(
    minter: Minter, writer: Writer, actor: Actor, one: bytes, other: bytes, authority: bytes, start: bytes = b"",
    until: bytes = b"",
) -> SynonymClaim:
    """Record that an authority claims two names to be synonyms.  Recorded again, the claim gets the new span of time.

    Without `start` the claim holds from now on.  Raises ConflictError if both texts are one name, or if the authority
    would then prefer two names of one thing; UsageError for a span that ends before it begins.
    """
    ensure_authority(authority)
    first, second = (identifiers.identify_for_claim(minter, writer, text) for text in (one, other))
    if first.key == second.key:
        raise ConflictError(f"{printable(first.display)} and {printable(second.display)} are the same name, not two")
    start = start or timestamp(actor.now())
    if until and until < start:
        raise UsageError(f"the span would end ({until.decode()}) before it begins ({start.decode()})")
    _ensure_one_preferred(writer, first, second, authority)
    before = _find_synonym(writer, first.key, second.key, authority)
    changes = [
        Change(b"synonym", before.display if before else None, second.display, first.key),
        Change(b"authority", authority if before else None, authority, first.key),
        Change(b"from", before.start if before else None, start, first.key),
    ]
    if until or (before and before.until):
        changes.append(Change(b"until", (before.until or None) if before else None, until or None, first.key))
    event = record_event(writer, actor, b"synonym", ids=[first.key, second.key], changes=changes)
    relation = Relation(SYNONYM, second.key, second.display, authority, start, until, event)
    put_relation(writer, first.key, relation)
    put_relation(writer, second.key, Relation(SYNONYM, first.key, first.display, authority, start, until, event))
    return SynonymClaim(first, second, relation)


def remove_synonym(
    minter: Minter, writer: Writer, actor: Actor, one: bytes, other: bytes, authority: bytes = b""
) -> SynonymClaim:
    """Remove a claim that two names are synonyms; its events stay.  `authority` may be empty if only one claims it.

    Raises NotFoundError if there is no such claim, UsageError if several authorities claim it and none is named.
    """
    first, second = (identifiers.identify_for_claim(minter, writer, text) for text in (one, other))
    claims = [relation for relation in relations_of(writer, first.key, SYNONYM)
              if relation.other == second.key and authority in (b"", relation.authority)]
    according = f" according to {printable(authority)}" if authority else ""
    if not claims:
        raise NotFoundError(f"{printable(first.display)} and {printable(second.display)} are not synonyms{according}")
    if len(claims) > 1:
        raise UsageError(f"{len(claims)} authorities say so: name the one that takes it back with --authority")
    (removed,) = claims
    changes = [
        Change(b"synonym", removed.display, None, first.key), Change(b"authority", removed.authority, None, first.key),
        Change(b"from", removed.start, None, first.key),
    ]
    if removed.until:
        changes.append(Change(b"until", removed.until, None, first.key))
    delete_relation(writer, first.key, removed)
    delete_relation(writer, second.key, Relation(SYNONYM, first.key, authority=removed.authority))
    for ref in (first, second):
        changes += _drop_idle_preference(writer, ref.key, removed.authority)
    record_event(writer, actor, b"synonym remove", ids=[first.key, second.key], changes=changes)
    return SynonymClaim(first, second, removed)


def prefer_name(
    minter: Minter, writer: Writer, actor: Actor, text: bytes, authority: bytes = b""
) -> tuple[NameRef, Relation]:
    """Record that an authority prefers a name among its synonyms, in place of another that it preferred.

    `authority` may be empty if the synonyms of the name are claimed by one authority only.  Raises NotFoundError if
    there are none, ConflictError if the name is preferred already or was withdrawn.
    """
    ref = identifiers.identify_for_claim(minter, writer, text)
    ensure_not_withdrawn(ref.display, ref.record, "preferred")
    authority = _sole_authority(writer, ref, SYNONYM, authority,
                                f"{printable(ref.display)} has no synonym among which to be preferred: "
                                "say which with 'noid synonym' first")
    before = next(_preferred(writer, ref.key, authority), None)
    if before == ref.key:
        raise ConflictError(f"{printable(ref.display)} is preferred by {printable(authority)} already")
    changes = [Change(b"preferred", None, authority, ref.key)]
    ids = [ref.key]
    if before is not None:
        ids.append(before)
        changes.append(Change(b"preferred", authority, None, before))
        delete_relation(writer, before, Relation(PREFERRED, b"", authority=authority))
    event = record_event(writer, actor, b"prefer", ids=ids, changes=changes)
    relation = Relation(PREFERRED, b"", b"", authority, timestamp(actor.now()), event=event)
    put_relation(writer, ref.key, relation)
    return ref, relation


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


def clear_synonyms(writer: Writer, key: bytes) -> tuple[list[Change], list[bytes]]:
    """Remove all synonyms of a name and all preferences for it, because it is minted again for another thing.

    Returns the changes and the other names concerned, for the caller to record in an event.
    """
    changes = drop_preferences(writer, key)
    others: dict[bytes, None] = {}
    for relation in list(relations_of(writer, key, SYNONYM)):
        delete_relation(writer, key, relation)
        delete_relation(writer, relation.other, Relation(SYNONYM, key, authority=relation.authority))
        changes.append(Change(b"synonym", relation.display, None, key))
        changes.append(Change(b"authority", relation.authority, None, key))
        changes += _drop_idle_preference(writer, relation.other, relation.authority)
        others[relation.other] = None
    return changes, list(others)


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


def _ensure_one_preferred(reader: Reader, first: NameRef, second: NameRef, authority: bytes) -> None:
    """Raise ConflictError if an authority prefers one name in each of two groups that are about to become one."""
    ones, others = set(_preferred(reader, first.key, authority)), set(_preferred(reader, second.key, authority))
    if ones and others and ones != others:
        two = " and ".join(printable(name) for name in sorted(ones | others))
        raise ConflictError(
            f"{printable(authority)} prefers both {two}: take one back with 'noid prefer --remove' first"
        )


def _drop_idle_preference(writer: Writer, key: bytes, authority: bytes) -> list[Change]:
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
        raise UsageError(f"which authority? say --authority and one of {names}")
    return known.pop()


def _find_synonym(reader: Reader, key: bytes, other: bytes, authority: bytes) -> Relation | None:
    for relation in relations_of(reader, key, SYNONYM):
        if relation.other == other and relation.authority == authority:
            return relation
    return None
