"""What is stated of all of a minter's identifiers, as far as it can be put to the test."""

from __future__ import annotations

from . import commitments, custody
from .events import NUMBER
from .fields import pair
from .tables import CUSTODY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .custody import Custodian
    from .store import Reader


class Statement:
    """Whether something holds, None if that is not known; if not, why; and whether it is so for all identifiers."""

    __slots__ = ("common", "holds", "why")

    def __init__(self, holds: bool | None, why: str = "", *, common: bool = True) -> None:
        self.holds = holds
        self.why = why
        self.common = common


class Statements:
    """As they are at one moment."""

    __slots__ = ("_accountable", "_reader", "_some_have_own")

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._accountable = _accountable(_present(custody.all_of(reader, custody.MINTER)), common=True)
        # Mostly none has a custodian of its own, and then there is no need to look for each.
        self._some_have_own = next(reader.scan(CUSTODY, after=pair(custody.MINTER, b"\xff" * (NUMBER + 1))), None)

    def accountable(self, identifier: bytes) -> Statement:
        """Whether somebody who can be reached answers for an identifier."""
        if self._some_have_own is None:
            return self._accountable
        own = _present(custody.all_of(self._reader, identifier))
        return self._accountable if own is None else _accountable(own, common=False)

    def persistent(self, today: bytes) -> Statement:
        """Whether the time lasts for which identifiers were promised to be kept."""
        promise = commitments.persistence(self._reader)
        if promise is None:
            return Statement(None, "nothing was promised: say policy persistence")
        if today < promise.start:
            return Statement(None, f"it is promised from {_date(promise.start)} on")
        if promise.until and today > promise.until:
            return Statement(False, f"it was promised until {_date(promise.until)} only")
        return Statement(True)


def _present(custodians: list[Custodian]) -> Custodian | None:
    return next((custodian for custodian in custodians if not custodian.until), None)


def _accountable(custodian: Custodian | None, *, common: bool) -> Statement:
    if custodian is None:
        return Statement(None, "nobody was named to answer for it: say custodian set", common=common)
    if not custodian.contact:
        name = custodian.name.decode("utf-8", "backslashreplace")
        return Statement(False, f"{name} answers for it, but with no contact", common=common)
    return Statement(True, common=common)


def _date(stamp: bytes) -> str:
    return b"-".join((stamp[:4], stamp[4:6], stamp[6:8])).decode()
