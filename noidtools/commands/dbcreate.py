"""The command that makes a minter."""

from __future__ import annotations

from ..errors import UsageError
from ..minter import creation
from ..minter.report import properties
from .answers import Answer, Fields
from .session import as_text, take_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .session import Call

_POSITIONAL = ("template", "term", "naan", "naa", "subnaa")


def dbcreate(call: Call) -> Answer:
    options, words = take_options(call.args, ("scheme", "label", *creation.SCHEME_OPTIONS))
    if len(words) > len(_POSITIONAL):
        raise UsageError("too many words for dbcreate: say dbcreate [Template [Term [NAAN NAA SubNAA]]]")
    values = {name: given[-1] for name, given in options.items() if name != "label"}
    for name, word in zip(_POSITIONAL, words, strict=False):
        # A hyphen leaves a place empty, so that a later one can be given.
        if word not in (b"", b"-"):
            values[name] = as_text(word, f"the {name}")
    settings = creation.new_settings(values, options.get("label", []))
    minter = creation.create(call.session.dbdir, settings, call.actor)
    try:
        return Answer(Fields(("Created", minter.store.folder.encode("utf-8", "surrogateescape")), *properties(minter)),
                      spaced=True)
    finally:
        minter.close()
