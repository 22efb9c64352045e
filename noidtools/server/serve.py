"""`noid serve`: serves minters on the web by HTTP, FastCGI or SCGI until it is stopped."""

from __future__ import annotations

import os
import socket
import sys

from ..commands import Invocation, command_for
from ..console import OccasionalLog, log_line
from ..errors import UsageError
from ..minter import location_of
from ..minter.folder import MinterFolder, SingleMinter, mark_served
from ..store import exists
from ..web.commands import BASIC
from ..web.counters import SharedCounters
from ..web.observer import Observer
from ..web.rates import RateLimit
from ..web.request import LARGEST_BODY, Trust
from ..web.site import Site
from .allowed import AllowedAddresses
from .limits import MAX_PER_ADDRESS, TRANSFER_SECONDS, raise_descriptor_limit
from .process import Address, Prefork, inherited_socket, socket_address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..web.batch import Application
    from ..web.observer import Observation
    from .process import Work

_PROTOCOLS = ("http", "fcgi", "scgi")
_DEFAULT_ADDRESS = "127.0.0.1:8080"
_DEFAULT_THREADS = 4
_SLOW_SECONDS = 5


class Options:
    """The options of the command, checked; raises UsageError."""

    def __init__(self, args: list[bytes]) -> None:
        given = Invocation([b"serve", *args])
        protocols = [protocol for protocol in _PROTOCOLS if given.flag(protocol)]
        if len(protocols) > 1:
            raise UsageError("one process speaks one of HTTP, FastCGI and SCGI: start another for the other")
        given.ensure_fits()
        self.protocol = protocols[0] if protocols else "http"
        last = {name: given.option(name) or "" for name in given.options}
        self.address = Address(last.get(self.protocol, _DEFAULT_ADDRESS))
        self.minters = last.get("minters", "")
        # A FastCGI or SCGI worker answers one request after the other, so that there are at least two.
        usual = max(1 if self.protocol == "http" else 2, len(os.sched_getaffinity(0)))
        self.workers = _number(last, "workers", usual, 1, 1000)
        self.threads = _number(last, "threads", _DEFAULT_THREADS, 1, 1000)
        self.largest_body = _number(last, "max-body", LARGEST_BODY, 0, 1 << 40)
        self.per_address = _number(last, "max-per-address", MAX_PER_ADDRESS, 1, 1_000_000)
        self.timeout = _number(last, "timeout", TRANSFER_SECONDS, 1, 86_400)
        self.slow = _seconds(last, "slow", _SLOW_SECONDS, 86_400)
        self.access_log = _access_log(last.get("access-log", ""))
        rate = _number(last, "max-rate", 0, 0, 1_000_000)
        self.rates = RateLimit(rate) if rate else None
        self.socket_mode = _mode(last.get("socket-mode", "660"))
        self.socket_group = _group(last["socket-group"]) if "socket-group" in last else None
        if not self.address.path and ("socket-mode" in last or "socket-group" in last):
            raise UsageError("--socket-mode and --socket-group are for the path of a Unix socket")
        if self.protocol == "http" and given.values("allow"):
            raise UsageError("--allow lists web servers that speak FastCGI or SCGI: it does not go with HTTP")
        self.allowed = AllowedAddresses.of(given.values("allow"), os.environ)
        self.trust = self._trust(given.values("proxy"), last.get("user-header", ""), last.get("user", ""))

    def _trust(self, proxies: list[str], user_header: str, user: str) -> Trust:
        if user_header and not proxies:
            raise UsageError("--user-header needs --proxy: anybody could send that header")
        if user and not (self.protocol == "http" and self.address.is_loopback):
            raise UsageError("--user makes everybody that user, so it is only for HTTP at a loopback address")
        return Trust(proxies=tuple(proxies), user_header=user_header, user=user)

    def ensure_allowed(self, listener: socket.socket | None = None) -> None:
        """Refuse FastCGI and SCGI on TCP without a list of web servers.  The socket may come from another program."""
        on_tcp = bool(self.address.host) if listener is None else listener.family != socket.AF_UNIX
        if on_tcp and self.protocol != "http":
            self.allowed.ensure_some("FastCGI" if self.protocol == "fcgi" else "SCGI")

    @property
    def challenge(self) -> str:
        """The WWW-Authenticate header; none for plain HTTP, where nothing checks a password."""
        return BASIC if self.protocol != "http" or self.trust.user_header else ""


def serve(dbdir: str, args: list[bytes]) -> int:
    if args and args[0] in (b"--help", b"-h", b"help"):
        from ..commands.help import explain

        sys.stdout.buffer.write(explain(command_for([b"serve"])).encode())
        return 0
    options = Options(args)
    raise_descriptor_limit()
    OccasionalLog.share()
    counters = SharedCounters(options.workers)
    site = Site(_minters(dbdir, options), trust=options.trust, challenge=options.challenge,
                largest_body=options.largest_body, counters=counters)
    application = Observer(site, options.trust, counters=counters, slow=options.slow, access_log=options.access_log,
                           rates=options.rates)
    work = _work(options, application)
    options.ensure_allowed()
    listener = inherited_socket() or options.address.listen(options.socket_mode, options.socket_group)
    options.ensure_allowed(listener)
    file = options.address.file()
    _announce(options, dbdir, listener)
    Prefork(listener, options.workers, work, counters).run()
    options.address.close(listener, file)
    return 0


def _minters(dbdir: str, options: Options) -> MinterFolder:
    if options.minters:
        if not os.path.isdir(options.minters):
            raise UsageError(f"there is no folder {options.minters} to look for minters in")
        mark_served(options.minters)
        return MinterFolder(options.minters)
    if not exists(location_of(dbdir)):
        raise UsageError(f"there is no minter in {dbdir}: name its folder with -f, or that of several with --minters")
    return SingleMinter(dbdir)


def _work(options: Options, application: Application) -> Work:
    """What each worker process does.  A missing package is reported here, before anything starts."""
    try:
        if options.protocol == "http":
            from . import http

            return lambda listener, shutdown: http.serve_http(
                listener, shutdown, application, threads=options.threads, largest_body=options.largest_body,
                timeout=options.timeout, per_address=options.per_address, proxies=options.trust.proxies)
        from . import flup

        work = flup.serve_fastcgi if options.protocol == "fcgi" else flup.serve_scgi
    except ModuleNotFoundError as error:
        raise UsageError(
            f"serving by {options.protocol} needs the package {error.name}: install noidtools[http]") from None
    return lambda listener, shutdown: work(
        listener, shutdown, application, timeout=options.timeout,
        allowed=None if listener.family == socket.AF_UNIX else options.allowed)


def _announce(options: Options, dbdir: str, listener: socket.socket) -> None:
    where = socket_address(listener)
    name = "noidu_NAME" if options.minters else "noidu"
    if options.protocol == "http" and listener.family != socket.AF_UNIX:
        where = f"http://{where}/{name}"
    what = f"the minters in {options.minters}" if options.minters else f"the minter in {dbdir}"
    log_line("noid", f"serving {what} by {options.protocol} at {where}")


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


def _group(name: str) -> int:
    import grp

    try:
        return grp.getgrnam(name).gr_gid
    except (KeyError, ValueError):
        raise UsageError(f"--socket-group {name[:60]!r}: there is no such group") from None


def _access_log(form: str) -> Callable[[Observation], None] | None:
    if not form:
        return None
    from ..web.access_log import FORMS, access_log

    if form not in FORMS:
        raise UsageError(f"--access-log is {' or '.join(FORMS)}, not {form!r}")
    return access_log(form)


def _mode(text: str) -> int:
    if not text or text.strip("01234567") or int(text, 8) > 0o777:
        raise UsageError(f"--socket-mode is written in octal, like 660, not {text!r}")
    return int(text, 8)
