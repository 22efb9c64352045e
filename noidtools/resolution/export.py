"""All stored targets as a map that a web server looks up by itself.

    txt     Apache's `RewriteMap … txt:`      identifier, a blank, target
    dbm     Apache's `RewriteMap … dbm=db:`   the same in a Berkeley DB, made by Apache's own httxt2dbm
    nginx   for a `map` block of nginx        "identifier" "target";

Rules, passthrough, redirect codes and the fallback are not in a map, nor what a
form has no room for.  nginx compares without regard to case; identifiers that
differ in nothing else are written as patterns, which it compares exactly.
"""

from __future__ import annotations

import os
import shutil
import subprocess

from ..codec import split_pair
from ..errors import NotFoundError, StoreError
from ..minter.records import RESERVED, WITHDRAWN
from ..minter.tables import ALIASES, ELEMENTS, IDS
from ..names import targets
from . import Lookup, follow_aliases, target_element

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import BinaryIO

    from ..minter import Minter
    from ..store import Reader
    Row = tuple[bytes, bytes]  # identifier and target

FORMS = ("txt", "dbm", "nginx")
_TOOL = "httxt2dbm"

# Apache reads lines of a txt map into 1024 bytes, and would take the rest of a longer one for another line.
_LONGEST_LINE = 1000

# nginx reads its configuration in pieces of 4096 bytes, in which a word must fit.
_LONGEST_WORD = 2000
_NGINX_WORDS = (b"default", b"hostnames", b"include", b"volatile")
_PATTERN_MARKS = b"\\.^$*+?()[]{}|#"


def export(minter: Minter, form: str, path: str, element: bytes | None = None) -> tuple[int, int]:
    """Write the map, and put it in the place of the old one at once.  Returns how many are in it, and how many not."""
    counts = minter.read(lambda reader: _export(minter, reader, form, path, element))
    return counts[0], counts[1]


def _export(minter: Minter, reader: Reader, form: str, path: str, element: bytes | None) -> list[int]:
    counts = [0, 0]

    def rows() -> Iterator[Row]:
        return _rows(minter, reader, element or target_element(reader))

    def lines() -> Iterator[bytes]:
        write = _nginx_writer(rows) if form == "nginx" else _txt_line
        for identifier, target in rows():
            line = write(identifier, target)
            counts[0 if line else 1] += 1
            yield line

    if form == "dbm":
        _replace(path, lambda fresh: _write_dbm(fresh, lines()))
    else:
        _replace(path, lambda fresh: _write_lines(fresh, lines()))
    return counts


def _rows(minter: Minter, reader: Reader, element: bytes) -> Iterator[Row]:
    for key, value in reader.scan(ELEMENTS):
        identifier, name = split_pair(key)
        if name != element or reader.get(ALIASES, identifier) is not None:
            continue
        record = reader.get(IDS, identifier)
        if record is None or not record[0] & (WITHDRAWN | RESERVED):
            yield identifier, _address(value)
    lookup = Lookup(minter, reader, element)
    for alias, _ in reader.scan(ALIASES):
        outcome = follow_aliases(lookup.find, alias)
        yield alias, targets.location(outcome.targets[0].url) or b"" if outcome.targets else b""


def _address(value: bytes) -> bytes:
    """The first target as a header may carry it; nothing if nobody may be sent there."""
    for target in targets.parse(value):
        return targets.location(targets.extended(target.url, b"") or b"") or b""
    return b""


# -- lines; an empty one stands for what cannot be written -----------------------------------------------------------


def _txt_line(identifier: bytes, target: bytes) -> bytes:
    line = identifier + b" " + target + b"\n"
    words = line.split()
    fits = len(words) == 2 and len(line) <= _LONGEST_LINE and words[0] == identifier and b"\0" not in identifier
    return line if fits and not identifier.startswith(b"#") else b""


def _nginx_writer(rows: Callable[[], Iterable[Row]]) -> Callable[[bytes, bytes], bytes]:
    spellings: dict[bytes, int] = {}
    # Only where there are capitals can two differ in case alone, and mostly there are none.
    for identifier, _ in rows():
        if identifier != identifier.lower():
            spellings[identifier.lower()] = 0
    if spellings:
        for identifier, _ in rows():
            if identifier.lower() in spellings:
                spellings[identifier.lower()] += 1

    def write(identifier: bytes, target: bytes) -> bytes:
        if not target or len(identifier) > _LONGEST_WORD or len(target) > _LONGEST_WORD:
            return b""
        if any(octet < 0x20 for octet in identifier):
            return b""
        # nginx compares plain words without regard to case, and before all patterns.
        if spellings.get(identifier.lower(), 0) > 1:
            key = b"~^" + b"".join(b"\\%c" % octet if octet in _PATTERN_MARKS else b"%c" % octet
                                   for octet in identifier) + b"$"
        elif identifier[:1] in (b"~", b"\\") or identifier.lower() in _NGINX_WORDS:
            key = b"\\" + identifier
        else:
            key = identifier
        # A dollar sign would begin a variable.
        return _quoted(key) + b" " + _quoted(target.replace(b"$", b"%24")) + b";\n"

    return write


def _quoted(word: bytes) -> bytes:
    return b'"' + word.replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'


# -- files -----------------------------------------------------------------------------------------------------------


def _replace(path: str, write: Callable[[str], None]) -> None:
    """Write a file beside the old one, then put it in its place: a reader finds one or the other, whole."""
    fresh = f"{path}.{os.getpid()}.new"
    try:
        write(fresh)
        _sync(fresh)
        os.replace(fresh, path)
        _sync(os.path.dirname(os.path.abspath(path)))
    except OSError as error:
        raise StoreError(f"{path} could not be written: {error.strerror or error}") from None
    finally:
        if os.path.exists(fresh):
            os.unlink(fresh)


def _sync(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_lines(fresh: str, lines: Iterable[bytes]) -> None:
    with open(fresh, "wb") as file:
        _write_header_and_lines(file, lines)


def _write_header_and_lines(file: BinaryIO, lines: Iterable[bytes]) -> None:
    file.write(b"# Written by noid export; changes here are lost with the next one.\n")
    file.writelines(lines)


def _write_dbm(fresh: str, lines: Iterable[bytes]) -> None:
    tool = shutil.which(_TOOL) or shutil.which(_TOOL, path="/usr/sbin:/sbin")
    if tool is None:
        raise NotFoundError(f"{_TOOL} is missing, which comes with Apache: install Apache, or export --map txt")
    listing = fresh + ".txt"
    try:
        _write_lines(listing, lines)
        done = subprocess.run([tool, "-f", "DB", "-i", listing, "-o", fresh], capture_output=True, check=False)
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or ["no reason given"]
            raise StoreError(f"{_TOOL} failed: {said[0]}")
    finally:
        os.unlink(listing)
