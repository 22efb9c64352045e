"""The command that writes a map of all targets for a web server."""

from __future__ import annotations

from ..errors import UsageError
from ..resolution.export import FORMS, export
from .answers import Answer, Fields
from .command import Command, Form, Option, as_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .call import Call


def _export(call: Call) -> Answer:
    form, element = call.option("map") or "", call.option("element")
    if form not in FORMS:
        raise UsageError(f"--map is one of {', '.join(FORMS)}, not {form!r}")
    file = as_text(call.words[0], "the file name")
    written, left_out = export(call.minter, form, file, None if element is None else element.encode())
    fields = [("ok", b"%d target%b written" % (written, b"" if written == 1 else b"s"))]
    if left_out:
        fields.append(("note", b"%d left out, because the form has no room for them or they cannot be followed"
                       % left_out))
    return Answer(Fields(*fields), spaced=True)


COMMANDS = (
    Command(
        "export", "write all stored targets as a map for Apache or nginx",
        Form("--map txt|dbm|nginx File [--element Element]", _export),
        options=(
            Option("--map txt|dbm|nginx", "txt and dbm are for Apache, nginx is for nginx"),
            Option("--element Element", "the element that holds the targets, in place of the minter's own choice"),
        ),
        shell_only=True, see="resolving.md#maps-for-very-busy-servers",
        about="""\
A map that is there already is replaced at once. Rules, passthrough, codes and the fallback are not in it.
""",
        example="""\
$ noid export --map txt kt5.txt
ok: 2 targets written

""",
    ),
)
