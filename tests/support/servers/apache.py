"""Apache, started from the templates in conf/apache."""

from __future__ import annotations

from pathlib import Path

from noidtools.deployment.setup import CGI, FASTCGI, MODULES, PROXY, WSGI
from support.process import children, command_line
from support.project import CONF
from support.servers.configuration import edited, rendered
from support.servers.deployment import STATIC_PATH, STATIC_TARGET, Deployment, Resolving
from support.servers.installation import APACHE_MODULES
from support.servers.system import MissingError, program, server_ids
from support.templates import LONG_TERM, PREFIXES, SCHEMES

# What a fresh Debian loads; each way needs more.
_USUAL_MODULES = (
    "mpm_event", "access_compat", "alias", "auth_basic", "authn_core", "authn_file", "authz_core", "authz_host",
    "authz_user", "autoindex", "deflate", "dir", "env", "filter", "negotiation", "reqtimeout", "setenvif", "status",
)


def main_configuration(folder: Path, port: int, configuration: str, modules: list[str]) -> str:
    """The rest of an Apache configuration, much as Debian ships it."""
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
{configuration}
"""


def _module(name: str) -> Path:
    path = APACHE_MODULES / f"mod_{name}.so"
    if not path.exists():
        package = "libapache2-mod-wsgi-py3" if name == "wsgi" else "apache2"
        raise MissingError(f"Apache's module {name} is missing: apt-get install {package}")
    return path


class Apache(Deployment):
    """Apache with the host that `noid setup apache` writes."""

    way = ""
    # Modules to load in place of others, and besides.
    other_modules: dict[str, str] = {}
    more_modules: tuple[str, ...] = ()
    # Words that are changed in the configuration.
    changes: dict[str, object] = {}

    def start(self) -> None:
        self.site.folder_for(f"{self.name}/htdocs")
        (self.folder / "htdocs" / "static.txt").write_text("id: kt639k9\n\n")
        names = [*_USUAL_MODULES, *MODULES[self.way].split(), *self.more_modules]
        modules = [self.other_modules.get(name, name) for name in names]
        if any(name.startswith("proxy_") for name in modules):
            modules.insert(0, "proxy")  # a2enmod knows that one needs the other
        main = self.folder / "apache.conf"
        main.write_text(main_configuration(self.folder, self.port, self.outside() + self.host(), modules))
        self.apache = self.run(program("apache2"), "-DFOREGROUND", "-f", main)
        self.wait_until_served()

    def host(self, **values: object) -> str:
        """The whole configuration of the host."""
        ports = {"*:80>": f"*:{self.port}>", "header=20-40,MinRate=500 body=20": "header=5-10,MinRate=500 body=5"}
        return rendered("apache/site.conf.j2", "apache", self.way, {**ports, **self.changes}, self.interfaces, **{
            "socket": self.socket, "users": self.site.users, "acme_folder": self.folder, "minters": self.minters,
            "prefix": self.site.installation, "wsgi": self.folder / "noidtools.wsgi", **values})

    def outside(self) -> str:
        """Further lines outside of the host."""
        return ""

    def link_noidu(self, name: str) -> None:
        """The link by which CGI serves a minter."""
        (self.minters / f"noidu_{name}").symlink_to(self.site.installation / "bin" / "noidu")


# -- commands by URL ---------------------------------------------------------------------------------------------


class ApacheCgi(Apache):
    """A process for each request."""

    way = CGI

    def start(self) -> None:
        (self.minters / "noidr_kt5").symlink_to(self.site.installation / "bin" / "noidr")
        super().start()

    def create(self, name: str, *words: str) -> None:
        super().create(name, *words)
        self.link_noidu(name)

    def workers(self) -> list[int]:
        return [pid for pid in self.apache.children() if "/noidu_" in command_line(pid)]


class ApacheModCgi(ApacheCgi):
    """The same on an Apache of processes, where mod_cgi takes the place of mod_cgid."""

    other_modules = {"mpm_event": "mpm_prefork", "cgid": "cgi"}


class ApacheProxy(Apache):
    """Apache as a proxy in front of the service, the default."""

    way = PROXY

    def start(self) -> None:
        self.service = self.run_unit("apache", self.way)
        super().start()

    def workers(self) -> list[int]:
        return self.service.children()


class ApacheInterfaces(ApacheProxy):
    """The same with the interfaces of other software."""

    interfaces = "json,ezid,arklet,n2t,handle"


class ApacheFcgi(ApacheProxy):
    """Apache in front of the service, by FastCGI."""

    way = FASTCGI


class ApacheWsgi(Apache):
    """Apache that runs the program in processes of its own."""

    way = WSGI

    def start(self) -> None:
        text = rendered("noidtools.wsgi.j2", "apache", self.way, minters=self.minters)
        (self.folder / "noidtools.wsgi").write_text(text)
        super().start()

    def workers(self) -> list[int]:
        return [pid for pid in self.apache.children() if "noid-wsgi" in command_line(pid)]


# -- names -------------------------------------------------------------------------------------------------------


class ApacheRewrite(Resolving, ApacheCgi):
    """Apache with a RewriteMap, the manual's way."""

    map_file = False
    # The words of dbcreate for the minter kt5, if it is to be made before Apache starts.
    minter_words: tuple[str, ...] = ()

    def start(self) -> None:
        if self.minter_words and not (self.minters / "kt5").exists():
            self.create("kt5", *self.minter_words)
        super().start()

    def host(self, **values: object) -> str:
        text = super().host(**values)
        if not self.map_file:
            return text
        names = edited((CONF / "apache" / "resolver-map.conf").read_text(),
                       {"/srv/noid/kt5.dbm": self.folder / "kt5.dbm"})
        return edited(text, {"ServerName localhost\n": f"ServerName localhost\n{names}"})

    def outside(self) -> str:
        return f"Mutex pthread rewrite-map\nRedirect 302 {STATIC_PATH} {STATIC_TARGET}\n"

    def workers(self) -> list[int]:
        """The worker of noidr."""
        return [worker for parent in self.noidr() for worker in children(parent)]

    def noidr(self) -> list[int]:
        """The process that Apache has started."""
        found = [pid for pid in self.apache.children() if "noidr" in command_line(pid)]
        return [pid for pid in found if not any(pid in children(parent) for parent in found)]


class ApacheRewriteMyGoto(ApacheRewrite):
    """The same with another element."""

    changes = {"NOID_ELEMENT _t": "NOID_ELEMENT myGoto"}


class ApacheRewriteIbi(ApacheRewrite):
    """The same with a minter of IBI repository names."""

    minter_words = SCHEMES["ibi"]


class ApacheRewriteIbip(ApacheRewrite):
    """The same with a minter of IBIp labels."""

    minter_words = SCHEMES["ibip"]


class ApacheRewritePrefix(ApacheRewrite):
    """The same with a minter of PILIN suffixes, whose prefix is named in the line for that."""

    minter_words = SCHEMES["pilin"]
    changes = {'NOID_PREFIXES "(?!)"': f'NOID_PREFIXES "{PREFIXES}"'}


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


class _WithStatic(Apache):
    def outside(self) -> str:
        return f"Redirect 302 {STATIC_PATH} {STATIC_TARGET}\n"


class ApacheResolver(_WithStatic, Resolving, ApacheProxy):
    """Apache as a proxy."""


class ApacheFcgiResolver(_WithStatic, Resolving, ApacheFcgi):
    """Apache with FastCGI."""


class ApacheWsgiResolver(_WithStatic, Resolving, ApacheWsgi):
    """Apache with mod_wsgi."""


class ApacheResolverOfPrefixes(ApacheResolver):
    """Apache with prefixes of names, in the line for that."""

    changes = {'NOID_PREFIXES "(?!)"': f'NOID_PREFIXES "{PREFIXES}"'}


class ApacheResolverOfAllPaths(ApacheResolver):
    """Apache configured to take every path for a name, as a comment in its file explains."""

    changes = {"^/+(?:(?i:ark|hdl|doi|urn|info):|${NOID_IBI}|${NOID_PREFIXES}|(?:api/v1(?:/|$)|"
               "console(?:/|$))|healthz$|readyz$|metrics$|$)": "^/+(?!nd/|static)"}
