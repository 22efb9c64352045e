"""What another account may do with files: asked of the system itself, in a process that is that account."""

from __future__ import annotations

import os
import pwd
import subprocess

from ..errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def first_barrier(user: str, path: str, mode: int) -> str:
    """The first part of a path that an account may not pass, or the path itself if it may not be used by `mode`.

    `mode` is one of os.R_OK, os.W_OK and os.X_OK, or several.  Empty if nothing is in the way.  Raises UsageError if
    there is no such account, or this process may not become it.
    """
    parts = path.strip("/").split("/")
    folders = ["/" + "/".join(parts[:count]) for count in range(1, len(parts))]
    for folder in folders:
        if not _as_account(user, lambda: os.access(folder, os.X_OK)):  # noqa: B023 - run at once
            return folder
    return "" if _as_account(user, lambda: os.access(path, mode)) else path


def run_as(user: str, words: list[str], given: bytes) -> subprocess.CompletedProcess[bytes]:
    """Run a program under another account, with `given` as its input; raises as `first_barrier` does."""
    account = _account(user)
    other = os.geteuid() != account.pw_uid
    try:
        return subprocess.run(
            words, input=given, capture_output=True, check=False, timeout=60, cwd="/",
            env={"PATH": os.defpath, "LC_ALL": "C.UTF-8"}, user=account.pw_uid if other else None,
            group=account.pw_gid if other else None,
            extra_groups=os.getgrouplist(user, account.pw_gid) if other else None)
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(words, 1, b"", str(error).encode())


def last_line(done: subprocess.CompletedProcess[bytes]) -> str:
    """What a program wrote last about its errors."""
    lines = done.stderr.decode(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "it gives no reason")


def _account(user: str) -> pwd.struct_passwd:
    """An account that this process is or may become."""
    try:
        account = pwd.getpwnam(user)
    except KeyError:
        raise UsageError(f"there is no account {user}: make it with adduser --system --group {user}") from None
    if os.geteuid() not in (0, account.pw_uid):
        raise UsageError(f"what {user} may do with files is known to root and to {user} alone: use sudo")
    return account


def _as_account(user: str, question: Callable[[], bool]) -> bool:
    """The answer to a question in a process of another account."""
    account = _account(user)
    if os.geteuid() == account.pw_uid:
        return question()
    child = os.fork()
    if not child:
        answer = False
        try:
            os.setgroups(os.getgrouplist(user, account.pw_gid))
            os.setgid(account.pw_gid)
            os.setuid(account.pw_uid)
            answer = question()
        finally:
            os._exit(0 if answer else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
