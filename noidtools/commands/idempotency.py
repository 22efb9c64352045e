"""Requests with an Idempotency-Key, which can be repeated without running their commands again.

A client that does not know whether its request arrived sends it again with the same key.  The answer to each command is
stored in the transaction of the command, and a repeated request gets the stored answer.  Peppers are not stored: a
repeated answer has the identifiers without them.

Keys belong to the user who sends them, and are stored for a day.  A command that takes several transactions, such as a
mint of many identifiers, takes no key.
"""

from __future__ import annotations

import hashlib
import json

from ..codec import encode_text, pack, unpack
from ..errors import ConflictError, ExhaustedError, NoidError, UsageError
from ..minter.replies import KeyReplies
from ..times import SECOND
from .answers import Answer, Fields, PreparedRecord, json_ready, refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..minter import Minter
    from ..minter.events import Actor
    from ..store import Writer
    from .answers import Record
    from .call import Call

_NO_PEPPER = b"peppers are given once only, with the first answer: they are not stored"


class IdempotentRun:
    """Runs the commands of a request, each only once however often the request is sent.

    `owner` and `key` identify the request.

    replayed  since when answers are stored under the key, in seconds since 1970, if one of them was given; else 0
    lines     the lines of a bulk request that were answered by a stored answer
    """

    def __init__(self, owner: bytes, key: bytes) -> None:
        self._owner = owner
        self._key = key
        self.replayed = 0
        self.lines: set[int] = set()

    def is_repeated(self, minter: Minter, actor: Actor) -> bool:
        """Whether answers are stored under the key."""
        return bool(minter.read(self._replies(actor).since))

    def _replies(self, actor: Actor) -> KeyReplies:
        return KeyReplies(self._owner, self._key, actor.now() // SECOND)

    def run(self, call: Call, line: int = 0) -> Answer:
        """Run a call, or return its stored answer; `line` is its line in a bulk request.  Calls that only read are run.

        Raises UsageError for a call of several transactions, ConflictError if the key was used for another command.
        """
        call.ensure_fits()
        if not call.writes:
            return call.run()
        if call.streams:
            raise UsageError("this takes several transactions, so that it cannot be sent with an Idempotency-Key: ask "
                             "for less at once, or send it without")

        def run_or_repeat(writer: Writer) -> tuple[Answer, int]:
            # In one write transaction, so that of two equal requests one waits for the other.
            replies = self._replies(call.actor)
            request = _digest(call)
            stored = replies.find(writer, line)
            if stored is not None:
                if stored[0] != request:
                    raise ConflictError("this Idempotency-Key was used for another command: a new request needs a new "
                                        "key")
                return _stored_answer(stored[1]), replies.since(writer)
            answer = call.run()
            records, refusal = answer.complete()
            replies.store(writer, line, request, _packed(answer, records, refusal))
            return answer, 0

        answer, self.replayed = call.minter.write(run_or_repeat)
        # The transaction in which it is may be repeated.
        (self.lines.add if self.replayed else self.lines.discard)(line)
        return answer


def _digest(call: Call) -> bytes:
    pairs = [field for pair_ in call.pairs or () for field in pair_]
    return hashlib.sha256(pack([call.command.name.encode(), *call.args]) + pack(pairs)).digest()


# -- stored answers --------------------------------------------------------------------------------------------------


def _stored_record(lines: bytes, data: bytes) -> Record:
    fields = unpack(lines)
    return PreparedRecord([(label, value, int(width)) for label, value, width
                           in zip(fields[::3], fields[1::3], fields[2::3], strict=True)], json.loads(data))


def _packed(answer: Answer, records: list[Record], refusal: NoidError | None) -> bytes:
    public = [record.without_peppers() for record in records]
    if any(one is not other for one, other in zip(public, records, strict=True)):
        public.append(Fields(("note", _NO_PEPPER)))
    message = encode_text(refusal.message) if refusal else b""
    # The first field was for answers of several transactions.
    fields = [b"", b"1" if answer.spaced else b"", b"1" if answer.failed else b"", message]
    for record in public:
        lines = [field for label, value, width in record.lines() for field in (label, value, b"%d" % width)]
        fields += [pack(lines), json.dumps(json_ready(record.data())).encode()]
    return pack(fields)


def _stored_answer(body: bytes) -> Answer:
    _, spaced, failed, message, *fields = unpack(body)
    records = [_stored_record(lines, data) for lines, data in zip(fields[::2], fields[1::2], strict=True)]
    answer = Answer(*records, spaced=bool(spaced), failed=bool(failed))
    if message:
        answer.records = refused(records, ExhaustedError(message.decode("utf-8", "surrogateescape")))
    return answer
