"""Relations between names: how they are stored and found.

Each relation is kept under both names, so that either tells of it: an alias and
its target, two synonyms, a withdrawn name and its successor.  That an authority
prefers a name is kept under that name alone.  A name may be any name, also one
that another system manages; of a name that is ours it is the stored form.
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


# Kinds, and what `other` is to the name under which the relation is kept.
ALIAS_OF, ALIAS, SYNONYM, PREFERRED, SUCCESSOR, PREDECESSOR = b"a", b"t", b"s", b"p", b"n", b"o"
WORDS = {
    ALIAS_OF: "alias-of", ALIAS: "alias", SYNONYM: "synonym", PREFERRED: "preferred", SUCCESSOR: "successor",
    PREDECESSOR: "predecessor",
}
_LONGEST_AUTHORITY = 1000


class Relation:
    """`kind` is what `other` is to the name that was asked about.  Dates have fourteen digits; `until` is empty for
    what has no end set.  `event` is the number of the event that made it."""

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
        return WORDS[self.kind]

    def holds_at(self, date: bytes) -> bool:
        return self.start <= date and (not self.until or date <= self.until)


def ensure_authority(authority: bytes) -> None:
    if not authority.strip() or len(authority) > _LONGEST_AUTHORITY or b"\n" in authority:
        raise InvalidError(f"an authority is named in one line of 1 to {_LONGEST_AUTHORITY} bytes")


# -- the table -------------------------------------------------------------------------------------------------------


def _key(name: bytes, relation: Relation) -> bytes:
    # Several authorities may say the same of two names, each for itself.
    said_by = relation.authority if relation.kind in (SYNONYM, PREFERRED) else b""
    return pair(name, relation.kind + pair(said_by, relation.other))


def put_relation(writer: Writer, name: bytes, relation: Relation) -> None:
    fields = relation.display, relation.authority, relation.start, relation.until, b"%d" % relation.event
    writer.put(RELATIONS, _key(name, relation), pack(fields))


def delete_relation(writer: Writer, name: bytes, relation: Relation) -> None:
    writer.delete(RELATIONS, _key(name, relation))


def relations_of(reader: Reader, name: bytes, kind: bytes = b"") -> Iterator[Relation]:
    """The relations of a name, or those of one kind."""
    for key, packed in reader.scan(RELATIONS, pair_prefix(name) + kind):
        yield _relation(split_pair(key)[1], packed)


def _relation(rest: bytes, packed: bytes) -> Relation:
    display, authority, start, until, event = unpack(packed)
    return Relation(rest[:1], split_pair(rest[1:])[1], display, authority, start, until, int(event))


def relations_of_extensions(reader: Reader, name: bytes, kind: bytes) -> Iterator[Relation]:
    """The relations of one kind of the name and of all longer names that begin with it at a boundary."""
    beginning = pair_prefix(name)[:-2]
    for key, packed in reader.scan(RELATIONS, beginning):
        other, rest = split_pair(key)
        boundary = other[len(name) : len(name) + 1]
        if rest[:1] == kind and (not boundary or boundary in names.BOUNDARIES):
            yield _relation(rest, packed)


# -- Synonyms: names of one thing, as an authority says, for a span of time; and which of them it prefers ------------



class SynonymClaim:
    """Two names, and what is said of them."""

    __slots__ = ("one", "other", "relation")

    def __init__(self, one: NameRef, other: NameRef, relation: Relation) -> None:
        self.one = one
        self.other = other
        self.relation = relation


def add_synonym(minter: Minter, writer: Writer, actor: Actor, one: bytes, other: bytes, authority: bytes,
          start: bytes = b"", until: bytes = b"") -> SynonymClaim:
    """Record that an authority holds two names to be of one thing; said again, the span is the new one."""
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
    made = Relation(SYNONYM, second.key, second.display, authority, start, until, event)
    put_relation(writer, first.key, made)
    put_relation(writer, second.key, Relation(SYNONYM, first.key, first.display, authority, start, until, event))
    return SynonymClaim(first, second, made)


def remove_synonym(
    minter: Minter, writer: Writer, actor: Actor, one: bytes, other: bytes, authority: bytes = b""
) -> SynonymClaim:
    """End a claim, as if it had not been made; the record keeps that it was.  Without an authority, the only one's."""
    first, second = (identifiers.identify_for_claim(minter, writer, text) for text in (one, other))
    claims = [relation for relation in relations_of(writer, first.key, SYNONYM)
              if relation.other == second.key and authority in (b"", relation.authority)]
    whose = f" according to {printable(authority)}" if authority else ""
    if not claims:
        raise NotFoundError(f"{printable(first.display)} and {printable(second.display)} are not synonyms{whose}")
    if len(claims) > 1:
        raise UsageError(f"{len(claims)} authorities say so: name the one that takes it back with --authority")
    (gone,) = claims
    changes = [
        Change(b"synonym", gone.display, None, first.key), Change(b"authority", gone.authority, None, first.key),
        Change(b"from", gone.start, None, first.key),
    ]
    if gone.until:
        changes.append(Change(b"until", gone.until, None, first.key))
    delete_relation(writer, first.key, gone)
    delete_relation(writer, second.key, Relation(SYNONYM, first.key, authority=gone.authority))
    for ref in (first, second):
        changes += _drop_idle_preference(writer, ref.key, gone.authority)
    record_event(writer, actor, b"synonym remove", ids=[first.key, second.key], changes=changes)
    return SynonymClaim(first, second, gone)


def prefer_name(
    minter: Minter, writer: Writer, actor: Actor, given: bytes, authority: bytes = b""
) -> tuple[NameRef, Relation]:
    """Mark the name that an authority prefers among its synonyms; another that it preferred is so no longer."""
    own = identifiers.identify_for_claim(minter, writer, given)
    ensure_not_withdrawn(own.display, own.record, "preferred")
    authority = _sole_authority(writer, own, SYNONYM, authority,
                                f"{printable(own.display)} has no synonym among which to be preferred: "
                                "say which with 'noid synonym' first")
    before = next(_preferred(writer, own.key, authority), None)
    if before == own.key:
        raise ConflictError(f"{printable(own.display)} is preferred by {printable(authority)} already")
    changes = [Change(b"preferred", None, authority, own.key)]
    ids = [own.key]
    if before is not None:
        ids.append(before)
        changes.append(Change(b"preferred", authority, None, before))
        delete_relation(writer, before, Relation(PREFERRED, b"", authority=authority))
    event = record_event(writer, actor, b"prefer", ids=ids, changes=changes)
    made = Relation(PREFERRED, b"", b"", authority, timestamp(actor.now()), event=event)
    put_relation(writer, own.key, made)
    return own, made


def remove_preference(
    minter: Minter, writer: Writer, actor: Actor, given: bytes, authority: bytes = b""
) -> tuple[NameRef, Relation]:
    own = identifiers.identify_for_claim(minter, writer, given)
    authority = _sole_authority(writer, own, PREFERRED, authority, f"{printable(own.display)} is preferred by nobody")
    gone = next(relation for relation in relations_of(writer, own.key, PREFERRED) if relation.authority == authority)
    delete_relation(writer, own.key, gone)
    record_event(writer, actor, b"prefer remove", ids=[own.key], changes=[Change(b"preferred", authority, None)])
    return own, gone


def drop_preferences(writer: Writer, key: bytes) -> list[Change]:
    """No authority prefers the name any longer; returns what that changes, for the event."""
    changes = []
    for relation in list(relations_of(writer, key, PREFERRED)):
        delete_relation(writer, key, relation)
        changes.append(Change(b"preferred", relation.authority, None, key))
    return changes


def clear_synonyms(writer: Writer, key: bytes) -> tuple[list[Change], list[bytes]]:
    """Take back all that was said about the thing a name stood for, as the name is to mean another.

    Returns what that changes and which other names it concerns, for the event.
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
    """The name and all that are its synonyms according to an authority, by however many steps."""
    found = {key: None}
    pending = [key]
    while pending:
        for relation in relations_of(reader, pending.pop(), SYNONYM):
            if relation.authority == authority and relation.other not in found:
                found[relation.other] = None
                pending.append(relation.other)
    return list(found)


def _preferred(reader: Reader, key: bytes, authority: bytes) -> Iterator[bytes]:
    for name in synonym_group(reader, key, authority):
        if any(relation.authority == authority for relation in relations_of(reader, name, PREFERRED)):
            yield name


def _ensure_one_preferred(reader: Reader, first: NameRef, second: NameRef, authority: bytes) -> None:
    """Refuse what would leave an authority with two preferred names of one thing."""
    ones, others = set(_preferred(reader, first.key, authority)), set(_preferred(reader, second.key, authority))
    if ones and others and ones != others:
        two = " and ".join(printable(name) for name in sorted(ones | others))
        raise ConflictError(
            f"{printable(authority)} prefers both {two}: take one back with 'noid prefer --remove' first"
        )


def _drop_idle_preference(writer: Writer, key: bytes, authority: bytes) -> list[Change]:
    if any(relation.authority == authority for relation in relations_of(writer, key, SYNONYM)):
        return []
    changes = []
    for relation in list(relations_of(writer, key, PREFERRED)):
        if relation.authority == authority:
            delete_relation(writer, key, relation)
            changes.append(Change(b"preferred", authority, None, key))
    return changes


def _sole_authority(reader: Reader, own: NameRef, kind: bytes, authority: bytes, none: str) -> bytes:
    """The authority that was named, or else the only one there is."""
    known = {relation.authority for relation in relations_of(reader, own.key, kind)}
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
