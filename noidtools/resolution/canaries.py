"""Canaries: names whose answer is known, so that wrong answers are noticed."""

from __future__ import annotations

from ..minter import config
from ..names import targets
from . import CANARY, resolve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..minter import Minter
    from . import Outcome


def destination(outcome: Outcome) -> bytes:
    """The target as it stands in a Location header, or the kind of outcome if there is none."""
    for target in outcome.targets:
        return targets.location(target.url) or target.url
    return outcome.kind.encode()


def wrong_canaries(minter: Minter) -> list[str]:
    """The canaries of a minter that lead elsewhere than they must; those that name a status are for `--through`."""
    expected = minter.read(lambda reader: config.values(reader, CANARY))
    return [name for name, target in expected.items()
            if not target.startswith(b"status ") and destination(resolve(minter, name.encode())) != target]
