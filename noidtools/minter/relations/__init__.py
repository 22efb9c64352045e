"""Relations between names, and what is declared to be abstract: the kinds, and the tables in which they are stored.

Each relation is stored under both names, so that it is found from either: an alias and its target, two synonyms, a
withdrawn name and its successor.  Only a preference is stored under one name, the preferred one.  A name may also be
abstract or of another system; a name of this minter is in the form in which it is stored.

An abstract context is stored under its name as it was declared.  An abstract name or identifier is written as its
context, a separator and its label.  The choice of the separator makes no difference, so the key is made of context and
label.

The words are those of the PILIN ontology of identifier systems; its sections are

    claims    what an authority states about two names for a span of time: equivalents (5.3), synonyms (5.4), preferred
              names (5.6), contexts in contexts (5.10), realisations of something abstract (6.3, 7.1)
    homology  names with the same label in contexts that realise one abstract context (7.2, names alone 10.4; the scope:
              appendix 2)
    senses    in which sense two names are the same, where they are not one name: each of the relations above, and a
              name and its alias (5.5)

claims.py has all three; abstract.py finds and declares what is abstract; aliases and preferences are in ../aliases.py,
successors in ../lifecycle.py.
"""

from __future__ import annotations

from ... import names
from ...codec import pack, pair, pair_prefix, split_pair, unpack
from ...errors import InvalidError
from ..policies import hides
from ..schema import ABSTRACT, CLAIMS, RELATIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...store import Reader, Writer


class RelationKind:
    """What another name can be to a name.

    letter    its code in the database
    word      what the other name is, as written in answers
    inverse   the letter of the kind under which the other name has the relation; its own if it is symmetric, empty if
              there is no other name
    section   the section of the PILIN ontology of identifier systems that defines it; empty if none does
    verb      of a claim: the verb between the two names, or the noun for both if it is symmetric
    claimed   whether several authorities may claim the same, each with an entry of its own
    table     where it is stored
    """

    __slots__ = ("claimed", "inverse", "letter", "section", "table", "verb", "word")

    def __init__(
        self, letter: bytes, word: str, inverse: bytes, section: str = "", *, verb: str = "", claimed: bool = False,
        table: bytes = CLAIMS,
    ) -> None:
        self.letter = letter
        self.word = word
        self.inverse = inverse
        self.section = section
        self.verb = verb
        self.claimed = claimed
        self.table = table

    @property
    def symmetric(self) -> bool:
        return self.letter == self.inverse

    def sentence(self, one: bytes, other: bytes, *, ended: bool = False) -> bytes:
        """The relation in words, or that it is no longer so."""
        verb = self.verb.encode()
        if self.symmetric:
            return one + b" and " + other + (b" are no longer " if ended else b" are ") + verb
        return one + (b" no longer " if ended else b" ") + verb + b" " + other


ALIAS_OF, ALIAS, SYNONYM, PREFERRED, SUCCESSOR, PREDECESSOR = b"a", b"t", b"s", b"p", b"n", b"o"
CONTAINS, CONTAINED_IN, REALISES, REALISED_BY = b"c", b"C", b"r", b"R"
HOMOLOGUE, HOMOLOGOUS_NAME, EQUIVALENT = b"h", b"m", b"e"
KINDS = {kind.letter: kind for kind in (
    RelationKind(ALIAS_OF, "alias-of", ALIAS, "5.5", table=RELATIONS),
    RelationKind(ALIAS, "alias", ALIAS_OF, "5.5", table=RELATIONS),
    RelationKind(SYNONYM, "synonym", SYNONYM, "5.4", verb="synonyms", claimed=True, table=RELATIONS),
    RelationKind(PREFERRED, "preferred", b"", "5.6", claimed=True, table=RELATIONS),
    RelationKind(SUCCESSOR, "successor", PREDECESSOR, table=RELATIONS),
    RelationKind(PREDECESSOR, "predecessor", SUCCESSOR, table=RELATIONS),
    RelationKind(CONTAINS, "contains", CONTAINED_IN, "5.10", verb="contains", claimed=True),
    RelationKind(CONTAINED_IN, "contained-in", CONTAINS, "5.10", verb="is contained in", claimed=True),
    RelationKind(REALISES, "realises", REALISED_BY, "7.1", verb="realises", claimed=True),
    RelationKind(REALISED_BY, "realised-by", REALISES, "7.1", verb="is realised by", claimed=True),
    RelationKind(HOMOLOGUE, "homologue", HOMOLOGUE, "7.2", verb="homologues", claimed=True),
    RelationKind(HOMOLOGOUS_NAME, "homologous-name", HOMOLOGOUS_NAME, "10.4", verb="homologous names", claimed=True),
    RelationKind(EQUIVALENT, "equivalent", EQUIVALENT, "5.3", verb="equivalent", claimed=True),
)}
WORDS = {kind.letter: kind.word for kind in KINDS.values()}
CLAIMED = {kind.word: kind for kind in KINDS.values() if kind.claimed and kind.inverse}
"""The kinds of which an authority may claim that two names have them, by their words."""
_LONGEST_AUTHORITY = 1000


class Relation:
    """A relation of a name to another.

    kind          what `other` is to the name: a key of KINDS
    other         the other name, as stored
    display       the other name, as written in answers
    authority     who claims the relation; may be empty
    start, until  dates of fourteen digits; `until` is empty if no end is set
    event         the number of the event that recorded it; 0 for a derived one
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

    @property
    def derived(self) -> bool:
        """Whether it is claimed by nobody, but follows from what both names realise."""
        return self.kind in (HOMOLOGUE, HOMOLOGOUS_NAME) and not self.authority

    def holds_at(self, date: bytes) -> bool:
        """Whether the relation is in force at a date of fourteen digits."""
        return self.start <= date and (not self.until or date <= self.until)


def ensure_authority(authority: bytes) -> None:
    """Raise InvalidError for what cannot be the name of an authority."""
    if not authority.strip() or len(authority) > _LONGEST_AUTHORITY or b"\n" in authority:
        raise InvalidError(f"an authority is named in one line of 1 to {_LONGEST_AUTHORITY} bytes")


def put_relation(writer: Writer, name: bytes, relation: Relation) -> None:
    """Store a relation under one of its names; the caller stores the inverse under the other name."""
    fields = relation.display, relation.authority, relation.start, relation.until, b"%d" % relation.event
    writer.put(KINDS[relation.kind].table, _key(name, relation), pack(fields))


def delete_relation(writer: Writer, name: bytes, relation: Relation) -> None:
    """Delete a relation under one of its names; only its kind, other name and authority are compared."""
    writer.delete(KINDS[relation.kind].table, _key(name, relation))


def _key(name: bytes, relation: Relation) -> bytes:
    # Several authorities may claim the same of two names, and each claim has an entry of its own.
    authority = relation.authority if KINDS[relation.kind].claimed else b""
    return pair(name, relation.kind + pair(authority, relation.other))


def relations_of(reader: Reader, name: bytes, kind: bytes = b"") -> Iterator[Relation]:
    """The relations of a name, or those of one kind; without those to names that the reader may not see."""
    for table in (KINDS[kind].table,) if kind else (RELATIONS, CLAIMS):
        for key, packed in reader.scan(table, pair_prefix(name) + kind):
            relation = _relation(split_pair(key)[1], packed)
            if not hides(reader, relation.other):
                yield relation


def _relation(rest: bytes, packed: bytes) -> Relation:
    display, authority, start, until, event = unpack(packed)
    return Relation(rest[:1], split_pair(rest[1:])[1], display, authority, start, until, int(event))


def parsed(rest: bytes, packed: bytes) -> Relation | None:
    """A row of the table, `rest` being the key after the name; None if it is damaged."""
    try:
        relation = _relation(rest, packed)
    except (ValueError, IndexError):
        return None
    return relation if relation.kind in WORDS else None


def relations_of_extensions(reader: Reader, name: bytes, kind: bytes) -> Iterator[Relation]:
    """The relations of one kind, of a name and of all names that begin with it and a boundary character."""
    beginning = pair_prefix(name)[:-2]
    for key, packed in reader.scan(KINDS[kind].table, beginning):
        other, rest = split_pair(key)
        boundary = other[len(name) : len(name) + 1]
        if rest[:1] == kind and (not boundary or boundary in names.BOUNDARIES):
            yield _relation(rest, packed)


# -- what is abstract ------------------------------------------------------------------------------------------------

CONTEXT, NAME, IDENTIFIER = "context", "name", "identifier"
ABSTRACT_KINDS = (CONTEXT, NAME, IDENTIFIER)
LONGEST_NAME = 1000
# What is between an abstract context and a label: one of these, or `::`.
_SEPARATORS = b":/"


class Abstraction:
    """Something abstract that has a name here.

    key        under which relations of it are stored
    kind       one of ABSTRACT_KINDS
    display    its name, as written in answers
    context    the key of the abstract context that it is in; empty for a context
    label      its label there; empty for a context
    about      the purpose of a context, or what an identifier identifies, in words; may be empty
    authority  who is responsible for it
    since      when it was declared, in fourteen digits
    """

    __slots__ = ("about", "authority", "context", "display", "key", "kind", "label", "since")

    def __init__(
        self, key: bytes, kind: str, display: bytes, context: bytes, label: bytes, about: bytes, authority: bytes,
        since: bytes,
    ) -> None:
        self.key = key
        self.kind = kind
        self.display = display
        self.context = context
        self.label = label
        self.about = about
        self.authority = authority
        self.since = since


def find_abstraction(reader: Reader, key: bytes) -> Abstraction | None:
    """What is declared to be abstract under a key; None if nothing is."""
    packed = reader.get(ABSTRACT, key)
    return None if packed is None else _abstraction(key, packed)


def all_abstractions(reader: Reader, kind: str = "") -> Iterator[Abstraction]:
    """All that is declared to be abstract, or those of one kind, in the order of their keys."""
    for key, packed in reader.scan(ABSTRACT):
        abstraction = _abstraction(key, packed)
        if kind in ("", abstraction.kind):
            yield abstraction


def has_abstractions(reader: Reader) -> bool:
    """Whether anything is declared to be abstract."""
    return next(iter(reader.scan(ABSTRACT, limit=1)), None) is not None


def find_named(reader: Reader, text: bytes, key: bytes) -> tuple[bytes, Abstraction | None]:
    """The key under which something abstract with this name is or would be declared, and what is declared there.

    `key` is the key that the name has without regard to what is abstract.
    """
    text = text.strip()
    if len(text) > LONGEST_NAME or not has_abstractions(reader):
        return key, None
    exact = find_abstraction(reader, text)
    if exact is not None:
        return text, exact
    place = find_place(reader, text)
    if place is not None:
        context, label = place
        key = context.key + b":" + label
    return key, find_abstraction(reader, key)


def find_place(reader: Reader, text: bytes) -> tuple[Abstraction, bytes] | None:
    """The longest abstract context that a name begins with, and the label after it; None if there is none."""
    text = text.strip()
    for end in range(len(text) - 1, 0, -1):
        if text[end] in _SEPARATORS:
            context = find_abstraction(reader, text[:end])
            label = text[end + (2 if text.startswith(b"::", end) else 1) :]
            if context is not None and context.kind == CONTEXT and label:
                return context, label
    return None


def put_abstraction(writer: Writer, abstraction: Abstraction) -> None:
    """Store what is declared to be abstract under its key."""
    fields = (abstraction.kind.encode(), abstraction.display, abstraction.context, abstraction.label,
              abstraction.about, abstraction.authority, abstraction.since)
    writer.put(ABSTRACT, abstraction.key, pack(fields))


def delete_abstraction(writer: Writer, key: bytes) -> None:
    writer.delete(ABSTRACT, key)


def _abstraction(key: bytes, packed: bytes) -> Abstraction:
    kind, *rest = unpack(packed)
    return Abstraction(key, kind.decode(), *rest)
