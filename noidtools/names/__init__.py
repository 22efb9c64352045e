"""Spellings of one name: ark:, hdl:, doi:, urn:, info:, resolver URLs, escapes, hyphens, case.

`parse` reads any text as a name and never refuses: what carries no known scheme
is a plain name, whose octets are kept as they are.  The normal forms are

    ark    draft-kunze-ark, section 3.2: `ark:` and `ark:/` alike, in any case; the
           NAAN in lower case, the rest case-sensitive; hyphens (and the dashes that
           word processors put in their place) ignored; of neighbouring `/` and `.`
           the first one kept, none at either end; escapes of unreserved octets undone
    hdl    RFC 3651: the case of ASCII letters is ignored in the prefix, as the global
           registry does, and counts in the suffix, as is the protocol's default;
           every escape stands for its octet
    doi    ISO 26324: a handle in which the case of ASCII letters is ignored everywhere
    urn    RFC 8141: namespace in lower case, escapes never undone; `urn:uuid:` all in
           lower case, as its namespace says
    info   RFC 4452: namespace in lower case; `info:ark/`, `info:hdl/` and `info:doi/`
           are further spellings of ark:, hdl: and doi:

In all of them escapes are in upper case, and octets that no URI can hold are escaped.
From the first `?` or `#` on, the text is a query, kept aside exactly as written; but
in `hdl:` and `doi:` outside a URL a `#` belongs to the name, since DOI names have it.

A resolver parses once, looks up `spellings`, then follows `cuts`.
"""

from __future__ import annotations

from ..codec import ALPHANUMERIC, PATH, UNRESERVED, normalize_escapes, percent_decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    Parts = tuple[bytes, bytes, bytes, bytes]  # scheme, body, query, written
    Reader = Callable[[bytes, bool], Parts | None]  # the text after the scheme; whether it is from a URL

# What asks for the description of a name, at its end: it is no part of the name.
_INFLECTIONS = (b"?info", b"??", b"?")

RESOLVERS = (  # they serve one scheme and leave its label out
    (b"doi.org/", b"doi"),
    (b"dx.doi.org/", b"doi"),
    (b"www.doi.org/", b"doi"),
    (b"hdl.handle.net/", b"hdl"),
    (b"resolver.net.au/hdl/", b"hdl"),
)

# They serve names that carry no scheme but are recognized by their outline: IBI repository names and IBIp labels.
_IBIP = b"23456789ABCDEFGHJKLMNPQRSTUWX"  # W or X ends the address in the first part
_IBI_RESOLVERS = (b"http://urlib.net/", b"http://www.urlib.net/")

# Where a name may be extended.  `= ~ * + @ _ $` are letters of ARK names and part nothing.
BOUNDARIES = b"/.?#:;,&"
_PREFIX = ALPHANUMERIC + b".-_"
_ARK_AS_IS = PATH.replace(b"-", b"")
_FLAT = bytes.maketrans(BOUNDARIES, b"/" * len(BOUNDARIES))
_SLASH, _DOT, _PERCENT = b"/.%"  # finding a number in bytes is five times quicker than finding bytes

# U+2010 to U+2015, the minus sign U+2212 and the soft hyphen U+00AD.
_DASHES = tuple(b"%%E2%%80%%%d" % last for last in range(90, 96)) + (b"%E2%88%92", b"%C2%AD")


class Name:
    """A name that was read.  Two are equal when scheme and body are.

    scheme   b"ark", b"hdl", b"doi", b"urn:<nid>", b"info:<namespace>", b"" for a plain name
    body     the rest in normal form; for an ARK `NAAN/name`
    query    what was set aside, with its `?` or `#`; empty when there is none
    written  the body as it was spelled, hyphens and case included
    given    the text that was read
    found    the part of it that is the name, without wrapper, resolver and outer encoding
    """

    __slots__ = ("body", "found", "given", "query", "scheme", "written")

    def __init__(self, parts: Parts, given: bytes, found: bytes) -> None:
        self.scheme, self.body, self.query, self.written = parts
        self.given = given
        self.found = found

    @property
    def text(self) -> bytes:
        """The whole name in normal form, scheme included, query left out."""
        return spelled(self.scheme, self.body)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Name) and self.scheme == other.scheme and self.body == other.body

    def __hash__(self) -> int:
        return hash((self.scheme, self.body))

    def __repr__(self) -> str:
        return f"Name({self.text!r}, query={self.query!r})"


def spelled(scheme: bytes, body: bytes) -> bytes:
    """Scheme and body put together; the inverse of reading them."""
    if not scheme:
        return body
    return scheme + (b"/" if scheme.startswith(b"info:") else b":") + body


def parse(text: bytes, labels: tuple[bytes, ...] = ()) -> Name:
    """The name that `text` spells.  Labels that are URLs count as resolvers of plain names."""
    bare = text.strip()
    parts = _labelled(bare, False)
    if parts is not None:
        return Name(parts, text, bare)
    inside = _inside(bare, labels)
    if inside is not None:
        return Name(inside[0], text, inside[1])
    return Name((b"", bare, b"", bare), text, bare)


def without_inflection(text: bytes) -> bytes:
    """A text without the `?`, `??` or `?info` at its end that asks for the description of a name."""
    head, mark, rest = text.rstrip().partition(b"?")
    return head if mark + rest in _INFLECTIONS else text


def kept(name: Name) -> bytes:
    """A name as it is stored and written where it is not a minter's own: with its scheme, in normal form.

    An ARK keeps the label that it was given with, `ark:/` or `ark:`.
    """
    if name.scheme != b"ark":
        return name.text
    label = name.found[:5].lower()
    return (label[:4] if label.startswith(b"ark:") and label != b"ark:/" else b"ark:/") + name.body


def stored(name: Name, labels: tuple[bytes, ...] = ()) -> bytes:
    """An ARK as `NAAN/name`, any other name in normal form; the minter's own label taken off."""
    return _unlabelled(name.scheme, name.body, labels)


def _unlabelled(scheme: bytes, body: bytes, labels: tuple[bytes, ...]) -> bytes:
    text = body if scheme == b"ark" else spelled(scheme, body)
    cut = 0
    for label in labels:
        if scheme == b"ark" and label in (b"ark:/", b"ark:"):
            continue  # it adds nothing here; `ark:/13030/` does
        own = _own_label(scheme, label) if scheme else label
        if scheme == b"ark":
            own = own[4:].lstrip(b"/") if own.startswith(b"ark:") else b""
            naan = own.partition(b"/")[0]
            if text[: len(naan)].lower() == naan.lower():
                own = text[: len(naan)] + own[len(naan) :]
        if cut < len(own) < len(text) and text.startswith(own):
            cut = len(own)
    return text[cut:]


def _own_label(scheme: bytes, label: bytes) -> bytes:
    """A label as it may stand before a name of this scheme: without the resolver before it, its own scheme in lower
    case."""
    start = label.lower().find(b"/" + scheme.partition(b":")[0] + b":") + 1
    head, colon, tail = label[start:].partition(b":")
    return head.lower() + colon + tail


def is_labelled(scheme: bytes, labels: Iterable[bytes]) -> bool:
    """Whether one of these labels is written before names of this scheme."""
    return any(_own_label(scheme, label).startswith(spelled(scheme, b"")) for label in labels)


def spellings(name: Name, labels: tuple[bytes, ...] = ()) -> list[bytes]:
    """The keys under which a store may hold this name with its query, in the order in which to try them.

    As given first, then without its scheme, then in normal form; last the readings
    that only a lookup can confirm: hyphens kept (a template such as `b-c.rddd` mints
    them), a plain `NAAN/name` read as an ARK, escapes undone (some alphabets mint `#`).
    An ARK may be stored without its label, or as `kept` writes it.
    """
    keys = [name.given.strip()]
    if name.query and _unmistakable(name, labels):
        keys.append(name.written + name.query)
    keys += [reading + name.query for reading in _readings(name, labels)]
    return [key for key in dict.fromkeys(keys) if key]


def _readings(name: Name, labels: tuple[bytes, ...]) -> list[bytes]:
    scheme, written = name.scheme, name.written
    keys = [_unlabelled(scheme, name.body, labels)]
    if not scheme:
        ark = _ark(keys[0], False) if _SLASH in written else None
        if ark is not None and not ark[2]:
            keys += (ark[1], _unlabelled(b"ark", ark[1], labels), b"ark:/" + ark[1], b"ark:" + ark[1])
    elif scheme == b"ark":
        keys = [b"ark:/" + name.body, b"ark:" + name.body, _unlabelled(scheme, written, labels), *keys]
    elif not _unmistakable(name, labels):
        return [*keys, name.text]
    else:
        keys += (written, name.body, _unlabelled(scheme, written, labels), name.text)
    if _PERCENT in written:
        plain = percent_decode(written)
        keys += (plain, _unlabelled(scheme, plain, labels))
    return keys


def _unmistakable(name: Name, labels: tuple[bytes, ...]) -> bool:
    """Whether the body alone still says whose name it is.

    `hdl:13030/x` is not the ARK `13030/x`; but no NAAN has a dot, so `102.100.272/x`
    can be taken for a handle, and a minter's own label settles it anyway.
    """
    if name.scheme in (b"hdl", b"doi") and b"." in name.body.partition(b"/")[0]:
        return True
    return name.scheme == b"ark" or is_labelled(name.scheme, labels)


def boundaries(identifier: bytes, *, naan: bool = True, longest: int | None = None) -> Iterator[int]:
    """Where an identifier may be cut for suffix passthrough, longest first.

    A cut is before one of `BOUNDARIES`, before the first where they follow each other.
    With `naan` the part up to the first `/` is a NAAN or a prefix, no name by itself, and
    is never cut; without, the first `/` is like any other.  `longest` limits what is left.
    """
    floor = identifier.find(b"/") + 1 if naan else 0
    if identifier[:4] == b"urn:":
        floor = identifier.find(b":", 4) + 1
    flat = identifier.translate(_FLAT)
    end = len(flat) if longest is None else longest + 1
    while (end := flat.rfind(b"/", floor + 1, end)) > 0:
        if flat[end - 1] != _SLASH:
            yield end


def cuts(
    name: Name, labels: tuple[bytes, ...] = (), *, naan: bool = True, longest: int = 1024
) -> Iterator[tuple[bytes, bytes]]:
    """The shorter names this one extends, longest first: a key to try, and the rest.

    The rest is as the reader wrote it, with the query: /my-file.pdf must not become /myfile.pdf.
    `longest` keeps a request of 64 kB that is all slashes from costing 32,000 lookups.
    """
    scheme, written, query = name.scheme, name.written, name.query
    naan = scheme in (b"ark", b"hdl", b"doi") if scheme else naan
    if query:
        yield from ((key, query) for key in dict.fromkeys(_readings(name, labels)))
    for cut in boundaries(written, naan=naan, longest=longest):
        short = written[:cut]
        parts = _labelled(spelled(scheme, short), False) if scheme else (b"", short, b"", short)
        if parts is not None:
            for key in dict.fromkeys(_readings(Name(parts, short, short), labels)):
                yield key, written[cut:] + query


def _cut(text: bytes, marks: tuple[bytes, ...] = (b"?", b"#")) -> tuple[bytes, bytes]:
    """The text before the first of `marks`, and the rest."""
    end = len(text)
    for mark in marks:
        at = text.find(mark, 0, end)
        if at >= 0:
            end = at
    return text[:end], text[end:]


def _ark(rest: bytes, web: bool) -> Parts | None:
    query = b""
    body = written = rest.lstrip(b"/ \t")
    if body.translate(None, _ARK_AS_IS):
        written, query = _cut(body)
        if b"\n" in written or b"\r" in written:  # a printed line was broken here
            written = b"".join(line.strip() for line in written.splitlines())
        body = normalize_escapes(written, UNRESERVED).replace(b"-", b"")
        if b"%E2%8" in body or b"%C2%AD" in body:
            body = _without_dashes(body)
    naan, _, tail = body.partition(b"/")
    if not naan.isalnum():
        return None
    tail = _structured(tail)
    return b"ark", naan.lower() + b"/" + tail if tail else naan.lower(), query, written


def _without_dashes(body: bytes) -> bytes:
    """Escaped dashes taken out; octets that close up to another dash go as well."""
    head, *rest = body.split(b"%")
    out = bytearray(head)
    for piece in rest:
        out += b"%" + piece[:2]
        for dash in _DASHES:
            if out.endswith(dash):
                del out[-len(dash) :]
                break
        out += piece[2:]
    return bytes(out)


def _structured(tail: bytes) -> bytes:
    """Of `/` and `.` next to each other the first one, and none at the ends."""
    tail = tail.strip(b"/.")
    if (_DOT not in tail and _SLASH not in tail) or b"//" not in tail.replace(b".", b"/"):
        return tail
    out = bytearray()
    for octet in tail:
        if octet not in b"/." or out[-1] not in b"/.":
            out.append(octet)
    return bytes(out)


def _hdl(rest: bytes, web: bool) -> Parts | None:
    written, query = _cut(rest) if web else _cut(rest, (b"?",))
    written = written.lstrip(b"/ \t")
    prefix, slash, suffix = normalize_escapes(written, PATH).partition(b"/")
    if not prefix or prefix.translate(None, _PREFIX):
        return None
    return b"hdl", prefix.lower() + slash + suffix if suffix else prefix.lower(), query, written


def _doi(rest: bytes, web: bool) -> Parts | None:
    read = _hdl(rest, web)
    if read is None or not read[1].startswith(b"10."):
        return None
    # Escapes that are left over took the lower case too and get their upper case back.
    return b"doi", normalize_escapes(read[1].lower(), b""), read[2], read[3]


def _urn(rest: bytes, web: bool) -> Parts | None:
    nid, _, rest = rest.partition(b":")
    nid = nid.lower()
    written, query = _cut(rest)
    fits = 2 <= len(nid) <= 32 and nid != b"urn" and nid[:1].isalnum() and nid[-1:].isalnum()
    if not fits or nid.translate(None, ALPHANUMERIC + b"-") or not written:
        return None
    body = normalize_escapes(written.lower() if nid == b"uuid" else written, b"")
    return b"urn:" + nid, body, query, written


def _info(rest: bytes, web: bool) -> Parts | None:
    namespace, mark, tail = rest.partition(b"/")
    if b":" in namespace:  # `info:hdl:…`, as the PILIN documents write it
        namespace, mark, tail = rest.partition(b":")
    namespace = namespace.lower()
    if namespace in (b"ark", b"hdl", b"doi"):
        return _SCHEMES[namespace](tail, web)
    written, query = _cut(tail)
    if mark != b"/" or not written or not namespace or namespace.translate(None, _PREFIX + b"+"):
        return None
    return b"info:" + namespace, normalize_escapes(written, UNRESERVED), query, written


_SCHEMES: dict[bytes, Reader] = {b"ark": _ark, b"hdl": _hdl, b"doi": _doi, b"urn": _urn, b"info": _info}


def _labelled(text: bytes, web: bool) -> Parts | None:
    """`text` read as a name that starts with its scheme."""
    label, colon, rest = text.partition(b":")
    read = _SCHEMES.get(label.lower()) if colon and len(label) < 5 else None
    return None if read is None else read(rest, web)


def _encoded(text: bytes, web: bool) -> tuple[Parts, bytes] | None:
    """`text` read as a name of which the scheme may be escaped; also what it was without."""
    if _PERCENT in text[:8]:  # where a `/` stands as it is, only the part before it was escaped whole
        head, query = _cut(text)
        first, slash, rest = head.partition(b"/")
        text = percent_decode(first) + slash + rest + query
    parts = _labelled(text, web)
    return None if parts is None else (parts, text)


def _inside(bare: bytes, labels: tuple[bytes, ...]) -> tuple[Parts, bytes] | None:
    """The name inside a wrapper (RFC 3986, appendix C), an encoding or a URL."""
    text = bare
    if text[:1] == b"<" and text[-1:] == b">":
        text = b"".join(text[1:-1].split())
    if text[:4].lower() == b"url:":
        text = text[4:].lstrip()
    if text[:8].lower().startswith((b"http://", b"https://")):
        return _in_url(text, labels)
    return _encoded(text, False)


def _in_url(text: bytes, labels: tuple[bytes, ...]) -> tuple[Parts, bytes] | None:
    """The name in a URL: under a known resolver, after an explicit scheme, or under a label."""
    start = text.find(b"//") + 2
    address = _cut(text[start:])[0].lower()
    for resolver, scheme in RESOLVERS:
        if address.startswith(resolver):
            rest = text[start + len(resolver) :]
            parts = _SCHEMES[scheme](rest, True)
            if parts is not None and b"/" in parts[1]:
                return parts, scheme + b":" + rest
    marks = [address.find(b"/" + scheme + colon) for scheme in _SCHEMES for colon in (b":", b"%3a")]
    for mark in sorted(mark for mark in marks if mark >= 0):
        found = _encoded(text[start + mark + 1 :], True)
        if found is not None:
            return found
    for place, label in enumerate((*labels, *_IBI_RESOLVERS)):
        base = label[label.find(b"//") + 2 :].lower()
        if label[:4].lower() == b"http" and base and address.startswith(base):
            path, query = _cut(text[start + len(base) :])
            body = percent_decode(path)
            if body and (place < len(labels) or has_ibi_outline(body)):
                return (b"", body, query, body), path + query
    return None


def has_ibi_outline(body: bytes) -> bool:
    """Whether it may be a repository name (`sid.inpe.br/mtc-m18/2009/02.16.17.46`) or an IBIp label (`8JMW/34PG`)."""
    parts = body.upper().split(b"/")
    if len(parts) == 2:
        ends = parts[0].translate(None, _IBIP[:-2])
        return all(parts) and not (parts[0] + parts[1]).translate(None, _IBIP) and bool(ends)
    return len(parts) == 4 and parts[2].isdigit() and len(parts[2]) >= 4 and b"." in parts[3]


def has_ibi_form(body: bytes) -> bool:
    """Whether it has the outline, and is written as such names are: an IBIp label in upper case, a repository name with
    the domain of a server and a date."""
    is_dated = b"." in body.partition(b"/")[0] and body.rpartition(b"/")[2].replace(b".", b"").isdigit()
    return has_ibi_outline(body) and (body.isupper() or is_dated)
