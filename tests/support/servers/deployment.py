"""A site with an installation, and the deployments started in it: a web server, its configuration, its minters."""

from __future__ import annotations

import abc
import base64
import contextlib
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, TypeVar

from noidtools.deployment.setup import USUAL_INTERFACES
from support.http import Reply, free_port
from support.process import wait_until
from support.servers.configuration import rendered
from support.servers.curl import curl
from support.servers.daemon import Daemon
from support.servers.installation import install
from support.servers.system import as_server_user, program, server_ids

PASSWORD = "s3cret:with colon"
USER = "noid"
# What a server can do by itself, for comparison.
STATIC_PATH, STATIC_TARGET = "/static", "https://target.example/static"

D = TypeVar("D", bound="Deployment")


class Installation:
    """The package installed in a temporary folder that the servers' user can read, and a file with passwords."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="noid-installation-"))
        self.folder.chmod(0o755)
        self.root = install(self.folder / "opt")
        self.users = self.folder / "users"
        self.users.touch()
        for user in (USER, "guest"):
            arguments = [program("htpasswd"), "-b", "-B", str(self.users), user, PASSWORD]
            subprocess.run(arguments, check=True, capture_output=True)

    def close(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


class Site:
    """A temporary folder for any number of deployments of one installation."""

    def __init__(self, installation: Installation) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="noid-servers-"))
        self.folder.chmod(0o755)
        self.installation = installation.root
        self.users = installation.users
        self.deployments: dict[str, Deployment] = {}

    def add(self, kind: type[D], name: str) -> D:
        """A deployment that is not started yet; it is stopped with the site."""
        made = kind(self, name)
        self.deployments[name] = made
        return made

    def folder_for(self, name: str) -> Path:
        """A folder that belongs to the servers' user."""
        folder = self.folder / name
        folder.mkdir(parents=True)
        os.chown(folder, *server_ids())
        return folder

    def close(self) -> None:
        try:
            for deployment in self.deployments.values():
                deployment.stop()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)


class Deployment(abc.ABC):
    """One way to serve minters, with a folder of minters of its own, on a free port of 127.0.0.1."""

    path = "/nd"
    service: Daemon
    interfaces = USUAL_INTERFACES

    def __init__(self, site: Site, name: str) -> None:
        self.site = site
        self.name = name
        self.folder = site.folder_for(name)
        self.minters = site.folder_for(f"{name}/minters")
        self.port = free_port()
        self.daemons: list[Daemon] = []
        self._minters_made = 0

    @abc.abstractmethod
    def start(self) -> None:
        """Start the server and wait until it listens."""

    @abc.abstractmethod
    def workers(self) -> list[int]:
        """The processes that run commands."""

    def credentials(self, user: str = USER) -> list[str]:
        """Options of curl that make it this user."""
        return ["--user", f"{user}:{PASSWORD}"]

    def login_header(self) -> bytes:
        """The line of a request's head that makes it the user's."""
        return b"Authorization: Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()) + b"\r\n"

    def run(self, *arguments: object, name: str = "server", **settings: Any) -> Daemon:
        daemon = Daemon(list(arguments), self.folder / f"{name}.log", cwd=self.folder, **settings)
        self.daemons.append(daemon)
        return daemon

    def run_service(self, *options: object) -> Daemon:
        """Start `noid serve`, with two processes whatever the machine."""
        return self.run(self.site.installation / "bin" / "noid", "serve", *options, "--minters", self.minters,
                        "--workers", "2", name="service")

    @property
    def socket(self) -> Path:
        """The socket of the service."""
        return self.folder / "noid.sock"

    def run_unit(self, server: str, way: str) -> Daemon:
        """Start the service by the command of its unit, and wait until it listens."""
        unit = rendered("systemd/noid.service.j2", server, way, prefix=self.site.installation, minters=self.minters,
                        socket=self.socket, interfaces=self.interfaces)
        command = re.findall(r"^ExecStart=(.+)$", unit, re.MULTILINE)[0].split()
        daemon = self.run(*command, "--workers", "2", name="service")
        wait_until(self._service_listens, 20, lambda: f"the service does not listen:\n{self.logs()}")
        return daemon

    def _service_listens(self) -> bool:
        with socket.socket(socket.AF_UNIX) as probe, contextlib.suppress(OSError):
            probe.connect(str(self.socket))
            return True
        return False

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
        """Output of a noid command that the servers' user runs in the folder of the minters."""
        done = subprocess.run([self.site.installation / "bin" / "noid", *words], cwd=self.minters, input=stdin,
                              capture_output=True, check=False, timeout=60, **as_server_user())
        assert done.returncode == 0, (words, done.stderr)
        return str(done.stdout, "utf-8", "surrogateescape")

    def create(self, name: str, *words: str) -> None:
        """Make a new minter, which is served at once.  On the web, who has logged in may administer it."""
        self.site.folder_for(f"{self.name}/minters/{name}")
        self.noid("-f", name, "dbcreate", *words)
        self.noid("-f", name, "policy", "admin", "authenticated")

    def new_minter(self, *words: str) -> str:
        """The name of a new minter that no other test uses."""
        self._minters_made += 1
        name = f"m{self._minters_made}"
        self.create(name, *(words or ("kt.reeded",)))
        return name

    def mint(self, minter: str, count: int = 1) -> list[str]:
        """Identifiers minted by URL."""
        reply = self.ask(minter, f"mint+{count}")
        assert reply.status == 200, reply
        return reply.ids

    def url(self, minter: str, query: str) -> str:
        return f"http://127.0.0.1:{self.port}{self.path}/noidu_{minter}?{query}"

    def ask(self, minter: str, query: str, *options: str, user: str = USER, **settings: Any) -> Reply:
        """What curl gets for a query; user="" asks without a user."""
        return curl(self.url(minter, query), *(self.credentials(user) if user else []), *options, **settings)


class Resolving(Deployment):
    """A deployment that resolves names too; tests use its minter kt5."""

    def bind(self, name: str, value: str, element: str = "_t") -> None:
        reply = self.ask("kt5", f"bind+set+{name}+{element}+{value}")
        assert reply.status == 200, reply

    def resolve(self, name: str, *options: str) -> Reply:
        """The response to a request for a name."""
        return curl(f"http://127.0.0.1:{self.resolver_port()}/{name}", "--path-as-is", *options)

    def location(self, name: str) -> str | None:
        """Where a name is redirected to."""
        return self.resolve(name).headers.get("location")

    def wait_for_location(self, name: str, target: str | None, seconds: float = 10) -> None:
        """Return when a name is redirected to a target: resolvers look for new minters only now and then."""
        wait_until(lambda: self.location(name) == target, seconds, lambda: (self.resolve(name), self.logs()))

    def resolver_port(self) -> int:
        return self.port
