"""Whether the records say what the events say.

Events and records tell of the same changes.  Where they differ, it is not known which is wrong: a person decides, and
makes it right with a command, which is an event, too.  Only a hold or a withdrawal that the events have is restored,
because it protects the name.
"""

from __future__ import annotations

from functools import partial

from ...codec import pair
from ...errors import printable
from ...store import Writer
from .. import schema
from ..circulation import HELD, PEPPERED, RESERVED, UNAVAILABLE, WITHDRAWN, Circulation, find, save
from ..events import Digest, number_key
from ..history import numbers_of
from ..items import ITEM_ELEMENT, stored_items
from ..lifecycle import PUBLISHED_STATE, RESERVED_STATE, UNAVAILABLE_STATE, WITHDRAWN_STATE
from ..namespace import RULE_MARK
from ..relations import CLAIMED, Relation, find_abstraction, parsed
from ..tokens import Token
from .examination import Examination, fields_of, parts_of
from .names import is_token
from .replay import HOLD, MINTER, PEPPER, STATE, Events, Recorded, Replay, StoredRows, fingerprint, stored_pages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...schemes.base import FormChecker

_STATES = ((WITHDRAWN, WITHDRAWN_STATE), (UNAVAILABLE, UNAVAILABLE_STATE), (RESERVED, RESERVED_STATE))
_SHOWN = 60

# The settings that are the paths of archives; their events do not record them as changes.
_ARCHIVES = b"archive/"


def _check_content(examination: Examination) -> None:
    events = Events(examination.reader)
    comparison = _Comparison(examination, events)
    for page in stored_pages(examination):
        events.load(page)
        for name in page:
            comparison.compare(name)
    comparison.report_forms()


class _Comparison:
    def __init__(self, examination: Examination, events: Events) -> None:
        self._examination = examination
        self._events = events
        self._long_term = examination.minter.settings.long_term
        self._imported = examination.imported
        self._form: FormChecker | None = None
        if examination.generator is not None:
            self._form = examination.minter.scheme.form_checker(schema.generator_state(examination.reader))
        # Identifiers that were minted here, but that this minter could not make: how many, and the first.
        self._malformed, self._first_malformed = 0, b""

    def compare(self, name: StoredRows) -> None:
        replay = Replay(name, self._events, long_term=self._long_term, imported=self._imported)
        if name.key == MINTER:
            self._compare_minter(name, replay)
        else:
            self._compare_elements(name, replay)
            self._compare_record(name, replay)
            self._compare_names(name, replay)
        self._compare_custodians(name, replay)
        self._compare_statements(name, replay)
        self._compare_relations(name)

    def _check_value(
        self, name: StoredRows, what: str, stored: bytes | None, recorded: Recorded | None, remedy: str
    ) -> bool:
        """Report a property that is stored differently from what the events say, if they say anything of it; returns
        whether there was nothing to report."""
        if recorded is None or recorded.allows(stored):
            return True
        of = f"of {self._examination.name(name.key)}" if name.key else "of the minter"
        self._examination.report(f"{what} {of} is {_shown(stored)}, but {_according(recorded)}: {remedy}, or compare "
                                 "with a backup")
        return False

    # -- elements ------------------------------------------------------------------------------------------------

    def _compare_elements(self, name: StoredRows, replay: Replay) -> None:
        stored = name.several(schema.ELEMENTS)
        for element in sorted({*stored, *replay.elements}):
            recorded = replay.elements.get(element) or (Recorded(None) if replay.knows_elements else None)
            self._check_value(name, f"the element {printable(element[:200])}", stored.get(element), recorded,
                              "bind the right value with 'noid bind', or remove it with 'noid bind purge'")

    # -- circulation records -------------------------------------------------------------------------------------

    def _compare_record(self, name: StoredRows, replay: Replay) -> None:
        record = name.record
        flags = record.flags if record is not None else 0
        self._compare_hold(name, replay, held=bool(flags & HELD))
        self._compare_state(name, replay, flags)
        pepper, peppered = replay.recorded(PEPPER), bool(flags & PEPPERED)
        if pepper is not None and bool(pepper.after) != peppered:
            self._check_value(name, "the pepper", b"set" if peppered else None, pepper, "restore a backup")
        if not replay.complete or name.key.startswith(RULE_MARK):
            return
        minted = record.history.count(b"i") if record is not None else 0
        if minted != replay.mintings:
            self._examination.report(
                f"{self._examination.name(name.key)} was minted {minted} times according to its circulation record, "
                f"but {replay.mintings} times according to its events: restore a backup, or compare with one")
        elif minted:
            self._check_form(name.key)

    def _compare_hold(self, name: StoredRows, replay: Replay, *, held: bool) -> None:
        recorded = replay.recorded(HOLD)
        if recorded is None or bool(recorded.after) == held:
            return
        identifier = self._examination.name(name.key)
        mend = None if held else partial(_mend_flag, name.key, HELD, name.numbers[-1])
        is_so, should, word = ("on hold", "not on hold", "release") if held else ("not on hold", "on hold", "set")
        self._examination.report(f"{identifier} is {is_so}, but {_according(recorded, should)}: run 'noid hold {word} "
                                 f"{identifier}', or compare with a backup", mend)

    def _compare_state(self, name: StoredRows, replay: Replay, flags: int) -> None:
        recorded = replay.recorded(STATE)
        state = next((word for flag, word in _STATES if flags & flag), PUBLISHED_STATE)
        if recorded is None:
            return
        expected = recorded.after.decode() if isinstance(recorded.after, bytes) else PUBLISHED_STATE
        if state != expected:
            mend = None
            if expected == WITHDRAWN_STATE:
                mend = partial(_mend_flag, name.key, WITHDRAWN, name.numbers[-1])
            self._examination.report(
                f"{self._examination.name(name.key)} is {state}, but {_according(recorded, expected)}: give it the "
                "right state, or compare with a backup", mend)
        tombstone = fields_of(name.one(schema.TOMBSTONES) or b"", 5)
        if tombstone is None or state not in (WITHDRAWN_STATE, UNAVAILABLE_STATE):
            return
        for what, stored in ((b"reason", tombstone[2]), (b"successor", tombstone[3])):
            self._check_value(name, f"the {what.decode()} on the tombstone", stored or None, replay.recorded(what),
                              "write the right one with 'noid tombstone'")

    def _check_form(self, identifier: bytes) -> None:
        fault, sound = self._form(identifier) if self._form is not None else ("", None)
        if fault or sound is False:
            self._malformed += 1
            self._first_malformed = self._first_malformed or identifier

    def report_forms(self) -> None:
        if self._malformed:
            example, minter = self._examination.name(self._first_malformed), self._examination.minter
            form = "; ".join(f"{what.lower()} {printable(value)}" for what, value in minter.scheme.form())
            self._examination.report(
                f"{self._malformed} identifiers were minted here, such as {example}, that the settings of this minter "
                f"cannot make ({form}): the settings are damaged, or these records; restore a backup")

    # -- what else a name has ------------------------------------------------------------------------------------

    def _compare_names(self, name: StoredRows, replay: Replay) -> None:
        self._check_value(name, "the target of the alias", name.one(schema.ALIASES), replay.recorded(b"alias-of"),
                          "set or remove it with 'noid alias'")
        fields = fields_of(name.one(schema.ABSTRACT) or b"", 7)
        self._check_value(name, "the kind of what is abstract", fields[0] if fields else None,
                          replay.recorded(b"abstract"), "declare it anew with 'noid abstract'")

    def _compare_custodians(self, name: StoredRows, replay: Replay) -> None:
        """Each row is what one event recorded, under its number."""
        remedy = "name the right one with 'noid custodian'"
        rows = name.several(schema.CUSTODY) | name.several(schema.OFFICES)
        for rest, packed in rows.items():
            fields = fields_of(packed)
            if fields is not None and len(fields) >= 4:
                stored = {b"custodian": fields[0], b"contact": fields[1]}
                self._compare_row(name, int.from_bytes(rest, "big"), "custodian", stored, remedy)
                if replay.complete and int.from_bytes(rest, "big") not in replay.custodians:
                    self._check_value(name, "the custodian", fields[0], Recorded(None), remedy)
        for number, recorded in replay.custodians.items():
            if number_key(number) not in rows:
                self._check_value(name, "the custodian", None, recorded, remedy)

    def _compare_statements(self, name: StoredRows, replay: Replay) -> None:
        remedy = "state it anew with 'noid quality'"
        rows = name.several(schema.STATED)
        for rest, packed in rows.items():
            parts, fields = parts_of(rest), fields_of(packed, 5)
            if parts is not None and fields is not None and fields[4].isdigit():
                stored = {parts[0]: b"yes" if fields[0] == b"+" else b"no", b"authority": parts[1],
                          b"refinement": fields[1], b"from": fields[2], b"until": fields[3]}
                self._compare_row(name, int(fields[4]), "statement", stored, remedy)
        for (quality, authority), recorded in replay.statements.items():
            if pair(quality, authority) not in rows:
                self._check_value(name, f"the statement that it is {printable(quality)}", None, recorded, remedy)

    def _compare_row(
        self, name: StoredRows, number: int, label: str, stored: dict[bytes, bytes], remedy: str
    ) -> None:
        """Compare a row with the event that it refers to, as far as that says something of its values."""
        event = self._events[number]
        changes = [] if event is None or event.archive else self._events.changes_of(event, name.key)
        recorded = {change.what: change.after for change in changes if not change.element}
        for what in stored.keys() & recorded.keys():
            self._check_value(name, f"the {label} ({printable(what)})", stored[what] or None,
                              Recorded(recorded[what], number), remedy)

    def _compare_relations(self, name: StoredRows) -> None:
        """Each relation refers to the event that recorded it, which has its authority and its dates."""
        for rest, packed in (name.several(schema.RELATIONS) | name.several(schema.CLAIMS)).items():
            relation = parsed(rest, packed)
            event = self._events[relation.event] if relation is not None and relation.event else None
            if relation is None or event is None or event.archive:
                continue
            recorded = {fingerprint(change.after) for change in event.changes}
            dates = (relation.start, relation.until) if relation.word in CLAIMED else ()
            for text in (relation.authority, *dates):
                if text and fingerprint(text) not in recorded:
                    self._report_relation(name, relation, text)
            if fingerprint(relation.display) not in recorded and not self._is_name_of(relation):
                self._report_relation(name, relation, relation.display)

    def _is_name_of(self, relation: Relation) -> bool:
        """Whether the other name is written as its key is."""
        if relation.display in (relation.other, self._examination.minter.namespace.display(relation.other)):
            return True
        abstraction = find_abstraction(self._examination.reader, relation.other)
        return abstraction is not None and abstraction.display == relation.display

    def _report_relation(self, name: StoredRows, relation: Relation, text: bytes) -> None:
        self._examination.report(
            f"a relation ({relation.word}) of {self._examination.name(name.key)} has {_shown(text)}, which event "
            f"{relation.event} does not say: remove the relation and make it again, or compare with a backup")

    # -- the minter ----------------------------------------------------------------------------------------------

    def _compare_minter(self, name: StoredRows, replay: Replay) -> None:
        settings = {b"config " + key: value for key, value in name.several(schema.CONFIG).items()
                    if not key.startswith(_ARCHIVES)}
        notes = {b"note " + key: value for key, value in name.several(schema.NOTES).items()}
        known = [what for what in replay.names() if what.startswith((b"config ", b"note "))]
        for what in sorted({*settings, *notes, *known}):
            kind, _, key = what.partition(b" ")
            label = f"the {'setting' if kind == b'config' else 'note'} {printable(key[:200])}"
            self._check_value(name, label, {**settings, **notes}.get(what), replay.recorded(what), "set it anew")
        self._compare_tokens(name, replay)
        self._compare_creation(name)

    def _compare_tokens(self, name: StoredRows, replay: Replay) -> None:
        """A token that is missing is not reported: a complete import leaves all tokens where they are."""
        names: set[bytes] = set()
        for digest, packed in name.several(schema.TOKENS).items():
            if not is_token(digest, packed):
                continue  # reported elsewhere
            token = Token(digest, packed)
            if self._check_value(
                name, f"the token {printable(token.name)}", b" ".join(token.terms()),
                replay.recorded(b"token " + token.name), "revoke it with 'noid token revoke', and make another",
            ) and token.name in names:
                self._examination.report(f"there are two tokens {printable(token.name)}, of which nobody made one: "
                                         "revoke both with 'noid token revoke', and make another")
            names.add(token.name)

    def _compare_creation(self, name: StoredRows) -> None:
        settings = self._examination.minter.settings
        created = (settings["template"] or settings["scheme"]).encode()
        for number in name.numbers:
            event = self._events[number]
            if event is not None and event.verb == b"dbcreate" and event.details:
                self._check_value(name, "the template", created, Recorded(event.details[0], number),
                                  "restore a backup")


def _check_items(examination: Examination) -> None:
    """An item is bound to its identifier by the event that minted it."""
    for digest, packed in stored_items(examination.reader):
        identifier = (fields_of(packed, 2) or [b""])[0]
        if not identifier:
            examination.report_damaged("the identifier of an item", digest)
            continue
        known = Events(examination.reader)
        events = [known[number] for number in numbers_of(examination.reader, identifier)]
        values = {(fingerprint(change.after) or b"").hex().encode() for event in events if event is not None
                  for change in known.changes_of(event, identifier) if change.element and change.what == ITEM_ELEMENT}
        if digest not in values and not any(event is None or event.archive for event in events):
            examination.report(f"an item has the identifier {examination.name(identifier)}, but no event says so: "
                               "restore a backup, or compare with one")


def _according(recorded: Recorded, text: str = "") -> str:
    """What the events say."""
    if not recorded.number:
        return "no event says so"
    return f"by event {recorded.number} it is {text or _shown(recorded.after)}"


def _shown(value: bytes | Digest | None) -> str:
    if value is None:
        return "not set"
    if isinstance(value, Digest):
        return f"a value of {value.size} bytes"
    return repr(printable(value[:_SHOWN])) + (f" and {len(value) - _SHOWN} bytes more" if len(value) > _SHOWN else "")


def _mend_flag(identifier: bytes, flag: int, newest: int, writer: Writer) -> bool:
    """Hold or withdraw a name, as its events say, of which the newest had this number."""
    record = find(writer, identifier) or Circulation()
    if record.flags & flag or numbers_of(writer, identifier)[-1:] != [newest]:
        return False
    if flag == HELD:
        schema.add_to_held_count(writer, 1)
    record.flags |= flag
    save(writer, identifier, record)
    return True


CHECKS = (_check_content, _check_items)
