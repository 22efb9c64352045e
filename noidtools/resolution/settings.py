"""The settings of a minter's resolver, and its canaries: names whose target is known, so wrong ones are noticed."""

from __future__ import annotations

from .. import names
from ..errors import InvalidError, NoidError, printable
from ..minter import bindings, config
from ..minter.identifiers import identify
from ..names import targets
from .lookup import (
    CACHE,
    CANARY,
    FALLBACK,
    PASSTHROUGH_ELEMENT,
    RESERVED,
    destination,
    fallback_target,
    resolve,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..minter import Minter
    from ..minter.events import Actor
    from ..minter.identifiers import NameRef
    from ..store import Reader, Writer


_LONGEST_SECONDS = 9


def canaries(reader: Reader) -> dict[str, bytes]:
    """Where the names must lead that are checked, by name."""
    return config.values(reader, CANARY)


def set_resolver(writer: Writer, actor: Actor, name: str, value: bytes | None) -> None:
    """Change element, fallback, passthrough, statistics or wayback; None is the default.

    Raises InvalidError for what is no fallback.
    """
    setting = f"resolver/{name}"
    if setting == FALLBACK and value is not None:
        ensure_resolver(value)
    config.change(writer, actor, setting, value)


def set_cache(writer: Writer, actor: Actor, seconds: bytes, stale: bytes = b"86400") -> None:
    """Set for how many seconds web caches keep answers about names, and how many more while the resolver fails.

    Raises InvalidError for what is no number of seconds.
    """
    for number in (seconds, stale):
        if not number.isdigit() or len(number) > _LONGEST_SECONDS:
            raise InvalidError(f"{printable(number[:60])} is not a number of seconds: write 300 for five minutes")
    config.change(writer, actor, CACHE, b"max-age=%d, stale-if-error=%d" % (int(seconds), int(stale)))


def ensure_resolver(value: bytes, what: str = "a fallback") -> None:
    """Raise InvalidError for what is no address of another resolver."""
    found = targets.parse(fallback_target(value, names.parse(b"ark:/12345/x")))
    if len(found) != 1 or targets.location(found[0].url) != found[0].url or found[0].url[:1] == b"/" or b"|" in value:
        raise InvalidError(f"{what} is the URL of another resolver, such as https://n2t.net/, to which the name "
                           "is added at the end, or in place of a variable such as ${pid} or ${content}")


def set_passthrough(minter: Minter, writer: Writer, actor: Actor, text: bytes, *, on: bool) -> bytes:
    """Whether extensions of one name are passed through; returns the name without its pepper."""
    how, bound = (b"purge", None) if on else (b"set", b"off")
    bindings.bind(minter, writer, actor, how, text, [(PASSTHROUGH_ELEMENT, bound)])
    return _without_pepper(identify(minter, writer, text), text)


# -- canaries --------------------------------------------------------------------------------------------------------


def set_canary(minter: Minter, writer: Writer, actor: Actor, text: bytes, target: bytes | None) -> bytes:
    """Set where a name must lead, or with None end its checks; returns the name without its pepper."""
    config.change(writer, actor, f"{CANARY}/{_canary_name(minter, writer, text)}", target)
    return _without_pepper(identify(minter, writer, text), text)


def _canary_name(minter: Minter, reader: Reader, text: bytes) -> str:
    """The spelling under which this name is a canary already, else the text without its pepper."""
    ref = identify(minter, reader, text)
    for name in canaries(reader):
        try:
            if identify(minter, reader, name.encode()).key == ref.key:
                return name
        except NoidError:
            continue  # it was set with a pepper that has changed since, or by a release that accepted any text
    return _without_pepper(ref, text).decode()


def _without_pepper(ref: NameRef, text: bytes) -> bytes:
    """The name as it was written, without its pepper: settings, events and replies that are stored show no pepper."""
    return ref.display if ref.peppered else text


def check_canaries(
    minter: Minter, target_of: Callable[[str], bytes] | None = None, *, reserved: bool = True
) -> list[tuple[str, bytes, bytes]]:
    """Each canary with the target that it has, as `target_of` says or else in this minter, and the one it must have.

    reserved  whether those are included that are not public
    """
    where = target_of or (lambda name: destination(resolve(minter, name.encode())))
    return [(name, where(name), expected) for name, expected in minter.read(canaries).items()
            if reserved or resolve(minter, name.encode()).kind != RESERVED]


def wrong_canaries(minter: Minter) -> list[str]:
    """The canaries of a minter that lead elsewhere than they must; those that expect a status are for web resolvers."""
    return [name for name, target, expected in check_canaries(minter)
            if target != expected and not expected.startswith(b"status ")]
