"""`noid setup`: the files and commands that put a folder of minters on nginx or Apache.

The files are rendered from the templates in conf/.  The first line of each says that `noid setup` wrote it; the second
is the command that did, from which `noid setup check` learns what to examine.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import re
import shlex
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

import jinja2

from ..errors import StoreError, UsageError
from ..minter.folder import MinterFolder

NGINX, APACHE = "nginx", "apache"
PROXY, FASTCGI, WSGI, CGI = "proxy", "fastcgi", "wsgi", "cgi+map"
WAYS = {NGINX: (PROXY, FASTCGI), APACHE: (PROXY, FASTCGI, WSGI, CGI)}
# The web servers' own services of systemd.
SERVICES = {NGINX: "nginx", APACHE: "apache2"}
# Where the host is written, and where the web server reads it.
SITES = {NGINX: "/etc/nginx/conf.d/noid.conf", APACHE: "/etc/apache2/sites-available/noid.conf"}
ENABLED_SITES = {NGINX: SITES[NGINX], APACHE: "/etc/apache2/sites-enabled/noid.conf"}
# What a2enmod enables, for each way.
MODULES = {PROXY: "proxy_http headers", FASTCGI: "proxy_fcgi buffer", WSGI: "wsgi", CGI: "cgid rewrite"}
UNIT = "/etc/systemd/system/noid.service"
# Where the guides install the program, and the account of the service unless another is chosen.
USUAL_PREFIX, USUAL_USER = "/opt/noid", "noid"

_MARK = "# Written by noid setup, which overwrites this file: remove this line to keep your changes."
# The accounts of web servers: Debian and its relatives first, then those of others.
_WEB_ACCOUNTS = {NGINX: ("www-data", "nginx", "http"), APACHE: ("www-data", "apache", "http")}
# Folders that the service cannot see (ProtectHome= and PrivateTmp= in its unit), and those that the web server cannot.
_HIDDEN = ("/home", "/root", "/run/user", "/tmp", "/var/tmp")
_CLOSED = ("/root", "/run/user")
# Folders of the system, which must not be given to the account of the minters; and those whose own folders may be.
_OF_THE_SYSTEM = ("/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/proc", "/run", "/sbin", "/sys", "/usr")
_SHARED = ("/home", "/media", "/mnt", "/opt", "/srv", "/var", "/var/cache", "/var/lib", "/var/log", "/var/spool",
           "/var/www")
# All values are of such characters, so that web servers, systemd and the shell read them alike, unquoted.
_PATH = re.compile(r"(?:/[A-Za-z0-9._+@-]+)+/?")
_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*")
_LONGEST_HOST = 253
_ACCOUNT = re.compile(r"[a-z_][a-z0-9_-]{0,31}")
_MINTER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass
class SetUp:
    """A set-up, whose fields are the variables of the templates; raises UsageError for a value that cannot work.

    server   nginx or apache
    minters  the folder of minters
    host     the host name
    way      how requests reach the program
    owner    the account that owns the minters and runs the program
    minter   for cgi+map the minter whose names are resolved
    prefix   the folder in which the program is installed
    root     the folder below which files are written; empty for the machine itself
    acme     whether the certificate is one of certbot's
    secure   whether the host is served by https
    web      the account of the web server, which is also its group
    """

    server: str
    minters: str
    host: str
    way: str = ""
    owner: str = ""
    minter: str = ""
    prefix: str = ""
    root: str = ""
    certificate: str = ""
    key: str = ""
    acme: bool = False
    secure: bool = field(init=False)
    web: str = field(init=False)
    socket: str = field(init=False, default="/run/noid/noid.sock")
    users: str = field(init=False, default="/etc/noid/users")
    wsgi: str = field(init=False, default="/etc/noid/noidtools.wsgi")
    acme_folder: str = field(init=False, default="/var/www/noid-acme")

    def __post_init__(self) -> None:
        if self.root and not self.root.startswith("/"):
            raise UsageError(f"--root {self.root[:200]!r} is not a whole path: write one that begins with /")
        self.root = self.root.rstrip("/")
        self.way = _checked_way(self.server, self.way)
        self.minters = _checked_path(self.minters, "--minters")
        self.host = _checked_host(self.host)
        self.prefix = _checked_path(self.prefix or _own_prefix(), "the folder of the program")
        self.web = web_account(self.server)
        self._check_certificate()
        self._check_owner()
        self._check_minter()
        self._check_folders()

    @property
    def has_service(self) -> bool:
        """Whether the program runs as a service of systemd; otherwise the web server runs it."""
        return self.way in (PROXY, FASTCGI)

    @property
    def needs_certificate(self) -> bool:
        """Whether certbot has still to be run, for which the host must be served by http."""
        return self.acme and not self.secure

    @property
    def url(self) -> str:
        return f"{'https' if self.secure else 'http'}://{self.host}/"

    @property
    def words(self) -> list[str]:
        """The words of the command `noid setup`, without those that say what to do with the files."""
        tls = ["--acme"] if self.acme else ["--tls", self.certificate, self.key] if self.certificate else []
        return [self.server, "--minters", self.minters, "--host", self.host, "--way", self.way, "--prefix", self.prefix,
                *(["--user", self.owner] if self.has_service else []),
                *(["--minter", self.minter] if self.minter else []), *tls]

    @classmethod
    def from_words(cls, words: list[str]) -> SetUp:
        """The set-up of those words; raises KeyError or UsageError if they are none.  --tls or --acme comes last."""
        given = dict(zip(words[1::2], words[2::2], strict=False))
        return cls(words[0], given["--minters"], given["--host"], given["--way"], given.get("--user", ""),
                   given.get("--minter", ""), given["--prefix"], certificate=given.get("--tls", ""), key=words[-1],
                   acme=words[-1] == "--acme")

    def minter_names(self) -> list[str]:
        """The names of the minters in the folder, which may not be there yet."""
        folder = below(self.root, self.minters)
        return [name for name, _ in MinterFolder(folder).dbdirs()] if os.path.isdir(folder) else []

    def _check_certificate(self) -> None:
        if self.acme:
            if self.certificate:
                raise UsageError("--tls names a certificate and --acme has one made: give one of them")
            live = f"/etc/letsencrypt/live/{self.host}"
            self.certificate, self.key = f"{live}/fullchain.pem", f"{live}/privkey.pem"
        elif self.certificate:
            self.certificate = _checked_path(self.certificate, "--tls")
            self.key = _checked_path(self.key, "the key after --tls")
        self.secure = bool(self.certificate) and (not self.acme or self.certificate_exists())

    def certificate_exists(self) -> bool:
        return all(os.path.exists(below(self.root, path)) for path in (self.certificate, self.key))

    def _check_owner(self) -> None:
        if not self.has_service:
            if self.owner not in ("", self.web):
                raise UsageError(f"with --way {self.way} the web server runs the program, as {self.web}: "
                                 f"--user is for --way {PROXY} and --way {FASTCGI}")
            self.owner = self.web
        elif self.owner == "root":
            raise UsageError(f"--user root: the service needs no rights, so give it an account such as {USUAL_USER}")
        elif self.owner and not _ACCOUNT.fullmatch(self.owner):
            raise UsageError(f"--user {self.owner[:60]!r} is no name of an account: write one like {USUAL_USER}")
        self.owner = self.owner or USUAL_USER

    def _check_minter(self) -> None:
        if self.way != CGI:
            if self.minter:
                raise UsageError(f"--minter is for --way {CGI}: all minters of the folder are resolved")
        elif self.minter:
            if not _MINTER.fullmatch(self.minter):
                raise UsageError(f"--minter {self.minter[:60]!r} is no name of a folder: write one like kt5")
        else:
            found = self.minter_names()
            if len(found) != 1 or not _MINTER.fullmatch(found[0]):
                raise UsageError(f"with --way {CGI} the names of one minter are resolved, and there are {len(found)} "
                                 f"in {self.minters}: add --minter NAME")
            self.minter = found[0]

    def _check_folders(self) -> None:
        closed = _HIDDEN if self.has_service else _CLOSED
        for path, what, place in ((self.minters, "the minters", "/srv/noid"),
                                  (self.prefix, "the program", USUAL_PREFIX)):
            if _is_in(path, closed):
                whom = "a service, to which home and temporary folders are closed" if self.has_service else \
                    "the web server, to which it is closed"
                raise UsageError(f"{what} in {path} cannot be seen by {whom}: use a place like {place}")
        if self.minters in _SHARED or _is_in(self.minters, _OF_THE_SYSTEM):
            raise UsageError(f"--minters {self.minters}: the folder is given to the account {self.owner}, and this one "
                             "is for others, too: use one like /srv/noid")


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
        try:
            ascii_form = "" if host.isascii() else host.encode("idna").decode()
        except UnicodeError:
            ascii_form = ""
        example = ascii_form if _HOST.fullmatch(ascii_form) else "ids.example.org"
        raise UsageError(f"--host {host[:60]!r} is no host name: write one like {example}")
    return host.lower()


def _is_in(path: str, folders: tuple[str, ...]) -> bool:
    """Whether a path is one of the folders, or in one of them."""
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)


def _own_prefix() -> str:
    """The folder in which this program is installed; the one of the guides if it is run from a checkout."""
    folder, name = os.path.split(os.path.realpath(sys.argv[0]))
    return os.path.dirname(folder) if name == "noid" and os.path.basename(folder) == "bin" else USUAL_PREFIX


def web_account(server: str) -> str:
    """The account of the web server: the first of the usual ones that exists, else Debian's."""
    names = _WEB_ACCOUNTS[server]
    return next((name for name in names if account_exists(name)), names[0])


def account_exists(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


# -- the files -------------------------------------------------------------------------------------------------------


def render(template: str, values: Mapping[str, object]) -> str:
    """A template of conf/, such as `nginx/site.conf.j2`, with these values."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("noidtools.deployment", "conf"), undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
    return environment.get_template(template).render(values)


def files_of(setup: SetUp) -> dict[str, str]:
    """The text of each file by its path."""
    templates = {SITES[setup.server]: f"{setup.server}/site.conf.j2"}
    if setup.has_service:
        templates[UNIT] = "systemd/noid.service.j2"
    if setup.way == WSGI:
        templates[setup.wsgi] = "noidtools.wsgi.j2"
    head = f"{_MARK}\n# noid setup {shlex.join(setup.words)}\n"
    return {path: head + render(template, asdict(setup)) for path, template in templates.items()}


def read_setup(path: str) -> SetUp | None:
    """The set-up that wrote a file; None if there is no such file, or another hand wrote it."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.read(4096).split("\n")[:2]
        command = next(line for line in lines if line.startswith("# noid setup "))
        return SetUp.from_words(shlex.split(command)[3:])
    except (OSError, StopIteration, ValueError, LookupError, UsageError):
        return None


def write(setup: SetUp, *, force: bool = False) -> list[str]:
    """Write all files, each atomically; returns their paths.

    Raises UsageError, before anything is written, if something that is needed is missing, or if a file is there that
    `noid setup` did not write and `force` is not set; StoreError if a file cannot be written.
    """
    if not setup.root and os.geteuid() != 0:
        raise UsageError("--write writes to /etc, which only root may: use sudo, or leave it out to print the files")
    program = below(setup.root, f"{setup.prefix}/bin/noid")
    if not os.path.exists(program):
        raise UsageError(f"there is no program {program}: install noidtools in a place like {USUAL_PREFIX}, and give "
                         "the command there or with --prefix")
    if setup.secure and not setup.certificate_exists():
        raise UsageError(f"there is no certificate {setup.certificate} with its key {setup.key}")
    files = {below(setup.root, path): text for path, text in files_of(setup).items()}
    foreign = [path for path in files if os.path.lexists(path) and not _is_ours(path)]
    if foreign and not force:
        raise UsageError(f"{', '.join(foreign)} was not written by noid setup, so it stays: move it away, or overwrite "
                         "it with --force")
    for path, text in files.items():
        try:
            _write(path, text)
        except OSError as error:
            raise StoreError(f"{path} cannot be written: {error.strerror or error}") from None
    return list(files)


def below(root: str, path: str) -> str:
    """The path below `root`, without the links on the way to it; raises UsageError if they lead out of `root`."""
    if not root:
        return path
    inside = os.path.realpath(root)
    folder = os.path.realpath(root + os.path.dirname(path))
    if folder != inside and not folder.startswith(f"{inside}/"):
        raise UsageError(f"{root}{path} is not in {root}, because a link leads to {folder}: replace it by a folder")
    return os.path.join(folder, os.path.basename(path))


def _is_ours(path: str) -> bool:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return not os.path.islink(path) and file.readline(200).rstrip("\n") == _MARK
    except OSError:
        return False


def _write(path: str, text: str) -> None:
    folder = os.path.dirname(path)
    before = os.umask(0o022)  # others must be able to enter the folders
    try:
        os.makedirs(folder, exist_ok=True)
    finally:
        os.umask(before)
    descriptor, new = tempfile.mkstemp(prefix=".noid-setup-", dir=folder)
    try:
        with open(descriptor, "w", encoding="utf-8") as out:
            out.write(text)
            out.flush()
            os.fsync(descriptor)
        os.chmod(new, 0o644)
        os.replace(new, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(new)
        raise


# -- what is left to do ----------------------------------------------------------------------------------------------


def commands_of(setup: SetUp) -> list[str]:
    """The commands that finish the set-up, for root to paste as a block.

    They ask for nothing, and may be given again at any time.  What needs a name or a password is a comment at the end.
    """
    owner, minters, users = setup.owner, setup.minters, setup.users
    steps = [
        f"getent passwd {owner} || "
        f"useradd --system --user-group --home-dir {minters} --shell /usr/sbin/nologin {owner}",
        f"mkdir -p -m 750 {minters}", f"chown -R {owner}: {minters}",
        f"mkdir -p /etc/noid {setup.acme_folder}",
        f"touch {users}", f"chown root:{setup.web} {users}", f"chmod 640 {users}",
    ]
    if setup.way == CGI:
        links = [(f"noidu_{name}", "noidu") for name in sorted({*setup.minter_names(), setup.minter})]
        steps += [f"[ -e {minters}/{link} ] || ln -s {setup.prefix}/bin/{program} {minters}/{link}"
                  for link, program in (*links, (f"noidr_{setup.minter}", "noidr")) if _MINTER.fullmatch(link)]
    if setup.has_service:
        steps += ["systemctl daemon-reload", "systemctl enable noid", "systemctl restart noid"]
    service = SERVICES[setup.server]
    if setup.server == APACHE:
        tls = " ssl rewrite" if setup.secure else ""
        steps += [f"a2enmod {MODULES[setup.way]}{tls}", "a2ensite noid",
                  f"apache2ctl configtest && systemctl restart {service}"]
    else:
        steps.append(f"nginx -t && systemctl restart {service}")
    login = f"# Then, for each person who may log in (it asks for the password): htpasswd -B {users} NAME"
    if not setup.needs_certificate:
        return [*steps, f"{setup.prefix}/bin/noid setup check", login]
    again = shlex.join([f"{setup.prefix}/bin/noid", "setup", *setup.words, "--write"])
    return [*steps, f"certbot certonly --webroot -w {setup.acme_folder} -d {setup.host} "
                    f"--deploy-hook 'systemctl reload {service}'",
            login, f"# Then, for https: {again}"]
