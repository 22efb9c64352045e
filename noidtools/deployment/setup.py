"""`noid setup`: the files and commands that put a folder of minters on nginx or Apache.

The files are rendered from the templates in conf/.  The first line of each says that `noid setup` wrote it; the second
is the command that did, from which `noid setup check` and `remove` learn what there is.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import pwd
import re
import shlex
import sys
import tempfile
from collections.abc import Iterable, Mapping
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
_UNITS = "/etc/systemd/system"
UNIT = f"{_UNITS}/noid.service"
# What is done every night, each by a service and its timer.
BACKUP_JOB, _LINKS_JOB, _SITE_JOB = "noid-backup", "noid-links", "noid-site"
# The program by which root gives commands about the minters of another account.
PROGRAM = "/usr/local/bin/noid"
# The manual page and what completes commands in shells, each with the words of noid that print it.
_SHARED_FILES = {"/usr/local/share/man/man1/noid.1": "help --man",
                 "/usr/local/share/bash-completion/completions/noid": "completion bash",
                 "/usr/local/share/zsh/site-functions/_noid": "completion zsh",
                 "/usr/local/share/fish/vendor_completions.d/noid.fish": "completion fish"}
# Where the guides install the program, and the account of the service and the backups unless others are chosen.
USUAL_PREFIX, USUAL_USER, USUAL_BACKUPS = "/opt/noid", "noid", "/var/backups/noid"

# The interfaces of `noid serve`, as patterns of the paths of each; and those whose programs log in with a name and a
# token, which the service knows and the web server does not.
INTERFACES = {"json": r"api/v1(?:/|$)", "console": r"console(?:/|$)",
              "ezid": r"(?:ezid/)?(?:(?:id|shoulder|download)/|(?:login|logout|status|version|download_request)$)",
              "arklet": r"(?:mint|update|bulk_mint|bulk_update|bulk_query)$|resolve/ark:",
              "n2t": r"a/[^/]+/[bm](?:/|$)", "handle": r"api/(?!v1(?:/|$))"}
USUAL_INTERFACES = "json,console"
_WITH_LOGINS_OF_THEIR_OWN = ("ezid", "arklet", "n2t", "handle")

_MARK = "# Written by noid setup, which overwrites this file: remove this line to keep your changes."
# The accounts of web servers: Debian and its relatives first, then those of others.
_WEB_ACCOUNTS = {NGINX: ("www-data", "nginx", "http"), APACHE: ("www-data", "apache", "http")}
# Folders that a service cannot see (ProtectHome= and PrivateTmp= in its unit).
_HIDDEN = ("/home", "/root", "/run/user", "/tmp", "/var/tmp")
# Folders of the system, which must not be given to the account of the minters; and those whose own folders may be.
_OF_THE_SYSTEM = ("/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/proc", "/run", "/sbin", "/sys", "/usr")
_SHARED = ("/home", "/media", "/mnt", "/opt", "/srv", "/var", "/var/backups", "/var/cache", "/var/lib", "/var/log",
           "/var/spool", "/var/www")
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
    backups  the folder of backups
    static_site  the folder of static sites, which are made every night; empty for none
    git      whether these are committed
    interfaces  those that are served, separated by commas
    postgres whether minters are in database servers, which are reached over the network
    acme     whether the certificate is one of certbot's
    secure   whether the host is served by https
    web      the account of the web server, which is also its group
    interface_paths  a pattern of the paths of the interfaces, without the slash in front
    login_paths      the same of those at which the service itself asks for a login; empty if there are none
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
    backups: str = ""
    postgres: bool = False
    static_site: str = ""
    git: bool = False
    interfaces: str = USUAL_INTERFACES
    interface_paths: str = field(init=False)
    login_paths: str = field(init=False)
    secure: bool = field(init=False)
    web: str = field(init=False)
    socket: str = field(init=False, default="/run/noid/noid.sock")
    users: str = field(init=False, default="/etc/noid/users")
    wsgi: str = field(init=False, default="/etc/noid/noidtools.wsgi")
    acme_folder: str = field(init=False, default="/var/www/noid-acme")
    cache: str = field(init=False, default="/var/lib/nginx/noid")

    def __post_init__(self) -> None:
        if self.root and not self.root.startswith("/"):
            raise UsageError(f"--root {self.root[:200]!r} is not a whole path: write one that begins with /")
        self.root = self.root.rstrip("/")
        self.way = _checked_way(self.server, self.way)
        self.minters = _checked_path(self.minters, "--minters")
        self.host = _checked_host(self.host)
        self.prefix = _checked_path(self.prefix or _own_prefix(), "the folder of the program")
        self.backups = _checked_path(self.backups or USUAL_BACKUPS, "--backups")
        if self.git and not self.static_site:
            raise UsageError("--git is for --site: it commits the static sites")
        self.static_site = self.static_site and _checked_path(self.static_site, "--site")
        self.web = web_account(self.server)
        self._check_interfaces()
        self._check_certificate()
        self._check_owner()
        self._check_minter()
        self._check_folders()

    @property
    def has_service(self) -> bool:
        """Whether the program runs as a service of systemd; otherwise the web server runs it."""
        return self.way in (PROXY, FASTCGI)

    @property
    def jobs(self) -> list[str]:
        """What is done every night."""
        return [BACKUP_JOB, _LINKS_JOB, *([_SITE_JOB] if self.static_site else [])]

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
                "--backups", self.backups, *(["--user", self.owner] if self.has_service else []),
                *(["--minter", self.minter] if self.minter else []), *(["--postgres"] if self.postgres else []),
                *(["--site", self.static_site] if self.static_site else []), *(["--git"] if self.git else []),
                *(["--interfaces", self.interfaces] if self.interfaces != USUAL_INTERFACES else []), *tls]

    @classmethod
    def from_words(cls, words: list[str]) -> SetUp:
        """The set-up of those words; raises KeyError or UsageError if they are none.  --tls comes last."""
        given = dict(itertools.pairwise(words[1:]))
        return cls(words[0], given["--minters"], given["--host"], given["--way"], given.get("--user", ""),
                   given.get("--minter", ""), given["--prefix"], certificate=given.get("--tls", ""), key=words[-1],
                   acme="--acme" in words, backups=given.get("--backups", ""), postgres="--postgres" in words,
                   static_site=given.get("--site", ""), git="--git" in words,
                   interfaces=given.get("--interfaces", USUAL_INTERFACES))

    def minter_names(self) -> list[str]:
        """The names of the minters in the folder, which may not be there yet."""
        folder = os.path.dirname(below(self.root, f"{self.minters}/NAME"))
        return [name for name, _ in MinterFolder(folder).dbdirs()] if os.path.isdir(folder) else []

    def _check_interfaces(self) -> None:
        chosen = self.interfaces.split(",")
        unknown = next((name for name in chosen if name not in INTERFACES), None)
        if unknown is not None:
            raise UsageError(f"--interfaces: there is no interface {unknown[:60]!r}: known are {', '.join(INTERFACES)}")
        if self.interfaces != USUAL_INTERFACES and self.way != PROXY:
            raise UsageError(f"--interfaces is for --way {PROXY}")
        self.interface_paths = _pattern(chosen)
        self.login_paths = _pattern([name for name in chosen if name in _WITH_LOGINS_OF_THEIR_OWN])

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
            raise UsageError(f"--user {self.owner[:60]!r} is not the name of an account: write one like {USUAL_USER}")
        self.owner = self.owner or USUAL_USER

    def _check_minter(self) -> None:
        if self.way != CGI:
            if self.minter:
                raise UsageError(f"--minter is for --way {CGI}: all minters of the folder are resolved")
        elif self.minter:
            if not _MINTER.fullmatch(self.minter):
                raise UsageError(f"--minter {self.minter[:60]!r} is not the name of a folder: write one like kt5")
        else:
            found = self.minter_names()
            if len(found) != 1 or not _MINTER.fullmatch(found[0]):
                raise UsageError(f"with --way {CGI} the names of one minter are resolved, and there are {len(found)} "
                                 f"in {self.minters}: add --minter NAME")
            self.minter = found[0]

    def _check_folders(self) -> None:
        site = ((self.static_site, "--site", "/srv/noid-site"),) if self.static_site else ()
        for path, option, example in ((self.minters, "--minters", "/srv/noid"), (self.prefix, "--prefix", USUAL_PREFIX),
                                      (self.backups, "--backups", USUAL_BACKUPS), *site):
            if _is_in(path, _HIDDEN):
                raise UsageError(f"{option} {path} cannot be seen by a service, to which home and temporary folders "
                                 f"are closed: use a place like {example}")
            if option != "--prefix" and (path in _SHARED or _is_in(path, _OF_THE_SYSTEM)):
                raise UsageError(f"{option} {path}: the folder is given to the account {self.owner}, and this one is "
                                 f"for others, too: use one like {example}")
        if _is_in(self.backups, (self.minters,)) or _is_in(self.minters, (self.backups,)):
            raise UsageError(f"--backups {self.backups} would be lost with the minters in {self.minters}: use another "
                             f"folder, if possible on another disk, such as {USUAL_BACKUPS}")
        if self.static_site and any(_is_in(one, (other,)) for one, other in (
                (self.static_site, self.minters), (self.minters, self.static_site), (self.static_site, self.backups))):
            raise UsageError(f"--site {self.static_site} is for everybody to read, and must not be in the folder of "
                             "the minters or of the backups: use one like /srv/noid-site")


def _pattern(interfaces: list[str]) -> str:
    return f"(?:{'|'.join(INTERFACES[name] for name in interfaces)})" if interfaces else ""


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
        raise UsageError(f"--host {host[:60]!r} is not a host name: write one like {example}")
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
    templates |= {path: f"systemd/{os.path.basename(path)}.j2" for path in _job_files(setup.jobs)}
    if setup.has_service:
        templates[UNIT] = "systemd/noid.service.j2"
    if setup.way == WSGI:
        templates[setup.wsgi] = "noidtools.wsgi.j2"
    if setup.prefix != os.path.dirname(os.path.dirname(PROGRAM)):  # else the program itself is there
        templates[PROGRAM] = "noid.sh.j2"
    return {path: _headed(render(template, asdict(setup)), setup.words) for path, template in templates.items()}


def _job_files(jobs: Iterable[str]) -> list[str]:
    return [f"{_UNITS}/{job}.{kind}" for job in jobs for kind in ("service", "timer")]


def _headed(text: str, words: list[str]) -> str:
    """A file with the two lines at its head; those of a script follow its first line."""
    first, end, rest = text.partition("\n") if text.startswith("#!") else ("", "", text)
    return f"{first}{end}{_MARK}\n# noid setup {shlex.join(words)}\n{rest}"


def read_setup(path: str) -> SetUp | None:
    """The set-up that wrote a file; None if there is no such file, or another hand wrote it."""
    try:
        command = next(line for line in _first_lines(path) if line.startswith("# noid setup "))
        return SetUp.from_words(shlex.split(command)[3:])
    except (StopIteration, ValueError, LookupError, UsageError):
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
            _write(path, text, 0o755 if text.startswith("#!") else 0o644)
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
    return not os.path.islink(path) and _MARK in _first_lines(path)[:2]


def _first_lines(path: str) -> list[str]:
    """The first three lines of a file; none of what cannot be read, or is no file."""
    if not os.path.isfile(path):
        return []  # whoever opens a FIFO waits for its writer
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(4096).split("\n")[:3]
    except OSError:
        return []


def _write(path: str, text: str, mode: int) -> None:
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
        os.chmod(new, mode)
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
    service = SERVICES[setup.server]
    own = [*(["noid"] if setup.has_service else []), *(f"{job}.timer" for job in setup.jobs)]
    steps = [
        f"getent passwd {owner} || "
        f"useradd --system --user-group --home-dir {minters} --shell /usr/sbin/nologin {owner}",
        f"mkdir -p -m 750 {minters} {setup.backups}", f"chown -R {owner}: {minters} {setup.backups}",
        *([f"mkdir -p -m 755 {setup.static_site}", f"chown -R {owner}: {setup.static_site}"] if setup.static_site
          else []),
        f"mkdir -p /etc/noid {setup.acme_folder}",
        f"touch {users}", f"chown root:{setup.web} {users}", f"chmod 640 {users}",
    ]
    if setup.way == CGI:
        links = [(f"noidu_{name}", "noidu") for name in sorted({*setup.minter_names(), setup.minter})]
        steps += [f"[ -e {minters}/{link} ] || ln -s {setup.prefix}/bin/{program} {minters}/{link}"
                  for link, program in (*links, (f"noidr_{setup.minter}", "noidr")) if _MINTER.fullmatch(link)]
    steps += [f"{setup.prefix}/bin/noid {words} | install -D -m 644 /dev/stdin {path}"
              for path, words in _SHARED_FILES.items()]
    steps += ["systemctl daemon-reload", f"systemctl enable {' '.join((*own, service))}",
              f"systemctl restart {' '.join(own)}"]
    if setup.server == APACHE:
        tls = " ssl rewrite" if setup.secure else ""
        steps += [f"a2enmod {MODULES[setup.way]}{tls}", "a2ensite noid",
                  f"apache2ctl configtest && systemctl restart {service}"]
    else:
        steps.append(f"nginx -t && systemctl restart {service}")
    login = [] if _has_content(below(setup.root, users)) else \
        [f"# Then, for each person who may log in (it asks for the password): htpasswd -B {users} NAME"]
    if not setup.needs_certificate:
        return [*steps, "noid setup check", *login]
    return [*steps, f"certbot certonly --webroot -w {setup.acme_folder} -d {setup.host} "
                    f"--deploy-hook 'systemctl reload {service}'",
            *login, f"# Then, for https: noid setup {shlex.join(setup.words)} --write"]


def _has_content(path: str) -> bool:
    try:
        return os.path.getsize(path) > 0
    except OSError:
        return False


def removal_commands() -> list[str]:
    """The commands that undo the set-up of this machine, for root to paste as a block; minters and backups stay.

    Raises UsageError if `noid setup` wrote nothing here.
    """
    files = [path for path in (*SITES.values(), UNIT, *_job_files((BACKUP_JOB, _LINKS_JOB, _SITE_JOB)), SetUp.wsgi,
                               PROGRAM) if _is_ours(path)]
    setups = [setup for setup in map(read_setup, files) if setup is not None]
    if not setups:
        raise UsageError("noid setup wrote no file on this machine, so there is nothing to remove")
    setup = setups[0]
    units = [name for path in files if (name := os.path.basename(path)).endswith(".timer")]
    units += ["noid.service"] if UNIT in files else []
    servers = [server for server, path in SITES.items() if path in files]
    steps = [f"systemctl disable --now {' '.join(units)}"] if units else []
    steps += ["a2dissite noid"] if APACHE in servers else []
    shared = [path for path in _SHARED_FILES if os.path.exists(path)]
    steps += [f"rm -f {' '.join((*files, *shared))}", "systemctl daemon-reload",
              *(f"systemctl try-reload-or-restart {SERVICES[server]}" for server in servers),
              f"rm -rf {os.path.dirname(setup.socket)} {setup.acme_folder} {setup.cache}"]
    # The number of the account may be given to another one later.
    steps += [f"chown -R root: {folder}" for folder in (setup.minters, setup.backups, setup.static_site)
              if os.path.isdir(folder)]
    owners = {each.owner for each in setups}
    # An account with another home was not made for this.
    steps += [f"userdel {account.pw_name}" for account in pwd.getpwall()
              if account.pw_name in owners and account.pw_dir == setup.minters]
    return [*steps, f"# What is left: the minters in {setup.minters}, backups in {setup.backups}, logins in "
                    f"{setup.users}, and the program in {setup.prefix}"]
