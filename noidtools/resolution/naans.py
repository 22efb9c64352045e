"""Whose NAAN it is: the public registry of NAANs, as it was taken over into a folder of minters.

The registry is a JSON file with a record for each NAAN, and for some shoulders, of ARKs: who has it, and the address of
the resolver to which its names are sent.  What is needed of it is in the file `naans.json` in the folder of the
minters, or in that of a single minter.  A resolver reads it when a name is asked for that no minter here has, and
notices within a second that it was replaced.
"""

from __future__ import annotations

import fcntl
import json
import os
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from time import monotonic

from .. import names
from ..codec import decode_text, encode_text
from ..console import OccasionalLog
from ..errors import InvalidError, NotFoundError, StoreError
from ..names import targets
from ..store.folders import ensure_own, replace_file, write_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ..names import Name

FILE = "naans.json"
# The real registry has less than two million bytes.
LARGEST_REGISTRY = 32 << 20
_MOST_RECORDS = 200_000
_LONGEST_TEXT = 500
_TYPES = ("PublicNAAN", "PublicNAANShoulder")
_FORMAT = 1
# Seconds after which a resolver looks whether the file was replaced.
_REFRESH_INTERVAL = 1.0

_log = OccasionalLog()


@dataclass(frozen=True, slots=True)
class Authority:
    """A record of the registry.

    what      the NAAN, or the NAAN and a shoulder, as in 99166/w6
    who       the name of the organisation
    where     its own address
    target    the address to which its names are sent, with variables; empty if none is usable
    code      the status of that redirect
    hyphens   whether the names are sent with their hyphens
    """

    what: str
    who: str
    where: str = ""
    target: str = ""
    code: int = 0
    hyphens: bool = False

    @property
    def sentence(self) -> str:
        """Whose names these are."""
        kind = "shoulder" if "/" in self.what else "NAAN"
        return f"the {kind} {self.what} belongs to {self.who}{self.where and f' ({self.where})'}"


@dataclass(slots=True)
class Registry:
    """The registry as it is kept here.

    source, date   the file or address that it was taken from, and the date that it says of itself
    forward        whether names of others are sent to their resolvers
    records        the records by NAAN, or by NAAN and shoulder
    """

    source: str = ""
    date: str = ""
    forward: bool = False
    records: dict[str, Authority] = field(default_factory=dict)
    _shoulders: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for what in self.records:
            naan, slash, _ = what.partition("/")
            if slash:
                self._shoulders.setdefault(naan, []).append(what)
        for found in self._shoulders.values():
            found.sort(key=len, reverse=True)

    def authority_of(self, name: Name) -> Authority | None:
        """Whose a name is, by its shoulder or else its NAAN; None for a name that is no ARK, or of which nothing is
        known."""
        if name.scheme not in (b"ark", b""):
            return None
        text = decode_text(name.body)
        naan = text.partition("/")[0].lower()
        rest = naan + text[len(naan) :]
        shoulder = next((what for what in self._shoulders.get(naan, ()) if rest.startswith(what)), "")
        return self.records.get(shoulder or naan)

    def target(self, name: Name) -> tuple[bytes, bytes, bytes] | None:
        """Where names like this one are sent: an address with its code, and what of the name is its content and what
        follows the NAAN or the shoulder; None if they are not sent anywhere."""
        # A name without label may be a handle, whose prefixes look the same.
        found = self.authority_of(name) if self.forward and name.scheme == b"ark" else None
        if found is None or not found.target:
            return None
        body = name.written if found.hyphens else name.body
        _, slash, shoulder = found.what.partition("/")
        value = body.partition(b"/")[2]
        suffix = value[len(shoulder) :] if slash and name.body == body else value
        code = b"%d " % found.code if found.code else b""
        return code + encode_text(found.target), body, suffix


# -- the public registry ---------------------------------------------------------------------------------------------


def parse_registry(text: bytes, source: str) -> tuple[Registry, int]:
    """Read the public registry; returns what is kept of it, and how many records were left out because they are
    wrong.

    Raises InvalidError if this is no registry.
    """
    wanted = "the public NAAN registry is a JSON object with a list 'data' of records"
    if len(text) > LARGEST_REGISTRY:
        raise InvalidError(f"{source} has more than {LARGEST_REGISTRY >> 20} MB: {wanted}, and much smaller")
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidError(f"{source} is not JSON ({str(error)[:100]}): {wanted}") from None
    data = content.get("data") if isinstance(content, dict) else None
    if not isinstance(data, list) or len(data) > _MOST_RECORDS:
        raise InvalidError(f"{source} is not the registry: {wanted}")
    metadata = content.get("metadata")
    date = metadata.get("date_modified") if isinstance(metadata, dict) else None
    found, wrong = {}, 0
    for item in data:
        if isinstance(item, dict) and item.get("rtype") not in _TYPES and isinstance(item.get("rtype"), str):
            continue  # what is not public, or of a kind that came later
        record = _parse_record(item)
        if record is None:
            wrong += 1
        else:
            found[record.what] = record
    if not found:
        raise InvalidError(f"{source} has no record of a NAAN: {wanted}, each with rtype, what, who and target")
    return Registry(source, _text(date), records=found), wrong


def _parse_record(item: Any) -> Authority | None:
    if not isinstance(item, dict):
        return None
    naan, slash, shoulder = _text(item.get("what")).partition("/")
    if not (naan.isascii() and naan.isalnum()) or len(naan) > 32 or (slash and not shoulder):
        return None
    who = item.get("who")
    name = _text(who.get("name") or who.get("name_native")) if isinstance(who, dict) else _text(who)
    target = item.get("target")
    url, code = (target.get("url"), target.get("http_code")) if isinstance(target, dict) else (target, 0)
    return Authority(
        naan.lower() + slash + shoulder, name or "an organisation without a name", _address(item.get("where")),
        _address(url), int(str(code)) if str(code).encode() in targets.CODES else 0, item.get("strip_hyphens") is False,
    )


def _text(value: object) -> str:
    """A text of the registry on one line; empty if it is none."""
    return " ".join(value.split())[:_LONGEST_TEXT] if isinstance(value, str) else ""


def _address(value: object) -> str:
    """An address of the registry; empty if it is none that a browser may be sent to."""
    text = value.strip() if isinstance(value, str) else ""
    plain = encode_text(text)
    is_web = text.lower().startswith(("http://", "https://")) and len(text) <= _LONGEST_TEXT
    return text if is_web and b"|" not in plain and not plain.split()[1:] and targets.location(plain) else ""


# -- where it is kept ------------------------------------------------------------------------------------------------


def read_registry(folder: str) -> Registry | None:
    """The registry in a folder; None if there is none.  Raises StoreError if it cannot be read or is damaged."""
    path = os.path.join(folder, FILE)
    try:
        with open(path, "rb") as file:
            content = json.loads(file.read(2 * LARGEST_REGISTRY))
        if content["format"] != _FORMAT:
            raise StoreError(f"{path} was written by another release", "run 'noid naans update' again")
        records = {item["what"]: Authority(**item) for item in content["records"]}
        return Registry(content["source"], content["date"], content["forward"], records)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise StoreError(f"{path} is damaged", "run 'noid naans update' again") from None


def update_registry(folder: str, new: Registry) -> Registry:
    """Put a registry into a folder, in place of the one before, of which it keeps whether names are forwarded."""
    with _locked(folder):
        with suppress(StoreError):  # one that is damaged
            known = read_registry(folder)
            new.forward = known is not None and known.forward
        _write(folder, new)
    return new


def set_forwarding(folder: str, *, on: bool) -> Registry:
    """Whether names of others are sent to their resolvers; raises NotFoundError if there is no registry here."""
    with _locked(folder):
        known = read_registry(folder)
        if known is None:
            raise NotFoundError(f"there is no registry in {folder}", "read it with 'noid naans update FILE'")
        known.forward = on
        _write(folder, known)
    return known


@contextmanager
def _locked(folder: str) -> Iterator[None]:
    """Let one process at a time replace the file."""
    ensure_own(os.path.join(folder, FILE))
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise StoreError(f"{folder} is not a folder of minters: {error.strerror}") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _write(folder: str, registry: Registry) -> None:
    content = {"format": _FORMAT, "source": registry.source, "date": registry.date, "forward": registry.forward,
               "records": [asdict(record) for record in registry.records.values()]}
    path = os.path.join(folder, FILE)
    try:
        replace_file(path, lambda fresh: write_file(fresh, json.dumps(content).encode()))
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror}") from None


# -- what a resolver uses --------------------------------------------------------------------------------------------


class _Known:
    """The registries of this process by the folders of minters: when each was looked at, its stamp and its content."""

    def __init__(self) -> None:
        self._entries: dict[str, tuple[float, object, Registry | None]] = {}

    def find(self, dbdir: str) -> tuple[object, Registry | None]:
        now = monotonic()
        known = self._entries.get(dbdir)
        if known is not None and now - known[0] < _REFRESH_INTERVAL:
            return known[1:]
        folder, stamp = _stamped(dbdir)
        registry = known[2] if known is not None else None
        if known is None or known[1] != stamp:
            registry = _readable(folder) if folder else None
        self._entries[dbdir] = (now, stamp, registry)
        return stamp, registry


_known = _Known()


def registry_for(dbdir: str) -> Registry | None:
    """The registry for the minter in a folder: the one there, or that of the folder of minters around it."""
    return _known.find(dbdir)[1]


def registry_version(dbdir: str) -> object:
    """A value that is another one after the registry for a minter was replaced."""
    return _known.find(dbdir)[0]


def _stamped(dbdir: str) -> tuple[str, object]:
    """The folder of the registry for a minter, empty if there is none, and what tells it from another one."""
    for folder in (dbdir or ".", os.path.dirname(os.path.abspath(dbdir))):
        with suppress(OSError):
            found = os.stat(os.path.join(folder, FILE))
            return folder, (folder, found.st_ino, found.st_size, found.st_mtime_ns)
    return "", None


def _readable(folder: str) -> Registry | None:
    try:
        return read_registry(folder)
    except StoreError as error:
        _log.write(f"the NAAN registry is not used: {error.message}")
        return None


def authority_of(dbdir: str, name: Name) -> Authority | None:
    """Whose a name is that no minter here has; None if that is not known."""
    registry = registry_for(dbdir)
    return None if registry is None else registry.authority_of(name)


def parse_naan(text: bytes) -> Name:
    """A NAAN, a NAAN and a shoulder, or a whole ARK, as a name."""
    name = names.parse(text)
    return name if name.scheme else names.parse(b"ark:/" + name.found)
