"""Commands for the time after us: bundle, depart, succeed."""

from __future__ import annotations

import os

from ..codec import decode_text
from ..errors import ConflictError, UsageError, printable
from ..minter import location_of
from ..minter.departure import depart, departure, take_over
from ..minter.report import size_text
from ..preservation.bag import verify_bag
from ..preservation.bundle import read_about, restore_bundle, write_bundle
from ..resolution.settings import ensure_resolver
from ..store import exists
from ..times import display_datetime, display_day
from .answers import Answer, Fields, filled
from .command import Command, Form, Option, as_count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..minter import Minter
    from ..minter.departure import Departure
    from .call import Call


# -- bundle ----------------------------------------------------------------------------------------------------------


def _bundle(call: Call) -> Answer:
    path = os.fsdecode(call.words[0])
    if path == "verify":
        raise UsageError("the file is missing: use bundle verify File; for a file of that name write ./verify")
    done = write_bundle(call.minter, path, call.actor, call.session.progress)
    departed = call.minter.read(departure)
    fields = [("ok", f"{done.files} files, {size_text(done.size)}, in {path}"), ("Names", str(done.names)),
              ("Drawn", str(done.drawn))]
    if departed is None:
        fields.append(("note", "what is minted after this is not in it"))
    return Answer(Fields(*fields), spaced=True)


def _verify(call: Call) -> Answer:
    path = os.fsdecode(call.words[1])
    found, about = verify_bag(path), read_about(path)
    fields = [("ok", f"{found.files} files, nothing is missing or changed"), ("Minter", about.minter),
              ("Template", about.template), ("Date", display_datetime(about.date.encode())),
              ("Drawn", str(about.drawn))]
    if about.departure:
        fields.append(("Successor", decode_text(about.departure.successor)))
    return Answer(filled(fields), spaced=True)


# -- depart and succeed ----------------------------------------------------------------------------------------------


def _depart(call: Call) -> Answer:
    address = call.text("to")
    ensure_resolver(address, "--to")
    made = call.change(depart, call.words[0], address, call.text("contact"))
    return Answer(Fields(("ok", b"nothing is minted here any more"), *_terms(made),
                         ("note", b"make a bundle now, and give it to the successor")), spaced=True)


def _show_departure(call: Call) -> Answer:
    found = call.minter.read(departure)
    if found is None:
        return Answer(Fields(("note", b"the names of this minter were not handed over")), spaced=True)
    return Answer(Fields(*_terms(found)), spaced=True)


def _terms(made: Departure) -> list[tuple[str, bytes]]:
    pairs = [("Successor", made.successor), ("Contact", made.contact), ("To", made.address),
             ("Date", display_datetime(made.date).encode()), ("Drawn", b"%d" % made.drawn), ("Last", made.last)]
    return [(label, value) for label, value in pairs if value]


def _succeed(call: Call) -> Answer:
    path, dbdir, actor = os.fsdecode(call.words[0]), call.session.dbdir, call.actor
    if exists(location_of(dbdir)):
        raise ConflictError(f"there is a minter in {dbdir} already: choose another folder with -f")
    verify_bag(path)
    terms = read_about(path).departure
    if terms is None and not call.flag("not-departed"):
        raise ConflictError(
            f"{path} was made before its minter departed, so what was minted there afterwards would be minted here "
            "again: have 'noid depart' run there and a new bundle made; or, if that minter will never mint again, use "
            "--not-departed, with --skip N for what it has minted since")
    name = call.text("name") or (terms.successor if terms else b"")
    if not name:
        raise UsageError("--not-departed needs --name, the name of the organisation that takes over")
    contact = call.text("contact") or (terms.contact if terms else b"")
    promise = call.text("promise")

    def adjust(minter: Minter) -> None:
        minter.write(lambda writer: take_over(minter, writer, actor, name, contact, promise))

    skip = as_count((call.option("skip") or "0").encode())
    done = restore_bundle(dbdir, path, actor, skip, adjust=adjust, progress=call.session.progress)
    fields = [("ok", f"{printable(name)} has taken over"), ("Drawn", str(done.drawn))]
    if terms:
        fields.append(("From", f"a minter that departed on {display_day(terms.date)}"))
        fields.append(("Last", decode_text(terms.last)))
    fields.append(("note", "the next identifier that is minted here comes after the last one of the minter that "
                           "departed; mint nowhere else"))
    return Answer(filled(fields), spaced=True)


# -- the commands ----------------------------------------------------------------------------------------------------

COMMANDS = (
    Command(
        "bundle", "write all of a minter to one archive, or verify one",
        Form("File", _bundle, interrupted="the file is as it was, unless the bundle was complete just now"),
        Form("verify File", _verify),
        shell_only=True, also=("restore", "depart", "export"), see="persistence.md#a-bundle-of-everything",
        about="""\
Writes a BagIt bag (RFC 8493) in a tar archive, as the minter is at one moment, while minting goes on: a complete export
with the history, policies, promises and custodians, the static site that export --site makes, versions, and
instructions. Before the file appears, a minter is restored from it and checked. verify reads the whole bundle, and
names a file that is missing or was changed.

Tokens and the secrets of web forms are not in it. Names of accounts and names that are not public are: keep it as you
keep a backup. restore makes a minter from it.
""",
        example="""\
$ noid bundle kt5.tar | grep Drawn
Drawn: …
$ noid bundle verify kt5.tar | head -1
ok: … files, nothing is missing or changed
""",
    ),
    Command(
        "depart", "hand the names of the minter over to another organisation",
        Form("Successor --to Address [--contact Contact]", _depart),
        Form("", _show_departure, writes=False),
        options=(
            Option("--to Address", "where names go on: the address of the successor's resolver, to which they are "
                   "appended, or with a variable in their place"),
            Option("--contact Contact", "how to reach the successor"),
        ),
        shell_only=True, also=("succeed", "bundle", "custodian"), see="persistence.md#handing-names-over",
        about="""\
From then on nothing is minted here, no name is changed, and all names of the minter lead to the successor's resolver,
also those that the successor mints later. Names that were withdrawn keep their tombstones. The successor becomes the
custodian, and the promise of persistence ends, with dates. The last identifier is printed. This cannot be undone,
except by running succeed with a bundle that was made afterwards. Without arguments it prints who took the names over.
""",
        example="""\
$ noid depart
note: the names of this minter were not handed over

""",
    ),
    Command(
        "succeed", "take over the names of another minter from its bundle",
        Form("File [--name Name] [--contact Contact] [--promise Text] [--not-departed] [--skip N]", _succeed,
             interrupted="there is no minter, unless it was complete just now"),
        options=(
            Option("--name Name", "who takes over, if not the successor named by depart"),
            Option("--contact Contact", "how to reach whoever takes over"),
            Option("--promise Text", "what is promised about the persistence of the names, from now on"),
            Option("--not-departed", "take over from a bundle that was made before the departure; what was minted "
                   "after it is not known here, and would be minted again"),
            Option("--skip N", "with --not-departed: skip N identifiers, for those that were minted "
                   "after the bundle"),
        ),
        shell_only=True, also=("depart", "bundle", "restore"), see="persistence.md#handing-names-over",
        about="""\
Makes a minter in Dbdir, which must have none, from the bundle that was made after depart. It resolves all names, knows
their history, and mints the identifier that comes after the last one. A bundle that was made before the departure is
refused.
""",
        example="""\
$ noid bundle kt5.tar > /dev/null
$ noid -f empty succeed kt5.tar | cat
error: kt5.tar was made before its minter departed, …
""",
    ),
)
