"""Checks of what is stored about identifiers, and of what is stored once for a minter.

Circulation records and all that must agree with them, the queue, holds, peppers and tombstones; elements, rules,
aliases and relations; settings, counters, tokens and stored replies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain

from ...codec import pair_prefix, split_pair
from ...errors import ConflictError, NoidError, printable
from ...rules import Rule
from ...store import Reader, Writer
from .. import aliases, relations, schema
from ..circulation import HELD, PEPPERED, RESERVED, UNAVAILABLE, WITHDRAWN, Circulation, alias_target, find
from ..contexts import CLAIM
from ..policies import CLASSES, INITIAL_STATE, MINT_LIMIT_SETTING, PERSISTENCE_DATES, PUBLISH, RESERVE, AccessRule
from ..qualities import is_sound
from ..relations import ABSTRACT_KINDS, ALIAS_OF, KINDS, Relation
from ..replies import reply_faults
from ..tokens import SECRET_SIZE
from .examination import SMALLEST_RECORD, Examination, are_dates, fields_of, is_date, parts_of

_FLAGS = HELD | PEPPERED | RESERVED | WITHDRAWN | UNAVAILABLE
_DATE, _SEQUENCE = slice(0, 14), slice(14, 20)
_DIGEST_SIZE = 32
# Up to this many draws it is examined whether each was recorded once.
_MOST_DRAWN = 1 << 30
_ACCESS_RULES = frozenset(f"policy/{name}" for name in CLASSES)


# -- circulation records -----------------------------------------------------------------------------------------------


def _check_records(examination: Examination) -> None:
    held = foreign = 0
    numbers = _DrawnNumbers(examination)
    for identifier, packed in examination.items(schema.IDS):
        fault = _fault_of(packed)
        if fault:
            examination.report(f"the circulation record of {examination.name(identifier)} is damaged ({fault}): "
                               "restore a backup, or compare with one")
            continue
        record = Circulation.unpacked(packed)
        held += record.held
        foreign += record.foreign
        examination.pointed.add(record.event)
        _check_record(examination, identifier, record)
        numbers.check(identifier, record)
    stored = schema.stored_held_count(examination.reader)
    if stored != held:
        counted = "their count is damaged" if stored is None else f"{stored} are counted"
        examination.report(f"{held} identifiers are on hold, but {counted}", _mend_held_count)
    if foreign and not schema.has_foreign(examination.reader):
        examination.report(f"{foreign} identifiers come from elsewhere, but the mark that there are some is missing, "
                           "so that beside other minters they are not found", _mend_foreign)


class _DrawnNumbers:
    """The numbers at which identifiers were drawn, of which each is given once; a bit for each."""

    __slots__ = ("_examination", "_seen")

    def __init__(self, examination: Examination) -> None:
        generator = examination.generator
        countable = generator is not None and not generator.reissues and generator.drawn < _MOST_DRAWN
        self._examination = examination
        self._seen = bytearray(generator.drawn // 8 + 1 if generator is not None and countable else 0)

    def check(self, identifier: bytes, record: Circulation) -> None:
        # What is minted from the queue has the number at which the generator stood, and no draw of its own.
        if record.history[:1] != b"i" or record.history[1:2] == b"q" or not record.number:
            return
        place, bit = record.number // 8, 1 << record.number % 8
        if place < len(self._seen):
            if self._seen[place] & bit:
                name = self._examination.name(identifier)
                self._examination.report(f"{name} was issued as number {record.number}, and so was another: one of the "
                                         "circulation records is wrong, so compare with a backup")
            self._seen[place] |= bit


def _fault_of(packed: bytes) -> str:
    if len(packed) < SMALLEST_RECORD:
        return f"it has {len(packed)} bytes"
    if packed[0] & ~_FLAGS:
        return f"its flags are {packed[0]}"
    return f"its letters are {packed[12:40]!r}" if packed[12:].translate(None, b"iquf") else ""


def _check_record(examination: Examination, identifier: bytes, record: Circulation) -> None:
    name, reader, generator = examination.name(identifier), examination.reader, examination.generator
    if (record.event or record.history) and not examination.has_event(record.event):
        examination.report(f"the circulation record of {name} refers to event {record.event}, which does not exist")
    if generator is not None and record.number > generator.drawn and not generator.reissues:
        examination.report(f"{name} was issued as number {record.number}, but only {generator.drawn} were drawn: the "
                           "generator was set back; what was issued is skipped, so nothing is minted twice")
    if record.queued and identifier not in examination.misplaced and reader.get(schema.QUEUED, identifier) is None:
        examination.report(f"{name} is marked as queued but is not in the queue, so it is never minted: run 'noid "
                           f"queue delete {name}', and queue it again")
    if record.flags & PEPPERED and reader.get(schema.PEPPERS, identifier) is None:
        examination.report(f"{name} is peppered, but the digest of its pepper is missing: anybody who may bind can "
                           "change it; restore a backup, or compare with one")
    if record.flags & (WITHDRAWN | UNAVAILABLE) and reader.get(schema.TOMBSTONES, identifier) is None:
        examination.report(f"{name} was withdrawn or made unavailable, but its tombstone is missing: "
                           f"'noid history {name}' has the reason")


def _mend_held_count(writer: Writer) -> bool:
    held = sum(packed[0] & HELD for _, packed in writer.scan(schema.IDS) if packed)
    if held == schema.stored_held_count(writer):
        return False
    schema.set_held_count(writer, held)
    return True


def _mend_foreign(writer: Writer) -> bool:
    if schema.has_foreign(writer):
        return False
    schema.note_foreign(writer)
    return True


# -- the queue -------------------------------------------------------------------------------------------------------


def _is_queue_key(key: bytes, identifier: bytes) -> bool:
    return key[_DATE].isdigit() and len(key) > 20 and key.endswith(b"\0" + identifier)


def _check_queue(examination: Examination) -> None:
    reader = examination.reader
    newest = 0
    for key, identifier in examination.items(schema.QUEUE):
        name = examination.name(identifier)
        record, indexed = find(reader, identifier), reader.get(schema.QUEUED, identifier)
        mend = partial(_mend_entry, key, identifier)
        if not identifier or not _is_queue_key(key, identifier):
            examination.report(f"the entry of {name} in the queue is damaged: restore a backup, or compare with one")
            continue
        newest = max(newest, int.from_bytes(key[_SEQUENCE], "big"))
        if record is None:
            examination.report(f"{name} is in the queue, but has no circulation record: restore a backup, or compare "
                               "with one")
        elif not record.queued:
            examination.report(f"{name} is in the queue, but its circulation record says otherwise: it would be minted "
                               "once more", mend)
        elif indexed is None:
            examination.misplaced.add(identifier)
            examination.report(f"{name} is in the queue, but not in the index of the queue", mend)
        elif indexed != key and reader.get(schema.QUEUE, indexed) == identifier:
            examination.report(f"{name} is in the queue twice, and would be minted twice", mend)
        elif indexed != key:
            examination.misplaced.add(identifier)
            examination.report(f"the index of the queue has another place for {name}", mend)
    last = schema.last_queue_number(reader)
    if last is None or newest > last:
        fault = "damaged" if last is None else "not greater than all others"
        examination.report(f"the number of the next entry of the queue is {fault}", partial(_mend_number, newest))


def _check_queue_index(examination: Examination) -> None:
    reader = examination.reader
    for identifier, key in examination.items(schema.QUEUED):
        if reader.get(schema.QUEUE, key) == identifier or identifier in examination.misplaced:
            continue
        record = find(reader, identifier)
        queued = record is not None and record.queued and _is_queue_key(key, identifier)
        consequence = "so it is never minted" if queued else "which it should not be"
        examination.report(f"{examination.name(identifier)} is in the index of the queue but not in the queue, "
                           f"{consequence}", partial(_mend_entry, key, identifier))


def _mend_entry(key: bytes, identifier: bytes, writer: Writer) -> bool:
    """Let the queue and its index agree about an identifier that one of them has under a key: both have it, in one
    place, if its circulation record says that it is queued, and else neither."""
    record, indexed = find(writer, identifier), writer.get(schema.QUEUED, identifier)
    in_queue = writer.get(schema.QUEUE, key) == identifier
    elsewhere = indexed not in (None, key) and writer.get(schema.QUEUE, indexed or b"") == identifier
    if record is not None and record.queued and _is_queue_key(key, identifier) and not elsewhere:
        writer.put(schema.QUEUE, key, identifier)
        writer.put(schema.QUEUED, identifier, key)
        return not in_queue or indexed != key
    if in_queue:
        writer.delete(schema.QUEUE, key)
    if indexed == key:
        writer.delete(schema.QUEUED, identifier)
    return in_queue or indexed == key


def _mend_number(newest: int, writer: Writer) -> bool:
    last = schema.last_queue_number(writer)
    if last is not None and newest <= last:
        return False
    schema.raise_queue_number(writer, newest)
    return True


# -- peppers and tombstones ------------------------------------------------------------------------------------------


def _check_peppers(examination: Examination) -> None:
    for identifier, digest in examination.items(schema.PEPPERS):
        name = examination.name(identifier)
        record = find(examination.reader, identifier)
        if len(digest) != _DIGEST_SIZE:
            examination.report(f"the digest of the pepper of {name} is damaged: restore a backup, or compare with one")
        elif record is None:
            examination.report(f"there is a pepper for {name}, but no circulation record: restore a backup, or compare "
                               "with one")
        elif not record.flags & PEPPERED:
            examination.report(f"{name} has a pepper, but its circulation record says that it has none: restore a "
                               "backup, or compare with one")


def _check_tombstones(examination: Examination) -> None:
    for identifier, packed in examination.items(schema.TOMBSTONES):
        name = examination.name(identifier)
        record = find(examination.reader, identifier)
        fields = fields_of(packed, 5)
        if fields is None or not is_date(fields[0]) or not (is_date(fields[1]) or not fields[1]):
            examination.report(f"the tombstone of {name} is damaged: compare with a backup; 'noid history {name}' has "
                               "the reason")
        if record is None or not record.flags & (WITHDRAWN | UNAVAILABLE):
            examination.report(f"{name} has a tombstone, but its circulation record does not say that it was "
                               "withdrawn or is unavailable: restore a backup, or compare with one")


# -- rules -------------------------------------------------------------------------------------------------------------


def _check_rules(examination: Examination) -> None:
    for key, replacement in examination.items(schema.RULES):
        parts = parts_of(key)
        if parts is None or not all(parts):
            examination.report_damaged("the rule", key)
            continue
        element, pattern = parts
        try:
            Rule(pattern, replacement)
        except NoidError as error:
            examination.report(f"the rule {printable(pattern[:60])!r} for {examination.name(element)} cannot be used: "
                               f"{error.message}")


# -- aliases and relations -------------------------------------------------------------------------------------------


def _check_aliases(examination: Examination) -> None:
    for identifier, target in examination.items(schema.ALIASES):
        name = examination.name(identifier)
        related = [relation.display for relation in _relations(examination.reader, identifier, ALIAS_OF)]
        if related != [target]:
            examination.report(f"{name} is an alias of {examination.name(target)}, but its relations do not say so: "
                               f"make it one again with 'noid alias {name} {examination.name(target)}'")
        record = find(examination.reader, identifier)
        if record is None or not record.held:
            examination.report(f"{name} is an alias, but is not on hold, so it could be minted for something else: run "
                               f"'noid hold set {name}'")
        try:
            aliases.chain_from(examination.minter, examination.reader, identifier)
        except ConflictError as error:
            examination.report(f"{name} leads nowhere: {error.message}")


def _check_relations(examination: Examination) -> None:
    reader = examination.reader
    for key, packed in chain(examination.items(schema.RELATIONS), examination.items(schema.CLAIMS)):
        parts = parts_of(key)
        relation = relations.parsed(parts[1], packed) if parts is not None and fields_of(packed, 5) else None
        if parts is None or relation is None:
            examination.report_damaged("the relation", key)
            continue
        name = parts[0]
        if relation.event:
            examination.check_event(relation.event, f"a relation of {examination.name(name)}")
        if relation.kind == ALIAS_OF and alias_target(reader, name) is None:
            examination.report(f"the relations of {examination.name(name)} make it an alias, but it is not resolved as "
                               "one: make it one again, or remove it, with 'noid alias'")
        elif KINDS[relation.kind].inverse and not _has_inverse(reader, name, relation):
            examination.report(
                f"{examination.name(name)} has the {relation.word} {examination.name(relation.other)}, but not "
                "the other way round: remove the relation and make it again, or compare with a backup")


def _relations(reader: Reader, name: bytes, kind: bytes) -> Iterator[Relation]:
    """The relations of a name of one kind that are not damaged."""
    for key, packed in reader.scan(KINDS[kind].table, pair_prefix(name) + kind):
        relation = relations.parsed(split_pair(key)[1], packed)
        if relation is not None:
            yield relation


def _has_inverse(reader: Reader, name: bytes, relation: Relation) -> bool:
    kind = KINDS[relation.kind].inverse
    return any(other.other == name and (not KINDS[kind].claimed or other.authority == relation.authority)
               for other in _relations(reader, relation.other, kind))


# -- rows that agree with nothing else -----------------------------------------------------------------------------


def _check_rows(examination: Examination) -> None:
    for table, (is_whole, sentence) in _ROWS.items():
        for key, packed in examination.items(table):
            if not is_whole(key, packed):
                examination.report(sentence.format(name=examination.name(key)))


def _is_element(key: bytes, value: bytes) -> bool:
    parts = parts_of(key)
    return parts is not None and all(parts)


def _is_abstraction(key: bytes, packed: bytes) -> bool:
    fields = fields_of(packed, 7)
    return (bool(key) and fields is not None and fields[0].decode("utf-8", "replace") in ABSTRACT_KINDS
            and is_date(fields[6]))


def is_token(digest: bytes, packed: bytes) -> bool:
    """Whether a row can be a token."""
    fields = fields_of(packed) or []
    limits = fields[5:]  # only of tokens that have some
    return (len(digest) == _DIGEST_SIZE and len(fields) in (5, 8) and are_dates(fields[2:5])
            and set(fields[1].decode("utf-8", "replace").split(",")) <= set(CLASSES)
            and all(not limit or limit.isdigit() for limit in limits))


def _is_setting(key: bytes, value: bytes) -> bool:
    """Whether a setting can be what it is; of those that are free text, only that it is no garbage."""
    name = key.decode("utf-8", "replace")
    if "\ufffd" in name or b"\0" in value:
        return False
    if name in _ACCESS_RULES:
        return AccessRule.is_packed(value)
    if name == INITIAL_STATE:
        return value in (PUBLISH, RESERVE)
    if name == MINT_LIMIT_SETTING:
        return value.isdigit()
    if name in PERSISTENCE_DATES:
        return is_date(value)
    if name.startswith(f"{CLAIM}/"):
        return is_date(value) and name.count(" ") >= 2
    return True


# What is wrong if a row is not as the function says.  Tables whose values are text, and those of which other checks
# read a part, are read to their end.
_ROWS: dict[bytes, tuple[Callable[[bytes, bytes], bool], str]] = {
    schema.ELEMENTS: (
        _is_element, "the element under {name!r} belongs to no identifier, or has no name: compare with a backup"),
    schema.ABSTRACT: (_is_abstraction, "what is abstract under {name} is damaged: compare with a backup"),
    schema.VERIFIED: (
        lambda _, packed: is_sound(packed), "the results of verifying {name} are damaged: verify it again"),
    schema.TOKENS: (is_token, "a token is damaged, and cannot be used: revoke it, and make another"),
    schema.CONFIG: (_is_setting, "the setting {name!r} is damaged: set it again, or compare with a backup"),
    schema.SECRETS: (lambda _, secret: len(secret) == SECRET_SIZE,
                     "the secret of the minter for {name} is damaged: compare with a backup"),
    **dict.fromkeys((schema.META, schema.NOTES, schema.REPLIES), (lambda *_: True, "")),
}


# -- the minter --------------------------------------------------------------------------------------------------------


def _check_replies(examination: Examination) -> None:
    for sentence, mend in reply_faults(examination.reader):
        examination.report(sentence, mend)


def _check_meta(examination: Examination) -> None:
    backup = schema.last_backup(examination.reader)
    if backup and not is_date(backup):
        examination.report("the date of the last backup is damaged: the next backup writes it anew")


# The queue first, because the others leave out what was found misplaced in it.
CHECKS = (
    _check_queue, _check_queue_index, _check_records, _check_peppers, _check_tombstones, _check_rules, _check_aliases,
    _check_relations, _check_rows, _check_replies, _check_meta,
)
