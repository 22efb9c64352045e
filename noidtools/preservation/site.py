"""`noid export --site`: all that a host of plain files needs so that links and descriptions go on.

Everything is read in one read transaction, and what differs from the files that are there is written, see folder.py.
The maps of web servers change at once; pages of different names may be of two exports for the moment in which they are
moved.

Descriptions and digests are in files of some hundred names each.  Where such a file ends depends on the names in it
alone, so that a new name changes one file and not all that follow.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, field
from hashlib import sha256

from ..codec import decode_text
from ..description.formats import citation_text, name_data, promise_of
from ..description.gatherer import SUMMARY, gather_minter, gather_outcome
from ..errors import ConflictError, StoreError, UsageError
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
from ..times import timestamp
from ..version import __version__
from .folder import PART, SiteFolder, commit, is_in_work_tree, locked
from .pages import (
    GONE_MARK,
    OWN_FOLDER,
    PAGE,
    Choice,
    address_of,
    choice_page,
    folded,
    is_path,
    name_page,
    page_folder,
    site_file,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..console import Progress
    from ..store import Reader

_ABOUT = f"{OWN_FOLDER}/site.json"
_FORMAT = 1
_MARK = ".noid-site-new-"
_SUFFIXES = (".jsonl", ".erc", PART)
# A file of descriptions ends after a name whose digest ends so, one in 256; or after this many names.
_END_MASK = 0xFF
_MOST_IN_FILE = 2_000
# A view remembers which names are public: it is made anew after this many.
_NAMES_OF_VIEW = 10_000
_MOST_SPELLINGS = 1_000
_PROGRESS_EVERY = 1_000
# What a redirect of static hosts may have in its path: an asterisk and a colon before a letter are placeholders.
_IN_REDIRECTS = re.compile(rb"(?:[A-Za-z0-9._~+=,@/-]|:(?![A-Za-z]))+")
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
        if git and not is_in_work_tree(folder):
            raise UsageError(f"{folder} is not in a work tree of git: run 'git init {folder}' first")
        with locked(folder), unfinished_name(folder, _MARK) as new:
            files = SiteFolder(folder, new)
            try:
                done = _Site(minter, files, now, place or os.path.realpath(folder), progress).make()
                done.removed = files.install()
            finally:
                remove_folder(new)
    except OSError as error:
        raise _unwritten(folder, error) from None
    done.written = files.written
    if git:
        done.commit = commit(folder, f"{done.names} names: {done.written} files written, {done.removed} removed")
    return done


def _unwritten(folder: str, error: OSError) -> StoreError:
    return StoreError(f"{folder} could not be written: {error.strerror or error}")


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
    """A site in the making."""

    def __init__(self, minter: Minter, files: SiteFolder, now: int, place: str, progress: Progress | None) -> None:
        self._minter = minter
        self._place = place
        self._files = files
        self._now = now
        self._progress = progress
        self._redirects = Spool(3)
        self._choices: dict[str, list[Choice]] = {}
        self._roots: set[str] = set()
        self._example = ""
        self._done = Exported()

    def make(self) -> Exported:
        """Write what differs from the site that is there; returns what is in it."""
        self._minter.read(self._read_or_refuse)
        self._write_maps()
        self._write_rest()
        return self._done

    # -- in the transaction ----------------------------------------------------------------------------

    def _read_or_refuse(self, reader: Reader) -> None:
        """The store would take a full disk for a fault of the database."""
        try:
            self._read(reader)
        except OSError as error:
            raise _unwritten(self._files.path, error) from None

    def _read(self, reader: Reader) -> None:
        """The work of the transaction, which may be run again."""
        self._files.clear()
        self._done, self._roots = Exported(), set()
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
        folder = self._files.path
        about = os.path.join(folder, _ABOUT)
        if os.path.exists(about):
            try:
                with open(about, encoding="utf-8") as file:
                    of = json.load(file).get("minter")
            except (ValueError, AttributeError):
                of = None
            if of != self._about.iri:
                raise ConflictError(f"{folder} has the site of another minter: choose another folder")
            return
        if any(not name.startswith((".git", _MARK)) for name in os.listdir(folder)):
            raise ConflictError(f"{folder} has files that are no site of this program: choose an empty folder, "
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

    def _colliding(self, reader: Reader) -> dict[str, list[Choice]]:
        """The names whose folders differ in case only, by what they have in common."""
        cite = self._minter.namespace.cite
        keys = frozenset({"circulation", "alias", "elements"})
        counts = {folder: 0 for name in stored.stored_names(reader, only=keys)
                  if (folder := folded(cited := cite(name.key))) != decode_text(cited) and is_path(cited)}
        if counts:
            for name in stored.stored_names(reader, only=keys):
                if (folder := folded(cite(name.key))) in counts:
                    counts[folder] += 1
        shared = {folder for folder, count in counts.items() if count > 1}
        found: dict[str, list[Choice]] = {}
        for key, outcome, _ in self._public_names(reader) if shared else ():
            if (folder := folded(cite(key))) in shared:
                found.setdefault(folder, []).append(Choice(decode_text(cite(key)), target_of(outcome)))
        return {folder: choices for folder, choices in found.items() if len(choices) > 1}

    def _add(self, part: _Part, key: bytes, outcome: Outcome, public: Reader) -> bool:
        """Add a name to the site; returns whether there is anything to say of it."""
        facts = gather_outcome(public, outcome, key, SUMMARY, targets_only=self._targets_only, about=self._about)
        if facts is None:
            return False
        cited = self._minter.namespace.cite(key)
        text, folder, address = decode_text(cited), page_folder(cited), address_of(b"".join(self._bases[:1]), cited)
        choices = self._choices.get(folded(cited)) if self._choices else None
        page = choice_page(choices) if choices else name_page(facts, text, address)
        gone = outcome.kind == GONE
        jsonl, erc, sums = part.lines
        for name, content in ((PAGE, page), *(((GONE_MARK, b""),) if gone else ())):
            path = f"{folder}/{name}"
            sums.append(f"{sha256(content).hexdigest()}  {path}\n".encode())
            self._files.put_page(path, content)
        data = name_data(facts, address)
        if facts.name != text:
            data = {"alias": text, **data}
        jsonl.append(json.dumps({**data, "page": f"{folder}/{PAGE}"}).encode() + b"\n")
        erc.append(citation_text(facts, address) + b"\n")
        has_folder = folder == text
        # Hosts with a list of redirects have no rule for other names.
        code = _code(outcome) if has_folder and not choices else 0
        self._redirects.add(cited, b"410" if gone else target_of(outcome), code)
        self._done.names += 1
        if has_folder:
            self._example = self._example or folder
            if len(self._roots) < _MOST_SPELLINGS and (root := _ROOT.match(folder)):
                self._roots.add(root[0])
        return True

    def _end(self, part: _Part) -> None:
        """Write the files of a part, unless they are as they were."""
        for suffix, lines in zip(_SUFFIXES, part.lines, strict=True):
            self._files.put(part.path + suffix, b"".join(lines))

    # -- what is about all names -----------------------------------------------------------------------

    def _write_maps(self) -> None:
        head = b"# Written by noid export.\n"
        self._files.put_lines(f"{OWN_FOLDER}/redirects.txt", head, self._apache_lines())
        self._files.put_lines(f"{OWN_FOLDER}/redirects.nginx", head, self._nginx_lines())
        spellings = sorted((old, new) for new in self._roots for old in _other_spellings(new))
        self._files.put_lines("_redirects", site_file("redirects", spellings=spellings), self._static_lines())
        for old, new in spellings:
            self._files.link(old, new)

    def _apache_lines(self) -> Iterator[bytes]:
        for cited, target, _ in self._redirects:
            line = txt_line(cited, target)
            self._done.left_out += bool(target) and not line
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
            if target not in (b"", b"410") and code and _IN_REDIRECTS.fullmatch(cited):
                yield b"/%b %b %d\n" % (cited, target, code)

    def _write_rest(self) -> None:
        """The configurations of servers, the texts for people, and last the digests."""
        values = self._values()
        for path, template in (
            ("README.txt", "README.txt"), (PAGE, "index.html"), (".htaccess", "htaccess"),
            *((f"{OWN_FOLDER}/{name}", name) for name in ("apache.conf", "nginx-http.conf", "nginx-server.conf")),
        ):
            self._files.put(path, site_file(template, **values))
        self._files.finish(_ABOUT, json.dumps({
            "site": _FORMAT, "minter": self._about.iri, "names": self._done.names, "release": __version__,
            "date": timestamp(self._now).decode()}, indent=1).encode() + b"\n")

    def _values(self) -> dict[str, object]:
        """What the templates need."""
        about, space = self._about, self._minter.namespace
        label = decode_text(space.labels[0]) if space.labels else ""
        firsts = sorted(root[len(label) :] for root in self._roots if label and root.startswith(label))
        return {
            "key": "noid_" + sha256(about.iri.encode()).hexdigest()[:8],
            "label": label if firsts else "", "label_pattern": re.escape(label),
            "first_pattern": f"(?:{'|'.join(map(re.escape, firsts))})",
            # What does not count at the end of a name with the label.
            "end": "[/.]" if label.startswith("ark:") else "/",
            "lower_case": self._minter.scheme.lower_case,
            # A configuration cannot express every path.
            "folder": self._place if _IN_CONFIGURATION.fullmatch(self._place) else "/srv/www/site",
            "hash_size": max(2048, 1 << (2 * self._done.names).bit_length()),
            "bucket_size": max(256, 1 << (2 * max((len(row[0]) for row in self._redirects), default=0)).bit_length()),
            "namespace": about.namespace, "count": self._done.names, "authority": about.authority,
            "custodians": [one for one in about.custodians if not one.until], "example": self._example,
            "promise": promise_of(about), "base": b"".join(self._bases[:1]).decode("utf-8", "replace"),
        }


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
