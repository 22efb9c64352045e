"""Finding names: by words, by the value of an element, by target, and by prefix, state and date of change.

Words, elements and targets are looked up in the search index (see index.py); without any of them the names of the
minter are gone through in the order of their bytes.  Either way the answer says what is in the store now.
"""

from __future__ import annotations

import shlex
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import islice

from ..codec import decode_text, encode_text
from ..description.facts import FoundName
from ..description.missing import without_code
from ..errors import UsageError
from ..minter import Minter, circulation
from ..minter.lifecycle import STATES, reader_in, state_of
from ..minter.policies import hides
from ..minter.stored import ChangedSince, StoredName, read_name, stored_names
from ..resolution import target_element
from ..store import Reader
from .index import Index, indexed_text, normal_url

# How many names a page has at most.
LARGEST_PAGE = 1000

_NEEDED = frozenset(("circulation", "elements", "alias", "events"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What names are searched for; all that is given must hold.

    words          words of their values or of the names themselves; `"two words"` stand together, `begin*` begins one
    elements       for each element words of its value
    target         the address to which they lead, or its beginning if it ends in `*`
    host           the host of that address
    prefix         the beginning of the names, as stored
    state          reserved, published, unavailable or withdrawn
    changed_since  the first moment of their last change, in fourteen digits
    changed_until  the last moment of it
    """

    words: str = ""
    elements: dict[str, str] = field(default_factory=dict)
    target: str = ""
    host: str = ""
    prefix: bytes = b""
    state: str = ""
    changed_since: bytes = b""
    changed_until: bytes = b""

    def __post_init__(self) -> None:
        if self.state and self.state not in STATES:
            raise UsageError(f"a state is one of {', '.join(STATES)}, not {self.state[:60]!r}")

    @property
    def all_words(self) -> list[str]:
        """The words to look for, those for elements included; raises UsageError for a quote that is not closed."""
        return [word for text in (self.words, *self.elements.values()) for word in split_words(text)]


@dataclass(frozen=True, slots=True)
class Page:
    """Some of the names that were found, and the cursor with which the search goes on; empty after the last."""

    names: list[FoundName]
    cursor: str


def find(minter: Minter, view: str, query: Query, limit: int = 100, cursor: str = "") -> Page:
    """The next names that fit a query, as a user with this view of the minter may see them.

    Raises UsageError for a query or a cursor that cannot be understood.
    """
    if not 0 < limit <= LARGEST_PAGE:
        raise UsageError(f"a page has 1 to {LARGEST_PAGE} names")
    words = query.all_words
    indexed = bool(words or query.target or query.host)

    def page(everything: Reader) -> Page:
        reader = reader_in(view, everything)
        names = _indexed(index, reader, query, words, cursor) if index else _listed(reader, query, cursor)
        changed = ChangedSince(everything, query.changed_since) if query.changed_since else None
        # A further character makes the text the first that is greater than the last moment.
        later = ChangedSince(everything, query.changed_until + b"0") if query.changed_until else None
        fitting = ((place, name) for place, name in names
                   if (later is None or name not in later) and _fits(reader, name, query, changed))
        found = list(islice(fitting, limit + 1))
        element = target_element(everything)
        return Page([_found(minter, reader, name, element) for _, name in found[:limit]],
                    found[limit - 1][0] if len(found) > limit else "")

    with Index.of(minter) if indexed else nullcontext() as index:
        return minter.read(page)


def find_all(minter: Minter, view: str, query: Query, limit: int | None = None) -> Iterator[FoundName]:
    """All names that fit a query, or the first of them, read page by page."""
    cursor = ""
    while limit is None or limit > 0:
        page = find(minter, view, query, LARGEST_PAGE if limit is None else min(limit, LARGEST_PAGE), cursor)
        yield from page.names
        cursor = page.cursor
        if limit is not None:
            limit -= len(page.names)
        if not cursor:
            return


# -- candidates ------------------------------------------------------------------------------------------------------


def _indexed(
    index: Index, reader: Reader, query: Query, words: list[str], cursor: str
) -> Iterator[tuple[str, StoredName]]:
    """The names that the index has for a query, in its order, each with the cursor that follows it."""
    tables, conditions, values = ["names"], ["names.id > ?"], [_number(cursor)]
    if words:
        tables.append("texts")
        conditions.append("texts MATCH ? AND texts.rowid = names.id")
        values.append(" AND ".join(map(_term, words)))
    for column, text in (("url", normal_url(query.target)), ("host", query.host.lower().rstrip("."))):
        if text:
            comparison = "= ?"
            if column == "url" and text.endswith("*"):
                comparison, text = "GLOB ?", text[:-1].translate(_LITERAL) + "*"
            conditions.append(f"names.id IN (SELECT name FROM targets WHERE {column} {comparison})")
            values.append(text)
    if query.state:
        conditions.append("names.state = ?")
        values.append(query.state)
    order = "texts.rowid" if words else "names.id"
    statement = (f"SELECT names.id, names.key FROM {', '.join(tables)} WHERE {' AND '.join(conditions)} "
                 f"ORDER BY {order}")
    sent = [indexed_text(encode_text(value)) if isinstance(value, str) else value for value in values]
    for number, key in index.select(statement, sent):
        if key.startswith(query.prefix):
            yield str(number), read_name(reader, key, only=_NEEDED)


def _listed(reader: Reader, query: Query, cursor: str) -> Iterator[tuple[str, StoredName]]:
    """All names that begin so, in the order of their bytes, each with the cursor that follows it."""
    try:
        after = bytes.fromhex(cursor)
    except ValueError:
        raise _bad_cursor() from None
    for name in stored_names(reader, query.prefix, after=after, only=_NEEDED):
        if name.is_known:
            yield name.key.hex(), name


_LITERAL = {ord(mark): f"[{mark}]" for mark in "*?["}


def _number(cursor: str) -> object:
    if not cursor:
        return 0
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 19):
        raise _bad_cursor()
    return int(cursor)


def _bad_cursor() -> UsageError:
    return UsageError("that is not a cursor of this search: use the one that came with the last page, or start again")


def split_words(text: str) -> list[str]:
    """The words and the phrases in quotes of a text; raises UsageError for a quote that is not closed."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars="")
    lexer.whitespace_split, lexer.quotes, lexer.commenters, lexer.escape = True, '"', "", ""
    try:
        return list(lexer)
    except ValueError:
        raise UsageError('a quote is not closed: write "two words" in two quotes') from None


def _term(word: str) -> str:
    """A word or a phrase in the language of FTS5."""
    beginning = word.endswith("*") and len(word) > 1
    quoted = word.rstrip("*").replace('"', '""').replace("\0", " ")
    return f'"{quoted}"*' if beginning else f'"{quoted}"'


# -- what was found --------------------------------------------------------------------------------------------------


def _fits(reader: Reader, name: StoredName, query: Query, changed: ChangedSince | None) -> bool:
    """Whether a candidate may be seen, and fits what the index does not know, or did not know yet."""
    if hides(reader, name.key) or not name.is_known or (changed is not None and name not in changed):
        return False
    if query.state and state_of(reader, name.key, name.record) != query.state:
        return False
    values = dict(name.elements)
    return all(_plain(word.rstrip("*")) in _plain(without_code(decode_text(values.get(encode_text(element), b""))))
               for element, text in query.elements.items() for word in split_words(text))


def _plain(text: str) -> str:
    """A text without case and diacritics, as the index compares words."""
    return "".join(letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter)
                   ).casefold()


def _found(minter: Minter, reader: Reader, name: StoredName, element: bytes) -> FoundName:
    state = state_of(reader, name.key, name.record)
    values = dict(name.elements) if state != "withdrawn" else {}
    alias = circulation.alias_target(reader, name.key)
    return FoundName(
        decode_text(minter.namespace.display(name.key)), state, decode_text(values.get(element, b"")),
        {decode_text(key): decode_text(value) for key, value in values.items()},
        None if alias is None else decode_text(alias),
    )


# -- names of one target -----------------------------------------------------------------------------------------------


def names_at(minter: Minter, *, many: bool) -> Callable[[bytes], list[bytes]]:
    """A function that returns the stored names, whoever may see them, that lead to an address.

    With `many` it will be called for many addresses: all that several names share are read at once, and of any other
    address no name is returned.
    """
    shared: dict[str, list[bytes]] | None = None

    def find_one(url: bytes) -> list[bytes]:
        with Index.of(minter) as index:
            return index.keys_at(indexed_text(url))

    def find_among_shared(url: bytes) -> list[bytes]:
        nonlocal shared
        if shared is None:
            with Index.of(minter) as index:
                shared = index.shared_targets()
        return shared.get(normal_url(indexed_text(url)), [])

    return find_among_shared if many else find_one


def is_address(text: str) -> bool:
    """Whether a text to search for is an address, which may end in `*`, and not a host."""
    return "://" in text
