"""From a requested name to its target.  One algorithm for every interface.

    1. given         the name as it came, read as an ARK, a handle, a DOI, a URN or a plain name
    2. normal form   the spellings under which it may be stored, the minter's own labels taken off
    3. alias         continue with the name that it stands for
    4. stored        the target bound to it
    5. rule          the target that the first matching rule computes
    6. passthrough   the longest bound name that it extends at a boundary; the rest goes to that one's target
    7. abstract      the name of something abstract, which leads nowhere
    8. fallback      the resolver of its NAAN, where names are forwarded by the registry (see naans.py); else another
                     resolver, if the minter names one

Rules are matched with the normal form first, then with the name as it was
written, so that all spellings of a name get the same answer.  A query belongs
to the rest in step 6; a rule whose match leaves it out gets it after its
result.  Each step adds a line to the trace, if one is kept.

A minter that has handed its names over sends them all on to its successor.
"""

from __future__ import annotations

from itertools import chain

from .. import names
from ..codec import ALPHANUMERIC, percent_decode
from ..errors import ForbiddenError, GoneError, NotFoundError, printable
from ..minter import circulation, config
from ..minter.circulation import NOT_PUBLIC, WITHDRAWN
from ..minter.circulation import UNAVAILABLE as UNAVAILABLE_FLAG
from ..minter.identifiers import first_known, identify_parsed, parse_name, resolvers, typing_fault
from ..minter.lifecycle import reader_in
from ..minter.namespace import LONGEST_BEGINNING, LONGEST_IDENTIFIER
from ..minter.policies import TARGETS, hides_names
from ..minter.relations import has_abstractions
from ..minter.relations.abstract import find_in_path
from ..minter.schema import ONWARD
from ..names import targets
from ..names.targets import TemplateValues

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..minter import Minter
    from ..names import Name
    from ..names.targets import Target
    from ..store import Reader
    from .naans import Authority
    Trace = list[tuple[str, bytes]]

FOUND, GONE, RESERVED, NOT_FOUND, INVALID, ALIAS = "found", "gone", "reserved", "not found", "invalid", "alias"
ABSTRACT, UNAVAILABLE = "abstract", "unavailable"
# The step that decided where a name of a minter leads that was handed over.
DEPARTURE = "departure"

# The settings of a resolver (see config.py), and the element that is read unless another is chosen.
ELEMENT, FALLBACK, PASSTHROUGH, CANARY, CACHE, STATISTICS, WAYBACK = (
    f"resolver/{choice}"
    for choice in ("element", "fallback", "passthrough", "canary", "cache", "statistics", "wayback")
)
USUAL_ELEMENT = b"_t"
# How long web caches keep answers about names, as their Cache-Control header says it: for some minutes, and while the
# resolver does not answer, for a day.
USUAL_CACHE = b"max-age=300, stale-if-error=86400"
_PLACES = (config.place(ELEMENT), config.place(CACHE), config.place(STATISTICS), config.place(ONWARD))

# Bound to a name with the value `off`, it keeps extensions of that name from being passed through.
PASSTHROUGH_ELEMENT = b"_passthrough"

# Every character that neither names of ARKs nor URLs have is turned into a boundary.
_LETTERS = ALPHANUMERIC + b"=~*+@_$-" + names.BOUNDARIES + bytes(range(0x80, 0x100))
# No base is longer: each of its characters may be escaped, and a resolver may stand in front.
_LONGEST_BASE = 4 * LONGEST_BEGINNING
_BOUNDARY = bytes(octet if octet in _LETTERS else 0x2F for octet in range(256))
_IS_RESERVED = "the name is reserved, and not yet published"
_MOST_ALIASES = 16


class Outcome:
    """What became of a name.

    kind        found, gone (it was withdrawn), reserved (not yet for the public), abstract (it names something that
                only other names realise), not found, invalid (its check character is wrong)
    by          the step that decided: stored, rule, passthrough, fallback or departure; empty when none did
    identifier  the stored identifier that answered, or in its absence the name in normal form
    value       the target as bound or computed; for an alias the name that comes next
    suffix      what the name has beyond the identifier
    asked       the name as it was asked for
    cache       how long a web cache may keep the answer
    counted     whether the minter has resolutions counted
    reason      for a name without target, a sentence about that
    authority   whose NAAN an unknown name has, if that is known and not ours
    """

    __slots__ = ("kind", "by", "minter", "identifier", "value", "suffix", "pattern", "reason", "asked", "cache",
                 "authority", "counted")

    def __init__(
        self, kind: str, minter: Minter | None, identifier: bytes, *, by: str = "", value: bytes = b"",
        suffix: bytes = b"", pattern: bytes = b"", reason: str = "", authority: Authority | None = None,
    ) -> None:
        self.kind = kind
        self.minter = minter
        self.identifier = identifier
        self.by = by
        self.value = value
        self.suffix = suffix
        self.pattern = pattern
        self.reason = reason
        self.asked = self.cache = b""
        self.authority = authority
        self.counted = False

    @property
    def refusal(self) -> str:
        """The sentence for a name without target."""
        name = self.minter.namespace.display(self.identifier) if self.minter else self.identifier
        whose = f"; {self.authority.sentence}" if self.authority else ""
        return f"{printable(name)} does not resolve: {self.reason or 'its target cannot be used'}{whose}"

    def error(self) -> NotFoundError:
        """The refusal of a name without target."""
        return (GoneError if self.kind == GONE else NotFoundError)(self.refusal)

    @property
    def targets(self) -> list[Target]:
        """Where the name leads, the first choice first; empty unless it was found."""
        if self.kind != FOUND:
            return []
        found = targets.parse(self.value)
        if self.by not in ("fallback", DEPARTURE) and (self.suffix or b"$" in self.value):
            values = self._template_values()
            for target in found:
                target.url = targets.extended(target.url, values) or b""
        return [target for target in found if target.url]

    def _template_values(self) -> TemplateValues:
        cited = self.minter.namespace.cite(self.identifier) if self.minter else self.identifier
        name = names.parse(cited)
        content = name.written if name.scheme else self.identifier
        return TemplateValues(
            self.suffix, content + self.suffix, scheme=name.scheme, pid=names.parse(self.asked).found, identifier=cited)


class Lookup:
    """Looks names up in one minter, in one read transaction."""

    __slots__ = ("_minter", "_namespace", "_reader", "_element", "_trace", "_cache", "_counted", "_onward")

    def __init__(
        self, minter: Minter, reader: Reader, element: bytes | None = None, trace: Trace | None = None
    ) -> None:
        self._minter = minter
        self._namespace = minter.namespace
        self._reader = reader
        usual, cache, counted, self._onward = reader.get_many(_PLACES)
        self._cache = cache or USUAL_CACHE
        self._counted = counted == b"on"
        self._element = element or usual or USUAL_ELEMENT
        self._trace = trace

    def find(self, text: bytes) -> Outcome:
        """All steps, except that an alias is not followed: another minter may hold the name it stands for."""
        outcome = self._find(text)
        return outcome if self._onward is None else self._handed_over(outcome, text, self._onward)

    def _handed_over(self, outcome: Outcome, text: bytes, address: bytes) -> Outcome:
        """The names of a minter that has departed go on to its successor, also those that were never minted here; but
        for those that were withdrawn or mistyped."""
        scheme = self._minter.scheme
        if outcome.kind not in (FOUND, ALIAS, UNAVAILABLE, NOT_FOUND, RESERVED) or outcome.by == "fallback":
            return outcome
        name = self._without_pepper(parse_name(self._minter, self._reader, text))
        if outcome.kind in (NOT_FOUND, RESERVED) and (scheme.free or not scheme.owns(self._namespace.new_key(name))):
            return outcome
        value = fallback_target(address, name, self._namespace.labels)
        self._note("departure", b"the names of this minter were handed over; " + value)
        onward = Outcome(FOUND, self._minter, outcome.identifier, by=DEPARTURE, value=value)
        onward.asked, onward.cache, onward.counted = outcome.asked, outcome.cache, outcome.counted
        return onward

    def _find(self, text: bytes) -> Outcome:
        if len(text) > LONGEST_IDENTIFIER:
            return Outcome(NOT_FOUND, self._minter, text[:60], reason="the name is too long to be one")
        space = self._namespace
        literal = b""
        if self._trace is None:
            # Most requests spell the name as it is stored, and then there is nothing to parse.
            literal = space.literal_key(text)
            hit = self.at(literal)
            if hit is not None:
                hit.asked, hit.cache, hit.counted = text, self._cache, self._counted
                return hit
        name = parse_name(self._minter, self._reader, text)
        if self._trace is not None:
            self._note("normal form", names.stored(name, space.labels) + (b" and " + name.query if name.query else b""))
        try:
            name = self._without_pepper(name)
        except ForbiddenError as error:
            self._note("pepper", error.message.encode("utf-8", "surrogateescape"))
            return Outcome(INVALID, self._minter, names.stored(name, space.labels), reason=error.message)
        hit = self._at_first_known(space.spellings(name), tried=literal) or self._without_inflection(name)
        self._trace_stored(hit)
        outcome = hit or self._computed(name) or self._extended(name) or self._missing(name)
        outcome.asked, outcome.cache, outcome.counted = name.given, self._cache, self._counted
        return outcome

    def _without_pepper(self, name: Name) -> Name:
        """The name without its pepper, which neither rules nor other resolvers may see; raises ForbiddenError for a
        wrong one."""
        if b"!" not in name.given and b"%21" not in name.given:
            return name
        ref = identify_parsed(self._minter, self._reader, name)
        return self._namespace.parse(ref.display) if ref.peppered else name

    def _without_inflection(self, name: Name) -> Outcome | None:
        """What is stored of the name of which a text asks for the description: it leads where the name leads."""
        shorter = names.without_inflection(name.given)
        if shorter == name.given:
            return None
        return self._at_first_known(self._namespace.spellings(parse_name(self._minter, self._reader, shorter)))

    def at(self, key: bytes, suffix: bytes = b"") -> Outcome | None:
        """What is stored under exactly this identifier: steps 3 and 4."""
        alias, flags, value = circulation.look_up(self._reader, key, self._element)
        if alias is not None:
            return Outcome(ALIAS, self._minter, key, value=alias + suffix)
        if flags & NOT_PUBLIC:
            if flags & WITHDRAWN:
                return Outcome(GONE, self._minter, key, suffix=suffix, reason="the name was withdrawn")
            if flags & UNAVAILABLE_FLAG:
                return Outcome(UNAVAILABLE, self._minter, key, suffix=suffix, reason="the name is unavailable")
            return Outcome(RESERVED, self._minter, key, suffix=suffix, reason=_IS_RESERVED)
        if not value or value.isspace():
            return None
        return Outcome(FOUND, self._minter, key, by="stored", value=value, suffix=suffix)

    def _trace_stored(self, hit: Outcome | None) -> None:
        """Trace steps 3 and 4."""
        if hit is not None and hit.kind == ALIAS:
            self._note("alias", hit.identifier + b" stands for " + hit.value)
            return
        self._note("alias", b"it is none")
        if hit is None:
            self._note("stored", b"nothing is bound to " + self._element)
        elif hit.kind == GONE:
            self._note("stored", hit.identifier + b" was withdrawn")
        elif hit.kind == UNAVAILABLE:
            self._note("stored", hit.identifier + b" is unavailable")
        elif hit.kind == RESERVED:
            self._note("stored", hit.identifier + b" is reserved")
        else:
            self._note("stored", hit.value + b" is bound to " + self._element + b" under " + hit.identifier)

    def _computed(self, name: Name) -> Outcome | None:
        rules = self._minter.rulebook.rules(self._reader, self._element)
        if rules is None:
            self._note("rule", b"there is none for " + self._element)
            return None
        based = self._based(name) or self._closed_base(name)
        if based is not None:
            return based
        space = self._namespace
        identifier = identify_parsed(self._minter, self._reader, name).key
        for key in chain(space.rule_keys(name, identifier), space.without_query(name) if name.query else ()):
            # In what a reader sends, a bar does not separate targets.
            hit = rules.compute(key.replace(b"|", b"%7C"))
            if hit and not targets.stays(hit[1].value, hit[1].written):
                self._note("rule", b":idmap/" + hit[0].pattern + b" would let the reader choose the site: passed over")
                continue
            # The query came off with the spelling that matched: it is a rest like any other.
            suffix = name.query if hit and name.query and not key.endswith(name.query) else b""
            if hit and (not suffix or self._passes(b"")):
                self._note("rule", b":idmap/" + hit[0].pattern + b" makes " + hit[1].value + b" of " + key)
                if key != identifier and key == space.display(identifier):
                    key = identifier  # noqa: PLW2901
                return Outcome(
                    FOUND, self._minter, key, by="rule", value=hit[1].value, suffix=suffix, pattern=hit[0].pattern)
        self._note("rule", b"none of %d matches" % len(rules))
        return None

    def _based(self, name: Name) -> Outcome | None:
        """Names that take precedence over rules: a base that is closed, and a stored name with a query."""
        for keys, rest in self._namespace.beginnings(name):
            hit = self._at_first_known(keys, rest)
            if hit is None:
                continue
            if self._is_closed(hit):
                self._trace_stored(hit)
                return hit
            if hit.kind == FOUND and rest == name.query and self._passes(b"") and self._passes(hit.identifier):
                self._note("passthrough", hit.identifier + b" is bound; the rest is " + rest)
                hit.by = "passthrough"
                return hit
            return None
        return None

    def _closed_base(self, name: Name) -> Outcome | None:
        """The withdrawn, unavailable or reserved name that this one extends after an escaped boundary, as in
        `NAME%2Fx`, or after a character that no name has, as in `NAME|x`."""
        found = name.found[:_LONGEST_BASE]
        plain = percent_decode(found).translate(_BOUNDARY)
        if plain == found:
            return None
        minter = self._minter
        if not minter.scheme.free and identify_parsed(minter, self._reader, name).well_formed:
            return None  # a repertoire may have such characters
        for keys, _ in self._namespace.beginnings(self._namespace.parse(plain)):
            hit = self._at_first_known(keys)
            if hit is not None:
                if self._is_closed(hit):
                    self._trace_stored(hit)
                    return hit
                break
        return None

    def _is_closed(self, hit: Outcome) -> bool:
        """Whether a stored name was withdrawn, is unavailable or reserved, or is an alias of such a name."""
        if hit.kind == ALIAS:
            hit = follow_aliases(Lookup(self._minter, self._reader, self._element).find, hit.identifier)
        return hit.kind in (GONE, RESERVED, UNAVAILABLE)

    def _extended(self, name: Name) -> Outcome | None:
        if not self._passes(b""):
            self._note("passthrough", b"is turned off for this minter")
            return None
        for keys, rest in self._namespace.beginnings(name):
            hit = self._at_first_known(keys, rest)
            if hit is None:
                continue
            if hit.kind == FOUND and not self._passes(hit.identifier):
                self._note("passthrough", b"is turned off for " + hit.identifier)
                return None
            self._note("passthrough", hit.identifier + b" is the longest bound name; the rest is " + rest)
            hit.by = "passthrough" if hit.kind == FOUND else ""
            return hit
        self._note("passthrough", b"no bound name begins it")
        return None

    def _at_first_known(self, keys: list[bytes], rest: bytes = b"", *, tried: bytes = b"") -> Outcome | None:
        """What is stored under the identifier that these spellings mean; under the key `tried` there is nothing."""
        return first_known(keys, lambda key: None if key == tried else self.at(key, rest),
                           lambda key: circulation.is_known(self._reader, key))

    def _passes(self, key: bytes) -> bool:
        """Whether extensions are passed through: at all, or for this name."""
        if key:
            return circulation.value_of(self._reader, key, PASSTHROUGH_ELEMENT) != b"off"
        return config.value(self._reader, PASSTHROUGH) != b"off"

    def _missing(self, name: Name) -> Outcome:
        closed = self._closed_base(name)
        if closed is not None:
            return closed
        abstract = self._abstract(name)
        if abstract is not None:
            return abstract
        normal = names.stored(name, self._namespace.labels)
        fault = typing_fault(self._minter, self._reader, name)
        if fault is not None:
            self._note("check", fault.encode("utf-8", "surrogateescape"))
            return Outcome(INVALID, self._minter, normal, reason=fault)
        base = config.value(self._reader, FALLBACK)
        is_home = self._namespace.is_home_of(name)
        value = b"" if is_home else target_elsewhere(self._minter, name, base, resolvers(self._reader))
        if value:
            self._note("fallback", value)
            return Outcome(FOUND, self._minter, normal, by="fallback", value=value)
        self._note("fallback", b"is not for names of this minter's own NAAN" if is_home and base else
                   b"is only for names" if base else b"there is none")
        space = self._namespace
        keys = *space.spellings(name), *space.without_query(name)
        known = any(circulation.is_known(self._reader, key) for key in keys)
        reason = "the name is known, but nothing says where it leads" if known else "nothing is known of this name"
        authority = None if known or is_home else authority_elsewhere(self._minter, name)
        return Outcome(NOT_FOUND, self._minter, normal, reason=reason, authority=authority)

    def _abstract(self, name: Name) -> Outcome | None:
        if not has_abstractions(self._reader):
            return None
        abstraction = find_in_path(self._minter, self._reader, name.given)
        if abstraction is None:
            return None
        what = f"it is an abstract {abstraction.kind}, which leads nowhere by itself"
        self._note("abstract", what.encode())
        return Outcome(ABSTRACT, self._minter, abstraction.key, reason=what)

    def _note(self, step: str, text: bytes) -> None:
        """Add a line to the trace, if one is kept."""
        if self._trace is not None:
            self._trace.append((step, text))


def target_element(reader: Reader) -> bytes:
    return config.value(reader, ELEMENT) or USUAL_ELEMENT


def is_sent_elsewhere(name: Name) -> bool:
    """Whether a fallback is asked for a name: not for what browsers and crawlers look for on every server, such as
    /favicon.ico, /robots.txt and /.well-known/…"""
    first, slash, rest = name.body.partition(b"/")
    if name.scheme or b":" in first or names.has_ibi_outline(name.body):
        return True
    has_naan = slash and first.translate(None, b"0123456789") != first
    is_file = b"." in (rest.rpartition(b"/")[2] if slash else first) and not has_naan
    return bool(name.body) and not is_file and not first.startswith(b".")


def target_elsewhere(minter: Minter, name: Name, base: bytes | None, own: Iterable[bytes] = ()) -> bytes:
    """Where a name is sent that no minter here has: to the resolver of its NAAN if the registry forwards it there, else
    to the fallback; empty if it is not.

    base  the fallback, None if there is none
    own   addresses of our own resolvers, to which nothing is forwarded: they would send it round in a circle
    """
    from .naans import registry_for

    if not is_sent_elsewhere(name):
        return b""
    registry = registry_for(minter.dbdir)
    route = None if registry is None else registry.target(name)
    if route is not None:
        address, content, suffix = route
        value = fallback_target(address, name, content=content, suffix=suffix)
        sites = {targets.site_of(address) for address in own}
        if not any(targets.site_of(target.url) in sites for target in targets.parse(value)):
            return value
    return b"" if base is None else fallback_target(base, name, minter.namespace.labels)


def authority_elsewhere(minter: Minter, name: Name) -> Authority | None:
    """Whose a name is that has none of our NAANs, as the registry says; None if that is not known."""
    from .naans import authority_of

    return authority_of(minter.dbdir, name)


def fallback_target(
    base: bytes, name: Name, labels: tuple[bytes, ...] = (), *, content: bytes = b"", suffix: bytes = b""
) -> bytes:
    """The name at another resolver: where its address has variables, else at its end.

    `content` and `suffix` are what the variables of these names stand for, if not the normal form and what follows the
    NAAN in it.
    """
    text = name.found
    if not name.scheme and labels and not text.startswith(labels) and b"/" in text:
        text = labels[0] + text  # the minter's own label was left out, as in 13030/kt639k9
        name = names.parse(text)
    # `|` would separate two targets, and a line break would end the first.
    pid, body, rest = (targets.one_line(part).replace(b"|", b"%7C")
                       for part in (text, (content or name.body) + name.query, suffix and suffix + name.query))
    rest = rest or body.partition(b"/")[2] or body
    for target in targets.parse(base):
        values = TemplateValues(rest if targets.has_variables(target.url) else pid, body, scheme=name.scheme, pid=pid,
                                identifier=pid)
        url = targets.extended(target.url, values) or b""
        return b"%d %b" % (target.code, url) if target.code else url
    return b""


def follow_aliases(ask: Callable[[bytes], Outcome], given: bytes, trace: Trace | None = None) -> Outcome:
    """Ask for a name, and for the name it stands for, until the answer is not an alias."""
    seen = [given]
    while True:
        if trace is not None:
            trace.append(("given", seen[-1]))
        outcome = ask(seen[-1])
        if outcome.kind is not ALIAS:
            return outcome
        if outcome.value in seen or len(seen) > _MOST_ALIASES:
            return Outcome(NOT_FOUND, outcome.minter, outcome.identifier, reason="its aliases lead nowhere")
        seen.append(outcome.value)


def resolve(minter: Minter, given: bytes, *, element: bytes | None = None, trace: Trace | None = None) -> Outcome:
    """The outcome of a name in one minter, aliases followed."""
    def work(reader: Reader) -> tuple[Outcome, Trace]:
        steps: Trace = []  # its own, since the work may be run again
        kept = None if trace is None else steps
        return follow_aliases(Lookup(minter, reader, element, kept).find, given, kept), steps

    outcome, steps = minter.read(work)
    if trace is not None:
        trace.extend(steps)
    return outcome


def outcome_in(
    view: str, minter: Minter, reader: Reader, text: bytes, outcome: Outcome, *, element: bytes | None = None,
    trace: Trace | None = None,
) -> Outcome:
    """The outcome for a user with this view; `outcome` is the one for a user who sees everything.

    `trace`, if given, is replaced by the one that belongs to the answer.  Where a rule or a fallback answers for
    unknown names, it still does not for a reserved one.
    """
    hidden = (RESERVED, NOT_FOUND, INVALID, *((ABSTRACT,) if view == TARGETS else ()))
    if not hides_names(view) or outcome.kind not in hidden:
        return outcome
    steps: Trace = []
    lookup = Lookup(minter, reader_in(view, reader), element, None if trace is None else steps)
    found = follow_aliases(lookup.find, text, None if trace is None else steps)
    if found.kind not in (NOT_FOUND, INVALID):
        normal = names.stored(parse_name(minter, reader, text), minter.namespace.labels)
        found = Outcome(NOT_FOUND, minter, normal, reason="nothing is known of this name")
        del steps[2:]  # the text as given, and its normal form
    if trace is not None:
        trace[:] = steps
    return found


def resolve_in(
    view: str, minter: Minter, text: bytes, *, element: bytes | None = None, trace: Trace | None = None
) -> Outcome:
    """The outcome as a user with this view may see it, which for a name that is not public is that of an unknown
    one."""
    outcome = resolve(minter, text, element=element, trace=trace)
    if not hides_names(view) or outcome.kind == FOUND:
        return outcome
    return minter.read(lambda reader: outcome_in(view, minter, reader, text, outcome, element=element, trace=trace))


def destination(outcome: Outcome) -> bytes:
    """The target as it stands in a Location header, or the kind of outcome if there is none."""
    for target in outcome.targets:
        return targets.location(target.url) or target.url
    return outcome.kind.encode()
