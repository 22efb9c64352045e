"""nginx, started from the files in conf/nginx."""

from __future__ import annotations

import re
import signal
from pathlib import Path

from support.project import CONF
from support.servers.configuration import edited
from support.servers.daemon import Daemon
from support.servers.deployment import STATIC_PATH, STATIC_TARGET, Deployment, Resolving, wait_for_file
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
    client_body_timeout 5s;
    client_header_timeout 5s;
{temporary}
{configuration}
}}
"""


class Nginx(Deployment):
    """nginx with a host made of site.conf, one of the files for a server block, and what both need."""

    service: Daemon
    way = "noid-fcgi.conf"
    # What is changed in the line about rate limits.
    limits: dict[str, object] = {}

    def serve(self, **sockets: Path) -> None:
        """Start nginx in front of the sockets, named fcgi or http."""
        self.site.folder_for(f"{self.name}/html")
        (self.folder / "html" / "static.txt").write_text("id: kt639k9\n\n")
        paths = {"fcgi": "/run/noid/noid.sock", "http": "/run/noid/http.sock"}
        common, way = self.folder / "noid-common.conf", self.folder / self.way
        common.write_text(edited(CONF / "nginx" / "noid-common.conf",
                                 {**{paths[kind]: path for kind, path in sockets.items()}, **self.limits}))
        way.write_text(self.adapted(edited(CONF / "nginx" / self.way, {
            "/etc/noid/users": self.site.users, **self.changes()})) + self.more())
        main = self.folder / "nginx.conf"
        main.write_text(main_configuration(self.folder, self.outside() + self.host(common, way)))
        self.nginx = self.run(program("nginx"), "-c", main, "-p", self.folder)
        self.wait_until_served()

    def host(self, common: Path, way: Path) -> str:
        """The server block, which includes the other files."""
        return edited(CONF / "nginx" / "site.conf", {
            "listen 80": f"listen 127.0.0.1:{self.port}", "listen [::]:80": f"listen unix:{self.folder}/ipv6.sock",
            "/etc/noid/nginx/noid-common.conf": common, "/etc/noid/nginx/noid-fcgi.conf": way,
            "/var/www/noid-acme": self.folder})

    def adapted(self, configuration: str) -> str:
        """The file for the server block, changed as one of its comments explains."""
        return configuration

    def changes(self) -> dict[str, object]:
        """Further words changed in the marked lines of the file for the server block."""
        return {}

    def outside(self) -> str:
        """Further lines outside of the server block."""
        return ""

    def more(self) -> str:
        """Further lines in the server block."""
        return f"location = {STATIC_PATH} {{ return 302 {STATIC_TARGET}; }}\n"

    def workers(self) -> list[int]:
        return self.service.children()

    def reload(self) -> None:
        self.nginx.signal(signal.SIGHUP)


# -- commands by URL ---------------------------------------------------------------------------------------------


class NginxFcgi(Nginx):
    """nginx in front of the service, by FastCGI over a Unix socket."""

    protocol = "fcgi"

    def start(self) -> None:
        path = self.folder / "noid.sock"
        self.service = self.run_service(f"--{self.protocol}", path)
        wait_for_file(path)
        self.serve(fcgi=path)


class NginxScgi(NginxFcgi):
    """The same file with SCGI in place of FastCGI."""

    protocol = "scgi"

    def adapted(self, configuration: str) -> str:
        configuration = configuration.replace("CONTENT_LENGTH    $content_length", "SCGI 1")
        return configuration.replace("fastcgi_", "scgi_")


class NginxProxy(Nginx):
    """nginx in front of the embedded server."""

    way = "noid-proxy.conf"

    def start(self) -> None:
        path = self.folder / "http.sock"
        self.service = self.run_unit("noid-http.service", path)
        wait_for_file(path)
        self.serve(http=path)


# -- names -------------------------------------------------------------------------------------------------------


class NginxResolver(Resolving, NginxFcgi):
    """nginx with FastCGI."""


class NginxResolverByForm(NginxResolver):
    """nginx with other pages beside the names, which are known by their form, as a comment in its file explains."""

    def adapted(self, configuration: str) -> str:
        (line,) = re.findall(r"^# +(location ~\* .* \{)$", configuration, re.MULTILINE)
        return configuration.replace("location / {  # edit", line.replace("(?!)", self.prefixes()))

    def prefixes(self) -> str:
        """What other names begin with; none."""
        return "(?!)"


class NginxResolverOfPrefixes(NginxResolverByForm):
    """The same with prefixes of names."""

    def prefixes(self) -> str:
        return PREFIXES


class NginxProxyResolver(Resolving, NginxProxy):
    """nginx as a proxy."""


class NginxMap(NginxResolver):
    """nginx with a map, and FastCGI for what is not in it."""

    def outside(self) -> str:
        (self.folder / "kt5.map").write_text("")
        return edited(CONF / "nginx" / "resolver-map.conf", {"/srv/noid/kt5.map": self.folder / "kt5.map"})

    def more(self) -> str:
        return super().more() + "if ($noid_target) { return 302 $noid_target; }\n"
