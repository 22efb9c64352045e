"""The forms in which a name is cited, and whether two texts spell the same name, as a minter sees it."""

from __future__ import annotations

from ..errors import InvalidError, printable
from ..names import citation
from . import contexts, identifiers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..store import Reader
    from . import Minter


def citation_forms(minter: Minter, reader: Reader, text: bytes) -> list[tuple[str, bytes]]:
    """The forms in which a name is cited: names of forms and texts.  The name may be of this minter, or any other.

    Raises InvalidError for a mistyped name of this minter.
    """
    labels = minter.namespace.labels
    own = identifiers.own_identifier(minter, reader, text)
    name = minter.namespace.parse(text) if own is None else own
    checked = own is not None and "T" in minter.scheme.durability(minter.settings)
    return citation.representations(name, labels=labels, resolvers=contexts.resolvers(reader), has_check=checked)


def compare_names(minter: Minter, reader: Reader, first: bytes, second: bytes) -> tuple[bool, list[str]]:
    """Whether two texts are the same name in the context of this minter, and why, in sentences."""
    aliases = [claim.triple for claim in contexts.context_aliases(reader)]
    same, why = citation.same(first, second, aliases, labels=minter.namespace.labels)
    if not same:
        own = {_own(minter, reader, text) for text in (first, second)}
        if len(own) == 1 and None not in own:
            (identifier,) = own
            name = printable(minter.namespace.display(identifier or b""))
            return True, [f"Both spell {name}, as this minter's scheme reads them."]
    return same, why


def _own(minter: Minter, reader: Reader, text: bytes) -> bytes | None:
    """The identifier of this minter that a text means, None if it is mistyped or of another system.

    Where anything may be bound, only what is known here is surely of this minter.
    """
    try:
        if minter.scheme.free:
            ref = identifiers.identify(minter, reader, text)
            return ref.key if ref.known else None
        return identifiers.own_identifier(minter, reader, text)
    except InvalidError:
        return None
