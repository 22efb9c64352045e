"""Values of public identifiers, read as quickly as can be, for a process that does little else.

What is the same for all identifiers as long as nothing is committed is read once for a version of the store: the
element that an administrator chose, whether there are aliases at all, and how names are spelled.  So a lookup takes
two gets, of the circulation record and of the value.
"""

from __future__ import annotations

from ..codec import PAIR_MARK, pair
from . import config
from .circulation import RESERVED, WITHDRAWN
from .schema import ALIASES, ELEMENTS, IDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..store import Reader
    from . import Minter

_NOT_PUBLIC = RESERVED | WITHDRAWN


class PublicValues:
    """The values of one minter.

    setting  the name of the setting that says which element is read if the caller names none
    usual    the element that is read if that is not set, either
    accept   a test that values must pass: others are None
    max_age  as in `Store.read`
    """

    __slots__ = ("minter", "_store", "_get_both", "_setting", "_usual", "_accept", "_max_age",
                 "_known", "_seen", "_element", "_has_aliases", "_namespace", "_labelled")

    def __init__(
        self, minter: Minter, setting: str, usual: bytes, accept: Callable[[bytes], bool], *, max_age: float
    ) -> None:
        self.minter = minter
        self._store = minter.store
        self._get_both = minter.store.get_both
        self._setting = config.place(setting)
        self._usual = usual
        self._accept = accept
        self._max_age = max_age
        # The version of the store for which the attributes below hold, None if that is not the newest; and the version
        # in which the last lookup found it so.
        self._known: object | None = None
        self._seen: object | None = None
        self._element = usual
        self._has_aliases = True
        self._namespace = minter.namespace
        # What texts begin with that may not be keys as they are.
        self._labelled: tuple[bytes, ...] = (b"",)

    def find(self, text: bytes, element: bytes | None) -> tuple[bytes | None, object | None]:
        """The value of an element of the identifier that is stored as it is spelled in `text`, and the version of the
        store in which it was read.

        The value is None if there is none, if the identifier is an alias, reserved or withdrawn, and perhaps after a
        change of the store: then others have to look.
        """
        known = self._known
        if known is None:
            return self._find_unprepared(text, element)
        key = self._namespace.literal_key(text) if text.startswith(self._labelled) else text
        read = element or self._element
        # As `pair` does, without the cost of its call.
        place = pair(key, read) if 0 in key else key + PAIR_MARK + read
        get_both = self._get_both
        packed, value, version = get_both(IDS, key, ELEMENTS, place, self._max_age)
        if version is not known:
            if version != known:
                self._known = None
                return self._find_unprepared(text, element)
            # A store has the same object each time, so that this, too, is compared quickly.
            self._known = known = version
        if value is None or (packed is not None and packed[0] & _NOT_PUBLIC) or (
            self._has_aliases and self._may_be_alias(key)
        ):
            return None, None
        accept = self._accept
        return (value, known) if accept(value) else (None, None)

    def _may_be_alias(self, key: bytes) -> bool:
        """Whether a key is an alias, or the store has changed."""
        alias, _, version = self._store.get_both(ALIASES, key, IDS, key, self._max_age)
        return alias is not None or version != self._known

    def _find_unprepared(self, text: bytes, element: bytes | None) -> tuple[bytes | None, object | None]:
        """As `find`, in a version of which nothing is known yet."""
        minter = self.minter
        key = minter.namespace.literal_key(text)
        (packed, value, alias, chosen), version = self._store.get_many(
            ((IDS, key), (ELEMENTS, pair(key, element or self._usual)), (ALIASES, key), self._setting), self._max_age
        )
        if version is not None and version == self._seen:
            # For one lookup in a version this would not be worth its cost.
            minter.read(self._prepare, max_age=self._max_age)
        self._seen = version
        if value is None or alias is not None or (packed is not None and packed[0] & _NOT_PUBLIC):
            return None, None
        if (chosen and not element) or not minter.is_current or not self._accept(value):
            return None, None
        return value, version

    def _prepare(self, reader: Reader) -> None:
        """Read what holds for all identifiers in this version of the store."""
        self._element = reader.get(*self._setting) or self._usual
        self._has_aliases = next(reader.scan(ALIASES, limit=1), None) is not None
        self._namespace = namespace = self.minter.namespace
        self._labelled = (b"",) if namespace.scheme.has_spellings else namespace.beginnings_with_label
        self._known = reader.version() if self.minter.is_current else None
