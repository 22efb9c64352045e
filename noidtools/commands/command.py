"""What a command is: its forms and, for each form, the usage, the access classes, and what running it involves.

The words of a call are parsed by the usage of the command:

    set Name [Id] [--contact Contact]

A word that begins with a capital letter stands for any word, every other word for itself; `a|b` is a choice.  `…`
repeats the word before it, brackets enclose what may be left out, and `--name` is an option of the command.
"""

from __future__ import annotations

from ..errors import UsageError, printable
from ..minter.policies import CLASSES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .answers import Answer
    from .call import Call, Invocation

    # The values of each option by its name, in the order of the words; an empty text for an option without value.
    Options = dict[str, list[str]]
    # A property of a form, or a function that computes it from the words of a call.
    Fact = bool | Callable[[Invocation], bool]
    Handler = Callable[[Call], Answer]


# -- usage -----------------------------------------------------------------------------------------------------------


class Pattern:
    """A parsed usage.

    literals   for each place the words that may stand there, empty if any word may
    places     for each place what the usage calls it
    counts     how many words there may be
    unbounded  whether there may be more than that
    options    the names of the options
    required   those of them that must be present
    """

    __slots__ = ("literals", "places", "counts", "unbounded", "options", "required", "_depth")

    def __init__(self, usage: str, valued: set[str]) -> None:
        self.literals: list[tuple[bytes, ...]] = []
        self.places: list[str] = []
        self.unbounded = False
        self.options: set[str] = set()
        self.required: set[str] = set()
        self._depth = 0
        tokens = usage.replace("[", " [ ").replace("]", " ] ").split()
        self.counts = self._group(tokens[::-1], valued)

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
        self.places.append(token.removesuffix("…"))
        choices = self.places[-1].split("|")
        self.literals.append(() if any(choice[0].isupper() for choice in choices)
                             else tuple(choice.encode() for choice in choices))

    @property
    def first_words(self) -> tuple[bytes, ...]:
        """The words that may stand in the first place; empty if any word may, or none."""
        return self.literals[0] if self.literals else ()

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
        for place, (word, literals) in enumerate(zip(words, self.literals, strict=False)):
            if literals and word not in literals:
                return place
        return None

    def admits_count(self, count: int) -> bool:
        """Whether there may be this many words."""
        return count in self.counts or (self.unbounded and count > min(self.counts))

    def has_room(self, count: int) -> bool:
        """Whether this many words are not too many."""
        return self.unbounded or count <= max(self.counts)

    def missing(self, count: int) -> str:
        """What the usage calls the words that are missing after this many."""
        *others, last = self.places[count : min(more for more in self.counts if more > count)]
        return f"{', '.join(others)} and {last} are missing" if others else f"{last} is missing"

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


def split_options(
    args: list[bytes], known: tuple[Option, ...], *, of: str, before: int
) -> tuple[Options, list[bytes]]:
    """Split the words of the command `of` into options, `--name value` or `--name=value`, and the remaining words.

    The options end at `--`, and at the word of the number `before`, if it is not 0.  Raises UsageError for an unknown
    option, for a value that is missing or superfluous, and for an option after that word.
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
            if len(words) == before:
                _ensure_no_option(pending, known, of)
                break
            continue
        name, equals, value = word[2:].partition(b"=")
        option = _option(name, known, of)
        if not option.value:
            if equals:
                raise UsageError(f"option --{option.name} takes no value")
        elif not equals:
            if not pending:
                raise UsageError(f"option --{option.name} needs a value")
            value = pending.pop()
        options.setdefault(option.name, []).append(as_text(value, f"--{option.name}"))
    return options, words + pending[::-1]


def _ensure_no_option(words: list[bytes], known: tuple[Option, ...], of: str) -> None:
    """Raise UsageError if a word is an option that should have come earlier: taken as a word, it might be bound."""
    names = {option.name.encode() for option in known}
    for word in words:
        name = word[2:].partition(b"=")[0]
        if word.startswith(b"--") and name in names:
            raise UsageError(f"--{name.decode()} must come earlier; if it is meant as a word, write -- after {of}")


def _option(name: bytes, known: tuple[Option, ...], of: str) -> Option:
    for option in known:
        if option.name.encode() == name:
            return option
    given = printable(name)[:60]
    remedy = did_you_mean(f"--{given}", [f"--{option.name}" for option in known])
    if not remedy:
        remedy = f"its options are {', '.join(f'--{option.name}' for option in known)}" if known else (
            f"write -- after {of} if it is a word")
    raise UsageError(f"{of} has no option --{given}: {remedy}")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The question whether a word was meant that is spelled nearly the same; empty if none of the known ones is."""
    import difflib

    meant = difflib.get_close_matches(word, list(known), 1)
    return f"did you mean {meant[0]}?" if meant else ""


def as_text(word: bytes, what: str) -> str:
    """A word as text; raises UsageError if it is not UTF-8, in which `what` names it."""
    try:
        return word.decode()
    except UnicodeDecodeError:
        raise UsageError(f"{what} is not valid UTF-8") from None


def as_count(word: bytes) -> int:
    """A word as a number of identifiers; raises UsageError for what is none."""
    if not word.isdigit() or len(word) > 18:
        raise UsageError(f"{printable(word)!r} is not a number of identifiers: write 1, 2, and so on")
    return int(word)


def as_number(option: str, text: str, least: float, most: float) -> float:
    """The value of an option as a number; raises UsageError for what is none, or is out of its range."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not least <= value <= most:
        raise UsageError(f"--{option} is a number from {least:g} to {most:g}, not {text[:60]!r}")
    return value


# A list of usages that is longer than this is no longer read as a sentence.
_LONGEST_REMEDY = 160


def misfit_error(
    command: Command, form: Form, pattern: Pattern, words: list[bytes], options: Options
) -> UsageError:
    """The error that explains why these words do not fit the closest form."""
    lead, count, place = pattern.lead(words), len(words), pattern.mismatch(words)
    near = [other for other, other_pattern in command.patterns if other_pattern.lead(words) == lead]
    # Where the closest form takes any word, but not without its option, the word was meant for another form.
    leading = command.leading_words()
    meant = lead == 0 and words and pattern.required - options.keys() and leading
    given = printable(words[0])[:60] if words and lead <= 0 else ""
    guess = mistyped_form(command, given) if given and command.forms[1:] else None
    if guess is not None:
        return guess
    if (lead < 0 or meant) and command.forms[1:]:
        return _refusal(command, f"{command.name} has no form {given!r}", command.forms, ", ".join(leading))
    if place is not None:
        given = printable(words[place])[:60]
        question = did_you_mean(given, [literal.decode() for literal in pattern.literals[place]])
        if question:
            return UsageError(f"{command.name} does not take {given!r} there: {question}")
    if not pattern.admits_options(options):
        foreign = [name for name in options if name not in pattern.options]
        missing = [name for name in sorted(pattern.required) if name not in options]
        why = f"--{foreign[0]} does not go with this" if foreign else f"--{missing[0]} is missing"
    elif not pattern.has_room(count):
        why = form.too_many or f"too many words for {command.name}"
    elif not pattern.admits_count(count):
        why = pattern.missing(count)
    else:
        assert place is not None
        *others, last = [literal.decode() for literal in pattern.literals[place]]
        choice = f"{', '.join(others)} or {last}" if others else f"the word {last}"
        why = f"write {choice} in place of {printable(words[place])[:60]!r}"
    return _refusal(command, why, near, first=words[0].decode() if lead > 0 else "")


def mistyped_form(command: Command, word: str) -> UsageError | None:
    """The error for a word that is spelled nearly as one with which forms of the command begin; None if none is."""
    question = did_you_mean(word, command.leading_words())
    return UsageError(f"{command.name} has no form {word!r}: {question}") if question else None


def chosen_usage(usage: str, word: str) -> str:
    """The usage, with this word in place of the choice with which it begins."""
    choice, blank, rest = usage.partition(" ")
    return word + blank + rest if word in choice.split("|") else usage


def wrapped_usage(usage: str, columns: int, indent: str = "") -> str:
    """A usage in lines that are not too long, broken before a bracket or an option, or in a long choice of words."""
    pieces = usage.replace(" [", "\n[").replace(" --", "\n--").split("\n")
    lines = [indent + pieces[0]]
    for piece in pieces[1:]:
        if len(lines[-1]) + 1 + len(piece) > columns:
            lines.append(f"{indent}     {piece}")
        else:
            lines[-1] += f" {piece}"
    return "".join(f"{part}\n" for line in lines for part in _broken_choice(line, columns, f"{indent}     "))


def _broken_choice(line: str, columns: int, indent: str) -> Iterable[str]:
    """The line, broken after bars if it is too long."""
    while len(line) > columns and (place := line.rfind("|", len(indent), columns)) > 0:
        yield line[: place + 1]
        line = indent + line[place + 1 :]
    yield line


def _refusal(command: Command, why: str, forms: Iterable[Form], summary: str = "", first: str = "") -> UsageError:
    """An error that ends with the usages of these forms.

    summary  what is written in place of usages that are too long
    first    the word with which the forms begin, for those that begin with a choice of words
    """
    forms = [form for form in forms if not form.superseded] or forms
    *others, last = [f"{command.name} {chosen_usage(form.usage, first)}".rstrip() for form in forms]
    remedy = f"use {', '.join(others)} or {last}" if others else f"use {last}"
    if others and len(remedy) > _LONGEST_REMEDY:
        explained = f"run 'noid help {command.name}'"
        remedy = f"use {summary}; {explained}" if summary else explained
    return UsageError(f"{why}: {remedy}")


# -- commands --------------------------------------------------------------------------------------------------------


# What is said of an interrupted command that changes bindings.
LOGGED = "'noid log' has the event if something was changed; run the same command again to go on"


class Form:
    """One form of a command.

    usage     the words after the name of the command (see Pattern)
    run       the function that runs it
    access    the classes to which a web user must be admitted, all of them
    writes    whether it changes the minter; by default every form does that is of another class than read
    streams   whether the answer may be long or take long; such a form shares no transaction with other commands, and
              its records are passed on one by one
    batches   whether it is quick enough to share a transaction with the commands of other users; by default every
              form is that writes and does not stream
    mints     how many identifiers it makes, or a function that computes that from the words of a call
    shell_only   whether it works on files of this machine; it is then not available on the web nor in bulk
    takes_file   whether it reads a file, which is standard input at the shell and the body of a request on the web, and
                 therefore cannot be used in bulk
    gives_file   whether the answer is a file and no records, so that it cannot be used in bulk
    interrupted   what to say about what was done, if it is interrupted and does not say more itself; empty if it may
                  end at once, because nothing is left of it that has to be removed
    too_many   the message for too many words, in place of the general one
    superseded   whether another command has taken its place: it works as before, and help does not show it
    """

    __slots__ = ("usage", "run", "access", "writes", "streams", "batches", "mints", "shell_only", "takes_file",
                 "gives_file", "interrupted", "too_many", "superseded")

    def __init__(
        self, usage: str, run: Handler, *access: str, writes: bool | None = None, streams: Fact = False,
        batches: Fact | None = None, mints: int | Callable[[Invocation], int] = 0, shell_only: bool = False,
        takes_file: bool = False, gives_file: bool = False, interrupted: str = "", too_many: str = "",
        superseded: bool = False,
    ) -> None:
        self.usage = usage
        self.run = run
        self.access = access
        self.writes = bool(access) and access != CLASSES[:1] if writes is None else writes
        self.streams = streams
        self.batches = batches
        self.mints = mints
        self.shell_only = shell_only
        self.takes_file = takes_file
        self.gives_file = gives_file
        self.interrupted = interrupted
        self.too_many = too_many
        self.superseded = superseded


class Command:
    """A command with all its forms.

    summary        one line, for the list of commands
    about          more, in paragraphs
    example        commands with what they print
    fails          when it ends with exit status 1 although it was carried out
    also           the commands that a reader of its help may look for next
    see            the page of the documentation that has more, and the place there
    input_at       the index of the word that may be `:` or `:-`, for elements that are read from the input
    shell_only     whether all its forms are for the shell only
    options_before the number of the word before which options come, because later words may begin with --; 0 for none
    process        whether it runs until it is stopped, and has no answer: the shell's interface runs it itself
    """

    __slots__ = ("name", "summary", "forms", "options", "about", "example", "fails", "also", "see", "input_at",
                 "shell_only", "options_before", "process", "_patterns")

    def __init__(
        self, name: str, summary: str, *forms: Form, options: tuple[Option, ...] = (), about: str = "",
        example: str = "", fails: str = "", also: tuple[str, ...] = (), see: str = "", input_at: int | None = None,
        shell_only: bool = False, options_before: int = 0, process: bool = False,
    ) -> None:
        self.name = name
        self.summary = summary
        self.forms = forms
        self.options = options
        self.about = about
        self.example = example
        self.fails = fails
        self.also = also
        self.see = see
        self.input_at = input_at
        for form in forms:
            form.shell_only = form.shell_only or shell_only
        self.shell_only = all(form.shell_only for form in forms)
        self.options_before = options_before
        self.process = process
        self._patterns: list[tuple[Form, Pattern]] = []

    @property
    def sentence(self) -> str:
        """The summary as a sentence."""
        return f"{self.summary[0].upper()}{self.summary[1:]}."

    # -- for help --------------------------------------------------------------------------------------

    def shown_forms(self, word: str = "") -> list[tuple[Form, Pattern]]:
        """The forms that help shows: those that begin with the word, or else all that are not superseded."""
        chosen = [both for both in self.patterns if word.encode() in both[1].first_words]
        return chosen or [both for both in self.patterns if not both[0].superseded]

    def usages(self, word: str = "") -> list[str]:
        """The usages of these forms, with the name of the command."""
        return [f"{self.name} {chosen_usage(form.usage, word)}".rstrip() for form, _ in self.shown_forms(word)]

    def shown_options(self, word: str = "") -> list[Option]:
        """The options of these forms."""
        named = set().union(*(pattern.options for _, pattern in self.shown_forms(word)))
        return [option for option in self.options if option.name in named]

    def leading_words(self) -> list[str]:
        """The words of their own with which forms of the command begin."""
        return list(dict.fromkeys(word.decode() for _, pattern in self.patterns for word in pattern.first_words))

    # -- parsing ---------------------------------------------------------------------------------------

    def parse(self, args: list[bytes]) -> tuple[Form, Options, list[bytes], UsageError | None]:
        """Parse the words after the name of the command: returns their form, the options, the words without options.

        Words that fit no form are returned with the closest form and with the UsageError that is to be raised.
        """
        try:
            options, words = split_options(args, self.options, of=self.name, before=self.options_before)
        except UsageError as error:
            return self._strictest(), {}, args, error
        form = self._fitting(words, options)
        if form is not None:
            return form, options, words, None
        form, pattern = max(self.patterns, key=lambda item: item[1].closeness(words, options))

        misfit = misfit_error(self, form, pattern, words, options)
        return self._strictest() if pattern.lead(words) < 0 else form, options, words, misfit

    @property
    def patterns(self) -> list[tuple[Form, Pattern]]:
        """The forms with their parsed usages, parsed when first needed."""
        if not self._patterns:
            valued = {option.name for option in self.options if option.value}
            self._patterns = [(form, Pattern(form.usage, valued)) for form in self.forms]
        return self._patterns

    def _fitting(self, words: list[bytes], options: Options) -> Form | None:
        """The form that these words fit.  Forms that begin with the first word precede those that accept any word."""
        fitting, most = None, 0
        for form, pattern in self.patterns:
            lead = pattern.lead(words)
            if lead > most:
                fitting, most = None, lead
            if lead == most and fitting is None and pattern.fits(words, options):
                if lead > 0:
                    return form  # no other form precedes it
                fitting = form
        return fitting

    def _strictest(self) -> Form:
        """The form with the most demanding access class, for words whose form is not known."""
        return max(self.forms, key=lambda form: max(map(CLASSES.index, form.access), default=-1))
