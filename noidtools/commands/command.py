"""What a command is: its forms, and of each form the usage, the access classes, and what running it involves."""

from __future__ import annotations

from ..errors import UsageError
from ..minter.access import CLASSES
from .usage import Option, Pattern, as_count, as_text, split_options

__all__ = ["Command", "Form", "Option", "Part", "as_count", "as_text"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..errors import NoidError
    from ..store import Writer
    from .answers import Answer, Record
    from .call import Call, Invocation
    from .usage import Options

    # A property of a form, or a function that computes it from the words of a call.
    Fact = bool | Callable[[Invocation], bool]
    Handler = Callable[[Call], Answer]


class Part:
    """The result of one transaction of a call that takes several.

    records  the records of the answer
    state    what the next transaction needs to continue; empty after the last
    error    the refusal that ended the work, None if there was none
    """

    __slots__ = ("records", "state", "error")

    def __init__(self, records: list[Record], state: bytes = b"", error: NoidError | None = None) -> None:
        self.records = records
        self.state = state
        self.error = error


# What is said of an interrupted command that changes bindings.
LOGGED = "'noid log' has the event if something was changed; say the same again to go on"


class Form:
    """One form of a command.

    usage     the words after the name of the command (see usage.py)
    run       the function that runs it
    access    the classes to which a web user must be admitted, all of them
    writes    whether it changes the minter; by default every form does that is of another class than read
    streams   whether the answer may be long or take long; such a form shares no transaction with other commands, and
              its records are passed on one by one
    batches   whether it is quick enough to share a transaction with the commands of other users; by default every
              form is that writes and does not stream
    resume    for a form that writes and streams: runs one part of the work, from the state of the part before
    shell_only   whether it works on files of this machine; it is then not available on the web nor in bulk
    takes_file   whether it reads a file, which is standard input at the shell and the body of a request on the web, and
                 therefore cannot be used in bulk
    gives_file   whether the answer is a file and no records, so that it cannot be used in bulk
    interrupted   what to say about what was done, if it is interrupted and does not say more itself; empty if it may
                  end at once, because nothing is left of it that has to be removed
    too_few, too_many    messages for a wrong number of words, in place of the general ones
    """

    __slots__ = ("usage", "run", "access", "writes", "streams", "batches", "resume", "shell_only", "takes_file",
                 "gives_file", "interrupted", "too_few", "too_many")

    def __init__(
        self, usage: str, run: Handler, *access: str, writes: bool | None = None, streams: Fact = False,
        batches: Fact | None = None, resume: Callable[[Call, Writer, bytes], Part] | None = None,
        shell_only: bool = False, takes_file: bool = False, gives_file: bool = False,
        interrupted: str = "", too_few: str = "", too_many: str = "",
    ) -> None:
        self.usage = usage
        self.run = run
        self.access = access
        self.writes = bool(access) and access != CLASSES[:1] if writes is None else writes
        self.streams = streams
        self.batches = batches
        self.resume = resume
        self.shell_only = shell_only
        self.takes_file = takes_file
        self.gives_file = gives_file
        self.interrupted = interrupted
        self.too_few = too_few
        self.too_many = too_many


class Command:
    """A command with all its forms.

    summary        one line, for the list of commands
    about          more, in paragraphs
    example        commands with what they print
    fails          when it ends with exit status 1 although it was carried out
    see            the page of the documentation that has more, and the place there
    input_at       the index of the word that may be `:` or `:-`, for elements that are read from the input
    shell_only     whether all its forms are for the shell only
    options_first  whether options come only before the first word, because later words may begin with --
    """

    __slots__ = ("name", "summary", "forms", "options", "about", "example", "fails", "see", "input_at",
                 "shell_only", "options_first", "_patterns")

    def __init__(
        self, name: str, summary: str, *forms: Form, options: tuple[Option, ...] = (), about: str = "",
        example: str = "", fails: str = "", see: str = "", input_at: int | None = None, shell_only: bool = False,
        options_first: bool = False,
    ) -> None:
        self.name = name
        self.summary = summary
        self.forms = forms
        self.options = options
        self.about = about
        self.example = example
        self.fails = fails
        self.see = see
        self.input_at = input_at
        for form in forms:
            form.shell_only = form.shell_only or shell_only
        self.shell_only = all(form.shell_only for form in forms)
        self.options_first = options_first
        self._patterns: list[tuple[Form, Pattern]] = []

    @property
    def usage(self) -> str:
        """All forms, one a line."""
        return "\n".join(self.usages(self.forms))

    @property
    def web_forms(self) -> list[Form]:
        """The forms that are not for the shell only."""
        return [form for form in self.forms if not form.shell_only]

    def usages(self, forms: Iterable[Form]) -> list[str]:
        """The usages of some forms, with the name of the command."""
        return [f"{self.name} {form.usage}".rstrip() for form in forms]

    # -- parsing ---------------------------------------------------------------------------------------

    def parse(self, args: list[bytes]) -> tuple[Form, Options, list[bytes], UsageError | None]:
        """Parse the words after the name of the command: returns their form, the options, the words without options.

        Words that fit no form are returned with the closest form and with the UsageError that is to be raised.
        """
        try:
            options, words = ({}, args) if not self.options else split_options(
                args, self.options, first=self.options_first)
        except UsageError as error:
            return self._strictest(), {}, args, error
        form = self._fitting(words, options)
        if form is not None:
            return form, options, words, None
        form, pattern = max(self.patterns, key=lambda item: item[1].closeness(words, options))
        from .usage_errors import misfit_error  # most calls fit

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
