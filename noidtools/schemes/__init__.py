"""Ways to make labels.  Each is one module with one class, listed below; this is all the rest knows of them."""

from __future__ import annotations

from ..errors import ConflictError, InvalidError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..clock import Clock
    from .settings import Settings
    Pairs = list[tuple[str, bytes]]


# Name -> class; the module is called like the scheme.
_CLASSES = {"noid": "NoidScheme", "ibi": "IbiScheme", "ibip": "IbipScheme", "pilin": "PilinScheme"}
NAMES = tuple(_CLASSES)


class Generator:
    """Draws identifiers.  Made from the state that the last one left in the store, and leaves its own."""

    __slots__ = ()

    # Whether the last draw stopped early because the rest lies further ahead in time.
    later = False
    # What the person who waits should know about the last draw.
    notice = ""
    # When the last draw may be handed out, nanoseconds since 1970; 0 is at once.
    due = 0

    @property
    def drawn(self) -> int:
        """How many were drawn; each identifier's circulation record keeps the number it was."""
        raise AssertionError("each kind has its own")

    @property
    def starting_over(self) -> bool:
        """Whether it gives again what it gave before, as short-term minters do when all is used up."""
        return False

    @property
    def total(self) -> int | None:
        """How many there can be; None if there is no end."""
        return None

    def draw(self, count: int, request: MintRequest | None = None) -> list[tuple[bytes, int]]:
        """Up to `count` identifiers with their numbers; none when there are no more."""
        raise AssertionError("each kind has its own")

    def state(self) -> bytes:
        raise AssertionError("each kind has its own")

    def standing(self) -> Pairs:
        """Where it stands, for `dbinfo`."""
        return [("Drawn", b"%d" % self.drawn)]

    def internals(self) -> Pairs:
        """What an administrator may want to see when something looks wrong, for `dbinfo full`."""
        return []

    def adjust(self, name: str, value: bytes) -> tuple[bytes, bytes]:
        """Change the granularity or the patience; returns what it was and what it is."""
        raise ConflictError(f"this minter has no {name} to change: its labels are not made from the time")


class Scheme:
    """The form of one minter's identifiers.  Built from its settings, which `completed` has checked before."""

    __slots__ = ()

    name = ""
    summary = ""
    # Of the options of dbcreate those that have a meaning here.
    options: tuple[str, ...] = ()
    # Whether anything may be bound, not only what the scheme makes.
    free = False
    # What people write before labels of this scheme, in the system they belong to.
    system = b""
    # Why identifiers cannot be queued, if they cannot.
    no_queue = ""

    def __init__(self, settings: Settings) -> None:
        raise AssertionError("each kind has its own")

    @property
    def grows(self) -> bool:
        """Whether what is valid depends on where the generator stands."""
        return False

    @classmethod
    def completed(cls, settings: Settings) -> Settings:
        """The settings of a new minter, checked and with defaults filled in."""
        raise AssertionError("each kind has its own")

    @classmethod
    def decode(cls, label: bytes) -> Pairs:
        """What a label of any minter of this scheme says, its one spelling as `id` first; else InvalidError."""
        raise InvalidError(f"a label of scheme {cls.name} says nothing by itself")

    def canonical(self, identifier: bytes) -> bytes:
        """The one spelling under which an identifier is stored; what has no other spelling, as it is."""
        return identifier

    def ensure_valid(self, identifier: bytes, state: bytes | None = None) -> None:
        """Refuse what this minter could not make; `state` is the generator's, given if the form `grows`."""
        raise AssertionError("each kind has its own")

    def generator(self, state: bytes | None) -> Generator:
        raise AssertionError("each kind has its own")

    def form(self) -> Pairs:
        """What its labels look like and how many there are, for the report on a minter."""
        raise AssertionError("each kind has its own")

    def conduct(self) -> Pairs:
        """What else was decided about it for good, for the same report."""
        return []

    def durable(self, settings: Settings) -> str:
        """Those of the letters of durability.MEANINGS that apply."""
        raise AssertionError("each kind has its own")

    def first(self) -> bytes | None:
        """The first identifier, where that is known beforehand."""
        return None

    def own_part(self, identifier: bytes) -> bytes:
        """The identifier without what all of this minter have in common."""
        return identifier

    def path(self, identifier: bytes) -> bytes:
        """A folder for the identifier."""
        from ..names.pairtree import path

        return path(identifier)

    def exhausted(self) -> str:
        """The sentence that says that no identifier is left."""
        return "no identifier is left"


def scheme_class(name: str) -> type[Scheme]:
    if name not in _CLASSES:
        raise UsageError(f"there is no scheme {name[:60]!r}: say one of {', '.join(NAMES)}")
    # importlib.import_module would do the same, after a millisecond of imports of its own.
    module = __import__(f"{__name__}.{name}", fromlist=["*"])
    found: type[Scheme] = getattr(module, _CLASSES[name])
    return found


def scheme_for(settings: Settings) -> Scheme:
    name = settings["scheme"]
    if name not in _CLASSES:
        raise InvalidError(f"there is no scheme {name!r}: this minter needs another release of noidtools")
    return scheme_class(name)(settings)


def form_of(label: bytes) -> type[Scheme]:
    """The scheme whose form this label has, by its outline; whether it is valid is for the scheme to say."""
    head, slash, tail = label.partition(b"/")
    if tail.count(b"/") == 2:
        return scheme_class("ibi")
    if slash and b"/" not in tail:
        # No IBIp label has a dot or consists of digits; every Handle prefix does.
        return scheme_class("pilin" if b"." in head or head.isdigit() else "ibip")
    if not slash and len(label) == 9:
        return scheme_class("pilin")
    raise InvalidError(
        "that is neither a repository name (sid.inpe.br/mtc-m18/2009/02.16.17.46), nor an IBIp label "
        "(8JMKD3MGP8W/34PGRBS), nor a PILIN Handle (102.100.272/RPLZ54PQH)"
    )

# -- requests for identifiers, some of which may lie ahead in time ---------------------------------------------------
#
# An identifier made from a time in the future is reserved in a short transaction and waited for after the
# commit, so that other writers are not kept from the store meanwhile.

# Identifiers this far ahead are reserved together, so that one commit, which takes a disk some
# milliseconds, serves many; and nobody else waits longer for it than people notice.
LOOK_AHEAD = 100_000_000


class NeedsOwnTransaction(Exception):  # noqa: N818 - no error, and never seen outside: the command is run again
    """The command needs a wait that those with whom it shares a transaction should not have: run it alone."""


class MintRequest:
    """One asking for identifiers.

    patience   nanoseconds that each may be waited for; None is the minter's own limit
    sharing    whether other commands share the transaction, and NeedsOwnTransaction is understood
    whole      whether all must be reserved in this transaction, because it does more than mint
    made       how many of `wanted` are there already
    """

    __slots__ = ("asked", "clock", "made", "patience", "sharing", "wanted", "whole")

    def __init__(
        self, clock: Clock, patience: int | None = None, *,
        sharing: bool = False, whole: bool = False, made: int = 0, wanted: int = 1,
    ) -> None:
        self.clock = clock
        self.asked = clock()
        self.patience = patience
        self.sharing = sharing
        self.whole = whole and not sharing
        self.made = made
        self.wanted = wanted

    def wait(self, due: int, notice: str = "") -> None:
        if notice:
            self.clock.notify(notice)
        self.clock.wait(due, due - self.asked, self.made, self.wanted)
