"""Ways to make labels.  Each is one module with one class of the same small interface.

A scheme is built from a minter's settings and offers

    name                    as given to `dbcreate --scheme`
    free                    whether anything may be bound, not only what the scheme makes
    canonical(identifier)   the one spelling under which an identifier is stored
    ensure_valid(identifier, grown=…)
                            raises InvalidError for what this minter could not have made
    generator(state)        an object with draw(count), state(), drawn and starting_over
"""

from __future__ import annotations

from ..exceptions import InvalidError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..settings import Settings
    from .noid import NoidScheme


def scheme_for(settings: Settings) -> NoidScheme:
    name = settings["scheme"]
    if name == "noid":
        from .noid import NoidScheme

        return NoidScheme(settings)
    raise InvalidError(f"there is no scheme {name!r}: this minter needs another release of noidtools")
