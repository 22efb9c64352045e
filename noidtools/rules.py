"""Rules: computing a value from an identifier, as Perl's s/pattern/replacement/ does.

A pattern is a Perl-compatible regular expression (PCRE2).  Only its first
match is replaced; what stands before and after it stays.  Options are given
inside the pattern: `(?i)` ignores case, `(?a)` keeps \\w and \\d to ASCII.

A replacement is text in which

    $1 … $99   ${1}     are what a group matched (nothing, if it took no part); so are \\1 … \\99
    $+{name}            is what the leftmost group of that name that took part matched
    $&                  is the whole match
    \\U  \\L              put all up to \\E, or to the end, in upper or in lower case
    \\u  \\l              put the next character in upper or in lower case
    \\Q                  puts a backslash before all up to \\E that is not an ASCII letter, a digit, _ or outside ASCII
    \\n  \\t              are a newline and a tab
    \\xHH  \\x{H…}        are the character of that number, in UTF-8
    \\ before any other byte but an ASCII letter or digit stands for that byte: \\$ \\\\ \\@

and every other byte, @ too, stands for itself.  Any other use of `$`, and `\\` before
another letter or digit, is refused: in Perl it would be a variable or an
escape that does not exist here.  Nothing in a rule is ever executed.

Pattern and identifier are read as UTF-8, so that `.` matches a whole é and
\\w matches letters of all scripts; if either is not valid UTF-8, byte by byte.

Matching is bounded in time by PCRE2's own limit of steps, which is smaller where
a step can take long.  The limit is for each place of the identifier at which a
match may begin: where all of them together would take too long, one after the
other is tried, and between two of them the clock is asked.  The clock is the
thread's processor time, so that a busy machine does not change answers.  A match
that does not come in time counts as no match.
"""

from __future__ import annotations

from time import thread_time

from .codec import HEX_DIGITS
from .errors import InvalidError, printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

MAX_PATTERN = 10_000
MAX_REPLACEMENT = 10_000
MAX_GROUPS = 99
MAX_RESULT = 1_000_000  # a replacement full of $& multiplies a long identifier
RULE_SECONDS = 0.012  # for one rule, after which no further place of the identifier is tried
LOOKUP_SECONDS = 0.1  # for all rules of a RuleSet together

# A step can go through the whole identifier with a class as long as the pattern, which takes 0.2 ns a byte and byte.
# So the steps at one place are limited to some 50 ms, and the product of the two so that a step takes a few.
_MAX_IDENTIFIER = 128_000
_MAX_AREA = 32_000_000
_MOST_STEPS = 5000
_FEWEST_STEPS = 64
_STEPS_AND_AREA = 250_000_000

# A setting such as (*LIMIT_MATCH=…) only counts at the very start, and (?J)
# ends the start: a pattern that brings its own does not compile.  (?J) allows
# two groups of one name, (*LF) makes \n alone end a line, both as in Perl.
_SETTINGS = b"(*LIMIT_HEAP=16384)(*LIMIT_MATCH=%d)(*LF)(?J)"
_DIGITS = b"0123456789"
_LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LITERALS = _DIGITS + _LETTERS + b"/_-:=%~,;@!&<>'\""

# An escape in a pattern; \Q quotes all up to \E.
_ESCAPED = rb"(?s)\\(?:Q.*?(?:\\E|\Z)|x\{[^}]*\}?|x[0-9A-Fa-f]{0,2}|c.?|.)"

# What reaches back to the character before it; the last three only may.
_REACHES_BACK = (b"*", b"+", b"?", b"{", b"(?#", b"\\E", b"\\Q")


class Part:
    """A part of a replacement.

    content  literal text, the number of a group, or the name of one
    escapes  the letters of the escapes U, L, u, l and Q that apply to it, in the order in which they are applied
    """

    __slots__ = ("content", "escapes")

    def __init__(self, content: bytes | int | str, escapes: bytes = b"") -> None:
        self.content = content
        self.escapes = escapes


class Computed:
    """The result of a rule, and who wrote it.

    `written` has a byte for each of the value: 1 if it stands in the replacement, 0 if it comes from the identifier.
    """

    __slots__ = ("value", "written")

    def __init__(self, value: bytes, written: bytes) -> None:
        self.value = value
        self.written = written


class Rule:
    """A checked pattern and replacement; InvalidError says what is wrong with them."""

    __slots__ = ("_anchored", "_compiled", "_engine", "_parts", "_source", "_utf", "pattern", "replacement")

    pattern: bytes
    replacement: bytes

    def __init__(self, pattern: bytes, replacement: bytes) -> None:
        if not pattern:
            raise InvalidError("the rule's pattern is empty: ^ matches every identifier")
        if len(pattern) > MAX_PATTERN:
            raise InvalidError(f"the rule's pattern is longer than {MAX_PATTERN} bytes")
        if len(replacement) > MAX_REPLACEMENT:
            raise InvalidError(f"the rule's replacement is longer than {MAX_REPLACEMENT} bytes")
        # Most commands need no rule, and this import takes as long as all others.
        import pcre2  # type: ignore[import-untyped, unused-ignore]

        self._engine: Any = pcre2
        self.pattern = pattern
        self.replacement = replacement
        self._source = _with_perl_escapes(pattern)
        self._utf = _is_utf8(pattern)
        self._anchored = _is_anchored(pattern)
        # By whether the identifier is UTF-8, and the number of steps.
        self._compiled: dict[tuple[bool, int], Any] = {}
        self._parts = parse_replacement(replacement)
        self._check_references(self._checked())

    def apply(self, identifier: bytes, *, deadline: float | None = None) -> bytes | None:
        """The value that `compute` gives."""
        computed = self.compute(identifier, deadline=deadline)
        return None if computed is None else computed.value

    def compute(self, identifier: bytes, *, deadline: float | None = None) -> Computed | None:
        """The identifier with the first match replaced; None if nothing matches in time.

        `deadline`, a value of time.thread_time(), can only shorten the time a rule has.
        """
        size = len(identifier)
        if size > _MAX_IDENTIFIER or size * len(self.pattern) > _MAX_AREA:
            return None
        if deadline is not None and thread_time() >= deadline:
            return None
        try:
            match = self._search(identifier, deadline)
            return None if match is None else self._expand(match, identifier)
        except self._failures():
            return None

    def _failures(self) -> tuple[type[Exception], ...]:
        # The package raises the latter three for results it has no text for.
        return (self._engine.LibraryError, ValueError, RuntimeError, MemoryError)

    def _checked(self) -> Any:
        """The compiled pattern."""
        try:
            compiled = self._compile(self._utf, _MOST_STEPS)
        except self._failures() as error:
            raise InvalidError(f"the rule's pattern does not compile: {self._reason(error)}") from None
        if compiled.groups > MAX_GROUPS:
            raise InvalidError(f"the rule's pattern has more than {MAX_GROUPS} groups: use (?:…) for some")
        return compiled

    def _reason(self, error: Exception) -> str:
        reason = str(error).partition("; ")[2] or str(error)
        at = getattr(error, "pos", 0) - len(_SETTINGS % _MOST_STEPS)
        known = at >= 0 and self._source == self.pattern
        return f"{reason} at offset {at}" if known else reason

    def _check_references(self, compiled: Any) -> None:
        for part in [part.content for part in self._parts]:
            if isinstance(part, str) and part not in compiled.groupindex:
                raise InvalidError(f"the rule's replacement names a group {part[:40]!r} that the pattern does not have")
            if isinstance(part, int) and part > compiled.groups:
                first, rest = divmod(part, 10)
                remedy = f": write ${{{first}}}{rest} for a digit after group {first}" if first else ""
                raise InvalidError(
                    f"the rule's replacement refers to group {part}, "
                    f"but the pattern has only {compiled.groups}{remedy}"
                )

    def _search(self, identifier: bytes, deadline: float | None) -> Any:
        """The first match; None if there is none, or not in time."""
        utf, size = self._utf and _is_utf8(identifier), len(identifier)
        try:
            return self._compile(utf, self._steps(size, 1 if self._anchored else size + 1)).search(identifier)
        except self._engine.LibraryError:
            # Verbs such as (*COMMIT) say at one place what is done about the others: PCRE2 must go through them.
            if self._anchored or b"(*" in self.pattern:
                return None
        limit = thread_time() + RULE_SECONDS
        compiled = self._compile(utf, self._steps(size, 1))
        for place in self._places(identifier, utf):
            match = compiled.match(identifier, place)
            if match is not None:
                return match
            if thread_time() >= (limit if deadline is None else min(limit, deadline)):
                break
        return None

    def _places(self, identifier: bytes, utf: bool) -> Iterator[int]:
        """Where a match may begin: not within a character of several bytes."""
        return (place for place in range(len(identifier) + 1)
                if not utf or identifier[place : place + 1] < b"\x80" or identifier[place] >= 0xC0)

    def _steps(self, size: int, places: int) -> int:
        """How many steps a match may take at each of some places; a power of two, so that few patterns are compiled."""
        steps = max(_FEWEST_STEPS, min(_MOST_STEPS, _STEPS_AND_AREA // ((size + 50) * len(self.pattern))))
        return 1 << max(1, steps // places).bit_length() - 1

    def _compile(self, utf: bool, steps: int) -> Any:
        """The pattern under a limit of steps.

        For the interpreter, not the just-in-time compiler, which lets single
        characters go back uncounted and has a stack of 32 kB.
        """
        compiled = self._compiled.get((utf, steps))
        if compiled is None:
            flags = self._engine.UNICODE if utf else 0
            compiled = self._engine.compile(_SETTINGS % steps + self._source, flags, jit=False)
            self._compiled[utf, steps] = compiled
        return compiled

    def _expand(self, match: Any, identifier: bytes) -> Computed | None:
        start, end = match.span()
        pieces = [identifier[:start]]
        written = [bytes(start)]
        size = start + len(identifier) - end
        for part in self._parts:
            content = part.content
            if isinstance(content, int):
                first, last = match.span(content)
                piece = identifier[first:last]  # [-1:-1] for a group that took no part
            elif isinstance(content, str):
                piece = match.expand(b"${%s}" % content.encode())
            else:
                piece = content
            if part.escapes:
                piece = _with_case(piece, part.escapes)
            size += len(piece)
            if size > MAX_RESULT:
                return None
            pieces.append(piece)
            written.append(b"\1" * len(piece) if isinstance(content, bytes) else bytes(len(piece)))
        pieces.append(identifier[end:])
        written.append(bytes(len(identifier) - end))
        return Computed(b"".join(pieces), b"".join(written))


class RuleSet:
    """Rules in order of precedence.

    A rule is compiled when an identifier first gets past its literal start;
    one that does not compile (it may come from another version of the
    library) counts as one that never matches.
    """

    __slots__ = ("_compiled", "_pairs")

    def __init__(self, pairs: Iterable[tuple[bytes, bytes]]) -> None:
        self._pairs = [(_literal_start(pattern), pattern, replacement) for pattern, replacement in pairs]
        self._compiled: dict[int, Rule | None] = {}

    def __len__(self) -> int:
        return len(self._pairs)

    def first(self, identifier: bytes) -> tuple[Rule, bytes] | None:
        """The rule that `compute` finds, and the value."""
        hit = self.compute(identifier)
        return None if hit is None else (hit[0], hit[1].value)

    def compute(self, identifier: bytes) -> tuple[Rule, Computed] | None:
        """The first rule that matches and its result; None if none does within LOOKUP_SECONDS."""
        deadline = thread_time() + LOOKUP_SECONDS
        for number, (start, _, _) in enumerate(self._pairs):
            rule = self._rule(number) if identifier.startswith(start) else None
            if rule is None:
                continue
            result = rule.compute(identifier, deadline=deadline)
            if result is not None:
                return rule, result
            if thread_time() > deadline:
                return None
        return None

    def _rule(self, number: int) -> Rule | None:
        if number not in self._compiled:
            try:
                self._compiled[number] = Rule(*self._pairs[number][1:])
            except InvalidError:
                self._compiled[number] = None
        return self._compiled[number]


def _literal_start(pattern: bytes) -> bytes:
    """Text with which every matching identifier begins; empty when that is not plain to see."""
    if not pattern.startswith(b"^") or b"|" in pattern:
        return b""
    start = bytearray()
    at = 1
    while at < len(pattern):
        if pattern[at] in _LITERALS:
            start.append(pattern[at])
            at += 1
        elif pattern[at] == 0x5C and pattern[at + 1 : at + 2] in (b".", b"/", b"-", b"+", b"$"):
            start.append(pattern[at + 1])
            at += 2
        else:
            break
    return bytes(start[:-1] if pattern.startswith(_REACHES_BACK, at) else start)


def _is_anchored(pattern: bytes) -> bool:
    """Whether a match can only begin where the identifier does, as far as that is plain to see."""
    return b"\\G" in pattern or (pattern.startswith(b"^") and b"|" not in pattern)


def _with_perl_escapes(pattern: bytes) -> bytes:
    """The pattern with Perl's \\xh, \\xhh and \\x{h…} in octal.

    The package has PCRE2 read \\x, \\u and \\U as JavaScript does, where \\x{2f}
    means an x and a quantifier; \\o{57} means the same to everyone.
    """
    if not any(escape in pattern for escape in (b"\\x", b"\\u", b"\\U")):
        return pattern
    import re  # which few rules need

    return re.sub(_ESCAPED, lambda found: _in_octal(found[0]), pattern)


def _in_octal(escape: bytes) -> bytes:
    """An escape as PCRE2 reads it."""
    if escape[1:2] in (b"u", b"U"):
        raise InvalidError(f"the rule's pattern contains {escape.decode()}: write characters as \\x{{…}}")
    if escape[1:2] != b"x":
        return escape
    braced = escape[2:3] == b"{"
    digits = (escape[3:-1].strip() if braced else escape[2:]) or b"0"
    if (braced and not escape.endswith(b"}")) or len(digits) > 8 or digits.strip(HEX_DIGITS):
        raise InvalidError("the rule's pattern contains a malformed \\x{: write hexadecimal digits and }")
    return b"\\o{%o}" % int(digits, 16)


def _is_utf8(text: bytes) -> bool:
    if text.isascii():
        return True
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


# -- replacements ----------------------------------------------------------------------------------------------------

_ESCAPES = {b"n": b"\n", b"t": b"\t"}
_LONGEST_NUMBER = 6  # hexadecimal digits of a character


def parse_replacement(text: bytes) -> list[Part]:
    """The parts of a replacement; raises InvalidError for what is none."""
    parts: list[Part] = []
    literal = bytearray()
    spans = once = b""  # the escapes that last up to \\E, the outermost first, and those for the next part
    at = 0

    def add(content: bytes | int | str) -> None:
        nonlocal once
        parts.append(Part(content, spans.replace(b"Q", b"") + once + b"Q" * spans.count(b"Q")))
        once = b""

    while at < len(text):
        letter = text[at + 1 : at + 2]
        if text[at] == 0x24 or (text[at] == 0x5C and letter and letter in _DIGITS):
            if literal:
                add(bytes(literal))
                literal.clear()
            reference, at = _parse_reference(text, at)
            add(reference)
        elif text[at] == 0x5C and letter and letter in b"ULQEul":
            if literal:
                add(bytes(literal))
                literal.clear()
            spans, once = _case_after(letter, spans, once)
            at += 2
        elif text[at] == 0x5C:
            character, at = _escaped(text, at)
            literal += character
        else:
            literal.append(text[at])
            at += 1
    if literal:
        add(bytes(literal))
    return parts


def _case_after(letter: bytes, spans: bytes, once: bytes) -> tuple[bytes, bytes]:
    """The escapes that apply after one more of them, as Perl nests them: \\U ends \\L, and \\L ends \\U."""
    if letter in b"ul":
        return spans, once or letter
    if letter == b"E":
        return spans[:-1], once
    while letter in b"UL" and spans.strip(b"Q"):
        spans = spans[:-1]
    return spans + letter, once


def _with_case(piece: bytes, escapes: bytes) -> bytes:
    """The piece after these escapes were applied; octets that are not UTF-8 stay as they are."""
    text = piece.decode("utf-8", "surrogateescape")
    for escape in escapes.decode():
        if escape == "U":
            text = text.upper()
        elif escape == "L":
            text = text.lower()
        elif escape == "Q":
            text = "".join(c if c == "_" or not c.isascii() or c.isalnum() else f"\\{c}" for c in text)
        else:
            text = (text[:1].title() if escape == "u" else text[:1].lower()) + text[1:]
    return text.encode("utf-8", "surrogateescape")


def _escaped(text: bytes, at: int) -> tuple[bytes, int]:
    """What the backslash at this place and what follows it stand for, and the place after them."""
    letter = text[at + 1 : at + 2]
    if not letter:
        raise InvalidError("the rule's replacement ends in a backslash: write \\\\ for one")
    if letter == b"x":
        return _numbered(text, at)
    if letter in _LETTERS and letter not in _ESCAPES:
        raise InvalidError(f"the rule's replacement contains \\{letter.decode()}: it knows \\U, \\L, \\u, \\l, \\Q, "
                           "\\E, \\n, \\t, \\xHH, \\1, \\$ and \\\\")
    return _ESCAPES.get(letter, letter), at + 2


def _numbered(text: bytes, at: int) -> tuple[bytes, int]:
    """The character that the escape \\xHH or \\x{H…} at this place stands for, and the place after it."""
    digits, end = text[at + 2 : at + 4], at + 4
    if digits.startswith(b"{"):
        digits, brace, _ = text[at + 3 : at + 4 + _LONGEST_NUMBER].partition(b"}")
        end = at + 4 + len(digits)
        well_formed = bool(brace and digits)
    else:
        well_formed = len(digits) == 2
    if well_formed and not digits.strip(HEX_DIGITS):
        try:
            return chr(int(digits, 16)).encode(), end
        except (ValueError, UnicodeEncodeError):
            pass
    raise InvalidError(f"the rule's replacement contains {printable(text[at : at + 12])!r}, which is no character: "
                       "write \\x and two hexadecimal digits, or \\x{…}")


def _parse_reference(text: bytes, at: int) -> tuple[int | str, int]:
    """What the $ or \\ at this place refers to, and the place after it."""
    if text.startswith(b"$&", at):
        return 0, at + 2
    if text.startswith((b"${", b"$+{"), at):
        end = text.find(b"}", at) + 1
        if not end:
            raise InvalidError(f"the rule's replacement opens a brace at byte {at} and does not close it")
        if text.startswith(b"$+", at):
            return text[at + 3 : end - 1].decode("utf-8", "backslashreplace"), end
        digits = text[at + 2 : end - 1]
    else:
        end = at + 1
        while text[end : end + 1] and text[end] in _DIGITS:
            end += 1
        digits = text[at + 1 : end]
    if digits.isdigit() and len(digits) <= 2 and not digits.startswith(b"0"):
        return int(digits), end
    raise InvalidError(
        f"the rule's replacement contains {printable(text[at : at + 12])!r}, which is none of $1 to $99, ${{1}}, $&, "
        "$+{name} and \\1: write \\$ for a dollar sign"
    )
