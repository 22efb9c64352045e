"""Reports of links that are broken or have moved for good, one for each custodian: as data, as text and as Atom.

A name whose target was changed after the check is left out.
"""

from __future__ import annotations

import os
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from operator import itemgetter
from xml.etree import ElementTree

from ..codec import decode_text, encode_text
from ..errors import printable
from ..minter import Minter, custody
from ..minter.circulation import find
from ..resolution import target_element
from ..store import Reader
from ..times import system_clock, timestamp
from . import Inspector
from .health import DAYS, link_database, path_of

# How many links of a custodian are listed; of the others the number is given.
MOST_LISTED = 500
_PAGE = 500
_ATOM = "http://www.w3.org/2005/Atom"


@dataclass(frozen=True, slots=True)
class ReportedLink:
    """A target that does not answer, or has moved for good.

    identifier, url   the name and its target
    detail            what was answered last
    first_failed, last_good   when; None if never
    days              on how many days it has failed since it last answered
    moved             the address that its server names in its place; empty if it names none
    reported          since when it is broken, or when it was last asked
    """

    identifier: str
    url: str
    detail: str
    first_failed: datetime | None
    last_good: datetime | None
    days: int
    moved: str
    reported: datetime

    @property
    def broken(self) -> bool:
        return self.days >= DAYS


@dataclass(frozen=True, slots=True)
class LinkReport:
    """What is wrong with the links for which a custodian is responsible.

    name, contact  of the custodian
    broken, moved  the links, at most MOST_LISTED of each
    more           how many others there are
    """

    name: str
    contact: str
    broken: tuple[ReportedLink, ...]
    moved: tuple[ReportedLink, ...]
    more: int


def link_reports(minter: Minter, custodian: str = "") -> list[LinkReport]:
    """The reports of all custodians with links to look after, or of the one of that name, in the order of their names.

    Raises StoreError if what was stored cannot be read.
    """
    found: dict[tuple[str, str], list[ReportedLink]] = {}
    numbers: Counter[tuple[str, str, bool]] = Counter()
    if not os.path.exists(path_of(minter.dbdir)):
        return []
    with link_database(minter.dbdir) as database:
        rows = database.execute(
            "SELECT names.name, url, detail, failed, good, days, moved, coalesce(broken, checked) FROM targets "
            "JOIN names USING (url) WHERE (days > 0 OR moved <> '') AND (days >= ? OR moved <> '') "
            "ORDER BY names.name, url", (DAYS,))
        while page := rows.fetchmany(_PAGE):
            for responsible, link in _present(minter, page):
                if not custodian or responsible[0] == custodian:
                    numbers[(*responsible, link.broken)] += 1
                    if numbers[(*responsible, link.broken)] <= MOST_LISTED:
                        found.setdefault(responsible, []).append(link)
    return [_report(*responsible, links, numbers) for responsible, links in sorted(found.items(), key=itemgetter(0))]


def _report(name: str, contact: str, links: list[ReportedLink], numbers: Counter[tuple[str, str, bool]]) -> LinkReport:
    return LinkReport(name, contact, tuple(link for link in links if link.broken),
                      tuple(link for link in links if not link.broken),
                      numbers[name, contact, True] + numbers[name, contact, False] - len(links))


def _present(minter: Minter, rows: list[tuple]) -> list[tuple[tuple[str, str], ReportedLink]]:  # type: ignore[type-arg]
    """Those of the rows whose names still have the target, each with the custodian of the name."""
    def work(reader: Reader) -> list[tuple[tuple[str, str], ReportedLink]]:
        inspector = Inspector(minter, reader, timestamp(system_clock()))
        purpose = custody.element_purpose(target_element(reader))
        found = []
        for key, url, detail, failed, good, days, moved, reported in rows:
            if url not in inspector.result(key, find(reader, key)).urls:
                continue
            link = ReportedLink(decode_text(minter.namespace.display(key)), decode_text(url), detail, _moment(failed),
                                _moment(good), days, moved, datetime.fromtimestamp(reported, timezone.utc))
            found.append((_responsible(minter, reader, key, purpose), link))
        return found

    return minter.read(work)


def _responsible(minter: Minter, reader: Reader, key: bytes, purpose: bytes) -> tuple[str, str]:
    """Name and contact of who answers for the target of a name."""
    custodians = {found.purpose: found for found in custody.current_custodians(minter, reader, key)}
    found = custodians.get(purpose) or custodians[b""]
    return decode_text(found.name), decode_text(found.contact)


def _moment(seconds: int | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, timezone.utc)


# -- text and Atom ---------------------------------------------------------------------------------------------------


def sentence(link: ReportedLink) -> str:
    """What is wrong with a link, in one line."""
    if not link.broken:
        return f"has moved for good to {link.moved}"
    since = f"since {link.first_failed:%Y-%m-%d}" if link.first_failed else ""
    good = f"last good {link.last_good:%Y-%m-%d}" if link.last_good else "never seen to answer"
    return f"fails {since} ({link.detail}); {good}"


def remedy(link: ReportedLink) -> str:
    """The command that puts the new address in the place of the old one; empty if there is none."""
    if link.broken or not link.moved:
        return ""
    return f"noid retarget --from {_quoted(link.url)} --to {_quoted(link.moved)} --prefix {_quoted(link.identifier)}"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _shown(text: str) -> str:
    """A text in one line, without controls that a terminal would obey."""
    return printable(encode_text(text))


def text_lines(report: LinkReport) -> Iterator[str]:
    """A report as a letter to the custodian."""
    yield _shown(f"To: {report.name}{f' <{report.contact}>' if report.contact else ''}")
    for title, links in ((f"Broken links ({len(report.broken)})", report.broken),
                         (f"Links that have moved ({len(report.moved)})", report.moved)):
        if links:
            yield ""
            yield title
        for link in links:
            yield ""
            yield _shown(link.identifier)
            yield from (f"  {_shown(line)}" for line in (link.url, sentence(link), remedy(link)) if line)
    if report.more:
        yield ""
        yield f"and {report.more} others"


def atom_feed(minter: Minter, reports: list[LinkReport], now: int) -> bytes:
    """The reports as an Atom feed (RFC 4287); `now` is in nanoseconds since 1970."""
    ElementTree.register_namespace("", _ATOM)
    settings = minter.settings
    about = f"{settings['created']} {settings['naan']} {settings['template']} {','.join(r.name for r in reports)}"
    links = [(report, link) for report in reports for link in (*report.broken, *report.moved)]
    updated = max((link.reported for _, link in links), default=datetime.fromtimestamp(now // 10**9, timezone.utc))
    feed = ElementTree.Element(f"{{{_ATOM}}}feed")
    _add(feed, "id", _urn(f"links {about}"))
    _add(feed, "title", f"Links to look after: {minter.scheme.namespace_prefix.decode() or 'all names'}")
    _add(feed, "updated", updated.isoformat())
    _add(_add(feed, "author"), "name", "noidtools")
    for report, link in sorted(links, key=lambda both: both[1].reported, reverse=True):
        entry = _add(feed, "entry")
        _add(entry, "id", _urn(f"{about} {link.identifier} {link.url} {link.first_failed} {link.moved}"))
        _add(entry, "title", f"{link.identifier} {'is broken' if link.broken else 'has moved'}")
        _add(entry, "updated", link.reported.isoformat())
        _add(_add(entry, "author"), "name", report.name)
        _add(entry, "content", "\n".join(filter(None, (link.url, sentence(link), remedy(link)))))
    data: bytes = ElementTree.tostring(feed, encoding="utf-8", xml_declaration=True)
    return data + b"\n"


def _urn(text: str) -> str:
    return uuid.uuid5(uuid.NAMESPACE_URL, text).urn


def _add(parent: ElementTree.Element, name: str, text: str = "") -> ElementTree.Element:
    element = ElementTree.SubElement(parent, f"{{{_ATOM}}}{name}")
    # XML has no other controls, not even as references.
    element.text = "".join(letter if letter in "\n\t" or (letter >= " " and not "\ud800" <= letter <= "\udfff")
                           else "\ufffd" for letter in text)
    return element
