"""What was set up on this machine, read from the configurations that `noid setup` and the guides put in place."""

from __future__ import annotations

import glob
import os
import re

from .settings import APACHE, NGINX, SERVICES, UNITS, web_account
from .systemd import is_active

_SYSTEMD = "/etc/systemd/system"
# Where web servers look for hosts; that of `noid setup` first.
_SITES = {
    NGINX: ("/etc/nginx/conf.d/noid.conf", "/etc/nginx/conf.d/*.conf", "/etc/nginx/sites-enabled/*"),
    APACHE: ("/etc/apache2/sites-enabled/noid.conf", "/etc/apache2/sites-enabled/*.conf", "/etc/httpd/conf.d/*.conf"),
}
_OWN_SITES = ("noid.conf", "noid")
# The files in conf/ that a host includes, and the unit of systemd to which each leads.
_FASTCGI, _PROXY, _WSGI, _CGI, _MAP = "noid-fcgi.conf", "noid-proxy.conf", "noid-wsgi.conf", "noid-cgi.conf", \
    "resolver.conf"
_UNIT_OF = {_FASTCGI: UNITS[0], _PROXY: UNITS[1]}
_INCLUDE = re.compile(rf'^\s*[Ii]nclude\s+"?(/\S*?({"|".join(map(re.escape, (*_UNIT_OF, _WSGI, _CGI, _MAP)))}))"?;?\s*'
                      r"(?:#.*)?$", re.MULTILINE)
USERS = "/etc/noid/users"


class Site:
    """A host in the configuration of a web server that includes files of ours: their paths by their names."""

    def __init__(self, server: str, path: str, text: str) -> None:
        self.server = server
        self.path = path
        self.url = _address(text)
        self.included = {name: included for included, name in _INCLUDE.findall(text)}


class Installed:
    """A set-up as its configurations describe it; empty where none does.

    minters  the folder of minters
    user     the account that runs the program
    program  the program
    sockets  the sockets of services, each with the group that may connect, by the name of the unit
    unused   units of systemd that are active, and that no host of a web server uses
    server   nginx or apache
    sites    the files of hosts, more than one if two web servers have one
    web      the account of the web server
    url      the address of the resolver
    map      for a RewriteMap the link to noidr, and the user that it runs as
    linked   whether minters are on the web by links to the program (CGI)
    """

    def __init__(self) -> None:
        self.minters = self.user = self.program = self.url = self.server = ""
        self.sockets: dict[str, tuple[str, str]] = {}
        self.unused: list[str] = []
        self.map = "", ""
        self.linked = False
        sites = _serving(_sites())
        self.sites = [site.path for site in sites]
        included = sites[0].included if sites else {}
        if sites:
            self.server, self.url = sites[0].server, sites[0].url
        self.web = web_account(self.server or NGINX)
        used = [unit for name, unit in _UNIT_OF.items() if name in included]
        for unit in used if included else UNITS:
            self._read_unit(unit)
        self.unused = [unit for unit in UNITS if included and unit not in used and is_active(f"{unit}.socket")]
        if _MAP in included:
            text = _read(included[_MAP])
            self.map = _defined(text, "NOID_RESOLVER"), _defined(text, "NOID_RESOLVER_USER").split(":")[0]
        if not self.sockets:
            self._read_web_server(included)

    def _read_unit(self, name: str) -> None:
        service, socket = (_read(f"{_SYSTEMD}/{name}.{kind}") for kind in ("service", "socket"))
        command = _setting(service, "ExecStart").split()
        if not command:
            return
        self.program = self.program or command[0]
        if "--minters" in command[:-1]:
            self.minters = self.minters or command[command.index("--minters") + 1]
        self.user = self.user or _setting(service, "User") or "root"
        self.sockets[name] = _setting(socket, "ListenStream"), _setting(socket, "SocketGroup")

    def _read_web_server(self, included: dict[str, str]) -> None:
        """The ways in which the web server runs the program itself."""
        if _WSGI in included:
            text = _read(included[_WSGI])
            minters = re.search(r'^MINTERS = "([^"]+)"', _read(_defined(text, "NOID_WSGI")), re.MULTILINE)
            self.minters = minters[1] if minters else ""
            self.program = f"{_defined(text, 'NOID_PYTHON')}/bin/noid"
        elif _CGI in included:
            self.minters = _defined(_read(included[_CGI]), "NOID_MINTERS")
            self.linked = True
            if os.path.islink(self.map[0]):
                self.program = os.path.realpath(self.map[0])
        self.user = self.web if self.minters else ""

    @property
    def log(self) -> str:
        """Where the errors of requests are: of the service, and of the web server."""
        server = {NGINX: "/var/log/nginx/error.log", APACHE: "/var/log/apache2/error.log"}.get(self.server, "")
        return " and ".join(filter(None, (*(f"journalctl -u {unit}" for unit in self.sockets), server)))


def _sites() -> list[Site]:
    """The hosts that include files of ours, at most one of each web server."""
    found = []
    for server, patterns in _SITES.items():
        for path in (path for pattern in patterns for path in sorted(glob.glob(pattern))):
            site = Site(server, path, _read(path))
            if site.included or os.path.basename(path) in _OWN_SITES:
                found.append(site)
                break
    return found


def _serving(sites: list[Site]) -> list[Site]:
    """Of several hosts those of web servers that run."""
    running = [site for site in sites if is_active(SERVICES[site.server])] if len(sites) > 1 else []
    return running or sites


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def _setting(unit: str, name: str) -> str:
    """The value of a setting in a unit of systemd."""
    found = re.search(rf"^{name}=(.*)$", unit, re.MULTILINE)
    return found[1].strip() if found else ""


def _defined(text: str, name: str) -> str:
    """The value of a variable in a configuration of Apache."""
    found = re.search(rf'^\s*Define {name} "?([^"\n]+)"?\s*$', text, re.MULTILINE)
    return found[1].strip() if found else ""


def _address(text: str) -> str:
    """The address of the host in a configuration of a web server."""
    found = re.search(r"^\s*(?:server_name|ServerName|Define NOID_HOST)\s+([^\s;$]+)", text, re.MULTILINE)
    if not found:
        return ""
    secure = re.search(r"^\s*(?:ssl_certificate\s|SSLEngine On)", text, re.MULTILINE)
    return f"{'https' if secure else 'http'}://{found[1]}/"
