"""The command that makes a minter."""

from __future__ import annotations

from .. import creation
from ..answers import Answer, Fields
from ..exceptions import UsageError
from ..report import properties
from ..settings import Settings
from .session import as_text, take_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .session import Call

_POSITIONAL = ("template", "term", "naan", "naa", "subnaa")
_LARGEST_SEED = 1 << 32


def dbcreate(call: Call) -> Answer:
    options, words = take_options(call.args, ("seed", "label", "at-last"))
    if len(words) > len(_POSITIONAL):
        raise UsageError("too many words for dbcreate: say dbcreate [Template [Term [NAAN NAA SubNAA]]]")
    values = {name: as_text(word, f"the {name}") for name, word in zip(_POSITIONAL, words, strict=False)}
    # A hyphen leaves a place empty, so that a later one can be given.
    values = {name: value for name, value in values.items() if value not in ("", "-")}
    values["at-last"] = options.get("at-last", [""])[-1]
    values["seed"] = str(_seed(options.get("seed", ["0"])[-1]))
    values["labels"] = "\n".join(_label(text) for text in options.get("label", []))
    settings = creation.checked(Settings(values))
    minter = creation.create(call.session.dbdir, settings, call.actor)
    try:
        return Answer(Fields(("Created", minter.store.folder.encode("utf-8", "surrogateescape")), *properties(minter)),
                      spaced=True)
    finally:
        minter.close()


def _seed(text: str) -> int:
    if not (text.isdigit() and text.isascii()) or len(text) > 10 or int(text) >= _LARGEST_SEED:
        raise UsageError(f"the seed is a number from 0 to {_LARGEST_SEED - 1}, not {text!r}")
    return int(text)


def _label(text: str) -> str:
    if not text or any(character.isspace() for character in text):
        raise UsageError("a label is a word such as ark:/ without spaces")
    return text
