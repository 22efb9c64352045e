"""What a minter states of itself and of its identifiers, as those need it who describe and verify."""

from __future__ import annotations

from .circulation import RESERVED as RESERVED_FLAG
from .circulation import WITHDRAWN as WITHDRAWN_FLAG

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .circulation import Circulation
    from .store import Reader

RESERVED, PUBLISHED, WITHDRAWN = "reserved", "published", "withdrawn"


def state_of(record: Circulation | None) -> str:
    """The state in the life of an identifier."""
    flags = record.flags if record is not None else 0
    if flags & WITHDRAWN_FLAG:
        return WITHDRAWN
    return RESERVED if flags & RESERVED_FLAG else PUBLISHED


class Statements:
    """What is said about who answers for identifiers, and for how long they were promised."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def accountable(self, identifier: bytes) -> tuple[bool | None, str]:
        """Whether somebody who can be reached answers for an identifier; if not, why not."""
        return None, "nobody is named"

    def persistent(self, today: bytes) -> tuple[bool | None, str]:
        """Whether the time for which identifiers were promised lasts; None if none was."""
        return None, "no time was promised"
