"""The settings of a minter, fixed at its creation and stored in its database."""

from __future__ import annotations

from ..codec import pack, unpack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


# name -> (default, description); used for storing, reporting and documentation.
SETTINGS: dict[str, tuple[str, str]] = {
    "scheme": ("noid", "how labels are made"),
    "template": ("", "Prefix.Mask; empty when anything may be bound"),
    "term": ("medium", "long, medium or short"),
    "naan": ("", "number of the name assigning authority"),
    "naa": ("", "name of the name assigning authority"),
    "subnaa": ("", "the project that runs this minter"),
    "seed": ("0", "which quasi-random order"),
    "at-last": ("stop", "what happens when the namespace is used up: stop, wrap or addN"),
    "computer": ("", "ibi: the server's full domain name"),
    "ip": ("", "ibip: the server's address"),
    "port": ("", "ibi, ibip: the server's port"),
    "prefix": ("", "pilin: the Handle prefix"),
    "granularity": ("", "ibi, ibip: seconds from one label to the next, at first; the generator's state has it now"),
    "patience": ("", "schemes of time: seconds one identifier may be waited for, at first; likewise"),
    "labels": ("", "labels stripped from requests, one a line; the first is added to answers"),
    "created": ("", "when, UTC"),
    "creator": ("", "by whom"),
}


class Settings:
    """Immutable; `with_` gives a changed copy."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self._values = dict(values or {})

    def __getitem__(self, name: str) -> str:
        value = self._values.get(name)
        return SETTINGS[name][0] if value is None else value

    @property
    def values(self) -> dict[str, str]:
        """Those that were set, by their names, in the order in which they are stored."""
        return dict(self._values)

    def with_(self, **changes: str) -> Settings:
        return Settings({**self._values, **{name.replace("_", "-"): value for name, value in changes.items()}})

    @property
    def labels(self) -> list[bytes]:
        return [label.encode() for label in self["labels"].splitlines()]

    @property
    def long_term(self) -> bool:
        return self["term"] == "long"

    def packed(self) -> bytes:
        return pack(text.encode() for item in self._values.items() for text in item)

    @classmethod
    def unpacked(cls, packed: bytes) -> Settings:
        texts = [field.decode() for field in unpack(packed)]
        return cls(dict(zip(texts[::2], texts[1::2], strict=True)))
