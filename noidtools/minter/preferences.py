"""Preferred names: an authority may prefer one of the names that it claims to be synonyms.

The authority guarantees that the preferred name persists (PILIN ontology, 5.6), so only a name can be preferred for
which somebody here is committed to that.
"""

from __future__ import annotations

from ..errors import ConflictError, NotFoundError, UsageError, printable
from ..times import timestamp
from . import identifiers, qualities
from .circulation import ensure_not_withdrawn
from .events import Change, record_event
from .policies import persistence
from .relations import PREFERRED, SYNONYM, Relation, delete_relation, put_relation, relations_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..store import Reader, Writer
    from . import Minter
    from .events import Actor
    from .identifiers import NameRef


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
                                f"{printable(ref.display)} has no synonym among which to be preferred: "
                                "say which with 'noid synonym' first")
    before = next(_preferred(writer, ref.key, authority), None)
    if before == ref.key:
        raise ConflictError(f"{printable(ref.display)} is preferred by {printable(authority)} already")
    _ensure_commitment(minter, writer, ref, authority, timestamp(actor.now()))
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


def _ensure_commitment(minter: Minter, reader: Reader, ref: NameRef, authority: bytes, today: bytes) -> None:
    """Raise ConflictError unless the persistence of a name is guaranteed.

    The minter guarantees it for what is registered here, by being long-term or by its policy on persistence; the
    authority does so for any name by stating that it is persistent.
    """
    if qualities.guarantees_persistence(reader, ref.key, authority, today):
        return
    promise = persistence(reader)
    promised = promise is not None and promise.start <= today and (not promise.until or today <= promise.until)
    if ref.known and (promised or minter.settings.long_term):
        return
    what = "nothing is promised of this minter's names" if ref.known else "it is not registered here"
    raise ConflictError(f"nobody here is committed to {printable(ref.display)}, because {what}: say 'noid policy "
                        "persistence' for the minter's own names, or let the authority say 'noid quality state "
                        f"persistent {printable(ref.display)}'")


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
            f"{printable(authority)} prefers both {two}: take one back with 'noid prefer --remove' first"
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
        raise UsageError(f"which authority? say --authority and one of {names}")
    return known.pop()
