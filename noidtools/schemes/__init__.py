"""Schemes: how the labels of a minter are made.  Pure, without a store.

Each scheme is one module with one subclass of `Scheme`, listed in `_CLASSES`, and a subclass of `Generator` that draws
its labels.  Other packages use only what is declared here and in `base`.
"""

from __future__ import annotations

from ..errors import InvalidError, UsageError
from .base import LOOK_AHEAD, Generator, MintRequest, NeedsOwnTransaction, Scheme

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .base import Settings

__all__ = [
    "LOOK_AHEAD", "NAMES", "Generator", "MintRequest", "NeedsOwnTransaction", "Scheme",
    "form_of", "read_form", "scheme_class", "scheme_for",
]

# Name -> class; the module is called like the scheme.
_CLASSES = {"noid": "NoidScheme", "ibi": "IbiScheme", "ibip": "IbipScheme", "pilin": "PilinScheme"}
NAMES = tuple(_CLASSES)


def scheme_class(name: str) -> type[Scheme]:
    if name not in _CLASSES:
        raise UsageError(f"there is no scheme {name[:60]!r}: use one of {', '.join(NAMES)}")
    # As in commands/call.py: importlib takes a millisecond to import.
    found: type[Scheme] = getattr(__import__(f"{__name__}.{name}", fromlist=["*"]), _CLASSES[name])
    return found


def scheme_for(settings: Settings) -> Scheme:
    name = settings["scheme"]
    if name not in _CLASSES:
        raise InvalidError(f"there is no scheme {name!r}: this minter needs another release of noidtools")
    return scheme_class(name)(settings)


def form_of(label: bytes) -> type[Scheme]:
    """The scheme to which this label belongs by its outline; the scheme itself checks whether it is valid."""
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


def read_form(label: bytes) -> tuple[bytes, str] | None:
    """The canonical spelling of a label that has the form of an IBI, IBIp or PILIN label, and what does not count in
    such labels, in words; None if it has none of these forms.
    """
    try:
        scheme = form_of(label)
        if not scheme.is_certain(label):
            return None
        return scheme.decode(label)[0][1], scheme.equivalence
    except InvalidError:
        return None
