"""The table of commands.  Handlers are imported when first called, because most processes run one command."""

from __future__ import annotations

from ..errors import UsageError, printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .answers import Answer
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
    Command("dbcreate [Template [Term [NAAN NAA SubNAA]]] [--seed N] [--label L]… [--at-last stop|wrap|addN] "
            "[--scheme S …]", "create a minter in Dbdir/NOID; noid schemes tells the options of other schemes",
            LOCAL, "dbcreate"),
    Command("mint [--patience S] N [Element Value]", "make N identifiers, each with Element bound to Value if given; "
            "where labels are made from the time, wait up to S seconds for each", MINT, "mint"),
    Command("peppermint [--patience S] N [Element Value]",
            "as mint, each with a secret (ID!PEPPER) that later changes need", MINT, "mint"),
    Command("bind How Id Element Value", "bind Value to Element under Id; How is new, replace, set, append, add, "
            "prepend, insert, delete, purge, mint or peppermint; Element : or :- reads the input", BIND, "bind"),
    Command("fetch Id [Element…]", "show what is bound under Id, with labels", READ, "fetch"),
    Command("get Id [Element…]", "show what is bound under Id, values only", READ, "fetch"),
    Command("hold set|release Id…", "keep identifiers from being minted or queued, or let them go", BIND, "hold"),
    Command("queue now|first|lvf|delete|Time Id…", "put identifiers in line for minting; Time is 30d or 3600s",
            BIND, "hold"),
    Command("validate Template|Scheme|- Id…", "check identifiers against a template, a scheme such as ibi, or - for "
            "the minter's own", READ, "validate"),
    Command("schemes", "list the ways in which labels can be made", READ, "schemes"),
    Command("decode Label", "what an IBI, IBIp or PILIN label says: its scheme, place and time", READ, "schemes"),
    Command("granularity Seconds", "how far apart labels made from the time are: 60, 1, 0.1, 0.01, …",
            ADMIN, "schemes"),
    Command("patience Seconds", "how long one identifier made from the time may be waited for", ADMIN, "schemes"),
    Command("route Item [--routes File]", "which of several minters names an item, by rules in a file",
            LOCAL, "route"),
    Command("path Id", "the folder made of an identifier: its characters two by two, or a repository's four folders",
            READ, "validate"),
    Command("policy [Class [anyone|authenticated|nobody|default|User…]|minting [publish|reserve]|label-format|"
            "association [Text]|persistence [Text [--from Date] [--until Date]]]",
            "who may use a class of commands through the web (read, mint, bind or admin), and what the minter promises",
            ADMIN, "policy"),
    Command("publish Id…", "let the public resolve identifiers that were reserved", BIND, "publish"),
    Command("reserve Id…", "keep identifiers from the public; a name that was not minted is held as well",
            BIND, "publish"),
    Command("withdraw Id [--reason Text] [--successor Name]",
            "take an identifier out of use for good; resolvers then show when, why and what to use instead",
            ADMIN, "publish"),
    Command("alias Alias Target [--authority Who] | --remove Alias", "let a name stand for another, or no longer",
            BIND, "relations"),
    Command("synonym Name Name --authority Who [--from Date] [--until Date] | --remove Name Name",
            "record that an authority holds two names to be of one thing, or no longer", BIND, "relations"),
    Command("prefer Name [--authority Who] | --remove Name", "mark the name an authority prefers among synonyms",
            BIND, "relations"),
    Command("relations Name", "the aliases, synonyms, successors and preferences of a name", READ, "relations"),
    Command("history Id [--json]", "everything that was done to an identifier, with what it was before and after",
            READ, "history"),
    Command("log [--since Date|Number] [--follow] [--json]",
            "everything that was done here, from a date on or after an event; --follow waits for more",
            READ, "history"),
    Command("custodian [show|history] [Id] | set Name [--contact Contact] [Id] | remove Id",
            "who answers for the minter or an identifier; hand it over", ADMIN, "custodian"),
    Command("serve [--http ADDRESS|--fcgi ADDRESS|--scgi ADDRESS] [--minters DIR] …",
            "serve minters on the web; noid serve --help says more", LOCAL, "serve"),
    Command("resolve [--explain] [--element Element] Name", "where a name leads; --explain tells the steps",
            READ, "resolve"),
    Command("resolver [element Element|fallback Url|passthrough on|off [Id]|canary Name [Target]]",
            "how names are resolved, and which are checked; - in place of a value goes back to the default",
            ADMIN, "resolve"),
    Command("check [--through Url]", "whether every canary leads where it should, here or through a web resolver",
            READ, "resolve"),
    Command("export --map txt|dbm|nginx File", "write all stored targets as a map for Apache or nginx",
            LOCAL, "resolve"),
    Command("resolve-loop [--element Element] [--codes] [--echo]",
            "answer names on standard input with their targets, line by line, as noidr does for a web server",
            LOCAL, "resolve"),
    Command("cite Id [--qr File]", "the forms in which a name is written, printed, linked and spoken", READ, "cite"),
    Command("same Name Name", "whether two spellings are the same name, and why", READ, "cite"),
    Command("context [alias [--remove] From To --authority Who|resolver Url…]",
            "what else the context of the names is called and where they are followed; resolver - names none",
            ADMIN, "context"),
    Command("verify [Id…] [--links [--timeout S] [--delay S] [--parallel N] [--allow-private]]",
            "check what is stated of identifiers, all if none is named; --links also asks their targets, each host one "
            "request at a time", ADMIN, "verify"),
    Command("describe [Id] [--format turtle|json-ld|xml]",
            "the identifier system this minter is, or all about one identifier, as RDF", READ, "describe"),
    Command("note Name Text", "keep a note with the minter, shown by dbinfo", ADMIN, "dbinfo"),
    Command("dbinfo [brief|full|dump]", "what the minter is and where it stands", READ, "dbinfo"),
    Command("help [Command]", "explain commands", READ, "help"),
    Command("hello", "answer, to show that the door works", READ, "help"),
)
COMMANDS: dict[str, Command] = {command.name: command for command in _LIST}


def command_for(words: list[bytes]) -> Command:
    if not words:
        raise UsageError("no command was given: say help for a list")
    name = printable(words[0])
    command = COMMANDS.get(name)
    if command is None:
        raise UsageError(f"there is no command {name[:60]!r}: say help for a list")
    return command


def writes(words: list[bytes]) -> bool:
    """Whether a command as given changes anything; some only show when they are given fewer words."""
    name, args = words[0], words[1:]
    if name == b"custodian":
        return any(word in (b"set", b"remove") for word in args)
    if name in (b"policy", b"resolver", b"context"):
        return len(args) > 1
    return command_for(words).writes


def run(call: Call) -> Answer:
    return command_for([call.name])(call)


def reads_input(words: list[bytes]) -> str:
    """':' or ':-' when these words ask for elements from the input, else ''."""
    if len(words) == 4 and words[0] == b"bind" and words[3] in (b":", b":-"):
        return words[3].decode()
    return ""
