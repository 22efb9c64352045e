"""`noid setup check`: examines a set-up, and says of each thing that is wrong what to do."""

from __future__ import annotations

import os
import socket
import stat
import sys

from ..errors import NoidError, UsageError
from ..minter.folder import MinterFolder
from .access import first_barrier, last_line, run_as
from .installed import USERS, Installed
from .minter_checks import check_minters
from .settings import SERVICES, USUAL_PREFIX, group_id
from .systemd import clock_is_synchronized

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    # Level and text.
    Finding = tuple[str, str]

OK, WARNING, ERROR = "ok", "warning", "error"

# Less free space than this, in bytes or as a part of the disk, is too little.
_LITTLE_BYTES, _LITTLE_PART = 1 << 30, 0.05

# The hash of a password has at least so many characters, in whichever form (that of crypt).
_SHORTEST_HASH = 13

# What every way of serving needs of the program, its libraries included.
_IMPORTS = "import lmdb, pcre2, noidtools.web.site, noidtools.cli.noid, noidtools.cli.noidr"


def check(*, minters: str = "", user: str = "", url: str = "") -> list[Finding]:
    """All findings about the set-up on this machine; what is given replaces what its configurations name.

    Raises UsageError if there is no set-up, or this process may not examine it.
    """
    found = Installed()
    found.minters, found.user, found.url = minters or found.minters, user or found.user, url or found.url
    if not found.minters:
        raise UsageError("no set-up was found on this machine (noid setup nginx|apache makes one): say which folder of "
                         "minters to check with --minters Dir")
    if not os.path.isdir(found.minters):
        raise UsageError(f"there is no folder {found.minters} with minters: make it with mkdir, and give it to the "
                         "account of the service")
    found.user = found.user or _owner(found.minters)
    folder = MinterFolder(found.minters)
    names = [name for name, _ in folder.dbdirs()]
    has_minters = bool(names)
    findings = [*_program(found), *_folder(found), *_sockets(found), *_leftovers(found),
                *_links(found, names), *(_map(found) if has_minters else ()), *_users(found), *_space(found), *_clock()]
    if any(level == ERROR for level, _ in findings[:2]):
        # Root opens a minter as its owner, who must be able to read the program and to reach the folder.
        findings.append((WARNING, "the minters were not examined, because of the above"))
    else:
        findings += check_minters(folder, found.user, found.url)
    return [*findings, *_web_server(found, has_minters=has_minters)]


def _owner(path: str) -> str:
    import pwd

    number = os.stat(path).st_uid
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        raise UsageError(f"{path} belongs to the number {number}, which is no account: give it to one with chown") \
            from None


def _program(found: Installed) -> Iterator[Finding]:
    """Whether the account can run the program, and the Python that it names in its first line."""
    if not found.program:
        yield WARNING, "no configuration names the program, so that it was not examined"
        return
    python = _interpreter(found.program)
    for path in filter(None, (found.program, python, os.path.realpath(python) if python else "")):
        if not os.path.exists(path):
            yield ERROR, f"{path} does not exist: install the program again, {_install()}"
            return
        barrier = first_barrier(found.user, path, os.R_OK | os.X_OK)
        if barrier:
            yield ERROR, (f"{found.user} cannot run {path}, because of {barrier}: install the program where all can "
                          f"read it, {_install()}")
            return
    done = run_as(found.user, [python or sys.executable, "-c", _IMPORTS], b"")
    if done.returncode:
        prefix = os.path.dirname(os.path.dirname(found.program))
        yield ERROR, (f"{found.user} cannot run {found.program} ({last_line(done)}): chmod -R a+rX {prefix}; if that "
                      f"does not help, install the program again, {_install()}")
        return
    yield OK, f"{found.user} can run {found.program}"


def _install() -> str:
    return f"with /usr/bin/python3 -m venv {USUAL_PREFIX}"


def _interpreter(program: str) -> str:
    try:
        with open(program, "rb") as file:
            first = file.readline(1000)
    except OSError:
        return ""
    words = first[2:].split() if first.startswith(b"#!") else []
    return os.fsdecode(words[0]) if words else ""


def _folder(found: Installed) -> Iterator[Finding]:
    barrier = first_barrier(found.user, found.minters, os.R_OK | os.W_OK | os.X_OK)
    if barrier:
        yield ERROR, (f"{found.user} cannot write to {found.minters}, because of {barrier}: "
                      f"chown -R {found.user}: {found.minters}, and let others pass the folders above it (chmod o+x)")
    else:
        yield OK, f"{found.user} can write to {found.minters}"


def _sockets(found: Installed) -> Iterator[Finding]:
    for unit, (path, group) in found.sockets.items():
        if not path.startswith("/"):
            continue
        try:
            status = os.stat(path)
        except OSError as error:
            yield ERROR, f"the socket {path} is not there ({error.strerror}): systemctl enable --now {unit}.socket"
            continue
        web = group or found.web
        allowed = stat.S_IMODE(status.st_mode) & 0o060 == 0o060 and status.st_gid == group_id(web)
        if not allowed and status.st_mode & 0o006 != 0o006:
            yield ERROR, (f"the web server cannot use the socket {path}, which must be for the group {web}: set "
                          f"SocketGroup={web} in {unit}.socket and restart it")
        elif status.st_mode & 0o006:
            yield ERROR, (f"everybody on this machine can use the socket {path}, and be any user: set SocketMode=0660 "
                          f"in {unit}.socket and restart it")
        elif not _listens(path):
            yield ERROR, f"nobody listens at the socket {path}: systemctl restart {unit}.socket; journalctl -u {unit}"
        else:
            yield OK, f"the socket {path} is open to {web} alone"


def _leftovers(found: Installed) -> Iterator[Finding]:
    """What another way of serving left behind."""
    for unit in found.unused:
        yield WARNING, (f"the service {unit} runs, and no host of the web server uses it: "
                        f"systemctl disable --now {unit}.socket {unit}.service")
    if len(found.sites) > 1:
        yield WARNING, (f"two web servers have a host for the minters, {' and '.join(found.sites)}, of which the first "
                        "was examined: remove the other one")


def _map(found: Installed) -> Iterator[Finding]:
    """Whether noidr, which Apache starts for a RewriteMap, can read its minter under its account."""
    link, user = found.map
    if not link:
        return
    if not os.path.exists(link):
        yield ERROR, f"{link}, which Apache starts for the RewriteMap, does not exist: noid setup makes it"
        return
    done = run_as(user, [link, "--codes", "--echo"], b"healthz\n")
    if done.stdout.startswith(b"healthz ") and done.stdout != b"healthz 503\n":
        yield OK, f"{link} can read its minter as {user}"
    else:
        yield ERROR, (f"{link} cannot read its minter as {user} ({last_line(done)}): NOID_RESOLVER_USER in "
                      f"resolver.conf must be the account that owns the minter, {_owner(os.path.dirname(link))}; then "
                      "systemctl restart apache2")


def _listens(path: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(5)
        try:
            probe.connect(path)
        except OSError:
            return False
    return True


def _users(found: Installed) -> Iterator[Finding]:
    """The file of logins: there, not empty, readable by the web server and by nobody else."""
    if not found.server:
        return
    try:
        status = os.stat(USERS)
    except OSError:
        yield ERROR, f"there is no file {USERS} of those who may log in: htpasswd -B -c {USERS} NAME"
        return
    remedy = f"chown root:{found.web} {USERS} && chmod 640 {USERS}"
    if status.st_mode & 0o007:
        yield ERROR, f"everybody on this machine can read the hashes of passwords in {USERS}: {remedy}"
    elif first_barrier(found.web, USERS, os.R_OK):
        yield ERROR, f"the web server cannot read {USERS}: {remedy}"
    elif not status.st_size:
        yield WARNING, f"nobody can log in, because {USERS} is empty: htpasswd -B {USERS} NAME"
    elif wrong := _wrong_line(USERS):
        yield ERROR, (f"the line {wrong} of {USERS} is no login, which is a name, a colon and the hash of a password: "
                      f"remove it, and make the login with htpasswd -B {USERS} NAME")
    else:
        yield OK, f"{USERS} can be read by the web server alone"


def _wrong_line(path: str) -> int:
    """The number of the first line that is no login; 0 if there is none."""
    with open(path, encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            name, _, hashed = line.strip().partition(":")
            if line.strip() and not line.startswith("#") and not (name and len(hashed) >= _SHORTEST_HASH):
                return number
    return 0


def _links(found: Installed, names: list[str]) -> Iterator[Finding]:
    """With CGI, whether each minter has the link by which it is on the web."""
    for name in names if found.linked else ():
        link = os.path.join(found.minters, f"noidu_{name}")
        if not os.path.exists(link):
            program = os.path.join(os.path.dirname(found.program), "noidu")
            yield WARNING, f"the minter {name} is not on the web, because {link} does not exist: ln -s {program} {link}"


def _space(found: Installed) -> Iterator[Finding]:
    disk = os.statvfs(found.minters)
    free, size = disk.f_bavail * disk.f_frsize, disk.f_blocks * disk.f_frsize
    text = f"{free / (1 << 30):.1f} GB of {size / (1 << 30):.1f} GB are free for {found.minters}"
    little = free < _LITTLE_BYTES or free < _LITTLE_PART * size
    yield (WARNING, f"only {text}: minting stops when the disk is full; docs/operations.md says what grows") if little \
        else (OK, text)
    if disk.f_flag & os.ST_RDONLY:
        yield ERROR, f"{found.minters} is mounted for reading only: mount it for writing"


def _clock() -> Iterator[Finding]:
    """Whether the clock is kept right by the network, as far as systemd knows."""
    known = clock_is_synchronized()
    if known:
        yield OK, "the clock is kept right by the network"
    elif known is not None:
        yield WARNING, "the clock is not kept right by the network: timedatectl set-ntp true"


def _web_server(found: Installed, *, has_minters: bool) -> Iterator[Finding]:
    """Whether the resolver answers through the web server."""
    if not found.url:
        yield WARNING, "no configuration names the host, so that the web server was not asked: say --url Url"
        return
    from ..verification.http import status_at

    try:
        status = status_at(found.url, "healthz")
    except NoidError as error:
        yield ERROR, error.message
        return
    if status in ("200", "204"):
        yield OK, f"{found.url}healthz answers {status}"
    elif "certificate is not valid" in status:
        yield ERROR, (f"{found.url}healthz answers {status}: renew the certificate (certbot renew), or name another "
                      "with noid setup … --tls")
    elif status.startswith("nothing"):
        yield ERROR, (f"{found.url}healthz answers {status}: look with systemctl status {SERVICES[found.server]}"
                      if found.server else f"{found.url}healthz answers {status}: start the web server")
    elif status == "503" and not has_minters:
        yield WARNING, f"{found.url}healthz answers 503, because there is no minter yet"
    else:
        yield ERROR, f"{found.url}healthz answers {status}: look at {found.log}"
