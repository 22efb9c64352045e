"""Commands about the spellings of names."""

from __future__ import annotations

from ..clock import timestamp
from ..errors import ForbiddenError, NoMinterError
from ..minter.access import READ
from ..minter.spellings import citation_forms, compare_names, withdrawal_note
from ..names import citation
from .answers import Answer, Record
from .command import Command, Form, Option
from .records import Fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .answers import Line
    from .call import Call


class CitationRecord(Record):
    """The forms in which a name is cited."""

    __slots__ = ("_forms",)

    def __init__(self, forms: list[tuple[str, bytes]]) -> None:
        self._forms = forms

    def lines(self) -> Iterable[Line]:
        return [(form.encode(), text, 0) for form, text in self._forms]

    def data(self) -> list[dict[str, object]]:
        return [{"form": form, "text": text} for form, text in self._forms]


class SamenessRecord(Record):
    """Whether two texts are spellings of one name, and why; if not, in which other senses they are the same."""

    __slots__ = ("_same", "_senses", "_why")

    def __init__(self, same: bool, why: list[str], senses: list[str]) -> None:
        self._same = same
        self._why = why
        self._senses = senses

    def lines(self) -> Iterable[Line]:
        yield b"same", b"yes" if self._same else b"no", 0
        for sense in self._senses:
            yield b"sense", sense.encode(), 0
        for sentence in self._why:
            yield b"why", sentence.encode(), 0

    def data(self) -> list[dict[str, object]]:
        senses = {"senses": list(self._senses)} if self._senses else {}
        return [{"same": self._same, **senses, "why": list(self._why)}]


def _cite(call: Call) -> Answer:
    if call.flag("qr") and not call.session.local:
        raise ForbiddenError("--qr writes a file on the server: it is for the shell, not for the web")
    minter = call.minter
    forms, withdrawn = call.read(lambda reader: (
        citation_forms(minter, reader, call.words[0]), withdrawal_note(minter, reader, call.words[0])
    ))
    for path in call.values("qr"):
        chosen = dict(reversed(forms))
        citation.qr(path, chosen.get("web") or chosen["canonical"])
        forms.append(("qr", path.encode()))
    notes = [Fields(("note", withdrawn.encode()))] if withdrawn else []
    return Answer(CitationRecord(forms), *notes, spaced=True)


def _same(call: Call) -> Answer:
    first, second = call.words
    try:
        minter, now = call.minter, timestamp(call.actor.now())
        alike, why, senses = call.read(lambda reader: compare_names(minter, reader, first, second, now))
    except NoMinterError:
        # Names can be compared without a minter; one only adds its own context and what is claimed of it.
        from ..schemes import read_form

        (alike, why), senses = citation.same(first, second, read_form=read_form), []
    return Answer(SamenessRecord(alike, why, senses), spaced=True, failed=not alike)


COMMANDS = (
    Command(
        "cite", "the forms in which a name is written, printed, linked and spoken",
        Form("Id [--qr File]…", _cite, READ),
        options=(Option("--qr File", "write a QR code of the link to an .svg or .png file; for the shell only"),),
        see="citing-verifying-describing.md#cite",
        about="""\
Any spelling of the name will do. A mistyped name is refused, and a pepper is never printed. Of a withdrawn name a note
says so.
""",
        example="""\
$ noid cite 13030/kt4x551 | grep -E 'canonical|info|encoded'
canonical: ark:/13030/kt4x551
info: info:ark/13030/kt4x551
encoded: ark%3A%2F13030%2Fkt4x551
""",
    ),
    Command(
        "same", "whether two spellings are the same name, and why",
        Form("Name Name", _same, READ),
        see="citing-verifying-describing.md#same-or-not", fails="they are not",
        about="""\
No minter is needed; one adds the context that its names leave unsaid, and what is claimed about contexts and names. Two
names that are not one may be the same in another sense, as an alias, synonyms, homologues or a realisation are: of that
the answer has a line for each sense. The exit status is that of the names.
""",
        example="""\
$ noid same ark:/13030/kt4-x551 ARK:13030/kt4x551 | grep same:
same: yes
""",
    ),
)
