"""`noid doctor`: one report on minters and their set-up; databases, canaries and backups included."""

from __future__ import annotations

import os

from ..errors import NoidError, UsageError, printable
from ..minter import Minter, location_of
from ..minter.check import examine
from ..minter.folder import MinterFolder
from ..minter.report import backup_warning, minter_figures
from ..resolution.settings import check_canaries
from ..store import ensure_readable, exists
from ..times import SECOND, system_clock
from .checks import ERROR, OK, WARNING, Finding, as_account, check, find_subject
from .setup import ENABLED_SITES, read_setup

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..console import Progress


def diagnose(dbdir: str, *, minters: str = "", url: str = "", progress: Progress | None = None) -> list[Finding]:
    """Everything that is found: of the set-up on this machine, or of the minters in the folder `minters`, and of the
    minter in `dbdir`.

    Raises NoMinterError if there is none of them, and UsageError if `minters` is no folder.
    """
    findings: list[Finding] = []
    covered = ""
    if minters or any(map(read_setup, ENABLED_SITES.values())):
        try:
            found = find_subject(minters, "", url)
            findings += check(found)
            covered = found.minters
            findings += as_account(found.user, lambda: _databases(covered))
        except UsageError as error:
            if minters:
                raise
            findings.append((WARNING, f"the set-up was not examined: {error.message}"))
    beside = not minters and os.path.dirname(os.path.abspath(dbdir)) != covered
    if not findings or (beside and exists(location_of(dbdir))):
        findings += _minter(dbdir, progress)
    return findings


def _minter(dbdir: str, progress: Progress | None) -> list[Finding]:
    """What is found in one minter that no set-up serves."""
    ensure_readable(location_of(dbdir))
    minter = Minter(dbdir)
    try:
        findings = [*_database("the minter", minter, progress)]
        for name, target, expected in check_canaries(minter):
            if expected.startswith(b"status "):
                continue  # only a web resolver answers with one
            led = f"{name} leads to {printable(target)}"
            findings.append((OK, led) if target == expected else (
                ERROR, f"{led}, not to {printable(expected)}: run 'noid resolve --explain {name}'"))
        warning = backup_warning("the minter", minter_figures(minter).get("last_backup"), system_clock() / SECOND)
        findings.append((WARNING, f"{warning}: run 'noid backup Dest'") if warning else
                        (OK, "the last backup is recent"))
        return findings
    finally:
        minter.close()


def _databases(folder: str) -> list[Finding]:
    """What is found in the databases of a folder of minters.  Runs as the account that owns them."""
    minters = MinterFolder(folder)
    findings: list[Finding] = []
    for name, dbdir in minters.dbdirs():
        try:
            findings += _database(f"the minter {name}", minters.open(dbdir, name), None)
        except NoidError as error:
            findings.append((ERROR, f"the database of the minter {name} cannot be examined: {error.message}"))
    return findings


def _database(what: str, minter: Minter, progress: Progress | None) -> list[Finding]:
    result = examine(minter, progress)
    faults = len(result.faults) + result.more
    if not faults:
        return [(OK, f"the database of {what} is sound: {result.items} items examined")]
    first, count = result.faults[0].sentence, f"{faults} {'fault' if faults == 1 else 'faults'}"
    return [(ERROR, f"the database of {what} has {count}; run 'noid -f {minter.dbdir} check'. The first: {first}")]
