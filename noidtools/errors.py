"""The exceptions of noidtools, which each interface translates.

    NoidError
    ├── UsageError        the words of a command are wrong
    │   └── NotInstalledError  a package that this needs is not installed
    ├── InvalidError      an identifier, a template or a value is malformed
    ├── NotFoundError     nothing is stored under that name
    │   └── GoneError         the identifier was withdrawn
    ├── ConflictError     it is there already, held, queued, or not in the state the command needs
    ├── ForbiddenError    this caller may not do this
    │   └── LoginNeededError  an anonymous caller may not do this; one who logs in may be allowed to
    │       └── TokenNeededError  no user may do this; a token may be allowed to
    ├── ExhaustedError    no identifier is left
    ├── BusyError         the wait for another writer, or for the clock, took too long
    └── StoreError        the database or its disk failed
        ├── NoMinterError there is no minter in that folder
        └── OutcomeUnknownError  a commit may or may not have taken place: check before doing it again

The message is one sentence for the user: it says what is wrong and, if there is one, the remedy.  A shell command that
helps is kept apart, because `str(error)`, which a Python program prints, leaves it out.  Interfaces choose an exit
status or an HTTP status by `kind`, a word that JSON answers contain.
"""

from __future__ import annotations


class NoidError(Exception):
    """A refusal.  `message` is the sentence for the user, with the command that helps; `str(error)` leaves that out."""

    kind = "refused"

    def __init__(self, message: str, command: str = "") -> None:
        super().__init__(message)
        self.message = f"{message}{'; ' if ': ' in message else ': '}{command}" if command else message


class UsageError(NoidError):
    kind = "usage"


class NotInstalledError(UsageError):
    """The command needs a package that is not installed: on the web that is a fault of the server, not of the user."""

    kind = "not installed"


class InvalidError(NoidError):
    kind = "invalid"


class NotFoundError(NoidError):
    kind = "not found"


class GoneError(NotFoundError):
    """An identifier that was withdrawn; its tombstone in one sentence, and the `reason`, empty if none is recorded."""

    kind = "gone"

    def __init__(self, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason


class ConflictError(NoidError):
    kind = "conflict"


class ForbiddenError(NoidError):
    kind = "forbidden"


class LoginNeededError(ForbiddenError):
    """Refused to an anonymous caller: a login might help.

    `needed` is what is refused, and for whom it is; `remedy` what an administrator can do about it, which may be empty.
    """

    _ADVICE = "log in first"

    def __init__(self, needed: str, remedy: str = "") -> None:
        super().__init__(f"{needed}: {self._ADVICE}{'; ' if remedy else ''}{remedy}")

    def message_with(self, advice: str) -> str:
        """The message, with another advice to the caller where nobody can log in."""
        return self.message.replace(self._ADVICE, advice, 1)


class TokenNeededError(LoginNeededError):
    """Refused to an anonymous caller, as it would be to every user: only a token might help."""

    _ADVICE = "send a token that may, made by 'noid token new'"


class ExhaustedError(NoidError):
    kind = "exhausted"


class BusyError(NoidError):
    kind = "busy"


class StoreError(NoidError):
    kind = "store"


class NoMinterError(StoreError):
    kind = "no minter"


class OutcomeUnknownError(StoreError):
    """Whether a change took place cannot be found out: repeating it may do it twice."""

    kind = "outcome unknown"


def printable(value: bytes) -> str:
    """Bytes for a message of one line: what is not printable text, line breaks included, is written as an escape."""
    text = value.decode("utf-8", "backslashreplace")
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
