"""How the names of one minter are written: its labels, its NAAN, the spellings of its scheme.  Needs no store.

`names` knows the spellings that a name has for everybody.  A minter adds its own:

    labels     of its settings: literally taken off a text, the longest first
    implied    where the settings name no label: `ark:` before its NAAN, `hdl:` before the prefix of a PILIN minter
    canonical  the spelling of its scheme, such as upper case in PILIN labels

Every command, rule and resolver turns text into identifiers by `spellings` and `beginnings`, so that all of them try
the same keys in the same order.
"""

from __future__ import annotations

from .. import names
from ..codec import HEX_DIGITS, percent_decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..names import Name
    from ..schemes import Scheme
    from ..schemes.base import Settings

# A text that begins with this mark names rules, by their pattern or their element, and is no identifier; without the
# slash it names all rules.
RULE_MARK = b":idmap/"
ALL_RULES = b":idmap"

# Releases before 0.2.0 stored every ARK without its label, also those of other NAANs.
_ARK_LABELS = (b"ark:/", b"ark:")

# A longer identifier is a mistake or an attack, and would make every message about it unreadable.
LONGEST_IDENTIFIER = 65536

# Longer beginnings are not looked up: resolving a URL with a thousand slashes must stay cheap.
LONGEST_BEGINNING = 1024


class Namespace:
    """The names of one minter.

    labels                 what is written before its names: those of the settings, or the implied one; citations use
                           the first
    beginnings_with_label  what a text begins with that has a label, or may have one
    reads_urls             whether parsing depends on the labels, because one of them is a URL
    """

    __slots__ = (
        "labels", "reads_urls", "scheme", "beginnings_with_label", "_display_label", "_implied", "_naan", "_stripped",
        "_spelled", "_upper_case_naan",
    )

    def __init__(self, settings: Settings, scheme: Scheme) -> None:
        labels = settings.labels
        self.scheme = scheme
        self._naan = settings["naan"].encode()
        self._upper_case_naan = self._naan != self._naan.lower()
        self._stripped = sorted(labels, key=len, reverse=True)
        if scheme.system:
            self._implied: tuple[bytes, ...] = (scheme.system,)
        else:
            self._implied = (b"ark:/", b"ark:") if self._naan else ()
        self.labels = tuple(labels) or self._implied[:1]
        self.beginnings_with_label = (*labels, *self._implied)
        self._display_label = labels[0] if labels else b""
        # The name whose spellings were computed last, and those: a lookup asks for them in several steps.
        self._spelled: tuple[Name | None, list[bytes]] = (None, [])
        self.reads_urls = any(label[:4].lower() == b"http" for label in labels)

    def display(self, key: bytes) -> bytes:
        """A stored name as written in answers: with the label of the settings, if it is one of this minter's names."""
        return self._labelled(self._display_label, key)

    def cite(self, key: bytes) -> bytes:
        """A stored name as it is cited: as `display`, also with the label that the NAAN or the scheme implies."""
        return self._labelled(self.labels[0] if self.labels else b"", key)

    def labels_of(self, key: bytes) -> tuple[bytes, ...]:
        """The labels that may be written before a stored name: those of the minter, none before another's name."""
        return self.labels if self.cite(key) != key else ()

    def _labelled(self, label: bytes, key: bytes) -> bytes:
        is_ark = label in _ARK_LABELS and _has_naan(key)
        return label + key if label and (is_ark or self.owns(key)) else key

    def owns(self, key: bytes) -> bool:
        """Whether a stored name is one of this minter's: by its NAAN or its beginning, whether it was minted or not.

        In a minter without a template these are all names but those of other systems.
        """
        # A scheme ends in a colon, which may be percent-encoded; nearly all keys have neither and need no parsing.
        if (b":" in key or b"%" in key) and (
            key.startswith(RULE_MARK) or b"://" in key or names.parse(key).scheme
        ):
            return False
        if self._naan and key.startswith(self._naan + b"/"):
            return True
        if not self.scheme.owns(key):
            return False
        return not self.scheme.free or not (len(key.split()) > 1 or names.has_ibi_form(key))

    def is_home_of(self, name: Name) -> bool:
        """Whether a name has this minter's NAAN or prefix, so that no other resolver knows more about it."""
        authority = name.body.partition(b"/")[0].partition(b"?")[0]
        if self._naan and name.scheme in (b"", b"ark") and authority.lower() == self._naan.lower():
            return True
        return not self.scheme.free and self.scheme.owns(self._normal(name))

    # -- from text to keys -----------------------------------------------------------------------------

    def literal_key(self, text: bytes) -> bytes:
        """The first key to try: the text without its label.  The inverse of `display`."""
        if text.startswith(self.beginnings_with_label):
            text = self._without_label(text)
        return self.scheme.canonical(text)

    def _without_label(self, text: bytes) -> bytes:
        if not text.startswith(self.beginnings_with_label):
            return text
        for label in self._stripped:
            if text.startswith(label):
                return text[len(label) :]
        for label in self._implied:
            if text.startswith(label) and self._has_prefix(text[len(label) :]):
                return text[len(label) :]
        return text

    def _has_label(self, key: bytes) -> bool:
        """Whether a key is a name of this minter with its label, under which none is stored."""
        return self._without_label(key) is not key

    def beginning_spellings(self, name: Name) -> list[bytes]:
        """As `spellings`, for the beginning of a name: with what keys begin that the beginning may mean.

        A label before part of the NAAN or of the prefix is a label, too, as in `ark:/1303`.  A slash or a dot at the
        end, which a name may have or not, counts.
        """
        text = name.given
        end = text[len(text.rstrip(b"/.")) :]
        first = next((text[len(label) :] for label in (*self._stripped, *self._implied) if text.startswith(label)),
                     text)
        return [first, *(key if key.endswith(end) else key + end for key in self.spellings(name))]

    def _has_prefix(self, key: bytes) -> bool:
        return self.scheme.without_prefix(key) != key

    def parse(self, text: bytes) -> Name:
        """Parse a text as `names.parse` does, with the labels of this minter."""
        return names.parse(text, self.labels)

    def spellings(self, name: Name) -> list[bytes]:
        """The keys under which the name may be stored, its query included, in the order in which to try them.

        Without its query it is another, shorter name: see `beginnings`.  The list must not be changed.
        """
        last, keys = self._spelled
        if last is not name:
            keys = self._compute_spellings(name)
            self._spelled = name, keys
        return keys

    def _compute_spellings(self, name: Name) -> list[bytes]:
        text = name.given.strip()
        keys = [self._without_label(name.given)]
        if text != name.given:
            keys.append(self._without_label(text))
        keys += [key + name.query for key in self._as_written(name, len(name.written))]
        # A text that begins with a label is not tried as a key itself, because `display` would add a second label.
        keys += [key for key in names.spellings(name, self.labels) if key != text and not self._has_label(key)]
        if name.query:
            keys = [self._canonical(key, name.query) for key in keys]
        else:
            keys = [self.scheme.canonical(key) for key in keys]
        if self._upper_case_naan:
            keys += self._with_own_naan(keys)
        if self.scheme.lower_case and not name.query:
            keys += self._in_lower_case(keys)
        keys += _hyphenated_uuids(keys)
        return [key for key in dict.fromkeys(keys) if key]

    def beginnings(self, name: Name, *, longest: int = LONGEST_BEGINNING) -> Iterator[tuple[list[bytes], bytes]]:
        """The shorter names that this one extends, longest first: the keys of each, and the remaining text."""
        keys: list[bytes] = []
        rest = b""
        for key, after in names.cuts(name, self.labels, naan=bool(self._naan), longest=longest):
            if after != rest:
                if keys:
                    yield keys, rest
                length = len(name.written) + len(name.query) - len(after)
                keys, rest = [self.scheme.canonical(key) for key in self._as_written(name, length)], after
            if not self._has_label(key):
                keys.append(self.scheme.canonical(key))
            if self._upper_case_naan:
                keys += self._with_own_naan(keys[-1:])
            if self.scheme.lower_case:
                keys += self._in_lower_case(keys[-1:])
        if keys:
            yield keys, rest

    def _as_written(self, name: Name, length: int) -> list[bytes]:
        """The beginning of a name that has a label of this minter, this many bytes of it as written, without the label.

        A repertoire may have letters in both cases, which the normal form of a DOI does not tell apart.
        """
        if not name.scheme or name.scheme == b"ark":
            return []
        whole = names.spelled(name.scheme, percent_decode(name.written[:length]))
        key = self._without_label(whole)
        return [key] if key != whole else []

    def without_query(self, name: Name) -> list[bytes]:
        """The keys of the shorter name that is left when the query is taken off; none if there is no query."""
        for keys, rest in self.beginnings(name) if name.query else ():
            return keys if rest == name.query else []
        return []

    def new_key(self, name: Name) -> bytes:
        """The key of a name that is not stored yet, which every spelling of it leads to: its normal form, without the
        label if it is this minter's, with its own scheme if it is of another one.

        A name of white space only, which a minter without a template may store, stays as it is.
        """
        normal = self._normal(name)
        if name.scheme and not self._is_own(name, normal):
            normal = names.kept(name)
        key = normal + name.query
        # The normal form of a name with several labels before it is none of the spellings that are tried.
        return key if key in self.spellings(name) else self.literal_key(name.given)

    def former_key(self, name: Name) -> bytes:
        """The key under which releases before 0.2.0 stored claims about a name of another minter."""
        return self.scheme.canonical(names.stored(name, self.labels)) + name.query

    def _normal(self, name: Name) -> bytes:
        key = self.scheme.canonical(names.stored(name, self.labels))
        own = self._with_own_naan([key]) if self._upper_case_naan else []
        return own[0] if own else key

    def rule_keys(self, name: Name, key: bytes) -> Iterator[bytes]:
        """The texts with which rules are matched: the identifier, the normal form, all other spellings, and last the
        identifier with its label and the name as given, because a pattern may begin with a label.

        The identifier comes first so that all spellings of a name get the same value; most rules match it, and then
        the others are not computed.
        """
        yield key
        yielded = {key}
        for text in (self.new_key(name), *self.spellings(name), self.display(key), name.given.strip()):
            if text not in yielded:
                yielded.add(text)
                yield text

    def _is_own(self, name: Name, normal: bytes) -> bool:
        """Whether a name with a scheme, of which this is the normal form without labels, belongs to this minter: by its
        NAAN or its prefix, or because a label of the minter has that scheme."""
        if self._naan and name.scheme == b"ark":
            return name.body.startswith(self._naan.lower() + b"/")
        if names.is_labelled(name.scheme, self._stripped):
            return True
        return names.is_labelled(name.scheme, self._implied) and self._has_prefix(normal)

    def _canonical(self, key: bytes, query: bytes) -> bytes:
        if query and key.endswith(query):
            return self.scheme.canonical(key[: -len(query)]) + query
        return self.scheme.canonical(key)

    def _with_own_naan(self, keys: list[bytes]) -> list[bytes]:
        """The keys with the NAAN as in the settings: there it may be in upper case, in the normal form of an ARK it
        is not."""
        lower = self._naan.lower() + b"/"
        return [self._naan + key[len(self._naan) :] for key in keys if key.startswith(lower)]

    def _in_lower_case(self, keys: list[bytes]) -> list[bytes]:
        """Keys of this minter with letters in upper case, which its labels do not have, in lower case."""
        return [lower for key in keys if (lower := key.lower()) != key and self._has_prefix(lower)]


def _has_naan(key: bytes) -> bool:
    """Whether a name begins with a NAAN of five digits."""
    return key[:5].isdigit() and key[5:6] == b"/"


def _hyphenated_uuids(keys: list[bytes]) -> list[bytes]:
    """Names that end in the 32 digits of a UUID, with the hyphens that the normal form of an ARK ignores."""
    found = []
    for key in keys:
        digits = key[-32:]
        if len(digits) == 32 and key[-33:-32] in (b"", b"/") and not digits.translate(None, HEX_DIGITS):
            parts = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
            found.append(key[:-32] + b"-".join(parts))
    return found
