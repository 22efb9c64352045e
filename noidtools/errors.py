"""What can go wrong, as values a door can translate.

    NoidError
    ├── UsageError        the words of a command are wrong
    ├── InvalidError      an identifier, a template or a value is malformed
    ├── NotFoundError     nothing is stored under that name
    ├── ConflictError     it is there already, held, queued, or not in the state the command needs
    ├── ForbiddenError    this caller may not do this
    ├── ExhaustedError    no identifier is left
    ├── BusyError         another writer, or the clock, kept us waiting too long
    └── StoreError        the database or the disk under it cannot serve us
        └── NoMinterError there is no minter in that folder

The message is one sentence for the person who gave the command: it names what
is wrong and, where there is a remedy, the remedy.  `kind` is the word by which
doors choose an exit status or an HTTP status, and which JSON answers carry.
"""

from __future__ import annotations


class NoidError(Exception):
    """A refusal.  The text is the sentence shown to the user."""

    kind = "refused"

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class UsageError(NoidError):
    kind = "usage"


class InvalidError(NoidError):
    kind = "invalid"


class NotFoundError(NoidError):
    kind = "not found"


class ConflictError(NoidError):
    kind = "conflict"


class ForbiddenError(NoidError):
    kind = "forbidden"


class ExhaustedError(NoidError):
    kind = "exhausted"


class BusyError(NoidError):
    kind = "busy"


class StoreError(NoidError):
    kind = "store"


class NoMinterError(StoreError):
    kind = "no minter"


def printable(value: bytes) -> str:
    """Bytes as they may stand in a sentence: what is not printable text is written as an escape, line breaks too."""
    text = value.decode("utf-8", "backslashreplace")
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


class LoginNeededError(ForbiddenError):
    """Refused, but a login might help."""
