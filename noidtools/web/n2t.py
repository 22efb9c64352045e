"""The requests of N2T, in the spelling of eggnog, its minter and binder.

    GET /a/USER/m/ark/NAAN/SHOULDER?mint%20N     mint: a line `s: NAAN/NAME` for each, and nog-status
    GET /a/USER/b?COMMAND                        bind or read, and egg-status
    POST /a/USER/b?-                             the same for each line of the body

The query is one percent-encoded line.  A command is ID.set ELEMENT VALUE, ID.rm ELEMENT, ID.get ELEMENT…, ID.fetch or
ID.exists, with quotes as in a shell; after :hx, ^HH stands for the byte HH, and after :hxC, CHH does.  All commands of
a request are one transaction in one minter.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .. import names
from ..api import MinterMethods
from ..codec import encode_text, percent_decode
from ..commands.answers import ItemValues, PreparedRecord
from ..commands.lines import split_words
from ..errors import NotFoundError, UsageError, printable
from ..minter.policies import BIND, MINT, READ
from .access import Minters, hold_unless_known, whole_body
from .request import Request
from .response import HttpError, Response, method_not_allowed, refusal_of
from .writers import TextWriter

_PATH = re.compile(r"/a/[^/]+/(?:(?P<binder>b)|m/ark:?/(?P<shoulder>.+))")
_TEXT = TextWriter()
_MOST_COMMANDS = 10_000
_ESCAPING = b":hx"
# The words after the name of each command: how many at least and at most.
_COMMANDS = {b"set": (2, 2), b"rm": (1, 1), b"get": (1, 100), b"fetch": (0, 0), b"exists": (0, 0)}
_WRITING = (b"set", b"rm")


@dataclass(slots=True)
class Command:
    """A command about a name: one of _COMMANDS, and the words after it."""

    name: bytes
    what: bytes
    words: list[bytes]


class N2t:
    """Serves the requests of N2T over all minters of a site; `challenge` is that for users who must log in."""

    def __init__(self, minters: Minters, challenge: str) -> None:
        self._minters = minters
        self._challenge = challenge

    def claims(self, request: Request) -> bool:
        """Whether a request is of this interface."""
        return _PATH.fullmatch(request.path) is not None

    def respond(self, request: Request) -> Response:
        """The response to a request; every error is a line, and the status after it 1."""
        match = _PATH.fullmatch(request.path)
        label = b"egg-status" if match and match["binder"] else b"nog-status"
        try:
            if request.method not in ("GET", "POST"):
                raise method_not_allowed(("GET", "POST"), "commands are sent by GET or POST")
            line = percent_decode(request.header("QUERY_STRING").encode("latin-1", "replace"))
            if match and match["shoulder"]:
                return self._mint(request, encode_text(match["shoulder"]), split_words(line))
            return self._bind(request, line)
        except Exception as error:  # noqa: BLE001 - every error has an HTTP status
            refusal = refusal_of(request.environ, error, self._challenge)
            text = _TEXT.refusal(refusal.kind, refusal.message)
            return Response(refusal.status, _TEXT.content_type, text + label + b": 1\n\n", refusal.headers)

    # -- minting ---------------------------------------------------------------------------------------

    def _mint(self, request: Request, shoulder: bytes, words: list[bytes]) -> Response:
        if words[:1] != [b"mint"] or len(words) > 2 or not all(word.isdigit() and len(word) < 8 for word in words[1:]):
            raise UsageError("a minter is asked to ?mint%20N, where N is how many")
        _ensure_program(request)
        count = int(words[1]) if len(words) > 1 else 1
        access = self._minters.at_shoulder(request, shoulder)
        access.ensure_may_mint(count)

        def work(api: MinterMethods) -> Response:
            made = [names.parse(encode_text(name)).body for name in api.mint(count)]
            return _answer(b"".join(b"s: %b\n" % name for name in made) + b"nog-status: 0\n\n")

        return access.change("minting", (MINT,), work)

    # -- binding ---------------------------------------------------------------------------------------

    def _bind(self, request: Request, line: bytes) -> Response:
        body = b""
        if line == b"-":
            if request.method != "POST":
                raise method_not_allowed(("POST",), "send commands in bulk by POST, one per line in the body")
            body = whole_body(request)
            lines = body.splitlines()
        else:
            lines = [line]
        commands = [command for line in lines if (command := _parsed(line))]
        if not commands:
            raise UsageError("no command was given: write ID.set ELEMENT VALUE")
        if len(commands) > _MOST_COMMANDS:
            raise HttpError(413, "too large", f"a request may have {_MOST_COMMANDS} commands: send several")
        writes = any(command.what in _WRITING for command in commands)
        if not writes:
            self._minters.ensure_may_read(request, len(commands))
        found = [self._minters.of_name(request, command.name) for command in commands]
        access = found[0]
        if any(other.name != access.name for other in found):
            raise UsageError("all commands of a request are one transaction in one minter: send a request for each")

        def work(api: MinterMethods) -> Response:
            return _answer(b"".join(_run(api, command) for command in commands) + b"egg-status: 0\n\n")

        if not writes:
            access.ensure("reading", READ)
            return work(access.python())
        _ensure_program(request)
        reads = any(command.what not in _WRITING for command in commands)
        return access.change("binding", (READ, BIND) if reads else (BIND,), work, body)


def _ensure_program(request: Request) -> None:
    """Refuse a change by what a browser loads: a link or an image would make it."""
    if request.is_page_load:
        raise method_not_allowed(("POST",), "a browser changes nothing here: use a program")


def _parsed(line: bytes) -> Command | None:
    """The command in a line; None for an empty line and a comment."""
    words = split_words(line)
    if not words or words[0].startswith(b"#"):
        return None
    if words[0].startswith(_ESCAPING):
        mark = words.pop(0)[len(_ESCAPING) :] or b"^"
        words = [_unescaped(word, mark) for word in words]
    name, dot, what = (words or [b""])[0].rpartition(b".")
    if not dot or not name or what not in _COMMANDS:
        raise UsageError(f"{printable(line[:60])!r} is not a command: write ID.set ELEMENT VALUE, or rm, get, fetch or "
                         "exists in place of set")
    least, most = _COMMANDS[what]
    if not least <= len(words) - 1 <= most:
        raise UsageError(f"{what.decode()} has {len(words) - 1} words after it, and needs {least}: quote a value with "
                         "blanks")
    return Command(name, what, words[1:])


def _unescaped(word: bytes, mark: bytes) -> bytes:
    pattern = re.escape(mark) + rb"([0-9A-Fa-f]{2})"
    return re.sub(pattern, lambda found: bytes((int(found[1], 16),)), word)


def _run(api: MinterMethods, command: Command) -> bytes:
    """Run a command; returns what it prints."""
    name, words = command.name, command.words
    if command.what == b"set":
        hold_unless_known(api, name)
        api.bind(name, words[0], words[1])
    elif command.what == b"rm":
        api.bind(name, words[0], how="purge")
    elif command.what == b"get":
        return b"".join(_TEXT.record(ItemValues(element, [api.get(name, element, raw=True)])) for element in words)
    else:
        try:
            record = api.fetch(name)
        except NotFoundError:
            if command.what == b"fetch":
                raise
            return b"exists: 0\n"
        if command.what == b"exists":
            return b"exists: 1\n"
        identifier = encode_text(record.identifier)
        lines = [_TEXT.record(PreparedRecord([(element, value, 0)], [])) for element, value in
                 api.elements(name, raw=True).items()] if record.elements else []
        return b"# id: %b\n%b# elements bound under %b: %d\n" % (identifier, b"".join(lines), identifier, len(lines))
    return b""


def _answer(text: bytes) -> Response:
    return Response(200, _TEXT.content_type, text)
