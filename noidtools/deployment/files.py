"""The files, folders and links of a set-up, and the commands that finish it."""

from __future__ import annotations

from .marked import edited, shipped
from .settings import APACHE, CGI, FASTCGI, NGINX, PROXY, WSGI, SetUp

_ACME_FOLDER = "/var/www/noid-acme"
_USERS = "/etc/noid/users"
_LIVE = "/etc/letsencrypt/live/localhost"

# The files in conf/ that each way needs in a host, and those beside.
_HOST_FILES = {
    (NGINX, FASTCGI): ("nginx/noid-fcgi.conf",), (NGINX, PROXY): ("nginx/noid-proxy.conf",),
    (APACHE, FASTCGI): ("apache/noid-fcgi.conf",), (APACHE, WSGI): ("apache/noid-wsgi.conf",),
    (APACHE, CGI): ("apache/noid-cgi.conf", "apache/resolver.conf"),
}
_MODULES = {FASTCGI: "proxy_fcgi buffer", WSGI: "wsgi", CGI: "cgid rewrite"}
# For each address, as in nginx/noid-common.conf.
_REQUESTS_A_SECOND = 100
SITE = {NGINX: "/etc/nginx/conf.d/noid.conf", APACHE: "/etc/apache2/sites-available/noid.conf"}


class File:
    """A file to be written, or a folder if `text` is None; with `keep` one that is there already is left as it is.

    A link has its target in `link`.
    """

    __slots__ = ("group", "keep", "link", "mode", "owner", "path", "text")

    def __init__(self, path: str, text: str | None = None, *, owner: str = "root", group: str = "root",
                 mode: int = 0o644, keep: bool = False, link: str = "") -> None:
        self.path = path
        self.text = text
        self.owner = owner
        self.group = group
        self.mode = mode
        self.keep = keep
        self.link = link


def files_of(setup: SetUp) -> list[File]:
    """All that is written, folders before what is in them."""
    made = [
        File("/etc/noid", mode=0o755),
        File(setup.minters, owner=setup.owner, group=setup.owner, mode=0o750, keep=True),
        File(_USERS, "", group=setup.web, mode=0o640, keep=True),
        File(f"/etc/noid/{setup.server}", mode=0o755),
    ]
    if setup.tls is None or setup.acme:
        made.append(File(_ACME_FOLDER, mode=0o755, keep=True))
    names = _HOST_FILES[setup.server, setup.way]
    if setup.server == NGINX:
        names += ("nginx/noid-common.conf",)
    if setup.way == WSGI:
        names += ("noidtools.wsgi",)
    made += [File(f"/etc/noid/{name}", _edited(setup, name)) for name in names]
    made.append(File(SITE[setup.server], _site(setup)))
    if setup.has_service:
        made += [File(f"/etc/systemd/system/{setup.unit}.{kind}", _edited(setup, f"systemd/{setup.unit}.{kind}"))
                 for kind in ("socket", "service")]
    return made + _links(setup)


def _links(setup: SetUp) -> list[File]:
    """The links by which CGI finds the program: one for each minter, and one for the resolver."""
    if setup.way != CGI:
        return []
    found = {*setup.minter_names(), setup.minter}
    links = [(f"noidu_{name}", "noidu") for name in sorted(found)] + [(f"noidr_{setup.minter}", "noidr")]
    return [File(f"{setup.minters}/{name}", link=f"{setup.prefix}/bin/{program}") for name, program in links]


def _edited(setup: SetUp, name: str) -> str:
    """A shipped file with the values of the set-up."""
    text = shipped(name)
    # nginx limits rates itself; Apache cannot.
    rate = f" --max-rate {_REQUESTS_A_SECOND}" if setup.server == APACHE else ""
    values = {
        "--minters /srv/noid": f"--minters {setup.minters}{rate}",
        "/srv/noid": setup.minters, "/opt/noid": setup.prefix, "User=noid": f"User={setup.owner}",
        "Group=noid": f"Group={setup.owner}", "SocketGroup=www-data": f"SocketGroup={setup.web}",
        "noidr_kt5": f"noidr_{setup.minter}", "www-data:www-data": f"{setup.owner}:{setup.owner}",
    }
    return edited(text, {word: value for word, value in values.items() if _is_marked(text, word)})


def _site(setup: SetUp) -> str:
    """The host, which includes the other files."""
    secure = setup.tls is not None and not setup.needs_certificate
    text = shipped(f"{setup.server}/site{'-tls' if secure else ''}.conf")
    names = _HOST_FILES[setup.server, setup.way]
    include = "include" if setup.server == NGINX else "Include"
    includes = "\n    ".join(f"{include} /etc/noid/{name}" for name in names)
    values = {f"{include} /etc/noid/{setup.server}/noid-fcgi.conf": includes}
    if secure and setup.tls is not None:
        values |= {f"{_LIVE}/fullchain.pem": setup.tls.certificate, f"{_LIVE}/privkey.pem": setup.tls.key}
    return edited(text, {**values, "localhost": setup.host})


def _is_marked(text: str, word: str) -> bool:
    try:
        edited(text, {word: word})
    except KeyError:
        return False
    return True


# -- what is left to do ----------------------------------------------------------------------------------------------


def steps_of(setup: SetUp, *, before: list[str], restart: bool) -> list[str]:
    """The commands that finish the set-up, to be given by root.

    `before` are those that end what was there before; with `restart` the service that runs is an older one.
    """
    steps = list(before)
    if setup.has_service:
        steps += ["systemctl daemon-reload", f"systemctl enable --now {setup.unit}.socket"]
        if restart:
            # The service, which needs the socket, is restarted with it.
            steps.append(f"systemctl restart {setup.unit}.socket")
    if setup.server == APACHE:
        tls = " ssl rewrite" if setup.tls is not None and not setup.needs_certificate else ""
        steps += [f"a2enmod {_MODULES[setup.way]}{tls}", "a2ensite noid"]
    else:
        steps.append("nginx -t")
    steps.append(f"systemctl restart {setup.web_service}")
    if setup.needs_certificate:
        steps.append(f"certbot certonly --webroot -w {_ACME_FOLDER} -d {setup.host} "
                     f"--deploy-hook 'systemctl reload {setup.web_service}'")
    return steps


def account_command(setup: SetUp) -> str:
    return f"adduser --system --group --no-create-home --home {setup.minters} {setup.owner}"
