"""What a resolver tells of an identifier: where it leads, what is bound to it, who answers for it."""

from __future__ import annotations

from .. import codec, names, resolution
from ..clock import system_clock, timestamp
from ..minter import custody, lifecycle, records, relations
from ..minter.events import read_event
from ..minter.findings import last_findings
from ..minter.identifiers import labels_of
from ..minter.records import is_known

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..minter import Minter
    from ..names.targets import Target
    from ..resolution import Outcome
    from ..store import Reader


# Of a value longer than this only the beginning is told: a description is for reading, `get` is for the whole.
_LONGEST_VALUE = 20_000
_MOST_ELEMENTS = 1_000
_MOST_RELATIONS = 200

# Elements whose names begin so are for the machine, such as the target itself.
_PRIVATE = b"_"


class Description:
    """What is told, in bytes but for words of our own.

    name       the identifier with its label, as it is to be cited
    state      reserved, published or withdrawn; empty for a name of which only a rule knows
    date       when it was last issued, queued or withdrawn
    custodian  name and contact of who answers for it
    minted     when it was first given out, told of a withdrawn name
    relations  what other names are to it: the word for that, the name, and who says so
    findings   what was found when it was last verified: the quality, and the verdict with its date
    """

    __slots__ = ("name", "identifier", "state", "date", "authority", "custodian", "targets", "elements", "suffix",
                 "pattern", "reason", "successor", "minted", "relations", "findings")

    def __init__(self, minter: Minter, reader: Reader, outcome: Outcome) -> None:
        identifier = outcome.identifier
        self.identifier = identifier
        self.name = display_name(minter, identifier)
        record = records.find(reader, identifier)
        self.state = lifecycle.state_of(reader, identifier, record) or ""
        self.date = _date(reader, record)
        settings = minter.settings
        self.authority = "/".join(part for part in (settings["naa"], settings["subnaa"]) if part)
        self.custodian = _custodian(minter, reader, identifier)
        self.targets: list[Target] = outcome.targets if outcome.by != "fallback" else []
        self.suffix = outcome.suffix
        self.pattern = outcome.pattern
        stone = lifecycle.tombstone(reader, identifier)
        self.reason, self.successor = (stone.reason, stone.successor) if stone else (b"", b"")
        self.minted = stone.minted if stone else b""
        self.date = stone.date if stone else self.date
        self.elements = _elements(reader, identifier)
        now = timestamp(system_clock())
        in_force = (relation for relation in relations.relations_of(reader, identifier) if relation.holds_at(now)
                    and not (stone and relation.kind == relations.SUCCESSOR))
        related = zip(in_force, range(_MOST_RELATIONS), strict=False)
        # What the other name is to this one, that name, and who says so.
        self.relations = [(relation.word, relation.shown or relation.other, relation.authority)
                          for relation, _ in related]
        self.findings = [(finding.quality.name, finding.line() + (b", " + finding.date if finding.date else b""))
                         for finding in last_findings(reader, identifier)]


def _claimed(name: bytes, authority: bytes) -> bytes:
    """A related name, and who says so where somebody does."""
    said = b"according to " + authority if authority else b""
    return b" ".join(part for part in (name, said) if part)


def describe(minter: Minter, outcome: Outcome, given: bytes, *, with_elements: bool = True) -> Description | None:
    """The description of what a name was resolved to, or of the known identifier it spells; None if it is unknown."""
    def work(reader: Reader) -> Description | None:
        if outcome.kind not in (resolution.FOUND, resolution.GONE) or outcome.by == "fallback":
            known = _known_spelling(minter, reader, given)
            if known is None:
                return None
            told = Description(minter, reader, resolution.Outcome(resolution.NOT_FOUND, minter, known))
        else:
            told = Description(minter, reader, outcome)
        if not with_elements or outcome.kind == resolution.RESERVED:
            told.elements = []
        return told

    return minter.read(work)


def display_name(minter: Minter, identifier: bytes) -> bytes:
    labels = labels_of(minter)
    return labels[0] + identifier if labels else identifier


def _known_spelling(minter: Minter, reader: Reader, given: bytes) -> bytes | None:
    labels = labels_of(minter)
    for key in names.candidates(names.parse(given, labels), labels):
        identifier = minter.scheme.canonical(key)
        if is_known(reader, identifier):
            return identifier
    return None


def _date(reader: Reader, record: records.Circulation | None) -> bytes:
    made = read_event(reader, record.event) if record and record.history else None
    return made.date if made else b""


def _custodian(minter: Minter, reader: Reader, identifier: bytes) -> tuple[bytes, bytes]:
    """Who was appointed; the account that created the minter is nobody's business."""
    found = custody.current_custodian(minter, reader, identifier)
    return (found.name, found.contact) if found.contact or not _is_creator(minter, found) else (b"", b"")


def _is_creator(minter: Minter, custodian: custody.Custodian) -> bool:
    return custodian.start == minter.settings["created"].encode()


def _elements(reader: Reader, identifier: bytes) -> list[tuple[bytes, bytes]]:
    found = []
    for name, value in records.elements_of(reader, identifier):
        if name.startswith(_PRIVATE):
            continue
        if len(value) > _LONGEST_VALUE:
            value = value[:_LONGEST_VALUE] + b" ... (%d bytes in all)" % len(value)
        found.append((name, value))
        if len(found) == _MOST_ELEMENTS:
            break
    return found


# -- written as ANVL and as data -------------------------------------------------------------------------------------


def anvl(told: Description, where: bytes) -> bytes:
    """An electronic resource citation: the kernel elements first, then all others, then what supports them."""
    elements = dict(told.elements)
    lines = [(b"erc", b"")]
    lines += [(name, elements.pop(name)) for name in (b"who", b"what", b"when") if name in elements]
    lines.append((b"where", where))
    lines += elements.items()
    lines += [(b"", b""), (b"erc-support", b""), *support(told)]
    return b"".join(_line(name, value) for name, value in lines)


def support(told: Description) -> list[tuple[bytes, bytes]]:
    """What stands behind a name: its state, who answers for it, where it leads, and how well that was found to hold."""
    name, contact = told.custodian
    pairs = [
        (b"id", told.name), (b"state", told.state.encode()), (b"minted", told.minted), (b"date", told.date),
        (b"authority", told.authority.encode()), (b"custodian", name), (b"contact", contact),
        *((b"target", target.url) for target in told.targets),
        (b"rule", b":idmap/" + told.pattern if told.pattern else b""),
        (b"reason", told.reason), (b"successor", told.successor),
        *((word.encode(), _claimed(other, authority)) for word, other, authority in told.relations),
        *((quality.encode(), verdict) for quality, verdict in told.findings),
    ]
    return [(label, value) for label, value in pairs if value]


def _line(name: bytes, value: bytes) -> bytes:
    if not name:
        return b"\n"
    label = codec.percent_encode(name, _LABEL)
    return label + b":" + (b" " + value.replace(b"\r", b"").replace(b"\n", b"\n ") if value else b"") + b"\n"
_LABEL = bytes(octet for octet in range(0x20, 0x100) if octet not in b":%\x7f")


def data(told: Description, where: bytes) -> dict[str, object]:
    name, contact = told.custodian
    facts: dict[str, object] = {
        "id": told.name, "where": where, "state": told.state, "date": told.date, "authority": told.authority,
        "custodian": {"name": name, "contact": contact} if name or contact else None,
        "targets": [{"url": target.url, **({"code": target.code} if target.code else {})} for target in told.targets],
        "elements": [{"name": name, "value": value} for name, value in told.elements],
        "rule": told.pattern, "suffix": told.suffix, "reason": told.reason, "successor": told.successor,
        "minted": told.minted,
        "relations": [
            {"relation": word, **({"name": other} if other else {}), **({"authority": authority} if authority else {})}
            for word, other, authority in told.relations
        ],
        "verified": [{"quality": quality, "verdict": verdict} for quality, verdict in told.findings],
    }
    return {name: fact for name, fact in facts.items() if fact or name in ("targets", "elements")}
