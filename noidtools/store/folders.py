"""Folders and files of stores: they appear atomically, belong to the user, and are no links."""

from __future__ import annotations

import errno
import os
import pwd
import stat
import threading
import time
from contextlib import contextmanager, suppress

from ..errors import ConflictError, StoreError
from ..times import system_clock, timestamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from . import Readme

# A text for people.
README = "README"

# How a store says which engine it is of, if that is not LMDB: the file in its folder with the name of the engine, and
# the environment variable with the address of the database server in which new stores are made.
ENGINE_FILE = "engine"
ADDRESS_VARIABLE = "NOIDTOOLS_STORE"

_LONGEST_TEXT = 1 << 20

# The file in a folder that is to take the place of another one: the name that the other one gets.
_REPLACES = "replaces"

# The folders that threads of this process are filling.
_unfinished: set[str] = set()

# Seconds in which a process that replaces a folder gives the new one its name.
_REPLACEMENT = 0.5


# -- folders ---------------------------------------------------------------------------------------------------------


def create_folder(target: str, fill: Callable[[str], None], *, what: str = "a minter") -> None:
    """Make a folder with what `fill` puts into it, called `what` in refusals; it appears atomically.

    Raises ConflictError if something of that name exists.
    """
    if os.path.lexists(target):
        raise ConflictError(f"{target} exists already: to make {what} here, move it away or remove it first")
    parent = os.path.dirname(target) or "."
    try:
        with _new_folder(target) as new:
            fill(new)
            sync_folder(new)
            os.rename(new, target)
        sync_folder(parent)
    except OSError as error:
        if os.path.lexists(target):
            raise ConflictError(f"{target} exists already: another process created it just now") from None
        raise StoreError(f"cannot create {what} in {parent}: {error.strerror}") from None


def replace_folder(target: str, fill: Callable[[str], None], aside: str) -> None:
    """Put a folder with what `fill` puts into it in the place of another one, which from then on is at `aside`.

    To be called by a process that keeps writers away.  If anything is raised, the old folder is in its place.
    """
    with _new_folder(target) as new:
        fill(new)
        put_in_place(new, target, aside, move_folder)


def put_in_place(new: str, target: str, aside: str, take_away: Callable[[str, str], None]) -> None:
    """Give a complete folder the name of another one, which `take_away` moves to `aside`, beside it.

    If this process is killed between the two steps, whoever looks for the folder next does the second one: see
    `complete_replacement`.
    """
    ready = _ready_name(target)
    remove_folder(ready)  # of a process that was killed before the old folder was taken away
    write_file(os.path.join(new, _REPLACES), os.fsencode(os.path.basename(aside)))
    sync_folder(new)
    os.rename(new, ready)
    sync_folder(os.path.dirname(target) or ".")
    try:
        take_away(target, aside)
    except BaseException:
        os.rename(ready, new)
        raise
    complete_replacement(target)


def complete_replacement(target: str) -> bool:
    """If a folder is missing because it is being replaced, give the new one its name; returns whether there is one.

    A folder that somebody else took away is not replaced by what a killed process has left.
    """
    ready = _ready_name(target)
    deadline = time.monotonic() + _REPLACEMENT
    while not os.path.lexists(target) and os.path.lexists(ready):
        try:
            if _is_taken_away(target, ready):
                os.rename(ready, target)
                sync_folder(os.path.dirname(target) or ".")
                os.unlink(os.path.join(target, _REPLACES))
                break
        except OSError:
            pass  # another process did it just now; or this account may not, and the one that replaces it is about to
        if time.monotonic() > deadline:
            break
        time.sleep(0.01)
    return os.path.lexists(target)


def _is_taken_away(target: str, ready: str) -> bool:
    """Whether the folder that was at the target has been moved aside, as the folder that is ready says.

    Another account may have made the one that is ready: a link is not followed, and root accepts only its own.
    """
    found = os.lstat(ready)
    if not stat.S_ISDIR(found.st_mode) or (found.st_uid and not os.geteuid()):
        return False
    aside = read_text(os.path.join(ready, _REPLACES))
    return bool(aside) and os.path.lexists(os.path.join(os.path.dirname(target), os.fsdecode(aside)))


def _ready_name(target: str) -> str:
    folder, name = os.path.split(target)
    return os.path.join(folder, f".{name}-ready")


@contextmanager
def _new_folder(target: str) -> Iterator[str]:
    """Make a folder beside a target, and remove it if the `with` block raises."""
    with unfinished_name(*_new_names(target)) as new:
        try:
            os.mkdir(new)
            yield new
        except BaseException:
            remove_folder(new)
            raise


def remove_unfinished(target: str) -> None:
    """Remove the folders that killed processes left when they made one for this target."""
    remove_leftovers(*_new_names(target))


def _new_names(target: str) -> tuple[str, str]:
    """Where folders for a target are made, and how their names begin."""
    parent, name = os.path.split(os.path.abspath(target))
    return parent, f".{name}-new-"


@contextmanager
def unfinished_name(parent: str, mark: str) -> Iterator[str]:
    """A path for what this thread makes; removes what killed processes have left under names with this mark."""
    remove_leftovers(parent, mark)
    path = os.path.join(os.path.abspath(parent), f"{mark}{threading.get_ident()}-{os.getpid()}")
    _unfinished.add(path)
    try:
        yield path
    finally:
        _unfinished.discard(path)


def move_folder(source: str, target: str) -> None:
    """Give a folder another name, on disk when this returns.  Raises ConflictError if something of that name exists."""
    exists = ConflictError(f"{target} exists already: move it away or remove it first")
    if os.path.lexists(target):
        raise exists
    try:
        os.rename(source, target)
        for parent in {os.path.dirname(source) or ".", os.path.dirname(target) or "."}:
            sync_folder(parent)
    except OSError as error:
        if error.errno == errno.ENOTEMPTY:
            raise exists from None
        raise StoreError(f"{source} cannot be moved to {target}: {error.strerror}") from None


def remove_folder(folder: str) -> None:
    """Remove a folder with all that is in it, as far as this process can; links are removed, not followed."""
    import shutil

    if os.path.islink(folder):
        with suppress(OSError):
            os.unlink(folder)
    shutil.rmtree(folder, ignore_errors=True)


def remove_leftovers(parent: str, mark: str) -> None:
    """Remove the folders whose names begin with this mark and end in the number of a process that has ended."""
    try:
        names = os.listdir(parent)
    except OSError:
        return  # they stay where they are
    for name in names:
        path = os.path.join(os.path.abspath(parent), name)
        if name.startswith(mark) and path not in _unfinished and not _is_alive(name.rpartition("-")[2]):
            remove_folder(path)


def _is_alive(pid: str) -> bool:
    """Whether another process has this number."""
    if pid == str(os.getpid()):
        return False
    try:
        os.kill(int(pid), 0)
    except (ProcessLookupError, ValueError, OverflowError):
        return False
    except PermissionError:
        pass  # another user's, but alive
    return True


def aside_name(location: str, what: str) -> str:
    """A name beside a location for what was there: with `what`, such as moved, the time and random digits."""
    return f"{location}-{what}-{timestamp(system_clock()).decode()}-{os.urandom(4).hex()}"


def copy_permissions(old: str, new: str) -> None:
    """Give a folder that this process has made, and its files, the permissions of those whose place they take, and
    their group if this account may."""
    for name in ("", *os.listdir(new)):
        try:
            before = os.lstat(os.path.join(old, name))
        except FileNotFoundError:
            continue
        if stat.S_ISLNK(before.st_mode):
            continue
        path = os.path.join(new, name)
        with suppress(PermissionError):  # the owner need not be in that group
            os.chown(path, -1, before.st_gid, follow_symlinks=False)
        os.chmod(path, stat.S_IMODE(before.st_mode))


# -- whose it is -----------------------------------------------------------------------------------------------------


def ensure_own(location: str) -> None:
    """Raise StoreError if this is root, and a store, the folder above it or a link in its path belongs to another user.

    The owner of the folder could put links into it, which root would follow; and the owner could not use files that
    root makes.
    """
    if os.geteuid():
        return
    location = os.path.join(os.getcwd(), location)
    parts = location.split("/")
    way = ["/".join(parts[:end]) for end in range(2, len(parts) + 1)]
    links = [path for path in way if os.path.islink(path)]
    real = os.path.realpath(location)
    for path in (*links, os.path.realpath(os.path.dirname(location)), os.path.dirname(real), real):
        try:
            owner = os.lstat(path).st_uid
        except OSError:
            continue  # there is none; it is refused where it is needed
        if owner:
            user = _user_name(owner)
            raise StoreError(f"{path} belongs to {user}, and root does not use the minters of others: run 'runuser -u "
                             f"{user} -- noid …'")


def _user_name(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"#{number}"


# -- files -----------------------------------------------------------------------------------------------------------


def readme_of(folder: str) -> bytes:
    """The text for people in a folder; nothing if there is none, or if it is a link."""
    return read_text(os.path.join(folder, README))


def read_text(path: str) -> bytes:
    """The beginning of a file; nothing if there is none, or if it is a link, which another account may have put
    there."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            return file.read(_LONGEST_TEXT) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
    except (OSError, ValueError):
        return b""


def write_readme(folder: str, readme: Readme) -> None:
    """Put the text for people into a folder, unless it is empty."""
    content = readme if isinstance(readme, bytes) else readme()
    if content:
        write_file(os.path.join(folder, README), content)


def write_file(path: str, content: bytes) -> None:
    """Make a file that is on disk when this returns; what is there, perhaps a link of another account, is removed."""
    with suppress(FileNotFoundError):
        os.unlink(path)
    with open(path, "xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def replace_file(path: str, write: Callable[[str], None]) -> None:
    """Write a new file beside the old one, then rename it: a reader finds the old or the new one, complete."""
    fresh = f"{path}.{os.getpid()}.new"
    try:
        write(fresh)
        sync_folder(fresh)
        os.replace(fresh, path)
        sync_folder(os.path.dirname(os.path.abspath(path)))
    finally:
        with suppress(FileNotFoundError):
            os.unlink(fresh)


def sync_folder(folder: str) -> None:
    """Have the names in a folder written to disk; or a file, its content."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def ensure_regular(path: str) -> os.stat_result | None:
    """The status of a file, None if there is none.  Raises StoreError for a link and for anything but a regular file,
    which another account may have put there."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        what = "a symbolic link, which is not followed" if stat.S_ISLNK(found.st_mode) else "not a file"
        raise StoreError(f"{path} is {what}: put the file itself there (the folder above it may be a link), and find "
                         "out who made it")
    return found


def ensure_exists(path: str, model: str) -> None:
    """Make a file if there is none, with the permissions of the file `model`."""
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o664)
    except FileExistsError:
        return  # another process made it just now
    try:
        os.fchmod(descriptor, os.stat(model).st_mode & 0o666)
    finally:
        os.close(descriptor)


def ensure_allocated(path: str, size: int) -> None:
    """Make a file of this size, if there is none, with all blocks allocated: to touch a hole in a map kills a process
    (SIGBUS) if the disk is full."""
    try:
        if is_allocated(os.stat(path), size):
            return
    except FileNotFoundError:
        pass
    _allocate(path, 0, size, os.O_CREAT)


def is_allocated(found: os.stat_result, size: int) -> bool:
    """Whether a file has blocks for this many bytes."""
    return found.st_blocks * 512 >= size


def ensure_length(path: str, length: int) -> None:
    """Make an existing file at least this long, so that a map of it can be read to its end."""
    if os.path.getsize(path) < length:
        # Unlike truncate this cannot shorten a file to which another process writes just now.
        _allocate(path, length - 1, 1)


def _allocate(path: str, start: int, length: int, flags: int = 0) -> None:
    descriptor = os.open(path, flags | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o664)
    try:
        os.posix_fallocate(descriptor, start, length)
    finally:
        os.close(descriptor)
