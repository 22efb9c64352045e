"""Answers written for the web as ANVL text."""

from __future__ import annotations

from ..answers import Fields, Values, anvl

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..answers import Record
    from ..bulk import Result


class Tally:
    """How many commands of a bulk run were given, and how many of them refused."""

    __slots__ = ("given", "refused")

    def __init__(self) -> None:
        self.given = self.refused = 0

    def count(self, result: Result) -> None:
        if not result.more:
            self.given += 1
            self.refused += result.failed


class TextWriting:
    """Labelled lines.  A line break inside a value is followed by a space, so that a line that begins with a
    label is always ours."""

    content_type = "text/plain; charset=utf-8"

    def opening(self) -> bytes:
        return b""

    def record(self, record: Record) -> bytes:
        return _indented(anvl(record, indent=True))

    def refusal(self, kind: str, message: str) -> bytes:
        return self.record(Fields(("error", message.encode("utf-8", "surrogateescape"))))

    def closing(self, *, spaced: bool, failed: bool) -> bytes:
        return b"\n" if spaced else b""

    # -- bulk ------------------------------------------------------------------------------------------

    def bulk_opening(self) -> bytes:
        return b""

    def result(self, result: Result, message: str) -> bytes:
        """One command's answer, or a part of it, and an empty line at its end."""
        out = [_told_apart(record, self.record(record)) for record in result.records]
        if result.error is not None:
            out.append(self.refusal(result.error.kind, message))
        if not result.more:
            out.append(b"\n")
        return b"".join(out)

    def bulk_closing(self, tally: Tally) -> bytes:
        done = tally.given - tally.refused
        return b"bulk: %d commands, %d done, %d refused\n" % (tally.given, done, tally.refused)


def _indented(text: bytes) -> bytes:
    # Some who read lines also end them at a carriage return.
    return text.replace(b"\r", b"\r ").replace(b"\r \n", b"\r\n") if b"\r" in text else text


def _told_apart(record: Record, text: bytes) -> bytes:
    """A bare value among other answers must not pass for a labelled line, nor for the end of its answer."""
    if not isinstance(record, Values):
        return text
    head, colon, tail = text.partition(b"\n")[0].partition(b":")
    like_ours = bool(colon) and b" " not in head and (not tail or tail[:1] in b" \t")
    return b" " + text if like_ours or text[:1] in b" \t\r\n" else text
