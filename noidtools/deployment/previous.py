"""What an earlier set-up on the same machine left, and the commands by which a new one takes its place."""

from __future__ import annotations

import os

from ..minter import location_of
from .files import SITE, files_of
from .settings import APACHE, NGINX, SERVICES, UNITS, SetUp, below, user_ids

# Where a web server looks for the host.
_ENABLED = {NGINX: SITE[NGINX], APACHE: "/etc/apache2/sites-enabled/noid.conf"}
_UNITS = "/etc/systemd/system"
# Where there is a link to each socket that was enabled.
_WANTED = f"{_UNITS}/sockets.target.wants"


class Previous:
    """What was there before a set-up is written.

    units    the units of systemd of another way that are enabled
    site     the other web server, if it has a host of ours; else empty
    owned    whether the folder of minters, or a minter in it, belongs to another account
    changed  whether the units of this way were others
    """

    def __init__(self, setup: SetUp) -> None:
        used = setup.unit if setup.has_service else ""
        self.units = [unit for unit in UNITS if unit != used and self._exists(setup, f"{_WANTED}/{unit}.socket")]
        other = NGINX if setup.server == APACHE else APACHE
        self.site = other if self._exists(setup, _ENABLED[other]) else ""
        self.owned = any(_belongs_to_another(setup, path) for path in _owned_paths(setup))
        self.changed = any(file.path.startswith(_UNITS) and file.text is not None and self._exists(setup, file.path)
                           and _content(below(setup.root, file.path)) != file.text for file in files_of(setup))

    @staticmethod
    def _exists(setup: SetUp, path: str) -> bool:
        return os.path.lexists(below(setup.root, path))

    def steps(self, setup: SetUp) -> list[str]:
        """The commands that end what was there, and give the minters to the account of the new set-up."""
        steps = [f"systemctl disable --now {unit}.socket {unit}.service" for unit in self.units]
        if self.site:
            path = _ENABLED[self.site]
            steps.append("a2dissite noid" if self.site == APACHE else f"mv --backup=numbered {path} {path}.old")
            steps.append(f"systemctl disable --now {SERVICES[self.site]}  # or reload it, where it serves other hosts")
        if self.owned:
            steps.append(f"chown -R {setup.owner}: {setup.minters}")
        return steps


def _owned_paths(setup: SetUp) -> list[str]:
    """The folder of minters, those of the minters, and their databases."""
    folder = below(setup.root, setup.minters)
    minters = [os.path.join(folder, name) for name in setup.minter_names()]
    return [path for path in (folder, *minters, *map(location_of, minters)) if os.path.exists(path)]


def _belongs_to_another(setup: SetUp, path: str) -> bool:
    account = user_ids(setup.owner)
    return account is None or os.stat(path).st_uid != account[0]


def _content(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
