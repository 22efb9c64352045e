"""What an administrator may change while a minter lives, such as who may do what and how names resolve.

Names are words joined by slashes, the first being the subject: `policy/mint`,
`resolver/fallback`.  A value that is absent means the default of its reader.
"""

from __future__ import annotations

from .events import Change, record_event
from .tables import CONFIG

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..store import Reader, Writer
    from .events import Actor



def value(reader: Reader, name: str) -> bytes | None:
    return reader.get(CONFIG, name.encode())


def values(reader: Reader, subject: str) -> dict[str, bytes]:
    """All values of one subject, by the rest of their names."""
    prefix = f"{subject}/".encode()
    return {key[len(prefix) :].decode(): found for key, found in reader.scan(CONFIG, prefix)}


def change(writer: Writer, actor: Actor, name: str, new: bytes | None) -> None:
    """Set a value, or with None go back to the default; the event keeps what it was before."""
    before = writer.get(CONFIG, name.encode())
    if new is None:
        writer.delete(CONFIG, name.encode())
    else:
        writer.put(CONFIG, name.encode(), new)
    record_event(writer, actor, b"config", changes=[Change(name.encode(), before, new)])
