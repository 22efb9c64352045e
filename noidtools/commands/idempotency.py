"""Requests that can be repeated without harm.

A client that does not know whether its request arrived sends it again under
the same key.  What was done the first time is then not done again: its answer,
kept in the transaction in which it was done, is given once more.

Keys belong to the user who sends them.  They are remembered for a day.

An answer may hold secrets, such as peppers, of which a minter otherwise keeps
no more than a hash.  So it is kept veiled, and the key, of which only a hash
is kept, lifts the veil: the database alone gives nothing away.
"""

from __future__ import annotations

import hashlib
import json
import os

from ..codec import pack, unpack
from ..errors import ConflictError, ExhaustedError, NoidError
from ..minter.minting import CHUNK
from ..minter.tables import REPLIES
from . import Call, run
from .answers import Answer, Record, json_ready
from .bulk import BulkResult
from .table import writes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..store import Reader, Writer
    from . import Session

_KEPT_SECONDS = 24 * 60 * 60

# What is kept too long is cleared away a little with each request, so that none waits long for it.
_MOST_CLEARED = 1000

# Commands of a bulk run that share a commit.
_TOGETHER = 200

# In the table: when a key was first used, the same in the order of time, and the parts of its answers.
_USED, _BY_TIME, _PART = b"k", b"t", b"p"
_SALT = 16


class _Part:
    """A part of an answer: what one transaction did."""

    __slots__ = ("records", "error", "spaced", "replayed")

    def __init__(self, records: list[Record], error: NoidError | None, spaced: bool, replayed: bool = False) -> None:
        self.records = records
        self.error = error
        self.spaced = spaced
        self.replayed = replayed


class IdempotentRun:
    """Runs the commands of one request, each of them once however often the request comes."""

    def __init__(self, session: Session, user: bytes, key: bytes) -> None:
        self._session = session
        self._secret = pack([user, key])
        self._name = hashlib.sha256(self._secret).digest()
        self.replayed = False

    def run(self, call: Call, line: int = 0) -> Answer:
        """As the command itself would answer; a command that only reads is simply run."""
        if not writes([call.name, *call.args]):
            return run(call)
        parts = self._parts(call, line)
        first = next(parts)
        self.replayed = first.replayed

        def records() -> Iterator[Record]:
            part: _Part | None = first
            while part is not None:
                yield from part.records
                if part.error is not None:
                    raise part.error
                part = next(parts, None)

        return Answer(stream=records(), spaced=first.spaced)

    def run_lines(self, calls: Iterable[tuple[int, Call]]) -> Iterator[BulkResult]:
        """The commands of a bulk run, given with their lines.  Those run before are answered as they were then."""
        batch: list[tuple[int, Call]] = []
        for line, call in calls:
            if _needs_chunks(call):
                yield from self._together(batch)
                batch = []
                yield from self._alone(line, call)
            else:
                batch.append((line, call))
            if len(batch) == _TOGETHER:
                yield from self._together(batch)
                batch = []
        yield from self._together(batch)

    def _together(self, batch: list[tuple[int, Call]]) -> list[BulkResult]:
        if not batch:
            return []
        try:
            return self._session.minter.write(lambda _: [self._result(line, call) for line, call in batch])
        except NoidError as error:
            return [BulkResult(line, error) for line, _ in batch]

    def _result(self, line: int, call: Call) -> BulkResult:
        result = BulkResult(line)
        try:
            answer = self.run(call, line)
            result.failed = answer.failed
            for record in answer.records:
                result.records.append(record)
        except NoidError as error:
            result.error, result.failed = error, True
        return result

    def _alone(self, line: int, call: Call) -> Iterator[BulkResult]:
        last = BulkResult(line)
        try:
            for record in self.run(call, line).records:
                part = BulkResult(line)
                part.records, part.spaced = [record], False
                yield part
        except NoidError as error:
            last.error, last.failed = error, True
        yield last

    # -- parts -----------------------------------------------------------------------------------------

    def _parts(self, call: Call, line: int) -> Iterator[_Part]:
        given = _digest(call)
        for number, smaller in enumerate(_split(call)):
            place = line.to_bytes(5, "big") + number.to_bytes(5, "big")
            part = call.minter.write(lambda writer: self._part(writer, smaller, place, given))  # noqa: B023
            yield part
            if part.error is not None:
                return

    def _part(self, writer: Writer, call: Call, place: bytes, given: bytes) -> _Part:
        """Looked up, or done and kept, all in one transaction: of two equal requests one waits for the other."""
        now = call.actor.now() // 1_000_000_000
        self._clear(writer, now)
        key = _PART + self._name + place
        kept = writer.get(REPLIES, key) if self._is_known(writer, now) else None
        if kept is not None:
            first_given, packed = unpack(self._veiled(kept[:_SALT], kept[_SALT:]))
            if first_given != given:
                raise ConflictError("this Idempotency-Key was used for another command: a new request needs a new key")
            return _unpacked(packed)
        part = _run_call(call)
        self._remember(writer, now)
        salt = os.urandom(_SALT)
        writer.put(REPLIES, key, salt + self._veiled(salt, pack([given, _packed(part)])))
        return part

    def _veiled(self, salt: bytes, data: bytes) -> bytes:
        """Veil what is plain, and unveil what is veiled."""
        veil = hashlib.shake_256(salt + self._secret).digest(len(data))
        return (int.from_bytes(data, "big") ^ int.from_bytes(veil, "big")).to_bytes(len(data), "big")

    def _is_known(self, reader: Reader, now: int) -> bool:
        since = reader.get(REPLIES, _USED + self._name)
        return since is not None and int(since) + _KEPT_SECONDS > now

    def _remember(self, writer: Writer, now: int) -> None:
        since = writer.get(REPLIES, _USED + self._name)
        if since is not None and int(since) + _KEPT_SECONDS > now:
            return
        if since is not None:
            # Forgotten, but not yet cleared away.
            writer.delete_prefix(REPLIES, _PART + self._name)
            writer.delete(REPLIES, _BY_TIME + since + self._name)
        stamp = b"%020d" % now
        writer.put(REPLIES, _USED + self._name, stamp)
        writer.put(REPLIES, _BY_TIME + stamp + self._name, b"")

    def _clear(self, writer: Writer, now: int) -> None:
        room = _MOST_CLEARED
        for used in _first(writer.scan(REPLIES, _BY_TIME), room):
            since, name = int(used[1:21]), used[21:]
            if since + _KEPT_SECONDS > now:
                return
            parts = _first(writer.scan(REPLIES, _PART + name), room)
            for part in parts:
                writer.delete(REPLIES, part)
            room -= len(parts)
            if room <= 0:
                return
            writer.delete(REPLIES, _USED + name)
            writer.delete(REPLIES, used)


def _first(items: Iterator[tuple[bytes, bytes]], most: int) -> list[bytes]:
    """The keys of the first items, taken before any of them is changed."""
    return [key for (key, _), _ in zip(items, range(most), strict=False)]


def _digest(call: Call) -> bytes:
    pairs = [field for pair_ in call.pairs or () for field in pair_]
    return hashlib.sha256(pack([call.name, *call.args]) + pack(pairs)).digest()


def _needs_chunks(call: Call) -> bool:
    """Whether more is to be minted than one transaction should do."""
    if call.name not in (b"mint", b"peppermint") or not call.args or not call.args[0].isdigit():
        return False
    return len(call.args[0]) <= 18 and int(call.args[0]) > CHUNK


def _split(call: Call) -> Iterator[Call]:
    """A command as parts that are each done in one transaction: much minting is several times a little."""
    if not _needs_chunks(call):
        yield call
        return
    left = int(call.args[0])
    while left:
        size = min(left, CHUNK)
        yield Call(call.session, [call.name, b"%d" % size, *call.args[1:]])
        left -= size


def _run_call(call: Call) -> _Part:
    """The command, run.  What was minted before the identifiers ended is kept, and with it that they ended."""
    answer = run(call)
    records: list[Record] = []
    try:
        for record in answer.records:
            records.append(record)
    except ExhaustedError as error:
        if not records:
            raise
        return _Part(records, error, answer.spaced)
    return _Part(records, None, answer.spaced)


class _Kept(Record):
    """A record as it was answered the first time."""

    __slots__ = ("_lines", "_data")

    def __init__(self, lines: bytes, data: bytes) -> None:
        self._lines = unpack(lines)
        self._data = data

    def lines(self) -> Iterator[tuple[bytes, bytes, int]]:
        for place in range(0, len(self._lines), 3):
            label, value, width = self._lines[place : place + 3]
            yield label, value, int(width)

    def data(self) -> list[dict[str, object]]:
        data: list[dict[str, object]] = json.loads(self._data)
        return data


def _packed(part: _Part) -> bytes:
    fields = [b"1" if part.spaced else b"", part.error.message.encode() if part.error else b""]
    for record in part.records:
        lines = [field for label, value, width in record.lines() for field in (label, value, b"%d" % width)]
        fields += [pack(lines), json.dumps(json_ready(record.data())).encode()]
    return pack(fields)


def _unpacked(packed: bytes) -> _Part:
    spaced, message, *fields = unpack(packed)
    records: list[Record] = [_Kept(lines, data) for lines, data in zip(fields[::2], fields[1::2], strict=True)]
    return _Part(records, ExhaustedError(message.decode()) if message else None, bool(spaced), replayed=True)
