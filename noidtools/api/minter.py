"""The Python interface: an open minter and its transactions; minting, holds, states, bindings and resolution."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from datetime import date, datetime, timedelta, timezone
from typing import Concatenate, Literal, ParamSpec, TypeVar, get_args, overload

from .. import dates, resolution
from ..codec import decode_text
from ..description.conversion import Transition, Withdrawal, redirect_targets, transition, withdrawal
from ..description.facts import Binding, HoldResult, NameRecord, Resolution, RuleBinding, Validity
from ..errors import InvalidError, NotFoundError, StoreError, UsageError
from ..minter import Minter, bindings, identifiers, items, lifecycle, minting, queue
from ..minter.bindings import FetchedName, bind_elements, fetch_name, split_items, unbound_messages
from ..minter.events import Actor
from ..minter.lifecycle import gone_error, reader_in
from ..minter.policies import EVERYTHING
from ..schemes.timed import parse_patience
from ..store import TIMEOUT, Reader, Writer

# -- text and dates --------------------------------------------------------------------------------------------------

# Text is accepted as str or as bytes.
Text = str | bytes
# A day, a moment, or text such as 2026, 2026-11, 2026-11-16 or 2026-11-16T00:28:25Z.
Moment = date | datetime | str

# Words that arguments accept.
How = Literal["new", "replace", "set", "append", "add", "prepend", "insert", "append-item", "add-item",
              "prepend-item", "insert-item", "delete", "purge", "mint", "peppermint"]
MintedState = Literal["published", "reserved"]
State = Literal["reserved", "published", "unavailable", "withdrawn"]
MintingPolicy = Literal["publish", "reserve", "default"]
QueueTime = Literal["now", "first", "lvf"]
Term = Literal["long", "medium", "short"]
SchemeName = Literal["noid", "ibi", "ibip", "pilin"]
RelationName = Literal["synonym", "contains", "contained-in", "realises", "realised-by", "homologue",
                       "homologous-name", "equivalent"]
AbstractKind = Literal["context", "name", "identifier"]
QualityName = Literal["universal", "persistent", "trusted", "reliable", "nameable"]
RdfFormat = Literal["turtle", "json-ld", "xml"]
FileFormat = Literal["csv", "jsonl", "anvl"]
ImportFormat = Literal["csv", "jsonl", "anvl", "arklet", "ezid"]
MapFormat = Literal["txt", "dbm", "nginx"]
OnConflict = Literal["refuse", "keep", "replace"]
AccessClass = Literal["read", "mint", "bind", "admin"]

# What is minted in one transaction at most: more might not fit into one, and others wait meanwhile.
_MOST_AT_ONCE = 1_000_000


def to_bytes(text: Text) -> bytes:
    """Text as it is stored: UTF-8.  Surrogate escapes become the bytes that they stand for."""
    if isinstance(text, bytes):
        return text
    if not isinstance(text, str):
        raise UsageError(f"text is given as str or bytes, not as {type(text).__name__}")
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise InvalidError("the text holds half of a surrogate pair, which UTF-8 cannot express") from None


def to_optional(text: Text | None) -> bytes | None:
    return None if text is None else to_bytes(text)


def start_timestamp(moment: Moment | None) -> bytes:
    """The first second of a day or moment; empty for None.  A moment without time zone is taken as UTC."""
    return dates.first_second(_date_text(moment)) if moment is not None else b""


def end_timestamp(moment: Moment | None) -> bytes:
    """The last second of a day or moment; empty for None.  A moment without time zone is taken as UTC."""
    return dates.last_second(_date_text(moment)) if moment is not None else b""


def _date_text(moment: Moment) -> str:
    if isinstance(moment, datetime):
        utc = moment.astimezone(timezone.utc) if moment.tzinfo else moment
        return utc.replace(microsecond=0, tzinfo=None).isoformat()
    if isinstance(moment, date):
        return moment.isoformat()
    if isinstance(moment, str):
        return moment
    raise UsageError(f"a date is given as datetime, date or text, not as {type(moment).__name__}")


def to_delay(delay: QueueTime | int | timedelta) -> bytes:
    """A word of the queue such as `first`, or a delay: seconds, or a timedelta."""
    if isinstance(delay, timedelta):
        delay = delay.days * 86400 + delay.seconds
    return f"{delay}s".encode() if isinstance(delay, int) else to_bytes(delay)


def ensure_count(count: int) -> int:
    """A number of identifiers."""
    if not isinstance(count, int) or isinstance(count, bool) or count < 0:
        raise UsageError(f"{count!r} is not a number of identifiers: give a whole number, 0 or more")
    return count


# -- minting, names and bindings -------------------------------------------------------------------------------------

P = ParamSpec("P")
T = TypeVar("T")
D = TypeVar("D")


class _Missing:
    """The type of the default of `get`, which means to raise NotFoundError."""


_RAISE = _Missing()


class MinterBase:
    """An open minter, an actor, and what the actor may see of it (see minter/policies.py).  Threads may share one."""

    _minter: Minter | None = None

    def __init__(self, minter: Minter, actor: Actor, view: str = EVERYTHING) -> None:
        self._minter = minter
        self._actor = actor
        self._view = view

    @property
    def _open(self) -> Minter:
        if self._minter is None:
            raise StoreError("this minter was closed: open it again")
        return self._minter

    @property
    def who(self) -> str:
        """The actor, as events record it."""
        return decode_text(self._actor.who)

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._minter is None

    def close(self) -> None:
        """End the use of the minter.  Closing it again does nothing."""
        if self._minter is not None:
            self._minter.close()
            self._minter = None

    def transaction(self, *, timeout: float = TIMEOUT) -> AbstractContextManager[object]:
        """All calls in the body of the `with` statement are one transaction: all of them happen, or none.

        The transaction is on disk when the statement ends.  If the body raises, it is undone: identifiers minted in
        it are not used up, and no event records them.  A transaction inside another is a savepoint: if it raises, it
        alone is undone, and the outer one goes on if the exception is caught there.

        It belongs to the thread that began it; calls in other threads are no part of it.  Meanwhile nobody else can
        write, so a body should be short.  Raises BusyError if others write for longer than `timeout` seconds.
        """
        return self._open.store.transaction(timeout=timeout)

    def _read(self, work: Callable[[Reader], T]) -> T:
        """Run `work` in a read transaction in which there is what the actor may see."""
        return self._open.read(lambda reader: work(reader_in(self._view, reader)))

    def _look(self, find: Callable[Concatenate[Minter, Reader, P], T], *args: P.args, **options: P.kwargs) -> T:
        """What a function finds in a read transaction; the minter and the reader are its first arguments."""
        minter = self._open
        return self._read(lambda reader: find(minter, reader, *args, **options))

    def _change(
        self, change: Callable[Concatenate[Minter, Writer, Actor, P], T], *args: P.args, **options: P.kwargs
    ) -> T:
        """What a function returns from a write transaction; the minter, the writer and the actor are its first
        arguments."""
        minter = self._open
        return minter.write(lambda writer: change(minter, writer, self._actor, *args, **options))

    def _display(self, identifier: bytes) -> str:
        """A stored identifier as the minter writes it."""
        return decode_text(self._open.namespace.display(identifier))

    def _beginning(self, prefix: Text) -> bytes:
        """What identifiers begin with, as stored; the prefix may be spelled in any way."""
        return self._look(identifiers.identify_beginning, to_bytes(prefix)) if prefix else b""


class MintingMethods(MinterBase):
    """The methods of a minter about identifiers: minting, holds and the queue, validation, states."""

    def mint(
        self, count: int = 1, *, elements: Mapping[str, Text] | None = None, state: MintedState | None = None,
        patience: float | None = None,
    ) -> list[str]:
        """Mint `count` identifiers in one transaction, at most a million: all or none.  For more see `mint_many`.

        elements  what is bound to each of them
        state     published or reserved, if not what the minter's policy says
        patience  where labels are made from the time, how many seconds to wait for one, if not the minter's own limit

        Raises ExhaustedError if fewer are left, BusyError if one would have to be waited for longer.
        """
        return self._mint(count, _options(elements, state), patience)

    def peppermint(
        self, count: int = 1, *, elements: Mapping[str, Text] | None = None, state: MintedState | None = None,
        patience: float | None = None,
    ) -> list[str]:
        """As `mint`; each result is `ID!PEPPER`, as later changes of that identifier need it.

        The pepper is stored nowhere: this is the only time it can be seen.
        """
        return self._mint(count, _options(elements, state, peppered=True), patience)

    def _mint(self, count: int, options: minting.MintOptions, patience: float | None) -> list[str]:
        minter, wanted, limit = self._open, ensure_count(count), _nanoseconds(patience)
        if wanted > _MOST_AT_ONCE:
            raise UsageError(f"mint makes all or none, and at most {_MOST_AT_ONCE:,} identifiers: for {wanted:,} use "
                             "mint_many")

        def work(_: Writer) -> list[str]:
            chunks = minting.mint(minter, self._actor, wanted, options, patience=limit)
            return [decode_text(identifier) for chunk in chunks for identifier in chunk]

        return minter.write(work)

    def mint_many(
        self, count: int, *, elements: Mapping[str, Text] | None = None, state: MintedState | None = None,
        peppered: bool = False, patience: float | None = None,
    ) -> Iterator[str]:
        """Mint `count` identifiers in transactions of some thousands, and yield each once it is on disk.

        Nothing is minted before the first is requested.  If the caller stops early, at most the identifiers of one
        transaction are minted in vain.  If fewer are left, ExhaustedError is raised after the last one.  Inside
        `transaction` they are on disk only when that ends.
        """
        options, wanted = _options(elements, state, peppered=peppered), ensure_count(count)
        chunks = minting.mint(self._open, self._actor, wanted, options, patience=_nanoseconds(patience))
        return (decode_text(identifier) for chunk in chunks for identifier in chunk)

    def identify(self, item: Text) -> str:
        """The identifier of an item: a new one the first time, to which the item is bound, and the same ever after.

        Raises InvalidError for an item of no bytes or of more than 10,000, ExhaustedError if no identifier is left.
        """
        return decode_text(self._change(items.identify_item, to_bytes(item))[0])

    def hold(self, *names: Text) -> HoldResult:
        """Put identifiers on hold, so that they are neither minted nor queued."""
        placed, unqueued, _ = self._change(queue.place_holds, _all(names))
        return HoldResult(placed, tuple(self._display(identifier) for identifier in unqueued))

    def release(self, *names: Text) -> int:
        """Release holds; returns how many of the identifiers were held."""
        return self._change(queue.release_holds, _all(names))[0]

    def queue(self, *names: Text, when: QueueTime | int | timedelta = "now") -> list[str]:
        """Put identifiers in the queue, from which minting takes before it makes new ones; returns them.

        when  now, first (before all others), lvf (lowest value first), or after a delay: a number of seconds, or a
              timedelta
        """
        done, _ = self._change(queue.enqueue, to_delay(when), _all(names))
        return [self._display(identifier) for identifier in done]

    def dequeue(self, *names: Text) -> list[str]:
        """Take identifiers out of the queue; returns them."""
        return [self._display(identifier) for identifier in self._change(queue.dequeue, _all(names))[0]]

    def validate(self, *names: Text, form: str | None = None) -> list[Validity]:
        """Whether each name has the form of this minter's identifiers, or that of a template or scheme in `form`."""
        texts = _all(names)
        verdicts = self._look(identifiers.validate_own, texts) if form is None else (
            identifiers.validate_form(form, texts, self._open.settings["naan"]))
        return [Validity(decode_text(text), fault is None, fault or "") for text, fault in verdicts]

    def publish(self, *names: Text) -> list[Transition]:
        """Publish identifiers that were reserved, so that they resolve."""
        return [transition(self._open, change) for change in self._change(lifecycle.publish, _all(names))]

    def reserve(self, *names: Text) -> list[Transition]:
        """Reserve identifiers, so that they do not resolve; one that was not minted is held as well."""
        return [transition(self._open, change) for change in self._change(lifecycle.reserve, _all(names))]

    def withdraw(self, name: Text, *, reason: Text | None = None, successor: Text | None = None) -> Withdrawal:
        """Take an identifier out of use permanently; all interfaces then show when, why and what to use instead.

        Raises ConflictError for one that was withdrawn before.
        """
        return withdrawal(*self._change(
            lifecycle.withdraw, to_bytes(name), to_optional(reason), to_optional(successor)))

    def make_unavailable(self, name: Text, *, reason: Text | None = None) -> Withdrawal:
        """Show a tombstone in place of a published identifier, until it is published again; replaces an earlier reason.

        Raises ConflictError for one that is not published.
        """
        return withdrawal(*self._change(lifecycle.make_unavailable, to_bytes(name), to_optional(reason)))

    def tombstone(self, name: Text) -> Withdrawal:
        """What is shown of an identifier that was withdrawn or is unavailable; raises NotFoundError for any other."""
        return withdrawal(*self._look(lifecycle.find_tombstone, to_bytes(name)))

    def amend_tombstone(self, name: Text, *, reason: Text | None = None, successor: Text | None = None) -> Withdrawal:
        """Replace the reason or the successor on the tombstone of a withdrawn identifier; empty text removes it."""
        return withdrawal(*self._change(
            lifecycle.amend_tombstone, to_bytes(name), to_optional(reason), to_optional(successor)))


class BindingMethods(MinterBase):
    """The methods of a minter about bindings and resolution."""

    def bind(self, name: Text, element: Text, value: Text | None = None, *, how: How = "set") -> Binding:
        """Bind `value` to `element` under a name.  An empty value is a value; an empty target leads nowhere.

        how  set         whether or not something is bound
             new         only if nothing is bound
             replace     only if something is bound
             append, add        to the end of what is bound; append needs something there
             prepend, insert    before what is bound; prepend needs something there
             append-item, add-item, prepend-item, insert-item    the same, as a further item of a list (see `items`)
             delete, purge      remove what is bound, without `value`; delete needs something there
             mint, peppermint   under a new identifier; `name` is then the word new, and the result has the identifier

        A name that begins with `:idmap/` is a rule: the rest is its pattern, and `value` is what computes the element.
        """
        how_bytes, value_bytes = to_bytes(how), to_optional(value)
        bindings.ensure_how(how_bytes)
        bindings.ensure_value_fits(how_bytes, value_bytes)
        (done,) = bind_elements(
            self._open, self._actor, how_bytes, to_bytes(name), [(to_bytes(element), value_bytes)]
        )
        return _binding(done)

    def bind_many(self, name: Text, elements: Mapping[str, Text], *, how: How = "set") -> list[Binding]:
        """Bind several elements under one name, all or none; `how` as in `bind`, but for delete and purge."""
        how_bytes = to_bytes(how)
        pairs: list[tuple[bytes, bytes | None]] = [
            (to_bytes(element), to_bytes(value)) for element, value in elements.items()
        ]
        bindings.ensure_how(how_bytes)
        for _, value in pairs:
            bindings.ensure_value_fits(how_bytes, value)
        done = bind_elements(self._open, self._actor, how_bytes, to_bytes(name), pairs)
        return [_binding(bound) for bound in done]

    @overload
    def get(self, name: Text, element: Text, *, raw: Literal[False] = False) -> str: ...
    @overload
    def get(self, name: Text, element: Text, *, raw: Literal[True]) -> bytes: ...
    @overload
    def get(self, name: Text, element: Text, *, default: D, raw: Literal[False] = False) -> str | D: ...
    @overload
    def get(self, name: Text, element: Text, *, default: D, raw: Literal[True]) -> bytes | D: ...
    def get(self, name: Text, element: Text, *, default: object = _RAISE, raw: bool = False) -> object:
        """The value of one element, as bound or as computed by a rule; with `raw` as bytes.

        If there is none, `default` is returned; without a default NotFoundError is raised.
        """
        try:
            ((_, value),) = self._fetch(name, (element,), with_circulation=False).elements
        except NotFoundError:
            if default is _RAISE:
                raise
            return default
        return value if raw else decode_text(value)

    @overload
    def elements(self, name: Text, *wanted: Text, raw: Literal[False] = False) -> dict[str, str]: ...
    @overload
    def elements(self, name: Text, *wanted: Text, raw: Literal[True]) -> dict[bytes, bytes]: ...
    def elements(self, name: Text, *wanted: Text, raw: bool = False) -> dict[str, str] | dict[bytes, bytes]:
        """The values of all bound elements, or of those wanted, by name; with `raw` both as bytes.

        Raises NotFoundError if nothing is bound, or if one that is wanted is neither bound nor computed by a rule.
        """
        fetched = self._fetch(name, wanted, with_circulation=False).elements
        return dict(fetched) if raw else {decode_text(element): decode_text(value) for element, value in fetched}

    def items(self, name: Text, element: Text) -> list[str]:
        """The items of the list that an element holds: what stands between the `|` of its value.

        Raises NotFoundError if the element is neither bound nor computed by a rule.
        """
        return [decode_text(item) for item in split_items(self.get(name, element, raw=True))]

    def fetch(self, name: Text, *wanted: Text) -> NameRecord:
        """A name with its state, its circulation and its elements, all or those wanted.

        Raises NotFoundError if one that is wanted is neither bound nor computed by a rule, and for a name of which
        nothing is stored.
        """
        fetched = self._fetch(name, wanted, with_circulation=True)
        return NameRecord(
            self._display(fetched.identifier), fetched.state, fetched.held, decode_text(fetched.circulation),
            {decode_text(element): decode_text(value) for element, value in fetched.elements},
            {decode_text(element): decode_text(pattern) for element, pattern in fetched.computed.items()},
            None if fetched.alias is None else decode_text(fetched.alias),
        )

    def _fetch(self, name: Text, wanted: tuple[Text, ...], *, with_circulation: bool) -> FetchedName:
        fetched = self._look(fetch_name, to_bytes(name), _all(wanted), with_circulation=with_circulation)
        for _, message in unbound_messages(fetched):
            raise NotFoundError(message)
        return fetched

    def rules(self) -> list[RuleBinding]:
        """All rules, those of one element in the order in which they are tried."""
        rules = self._read(lambda reader: list(bindings.all_rules(reader)))
        return [
            RuleBinding(decode_text(pattern), decode_text(element), decode_text(replacement))
            for element, pattern, replacement in rules
        ]

    def resolve(self, name: Text, *, element: Text | None = None, explain: bool = False) -> Resolution:
        """Resolve a name.

        element  the element that holds targets, if not the minter's usual one
        explain  return a Resolution for every outcome, with a trace of the steps; without it, a name that does not
                 resolve raises NotFoundError, and one that was withdrawn GoneError
        """
        trace: resolution.Trace | None = [] if explain else None
        chosen = None if element is None else to_bytes(element)
        outcome = resolution.resolve_in(self._view, self._open, to_bytes(name), element=chosen, trace=trace)
        targets = redirect_targets(outcome.targets)
        refusal = None if targets else self._refusal(outcome)
        if refusal is not None and not explain:
            raise refusal
        first = targets[0] if targets else None
        return Resolution(
            outcome.kind, self._display(outcome.identifier), first.url if first else None, first.code if first else 0,
            outcome.by, targets, refusal.message if refusal else "",
            tuple((step, decode_text(text)) for step, text in trace or ()),
        )

    def _refusal(self, outcome: resolution.Outcome) -> NotFoundError:
        """Why a name leads nowhere; of a withdrawn one its tombstone, which says more than the resolver."""
        if outcome.kind != resolution.GONE:
            return outcome.error()
        display = self._open.namespace.display(outcome.identifier)
        return self._read(lambda reader: gone_error(reader, outcome.identifier, display))


def _binding(bound: bindings.BindResult) -> Binding:
    return Binding(
        decode_text(bound.identifier), decode_text(bound.element), decode_text(bound.how), bound.written, bound.before,
        decode_text(bound.note),
    )


def _all(texts: Iterable[Text]) -> list[bytes]:
    return [to_bytes(text) for text in texts]


def _options(
    elements: Mapping[str, Text] | None, state: MintedState | None, *, peppered: bool = False
) -> minting.MintOptions:
    pairs = {to_bytes(element): to_bytes(value) for element, value in (elements or {}).items()}
    return minting.MintOptions(peppered=peppered, elements=pairs, reserved=is_reserved(state))


def is_reserved(state: MintedState | None) -> bool | None:
    """Whether what is minted shall be reserved; None for what the minter's policy says."""
    if state not in (None, *get_args(MintedState)):
        raise UsageError(f"minted identifiers are published or reserved, not {state!r}")
    return None if state is None else state == "reserved"


def _nanoseconds(seconds: float | None) -> int | None:
    return None if seconds is None else parse_patience(b"%f" % seconds)
