"""Answers of commands written as ANVL text, as files and as JSON, one by one or in bulk."""

from __future__ import annotations

from ..codec import indent_rare_breaks
from ..commands.answers import Fields, ItemValues, Values, anvl, json_ready, mark_break

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from ..commands.answers import Record
    from ..commands.bulk import BulkResult

    AnswerWriter: TypeAlias = "TextWriter | JsonWriter"


class BulkTally:
    """How many commands a bulk run had, how many of them were refused or failed, and how many answers were stored ones
    of an earlier request."""

    __slots__ = ("commands", "refused", "replayed")

    def __init__(self) -> None:
        self.commands = self.refused = self.replayed = 0

    def count(self, result: BulkResult) -> None:
        """Count a result, unless another part of the same answer follows."""
        if not result.more:
            self.commands += 1
            self.refused += result.failed
            self.replayed += result.replayed


class TextWriter:
    """Labelled lines.  A line break inside a value is followed by a space, so that a line that begins with a label is
    never part of a value."""

    content_type = "text/plain; charset=utf-8"

    def opening(self) -> bytes:
        return b""

    def record(self, record: Record) -> bytes:
        return indent_rare_breaks(_indent_returns(anvl(record, indent=True)))

    def refusal(self, kind: str, message: str) -> bytes:
        return self.record(Fields(("error", message.encode("utf-8", "surrogateescape"))))

    def closing(self, *, spaced: bool, failed: bool) -> bytes:
        return b"\n" if spaced else b""

    # -- bulk ------------------------------------------------------------------------------------------

    def bulk_opening(self) -> bytes:
        return b""

    def result(self, result: BulkResult, message: str) -> bytes:
        """One command's answer, or a part of it, and an empty line at its end."""
        out = [_within_bulk(record, self.record(record)) for record in result.records]
        if result.error is not None:
            out.append(self.refusal(result.error.kind, message))
        if not result.more:
            out.append(b"\n")
        return b"".join(out)

    def bulk_closing(self, tally: BulkTally) -> bytes:
        done = tally.commands - tally.refused
        replayed = b", %d replayed" % tally.replayed if tally.replayed else b""
        return b"bulk: %d commands, %d done, %d refused%b\n" % (tally.commands, done, tally.refused, replayed)


def _indent_returns(text: bytes) -> bytes:
    # Some readers also end a line at a carriage return.
    return text.replace(b"\r", b"\r ").replace(b"\r \n", b"\r\n") if b"\r" in text else text


def _within_bulk(record: Record, text: bytes) -> bytes:
    """The text of a record in a bulk answer, where an empty line ends the answer to a command.

    A space is put before a bare value that looks like a labelled line or the end of an answer, and into the blank lines
    that separate values.
    """
    if isinstance(record, ItemValues):
        lines = text.splitlines(keepends=True)
        return b"".join(line if line[:1] == b" " else _escape_bare_value(line) for line in lines)
    return _escape_bare_value(text) if isinstance(record, Values) else mark_break(record, text)


def _escape_bare_value(text: bytes) -> bytes:
    """A bare value, with a space in front if it looks like a labelled line or the end of an answer."""
    # Up to the first line break of any kind.
    first = "".join(text.partition(b"\n")[0].decode("utf-8", "surrogateescape").splitlines()[:1])
    head, colon, tail = first.partition(":")
    labelled = bool(colon) and " " not in head and (not tail or tail[0] in " \t")
    return b" " + text if labelled or text[:1] in b" \t\r\n" else text


class FileWriter(TextWriter):
    """A file, whose bytes are written as they are.  An error in its middle is a line at its end."""

    def __init__(self, media_type: str) -> None:
        self.content_type = media_type

    def record(self, record: Record) -> bytes:
        return anvl(record)


class JsonWriter:
    """One object.  Values are exact: bytes that are not UTF-8 are an object with their base64."""

    content_type = "application/json"

    def __init__(self) -> None:
        self._between = b""
        self._error = b""
        self._open_line = 0
        self._first = True

    def _data(self, record: Record) -> bytes:
        parts = [_dumps(json_ready(data)).encode() for data in record.data()]
        if not parts:
            return b""
        text = self._between + b",\n  ".join(parts)
        self._between = b",\n  "
        return text

    def opening(self) -> bytes:
        self._between = b"\n  "
        return b'{"records": ['

    def record(self, record: Record) -> bytes:
        return self._data(record)

    def refusal(self, kind: str, message: str) -> bytes:
        """Called after the records; `closing` must follow."""
        self._error = _dumps({"kind": kind, "message": message}).encode()
        return b""

    def closing(self, *, spaced: bool, failed: bool) -> bytes:
        error = b', "error": ' + self._error if self._error else b""
        return b"]" + error + (b', "failed": true' if failed else b"") + b"}\n"

    # -- bulk ------------------------------------------------------------------------------------------

    def bulk_opening(self) -> bytes:
        return b'{"results": ['

    def result(self, result: BulkResult, message: str) -> bytes:
        out = []
        if self._open_line != result.line:
            out.append(b"\n" if self._first else b",\n")
            out.append(b' {"line": %d, "records": [' % result.line)
            self._open_line, self._first, self._between = result.line, False, b"\n  "
        out += [self._data(record) for record in result.records]
        if not result.more:
            out.append(b"]")
            if result.error is not None:
                error = {"kind": result.error.kind, "message": message}
                out.append(b', "error": ' + _dumps(error).encode())
            elif result.failed:
                out.append(b', "failed": true')
            if result.replayed:
                out.append(b', "replayed": true')
            out.append(b"}")
            self._open_line = 0
        return b"".join(out)

    def bulk_closing(self, tally: BulkTally) -> bytes:
        totals = {"commands": tally.commands, "done": tally.commands - tally.refused, "refused": tally.refused}
        if tally.replayed:
            totals["replayed"] = tally.replayed
        return b'\n], "bulk": ' + _dumps(totals).encode() + b"}\n"


def _dumps(value: object) -> str:
    # Text is the usual format, and CGI pays for every import.
    import json

    return json.dumps(value)
