"""A request about a name: which name, what of it is asked for, and in which format."""

from __future__ import annotations

from .. import codec
from ..description import RDF_FORMATS, formats
from ..description.bibliography import FORMATS
from .accept import accepts_any, names_any, preferred
from .request import Request
from .response import HttpError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .rendering import Renderer

TEXT, JSON, HTML = "text/plain", "application/json", "text/html"
RDF = {media_type: form for form, media_type in RDF_FORMATS.items()}
CITATIONS = {citation.media_type: citation for citation in FORMATS.values()}
VARY = ("Vary", "Accept")

# Queries that ask for a description, and those that also say in which format.
_DESCRIPTION_QUERIES = (b"info", b"", b"?")
_FORMAT_QUERIES = {
    b"json": JSON, b"info=json": JSON, b"info=text": TEXT, b"info=turtle": "text/turtle",
    **{b"info=" + name.encode(): citation.media_type for name, citation in FORMATS.items() if name != "text"},
    b"info=citation": FORMATS["text"].media_type,
}

# Characters of an entered name that are not escaped.
ENTERED = codec.PATH + b"?%"


class NameRequest:
    """A request to the resolver.

    renderer   what makes its pages
    home       the path of the resolver itself, with a slash at its end
    path_name  the path below it, escapes left as they are
    query      what stands behind the first `?`; None if there is no `?`
    """

    __slots__ = ("http", "home", "method", "path_name", "query", "renderer")

    def __init__(self, http: Request, renderer: Renderer) -> None:
        self.http = http
        self.renderer = renderer
        self.method = http.method
        script = http.header("SCRIPT_NAME").rstrip("/").encode("latin-1", "replace")
        self.home = codec.percent_encode(script, codec.PATH) + b"/"
        path, self.query = _path_and_query(http, script)
        self.path_name = path.lstrip(b"/")

    @property
    def wants_description(self) -> bool:
        return self.query in _DESCRIPTION_QUERIES or self.query in _FORMAT_QUERIES

    @property
    def asked_format(self) -> str:
        """The format that the query names; empty if it names none."""
        return _FORMAT_QUERIES.get(self.query or b"", "")

    @property
    def name(self) -> bytes:
        """The name to resolve: the path, with the query unless that asks for a description."""
        return self.path_name if self.query is None or self.wants_description else self.path_name + b"?" + self.query

    @property
    def path(self) -> bytes:
        """The path of the name without its query, as a header or a link may hold it."""
        return self.home + codec.normalize_escapes(self.path_name, b"", codec.PATH)

    def path_of(self, name: str | bytes) -> bytes:
        """The path of a name under this resolver."""
        if isinstance(name, str):
            name = codec.encode_text(name)
        return self.home + codec.normalize_escapes(name.lstrip(b"/"), b"", codec.PATH)

    def readable(self, name: bytes) -> bytes:
        """A name without escapes, as it would be entered in the form; with them where it would not be the same name."""
        decoded = codec.percent_decode(name)
        return decoded if codec.percent_encode(decoded, ENTERED) == name else name

    @property
    def accept(self) -> str:
        return self.http.header("HTTP_ACCEPT")

    @property
    def media_type(self) -> str:
        """The format in which the client prefers a description."""
        return self.asked_format or preferred(self.accept, (TEXT, HTML, JSON, *self._rdf, *CITATIONS))

    @property
    def prefers_html(self) -> bool:
        """Whether this client is best answered with a page."""
        return not self.asked_format and preferred(self.accept, (TEXT, HTML, JSON)) == HTML

    @property
    def _rdf(self) -> tuple[str, ...]:
        """The formats of RDF among those that the client may want: none where the package for them is missing."""
        if not names_any(self.accept, RDF):
            return ()
        return tuple(RDF) if formats.has_rdflib() else ()

    @property
    def prefers_statements(self) -> bool:
        """Whether a format of RDF or of citations is named in the Accept header, and preferred to what a target would
        send."""
        offered = (*self._rdf, *(CITATIONS if names_any(self.accept, CITATIONS) else ()))
        return bool(offered) and preferred(self.accept, (HTML, *offered, TEXT)) in offered

    def ensure_acceptable(self) -> None:
        """Refuse a client that takes nothing but RDF where there is none."""
        offered = (TEXT, HTML, JSON, *self._rdf, *CITATIONS)
        wants_only_rdf = not self.asked_format and not accepts_any(self.accept, offered)
        if self.asked_format in RDF or (names_any(self.accept, RDF) and wants_only_rdf):
            if formats.has_rdflib():
                return
            raise HttpError(406, "not installed", "this server has no descriptions in RDF: accept text/plain, "
                            "text/html or application/json", VARY)

    @property
    def origin(self) -> bytes:
        """Scheme and host; the server's own name where the Host header is none."""
        return self.http.origin.encode("latin-1", "replace")

    def parameter(self, name: bytes) -> bytes | None:
        """A field of the form on the home page; None if the request does not have it."""
        for pair in (self.query or b"").split(b"&"):
            key, _, value = pair.partition(b"=")
            if key == name:
                return codec.percent_decode(value.replace(b"+", b" ")).strip()
        return None


def _path_and_query(http: Request, script: bytes) -> tuple[bytes, bytes | None]:
    """Path and query below the application."""
    raw = (http.header("REQUEST_URI") or http.header("RAW_URI") or http.forwarded_target).encode("latin-1", "replace")
    if raw[:1] != b"/" and b"://" in raw:
        raw = b"/" + raw.partition(b"://")[2].partition(b"/")[2]
    path, mark, query = raw.partition(b"?")
    if path[:1] == b"/" and path.startswith(script + b"/") or path == script and script:
        return path[len(script) :], query if mark else None
    # Without the request line a bare `?` cannot be seen, and the server has undone the escapes.
    decoded = http.header("PATH_INFO").encode("latin-1", "replace")
    query_string = http.header("QUERY_STRING").encode("latin-1", "replace")
    return codec.percent_encode(decoded, codec.PATH), query_string or None
