"""The context of a minter's names: other labels for it, resolvers for the names, and the forms in which they are cited.

A context is what makes a name unique, such as the prefix of a Handle; the term is that of the PILIN ontology, appendix
1.  An authority that claims one label of a context to be an alias of another claims with it that a name under the one
label is the same name under the other.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import ConflictError, InvalidError, NoidError, NotFoundError, printable
from ..names import citation, targets
from ..schemes import read_form
from . import config, identifiers
from .identifiers import RESOLVERS
from .lifecycle import gone_error
from .relations.abstract import ensure_concrete, identify_with_abstract
from .relations.claims import abstract_reasons, senses

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..store import Reader, Writer
    from . import Minter
    from .events import Actor


# -- contexts --------------------------------------------------------------------------------------------------------

# Names of settings in config.py.  Each claim is a setting, named after both labels and the authority, with its date as
# the value.
CLAIM, PURPOSE = "context-alias", "context/purpose"
_LONGEST_PURPOSE = 4096
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class ContextAlias:
    """The claim of `authority`, since the date `since`, that `alias` is another label of the context `target`."""

    alias: str
    target: str
    authority: str
    since: bytes

    @property
    def triple(self) -> tuple[bytes, bytes, bytes]:
        """The claim as `citation.same` needs it: authority, alias, target."""
        return self.authority.encode(), self.alias.encode(), self.target.encode()


def context_aliases(reader: Reader) -> list[ContextAlias]:
    """All claims."""
    aliases = []
    for name, since in config.values(reader, CLAIM).items():
        # Labels have no blanks; the authority may have some.
        alias, target, authority = name.split(" ", 2)
        aliases.append(ContextAlias(alias, target, authority, since))
    return aliases


def add_context_alias(writer: Writer, actor: Actor, alias: str, target: str, authority: str) -> None:
    """Record a claim; raises ConflictError if it exists already, InvalidError for an unsuitable label or authority."""
    for label in (alias, target):
        _ensure_label(label)
    if alias == target:
        raise InvalidError("a context cannot be its own alias: give two different labels")
    if not authority.strip() or not authority.isprintable() or len(authority) > _LONGEST:
        raise InvalidError(f"an authority is named in one line of 1 to {_LONGEST} characters")
    name = f"{CLAIM}/{alias} {target} {authority.strip()}"
    if config.value(writer, name) is not None:
        raise ConflictError(f"{authority.strip()} claims that already")
    config.change(writer, actor, name, actor.date())


def remove_context_alias(writer: Writer, actor: Actor, alias: str, target: str, authority: str) -> None:
    """Remove a claim; raises NotFoundError if there is none."""
    name = f"{CLAIM}/{alias} {target} {authority.strip()}"
    if config.value(writer, name) is None:
        who, one, other = (printable(text.encode()) for text in (authority.strip(), alias, target))
        raise NotFoundError(f"{who} does not claim that {one} is an alias for {other}")
    config.change(writer, actor, name, None)


def _ensure_label(label: str) -> None:
    if not label or len(label) > _LONGEST or not label.isprintable() or any(c.isspace() for c in label):
        raise InvalidError(f"a context has a label such as 102.100.archer: 1 to {_LONGEST} characters, no blanks")


def set_resolvers(writer: Writer, actor: Actor, addresses: list[bytes]) -> None:
    """Set the web resolvers; raises InvalidError for what is not the address of one."""
    for address in addresses:
        web = address.lower().startswith((b"http://", b"https://")) and targets.location(address) == address
        if not web or b"?" in address or b"#" in address:
            raise InvalidError(f"a resolver is a web address such as https://n2t.net/, not {printable(address[:80])}")
    config.change(writer, actor, RESOLVERS, b"\n".join(dict.fromkeys(addresses)) or None)


def purpose(reader: Reader) -> bytes:
    """What the names of the minter are for, in words; empty if that is not stated."""
    return config.value(reader, PURPOSE) or b""


def set_purpose(writer: Writer, actor: Actor, text: bytes) -> None:
    """State what the names of the minter are for; an empty text removes that.  Raises InvalidError for a long one."""
    if len(text) > _LONGEST_PURPOSE:
        raise InvalidError(f"a purpose may have at most {_LONGEST_PURPOSE} bytes, this one has {len(text)}")
    if text != purpose(writer):
        config.change(writer, actor, PURPOSE, text or None)


# -- citations, and whether two texts spell the same name ------------------------------------------------------------


def citation_forms(minter: Minter, reader: Reader, text: bytes) -> list[tuple[str, bytes]]:
    """The forms in which a name is cited: names of forms and texts.  The name may be of this minter, or any other.

    Raises InvalidError for a mistyped name of this minter, NotFoundError for the name of something abstract.
    """
    ensure_concrete(minter, reader, text, "is not cited by itself")
    ref = identifiers.identify(minter, reader, text)
    identifiers.ensure_not_mistyped(minter, reader, ref, text)
    labels = minter.namespace.labels_of(ref.key)
    checked = bool(labels) and ref.well_formed and "T" in minter.scheme.durability(minter.settings)
    return citation.representations(ref.key, labels=labels, resolvers=identifiers.resolvers(reader), has_check=checked)


def withdrawal_note(minter: Minter, reader: Reader, text: bytes) -> str:
    """That a name was withdrawn, and what to use instead; empty if it was not."""
    ref = identifiers.identify(minter, reader, text)
    if ref.record is None or not ref.record.withdrawn:
        return ""
    return str(gone_error(reader, ref.key, ref.display))


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
    aliases = [claim.triple for claim in context_aliases(reader)]
    same, why = citation.same(first, second, aliases, labels=minter.namespace.labels,
                              resolvers=identifiers.resolvers(reader), read_form=read_form)
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
