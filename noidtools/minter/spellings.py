"""A minter's names as they are cited, and whether two texts spell one name."""

from __future__ import annotations

from ..errors import InvalidError, printable
from ..names import citation
from . import contexts, identifiers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..store import Reader
    from . import Minter


def citation_forms(minter: Minter, reader: Reader, text: bytes) -> list[tuple[str, bytes]]:
    """The representations of a name: one of this minter's, in any spelling, or any other."""
    labels = minter.namespace.labels
    own = identifiers.own_identifier(minter, reader, text)
    name = minter.namespace.parse(text) if own is None else own
    checked = own is not None and "T" in minter.scheme.durability(minter.settings)
    return citation.representations(name, labels=labels, resolvers=contexts.resolvers(reader), has_check=checked)


def compare_names(minter: Minter, reader: Reader, first: bytes, second: bytes) -> tuple[bool, list[str]]:
    """Whether two texts are the same name in this minter's context, and why, in sentences."""
    aliases = [claim.triple for claim in contexts.context_aliases(reader)]
    same, why = citation.same(first, second, aliases, labels=minter.namespace.labels)
    if not same:
        own = {_own(minter, reader, text) for text in (first, second)}
        if len(own) == 1 and None not in own:
            (identifier,) = own
            shown = printable(minter.namespace.display(identifier or b""))
            return True, [f"Both spell {shown}, as this minter's scheme reads them."]
    return same, why


def _own(minter: Minter, reader: Reader, text: bytes) -> bytes | None:
    """The identifier of this minter that a text spells, if it is well-formed."""
    try:
        return None if minter.scheme.free else identifiers.own_identifier(minter, reader, text)
    except InvalidError:
        return None
