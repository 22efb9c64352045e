"""Commands that state qualities of names, and verify them."""

from __future__ import annotations

from ..codec import decode_text, encode_text
from ..description.conversion import quality_claim, stated_qualities, timestamp_text
from ..errors import ConflictError, ForbiddenError, UsageError
from ..minter import qualities
from ..minter.policies import ADMIN, BIND, READ
from ..minter.qualities import FAILS, HOLDS, QUALITIES, RETRIEVABLE, STATABLE, UNIVERSAL, UNKNOWN, StatedQuality
from ..search import names_at
from ..verification import Verification
from ..verification.links import LinkLimits
from .answers import Answer, Fields, PreparedRecord, Record, filled, separated
from .command import Command, Form, Option, as_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..description.facts import QualityClaim
    from ..store import Reader
    from ..verification import Inspection, VerificationCount
    from .answers import Line
    from .call import Call


# -- quality ---------------------------------------------------------------------------------------------------------


def _show_qualities(call: Call) -> Answer:
    minter = call.minter

    def work(reader: Reader) -> tuple[str, tuple[QualityClaim, ...]]:
        ref = qualities.identify_subject(minter, reader, call.words[0]) if call.words else None
        of = decode_text(ref.display) if ref else None
        return of or _MINTER, stated_qualities(reader, ref.key if ref else qualities.MINTER, of)

    of, claims = call.read(work)
    if not claims:
        return Answer(Fields(("note", f"nobody states a quality of {of}")), spaced=True)
    return separated(_quality_fields(claim) for claim in claims)


def _state_quality(call: Call) -> Answer:
    """Record that a quality holds, or, with the word deny, that it does not."""
    verb, quality, *names = call.words
    stated = StatedQuality(
        quality.decode(), call.text("authority"), holds=verb == b"state", refinement=call.text("in") or call.text("of"),
        start=call.start("from"), until=call.end("until"),
    )
    ref, stated = call.change(qualities.state_quality, stated, names[0] if names else None)
    return Answer(_quality_fields(quality_claim(decode_text(ref.display) if ref else None, stated)), spaced=True)


def _remove_quality(call: Call) -> Answer:
    _, quality, *names = call.words
    ref, removed = call.change(
        qualities.remove_quality, quality.decode(), names[0] if names else None, call.text("authority"))
    claim = quality_claim(decode_text(ref.display) if ref else None, removed)
    done = f"{claim.authority} no longer states whether {claim.identifier or _MINTER} is {claim.quality}"
    return Answer(Fields(("ok", done)), spaced=True)


def _quality_fields(claim: QualityClaim) -> Fields:
    quality = STATABLE[claim.quality]
    fields = [
        ("of", claim.identifier or _MINTER), ("quality", f"{quality.name} ({quality.section})"),
        ("holds", "yes" if claim.holds else "no"),
        ("in" if quality.refined_by == "context" else "kind", claim.refinement), ("authority", claim.authority),
        ("from", timestamp_text(claim.start)), ("until", timestamp_text(claim.until)),
    ]
    return filled(fields)


_MINTER = "this minter"
_STATABLE_WORDS = "|".join(STATABLE)


# -- verify ----------------------------------------------------------------------------------------------------------

_LINK_NUMBERS = {
    # By option: the attribute of LinkLimits that it sets, and the least and the greatest value.
    "timeout": ("seconds", 0.1, 600.0),
    "delay": ("pause", 0.0, 600.0),
    "parallel": ("parallel", 1.0, 64.0),
}


class VerifiedRecord(Record):
    """The findings about one identifier, and the answer: yes if all of them hold.

    With `own` only the failures that are not common to all identifiers, without an answer; with `qualities` only the
    findings about these.
    """

    __slots__ = ("_findings", "_own", "_result", "holds")

    def __init__(self, result: Inspection, *, own: bool, qualities: list[str]) -> None:
        self._result = result
        self._own = own
        self._findings = [
            finding for finding in result.all
            if (finding.quality.name in qualities if qualities else True)
            and (not own or (finding.verdict == FAILS and not finding.common))
        ]
        missing = set(qualities) - {finding.quality.name for finding in self._findings}
        self.holds = not missing and all(finding.verdict == HOLDS for finding in self._findings)

    def __bool__(self) -> bool:
        return bool(self._findings) or not self._own

    def lines(self) -> Iterable[Line]:
        yield b"id", self._result.display, 0
        for finding in self._findings:
            yield finding.quality.name.encode(), finding.line(), 0
        if not self._own:
            yield b"answer", b"yes" if self.holds else b"no", 0
        yield b"", b"", 0

    def data(self) -> list[dict[str, object]]:
        findings = [finding.data() for finding in self._findings]
        answer = {} if self._own else {"answer": self.holds}
        return [{"id": self._result.display, "holds": not self._result.failed, **answer, "findings": findings}]


def _summary(count: VerificationCount) -> Record:
    """How many identifiers were verified, and how often each verdict was reached for each quality."""
    unknown = b", %d not confirmed" % count.unconfirmed if count.unconfirmed else b""
    lines = [(b"verified", b"%d, %d failing%b" % (count.identifiers, count.failing, unknown), 0)]
    data: dict[str, object] = {}
    for quality in QUALITIES:
        counted = count.verdicts.get(quality.name)
        if counted is None:
            continue
        text = ", ".join(f"{counted[verdict]} {word}" for verdict, word in _VERDICT_WORDS.items() if counted[verdict])
        why = count.common.get(quality.name)
        lines.append((quality.name.encode(), encode_text(f"{text}: {why}" if why else text), 0))
        detail = {} if why is None else {"detail": encode_text(why)}
        data[quality.name] = {"section": quality.section, **counted, **detail}
    return PreparedRecord(lines, [{"verified": count.identifiers, "failing": count.failing, "qualities": data}])


_VERDICT_WORDS = {HOLDS: "hold", FAILS: "fail", UNKNOWN: "unknown"}


def _verify(call: Call) -> Answer:
    return _run_verification(call, None)


def _verify_links(call: Call) -> Answer:
    if call.flag("allow-private") and not call.session.local:
        raise ForbiddenError("--allow-private reaches into the server's own network: it is for the shell only")
    limits = LinkLimits(allow_private=call.flag("allow-private"))
    for name, (attribute, least, most) in _LINK_NUMBERS.items():
        text = call.option(name)
        if text is not None:
            value = as_number(name, text, least, most)
            setattr(limits, attribute, int(value) if attribute == "parallel" else value)
    return _run_verification(call, limits)


def _run_verification(call: Call, limits: LinkLimits | None) -> Answer:
    names = call.words
    qualities = _qualities(call.values("quality"))
    if call.minter.store.writing and call.streams:
        # It may take long, and would block all other writers.
        raise ConflictError("this cannot be done in a transaction with other commands")
    run = Verification(call.minter, call.actor, named=names or None, limits=limits, progress=call.session.progress,
                       record=call.flag("record"), view=call.session.view, universal=UNIVERSAL.name in qualities,
                       names_at=names_at(call.minter, many=not names))
    answer = Answer(spaced=True)

    def records() -> Iterator[Record]:
        for results in run.run():
            for result in results:
                record = VerifiedRecord(result, own=not names, qualities=qualities)
                # Of named identifiers, the answer to the command is that to each; all of them give a report.
                answer.failed = answer.failed or (not record.holds if names else result.failed)
                if record and (names or result.failed):
                    yield record
        yield _summary(run.count)

    answer.records = records()
    return answer


def _qualities(words: list[str]) -> list[str]:
    known = [quality.name for quality in QUALITIES if quality != RETRIEVABLE]
    for word in words:
        if word not in known:
            raise UsageError(f"{word[:60]!r} is not a quality that can be verified here: use one of {', '.join(known)}")
    return words


# -- the commands ----------------------------------------------------------------------------------------------------

COMMANDS = (
    Command(
        "quality", "show or record what an authority states of a name",
        Form("[Id]", _show_qualities, READ),
        Form(f"state {_STATABLE_WORDS} [Id] --authority Who [--in Context] [--of Quality] [--from Date] [--until Date]",
             _state_quality, BIND),
        Form(f"deny {_STATABLE_WORDS} [Id] --authority Who [--in Context] [--of Quality] [--from Date] [--until Date]",
             _state_quality, BIND),
        Form(f"remove {_STATABLE_WORDS} [Id] [--authority Who]", _remove_quality, BIND),
        options=(
            Option("--authority Who", "who states it"),
            Option("--in Context", "the context in which an identifier is universal; this minter, unless given"),
            Option("--of Quality", "the quality that is persistent, such as resolvable; the name itself, unless given"),
            Option("--from Date", "when it begins to hold; now, unless given"),
            Option("--until Date", "when it ceases to hold; never, unless given"),
        ),
        also=("verify", "custodian"), see="citing-verifying-describing.md#what-authorities-state",
        about="""\
These statements cannot be verified; they are worth as much as the authority that makes them. universal: it is the only
identifier of its thing in a context. persistent: it is maintained for a time. trusted and reliable: by the authority.
nameable: it may be treated as a name itself. A minter can be trusted, reliable and nameable.
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
    Command(
        "verify", "check what is stated of identifiers",
        Form("Id… [--quality Quality]…", _verify, READ),
        Form("[--quality Quality]…", _verify, ADMIN, writes=False, streams=True),
        Form("[Id…] --record", _verify, ADMIN, streams=lambda call: not call.words),
        Form("[Id…] --links [--timeout S] [--delay S] [--parallel N] [--allow-private]", _verify_links, ADMIN,
             writes=False, streams=True),
        Form("[Id…] --links --record [--timeout S] [--delay S] [--parallel N] [--allow-private]", _verify_links, ADMIN,
             streams=True),
        options=(
            Option("--quality Quality", "look at this quality only, or at several"),
            Option("--record", "store what was found, with its date, for descriptions to show"),
            Option("--links", "also request their targets, one request at a time from each host"),
            Option("--timeout S", "seconds for a link, with all its redirects; 20, unless given"),
            Option("--delay S", "seconds between two requests to one host; 1, unless given"),
            Option("--parallel N", "how many hosts to request from at once; 16, unless given"),
            Option("--allow-private", "also request hosts in private networks; at the shell only"),
        ),
        also=("quality", "canary", "check"),
        see="citing-verifying-describing.md#verify", fails="the answer is no, or any identifier fails",
        about="""\
Prints a verdict for each quality: holds, fails or unknown. The answer is yes only if all of them hold. Without an Id
all identifiers are checked, and only failures are listed, followed by a summary.

universal is verified where an authority states it (see quality), or with --quality universal: no other published name
of the minter leads to the same address.
""",
        example="""\
$ noid verify 13030/kt4x551 --quality resolvable --quality unique | sed -n 1,4p
id: 13030/kt4x551
unique: holds (8.4)
resolvable: holds (9.9)
answer: yes
""",
    ),
)
