"""Commands that mint identifiers, each with its folder if that is wanted.

Folders are made before the transaction of the minting is committed, so that every identifier that was given has its
folder, the one that `noid path` prints.  What a transaction that fails has made is removed again.
"""

from __future__ import annotations

import os

from ..errors import ForbiddenError, NotFoundError, StoreError, UsageError, printable
from ..minter import minting
from ..minter.policies import BIND, MINT
from ..minter.schema import generator_of
from .answers import Answer, Ids, IdsWithFolders
from .command import Command, Form, Option, as_count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..schemes import Scheme
    from .answers import Record
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
_LONGEST_COUNT = 18


def _mint(call: Call) -> Answer:
    count, options, patience = as_count(call.words[0]), _mint_options(call), _patience(call)
    if count > minting.CHUNK and call.session.local and not call.flag("yes"):
        _ensure_enough_is_left(call, count)
    if call.flag("folders"):
        _ensure_local(call)

        return Answer(stream=_mint_with_folders(call, count, options, patience), spaced=True)

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


def _ensure_enough_is_left(call: Call, count: int) -> None:
    """Refuse to use up most of a namespace by what may be a slip of the keyboard."""
    minter = call.minter
    left = dict(minter.read(lambda reader: generator_of(minter.scheme, reader)).status()).get("Left", b"")
    if left.isdigit() and minter.settings["at-last"] == "stop" and count > int(left) // 2:
        raise UsageError(f"this would take {count} of the {int(left)} identifiers that are left, for good: give --yes "
                         f"before the number if you mean it, as in {call.command.name} --yes {count}")


def _ensure_local(call: Call) -> None:
    if call.flag("folders") and not call.session.local:
        raise ForbiddenError(f"{call.command.name} --folders makes folders on the server: it is for the shell, not for "
                             "the web")


def _mint_options(call: Call) -> minting.MintOptions:
    elements = {call.words[1]: call.words[2]} if len(call.words) > 1 else None
    return minting.MintOptions(peppered=call.command is PEPPERMINT, elements=elements)


def _patience(call: Call) -> int | None:
    text = call.option("patience")
    if text is None:
        return None
    from ..schemes.timed import parse_patience

    return parse_patience(text.encode())


def _is_long_mint(call: Invocation) -> bool:
    """Whether it takes several transactions, or may wait for as long as its option --patience allows."""
    return call.flag("patience") or call.flag("folders") or _requested(call) > minting.CHUNK


def _is_short_mint(call: Invocation) -> bool:
    return 0 <= _requested(call) < _FEW


def _requested(call: Invocation) -> int:
    """How many identifiers are requested, -1 if the word is not a number."""
    word = call.words[0] if call.words else b""
    return int(word) if word.isdigit() and len(word) <= _LONGEST_COUNT else -1


def _mint_command(name: str, summary: str, about: str, example: str, see: str) -> Command:
    return Command(
        name, summary,
        Form("[--patience S] [--folders Dir] [--yes] N", _mint, MINT, streams=_is_long_mint, batches=_is_short_mint,
             mints=_requested),
        Form("[--patience S] [--folders Dir] [--yes] N Element Value", _mint, MINT, BIND, streams=_is_long_mint,
             batches=_is_short_mint, mints=_requested),
        options=(Option("--patience S", "where labels are made from the time, wait up to S seconds for each"),
                 Option("--folders Dir", "make the folder of each identifier, as path prints it, below Dir"),
                 Option("--yes", "at the shell: mint more than 10000 although few would be left")),
        options_first=True, about=about, example=example, see=see,
    )


PEPPERMINT = _mint_command(
    "peppermint", "make N identifiers, each with a secret that later changes need",
    """\
As mint, and to each identifier a pepper is added: ID!PEPPER. It is printed this once, and stored only as a digest. Who
wants to change the identifier later must write it with its pepper; for reading it is not needed.
""",
    """\
$ noid peppermint 1
id: 13030/ktrn327!…

""",
    "tutorial.md#identifiers-with-a-secret",
)


# -- the commands ----------------------------------------------------------------------------------------------------

COMMANDS = (
    _mint_command(
        "mint", "make N identifiers, each with Element bound to Value if given",
        """\
First come those that are due in the queue, then new ones. Many are minted in several transactions, and printed as they
are committed. If no identifier is left, those that were minted are printed before the refusal.

At the shell, more than 10000 identifiers that are more than half of those left are minted with --yes only.

With --folders each identifier has its folder before it is given; if the folder cannot be made, the identifier is not
minted. A folder that is there already is emptied of folders if it has no files, else left as it is; a note says so.
""",
        """\
$ noid mint 2
id: 13030/kt4x551
id: 13030/kt154d9

$ noid mint 1 status draft
id: 13030/ktwd3s9

""",
        "tutorial.md#mint-bind-fetch",
    ),
    PEPPERMINT,
)
