"""Requests: who sends them, what a browser may do, and what they ask for."""

from __future__ import annotations

from binascii import a2b_base64

from ..codec import pack
from ..commands.lines import split_words
from ..errors import ForbiddenError, UsageError
from ..minter.folder import COMMAND_PATH
from ..minter.policies import TOKEN_PREFIX, TOKEN_USER, AccessPolicy
from .accept import names_any, preferred
from .body import read_body
from .query import query_words
from .response import HttpError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..commands.idempotency import IdempotentRun
    from ..minter import Minter
    from ..minter.tokens import Token
    from ..store import Reader

    Environ = dict[str, Any]

# In a list of proxies: connections through a Unix socket, which have no address.
UNIX = "unix"
_NO_ADDRESS = ("", "localhost", "unix:")
_LONGEST_ADDRESS = 45
_ADDRESS_CHARACTERS = frozenset("0123456789abcdefABCDEF:.")
_LONGEST_KEY = 255
_PREFETCHING = (
    ("HTTP_SEC_PURPOSE", "prefetch"), ("HTTP_PURPOSE", "prefetch"), ("HTTP_X_PURPOSE", "preview"),
    ("HTTP_X_MOZ", "prefetch"),
)
_SAME_SITE = ("same-origin", "none")

_FORM_TYPE = "application/x-www-form-urlencoded"
_LARGEST_FORM = 4096

# Types of bodies that are lines of text: what is sent without a type, as text, or as curl and others do by default.
_TEXT_TYPES = ("", _FORM_TYPE, "application/octet-stream")

# What precedes the name of a user that begins as those of tokens do.
_USER = b"user:"

_HOST_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:[]")
_USUAL_PORTS = ("80", "443")

_LONGEST_SECRET = 200
_TOKEN_CHALLENGE = ("WWW-Authenticate", 'Bearer realm="noid", error="invalid_token", Basic realm="noid"')

# What browsers accept where they load a page, an image or a style sheet; scripts and programs do not ask for these.
_LOADED_TYPES = ("text/html", "application/xhtml+xml", "image/", "text/css")
# One of these is in the name of every browser.  Programs in Java accept text/html and images as well.
_BROWSERS = ("mozilla/", "opera/", "links", "lynx/", "w3m/")


class Trust:
    """Which parts of a request are trusted.

    The user is the one in REMOTE_USER, which the web server sets and no client can.  `proxies` are the addresses from
    which X-Forwarded-For, X-Forwarded-Proto and NoidTarget are trusted.  `user_header` names the header with the user,
    which is trusted from a Unix socket only.  With `user` every request is that user's, for trials on one's own
    machine.
    """

    __slots__ = ("proxies", "user_header", "user")

    def __init__(self, *, proxies: tuple[str, ...] = (), user_header: str = "", user: str = "") -> None:
        self.proxies = frozenset(proxies)
        self.user_header = "HTTP_" + user_header.upper().replace("-", "_") if user_header else ""
        self.user = user


class Request:
    """A request, read from the WSGI environment; `trust` decides who sent it."""

    __slots__ = ("environ", "method", "session", "token", "_form_token", "_trust", "_words")

    def __init__(self, environ: Environ, trust: Trust) -> None:
        self.environ = environ
        self.method: str = environ.get("REQUEST_METHOD", "GET")
        self._trust = trust
        self._words: list[bytes] | None = None
        self._form_token: bytes | None = None
        # The token in the Authorization header, once it was found.
        self.token: Token | None = None
        # The user, and the digest of the token, of an earlier request that logged in; an interface may set it.
        self.session: tuple[bytes, bytes] | None = None

    def header(self, name: str) -> str:
        """A variable of the environment, such as HTTP_ACCEPT for a header; empty if it is absent."""
        value: str = self.environ.get(name, "")
        return value

    @property
    def path(self) -> str:
        """The path of the URL, decoded."""
        whole = self.header("SCRIPT_NAME") + self.header("PATH_INFO")
        return whole.encode("latin-1", "replace").decode("utf-8", "surrogateescape")

    @property
    def words(self) -> list[bytes]:
        """The words of the command in the query string; raises UsageError as `query_words` does.

        A single word with a blank in it can be no command: it is a whole line of words, as in ?mint%201.
        """
        if self._words is None:
            words = query_words(self.header("QUERY_STRING").encode("latin-1", "replace"))
            self._words = split_words(words[0]) if len(words) == 1 and b" " in words[0] else words
        return self._words

    # -- the sender ------------------------------------------------------------------------------------

    def _through_proxy(self) -> bool:
        """Whether the request came through a trusted proxy."""
        if not self._trust.proxies:
            return False
        peer = self.header("REMOTE_ADDR")
        return (UNIX if peer in _NO_ADDRESS else peer) in self._trust.proxies

    @property
    def scheme(self) -> str:
        """The scheme of the URL: http or https; through a trusted proxy the one that its client used."""
        forwarded = self.header("HTTP_X_FORWARDED_PROTO")
        if forwarded in ("http", "https") and self._through_proxy():
            return forwarded
        scheme: str = self.environ.get("wsgi.url_scheme", "http")
        return scheme

    @property
    def origin(self) -> str:
        """Scheme and host of the URL; the server's own name where the Host header is none."""
        host = self.header("HTTP_HOST")
        if not host or not _HOST_CHARACTERS.issuperset(host):
            host = self.header("SERVER_NAME")
        port = self.header("SERVER_PORT")
        # Some clients leave the port out.  A proxy has a port of its own.
        if ":" not in host and port not in ("", *_USUAL_PORTS) and not self._through_proxy():
            host += f":{port}"
        return f"{self.scheme}://{host}"

    @property
    def forwarded_target(self) -> str:
        """Path and query as the client sent them, if a trusted proxy says so; else empty."""
        return self.header("HTTP_NOIDTARGET") if self._through_proxy() else ""

    @property
    def user(self) -> bytes:
        """The name of the authenticated user; empty if there is none."""
        if self.token is not None:
            return self.token.user
        if self.session is not None:
            return self.session[0]
        trust = self._trust
        name = trust.user or self.header("REMOTE_USER")
        if not name and trust.user_header and self.header("REMOTE_ADDR") in _NO_ADDRESS:
            name = self.header(trust.user_header)
        user = name.encode("latin-1", "replace")
        # Events, keys and access rules must not take such a user for a token.
        return _USER + user if user.startswith(TOKEN_USER) else user

    @property
    def address(self) -> str:
        """The address of the client, as far as the proxies can be trusted."""
        if self._through_proxy():
            # Each proxy appends the address of its client; what precedes the entries of trusted proxies may be forged.
            for hop in reversed(self.header("HTTP_X_FORWARDED_FOR").split(",")):
                hop = hop.strip()
                if not _is_address(hop):
                    break
                if hop not in self._trust.proxies:
                    return hop
        return self.header("REMOTE_ADDR")

    @property
    def contact(self) -> bytes:
        """User and address, as events record them."""
        return self.user + b"@" + self.address.encode("latin-1", "replace")

    # -- what the sender may do ------------------------------------------------------------------------

    @property
    def token_secret(self) -> bytes:
        """The secret of a token in the Authorization header, empty if there is none.

        For programs that know nothing but a name and a password it is the password; other passwords are the web
        server's.
        """
        scheme, _, rest = self.header("HTTP_AUTHORIZATION").partition(" ")
        sent = rest.strip().encode("latin-1", "replace")
        if scheme.lower() == "bearer":
            return sent[:_LONGEST_SECRET] or b"?"
        if scheme.lower() == "basic":
            try:
                password = a2b_base64(sent).partition(b":")[2]
            except ValueError:
                return b""
            return password[:_LONGEST_SECRET] if password.startswith(TOKEN_PREFIX) else b""
        # Some programs send a scheme of their own, or none.
        last = (sent or scheme.encode("latin-1", "replace")).rpartition(b" ")[2]
        return last[:_LONGEST_SECRET] if last.startswith(TOKEN_PREFIX) else b""

    @property
    def token_digest(self) -> bytes:
        """What is stored of the token of this request, or of the one that logged in; empty if there is none."""
        if self.session is not None:
            return self.session[1]
        secret = self.token_secret
        if not secret:
            return b""
        from ..minter.tokens import secret_digest

        return secret_digest(secret)

    def authenticate(self, minter: Minter) -> AccessPolicy:
        """The access policy of a minter for this request.  With a token, `token` and `user` are set by it.

        Raises HttpError for a token that is not one of this minter's, or no longer.
        """
        if not self.token_digest:
            return minter.access_policy()
        policy, token = minter.read(self._policy_and_token)
        if token is not None:
            token.record_use(minter)
        return policy

    def policy_in(self, reader: Reader) -> AccessPolicy:
        """As `authenticate`, in a read transaction."""
        return self._policy_and_token(reader)[0]

    def _policy_and_token(self, reader: Reader) -> tuple[AccessPolicy, Token | None]:
        policy, digest = AccessPolicy.of(reader), self.token_digest
        if not digest:
            return policy, None
        from ..minter.tokens import find_token

        token = find_token(reader, digest)
        if token is None:
            raise HttpError(401, "login", "this token is not known here: it may have expired or been revoked, or be "
                            "another minter's", _TOKEN_CHALLENGE)
        self.token = token
        return token.policy(policy), token

    # -- requests forged by other sites ----------------------------------------------------------------

    def ensure_may_write(self) -> None:
        """Raise ForbiddenError for a change that comes from a page of another site, or from a prefetch: a browser sends
        the credentials of its user with both."""
        reason = self.why_not_write()
        if reason:
            raise ForbiddenError(reason)

    def why_not_write(self) -> str:
        """The reason why this request may change nothing, empty if there is none."""
        environ = self.environ
        for name, word in _PREFETCHING:
            if name in environ and word in self.header(name).lower():
                return "this is a browser's prefetch, and nothing is changed by looking ahead"
        site = self.header("HTTP_SEC_FETCH_SITE").lower()
        if site and site not in _SAME_SITE:
            return "a browser was led here from another site: enter the address yourself, or use a form of this site"
        for name in ("HTTP_ORIGIN", "HTTP_REFERER"):
            url = self.header(name)
            if url and not _is_of_host(url, self.header("HTTP_HOST")):
                return f"a browser was led here from another site, says its {name[5:].capitalize()} header"
        if self._trust.user and not _is_this_machine(self.header("HTTP_HOST")):
            # A foreign domain name that points to this machine would make its pages the same site as ours.
            return "with --user, changes are made only at the address localhost"
        return ""

    @property
    def is_page_load(self) -> bool:
        """Whether a browser sends this because its user follows a link, a redirect or a form, or opens a page with
        an image; not if a script of a page or a program sends it.

        Browsers send Sec-Fetch headers to https and to localhost only.  No link can make them send an Idempotency-Key.
        """
        if self.header("HTTP_IDEMPOTENCY_KEY"):
            return False
        mode, kind = self.header("HTTP_SEC_FETCH_MODE").lower(), self.header("HTTP_SEC_FETCH_DEST").lower()
        if self.header("HTTP_UPGRADE_INSECURE_REQUESTS") or "navigate" in mode or kind not in ("", "empty"):
            return True
        if mode or kind:
            return False
        accept = self.header("HTTP_ACCEPT").lower()
        agent = self.header("HTTP_USER_AGENT").lower()
        may_be_browser = not agent or any(name in agent for name in _BROWSERS)
        if may_be_browser and any(name in accept for name in _LOADED_TYPES):
            return True
        # A page of another site can suppress these two headers; where they are sent, they are checked elsewhere.
        is_led = not self.header("HTTP_ORIGIN") and not self.header("HTTP_REFERER")
        return is_led and self._is_browser()

    @property
    def wants_page(self) -> bool:
        """Whether a browser loads this as a page, and not a program, which gets text as it always did."""
        accept = self.header("HTTP_ACCEPT")
        return (names_any(accept, ("text/html",)) and preferred(accept, ("text/plain", "text/html")) == "text/html"
                and self.is_page_load)

    def _is_browser(self) -> bool:
        # Browsers send both.  A page can empty the first with `fetch`, but change neither the second nor the name.  Of
        # the programs that call themselves Mozilla only PowerShell sends one of them.
        if "HTTP_ACCEPT_LANGUAGE" not in self.environ and "HTTP_ACCEPT_ENCODING" not in self.environ:
            return False
        agent = self.header("HTTP_USER_AGENT").lower()
        return "mozilla/" in agent and "powershell/" not in agent

    def ensure_from_this_site(self) -> None:
        """Refuse a form that a browser sends without a header that names the site of its page."""
        is_same = self.header("HTTP_SEC_FETCH_SITE").lower() == "same-origin"
        if self.is_page_load and not (is_same or self.header("HTTP_ORIGIN") or self.header("HTTP_REFERER")):
            raise ForbiddenError("the browser did not say which site this form is from: use the form on this site")

    # -- the body --------------------------------------------------------------------------------------

    @property
    def has_body(self) -> bool:
        return self.header("CONTENT_LENGTH") not in ("", "0") or bool(self.header("HTTP_TRANSFER_ENCODING"))

    @property
    def body_type(self) -> str:
        """The media type of the body, without parameters; empty if it is not given."""
        return self.header("CONTENT_TYPE").partition(";")[0].strip().lower()

    @property
    def body_charset(self) -> str:
        """The encoding of the body, in lower case; empty if it is not given."""
        return self.header("CONTENT_TYPE").partition(";")[2].strip().lower().removeprefix("charset=").strip('"')

    def ensure_body_is_understood(self, *, is_file: bool = False) -> None:
        """Raise HttpError for a body that would be misread: a file may have any type but that of a form with parts, any
        other body is lines of text."""
        if not self.has_body:
            return
        kind = self.body_type
        if self.header("HTTP_CONTENT_ENCODING").strip().lower() not in ("", "identity"):
            raise HttpError(415, "media type", "the body is compressed: send it as it is, without Content-Encoding")
        if is_file and kind.startswith("multipart/"):
            raise HttpError(415, "media type", "the file is the body itself, not a part of a form (multipart): send it "
                            "as curl --data-binary @FILE does")
        if not is_file and kind not in _TEXT_TYPES and not kind.startswith("text/"):
            raise HttpError(415, "media type", f"a body of the type {kind[:60]!a} is not understood here: send lines "
                            "of text, as text/plain")

    def form_token(self) -> bytes:
        """The token that our form for changes sends; empty if this is no form, or one without it."""
        if self._form_token is None and self.method == "POST" and self.body_type == _FORM_TYPE:
            body = read_body(self.environ, _LARGEST_FORM)
            pairs = (field.partition(b"=") for field in body.read_line().strip().split(b"&"))
            self._form_token = next((value for name, _, value in pairs if name == b"token"), b"")
            body.close()
        return self._form_token or b""

    # -- Idempotency-Key -------------------------------------------------------------------------------

    @property
    def owner(self) -> bytes:
        """To whom keys and forms belong: the token, the user, or without a login the address."""
        if self.token is not None:
            return pack((b"token", self.token.digest))
        return pack((b"user", self.user) if self.user else (b"address", self.address.encode("latin-1", "replace")))

    @property
    def idempotency_key(self) -> bytes:
        """The Idempotency-Key, empty if there is none; raises UsageError for an unsuitable one."""
        if "HTTP_IDEMPOTENCY_KEY" not in self.environ:
            return b""
        # granian makes a header that is not ASCII an empty one.
        key = self.header("HTTP_IDEMPOTENCY_KEY").strip()
        if len(key) > 1 and key[0] == key[-1] == '"':
            key = key[1:-1]
        if not 0 < len(key) <= _LONGEST_KEY or any(not "!" <= character <= "~" for character in key):
            raise UsageError(f"an Idempotency-Key has 1 to {_LONGEST_KEY} visible ASCII characters")
        return key.encode()

    def idempotent_run(self) -> IdempotentRun | None:
        """Runs the commands of this request so that it can be repeated; None if it has no Idempotency-Key."""
        key = self.idempotency_key
        if not key:
            return None
        from ..commands.idempotency import IdempotentRun

        # Without a login the key belongs to the address, because two clients may choose the same key.
        return IdempotentRun(self.owner, key)


def is_for_commands(environ: Environ, folder: str | None = None) -> bool:
    """Whether the path of a request is one for commands: in this folder, or in any with None."""
    path: str = environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")
    parent, _, last = path.rpartition("/")
    is_command = last == COMMAND_PATH or last.startswith(f"{COMMAND_PATH}_")
    return is_command and folder in (None, parent)


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
