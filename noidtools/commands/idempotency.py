"""Requests with an Idempotency-Key, which can be repeated without running their commands again.

A client that does not know whether its request arrived sends it again with the same key.  The answer to each command is
stored in the transaction of the command, and a repeated request gets the stored answer.  Peppers are not stored: a
repeated answer has the identifiers without them.

Keys belong to the user who sends them, and are stored for a day.
"""

from __future__ import annotations

import hashlib
import json

from ..codec import pack, unpack
from ..errors import ConflictError, ExhaustedError, NoidError
from ..minter.replies import KeyReplies, Reply
from .answers import Answer, Fields, Record, json_ready

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..store import Writer
    from .call import Call

_NO_PEPPER = b"peppers are given once only, with the first answer: they are not stored"


class _AnswerPart:
    """The answer of one transaction of a call.

    state     what the next transaction needs to continue; empty after the last
    replayed  whether it was stored by an earlier request
    The others are as in Answer and in Part.
    """

    __slots__ = ("records", "error", "spaced", "failed", "state", "replayed")

    def __init__(self, records: list[Record], error: NoidError | None, *, spaced: bool, failed: bool = False,
                 state: bytes = b"", replayed: bool = False) -> None:
        self.records = records
        self.error = error
        self.spaced = spaced
        self.failed = failed
        self.state = state
        self.replayed = replayed


class IdempotentRun:
    """Runs the commands of a request, each only once however often the request is sent.

    `owner` and `key` identify the request.  `replayed` is whether the last answer was a stored one.
    """

    def __init__(self, owner: bytes, key: bytes) -> None:
        self._owner = owner
        self._key = key
        self.replayed = False

    def run(self, call: Call, line: int = 0) -> Answer:
        """Run a call, or return its stored answer; `line` is its line in a bulk request.  Calls that only read are run.

        Raises ConflictError if the key was used for another command, or if the command would block other writers too
        long, because it cannot be split into several transactions.
        """
        call.ensure_fits()
        if not call.writes:
            return call.run()
        if call.streams and call.form.resume is None:
            raise ConflictError(
                "this would keep all others from writing, because it was sent with an Idempotency-Key: send it "
                "without, since it can be repeated without harm"
            )
        parts = self._parts(call, line)
        first = next(parts)
        self.replayed = first.replayed

        def records() -> Iterator[Record]:
            part: _AnswerPart | None = first
            while part is not None:
                yield from part.records
                if part.error is not None:
                    raise part.error
                part = next(parts, None)

        return Answer(stream=records(), spaced=first.spaced, failed=first.failed)

    def _parts(self, call: Call, line: int) -> Iterator[_AnswerPart]:
        """The answers of the transactions of a call, one after the other."""
        state, number = b"", 0
        while number == 0 or state:
            part = call.minter.write(lambda writer: self._part(writer, call, line, number, state))  # noqa: B023
            yield part
            state, number = part.state, number + 1

    def _part(self, writer: Writer, call: Call, line: int, number: int, state: bytes) -> _AnswerPart:
        """The stored answer of one transaction, else run and store it.

        This is one write transaction, so that of two equal requests one waits for the other.
        """
        replies = KeyReplies(self._owner, self._key, call.actor.now() // 1_000_000_000)
        request = _digest(call)
        reply = replies.find(writer, line, number)
        if reply is not None:
            return _unpacked(reply, request)
        part = _run_part(call, writer, state) if call.streams else _run_whole(call)
        replies.store(writer, line, number, Reply(request, _packed(part)))
        return part


def _digest(call: Call) -> bytes:
    pairs = [field for pair_ in call.pairs or () for field in pair_]
    return hashlib.sha256(pack([call.command.name.encode(), *call.args]) + pack(pairs)).digest()


def _run_whole(call: Call) -> _AnswerPart:
    """Run a call in one transaction.  If identifiers run out, the answer has those minted before, and the error."""
    answer = call.run()
    records: list[Record] = []
    error = None
    try:
        for record in answer.records:
            records.append(record)
    except ExhaustedError as exhausted:
        if not records:
            raise
        error = exhausted
    return _AnswerPart(records, error, spaced=answer.spaced, failed=answer.failed)


def _run_part(call: Call, writer: Writer, state: bytes) -> _AnswerPart:
    assert call.form.resume is not None
    part = call.form.resume(call, writer, state)
    return _AnswerPart(part.records, part.error, spaced=True, state=part.state)


# -- stored answers --------------------------------------------------------------------------------------------------


class _StoredRecord(Record):
    """A record of a stored answer."""

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


def _packed(part: _AnswerPart) -> bytes:
    public = [record.without_peppers() for record in part.records]
    if any(one is not other for one, other in zip(public, part.records, strict=True)):
        public.append(Fields(("note", _NO_PEPPER)))
    message = part.error.message.encode("utf-8", "surrogateescape") if part.error else b""
    fields = [part.state, b"1" if part.spaced else b"", b"1" if part.failed else b"", message]
    for record in public:
        lines = [field for label, value, width in record.lines() for field in (label, value, b"%d" % width)]
        fields += [pack(lines), json.dumps(json_ready(record.data())).encode()]
    return pack(fields)


def _unpacked(reply: Reply, request: bytes) -> _AnswerPart:
    if not reply.request:
        raise ConflictError(
            "this Idempotency-Key was used with an earlier release of noidtools: its command was done, but its answer "
            "can no longer be given; a new request needs a new key"
        )
    if reply.request != request:
        raise ConflictError("this Idempotency-Key was used for another command: a new request needs a new key")
    state, spaced, failed, message, *fields = unpack(reply.body)
    records: list[Record] = [_StoredRecord(lines, data) for lines, data in zip(fields[::2], fields[1::2], strict=True)]
    error = ExhaustedError(message.decode("utf-8", "surrogateescape")) if message else None
    return _AnswerPart(records, error, spaced=bool(spaced), failed=bool(failed), state=state, replayed=True)
