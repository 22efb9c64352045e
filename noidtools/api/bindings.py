"""The Python interface: bindings of elements, and resolution."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeVar, overload

from .. import resolution
from ..errors import NotFoundError
from ..minter import bindings
from ..minter.elements import FetchedName, fetch_name, unbound_messages
from ..minter.items import split_items
from ..minter.minting import bind_elements
from ..names.targets import USUAL_CODE
from .base import MinterBase
from .text import Text, to_bytes, to_text
from .values import Binding, NameRecord, RedirectTarget, Resolution, RuleBinding

D = TypeVar("D")


class _Missing:
    """The type of the default of `get`, which means to raise NotFoundError."""


_RAISE = _Missing()


class BindingMethods(MinterBase):
    """The methods of a minter about bindings and resolution."""

    def bind(self, name: Text, element: Text, value: Text | None = None, *, how: str = "set") -> Binding:
        """Bind `value` to `element` under a name.

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
        how_bytes, stored = to_bytes(how), None if value is None else to_bytes(value)
        bindings.ensure_how(how_bytes)
        bindings.ensure_value_fits(how_bytes, stored)
        (done,) = bind_elements(
            self._open, self._actor, how_bytes, to_bytes(name), [(to_bytes(element), stored)]
        )
        return _binding(done)

    def bind_many(self, name: Text, elements: Mapping[str, Text], *, how: str = "set") -> list[Binding]:
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
        return value if raw else to_text(value)

    @overload
    def elements(self, name: Text, *wanted: Text, raw: Literal[False] = False) -> dict[str, str]: ...
    @overload
    def elements(self, name: Text, *wanted: Text, raw: Literal[True]) -> dict[bytes, bytes]: ...
    def elements(self, name: Text, *wanted: Text, raw: bool = False) -> dict[str, str] | dict[bytes, bytes]:
        """The values of all bound elements, or of those wanted, by name; with `raw` both as bytes.

        Raises NotFoundError if nothing is bound, or if one that is wanted is neither bound nor computed by a rule.
        """
        fetched = self._fetch(name, wanted, with_circulation=False).elements
        return dict(fetched) if raw else {to_text(element): to_text(value) for element, value in fetched}

    def items(self, name: Text, element: Text) -> list[str]:
        """The items of the list that an element holds: what stands between the `|` of its value.

        Raises NotFoundError if the element is neither bound nor computed by a rule.
        """
        return [to_text(item) for item in split_items(self.get(name, element, raw=True))]

    def fetch(self, name: Text, *wanted: Text) -> NameRecord:
        """A name with its state, its circulation and its elements, all or those wanted.

        Raises NotFoundError if one that is wanted is neither bound nor computed by a rule, and for a name of which
        nothing is stored.
        """
        fetched = self._fetch(name, wanted, with_circulation=True)
        return NameRecord(
            self._display(fetched.identifier), fetched.state, fetched.held, to_text(fetched.circulation),
            {to_text(element): to_text(value) for element, value in fetched.elements},
            {to_text(element): to_text(pattern) for element, pattern in fetched.computed.items()},
            None if fetched.alias is None else to_text(fetched.alias),
        )

    def _fetch(self, name: Text, wanted: tuple[Text, ...], *, with_circulation: bool) -> FetchedName:
        minter, text, elements = self._open, to_bytes(name), [to_bytes(element) for element in wanted]
        fetched = minter.read(
            lambda reader: fetch_name(minter, reader, text, elements, with_circulation=with_circulation)
        )
        for _, message in unbound_messages(fetched):
            raise NotFoundError(message)
        return fetched

    def rules(self) -> list[RuleBinding]:
        """All rules, those of one element in the order in which they are tried."""
        rules = self._read(lambda reader: list(bindings.all_rules(reader)))
        return [
            RuleBinding(to_text(pattern), to_text(element), to_text(replacement))
            for element, pattern, replacement in rules
        ]

    def resolve(self, name: Text, *, element: Text | None = None, explain: bool = False) -> Resolution:
        """Resolve a name.

        element  the element that holds targets, if not the minter's usual one
        explain  return a Resolution for every outcome, with a trace of the steps; without it, a name that does not
                 resolve raises NotFoundError
        """
        trace: resolution.Trace | None = [] if explain else None
        chosen = None if element is None else to_bytes(element)
        outcome = resolution.resolve(self._open, to_bytes(name), element=chosen, trace=trace)
        targets = tuple(RedirectTarget(to_text(target.url), target.code or USUAL_CODE) for target in outcome.targets)
        if not targets and not explain:
            raise NotFoundError(outcome.refusal)
        first = targets[0] if targets else None
        return Resolution(
            outcome.kind, to_text(outcome.identifier), first.url if first else None, first.code if first else 0,
            outcome.by, targets, "" if first else outcome.refusal,
            tuple((step, to_text(text)) for step, text in trace or ()),
        )


def _binding(bound: bindings.BindResult) -> Binding:
    return Binding(to_text(bound.identifier), to_text(bound.element), to_text(bound.how), bound.written, bound.before)
