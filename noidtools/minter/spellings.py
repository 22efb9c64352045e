"""The forms in which a name is cited, and whether two texts spell the same name, as a minter sees it."""

from __future__ import annotations

from ..errors import InvalidError, NoidError, printable
from ..names import citation
from ..schemes import read_form
from . import contexts, identifiers
from .lifecycle import sentence_about
from .relations.abstract import ensure_concrete, identify_with_abstract
from .relations.claims import abstract_reasons, senses

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..store import Reader
    from . import Minter


def citation_forms(minter: Minter, reader: Reader, text: bytes) -> list[tuple[str, bytes]]:
    """The forms in which a name is cited: names of forms and texts.  The name may be of this minter, or any other.

    Raises InvalidError for a mistyped name of this minter, NotFoundError for the name of something abstract.
    """
    ensure_concrete(minter, reader, text, "is not cited by itself")
    labels = minter.namespace.labels
    own = identifiers.own_identifier(minter, reader, text)
    name = identifiers.parse_name(minter, reader, text) if own is None else own
    checked = own is not None and "T" in minter.scheme.durability(minter.settings)
    return citation.representations(name, labels=labels, resolvers=contexts.resolvers(reader), has_check=checked)


def withdrawal_note(minter: Minter, reader: Reader, text: bytes) -> str:
    """That a name was withdrawn, and what to use instead; empty if it was not."""
    ref = identifiers.identify(minter, reader, text)
    if ref.record is None or not ref.record.withdrawn:
        return ""
    return sentence_about(reader, ref)


def compare_names(
    minter: Minter, reader: Reader, first: bytes, second: bytes, now: bytes
) -> tuple[bool, list[str], list[str]]:
    """Whether two texts are the same name in the context of this minter; why, in sentences; and if they are not, in
    which other senses they are the same at the date `now`."""
    same, why = _compare(minter, reader, first, second)
    if same:
        return same, why, []
    try:
        name = _common_abstract_name(minter, reader, first, second)
        if name:
            return True, [f"Both are {name}, with one label in one abstract context."], []
        abstract = abstract_reasons(minter, reader, first, second)
        return same, abstract or why, senses(minter, reader, first, second, now)
    except NoidError:
        # What is no name at all, or has a wrong pepper, has no relations either.
        return same, why, []


def _compare(minter: Minter, reader: Reader, first: bytes, second: bytes) -> tuple[bool, list[str]]:
    aliases = [claim.triple for claim in contexts.context_aliases(reader)]
    same, why = citation.same(first, second, aliases, labels=minter.namespace.labels,
                              resolvers=contexts.resolvers(reader), read_form=read_form)
    if not same:
        own = {_own(minter, reader, text) for text in (first, second)}
        if len(own) == 1 and None not in own:
            (identifier,) = own
            name = printable(minter.namespace.display(identifier or b""))
            return True, [f"Both spell {name}, as this minter's scheme reads them."]
    return same, why


def _common_abstract_name(minter: Minter, reader: Reader, first: bytes, second: bytes) -> str:
    """Something abstract that both texts name, empty if there is no such thing."""
    one, other = (identify_with_abstract(minter, reader, text)[1] for text in (first, second))
    return printable(one.display) if one is not None and other is not None and one.key == other.key else ""


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
