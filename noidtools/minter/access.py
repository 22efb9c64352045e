"""The words of access: the classes of commands, what a user may see, and the state that minting gives to a name.

Apart from policies.py, which has the rules made of these words, because a command at the shell needs no more.
"""

from __future__ import annotations

from .tables import CONFIG

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..store import Reader

# From the least to the most demanding.
CLASSES = READ, MINT, BIND, ADMIN = "read", "mint", "bind", "admin"

# What a user may see, from the most to the least (see visibility.py).
EVERYTHING, PUBLISHED, TARGETS = "everything", "published", "targets"

# The policy on minting: its name in config.py, and its values, of which the first is the default.
INITIAL_STATE = "lifecycle/minting"
PUBLISH, RESERVE = b"publish", b"reserve"


def minting_policy(reader: Reader) -> bytes:
    """PUBLISH or RESERVE: the state that minting gives to identifiers."""
    # As `config.value`, without its module: a mint needs nothing else of that.
    return RESERVE if reader.get(CONFIG, INITIAL_STATE.encode()) == RESERVE else PUBLISH
