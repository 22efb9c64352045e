"""Creation of minters: checks of their settings, and a database that appears complete or not at all."""

from __future__ import annotations

from uuid import uuid4

from ..errors import InvalidError, UsageError
from ..schemes import NAMES, scheme_class, scheme_for
from ..schemes.base import SETTINGS, Settings
from ..store import create_store
from . import Minter, location_of
from .events import record_event
from .folder import existing_folder
from .report import creation_report
from .schema import write_settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..store import Writer
    from .events import Actor

# Settings that only some schemes know.
SCHEME_OPTIONS = ("seed", "at-last", "computer", "ip", "port", "prefix", "granularity", "patience")
TERMS = ("long", "medium", "short")
_LONGEST_TEXT = 1000
_LARGEST_SEED = 1 << 32


def new_settings(values: Mapping[str, str], labels: Iterable[str] = ()) -> Settings:
    """The settings of a new minter, checked and with defaults filled in.

    `values` may hold the scheme, the template, the term, NAAN, NAA and SubNAA, and those of SCHEME_OPTIONS that the
    scheme knows; an empty value means the default.  Raises UsageError or InvalidError.
    """
    name = values.get("scheme", NAMES[0])
    known = scheme_class(name).options
    for option in SCHEME_OPTIONS:
        if option in values and option not in known:
            raise UsageError(f"{option} is not a setting of the scheme {name}: use {', '.join(known)}")
    chosen = {key: value for key, value in values.items() if value}
    chosen |= {option: values.get(option, "") for option in known}
    chosen["scheme"] = name
    if "seed" in known:
        chosen["seed"] = str(_seed(chosen["seed"] or "0"))
    chosen["labels"] = "\n".join(_label(text) for text in labels)
    # In a fixed order, so that minters created with the same values have the same settings byte for byte.
    return checked(Settings({key: chosen[key] for key in SETTINGS if key in chosen}))


def _seed(text: str) -> int:
    if not (text.isdigit() and text.isascii()) or len(text) > 10 or int(text) >= _LARGEST_SEED:
        raise UsageError(f"the seed is a number from 0 to {_LARGEST_SEED - 1}, not {text!r}")
    return int(text)


def _label(text: str) -> str:
    if not text or any(character.isspace() for character in text):
        raise UsageError("a label is a word such as ark:/ without spaces")
    return text


def checked(settings: Settings) -> Settings:
    """The settings with defaults filled in by the scheme; raises UsageError or InvalidError for a wrong one."""
    term = settings["term"]
    if term not in TERMS:
        raise UsageError(f"the term is long, medium or short, not {term!r}")
    for name in ("naan", "naa", "subnaa", "labels"):
        _ensure_text(name, settings[name])
    if any(not (character.isascii() and (character.isalnum() or character in ".-_")) for character in settings["naan"]):
        raise InvalidError(f"a NAAN is made of letters, digits and dots, not {settings['naan']!r}")
    return scheme_class(settings["scheme"]).check_settings(settings)


def _ensure_text(name: str, text: str) -> None:
    if len(text) > _LONGEST_TEXT or any(ord(character) < 0x20 and character != "\n" for character in text):
        raise InvalidError(f"the {name} must be at most {_LONGEST_TEXT} characters of plain text on one line")


def create(dbdir: str, settings: Settings, actor: Actor, *, address: str = "", read: str = "") -> Minter:
    """Create a minter in a folder, which is made if it does not exist, and open it.  Its database appears atomically.

    `address` and `read` are those of a database server: see `create_store`.
    """
    settings = settings.with_(uuid=str(uuid4()), created=actor.date().decode(),
                              creator=actor.who.decode("utf-8", "replace"))

    def fill(writer: Writer) -> None:
        write_settings(writer, settings)
        record_event(writer, actor, b"dbcreate", settings["template"].encode() or settings["scheme"].encode())

    with existing_folder(dbdir):
        store = create_store(location_of(dbdir), fill, readme=creation_report(settings, scheme_for(settings)),
                             address=address, read=read)
    return Minter(dbdir, store=store)
