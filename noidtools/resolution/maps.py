"""All stored targets as a map file, in which a web server looks up names by itself.

    txt     Apache's `RewriteMap … txt:`      identifier, a blank, target
    dbm     Apache's `RewriteMap … dbm=db:`   the same in a Berkeley DB, made by Apache's httxt2dbm
    nginx   for a `map` block of nginx        "identifier" "target";

A map does not contain rules, passthrough, redirect codes or the fallback, nor
identifiers and targets that its format cannot express.  nginx ignores case in
plain words; identifiers that differ in case only are written as patterns, which
it compares exactly.

The rows are read in one transaction, so that a map shows one moment.  They go to
a temporary file first; the map is written and httxt2dbm runs after the transaction.
"""

from __future__ import annotations

import os
import shutil
import subprocess

from ..errors import NotFoundError, StoreError
from ..minter import circulation
from ..minter.departure import departure
from ..names import targets
from ..spool import Spool
from ..store.folders import replace_file
from .lookup import FOUND, Lookup, Outcome, follow_aliases, target_element

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ..minter import Minter
    from ..store import Reader
    Row = tuple[bytes, bytes]  # identifier and target

FORMS = ("txt", "dbm", "nginx")
_TOOL = "httxt2dbm"

# Apache reads a line of a txt map into a buffer of 1024 bytes, and takes the rest of a longer line for another line.
_LONGEST_LINE = 1000

# nginx reads its configuration into a buffer of 4096 bytes, which must hold a whole word.
_LONGEST_WORD = 2000
_NGINX_WORDS = (b"default", b"hostnames", b"include", b"volatile")
_PATTERN_MARKS = b"\\.^$*+?()[]{}|#"


def export(minter: Minter, form: str, path: str, element: bytes | None = None) -> tuple[int, int]:
    """Write a map to a file, which replaces an older one at once.

    Returns how many identifiers are in it, and how many its format cannot express.  Raises StoreError if the file
    cannot be written or httxt2dbm fails, NotFoundError if httxt2dbm is not installed.
    """
    tool = _find_tool() if form == "dbm" else ""
    counts = [0, 0]

    def lines(rows: Spool) -> Iterator[bytes]:
        write = nginx_writer(rows) if form == "nginx" else txt_line
        for identifier, target in rows:
            line = write(identifier, target)
            counts[0 if line else 1] += 1
            yield line

    try:
        rows = Spool(2)
        minter.read(lambda reader: rows.fill(_rows(minter, reader, element or target_element(reader))))
        replace_file(path, lambda fresh: _write_map(fresh, lines(rows), tool))
    except OSError as error:
        raise StoreError(f"{path} could not be written: {error.strerror or error}") from None
    return counts[0], counts[1]


def _rows(minter: Minter, reader: Reader, element: bytes) -> Iterator[Row]:
    lookup = Lookup(minter, reader, element)
    departed = departure(reader) is not None
    for identifier, value in circulation.public_values(reader, element):
        outcome = lookup.find(identifier) if departed else Outcome(FOUND, minter, identifier, value=value)
        outcome.asked = identifier
        yield identifier, address_of(outcome)
    for alias in circulation.all_aliases(reader):
        yield alias, address_of(follow_aliases(lookup.find, alias))


def address_of(outcome: Outcome) -> bytes:
    """The first target as a Location header has it; empty if a reader must not be redirected there."""
    for target in outcome.targets:
        return targets.location(target.url) or b""
    return b""


# -- lines; an empty one if the format cannot express the row ----------------------------------------------------------


def txt_line(identifier: bytes, target: bytes) -> bytes:
    line = identifier + b" " + target + b"\n"
    words = line.split()
    fits = len(words) == 2 and len(line) <= _LONGEST_LINE and words[0] == identifier and b"\0" not in identifier
    return line if fits and not identifier.startswith(b"#") else b""


def nginx_writer(rows: Iterable[Row]) -> Callable[[bytes, bytes], bytes]:
    # How many identifiers are equal in lower case.  Only those with capital letters can share it with another.
    spellings: dict[bytes, int] = {}
    for identifier, _ in rows:
        if identifier != identifier.lower():
            spellings[identifier.lower()] = 0
    if spellings:
        for identifier, _ in rows:
            if identifier.lower() in spellings:
                spellings[identifier.lower()] += 1

    def write(identifier: bytes, target: bytes) -> bytes:
        if not target or len(identifier) > _LONGEST_WORD or len(target) > _LONGEST_WORD:
            return b""
        if any(octet < 0x20 for octet in identifier):
            return b""
        # nginx ignores case in plain words, and tries them before all patterns.
        if spellings.get(identifier.lower(), 0) > 1:
            key = b"~^" + b"".join(b"\\%c" % octet if octet in _PATTERN_MARKS else b"%c" % octet
                                   for octet in identifier) + b"$"
        elif identifier[:1] in (b"~", b"\\") or identifier.lower() in _NGINX_WORDS:
            key = b"\\" + identifier
        else:
            key = identifier
        # nginx reads a dollar sign as the beginning of a variable.
        return _quoted(key) + b" " + _quoted(target.replace(b"$", b"%24")) + b";\n"

    return write


def _quoted(word: bytes) -> bytes:
    return b'"' + word.replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'


# -- files -----------------------------------------------------------------------------------------------------------


def _write_map(fresh: str, lines: Iterable[bytes], tool: str) -> None:
    """Write the lines to a file, or with a tool the Berkeley DB that it makes of them."""
    if not tool:
        _write_lines(fresh, lines)
        return
    listing = fresh + ".txt"
    try:
        _write_lines(listing, lines)
        with open(fresh, "xb"):
            pass  # the tool would follow a link that another account has put there
        done = subprocess.run([tool, "-f", "DB", "-i", listing, "-o", fresh], capture_output=True, check=False)
        if done.returncode:
            message = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or ["no reason given"]
            raise StoreError(f"{_TOOL} failed: {message[0]}")
    finally:
        if os.path.exists(listing):
            os.unlink(listing)


def _write_lines(path: str, lines: Iterable[bytes]) -> None:
    # A new file: where another account may write, its name may be that of a link which leads elsewhere.
    with open(path, "xb") as file:
        file.write(b"# Written by noid export; changes here are lost with the next one.\n")
        file.writelines(lines)


def _find_tool() -> str:
    tool = shutil.which(_TOOL) or shutil.which(_TOOL, path="/usr/sbin:/sbin")
    if tool is None:
        raise NotFoundError(f"{_TOOL} is missing, which comes with Apache: install Apache, or export the form txt")
    return tool
