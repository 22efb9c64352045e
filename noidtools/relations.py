"""Relations between names: how they are kept, found and shown.

Each relation is kept under both names, so that either tells of it: an alias and
its target, two synonyms, a withdrawn name and its successor.  That an authority
prefers a name is kept under that name alone.  A name may be any name, also one
that another system manages; of a name that is ours it is the stored form.
"""

from __future__ import annotations

from . import names, subjects
from .circulation import PEPPERED, find
from .exceptions import InvalidError
from .fields import pack, pair, pair_prefix, split_pair, unpack
from .recognition import is_known, labels_of, shown
from .tables import ELEMENTS, RELATIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .minter import Minter
    from .store import Reader, Writer

# Kinds, and what `other` is to the name under which the relation is kept.
ALIAS_OF, ALIAS, SYNONYM, PREFERRED, SUCCESSOR, PREDECESSOR = b"a", b"t", b"s", b"p", b"n", b"o"
WORDS = {
    ALIAS_OF: "alias-of", ALIAS: "alias", SYNONYM: "synonym", PREFERRED: "preferred", SUCCESSOR: "successor",
    PREDECESSOR: "predecessor",
}
_LONGEST_AUTHORITY = 1000


class Ref:
    """A name: the key under which things about it are kept, how it is shown, and whether its pepper came along."""

    __slots__ = ("key", "shown", "peppered")

    def __init__(self, key: bytes, shown: bytes, *, peppered: bool = False) -> None:
        self.key = key
        self.shown = shown
        self.peppered = peppered


class Relation:
    """`kind` is what `other` is to the name that was asked about.  Dates have fourteen digits; `until` is empty for
    what has no end set.  `event` is the number of the event that made it."""

    __slots__ = ("kind", "other", "shown", "authority", "start", "until", "event")

    def __init__(self, kind: bytes, other: bytes, shown: bytes = b"", authority: bytes = b"", start: bytes = b"",
                 until: bytes = b"", event: int = 0) -> None:
        self.kind = kind
        self.other = other
        self.shown = shown
        self.authority = authority
        self.start = start
        self.until = until
        self.event = event

    @property
    def word(self) -> str:
        return WORDS[self.kind]

    def holds_at(self, date: bytes) -> bool:
        return self.start <= date and (not self.until or date <= self.until)


# -- names ----------------------------------------------------------------------------------------------------


def named(minter: Minter, reader: Reader, given: bytes) -> Ref:
    """The name that was given, in whatever spelling; a pepper that came along is taken off."""
    stored = subjects.to_read(minter, reader, given)
    if is_known(reader, stored):
        return Ref(stored, shown(minter, stored), peppered=stored != minter.stored(given))
    labels = labels_of(minter)
    name = names.parse(given, labels)
    if not name.query:
        for key in names.candidates(name, labels):
            key = minter.scheme.canonical(key)
            if is_known(reader, key):
                return Ref(key, shown(minter, key))
    if (name.scheme or b"://" in stored) and not _is_own(minter, name, labels):
        return Ref(stored if name.query or not name.scheme else names.stored(name, labels), name.text + name.query)
    key = stored if name.query else minter.scheme.canonical(names.stored(name, labels))
    return Ref(key, shown(minter, key))


def changed(minter: Minter, reader: Reader, given: bytes) -> Ref:
    """As `named`, for a name about which something is to be said from now on: a peppered one needs its pepper."""
    ref = named(minter, reader, given)
    ensure_pepper(reader, ref)
    return ref


def ensure_pepper(reader: Reader, ref: Ref) -> None:
    """A pepper that came along was looked at when the name was read; here one must have come, if there is one."""
    record = find(reader, ref.key)
    if record is not None and record.flags & PEPPERED and not ref.peppered:
        from . import peppers

        peppers.ensure_matches(reader, ref.key, None)


def _is_own(minter: Minter, name: names.Name, labels: tuple[bytes, ...]) -> bool:
    """Whether a name with a scheme is one of this minter: it bears its NAAN, or its label says so."""
    naan = minter.settings["naan"].encode()
    if naan and name.scheme == b"ark":
        return name.body.startswith(naan + b"/")
    return bool(name.scheme) and any(label.lower().startswith(name.scheme + b":") for label in labels)


def is_bound(reader: Reader, key: bytes) -> bool:
    return next(reader.scan(ELEMENTS, pair_prefix(key)), None) is not None


def ensure_authority(authority: bytes) -> None:
    if not authority.strip() or len(authority) > _LONGEST_AUTHORITY or b"\n" in authority:
        raise InvalidError(f"an authority is named in one line of 1 to {_LONGEST_AUTHORITY} bytes")


# -- the table ------------------------------------------------------------------------------------------------


def _key(name: bytes, relation: Relation) -> bytes:
    # Several authorities may say the same of two names, each for itself.
    said_by = relation.authority if relation.kind in (SYNONYM, PREFERRED) else b""
    return pair(name, relation.kind + pair(said_by, relation.other))


def keep(writer: Writer, name: bytes, relation: Relation) -> None:
    fields = relation.shown, relation.authority, relation.start, relation.until, b"%d" % relation.event
    writer.put(RELATIONS, _key(name, relation), pack(fields))


def drop(writer: Writer, name: bytes, relation: Relation) -> None:
    writer.delete(RELATIONS, _key(name, relation))


def of(reader: Reader, name: bytes, kind: bytes = b"") -> Iterator[Relation]:
    """The relations of a name, or those of one kind."""
    for key, packed in reader.scan(RELATIONS, pair_prefix(name) + kind):
        yield _relation(split_pair(key)[1], packed)


def _relation(rest: bytes, packed: bytes) -> Relation:
    shown, authority, start, until, event = unpack(packed)
    return Relation(rest[:1], split_pair(rest[1:])[1], shown, authority, start, until, int(event))


def of_extensions(reader: Reader, name: bytes, kind: bytes) -> Iterator[Relation]:
    """The relations of one kind of the name and of all longer names that begin with it at a boundary."""
    beginning = pair_prefix(name)[:-2]
    for key, packed in reader.scan(RELATIONS, beginning):
        other, rest = split_pair(key)
        boundary = other[len(name) : len(name) + 1]
        if rest[:1] == kind and (not boundary or boundary in names.BOUNDARIES):
            yield _relation(rest, packed)
