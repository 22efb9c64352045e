"""A request to the console by somebody who has logged in: its parameters, its form, and how it is answered."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import IO, Any
from urllib.parse import parse_qs, quote, urlencode

from markupsafe import Markup
from multipart import MultipartError, parse_form_data

from ...api import MinterMethods
from ...codec import encode_text, pack
from ...errors import ForbiddenError, InvalidError, UsageError
from ...minter.policies import READ
from ..access import MinterAccess, Minters, classes_of
from ..body import LARGEST_BODY, announced_length
from ..rendering import Renderer
from ..request import Request
from ..response import HttpError, Response, too_large
from ..sealing import Sealer

ROOT = "/console"
_SCRIPTS = ("copy.js",)

# The fields of a form; a table that is uploaded may be as large as any other body.
_MOST_FIELDS = 4000
_MOST_ROWS = 500
_LARGEST_FIELDS = 16 << 20
# That of somebody who has not logged in.
_LARGEST_LOGIN = 64 << 10
_FORM = b"form"
_FORM_SECONDS = 12 * 3600
_NONCE_BYTES = 16

# The menu: paths, titles, and the command that the user must be admitted to somewhere.
_MENU: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("", "Overview", ()), ("find", "Find", ()), ("mint", "Mint", ("mint", "1")),
    ("change", "Change many", ("retarget", "--from", "A", "--to", "B")), ("rules", "Rules", ("resolve", "NAME")),
    ("queue", "Holds and queue", ("hold", "set", "ID")), ("links", "Links", ("links", "report")),
    ("access", "Access", ("policy", "read", "anyone")),
    ("promises", "Promises", ("custodian",)), ("log", "Log", ("log",)),
)

# What was just done, by the word in the address to which a change leads.
_DONE = {
    "minted": "A new identifier was minted.",
    "saved": "The changes were saved.",
    "unchanged": "Nothing was changed, because nothing is different.",
    "publish": "It is published.",
    "reserve": "It is reserved.",
    "unavailable": "It is unavailable, and its tombstone is shown.",
    "withdraw": "It was withdrawn.",
    "noted": "The note was saved.",
    "rule-added": "The rule was saved.",
    "rule-removed": "The rule was removed.",
    "held": "The identifiers are on hold.",
    "released": "The holds were released.",
    "queued": "The identifiers are in the queue.",
    "dequeued": "The identifiers were taken out of the queue.",
    "policy": "The policy was saved.",
    "revoked": "The token was revoked.",
    "custodian": "The custodian was saved.",
    "forgotten": "It was deleted here. What was minted or bound stays.",
}


class Visit:
    """A request, and who sends it.

    request  the request
    minters  the minters that are served
    query    the parameters in its address
    form     the fields of its form
    upload   the file of its form; None if there is none
    """

    def __init__(self, request: Request, minters: Minters, renderer: Renderer, sealer: Sealer) -> None:
        self.request = request
        self.minters = minters
        self._renderer = renderer
        self._sealer = sealer
        self.query = _query(request)
        self.form: dict[str, list[str]] = {}
        self.upload: IO[bytes] | None = None
        self.upload_name = ""
        self._nonce = b""
        self._readable: list[MinterAccess] | None = None

    @property
    def path(self) -> str:
        """The path below /console, without slashes around it."""
        return self.request.path[len(ROOT) :].strip("/")

    @property
    def user(self) -> str:
        return self.request.user.decode("utf-8", "replace")

    # -- what was sent ---------------------------------------------------------------------------------

    def read_form(self) -> None:
        """Read the form of a POST; raises ForbiddenError unless it is one of ours, sent from a page of ours."""
        request = self.request
        request.ensure_may_write()
        request.ensure_from_this_site()
        largest, in_memory = (LARGEST_BODY, _LARGEST_FIELDS) if request.user else (_LARGEST_LOGIN, _LARGEST_LOGIN)
        length = announced_length(request.environ)
        if length is not None and length > largest:
            raise too_large(largest)
        try:
            fields, files = parse_form_data(
                request.environ, strict=True, part_limit=_MOST_FIELDS, mem_limit=in_memory, memory_limit=in_memory,
                disk_limit=largest)
        except (MultipartError, UnicodeError, OSError):
            raise HttpError(400, "usage", "the form cannot be read: it may be too large, or was cut off; send it again"
                            ) from None
        self.form = {name: list(fields.getall(name)) for name in fields.keys()}  # noqa: SIM118 - not a dict
        upload = files.get("file")
        if upload is not None and upload.file is not None:
            self.upload, self.upload_name = upload.file, os.path.basename(str(upload.filename or "").replace("\\", "/"))
        sealed = self._sealer.unseal(_FORM, self.value("form"))
        if sealed is None or sealed[0] != self._owner():
            raise ForbiddenError("this form has expired or is from another site: go back, reload the page, and send it "
                                 "again")
        self._nonce = sealed[1]

    def close(self) -> None:
        """Close the file that was uploaded."""
        if self.upload is not None:
            self.upload.close()

    def _owner(self) -> bytes:
        """Whose form it is: a token of one user is of no use to another."""
        return pack([self.request.token_digest, self.request.user if not self.request.token_digest else b""])

    def form_token(self) -> str:
        """What each form that changes something carries, once."""
        return self._sealer.seal(_FORM, _FORM_SECONDS, self._owner(), os.urandom(_NONCE_BYTES))

    def token_field(self) -> Markup:
        """The field of a form that carries its token."""
        return Markup('<input type="hidden" name="form" value="{}">').format(self.form_token())

    def value(self, name: str) -> str:
        """A field of the form, else a parameter of the address; empty if there is neither."""
        values = self.values(name)
        return values[-1] if values else ""

    def values(self, name: str) -> list[str]:
        """All fields of this name in the form, else all parameters."""
        return self.form.get(name) or self.query.get(name, [])

    def text(self, name: str) -> str:
        """The same without blanks around it."""
        return self.value(name).strip()

    def choice(self, name: str, *known: str) -> str:
        """The same if it is one of the known words, or empty; raises UsageError for any other."""
        word = self.value(name)
        if word and word not in known:
            raise UsageError(f"{name} is one of {', '.join(known)}, not {word[:60]!a}")
        return word

    def number(self, name: str, digits: int) -> int | None:
        """The whole number in a field, None if it is empty; raises UsageError for anything else."""
        text = self.text(name)
        if text and not (text.isascii() and text.isdigit() and len(text) <= digits):
            raise UsageError(f"{name.replace('_', ' ')} is a number of at most {digits} digits, not {text[:60]!a}")
        return int(text) if text else None

    def elements(self) -> dict[str, str]:
        """The elements of a form with a row for each, and their values; raises UsageError for rows that are at odds."""
        names, values = self.form.get("element", []), self.form.get("value", [])
        if len(names) != len(values) or len(names) > _MOST_ROWS:
            raise UsageError(f"the form does not have a value for each of up to {_MOST_ROWS} elements: load it again")
        found: dict[str, str] = {}
        for name, text in zip(names, values, strict=True):
            element, value = name.strip(), text.replace("\r\n", "\n").replace("\r", "\n")
            if not element and value.strip():
                raise UsageError("a value has no element: name the element beside it")
            if value and found.get(element):
                raise UsageError(f"the element {element[:60]!a} is in two rows: write both values into one")
            if element:
                found[element] = value or found.get(element, "")
        return found

    def items(self, name: str) -> list[str]:
        """The words of a field, such as a list of identifiers."""
        return self.value(name).split()

    # -- minters and names -----------------------------------------------------------------------------

    def readable(self) -> list[MinterAccess]:
        """The minters that the user may read."""
        return list(self.each_readable())

    def each_readable(self) -> Iterator[MinterAccess]:
        """The same one by one, each read right after it was opened: not all of very many stay open."""
        if self._readable is not None:
            yield from self._readable
            return
        found = []
        for access in self.minters.each_readable(self.request):
            found.append(access)
            yield access
        self._readable = found

    def offering(self, *command: str) -> list[MinterAccess]:
        """The minters in which the user may give a command."""
        return [access for access in self.readable() if access.may_give(*command)]

    def minter(self, *command: str) -> MinterAccess:
        """The minter that the address or the form names, else the first in which the user may give the command.

        Raises ForbiddenError if the user may give it in none.
        """
        name = self.value("minter")
        if name:
            access = self.minters.named(self.request, name)
            access.ensure("reading", READ)
            access.ensure(command[0], *classes_of(*command))
            return access
        for access in self.offering(*command):
            return access
        raise ForbiddenError(f"you may not use {command[0]} in any of the minters here: ask an administrator")

    def named(self) -> tuple[MinterAccess, str]:
        """The minter and the name that the address or the form names; raises UsageError if it names none."""
        name = self.text("id")
        if not name:
            raise UsageError("no identifier was named: find one, and open its page from there")
        access = self.minters.of_name(self.request, encode_text(name))
        access.ensure("reading", READ)
        return access, name

    def may_anywhere(self, *command: str) -> bool:
        """Whether the user may give a command in some minter."""
        return any(access.may_give(*command) for access in self.readable())

    def menu(self) -> list[tuple[str, str, bool]]:
        """The pages of the menu: path, title, and whether the user has something to do there."""
        return [(path, title, not command or self.may_anywhere(*command)) for path, title, command in _MENU]

    # -- answers ---------------------------------------------------------------------------------------

    def page(self, template: str, status: int = 200, scripts: tuple[str, ...] = (), **values: Any) -> Response:
        """A page of the console; `scripts` are further ones, which may ask our own server."""
        # Identifiers are found before they are looked at; pages that belong to another entry of the menu say so.
        section = self.path.partition("/")[0].replace("name", "find")
        common = {"visit": self, "link": link, "section": section,
                  "done": _DONE.get("".join(self.query.get("done", [])), "")}
        return self._renderer.page(self.request, f"console/{template}.html", common | values, status=status,
                                   scripts=_SCRIPTS + scripts, connects=bool(scripts), changes=True)

    def change(self, access: MinterAccess, command: tuple[str, ...], work: Callable[[MinterMethods], str | Response]
               ) -> Response:
        """Let `work` change a minter in one transaction, once for each form, and go to the address that it returns, or
        show its page.

        `command` is what the shell would be given; its access classes decide.
        """
        def run(api: MinterMethods) -> Response:
            done = work(api)
            return redirect(done) if isinstance(done, str) else done

        sent = pack([encode_text(text) for name, values in sorted(self.form.items()) if name != "form"
                     for text in (name, *values)])
        return access.change(command[0], classes_of(*command), run, sent, self._nonce)


def redirect(address: str) -> Response:
    """Let the browser go on to another page, which it can load again without sending the form again."""
    return Response(303, "text/plain; charset=utf-8", b"", [("Location", address)])


def link(path: str, **parameters: object) -> str:
    """The address of a page of the console; parameters that are empty are left out."""
    given = {name.rstrip("_"): value for name, value in parameters.items() if value not in ("", None)}
    pairs = urlencode({name: encode_text(value) if isinstance(value, str) else str(value)
                       for name, value in given.items()}, quote_via=quote)
    # The overview, too, is below a folder: browsers send a login along to what is in the folder where they were asked.
    return f"{ROOT}/{path}" + (f"?{pairs}" if pairs else "")


def _query(request: Request) -> dict[str, list[str]]:
    try:
        return parse_qs(request.header("QUERY_STRING"), keep_blank_values=True, max_num_fields=200,
                        errors="surrogateescape")
    except ValueError:
        raise InvalidError("the address has too many parameters") from None
