"""Identifiers that are minted for the lines of a table, one for each line however often the table is sent.

Which line got which identifier is stored in the transaction that mints, under the name of the run, and stays: whoever
does not know whether a run has ended gives it again, and gets the same identifiers.
"""

from __future__ import annotations

import hashlib

from ..errors import ConflictError, ExhaustedError, InvalidError, printable
from .minting import MintOptions, exhausted, mint_some, request_for
from .queue import queue_length
from .schema import META, generator_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..store import Reader, Writer
    from . import Minter
    from .events import Actor

_RUN, _LINE = b"mint run ", b"minted line "
_LONGEST_NAME = 200


class MintRun:
    """A run over one table.

    name     of the run; empty for that of the table itself, so that the same table is the same run
    table    the SHA-256 digest of the table, in hexadecimal
    wanted   how many lines need an identifier
    options  what is minted
    since    when the run first minted something, in fourteen digits, once `find` was called; empty if it has not
    """

    def __init__(
        self, minter: Minter, actor: Actor, name: bytes, table: bytes, wanted: int, options: MintOptions
    ) -> None:
        if len(name) > _LONGEST_NAME or any(byte < 0x20 for byte in name):
            raise InvalidError(f"the name of a run is one line of up to {_LONGEST_NAME} bytes")
        self._minter = minter
        self._actor = actor
        self._name = name
        self._table = table
        # The name of a run may be the digest of a table: both have a mark before them.
        self._key = hashlib.sha256(b"name " + name if name else b"table " + table).hexdigest()[:32].encode()
        self._wanted = wanted
        self._options = options
        self._made = self._event = 0
        # The same after the transaction that is under way.
        self._pending = (0, 0)
        self.since = b""

    def find(self, reader: Reader) -> None:
        """Find out whether the run was begun before; raises ConflictError if that was with another table."""
        stored = reader.get(META, _RUN + self._key) or b""
        self.since, _, table = stored.partition(b" ")
        if table and table != self._table:
            raise ConflictError(f"the run {printable(self._name)!r} was with another table: choose another name, or "
                                "send the table as it was")

    def ensure_enough_left(self, reader: Reader) -> None:
        """Raise ExhaustedError if the minter cannot mint as many as the table needs."""
        left = dict(generator_of(self._minter.scheme, reader).status()).get("Left", b"")
        if self.since or not left.isdigit() or self._minter.settings["at-last"] != "stop":
            return
        most = int(left) + queue_length(reader)
        if self._wanted > most:
            raise ExhaustedError(f"the table needs {self._wanted} identifiers, and only {most} are left: nothing was "
                                 "minted")

    def known(self, reader: Reader, lines: list[int]) -> list[bytes | None]:
        """The identifiers, as stored, that these lines have got; None for a line that has none yet."""
        return reader.get_many([(META, self._place(line)) for line in lines])

    def begin(self) -> None:
        """A transaction begins, possibly again."""
        self._pending = self._made, self._event

    def mint(self, writer: Writer, lines: list[int]) -> list[bytes]:
        """Mint an identifier for each of these lines, which have none, in this transaction; returns them as stored."""
        if not lines:
            return []
        made, event = self._pending
        request = request_for(self._minter, self._actor, made=made, wanted=max(self._wanted, made + len(lines)))
        batch = mint_some(self._minter, writer, self._actor, len(lines), self._options, request, event)
        if len(batch.ids) < len(lines):
            raise exhausted(self._minter)
        keys = [self._minter.namespace.literal_key(display) for display in batch.ids]
        if writer.get(META, _RUN + self._key) is None:
            writer.put(META, _RUN + self._key, self._actor.date() + b" " + self._table)
        writer.put_many(META, [(self._place(line), key) for line, key in zip(lines, keys, strict=True)])
        self._pending = made + len(lines), batch.event
        return keys

    def commit(self) -> None:
        """The transaction was committed, and the next one goes on with its event."""
        self._made, self._event = self._pending

    def _place(self, line: int) -> bytes:
        return b"%b%b %010d" % (_LINE, self._key, line)
