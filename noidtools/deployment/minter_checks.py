"""The part of `noid setup check` that looks into the minters of a folder."""

from __future__ import annotations

import os

from .. import resolution
from ..errors import NoidError, printable
from ..minter import config, location_of
from ..minter.events import newest_number, read_event
from ..minter.policies import ADMIN, ANYONE, AUTHENTICATED, AccessPolicy
from ..times import system_clock, timestamp
from .access import first_barrier

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..minter import Minter
    from ..minter.folder import MinterFolder
    from ..store import Reader
    Finding = tuple[str, str]

OK, WARNING, ERROR = "ok", "warning", "error"


def check_minters(folder: MinterFolder, user: str, url: str) -> Iterator[Finding]:
    """The findings about each minter; `user` runs the program, and canaries are asked at `url`, if there is one."""
    found = folder.dbdirs()
    if not found:
        yield WARNING, (f"there is no minter in {folder.folder}: make one with runuser -u {user} -- "
                        f"noid -f {folder.folder}/NAME dbcreate")
    namespaces: dict[bytes, list[str]] = {}
    for name, dbdir in found:
        yield from _files(name, location_of(dbdir), user)
        try:
            minter = folder.open(dbdir, name)
            yield from _content(name, minter, url)
        except NoidError as error:
            yield ERROR, f"the minter {name} cannot be read: {error.message}"
            continue
        prefix = minter.scheme.namespace_prefix
        if prefix:
            namespaces.setdefault(prefix, []).append(name)
    for prefix, names in namespaces.items():
        if len(names) > 1:
            yield ERROR, (f"the minters {', '.join(names)} share NAAN and prefix {printable(prefix)}, so that they "
                          "give the same identifiers to different things: keep one of them, and make a new minter "
                          "with another prefix for what comes")


def _files(name: str, location: str, user: str) -> Iterator[Finding]:
    """Whether the account can write the files of a minter."""
    paths = [location, *sorted(os.path.join(location, entry) for entry in os.listdir(location))] \
        if os.path.isdir(location) else [location]
    for path in paths:
        if os.path.basename(path) == "README":
            continue
        mode = os.R_OK | os.W_OK | (os.X_OK if os.path.isdir(path) else 0)
        barrier = first_barrier(user, path, mode)
        if barrier:
            yield ERROR, (f"{user} cannot write {path} of the minter {name}, because of {barrier}: "
                          f"chown -R {user}: {os.path.dirname(location)}")
            return
    yield OK, f"{user} can write the minter {name}"


def _content(name: str, minter: Minter, url: str) -> Iterator[Finding]:
    def read(reader: Reader) -> tuple[bytes, bytes, dict[str, bytes]]:
        number = newest_number(reader)
        newest = read_event(reader, number) if number else None
        administrators = AccessPolicy.of(reader).rules[ADMIN].word
        return newest.date if newest else b"", administrators, config.values(reader, resolution.CANARY)

    newest, administrators, canaries = minter.read(read)
    now = timestamp(system_clock())
    if newest > now:
        yield ERROR, (f"the clock is behind: it says {now.decode()}, and the last change of the minter {name} was at "
                      f"{newest.decode()}; set the clock")
    if administrators == ANYONE:
        yield ERROR, (f"everybody on the web may change the policy of the minter {name}, without a login: "
                      f"noid -f {minter.dbdir} policy admin USER")
    elif administrators == AUTHENTICATED:
        yield WARNING, (f"everybody who has logged in may change the policy of the minter {name}: "
                        f"noid -f {minter.dbdir} policy admin USER")
    if not canaries:
        yield WARNING, (f"no canary tells whether names of the minter {name} still resolve: "
                        f"noid -f {minter.dbdir} resolver canary NAME")
    for canary, expected in canaries.items() if url else ():
        led = _location(url, canary, expected)
        if led == expected:
            yield OK, f"{canary} leads where it should"
        elif led.startswith(b"no answer"):
            yield ERROR, f"whether {canary} leads where it should is not known: {printable(led)} from {url}"
        else:
            yield ERROR, (f"{canary} leads to {printable(led)}, not to {printable(expected)}: "
                          f"noid -f {minter.dbdir} resolve --explain {canary}")


def _location(url: str, canary: str, expected: bytes) -> bytes:
    """Where the resolver at `url` sends a reader of a name; a web server may know names by their scheme alone."""
    from ..verification.http import location_at

    led = location_at(url, canary)
    if led == expected or ":" in canary:
        return led
    as_ark = location_at(url, f"ark:/{canary}")
    return as_ark if as_ark == expected or led.startswith(b"status") else led
