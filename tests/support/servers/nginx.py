"""nginx, started from the files in conf/nginx."""

from __future__ import annotations

import signal
from pathlib import Path

from support.http import free_port
from support.project import CONF
from support.servers.configuration import edited
from support.servers.daemon import Daemon
from support.servers.deployment import STATIC_PATH, STATIC_TARGET, Deployment, Resolving, wait_for_file
from support.servers.system import program


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
    service: Daemon

    def serve(self, configuration: str) -> None:
        self.site.folder_for(f"{self.name}/html")
        (self.folder / "html" / "static.txt").write_text("id: kt639k9\n\n")
        main = self.folder / "nginx.conf"
        main.write_text(main_configuration(self.folder, configuration))
        self.nginx = self.run(program("nginx"), "-c", main, "-p", self.folder)
        self.wait_until_served()

    def configured(self, file: str, port: int, changes: dict[str, object]) -> str:
        """A file of conf/nginx, edited."""
        return edited(CONF / "nginx" / file, {"listen 80": f"listen 127.0.0.1:{port}", **changes})

    def workers(self) -> list[int]:
        return self.service.children()


# -- commands by URL ---------------------------------------------------------------------------------------------


class NginxFcgi(Nginx):
    """nginx in front of the service, by FastCGI over a Unix socket."""

    protocol = "fcgi"

    def start(self) -> None:
        path = self.folder / "noid.sock"
        self.service = self.run_service(f"--{self.protocol}", path)
        wait_for_file(path)
        self.serve(self.adapted(self.configured(
            "noid-fcgi.conf", self.port, {"/etc/noid/users": self.site.users, "/run/noid/noid.sock": path})))

    def adapted(self, configuration: str) -> str:
        return configuration


class NginxScgi(NginxFcgi):
    """The same file with SCGI in place of FastCGI."""

    protocol = "scgi"

    def adapted(self, configuration: str) -> str:
        configuration = configuration.replace("CONTENT_LENGTH    $content_length", "SCGI 1")
        return configuration.replace("fastcgi_", "scgi_")


class NginxProxy(Nginx):
    """nginx in front of the embedded server."""

    def start(self) -> None:
        path = self.folder / "http.sock"
        self.service = self.run_unit("noid-http.service", path)
        wait_for_file(path)
        self.serve(self.configured(
            "noid-proxy.conf", self.port, {"/etc/noid/users": self.site.users, "/run/noid/http.sock": path}))


# -- names -------------------------------------------------------------------------------------------------------


class NginxResolver(Resolving, Nginx):
    """nginx with FastCGI."""

    names_file = "resolver-fcgi.conf"

    def start(self) -> None:
        path = self.folder / "noid.sock"
        self.service = self.run_service("--fcgi", path)
        wait_for_file(path)
        self._resolver_port = free_port()
        commands = self.configured(
            "noid-fcgi.conf", self.port, {"/etc/noid/users": self.site.users, "/run/noid/noid.sock": path})
        names = self.configured(
            self.names_file, self._resolver_port, {"/run/noid/noid.sock": path, **self.changes()})
        static = f"location = {STATIC_PATH} {{ return 302 {STATIC_TARGET}; }}\n    location / {{"
        self.serve(names.replace("location / {", static, 1) + commands)

    def changes(self) -> dict[str, object]:
        """Further words changed in the file about names."""
        return {}

    def reload(self) -> None:
        self.nginx.signal(signal.SIGHUP)

    def resolver_port(self) -> int:
        return self._resolver_port


class NginxMap(NginxResolver):
    """nginx with a map, and FastCGI for what is not in it."""

    names_file = "resolver-map.conf"

    def changes(self) -> dict[str, object]:
        (self.folder / "kt5.map").write_text("")
        return {"/srv/noid/kt5.map": self.folder / "kt5.map"}
