"""Binding elements to an identifier, which is minted in the same transaction if the words say so.

In a module of its own, because `mint` needs no bindings, and `bind` should not look for the module at every line.
"""

from __future__ import annotations

from ..errors import UsageError
from . import bindings, minting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..store import Writer
    from . import Minter
    from .bindings import BindResult
    from .events import Actor


def bind_elements(
    minter: Minter, actor: Actor, how: bytes, text: bytes, pairs: list[tuple[bytes, bytes | None]]
) -> list[BindResult]:
    """Bind each element to its value in one of the ways of `bindings.HOWS`, in one transaction.

    To mint the identifier, `how` is mint or peppermint, and `text` is the word new.
    """
    bindings.ensure_how(how)
    if how not in bindings.MINTING:
        return minter.write(lambda writer: bindings.bind(minter, writer, actor, how, text, pairs))
    if text != b"new":
        raise UsageError(f"bind {how.decode()} makes its own identifier: write the word new in place of Id")
    return mint_and_bind(minter, actor, pairs, peppered=how == b"peppermint")


def mint_and_bind(
    minter: Minter, actor: Actor, pairs: list[tuple[bytes, bytes | None]], *, peppered: bool = False
) -> list[BindResult]:
    """Mint one identifier and bind each element to its value, in one transaction.

    An identifier to which one of the elements is bound already is skipped.  The results contain the identifier as
    written in answers, with its pepper if it has one.
    """
    options = minting.MintOptions(peppered=peppered, unbound=tuple(element for element, _ in pairs))
    request = minting.request_for(minter, actor)

    def work(writer: Writer) -> list[BindResult]:
        batch = minting.mint_some(minter, writer, actor, 1, options, request)
        if not batch.ids:
            raise minting.exhausted(minter)
        done = bindings.bind(minter, writer, actor, b"new", batch.ids[0], pairs)
        for bound in done:
            bound.identifier, bound.how = batch.ids[0], b"peppermint" if peppered else b"mint"
        return done

    return minter.write(work)
