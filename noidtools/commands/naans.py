"""The command naans: whose NAANs are whose, by the public registry."""

from __future__ import annotations

from ..codec import decode_text
from ..errors import InvalidError, NotFoundError, StoreError, printable
from ..resolution import naans
from ..verification.http import UnreachableError, download
from .answers import Answer, Fields
from .command import Command, Form

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..resolution.naans import Registry
    from .call import Call


def _show(call: Call) -> Answer:
    return _summary(_registry(call))


def _registry(call: Call) -> Registry:
    folder = call.session.dbdir
    found = naans.registry_for(folder) or naans.read_registry(folder)  # the second says why it cannot be read
    if found is None:
        raise NotFoundError(f"there is no registry in {folder} or above it: read it with 'noid naans update FILE'")
    return found


def _summary(registry: Registry, left_out: int = 0) -> Answer:
    shoulders = sum("/" in what for what in registry.records)
    return Answer(Fields(
        ("registry", registry.source), ("date", registry.date or "unknown"),
        ("naans", str(len(registry.records) - shoulders)), ("shoulders", str(shoulders)),
        *([("left out", f"{left_out} records that cannot be read")] if left_out else []),
        ("forward", "on" if registry.forward else "off")), spaced=True)


def _update(call: Call) -> Answer:
    source = decode_text(call.words[1])
    registry, left_out = naans.parse_registry(_content(source), source)
    return _summary(naans.update_registry(call.session.dbdir, registry), left_out)


def _content(source: str) -> bytes:
    if source.lower().startswith(("http://", "https://")):
        try:
            return download(source, naans.LARGEST_REGISTRY, "naans")
        except UnreachableError as error:
            raise StoreError(f"{source} cannot be read: {error.reason}") from None
    try:
        with open(source, "rb") as file:
            return file.read(naans.LARGEST_REGISTRY + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "that is no path"
        raise StoreError(f"{printable(source.encode('utf-8', 'surrogateescape'))} cannot be read: {reason}") from None


def _forward(call: Call) -> Answer:
    return _summary(naans.set_forwarding(call.session.dbdir, on=call.words[1] == b"on"))


def _whose(call: Call) -> Answer:
    name = naans.parse_naan(call.words[1])
    if name.scheme != b"ark":
        raise InvalidError(f"{printable(call.words[1][:60])} is neither a NAAN nor an ARK: write 13030 or "
                           "ark:/13030/kt5")
    found = _registry(call).authority_of(name)
    if found is None:
        raise NotFoundError(f"the registry does not have {printable(name.body.partition(b'/')[0][:60])}")
    return Answer(Fields(("naan", found.what), ("who", found.who), *([("where", found.where)] if found.where else []),
                         *([("target", found.target)] if found.target else [])), spaced=True)


COMMANDS = (
    Command(
        "naans", "look up who owns a NAAN, and forward names of other NAANs",
        Form("", _show),
        Form("update File|Url", _update),
        Form("forward on|off", _forward),
        Form("whose Naan", _whose),
        shell_only=True, also=("resolve", "resolver"), see="resolving.md#names-of-others",
        about="""\
update reads the public NAAN registry, in its JSON form, from a file or a URL; only a URL uses the network. The registry
is stored in the folder that -f names: a folder of minters, or that of one minter. The resolver can then tell readers
who owns a name that it does not know. With forward on, it also redirects ARKs of other NAANs to the resolvers that the
registry lists for them, before any fallback; never those of a NAAN that is served here. whose prints the record of a
NAAN, or of the NAAN in an ARK.
""",
        example="""\
$ printf '{"data": [{"rtype": "PublicNAAN", "what": "12148", "who": "A library"}]}' > naans
$ noid naans update naans | grep naans:
naans: 1
$ noid naans whose ark:/12148/bpt6k107371t
naan: 12148
who: A library

""",
    ),
)
