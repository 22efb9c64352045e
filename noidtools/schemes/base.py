"""What a scheme is: the base classes that each scheme fills in, the settings of a minter, requests for identifiers.

`abc` costs nothing at start, since the interpreter has loaded it already; `typing` (Protocol) would have to be
imported for every command.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from ..codec import pack, unpack
from ..errors import ConflictError, InvalidError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from ..times import Clock

    Pairs = list[tuple[str, bytes]]
    FormChecker = Callable[[bytes], tuple[str, bool | None]]


# -- settings --------------------------------------------------------------------------------------------------------

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
    "uuid": ("", "what names the minter wherever it is moved; minters of release 0.1.0 have none"),
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


# Seven letters about how well identifiers will last: GRANITE.
DURABILITY_MEANINGS = {
    "G": "globally unique: the NAAN, the prefix or the server belongs to one authority",
    "R": "random: the order says nothing about the things named",
    "A": "alphabetic runs are too short to form words",
    "N": "never given twice: a long-term minter does not re-issue, and time does not come back",
    "I": "insensitive to hyphens, which line breaks in print may add or drop",
    "T": "transcription errors are caught by a check character",
    "E": "elided vowels: no words appear by accident",
}


def durability_letters(apply: str) -> str:
    """GRANITE, with a hyphen in place of each letter that does not apply."""
    return "".join(letter if letter in apply else "-" for letter in DURABILITY_MEANINGS)


# -- schemes and their generators ------------------------------------------------------------------------------------


class Generator(ABC):
    """Draws identifiers.  It is built from the state that the previous one stored, and `state` gives the next."""

    __slots__ = ()

    # Whether the last draw returned fewer than requested because the rest is further ahead in time.
    more_ahead = False
    # A message about the last draw for the user who waits for it.
    notice = ""
    # When the result of the last draw may be handed out, in nanoseconds since 1970; 0 is at once.
    due = 0

    def is_reusable_for(self, scheme: Scheme) -> bool:
        """Whether it may go on drawing after `state` was called, as one that this scheme builds from that state would:
        what it draws depends on nothing else."""
        return False

    @property
    @abstractmethod
    def drawn(self) -> int:
        """How many were drawn so far; the circulation record of each identifier stores its number."""

    @property
    def reissues(self) -> bool:
        """Whether it draws labels that it drew before, as short-term minters do after the namespace ended."""
        return False

    @property
    def total(self) -> int | None:
        """The size of the namespace; None if it is unlimited."""
        return None

    @abstractmethod
    def draw(self, count: int, request: MintRequest | None = None) -> list[tuple[bytes, int]]:
        """Up to `count` identifiers with their numbers; none when no more are left."""

    @abstractmethod
    def state(self) -> bytes:
        """What to store, for the next generator to continue from."""

    def status(self) -> Pairs:
        """How far it has come, for `dbinfo`."""
        return [("Drawn", b"%d" % self.drawn)]

    def internals(self) -> Pairs:
        """Details for an administrator who looks for the cause of a problem, for `dbinfo full`."""
        return []

    def fault(self, *, imported: bool) -> str:
        """What in the state cannot be, for `check`; empty if nothing is wrong.

        `imported` is whether it may have been continued from the state of another program.
        """
        return ""

    def adjust(self, name: str, value: bytes) -> tuple[bytes, bytes]:
        """Change the granularity or the patience; returns the value before and the value now."""
        raise ConflictError(f"this minter has no {name} to change: its labels are not made from the time")

    def reset_clock(self, now: int) -> tuple[bytes, bytes]:
        """Go on from this time, in nanoseconds since 1970, although the last label is of a later one; returns the time
        of that label, and this one.  Labels that were issued must be skipped by the caller when they are drawn again.

        Raises ConflictError if no label is of a later time.
        """
        raise ConflictError("this minter needs no clock: its labels are not made from the time")


class Scheme(ABC):
    """The form of one minter's identifiers, built from settings that went through `check_settings`."""

    __slots__ = ()

    name = ""
    summary = ""
    # The options of dbcreate that apply to this scheme.
    options: tuple[str, ...] = ()
    # Whether any name may be bound, not only one that the scheme makes.
    free = False
    # Whether its labels have letters in lower case only, so that upper case can be tolerated.
    lower_case = False
    # The URI scheme that is usually written before labels of this scheme, such as hdl:
    system = b""
    # What does not count when two labels are compared, in words.
    equivalence = ""
    # Whether labels are made from the time, so that those of the past are never made again, whatever was forgotten.
    timed = False
    # Why identifiers cannot be queued; empty if they can.
    queue_refusal = ""

    @abstractmethod
    def __init__(self, settings: Settings) -> None: ...

    @property
    def grows(self) -> bool:
        """Whether validity depends on the state of the generator."""
        return False

    @property
    def namespace_prefix(self) -> bytes:
        """What all identifiers of this minter begin with; empty where they have no such beginning."""
        return b""

    def owns(self, identifier: bytes) -> bool:
        """Whether an identifier is in the namespace of this minter, by its beginning, whatever its form."""
        return identifier.startswith(self.namespace_prefix)

    @classmethod
    @abstractmethod
    def check_settings(cls, settings: Settings) -> Settings:
        """The settings of a new minter with defaults filled in; raises UsageError or InvalidError."""

    @classmethod
    def decode(cls, label: bytes) -> Pairs:
        """What a label of any minter of this scheme contains, first its canonical spelling as `id`.

        Raises InvalidError for what is not such a label.
        """
        raise InvalidError(f"a label of scheme {cls.name} says nothing by itself")

    @classmethod
    def is_certain(cls, label: bytes) -> bool:
        """Whether what has the outline of a label of this scheme can be nothing else."""
        return True

    def canonical(self, identifier: bytes) -> bytes:
        """The spelling under which an identifier is stored; the identifier itself if it has no other spelling."""
        return identifier

    @abstractmethod
    def ensure_valid(self, identifier: bytes, state: bytes | None = None) -> None:
        """Raise InvalidError for what this minter cannot make; `state` is the generator's, needed if it `grows`."""

    def form_checker(self, state: bytes | None) -> FormChecker:
        """A function that checks the form of many identifiers; `state` as for `ensure_valid`.

        It returns what is wrong with the form, empty if nothing is; and whether the check character is right, None
        where there is none to look at.
        """
        def faults(identifier: bytes) -> tuple[str, bool | None]:
            try:
                self.ensure_valid(identifier, state)
            except InvalidError as error:
                return error.message, None
            return "", None

        return faults

    def find_mistyped(self, texts: Iterable[bytes], state: bytes | None) -> Mistyped | None:
        """The last of these texts that looks like a mistyped identifier; None if one of them is well-formed.

        Only a check character tells a wrong name from an unknown one, so schemes without one find nothing.
        `state` as for `ensure_valid`.
        """
        return None

    @abstractmethod
    def generator(self, state: bytes | None) -> Generator:
        """A generator that continues from a stored state; None starts a new minter."""

    @abstractmethod
    def form(self) -> Pairs:
        """What its labels look like and how many there are, for the report on a minter."""

    def behaviour(self) -> Pairs:
        """Further choices made at creation, for the same report."""
        return []

    @abstractmethod
    def durability(self, settings: Settings) -> str:
        """Those letters of DURABILITY_MEANINGS that apply."""

    def first(self) -> bytes | None:
        """The first identifier, where it is known in advance."""
        return None

    def without_prefix(self, identifier: bytes) -> bytes:
        """The identifier without the part that all identifiers of this minter share."""
        return identifier

    def path(self, identifier: bytes) -> bytes:
        """A folder for the identifier."""
        return pairtree_path(identifier)

    def exhausted_message(self) -> str:
        """The sentence for the user when no identifier is left."""
        return "no identifier is left"


# -- requests for identifiers, which may have to be waited for ---------------------------------------------------
#
# An identifier made from a future time is reserved in a short transaction.  The wait for that time follows after
# the commit, so that other writers can use the store during it.

# Identifiers up to this many nanoseconds ahead are reserved together: one commit, which takes a disk some
# milliseconds, then serves many, and the wait for them is too short to notice.
LOOK_AHEAD = 100_000_000


class NeedsOwnTransaction(Exception):  # noqa: N818 - not an error: the command is run again, alone
    """The command has to wait, which other commands in the same transaction should not: run it alone."""


class MintRequest:
    """A request for identifiers.

    patience      nanoseconds that each may be waited for; None is the minter's own limit
    sharing       whether other commands share the transaction, and the caller handles NeedsOwnTransaction
    whole         whether all must be reserved in this transaction, because it does more than mint
    made          how many of `wanted` were minted before
    requested_at  the time of the request, nanoseconds since 1970
    """

    __slots__ = ("clock", "made", "patience", "requested_at", "sharing", "wanted", "whole")

    def __init__(
        self, clock: Clock, patience: int | None = None, *,
        sharing: bool = False, whole: bool = False, made: int = 0, wanted: int = 1,
    ) -> None:
        self.clock = clock
        self.requested_at = clock()
        self.patience = patience
        self.sharing = sharing
        self.whole = whole and not sharing
        self.made = made
        self.wanted = wanted

    def wait(self, due: int, notice: str = "") -> None:
        """Wait until `due`, after passing the notice to the user."""
        if notice:
            self.clock.notify(notice)
        self.clock.wait(due, due - self.requested_at, self.made, self.wanted)


# -- the form of identifiers -----------------------------------------------------------------------------------------


class Mistyped:
    """A text that differs from the form of an identifier as a typing error would make it differ.

    fault        one sentence about the error
    corrections  the well-formed identifiers that one error turns into this text
    """

    __slots__ = ("corrections", "fault")

    def __init__(self, fault: str, corrections: Callable[[], Iterator[bytes]]) -> None:
        self.fault = fault
        self.corrections = corrections


# -- folders of identifiers ------------------------------------------------------------------------------------------

# Visible characters that some file system or shell would not take literally, and those used as stand-ins below.
_UNSAFE_IN_PATHS = frozenset(b'"*+,<=>?\\^|')
_STAND_INS = {0x2F: b"=", 0x3A: b"+", 0x2E: b","}  # / : .


def pairtree_path(identifier: bytes) -> bytes:
    """`xv8t984` gives `xv/8t/98/4/`.  Different identifiers give different paths, none with a dot or a break."""
    safe = b"".join(_path_safe(byte) for byte in identifier)
    return b"".join(safe[place : place + 2] + b"/" for place in range(0, len(safe), 2))


def _path_safe(byte: int) -> bytes:
    if byte in _STAND_INS:
        return _STAND_INS[byte]
    if byte in _UNSAFE_IN_PATHS or not 0x21 <= byte <= 0x7E:
        return b"^%02x" % byte
    return bytes((byte,))
