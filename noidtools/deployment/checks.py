"""`noid setup check`: examines a set-up, and gives the remedy for each thing that is wrong."""

from __future__ import annotations

import json
import os
import pwd
import shlex
import socket
import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic, sleep
from typing import TypeVar

from .. import resolution
from ..errors import NoidError, StoreError, UsageError, printable
from ..minter import Minter, config, location_of
from ..minter.events import newest_number, read_event
from ..minter.folder import MinterFolder
from ..minter.policies import ADMIN, ANYONE, AUTHENTICATED, AccessPolicy
from ..minter.report import backup_warning, minter_figures, size_text
from ..store import Reader
from ..times import SECOND, system_clock, timestamp
from ..verification.http import location_at, status_at
from .setup import APACHE, BACKUP_JOB, CGI, ENABLED_SITES, SERVICES, UNIT, SetUp, read_setup

# Level and text.
Finding = tuple[str, str]
T = TypeVar("T")

OK, WARNING, ERROR = "ok", "warning", "error"

# Less free space than this, in bytes or as a part of the disk, is too little.
_LITTLE_BYTES, _LITTLE_PART = 1_000_000_000, 0.05
_SECONDS_TO_START = 10
# The hash of a password has at least this many characters, in any of the forms of crypt.
_SHORTEST_HASH = 13


@dataclass
class Subject:
    """What is examined: a folder of minters, the account that runs the program, the address of the resolver.

    `setup` is None where `noid setup` wrote nothing; `others` are further web servers with a host, by its path.
    """

    minters: str
    user: str
    url: str
    setup: SetUp | None
    others: dict[str, str]

    @property
    def noid(self) -> str:
        """The beginning of a command that root gives about the minters."""
        return "noid" if self.setup else f"runuser -u {self.user} -- noid"

    @property
    def back_up(self) -> str:
        """The command that makes a backup of each minter."""
        return f"systemctl start {BACKUP_JOB}" if self.setup else f"{self.noid} backup --minters {self.minters} Dest"


def check(found: Subject) -> list[Finding]:
    """All findings about a set-up on this machine; raises UsageError if this process may not examine it."""
    findings = [*_program(found), *_folder(found)]
    reachable = all(level != ERROR for level, _ in findings)
    findings += [*_socket(found), *_units(found), *_leftovers(found), *_users(found), *_space(found), *_clock()]
    names: list[str] = []
    if reachable:
        # Only the owner of a minter may open it.
        names, minter_findings = as_account(found.user, lambda: _check_minters(found))
        findings += [(level, text) for level, text in minter_findings]
        findings += _links(found, names)
    else:
        findings.append((WARNING, "the minters were not examined, because of the above"))
    return [*findings, *_web_server(found, has_minters=bool(names) or not reachable)]


def find_subject(minters: str, user: str, url: str) -> Subject:
    """What is to be examined on this machine; what is given replaces what its configuration names.

    Raises UsageError if there is nothing.
    """
    sites = {path: setup for path in ENABLED_SITES.values() if (setup := read_setup(path)) is not None}
    running = {path: setup for path, setup in sites.items() if _prints("systemctl", "is-active", SERVICES[setup.server])
               == "active"}
    path, setup = next(iter((running or sites).items()), ("", None))
    minters = os.path.abspath(minters) if minters else setup.minters if setup else ""
    if not minters:
        raise UsageError("no set-up was found on this machine (noid setup nginx|apache makes one): name the folder of "
                         "minters to check with --minters Dir")
    if not os.path.isdir(minters):
        raise UsageError(f"there is no folder {minters} with minters: give the commands that noid setup prints")
    user = user or (setup.owner if setup else _owner(minters))
    others = {other: sites[other].server for other in sites if other != path}
    return Subject(minters, user, url or (setup.url if setup else ""), setup, others)


def _owner(path: str) -> str:
    number = os.stat(path).st_uid
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        raise UsageError(f"{path} belongs to the number {number}, which is no account: give it to one with chown") \
            from None


# -- other accounts and programs -------------------------------------------------------------------------------------


def _account(user: str) -> pwd.struct_passwd:
    """An account that this process is or may become."""
    try:
        account = pwd.getpwnam(user)
    except KeyError:
        raise UsageError(f"there is no account {user}: make it with useradd --system --user-group {user}") from None
    if os.geteuid() not in (0, account.pw_uid):
        raise UsageError(f"only root and {user} can tell what {user} may do with files: use sudo")
    return account


def as_account(user: str, question: Callable[[], T]) -> T:
    """The answer to a question, which must fit into JSON, in a process of another account."""
    account = _account(user)
    if os.geteuid() == account.pw_uid:
        return question()
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.setgroups(os.getgrouplist(user, account.pw_gid))
            os.setgid(account.pw_gid)
            os.setuid(account.pw_uid)
            os.environ["HOME"] = account.pw_dir  # where its .pgpass is
            with open(writing, "w", encoding="utf-8") as out:
                json.dump(question(), out)
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, encoding="utf-8") as answer:
        text = answer.read()
    os.waitpid(child, 0)
    if not text:
        raise StoreError(f"the check could not go on as {user}: runuser -u {user} -- noid setup check gives the reason")
    found: T = json.loads(text)
    return found


def _first_barrier(user: str, paths: Iterable[str], mode: int) -> tuple[str, str] | None:
    """The first path that an account may not use by `mode`, with the folder on the way to it, or itself, that is why.

    `mode` is one of os.R_OK, os.W_OK and os.X_OK, or several; folders also need os.X_OK.
    """

    def find() -> tuple[str, str] | None:
        for path in paths:
            parts = path.strip("/").split("/")
            for folder in ("/" + "/".join(parts[:count]) for count in range(1, len(parts))):
                if not os.access(folder, os.X_OK):
                    return path, folder
            if not os.access(path, mode | (os.X_OK if os.path.isdir(path) else 0)):
                return path, path
        return None

    return as_account(user, find)


def _prints(*words: str) -> str:
    """What a program prints; empty where it cannot be run."""
    try:
        return subprocess.run(words, capture_output=True, text=True, timeout=10, check=False).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""


# -- the program, folders, the socket, logins ------------------------------------------------------------------------


def _program(found: Subject) -> Iterator[Finding]:
    """Whether the account can run the program."""
    if found.setup is None:
        yield WARNING, "noid setup wrote no configuration here, so the program was not examined"
        return
    program, prefix = f"{found.setup.prefix}/bin/noid", found.setup.prefix
    install = f"/usr/bin/python3 -m venv {prefix} && {prefix}/bin/pip install '.[http,rdf]' in a checkout of noidtools"
    if not os.path.exists(program):
        yield ERROR, f"{program} does not exist: {install}"
    elif barrier := _first_barrier(found.user, [program], os.R_OK | os.X_OK):
        yield ERROR, f"{found.user} cannot run {program}, because of {barrier[1]}: chmod -R a+rX {prefix}"
    elif reason := as_account(found.user, lambda: _failure(program, "help", "mint")):
        yield ERROR, (f"{found.user} cannot run {program} ({reason}): chmod -R a+rX {prefix}; if that does not help, "
                      f"{install}")
    else:
        yield OK, f"{found.user} can run {program}"


def _failure(*words: str) -> str:
    """Why a program fails, in its own last words; empty if it does not."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, errors="replace", check=False, timeout=60, cwd="/")
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return (done.stderr.strip().split("\n")[-1] or "it gives no reason") if done.returncode else ""


def _folder(found: Subject) -> Iterator[Finding]:
    barrier = _first_barrier(found.user, [found.minters], os.R_OK | os.W_OK)
    if barrier:
        remedy = f"chown -R {found.user}: {found.minters}" if barrier[1] == found.minters else f"chmod o+x {barrier[1]}"
        yield ERROR, f"{found.user} cannot write to {found.minters}, because of {barrier[1]}: {remedy}"
    else:
        yield OK, f"{found.user} can write to {found.minters}"


def _socket(found: Subject) -> Iterator[Finding]:
    """Whether the service listens, and lets the web server in and nobody else."""
    setup = found.setup
    if setup is None or not setup.has_service:
        return
    path, again = setup.socket, "systemctl restart noid; if that does not help, look at journalctl -u noid"
    if not _listens(path):
        yield ERROR, f"nothing listens at the socket {path}: {again}"
    elif os.stat(path).st_mode & 0o007 and os.stat(os.path.dirname(path)).st_mode & 0o001:
        yield ERROR, f"everybody on this machine can use the socket {path}, and be any user: {again}"
    elif _first_barrier(setup.web, [path], os.R_OK | os.W_OK):
        yield ERROR, (f"the web server cannot use the socket {path}, which must be for the group {setup.web}, as "
                      f"ExecStartPre= in {UNIT} makes it: {again}")
    else:
        yield OK, f"the socket {path} is open to {setup.web} alone"


def _listens(path: str) -> bool:
    """Whether a service listens; one that has just been started gets some seconds."""
    deadline = monotonic() + _SECONDS_TO_START
    while True:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe, suppress(OSError):
            probe.settimeout(5)
            probe.connect(path)
            return True
        if monotonic() > deadline or _prints("systemctl", "is-active", "noid") != "active":
            return False
        sleep(0.1)


def _units(found: Subject) -> Iterator[Finding]:
    """Whether what runs now also runs after the next boot, and whether backups are made."""
    if found.setup is None:
        return
    for service in (SERVICES[found.setup.server], *(["noid"] if found.setup.has_service else [])):
        if _prints("systemctl", "is-enabled", service) == "disabled":
            yield WARNING, f"the service {service} does not start when the machine does: systemctl enable {service}"
    timer = f"{BACKUP_JOB}.timer"
    state = _prints("systemctl", "is-enabled", timer), _prints("systemctl", "is-active", timer)
    if "disabled" in state or "inactive" in state:
        yield WARNING, f"no backups are made every night: systemctl enable --now {timer}"


def _leftovers(found: Subject) -> Iterator[Finding]:
    """What another set-up left behind."""
    for path, server in found.others.items():
        remove = "a2dissite noid" if server == APACHE else f"rm {path}"
        yield WARNING, (f"another web server has a host for the minters, too: {remove} && systemctl "
                        f"try-reload-or-restart {SERVICES[server]}")
    unused = found.setup is not None and not found.setup.has_service
    if unused and _prints("systemctl", "is-active", "noid") == "active":
        yield WARNING, "the service noid runs, and the web server does not use it: systemctl disable --now noid"


def _users(found: Subject) -> Iterator[Finding]:
    """The file of logins: there, not empty, readable by the web server and by nobody else."""
    if found.setup is None:
        return
    users, web = found.setup.users, found.setup.web
    try:
        status = os.stat(users)
    except OSError:
        yield ERROR, f"there is no file {users} of those who may log in: htpasswd -B -c {users} NAME"
        return
    remedy = f"chown root:{web} {users} && chmod 640 {users}"
    if status.st_mode & 0o007:
        yield ERROR, f"everybody on this machine can read the hashes of passwords in {users}: {remedy}"
    elif _first_barrier(web, [users], os.R_OK):
        yield ERROR, f"the web server cannot read {users}: {remedy}"
    elif not status.st_size:
        yield WARNING, f"nobody can log in, because {users} is empty: htpasswd -B {users} NAME"
    elif wrong := _wrong_line(users):
        yield ERROR, (f"the line {wrong} of {users} is no login, which is a name, a colon and the hash of a password: "
                      f"sed -i {wrong}d {users}, and make the login with htpasswd -B {users} NAME")
    else:
        yield OK, f"{users} can be read by the web server alone"


def _wrong_line(path: str) -> int:
    """The number of the first line that is no login; 0 if there is none."""
    with open(path, encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            name, _, hashed = line.strip().partition(":")
            if line.strip() and not line.startswith("#") and not (name and len(hashed) >= _SHORTEST_HASH):
                return number
    return 0


def _links(found: Subject, names: list[str]) -> Iterator[Finding]:
    """With CGI, whether there are the links by which Apache starts the program: one a minter, and one for noidr."""
    if found.setup is None or found.setup.way != CGI:
        return
    for name, program in (*((name, "noidu") for name in names), (found.setup.minter, "noidr")):
        link = os.path.join(found.minters, f"{program}_{name}")
        if not os.path.exists(link):
            what = f"the minter {name} is not on the web" if program == "noidu" else "names are not resolved"
            yield WARNING, (f"{what}, because {link} does not exist: ln -s {found.setup.prefix}/bin/{program} {link}"
                            f"{' && systemctl restart apache2' if program == 'noidr' else ''}")


def _space(found: Subject) -> Iterator[Finding]:
    disk = os.statvfs(found.minters)
    free, size = disk.f_bavail * disk.f_frsize, disk.f_blocks * disk.f_frsize
    text = f"{size_text(free)} of {size_text(size)} are free for {found.minters}"
    little = free < _LITTLE_BYTES or free < _LITTLE_PART * size
    yield (WARNING, f"only {text}: minting stops when the disk is full; docs/operations.md says what grows") if little \
        else (OK, text)
    if disk.f_flag & os.ST_RDONLY:
        yield ERROR, f"{found.minters} is mounted for reading only: mount it for writing"


def _clock() -> Iterator[Finding]:
    """Whether the clock is set by the network, as far as systemd knows."""
    known = _prints("timedatectl", "show", "--property=NTPSynchronized", "--value")
    if known == "yes":
        yield OK, "the clock is set by the network"
    elif known == "no":
        yield WARNING, "the clock is not set by the network: timedatectl set-ntp true"


# -- the minters -----------------------------------------------------------------------------------------------------


def _check_minters(found: Subject) -> tuple[list[str], list[Finding]]:
    """The names of the minters, and what was found in them.  Runs as the account that owns them."""
    folder = MinterFolder(found.minters)
    minters = folder.dbdirs()
    findings: list[Finding] = []
    if not minters:
        findings.append((WARNING, f"there is no minter in {found.minters}: "
                                  f"{found.noid} -f {found.minters}/NAME dbcreate"))
    namespaces: dict[bytes, list[str]] = {}
    for name, dbdir in minters:
        findings += _files(name, location_of(dbdir), found.user)
        try:
            minter = folder.open(dbdir, name)
            findings += _content(name, minter, found)
        except NoidError as error:
            findings.append((ERROR, f"the minter {name} cannot be read: {error.message}"))
            continue
        if minter.scheme.namespace_prefix:
            namespaces.setdefault(minter.scheme.namespace_prefix, []).append(name)
    for prefix, names in namespaces.items():
        if len(names) > 1:
            findings.append((ERROR, f"the minters {', '.join(names)} share NAAN and prefix {printable(prefix)}, so "
                                    "that they give the same identifiers to different things: keep one of them, and "
                                    "make a new minter with another prefix for what comes"))
    return [name for name, _ in minters], findings


def _files(name: str, location: str, user: str) -> Iterator[Finding]:
    """Whether the account can write the files of a minter."""
    entries = sorted(os.listdir(location)) if os.path.isdir(location) and os.access(location, os.R_OK) else []
    paths = [location, *(os.path.join(location, entry) for entry in entries if entry != "README")]
    barrier = _first_barrier(user, paths, os.R_OK | os.W_OK)
    if barrier:
        yield ERROR, (f"{user} cannot write {barrier[0]} of the minter {name}, because of {barrier[1]}: "
                      f"chown -R {user}: {os.path.dirname(location)}")
    else:
        yield OK, f"{user} can write the minter {name}"


def _content(name: str, minter: Minter, found: Subject) -> Iterator[Finding]:
    def read(reader: Reader) -> tuple[bytes, bytes, dict[str, bytes]]:
        number = newest_number(reader)
        newest = read_event(reader, number) if number else None
        administrators = AccessPolicy.of(reader).rules[ADMIN].word
        return newest.date if newest else b"", administrators, config.values(reader, resolution.CANARY)

    newest, administrators, canaries = minter.read(read)
    noid = f"{found.noid} -f {minter.dbdir}"
    now = timestamp(system_clock())
    last_backup = minter_figures(minter).get("last_backup")
    if warning := backup_warning(f"the minter {name}", last_backup, system_clock() / SECOND):
        yield WARNING, f"{warning}: {found.back_up}"
    if newest > now:
        yield ERROR, (f"the clock is behind: it says {now.decode()}, and the last change of the minter {name} was at "
                      f"{newest.decode()}; set the clock")
    setup = found.setup
    if setup is not None and not setup.postgres and minter.store.status().remote:
        again = shlex.join(["noid", "setup", *setup.words, "--postgres", "--write"])
        yield ERROR, f"the service may not use the network, which the minter {name} needs: {again} | sh -ex"
    if administrators == ANYONE:
        yield ERROR, (f"everybody on the web may change the policy of the minter {name}, without a login: "
                      f"{noid} policy admin USER")
    elif administrators == AUTHENTICATED:
        yield WARNING, (f"everybody who has logged in may change the policy of the minter {name}: "
                        f"{noid} policy admin USER")
    if not canaries:
        yield WARNING, (f"no canary tells whether names of the minter {name} still resolve: "
                        f"{noid} resolver canary NAME")
    for canary, expected in canaries.items() if found.url else ():
        led = _location(found.url, canary, expected)
        if led == expected:
            yield OK, f"{canary} leads where it should"
        elif led.startswith(b"no answer"):
            yield ERROR, f"whether {canary} leads where it should is not known: {printable(led)} from {found.url}"
        else:
            yield ERROR, (f"{canary} leads to {printable(led)}, not to {printable(expected)}: "
                          f"{noid} resolve --explain {canary}")


def _location(url: str, canary: str, expected: bytes) -> bytes:
    """Where the resolver at `url` sends a reader of a name; a web server may know names by their scheme alone."""
    led = location_at(url, canary)
    if led == expected or ":" in canary:
        return led
    as_ark = location_at(url, f"ark:/{canary}")
    return as_ark if as_ark == expected or led.startswith(b"status") else led


# -- the web server --------------------------------------------------------------------------------------------------


def _web_server(found: Subject, *, has_minters: bool) -> Iterator[Finding]:
    """Whether the resolver answers through the web server."""
    if not found.url:
        yield WARNING, "no configuration names the host, so the web server was not asked: add --url Url"
        return
    try:
        status = status_at(found.url, "healthz")
    except NoidError as error:
        yield ERROR, error.message
        return
    answers = f"{found.url}healthz answers {status}"
    service = SERVICES[found.setup.server] if found.setup else ""
    if status in ("200", "204"):
        yield OK, answers
    elif "certificate is not valid" in status:
        yield ERROR, f"{answers}: renew the certificate (certbot renew), or name another with noid setup … --tls"
    elif service and _prints("systemctl", "is-active", service) not in ("active", ""):
        yield ERROR, f"{answers}, and {service} does not run: systemctl status {service}"
    elif status.startswith("nothing"):
        yield ERROR, f"{answers}: systemctl status {service}" if service else f"{answers}: start the web server"
    elif status == "503" and not has_minters:
        yield WARNING, f"{answers}, because there is no minter yet"
    else:
        yield ERROR, f"{answers}: look at {' and '.join(_logs(found))}"


def _logs(found: Subject) -> Iterator[str]:
    """Where the errors of requests are: of the service, and of the web server."""
    if found.setup is None or found.setup.has_service:
        yield "journalctl -u noid"
    if found.setup is not None:
        yield f"/var/log/{SERVICES[found.setup.server]}/error.log"
