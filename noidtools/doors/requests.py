"""A request as the web server hands it over, and how far what it says is believed."""

from __future__ import annotations

from ..exceptions import UsageError
from .query import words_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Environ = dict[str, Any]

# The most that is accepted of a body unless somebody says otherwise: a million commands and more.
LARGEST_BODY = 256 << 20
# Where a request and its response rest in its environment, when it was served together with others.
REQUEST, RESPONSE = "noid.request", "noid.response"
# A request that came through a Unix socket has no address; this is the word for it in the list of proxies.
UNIX = "unix"
_NO_ADDRESS = ("", "localhost", "unix:")
_LONGEST_ADDRESS = 45
_ADDRESS_CHARACTERS = frozenset("0123456789abcdefABCDEF:.")
_LONGEST_KEY = 255
_PREFETCHING = (
    ("HTTP_SEC_PURPOSE", "prefetch"), ("HTTP_PURPOSE", "prefetch"), ("HTTP_X_PURPOSE", "preview"),
    ("HTTP_X_MOZ", "prefetch"),
)
_OUR_OWN_SITE = ("same-origin", "none")


class Trust:
    """Whose word is taken for what.

    Users are those that the web server names in REMOTE_USER, which no client can set.  `proxies` are the
    addresses from which X-Forwarded-For is believed and, if `user_header` is named, a user in that header.
    `user` makes everybody that user, for trying things out on one's own machine.
    """

    __slots__ = ("proxies", "user_header", "user")

    def __init__(self, *, proxies: tuple[str, ...] = (), user_header: str = "", user: str = "") -> None:
        self.proxies = frozenset(proxies)
        self.user_header = "HTTP_" + user_header.upper().replace("-", "_") if user_header else ""
        self.user = user


class Request:
    __slots__ = ("environ", "method", "sharing", "_trust", "_words")

    def __init__(self, environ: Environ, trust: Trust) -> None:
        self.environ = environ
        self.method: str = environ.get("REQUEST_METHOD", "GET")
        # Whether it is served in a transaction with others.
        self.sharing = False
        self._trust = trust
        self._words: list[bytes] | None = None

    def header(self, name: str) -> str:
        """By its name in the environment; empty if it was not sent."""
        value: str = self.environ.get(name, "")
        return value

    @property
    def path(self) -> str:
        whole = self.header("SCRIPT_NAME") + self.header("PATH_INFO")
        return whole.encode("latin-1", "replace").decode("utf-8", "surrogateescape")

    @property
    def words(self) -> list[bytes]:
        if self._words is None:
            self._words = words_of(self.header("QUERY_STRING").encode("latin-1", "replace"))
        return self._words

    # -- who -------------------------------------------------------------------------------------------

    def _through_proxy(self) -> bool:
        peer = self.header("REMOTE_ADDR")
        return (UNIX if peer in _NO_ADDRESS else peer) in self._trust.proxies

    @property
    def user(self) -> bytes:
        """Who has logged in, or nothing."""
        trust = self._trust
        name = trust.user or self.header("REMOTE_USER")
        if not name and trust.user_header and self._through_proxy():
            name = self.header(trust.user_header)
        return name.encode("latin-1", "replace")

    @property
    def address(self) -> str:
        if self._through_proxy():
            # The proxy adds the address it saw at the end; what stands before it is hearsay.
            for hop in reversed(self.header("HTTP_X_FORWARDED_FOR").split(",")):
                hop = hop.strip()
                if not _is_address(hop):
                    break
                if hop not in self._trust.proxies:
                    return hop
        return self.header("REMOTE_ADDR")

    @property
    def contact(self) -> bytes:
        return self.user + b"@" + self.address.encode("latin-1", "replace")

    # -- browsers --------------------------------------------------------------------------------------

    def why_not_write(self) -> str:
        """Why a request that would change something is refused although its user might make it, or nothing.

        A browser does what any page tells it, and sends the user's credentials along.
        """
        for name, word in _PREFETCHING:
            if word in self.header(name).lower():
                return "this is a browser's prefetch, and nothing is changed by looking ahead"
        site = self.header("HTTP_SEC_FETCH_SITE").lower()
        if site and site not in _OUR_OWN_SITE:
            return "a browser was led here from another site: enter the address yourself, or use a form of this site"
        for name in ("HTTP_ORIGIN", "HTTP_REFERER"):
            given = self.header(name)
            if given and not _is_of_host(given, self.header("HTTP_HOST")):
                return f"a browser was led here from another site, says its {name[5:].capitalize()} header"
        if self._trust.user and not _is_this_machine(self.header("HTTP_HOST")):
            # Somebody's domain name that points to this machine would make their pages our own site.
            return "with --user, changes are made only at the address localhost"
        return ""

    # -- repeating -------------------------------------------------------------------------------------

    @property
    def idempotency_key(self) -> bytes:
        given = self.header("HTTP_IDEMPOTENCY_KEY").strip()
        if len(given) > 1 and given[0] == given[-1] == '"':
            given = given[1:-1]
        if len(given) > _LONGEST_KEY or any(not "!" <= character <= "~" for character in given):
            raise UsageError(f"an Idempotency-Key has 1 to {_LONGEST_KEY} visible ASCII characters")
        return given.encode()


def _is_address(text: str) -> bool:
    return 0 < len(text) <= _LONGEST_ADDRESS and _ADDRESS_CHARACTERS.issuperset(text)


def _is_of_host(url: str, host: str) -> bool:
    scheme, _, rest = url.lower().partition("://")
    named = rest.partition("/")[0].partition("?")[0].rpartition("@")[2]
    usual = ":443" if scheme == "https" else ":80"
    return bool(named) and named.removesuffix(usual) == host.lower().removesuffix(usual)


def _is_this_machine(host: str) -> bool:
    name = host.lower().rpartition("]")[0] + "]" if host.startswith("[") else host.lower().partition(":")[0]
    return name in ("localhost", "127.0.0.1", "[::1]")
