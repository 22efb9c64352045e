"""Real servers with the files in conf/ that are about names, for tests and benchmarks."""

from __future__ import annotations

import signal

from server_support import (
    CONF,
    Apache,
    Embedded,
    Nginx,
    Reply,
    command_line,
    curl,
    edited,
    free_port,
    nginx_main,
    program,
    wait_for_file,
)

LONG = ("kt.reeded", "long", "13030", "cdlib.org", "dpg")
# What a server can do by itself, for comparison.
STATIC_PATH, STATIC_TARGET = "/static", "https://target.example/static"


class Clicks:
    """What a door to names adds to a door to minters."""

    port: int

    def click(self, name: str, *options: str) -> Reply:
        return curl(f"http://127.0.0.1:{self.names_port()}/{name}", "--path-as-is", *options)

    def location(self, name: str) -> str | None:
        return self.click(name).headers.get("location")

    def names_port(self) -> int:
        return self.port

    def noidrs(self) -> list[int]:
        return [pid for pid in self.apache.children() if "noidr" in command_line(pid)]


class ApacheRewrite(Clicks, Apache):
    """Apache with a RewriteMap, the manual's way."""

    element = "_t"
    map_file = False

    def start(self) -> None:
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
        return {}

    def more(self) -> str:
        return ""

    def create(self, name: str, *words: str) -> None:
        super().create(name, *words)
        (self.minters / f"noidu_{name}").symlink_to(self.site.installation / "bin" / "noidu")


class ApacheRewriteMyGoto(ApacheRewrite):
    """The same with another element."""

    element = "myGoto"


class ApacheRewriteMap(ApacheRewrite):
    """Apache with a dbm file, and the RewriteMap for what is not in it."""

    map_file = True

    def start(self) -> None:
        # Apache wants the map to be there when it starts.
        if not (self.minters / "kt5").exists():
            self.create("kt5", *LONG)
        self.noid("-f", "kt5", "export", "--map", "dbm", str(self.folder / "kt5.dbm"))
        super().start()


class ApacheNames(Clicks, Apache):
    """Apache with FastCGI."""

    # What is changed in the line that says which paths are names.
    names: dict[str, object] = {}

    def start(self) -> None:
        path = self.folder / "noid.sock"
        self.service = self.run_service("--fcgi", path)
        wait_for_file(path)
        commands = edited(CONF / "apache" / "noid-fcgi.conf",
                          {"/run/noid/noid.sock": path, "/etc/noid/users": self.site.users})
        names = edited(CONF / "apache" / "resolver-fcgi.conf", {"/run/noid/noid.sock": path, **self.names})
        self.serve(f"{commands}{names}\nRedirect 302 {STATIC_PATH} {STATIC_TARGET}\n")


class NginxNames(Clicks, Nginx):
    """nginx with FastCGI."""

    names_file = "resolver-fcgi.conf"

    def start(self) -> None:
        path = self.folder / "noid.sock"
        self.service = self.run_service("--fcgi", path)
        wait_for_file(path)
        self._names_port = free_port()
        commands = edited(CONF / "nginx" / "noid-fcgi.conf", {
            "listen 80": f"listen 127.0.0.1:{self.port}", "/etc/noid/users": self.site.users,
            "/run/noid/noid.sock": path})
        names = edited(CONF / "nginx" / self.names_file, {
            "listen 80": f"listen 127.0.0.1:{self._names_port}", "/run/noid/noid.sock": path, **self.changes()})
        static = f"location = {STATIC_PATH} {{ return 302 {STATIC_TARGET}; }}\n    location / {{"
        names = names.replace("location / {", static, 1)
        main = self.folder / "nginx.conf"
        main.write_text(nginx_main(self.folder, names + commands))
        self.nginx = self.run(program("nginx"), "-c", main, "-p", self.folder)
        self.wait_until_served()

    def changes(self) -> dict[str, object]:
        return {}

    def reload(self) -> None:
        self.nginx.signal(signal.SIGHUP)

    def names_port(self) -> int:
        return self._names_port


class NginxMap(NginxNames):
    """nginx with a map, and FastCGI for what is not in it."""

    names_file = "resolver-map.conf"

    def changes(self) -> dict[str, object]:
        (self.folder / "kt5.map").write_text("")
        return {"/srv/noid/kt5.map": self.folder / "kt5.map"}


class EmbeddedNames(Clicks, Embedded):
    """The program's own server."""


DOORS = {
    "rewrite": ApacheRewrite, "rewrite-killed": ApacheRewrite, "rewrite-mygoto": ApacheRewriteMyGoto,
    "rewrite-map": ApacheRewriteMap,
    "apache-names": ApacheNames, "nginx-names": NginxNames, "nginx-map": NginxMap,
    "embedded-names": EmbeddedNames,
}
