"""What a resolver tells of an identifier: where it leads, what is bound to it, who answers for it."""

from __future__ import annotations

from . import bindings, circulation, names, resolve
from .events import event
from .recognition import is_known, labels_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .minter import Minter
    from .resolve import Outcome
    from .store import Reader
    from .targets import Target

# Of a value longer than this only the beginning is told: a description is for reading, `get` is for the whole.
_LONGEST_VALUE = 20_000
_MOST_ELEMENTS = 1_000
# Elements whose names begin so are for the machine, such as the target itself.
_PRIVATE = b"_"
# What a withdrawn name leaves behind.
REASON, SUCCESSOR = b"_withdrawn", b"_successor"
_STATES = {
    "withdrawn": "withdrawn",
    "queued": "given back, to be issued again",
    "issued": "issued",
    "held": "held: kept from being issued",
    "bound": "known here, issued elsewhere",
}


class Description:
    """`name` is the identifier with its label, as it is to be cited."""

    __slots__ = ("name", "identifier", "state", "date", "authority", "targets", "elements", "suffix", "pattern",
                 "reason", "successor")

    def __init__(self, minter: Minter, reader: Reader, outcome: Outcome) -> None:
        identifier = outcome.identifier
        self.identifier = identifier
        self.name = shown(minter, identifier)
        record = circulation.find(reader, identifier)
        self.state = _state(record)
        made = event(reader, record.event) if record and record.history else None
        self.date = made.date if made else b""
        settings = minter.settings
        self.authority = "/".join(part for part in (settings["naa"], settings["subnaa"]) if part)
        self.targets: list[Target] = outcome.targets if outcome.by != "fallback" else []
        self.suffix = outcome.suffix
        self.pattern = outcome.pattern
        self.reason = bindings.value_of(reader, identifier, REASON) or b""
        self.successor = bindings.value_of(reader, identifier, SUCCESSOR) or b""
        self.elements = _elements(reader, identifier)

    @property
    def state_text(self) -> str:
        return _STATES[self.state]


def describe(minter: Minter, outcome: Outcome, given: bytes, *, with_elements: bool = True) -> Description | None:
    """The description of what a name was resolved to, or of the known identifier it spells; None if it is unknown."""
    def work(reader: Reader) -> Description | None:
        if outcome.kind not in (resolve.FOUND, resolve.GONE) or outcome.by == "fallback":
            known = _known_spelling(minter, reader, given)
            if known is None:
                return None
            told = Description(minter, reader, resolve.Outcome(resolve.NOT_FOUND, minter, known))
        else:
            told = Description(minter, reader, outcome)
        if not with_elements:
            told.elements = []
        return told

    return minter.read(work)


def shown(minter: Minter, identifier: bytes) -> bytes:
    labels = labels_of(minter)
    return labels[0] + identifier if labels else identifier


def _known_spelling(minter: Minter, reader: Reader, given: bytes) -> bytes | None:
    labels = labels_of(minter)
    for key in names.candidates(names.parse(given, labels), labels):
        identifier = minter.scheme.canonical(key)
        if is_known(reader, identifier):
            return identifier
    return None


def _state(record: circulation.Circulation | None) -> str:
    if record is None:
        return "bound"
    if record.flags & circulation.WITHDRAWN:
        return "withdrawn"
    if record.queued:
        return "queued"
    return "issued" if record.issued else "held"


def _elements(reader: Reader, identifier: bytes) -> list[tuple[bytes, bytes]]:
    found = []
    for name, value in bindings.elements_of(reader, identifier):
        if name.startswith(_PRIVATE):
            continue
        if len(value) > _LONGEST_VALUE:
            value = value[:_LONGEST_VALUE] + b" ... (%d bytes in all)" % len(value)
        found.append((name, value))
        if len(found) == _MOST_ELEMENTS:
            break
    return found


# -- written as ANVL and as data ---------------------------------------------------------------------------------


def anvl(told: Description, where: bytes) -> bytes:
    """An electronic resource citation: the kernel elements first, then all others, then what supports them."""
    elements = dict(told.elements)
    lines = [(b"erc", b"")]
    lines += [(name, elements.pop(name)) for name in (b"who", b"what", b"when") if name in elements]
    lines.append((b"where", where))
    lines += elements.items()
    lines += [(b"", b""), (b"erc-support", b""), (b"id", told.name), (b"state", told.state.encode())]
    lines += [(b"date", told.date)] if told.date else []
    lines += [(b"authority", told.authority.encode())] if told.authority else []
    lines += [(b"target", target.url) for target in told.targets]
    lines += [(b"rule", b":idmap/" + told.pattern)] if told.pattern else []
    lines += [(b"reason", told.reason)] if told.reason else []
    lines += [(b"successor", told.successor)] if told.successor else []
    return b"".join(_line(name, value) for name, value in lines)


def _line(name: bytes, value: bytes) -> bytes:
    if not name:
        return b"\n"
    label = names.escape(name, _LABEL)
    return label + b":" + (b" " + value.replace(b"\r", b"").replace(b"\n", b"\n ") if value else b"") + b"\n"


_LABEL = bytes(octet for octet in range(0x20, 0x100) if octet not in b":%\x7f")


def data(told: Description, where: bytes) -> dict[str, object]:
    facts: dict[str, object] = {
        "id": told.name, "where": where, "state": told.state, "date": told.date, "authority": told.authority,
        "targets": [{"url": target.url, **({"code": target.code} if target.code else {})} for target in told.targets],
        "elements": [{"name": name, "value": value} for name, value in told.elements],
        "rule": told.pattern, "suffix": told.suffix, "reason": told.reason, "successor": told.successor,
    }
    return {name: fact for name, fact in facts.items() if fact or name in ("targets", "elements")}
