"""Real web servers for tests and benchmarks, started from the files in conf/ on free ports of 127.0.0.1.

Everything lies in one temporary folder that the servers' user can read: an installation of the package for the
Python that mod_wsgi was built for, the minters, the passwords and the logs.  As root the servers run as www-data,
otherwise as the caller.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
CONF = ROOT / "conf"
PASSWORD = "s3cret:with colon"
USER = "noid"
_DEPENDENCIES = ("lmdb", "pcre2", "flup", "waitress")
_PACKAGE_OF = {
    "apache2": "apache2", "nginx": "nginx-light", "curl": "curl", "htpasswd": "apache2-utils", "wrk": "wrk",
    "systemd-analyze": "systemd", "systemd-socket-activate": "systemd",
}
_APACHE_MODULES = Path("/usr/lib/apache2/modules")
# What a fresh Debian loads; a file in conf/ names what it needs besides, in its line "a2enmod".
_USUAL_MODULES = (
    "mpm_event", "access_compat", "alias", "auth_basic", "authn_core", "authn_file", "authz_core", "authz_host",
    "authz_user", "autoindex", "deflate", "dir", "env", "filter", "negotiation", "reqtimeout", "setenvif", "status",
)


class MissingError(Exception):
    """A server that the tests need is not installed."""


def program(name: str) -> str:
    found = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if found is None:
        raise MissingError(f"{name} is missing: apt-get install {_PACKAGE_OF[name]}")
    return found


def server_ids() -> tuple[int, int]:
    """User and group as which the servers run: ours, unless we are root."""
    if os.getuid() != 0:
        return os.getuid(), os.getgid()
    try:
        user = pwd.getpwnam("www-data")
    except KeyError:
        raise MissingError("the user www-data is missing: apt-get install apache2") from None
    return user.pw_uid, user.pw_gid


def as_server_user() -> dict:
    """Arguments for subprocess that make a process the servers' user, with a small environment."""
    settings: dict = {"env": {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}}
    if os.getuid() == 0:
        user, group = server_ids()
        settings.update(user=user, group=group, extra_groups=[])
    return settings


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


# -- an installation ---------------------------------------------------------------------------------------------


def wsgi_python() -> str:
    """The interpreter that Apache's mod_wsgi was built for."""
    module = _APACHE_MODULES / "mod_wsgi.so"
    if not module.exists():
        raise MissingError("mod_wsgi is missing: apt-get install libapache2-mod-wsgi-py3")
    version = re.search(rb"libpython(3\.\d+)", module.read_bytes())
    assert version, "mod_wsgi.so names no libpython"
    name = f"python{version[1].decode()}"
    found = shutil.which(name, path="/usr/bin:/usr/local/bin")
    if found is None:
        raise MissingError(f"{name}, for which mod_wsgi was built, is missing: apt-get install {name}")
    return found


def install(folder: Path) -> Path:
    """A virtual environment with the package in it, as pip would make it, without asking a network if possible."""
    interpreter = wsgi_python()
    subprocess.run([interpreter, "-m", "venv", "--without-pip", folder], check=True)
    (packages,) = folder.glob("lib/python3*/site-packages")
    if os.path.basename(interpreter) == f"python3.{sys.version_info.minor}":
        for name in _DEPENDENCIES:
            _copy_distribution(name, packages)
    else:
        subprocess.run(
            [sys.executable, "-m", "pip", "install", "--quiet", "--target", packages, "--only-binary=:all:",
             "--python-version", os.path.basename(interpreter).removeprefix("python"), *_DEPENDENCIES], check=True,
        )
    shutil.copytree(ROOT / "noidtools", packages / "noidtools", ignore=shutil.ignore_patterns("__pycache__"))
    for script in (ROOT / "cgi-bin").iterdir():
        if script.is_file():
            _install_script(script, folder)
    # The servers' user may not write here, and would compile everything anew at each start.
    subprocess.run([folder / "bin" / "python", "-m", "compileall", "-q", packages], check=True)
    return folder


def _copy_distribution(name: str, packages: Path) -> None:
    distribution = importlib.metadata.distribution(name)
    for file in distribution.files or ():
        if ".." in file.parts or "__pycache__" in file.parts:
            continue
        target = packages / file
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(distribution.locate_file(file), target)


def _install_script(script: Path, folder: Path) -> None:
    first, _, rest = script.read_text().partition("\n")
    assert first == "#!/usr/bin/env python3", f"{script}: its first line is what pip replaces"
    target = folder / "bin" / script.name
    target.write_text(f"#!{folder}/bin/python\n{rest}")
    target.chmod(0o755)


# -- processes ---------------------------------------------------------------------------------------------------


class Daemon:
    """A server in the foreground, in a session of its own, with its log; stopped with all its children."""

    def __init__(self, arguments: list, log: Path, **settings) -> None:
        self.arguments = [str(argument) for argument in arguments]
        self.log = log
        self._settings = {**as_server_user(), **settings}
        self.start()

    def start(self) -> None:
        with open(self.log, "ab") as log:
            self._process = subprocess.Popen(
                self.arguments, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                **self._settings,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def running(self) -> bool:
        return self._process.poll() is None

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def wait(self, seconds: float = 10) -> int:
        return self._process.wait(seconds)

    def children(self) -> list[int]:
        """All processes below this one, the nearest first."""
        parents: dict[int, list[int]] = {}
        for pid, parent in _processes():
            parents.setdefault(parent, []).append(pid)
        found, queue = [], [self.pid]
        while queue:
            below = parents.get(queue.pop(0), [])
            found += below
            queue += below
        return found

    def stop(self) -> None:
        family = [(pid, _born(pid)) for pid in self.children()]
        if self.running():
            self.signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.wait(10)
        if self.running():
            self._process.kill()
            self.wait()
        for pid, born in family:
            if alive(pid) and _born(pid) == born:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


def _processes():
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError):
                state, parent = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()[:2]
                if state != "Z":
                    yield int(entry), int(parent)


def _born(pid: int) -> str:
    """When a process was started: two processes may have one number, but not one number and one birth."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    return ""


def alive(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False


def command_line(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
    return ""


# -- configurations ----------------------------------------------------------------------------------------------


def marked_lines(text: str) -> list[int]:
    """The lines of a shipped configuration that are meant to be edited."""
    found, inside = [], False
    for number, line in enumerate(text.splitlines()):
        if "---- nothing below" in line:
            inside = False
        if (inside and line.strip() and not line.lstrip().startswith("#")) or "# edit" in line:
            found.append(number)
        if "---- edit these lines" in line:
            inside = True
    return found


def edited(path: Path, changes: dict[str, object]) -> str:
    """A shipped configuration with words changed in its marked lines, as a person would change them."""
    text = path.read_text(encoding="utf-8")
    lines, marked = text.splitlines(), marked_lines(text)
    for old, new in changes.items():
        places = [number for number in marked if old in lines[number]]
        assert places, f"{path.name}: {old!r} is in no marked line"
        for number in places:
            lines[number] = lines[number].replace(old, str(new))
    return "\n".join(lines) + "\n"


def apache_modules(configuration: str) -> list[str]:
    """The modules that the file itself tells its reader to enable."""
    return re.findall(r"^# +a2enmod (.+)$", configuration, re.MULTILINE)[0].split()


def apache_main(folder: Path, port: int, configuration: str, others: dict[str, str]) -> str:
    """The rest of an Apache configuration, much as Debian ships it; `others` are modules in place of the usual."""
    modules = [others.get(name, name) for name in (*_USUAL_MODULES, *apache_modules(configuration))]
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
    path = _APACHE_MODULES / f"mod_{name}.so"
    if not path.exists():
        package = "libapache2-mod-wsgi-py3" if name == "wsgi" else "apache2"
        raise MissingError(f"Apache's module {name} is missing: apt-get install {package}")
    return path


def nginx_main(folder: Path, configuration: str) -> str:
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


# -- requests ----------------------------------------------------------------------------------------------------


class Reply:
    """An answer as it came over the wire."""

    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "surrogateescape")

    def __repr__(self) -> str:
        return f"<{self.status} {self.headers} {self.body[:500]!r}>"


def parsed(answer: bytes) -> Reply:
    """The last answer in what a server sent: interim ones (100 Continue) come before it."""
    while True:
        head, gap, body = answer.partition(b"\r\n\r\n")
        assert gap and head.startswith(b"HTTP/1."), f"this is no answer: {answer[:300]!r}"
        first, *lines = head.decode("latin-1").split("\r\n")
        status = int(first.split()[1])
        if status >= 200:
            fields = (line.partition(":") for line in lines)
            return Reply(status, {name.strip().lower(): value.strip() for name, _, value in fields}, body)
        answer = body


def curl(url: str, *options: str, stdin: bytes = b"", seconds: int = 15) -> Reply:
    done = subprocess.run(
        [program("curl"), "--silent", "--show-error", "--globoff", "--include", "--max-time", str(seconds),
         *options, url],
        input=stdin, capture_output=True, check=False,
    )
    assert done.returncode == 0, f"curl {url[:200]}: {done.stderr.decode()}"
    return parsed(done.stdout)


def raw(port: int, *pieces: bytes, pause: float = 0, seconds: float = 15, finish: bool = False) -> bytes:
    """What a server answers to bytes sent as they are, in pieces if need be, until it closes or nothing more comes."""
    answer = b""
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as connection:
        with contextlib.suppress(ConnectionError):
            for piece in pieces:
                connection.sendall(piece)
                time.sleep(pause)
            if finish:
                connection.shutdown(socket.SHUT_WR)
        with contextlib.suppress(ConnectionError, TimeoutError):
            while piece := connection.recv(65536):
                answer += piece
    return answer


# -- doors -------------------------------------------------------------------------------------------------------


class Site:
    """One temporary folder with an installation and the passwords, for as many doors as are wanted."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="noid-servers-"))
        self.folder.chmod(0o755)
        self.installation = install(self.folder / "opt")
        self.users = self.folder / "users"
        self.users.touch()
        for user in (USER, "guest"):
            arguments = [program("htpasswd"), "-b", "-B", self.users, user, PASSWORD]
            subprocess.run(arguments, check=True, capture_output=True)
        self.doors: dict[str, Door] = {}

    def door(self, name: str) -> Door:
        if name not in self.doors:
            self.doors[name] = DOORS[name](self, name)
            self.doors[name].start()
        return self.doors[name]

    def folder_for(self, name: str) -> Path:
        """A folder that belongs to the servers' user."""
        folder = self.folder / name
        folder.mkdir(parents=True)
        os.chown(folder, *server_ids())
        return folder

    def close(self) -> None:
        try:
            for door in self.doors.values():
                door.stop()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)


class Door:
    """One way in to minters, with a folder of minters of its own."""

    path = "/nd"

    def __init__(self, site: Site, name: str) -> None:
        self.site = site
        self.name = name
        self.folder = site.folder_for(name)
        self.minters = site.folder_for(f"{name}/minters")
        self.port = free_port()
        self.daemons: list[Daemon] = []

    # What differs from door to door.

    def start(self) -> None:
        raise AssertionError("each kind has its own")

    def workers(self) -> list[int]:
        """The processes that run commands."""
        raise AssertionError("each kind has its own")

    def credentials(self, user: str = USER) -> list[str]:
        return ["--user", f"{user}:{PASSWORD}"]

    # What does not.

    def run(self, *arguments: object, name: str = "server", **settings) -> Daemon:
        daemon = Daemon(list(arguments), self.folder / f"{name}.log", cwd=self.folder, **settings)
        self.daemons.append(daemon)
        return daemon

    def run_service(self, *options: object) -> Daemon:
        """The program as a service, with two processes whatever the machine."""
        return self.run(self.site.installation / "bin" / "noid", "serve", *options, "--minters", self.minters,
                        "--workers", "2", name="service")

    def run_unit(self, name: str, path: Path) -> Daemon:
        """The program as systemd starts it for a socket, by the unit's own command."""
        unit = edited(CONF / "systemd" / name, {"/opt/noid": self.site.installation, "/srv/noid": self.minters})
        command = re.findall(r"^ExecStart=(.+)$", unit, re.MULTILINE)[0].split()
        return self.run(program("systemd-socket-activate"), f"--listen={path}", *command, "--workers", "2",
                        name="service")

    def wait_until_served(self, seconds: float = 15) -> None:
        deadline = time.monotonic() + seconds
        while True:
            for daemon in self.daemons:
                assert daemon.running(), f"{daemon.arguments} ended:\n{self.logs()}"
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return
            assert time.monotonic() < deadline, f"{self.name} does not serve:\n{self.logs()}"
            time.sleep(0.02)

    def stop(self) -> None:
        for daemon in reversed(self.daemons):
            daemon.stop()

    def logs(self) -> str:
        return "\n".join(f"== {path.name}\n{path.read_text(errors='replace')[-4000:]}"
                         for path in sorted(self.folder.glob("*.log")))

    def noid(self, *words: str | bytes, stdin: bytes = b"") -> str:
        """A command at the shell of the servers' user, in the folder of the minters."""
        done = subprocess.run([self.site.installation / "bin" / "noid", *words], cwd=self.minters, input=stdin,
                              capture_output=True, check=False, timeout=60, **as_server_user())
        assert done.returncode == 0, (words, done.stderr)
        return done.stdout.decode("utf-8", "surrogateescape")

    def create(self, name: str, *words: str) -> None:
        """A new minter, reachable through this door."""
        self.site.folder_for(f"{self.name}/minters/{name}")
        self.noid("-f", name, "dbcreate", *words)

    def url(self, minter: str, query: str) -> str:
        return f"http://127.0.0.1:{self.port}{self.path}/noidu_{minter}?{query}"

    def ask(self, minter: str, query: str, *options: str, user: str = USER, **settings) -> Reply:
        """What curl gets for a query; user="" asks as nobody in particular."""
        return curl(self.url(minter, query), *(self.credentials(user) if user else []), *options, **settings)


class Apache(Door):
    # Modules to load in place of others.
    modules: dict[str, str] = {}

    def serve(self, configuration: str) -> None:
        self.site.folder_for(f"{self.name}/htdocs")
        (self.folder / "htdocs" / "static.txt").write_text("id: kt639k9\n\n")
        main = self.folder / "apache.conf"
        main.write_text(apache_main(self.folder, self.port, configuration, self.modules))
        self.apache = self.run(program("apache2"), "-DFOREGROUND", "-f", main)
        self.wait_until_served()


class ApacheCgi(Apache):
    """A process for each request."""

    def start(self) -> None:
        self.serve(edited(CONF / "apache" / "noid-cgi.conf",
                          {"/srv/noid": self.minters, "/etc/noid/users": self.site.users}))

    def create(self, name: str, *words: str) -> None:
        super().create(name, *words)
        (self.minters / f"noidu_{name}").symlink_to(self.site.installation / "bin" / "noidu")

    def workers(self) -> list[int]:
        return [pid for pid in self.apache.children() if "/noidu_" in command_line(pid)]


class ApacheModCgi(ApacheCgi):
    """The same file on an Apache of processes, where mod_cgi takes the place of mod_cgid."""

    modules = {"mpm_event": "mpm_prefork", "cgid": "cgi"}


class ApacheFcgi(Apache):
    """Apache in front of the service, by FastCGI over a Unix socket."""

    def start(self) -> None:
        path = self.folder / "noid.sock"
        self.service = self.run_unit("noid.service", path)
        wait_for_file(path)
        self.serve(edited(CONF / "apache" / "noid-fcgi.conf",
                          {"/run/noid/noid.sock": path, "/etc/noid/users": self.site.users}))

    def workers(self) -> list[int]:
        return self.service.children()


class ApacheWsgi(Apache):
    """Apache that runs the program in processes of its own."""

    def start(self) -> None:
        wsgi = self.folder / "noidtools.wsgi"
        wsgi.write_text(edited(CONF / "noidtools.wsgi", {"/srv/noid": self.minters}))
        self.serve(edited(CONF / "apache" / "noid-wsgi.conf", {
            "/etc/noid/noidtools.wsgi": wsgi, "/opt/noid": self.site.installation, "/etc/noid/users": self.site.users,
        }))

    def workers(self) -> list[int]:
        return [pid for pid in self.apache.children() if "noid-wsgi" in command_line(pid)]


class Nginx(Door):
    def serve(self, file: str, changes: dict[str, object], protocol: str = "fastcgi") -> None:
        configuration = edited(CONF / "nginx" / file, {
            "listen 80": f"listen 127.0.0.1:{self.port}", "/etc/noid/users": self.site.users, **changes,
        })
        if protocol == "scgi":
            configuration = configuration.replace("CONTENT_LENGTH    $content_length", "SCGI 1")
            configuration = configuration.replace("fastcgi_", "scgi_")
        self.site.folder_for(f"{self.name}/html")
        (self.folder / "html" / "static.txt").write_text("id: kt639k9\n\n")
        main = self.folder / "nginx.conf"
        main.write_text(nginx_main(self.folder, configuration))
        self.run(program("nginx"), "-c", main, "-p", self.folder)
        self.wait_until_served()

    def workers(self) -> list[int]:
        return self.service.children()


class NginxFcgi(Nginx):
    """nginx in front of the service, by FastCGI over a Unix socket."""

    def start(self) -> None:
        path = self.folder / "noid.sock"
        self.service = self.run_service("--fcgi", path)
        wait_for_file(path)
        self.serve("noid-fcgi.conf", {"/run/noid/noid.sock": path})


class NginxScgi(Nginx):
    """The same file with SCGI in place of FastCGI."""

    def start(self) -> None:
        path = self.folder / "noid.sock"
        self.service = self.run_service("--scgi", path)
        wait_for_file(path)
        self.serve("noid-fcgi.conf", {"/run/noid/noid.sock": path}, protocol="scgi")


class NginxProxy(Nginx):
    """nginx in front of the embedded server."""

    def start(self) -> None:
        path = self.folder / "http.sock"
        self.service = self.run_unit("noid-http.service", path)
        wait_for_file(path)
        self.serve("noid-proxy.conf", {"/run/noid/http.sock": path})


class Embedded(Door):
    """The program's own server.  It checks no passwords, so the tests tell it the user as a proxy would."""

    path = ""

    def start(self) -> None:
        self.service = self.run_service("--http", f"127.0.0.1:{self.port}", "--proxy", "127.0.0.1",
                                        "--user-header", "X-Remote-User")
        self.wait_until_served()

    def credentials(self, user: str = USER) -> list[str]:
        return ["--header", f"X-Remote-User: {user}"]

    def workers(self) -> list[int]:
        return self.service.children()


def wait_for_file(path: Path, seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} does not appear"
        time.sleep(0.01)


DOORS: dict[str, type[Door]] = {
    "apache-cgi": ApacheCgi, "apache-mod_cgi": ApacheModCgi, "apache-fcgi": ApacheFcgi, "apache-wsgi": ApacheWsgi,
    "nginx-fcgi": NginxFcgi, "nginx-scgi": NginxScgi, "nginx-proxy": NginxProxy, "embedded": Embedded,
}
