"""Representations of a name, and whether two representations are of the same name.

After the PILIN ontology of identifier systems, sections 5.7, 5.8 and appendix 1: a
name is a label in a context; a representation of it puts one spelling of each
together; two representations are of the same name when label and context are the
same, however they are spelled, or when an authority says that the contexts are.
"""

from __future__ import annotations

import html
import os
from contextlib import suppress

from ..codec import ALPHANUMERIC, PATH, UNRESERVED, normalize_escapes, percent_decode, percent_encode
from ..errors import InvalidError, UsageError
from . import RESOLVERS, Name, kept, parse, spelled, stored

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any
    ContextAlias = tuple[bytes, bytes, bytes]  # the authority, and two labels of one context
    Placed = tuple[bytes, bytes]  # a naming system, and a name in it
    # The canonical spelling of a name that has the form of a scheme, and what does not count in such names.
    ReadForm = Callable[[bytes], tuple[bytes, str] | None]

_DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_LETTERS = (
    "alfa", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india",
    "juliett", "kilo", "lima", "mike", "november", "oscar", "papa", "quebec", "romeo",
    "sierra", "tango", "uniform", "victor", "whiskey", "xray", "yankee", "zulu",
)  # fmt: skip
_MARKS = {
    " ": "space", "!": "exclamation mark", '"': "quotation mark", "#": "number sign",
    "$": "dollar sign", "%": "percent sign", "&": "ampersand", "'": "apostrophe",
    "(": "left parenthesis", ")": "right parenthesis", "*": "asterisk", "+": "plus sign",
    ",": "comma", "-": "hyphen", ".": "dot", "/": "slash", ":": "colon", ";": "semicolon",
    "<": "less-than sign", "=": "equals sign", ">": "greater-than sign", "?": "question mark",
    "@": "at sign", "[": "left square bracket", "\\": "backslash", "]": "right square bracket",
    "^": "caret", "_": "underscore", "`": "backtick", "{": "left curly bracket",
    "|": "vertical bar", "}": "right curly bracket", "~": "tilde",
}  # fmt: skip
_VISIBLE = bytes(range(0x20, 0x7F))
_MARKDOWN = b"\\`*_[]<>&!#~|"  # what would be read as markup in the text of a link
_REACH = 1000  # the most contexts looked at in a chain of aliases
_RULES = {
    b"ark": "in ARKs hyphens, the slash after ark:, the case of the NAAN and slashes and dots at the end do not count",
    b"hdl": "hdl:, info:hdl/ and info:hdl: are labels of one context, the Handle System, in which "
    "the case of the prefix does not count",
    b"doi": "doi: and info:doi/ are labels of one context, in which case does not count",
}


# Resolvers of names of any authority, by the scheme of the name.
_PUBLIC_RESOLVERS = {b"ark": b"https://n2t.net/", b"doi": b"https://doi.org/", b"hdl": b"https://hdl.handle.net/"}


def public_address(text: bytes) -> bytes:
    """The address at which a name of any system can be followed: itself if it is one, or that at the resolver for all
    names of its scheme; empty if there is no such address."""
    name = parse(text)
    if text.startswith((b"http://", b"https://")):
        return text
    resolver = _PUBLIC_RESOLVERS.get(name.scheme)
    scheme, body, canonical = _cited(name, ())
    return _web(resolver, scheme, body, canonical) if resolver and b"/" in body else b""


def representations(
    name: Name | bytes,
    *,
    labels: tuple[bytes, ...] = (),
    resolvers: Sequence[bytes] = (),
    has_check: bool = False,
) -> list[tuple[str, bytes]]:
    """The name in every form it can be cited in, each with what the form is called.

    `name` is a Name, or an identifier as its minter stores it; then the first of the
    minter's labels tells in which context it stands.  `resolvers` are the base URLs
    under which it can be followed.
    """
    scheme, body, canonical = _cited(name, labels)
    forms = [("canonical", canonical)]
    if scheme in (b"ark", b"hdl", b"doi"):
        forms.append((scheme.decode(), spelled(scheme, body)))
        if scheme == b"doi":
            forms.append(("hdl", b"hdl:" + body))
        forms.append(("info", b"info:" + scheme + b"/" + body))
    elif scheme:
        forms.append((scheme.partition(b":")[0].decode(), canonical))
    web = [_web(resolver, scheme, body, canonical) for resolver in resolvers]
    forms += [("web", url) for url in web]
    forms.append(("encoded", percent_encode(canonical)))
    link = web[0] if web else canonical if scheme else b""
    forms.append(("print", b"<" + link + b">" if link else canonical))
    if has_check:
        last = b"the last character, " + body[-1:] + b", is a check character"
        forms.append(("check", last + b" and shows when another was miscopied"))
    forms.append(("speech", speak(canonical)))
    if link:
        forms.append(("html", html_link(link, canonical)))
        forms.append(("markdown", markdown_link(link, canonical)))
    return forms


def _cited(name: Name | bytes, labels: tuple[bytes, ...]) -> tuple[bytes, bytes, bytes]:
    """Scheme, body and canonical spelling, all fit for a URL unless the name is plain.

    An identifier keeps its hyphens even in an ARK: its minter stores it with them.
    """
    known = name if isinstance(name, Name) else parse(name)
    identifier = stored(known, labels)
    if labels:
        fit = labels[0] + normalize_escapes(identifier, b"")
        own = parse(fit)
        if own.scheme and (not known.scheme or own == known):
            return own.scheme, own.written if own.scheme == b"ark" else own.body, fit
        if not known.scheme:
            url = labels[0][:4].lower() == b"http"
            return b"", identifier, labels[0] + (percent_encode(identifier, PATH) if url else identifier)
    return known.scheme, known.body, kept(known)


def _web(resolver: bytes, scheme: bytes, body: bytes, canonical: bytes) -> bytes:
    if not scheme and body[:8].lower().startswith((b"http://", b"https://")):
        return body  # it is an address itself
    base = _base(resolver)
    address = base[base.find(b"//") + 2 :].lower()
    for place, serves in RESOLVERS:
        if address == place and scheme in (serves, b"doi"):
            return base + body
    if canonical[:4].lower() == b"http":
        return base + (spelled(scheme, body) if scheme else percent_encode(body, PATH))
    return base + (canonical if scheme else percent_encode(canonical, PATH))


def _printable(text: bytes) -> str:
    """Text that can stand in a line: escaped where it is not printable UTF-8."""
    try:
        shown = text.decode()
    except UnicodeDecodeError:
        shown = ""
    return shown if shown.isprintable() and shown else percent_encode(text, _VISIBLE).decode()


def html_link(url: bytes, text: bytes) -> bytes:
    """An HTML link, everything escaped."""
    return f'<a href="{html.escape(_printable(url))}">{html.escape(_printable(text))}</a>'.encode()


def markdown_link(url: bytes, text: bytes) -> bytes:
    """A Markdown link; the destination stands in angle brackets because names may hold parentheses."""
    shown = b"".join(b"\\" + bytes((o,)) if o in _MARKDOWN else bytes((o,)) for o in _printable(text).encode())
    return b"[" + shown + b"](<" + url.replace(b"&", b"&amp;") + b">)"


def speak(text: bytes) -> bytes:
    """Every character by name, so that the text survives a telephone.

    Letters by the radiotelephony alphabet, upper case announced, characters that are
    mistaken for each other on paper marked as digit or letter; what has no name on a
    keyboard in its percent-encoded form.
    """
    words = []
    for char in percent_encode(text, _VISIBLE).decode():
        if char.isdigit():
            words.append(_DIGITS[int(char)] + (" (digit)" if char in "01" else ""))
        elif char.isalpha():
            word = _LETTERS[ord(char.lower()) - ord("a")] + (" (letter)" if char in "IOlo" else "")
            words.append("capital " + word if char.isupper() else word)
        else:
            words.append(_MARKS[char])
    return ", ".join(words).encode()


def _qr_code(data: bytes | str) -> Any:
    """The QR code of a text; None for more than a code holds."""
    import segno

    try:
        return segno.make_qr(data, error="m")
    except segno.DataOverflowError:
        return None


def qr(path: str, data: bytes) -> None:
    """Write `data` as a QR code to `path`, as SVG or PNG by its extension; what is there, perhaps a link of another
    account, is removed."""
    kind = path.rpartition(".")[2].lower()
    if kind not in ("svg", "png"):
        raise UsageError(f"A QR code is written as .svg or .png, and {path} is neither.")
    code = _qr_code(data)
    if code is None:
        raise InvalidError(f"{len(data)} octets are more than a QR code holds; cite the name itself.")
    try:
        with suppress(FileNotFoundError):
            os.unlink(path)
        with open(path, "xb") as file:
            code.save(file, kind=kind, scale=8, border=4)
    except OSError as error:
        raise UsageError(f"The QR code cannot be written to {path}: {error.strerror}.") from None


def qr_svg(data: str) -> str:
    """A QR code as an element of a page, black on white; empty for more than a code holds."""
    code = _qr_code(data)
    if code is None:
        return ""
    svg: str = code.svg_inline(omitsize=True, border=4, dark="#000", light="#fff", svgclass=None, lineclass=None)
    return svg


def same(
    a: bytes,
    b: bytes,
    context_aliases: Iterable[ContextAlias] = (),
    *,
    labels: tuple[bytes, ...] = (),
    resolvers: Sequence[bytes] = (),
    read_form: ReadForm | None = None,
) -> tuple[bool, list[str]]:
    """Whether two spellings are the same name, and why, in sentences.

    `context_aliases` are what authorities declare: (authority, context, context).  A
    plain name leaves its context unsaid; the first of `labels` supplies it, unless the
    name has a form of its own that `read_form` knows.  Behind one of `resolvers` a name
    may be plain, too.
    """
    known = (*labels, *(_base(resolver) for resolver in resolvers))
    (first, how), (second, and_how) = (_place(text, labels, known, read_form) for text in (a, b))
    why = how + and_how
    if first == second:
        shown = _printable(_split_context(first)[1])
        return True, [*why, f"Both are the label {shown} in one context, hence the same name."]
    one, other = ({body, percent_decode(body)} for _, body in (first, second))
    if not first[0] and not second[0] and one & other:
        return True, [*why, "They differ in nothing but percent-encoding, hence they are the same name."]
    aliases = list(context_aliases)
    first, second = _in_one_system(first, second, aliases)
    authorities = _chain(first, second, aliases) if first[0] == second[0] else None
    if authorities is None:
        return False, why + _why_different(first, second, aliases)
    said = " and ".join(_printable(authority) for authority in authorities)
    return True, [*why, f"According to {said} their contexts are one, hence they are the same name."]


def label_in(name: bytes, context: bytes) -> bytes | None:
    """The label of a name in a context, as `http://purl.kerry.org/xyzzy` has xyzzy in `http://purl.kerry.org`.

    None if the name is not in that context.  Both may be in any spelling.
    """
    (system, body), _ = _place(name)
    where = _context(context, system)
    if not _within((system, body), where) or body == where[1]:
        return None
    return body[len(where[1]) + 1 :]


def _base(resolver: bytes) -> bytes:
    """The address of a resolver, to which names are appended."""
    return resolver if resolver.endswith(b"/") else resolver + b"/"


def _place(
    text: bytes, labels: tuple[bytes, ...] = (), known: tuple[bytes, ...] = (), read_form: ReadForm | None = None
) -> tuple[Placed, list[str]]:
    """The naming system a text belongs to and the name in it; also how it was read, in sentences.

    `known` are the labels and the addresses of resolvers that may stand before a plain name.
    """
    name = parse(text, known or labels)
    scheme, body = name.scheme, name.body
    shown = _printable(name.given.strip())
    why = []
    form = read_form(body) if read_form is not None and scheme in (b"", b"hdl") else None
    if form is not None:
        body = form[0]
    elif not scheme and body[:8].lower().startswith((b"http://", b"https://")):
        scheme, body = b"http", _url(body)
    elif not scheme and labels:
        own = parse(labels[0] + stored(name, labels), labels)
        if own.scheme:
            scheme, body = own.scheme, own.body
            why.append(f"{shown} leaves its context unsaid, which here is {_printable(labels[0])}.")
        elif labels[0][:4].lower() == b"http":
            scheme, body = b"http", _url(labels[0] + stored(name, labels))
    if scheme == b"hdl" and body.startswith(b"10."):
        why.append(f"{shown} is a handle under the prefix 10, and those are the DOI names.")
        scheme, body = b"doi", parse(b"doi:" + body).body
    normal = _printable(body if scheme == b"http" else spelled(scheme, body))
    if normal != shown:
        counts = _RULES.get(scheme, "") if form is None else form[1]
        rule = f" ({counts})" if counts else ""
        why.append(f"{shown} spells the name {normal}{rule}.")
    if name.query:
        why.append(f"The query {_printable(name.query)} is not part of the name.")
    return (scheme, body), why


def _url(text: bytes) -> bytes:
    """A URL with scheme and host in lower case and no default port (RFC 3986, 6.2.2 and 6.2.3)."""
    scheme, _, rest = text.partition(b"://")
    scheme = scheme.lower()
    end = len(rest) - len(rest.lstrip(ALPHANUMERIC + b"-._~:@[]%"))
    host = rest[:end].lower().removesuffix(b":80" if scheme == b"http" else b":443")
    path = normalize_escapes(rest[end:], UNRESERVED, PATH + b"?#")
    return scheme + b"://" + host + (b"" if path == b"/" else path)


def _chain(first: Placed, second: Placed, aliases: list[ContextAlias]) -> list[bytes] | None:
    """The authorities whose aliases, one after the other, lead from one name to the other."""
    system, start = first
    pairs = []
    for authority, one, other in aliases:
        left, right = _context(one, system), _context(other, system)
        if left[0] == right[0] == system:
            pairs += [(authority, left[1], right[1]), (authority, right[1], left[1])]
    reached: dict[bytes, list[bytes]] = {start: []}
    queue = [start]
    for body in queue:
        if body == second[1]:
            return reached[body]
        for authority, old, new in pairs:
            if (body + b"/").startswith(old + b"/"):
                moved = new + body[len(old) :]
                if moved not in reached and len(reached) < _REACH:
                    reached[moved] = list(dict.fromkeys([*reached[body], authority]))
                    queue.append(moved)
    return None


def _in_one_system(first: Placed, second: Placed, aliases: list[ContextAlias]) -> tuple[Placed, Placed]:
    """Two names, of which one without a system is taken to be in that of the other if an authority names its context
    so: without a system, too."""
    if first[0] and not second[0]:
        second, first = _in_one_system(second, first, aliases)
    elif second[0] and not first[0]:
        labels = [label for _, *both in aliases for label in both]
        if any(_within(first, _place(label)[0]) for label in labels):
            first = _place(spelled(second[0], first[1]))[0]
    return first, second


def _context(text: bytes, system: bytes) -> Placed:
    """A context by its label; one that names no system is taken to be of `system`."""
    (scheme, body), _ = _place(text)
    if not scheme and system:
        (scheme, body), _ = _place(spelled(system, text))
    return scheme, body.rstrip(b"/")


def _split_context(name: Placed) -> tuple[bytes, bytes]:
    """Context and label of a name; what stands before the first `/` (in a URL the host) is the context."""
    system, body = name
    end = body.find(b"/", body.find(b"//") + 2 if system == b"http" else 0)
    if end < 0:
        return system, body
    context = body[:end] if system == b"http" else spelled(system, body[:end])
    return context, body[end + 1 :]


def _why_different(first: Placed, second: Placed, aliases: list[ContextAlias]) -> list[str]:
    """Why two names are not the same."""
    (here, one), (there, other) = _split_context(first), _split_context(second)
    if here == there:
        return [f"They are different labels in one context: {_printable(one)} and {_printable(other)}."]
    why = [f"Their contexts are not the same: {_printable(here) or 'unsaid'} and {_printable(there) or 'unsaid'}."]
    if first[0] == second[0]:
        return why
    for (system, body), (whole, rest), (context, label) in (
        (first, second, (there, other)),
        (second, first, (here, one)),
    ):
        if not system and body in (rest, label):
            meant = _printable(context if body == label else whole + b":")
            why.append(f"{_printable(body)} would be the same name if the context it leaves unsaid were {meant}.")
            return why
    if one == other:
        why.append(
            "Two systems define two contexts, so they are not the same name; "
            f"the label {_printable(one)} that they share makes them homologues at most."
        )
    for authority, left, right in aliases:
        ends = [_place(left)[0], _place(right)[0]]
        if all(any(_within(name, end) for end in ends) for name in (first, second)):
            told = _printable(authority)
            why.append(f"That {told} declares the contexts equivalent makes the two synonyms, not one name.")
    return why


def _within(name: Placed, context: Placed) -> bool:
    return name[0] == context[0] and (name[1] + b"/").startswith(context[1] + b"/")
