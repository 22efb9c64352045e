"""The command that exports a minter: as a file for other programs, and as a map of targets for a web server."""

from __future__ import annotations

import os

from ..dates import first_second
from ..errors import UsageError
from ..minter.access import ADMIN
from .answers import Answer, FileChunk
from .command import Command, Form, Option, as_text
from .records import Fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..transfer.exporter import Export
    from .call import Call


def _export_of(call: Call) -> Export:
    from ..transfer.exporter import Export, Selection

    since = call.option("changed-since")
    selection = Selection(
        prefix=call.beginning("prefix"),
        elements=tuple(element.encode() for element in call.values("element")),
        since=first_second(since) if since else b"", state=call.option("state") or "", history=call.flag("history"))
    return Export(call.minter, call.words[0].decode(), selection, call.actor.now())


def _export(call: Call) -> Answer:
    from ..transfer.exporter import FORMS

    export, form = _export_of(call), call.words[0].decode()
    chunks = export.chunks(call.session.progress)
    return Answer(stream=map(FileChunk, chunks), media_type=FORMS[form], file_name=f"export.{form}")


def _export_to(call: Call) -> Answer:
    export = _export_of(call)
    export.write_to(os.fsdecode(call.words[1]), call.session.progress)
    text = b"%d identifier%b written to %b" % (export.count, b"" if export.count == 1 else b"s", call.words[1])
    return Answer(Fields(("ok", text)), spaced=True)


def _export_map(call: Call) -> Answer:
    from ..resolution.export import FORMS, export

    form, elements = call.option("map") or "", call.values("element")
    if form not in FORMS:
        raise UsageError(f"--map is one of {', '.join(FORMS)}, not {form!r}")
    file = as_text(call.words[0], "the file name")
    written, left_out = export(call.minter, form, file, elements[-1].encode() if elements else None)
    fields = [("ok", b"%d target%b written" % (written, b"" if written == 1 else b"s"))]
    if left_out:
        fields.append(("note", b"%d left out, because the form has no room for them or they cannot be followed"
                       % left_out))
    return Answer(Fields(*fields), spaced=True)


_NOT_WRITTEN = "the file is as it was, unless the export was complete just now"
_SELECTION = "[--prefix Prefix] [--element Element…] [--changed-since Date] [--state State] [--history]"
COMMANDS = (
    Command(
        "export", "write identifiers and what is bound to them as JSON lines, CSV or ANVL; or targets as a map",
        Form(f"jsonl|csv|anvl {_SELECTION}", _export, ADMIN, writes=False, streams=True, gives_file=True),
        Form(f"jsonl|csv|anvl File {_SELECTION}", _export_to, shell_only=True, interrupted=_NOT_WRITTEN),
        Form("--map txt|dbm|nginx File [--element Element]", _export_map, shell_only=True,
             interrupted=_NOT_WRITTEN),
        options=(
            Option("--prefix Prefix", "only identifiers that begin with this, in any spelling of names"),
            Option("--element Element", "only this element, and identifiers that have it; may be repeated, and makes a "
                   "column each in CSV. For a map the element that holds the targets"),
            Option("--changed-since Date", "only identifiers that were changed then or later"),
            Option("--state State", "only identifiers that are reserved, published or withdrawn"),
            Option("--history", "also all events, in jsonl; without another option, the export is complete"),
            Option("--map txt|dbm|nginx", "txt and dbm are for Apache, nginx is for nginx"),
        ),
        see="moving.md#out",
        about="""\
Writes one moment of the minter, in the order of the identifiers, while minting goes on: to standard output, or to File,
which is replaced when the export is complete. A complete export (jsonl with --history) makes the same minter elsewhere:
see import. It has all but tokens, the secrets of the web forms, and answers stored for an Idempotency-Key.

With --map, writes all stored targets as a map for Apache or nginx, see resolving.md. A map that is there already is
replaced at once. Rules, passthrough, codes and the fallback are not in it.
""",
        example="""\
$ noid export csv --element _t | head -2
id,_t
13030/kt4x551,https://library.example/kt4x551
$ noid export --map txt kt5.txt
ok: 2 targets written

""",
    ),
)
