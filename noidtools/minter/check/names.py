"""Checks of what is stored under names: elements, rules, aliases and relations, and what was found out about them."""

from __future__ import annotations

from functools import partial
from itertools import chain

from ...codec import pair_prefix, split_pair
from ...errors import ConflictError, NoidError, printable
from .. import aliases, relations
from ..circulation import alias_target, find
from ..qualities import is_sound
from ..relations import ALIAS, ALIAS_OF, KINDS, WORDS, Relation
from ..relations.abstract_names import KINDS as ABSTRACT_KINDS
from ..replies import reply_faults
from ..schema import ABSTRACT, ALIASES, CLAIMS, ELEMENTS, RELATIONS, REPLIES, RULES, TOKENS, VERIFIED
from .examination import are_dates, fields_of, is_date, parts_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...store import Reader, Writer
    from .. import Minter
    from .examination import Examination

_INVERSE = {kind.letter: kind.inverse for kind in KINDS.values() if kind.inverse}
_DIGEST_SIZE = 32


def _check_elements(examination: Examination) -> None:
    for key, _ in examination.items(ELEMENTS):
        parts = parts_of(key)
        if parts is None or not all(parts):
            examination.report(f"the element under {printable(key[:60])!r} belongs to no identifier, or has no name: "
                               "compare with a backup")


def _check_rules(examination: Examination) -> None:
    from ...rules import Rule

    for key, replacement in examination.items(RULES):
        parts = parts_of(key)
        if parts is None or not all(parts):
            examination.report(f"the rule under {printable(key[:60])!r} is damaged: compare with a backup")
            continue
        element, pattern = parts
        try:
            Rule(pattern, replacement)
        except NoidError as error:
            examination.report(f"the rule {printable(pattern[:60])!r} for {examination.name(element)} cannot be used: "
                               f"{error.message}")


# -- aliases and relations -------------------------------------------------------------------------------------------


def _check_aliases(examination: Examination) -> None:
    for identifier, target in examination.items(ALIASES):
        name = examination.name(identifier)
        related = [relation.display for relation in _relations(examination.reader, identifier, ALIAS_OF)]
        if related != [target]:
            examination.report(f"{name} is an alias of {examination.name(target)}, but its relations do not say so: "
                               f"make it one again with 'noid alias {name} {examination.name(target)}'")
        record = find(examination.reader, identifier)
        if record is None or not record.held:
            examination.report(f"{name} is an alias, but is not on hold, so it could be minted for something else: say "
                               f"'noid hold set {name}'")
        try:
            aliases.ensure_ends(examination.minter, examination.reader, identifier)
        except ConflictError as error:
            examination.report(f"{name} leads nowhere: {error.message}")


def _check_relations(examination: Examination) -> None:
    reader = examination.reader
    for key, packed in chain(examination.items(RELATIONS), examination.items(CLAIMS)):
        parts = parts_of(key)
        relation = relations.parsed(parts[1], packed) if parts is not None and fields_of(packed, 5) else None
        if parts is None or relation is None:
            examination.report(f"the relation under {printable(key[:60])!r} is damaged: compare with a backup")
            continue
        name = parts[0]
        if relation.event and not examination.has_event(relation.event):
            examination.report(f"a relation of {examination.name(name)} refers to event {relation.event}, which does "
                               "not exist: compare with a backup")
        if relation.kind == ALIAS_OF and alias_target(reader, name) is None:
            examination.report(f"the relations of {examination.name(name)} make it an alias, but it is not resolved as "
                               "one: make it one again, or remove it, with 'noid alias'")
        elif relation.kind in _INVERSE and not _has_inverse(reader, name, relation):
            examination.report(
                f"{examination.name(name)} has the {WORDS[relation.kind]} {examination.name(relation.other)}, but not "
                "the other way round", partial(_mend_inverse, examination.minter, name, relation))


def _relations(reader: Reader, name: bytes, kind: bytes) -> Iterator[Relation]:
    """The relations of a name of one kind that are not damaged."""
    for key, packed in reader.scan(KINDS[kind].table, pair_prefix(name) + kind):
        relation = relations.parsed(split_pair(key)[1], packed)
        if relation is not None:
            yield relation


def _inverse(minter: Minter, name: bytes, relation: Relation) -> Relation:
    display = minter.namespace.display(name)
    return Relation(_INVERSE[relation.kind], name, display, relation.authority, relation.start, relation.until,
                    relation.event)


def _has_inverse(reader: Reader, name: bytes, relation: Relation) -> bool:
    kind = _INVERSE[relation.kind]
    return any(other.other == name and (not KINDS[kind].claimed or other.authority == relation.authority)
               for other in _relations(reader, relation.other, kind))


def _mend_inverse(minter: Minter, name: bytes, relation: Relation, writer: Writer) -> bool:
    """Store a relation under its other name, too, if it is still stored under the one."""
    still = any((other.other, other.authority) == (relation.other, relation.authority)
                for other in _relations(writer, name, relation.kind))
    if not still or _has_inverse(writer, name, relation):
        return False
    if relation.kind == ALIAS and alias_target(writer, relation.other) is None:
        # The name is no alias, so it is this half that is wrong.
        relations.delete_relation(writer, name, relation)
    else:
        relations.put_relation(writer, relation.other, _inverse(minter, name, relation))
    return True


# -- findings, abstract names, tokens and replies ----------------------------------------------------------------------


def _check_findings(examination: Examination) -> None:
    for identifier, packed in examination.items(VERIFIED):
        if not is_sound(packed):
            examination.report(f"the results of verifying {examination.name(identifier)} are damaged: verify it again")


def _check_abstractions(examination: Examination) -> None:
    for key, packed in examination.items(ABSTRACT):
        fields = fields_of(packed, 7)
        if not key or fields is None or fields[0].decode("utf-8", "replace") not in ABSTRACT_KINDS or (
                not is_date(fields[6])):
            examination.report(f"what is abstract under {examination.name(key)} is damaged: compare with a backup")


def _check_tokens(examination: Examination) -> None:
    for digest, packed in examination.items(TOKENS):
        fields = fields_of(packed, 5)
        if len(digest) != _DIGEST_SIZE or fields is None or not are_dates(fields[2:]) or not fields[1].isascii():
            examination.report("a token is damaged, and cannot be used: revoke it, and make another")


def _check_replies(examination: Examination) -> None:
    for _ in examination.items(REPLIES):
        pass
    for sentence, mend in reply_faults(examination.reader):
        examination.report(sentence, mend)


CHECKS = (_check_elements, _check_rules, _check_aliases, _check_relations, _check_abstractions, _check_findings,
          _check_tokens, _check_replies)
