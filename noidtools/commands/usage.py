"""The usage of a command, by which its words are parsed.

    set Name [Id] [--contact Contact]

A word that begins with a capital letter stands for any word, every other word for itself; `a|b` is a choice.  `…`
repeats the word before it, brackets enclose what may be left out, and `--name` is an option of the command.
"""

from __future__ import annotations

from ..errors import UsageError, printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    # The values of each option by its name, in the order of the words; an empty text for an option without value.
    Options = dict[str, list[str]]


class Pattern:
    """A parsed usage.

    literals   for each place the words that may stand there, empty if any word may
    counts     how many words there may be
    unbounded  whether there may be more than that
    options    the names of the options
    required   those of them that must be present
    """

    __slots__ = ("literals", "counts", "unbounded", "options", "required", "_depth", "_fixed")

    def __init__(self, usage: str, valued: set[str]) -> None:
        self.literals: list[tuple[bytes, ...]] = []
        self.unbounded = False
        self.options: set[str] = set()
        self.required: set[str] = set()
        self._depth = 0
        tokens = usage.replace("[", " [ ").replace("]", " ] ").split()
        self.counts = self._group(tokens[::-1], valued)
        # Positions with literals only; kept apart because every call is compared with them.
        self._fixed = [(place, literals) for place, literals in enumerate(self.literals) if literals]

    def _group(self, tokens: list[str], valued: set[str]) -> set[int]:
        """Parse the tokens, in reverse order, up to the end of a group; returns the possible numbers of its words."""
        counts = {0}
        while tokens and (token := tokens.pop()) != "]":
            if token == "[":
                self._depth += 1
                inner = self._group(tokens, valued) | {0}
                self._depth -= 1
                counts = {outer + more for outer in counts for more in inner}
            elif token.startswith("--"):
                self._add_option(token[2:])
                if token[2:] in valued:
                    tokens.pop()
            elif token != "…":
                self._add_word(token)
                counts = {count + 1 for count in counts}
        return counts

    def _add_option(self, name: str) -> None:
        self.options.add(name)
        if not self._depth:
            self.required.add(name)

    def _add_word(self, token: str) -> None:
        if token.endswith("…"):
            self.unbounded = True
        choices = token.removesuffix("…").split("|")
        self.literals.append(() if any(choice[0].isupper() for choice in choices)
                             else tuple(choice.encode() for choice in choices))

    def lead(self, words: list[bytes]) -> int:
        """How the first word fits the first place: 1 as one of its literals, 0 as any word, -1 not at all."""
        if not words:
            return 0
        if not self.literals:
            return -1
        if not self.literals[0]:
            return 0
        return 1 if words[0] in self.literals[0] else -1

    def admits_options(self, options: Options) -> bool:
        """Whether all required options are present, and no other than those of the usage."""
        if not options:
            return not self.required
        return self.required <= options.keys() <= self.options

    def mismatch(self, words: list[bytes]) -> int | None:
        """The place of the first word that is not among the literals of its place; None if there is none."""
        for place, literals in self._fixed:
            if place < len(words) and words[place] not in literals:
                return place
        return None

    def admits_count(self, count: int) -> bool:
        """Whether there may be so many words."""
        return count in self.counts or (self.unbounded and count > min(self.counts))

    def has_room(self, count: int) -> bool:
        """Whether so many words are not too many."""
        return self.unbounded or count <= max(self.counts)

    def fits(self, words: list[bytes], options: Options) -> bool:
        """Whether words and options are of this usage."""
        return self.admits_count(len(words)) and self.mismatch(words) is None and self.admits_options(options)

    def closeness(self, words: list[bytes], options: Options) -> tuple[int, ...]:
        """How close words that do not fit come to this usage: a key for `max`."""
        count = len(words)
        room = self.has_room(count)
        known = options.keys() <= self.options
        return (self.lead(words), known + self.admits_options(options), self.mismatch(words) is None,
                self.admits_count(count), room, 0 if room else max(self.counts))


class Option:
    """An option of a command: `--name Value`, or `--name` for one that takes no value."""

    __slots__ = ("name", "value", "about")

    def __init__(self, usage: str, about: str) -> None:
        name, _, self.value = usage.partition(" ")
        self.name = name.removeprefix("--")
        self.about = about

    @property
    def usage(self) -> str:
        return f"--{self.name} {self.value}".rstrip()


def split_options(args: list[bytes], known: tuple[Option, ...], *, first: bool) -> tuple[Options, list[bytes]]:
    """Split words into options, `--name value` or `--name=value`, and the remaining words.

    The options end at `--`, and with `first` at the first other word.  Raises UsageError for an unknown option, for a
    value that is missing or superfluous, and for an option behind the place where the options end with `first`.
    """
    for word in args:
        if word.startswith(b"--"):
            break
    else:
        return {}, args  # as in nearly all calls
    options: Options = {}
    words: list[bytes] = []
    pending = args[::-1]
    while pending:
        word = pending.pop()
        if word == b"--":
            break
        if not word.startswith(b"--"):
            words.append(word)
            if first:
                _ensure_no_option(pending, known)
                break
            continue
        name, equals, value = word[2:].partition(b"=")
        option = _option(name, known)
        if not option.value:
            if equals:
                raise UsageError(f"option --{option.name} takes no value")
        elif not equals:
            if not pending:
                raise UsageError(f"option --{option.name} needs a value")
            value = pending.pop()
        options.setdefault(option.name, []).append(as_text(value, f"--{option.name}"))
    return options, words + pending[::-1]


def _ensure_no_option(words: list[bytes], known: tuple[Option, ...]) -> None:
    """Raise UsageError if a word is an option that should have come earlier: taken as a word, it might be bound."""
    names = {option.name.encode() for option in known}
    for word in words:
        name = word[2:].partition(b"=")[0]
        if word.startswith(b"--") and name in names:
            raise UsageError(f"--{name.decode()} comes before the other words; if it is one of them, say -- before the "
                             "first")


def _option(name: bytes, known: tuple[Option, ...]) -> Option:
    for option in known:
        if option.name.encode() == name:
            return option
    names = ", ".join(f"--{option.name}" for option in known)
    raise UsageError(f"there is no option --{printable(name)[:60]}: known are {names}")


def as_text(word: bytes, what: str) -> str:
    """A word as text; raises UsageError if it is not UTF-8, in which `what` names it."""
    try:
        return word.decode()
    except UnicodeDecodeError:
        raise UsageError(f"{what} is not valid UTF-8") from None


def as_count(word: bytes) -> int:
    """A word as a number of identifiers; raises UsageError for what is none."""
    if not word.isdigit() or len(word) > 18:
        raise UsageError(f"how many? {printable(word)!r} is not a number from 0 on")
    return int(word)
