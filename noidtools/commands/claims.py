"""Commands about what authorities claim of two names: synonyms and other relations."""

from __future__ import annotations

from .. import dates
from ..minter.access import BIND
from ..minter.relations import CLAIMED, KINDS, SYNONYM
from ..minter.relations.claims import add_claim, claim_kind, remove_claim
from .answers import Answer
from .command import Command, Form, Option, as_text
from .records import Fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..minter.relations import RelationKind
    from .call import Call


def _synonym(call: Call) -> Answer:
    return _add(call, KINDS[SYNONYM], *call.words)


def _remove_synonym(call: Call) -> Answer:
    return _remove(call, KINDS[SYNONYM], *call.words)


def _relate(call: Call) -> Answer:
    one, word, other = call.words
    return _add(call, claim_kind(as_text(word, "a relation")), one, other)


def _remove_relation(call: Call) -> Answer:
    one, word, other = call.words
    return _remove(call, claim_kind(as_text(word, "a relation")), one, other)


def _add(call: Call, kind: RelationKind, one: bytes, other: bytes) -> Answer:
    minter, start, until = call.minter, call.option("from"), call.option("until")
    claim = minter.write(lambda writer: add_claim(
        minter, writer, call.actor, kind, one, other, _authority(call),
        dates.first_second(start) if start else b"", dates.last_second(until) if until else b"",
    ))
    return Answer(Fields(("ok", claim.sentence())), spaced=True)


def _remove(call: Call, kind: RelationKind, one: bytes, other: bytes) -> Answer:
    minter = call.minter
    claim = minter.write(lambda writer: remove_claim(minter, writer, call.actor, kind, one, other, _authority(call)))
    return Answer(Fields(("ok", claim.sentence(ended=True))), spaced=True)


def _authority(call: Call) -> bytes:
    return (call.option("authority") or "").encode()


_CLAIM_OPTIONS = (
    Option("--authority Who", "who says so"),
    Option("--from Date", "when the claim begins to hold; now, unless given"),
    Option("--until Date", "when it ceases to hold; never, unless given"),
    Option("--remove", "take the claim back as a whole"),
)
_WORDS = "|".join(CLAIMED)
COMMANDS = (
    Command(
        "synonym", "record that an authority holds two names to be of one thing, or no longer",
        Form("Name Name --authority Who [--from Date] [--until Date]", _synonym, BIND),
        Form("--remove Name Name [--authority Who]", _remove_synonym, BIND),
        options=_CLAIM_OPTIONS,
        see="lifecycle-and-history.md#synonyms-and-preferences",
        about="""\
Either may be a name from elsewhere. Resolving does not follow synonyms. A date is a year, a month, a day or a moment:
2026, 2026-11, 2026-11-16 or 2026-11-16T00:28:25Z, in UTC.
""",
        example="""\
$ noid synonym 13030/kt4x551 doi:10.1000/182 --authority 'The Library' --from 2020
ok: 13030/kt4x551 and doi:10.1000/182 are synonyms according to The Library

""",
    ),
    Command(
        "relate", "record what else an authority claims of two names, or no longer",
        Form(f"Name {_WORDS} Name --authority Who [--from Date] [--until Date]", _relate, BIND),
        Form(f"--remove Name {_WORDS} Name [--authority Who]", _remove_relation, BIND),
        options=_CLAIM_OPTIONS,
        see="lifecycle-and-history.md#abstract-names-realisations-and-homologues",
        about="""\
A context contains another; something concrete realises something abstract (see noid help abstract); two names in
contexts that realise one are homologues, or as names without their things homologous-name; two names are equivalent if
they are of one thing. A name that realises another, or is its homologue, has the same label: what has another label is
a synonym.
""",
        example="""\
$ noid abstract context "Kerry's Library" --authority Kerry | grep abstract:
abstract: Kerry's Library
$ noid relate hdl:100 realises "Kerry's Library" --authority Kerry
ok: hdl:100 realises Kerry's Library according to Kerry

""",
    ),
)
