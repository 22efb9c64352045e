"""Commands about names as such: their spellings, whether two are one, and what their context is called."""

from __future__ import annotations

from .. import names
from ..errors import ForbiddenError, InvalidError, NoMinterError, UsageError, printable
from ..minter import contexts, identifiers
from ..names import citation
from .answers import Answer, Fields, Record
from .session import as_text, take_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..minter import Minter
    from ..store import Reader, Writer
    from .answers import Line
    from .session import Call

_CONTEXT = (
    "context [alias [--remove] From To --authority Who | resolver Url…], "
    "for instance context alias 102.100.archer 102.100.821 --authority 'the ARCHER project'"
)


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


def context(call: Call) -> Answer:
    if not call.args:
        return _context_answer(call.minter)
    what = call.args[0]
    options, words = take_options(call.args[1:], ("authority",), ("remove",))
    if what == b"resolver" and words and not options:
        addresses = [] if words == [b"-"] else words
        call.minter.write(lambda writer: contexts.set_resolvers(writer, call.actor, addresses))
        return _context_answer(call.minter)
    if what != b"alias" or len(words) != 2 or len(options.get("authority", [])) != 1:
        raise UsageError(f"say {_CONTEXT}")
    alias, target = (as_text(word, "the label of a context") for word in words)
    deed = contexts.remove_context_alias if "remove" in options else contexts.add_context_alias

    def work(writer: Writer) -> None:
        deed(writer, call.actor, alias, target, options["authority"][0])

    call.minter.write(work)
    return _context_answer(call.minter)


class ContextRecord(Record):
    __slots__ = ("_claims", "_labels", "_resolvers")

    def __init__(self, labels: list[bytes], resolvers: list[bytes], claims: list[contexts.ContextAlias]) -> None:
        self._labels = labels
        self._resolvers = resolvers
        self._claims = claims

    def lines(self) -> Iterable[Line]:
        yield from ((b"label", label, 0) for label in self._labels)
        yield from ((b"resolver", address, 0) for address in self._resolvers)
        for claim in self._claims:
            said = f"{claim.alias} is {claim.target}, according to {claim.authority} since "
            yield b"alias", said.encode() + claim.since, 0

    def data(self) -> list[dict[str, object]]:
        claims = [
            {"alias": claim.alias, "target": claim.target, "authority": claim.authority, "since": claim.since}
            for claim in self._claims
        ]
        return [{"labels": self._labels, "resolvers": self._resolvers, "aliases": claims}]


def _context_answer(minter: Minter) -> Answer:
    found = minter.read(lambda reader: ContextRecord(
        minter.labels, contexts.resolvers(reader), contexts.context_aliases(reader)
    ))
    if not any(found.lines()):
        return Answer(Fields(("note", b"nothing is said about the context")), spaced=True)
    return Answer(found, spaced=True)
