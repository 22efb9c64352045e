"""The command that makes, lists and revokes tokens, by which programs use the web interfaces."""

from __future__ import annotations

from .. import dates
from ..errors import UsageError
from ..minter import tokens
from .answers import Answer
from .command import Command, Form, Option, as_text
from .records import Fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .call import Call

_UNITS = {"h": 3600, "d": 86_400}
_LONGEST_DIGITS = 6


def _new(call: Call) -> Answer:
    classes = [word.strip() for word in (call.option("may") or "").split(",")]
    expires = _end(call.option("expires"), call.actor.now())
    name = as_text(call.words[1], "the name of a token").encode()
    secret = call.minter.write(lambda writer: tokens.new_token(writer, call.actor, name, classes, expires))
    note = b"it is not shown again: send it as Authorization: Bearer " + secret[:9] + "…".encode()
    return Answer(Fields(("token", secret), ("note", note)), spaced=True)


def _end(text: str | None, now: int) -> bytes:
    """The timestamp at which a token ends; empty for never."""
    if text is None:
        return b""
    number, unit = text[:-1], text[-1:]
    if unit in _UNITS and number.isascii() and number.isdigit() and len(number) <= _LONGEST_DIGITS:
        return dates.timestamp_after(now, int(number) * _UNITS[unit])
    if not text[:4].isdigit():
        raise UsageError(f"a token expires after a time, 365d or 12h, or on a date, 2030-12-31; {text!r} is neither")
    return dates.last_second(text)


def _list(call: Call) -> Answer:
    def fields(token: tokens.Token) -> Fields:
        expires = token.expires or b"never"
        return Fields(("token", token.name), ("may", ",".join(token.classes).encode()), ("created", token.created),
                      ("expires", expires + b", which is over" if token.is_expired() else expires),
                      ("used", token.used or b"never"))

    found = call.minter.read(tokens.all_tokens)
    if not found:
        return Answer(Fields(("note", b"there are no tokens")), spaced=True)
    return Answer(*(fields(token) for token in found), spaced=True)


def _revoke(call: Call) -> Answer:
    name = call.words[1]
    call.minter.write(lambda writer: tokens.revoke_token(writer, call.actor, name))
    return Answer(Fields(("ok", b"token " + name + b" revoked")), spaced=True)


COMMANDS = (
    Command(
        "token", "secrets by which programs use the web interfaces",
        Form("new Name --may Classes [--expires Time]", _new),
        Form("list", _list, writes=False),
        Form("revoke Name", _revoke),
        options=(
            Option("--may Classes", "the access classes it is for, as in mint,bind"),
            Option("--expires Time", "after so many hours or days, 12h or 365d, or on a date; never, unless given"),
        ),
        shell_only=True, see="web-interface.md#tokens",
        about="""\
new prints the secret, once: the minter keeps only its hash. A program sends it in the header Authorization: Bearer. It
is admitted to the classes it was made for and to those that are for anyone, whatever the policy says of users. Events
name it as token:NAME.

list shows each with the time of its last use, to the hour. revoke ends it at once.
""",
        example="""\
$ noid token new catalogue --may mint,bind --expires 365d | cut -c 1-12 | head -n 1
token: noid_
$ noid token list | grep -E 'token|may|used'
token: catalogue
may: mint,bind
used: never
$ noid token revoke catalogue
ok: token catalogue revoked

""",
    ),
)
