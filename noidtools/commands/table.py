"""The table of commands.  Handlers are imported when first called, because most processes run one command."""

from __future__ import annotations

from ..exceptions import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..answers import Answer
    from .session import Call

READ, MINT, BIND, ADMIN, LOCAL = "read", "mint", "bind", "admin", "local"


class Command:
    """`kind` is the class by which access is granted; `local` commands touch files and are for the shell alone."""

    __slots__ = ("name", "usage", "summary", "kind", "_module")

    def __init__(self, usage: str, summary: str, kind: str, module: str) -> None:
        self.name = usage.split()[0]
        self.usage = usage
        self.summary = summary
        self.kind = kind
        self._module = module

    @property
    def writes(self) -> bool:
        return self.kind not in (READ, LOCAL)

    def __call__(self, call: Call) -> Answer:
        # importlib.import_module would do the same, after a millisecond of imports of its own.
        module = __import__(f"{__package__}.{self._module}", fromlist=["*"])
        answer: Answer = getattr(module, self.name.replace("-", "_"))(call)
        return answer


_LIST = (
    Command("dbcreate [Template [Term [NAAN NAA SubNAA]]] [--seed N] [--label L]… [--at-last stop|wrap|addN]",
            "create a minter in Dbdir/NOID", LOCAL, "creating"),
    Command("mint N [Element Value]", "make N identifiers, each with Element bound to Value if given",
            MINT, "making"),
    Command("peppermint N [Element Value]", "as mint, each with a secret (ID!PEPPER) that later changes need",
            MINT, "making"),
    Command("bind How Id Element Value", "bind Value to Element under Id; How is new, replace, set, append, add, "
            "prepend, insert, delete, purge, mint or peppermint; Element : or :- reads the input", BIND, "changing"),
    Command("fetch Id [Element…]", "show what is bound under Id, with labels", READ, "asking"),
    Command("get Id [Element…]", "show what is bound under Id, values only", READ, "asking"),
    Command("hold set|release Id…", "keep identifiers from being minted or queued, or let them go", BIND, "changing"),
    Command("queue now|first|lvf|delete|Time Id…", "put identifiers in line for minting; Time is 30d or 3600s",
            BIND, "changing"),
    Command("validate Template|- Id…", "check identifiers against a template, or - for the minter's own",
            READ, "asking"),
    Command("path Id", "the folder path made of an identifier's characters", READ, "asking"),
    Command("policy [Class [anyone|authenticated|nobody|default|User…]]",
            "who may use a class of commands through the web: read, mint, bind or admin", ADMIN, "policing"),
    Command("serve [--http ADDRESS|--fcgi ADDRESS|--scgi ADDRESS] [--minters DIR] …",
            "serve minters on the web; noid serve --help says more", LOCAL, "serving"),
    Command("note Name Text", "keep a note with the minter, shown by dbinfo", ADMIN, "changing"),
    Command("dbinfo [brief|full|dump]", "what the minter is and where it stands", READ, "asking"),
    Command("help [Command]", "explain commands", READ, "asking"),
    Command("hello", "answer, to show that the door works", READ, "asking"),
)
COMMANDS: dict[str, Command] = {command.name: command for command in _LIST}


def command_for(words: list[bytes]) -> Command:
    if not words:
        raise UsageError("no command was given: say help for a list")
    name = words[0].decode("utf-8", "backslashreplace")
    command = COMMANDS.get(name)
    if command is None:
        raise UsageError(f"there is no command {name[:60]!r}: say help for a list")
    return command


def run(call: Call) -> Answer:
    return command_for([call.name])(call)


def reads_input(words: list[bytes]) -> str:
    """':' or ':-' when these words ask for elements from the input, else ''."""
    if len(words) == 4 and words[0] == b"bind" and words[3] in (b":", b":-"):
        return words[3].decode()
    return ""
