"""The home page: a form for names and words.  A name leads where it leads; words are searched for in the minters that
the reader may read."""

from __future__ import annotations

from .. import codec, names
from ..description.conversion import cited_other
from ..description.gatherer import known_identifier
from ..errors import NotFoundError, UsageError
from ..minter.lifecycle import reader_in
from ..names import targets
from ..resolution import INVALID, NOT_FOUND
from . import pages
from .access import Minters
from .name_request import ENTERED, TEXT, VARY, NameRequest
from .response import Response

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..minter.folder import MinterFolder
    from ..resolution import Outcome
    from ..resolution.catalogue import Catalogue
    from ..store import Reader

_ON_A_PAGE = 20
_LONGEST_QUERY = 500


class Home:
    """Answers requests to the resolver that name nothing in their path; `shows_console` is whether its page has a link
    to the console."""

    def __init__(self, folder: MinterFolder, catalogue: Catalogue, shows_console: bool) -> None:
        self._catalogue = catalogue
        self._shows_console = shows_console
        self._minters = Minters(folder, None)

    def respond(self, request: NameRequest) -> Response:
        entered = request.parameter(b"name")
        if entered is None or (not entered and request.prefers_html):
            return self._page(request)
        name = names.parse(entered).found.lstrip(b"/")
        if not name:
            raise NotFoundError("no name was entered")
        if request.prefers_html and not self._is_name(request, entered, name):
            found = self._search(request, codec.decode_text(entered[:_LONGEST_QUERY]))
            if found is not None:
                return found
        path = request.home + codec.percent_encode(name, ENTERED)
        if targets.leads_to_commands(path):
            raise NotFoundError("this is the address of a minter's commands, and no name")
        return Response(303, f"{TEXT}; charset=utf-8", path + b"\n", [("Location", path.decode())])

    def _page(self, request: NameRequest) -> Response:
        if request.prefers_html:
            return pages.home_page(request, has_search=bool(self._minters.readable(request.http)),
                                   shows_console=self._shows_console)
        text = (b"This is a resolver: put a name behind the slash to go where it leads, and ?info behind that to see "
                b"more.\n")
        return Response(200, f"{TEXT}; charset=utf-8", text, [VARY])

    def _is_name(self, request: NameRequest, entered: bytes, name: bytes) -> bool:
        """Whether a text is a name by its form, or one that is known here."""
        if names.parse(entered).scheme or (b"/" in name and not entered.split()[1:]):
            return True

        def is_known(reader: Reader, outcome: Outcome) -> bool:
            view = request.http.policy_in(reader).view(request.http.user)
            return outcome.minter is not None and known_identifier(outcome.minter, reader_in(view, reader),
                                                                   name) is not None

        outcome, known = self._catalogue.resolve_and_gather(name, is_known)
        return bool(known) or (outcome.kind not in (NOT_FOUND, INVALID) and outcome.by != "fallback")

    def _search(self, request: NameRequest, words: str) -> Response | None:
        """A page with the names that words find; None if the reader may search nowhere."""
        if not self._minters.readable(request.http):
            return None
        cursor = codec.decode_text(request.parameter(b"from") or b"")
        try:
            found, following = self._minters.find(request.http, limit=_ON_A_PAGE, cursor=cursor, words=words)
        except UsageError:  # a quote that is not closed, or a cursor that was made up
            found, following = self._minters.find(request.http, limit=_ON_A_PAGE, words=words.replace('"', " "))
        cited = [(cited_other(access.minter, key := codec.encode_text(name.identifier), key), name)
                 for access, name in found]
        return pages.results_page(request, words, cited, following)
