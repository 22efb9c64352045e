"""The context of a minter's names: other labels for it, each claimed by an authority, and resolvers for the names.

A context is what makes a name unique, such as the prefix of a Handle; the term is that of the PILIN ontology, appendix
1.  An authority that claims one label of a context to be an alias of another claims with it that a name under the one
label is the same name under the other.
"""

from __future__ import annotations

from ..errors import ConflictError, InvalidError, NotFoundError, printable
from ..names import targets
from ..times import timestamp
from . import config

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..store import Reader, Writer
    from .events import Actor


# Names of settings in config.py.  Each claim is a setting, named after both labels and the authority, with its date as
# the value; the resolvers are one setting, one address a line.
CLAIM, RESOLVERS, PURPOSE = "context-alias", "resolver/base", "context/purpose"
_LONGEST_PURPOSE = 4096
_LONGEST = 200


class ContextAlias:
    """The claim of `authority`, since the date `since`, that `alias` is another label of the context `target`."""

    __slots__ = ("alias", "authority", "since", "target")

    def __init__(self, alias: str, target: str, authority: str, since: bytes) -> None:
        self.alias = alias
        self.target = target
        self.authority = authority
        self.since = since

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
        raise InvalidError("a context is no alias for itself: give two labels of it")
    if not authority.strip() or not authority.isprintable() or len(authority) > _LONGEST:
        raise InvalidError(f"an authority is named in one line of 1 to {_LONGEST} characters")
    name = f"{CLAIM}/{alias} {target} {authority.strip()}"
    if config.value(writer, name) is not None:
        raise ConflictError(f"{authority.strip()} claims that already")
    config.change(writer, actor, name, timestamp(actor.now()))


def remove_context_alias(writer: Writer, actor: Actor, alias: str, target: str, authority: str) -> None:
    """Remove a claim; raises NotFoundError if there is none."""
    name = f"{CLAIM}/{alias} {target} {authority.strip()}"
    if config.value(writer, name) is None:
        who, one, other = (printable(text.encode()) for text in (authority.strip(), alias, target))
        raise NotFoundError(f"{who} does not claim that {one} is an alias for {other}: say context for a list")
    config.change(writer, actor, name, None)


def _ensure_label(label: str) -> None:
    if not label or len(label) > _LONGEST or not label.isprintable() or any(c.isspace() for c in label):
        raise InvalidError(f"a context has a label such as 102.100.archer: 1 to {_LONGEST} characters, no blanks")


def resolvers(reader: Reader) -> list[bytes]:
    """The addresses of web resolvers, to which names are appended, the preferred one first."""
    return (config.value(reader, RESOLVERS) or b"").split()


def resolver_bases(reader: Reader) -> list[bytes]:
    """The addresses of web resolvers, each with the slash that separates it from the name."""
    return [address if address.endswith(b"/") else address + b"/" for address in resolvers(reader)]


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
        raise InvalidError(f"a purpose may have {_LONGEST_PURPOSE} bytes, this one has {len(text)}")
    if text != purpose(writer):
        config.change(writer, actor, PURPOSE, text or None)
