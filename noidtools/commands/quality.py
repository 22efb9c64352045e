"""The command about qualities that an authority states."""

from __future__ import annotations

from .. import dates
from ..minter import qualities
from ..minter.access import BIND, READ
from ..minter.qualities import STATABLE, StatedQuality
from .answers import Answer
from .command import Command, Form, Option
from .records import Blank, Fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..minter.identifiers import NameRef
    from ..store import Reader
    from .answers import Record
    from .call import Call


def _show(call: Call) -> Answer:
    minter = call.minter

    def work(reader: Reader) -> tuple[NameRef | None, list[StatedQuality]]:
        ref = qualities.identify_subject(minter, reader, call.words[0]) if call.words else None
        return ref, list(qualities.stated_qualities(reader, ref.key if ref else qualities.MINTER))

    ref, found = call.read(work)
    records: list[Record] = []
    for stated in found:
        records += [_fields(ref, stated), Blank()]
    if not records:
        of = ref.display if ref else b"this minter"
        return Answer(Fields(("note", b"nobody states a quality of " + of)), spaced=True)
    return Answer(*records[:-1], spaced=True)


def _state(call: Call) -> Answer:
    return _record(call, holds=True)


def _deny(call: Call) -> Answer:
    return _record(call, holds=False)


def _record(call: Call, *, holds: bool) -> Answer:
    minter, (_, quality, *names) = call.minter, call.words
    start, until = call.option("from"), call.option("until")
    refinement = call.option("in") or call.option("of") or ""
    stated = StatedQuality(
        quality.decode(), (call.option("authority") or "").encode(), holds=holds, refinement=refinement.encode(),
        start=dates.first_second(start) if start else b"", until=dates.last_second(until) if until else b"",
    )
    name = names[0] if names else None
    ref, stated = minter.write(lambda writer: qualities.state_quality(minter, writer, call.actor, stated, name))
    return Answer(_fields(ref, stated), spaced=True)


def _remove(call: Call) -> Answer:
    minter, (_, quality, *names) = call.minter, call.words
    authority = (call.option("authority") or "").encode()
    ref, removed = minter.write(lambda writer: qualities.remove_quality(
        minter, writer, call.actor, quality.decode(), names[0] if names else None, authority
    ))
    of = ref.display if ref else b"this minter"
    done = removed.authority + b" no longer states whether " + of + b" is " + removed.quality.encode()
    return Answer(Fields(("ok", done)), spaced=True)


def _fields(ref: NameRef | None, stated: StatedQuality) -> Fields:
    quality = STATABLE[stated.quality]
    fields = [
        ("of", ref.display if ref else b"this minter"), ("quality", f"{quality.name} ({quality.section})".encode()),
        ("holds", b"yes" if stated.holds else b"no"), ("in" if quality.refined_by == "context" else "kind",
                                                       stated.refinement),
        ("authority", stated.authority), ("from", stated.start), ("until", stated.until),
    ]
    return Fields(*((label, value) for label, value in fields if value))


_WORDS = "|".join(STATABLE)
COMMANDS = (
    Command(
        "quality", "what authorities state of an identifier or the minter that nothing can verify",
        Form("[Id]", _show, READ),
        Form(f"state {_WORDS} [Id] --authority Who [--in Context] [--of Quality] [--from Date] [--until Date]", _state,
             BIND),
        Form(f"deny {_WORDS} [Id] --authority Who [--in Context] [--of Quality] [--from Date] [--until Date]", _deny,
             BIND),
        Form(f"remove {_WORDS} [Id] [--authority Who]", _remove, BIND),
        options=(
            Option("--authority Who", "who states it"),
            Option("--in Context", "the context in which an identifier is universal; this minter, unless given"),
            Option("--of Quality", "the quality that is persistent, such as resolvable; the name itself, unless given"),
            Option("--from Date", "when it begins to hold; now, unless given"),
            Option("--until Date", "when it ceases to hold; never, unless given"),
        ),
        see="citing-verifying-describing.md#what-authorities-state",
        about="""\
universal: the only identifier of its thing in a context; persistent: maintained for a time; trusted, and reliable, by
the authority; nameable: may be treated as a name itself. A minter can be trusted, reliable and nameable.
""",
        example="""\
$ noid quality state persistent 13030/kt4x551 --of resolvable --authority 'The Library' --until 2126
of: 13030/kt4x551
quality: persistent (8.6)
holds: yes
kind: resolvable
authority: The Library
from: …
until: 21261231235959

""",
    ),
)
