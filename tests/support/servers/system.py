"""What the servers need of the machine: programs, an account, ports."""

from __future__ import annotations

import os
import pwd
import shutil
from typing import Any

_PACKAGE_OF = {
    "httxt2dbm": "apache2-utils",
    "apache2": "apache2", "nginx": "nginx-light", "curl": "curl", "htpasswd": "apache2-utils", "wrk": "wrk",
    "systemd-analyze": "systemd", "systemd-socket-activate": "systemd", "openssl": "openssl",
    "chromium-headless-shell": "chromium-headless-shell",
    "unshare": "util-linux", "nsenter": "util-linux", "setpriv": "util-linux",
}


class MissingError(Exception):
    """A program that the tests need is not installed."""


def program(name: str) -> str:
    """The path of a program; MissingError names the Debian package that has it."""
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


def as_server_user() -> dict[str, Any]:
    """Arguments for subprocess that make a process the servers' user, with a small environment."""
    settings: dict[str, Any] = {"env": {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}}
    if os.getuid() == 0:
        user, group = server_ids()
        settings.update(user=user, group=group, extra_groups=[])
    return settings
