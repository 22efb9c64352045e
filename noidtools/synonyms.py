"""Synonyms: names of one thing, as an authority says, for a span of time; and which of them it prefers."""

from __future__ import annotations

from . import relations
from .circulation import ensure_not_withdrawn, find
from .clock import stamp
from .events import Change
from .events import record as record_event
from .exceptions import ConflictError, NotFoundError, UsageError, said
from .relations import PREFERRED, SYNONYM, Ref, Relation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .events import Actor
    from .minter import Minter
    from .store import Reader, Writer


class Claim:
    """Two names, and what is said of them."""

    __slots__ = ("one", "other", "relation")

    def __init__(self, one: Ref, other: Ref, relation: Relation) -> None:
        self.one = one
        self.other = other
        self.relation = relation


def claim(minter: Minter, writer: Writer, actor: Actor, one: bytes, other: bytes, authority: bytes,
          start: bytes = b"", until: bytes = b"") -> Claim:
    """Record that an authority holds two names to be of one thing; said again, the span is the new one."""
    relations.ensure_authority(authority)
    first, second = relations.changed(minter, writer, one), relations.changed(minter, writer, other)
    if first.key == second.key:
        raise ConflictError(f"{said(first.shown)} and {said(second.shown)} are the same name, not two")
    start = start or stamp(actor.now())
    if until and until < start:
        raise UsageError(f"the span would end ({until.decode()}) before it begins ({start.decode()})")
    _ensure_one_preferred(writer, first, second, authority)
    before = _find(writer, first.key, second.key, authority)
    changes = [
        Change(b"synonym", before.shown if before else None, second.shown, first.key),
        Change(b"authority", authority if before else None, authority, first.key),
        Change(b"from", before.start if before else None, start, first.key),
    ]
    if until or (before and before.until):
        changes.append(Change(b"until", (before.until or None) if before else None, until or None, first.key))
    event = record_event(writer, actor, b"synonym", ids=[first.key, second.key], changes=changes)
    made = Relation(SYNONYM, second.key, second.shown, authority, start, until, event)
    relations.keep(writer, first.key, made)
    relations.keep(writer, second.key, Relation(SYNONYM, first.key, first.shown, authority, start, until, event))
    return Claim(first, second, made)


def take_back(minter: Minter, writer: Writer, actor: Actor, one: bytes, other: bytes, authority: bytes = b"") -> Claim:
    """End a claim, as if it had not been made; the record keeps that it was.  Without an authority, the only one's."""
    first, second = relations.changed(minter, writer, one), relations.changed(minter, writer, other)
    claims = [relation for relation in relations.of(writer, first.key, SYNONYM)
              if relation.other == second.key and authority in (b"", relation.authority)]
    whose = f" according to {said(authority)}" if authority else ""
    if not claims:
        raise NotFoundError(f"{said(first.shown)} and {said(second.shown)} are not synonyms{whose}")
    if len(claims) > 1:
        raise UsageError(f"{len(claims)} authorities say so: name the one that takes it back with --authority")
    (gone,) = claims
    changes = [
        Change(b"synonym", gone.shown, None, first.key), Change(b"authority", gone.authority, None, first.key),
        Change(b"from", gone.start, None, first.key),
    ]
    if gone.until:
        changes.append(Change(b"until", gone.until, None, first.key))
    relations.drop(writer, first.key, gone)
    relations.drop(writer, second.key, Relation(SYNONYM, first.key, authority=gone.authority))
    for ref in (first, second):
        changes += _drop_idle_preference(writer, ref.key, gone.authority)
    record_event(writer, actor, b"synonym remove", ids=[first.key, second.key], changes=changes)
    return Claim(first, second, gone)


def prefer(minter: Minter, writer: Writer, actor: Actor, given: bytes, authority: bytes = b"") -> tuple[Ref, Relation]:
    """Mark the name that an authority prefers among its synonyms; another that it preferred is so no longer."""
    own = relations.changed(minter, writer, given)
    ensure_not_withdrawn(own.shown, find(writer, own.key), "preferred")
    authority = _sole_authority(writer, own, SYNONYM, authority,
                                f"{said(own.shown)} has no synonym among which to be preferred: "
                                "say which with 'noid synonym' first")
    before = next(_preferred(writer, own.key, authority), None)
    if before == own.key:
        raise ConflictError(f"{said(own.shown)} is preferred by {said(authority)} already")
    changes = [Change(b"preferred", None, authority, own.key)]
    ids = [own.key]
    if before is not None:
        ids.append(before)
        changes.append(Change(b"preferred", authority, None, before))
        relations.drop(writer, before, Relation(PREFERRED, b"", authority=authority))
    event = record_event(writer, actor, b"prefer", ids=ids, changes=changes)
    made = Relation(PREFERRED, b"", b"", authority, stamp(actor.now()), event=event)
    relations.keep(writer, own.key, made)
    return own, made


def prefer_no_more(
    minter: Minter, writer: Writer, actor: Actor, given: bytes, authority: bytes = b""
) -> tuple[Ref, Relation]:
    own = relations.changed(minter, writer, given)
    authority = _sole_authority(writer, own, PREFERRED, authority, f"{said(own.shown)} is preferred by nobody")
    gone = next(relation for relation in relations.of(writer, own.key, PREFERRED) if relation.authority == authority)
    relations.drop(writer, own.key, gone)
    record_event(writer, actor, b"prefer remove", ids=[own.key], changes=[Change(b"preferred", authority, None)])
    return own, gone


def drop_preferences(writer: Writer, key: bytes) -> list[Change]:
    """No authority prefers the name any longer; returns what that changes, for the event."""
    changes = []
    for relation in list(relations.of(writer, key, PREFERRED)):
        relations.drop(writer, key, relation)
        changes.append(Change(b"preferred", relation.authority, None, key))
    return changes


def clear(writer: Writer, key: bytes) -> tuple[list[Change], list[bytes]]:
    """Take back all that was said about the thing a name stood for, as the name is to mean another.

    Returns what that changes and which other names it concerns, for the event.
    """
    changes = drop_preferences(writer, key)
    others: dict[bytes, None] = {}
    for relation in list(relations.of(writer, key, SYNONYM)):
        relations.drop(writer, key, relation)
        relations.drop(writer, relation.other, Relation(SYNONYM, key, authority=relation.authority))
        changes += [Change(b"synonym", relation.shown, None, key), Change(b"authority", relation.authority, None, key)]
        changes += _drop_idle_preference(writer, relation.other, relation.authority)
        others[relation.other] = None
    return changes, list(others)


def group(reader: Reader, key: bytes, authority: bytes) -> list[bytes]:
    """The name and all that are its synonyms according to an authority, by however many steps."""
    found = {key: None}
    pending = [key]
    while pending:
        for relation in relations.of(reader, pending.pop(), SYNONYM):
            if relation.authority == authority and relation.other not in found:
                found[relation.other] = None
                pending.append(relation.other)
    return list(found)


def _preferred(reader: Reader, key: bytes, authority: bytes) -> Iterator[bytes]:
    for name in group(reader, key, authority):
        if any(relation.authority == authority for relation in relations.of(reader, name, PREFERRED)):
            yield name


def _ensure_one_preferred(reader: Reader, first: Ref, second: Ref, authority: bytes) -> None:
    """Refuse what would leave an authority with two preferred names of one thing."""
    ones, others = set(_preferred(reader, first.key, authority)), set(_preferred(reader, second.key, authority))
    if ones and others and ones != others:
        two = " and ".join(said(name) for name in sorted(ones | others))
        raise ConflictError(f"{said(authority)} prefers both {two}: take one back with 'noid prefer --remove' first")


def _drop_idle_preference(writer: Writer, key: bytes, authority: bytes) -> list[Change]:
    if any(relation.authority == authority for relation in relations.of(writer, key, SYNONYM)):
        return []
    changes = []
    for relation in list(relations.of(writer, key, PREFERRED)):
        if relation.authority == authority:
            relations.drop(writer, key, relation)
            changes.append(Change(b"preferred", authority, None, key))
    return changes


def _sole_authority(reader: Reader, own: Ref, kind: bytes, authority: bytes, none: str) -> bytes:
    """The authority that was named, or else the only one there is."""
    known = {relation.authority for relation in relations.of(reader, own.key, kind)}
    if not known or (authority and authority not in known):
        raise NotFoundError(none if not known else f"{none}, according to {said(authority)}")
    if authority:
        return authority
    if len(known) > 1:
        names = ", ".join(sorted(said(name) for name in known))
        raise UsageError(f"which authority? say --authority and one of {names}")
    return known.pop()


def _find(reader: Reader, key: bytes, other: bytes, authority: bytes) -> Relation | None:
    for relation in relations.of(reader, key, SYNONYM):
        if relation.other == other and relation.authority == authority:
            return relation
    return None
