"""What a set-up is made of: the web server, the way to the program, folders, accounts, certificates; all checked."""

from __future__ import annotations

import grp
import os
import pwd
import re
import sys

from ..errors import UsageError
from ..minter.folder import MinterFolder

NGINX, APACHE = "nginx", "apache"
FASTCGI, PROXY, WSGI, CGI = "fastcgi", "proxy", "wsgi", "cgi+map"
# The names of the web servers' own services, and of ours: for FastCGI and for HTTP.
SERVICES = {NGINX: "nginx", APACHE: "apache2"}
UNITS = ("noid", "noid-http")
WAYS = {NGINX: (FASTCGI, PROXY), APACHE: (FASTCGI, WSGI, CGI)}

# The account of the service, unless another is chosen.
USUAL_USER = "noid"
# Where the guides install the program.
USUAL_PREFIX = "/opt/noid"

# The accounts of web servers: Debian and its relatives first, then those of others.
_WEB_ACCOUNTS = {NGINX: ("www-data", "nginx", "http"), APACHE: ("www-data", "apache", "http")}

# Folders that the service cannot see (ProtectHome= and PrivateTmp= in its unit), and of these those that the web server
# cannot enter either.
_HIDDEN = ("/home", "/root", "/run/user", "/tmp", "/var/tmp")
_CLOSED = ("/root", "/run/user")
# Folders of the system, which must not be given to the account of the minters; and those whose own folders may be.
_OF_THE_SYSTEM = ("/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/proc", "/run", "/sbin", "/sys", "/usr")
_SHARED = ("/home", "/media", "/mnt", "/opt", "/srv", "/var", "/var/cache", "/var/lib", "/var/log", "/var/spool",
           "/var/www")
_PATH = re.compile(r"/[A-Za-z0-9._+@/-]+")
_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*")
_LONGEST_HOST = 253
_ACCOUNT = re.compile(r"[a-z_][a-z0-9_-]{0,31}")
_LIVE = "/etc/letsencrypt/live"
# What can stand in a configuration as it is.


class Certificate:
    """The files of a TLS certificate and its key."""

    def __init__(self, certificate: str, key: str) -> None:
        self.certificate = _checked_path(certificate, "--tls")
        self.key = _checked_path(key, "the key behind --tls")

    def exists(self, root: str) -> bool:
        return all(os.path.exists(below(root, path)) for path in (self.certificate, self.key))


class SetUp:
    """A set-up; raises UsageError for a value that cannot work.

    server   nginx or apache
    way      how requests reach the program
    minters  the folder of minters
    host     the host name
    tls      the certificate, None for http alone
    acme     whether the certificate is one of certbot's
    owner    the account that owns the minters and runs the program
    minter   for cgi+map the minter whose names are resolved
    prefix   the folder in which the program is installed
    web      the account of the web server, which is also its group
    root     the folder below which files are written; empty for the machine itself
    """

    def __init__(
        self, server: str, *, minters: str, host: str, way: str = "", tls: tuple[str, str] | None = None,
        acme: bool = False, user: str = "", minter: str = "", prefix: str = "", root: str = "",
    ) -> None:
        self.server = server
        self.way = _checked_way(server, way)
        self.minters = _checked_path(minters, "--minters")
        self.host = _checked_host(host)
        self.acme = acme
        if root and not root.startswith("/"):
            raise UsageError(f"--root {root[:200]!r} is not a whole path: write one that begins with /")
        self.root = root.rstrip("/")
        if tls is not None and acme:
            raise UsageError("--tls names a certificate and --acme has one made: say one of them")
        live = f"{_LIVE}/{self.host}"
        self.tls = Certificate(f"{live}/fullchain.pem", f"{live}/privkey.pem") if acme else Certificate(*tls) if tls \
            else None
        self.web = web_account(server)
        self.owner = self._checked_owner(user)
        self.minter = self._checked_minter(minter)
        self.prefix = _checked_path(prefix or _own_prefix(), "the folder of the program")
        self._ensure_visible()
        self._ensure_own_folder()

    @property
    def has_service(self) -> bool:
        """Whether the program runs as a service of systemd."""
        return self.way in (FASTCGI, PROXY)

    @property
    def unit(self) -> str:
        """The name of the service."""
        return UNITS[1] if self.way == PROXY else UNITS[0]

    @property
    def web_service(self) -> str:
        """The name of the web server's own service."""
        return SERVICES[self.server]

    @property
    def needs_certificate(self) -> bool:
        """Whether certbot has still to be run, for which the host must be served by http."""
        return self.acme and self.tls is not None and not self.tls.exists(self.root)

    def _checked_owner(self, user: str) -> str:
        if not self.has_service:
            if user and user != self.web:
                raise UsageError(f"with --way {self.way} the web server runs the program, as {self.web}: "
                                 f"--user is for --way {FASTCGI} and --way {PROXY}")
            return self.web
        if user and not _ACCOUNT.fullmatch(user):
            raise UsageError(f"--user {user[:60]!r} is no name of an account: write one like {USUAL_USER}")
        if user == "root":
            raise UsageError(f"--user root: the service needs no rights, so give it an account such as {USUAL_USER}")
        return user or USUAL_USER

    def _checked_minter(self, minter: str) -> str:
        if self.way != CGI:
            if minter:
                raise UsageError(f"--minter is for --way {CGI}: all minters of the folder are resolved")
            return ""
        if minter:
            if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", minter):
                raise UsageError(f"--minter {minter[:60]!r} is no name of a folder: write one like kt5")
            return minter
        found = self.minter_names()
        if len(found) != 1:
            raise UsageError(f"with --way {CGI} the names of one minter are resolved, and there are {len(found)} in "
                             f"{self.minters}: say --minter NAME")
        return found[0]

    def minter_names(self) -> list[str]:
        """The names of the minters in the folder, which may not be there yet."""
        folder = below(self.root, self.minters)
        return [name for name, _ in MinterFolder(folder).dbdirs()] if os.path.isdir(folder) else []

    def _ensure_visible(self) -> None:
        closed = _HIDDEN if self.has_service else _CLOSED
        for path, what in ((self.minters, "the minters"), (self.prefix, "the program")):
            if _is_in(path, closed):
                place = "/srv/noid" if what == "the minters" else "/opt/noid (docs/deploy-systemd.md)"
                whom = "a service, to which home and temporary folders are closed" if self.has_service else \
                    "the web server, to which it is closed"
                raise UsageError(f"{what} in {path} cannot be seen by {whom}: use a place like {place}")

    def _ensure_own_folder(self) -> None:
        if self.minters in _SHARED or _is_in(self.minters, _OF_THE_SYSTEM):
            raise UsageError(f"--minters {self.minters}: the folder is given to the account {self.owner}, and this one "
                             "is for others, too: use one like /srv/noid")


def _is_in(path: str, folders: tuple[str, ...]) -> bool:
    """Whether a path is one of the folders, or in one of them."""
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)


def _own_prefix() -> str:
    """The folder in which this program is installed; the one of the guides if it is run from a checkout."""
    folder, name = os.path.split(os.path.realpath(sys.argv[0]))
    return os.path.dirname(folder) if name == "noid" and os.path.basename(folder) == "bin" else USUAL_PREFIX


def below(root: str, path: str) -> str:
    """The path in the file system that is made below `root`."""
    return root + path


def web_account(server: str) -> str:
    """The account of the web server: the first of the usual ones that exists, else Debian's."""
    names = _WEB_ACCOUNTS[server]
    return next((name for name in names if user_ids(name) is not None), names[0])


def user_ids(name: str) -> tuple[int, int] | None:
    """The user and group of an account, None if there is no such account."""
    try:
        found = pwd.getpwnam(name)
    except KeyError:
        return None
    return found.pw_uid, found.pw_gid


def group_id(name: str) -> int | None:
    try:
        return grp.getgrnam(name).gr_gid
    except KeyError:
        return None


def _checked_way(server: str, way: str) -> str:
    ways = WAYS[server]
    if way and way not in ways:
        raise UsageError(f"--way {way[:60]!r} is not possible with {server}: choose one of {', '.join(ways)}")
    return way or ways[0]


def _checked_path(path: str, what: str) -> str:
    if not _PATH.fullmatch(path) or os.path.normpath(path) != path.rstrip("/"):
        raise UsageError(f"{what}: {path[:200]!r} is not a whole path of plain letters, digits and . _ + @ -, which "
                         "web servers and systemd read alike: write one like /srv/noid")
    return path.rstrip("/")


def _checked_host(host: str) -> str:
    if len(host) > _LONGEST_HOST or not _HOST.fullmatch(host):
        raise UsageError(f"--host {host[:60]!r} is no host name: write one like {_ascii_host(host)}")
    return host.lower()


def _ascii_host(host: str) -> str:
    """The form that the DNS has for an international host name; an example if there is none."""
    try:
        written = host.encode("idna").decode()
    except UnicodeError:
        written = ""
    return written if not host.isascii() and _HOST.fullmatch(written) else "ids.example.org"
