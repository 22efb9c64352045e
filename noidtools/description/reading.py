"""Reading the facts of a description: plain values in, checked values out."""

from __future__ import annotations

import re

from ..clock import xsd_datetime
from ..errors import InvalidError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[A-Za-z0-9%?/:@!$&'()*+,;=~._\[\]-]*")


class Facts:
    """A mapping of facts about one subject; a missing or unfit one is refused by name."""

    __slots__ = ("_facts", "_subject")

    def __init__(self, facts: Mapping[str, object], subject: str) -> None:
        self._facts = facts
        self._subject = subject

    def has(self, key: str) -> bool:
        return self._facts.get(key) is not None

    def octets(self, key: str) -> bytes:
        """A text or octets that must be there, as octets."""
        value = self._facts.get(key)
        if isinstance(value, str):
            return value.encode("utf-8", "surrogateescape")
        if isinstance(value, bytes):
            return value
        raise InvalidError(f"The description of {self._subject} needs {key!r}, as text or octets.")

    def maybe(self, key: str) -> bytes | None:
        return self.octets(key) if self.has(key) else None

    def text(self, key: str, default: str | None = None) -> str:
        """A short word, such as a state or the name of a quality."""
        if default is not None and not self.has(key):
            return default
        return self.octets(key).decode("utf-8", "backslashreplace")

    def iri(self, key: str, default: str) -> str:
        """An IRI that is used as it is, so it must be one; the default is trusted."""
        if not self.has(key):
            return default
        found = self.text(key)
        if not _IRI.fullmatch(found):
            raise InvalidError(f"The description of {self._subject} has {key!r} that is no absolute IRI: {found!r}.")
        return found

    def flag(self, key: str) -> bool | None:
        value = self._facts.get(key)
        if value is None or isinstance(value, bool):
            return value
        raise InvalidError(f"The description of {self._subject} has {key!r} that is neither true nor false.")

    def moment(self, key: str) -> str:
        return xsd_datetime(self.text(key))

    def maybe_moment(self, key: str) -> str | None:
        return self.moment(key) if self.has(key) else None

    def one(self, key: str, subject: str) -> Facts:
        """The facts of something that this subject belongs to or refers to."""
        return self._inner(self._facts.get(key), key, subject)

    def each(self, key: str, subject: str) -> list[Facts]:
        return [self._inner(value, key, subject) for value in self._list(key)]

    def each_octets(self, key: str) -> list[bytes]:
        return [Facts({key: value}, self._subject).octets(key) for value in self._list(key)]

    def _list(self, key: str) -> list[object]:
        value = self._facts.get(key)
        if value is None:
            return []
        if isinstance(value, (list, tuple)):
            return list(value)
        raise InvalidError(f"The description of {self._subject} has {key!r} that is not a list.")

    def _inner(self, value: object, key: str, subject: str) -> Facts:
        if isinstance(value, dict):
            return Facts(value, subject)
        raise InvalidError(f"The description of {self._subject} needs {key!r}, as a mapping of facts about {subject}.")
