"""Hosts of plain files, started with what `noid export --site` wrote: Apache, nginx and Python's own server."""

from __future__ import annotations

import contextlib
import html
import http.client
import re
import shutil
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

from support.http import Reply, free_port
from support.process import wait_until
from support.servers import apache, nginx
from support.servers.daemon import Daemon
from support.servers.system import program

_MODULES = ["mpm_event", "authz_core", "alias", "dir", "mime", "rewrite"]
_TYPES = "TypesConfig /etc/mime.types\n"
_REFRESH = re.compile(r'<meta http-equiv="refresh" content="0; url=([^"]*)">')


class StaticHost:
    """A host that serves a site."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def get(self, path: str) -> Reply:
        """What is answered for a path, sent as it is."""
        for attempt in range(2):
            try:
                self._connection.putrequest("GET", path, skip_accept_encoding=True)
                self._connection.endheaders()
                reply = self._connection.getresponse()
                body = reply.read()
                return Reply(reply.status, {name.lower(): value for name, value in reply.getheaders()}, body)
            except (http.client.RemoteDisconnected, ConnectionResetError):
                if attempt:
                    raise
                self._connection.close()  # a server closes a connection after some requests
        raise AssertionError

    def target(self, path: str) -> str:
        """Where a path leads: by a redirect, or by the page for browsers, after redirects on the same host."""
        for _ in range(3):
            reply = self.get(path)
            if reply.status == 410:
                return "gone"
            if reply.status in (301, 302):
                found = reply.headers["location"]
                if not found.startswith("/"):
                    return found
                path = found
                continue
            match = _REFRESH.search(reply.text)
            return html.unescape(match[1]) if match else f"status {reply.status}"
        return "a loop"

    def close(self) -> None:
        self._connection.close()


@contextlib.contextmanager
def static_host(kind: str, site: Path) -> Iterator[StaticHost]:
    """A server of one of the kinds apache, htaccess, nginx and python, with the folder of a site."""
    folder = Path(tempfile.mkdtemp(prefix="noid-static-"))
    folder.chmod(0o777)
    port = free_port()
    try:
        daemon = Daemon(_arguments(kind, site, folder, port), folder / "log", cwd=site)
        try:
            wait_until(lambda: _listens(port) or not daemon.running(), seconds=120)
            assert daemon.running(), (folder / "log").read_text() + "".join(
                file.read_text() for file in folder.glob("error.log"))
            host = StaticHost(port)
            yield host
            host.close()
        finally:
            daemon.stop()
    finally:
        shutil.rmtree(folder)


def _arguments(kind: str, site: Path, folder: Path, port: int) -> list[object]:
    if kind == "python":
        return ["/usr/bin/python3", "-m", "http.server", "--bind", "127.0.0.1", str(port)]
    if kind == "nginx":
        server = (f"default_type text/html;\nserver {{ listen 127.0.0.1:{port}; "
                  f"include {site}/noid-site/nginx-server.conf; }}")
        main = folder / "nginx.conf"
        main.write_text(nginx.main_configuration(folder, f"include {site}/noid-site/nginx-http.conf;\n{server}"))
        return [program("nginx"), "-c", main, "-p", folder, "-e", folder / "error.log"]
    (folder / "htdocs").mkdir()
    if kind == "apache":
        inside = f"Define NOID_SITE {site}\nInclude ${{NOID_SITE}}/noid-site/apache.conf"
    else:
        inside = (f"DocumentRoot {site}\n<Directory {site}>\nOptions FollowSymLinks\nAllowOverride All\n"
                  "Require all granted\n</Directory>")
    main = folder / "apache.conf"
    main.write_text(apache.main_configuration(
        folder, port, f"{_TYPES}<VirtualHost *:{port}>\n{inside}\n</VirtualHost>\n", _MODULES))
    return [program("apache2"), "-DFOREGROUND", "-f", main]


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False
