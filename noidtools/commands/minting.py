"""Commands that mint identifiers, each with its folder if that is wanted.

Folders are made before the transaction of the minting is committed, so that every identifier that was given has its
folder, the one that `noid path` prints.  What a transaction that fails has made is removed again.
"""

from __future__ import annotations

import os

from ..errors import ConflictError, ForbiddenError, NotFoundError, StoreError, UsageError, printable
from ..minter import minting
from ..minter.policies import BIND, MINT
from ..minter.schema import generator_of
from .answers import Answer, Ids, Record
from .command import Command, Form, Option, as_count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..schemes import Scheme
    from .answers import Line
    from .call import Call, Invocation


# -- folders of identifiers ------------------------------------------------------------------------------------------

CREATED, EMPTIED, KEPT = "created", "emptied", "kept"

# The folders of longer identifiers lie below that of a shorter one with which they begin.  Their names have at most
# two characters; what has a longer name belongs to the identifier itself.
_LONGEST_PART = 2


class IdentifierFolder:
    """The folder of one identifier.

    status  created: it is new; emptied: it was there without files, and its sub-folders were removed; kept: it was
            there with files, or a link leads there, which counts as a file; nothing was changed
    """

    __slots__ = ("path", "status")

    def __init__(self, path: bytes, status: str) -> None:
        self.path = path
        self.status = status


class IdsWithFolders(Record):
    """Identifiers with the folders that were made for them; a note tells of a folder that was there already."""

    __slots__ = ("_ids", "_folders", "_peppered")

    def __init__(self, ids: list[bytes], folders: list[IdentifierFolder], *, peppered: bool) -> None:
        self._ids = ids
        self._folders = folders
        self._peppered = peppered

    def lines(self) -> Iterable[Line]:
        for identifier, folder in zip(self._ids, self._folders, strict=True):
            yield b"id", identifier, 0
            yield b"folder", folder.path, 0
            if folder.status == EMPTIED:
                yield b"note", b"the folder was there already, without files, and was emptied", 0
            elif folder.status == KEPT:
                yield b"note", b"the folder was there already, with files, and was left as it is", 0

    def data(self) -> list[dict[str, object]]:
        return [{"id": identifier, "folder": folder.path, "status": folder.status}
                for identifier, folder in zip(self._ids, self._folders, strict=True)]

    def without_peppers(self) -> Record:
        return Ids(self._ids, peppered=self._peppered).without_peppers()


class FolderMaker:
    """Makes the folders of the identifiers of one minting, below the folder `base`."""

    __slots__ = ("_base", "_scheme", "_new")

    def __init__(self, base: bytes, scheme: Scheme) -> None:
        """Raises NotFoundError if there is no folder `base`."""
        if not os.path.isdir(base):
            raise NotFoundError(f"there is no folder {printable(base)!r}: make it first, or correct its name")
        self._base = base
        self._scheme = scheme
        self._new: list[bytes] = []  # in the order in which they were made

    def make(self, identifiers: list[bytes]) -> list[IdentifierFolder]:
        """Make a folder for each identifier; raises StoreError if one cannot be made."""
        return [self._make(identifier) for identifier in identifiers]

    def keep(self) -> None:
        """What was made is for good: its transaction was committed."""
        self._new.clear()

    def undo(self) -> None:
        """Remove the folders that were made since `keep`, because their transaction was not committed."""
        while self._new:
            try:
                os.rmdir(self._new.pop())
            except OSError:  # somebody has put something there, or removed it
                continue

    def _make(self, identifier: bytes) -> IdentifierFolder:
        path = os.path.join(self._base, self._scheme.path(identifier))
        try:
            if not os.path.isdir(path):
                self._make_all(path)
                return IdentifierFolder(path, CREATED)
            if self._is_elsewhere(path) or _has_files(path):
                return IdentifierFolder(path, KEPT)
            for folder in _own_folders(path):
                _remove_folders(folder)
            return IdentifierFolder(path, EMPTIED)
        except OSError as error:
            reason = error.strerror or str(error)
            raise StoreError(
                f"the folder {printable(path)} cannot be made ({reason}), so its identifier was not minted"
            ) from None

    def _is_elsewhere(self, path: bytes) -> bool:
        """Whether a symbolic link below `base` leads to this folder: what is there is not ours to remove."""
        below = path[len(self._base) :].strip(b"/")
        return os.path.realpath(path) != os.path.join(os.path.realpath(self._base), below)

    def _make_all(self, path: bytes) -> None:
        parent = self._base
        for part in path[len(self._base) :].strip(b"/").split(b"/"):
            parent = os.path.join(parent, part)
            if os.path.islink(parent) and os.lstat(parent).st_uid not in (0, os.geteuid()):
                raise OSError(f"{printable(parent)} is a link of another account, which is not followed")
            if not os.path.isdir(parent):
                os.mkdir(parent)
                self._new.append(parent)


def _own_folders(path: bytes) -> list[bytes]:
    """The sub-folders that cannot be parts of the path of a longer identifier."""
    with os.scandir(path) as entries:
        return [entry.path for entry in entries
                if entry.is_dir(follow_symlinks=False) and len(entry.name) > _LONGEST_PART]


def _has_files(path: bytes) -> bool:
    """Whether the folder or one of its own sub-folders has anything but folders."""
    with os.scandir(path) as entries:
        if any(not entry.is_dir(follow_symlinks=False) for entry in entries):
            return True
    return any(names for folder in _own_folders(path) for names in _files_below(folder))


def _files_below(folder: bytes) -> list[list[bytes]]:
    """The names of what is not a folder, for each folder from this one down; a link is no folder."""
    return [
        files + [name for name in folders if os.path.islink(os.path.join(parent, name))]
        for parent, folders, files in os.walk(folder)
    ]


def _remove_folders(folder: bytes) -> None:
    """Remove a folder that has nothing but folders."""
    for parent, _, _ in os.walk(folder, topdown=False):
        os.rmdir(parent)


# -- mint ------------------------------------------------------------------------------------------------------------

# Calls for fewer identifiers share transactions with calls of other users; more would make these wait.
_FEW = 1000


def _mint(call: Call) -> Answer:
    count, options, patience = as_count(call.words[0]), _mint_options(call), _patience(call)
    if count > minting.CHUNK and call.session.local and not call.flag("yes"):
        _ensure_enough_is_left(call, count)
    _ensure_local(call)
    if call.flag("folders"):
        return Answer(stream=_mint_with_folders(call, count, options, patience), spaced=True)
    if call.flag("expect"):
        return Answer(stream=_mint_expected(call, count, options, patience), spaced=True)

    def records() -> Iterator[Record]:
        for ids in minting.mint(call.minter, call.actor, count, options, patience=patience):
            yield Ids(ids, peppered=options.peppered)

    return Answer(stream=records(), spaced=True)


def _mint_with_folders(
    call: Call, count: int, options: minting.MintOptions, patience: int | None
) -> Iterator[Record]:
    """Mint identifiers, each with its folder below the one that the option --folders names."""
    minter = call.minter
    maker = FolderMaker(os.fsencode(call.option("folders") or ""), minter.scheme)
    folders: list[IdentifierFolder] = []

    def make_folders(ids: list[bytes]) -> None:
        maker.undo()
        names = [display.rpartition(b"!")[0] if options.peppered else display for display in ids]
        folders[:] = maker.make([minter.namespace.literal_key(name) for name in names])

    try:
        for ids in minting.mint(minter, call.actor, count, options, patience=patience, on_minted=make_folders):
            maker.keep()
            yield IdsWithFolders(ids, folders.copy(), peppered=options.peppered)
    finally:
        maker.undo()


# -- what is expected --------------------------------------------------------------------------------------------------

_LONGEST_LINE = 1000


class _DiffersError(Exception):
    """The identifier at `place` of a transaction is not the expected one, but `found`."""

    def __init__(self, place: int, found: bytes) -> None:
        super().__init__()
        self.place = place
        self.found = found


def _mint_expected(
    call: Call, count: int, options: minting.MintOptions, patience: int | None
) -> Iterator[Record]:
    """Mint the identifiers that a file has, in its order; none that is not there."""
    minter, expected = call.minter, _read_expected(call, count)
    key_of = minter.namespace.literal_key

    def compare(ids: list[bytes]) -> None:
        plain = [display.rpartition(b"!")[0] if options.peppered else display for display in ids]
        for place, (display, wanted) in enumerate(zip(plain, expected[done:], strict=False)):
            if key_of(display) != key_of(wanted):
                raise _DiffersError(place, display)

    done, last = 0, None
    while done < count and last is None:
        wanted = min(count - done, minting.CHUNK)
        try:
            chunk = next(minting.mint(minter, call.actor, wanted, options, patience=patience, on_minted=compare))
        except StopIteration:
            return
        except _DiffersError as error:
            # The transaction was undone: those before this identifier are minted now.
            last, wanted = error, error.place
            chunk = next(minting.mint(minter, call.actor, wanted, options, patience=patience, on_minted=compare), [])
        if chunk:
            yield Ids(chunk, peppered=options.peppered)
        done += len(chunk)
    if last is not None:
        raise ConflictError(
            f"the next identifier would be {printable(last.found)}, and {call.option('expect')} expects "
            f"{printable(expected[done])} as number {done + 1}: it was not minted, and {done} before it were")


def _read_expected(call: Call, count: int) -> list[bytes]:
    """The identifiers in the file of --expect, one a line, as minting prints them or without `id:`."""
    path, found = call.option("expect") or "", list[bytes]()
    try:
        with open(path, "rb") as file:
            while len(found) < count and (line := file.readline(_LONGEST_LINE)):
                text = line.strip().removeprefix(b"id:").strip()
                found += [text] if text else []
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "that is no path"
        raise StoreError(f"the expected identifiers in {path} cannot be read: {reason}") from None
    if len(found) < count:
        raise UsageError(f"{path} has {len(found)} of the {count} identifiers to be minted: nothing was minted")
    return found


def _ensure_enough_is_left(call: Call, count: int) -> None:
    """Refuse to use up most of a namespace by what may be a slip of the keyboard."""
    minter = call.minter
    left = dict(minter.read(lambda reader: generator_of(minter.scheme, reader)).status()).get("Left", b"")
    if left.isdigit() and minter.settings["at-last"] == "stop" and count > int(left) // 2:
        raise UsageError(f"this would take {count} of the {int(left)} identifiers that are left, for good: give --yes "
                         f"before the number if you mean it, as in {call.command.name} --yes {count}")


def _ensure_local(call: Call) -> None:
    for option, what in (("folders", "makes folders"), ("expect", "reads a file")):
        if call.flag(option) and not call.session.local:
            raise ForbiddenError(f"{call.command.name} --{option} {what} on the server: it is for the shell, not for "
                                 "the web")


def _mint_options(call: Call) -> minting.MintOptions:
    elements = {call.words[1]: call.words[2]} if len(call.words) > 1 else None
    return minting.MintOptions(peppered=call.command is PEPPERMINT, elements=elements,
                               reserved=True if call.flag("reserve") else None)


def _patience(call: Call) -> int | None:
    text = call.option("patience")
    if text is None:
        return None
    from ..schemes.timed import parse_patience

    return parse_patience(text.encode())


def _is_long_mint(call: Invocation) -> bool:
    """Whether it takes several transactions, or may wait for as long as its option --patience allows."""
    return any(map(call.flag, ("patience", "folders", "expect"))) or _requested(call) > minting.CHUNK


def _is_short_mint(call: Invocation) -> bool:
    return 0 <= _requested(call) < _FEW


def _requested(call: Invocation) -> int:
    """How many identifiers are requested, -1 if the word is not a number."""
    try:
        return as_count(b"".join(call.words[:1]))
    except UsageError:
        return -1


def _mint_command(
    name: str, summary: str, about: str, example: str, also: tuple[str, ...], see: str
) -> Command:
    return Command(
        name, summary,
        Form("[--reserve] [--patience S] [--folders Dir] [--expect File] [--yes] N", _mint, MINT, streams=_is_long_mint,
             batches=_is_short_mint, mints=_requested),
        Form("[--reserve] [--patience S] [--folders Dir] [--expect File] [--yes] N Element Value", _mint, MINT, BIND,
             streams=_is_long_mint, batches=_is_short_mint, mints=_requested),
        options=(Option("--reserve", "reserve them: they do not resolve until they are published"),
                 Option("--patience S", "wait up to S seconds for each label that is made from the clock"),
                 Option("--folders Dir", "make the folder of each identifier, as path prints it, below Dir"),
                 Option("--expect File", "at the shell: stop before the first identifier that is not the next in File"),
                 Option("--yes", "at the shell: mint more than 10000 even if that is most of what is left")),
        options_before=2, about=about, example=example, also=also, see=see,
    )


PEPPERMINT = _mint_command(
    "peppermint", "make identifiers that only the holder of a secret can change",
    """\
Works like mint, and adds a secret, the pepper, to each identifier: ID!PEPPER. It is printed only now, and stored only
as a digest. To change the identifier later, write it with its pepper; reading does not need it.
""",
    """\
$ noid peppermint 1
id: 13030/ktrn327!…

""",
    ("mint", "bind"), "tutorial.md#identifiers-with-a-secret",
)


# -- the commands ----------------------------------------------------------------------------------------------------

COMMANDS = (
    _mint_command(
        "mint", "make identifiers",
        """\
Identifiers that are due in the queue come first, then new ones. With Element and Value, the value is bound to each of
them. Large numbers are minted in several transactions and printed as they are committed. If the identifiers run out,
those that were minted are printed before the error.

At the shell, --yes is required to mint more than 10000 identifiers if that is more than half of those left.

With --folders the folder of each identifier is made first; if that fails, the identifier is not minted. A folder that
exists already keeps its files; if it has none, its subfolders are removed. A note says which.

With --expect each identifier is compared with the next line of File, which looks like the output of mint. Minting stops
before the first identifier that differs. Use it to process the same objects in the same order again with a new minter.
""",
        """\
$ noid mint 2
id: 13030/ktrn327
id: 13030/ktmw2b5

$ noid mint 1 title 'A new book'
id: 13030/kth41m3

""",
        ("bind", "peppermint", "queue"), "tutorial.md#mint-bind-fetch",
    ),
    PEPPERMINT,
)
