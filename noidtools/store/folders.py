"""Folders that appear complete, in one step, or not at all; and what lies beside a database in its folder."""

from __future__ import annotations

import os
import shutil
import signal
import stat
from itertools import chain, count

from ..errors import ConflictError, StoreError
from ..times import system_clock, timestamp
from .privileges import ActingAsOwner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .interface import Readme

# A text for people.
README = "README"


def create_folder(target: str, fill: Callable[[str], None], *, what: str = "a minter") -> None:
    """Make a folder with what `fill` puts into it, called `what` in refusals.

    Raises ConflictError if something of that name exists.
    """
    if os.path.lexists(target):
        raise ConflictError(f"{target} exists already: to make {what} here, move it away or remove it first")
    parent = os.path.dirname(target) or "."
    try:
        new = _name_for_new(parent, f".{os.path.basename(target)}-new-")
        try:
            os.mkdir(new)
            fill(new)
            sync_folder(new)
            os.rename(new, target)
        except BaseException as error:
            _remove_unfinished(new, error)
            raise
        sync_folder(parent)
    except OSError as error:
        if os.path.lexists(target):
            raise ConflictError(f"{target} exists already: another process created it just now") from None
        raise StoreError(f"cannot create {what} in {parent}: {error.strerror}") from None


def move_folder(source: str, target: str) -> None:
    """Give a folder another name, on disk when this returns.  Raises ConflictError if something of that name exists."""
    if os.path.lexists(target):
        raise ConflictError(f"{target} exists already: move it away or remove it first")
    try:
        os.rename(source, target)
        for parent in {os.path.dirname(source) or ".", os.path.dirname(target) or "."}:
            sync_folder(parent)
    except OSError as error:
        raise StoreError(f"{source} cannot be moved to {target}: {error.strerror}") from None


def adopt_permissions(old: str, new: str) -> None:
    """Give a folder that this process has made, and its files, the permissions of those whose place they are to take,
    and their owner if this account may; what was not there before, or was a link, gets the owner of the folder."""
    # The name may be that of a link by now, if others write to the folder above; what was opened stays the same.
    descriptor = os.open(new, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        folder = os.lstat(old)
        for name in os.listdir(descriptor):
            try:
                before = os.lstat(os.path.join(old, name))
            except FileNotFoundError:
                before = folder
            is_file = stat.S_ISREG(before.st_mode)
            if os.geteuid() == 0:
                owner = before if is_file else folder
                os.chown(name, owner.st_uid, owner.st_gid, dir_fd=descriptor, follow_symlinks=False)
            if is_file:
                os.chmod(name, before.st_mode & 0o777, dir_fd=descriptor)
        # Last, because its new owner may put other files there from then on.
        if os.geteuid() == 0:
            os.fchown(descriptor, folder.st_uid, folder.st_gid)
        os.fchmod(descriptor, folder.st_mode & 0o7777)
    finally:
        os.close(descriptor)


def replace_folder(target: str, fill: Callable[[str], None], aside: str) -> None:
    """Put a folder with what `fill` puts into it in the place of another one, as `put_in_place` does."""
    new = _name_for_new(os.path.dirname(target) or ".", f".{os.path.basename(target)}-new-")
    try:
        os.mkdir(new)
        fill(new)
        sync_folder(new)
        put_in_place(new, target, aside)
    except BaseException as error:
        _remove_unfinished(new, error)
        raise


def put_in_place(new: str, target: str, aside: str) -> None:
    """Put a folder in the place of another one, which from then on is at `aside`.

    Both happen in one step, so that there is always one of the two at `target`, whenever this process is killed.  If it
    cannot be done, the folder is at `new` again.  If this is interrupted, nothing is at `new`, so that whoever removes
    that removes neither of the two.
    """
    os.rename(new, aside)
    try:
        _exchange(aside, target)
    except StoreError:
        os.rename(aside, new)
        raise
    for parent in {os.path.dirname(folder) or "." for folder in (new, target, aside)}:
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


def _name_for_new(parent: str, mark: str) -> str:
    """The name of a folder beside the target, which does not exist.  Those that killed processes left behind are
    removed.

    The caller makes it where it also removes it: an interruption right after it was made must not leave it behind.
    """
    remove_leftovers(parent, mark)
    new = os.path.join(parent, f"{mark}{os.getpid()}")
    shutil.rmtree(new, ignore_errors=True)
    return new


def _remove_unfinished(new: str, error: BaseException) -> None:
    """Remove a folder that was not completed because of an error, unless it is that of another, made just now."""
    if not (isinstance(error, FileExistsError) and error.filename == new):
        remove_folder(new)


def remove_folder(folder: str) -> None:
    """Remove a folder with all that is in it, as far as this process can.  A signal that interrupts the command takes
    effect when the folder is gone."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGALRM))
    try:
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def remove_leftovers(parent: str, mark: str) -> None:
    """Remove the folders whose names begin with this mark and end in the number of a process that has ended."""
    for name in os.listdir(parent):
        if name.startswith(mark) and not is_alive(name.rpartition("-")[2]):
            shutil.rmtree(os.path.join(parent, name), ignore_errors=True)


def is_alive(pid: str) -> bool:
    """Whether there is a process with this number."""
    try:
        os.kill(int(pid), 0)
    except (ProcessLookupError, ValueError):
        return False
    except PermissionError:
        pass  # another user's, but alive
    return True


def aside_name(location: str, what: str) -> str:
    """A free name beside a location for what was there: with `what`, such as moved, the time and the process."""
    name = f"{location}-{what}-{timestamp(system_clock()).decode()}-{os.getpid()}"
    others = (f"{name}-{number}" for number in count(2))
    return next(free for free in chain((name,), others) if not os.path.lexists(free))


def readme_of(folder: str) -> bytes:
    """The text for people in a folder; nothing if there is none, or if it is a link or not for the folder's owner, so
    that whoever may write to the folder does not get the content of other files by it."""
    try:
        with ActingAsOwner(folder or ".") as path:
            descriptor = os.open(os.path.join(path, README), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            return file.read() if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
    except OSError:
        return b""


def write_readme(folder: str, readme: Readme) -> None:
    """Put the text for people into a folder, unless it is empty."""
    content = readme if isinstance(readme, bytes) else readme()
    if content:
        write_file(os.path.join(folder, README), content)


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
