"""How every page is made: Jinja2 templates in the look and the language of the site, with headers that protect them.

    renderer = renderer_of(minters)                      # once for each folder of minters
    renderer.page(request, "home.html", {"example": "…"})    # a Response

A template extends `base.html`, whose blocks are `title`, `robots`, `head`, `navigation`, `main` and the class of the
body, `layout` (`wide` for tables).  It sees what it is given, and

    brand      the Branding of the site
    language   that of the page, `text_direction` its direction
    home       the path of the resolver, to which the header leads; empty if there is none
    _("…")     a text of ours in the language of the page; `_("By %(name)s", name=value)` puts values in

Values are escaped.  Bytes, and text with surrogate escapes, are shown readably.  Names and bound values stand in
`<bdi>` or in an element with `dir="auto"`, because they may be written from right to left.

The style sheet, the scripts and the logo are a part of each page, because any path of a resolver might be a name, and
because CGI has no other path.  The Content-Security-Policy admits them by their hashes, and nothing else: no attribute
`style`, no `onclick`, nothing from elsewhere.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from functools import cache
from importlib import resources

import jinja2
from markupsafe import Markup, escape

from ..codec import PATH, encode_text, percent_encode
from ..console import log_line
from ..description.missing import readable
from ..errors import UsageError
from ..minter import location_of
from ..names import targets
from ..store import exists
from .accept import preferred_language
from .branding import FILE, Branding, read_branding
from .request import is_for_commands
from .response import Response

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from ..minter.folder import MinterFolder
    from .request import Request

CONTENT_TYPE = "text/html; charset=utf-8"
ENGLISH = "en"
_SELF = "'self'"
_MAIL = re.compile(rb"(?:mailto:)?[^\s@<>:/?]+@[^\s@<>:/?]+\.[^\s@<>:/?]+")
_IN_MAIL = PATH.replace(b"/", b"")
_WEB = re.compile(rb"https?://[^\s|]+")
_LONGEST_HEADING = 200


class Renderer:
    """Makes the pages of a site.

    branding  its look
    """

    def __init__(self, branding: Branding) -> None:
        self.branding = branding
        self._style = "\n" + _read("style.css") + _colours(branding)

    def page(
        self, request: Request, template: str, values: Mapping[str, object], *, status: int = 200,
        headers: Iterable[tuple[str, str]] = (), translated: bool = False, scripts: tuple[str, ...] = (),
        connects: bool = False, leaves_site: bool = False, changes: bool = False,
    ) -> Response:
        """The response with a page.

        values       what the template needs
        translated   whether the template is in all languages: then the reader's browser chooses
        scripts      files in the folder of templates; `copy.js` serves buttons that copy
        connects     whether its scripts may send requests, to our own server
        leaves_site  whether its form may lead to another site, by a redirect
        changes      whether its form changes something, and therefore must say from which site it comes
        """
        accepted = request.header("HTTP_ACCEPT_LANGUAGE")
        language = preferred_language(accepted, languages(), self.branding.language) if translated else ENGLISH
        texts = _texts(language)
        code = [_inline(name) for name in scripts]
        page = _environment().get_template(template).render(
            values, brand=self.branding, language=language, texts=texts, text_direction=texts.get("direction", "ltr"),
            home=_home(request), style=Markup(self._style), scripts=[Markup(one) for one in code],
        )
        policy = ["default-src 'none'", f"style-src {_hash(self._style)}", "img-src data:", "base-uri 'none'",
                  "frame-ancestors 'none'", f"form-action {'http: https:' if leaves_site else _SELF}"]
        policy += [f"script-src {' '.join(map(_hash, code))}"] if code else []
        policy += [f"connect-src {_SELF}"] if connects else []
        # With no-referrer, a form would come with `Origin: null`, like one of another site.
        referrer = "same-origin" if changes else "no-referrer"
        sent = dict(headers)
        if translated:
            sent["Vary"] = ", ".join(filter(None, (sent.get("Vary"), "Accept-Language")))
        return Response(status, CONTENT_TYPE, page.encode("utf-8", "replace"), [
            *sent.items(), ("Content-Security-Policy", "; ".join(policy)), ("Referrer-Policy", referrer)])


def renderer_of(minters: MinterFolder) -> Renderer:
    """What makes the pages of the site that serves these minters.

    `noid serve` has refused a site.ini that cannot be used; where it did not, the pages have the usual look.
    """
    return _renderer(minters.folder)


@cache
def _renderer(folder: str) -> Renderer:
    try:
        return Renderer(site_branding(folder))
    except UsageError as error:
        log_line("noid", error.message)
        return Renderer(Branding())


def site_branding(folder: str) -> Branding:
    """The branding in the site.ini of a folder of minters, or of one minter, or else of the folder in which that is.

    Raises UsageError if it cannot be used.
    """
    if not os.path.exists(os.path.join(folder, FILE)) and exists(location_of(folder)):
        folder = os.path.dirname(os.path.abspath(folder))
    return read_branding(folder, languages())


def _home(request: Request) -> str:
    """The path of the resolver; empty where it is not known: as CGI, the program serves a minter's commands only."""
    script = request.header("SCRIPT_NAME")
    if is_for_commands({"SCRIPT_NAME": script}):
        return ""
    return percent_encode(script.rstrip("/").encode("latin-1", "replace"), PATH).decode() + "/"


def _colours(branding: Branding) -> str:
    if not branding.colour:
        return ""
    return (f":root{{--accent:{branding.colour}}}\n"
            f"@media (prefers-color-scheme:dark){{:root{{--accent:{branding.dark_colour}}}}}\n")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


# -- languages -------------------------------------------------------------------------------------------------------


@cache
def languages() -> tuple[str, ...]:
    """English, whose texts stand in the templates, and a language for each file of translations."""
    files = resources.files(__package__).joinpath("languages").iterdir()
    return ENGLISH, *sorted(file.name.removesuffix(".json") for file in files if file.name.endswith(".json"))


@cache
def _texts(language: str) -> Mapping[str, str]:
    """The texts of a language by those in English; `direction` is `rtl` in a language that is written so."""
    if language == ENGLISH:
        return {}
    texts: dict[str, str] = json.loads(
        resources.files(__package__).joinpath("languages", f"{language}.json").read_text("utf-8"))
    return texts


@jinja2.pass_context
def _translate(context: jinja2.runtime.Context, text: str, **values: object) -> Markup:
    said = Markup(escape(_as_text(context["texts"].get(text, text))))
    return said % {name: _as_text(value) for name, value in values.items()} if values else said


@jinja2.pass_context
def _readable(context: jinja2.runtime.Context, value: str | bytes) -> str | bytes:
    """A value of a citation; bytes are shown as they were bound."""
    return readable(value, context["texts"]) if isinstance(value, str) else value


# -- templates -------------------------------------------------------------------------------------------------------


@cache
def _environment() -> jinja2.Environment:
    """The Jinja2 environment, which compiles each template once in a process."""
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_read), autoescape=True, auto_reload=False, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, finalize=_as_text,
    )
    environment.filters["location"] = _location
    environment.filters["reference"] = _reference
    environment.filters["readable"] = _readable
    environment.filters["day"] = _day
    environment.filters["heading"] = heading_of
    environment.filters["minute"] = _minute
    environment.globals["_"] = _translate
    return environment


def _as_text(value: object) -> object:
    """Bytes, and text that has surrogate escapes, as text that can be written; the template escapes it."""
    if type(value) is str:
        value = encode_text(value)
    return value.decode("utf-8", "backslashreplace").replace("\0", "\ufffd") if isinstance(value, bytes) else value


def _location(url: str | bytes) -> bytes | None:
    """An address that a browser may follow; None if it is none."""
    return targets.location(encode_text(url) if isinstance(url, str) else url)


def _reference(value: str | bytes) -> bytes | None:
    """The address to which a value leads if all of it is one, of the web or of mail; else None."""
    text = encode_text(value) if isinstance(value, str) else value
    if _MAIL.fullmatch(text):
        return b"mailto:" + percent_encode(text.removeprefix(b"mailto:"), _IN_MAIL)
    return targets.location(text) if _WEB.fullmatch(text) else None


def heading_of(title: str) -> str:
    """A title as a heading: a long one is cut after a word, and to be shown in full below."""
    if len(title) <= _LONGEST_HEADING:
        return title
    start = title[:_LONGEST_HEADING]
    words = start.rpartition(" ")[0]
    return f"{words if len(words) > _LONGEST_HEADING // 2 else start} …"


def _day(moment: datetime) -> str:
    return moment.date().isoformat()


def _minute(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"


@cache
def _read(template: str) -> str:
    return resources.files(__package__).joinpath("templates", template).read_text("utf-8")


@cache
def _inline(script: str) -> str:
    return "\n" + _read(script)
