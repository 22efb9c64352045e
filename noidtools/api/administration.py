"""The Python interface: events, properties and notes of the minter, and its policies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..codec import decode_text
from ..description.conversion import HistoryEvent, history_event, moment
from ..description.facts import MinterInfo, MinterPolicy, PersistencePromise
from ..errors import UsageError
from ..minter import config, history, policies, report
from ..minter.policies import minting_policy
from ..store import Reader, Writer
from .minter import MinterBase, MintingPolicy, Moment, Text, end_timestamp, start_timestamp, to_bytes

# Who may use a class of commands: one of the words anyone, authenticated, nobody and default, or users.
Audience = str | Sequence[str]


class AdministrationMethods(MinterBase):
    """The methods of a minter about its events, properties and policies."""

    # -- events ----------------------------------------------------------------------------------------

    def history(self, name: Text) -> list[HistoryEvent]:
        """The events of a name, oldest first.  Raises NotFoundError if there are none."""
        return [history_event(self._open, event) for event in self._look(history.history_of, to_bytes(name))]

    def log(self, *, after: int = 0, since: Moment | None = None, follow: bool = False) -> Iterator[HistoryEvent]:
        """The events of the minter, oldest first, read page by page.

        after   only events with a larger number
        since   only events from this moment on
        follow  do not end, but wait for new events; a minting under way is repeated as its count grows
        """
        minter, date = self._open, start_timestamp(since)
        if follow:
            events = history.follow(minter, self._actor.clock, after=after, since=date)
        else:
            events = history.stream(minter, after=after, since=date)
        return (history_event(minter, event) for event in events)

    # -- the minter ------------------------------------------------------------------------------------

    def info(self) -> MinterInfo:
        """What the minter is and where it stands."""
        minter = self._open

        def work(reader: Reader) -> MinterInfo:
            state, settings, first = report.MinterState(minter, reader), minter.settings, minter.scheme.first()
            pairs = report.properties(minter) + report.status(minter, reader)
            return MinterInfo(
                path=minter.dbdir, scheme=minter.scheme.name, template=settings["template"], term=settings["term"],
                naan=settings["naan"], naa=settings["naa"], subnaa=settings["subnaa"],
                labels=tuple(settings["labels"].splitlines()), first=None if first is None else self._display(first),
                total=state.generator.total, drawn=state.generator.drawn, held=state.held, queued=state.queued,
                created=moment(settings["created"].encode()), creator=settings["creator"],
                changed=moment(state.newest.date) if state.newest else None,
                changed_by=decode_text(state.newest.who) if state.newest else "",
                notes={decode_text(name): decode_text(text) for name, text in config.all_notes(reader)},
                details={label: decode_text(value) for label, value in pairs},
            )

        return self._read(work)

    def note(self, name: Text, text: Text) -> None:
        """Keep a note with the minter, instead of the one of that name if there is one; `info` has all of them."""
        note_name, note_text = to_bytes(name), to_bytes(text)
        self._open.write(lambda writer: config.put_note(writer, self._actor, note_name, note_text))

    # -- policies --------------------------------------------------------------------------------------

    def policy(self) -> MinterPolicy:
        """Who may do what through the web, and what the minter promises."""
        minter = self._open

        def work(reader: Reader) -> MinterPolicy:
            access = policies.AccessPolicy.of(reader).rules
            return MinterPolicy(
                **{name: tuple(decode_text(rule.display()).split()) for name, rule in access.items()},
                minting=decode_text(minting_policy(reader)), label_format=decode_text(policies.label_format(minter)),
                association=decode_text(policies.association(reader) or b""),
                persistence=_promise(reader),
            )

        return self._read(work)

    def set_policy(
        self, *, read: Audience | None = None, mint: Audience | None = None, bind: Audience | None = None,
        admin: Audience | None = None, minting: MintingPolicy | None = None, association: Text | None = None,
        persistence: Text | None = None, start: Moment | None = None, until: Moment | None = None,
    ) -> MinterPolicy:
        """Change the policies that are named, all or none, and return them all.

        The word `default` in place of a value goes back to the default.  `start` and `until` go with `persistence`.
        """
        access = {"read": read, "mint": mint, "bind": bind, "admin": admin}
        rules = {name: _access_rule(audience) for name, audience in access.items() if audience is not None}
        begin, end = start_timestamp(start), end_timestamp(until)
        if (begin or end) and persistence in (None, "default", b"default"):
            raise UsageError("start and until go with the text of a persistence policy")

        def work(writer: Writer) -> None:
            for name, rule in rules.items():
                policies.set_access(writer, self._actor, name, rule)
            for name, text in (("minting", minting), ("association", association), ("persistence", persistence)):
                if text is not None:
                    policies.set_stated_policy(writer, self._actor, name, to_bytes(text), begin, end)

        self._open.write(work)
        return self.policy()


def _access_rule(audience: Audience) -> policies.AccessRule | None:
    words = [to_bytes(word) for word in ([audience] if isinstance(audience, str) else audience)]
    return None if words == [b"default"] else policies.AccessRule.parse(words)


def _promise(reader: Reader) -> PersistencePromise | None:
    found = policies.persistence(reader)
    if found is None:
        return None
    return PersistencePromise(decode_text(found.text), moment(found.start), moment(found.until))
