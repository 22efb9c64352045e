"""`noid bundle`: all of a minter in one archive, to be kept elsewhere or to be handed over.

    data/README.txt          what it is, and what to do with it
    data/bundle.json         versions, the minter, how many identifiers it has drawn, to whom it was handed over
    data/minter.jsonl        a complete export: names, bindings, rules, holds, queue, settings, policies, all events
    data/promises.txt        policies, promises and custodians with their dates, to be read by people
    data/site/               the static site of the same moment

What is bundled was made into a minter again and examined before the bundle appears.  Tokens and the minter's own
secrets are not in it, so that nobody who has the bundle can act for a user.  The hashes of peppers are: without them
those who hold a pepper could not change their names after the service has moved.
"""

from __future__ import annotations

import json
import os
import shutil
import tarfile
from dataclasses import dataclass

from ..codec import decode_text, encode_text
from ..description.conversion import timestamp_text
from ..description.facts import MinterDescription
from ..description.gatherer import gather_minter
from ..errors import InvalidError, StoreError
from ..minter import config, copying, location_of, schema
from ..minter.copying import Restored
from ..minter.departure import Departure, departure
from ..minter.events import newest_number
from ..minter.folder import existing_folder
from ..minter.schema import ONWARD
from ..store import remove_store
from ..store.folders import remove_folder, sync_folder, unfinished_name
from ..times import SECOND, display_day, timestamp
from ..transfer.exporter import Export, Selection
from ..transfer.whole_import import import_whole
from ..version import __version__
from .bag import BagWriter, opened_file, verify_bag
from .pages import site_file
from .site import export_site

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..console import Progress
    from ..minter import Minter
    from ..minter.events import Actor
    from ..store import Reader

_FORMAT = 1
_LONGEST_ABOUT = 1 << 20
_MARK = ".noid-bundle-"
_ABOUT, _MINTER, _PROMISES, _SITE = "bundle.json", "minter.jsonl", "promises.txt", "site"


@dataclass(frozen=True, slots=True)
class Bundled:
    """What a bundle has: how many names of the site, files, identifiers drawn, and bytes."""

    names: int
    files: int
    drawn: int
    size: int


def write_bundle(minter: Minter, path: str, actor: Actor, progress: Progress | None = None) -> Bundled:
    """Write a bundle to a file, which takes the place of an older one when it is complete and on disk.

    Raises StoreError if it cannot be written.
    """
    parent = os.path.dirname(os.path.abspath(path))
    try:
        with unfinished_name(parent, _MARK) as folder:
            try:
                os.mkdir(folder, 0o700)
                fresh = os.path.join(folder, "bundle")
                done = _write(minter, folder, fresh, actor, progress)
                sync_folder(fresh)
                os.replace(fresh, path)
                sync_folder(parent)
                return done
            finally:
                remove_folder(folder)
    except OSError as error:
        raise StoreError(f"{path} could not be written: {error.strerror or error}") from None


def _write(minter: Minter, folder: str, fresh: str, actor: Actor, progress: Progress | None) -> Bundled:
    now = actor.now()
    lines = os.path.join(folder, _MINTER)
    Export(minter, "jsonl", Selection(history=True), now).write_to(lines, progress)
    # From here on all is read from the copy: it is of one moment, and what is bundled is known to make a minter.
    # It has the name of the minter, which may be that of any file here, so it is in a folder of its own.
    os.mkdir(os.path.join(folder, "copy"))
    name = os.path.basename(os.path.abspath(minter.dbdir)) or "minter"
    copy = _imported(lines, os.path.join(folder, "copy", name), progress)
    try:
        about, facts = copy.read(lambda reader: (_about(copy, reader, now), gather_minter(copy, reader)))
        if about["departure"]:
            # The successor may serve the site, and then its pages must not lead to the successor.
            copy.write(lambda writer: config.change(writer, actor, ONWARD, None))
        site = export_site(copy, os.path.join(folder, _SITE), now, progress=progress, place="/srv/www/site")
    finally:
        copy.close()
        remove_store(location_of(copy.dbdir))
    name = f"noid-{about['name']}-{timestamp(now).decode()}"
    with open(fresh, "xb") as file:
        os.fchmod(file.fileno(), 0o600)  # it has what is not public
        bag = BagWriter(file, "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in name),
                        now // SECOND)
        bag.add_text("README.txt", site_file("bundle.txt", about=about, facts=facts))
        bag.add_text(_ABOUT, json.dumps(about, indent=1).encode() + b"\n")
        bag.add_text(_PROMISES, _promises(facts))
        bag.add_file(_MINTER, lines)
        bag.add_folder(_SITE, os.path.join(folder, _SITE))
        bag.close([
            ("Source-Organization", facts.authority), ("External-Identifier", facts.iri),
            ("External-Description", f"A minter of names that begin with {facts.namespace or 'anything'}"),
            ("Bagging-Date", display_day(timestamp(now))), ("Bag-Software-Agent", f"noidtools {__version__}"),
        ])
    return Bundled(site.names, verify_bag(fresh).files, int(str(about["drawn"])), os.path.getsize(fresh))


def _imported(lines: str, dbdir: str, progress: Progress | None = None) -> Minter:
    with open(lines, "rb") as file:
        return import_whole(file, dbdir, progress)[0]


def _about(minter: Minter, reader: Reader, now: int) -> dict[str, object]:
    """What programs need to know of a bundle before they read the rest."""
    settings, departed = minter.settings, departure(reader)
    return {
        "bundle": _FORMAT, "release": __version__, "date": timestamp(now).decode(),
        "minter": gather_minter(minter, reader, complete=False).iri,
        "name": os.path.basename(minter.dbdir), "scheme": settings["scheme"], "template": settings["template"],
        "naan": settings["naan"], "drawn": schema.generator_of(minter.scheme, reader).drawn,
        "event": newest_number(reader),
        "departure": departed and {
            "successor": decode_text(departed.successor), "contact": decode_text(departed.contact),
            "address": decode_text(departed.address), "date": decode_text(departed.date), "drawn": departed.drawn,
            "last": decode_text(departed.last)},
    }


def _promises(facts: MinterDescription) -> bytes:
    """Policies, promises and custodians with their dates, as ANVL."""
    records = [[("policy", one.kind), ("text", one.text), ("from", timestamp_text(one.start)),
                ("until", timestamp_text(one.until))] for one in facts.policies]
    records += [[("custodian", one.name), ("contact", one.contact), ("purpose", one.purpose),
                 ("from", timestamp_text(one.start)), ("until", timestamp_text(one.until))] for one in facts.custodians]
    lines = ("".join(f"{label}: {' '.join(value.split())}\n" for label, value in record if value)
             for record in records)
    return "\n".join(lines).encode("utf-8", "replace")


# -- reading ---------------------------------------------------------------------------------------------------------


def is_bundle(path: str) -> bool:
    """Whether a file is an archive, as a bundle is; a backup is none."""
    return os.path.isfile(path) and tarfile.is_tarfile(path)


@dataclass(frozen=True, slots=True)
class About:
    """What a bundle says of itself; the date has fourteen digits."""

    minter: str
    template: str
    date: str
    drawn: int
    departure: Departure | None


def read_about(path: str) -> About:
    """What a bundle says of itself; raises InvalidError for what is no bundle of a minter, or a newer one."""
    with opened_file(path, _ABOUT) as file:
        try:
            about = json.loads(file.read(_LONGEST_ABOUT) or b"")
            if about["bundle"] > _FORMAT:
                raise InvalidError(f"{path} was made by noidtools {about['release']}, and is newer than this program: "
                                   "install that version")
            terms = about["departure"]
            return About(
                str(about["minter"]), str(about["template"]), str(about["date"]), int(about["drawn"]),
                None if terms is None else Departure(
                    encode_text(terms["successor"]), encode_text(terms["contact"]), encode_text(terms["address"]),
                    encode_text(terms["date"]), int(terms["drawn"]), encode_text(terms["last"])))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise InvalidError(f"{path} is no bundle of a minter: its {_ABOUT} cannot be read") from None


def restore_bundle(
    dbdir: str, path: str, actor: Actor, skip: int = 0, *, adjust: Callable[[Minter], None] | None = None,
    progress: Progress | None = None,
) -> Restored:
    """Make the minter of a bundle in a folder, in place of the one there, as `copying.restore` does.

    With `adjust`, which changes the minter before it appears, it takes no other's place.  Raises InvalidError, which
    names the file, if the bundle was changed or damaged.
    """
    verify_bag(path)
    read_about(path)
    # What a killed process leaves under such a name is removed by the next backup, as after any restore.
    mark = f".{os.path.basename(location_of(dbdir))}-new-bundle-"
    with existing_folder(dbdir), unfinished_name(dbdir, mark) as folder:
        try:
            os.mkdir(folder, 0o700)
            lines = os.path.join(folder, _MINTER)
            with opened_file(path, _MINTER) as source, open(lines, "xb") as file:
                shutil.copyfileobj(source, file)
            minter = _imported(lines, os.path.join(folder, "minter"), progress)
            backup = os.path.join(folder, "backup")
            try:
                if adjust is not None:
                    adjust(minter)
                minter.store.backup(backup)  # any engine can restore that
            finally:
                minter.close()
                remove_store(location_of(minter.dbdir))
            return copying.restore(dbdir, backup, actor, skip, replace=adjust is None)
        except OSError as error:
            raise StoreError(f"the bundle cannot be unpacked in {dbdir}: {error.strerror or error}") from None
        finally:
            remove_folder(folder)
