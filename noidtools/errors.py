"""The exceptions of noidtools, which each interface translates.

    NoidError
    ├── UsageError        the words of a command are wrong
    ├── InvalidError      an identifier, a template or a value is malformed
    ├── NotFoundError     nothing is stored under that name
    ├── ConflictError     it is there already, held, queued, or not in the state the command needs
    ├── ForbiddenError    this caller may not do this
    │   └── LoginNeededError  nor may anybody who has not logged in
    ├── ExhaustedError    no identifier is left
    ├── BusyError         the wait for another writer, or for the clock, took too long
    └── StoreError        the database or its disk failed
        └── NoMinterError there is no minter in that folder

The message is one sentence for the user: it names what is wrong and, where there
is one, the remedy.  `kind` is the word by which interfaces choose an exit status
or an HTTP status; JSON answers contain it.
"""

from __future__ import annotations


class NoidError(Exception):
    """A refusal.  `message` is the sentence for the user."""

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


class LoginNeededError(ForbiddenError):
    """Refused to an anonymous caller: a login might help."""


class ExhaustedError(NoidError):
    kind = "exhausted"


class BusyError(NoidError):
    kind = "busy"


class StoreError(NoidError):
    kind = "store"


class NoMinterError(StoreError):
    kind = "no minter"


def printable(value: bytes) -> str:
    """Bytes for a message of one line: what is not printable text, line breaks included, is written as an escape."""
    text = value.decode("utf-8", "backslashreplace")
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
