"""nginx, started from the templates in conf/nginx."""

from __future__ import annotations

import re
import signal
from pathlib import Path

from support.project import CONF
from support.servers.configuration import edited, rendered
from support.servers.daemon import Daemon
from support.servers.deployment import STATIC_PATH, STATIC_TARGET, Deployment, Resolving
from support.servers.system import program
from support.templates import PREFIXES


def main_configuration(folder: Path, configuration: str) -> str:
    """The rest of an nginx configuration."""
    temporary = "".join(f"    {kind}_temp_path {folder}/{kind};\n"
                        for kind in ("client_body", "fastcgi", "proxy", "scgi", "uwsgi"))
    return f"""
worker_processes 2;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
daemon off;
events {{ worker_connections 256; }}
http {{
    access_log off;
{temporary}
{configuration}
}}
"""


class Nginx(Deployment):
    """nginx with the host that `noid setup nginx` writes, in front of the service."""

    service: Daemon
    way = "proxy"
    # Words that are changed in the configuration.
    changes: dict[str, object] = {}

    def start(self) -> None:
        self.service = self.run_unit("nginx", self.way)
        self.site.folder_for(f"{self.name}/html")
        (self.folder / "html" / "static.txt").write_text("id: kt639k9\n\n")
        main = self.folder / "nginx.conf"
        main.write_text(main_configuration(self.folder, self.outside() + self.host()))
        self.nginx = self.run(program("nginx"), "-c", main, "-p", self.folder)
        self.wait_until_served()

    def host(self, **values: object) -> str:
        """The whole configuration of the host."""
        ports = {"listen 80;": f"listen 127.0.0.1:{self.port};",
                 "listen [::]:80;": f"listen unix:{self.folder}/6.sock;",
                 "client_header_timeout 20s": "client_header_timeout 5s",
                 "client_body_timeout   20s": "client_body_timeout 5s"}
        text = rendered("nginx/site.conf.j2", "nginx", self.way, {**ports, **self.changes}, socket=self.socket,
                        users=self.site.users, acme_folder=self.folder, cache=self.folder / "cache",
                        interfaces=self.interfaces, **values)
        return self.adapted(text).removesuffix("}\n") + self.more() + "}\n"

    def adapted(self, configuration: str) -> str:
        """The configuration, changed as one of its comments explains."""
        return configuration

    def outside(self) -> str:
        """Further lines outside of the server block."""
        return ""

    def more(self) -> str:
        """Further lines in the server block."""
        return f"location = {STATIC_PATH} {{ return 302 {STATIC_TARGET}; }}\nlocation = /static.txt {{ }}\n"

    def workers(self) -> list[int]:
        return self.service.children()

    def reload(self) -> None:
        self.nginx.signal(signal.SIGHUP)


# -- commands by URL ---------------------------------------------------------------------------------------------


class NginxProxy(Nginx):
    """nginx as a proxy, the default."""


class NginxInterfaces(NginxProxy):
    """The same with the interfaces of other software."""

    interfaces = "json,ezid,arklet,n2t,handle"


class NginxFcgi(Nginx):
    """nginx with FastCGI."""

    way = "fastcgi"


# -- names -------------------------------------------------------------------------------------------------------


class NginxResolver(Resolving, NginxProxy):
    """nginx as a proxy."""


class NginxFcgiResolver(Resolving, NginxFcgi):
    """nginx with FastCGI."""


class NginxResolverByForm(NginxResolver):
    """nginx with other pages beside the names, which are known by their form, as a comment in its file explains."""

    def adapted(self, configuration: str) -> str:
        (line,) = re.findall(r"^ +# +(location ~\* .* \{)$", configuration, re.MULTILINE)
        head, _, rest = configuration.rpartition("    location / {\n")
        return f"{head}{str(line).replace('(?!)', self.prefixes())}\n{rest}"

    def prefixes(self) -> str:
        """What other names begin with; none."""
        return "(?!)"


class NginxResolverOfPrefixes(NginxResolverByForm):
    """The same with prefixes of names."""

    def prefixes(self) -> str:
        return PREFIXES


class NginxMap(NginxResolver):
    """nginx with a map, and the service for what is not in it."""

    def outside(self) -> str:
        (self.folder / "kt5.map").write_text("")
        text = (CONF / "nginx" / "resolver-map.conf").read_text()
        return edited(text, {"/srv/noid/kt5.map": self.folder / "kt5.map"})

    def more(self) -> str:
        return super().more() + "if ($noid_target) { return 302 $noid_target; }\n"
