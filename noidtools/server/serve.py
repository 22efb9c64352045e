"""`noid serve`: serves minters on the web by HTTP or FastCGI until it is stopped."""

from __future__ import annotations

import os
import shutil
import tempfile

from ..commands import Invocation
from ..console import log_line
from ..errors import UsageError
from ..minter import location_of
from ..minter.folder import mark_served
from ..store import ensure_folder_name, exists
from ..web.body import LARGEST_BODY
from ..web.commands import BASIC
from ..web.rendering import site_branding
from ..web.request import UNIX
from ..web.site import INTERFACES, USUAL_INTERFACES
from .address import Address, group_number
from .fastcgi import Processes, ensure_allowed, has_listener, serve_socket, web_servers
from .worker import METRICS_FOLDER, PARENT, make_application, stop_with_parent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PROTOCOLS = ("http", "fcgi")
_DEFAULT_ADDRESS = "127.0.0.1:8080"
_DEFAULT_THREADS = 8
_FASTCGI_WORKERS = 4
_SLOW_SECONDS = 5


class Options:
    """The options of the command, checked; raises UsageError."""

    def __init__(self, args: list[bytes]) -> None:
        given = Invocation([b"serve", *args])
        protocols = [protocol for protocol in _PROTOCOLS if given.flag(protocol)]
        if len(protocols) > 1:
            raise UsageError("one process speaks HTTP or FastCGI: start another for the other")
        given.ensure_fits()
        self.protocol = protocols[0] if protocols else "http"
        last = {name: given.option(name) or "" for name in given.options}
        group = group_number(last["socket-group"]) if "socket-group" in last else None
        self.address = Address(last.get(self.protocol, _DEFAULT_ADDRESS), mode=_mode(last.get("socket-mode", "660")),
                               group=group)
        if not self.address.path and ("socket-mode" in last or "socket-group" in last):
            raise UsageError("--socket-mode and --socket-group are for the path of a Unix socket")
        self.minters = last.get("minters", "")
        self.interfaces = _interfaces(last.get("interfaces"))
        self.commands = _path(last["commands"]) if "commands" in last else None
        # A FastCGI process answers one request after the other, so that there are some more of them.
        processors = len(os.sched_getaffinity(0))
        usual = processors if self.protocol == "http" else max(_FASTCGI_WORKERS, processors)
        self.workers = _number(last, "workers", usual, 1, 1000)
        self.threads = _number(last, "threads", _DEFAULT_THREADS, 1, 1000)
        self.largest_body = _number(last, "max-body", LARGEST_BODY, 0, 1 << 40)
        self.slow = _seconds(last, "slow", _SLOW_SECONDS, 86_400)
        self.access_log = "access-log" in last
        self.certificate, self.key = last.get("tls-certificate", ""), last.get("tls-key", "")
        if self.protocol == "http" and given.values("allow"):
            raise UsageError("--allow lists web servers that speak FastCGI: it does not go with HTTP")
        self.allowed = web_servers(given.values("allow"))
        self.user_header, self.user = last.get("user-header", ""), last.get("user", "")
        self.proxies = given.values("proxy")
        self._ensure_fit_protocol()
        self._ensure_trustworthy()

    def _ensure_fit_protocol(self) -> None:
        if self.protocol != "http" and (self.access_log or self.certificate or self.key):
            raise UsageError("--access-log and TLS are for HTTP: by FastCGI they are the web server's")
        if bool(self.certificate) != bool(self.key):
            raise UsageError("TLS needs both --tls-certificate and --tls-key")
        for path in (self.certificate, self.key):
            if path and not os.access(path, os.R_OK):
                raise UsageError(f"the file {path} for TLS cannot be read")
        if self.protocol == "fcgi" and self.address.host and not has_listener():
            ensure_allowed(self.allowed)

    def _ensure_trustworthy(self) -> None:
        if self.user_header:
            if not (self.protocol == "http" and self.address.is_private):
                raise UsageError("--user-header needs HTTP at a Unix socket that only the web server may open: any "
                                 "account of the machine can speak to a port, and name any user")
            if not self.user_header.isalnum() or not self.user_header.isascii():
                raise UsageError("--user-header has letters and digits only, as in NoidUser: a server takes X_User for "
                                 "X-User, so that a client could name any user")
        if self.user and not (self.protocol == "http" and self.address.is_loopback):
            raise UsageError("--user makes everybody that user, so it is only for HTTP at a loopback address")
        if self.protocol == "http" and self.address.is_private:
            self.proxies.append(UNIX)

    def settings(self, dbdir: str) -> dict[str, Any]:
        """What `make_application` needs, as JSON can hold it."""
        return {"dbdir": os.path.abspath(dbdir), "minters": self.minters and os.path.abspath(self.minters),
                "proxies": self.proxies, "user_header": self.user_header, "user": self.user,
                # Nothing checks a password where HTTP comes from no web server.
                "challenge": BASIC if self.protocol != "http" or self.user_header else "",
                "commands": self.commands, "interfaces": self.interfaces, "largest_body": self.largest_body,
                "slow": self.slow,
                # A process of FastCGI answers one request after the other.
                "threads": self.threads if self.protocol == "http" else 1, "processes": self.workers}


def serve(dbdir: str, args: list[bytes]) -> int:
    options = Options(args)
    settings = options.settings(dbdir)
    if options.protocol == "fcgi" and has_listener():
        stop_with_parent()
        serve_socket(make_application(settings), options.allowed)
        return 0
    _ensure_minters(dbdir, options.minters)
    site_branding(options.minters or dbdir)
    os.environ[PARENT] = str(os.getpid())
    os.environ[METRICS_FOLDER] = folder = tempfile.mkdtemp(prefix="noid-metrics-")
    try:
        if options.protocol == "http":
            _serve_http(options, settings, dbdir)
        else:
            _serve_fastcgi(options, dbdir)
    finally:
        options.address.remove()
        shutil.rmtree(folder, ignore_errors=True)
    return 0


def _serve_http(options: Options, settings: dict[str, Any], dbdir: str) -> None:
    try:
        from .http import serve_http
    except ModuleNotFoundError as error:
        raise UsageError(f"serving by HTTP needs the package {error.name}: install noidtools[http]") from None
    serve_http(options.address, settings, lambda: _announce(options, dbdir), workers=options.workers,
               threads=options.threads, access_log=options.access_log, certificate=options.certificate,
               key=options.key)


def _serve_fastcgi(options: Options, dbdir: str) -> None:
    with options.address.listen() as listener:
        _announce(options, dbdir)
        Processes(listener, options.workers).run()


def _ensure_minters(dbdir: str, folder: str) -> None:
    if folder:
        ensure_folder_name(folder)
        if not os.path.isdir(folder):
            raise UsageError(f"there is no folder {folder} to look for minters in")
        mark_served(folder)
    elif not exists(location_of(dbdir)):
        raise UsageError(f"there is no minter in {dbdir}: name its folder with -f, or that of several with --minters")


def _announce(options: Options, dbdir: str) -> None:
    address = options.address
    where = str(address)
    if options.protocol == "http" and not address.path:
        scheme = "https" if options.certificate else "http"
        where = f"{scheme}://{where}{options.commands or ''}/{'noidu_NAME' if options.minters else 'noidu'}"
    what = f"the minters in {options.minters}" if options.minters else f"the minter in {dbdir}"
    log_line("noid", f"serving {what} by {options.protocol} at {where}")
    if options.protocol == "http" and not address.path and not address.is_loopback:
        log_line("noid", f"{address} is open to other computers: put a web server in front that limits slow clients "
                         "and large numbers of requests")


def _interfaces(text: str | None) -> list[str]:
    chosen = list(USUAL_INTERFACES) if text is None else [name.strip() for name in text.split(",") if name.strip()]
    unknown = next((name for name in chosen if name not in INTERFACES), None)
    if unknown is not None:
        raise UsageError(f"there is no interface {unknown[:60]!r}: known are {', '.join(INTERFACES)}")
    return chosen


def _number(values: dict[str, str], name: str, default: int, least: int, most: int) -> int:
    text = values.get(name, str(default))
    if not (text.isascii() and text.isdigit()) or not least <= int(text[:15]) <= most:
        raise UsageError(f"--{name} is a number from {least} to {most}, not {text!r}")
    return int(text)


def _seconds(values: dict[str, str], name: str, default: int, most: int) -> float:
    text = values.get(name, str(default))
    whole, _, part = text.partition(".")
    if not (text.isascii() and (whole + part).isdigit() and len(text) < 20 and float(text) <= most):
        raise UsageError(f"--{name} is a number of seconds from 0 to {most}, such as 0.5, not {text!r}")
    return float(text)


def _path(text: str) -> str:
    if not text.startswith("/") or "?" in text or "%" in text:
        raise UsageError(f"--commands is a path such as /nd, not {text!r}")
    return text.rstrip("/")


def _mode(text: str) -> int:
    if not text or text.strip("01234567") or int(text, 8) > 0o777:
        raise UsageError(f"--socket-mode is written in octal, like 660, not {text!r}")
    return int(text, 8)
