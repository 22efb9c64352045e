"""Making a folder that appears complete, in one step, or does not appear."""

from __future__ import annotations

import os
import shutil

from ..errors import ConflictError, StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def create_folder(target: str, fill: Callable[[str], None]) -> None:
    """Make a folder with what `fill` puts into it.  Raises ConflictError if something of that name exists."""
    if os.path.lexists(target):
        raise ConflictError(f"{target} exists already: to make another minter here, move it away or remove it first")
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
        raise StoreError(f"cannot create a minter in {parent}: {error.strerror}") from None


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
