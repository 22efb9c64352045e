"""Checks of the settings of a new minter of the scheme noid."""

from __future__ import annotations

from ..errors import ExhaustedError, InvalidError, UsageError
from .template import CHECK_ONLY, UNLIMITED, own_repertoire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .noid import NoidScheme
    from .settings import Settings
    from .template import Template


def checked_settings(scheme_class: type[NoidScheme], settings: Settings) -> Settings:
    """As `Scheme.check_settings`."""
    if settings.long_term and not (settings["naan"] and settings["naa"] and settings["subnaa"]):
        raise UsageError(
            "a long-term minter needs a NAAN, a NAA and a SubNAA: dbcreate Template long NAAN NAA SubNAA"
        )
    if settings.long_term and not settings["template"]:
        raise UsageError("a long-term minter needs a template")
    scheme = scheme_class(settings)
    template = scheme.template
    if template.checked:
        if template.check_mark == CHECK_ONLY:
            own_repertoire(scheme.first_part, template.letters)
        try:
            template.ensure_checkable(len(scheme.first_part) + len(template.letters) + 1)
        except ExhaustedError as error:
            raise InvalidError(error.message) from None
    return settings.with_(at_last=_checked_at_last(settings, template))


def _checked_at_last(settings: Settings, template: Template) -> str:
    """The setting at-last (what happens when the namespace is used up), with its default filled in."""
    at_last = settings["at-last"] or ("wrap" if settings["term"] == "short" else "stop")
    if template.generator == UNLIMITED and settings["at-last"]:
        raise UsageError("--at-last is for bounded namespaces: a z template never ends")
    if at_last == "wrap" and settings.long_term:
        raise UsageError("a long-term minter never gives an identifier twice, so --at-last cannot be wrap")
    if at_last not in ("stop", "wrap"):
        if not (at_last.startswith("add") and at_last[3:].isdigit() and at_last.isascii() and len(at_last) < 9):
            raise UsageError(f"--at-last is stop, wrap or addN (for instance add3), not {at_last!r}")
        template.grown(int(at_last[3:]))
    return at_last
