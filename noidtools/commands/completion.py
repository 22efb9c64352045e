"""The command completion: scripts by which bash, zsh and fish complete commands, their forms and their options.

The scripts are made from the Command objects and are static: a Tab key starts no process of noid.
"""

from __future__ import annotations

from ..minter.policies import READ
from .answers import Answer, Text
from .command import Command, Form

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .call import Call
    from .command import Option

# Options and words of a usage that stand for a path.
_PATHS = ("Dir", "File", "Dest", "Source", "Cert")


def _forms_of(command: Command) -> list[str]:
    """The words with which the forms of a command begin, without a hyphen."""
    words = [word.decode() for _, pattern in command.shown_forms() for word in pattern.first_words]
    return [word for word in dict.fromkeys(words) if word[0].isalpha()]


def _choices(option: Option) -> list[str]:
    """The values of an option that stand for themselves."""
    words = option.value.split("|")
    return [] if any(not word or word[0].isupper() for word in words) else words


# -- bash ------------------------------------------------------------------------------------------------------------

_BASH = """\
# Completion of noid for bash, made by 'noid completion bash'.
_noid() {
    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command= forms= options= place
    local commands='COMMANDS'
    COMPREPLY=()
    if [[ $before == -f ]]; then
        COMPREPLY=($(compgen -d -- "$current"))
        return
    fi
    for ((place = 1; place < COMP_CWORD; place++)); do
        case ${COMP_WORDS[place]} in
        -f) ((place++)) ;;
        -*) ;;
        *) command=${COMP_WORDS[place]}; break ;;
        esac
    done
    case $command in
    '') forms=$commands options='-f -v -h --help' ;;
    esac
    case "$command $before" in
CHOICES
    esac
    case $command in
FORMS
    esac
    if [[ $current == -* ]]; then
        COMPREPLY=($(compgen -W "$options" -- "$current"))
    elif [[ -z $command ]] || ((COMP_CWORD == place + 1)); then
        COMPREPLY=($(compgen -W "$forms" -- "$current"))
    fi
}
complete -o default -F _noid noid
"""


def bash(commands: Iterable[Command]) -> str:
    """The script for bash.  Where nothing else fits, names of files are completed."""
    forms, choices, names = [], [], []
    for command in commands:
        names.append(command.name)
        options = command.shown_options()
        words = _forms_of(command) if command.name != "help" else ["$commands", *_forms_of(command)]
        forms.append(f"    {command.name}) forms=\"{' '.join(words)}\" "
                     f"options='{' '.join([*(f'--{option.name}' for option in options), '--help'])}' ;;")
        choices += [f"    '{command.name} --{option.name}') COMPREPLY=($(compgen -W '{' '.join(_choices(option))}' "
                    f"-- \"$current\")); return ;;" for option in options if _choices(option)]
        free = [option.name for option in options if option.value and not _choices(option)]
        if free:
            patterns = "|".join(f"'{command.name} --{name}'" for name in free)
            choices.append(f"    {patterns}) return ;;")
    return (_BASH.replace("COMMANDS", " ".join(names)).replace("CHOICES", "\n".join(choices))
            .replace("FORMS", "\n".join(forms)))


# -- zsh -------------------------------------------------------------------------------------------------------------

_ZSH = """\
#compdef noid
# Completion of noid for zsh, made by 'noid completion zsh'.
_noid() {
    local context state state_descr line
    typeset -A opt_args
    local -a commands
    commands=(
COMMANDS
    )
    _arguments -C '-f[folder of the minter]:folder:_files -/' '(- *)-v[print the version]' \\
        '(- *)'{-h,--help}'[explain]' '1: :->command' '*:: :->words'
    case $state in
    command) _describe -t commands command commands ;;
    words)
        case $words[1] in
CASES
        esac
        ;;
    esac
}
if [[ ${funcstack[1]-} == _noid ]]; then
    _noid "$@"
else
    compdef _noid noid
fi
"""


def zsh(commands: Iterable[Command]) -> str:
    """The script for zsh, to be sourced or put into a folder of `fpath` as `_noid`."""
    known = list(commands)
    listed = "\n".join(f"        {_quoted(f'{command.name}:{command.summary}')}" for command in known)
    cases = []
    for command in known:
        specs = [_quoted(_zsh_option(option)) for option in command.shown_options()]
        specs.append("'--help[explain this command]'")
        words = _forms_of(command)
        if command.name == "help":
            words += [each.name for each in known]
        specs += [f"'1:form:({' '.join(words)})'"] if words else []
        specs.append("'*:word:_default'")
        wrapped = " \\\n            ".join(["_arguments", *specs])
        cases.append(f"        {command.name}) {wrapped} ;;")
    return _ZSH.replace("COMMANDS", listed).replace("CASES", "\n".join(cases))


def _zsh_option(option: Option) -> str:
    """The option as _arguments takes it."""
    about = option.about.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")
    spec = f"*--{option.name}[{about}]"
    if not option.value:
        return spec
    values = f"({' '.join(_choices(option))})" if _choices(option) else "_files" if option.value in _PATHS else " "
    return f"{spec}:{option.value.replace(':', ' ')}:{values}"


# -- fish ------------------------------------------------------------------------------------------------------------


def fish(commands: Iterable[Command]) -> str:
    """The script for fish."""
    known = list(commands)
    names = " ".join(command.name for command in known)
    lines = ["# Completion of noid for fish, made by 'noid completion fish'.",
             "complete -c noid -s f -r -a '(__fish_complete_directories)' -d 'folder of the minter'",
             "complete -c noid -s h -l help -d 'explain'"]
    lines += [f"complete -c noid -f -n __fish_use_subcommand -a {command.name} -d {_quoted(command.summary)}"
              for command in known]
    for command in known:
        seen = f"__fish_seen_subcommand_from {command.name}"
        words = f"all templates {names}" if command.name == "help" else " ".join(_forms_of(command))
        if words:
            lines.append(f"complete -c noid -f -n '{seen}; and test (count (commandline -opc)) -eq 2' -a '{words}'")
        for option in command.shown_options():
            value = "" if not option.value else (
                f" -x -a '{' '.join(_choices(option))}'" if _choices(option)
                else " -r" if option.value in _PATHS else " -x")
            lines.append(f"complete -c noid -n '{seen}' -l {option.name}{value} -d {_quoted(option.about)}")
    return "".join(f"{line}\n" for line in lines)


def _quoted(text: str) -> str:
    """A word in single quotes, as all three shells read it.

    None of the texts has a backslash at its end; in fish a quote within quotes is escaped, elsewhere it is outside.
    """
    return "'" + text.replace("'", "’") + "'"


# -- the command -----------------------------------------------------------------------------------------------------

SHELLS: dict[str, Callable[[Iterable[Command]], str]] = {"bash": bash, "zsh": zsh, "fish": fish}


def _completion(call: Call) -> Answer:
    return Answer(Text(SHELLS[call.words[0].decode()](call.all_commands()).rstrip("\n")))


COMMANDS = (
    Command(
        "completion", "print a script that completes commands in a shell", Form("|".join(SHELLS), _completion, READ),
        also=("help", "setup"), see="tutorial.md#help-options-exit-status",
        about="""\
bash: put source <(noid completion bash) into ~/.bashrc. zsh: write it to a file _noid in a folder of fpath. fish: write
it to ~/.config/fish/completions/noid.fish. noid setup does that for all users of a server.
""",
        example="""\
$ noid completion bash | tail -n 1
complete -o default -F _noid noid
""",
    ),
)
