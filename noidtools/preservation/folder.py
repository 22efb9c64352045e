"""The folder of a site: files are compared with those that are there, and only what differs is written.

That goes to a hidden folder first, from which each file is moved to its place when all are on disk.  So a reader finds
every file complete, old or new.  An export that is killed has changed nothing, or is finished by the next one.

The digests of pages are in files of their own, the parts.  At any moment those that are in the folder name all pages
that are there, so that the next export finds those it has to remove, even if the one before was killed and names were
hidden meanwhile.
"""

from __future__ import annotations

import filecmp
import os
import re
import subprocess
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path

from ..codec import encode_text
from ..errors import BusyError, StoreError
from ..store.folders import remove_folder
from ..store.locks import lock_file
from .pages import GONE_MARK, OTHER, OWN_FOLDER, PAGE, is_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SUMS = "SHA256SUMS"
# The end of the name of a part.
PART = ".sha256"
_IN_DATA = re.compile(rf"{OWN_FOLDER}/data/[0-9a-f]{{2}}/[0-9a-f]{{16}}\.(?:jsonl|erc|sha256)")
_IS_OTHER = re.compile(rf"{OTHER}/[0-9a-f]{{2}}/[0-9a-f]{{64}}")


@contextmanager
def locked(folder: str) -> Iterator[None]:
    """Keep other exports away from a folder; raises BusyError if one is at work."""
    descriptor = lock_file(os.path.realpath(folder), os.O_RDONLY | os.O_DIRECTORY)
    if descriptor is None:
        raise BusyError(f"another export is writing to {folder}: try again when it is done")
    try:
        yield
    finally:
        os.close(descriptor)


class SiteFolder:
    """A folder that is brought up to date; `new` is the hidden folder for what differs.

    written  how many files were written
    """

    def __init__(self, path: str, new: str) -> None:
        self.path = path
        self._new = new
        self._sums: dict[str, str] = {}
        self.written = 0

    def clear(self) -> None:
        """Forget what was put, because the work begins anew."""
        remove_folder(self._new)
        os.mkdir(self._new)
        self._sums, self.written = {}, 0

    # -- writing ---------------------------------------------------------------------------------------

    def put_page(self, path: str, content: bytes) -> None:
        """Write a file whose digest is in a part, unless the same one is in the folder."""
        try:
            with open(self._place(path), "rb") as file:
                if file.read() == content:
                    return
        except (FileNotFoundError, NotADirectoryError):
            pass
        self._write(path, content)

    def put(self, path: str, content: bytes) -> None:
        """Write any other file, unless the same one is in the folder."""
        self._sums[path] = sha256(content).hexdigest()
        self.put_page(path, content)

    def put_lines(self, path: str, head: bytes, lines: Iterable[bytes]) -> None:
        """Write a long file line by line, and drop it again if it is as it was."""
        self._write(path, head)
        digest = sha256(head)
        fresh, place = self._fresh(path), self._place(path)
        with open(fresh, "ab") as file:
            for line in lines:
                digest.update(line)
                file.write(line)
        self._sums[path] = digest.hexdigest()
        if os.path.isfile(place) and filecmp.cmp(fresh, place, shallow=False):
            os.unlink(fresh)
            self.written -= 1

    def link(self, path: str, target: str) -> None:
        """Make a symbolic link, unless something is there."""
        if not os.path.lexists(self._place(path)) and not os.path.lexists(self._fresh(path)):
            os.symlink(target, self._fresh(path))
            self.written += 1

    def finish(self, about: str, content: bytes) -> None:
        """Write what is said about the site, if anything differs, and the digests."""
        if self.written or self._stale_files() or not os.path.exists(self._place(about)):
            self.put(about, content)
        else:
            self._sums[about] = sha256(Path(self._place(about)).read_bytes()).hexdigest()
        lines = (f"{digest}  {path}\n" for path, digest in sorted(self._sums.items()))
        self.put_page(SUMS, "".join(lines).encode())

    def _write(self, path: str, content: bytes) -> None:
        fresh = self._fresh(path)
        os.makedirs(os.path.dirname(fresh), exist_ok=True)
        with open(fresh, "xb") as file:
            file.write(content)
        self.written += 1

    def _place(self, path: str) -> str:
        return os.path.join(self.path, path)

    def _fresh(self, path: str) -> str:
        return os.path.join(self._new, path)

    # -- putting it in place ---------------------------------------------------------------------------

    def install(self) -> int:
        """Move what was written to its place, and remove what is not part of the site any more; returns how many files
        that were."""
        os.sync()
        stale_files, stale_pages = self._stale_files(), self._stale_pages()
        for path in stale_pages:
            self._remove(path)
        # In a new site the folder of this program appears at once, and shows whose site it is.
        for name in sorted(os.listdir(self._new), key=lambda name: (name != OWN_FOLDER, name == SUMS)):
            self._move(name)
        for path in stale_files:
            self._remove(path)
        os.sync()
        return len(stale_files) + len(stale_pages)

    def _move(self, path: str) -> None:
        """Move a file, or a folder with all that is in it, to its place."""
        fresh, place = self._fresh(path), self._place(path)
        is_folder = os.path.isdir(fresh) and not os.path.islink(fresh)
        if is_folder and os.path.islink(place):
            os.unlink(place)  # another spelling, before there were names that begin so
        if not is_folder or not os.path.isdir(place):
            os.replace(fresh, place)
            return
        for name in sorted(os.listdir(fresh)):  # the parts in data before the pages in other
            self._move(f"{path}/{name}")

    def _stale_files(self) -> list[str]:
        """The parts and files of descriptions that the site does not have any more."""
        return [path for path in self._data() if path not in self._sums]

    def _stale_pages(self) -> list[str]:
        """The pages that the site does not have any more."""
        changed = [path for path in self._data() if path.endswith(PART)
                   and (path not in self._sums or os.path.exists(self._fresh(path)))]
        pages = {page for path in changed for page in _pages_in(self._place(path))}
        for path in self._sums if pages else ():
            if path.endswith(PART):
                fresh = self._fresh(path)
                pages -= _pages_in(fresh if os.path.exists(fresh) else self._place(path))
        return sorted(pages)

    def _data(self) -> list[str]:
        """The parts and files of descriptions that are in the folder, also those of an export that was killed."""
        found = (str(path.relative_to(self.path)) for path in Path(self.path).glob(f"{OWN_FOLDER}/data/*/*"))
        return sorted(path for path in found if _IN_DATA.fullmatch(path))

    def _remove(self, path: str) -> None:
        """Remove a file, and the folders on the way to it that are empty then."""
        with suppress(FileNotFoundError):
            os.unlink(self._place(path))
        while path := os.path.dirname(path):
            try:
                os.rmdir(self._place(path))
            except OSError:
                return  # it has other files


def _pages_in(part: str) -> set[str]:
    with open(part, encoding="utf-8", errors="surrogateescape") as file:
        return {page for line in file if _is_page(page := line[66:].rstrip("\n"))}


def _is_page(path: str) -> bool:
    folder, _, name = path.rpartition("/")
    return name in (PAGE, GONE_MARK) and (is_path(encode_text(folder)) or bool(_IS_OTHER.fullmatch(folder)))


# -- git -------------------------------------------------------------------------------------------------------------


def is_in_work_tree(folder: str) -> bool:
    return _git(folder, "rev-parse", "--is-inside-work-tree", check=False).strip() == "true"


def commit(folder: str, message: str) -> bool:
    """Commit the folder; returns whether there was anything to commit.  Nothing is ever pushed."""
    _git(folder, "add", "--all", "--", ".")
    if not _git(folder, "status", "--porcelain", "--", "."):
        return False
    who = [] if _git(folder, "config", "user.email", check=False) else \
        ["-c", "user.name=noid", "-c", "user.email=noid@localhost"]
    _git(folder, *who, "commit", "--quiet", "--message", message, "--", ".")
    return True


def _git(folder: str, *words: str, check: bool = True) -> str:
    try:
        done = subprocess.run(["git", "-C", folder, *words], capture_output=True, text=True, errors="replace",
                              check=False)
    except FileNotFoundError:
        raise StoreError("git is not installed, so nothing was committed: install it") from None
    if check and done.returncode:
        reason = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:] or ["no reason given"]
        raise StoreError(f"the site was written, but git did not commit it: {reason[0]}")
    return done.stdout
