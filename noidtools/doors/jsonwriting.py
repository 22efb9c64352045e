"""Answers written for the web as JSON."""

from __future__ import annotations

import json

from ..answers import json_ready

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..answers import Record
    from ..bulk import Result
    from .writing import Tally


class JsonWriting:
    """One object.  Values are exact: what is not UTF-8 is an object with its base64."""

    content_type = "application/json"

    def __init__(self) -> None:
        self._between = b""
        self._error = b""
        self._open_line = 0
        self._first = True

    def _data(self, record: Record) -> bytes:
        parts = [json.dumps(json_ready(data)).encode() for data in record.data()]
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
        """Given after the records; `closing` must follow."""
        self._error = json.dumps({"kind": kind, "message": message}).encode()
        return b""

    def closing(self, *, spaced: bool, failed: bool) -> bytes:
        error = b', "error": ' + self._error if self._error else b""
        return b"]" + error + (b', "failed": true' if failed else b"") + b"}\n"

    # -- bulk ------------------------------------------------------------------------------------------

    def bulk_opening(self) -> bytes:
        return b'{"results": ['

    def result(self, result: Result, message: str) -> bytes:
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
                out.append(b', "error": ' + json.dumps(error).encode())
            elif result.failed:
                out.append(b', "failed": true')
            out.append(b"}")
            self._open_line = 0
        return b"".join(out)

    def bulk_closing(self, tally: Tally) -> bytes:
        totals = {"commands": tally.given, "done": tally.given - tally.refused, "refused": tally.refused}
        return b'\n], "bulk": ' + json.dumps(totals).encode() + b"}\n"
