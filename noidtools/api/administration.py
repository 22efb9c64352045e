"""The Python interface: events, files, changes of many names, backups, resolver, tokens and policies of a minter."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta
from typing import IO, TYPE_CHECKING, Literal

from .. import statistics, times
from ..codec import decode_text
from ..description.conversion import (
    AccessToken,
    BulkChange,
    CanaryResult,
    CheckResult,
    HistoryEvent,
    ImportResult,
    NamingContext,
    ResolverSettings,
    access_token,
    bulk_change,
    check_result,
    history_event,
    import_result,
    moment,
    naming_context,
    resolver_settings,
)
from ..description.facts import MinterInfo, MinterPolicy, PersistencePromise
from ..errors import UsageError
from ..minter import config, contexts, copying, history, identifiers, policies, report, tokens
from ..minter.check import examine, examine_and_repair
from ..minter.policies import hides_names, minting_policy
from ..minter.report import minter_figures
from ..resolution import destination, maps, resolve, settings, target_element
from ..statistics import Usage
from ..store import Reader, Writer, ensure_readable
from ..transfer import open_input
from ..transfer.exporter import Export, Selection
from ..transfer.importer import Importer, ImportOptions
from ..transfer.mint_table import MintedTable, MintTableOptions, mint_table
from ..transfer.retarget import Retargeting, undo
from ..verification.link_report import LinkReport, link_reports
from .minter import (
    AccessClass,
    FileFormat,
    ImportFormat,
    MapFormat,
    MintedState,
    MinterBase,
    MintingPolicy,
    Moment,
    OnConflict,
    State,
    Text,
    end_timestamp,
    ensure_count,
    is_reserved,
    start_timestamp,
    to_bytes,
    to_optional,
)

if TYPE_CHECKING:
    from ..console import Progress

Path = str | os.PathLike[str]
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
            pairs = report.properties(minter) + report.status(state)
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

    def status(self) -> dict[str, float]:
        """Figures for monitoring: drawn, left, held, queued, events, size_bytes, last_backup and others, by name."""
        return minter_figures(self._open)

    def set_timing(self, *, granularity: float | None = None, patience: float | None = None) -> None:
        """Change how many seconds are between labels that are made from the time, and how long one may be waited for.

        Raises ConflictError if labels are not made from the time.
        """
        for name, seconds in (("granularity", granularity), ("patience", patience)):
            if seconds is not None:
                self._change(config.adjust_generator, name, b"%f" % seconds)

    def reset_clock(self) -> None:
        """Make labels from the present time again, after they were made from a clock that had run ahead.

        Raises ConflictError if no label is ahead of the clock, or if labels are not made from the time.
        """
        self._change(config.reset_clock)

    def check(self, *, repair: bool = False) -> CheckResult:
        """Examine the whole database; with `repair` what follows from other records is mended."""
        ensure_readable(self._open.store.location)
        if not repair:
            return check_result(examine(self._open))
        return check_result(*examine_and_repair(self._open, self._actor))

    def backup(self, destination: Path) -> int:
        """Write a backup to a new folder, which appears complete or not at all; returns the number of items in it."""
        ensure_readable(self._open.store.location)
        return copying.back_up(self._open, os.fspath(destination))

    # -- files -----------------------------------------------------------------------------------------

    def export(
        self, form: FileFormat = "jsonl", *, prefix: Text = "", elements: Sequence[Text] = (),
        changed_since: Moment | None = None, state: State | None = None, history: bool = False,
    ) -> Export:
        """What is stored, as it is at one moment, to be written: `write_to(path)`, or bytes by `chunks()`.

        prefix         only identifiers that begin with this, in any spelling
        elements       only these elements, and identifiers that have one of them
        changed_since  only identifiers with an event from this moment on
        state          only identifiers in this state
        history        with all events; a whole minter can be made of it by `noidtools.import_minter`
        """
        selection = Selection(
            prefix=self._beginning(prefix), elements=tuple(map(to_bytes, elements)),
            since=start_timestamp(changed_since), state=state or "", history=history)
        return Export(self._open, form, selection, self._actor.now())

    def export_map(self, path: Path, form: MapFormat, *, element: Text | None = None) -> tuple[int, int]:
        """Write all targets as a map for a web server; returns how many are in it, and how many cannot be."""
        return maps.export(self._open, form, os.fspath(path), to_optional(element))

    def import_file(
        self, source: Path | IO[bytes], form: ImportFormat, *, on_conflict: OnConflict = "refuse",
        keep_going: bool = False, dry_run: bool = False,
    ) -> ImportResult:
        """Import identifiers and what is bound to them from a file: all or nothing, unless it is very large.

        on_conflict  what is done about an element that has another value already
        keep_going   leave out records that are refused; without it, the first of them refuses the whole file
        """
        return self._import(source, form, ImportOptions(
            on_conflict=on_conflict, keep_going=keep_going, dry_run=dry_run, target=self._target_element()))

    def mint_table(
        self, source: Path | IO[bytes], *, state: MintedState | None = None, name: Text = "", keep_going: bool = False,
        dry_run: bool = False, progress: Progress | None = None,
    ) -> MintedTable:
        """Mint an identifier for each row of a table in CSV that has none in its column id, and bind its other cells.

        Returns the table with its identifiers, to be written: `write_to(path)`, or bytes by `chunks()`.  The same table
        gets the same identifiers, however often it is sent.

        state       published or reserved, if not what the minter's policy says
        name        of this run: the same table under another name gets other identifiers
        keep_going  leave out rows that are refused; without it, the first of them refuses the whole table
        progress    called with how much is done, of how much (0 if that is not known), and a remark
        """
        options = MintTableOptions(reserved=is_reserved(state), name=to_bytes(name), keep_going=keep_going,
                                   dry_run=dry_run)
        with opened(source) as file:
            return mint_table(self._open, self._actor, file, options, source=_path_of(source), progress=progress)

    def rebind(self, source: Path | IO[bytes], *, keep_going: bool = False, dry_run: bool = False) -> ImportResult:
        """Bind the values of a table in CSV to identifiers that are known here, in place of those before."""
        return self._import(source, "csv", ImportOptions(
            verb=b"rebind", on_conflict="replace", known_only=True, keep_going=keep_going, dry_run=dry_run,
            target=self._target_element()))

    def _import(self, source: Path | IO[bytes], form: ImportFormat, options: ImportOptions) -> ImportResult:
        with opened(source) as file:
            report = Importer(self._open, self._actor, options).run(form, file, _path_of(source))
        return import_result(report)

    def _target_element(self) -> bytes:
        return self._open.read(target_element)

    # -- changes of many names -------------------------------------------------------------------------

    def retarget(
        self, old: Text, new: Text, *, element: Text | None = None, prefix: Text = "", name: Text = "",
        dry_run: bool = False,
    ) -> BulkChange:
        """Change all targets that begin with one address, so that they begin with another.

        element  the element that holds the targets, if not the minter's usual one
        prefix   only under identifiers that begin with this
        name     a name by which it can be continued and undone
        """
        minter, holds = self._open, to_optional(element) or self._target_element()
        change = Retargeting(minter, to_bytes(old), to_bytes(new), holds, self._beginning(prefix))
        report = change.dry_run() if dry_run else change.run(self._actor, name=to_bytes(name))
        return bulk_change(minter, report, rules=change.rules())

    def undo(self, event: int | str, *, dry_run: bool = False) -> BulkChange:
        """Give every binding that an event changed the value before it, unless it was changed since.

        event  its number, or the name that `retarget` gave it
        """
        return bulk_change(self._open, undo(self._open, self._actor, to_bytes(str(event)), dry_run=dry_run))

    # -- figures ---------------------------------------------------------------------------------------

    def usage(
        self, name: Text | None = None, *, since: Moment | None = None, until: Moment | None = None, top: int = 10
    ) -> Usage:
        """How many identifiers were minted and how often names were resolved, day by day; without dates in the last
        thirty days.

        name   only the resolutions of this name
        until  the last day, by default today
        top    how many of the names that were resolved most are listed
        """
        minter = self._open
        key = None if name is None else self._look(identifiers.identify, to_bytes(name)).key
        first, last = statistics.period(start_timestamp(since), end_timestamp(until), self._actor.now())
        return statistics.usage(minter, first, last, name=key, top=0 if key is not None else ensure_count(top))

    def link_reports(self, *, custodian: Text | None = None) -> list[LinkReport]:
        """The links that are broken or have moved for good, as the last checks found them, by custodian.

        custodian  only those for which this one is responsible
        """
        return link_reports(self._open, decode_text(to_bytes(custodian or "")))

    # -- the resolver ----------------------------------------------------------------------------------

    def resolver(self) -> ResolverSettings:
        """How names are resolved, and where those must lead that are checked."""
        return self._read(resolver_settings)

    def set_resolver(
        self, *, element: Text | None = None, fallback: Text | None = None, passthrough: bool | None = None,
        statistics: bool | None = None, wayback: bool | None = None,
    ) -> ResolverSettings:
        """Change the settings that are named, all or none, and return them all; an empty text is the default.

        fallback    the address of another resolver; the name is added at its end, or where it has a variable: ${pid}
        statistics  whether it is counted how often each name is resolved
        wayback     whether pages about names link to copies of their targets in the Wayback Machine
        """
        switch = None if passthrough is None else "" if passthrough else "off"
        switches = {name: None if on is None else "on" if on else ""
                    for name, on in (("statistics", statistics), ("wayback", wayback))}
        given = {"element": element, "fallback": fallback, "passthrough": switch, **switches}

        def work(writer: Writer) -> ResolverSettings:
            for name, value in given.items():
                if value is not None:
                    settings.set_resolver(writer, self._actor, name, to_bytes(value) or None)
            return resolver_settings(writer)

        return self._open.write(work)

    def set_cache(self, seconds: int, *, stale: int = 86400) -> None:
        """For how long web caches keep answers about names, and how much longer while the resolver fails."""
        self._open.write(lambda writer: settings.set_cache(writer, self._actor, b"%d" % seconds, b"%d" % stale))

    def set_passthrough(self, name: Text, on: bool) -> None:
        """Whether what follows one name is added to its target."""
        self._change(settings.set_passthrough, to_bytes(name), on=on)

    def set_canary(self, name: Text, target: Text | None = None) -> None:
        """Let `check_canaries` compare where a name leads with a target; without one, with where it leads now."""
        text = to_bytes(name)
        expected = to_optional(target) or destination(resolve(self._open, text))
        self._change(settings.set_canary, text, expected)

    def remove_canary(self, name: Text) -> None:
        """Check a name no longer."""
        self._change(settings.set_canary, to_bytes(name), None)

    def check_canaries(self) -> list[CanaryResult]:
        """Where each canary leads, and where it must lead."""
        return [CanaryResult(name, decode_text(target), decode_text(expected))
                for name, target, expected in settings.check_canaries(
                    self._open, reserved=not hides_names(self._view))]

    # -- the context of its names ----------------------------------------------------------------------

    def context(self) -> NamingContext:
        """The labels of the minter, what its names are for, their resolvers, and what else the context is called."""
        return self._look(naming_context)

    def set_context(self, *, purpose: Text | None = None, resolvers: Sequence[Text] | None = None) -> NamingContext:
        """State what the names are for, and which web resolvers know them; empty removes it."""
        def work(writer: Writer) -> None:
            if purpose is not None:
                contexts.set_purpose(writer, self._actor, to_bytes(purpose))
            if resolvers is not None:
                contexts.set_resolvers(writer, self._actor, [to_bytes(address) for address in resolvers])

        self._open.write(work)
        return self.context()

    def claim_context(self, alias: str, target: str, *, authority: str) -> None:
        """Record that an authority claims one label of a context to be an alias of another."""
        self._open.write(lambda writer: contexts.add_context_alias(writer, self._actor, alias, target, authority))

    def remove_context_claim(self, alias: str, target: str, *, authority: str) -> None:
        """Remove such a claim."""
        self._open.write(lambda writer: contexts.remove_context_alias(writer, self._actor, alias, target, authority))

    # -- tokens ----------------------------------------------------------------------------------------

    def tokens(self) -> list[AccessToken]:
        """All tokens, without their secrets."""
        return [access_token(token) for token in self._open.read(tokens.all_tokens)]

    def new_token(
        self, name: Text, classes: Sequence[AccessClass], *, expires: Moment | timedelta | None = None,
        most: int | None = None, total: int | None = None,
    ) -> str:
        """Make a token for a program that uses the web interfaces, and return its secret, which is stored nowhere.

        most, total  how many identifiers it may mint in one request, and in all
        """
        if isinstance(expires, timedelta):
            end = times.timestamp_after(self._actor.now(), int(expires.total_seconds()))
        else:
            end = end_timestamp(expires)
        for limit in (most, total):
            ensure_count(limit or 0)
        return self._open.write(lambda writer: tokens.new_token(
            writer, self._actor, to_bytes(name), classes, end, most=most, total=total)).decode()

    def revoke_token(self, name: Text) -> None:
        """Delete a token: the next request with it is refused."""
        self._open.write(lambda writer: tokens.revoke_token(writer, self._actor, to_bytes(name)))

    # -- policies --------------------------------------------------------------------------------------

    def policy(self) -> MinterPolicy:
        """Who may do what through the web, and what the minter promises."""
        minter = self._open

        def work(reader: Reader) -> MinterPolicy:
            access = policies.AccessPolicy.of(reader)
            return MinterPolicy(
                **{name: tuple(decode_text(rule.display()).split()) for name, rule in access.rules.items()},
                minting=decode_text(minting_policy(reader)), mint_limit=access.mint_limit,
                label_format=decode_text(policies.label_format(minter)),
                association=decode_text(policies.association(reader) or b""),
                persistence=_promise(reader),
            )

        return self._read(work)

    def set_policy(
        self, *, read: Audience | None = None, mint: Audience | None = None, bind: Audience | None = None,
        admin: Audience | None = None, minting: MintingPolicy | None = None,
        mint_limit: int | Literal["default"] | None = None, association: Text | None = None,
        persistence: Text | None = None, start: Moment | None = None, until: Moment | None = None,
    ) -> MinterPolicy:
        """Change the policies that are named, all or none, and return them all.

        The word `default` in place of a value goes back to the default.  `start` and `until` go with `persistence`.
        """
        access = {"read": read, "mint": mint, "bind": bind, "admin": admin}
        rules = {name: _access_rule(audience) for name, audience in access.items() if audience is not None}
        stated = {"minting": minting, "mint-limit": None if mint_limit is None else str(mint_limit),
                  "association": association, "persistence": persistence}
        begin, end = start_timestamp(start), end_timestamp(until)
        if (begin or end) and persistence in (None, "default", b"default"):
            raise UsageError("start and until go with the text of a persistence policy")

        def work(writer: Writer) -> None:
            for name, rule in rules.items():
                policies.set_access(writer, self._actor, name, rule)
            for name, text in stated.items():
                if text is not None:
                    policies.set_stated_policy(writer, self._actor, name, to_bytes(text), begin, end)

        self._open.write(work)
        return self.policy()


def opened(source: Path | IO[bytes]) -> AbstractContextManager[IO[bytes]]:
    """A file to read, opened if it is a path."""
    return open_input(os.fspath(source)) if isinstance(source, (str, os.PathLike)) else nullcontext(source)


def _path_of(source: Path | IO[bytes]) -> bytes:
    """The path of a file, empty if it was opened already."""
    return os.fsencode(source) if isinstance(source, (str, os.PathLike)) else b""


def _access_rule(audience: Audience) -> policies.AccessRule | None:
    words = [to_bytes(word) for word in ([audience] if isinstance(audience, str) else audience)]
    return None if words == [b"default"] else policies.AccessRule.parse(words)


def _promise(reader: Reader) -> PersistencePromise | None:
    found = policies.persistence(reader)
    if found is None:
        return None
    return PersistencePromise(decode_text(found.text), moment(found.start), moment(found.until))
