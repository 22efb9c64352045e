"""Errors that explain why words do not fit the usage of a command."""

from __future__ import annotations

from ..errors import UsageError, printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .command import Command, Form
    from .usage import Options, Pattern

# A list of usages that is longer than this is no longer read as a sentence.
_LONGEST_REMEDY = 160


def misfit_error(
    command: Command, form: Form, pattern: Pattern, words: list[bytes], options: Options
) -> UsageError:
    """The error that explains why these words do not fit the closest form."""
    lead, count, place = pattern.lead(words), len(words), pattern.mismatch(words)
    near = [other for other, other_pattern in command.patterns if other_pattern.lead(words) == lead]
    # Where the closest form takes any word, but not without its option, the word was meant for another form.
    meant = lead == 0 and words and pattern.required - options.keys() and _has_leading_words(command)
    if (lead < 0 or meant) and command.forms[1:]:
        return _refusal(command, f"{command.name} {printable(words[0])[:60]!r}?", command.forms)
    if not pattern.admits_options(options):
        foreign = [name for name in options if name not in pattern.options]
        missing = [name for name in sorted(pattern.required) if name not in options]
        why = f"--{foreign[0]} does not go with this" if foreign else f"--{missing[0]} is missing"
    elif not pattern.admits_count(count):
        many = not pattern.has_room(count)
        why = (form.too_many if many else form.too_few) or f"too {'many' if many else 'few'} words for {command.name}"
    else:
        assert place is not None
        *others, last = [literal.decode() for literal in pattern.literals[place]]
        choice = f"{', '.join(others)} or {last}" if others else f"the word {last}"
        why = f"write {choice} in place of {printable(words[place])[:60]!r}"
    return _refusal(command, f"{why}:", near)


def _has_leading_words(command: Command) -> bool:
    """Whether some forms begin with a word of their own."""
    return any(pattern.literals and pattern.literals[0] for _, pattern in command.patterns)


def _refusal(command: Command, why: str, forms: Iterable[Form]) -> UsageError:
    *others, last = command.usages(forms)
    remedy = f"{', '.join(others)} or {last}" if others else last
    if others and len(remedy) > _LONGEST_REMEDY:
        remedy = f"help {command.name} to see its forms"
    return UsageError(f"{why} say {remedy}")
