"""Checks of what is stored once for a minter: settings that can be changed, counters, notes and secrets."""

from __future__ import annotations

from ...errors import printable
from .. import schema
from ..contexts import CLAIM
from ..policies import CLASSES, INITIAL_STATE, PERSISTENCE_DATES, PUBLISH, RESERVE, AccessRule
from ..schema import CONFIG, META, NOTES, SECRETS
from .examination import is_date

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .examination import Examination

_ACCESS_RULES = frozenset(f"policy/{name}" for name in CLASSES)


def _check_config(examination: Examination) -> None:
    for key, value in examination.items(CONFIG):
        if not _is_sound(key.decode("utf-8", "replace"), value):
            examination.report(f"the setting {printable(key[:200])!r} is damaged: set it again, or compare with a "
                               "backup")


def _is_sound(name: str, value: bytes) -> bool:
    """Whether a setting can be what it is; of those that are free text, only that it is no garbage."""
    if "\ufffd" in name or b"\0" in value:
        return False
    if name in _ACCESS_RULES:
        return AccessRule.is_packed(value)
    if name == INITIAL_STATE:
        return value in (PUBLISH, RESERVE)
    if name in PERSISTENCE_DATES:
        return is_date(value)
    if name.startswith(f"{CLAIM}/"):
        return is_date(value) and name.count(" ") >= 2
    return True


def _check_meta(examination: Examination) -> None:
    for _ in examination.items(META):
        pass
    backup = schema.last_backup(examination.reader)
    if backup and not is_date(backup):
        examination.report("the date of the last backup is damaged: the next backup writes it anew")


def _count_the_rest(examination: Examination) -> None:
    """Tables whose values are text; that they can be read is all that can be said of them."""
    for table in (NOTES, SECRETS):
        for _ in examination.items(table):
            pass


CHECKS = (_check_config, _check_meta, _count_the_rest)
