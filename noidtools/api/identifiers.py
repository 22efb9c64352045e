"""The Python interface: minting, holds and the queue, validation, and the states of identifiers."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from ..minter import identifiers, lifecycle, minting, queue
from ..minter.identifiers import NameRef
from ..store import Writer
from .base import MinterBase
from .text import Text, ensure_count, to_bytes, to_datetime, to_delay, to_text
from .values import HoldResult, Transition, Validity, Withdrawal


class IdentifierMethods(MinterBase):
    """The methods of a minter about identifiers."""

    def mint(
        self, count: int = 1, *, element: Text | None = None, value: Text = "", patience: float | None = None
    ) -> list[str]:
        """Mint `count` identifiers, each with `element` bound to `value` if an element is named: all or none.

        Where labels are made from the time, the call waits until the last of them is due, and raises BusyError if
        that is more than `patience` seconds ahead; without it, more than the minter's own limit.  Raises
        ExhaustedError if fewer are left.  For large numbers see `mint_many`.
        """
        return self._mint(count, _options(element, value), patience)

    def peppermint(
        self, count: int = 1, *, element: Text | None = None, value: Text = "", patience: float | None = None
    ) -> list[str]:
        """As `mint`; each result is `ID!PEPPER`, as later changes of that identifier need it.

        The pepper is stored nowhere: this is the only time it can be seen.
        """
        return self._mint(count, _options(element, value, peppered=True), patience)

    def _mint(self, count: int, options: minting.MintOptions, patience: float | None) -> list[str]:
        minter, wanted, limit = self._open, ensure_count(count), _nanoseconds(patience)

        def work(_: Writer) -> list[str]:
            chunks = minting.mint(minter, self._actor, wanted, options, patience=limit)
            return [to_text(identifier) for chunk in chunks for identifier in chunk]

        return minter.write(work)

    def mint_many(
        self, count: int, *, element: Text | None = None, value: Text = "", peppered: bool = False,
        patience: float | None = None,
    ) -> Iterator[str]:
        """Mint `count` identifiers in transactions of some thousands, and yield each once it is on disk.

        Nothing is minted before the first is requested.  If the caller stops early, at most the identifiers of one
        transaction are minted in vain.  If fewer are left, ExhaustedError is raised after the last one.  Inside
        `transaction` they are on disk only when that ends.
        """
        options, wanted = _options(element, value, peppered=peppered), ensure_count(count)
        chunks = minting.mint(self._open, self._actor, wanted, options, patience=_nanoseconds(patience))
        return (to_text(identifier) for chunk in chunks for identifier in chunk)

    def hold(self, *names: Text) -> HoldResult:
        """Put identifiers on hold, so that they are neither minted nor queued."""
        minter, texts = self._open, [to_bytes(name) for name in names]
        placed, unqueued = minter.write(lambda writer: queue.place_holds(minter, writer, self._actor, texts))
        return HoldResult(placed, tuple(self._display(identifier) for identifier in unqueued))

    def release(self, *names: Text) -> int:
        """Release holds; returns how many of the identifiers were held."""
        minter, texts = self._open, [to_bytes(name) for name in names]
        return minter.write(lambda writer: queue.release_holds(minter, writer, self._actor, texts))

    def queue(self, *names: Text, when: str | int | timedelta = "now") -> list[str]:
        """Put identifiers in the queue, from which minting takes before it makes new ones; returns them.

        when  now, first (before all others), lvf (lowest value first), or after a delay: `30d`, `3600s`, a number of
              seconds, or a timedelta
        """
        minter, how, texts = self._open, to_delay(when), [to_bytes(name) for name in names]
        done = minter.write(lambda writer: queue.enqueue(minter, writer, self._actor, how, texts))
        return [self._display(identifier) for identifier in done]

    def dequeue(self, *names: Text) -> list[str]:
        """Take identifiers out of the queue; returns them."""
        minter, texts = self._open, [to_bytes(name) for name in names]
        done = minter.write(lambda writer: queue.dequeue(minter, writer, self._actor, texts))
        return [self._display(identifier) for identifier in done]

    def validate(self, *names: Text, form: str | None = None) -> list[Validity]:
        """Whether each name has the form of this minter's identifiers, or that of a template or scheme in `form`."""
        texts = [to_bytes(name) for name in names]
        if form is None:
            minter = self._open
            verdicts = minter.read(lambda reader: identifiers.validate_own(minter, reader, texts))
        else:
            verdicts = identifiers.validate_form(form, texts)
        return [Validity(to_text(text), fault is None, fault or "") for text, fault in verdicts]

    def publish(self, *names: Text) -> list[Transition]:
        """Publish identifiers that were reserved, so that they resolve."""
        minter, texts = self._open, [to_bytes(name) for name in names]
        return self._transitions(minter.write(lambda writer: lifecycle.publish(minter, writer, self._actor, texts)))

    def reserve(self, *names: Text) -> list[Transition]:
        """Reserve identifiers, so that they do not resolve; one that was not minted is held as well."""
        minter, texts = self._open, [to_bytes(name) for name in names]
        return self._transitions(minter.write(lambda writer: lifecycle.reserve(minter, writer, self._actor, texts)))

    def _transitions(self, changes: list[lifecycle.StateChange]) -> list[Transition]:
        return [
            Transition(self._display(change.identifier), change.before, change.after, change.unqueued)
            for change in changes
        ]

    def withdraw(self, name: Text, *, reason: Text | None = None, successor: Text | None = None) -> Withdrawal:
        """Take an identifier out of use permanently; all interfaces then show when, why and what to use instead.

        Raises ConflictError for one that was withdrawn before.
        """
        minter, text, why, other = self._open, to_bytes(name), _optional(reason), _optional(successor)
        return _withdrawal(*minter.write(
            lambda writer: lifecycle.withdraw(minter, writer, self._actor, text, why, other)
        ))

    def tombstone(self, name: Text) -> Withdrawal:
        """What is kept of a withdrawn identifier; raises NotFoundError for one that was not withdrawn."""
        minter, text = self._open, to_bytes(name)
        return _withdrawal(*minter.read(lambda reader: lifecycle.find_tombstone(minter, reader, text)))

    def amend_tombstone(self, name: Text, *, reason: Text | None = None, successor: Text | None = None) -> Withdrawal:
        """Replace the reason or the successor on the tombstone of a withdrawn identifier; empty text removes it."""
        minter, text, why, other = self._open, to_bytes(name), _optional(reason), _optional(successor)
        return _withdrawal(*minter.write(
            lambda writer: lifecycle.amend_tombstone(minter, writer, self._actor, text, why, other)
        ))


def _optional(text: Text | None) -> bytes | None:
    return None if text is None else to_bytes(text)


def _withdrawal(ref: NameRef, tombstone: lifecycle.Tombstone) -> Withdrawal:
    date = to_datetime(tombstone.date)
    assert date is not None
    return Withdrawal(
        to_text(ref.display), date, to_datetime(tombstone.minted), to_text(tombstone.reason),
        to_text(tombstone.successor),
    )


def _options(element: Text | None, value: Text, *, peppered: bool = False) -> minting.MintOptions:
    name = None if element is None else to_bytes(element)
    return minting.MintOptions(peppered=peppered, element=name, value=to_bytes(value))


def _nanoseconds(seconds: float | None) -> int | None:
    from ..schemes.timed import parse_patience

    return None if seconds is None else parse_patience(f"{seconds:f}".encode())
