"""The pages of the web resolver: plain HTML, no scripts, nothing from elsewhere, every value escaped."""

from __future__ import annotations

import base64
import hashlib
from html import escape

from ..clock import display_datetime
from ..description.page import support
from ..names import targets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..description.page import Description

_STYLE = """
:root{color-scheme:light dark;--line:#8884;--quiet:#666}
@media (prefers-color-scheme:dark){:root{--quiet:#aaa}}
body{font:1.05rem/1.5 system-ui,sans-serif;max-width:42rem;margin:0 auto;padding:1rem}
h1{font-size:1.35rem;line-height:1.3;margin:.5rem 0 1rem}
h2{font-size:1rem;margin:1.75rem 0 .25rem}
p,dd,h1,li{overflow-wrap:anywhere}
dl{margin:0}
dt{color:var(--quiet);font-size:.9rem;border-top:1px solid var(--line);padding-top:.4rem;overflow-wrap:anywhere}
dd{margin:0 0 .5rem;white-space:pre-wrap}
dd,code,bdi{unicode-bidi:isolate}
ol{margin:.25rem 0;padding-left:1.5rem}
form{display:flex;flex-wrap:wrap;gap:.5rem}
input{flex:1 1 12rem;min-width:0}
input,button{font:inherit;padding:.45rem .6rem}
footer{color:var(--quiet);font-size:.85rem;margin-top:2.5rem;border-top:1px solid var(--line);padding-top:.5rem}
"""
_DIGEST = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()

# A page may use its own style and lead to links; it may do nothing else, whatever was bound to a name.
SECURITY = (
    ("Content-Security-Policy", f"default-src 'none'; style-src 'sha256-{_DIGEST}'; img-src data:; "
     "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"),
    ("Referrer-Policy", "no-referrer"),
)
CONTENT_TYPE = "text/html; charset=utf-8"
_SUPPORT = {
    b"state": "State", b"minted": "Minted", b"date": "Date", b"authority": "Responsible", b"custodian": "Custodian",
    b"contact": "Contact", b"rule": "Computed by the rule",
}
_DATES = (b"date", b"minted")
_KERNEL = {b"who": "Who", b"what": "What", b"when": "When", b"where": "Where"}


def _text(value: bytes) -> str:
    """Bytes as text that stands for itself in HTML."""
    return escape(value.decode("utf-8", "backslashreplace").replace("\0", "\ufffd"))


def _page(title: str, body: Iterable[str]) -> bytes:
    """`title` and `body` are HTML already."""
    parts = (
        "<!DOCTYPE html>\n"
        '<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="robots" content="noindex">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n",
        *body,
        "</main>\n</body>\n</html>\n",
    )
    return "".join(parts).encode("utf-8", "replace")


def link(url: bytes, shown: bytes | None = None) -> str:
    """A link, if the address is one that may be followed; else only its text."""
    text = f"<bdi>{_text(url if shown is None else shown)}</bdi>"
    safe = targets.location(url)
    return text if safe is None else f'<a href="{_text(safe)}">{text}</a>'


def _list(pairs: Iterable[tuple[str, str]]) -> str:
    """Names and values, both HTML already."""
    return "<dl>\n" + "".join(f"<dt>{name}</dt><dd>{value}</dd>\n" for name, value in pairs) + "</dl>\n"


def description_page(told: Description, where: bytes, place: Callable[[bytes], bytes], note: str = "") -> bytes:
    """All that is told of one identifier; `place` gives the place of a name under this resolver."""
    name = _text(told.name)
    body = [f"<h1><bdi>{name}</bdi></h1>\n"]
    if note:
        body.append(f"<p>{escape(note)}</p>\n")
    if told.state == "withdrawn":
        body.append(_tombstone(told, place))
    if told.targets:
        body.append("<h2>Leads to</h2>\n<ol>\n")
        body += [f"<li>{link(target.url)}</li>\n" for target in told.targets]
        body.append("</ol>\n")
    elements = dict(told.elements)
    known = [(_KERNEL[key], _text(elements.pop(key))) for key in _KERNEL if key in elements]
    known += [(_text(key), _text(value)) for key, value in elements.items()]
    if known:
        body += ["<h2>Description</h2>\n", _list(known)]
    facts = [("Address", link(where))]
    facts += [(_SUPPORT[key], escape(display_datetime(value)) if key in _DATES else _text(value))
              for key, value in support(told) if key in _SUPPORT and value]
    body += ["<h2>About this name</h2>\n", _list(facts)]
    if told.relations:
        related = [(escape(word).capitalize(), _related(place, name, authority))
                   for word, name, authority in told.relations]
        body += ["<h2>Related names</h2>\n", _list(related)]
    if told.findings:
        verdicts = [(escape(quality).capitalize(), _text(verdict)) for quality, verdict in told.findings]
        body += ["<h2>Verified</h2>\n", _list(verdicts)]
    if told.targets:
        body.append(f'<footer><a href="{_text(place(told.name))}">Follow this name</a></footer>\n')
    return _page(name, body)


def _related(place: Callable[[bytes], bytes], name: bytes, authority: bytes) -> str:
    """A related name to be followed, and who says so."""
    parts = [link(place(name), name)] if name else []
    if authority:
        parts.append(f"according to <bdi>{_text(authority)}</bdi>")
    return " ".join(parts)


def _tombstone(told: Description, place: Callable[[bytes], bytes]) -> str:
    text = "<p>This name was withdrawn."
    if told.reason:
        text += f" <bdi>{_text(told.reason)}</bdi>"
    if told.successor:
        text += f" In its place there is {link(place(told.successor), told.successor)}."
    return text + "</p>\n"


def missing_page(name: bytes, sentences: Iterable[str], meant: tuple[bytes, bytes] | None, home: bytes) -> bytes:
    """A name that leads nowhere; `meant` is the name that may have been meant, and its place."""
    body = [f"<h1>Not found: <bdi>{_text(name)}</bdi></h1>\n"]
    body += [f"<p>{escape(sentence)}</p>\n" for sentence in sentences]
    if meant is not None:
        shown, path = meant
        body.append(f'<p>Did you mean <a href="{_text(path)}"><bdi>{_text(shown)}</bdi></a>?</p>\n')
    body.append(_form(home, name))
    return _page("Not found", body)


def home_page(path: bytes) -> bytes:
    body = [
        "<h1>Resolver</h1>\n<p>Enter a name, such as an ARK, a Handle or a DOI, to go where it leads.</p>\n",
        _form(path, b""),
        "<p>Behind any name, <code>?info</code> shows its description.</p>\n",
    ]
    return _page("Resolver", body)


def _form(path: bytes, name: bytes) -> str:
    return (
        f'<form action="{_text(path)}" method="get"><input name="name" aria-label="Name" autocapitalize="off" '
        f'autocomplete="off" spellcheck="false" value="{_text(name)}" required><button>Go</button></form>\n'
    )
