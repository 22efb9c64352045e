"""`noid export --site`: all that a host of plain files needs so that links and descriptions go on.

Everything is read in one read transaction, compared with the files that are there, and only what differs is written: to
a hidden folder first, from which each file is moved to its place when all are on disk.  So a reader finds every file
complete, old or new, and the maps of web servers change at once; pages of different names may be of two exports for the
moment in which they are moved.  An export that is killed has changed nothing, or is finished by the next one.

Descriptions and digests are in files of some hundred names each.  Where such a file ends depends on the names in it
alone, so that a new name changes one file and not all that follow.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256

from ..codec import decode_text, encode_text
from ..description.formats import citation_text, name_data, promise_of
from ..description.gatherer import SUMMARY, gather_minter, gather_outcome
from ..errors import BusyError, ConflictError, StoreError, UsageError
from ..minter import Minter, stored
from ..minter.identifiers import resolvers
from ..minter.lifecycle import reader_in
from ..minter.namespace import RULE_MARK
from ..minter.policies import PUBLISHED, TARGETS, AccessPolicy, hides
from ..names.targets import USUAL_CODE
from ..resolution import GONE, Lookup, Outcome, follow_aliases
from ..resolution.maps import address_of as target_of
from ..resolution.maps import nginx_writer, txt_line
from ..spool import Spool
from ..store.folders import remove_folder, unfinished_name
from ..store.locks import lock_file
from ..times import timestamp
from ..version import __version__
from .pages import (
    GONE_MARK,
    OTHER,
    OWN_FOLDER,
    PAGE,
    Choice,
    address_of,
    choice_page,
    is_path,
    name_page,
    page_folder,
    site_file,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..console import Progress
    from ..store import Reader

SUMS = "SHA256SUMS"
_ABOUT = f"{OWN_FOLDER}/site.json"
_FORMAT = 1
_MARK = ".noid-site-new-"
_SUFFIXES = (".jsonl", ".erc", ".sha256")
# A file of descriptions ends after a name whose digest ends so, one in 256; or after this many names.
_END_MASK = 0xFF
_MOST_IN_FILE = 2_000
# A view remembers which names are public: it is made anew after this many.
_NAMES_OF_VIEW = 10_000
_MOST_SPELLINGS = 1_000
_PROGRESS_EVERY = 1_000
# What a redirect of static hosts may have in its path: an asterisk and a colon before a letter are placeholders.
_IN_REDIRECTS = re.compile(rb"(?:[A-Za-z0-9._~+=,@/-]|:(?![A-Za-z]))+")
_IS_PART = re.compile(rf"{OWN_FOLDER}/data/[0-9a-f]{{2}}/[0-9a-f]{{16}}\.(?:jsonl|erc|sha256)")
_IS_OTHER = re.compile(rf"{OTHER}/[0-9a-f]{{2}}/[0-9a-f]{{64}}")
_SUM_LINE = re.compile(r"([0-9a-f]{64})  (.+)")
# What names with a label begin with, up to the number of their authority.
_ROOT = re.compile(r"ark:/[A-Za-z0-9.]+(?=/)|[A-Za-z]+:[A-Za-z0-9.]+(?=/)")
_IN_CONFIGURATION = re.compile(r"[A-Za-z0-9._+@/:-]+")


@dataclass(slots=True)
class Exported:
    """What an export did.

    names    how many names the site has
    written  how many files were written
    removed  how many files were removed
    left_out how many names web servers find by their pages only, because their maps cannot express them
    commit   whether a commit was made in git
    """

    names: int = 0
    written: int = 0
    removed: int = 0
    left_out: int = 0
    commit: bool = False


def export_site(
    minter: Minter, folder: str, now: int, *, git: bool = False, place: str = "", progress: Progress | None = None
) -> Exported:
    """Make the site of a minter in a folder, or bring the one there up to date; with `git` commit it, too.

    `place` is where the folder will be on the machine that serves it, if not where it is.

    Raises ConflictError if the folder has other files, or the site of another minter; BusyError while another export
    writes it; StoreError if it cannot be written.
    """
    try:
        os.makedirs(folder, exist_ok=True)
        if git and _git(folder, "rev-parse", "--is-inside-work-tree", check=False).strip() != "true":
            raise UsageError(f"{folder} is not in a work tree of git: run 'git init {folder}' first")
        with _locked(folder), unfinished_name(folder, _MARK) as new:
            site = _Site(minter, folder, new, now, place or os.path.realpath(folder), progress)
            try:
                site.make()
                done = site.install()
            finally:
                remove_folder(new)
    except OSError as error:
        raise _unwritten(folder, error) from None
    if git:
        done.commit = _commit(folder, done)
    return done


def _unwritten(folder: str, error: OSError) -> StoreError:
    return StoreError(f"{folder} could not be written: {error.strerror or error}")


@contextmanager
def _locked(folder: str) -> Iterator[None]:
    descriptor = lock_file(os.path.realpath(folder), os.O_RDONLY | os.O_DIRECTORY)
    if descriptor is None:
        raise BusyError(f"another export writes {folder} at present: try again when it has ended")
    try:
        yield
    finally:
        os.close(descriptor)


@dataclass(slots=True)
class _Part:
    """Names one after the other, whose descriptions and digests are in files of their own."""

    first: bytes
    lines: tuple[list[bytes], list[bytes], list[bytes]] = field(default_factory=lambda: ([], [], []))

    @property
    def path(self) -> str:
        digest = sha256(self.first).hexdigest()
        return f"{OWN_FOLDER}/data/{digest[:2]}/{digest[:16]}"

    def is_full(self, key: bytes) -> bool:
        return sha256(key).digest()[-1] & _END_MASK == 0 or len(self.lines[0]) >= _MOST_IN_FILE


class _Site:
    """A site in the making: `new` is the hidden folder for what differs from what is in `folder`."""

    def __init__(
        self, minter: Minter, folder: str, new: str, now: int, place: str, progress: Progress | None
    ) -> None:
        self._minter = minter
        self._place = place
        self._folder = folder
        self._new = new
        self._now = now
        self._progress = progress
        self._before = _read_sums(os.path.join(folder, SUMS))
        self._sums: dict[str, str] = {}
        self._redirects = Spool(3)
        self._choices: dict[bytes, list[Choice]] = {}
        self._roots: set[str] = set()
        self._example = ""
        self.done = Exported()

    def make(self) -> None:
        """Write what differs from the site that is there."""
        self._minter.read(self._read_or_refuse)
        self._write_maps()
        self._write_rest()

    # -- in the transaction ----------------------------------------------------------------------------

    def _read_or_refuse(self, reader: Reader) -> None:
        """The store would take a full disk for a fault of the database."""
        try:
            self._read(reader)
        except OSError as error:
            raise _unwritten(self._folder, error) from None

    def _read(self, reader: Reader) -> None:
        """The work of the transaction, which may be run again."""
        remove_folder(self._new)
        os.mkdir(self._new)
        self._sums, self.done, self._roots = {}, Exported(), set()
        self._redirects.clear()
        self._about = gather_minter(self._minter, reader)
        self._bases = resolvers(reader)
        self._targets_only = AccessPolicy.of(reader).view(b"") == TARGETS
        self._ensure_own()
        self._choices = self._colliding(reader)
        part: _Part | None = None
        for key, outcome, public in self._public_names(reader):
            part = part or _Part(key)
            if self._add(part, key, outcome, public) and part.is_full(key):
                self._end(part)
                part = None
        if part is not None and part.lines[0]:
            self._end(part)
        if self._progress:
            self._progress(1, 1, "")

    def _ensure_own(self) -> None:
        """Raise ConflictError unless the folder is empty, or has a site of this minter."""
        about = os.path.join(self._folder, _ABOUT)
        if os.path.exists(about):
            try:
                with open(about, encoding="utf-8") as file:
                    of = json.load(file).get("minter")
            except (ValueError, AttributeError):
                of = None
            if of != self._about.iri:
                raise ConflictError(f"{self._folder} has the site of another minter: choose another folder")
            return
        if any(not name.startswith((".git", _MARK)) for name in os.listdir(self._folder)):
            raise ConflictError(f"{self._folder} has files that are no site of this program: choose an empty folder, "
                                "or one that does not exist")

    def _public_names(self, reader: Reader) -> Iterator[tuple[bytes, Outcome, Reader]]:
        """The names that anybody may see, in order, what became of each, and the reader that sees no others."""
        lookup = Lookup(self._minter, reader)
        public = reader_in(PUBLISHED, reader)
        needed = frozenset({"circulation", "elements", "alias"})
        for number, name in enumerate(stored.stored_names(reader, only=needed)):
            if number % _NAMES_OF_VIEW == 0:
                public = reader_in(PUBLISHED, reader)
            if self._progress and number % _PROGRESS_EVERY == 0:
                self._progress(number, 0, "names")
            if name.is_known and not name.key.startswith(RULE_MARK) and not hides(public, name.key):
                yield name.key, follow_aliases(lookup.find, name.key), public

    def _colliding(self, reader: Reader) -> dict[bytes, list[Choice]]:
        """The names whose folders differ in case only, by that folder in lower case."""
        cite = self._minter.namespace.cite
        keys = frozenset({"circulation", "alias", "elements"})
        counts = {cited.lower(): 0 for name in stored.stored_names(reader, only=keys)
                  if (cited := cite(name.key)) != cited.lower()}
        if counts:
            for name in stored.stored_names(reader, only=keys):
                if (folded := cite(name.key).lower()) in counts:
                    counts[folded] += 1
        shared = {folded for folded, count in counts.items() if count > 1 and is_path(folded)}
        found: dict[bytes, list[Choice]] = {}
        for key, outcome, _ in self._public_names(reader) if shared else ():
            if (folded := cite(key).lower()) in shared:
                found.setdefault(folded, []).append(Choice(decode_text(cite(key)), target_of(outcome)))
        return {folded: choices for folded, choices in found.items() if len(choices) > 1}

    def _add(self, part: _Part, key: bytes, outcome: Outcome, public: Reader) -> bool:
        """Add a name to the site; returns whether there is anything to say of it."""
        facts = gather_outcome(public, outcome, key, SUMMARY, targets_only=self._targets_only)
        if facts is None:
            return False
        cited = self._minter.namespace.cite(key)
        folder, address = page_folder(cited), address_of(b"".join(self._bases[:1]), cited)
        choices = self._choices.get(cited.lower())
        page = choice_page(choices) if choices else name_page(facts, decode_text(cited), address)
        gone = outcome.kind == GONE
        jsonl, erc, sums = part.lines
        for name, content in ((PAGE, page), *(((GONE_MARK, b""),) if gone else ())):
            path = f"{folder}/{name}"
            sums.append(f"{sha256(content).hexdigest()}  {path}\n".encode())
            self._put_if_changed(path, content)
        data = name_data(facts, address)
        if facts.name != decode_text(cited):
            data = {"alias": decode_text(cited), **data}
        jsonl.append(json.dumps({**data, "page": f"{folder}/{PAGE}"}).encode() + b"\n")
        erc.append(citation_text(facts, address) + b"\n")
        self._redirects.add(cited, b"410" if gone else target_of(outcome), _code(outcome))
        self.done.names += 1
        if is_path(cited):
            self._example = self._example or folder
            if len(self._roots) < _MOST_SPELLINGS and (root := _ROOT.match(folder)):
                self._roots.add(root[0])
        return True

    def _end(self, part: _Part) -> None:
        """Write the files of a part, unless they are as they were."""
        for suffix, lines in zip(_SUFFIXES, part.lines, strict=True):
            self._put(part.path + suffix, b"".join(lines))

    # -- files -----------------------------------------------------------------------------------------

    def _put_if_changed(self, path: str, content: bytes) -> None:
        """Write a file, unless the same one is in the folder."""
        try:
            with open(os.path.join(self._folder, path), "rb") as file:
                if file.read() == content:
                    return
        except (FileNotFoundError, NotADirectoryError):
            pass
        self._write(path, content)

    def _put(self, path: str, content: bytes) -> None:
        """Write a file whose digest is among those of the site, unless the same one is in the folder."""
        self._sums[path] = sha256(content).hexdigest()
        self._put_if_changed(path, content)

    def _write(self, path: str, content: bytes) -> None:
        fresh = os.path.join(self._new, path)
        os.makedirs(os.path.dirname(fresh), exist_ok=True)
        with open(fresh, "xb") as file:
            file.write(content)
        self.done.written += 1

    def _put_lines(self, path: str, head: bytes, lines: Iterable[bytes]) -> None:
        """Write a long file line by line, and drop it again if it is as it was."""
        self._write(path, head)
        digest = sha256(head)
        fresh = os.path.join(self._new, path)
        with open(fresh, "ab") as file:
            for line in lines:
                digest.update(line)
                file.write(line)
        self._sums[path] = digest.hexdigest()
        if self._before.get(path) == digest.hexdigest() and os.path.exists(os.path.join(self._folder, path)):
            os.unlink(fresh)
            self.done.written -= 1

    # -- what is about all names -----------------------------------------------------------------------

    def _write_maps(self) -> None:
        head = b"# Written by noid export.\n"
        self._put_lines(f"{OWN_FOLDER}/redirects.txt", head, self._apache_lines())
        self._put_lines(f"{OWN_FOLDER}/redirects.nginx", head, self._nginx_lines())
        spellings = sorted((old, new) for new in self._roots for old in _other_spellings(new))
        self._put_lines("_redirects", site_file("redirects", spellings=spellings), self._static_lines())
        for old, new in spellings:
            if not any(os.path.lexists(os.path.join(folder, old)) for folder in (self._folder, self._new)):
                os.symlink(new, os.path.join(self._new, old))
                self.done.written += 1

    def _apache_lines(self) -> Iterator[bytes]:
        for cited, target, _ in self._redirects:
            line = txt_line(cited, target)
            self.done.left_out += bool(target) and not line
            yield line

    def _nginx_lines(self) -> Iterator[bytes]:
        """The names without hyphens; those that only hyphens tell apart are left to their pages."""
        counts = {plain: 0 for cited, _, _ in self._redirects if (plain := _plain(cited)) != cited}
        for cited, _, _ in self._redirects if counts else ():
            if (plain := _plain(cited)) in counts:
                counts[plain] += 1
        rows = Spool(2)
        rows.fill((plain, target) for cited, target, _ in self._redirects
                  if counts.get(plain := _plain(cited), 0) < 2)
        write = nginx_writer(rows)
        for plain, target in rows:
            yield write(plain, target)

    def _static_lines(self) -> Iterator[bytes]:
        for cited, target, code in self._redirects:
            if target not in (b"", b"410") and is_path(cited) and _IN_REDIRECTS.fullmatch(cited) \
                    and cited.lower() not in self._choices:
                yield b"/%b %b %d\n" % (cited, target, code)

    def _write_rest(self) -> None:
        """The configurations of servers, the texts for people, and last the digests."""
        values = self._values()
        for path, template in (
            ("README.txt", "README.txt"), (PAGE, "index.html"), (".htaccess", "htaccess"),
            *((f"{OWN_FOLDER}/{name}", name) for name in ("apache.conf", "nginx-http.conf", "nginx-server.conf")),
        ):
            self._put(path, site_file(template, **values))
        if self.done.written or self._stale_files():
            self._put(_ABOUT, json.dumps({
                "site": _FORMAT, "minter": self._about.iri, "names": self.done.names, "release": __version__,
                "date": timestamp(self._now).decode()}, indent=1).encode() + b"\n")
        elif _ABOUT in self._before:
            self._sums[_ABOUT] = self._before[_ABOUT]
        lines = (f"{digest}  {path}\n" for path, digest in sorted(self._sums.items()))
        self._put_if_changed(SUMS, "".join(lines).encode())

    def _values(self) -> dict[str, object]:
        """What the templates need."""
        about, space = self._about, self._minter.namespace
        label = decode_text(space.labels[0]) if space.labels else ""
        firsts = sorted(root[len(label) :] for root in self._roots if label and root.startswith(label))
        return {
            "key": "noid_" + sha256(about.iri.encode()).hexdigest()[:8],
            "label": label if firsts else "", "label_pattern": re.escape(label),
            "first_pattern": f"(?:{'|'.join(map(re.escape, firsts))})",
            "lower_case": self._minter.scheme.lower_case,
            # A configuration cannot express every path.
            "folder": self._place if _IN_CONFIGURATION.fullmatch(self._place) else "/srv/www/site",
            "hash_size": max(2048, 1 << (2 * self.done.names).bit_length()),
            "bucket_size": max(256, 1 << (2 * max((len(row[0]) for row in self._redirects), default=0)).bit_length()),
            "namespace": about.namespace, "count": self.done.names, "authority": about.authority,
            "custodians": [one for one in about.custodians if not one.until], "example": self._example,
            "promise": promise_of(about), "base": b"".join(self._bases[:1]).decode("utf-8", "replace"),
        }

    # -- putting it in place ---------------------------------------------------------------------------

    def install(self) -> Exported:
        """Move what was written to its place, and remove what is not part of the site any more: pages first, so that
        the digests name all pages that there are, and the digests of the whole site last."""
        os.sync()
        stale_files, stale_pages = self._stale_files(), self._stale_pages()
        own = os.path.join(self._new, OWN_FOLDER)
        trees = [name for name in os.listdir(self._new) if name != OWN_FOLDER
                 and os.path.isdir(os.path.join(self._new, name))]
        inside = [f"{OWN_FOLDER}/{name}" for name in (os.listdir(own) if os.path.isdir(own) else ())]
        os.makedirs(os.path.join(self._folder, OWN_FOLDER), exist_ok=True)
        for path in (*trees, *(path for path in inside if path == OTHER)):
            self._move(path)
        for path in stale_pages:
            _remove(self._folder, path)
        self._move_all(path for path in inside if path != OTHER)
        self._move_all(name for name in os.listdir(self._new) if name not in (OWN_FOLDER, SUMS))
        if os.path.exists(os.path.join(self._new, SUMS)):
            self._move(SUMS)
        for path in stale_files:
            _remove(self._folder, path)
        os.sync()
        self.done.removed = len(stale_files) + len(stale_pages)
        return self.done

    def _move_all(self, paths: Iterable[str]) -> None:
        for path in paths:
            self._move(path)

    def _move(self, path: str) -> None:
        """Move a file, or a folder with all that is in it, to its place."""
        fresh, place = os.path.join(self._new, path), os.path.join(self._folder, path)
        is_folder = os.path.isdir(fresh) and not os.path.islink(fresh)
        if is_folder and os.path.islink(place):
            os.unlink(place)  # another spelling, before there were names that begin so
        if not is_folder or not os.path.isdir(place):
            os.replace(fresh, place)
            return
        self._move_all([f"{path}/{name}" for name in os.listdir(fresh)])

    def _stale_files(self) -> list[str]:
        """The files of descriptions and digests that the site does not have any more."""
        return [path for path in self._before if path not in self._sums and _IS_PART.fullmatch(path)]

    def _stale_pages(self) -> list[str]:
        """The pages that the site does not have any more."""
        parts = {path for path, digest in self._before.items()
                 if path.endswith(".sha256") and _IS_PART.fullmatch(path) and self._sums.get(path) != digest}
        old = {page for path in parts for page in _read_sums(os.path.join(self._folder, path))}
        new = {page for path in self._sums if path.endswith(".sha256") and self._before.get(path) != self._sums[path]
               for page in _read_sums(self._newest(path))}
        return sorted(page for page in old - new if _is_page(page))

    def _newest(self, path: str) -> str:
        fresh = os.path.join(self._new, path)
        return fresh if os.path.exists(fresh) else os.path.join(self._folder, path)


def _code(outcome: Outcome) -> int:
    return next((target.code for target in outcome.targets), 0) or USUAL_CODE


def _plain(cited: bytes) -> bytes:
    """A name without what does not count in ARKs."""
    return cited.replace(b"-", b"") if cited.startswith(b"ark:") else cited


def _other_spellings(root: str) -> list[str]:
    """What names with a label may begin with, too."""
    label, _, authority = root.partition(":")
    authority = authority.removeprefix("/")
    return [f"ark:{authority}", authority] if label == "ark" else [authority]


def _is_page(path: str) -> bool:
    folder, _, name = path.rpartition("/")
    return name in (PAGE, GONE_MARK) and (is_path(encode_text(folder)) or bool(_IS_OTHER.fullmatch(folder)))


def _read_sums(path: str) -> dict[str, str]:
    """Paths and their digests; nothing if there is no such file."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            found = (_SUM_LINE.fullmatch(line.rstrip("\n")) for line in file)
            return {match[2]: match[1] for match in found if match}
    except FileNotFoundError:
        return {}


def _remove(folder: str, path: str) -> None:
    """Remove a file in a folder, and the folders on the way to it that are empty then."""
    with suppress(FileNotFoundError):
        os.unlink(os.path.join(folder, path))
    while path := os.path.dirname(path):
        try:
            os.rmdir(os.path.join(folder, path))
        except OSError:
            return  # it has other files


# -- git -------------------------------------------------------------------------------------------------------------


def _commit(folder: str, done: Exported) -> bool:
    """Commit the folder; returns whether there was anything to commit.  Nothing is ever pushed."""
    message = f"{done.names} names: {done.written} files written, {done.removed} removed"
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
