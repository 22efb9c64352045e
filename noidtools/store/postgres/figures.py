"""Figures about a database in PostgreSQL: how far its replica is behind."""

from __future__ import annotations

from ...errors import NoMinterError
from .connection import LostError, SqlError
from .status import replica_lag

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .source import Source


def figures(replica: Source | None) -> dict[str, float]:
    """The figures of a replica; empty where there is none, or it does not answer."""
    try:
        return {} if replica is None else {"replica_lag_seconds": replica_lag(replica)}
    except (LostError, SqlError, NoMinterError):
        return {}
