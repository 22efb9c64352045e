"""The command that makes a minter."""

from __future__ import annotations

from ..errors import UsageError
from ..minter import creation
from ..minter.report import properties
from ..schemes import NAMES, scheme_class
from ..schemes.settings import Settings
from .answers import Answer, Fields
from .session import as_text, take_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .session import Call

_POSITIONAL = ("template", "term", "naan", "naa", "subnaa")
_LARGEST_SEED = 1 << 32
_SCHEME_OPTIONS = ("seed", "at-last", "computer", "ip", "port", "prefix", "granularity", "patience")


def dbcreate(call: Call) -> Answer:
    options, words = take_options(call.args, ("scheme", "label", *_SCHEME_OPTIONS))
    values = _scheme_values(options)
    if len(words) > len(_POSITIONAL):
        raise UsageError("too many words for dbcreate: say dbcreate [Template [Term [NAAN NAA SubNAA]]]")
    for name, word in zip(_POSITIONAL, words, strict=False):
        # A hyphen leaves a place empty, so that a later one can be given.
        if word not in (b"", b"-"):
            values[name] = as_text(word, f"the {name}")
    values["labels"] = "\n".join(_label(text) for text in options.get("label", []))
    settings = creation.checked(Settings(values))
    minter = creation.create(call.session.dbdir, settings, call.actor)
    try:
        return Answer(Fields(("Created", minter.store.folder.encode("utf-8", "surrogateescape")), *properties(minter)),
                      spaced=True)
    finally:
        minter.close()


def _scheme_values(options: dict[str, list[str]]) -> dict[str, str]:
    """The scheme and those options that are for it alone."""
    name = options.get("scheme", [NAMES[0]])[-1]
    known = scheme_class(name).options
    for option in _SCHEME_OPTIONS:
        if option in options and option not in known:
            own = ", ".join(f"--{own}" for own in known)
            raise UsageError(f"--{option} is not for scheme {name}, which knows {own}: say noid schemes for all")
    given = {option: options.get(option, [""])[-1] for option in known}
    if "seed" in given:
        given["seed"] = str(_seed(given["seed"] or "0"))
    return {"scheme": name, **given}


def _seed(text: str) -> int:
    if not (text.isdigit() and text.isascii()) or len(text) > 10 or int(text) >= _LARGEST_SEED:
        raise UsageError(f"the seed is a number from 0 to {_LARGEST_SEED - 1}, not {text!r}")
    return int(text)


def _label(text: str) -> str:
    if not text or any(character.isspace() for character in text):
        raise UsageError("a label is a word such as ark:/ without spaces")
    return text
