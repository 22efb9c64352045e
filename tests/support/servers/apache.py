"""Apache, started from the files in conf/apache."""

from __future__ import annotations

import re
from pathlib import Path

from support.process import children, command_line
from support.project import CONF
from support.servers.configuration import edited
from support.servers.deployment import STATIC_PATH, STATIC_TARGET, Deployment, Resolving, wait_for_file
from support.servers.installation import APACHE_MODULES
from support.servers.system import MissingError, program, server_ids
from support.templates import LONG_TERM, PREFIXES, SCHEMES

# What a fresh Debian loads; a file in conf/ names what it needs besides, in its line "a2enmod".
_USUAL_MODULES = (
    "mpm_event", "access_compat", "alias", "auth_basic", "authn_core", "authn_file", "authz_core", "authz_host",
    "authz_user", "autoindex", "deflate", "dir", "env", "filter", "negotiation", "reqtimeout", "setenvif", "status",
)


def enabled_modules(configuration: str) -> list[str]:
    """The modules that the file itself tells its reader to enable."""
    (names,) = re.findall(r"^# +a2enmod (.+)$", configuration, re.MULTILINE)[:1]
    return str(names).split()


def main_configuration(folder: Path, port: int, configuration: str, others: dict[str, str]) -> str:
    """The rest of an Apache configuration, much as Debian ships it; `others` are modules in place of the usual."""
    modules = [others.get(name, name) for name in (*_USUAL_MODULES, *enabled_modules(configuration))]
    if "proxy_fcgi" in modules:
        modules.insert(0, "proxy")  # a2enmod knows that one needs the other
    loads = "\n".join(f"LoadModule {name}_module {_module(name)}" for name in modules)
    return f"""
ServerRoot {folder}
ServerName localhost
Listen 127.0.0.1:{port}
User #{server_ids()[0]}
Group #{server_ids()[1]}
PidFile {folder}/apache.pid
DefaultRuntimeDir {folder}
ErrorLog {folder}/error.log
LogLevel warn
{loads}
<IfModule cgid_module>
    ScriptSock {folder}/cgisock
</IfModule>
<IfModule wsgi_module>
    WSGISocketPrefix {folder}/wsgi
</IfModule>
DocumentRoot {folder}/htdocs
<Directory />
    Options FollowSymLinks
    AllowOverride None
    Require all denied
</Directory>
<Directory {folder}/htdocs>
    Require all granted
</Directory>
RequestReadTimeout header=5-10,MinRate=500 body=5,MinRate=500
{configuration}
"""


def _module(name: str) -> Path:
    path = APACHE_MODULES / f"mod_{name}.so"
    if not path.exists():
        package = "libapache2-mod-wsgi-py3" if name == "wsgi" else "apache2"
        raise MissingError(f"Apache's module {name} is missing: apt-get install {package}")
    return path


class Apache(Deployment):
    # Modules to load in place of others.
    modules: dict[str, str] = {}

    def serve(self, configuration: str) -> None:
        self.site.folder_for(f"{self.name}/htdocs")
        (self.folder / "htdocs" / "static.txt").write_text("id: kt639k9\n\n")
        main = self.folder / "apache.conf"
        main.write_text(main_configuration(self.folder, self.port, configuration, self.modules))
        self.apache = self.run(program("apache2"), "-DFOREGROUND", "-f", main)
        self.wait_until_served()

    def link_noidu(self, name: str) -> None:
        """The link by which CGI serves a minter."""
        (self.minters / f"noidu_{name}").symlink_to(self.site.installation / "bin" / "noidu")


# -- commands by URL ---------------------------------------------------------------------------------------------


class ApacheCgi(Apache):
    """A process for each request."""

    def start(self) -> None:
        self.serve(edited(CONF / "apache" / "noid-cgi.conf",
                          {"/srv/noid": self.minters, "/etc/noid/users": self.site.users}))

    def create(self, name: str, *words: str) -> None:
        super().create(name, *words)
        self.link_noidu(name)

    def workers(self) -> list[int]:
        return [pid for pid in self.apache.children() if "/noidu_" in command_line(pid)]


class ApacheModCgi(ApacheCgi):
    """The same file on an Apache of processes, where mod_cgi takes the place of mod_cgid."""

    modules = {"mpm_event": "mpm_prefork", "cgid": "cgi"}


class ApacheFcgi(Apache):
    """Apache in front of the service, by FastCGI over a Unix socket."""

    # What is changed in the line that says which paths are names.
    names: dict[str, object] = {}

    def start(self) -> None:
        path = self.folder / "noid.sock"
        self.service = self.run_unit("noid.service", path)
        wait_for_file(path)
        self.serve(edited(CONF / "apache" / "noid-fcgi.conf", {
            "/run/noid/noid.sock": path, "/etc/noid/users": self.site.users, **self.names}) + self.more())

    def more(self) -> str:
        """Further lines of the configuration."""
        return ""

    def workers(self) -> list[int]:
        return self.service.children()


class ApacheWsgi(Apache):
    """Apache that runs the program in processes of its own."""

    # How many requests a second each of them takes from a client; 0 for any number.
    rate = 0

    def start(self) -> None:
        wsgi = self.folder / "noidtools.wsgi"
        wsgi.write_text(edited(CONF / "noidtools.wsgi", {
            "/srv/noid": self.minters, "REQUESTS_A_SECOND = 50": f"REQUESTS_A_SECOND = {self.rate}"}))
        self.serve(edited(CONF / "apache" / "noid-wsgi.conf", {
            "/etc/noid/noidtools.wsgi": wsgi, "/opt/noid": self.site.installation, "/etc/noid/users": self.site.users,
        }) + self.more())

    def more(self) -> str:
        """Further lines of the configuration."""
        return ""

    def workers(self) -> list[int]:
        return [pid for pid in self.apache.children() if "noid-wsgi" in command_line(pid)]


# -- names -------------------------------------------------------------------------------------------------------


class ApacheRewrite(Resolving, Apache):
    """Apache with a RewriteMap, the manual's way."""

    element = "_t"
    map_file = False
    # The words of dbcreate for the minter kt5, if it is to be made before Apache starts.
    minter_words: tuple[str, ...] = ()

    def start(self) -> None:
        if self.minter_words and not (self.minters / "kt5").exists():
            self.create("kt5", *self.minter_words)
        link = self.minters / "noidr_kt5"
        link.symlink_to(self.site.installation / "bin" / "noidr")
        commands = edited(CONF / "apache" / "noid-cgi.conf",
                          {"/srv/noid": self.minters, "/etc/noid/users": self.site.users})
        names = edited(CONF / "apache" / "resolver.conf", {
            "/srv/noid/noidr_kt5": link, "NOID_ELEMENT _t": f"NOID_ELEMENT {self.element}", **self.account()})
        if self.map_file:
            dbm = self.folder / "kt5.dbm"
            names = edited(CONF / "apache" / "resolver-map.conf", {"/srv/noid/kt5.dbm": dbm}) + names
        # Both in one host: the modules of both, and the mutex, which stands outside.
        outside = f"#     a2enmod cgid rewrite\nMutex pthread rewrite-map\n{self.more()}"
        self.serve(f"{outside}{commands}{names}\nRedirect 302 {STATIC_PATH} {STATIC_TARGET}\n")

    def account(self) -> dict[str, object]:
        """What is changed in the lines that name the account of noidr and the prefixes of names."""
        return {}

    def more(self) -> str:
        """Further lines of the main configuration."""
        return ""

    def create(self, name: str, *words: str) -> None:
        super().create(name, *words)
        self.link_noidu(name)

    def workers(self) -> list[int]:
        """The worker of noidr."""
        return [worker for parent in self.noidr() for worker in children(parent)]

    def noidr(self) -> list[int]:
        """The process that Apache has started."""
        found = [pid for pid in self.apache.children() if "noidr" in command_line(pid)]
        return [pid for pid in found if not any(pid in children(parent) for parent in found)]


class ApacheRewriteMyGoto(ApacheRewrite):
    """The same with another element."""

    element = "myGoto"


class ApacheRewriteIbi(ApacheRewrite):
    """The same with a minter of IBI repository names."""

    minter_words = SCHEMES["ibi"]


class ApacheRewriteIbip(ApacheRewrite):
    """The same with a minter of IBIp labels."""

    minter_words = SCHEMES["ibip"]


class ApacheRewritePrefix(ApacheRewrite):
    """The same with a minter of PILIN suffixes, whose prefix is named in the line for that."""

    minter_words = SCHEMES["pilin"]

    def account(self) -> dict[str, object]:
        return {"(?!)": PREFIXES}


class ApacheRewriteMap(ApacheRewrite):
    """Apache with a dbm file, and the RewriteMap for what is not in it."""

    map_file = True

    def start(self) -> None:
        # Apache wants the map to be there when it starts.
        if not (self.minters / "kt5").exists():
            self.create("kt5", *self.minter_words or LONG_TERM)
        self.noid("-f", "kt5", "export", "--map", "dbm", str(self.folder / "kt5.dbm"))
        super().start()


class ApacheRewriteMapIbi(ApacheRewriteMap):
    """The same with a minter of IBI repository names."""

    minter_words = SCHEMES["ibi"]


class ApacheResolver(Resolving, ApacheFcgi):
    """Apache with FastCGI."""

    def more(self) -> str:
        return f"Redirect 302 {STATIC_PATH} {STATIC_TARGET}\n"


class ApacheWsgiResolver(Resolving, ApacheWsgi):
    """Apache with mod_wsgi."""

    def more(self) -> str:
        return f"Redirect 302 {STATIC_PATH} {STATIC_TARGET}\n"


class ApacheResolverOfPrefixes(ApacheResolver):
    """Apache with prefixes of names, in the line for that."""

    names = {"(?!)": PREFIXES}


class ApacheResolverOfAllPaths(ApacheResolver):
    """Apache configured to take every path for a name, as a comment in its file explains."""

    names = {"^/+(?:(?i:ark|hdl|doi|urn|info):|${NOID_IBI}|${NOID_PREFIXES}|healthz$|readyz$|metrics$|$)":
             "^/+(?!nd/|static)"}
