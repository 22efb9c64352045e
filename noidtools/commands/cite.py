"""Commands about the spellings of names."""

from __future__ import annotations

from .. import names
from ..errors import ForbiddenError, InvalidError, NoMinterError, UsageError, printable
from ..minter import contexts, identifiers
from ..names import citation
from .answers import Answer, Record
from .session import take_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..minter import Minter
    from ..store import Reader
    from .answers import Line
    from .session import Call


class CitationRecord(Record):
    """A name in all its forms."""

    __slots__ = ("_forms",)

    def __init__(self, forms: list[tuple[str, bytes]]) -> None:
        self._forms = forms

    def lines(self) -> Iterable[Line]:
        return [(form.encode(), text, 0) for form, text in self._forms]

    def data(self) -> list[dict[str, object]]:
        return [{"form": form, "text": text} for form, text in self._forms]


class SamenessRecord(Record):
    """Whether two spellings are one name, and why."""

    __slots__ = ("_same", "_why")

    def __init__(self, same: bool, why: list[str]) -> None:
        self._same = same
        self._why = why

    def lines(self) -> Iterable[Line]:
        yield b"same", b"yes" if self._same else b"no", 0
        for sentence in self._why:
            yield b"why", sentence.encode(), 0

    def data(self) -> list[dict[str, object]]:
        return [{"same": self._same, "why": list(self._why)}]


def cite(call: Call) -> Answer:
    options, words = take_options(call.args, ("qr",))
    if len(words) != 1:
        raise UsageError("cite takes one identifier: say cite Id [--qr File]")
    if "qr" in options and not call.session.local:
        raise ForbiddenError("--qr writes a file on the server: it is for the shell, not for the web")
    forms = forms_of(call.minter, words[0])
    for path in options.get("qr", []):
        chosen = dict(reversed(forms))
        citation.qr(path, chosen.get("web") or chosen["canonical"])
        forms.append(("qr", path.encode()))
    return Answer(CitationRecord(forms), spaced=True)


def forms_of(minter: Minter, given: bytes) -> list[tuple[str, bytes]]:
    """The representations of a name: one of this minter's, in any spelling, or any other."""
    labels = identifiers.labels_of(minter)

    def work(reader: Reader) -> list[tuple[str, bytes]]:
        own = identifiers.own_identifier(minter, reader, given)
        name = names.parse(given, labels) if own is None else own
        checked = own is not None and "T" in minter.scheme.durable(minter.settings)
        return citation.representations(name, labels=labels, resolvers=contexts.resolvers(reader), has_check=checked)

    return minter.read(work)


def same(call: Call) -> Answer:
    first, second = call.need(2, 2, "same Name Name")
    labels: tuple[bytes, ...] = ()
    labels_known = False
    aliases: list[tuple[bytes, bytes, bytes]] = []
    try:
        labels = identifiers.labels_of(call.minter)
        aliases = [claim.triple for claim in call.minter.read(contexts.context_aliases)]
        labels_known = True
    except NoMinterError:
        pass  # names can be compared without a minter; one only adds its own context and what is claimed of it
    alike, why = citation.same(first, second, aliases, labels=labels)
    if not alike and labels_known:
        own = call.minter.read(lambda reader: {_own(call.minter, reader, name) for name in (first, second)})
        if len(own) == 1 and None not in own:
            (identifier,) = own
            alike = True
            why = [f"Both spell {printable(call.minter.shown(identifier or b''))}, as this minter's scheme reads them."]
    return Answer(SamenessRecord(alike, why), spaced=True, failed=not alike)


def _own(minter: Minter, reader: Reader, given: bytes) -> bytes | None:
    """The identifier of this minter that a text spells, if it is well-formed."""
    try:
        return None if minter.scheme.free else identifiers.own_identifier(minter, reader, given)
    except InvalidError:
        return None
