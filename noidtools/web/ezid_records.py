"""Identifiers as EZID has them: their names, the text of their elements, their reserved elements and their states.

EZID's states and ours:

    reserved     reserved
    public       published
    unavailable  unavailable, with the reason behind a bar; also withdrawn, which cannot be changed

Elements whose names begin with `_` are EZID's own.  `_target` is the element that holds targets here, `_profile` and
`_export` are bound as they are, the others are not bound.  All else is bound as it was given.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ..api import MinterMethods
from ..api.minter import MintedState
from ..codec import encode_text
from ..description.facts import NameRecord
from ..errors import ForbiddenError, InvalidError, NotFoundError
from ..minter.policies import TOKEN_USER
from ..names import targets
from .access import MinterAccess, bind_or_remove
from .response import HttpError


class BadRequestError(HttpError):
    """A request that EZID would call bad, with its reason."""

    def __init__(self, reason: str) -> None:
        super().__init__(400, "ezid", reason)


# -- names -----------------------------------------------------------------------------------------------------------

_LONGEST_NAME = 255
# Every NAAN has a digit.
_ARK = re.compile(r"ark:/?([a-z]*[0-9][0-9a-z]*)/([!-~]+)")


def canonical_ark(text: str) -> str:
    """An ARK in the form in which EZID writes it; raises BadRequestError for what is none."""
    found = _ARK.fullmatch(text)
    if found is None:
        raise BadRequestError("invalid identifier")
    name = found[2].replace("-", "").replace("#", "%23")
    name = re.sub(r"([./])\1+", r"\1", name).strip("./")
    ark = f"ark:/{found[1]}/{name}"
    if not name or "./" in name or "/." in name or len(ark) > _LONGEST_NAME:
        raise BadRequestError("invalid identifier")
    return ark


def is_ark(text: str) -> bool:
    """Whether it is an ARK."""
    return _ARK.fullmatch(text) is not None


def ark_of(name: str) -> str:
    """A name as a minter writes it, without a label or with one that is perhaps a URL, as an ARK."""
    return "ark:/" + name[name.find("ark:") + 4 if "ark:" in name else 0 :].lstrip("/")


# -- text of elements ------------------------------------------------------------------------------------------------

_ESCAPED = re.compile(r"%([0-9a-fA-F]{2})?")
_IN_NAMES, _IN_VALUES = re.compile("[%:\r\n]"), re.compile("[%\r\n]")


def parse_elements(body: bytes) -> dict[str, str]:
    """The elements of a request; raises BadRequestError for what cannot be read."""
    try:
        text = body.decode()
    except UnicodeDecodeError:
        raise BadRequestError("character decoding error") from None
    lines: list[tuple[str, str]] = []
    continues = False
    for line in re.split("\r\n?|\n", text):
        if line.startswith("#"):
            continue
        if not line.strip():
            continues = False
        elif line[0].isspace():
            if not continues:
                raise BadRequestError("ANVL parse error (no previous label for continuation line)")
            lines[-1] = lines[-1][0], f"{lines[-1][1].rstrip()} {line.strip()}"
        else:
            name, colon, value = line.partition(":")
            if not colon:
                raise BadRequestError("ANVL parse error (no colon in line)")
            lines.append((name, value))
            continues = True
    elements: dict[str, str] = {}
    for name, value in lines:
        label = _decoded(name)
        if not label:
            raise BadRequestError("ANVL parse error (empty label)")
        if label in elements:
            raise BadRequestError("ANVL parse error (repeated label)")
        elements[label] = _decoded(value)
    return elements


def _decoded(text: str) -> str:
    """The text in which %XX stands for the character of that number, as in EZID; not for an octet of UTF-8."""
    def character(found: re.Match[str]) -> str:
        if found[1] is None:
            raise BadRequestError("ANVL parse error (percent-decode error)")
        return chr(int(found[1], 16))

    return _ESCAPED.sub(character, text).strip()


def element_lines(elements: Mapping[str, str]) -> Iterable[str]:
    """Elements as lines of an answer, without line breaks."""
    for name, value in elements.items():
        yield f"{_encoded(name, _IN_NAMES)}: {_encoded(value, _IN_VALUES)}"


def _encoded(text: str, special: re.Pattern[str]) -> str:
    coded = special.sub(lambda found: f"%{ord(found[0]):02X}", text)
    # Octets that are not UTF-8 come as the characters of their numbers.
    return re.sub("[\udc80-\udcff]", lambda found: f"%{ord(found[0]) - 0xDC00:02X}", coded)


# -- identifiers -----------------------------------------------------------------------------------------------------

_TARGET, _STATUS, _PROFILE, _EXPORT, _OWNER = "_target", "_status", "_profile", "_export", "_owner"
_CREATED, _UPDATED, _GROUP = "_created", "_updated", "_ownergroup"
_FIXED = (_CREATED, _UPDATED, _GROUP)
_STATUS_OF = {"published": "public", "reserved": "reserved", "unavailable": "unavailable", "withdrawn": "unavailable"}
_TEMPLATE = "${identifier}"
_SECONDS = re.compile("[0-9]{1,12}")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s\x00-\x20]+")


class EzidRecords:
    """The identifiers of one minter, as EZID shows and changes them.

    access  what the sender of the request may do
    api     the minter as the sender sees it; in a transaction, if something is changed
    origin  scheme and host, and the path of this interface, for the address of an identifier without a target
    """

    def __init__(self, access: MinterAccess, api: MinterMethods, origin: str) -> None:
        self._access = access
        self._api = api
        self._origin = origin
        self._target = api.resolver().element

    # -- reading ---------------------------------------------------------------------------------------

    def find(self, ark: str) -> NameRecord | None:
        """An identifier; None if there is none, or if it was deleted or is only on hold."""
        try:
            record = self._api.fetch(ark)
        except NotFoundError:
            return None
        except InvalidError:
            raise BadRequestError("invalid identifier") from None
        return None if record.held and record.state == "reserved" and not record.elements else record

    def existing(self, ark: str) -> NameRecord:
        record = self.find(ark)
        if record is None:
            raise BadRequestError("no such identifier")
        return record

    def longest(self, ark: str) -> NameRecord:
        """The identifier with the longest name that the given one begins with."""
        shortest = len(ark) - len(ark.split("/", 2)[2]) + 1
        for end in range(len(ark), shortest - 1, -1):
            record = self.find(ark[:end])
            if record is not None:
                return record
        raise BadRequestError("no such identifier")

    def elements(self, record: NameRecord) -> dict[str, str]:
        """All elements of an identifier.  Who owns an imported one, and since when, is what was imported."""
        events = self._api.history(record.identifier)
        group = self._api.custodian(record.identifier).name
        # Those who may not administer the minter are not told who did something.
        owner = events[0].who.rpartition("@")[0] or events[0].who
        bound = {name: value for name, value in record.elements.items() if name != self._target}
        if not _SECONDS.fullmatch(bound.get(_CREATED, "")):
            bound.pop(_CREATED, None)  # no time of EZID's
        return {
            _TARGET: self._target_of(record), _PROFILE: "erc", _EXPORT: "yes",
            _CREATED: str(int(events[0].date.timestamp())), _OWNER: owner.removeprefix(TOKEN_USER.decode()) or group,
            _GROUP: group, **bound,
            _STATUS: self._status_of(record), _UPDATED: str(int(events[-1].date.timestamp())),
        }

    def _target_of(self, record: NameRecord) -> str:
        """The first target without its redirect code; what EZID shows if there is none."""
        for target in targets.parse(encode_text(record.elements.get(self._target, ""))):
            return target.url.decode("utf-8", "surrogateescape")
        return f"{self._origin}/id/{ark_of(record.identifier)}"

    def _status_of(self, record: NameRecord) -> str:
        status = _STATUS_OF[record.state or "published"]
        reason = self._api.tombstone(record.identifier).reason if status == "unavailable" else ""
        return f"{status} | {reason}" if reason else status

    # -- changing --------------------------------------------------------------------------------------

    def mint(self, given: Mapping[str, str]) -> str:
        """Mint an identifier; returns its ARK.  Without a status it has the state that the minter's policy says."""
        self._access.ensure_may_mint(1)
        state = self._first_state(given)
        bound = self._bound(given, {})
        template = bound.pop(self._target, "") if _TEMPLATE in bound.get(self._target, "") else ""
        (name,) = self._api.mint(elements=bound, state=state)
        ark = ark_of(name)
        if template:
            self._api.bind(name, self._target, template.replace(_TEMPLATE, ark))
        return ark

    def create(self, ark: str, given: Mapping[str, str]) -> str:
        """Make an identifier that was not minted; raises ForbiddenError for a name that is not this minter's."""
        if not self._access.claims(ark.encode()):
            raise ForbiddenError("the name does not begin with this shoulder")
        reserved = self._first_state(given) == "reserved"
        bound = {_PROFILE: "erc", **self._bound(given, {}, ark)}
        try:
            # What was not minted here is held, so that it never will be.
            (self._api.reserve if reserved else self._api.hold)(ark)
        except InvalidError:
            raise BadRequestError("invalid identifier") from None
        done = self._api.bind_many(ark, bound)
        if not reserved:
            self._api.publish(ark)
        return ark_of(done[0].identifier)

    def update(self, record: NameRecord, given: Mapping[str, str]) -> str:
        """Change the given elements; those with an empty value are removed."""
        current, name = self.elements(record), record.identifier
        bound = self._bound(given, current, ark_of(name))
        bind_or_remove(self._api, name, {element: value or None for element, value in bound.items()})
        status = given.get(_STATUS, "")
        if status and status != current[_STATUS]:
            self._change_status(record, status)
        return ark_of(name)

    def delete(self, record: NameRecord) -> str:
        if record.state != "reserved":
            raise BadRequestError("identifier status does not support deletion")
        bind_or_remove(self._api, record.identifier, dict.fromkeys(record.elements))
        self._api.hold(record.identifier)
        return ark_of(record.identifier)

    def _first_state(self, given: Mapping[str, str]) -> MintedState | None:
        """The state of a new identifier, None if it is not given."""
        states: dict[str, MintedState | None] = {"": None, "public": "published", "reserved": "reserved"}
        status = given.get(_STATUS, "")
        if status not in states:
            raise BadRequestError(f"{_STATUS}: invalid identifier status change")
        return states[status]

    def _change_status(self, record: NameRecord, status: str) -> None:
        word, _, reason = status.partition("|")
        word, before = word.strip(), record.state
        if word == "public" and not reason and before in ("reserved", "unavailable"):
            self._api.publish(record.identifier)
        elif word == "unavailable" and before in ("published", "unavailable", None):
            self._api.make_unavailable(record.identifier, reason=reason.strip())
        else:
            raise BadRequestError(f"{_STATUS}: invalid identifier status change")

    def _bound(self, given: Mapping[str, str], current: Mapping[str, str], ark: str = "") -> dict[str, str]:
        """What is to be bound, under the names of elements here; raises BadRequestError for what cannot be set.

        `current` are the elements of the identifier, if it exists.  What has the value that was shown stays as it is:
        a target may have a redirect code, or be one of several.
        """
        bound = {}
        user = self._access.user.removeprefix(TOKEN_USER).decode("utf-8", "surrogateescape")
        for name, value in given.items():
            if name == _STATUS or (name in current and value == current[name]):
                continue
            if name == _OWNER:
                if value != user:
                    raise BadRequestError("ownership change prohibited")
            elif name in _FIXED:
                raise BadRequestError(f"{name}: field is not settable")
            elif name == _TARGET:
                bound[self._target] = _stored_target(value, ark)
            elif name == _EXPORT and value not in ("yes", "no", ""):
                raise BadRequestError(f"{name}: must be 'yes' or 'no'")
            elif name.startswith("_") and name not in (_PROFILE, _EXPORT):
                raise BadRequestError(f"{name}: reserved element name")
            else:
                bound[name] = value
        return bound if current else {name: value for name, value in bound.items() if value}


def _stored_target(value: str, ark: str) -> str:
    """A target as it is bound here, where a bar would separate several; with a name it takes the place of the
    template."""
    if value and not _URL.fullmatch(value):
        raise BadRequestError(f"{_TARGET}: not a URL")
    return (value.replace(_TEMPLATE, ark) if ark else value).replace("|", "%7C")
