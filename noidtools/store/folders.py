"""Making a folder that appears complete, in one step, or does not appear."""

from __future__ import annotations

import os
import shutil

from ..errors import ConflictError, StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def create_folder(target: str, fill: Callable[[str], None], *, what: str = "a minter") -> None:
    """Make a folder with what `fill` puts into it, called `what` in refusals.

    Raises ConflictError if something of that name exists.
    """
    if os.path.lexists(target):
        raise ConflictError(f"{target} exists already: to make {what} here, move it away or remove it first")
    parent = os.path.dirname(target) or "."
    try:
        new = _new_folder(parent, f".{os.path.basename(target)}-new-")
        try:
            fill(new)
            sync_folder(new)
            os.rename(new, target)
        except BaseException:
            shutil.rmtree(new, ignore_errors=True)
            raise
        sync_folder(parent)
    except OSError as error:
        if os.path.lexists(target):
            raise ConflictError(f"{target} exists already: another process created it just now") from None
        raise StoreError(f"cannot create {what} in {parent}: {error.strerror}") from None


def replace_folder(target: str, fill: Callable[[str], None], aside: str) -> None:
    """Put a folder with what `fill` puts into it in the place of another one, which from then on is at `aside`.

    Both happen in one step, so that there is always one of the two at `target`, whenever this process is killed.
    """
    parent = os.path.dirname(target) or "."
    new = _new_folder(parent, f".{os.path.basename(target)}-new-")
    try:
        fill(new)
        sync_folder(new)
        os.rename(new, aside)
        new = aside
        _exchange(aside, target)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise
    sync_folder(parent)


def _exchange(one: str, other: str) -> None:
    """Exchange two names of a file system, which Python has no function for."""
    import ctypes

    here, exchange = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(here, os.fsencode(one), here, os.fsencode(other), ctypes.c_uint(exchange)):
        number = ctypes.get_errno()
        raise StoreError(f"{other} cannot be replaced in one step here ({os.strerror(number)}): stop all that uses it, "
                         "move it away, and do this again")


def _new_folder(parent: str, mark: str) -> str:
    """A folder beside the target.  Those that killed processes left behind are removed first."""
    for name in os.listdir(parent):
        if name.startswith(mark) and not _is_alive(name.removeprefix(mark)):
            shutil.rmtree(os.path.join(parent, name), ignore_errors=True)
    new = os.path.join(parent, f"{mark}{os.getpid()}")
    shutil.rmtree(new, ignore_errors=True)
    os.mkdir(new)
    return new


def _is_alive(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except (ProcessLookupError, ValueError):
        return False
    except PermissionError:
        pass  # another user's, but alive
    return True


def write_file(path: str, content: bytes) -> None:
    """Make a file that is on disk when this returns."""
    with open(path, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: str) -> None:
    """Have the names in a folder written to disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
